//! Sparse pairs: only the pairs of patterns that meet.
//!
//! This engine serves calls with too few rows to pay for tables or ranked counts. A path may have any number of players.
//! Pairs are kept as bits: on the way down the tree, bit z of a row's set says whether the row x and the background row
//! z still meet, that is, whether no player has failed for both. One AND updates a row's pairs with 64 background rows
//! at once, so a pair costs more than a bit only at the leaves where it meets. There $p \mathbin{|} b$ is full, hence
//! $S_X$ is the complement of $b$ and $S_Z$ is that of $p$: all pairs of one row share their $S_Z$. Both are machine words,
//! except at leaves with more players than a word has bits.
//!
//! | file | what |
//! |---|---|
//! | `walk` | one tree, one set of rows, all background rows |
//! | `level` | which pairs still meet at a node |
//! | `leaf` | what the pairs that meet at a leaf get |

mod leaf;
mod level;
mod walk;

use leaf::Gains;
use walk::TreeWalk;

use super::codes::{CodedRows, SET};
use super::task::{BackgroundRows, Task};
use crate::error::Result;
use crate::memory::zeros;
use crate::simd::widest;

/// Sets of background rows that go down a tree together.
const SETS: usize = 2;
/// Background rows that go down a tree together, one bit each.
type Zs = [u64; SETS];

/// Trees of a run, which is summed by itself.
const GROUP: usize = 4;
/// How many partial sums are held at once.
const ROUND: usize = 64;

/// Adds the weighted mean over the background of the task's index to `out`.
pub(crate) fn explain(task: &Task<'_>, background: &BackgroundRows<'_>, out: &mut [f64]) -> Result<()> {
    let Some(cells) = task.row_cells(out) else { return Ok(()) };
    let Task { compiled, trees, rows, job, .. } = *task;
    let gains = &Gains::new(task, background, cells);
    let total = background.total();
    let x = CodedRows::new(&compiled.columns, rows, &job.workers)?;
    let x_sets = rows.len().div_ceil(SET);
    job.progress.begin(trees.len().div_ceil(GROUP) * x_sets);

    // Each run of trees is summed by itself, then run after run: the same order for any threads and rows.
    let pieces: Vec<(&[usize], usize)> =
        trees.chunks(GROUP).flat_map(|group| (0..x_sets).map(move |set| (group, set))).collect();
    for pieces in pieces.chunks(ROUND.max(x_sets)) {
        let sums = job.workers.map(pieces.len(), |i| -> Result<Vec<f64>> {
            let (group, set) = pieces[i];
            let n = (rows.len() - set * SET).min(SET);
            let mut sums = zeros("a partial sum", &[n, cells])?;
            for &tree in group {
                let tree = &compiled.trees[tree];
                widest(TreeWalk { gains, tree, x: &x, x_set: set, n, sums: &mut sums, progress: &job.progress });
                if job.progress.is_cancelled() {
                    break;
                }
            }
            job.progress.step()?;
            Ok(sums)
        });
        for (&(_, set), sums) in pieces.iter().zip(sums) {
            let out = &mut out[set * SET * cells..];
            out.iter_mut().zip(sums?).for_each(|(cell, sum)| *cell += sum / total);
        }
    }
    Ok(())
}
