//! Values as small integers: all that a forest can see of a value.
//!
//! A forest asks finitely many questions about a feature, so a value matters only through the interval between two
//! thresholds that it falls into. Each value is looked up once and becomes a *code*. Every split of every tree is then
//! the same test, `code - lo <= span` in wrapping arithmetic, whatever rule, precision, missing direction or
//! category set the library has. [`Split::goes_left`] stays the definition.

mod choose;
mod encode;
mod row_major;
mod rows;
mod source;
mod width;

pub(crate) use crate::simd::bits;
pub(crate) use choose::TreeTests;
pub(crate) use rows::{BLOCK, CodedRows, SET};
pub(crate) use source::RowSource;
pub(crate) use width::{Code, Codes, of_width, with_codes};

use crate::forest::{Missing, Precision, Split};

/// A test of a column's code: `code - lo <= span`, wrapping. `lo` is stored as a `u32` whose low bits serve
/// narrower codes too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodeTest {
    pub(crate) column: u32,
    pub(crate) lo: u32,
    pub(crate) span: u32,
}

impl CodeTest {
    /// The test of a split at the cut of this rank. Values up to the cut pass, which have the codes 1 ..= rank, and so
    /// do missing values if `missing_left` says so. In wrapping arithmetic the missing code comes right before code 0,
    /// which no value has.
    pub(crate) fn at(column: u32, rank: u32, missing_left: bool) -> Self {
        match (missing_left, rank) {
            (true, 0) => Self { column, lo: u32::MAX, span: 0 },
            (true, _) => Self { column, lo: u32::MAX, span: rank + 1 },
            (false, 0) => Self { column, lo: 0, span: 0 },
            (false, _) => Self { column, lo: 1, span: rank - 1 },
        }
    }

    /// The rank of [`at`](Self::at), and whether missing values pass.
    pub(crate) fn rank(self) -> (u32, bool) {
        match self.lo {
            u32::MAX => (self.span.saturating_sub(1), true),
            0 => (0, false),
            _ => (self.span + 1, false),
        }
    }
}

/// How a value of one feature becomes a code.
#[derive(Debug)]
enum Coding {
    /// 1 + the number of cuts below the value; cuts in single precision.
    F32 { cuts: Vec<f32>, missing: Missing },
    /// The same in double precision.
    F64 { cuts: Vec<f64>, missing: Missing },
    /// 1 if the split sends the value left, 2 if right (a category set).
    Split(Split),
}

impl Coding {
    /// The largest code of a value.
    fn largest(&self) -> u32 {
        match self {
            Self::F32 { cuts, .. } => cuts.len() as u32 + 1,
            Self::F64 { cuts, .. } => cuts.len() as u32 + 1,
            Self::Split(_) => 2,
        }
    }
}

/// One column of codes.
#[derive(Debug)]
struct Column {
    feature: usize,
    coding: Coding,
}

/// What distinguishes columns of thresholds of the same feature.
type Axis = (Precision, Missing);

/// The columns of codes that a forest needs.
#[derive(Debug)]
pub(crate) struct Columns {
    columns: Vec<Column>,
    max_code: usize,
}

impl Columns {
    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    /// The largest code of a value in a column.
    pub(crate) fn largest_code(&self, column: usize) -> u32 {
        self.columns[column].coding.largest()
    }

    /// Whether 16 bits hold every code, with room for the tests' own arithmetic.
    pub(crate) fn fit_u16(&self) -> bool {
        self.max_code < usize::from(u16::MAX) - 4
    }
}
