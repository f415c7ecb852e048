//! The container: named arrays one after another, between a head that says how long it all is and a checksum.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `ARBORSHP` |
//! | 4 | version of the format |
//! | 4 | number of arrays |
//! | 8 | length of the file, all included |
//! | ... | for each array: 1 byte length of its name, the name, 1 byte kind, 8 bytes length of its data, the data |
//! | 8 | CRC-64/XZ of all bytes before |
//!
//! All numbers are little-endian. Reading borrows from the bytes, and arrays are copied out with their lengths known, so
//! nothing is allocated on a file's word alone.

use std::collections::BTreeMap;

use super::crc::crc64;
use crate::error::{Error, Result};

const MAGIC: &[u8; 8] = b"ARBORSHP";
/// Written, and the newest that is read.
pub(crate) const VERSION: u32 = 1;
const HEAD: usize = 24;
const CHECKSUM: usize = 8;

/// What an array is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    U8 = 0,
    U16 = 1,
    U32 = 2,
    U64 = 3,
    I32 = 4,
    I64 = 5,
    F64 = 6,
    /// Texts, each its length in four bytes and then its UTF-8.
    Text = 7,
    /// Numbers of up to 128 bits in groups of seven bits, lowest first; the top bit of a byte says that more follow.
    Packed = 8,
}

/// A number that arrays hold.
pub(crate) trait Item: Copy {
    const KIND: u8;
    const SIZE: usize;
    fn write(self, out: &mut Vec<u8>);
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! item {
    ($t:ty, $kind:ident) => {
        impl Item for $t {
            const KIND: u8 = Kind::$kind as u8;
            const SIZE: usize = size_of::<$t>();
            fn write(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn read(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("cut to its size"))
            }
        }
    };
}
item!(u8, U8);
item!(u16, U16);
item!(u32, U32);
item!(u64, U64);
item!(i32, I32);
item!(i64, I64);
item!(f64, F64);

/// Writes arrays.
#[derive(Debug)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    n_arrays: u32,
}

impl Writer {
    /// A file that holds a thing of this sort.
    pub(crate) fn new(holds: &str) -> Self {
        let mut writer = Self { bytes: vec![0; HEAD], n_arrays: 0 };
        writer.texts("holds", [holds]);
        writer
    }

    fn array(&mut self, name: &str, kind: u8, data: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.push(u8::try_from(name.len()).expect("names are short"));
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(kind);
        let length = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 8]);
        data(&mut self.bytes);
        let bytes = (self.bytes.len() - length - 8) as u64;
        self.bytes[length..length + 8].copy_from_slice(&bytes.to_le_bytes());
        self.n_arrays += 1;
    }

    pub(crate) fn numbers<T: Item>(&mut self, name: &str, numbers: impl IntoIterator<Item = T>) {
        self.array(name, T::KIND, |out| numbers.into_iter().for_each(|number| number.write(out)));
    }

    pub(crate) fn number<T: Item>(&mut self, name: &str, number: T) {
        self.numbers(name, [number]);
    }

    pub(crate) fn texts<'a>(&mut self, name: &str, texts: impl IntoIterator<Item = &'a str>) {
        self.array(name, Kind::Text as u8, |out| {
            for text in texts {
                (text.len() as u32).write(out);
                out.extend_from_slice(text.as_bytes());
            }
        });
    }

    pub(crate) fn packed(&mut self, name: &str, numbers: impl IntoIterator<Item = u128>) {
        self.array(name, Kind::Packed as u8, |out| {
            for mut number in numbers {
                while number >= 0x80 {
                    out.push(number as u8 | 0x80);
                    number >>= 7;
                }
                out.push(number as u8);
            }
        });
    }

    /// The arrays alone, to be told apart by.
    pub(crate) fn fingerprint(&self) -> u64 {
        crc64(&self.bytes[HEAD..])
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        let length = (self.bytes.len() + CHECKSUM) as u64;
        self.bytes[..8].copy_from_slice(MAGIC);
        self.bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        self.bytes[12..16].copy_from_slice(&self.n_arrays.to_le_bytes());
        self.bytes[16..24].copy_from_slice(&length.to_le_bytes());
        let checksum = crc64(&self.bytes);
        self.bytes.extend_from_slice(&checksum.to_le_bytes());
        self.bytes
    }
}

/// Reads arrays, each taken once by its name.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    arrays: BTreeMap<&'a str, (u8, &'a [u8])>,
}

/// An error that says what is wrong with the file.
pub(crate) fn damaged(problem: impl std::fmt::Display) -> Error {
    Error::Saved(format!("the saved explainer or background is damaged: {problem}"))
}

impl<'a> Reader<'a> {
    /// Checks the frame, finds the arrays, and that they hold a thing of this sort.
    pub(crate) fn new(bytes: &'a [u8], holds: &str) -> Result<Self> {
        let number = |at: usize, size: usize| {
            let mut wide = [0; 8];
            wide[..size].copy_from_slice(&bytes[at..at + size]);
            u64::from_le_bytes(wide)
        };
        if bytes.len() < MAGIC.len() || !bytes.starts_with(MAGIC) {
            return Err(Error::Saved(
                "this is not a saved explainer or background of arborshap: it does not begin with ARBORSHP".into(),
            ));
        }
        if bytes.len() < HEAD + CHECKSUM {
            return Err(damaged(format!("it is cut off after {} bytes", bytes.len())));
        }
        let version = number(8, 4);
        if version != u64::from(VERSION) {
            return Err(Error::Saved(format!(
                "it is in version {version} of the format, and this arborshap reads version {VERSION}; use the release \
                 that saved it, or save it again"
            )));
        }
        let length = number(16, 8);
        if length != bytes.len() as u64 {
            return Err(damaged(format!("it has {} bytes where {length} belong", bytes.len())));
        }
        let (body, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        if checksum != crc64(body).to_le_bytes() {
            return Err(damaged("its checksum does not fit its content"));
        }
        let mut reader = Self { arrays: arrays(&body[HEAD..], number(12, 4))? };
        match &reader.texts("holds")?[..] {
            [found] if found == holds => Ok(reader),
            found => Err(Error::Saved(format!("it holds {}, not {holds}", found.join(", ")))),
        }
    }

    fn take(&mut self, name: &str, kind: u8) -> Result<&'a [u8]> {
        match self.arrays.remove(name) {
            None => Err(damaged(format!("it has no array `{name}`"))),
            Some((found, _)) if found != kind => Err(damaged(format!("array `{name}` is of kind {found}, not {kind}"))),
            Some((_, data)) => Ok(data),
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.arrays.contains_key(name)
    }

    pub(crate) fn numbers<T: Item>(&mut self, name: &str) -> Result<Vec<T>> {
        let data = self.take(name, T::KIND)?;
        if data.len() % T::SIZE != 0 {
            return Err(damaged(format!("array `{name}` has {} bytes, no whole number of numbers", data.len())));
        }
        Ok(data.chunks_exact(T::SIZE).map(T::read).collect())
    }

    pub(crate) fn number<T: Item>(&mut self, name: &str) -> Result<T> {
        let found = self.numbers(name)?;
        let [number] = found[..] else {
            return Err(damaged(format!("array `{name}` has {} numbers where one belongs", found.len())));
        };
        Ok(number)
    }

    /// A number that counts things here.
    pub(crate) fn count(&mut self, name: &str) -> Result<usize> {
        let number: u64 = self.number(name)?;
        usize::try_from(number).map_err(|_| damaged(format!("`{name}` is {number}, too many for this machine")))
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<bool> {
        match self.number::<u8>(name)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(damaged(format!("`{name}` is {other}, neither 0 nor 1"))),
        }
    }

    pub(crate) fn texts(&mut self, name: &str) -> Result<Vec<String>> {
        let mut data = self.take(name, Kind::Text as u8)?;
        let mut texts = Vec::new();
        while !data.is_empty() {
            let text =
                data.split_at_checked(4).and_then(|(length, rest)| rest.split_at_checked(u32::read(length) as usize));
            let Some((text, rest)) = text else {
                return Err(damaged(format!("a text of `{name}` is cut off")));
            };
            let text = str::from_utf8(text).map_err(|_| damaged(format!("a text of `{name}` is not UTF-8")))?;
            texts.push(text.to_owned());
            data = rest;
        }
        Ok(texts)
    }

    /// So many packed numbers; each takes at least a byte, so the file is at least that long.
    pub(crate) fn packed(&mut self, name: &str, len: usize) -> Result<Vec<u128>> {
        let data = self.take(name, Kind::Packed as u8)?;
        let wrong = |what: &str| damaged(format!("array `{name}` {what}"));
        let ends = data.iter().filter(|&&byte| byte < 0x80).count();
        if ends != len || data.last().is_some_and(|&byte| byte >= 0x80) {
            return Err(wrong(&format!("has {ends} whole numbers where {len} belong")));
        }
        let mut numbers = Vec::with_capacity(len);
        let (mut number, mut shift) = (0_u128, 0);
        for byte in data {
            let group = u128::from(byte & 0x7F);
            if shift > 126 || (group << shift) >> shift != group {
                return Err(wrong("has a number of more than 128 bits"));
            }
            number |= group << shift;
            shift += 7;
            if *byte < 0x80 {
                numbers.push(number);
                (number, shift) = (0, 0);
            }
        }
        Ok(numbers)
    }

    /// The names of the arrays not taken that begin so.
    pub(crate) fn named(&self, prefix: &str) -> Vec<&'a str> {
        self.arrays.keys().copied().filter(|name| name.starts_with(prefix)).collect()
    }

    /// An error if anything is left: it would have meant something.
    pub(crate) fn finish(self) -> Result<()> {
        self.arrays.keys().next().map_or(Ok(()), |name| Err(damaged(format!("it has an unknown array `{name}`"))))
    }
}

fn arrays(mut data: &[u8], n_arrays: u64) -> Result<BTreeMap<&str, (u8, &[u8])>> {
    let mut arrays = BTreeMap::new();
    for i in 0..n_arrays {
        let Some((name, kind, array, rest)) = array(data) else {
            return Err(damaged(format!("array {i} of {n_arrays} is cut off")));
        };
        let name = str::from_utf8(name).map_err(|_| damaged(format!("the name of array {i} is not UTF-8")))?;
        if arrays.insert(name, (kind, array)).is_some() {
            return Err(damaged(format!("it has two arrays `{name}`")));
        }
        data = rest;
    }
    if data.is_empty() { Ok(arrays) } else { Err(damaged(format!("{} bytes follow its arrays", data.len()))) }
}

/// An array's name, kind and data, and what follows it.
type Found<'a> = (&'a [u8], u8, &'a [u8], &'a [u8]);

fn array(data: &[u8]) -> Option<Found<'_>> {
    let (&length, rest) = data.split_first()?;
    let (name, rest) = rest.split_at_checked(usize::from(length))?;
    let (&kind, rest) = rest.split_first()?;
    let (length, rest) = rest.split_at_checked(8)?;
    let (array, rest) = rest.split_at_checked(usize::try_from(u64::read(length)).ok()?)?;
    Some((name, kind, array, rest))
}
