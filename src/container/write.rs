//! Writing a container.

use super::crc::crc64;
use super::{CHECKSUM, HEAD, Item, Kind, MAGIC, VERSION};

/// Writes arrays.
#[derive(Debug)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    n_arrays: u32,
}

impl Writer {
    /// Begins the bytes of what `holds` says.
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

    /// A checksum of the arrays written so far.
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
