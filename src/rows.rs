//! A borrowed matrix of rows, as the caller holds it.

use crate::error::{Argument, Error, Result};

/// The cells of [`Rows`], row after row, in the caller's precision.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Cells<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
}

impl<'a> From<&'a [f32]> for Cells<'a> {
    fn from(cells: &'a [f32]) -> Self {
        Self::F32(cells)
    }
}

impl<'a> From<&'a [f64]> for Cells<'a> {
    fn from(cells: &'a [f64]) -> Self {
        Self::F64(cells)
    }
}

/// A row-major matrix: `len` rows of `width` cells, which may be NaN or infinite.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    cells: Cells<'a>,
    len: usize,
    width: usize,
}

impl Rows<'static> {
    /// No rows at all, for work that needs none.
    pub(crate) const NONE: Self = Self { cells: Cells::F64(&[]), len: 0, width: 0 };
}

impl<'a> Rows<'a> {
    /// `len` rows of `width` cells each.
    pub fn new(cells: impl Into<Cells<'a>>, len: usize, width: usize) -> Result<Self> {
        let cells = cells.into();
        let have = match cells {
            Cells::F32(c) => c.len(),
            Cells::F64(c) => c.len(),
        };
        if len.checked_mul(width) != Some(have) {
            let problem = format!("{have} cells were given for {len} rows of {width} columns");
            return Err(Error::input(Argument::Data, problem));
        }
        Ok(Self { cells, len, width })
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The cells.
    #[must_use]
    pub fn cells(&self) -> Cells<'a> {
        self.cells
    }

    /// One cell as an `f64`.
    ///
    /// # Panics
    ///
    /// If the row or the column is out of range.
    #[inline]
    #[must_use]
    pub fn get(&self, row: usize, column: usize) -> f64 {
        assert!(column < self.width, "there is no column {column}: there are {}", self.width);
        self.cell(row, column)
    }

    /// One cell as an `f64`, for a column that is known to be below [`width`](Self::width): the forest's features are
    /// checked once, by [`expect_width`](Self::expect_width), and not in every cell.
    #[inline]
    pub(crate) fn cell(&self, row: usize, column: usize) -> f64 {
        debug_assert!(column < self.width, "column {column} of {}", self.width);
        let at = row * self.width + column;
        match self.cells {
            Cells::F32(c) => f64::from(c[at]),
            Cells::F64(c) => c[at],
        }
    }

    /// The rows `start..end`. Panics if they are out of range.
    #[must_use]
    pub fn slice(&self, start: usize, end: usize) -> Self {
        let (a, b) = (start * self.width, end * self.width);
        let cells = match self.cells {
            Cells::F32(c) => Cells::F32(&c[a..b]),
            Cells::F64(c) => Cells::F64(&c[a..b]),
        };
        Self { cells, len: end - start, width: self.width }
    }

    /// An error unless the rows have as many columns as the model has features.
    pub(crate) fn expect_width(&self, what: Argument, n_features: usize) -> Result<()> {
        if self.width == n_features {
            return Ok(());
        }
        Err(Error::Columns { what, columns: self.width, features: n_features })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_found_in_its_row_and_column() {
        let (single, double) = ([1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        for rows in [Rows::new(&single[..], 2, 3), Rows::new(&double[..], 2, 3)].map(|rows| rows.expect("cells enough"))
        {
            assert_eq!([rows.get(0, 2), rows.get(1, 0)].map(f64::to_bits), [3.0_f64, 4.0].map(f64::to_bits));
        }
    }

    #[test]
    #[should_panic(expected = "there is no column 2: there are 2")]
    fn a_column_behind_the_last_is_not_the_next_row() {
        let _ = Rows::new(&[1.0, 2.0, 3.0, 4.0][..], 2, 2).expect("cells enough").get(0, 2);
    }
}
