//! Coded rows laid out row after row and put together again, for what is saved, sorted or merged.

use super::{BLOCK, Code, CodedRows, Codes, Columns};

impl CodedRows {
    /// The codes row after row.
    pub(crate) fn row_major(&self) -> Codes {
        let all = |row: usize, column: usize| row / BLOCK * BLOCK * self.n_columns + column * BLOCK + row % BLOCK;
        let order = || (0..self.len).flat_map(move |row| (0..self.n_columns).map(move |column| all(row, column)));
        match &self.codes {
            Codes::U16(codes) => Codes::U16(order().map(|at| codes[at]).collect()),
            Codes::U32(codes) => Codes::U32(order().map(|at| codes[at]).collect()),
        }
    }

    /// Rows from their codes, row after row; what is wrong with these where they cannot be a forest's.
    pub(crate) fn from_row_major(columns: &Columns, codes: &Codes, len: usize) -> Result<Self, String> {
        let have = match codes {
            Codes::U16(codes) => codes.len(),
            Codes::U32(codes) => codes.len(),
        };
        if len.checked_mul(columns.len()) != Some(have) {
            return Err(format!("{have} codes were given for {len} rows of {} columns", columns.len()));
        }
        let codes = match codes {
            Codes::U16(codes) if columns.fit_u16() => Codes::U16(blocks(columns, codes, len)?),
            Codes::U32(codes) if !columns.fit_u16() => Codes::U32(blocks(columns, codes, len)?),
            _ => return Err("its codes are not as wide as the forest's".into()),
        };
        Ok(Self { codes, len, n_columns: columns.len() })
    }
}

fn blocks<C: Code + Into<u32>>(columns: &Columns, rows: &[C], len: usize) -> Result<Vec<C>, String> {
    let n_columns = columns.len();
    if n_columns == 0 {
        return Ok(Vec::new());
    }
    let (most, missing) = (columns.max_code as u32, C::MISSING.into());
    let mut out = vec![C::default(); len.div_ceil(BLOCK) * BLOCK * n_columns];
    for (row, cells) in rows.chunks_exact(n_columns).enumerate() {
        let block = &mut out[row / BLOCK * BLOCK * n_columns..][..BLOCK * n_columns];
        for (column, &code) in cells.iter().enumerate() {
            let number: u32 = code.into();
            if number != missing && !(1..=most).contains(&number) {
                return Err(format!("row {row} has the code {number}, but codes are 1 to {most}, or {missing}"));
            }
            block[column * BLOCK + row % BLOCK] = code;
        }
    }
    Ok(out)
}
