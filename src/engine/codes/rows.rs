//! Coded rows, kept in memory.

use super::{Code, CodeTest, Codes, Columns, RowSource, of_width, with_codes};
use crate::error::Result;
use crate::job::Workers;
use crate::memory::zeroed;
use crate::simd::bits;

/// How many rows a block of [`CodedRows`] holds.
pub(crate) const BLOCK: usize = 128;
/// How many rows a set of rows holds: one bit of a machine word each.
pub(crate) const SET: usize = 64;

/// Rows as codes, in blocks of [`BLOCK`] rows, each block column after column.
#[derive(Debug, Clone)]
pub(crate) struct CodedRows {
    pub(super) codes: Codes,
    pub(super) len: usize,
    pub(super) n_columns: usize,
}

impl CodedRows {
    /// Bytes that `n_rows` rows take.
    pub(crate) fn bytes(columns: &Columns, n_rows: usize) -> usize {
        let code = of_width!(columns, C => size_of::<C>());
        n_rows.next_multiple_of(BLOCK).saturating_mul(columns.len()).saturating_mul(code)
    }

    pub(crate) fn new<'a>(columns: &Columns, rows: impl Into<RowSource<'a>>, workers: &Workers) -> Result<Self> {
        let rows = rows.into();
        let codes = of_width!(columns, C => C::wrap(blocks(columns, rows, workers)?));
        Ok(Self { codes, len: rows.len(), n_columns: columns.len() })
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn codes(&self) -> &Codes {
        &self.codes
    }

    /// The codes of the block that a row is in, and the row's position in the block.
    pub(crate) fn block_of<'a, C>(&self, codes: &'a [C], row: usize) -> (&'a [C], usize) {
        let size = BLOCK * self.n_columns;
        (&codes[row / BLOCK * size..][..size], row % BLOCK)
    }

    /// The code of a row in a column.
    #[inline(always)]
    pub(crate) fn code<C: Code>(&self, codes: &[C], row: usize, column: u32) -> C {
        codes[(row / BLOCK * self.n_columns + column as usize) * BLOCK + row % BLOCK]
    }

    /// How many sets of [`SET`] rows there are.
    pub(crate) fn n_sets(&self) -> usize {
        self.len.div_ceil(SET)
    }

    /// The rows of a set: bit r stands for row `set * SET + r`.
    pub(crate) fn members(&self, set: usize) -> u64 {
        u64::MAX >> (SET - (self.len - set * SET).min(SET))
    }

    /// For every test, which rows of a set pass it (and so go left).
    #[inline(always)]
    pub(crate) fn passing(&self, set: usize, tests: impl ExactSizeIterator<Item = CodeTest>, out: &mut Vec<u64>) {
        let size = BLOCK * self.n_columns;
        let (block, first) = (set * SET / BLOCK, set * SET % BLOCK);
        // A plain loop: a closure would not be compiled for the wide instructions.
        out.resize(tests.len(), 0);
        with_codes!(&self.codes, codes => {
            for (out, test) in out.iter_mut().zip(tests) {
                *out = passing(test, &codes[block * size..][..size], first);
            }
        });
    }

    /// The same for one test. If the set is beyond the last one, no row passes.
    #[inline(always)]
    pub(crate) fn passing_one(&self, set: usize, test: CodeTest) -> u64 {
        if set >= self.n_sets() {
            return 0;
        }
        let size = BLOCK * self.n_columns;
        let (block, first) = (set * SET / BLOCK, set * SET % BLOCK);
        with_codes!(&self.codes, codes => passing(test, &codes[block * size..][..size], first))
    }
}

fn blocks<C: Code>(columns: &Columns, rows: RowSource<'_>, workers: &Workers) -> Result<Vec<C>> {
    let size = BLOCK * columns.len();
    let mut codes = zeroed("the codes of the rows", rows.len().div_ceil(BLOCK).saturating_mul(size))?;
    // Sixteen blocks are enough for a thread to start on.
    workers.fill(&mut codes, 16 * size, |chunk, codes| {
        for (block, codes) in codes.chunks_exact_mut(size.max(1)).enumerate() {
            let start = (16 * chunk + block) * BLOCK;
            rows.slice(start, rows.len().min(start + BLOCK)).encode(columns, BLOCK, codes);
        }
        Ok(())
    })?;
    Ok(codes)
}

#[inline(always)]
fn passing<C: Code>(test: CodeTest, block: &[C], first: usize) -> u64 {
    let (lo, span) = (C::from_u32(test.lo), C::from_u32(test.span));
    let column: &[C; SET] =
        block[test.column as usize * BLOCK + first..][..SET].try_into().expect("a set has SET rows");
    let mut bytes = [0_u8; SET];
    for r in 0..SET {
        bytes[r] = u8::from(column[r].within(lo, span));
    }
    bits(&bytes)
}
