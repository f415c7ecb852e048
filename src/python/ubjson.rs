//! UBJSON as `XGBoost` writes it, read into Python objects. Every length is checked against the remaining bytes before it
//! is used, and open containers are kept in a list, so that nesting costs no machine stack.

use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use pyo3::{BoundObject, IntoPyObject};

use super::errors;
use crate::error::Error;

/// The deepest nesting of containers; documents of `XGBoost` have less than ten levels, whatever their trees are.
const NESTING: usize = 64;

/// The document in these bytes; arrays of numbers of one type become `NumPy` arrays. `what` names it in errors.
pub(super) fn parse<'py>(py: Python<'py>, content: &[u8], what: &str) -> PyResult<Bound<'py, PyAny>> {
    let mut reader = Reader { py, content, at: 0 };
    reader.document().map_err(|fault| match fault {
        Fault::Raised(error) => error,
        Fault::Damaged(problem) => {
            let problem = format!("{what} is damaged: {problem} at byte {}", reader.at);
            errors::exception(py, &Error::forest(problem))
        }
    })
}

/// Why reading stopped.
enum Fault {
    Damaged(String),
    Raised(PyErr),
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

fn damaged<T>(problem: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Damaged(problem.into()))
}

/// A container whose entries are being read.
struct Open<'py> {
    container: Container<'py>,
    /// How many entries are left; unknown if an end marker closes it.
    left: Option<u64>,
}

enum Container<'py> {
    List(Bound<'py, PyList>),
    Object(Bound<'py, PyDict>),
}

/// A value, and the container that it opens.
type Value<'py> = (Bound<'py, PyAny>, Option<Open<'py>>);

struct Reader<'a, 'py> {
    py: Python<'py>,
    content: &'a [u8],
    at: usize,
}

impl<'a, 'py> Reader<'a, 'py> {
    fn document(&mut self) -> Result<Bound<'py, PyAny>, Fault> {
        let (document, open) = self.value()?;
        let mut stack: Vec<Open<'py>> = open.into_iter().collect();
        while let Some(open) = stack.last_mut() {
            let marker = if matches!(open.container, Container::List(_)) { b']' } else { b'}' };
            let ended = open.left.is_none() && self.peek() == Some(marker);
            self.at += usize::from(ended);
            if ended || open.left == Some(0) {
                stack.pop();
                continue;
            }
            open.left = open.left.map(|left| left - 1);
            let within = self.entry(&open.container)?;
            if within.is_some() && stack.len() == NESTING {
                return damaged(format!("more than {NESTING} containers are nested"));
            }
            stack.extend(within);
        }
        if self.at != self.content.len() {
            return damaged("there is more data after the end");
        }
        Ok(document)
    }

    /// Reads one entry of a container; the container that the entry opens.
    fn entry(&mut self, container: &Container<'py>) -> Result<Option<Open<'py>>, Fault> {
        match container {
            Container::List(list) => {
                let (value, within) = self.value()?;
                list.append(value)?;
                Ok(within)
            }
            Container::Object(object) => {
                let key = PyString::new(self.py, self.text()?);
                let (value, within) = self.value()?;
                if object.contains(&key)? {
                    return damaged(format!("the key {} appears twice in one object", shown(&key)?));
                }
                object.set_item(key, value)?;
                Ok(within)
            }
        }
    }

    fn value(&mut self) -> Result<Value<'py>, Fault> {
        let marker = self.take(1)?[0];
        let value = match marker {
            b'S' => PyString::new(self.py, self.text()?).into_any(),
            b'[' if self.peek() == Some(b'$') => self.typed_array()?,
            b'i' => self.number(i8::from_be_bytes)?,
            b'U' => self.number(u8::from_be_bytes)?,
            b'I' => self.number(i16::from_be_bytes)?,
            b'l' => self.number(i32::from_be_bytes)?,
            b'L' => self.number(i64::from_be_bytes)?,
            b'd' => self.number(|bytes| f64::from(f32::from_be_bytes(bytes)))?,
            b'D' => self.number(f64::from_be_bytes)?,
            b'Z' => self.py.None().into_bound(self.py),
            b'T' | b'F' => (marker == b'T').into_pyobject(self.py).expect("never fails").into_bound().into_any(),
            b'C' => PyString::new(self.py, &char::from(self.take(1)?[0]).to_string()).into_any(),
            b'[' | b'{' => return self.container(marker),
            _ => return damaged(format!("a value is of unknown type {}", byte(marker))),
        };
        Ok((value, None))
    }

    /// Opens a list or an object.
    fn container(&mut self, marker: u8) -> Result<Value<'py>, Fault> {
        let mut left = None;
        if self.peek() == Some(b'#') {
            self.at += 1;
            let n = self.length()?;
            let rest = self.content.len() - self.at;
            if n > rest as u64 {
                return damaged(format!("{n} entries are announced, but {rest} bytes are left"));
            }
            left = Some(n);
        }
        Ok(if marker == b'[' {
            let list = PyList::empty(self.py);
            (list.clone().into_any(), Some(Open { container: Container::List(list), left }))
        } else {
            let object = PyDict::new(self.py);
            (object.clone().into_any(), Some(Open { container: Container::Object(object), left }))
        })
    }

    fn typed_array(&mut self) -> Result<Bound<'py, PyAny>, Fault> {
        self.at += 1;
        let marker = self.take(1)?[0];
        if !b"iUIlLdD".contains(&marker) {
            return damaged(format!("an array is of type {}, which is not numeric", byte(marker)));
        }
        if self.take(1)? != b"#" {
            return damaged("an array of one type has no length");
        }
        match marker {
            b'i' => self.array(i8::from_be_bytes),
            b'U' => self.array(u8::from_be_bytes),
            b'I' => self.array(i16::from_be_bytes),
            b'l' => self.array(i32::from_be_bytes),
            b'L' => self.array(i64::from_be_bytes),
            b'd' => self.array(f32::from_be_bytes),
            _ => self.array(f64::from_be_bytes),
        }
    }

    fn array<T: Element, const N: usize>(&mut self, from: fn([u8; N]) -> T) -> Result<Bound<'py, PyAny>, Fault> {
        let n = self.length()?;
        let (numbers, _) = self.take(u128::from(n) * N as u128)?.as_chunks::<N>();
        let numbers = numbers.iter().map(|&bytes| from(bytes)).collect();
        Ok(PyArray1::from_vec(self.py, numbers).into_any())
    }

    fn number<T, const N: usize>(&mut self, from: impl Fn([u8; N]) -> T) -> Result<Bound<'py, PyAny>, Fault>
    where
        T: IntoPyObject<'py, Error = std::convert::Infallible>,
    {
        let bytes = self.take(N as u128)?.try_into().expect("N bytes were taken");
        Ok(from(bytes).into_pyobject(self.py).unwrap_or_else(|never| match never {}).into_any().into_bound())
    }

    fn text(&mut self) -> Result<&'a str, Fault> {
        let n = self.length()?;
        std::str::from_utf8(self.take(n.into())?).or_else(|_| damaged("a text is not UTF-8"))
    }

    fn length(&mut self) -> Result<u64, Fault> {
        let rest = self.content.get(self.at + 1..).unwrap_or_default();
        let read = match self.peek() {
            Some(b'i') => rest.first_chunk().map(|&bytes| (i8::from_be_bytes(bytes).into(), 1)),
            Some(b'U') => rest.first_chunk().map(|&bytes| (u8::from_be_bytes(bytes).into(), 1)),
            Some(b'I') => rest.first_chunk().map(|&bytes| (i16::from_be_bytes(bytes).into(), 2)),
            Some(b'l') => rest.first_chunk().map(|&bytes| (i32::from_be_bytes(bytes).into(), 4)),
            Some(b'L') => rest.first_chunk().map(|&bytes| (i64::from_be_bytes(bytes), 8)),
            _ => None,
        };
        let Some((n, size)): Option<(i64, usize)> = read else {
            return damaged("a length is missing or of unknown type");
        };
        self.at += 1 + size;
        u64::try_from(n).or_else(|_| damaged(format!("a length is {n}")))
    }

    fn take(&mut self, n: u128) -> Result<&'a [u8], Fault> {
        let rest = &self.content[self.at..];
        if n > rest.len() as u128 {
            return damaged(format!("{n} bytes are announced, but {} are left", rest.len()));
        }
        self.at += n as usize;
        Ok(&rest[..n as usize])
    }

    fn peek(&self) -> Option<u8> {
        self.content.get(self.at).copied()
    }
}

/// A byte as Python shows it.
fn byte(marker: u8) -> String {
    format!("b'{}'", [marker].escape_ascii())
}

/// A key as Python shows it, shortened.
fn shown(key: &Bound<'_, PyString>) -> PyResult<String> {
    let text = key.repr()?.to_string();
    let short: String = text.chars().take(57).collect();
    Ok(if text.chars().count() <= 60 { text } else { format!("{short}...") })
}
