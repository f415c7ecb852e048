//! Which rows meet which trees and background rows.
//!
//! Every sum is taken in an order fixed by the forest and the background alone: within a *part* (a run of trees and
//! a run of background sets) one after another, then part by part. Threads share out rows and parts but never
//! change the grouping, so results are bitwise the same for any number of threads and any batch of rows.

use super::rules;
use super::sets::{PlayerSet, WideSet};
use super::shared::{Pending, shared_walk};
use super::walk;
use crate::engine::codes::{CodedRows, SET};
use crate::engine::compiled::{Compiled, CompiledTree};
use crate::error::Result;
use crate::forest::Output;
use crate::index::Index;
use crate::job::{Progress, Workers};
use crate::memory::zeros;
use crate::rows::Rows;
use crate::weights::Weights;

/// Trees and background sets are cut into at most this many runs each.
const RUNS: usize = 8;
/// A run of the background has at least this many sets: shorter ones are not worth a part of their own.
const RUN_SETS: usize = 64;
/// Doubles a task may hold for its partial sums.
const TASK_CELLS: usize = 1 << 19;

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

/// Adds the weighted mean over the background of an index, summed over some of the trees, to `out`:
/// `(rows, players[, players], outputs)`.
#[expect(clippy::too_many_arguments, reason = "the forest, its background, the rows, and where and how to put what")]
pub(crate) fn average(
    compiled: &Compiled,
    trees: &[usize],
    background: &CodedRows,
    weights: Option<&[f64]>,
    rows: &Rows<'_>,
    index: Index,
    out: &mut [f64],
    workers: &Workers,
    progress: &Progress,
) -> Result<()> {
    if out.is_empty() || trees.is_empty() {
        return Ok(());
    }
    let cells = out.len() / rows.len();
    let walker = Walker { compiled, trees, background, weights, w: &Weights::up_to(compiled.max_path()), index };
    let total = weights.map_or(background.len() as f64, |w| w.iter().sum());
    let parts = parts(trees.len(), background.n_sets());
    let per_task = (TASK_CELLS / cells).clamp(1, SET);
    let n_tasks = rows.len().div_ceil(per_task);
    progress.expect(n_tasks * parts.len());

    let many_tasks = n_tasks >= 2 * RUNS;
    let inner = Workers::new(1);
    let (across_tasks, across_parts) = if many_tasks { (workers, &inner) } else { (&inner, workers) };
    across_tasks.fill(out, per_task * cells, |task, out| {
        let x = CodedRows::new(
            &compiled.columns,
            &rows.slice(task * per_task, task * per_task + out.len() / cells),
            &inner,
        )?;
        let mut mean = zeros("a partial sum", &[out.len()])?;
        // One run of parts at a time bounds the partial sums held at once.
        for some in parts.chunks(if many_tasks { 1 } else { RUNS }) {
            let sums = across_parts.map(some.len(), |i| walker.part(&some[i], &x, cells, progress));
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
    compiled: &'a Compiled,
    trees: &'a [usize],
    background: &'a CodedRows,
    weights: Option<&'a [f64]>,
    w: &'a Weights,
    index: Index,
}

impl Walker<'_> {
    fn part(&self, part: &Part, x: &CodedRows, cells: usize, progress: &Progress) -> Result<Vec<f64>> {
        let mut sums = zeros("a partial sum", &[x.len(), cells])?;
        let (mut x_left, mut z_left) = (Vec::new(), Vec::new());
        for tree in self.trees[part.trees.clone()].iter().map(|&t| &self.compiled.trees[t]) {
            let tests = || tree.splits.iter().map(|s| s.test);
            x.passing(0, tests(), &mut x_left);
            for set in part.sets.clone() {
                self.background.passing(set, tests(), &mut z_left);
                let rows = sums.chunks_exact_mut(cells).enumerate();
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

    /// All rows of a task against one tree and one background set.
    fn set<'b, S: PlayerSet>(
        &self,
        tree: &CompiledTree,
        rows: impl Iterator<Item = (usize, &'b mut [f64])>,
        x_left: &[u64],
        set: usize,
        z_left: &[u64],
    ) {
        let mut pending = Pending::<S>::default();
        let (p, k) = (self.compiled.n_players, self.compiled.n_outputs);
        let place = |i: usize| tree.players[i] as usize;
        let members = self.background.members(set);
        for (r, sums) in rows {
            let x_left = |n: usize| x_left[n] >> r & 1 == 1;
            shared_walk(tree, x_left, z_left, members, &mut pending, |leaf, zs, s_x: &S, s_z: &S| {
                let (leaf, weight) = (Leaf::of(tree, leaf), self.weight(set, zs));
                let two = |i: usize, j: usize| place(i) * p + place(j);
                rules::leaf(self.index, self.w, s_x, s_z, place, two, |cell, c| leaf.add(weight * c, sums, cell, k));
            });
        }
    }

    /// The weight of a set of rows of a background set.
    #[inline]
    fn weight(&self, set: usize, rows: u64) -> f64 {
        match self.weights {
            None => f64::from(rows.count_ones()),
            Some(weights) => {
                let mut sum = 0.0;
                rows.for_each(|r| sum += weights[set * SET + r]);
                sum
            }
        }
    }
}

/// The value $v_l$ of a leaf, and the outputs it belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Leaf<'a> {
    values: &'a [f64],
    first_output: usize,
}

impl<'a> Leaf<'a> {
    #[inline]
    pub(crate) fn of(tree: &'a CompiledTree, leaf: usize) -> Self {
        let first_output = match tree.output {
            Output::One(k) => k,
            Output::All => 0,
        };
        Self { values: &tree.values[leaf * tree.width..][..tree.width], first_output }
    }

    pub(crate) fn values(self) -> &'a [f64] {
        self.values
    }

    /// Adds `coefficient * v` to a cell that holds `n_outputs` numbers.
    #[inline(always)]
    pub(crate) fn add(self, coefficient: f64, cells: &mut [f64], cell: usize, n_outputs: usize) {
        let start = cell * n_outputs + self.first_output;
        if let [value] = self.values {
            cells[start] += coefficient * value;
        } else {
            let cells = &mut cells[start..][..self.values.len()];
            cells.iter_mut().zip(self.values).for_each(|(cell, value)| *cell += coefficient * value);
        }
    }
}

/// How the pairs of a row and the background rows of a set are walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Walk {
    /// One pair at a time, as the paper writes it: the reference the other is tested against.
    Single,
    /// All rows of a background set at once.
    Shared,
}

/// Rows a task of [`pairs`] takes: enough to make up for looking where each background set goes.
const PAIR_ROWS: usize = 8;

/// The Shapley values $\phi(x, z)$ of every pair: `(rows, background rows, players, outputs)`.
pub(crate) fn pairs(
    compiled: &Compiled,
    background: &CodedRows,
    rows: &Rows<'_>,
    walk: Walk,
    workers: &Workers,
    progress: &Progress,
) -> Result<Vec<f64>> {
    let (n, m) = (rows.len(), background.len());
    let mut out = zeros("the result", &[n, m, compiled.n_players, compiled.n_outputs])?;
    if out.is_empty() {
        return Ok(out);
    }
    let cells = compiled.n_players * compiled.n_outputs;
    let w = Weights::up_to(compiled.max_path());
    progress.expect(n.div_ceil(PAIR_ROWS));
    workers.fill(&mut out, PAIR_ROWS * m * cells, |task, out| {
        let first = task * PAIR_ROWS;
        let x = CodedRows::new(&compiled.columns, &rows.slice(first, n.min(first + PAIR_ROWS)), &Workers::new(1))?;
        let (mut x_left, mut z_left) = (Vec::new(), Vec::new());
        for tree in &compiled.trees {
            let tests = || tree.splits.iter().map(|s| s.test);
            x.passing(0, tests(), &mut x_left);
            for set in 0..background.n_sets() {
                background.passing(set, tests(), &mut z_left);
                let members = background.members(set);
                let pairs = PairSet {
                    tree,
                    w: &w,
                    x_left: &x_left,
                    z_left: &z_left,
                    members,
                    cells,
                    n_outputs: compiled.n_outputs,
                };
                for (r, out) in out.chunks_exact_mut(m * cells).enumerate() {
                    let out = &mut out[set * SET * cells..m.min((set + 1) * SET) * cells];
                    match (walk, tree.players.len() <= 64) {
                        (Walk::Shared, true) => pairs.shared::<u64>(r, out),
                        (Walk::Shared, false) => pairs.shared::<WideSet>(r, out),
                        (Walk::Single, true) => pairs.single::<u64>(r, out),
                        (Walk::Single, false) => pairs.single::<WideSet>(r, out),
                    }
                }
            }
            if progress.is_cancelled() {
                break;
            }
        }
        progress.step()
    })?;
    Ok(out)
}

/// A set of background rows at one tree.
struct PairSet<'a> {
    tree: &'a CompiledTree,
    w: &'a Weights,
    x_left: &'a [u64],
    z_left: &'a [u64],
    members: u64,
    cells: usize,
    n_outputs: usize,
}

impl PairSet<'_> {
    fn shared<S: PlayerSet>(&self, r: usize, out: &mut [f64]) {
        let x_left = |n: usize| self.x_left[n] >> r & 1 == 1;
        let mut pending = Pending::<S>::default();
        shared_walk(self.tree, x_left, self.z_left, self.members, &mut pending, |leaf, zs, s_x: &S, s_z: &S| {
            zs.for_each(|z| self.add(leaf, s_x, s_z, &mut out[z * self.cells..][..self.cells]));
        });
    }

    fn single<S: PlayerSet>(&self, r: usize, out: &mut [f64]) {
        let x_left = |n: usize| self.x_left[n] >> r & 1 == 1;
        self.members.for_each(|z| {
            let z_left = |n: usize| self.z_left[n] >> z & 1 == 1;
            let out = &mut out[z * self.cells..][..self.cells];
            walk::walk(self.tree, x_left, z_left, |leaf, s_x: &S, s_z: &S| self.add(leaf, s_x, s_z, out));
        });
    }

    #[inline(always)]
    fn add<S: PlayerSet>(&self, leaf: usize, s_x: &S, s_z: &S, out: &mut [f64]) {
        let leaf = Leaf::of(self.tree, leaf);
        let place = |i: usize| self.tree.players[i] as usize;
        rules::leaf(
            Index::Shapley,
            self.w,
            s_x,
            s_z,
            place,
            |i, _| i,
            |cell, c| leaf.add(c, out, cell, self.n_outputs),
        );
    }
}
