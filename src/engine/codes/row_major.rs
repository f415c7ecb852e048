//! Coded rows laid out row after row, as they are saved, sorted and merged.

use super::{BLOCK, Code, CodedRows, Codes, Columns, of_width, with_codes};

impl CodedRows {
    /// Some of the rows.
    pub(crate) fn select(&self, chosen: impl ExactSizeIterator<Item = usize>) -> Self {
        let (len, size) = (chosen.len(), BLOCK * self.n_columns);
        let codes = with_codes!(&self.codes, codes => {
            let mut out = vec![Default::default(); len.div_ceil(BLOCK) * size];
            for (to, from) in chosen.enumerate() {
                let (block, at) = self.block_of(codes, from);
                for column in 0..self.n_columns {
                    out[to / BLOCK * size + column * BLOCK + to % BLOCK] = block[column * BLOCK + at];
                }
            }
            Code::wrap(out)
        });
        Self { codes, len, n_columns: self.n_columns }
    }

    /// The codes, row after row.
    pub(crate) fn row_major(&self) -> Codes {
        let at = |row: usize, column: usize| row / BLOCK * BLOCK * self.n_columns + column * BLOCK + row % BLOCK;
        let order = || (0..self.len).flat_map(move |row| (0..self.n_columns).map(move |column| at(row, column)));
        with_codes!(&self.codes, codes => Code::wrap(order().map(|at| codes[at]).collect()))
    }

    /// Rows from their codes, row after row; or a description of what is invalid for this forest.
    pub(crate) fn from_row_major(columns: &Columns, codes: &Codes, len: usize) -> Result<Self, String> {
        let have = codes.len();
        if len.checked_mul(columns.len()) != Some(have) {
            return Err(format!("{have} codes were given for {len} rows of {} columns", columns.len()));
        }
        let codes = of_width!(columns, C => {
            let codes = C::unwrap(codes).ok_or("its codes are not as wide as the forest's")?;
            C::wrap(blocks(columns, codes, len)?)
        });
        Ok(Self { codes, len, n_columns: columns.len() })
    }
}

fn blocks<C: Code>(columns: &Columns, rows: &[C], len: usize) -> Result<Vec<C>, String> {
    let n_columns = columns.len();
    if n_columns == 0 {
        return Ok(Vec::new());
    }
    let (most, missing) = (columns.max_code as u32, C::MISSING.into());
    let mut out = vec![C::default(); len.div_ceil(BLOCK) * BLOCK * n_columns];
    for (row, codes) in rows.chunks_exact(n_columns).enumerate() {
        let block = &mut out[row / BLOCK * BLOCK * n_columns..][..BLOCK * n_columns];
        for (column, &code) in codes.iter().enumerate() {
            let number: u32 = code.into();
            if number != missing && !(1..=most).contains(&number) {
                return Err(format!("row {row} has the code {number}, but codes are 1 to {most}, or {missing}"));
            }
            block[column * BLOCK + row % BLOCK] = code;
        }
    }
    Ok(out)
}
