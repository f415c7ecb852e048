//! Path-dependent values: no background, but the share of the training rows that went each way.
//!
//! A player that has not joined follows each of its splits with the share of training rows that did. On one path the
//! players are then independent. Let $r_j$ be the product of the shares of player j's edges. If every player has joined
//! with probability t, the leaf is reached with a probability that is a product over the players of
//!
//! $$f_j(t) = t\,[\text{x satisfies j's splits}] + (1-t)\, r_j,$$
//!
//! and an index is an integral of its derivatives.
//!
//! The engine goes down a tree once for a block of rows, split by split. If a row has satisfied all splits of a player
//! so far, the player has joined with chance $\beta = t / (t + (1-t)\,r)$ (Bayes' rule). So at the player's next split,
//! with the shares $s_L$ and $s_R$, the row goes left with chance $(1-\beta)\,s_L + \beta\,[\text{x goes left}]$. On
//! the way down the walk carries P, the product of these chances; on the way up, B, the expected leaf below a node. A
//! split then gives its player
//!
//! $$\pm s \int \beta'(t)\, P(t)\, \bigl(B_L(t) - B_R(t)\bigr)\, dt, \qquad \beta' = \frac{r}{(t + (1-t)\,r)^2},$$
//!
//! with $s_R$ if x goes left, $-s_L$ if x goes right, and nothing if x has failed the player further up. Everything is
//! held at the nodes of a quadrature rule that is exact for the longest path.
//!
//! | file | what |
//! |---|---|
//! | `path` | the players on the way to each leaf, with their ratios |
//! | `nodes` | the quadrature nodes, and how likely players have joined at each |
//! | `lanes` | the loops over nodes and rows |
//! | `numbers` | arrays that begin at a cache line |
//! | `levels` | what a walk knows at each level of the tree |
//! | `bottoms` | the lowest subtrees, whose splits have few outcomes together |
//! | `walk` | one walk of a tree |
//! | `pairs` | what a split gives to pairs of players |
//! | `sums` | what players have gained |
//! | `block` | a block of rows, tree after tree |

mod block;
mod bottoms;
mod lanes;
mod levels;
mod nodes;
mod numbers;
mod pairs;
mod path;
mod sums;
mod walk;

use block::{Block, Blocks, TreeRule, TreeWalk};
use path::descend;
use sums::Cells;
use walk::Room;

use super::codes::CodedRows;
use super::compiled::{Compiled, CompiledTree, Leaf, Place};
use super::task::Task;
use crate::error::Result;
use crate::simd::widest;

/// The ratios $r_j$ of every leaf, for the distinct players of its path in the order in which they appear.
pub(crate) fn path_ratios(tree: &CompiledTree) -> Vec<Vec<f64>> {
    let mut ratios = vec![Vec::new(); tree.n_leaves()];
    descend(tree, |place, path| {
        if let Place::Leaf(leaf) = place {
            ratios[leaf] = path.iter().map(|p| p.ratio).collect();
        }
        true
    });
    ratios
}

/// The mean over the training rows as the model remembers them: every leaf, weighted with the product of its ratios.
pub(crate) fn expected_value(compiled: &Compiled, base: &[f64]) -> Vec<f64> {
    let mut expected = base.to_vec();
    for tree in &compiled.trees {
        descend(tree, |place, path| {
            if let Place::Leaf(leaf) = place {
                let chance = path.iter().map(|p| p.ratio).product();
                Leaf::of(tree, leaf).add(chance, &mut expected, 0, compiled.n_outputs);
            }
            true
        });
    }
    expected
}

/// Adds the path-dependent index of the task to `out`.
pub(crate) fn explain(task: &Task<'_>, out: &mut [f64]) -> Result<()> {
    let Some(row_cells) = task.row_cells(out) else { return Ok(()) };
    let Task { compiled, trees, rows, index, job } = *task;
    let x = &CodedRows::new(&compiled.columns, rows, &job.workers)?;
    let trees = || trees.iter().map(|&t| &compiled.trees[t]);
    let cells = &Cells::new(compiled, trees(), index);
    let rules: Vec<TreeRule<'_>> = trees().map(|tree| TreeRule::new(tree, index, cells)).collect();
    let Blocks { rows: block, together } = Blocks::new(task, &rules, cells);
    let run = block * together;
    job.progress.begin(rows.len().div_ceil(run));
    job.workers.fill(out, run * row_cells, |number, out| {
        let mut blocks: Vec<Block<'_>> = out
            .chunks(block * row_cells)
            .enumerate()
            .map(|(i, out)| Block::new(number * run + i * block, out.len() / row_cells, cells))
            .collect();
        let (mut left, mut room) = (Vec::new(), Room::default());
        for rule in &rules {
            widest(TreeWalk { rule, x, left: &mut left, room: &mut room, blocks: &mut blocks });
            if job.progress.is_cancelled() {
                break;
            }
        }
        for (block, out) in blocks.iter().zip(out.chunks_mut(block * row_cells)) {
            block.sums.add_to(out, row_cells);
        }
        job.progress.step()
    })
}
