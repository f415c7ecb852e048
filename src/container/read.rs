//! Reading a container.

use std::collections::BTreeMap;

use super::crc::crc64;
use super::{CHECKSUM, HEAD, Item, Kind, MAGIC, VERSION};
use crate::error::{Error, Result, SavedProblem};

/// Reads arrays, each taken once by its name.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    arrays: BTreeMap<&'a str, (u8, &'a [u8])>,
}

impl<'a> Reader<'a> {
    /// Checks the frame, finds the arrays, and checks that they hold what `holds` says.
    pub(crate) fn new(bytes: &'a [u8], holds: &'static str) -> Result<Self> {
        let number = |at: usize, size: usize| {
            let mut wide = [0; 8];
            wide[..size].copy_from_slice(&bytes[at..at + size]);
            u64::from_le_bytes(wide)
        };
        if bytes.len() < MAGIC.len() || !bytes.starts_with(MAGIC) {
            return Err(SavedProblem::Foreign.into());
        }
        if bytes.len() < HEAD + CHECKSUM {
            return Err(Error::damaged(format!("it is cut off after {} bytes", bytes.len())));
        }
        let version = number(8, 4);
        if version != u64::from(VERSION) {
            return Err(SavedProblem::Version { found: version, known: VERSION }.into());
        }
        let length = number(16, 8);
        if length != bytes.len() as u64 {
            return Err(Error::damaged(format!("it has {} bytes where {length} belong", bytes.len())));
        }
        let (body, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        if checksum != crc64(body).to_le_bytes() {
            return Err(Error::damaged("its checksum does not fit its content"));
        }
        let mut reader = Self { arrays: arrays(&body[HEAD..], number(12, 4))? };
        match &reader.texts("holds")?[..] {
            [found] if found == holds => Ok(reader),
            found => Err(SavedProblem::Holds { found: found.join(", "), expected: holds }.into()),
        }
    }

    fn take(&mut self, name: &str, kind: u8) -> Result<&'a [u8]> {
        match self.arrays.remove(name) {
            None => Err(Error::damaged(format!("it has no array `{name}`"))),
            Some((found, _)) if found != kind => {
                Err(Error::damaged(format!("array `{name}` is of kind {found}, not {kind}")))
            }
            Some((_, data)) => Ok(data),
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.arrays.contains_key(name)
    }

    pub(crate) fn numbers<T: Item>(&mut self, name: &str) -> Result<Vec<T>> {
        let data = self.take(name, T::KIND)?;
        if data.len() % T::SIZE != 0 {
            return Err(Error::damaged(format!(
                "array `{name}` has {} bytes, not a whole number of items",
                data.len()
            )));
        }
        Ok(data.chunks_exact(T::SIZE).map(T::read).collect())
    }

    pub(crate) fn number<T: Item>(&mut self, name: &str) -> Result<T> {
        let found = self.numbers(name)?;
        let [number] = found[..] else {
            return Err(Error::damaged(format!("array `{name}` has {} numbers where one belongs", found.len())));
        };
        Ok(number)
    }

    /// A number that counts things in memory.
    pub(crate) fn count(&mut self, name: &str) -> Result<usize> {
        let number: u64 = self.number(name)?;
        usize::try_from(number).map_err(|_| Error::damaged(format!("`{name}` is {number}, too large for this machine")))
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<bool> {
        match self.number::<u8>(name)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Error::damaged(format!("`{name}` is {other}, neither 0 nor 1"))),
        }
    }

    pub(crate) fn texts(&mut self, name: &str) -> Result<Vec<String>> {
        let mut data = self.take(name, Kind::Text as u8)?;
        let mut texts = Vec::new();
        while !data.is_empty() {
            let text =
                data.split_at_checked(4).and_then(|(length, rest)| rest.split_at_checked(u32::read(length) as usize));
            let Some((text, rest)) = text else {
                return Err(Error::damaged(format!("a text of `{name}` is cut off")));
            };
            let text = str::from_utf8(text).map_err(|_| Error::damaged(format!("a text of `{name}` is not UTF-8")))?;
            texts.push(text.to_owned());
            data = rest;
        }
        Ok(texts)
    }

    /// `len` packed numbers. Each takes at least a byte, so the file is at least that long.
    pub(crate) fn packed(&mut self, name: &str, len: usize) -> Result<Vec<u128>> {
        let data = self.take(name, Kind::Packed as u8)?;
        let wrong = |what: &str| Error::damaged(format!("array `{name}` {what}"));
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

    /// The names, with this prefix, of arrays that were not taken yet.
    pub(crate) fn named(&self, prefix: &str) -> Vec<&'a str> {
        self.arrays.keys().copied().filter(|name| name.starts_with(prefix)).collect()
    }

    /// An error if an array is left over: it must have meant something.
    pub(crate) fn finish(self) -> Result<()> {
        self.arrays
            .keys()
            .next()
            .map_or(Ok(()), |name| Err(Error::damaged(format!("it has an unknown array `{name}`"))))
    }
}

fn arrays(mut data: &[u8], n_arrays: u64) -> Result<BTreeMap<&str, (u8, &[u8])>> {
    let mut arrays = BTreeMap::new();
    for i in 0..n_arrays {
        let Some((name, kind, array, rest)) = array(data) else {
            return Err(Error::damaged(format!("array {i} of {n_arrays} is cut off")));
        };
        let name = str::from_utf8(name).map_err(|_| Error::damaged(format!("the name of array {i} is not UTF-8")))?;
        if arrays.insert(name, (kind, array)).is_some() {
            return Err(Error::damaged(format!("it has two arrays `{name}`")));
        }
        data = rest;
    }
    if data.is_empty() { Ok(arrays) } else { Err(Error::damaged(format!("{} bytes follow its arrays", data.len()))) }
}

/// The name, kind and data of an array, and the bytes after it.
type Found<'a> = (&'a [u8], u8, &'a [u8], &'a [u8]);

fn array(data: &[u8]) -> Option<Found<'_>> {
    let (&length, rest) = data.split_first()?;
    let (name, rest) = rest.split_at_checked(usize::from(length))?;
    let (&kind, rest) = rest.split_first()?;
    let (length, rest) = rest.split_at_checked(8)?;
    let (array, rest) = rest.split_at_checked(usize::try_from(u64::read(length)).ok()?)?;
    Some((name, kind, array, rest))
}
