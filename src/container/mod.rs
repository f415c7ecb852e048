//! The container format of saved files: named arrays one after another, between a head that gives the length of the whole
//! and a checksum.
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
//! All numbers are little-endian. Reading borrows from the bytes and copies an array only once its length is known, so a
//! number in a file cannot make it allocate more than the file itself holds.

mod crc;
mod game;
mod read;
mod write;

pub(crate) use game::{read_game, write_game};
pub(crate) use read::Reader;
pub(crate) use write::Writer;

pub(crate) const MAGIC: &[u8; 8] = b"ARBORSHP";
/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;
const HEAD: usize = 24;
const CHECKSUM: usize = 8;

/// What an array consists of.
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
    /// Texts: for each its length in four bytes, then its UTF-8.
    Text = 7,
    /// Numbers of up to 128 bits in groups of seven bits, lowest first; the top bit of a byte says that more bytes follow.
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
