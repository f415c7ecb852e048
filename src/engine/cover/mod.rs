//! Path-dependent values: no background, but the share of the training rows that went each way.
//!
//! A player that has not joined follows each of its splits with the share of training rows that did. On one path the
//! players are then independent. Let $r_j$ be the product of the shares of player j's edges. If everybody has joined with
//! probability t, the leaf is reached with a probability that is a product over the players of
//!
//! $$f_j(t) = t\,[\text{x satisfies j's splits}] + (1-t)\, r_j,$$
//!
//! and an index is the same integral of its derivatives as for tables, but this engine builds none.
//!
//! | file | what |
//! |---|---|
//! | `path` | the players on the way to each leaf, with their ratios |
//! | `leaf` | what a leaf gives to the players of its path |

mod leaf;
mod path;

use leaf::LeafSums;
use path::{OnPath, descend};

use super::codes::{CodedRows, SET};
use super::compiled::{Compiled, CompiledTree, Leaf};
use super::task::Task;
use crate::error::Result;
use crate::index::Integral;

/// The ratios $r_j$ of every leaf, for the distinct players of its path in the order in which they appear.
pub(crate) fn path_ratios(tree: &CompiledTree) -> Vec<Vec<f64>> {
    let mut ratios = vec![Vec::new(); tree.n_leaves()];
    descend(tree, |_, _| true, |leaf, path| ratios[leaf] = path.iter().map(|p| p.ratio).collect());
    ratios
}

/// The mean over the training rows as the model remembers them: every leaf, weighted with the product of its ratios.
pub(crate) fn expected_value(compiled: &Compiled, base: &[f64]) -> Vec<f64> {
    let mut expected = base.to_vec();
    for tree in &compiled.trees {
        let mut add = |number: usize, path: &[OnPath]| {
            let chance = path.iter().map(|p| p.ratio).product();
            Leaf::of(tree, number).add(chance, &mut expected, 0, compiled.n_outputs);
        };
        descend(tree, |_, _| true, &mut add);
    }
    expected
}

/// Adds the path-dependent index of the task to `out`.
pub(crate) fn explain(task: &Task<'_>, out: &mut [f64]) -> Result<()> {
    let Some(cells) = task.row_cells(out) else { return Ok(()) };
    let Task { compiled, trees, rows, index, job } = *task;
    let x = CodedRows::new(&compiled.columns, rows, &job.workers)?;
    let integrals: Vec<Integral> = trees.iter().map(|&t| index.integral(compiled.trees[t].max_path)).collect();
    job.progress.begin(x.n_sets());
    job.workers.fill(out, SET * cells, |set, out| {
        let mut left = Vec::new();
        let mut sums = LeafSums::default();
        for (&t, integral) in trees.iter().zip(&integrals) {
            let tree = &compiled.trees[t];
            x.passing(set, tree.tests(), &mut left);
            for (r, out) in out.chunks_exact_mut(cells).enumerate() {
                let satisfied = |n: usize, to_left: bool| (left[n] >> r & 1 == 1) == to_left;
                descend(tree, satisfied, |number, path| sums.leaf(compiled, tree, number, path, integral, out));
            }
            if job.progress.is_cancelled() {
                break;
            }
        }
        job.progress.step()
    })
}
