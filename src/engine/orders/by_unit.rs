//! Sets of players, unit by unit: rows with the same outcome of a unit get the same from all its leaves together.
//!
//! The tables of a few trees are built for the outcomes that occur, and then added row after row. A number of a table does
//! not depend on which other outcomes occur, and a row's sums go tree after tree and unit after unit, so results are bitwise
//! the same for any number of threads and any batch of rows.

use super::leaf_sets::LeafSets;
use super::player_sets::PlayerSets;
use super::subsets::Subsets;
use super::unit_sets::{NOTHING, TreeSets, UnitRule};
use crate::engine::codes::{BLOCK, CodedRows, RowSource};
use crate::engine::compiled::{Compiled, CompiledTree};
use crate::engine::tables::{PatternForest, PatternWeights};
use crate::error::Result;
use crate::job::Job;
use crate::set_index::Moments;

/// Leaves with more players on their path have too many patterns.
const MOST_PLAYERS: usize = 8;
/// Trees that could have more numbers in their tables are left out.
const MOST_NUMBERS: usize = 1 << 24;
/// Trees are built together up to this many numbers, about, so that they stay in cache.
const NUMBERS: usize = 1 << 22;
/// The most rows that are explained together.
const MOST_ROWS: usize = 4096;

/// An index of sets, unit by unit.
pub(crate) struct ByUnit<'a> {
    pub(crate) compiled: &'a Compiled,
    pub(crate) forest: &'a PatternForest,
    pub(crate) weights: &'a PatternWeights<'a>,
    pub(crate) moments: &'a Moments,
    pub(crate) sets: &'a PlayerSets,
    pub(crate) job: &'a Job,
}

/// Whether a tree has few enough players on its paths for sets of up to `order` players, whatever the rows are.
pub(crate) fn goes_by_unit(tree: &CompiledTree, order: usize) -> bool {
    tree.can_have_tables() && tree.max_path <= MOST_PLAYERS && size(tree, order) <= MOST_NUMBERS
}

/// How many numbers the tables of a tree have at most, roughly: a unit has at most three decisions.
fn size(tree: &CompiledTree, order: usize) -> usize {
    let subsets = Subsets::new(order, tree.max_path);
    let leaf = |(players, leaves): (usize, f64)| leaves as usize * (subsets.count(players) << (players + 1));
    tree.paths.iter().map(leaf).sum::<usize>().saturating_mul(tree.width)
}

impl ByUnit<'_> {
    /// Adds what some trees give to each row to `out`.
    pub(crate) fn explain(&self, trees: &[usize], rows: RowSource<'_>, out: &mut [f64]) -> Result<()> {
        if rows.len() == 0 || out.is_empty() || trees.is_empty() {
            return Ok(());
        }
        let (job, row_cells) = (self.job, out.len() / rows.len());
        let rule = UnitRule {
            forest: self.forest,
            weights: self.weights,
            numbers: self.sets,
            leaves: (0..=MOST_PLAYERS).map(|k| LeafSets::new(self.moments, k)).collect(),
            n_outputs: self.compiled.n_outputs,
        };
        let x = CodedRows::new(&self.compiled.columns, rows, &job.workers)?;
        job.progress.begin(rows.len().div_ceil(MOST_ROWS) * trees.len());
        for (number, out) in out.chunks_mut(MOST_ROWS * row_cells).enumerate() {
            let n_rows = out.len() / row_cells;
            let first = number * MOST_ROWS / BLOCK;
            let blocks = first..first + n_rows.div_ceil(BLOCK);
            for trees in self.together(trees) {
                let built = job.workers.map(trees.len(), |i| {
                    job.progress.step()?;
                    let outcomes = self.forest.row_outcomes(trees[i], &x, blocks.clone());
                    let tree = &self.compiled.trees[trees[i]];
                    Ok(rule.tree(trees[i], tree, &outcomes, blocks.len() * BLOCK, n_rows))
                });
                let built = built.into_iter().collect::<Result<Vec<TreeSets>>>()?;
                let chunk = n_rows.div_ceil(job.workers.threads());
                job.workers.fill(out, chunk * row_cells, |i, out| {
                    for (row, out) in out.chunks_exact_mut(row_cells).enumerate() {
                        for tree in &built {
                            tree.add(i * chunk + row, out);
                        }
                    }
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Neighbouring trees whose tables are built together.
    fn together<'t>(&self, trees: &'t [usize]) -> Vec<&'t [usize]> {
        let (mut parts, mut start, mut numbers) = (Vec::new(), 0, 0);
        for (i, &t) in trees.iter().enumerate() {
            numbers += size(&self.compiled.trees[t], self.moments.order());
            let enough = numbers >= NUMBERS && i + 1 - start >= self.job.workers.threads();
            if enough || i + 1 == trees.len() {
                parts.push(&trees[start..=i]);
                (start, numbers) = (i + 1, 0);
            }
        }
        parts
    }
}

impl TreeSets {
    /// Adds what a row gets.
    fn add(&self, row: usize, out: &mut [f64]) {
        let n_units = self.unit_cells.len();
        for (cells, &start) in self.unit_cells.iter().zip(&self.of_row[row * n_units..][..n_units]) {
            if start == NOTHING {
                continue;
            }
            let cells = &self.cells[cells.clone()];
            let numbers = &self.numbers[start as usize..][..cells.len() * self.width];
            if self.width == 1 {
                cells.iter().zip(numbers).for_each(|(&cell, number)| out[cell as usize] += number);
                continue;
            }
            for (&cell, numbers) in cells.iter().zip(numbers.chunks_exact(self.width)) {
                let out = &mut out[cell as usize..][..self.width];
                out.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
            }
        }
    }
}
