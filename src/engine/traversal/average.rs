//! The mean over the background.
//!
//! Every sum is taken in an order that the forest and the background alone determine: within a *part* (a run of trees
//! and a run of background sets) one term after another, then part by part. Threads share out rows and parts but never
//! change the grouping, so results are bitwise the same for any number of threads and any batch of rows.

use super::shared::{Pending, shared_walk};
use crate::engine::codes::{CodedRows, SET};
use crate::engine::compiled::{CompiledTree, Leaf};
use crate::engine::rules;
use crate::engine::sets::{PlayerSet, WideSet};
use crate::engine::task::{BackgroundRows, Task};
use crate::error::Result;
use crate::job::Workers;
use crate::memory::zeros;
use crate::weights::Weights;

/// Trees and background sets are each divided into at most this many runs.
const RUNS: usize = 8;
/// A run of the background has at least this many sets: a shorter one is not worth a part of its own.
const RUN_SETS: usize = 64;
/// Doubles that one piece of work may hold for its partial sums.
const PIECE_CELLS: usize = 1 << 19;

/// A run of trees against a run of background sets.
struct Part {
    trees: std::ops::Range<usize>,
    sets: std::ops::Range<usize>,
}

fn parts(n_trees: usize, n_sets: usize) -> Vec<Part> {
    let runs = |n: usize, least: usize| {
        let size = n.div_ceil(RUNS).max(least);
        (0..n.div_ceil(size)).map(move |i| i * size..n.min((i + 1) * size))
    };
    runs(n_trees, 1)
        .flat_map(|trees| runs(n_sets, RUN_SETS).map(move |sets| Part { trees: trees.clone(), sets }))
        .collect()
}

/// Adds the weighted mean over the background of the task's index to `out`.
pub(crate) fn average(task: &Task<'_>, background: &BackgroundRows<'_>, out: &mut [f64]) -> Result<()> {
    let Some(cells) = task.row_cells(out) else { return Ok(()) };
    let Task { compiled, rows, job, .. } = *task;
    let walker = Walker { task, background, w: &Weights::up_to(compiled.max_path()), cells };
    let total = background.total();
    let parts = parts(task.trees.len(), background.rows.n_sets());
    let per_piece = (PIECE_CELLS / cells).clamp(1, SET);
    let n_pieces = rows.len().div_ceil(per_piece);
    job.progress.begin(n_pieces * parts.len());

    let many_pieces = n_pieces >= 2 * RUNS;
    let alone = Workers::new(1);
    let (across_pieces, across_parts) = if many_pieces { (&job.workers, &alone) } else { (&alone, &job.workers) };
    across_pieces.fill(out, per_piece * cells, |piece, out| {
        let first = piece * per_piece;
        let x = CodedRows::new(&compiled.columns, rows.slice(first, first + out.len() / cells), &alone)?;
        let mut mean = zeros("a partial sum", &[out.len()])?;
        // Taking one run of parts at a time limits how many partial sums are held at once.
        for some in parts.chunks(if many_pieces { 1 } else { RUNS }) {
            let sums = across_parts.map(some.len(), |i| walker.part(&some[i], &x));
            for sum in sums {
                mean.iter_mut().zip(sum?).for_each(|(mean, part)| *mean += part);
            }
        }
        out.iter_mut().zip(mean).for_each(|(cell, mean)| *cell += mean / total);
        Ok(())
    })
}

/// What every walk of a call shares.
struct Walker<'a> {
    task: &'a Task<'a>,
    background: &'a BackgroundRows<'a>,
    w: &'a Weights,
    cells: usize,
}

impl Walker<'_> {
    /// The sums over a part, for up to [`SET`] rows.
    fn part(&self, part: &Part, x: &CodedRows) -> Result<Vec<f64>> {
        let progress = &self.task.job.progress;
        let mut sums = zeros("a partial sum", &[x.len(), self.cells])?;
        let (mut x_left, mut z_left) = (Vec::new(), Vec::new());
        for tree in self.task.trees[part.trees.clone()].iter().map(|&t| &self.task.compiled.trees[t]) {
            x.passing(0, tree.tests(), &mut x_left);
            for set in part.sets.clone() {
                self.background.rows.passing(set, tree.tests(), &mut z_left);
                let rows = sums.chunks_exact_mut(self.cells).enumerate();
                if tree.players.len() <= 64 {
                    self.set::<u64>(tree, rows, &x_left, set, &z_left);
                } else {
                    self.set::<WideSet>(tree, rows, &x_left, set, &z_left);
                }
            }
            if progress.is_cancelled() {
                break;
            }
        }
        progress.step()?;
        Ok(sums)
    }

    /// All rows against one tree and one background set.
    fn set<'b, S: PlayerSet>(
        &self,
        tree: &CompiledTree,
        rows: impl Iterator<Item = (usize, &'b mut [f64])>,
        x_left: &[u64],
        set: usize,
        z_left: &[u64],
    ) {
        let mut pending = Pending::<S>::default();
        let (p, k) = (self.task.compiled.n_players, self.task.compiled.n_outputs);
        let place = |i: usize| tree.players[i] as usize;
        let members = self.background.rows.members(set);
        for (r, sums) in rows {
            let x_left = |n: usize| x_left[n] >> r & 1 == 1;
            shared_walk(tree, x_left, z_left, members, &mut pending, |leaf, zs, s_x: &S, s_z: &S| {
                let (leaf, weight) = (Leaf::of(tree, leaf), self.background.weight_of(set, zs));
                let two = |i: usize, j: usize| place(i) * p + place(j);
                let add = |cell: usize, c: f64| leaf.add(weight * c, sums, cell, k);
                rules::leaf(self.task.index, self.w, s_x, s_z, place, two, add);
            });
        }
    }
}
