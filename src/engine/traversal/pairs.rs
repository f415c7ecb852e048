//! The values of every pair of a row and a background row, never averaged.

use super::shared::{Pending, shared_walk};
use super::walk::walk;
use crate::engine::codes::{CodedRows, SET};
use crate::engine::compiled::{Compiled, CompiledTree, Leaf};
use crate::engine::rules;
use crate::engine::sets::{PlayerSet, WideSet};
use crate::error::Result;
use crate::index::Index;
use crate::job::{Job, Workers};
use crate::memory::zeros;
use crate::rows::Rows;
use crate::weights::Weights;

/// How the pairs of a row and the background rows of a set are walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PairWalk {
    /// One pair at a time, as the paper writes it: the reference that the other is tested against.
    Single,
    /// All rows of a background set at once.
    Shared,
}

/// Rows that a thread takes at a time: enough to make up for finding out where each background set goes.
const CHUNK_ROWS: usize = 8;

/// The Shapley values $\phi(x, z)$ of every pair: `(rows, background rows, players, outputs)`.
pub(crate) fn pairs(
    compiled: &Compiled,
    background: &CodedRows,
    rows: &Rows<'_>,
    by: PairWalk,
    job: &Job,
) -> Result<Vec<f64>> {
    let (n, m) = (rows.len(), background.len());
    let mut out = zeros("the result", &[n, m, compiled.n_players, compiled.n_outputs])?;
    if out.is_empty() {
        return Ok(out);
    }
    let cells = compiled.n_players * compiled.n_outputs;
    let w = &Weights::up_to(compiled.max_path());
    let alone = Workers::new(1);
    job.progress.begin(n.div_ceil(CHUNK_ROWS));
    job.workers.fill(&mut out, CHUNK_ROWS * m * cells, |chunk, out| {
        let first = chunk * CHUNK_ROWS;
        let x = CodedRows::new(&compiled.columns, &rows.slice(first, n.min(first + CHUNK_ROWS)), &alone)?;
        let (mut x_left, mut z_left) = (Vec::new(), Vec::new());
        for tree in &compiled.trees {
            x.passing(0, tree.tests(), &mut x_left);
            for set in 0..background.n_sets() {
                background.passing(set, tree.tests(), &mut z_left);
                let members = background.members(set);
                let n_outputs = compiled.n_outputs;
                let pairs = PairSet { tree, w, x_left: &x_left, z_left: &z_left, members, cells, n_outputs };
                for (r, out) in out.chunks_exact_mut(m * cells).enumerate() {
                    pairs.add(by, r, &mut out[set * SET * cells..m.min((set + 1) * SET) * cells]);
                }
            }
            if job.progress.is_cancelled() {
                break;
            }
        }
        job.progress.step()
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
    /// Adds what row `r` gets from the tree, for each background row of the set.
    fn add(&self, by: PairWalk, r: usize, out: &mut [f64]) {
        match (by, self.tree.players.len() <= 64) {
            (PairWalk::Shared, true) => self.shared::<u64>(r, out),
            (PairWalk::Shared, false) => self.shared::<WideSet>(r, out),
            (PairWalk::Single, true) => self.single::<u64>(r, out),
            (PairWalk::Single, false) => self.single::<WideSet>(r, out),
        }
    }

    fn shared<S: PlayerSet>(&self, r: usize, out: &mut [f64]) {
        let x_left = |n: usize| self.x_left[n] >> r & 1 == 1;
        let mut pending = Pending::<S>::default();
        shared_walk(self.tree, x_left, self.z_left, self.members, &mut pending, |leaf, zs, s_x: &S, s_z: &S| {
            zs.for_each(|z| self.leaf(leaf, s_x, s_z, &mut out[z * self.cells..][..self.cells]));
        });
    }

    fn single<S: PlayerSet>(&self, r: usize, out: &mut [f64]) {
        let x_left = |n: usize| self.x_left[n] >> r & 1 == 1;
        self.members.for_each(|z| {
            let z_left = |n: usize| self.z_left[n] >> z & 1 == 1;
            let out = &mut out[z * self.cells..][..self.cells];
            walk(self.tree, x_left, z_left, |leaf, s_x: &S, s_z: &S| self.leaf(leaf, s_x, s_z, out));
        });
    }

    #[inline(always)]
    fn leaf<S: PlayerSet>(&self, leaf: usize, s_x: &S, s_z: &S, out: &mut [f64]) {
        let leaf = Leaf::of(self.tree, leaf);
        let place = |i: usize| self.tree.players[i] as usize;
        let add = |cell: usize, c: f64| leaf.add(c, out, cell, self.n_outputs);
        rules::leaf(Index::Shapley, self.w, s_x, s_z, place, |i, _| i, add);
    }
}
