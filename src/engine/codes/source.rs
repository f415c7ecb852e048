//! Rows that an engine explains: as the caller gave them, or as codes already.

use super::{BLOCK, Code, CodedRows, Columns};
use crate::rows::Rows;

/// Some rows, in either form. Engines only ever see their codes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowSource<'a> {
    Given(Rows<'a>),
    /// The rows `start..end` of these.
    Coded {
        rows: &'a CodedRows,
        start: usize,
        end: usize,
    },
}

impl<'a> From<&Rows<'a>> for RowSource<'a> {
    fn from(rows: &Rows<'a>) -> Self {
        Self::Given(*rows)
    }
}

impl<'a> From<&'a CodedRows> for RowSource<'a> {
    fn from(rows: &'a CodedRows) -> Self {
        Self::Coded { rows, start: 0, end: rows.len() }
    }
}

impl RowSource<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Given(rows) => rows.len(),
            Self::Coded { start, end, .. } => end - start,
        }
    }

    /// The rows `from..to` of these.
    pub(crate) fn slice(&self, from: usize, to: usize) -> Self {
        match *self {
            Self::Given(rows) => Self::Given(rows.slice(from, to)),
            Self::Coded { rows, start, .. } => Self::Coded { rows, start: start + from, end: start + to },
        }
    }

    /// The codes of up to `stride` rows, column after column: `out[column * stride + row]`.
    pub(crate) fn encode<C: Code>(&self, columns: &Columns, stride: usize, out: &mut [C]) {
        match *self {
            Self::Given(rows) => columns.encode(&rows, stride, out),
            Self::Coded { rows, start, end } => {
                let codes = C::unwrap(rows.codes()).expect("all rows of a forest have codes of one width");
                for row in start..end {
                    let (block, at) = rows.block_of(codes, row);
                    for (column, out) in out.chunks_exact_mut(stride).enumerate() {
                        out[row - start] = block[column * BLOCK + at];
                    }
                }
            }
        }
    }
}
