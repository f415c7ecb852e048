//! Rows through the tables.
//!
//! The sums of every row are taken tree after tree and unit after unit, whatever block, chunk, batch of tables or thread
//! the row falls into, so results are bitwise the same for any number of threads and any batch of rows.

use std::ops::Range;

use super::build::{Ingredients, RunTables, unit_size};
use super::outcomes::{Slots, UnitVisitor, outcomes};
use super::units::MAX_BITS;
use super::{LeafGains, PatternForest, PatternWeights};
use crate::engine::cells::CellMap;
use crate::engine::codes::{Code, RowSource, of_width};
use crate::engine::task::Task;
use crate::error::Result;
use crate::index::Integral;
use crate::simd::{ALIGNING, Kernel, Offsets, add_looked_up, aligned, prefetch, widest};

/// Numbers in the tables of a run of units, about: few enough that threads can share out the runs.
const RUN: usize = 1 << 18;
/// Numbers in the tables of a stretch of units, about: few enough to stay in the second-level cache while a chunk of rows
/// looks them up.
const STRETCH: usize = 1 << 15;
/// Numbers of the tables that are built, used and dropped together.
const BATCH: usize = 1 << 24;
/// Runs whose cells are on their way from memory together while a single row is explained.
const AHEAD: usize = 8;
/// Bytes of sums that a thread works on at a time. The tables may be much larger than any cache, and every chunk of rows
/// reads all of them from memory, so there should be few chunks.
const CHUNK_BYTES: usize = 1 << 22;
/// Blocks of a chunk, at most.
const BLOCKS: usize = 128;

/// The tables of one index, kept to explain rows again and again.
#[derive(Debug)]
pub(crate) struct PatternTables {
    pub(super) runs: Vec<RunTables>,
}

/// Where results go: `(rows, players[, players], outputs)`.
pub(crate) enum Target<'a> {
    /// All zeros, and perhaps memory that nobody has touched yet: it is better not read.
    Zeros(&'a mut [f64]),
    /// What earlier tables gave.
    Sums(&'a mut [f64]),
}

/// Some units of a tree whose tables are built together.
#[derive(Debug, Clone)]
pub(crate) struct UnitRun {
    tree: usize,
    units: Range<usize>,
    /// How many numbers their tables have.
    size: usize,
}

impl PatternTables {
    /// The units of all trees in batches whose tables fit in memory: one batch if they all do.
    pub(crate) fn batches(forest: &PatternForest, task: &Task<'_>, bytes: usize) -> Vec<Vec<UnitRun>> {
        let runs: Vec<UnitRun> = unit_runs(forest, task).collect();
        if runs.iter().map(|run| 8 * run.size).sum::<usize>() <= bytes {
            return vec![runs];
        }
        // Batches are smaller than they could be: they are used once, and take less fresh memory.
        let most = (bytes / 8).min(BATCH);
        let mut batches: Vec<Vec<UnitRun>> = Vec::new();
        let mut size = usize::MAX;
        for run in runs {
            if size.saturating_add(run.size) > most {
                batches.push(Vec::new());
                size = 0;
            }
            size += run.size;
            batches.last_mut().expect("just pushed").push(run);
        }
        batches
    }

    /// Builds the tables of a batch; `instead` gives what leaves give, if that is not what the task's index says.
    pub(crate) fn new(
        forest: &PatternForest,
        task: &Task<'_>,
        weights: &PatternWeights<'_>,
        batch: &[UnitRun],
        instead: Option<&dyn LeafGains>,
    ) -> Result<Self> {
        let integrals: Vec<Integral> = (0..=MAX_BITS as usize).map(|k| task.index.integral(k)).collect();
        let (compiled, index, integrals) = (task.compiled, task.index, &integrals[..]);
        let ingredients = Ingredients { forest, compiled, weights, index, integrals, instead };
        task.job.progress.begin(batch.len());
        let runs = task.job.workers.map(batch.len(), |i| {
            task.job.progress.step()?;
            ingredients.build(batch[i].tree, batch[i].units.clone())
        });
        Ok(Self { runs: runs.into_iter().collect::<Result<_>>()? })
    }

    /// Adds the index of every row over the units of the tables, whatever trees the task names.
    pub(crate) fn explain(&self, forest: &PatternForest, task: &Task<'_>, target: Target<'_>) -> Result<()> {
        let cells = CellMap::new(task.index, task.compiled.n_players, task.compiled.n_outputs);
        let (out, zeros) = match target {
            Target::Zeros(out) => (out, true),
            Target::Sums(out) => (out, false),
        };
        let pass = RowPass { forest, task, runs: &self.runs, cells, zeros };
        of_width!(task.compiled.columns, C => match (task.rows.len(), cells.count()) {
            (1, _) => pass.all::<C, 1>(out),
            (2..=16, _) | (_, 1024..) => pass.all::<C, 16>(out),
            _ => pass.all::<C, 128>(out),
        })
    }
}

/// The units of all trees that can have tables, in runs.
fn unit_runs<'a>(forest: &'a PatternForest, task: &'a Task<'_>) -> impl Iterator<Item = UnitRun> + 'a {
    let trees = forest.trees.iter().enumerate().filter_map(|(t, tree)| Some((t, tree.as_ref()?)));
    trees.flat_map(move |(t, tree)| {
        let width = task.compiled.trees[t].width;
        let mut runs = Vec::new();
        let (mut start, mut size) = (0, 0);
        for unit in 0..tree.units.all.len() {
            size += unit_size(tree, unit, task.index, width);
            if size >= RUN || unit + 1 == tree.units.all.len() {
                runs.push(UnitRun { tree: t, units: start..unit + 1, size });
                (start, size) = (unit + 1, 0);
            }
        }
        runs
    })
}

/// What all threads share while rows go through the tables.
struct RowPass<'a> {
    forest: &'a PatternForest,
    task: &'a Task<'a>,
    runs: &'a [RunTables],
    cells: CellMap,
    /// Whether the result is still all zeros.
    zeros: bool,
}

impl RowPass<'_> {
    fn all<C: Code, const R: usize>(&self, out: &mut [f64]) -> Result<()> {
        let Task { rows, job, .. } = self.task;
        let n = rows.len();
        let row_cells = out.len() / n.max(1);
        if row_cells == 0 {
            return Ok(());
        }
        let blocks = (CHUNK_BYTES / (self.cells.count() * R * 8)).clamp(1, BLOCKS);
        let chunk = (blocks * R).min(n.div_ceil(job.workers.threads()).next_multiple_of(R));
        job.progress.begin(n.div_ceil(chunk));
        job.workers.fill(out, chunk * row_cells, |i, out| {
            let start = i * chunk;
            self.chunk::<C, R>(rows.slice(start, n.min(start + chunk)), out);
            job.progress.step()
        })
    }

    fn chunk<C: Code, const R: usize>(&self, rows: RowSource<'_>, out: &mut [f64]) {
        let columns = &self.task.compiled.columns;
        let block_codes = columns.len() * R;
        let n_blocks = rows.len().div_ceil(R);
        let mut codes = vec![C::default(); n_blocks * block_codes];
        for block in 0..n_blocks {
            let some = rows.slice(block * R, rows.len().min((block + 1) * R));
            some.encode(columns, R, &mut codes[block * block_codes..][..block_codes]);
        }
        let n_sums = n_blocks * self.cells.count();
        let mut sums = vec![0.0; n_sums * R + ALIGNING];
        let (sums, _) = aligned(&mut sums).as_chunks_mut::<R>();
        let sums = &mut sums[..n_sums];
        if !self.zeros {
            self.cells.exchange(sums, out, |sum, cell| *sum = *cell);
        }
        widest(ExplainBlocks { pass: self, codes: &codes, block_codes, sums });
        self.cells.exchange(sums, out, |sum, cell| *cell = *sum);
    }
}

/// Some blocks of rows through all runs.
struct ExplainBlocks<'a, C, const R: usize> {
    pass: &'a RowPass<'a>,
    codes: &'a [C],
    block_codes: usize,
    sums: &'a mut [[f64; R]],
}

impl<C: Code, const R: usize> Kernel for ExplainBlocks<'_, C, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        if R == 1 {
            return self.one_row();
        }
        let n_cells = self.pass.cells.count();
        let mut slots = Slots::<R>::new();
        for run in self.pass.runs {
            if self.pass.task.job.progress.is_cancelled() {
                return;
            }
            let tree = self.pass.forest.tree(run.tree);
            for units in run.stretches(STRETCH) {
                for (block, sums) in self.sums.chunks_exact_mut(n_cells).enumerate() {
                    let codes = &self.codes[block * self.block_codes..][..self.block_codes];
                    outcomes(&tree.units, units.clone(), codes, &mut slots, &mut LookUp { run, sums });
                }
            }
        }
    }
}

impl<C: Code, const R: usize> ExplainBlocks<'_, C, R> {
    /// A row alone uses each table once, and most of its time would go into waiting for the cells. So the outcomes of several
    /// trees are found first, and the cells are added when they have arrived.
    #[inline(always)]
    fn one_row(self) {
        let mut slots = Slots::<R>::new();
        let mut found = Vec::new();
        for runs in self.pass.runs.chunks(AHEAD) {
            found.clear();
            for run in runs {
                let units = &self.pass.forest.tree(run.tree).units;
                outcomes(units, run.units.clone(), self.codes, &mut slots, &mut Fetch { run, found: &mut found });
            }
            for (cells, numbers) in &found {
                for (&cell, number) in cells.iter().zip(*numbers) {
                    self.sums[cell as usize][0] += number;
                }
            }
        }
    }
}

/// Finds the cells of each unit and the numbers that a single row gets there, and asks for the numbers.
struct Fetch<'a, 'f> {
    run: &'a RunTables,
    found: &'f mut Vec<(&'a [u32], &'a [f64])>,
}

impl<const R: usize> UnitVisitor<R> for Fetch<'_, '_> {
    #[inline(always)]
    fn unit(&mut self, unit: usize, outcomes: &[u16; R]) {
        let (cells, numbers) = self.run.table(unit);
        let start = usize::from(outcomes[0]) * cells.len();
        prefetch(numbers, start);
        prefetch(numbers, start + cells.len().saturating_sub(1));
        self.found.push((cells, &numbers[start..start + cells.len()]));
    }
}

/// Adds what a block of rows gets from the units of a run.
struct LookUp<'a, const R: usize> {
    run: &'a RunTables,
    sums: &'a mut [[f64; R]],
}

impl<const R: usize> UnitVisitor<R> for LookUp<'_, R> {
    #[inline(always)]
    fn unit(&mut self, unit: usize, outcomes: &[u16; R]) {
        let (cells, numbers) = self.run.table(unit);
        let offsets = Offsets::new(outcomes, cells.len() as u32);
        add_looked_up(self.sums, cells, numbers, &offsets);
    }
}
