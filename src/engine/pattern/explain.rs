//! Rows through the tables.
//!
//! Every row's sums are taken tree after tree and unit after unit, whatever block, chunk, batch of tables or thread it
//! falls into, so results are bitwise the same for any number of threads and any batch of rows.

use std::ops::Range;

use super::indices::{Slots, Visit, indices};
use super::tables::{Piece, build, unit_size};
use super::{Cells, PatternForest, Source};
use crate::engine::codes::Code;
use crate::engine::compiled::Compiled;
use crate::error::Result;
use crate::index::Index;
use crate::job::{Progress, Workers};
use crate::rows::Rows;
use crate::simd::{Kernel, Offsets, add_looked_up, widest};

/// Numbers of a piece of tables, about: small enough to share out between threads.
const PIECE: usize = 1 << 18;
/// Numbers of the tables that are built, used and dropped together.
const BATCH: usize = 1 << 24;
/// Bytes of sums a thread works on at a time.
const CHUNK_BYTES: usize = 1 << 18;

/// The tables of one index, kept to explain rows again and again.
#[derive(Debug)]
pub(crate) struct PatternTables {
    pieces: Vec<Piece>,
}

/// Where results go: `(rows, players[, players], outputs)`.
pub(crate) enum Onto<'a> {
    /// All zeros, and perhaps memory that nobody has touched: it is better not read.
    Nothing(&'a mut [f64]),
    /// What earlier tables gave.
    Sums(&'a mut [f64]),
}

/// Some units of a tree, and the numbers in their tables.
type Cut = (usize, Range<usize>, usize);

impl PatternTables {
    /// The units in batches whose tables fit in memory: one if they all do.
    pub(crate) fn batches(forest: &PatternForest, compiled: &Compiled, index: Index, bytes: usize) -> Vec<Vec<Cut>> {
        let cuts: Vec<Cut> = cut(forest, compiled, index).collect();
        if cuts.iter().map(|(_, _, size)| 8 * size).sum::<usize>() <= bytes {
            return vec![cuts];
        }
        // Smaller batches than could be had: they are gone through once, and cost less fresh memory.
        let most = (bytes / 8).min(BATCH);
        let mut batches: Vec<Vec<Cut>> = Vec::new();
        let mut size = usize::MAX;
        for cut in cuts {
            if size.saturating_add(cut.2) > most {
                batches.push(Vec::new());
                size = 0;
            }
            size += cut.2;
            batches.last_mut().expect("just pushed").push(cut);
        }
        batches
    }

    /// Builds the tables of a batch.
    pub(crate) fn new(
        forest: &PatternForest,
        compiled: &Compiled,
        source: &Source<'_>,
        index: Index,
        batch: &[Cut],
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Self> {
        let cells = Cells::new(index, compiled.n_players, compiled.n_outputs);
        progress.expect(batch.len());
        let pieces = workers.map(batch.len(), |i| {
            let (tree, units, _) = batch[i].clone();
            progress.step()?;
            build(forest, &compiled.trees, source, index, cells, tree, units)
        });
        Ok(Self { pieces: pieces.into_iter().collect::<Result<_>>()? })
    }

    /// Adds the index of every row over the units of the tables.
    #[expect(clippy::too_many_arguments, reason = "the forest, the rows, and where and how to put what")]
    pub(crate) fn explain(
        &self,
        forest: &PatternForest,
        compiled: &Compiled,
        rows: &Rows<'_>,
        index: Index,
        onto: Onto<'_>,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<()> {
        let cells = Cells::new(index, compiled.n_players, compiled.n_outputs);
        let (out, first) = match onto {
            Onto::Nothing(out) => (out, true),
            Onto::Sums(out) => (out, false),
        };
        let call = Call { forest, compiled, pieces: &self.pieces, rows, cells, first, progress };
        let narrow = compiled.columns.fit_u16();
        match (rows.len(), cells.count(), narrow) {
            (1, _, true) => call.all::<u16, 1>(out, workers),
            (1, _, false) => call.all::<u32, 1>(out, workers),
            (2..=16, _, true) | (_, 1024.., true) => call.all::<u16, 16>(out, workers),
            (2..=16, _, false) | (_, 1024.., false) => call.all::<u32, 16>(out, workers),
            (_, _, true) => call.all::<u16, 128>(out, workers),
            (_, _, false) => call.all::<u32, 128>(out, workers),
        }
    }
}

/// The units of all trees in pieces: the tree, its units, the numbers in their tables.
fn cut<'a>(forest: &'a PatternForest, compiled: &'a Compiled, index: Index) -> impl Iterator<Item = Cut> + 'a {
    let trees = forest.trees.iter().enumerate().filter_map(|(t, tree)| Some((t, tree.as_ref()?)));
    trees.flat_map(move |(t, tree)| {
        let width = compiled.trees[t].width;
        let mut pieces = Vec::new();
        let (mut start, mut size) = (0, 0);
        for unit in 0..tree.units.all.len() {
            size += unit_size(tree, unit, index, width);
            if size >= PIECE || unit + 1 == tree.units.all.len() {
                pieces.push((t, start..unit + 1, size));
                (start, size) = (unit + 1, 0);
            }
        }
        pieces
    })
}

/// What every thread of a call shares.
struct Call<'a> {
    forest: &'a PatternForest,
    compiled: &'a Compiled,
    pieces: &'a [Piece],
    rows: &'a Rows<'a>,
    cells: Cells,
    /// Whether the result is still all zeros.
    first: bool,
    progress: &'a Progress,
}

impl Call<'_> {
    fn all<C: Code, const R: usize>(&self, out: &mut [f64], workers: &Workers) -> Result<()> {
        let n = self.rows.len();
        let row_cells = out.len() / n.max(1);
        if row_cells == 0 {
            return Ok(());
        }
        let blocks = (CHUNK_BYTES / (self.cells.count() * R * 8)).clamp(1, 16);
        let chunk = (blocks * R).min(n.div_ceil(workers.threads()).next_multiple_of(R));
        self.progress.expect(n.div_ceil(chunk));
        workers.fill(out, chunk * row_cells, |i, out| {
            let start = i * chunk;
            self.chunk::<C, R>(&self.rows.slice(start, n.min(start + chunk)), out);
            self.progress.step()
        })
    }

    fn chunk<C: Code, const R: usize>(&self, rows: &Rows<'_>, out: &mut [f64]) {
        let columns = &self.compiled.columns;
        let block_codes = columns.len() * R;
        let n_blocks = rows.len().div_ceil(R);
        let mut codes = vec![C::default(); n_blocks * block_codes];
        for block in 0..n_blocks {
            let some = rows.slice(block * R, rows.len().min((block + 1) * R));
            columns.encode(&some, R, &mut codes[block * block_codes..][..block_codes]);
        }
        let mut sums = vec![[0.0; R]; n_blocks * self.cells.count()];
        if !self.first {
            self.exchange(&mut sums, out, |sum, cell| *sum = *cell);
        }
        widest(Chunk { call: self, codes: &codes, block_codes, sums: &mut sums });
        self.exchange(&mut sums, out, |sum, cell| *cell = *sum);
    }

    /// Between the blocks' sums (cell by cell) and the result (row by row, pairs both ways round).
    fn exchange<const R: usize>(
        &self,
        sums: &mut [[f64; R]],
        out: &mut [f64],
        mut swap: impl FnMut(&mut f64, &mut f64),
    ) {
        let Cells { order, n_players: p, n_outputs: k } = self.cells;
        let row_cells = if order == 1 { p * k } else { p * p * k };
        for (sums, out) in sums.chunks_exact_mut(self.cells.count()).zip(out.chunks_mut(R * row_cells)) {
            if order == 1 {
                for (r, out) in out.chunks_exact_mut(row_cells).enumerate() {
                    sums.iter_mut().zip(out).for_each(|(sum, cell)| swap(&mut sum[r], cell));
                }
                continue;
            }
            // Pair by pair, since the sums of all pairs may not fit in cache once for every row.
            for (i, j) in (0..p).flat_map(|i| (i..p).map(move |j| (i, j))) {
                for output in 0..k {
                    let sums = &mut sums[self.cells.number(i, j, output)];
                    for (sum, out) in sums.iter_mut().zip(out.chunks_exact_mut(row_cells)) {
                        swap(sum, &mut out[(i * p + j) * k + output]);
                        swap(sum, &mut out[(j * p + i) * k + output]);
                    }
                }
            }
        }
    }
}

/// A few blocks of rows through all pieces.
struct Chunk<'a, C, const R: usize> {
    call: &'a Call<'a>,
    codes: &'a [C],
    block_codes: usize,
    sums: &'a mut [[f64; R]],
}

impl<C: Code, const R: usize> Kernel for Chunk<'_, C, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n_cells = self.call.cells.count();
        let mut slots = Slots::<R>::new();
        for piece in self.call.pieces {
            let tree = self.call.forest.trees[piece.tree].as_ref().expect("only trees with units have tables");
            for (block, sums) in self.sums.chunks_exact_mut(n_cells).enumerate() {
                let codes = &self.codes[block * self.block_codes..][..self.block_codes];
                indices(&tree.units, piece.units.clone(), codes, &mut slots, &mut LookUp { piece, sums });
            }
        }
    }
}

/// Adds what a block of rows gets from the units of a piece.
struct LookUp<'a, const R: usize> {
    piece: &'a Piece,
    sums: &'a mut [[f64; R]],
}

impl<const R: usize> Visit<R> for LookUp<'_, R> {
    #[inline(always)]
    fn unit(&mut self, unit: usize, indices: &[u16; R]) {
        let (cells, numbers) = self.piece.table(unit);
        if R == 1 {
            for (&cell, number) in cells.iter().zip(&numbers[usize::from(indices[0]) * cells.len()..]) {
                self.sums[cell as usize][0] += number;
            }
            return;
        }
        let offsets = Offsets::new(indices, cells.len() as u32);
        for (column, &cell) in cells.iter().enumerate() {
            add_looked_up(&mut self.sums[cell as usize], numbers, &offsets, column);
        }
    }
}
