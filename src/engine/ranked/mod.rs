//! Ranked counts: n + m for trees with any number of players on a path.
//!
//! Let S be the players that x fails at a leaf. A background row that fails some of S gives nothing. Of the others only the
//! number of players that they fail matters, so all that a leaf needs to know of its background is $N_j(S)$: how many
//! rows fail j players and none of S. All of them come from the counts of the background's patterns by one addition per
//! set and player, in whole numbers. What a row gets is then $\phi_i = A[S] - C[S \cup i]$ with
//! $A[S] = \frac{v}{m} \sum_j N_j(S)\, a(|S|, j)$ and $C[S] = \frac{v}{m} \sum_j N_j(S)\, a(|S| - 1, j)$, and pairs of
//! players get second differences of the same kind.
//!
//! Tables have $2^k$ entries, so leaves with too many players are worked out from the distinct patterns that meet instead.
//! Tables are built, used and dropped, a few at a time.
//!
//! | file | what |
//! |---|---|
//! | `coefficients` | the functions a and e of an index |
//! | `layout` | a tree as this engine goes through it |
//! | `walk` | the patterns of a block of rows |
//! | `counts` | ranked counts, and their moments |
//! | `table` | the table of a split |
//! | `join`, `distinct` | a leaf with many players: the distinct patterns that meet |
//! | `pass` | the tables that are built, used and dropped together |
//! | `read` | a block of rows reads what it gets |

mod coefficients;
mod counts;
mod distinct;
mod join;
mod layout;
mod pass;
mod read;
mod table;
mod walk;

use std::ops::Range;

use super::cells::CellMap;
use super::codes::{BLOCK, CodedRows, with_codes};
use super::task::{BackgroundRows, Task};
use crate::error::{Error, Result};
use crate::memory::zeroed;
use crate::simd::widest;
use coefficients::{Coefficients, MOST_OTHERS, moment};
use join::Rules;
use layout::Layout;
use pass::{Built, Ingredients, Pass};
use read::{Gains, Read, Source};
use walk::Indices;

/// Rows that use the same tables; for more rows they are built again.
const ROWS: usize = 1 << 16;
/// Bytes of the tables that exist at the same time, about.
pub(crate) const ROUND_BYTES: usize = 64 << 20;
/// Bytes of sums that a thread works on at a time.
const CHUNK_BYTES: usize = 2 << 20;

/// Adds the weighted mean over the background of the task's index to `out`.
///
/// Every sum is taken in an order that the forest and the background alone determine: tree after tree, pass after pass,
/// split after split. So results are bitwise the same for any number of threads and any batch of rows.
pub(crate) fn explain(task: &Task<'_>, background: &BackgroundRows<'_>, out: &mut [f64]) -> Result<()> {
    let Some(cells) = task.row_cells(out) else { return Ok(()) };
    if task.index.order() == 1 {
        Engine::<{ moment::SINGLE }>::new(task, background).all(cells, out)
    } else {
        Engine::<{ moment::PAIR }>::new(task, background).all(cells, out)
    }
}

/// The most players besides a split's own for which its table is cheaper than the distinct patterns of `m` rows.
pub(crate) fn most_others(m: usize) -> usize {
    (m.max(1).ilog2() as usize + 3).clamp(6, MOST_OTHERS)
}

struct Engine<'a, const D: usize> {
    task: &'a Task<'a>,
    ingredients: Ingredients<'a, D>,
    layouts: Vec<Layout>,
    passes: Vec<Pass>,
    cells: CellMap,
}

impl<'a, const D: usize> Engine<'a, D> {
    fn new(task: &'a Task<'a>, background: &'a BackgroundRows<'a>) -> Self {
        let Task { compiled, trees, index, job, .. } = *task;
        let m = background.rows.len();
        let layouts = job.workers.map(trees.len(), |t| Layout::new(&compiled.trees[trees[t]], most_others(m)));
        let passes = layouts.iter().enumerate().flat_map(|(t, layout)| Pass::of_tree(t, layout, m, index.order()));
        let ingredients = Ingredients {
            background,
            total: background.total(),
            coefficients: Coefficients::new(index),
            rules: Rules::new(index),
        };
        let cells = CellMap::new(index, compiled.n_players, compiled.n_outputs);
        Self { task, ingredients, passes: passes.collect(), layouts, cells }
    }

    fn all(&self, cells: usize, out: &mut [f64]) -> Result<()> {
        let Task { compiled, rows, job, .. } = *self.task;
        let shares: Vec<Range<usize>> =
            (0..rows.len()).step_by(ROWS).map(|start| start..rows.len().min(start + ROWS)).collect();
        let steps = |rows: &Range<usize>| {
            let rounds = self.rounds(rows.len());
            self.passes.len() + rounds.len() * rows.len().div_ceil(self.chunk(rows.len()))
        };
        job.progress.begin(shares.iter().map(steps).sum());
        for (share, out) in shares.into_iter().zip(out.chunks_mut(ROWS * cells)) {
            let x = CodedRows::new(&compiled.columns, &rows.slice(share.start, share.end), &job.workers)?;
            for round in self.rounds(x.len()) {
                self.round(&self.passes[round], &x, cells, out)?;
            }
        }
        Ok(())
    }

    /// The passes whose tables exist at the same time.
    fn rounds(&self, rows: usize) -> Vec<Range<usize>> {
        let mut rounds = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        for (i, pass) in self.passes.iter().enumerate() {
            let tree = &self.task.compiled.trees[self.task.trees[pass.tree]];
            bytes += pass.bytes(&self.layouts[pass.tree], tree, rows, self.task.index.order());
            if bytes >= ROUND_BYTES || i + 1 == self.passes.len() {
                rounds.push(start..i + 1);
                (start, bytes) = (i + 1, 0);
            }
        }
        rounds
    }

    /// How many rows a thread takes at a time.
    fn chunk(&self, rows: usize) -> usize {
        let most = CHUNK_BYTES / (8 * BLOCK * self.cells.count());
        let fair = rows.div_ceil(2 * self.task.job.workers.threads()).div_ceil(BLOCK);
        BLOCK * fair.clamp(1, most.max(1))
    }

    fn round(&self, passes: &[Pass], x: &CodedRows, cells: usize, out: &mut [f64]) -> Result<()> {
        let Task { compiled, trees, job, .. } = *self.task;
        let built = job.workers.map(passes.len(), |i| -> Result<Built> {
            job.progress.step()?;
            let (pass, tree) = (&passes[i], passes[i].tree);
            Ok(self.ingredients.build(pass, &self.layouts[tree], &compiled.trees[trees[tree]], x))
        });
        let built = built.into_iter().collect::<Result<Vec<Built>>>()?;
        let chunk = self.chunk(x.len());
        job.workers.fill(out, chunk * cells, |i, out| {
            let n = out.len() / cells;
            self.rows(passes, &built, x, i * chunk..i * chunk + n, out)?;
            job.progress.step()
        })
    }

    /// Some rows, which begin with a block, through some passes.
    fn rows(&self, passes: &[Pass], built: &[Built], x: &CodedRows, rows: Range<usize>, out: &mut [f64]) -> Result<()> {
        let Task { compiled, trees, index, job, .. } = *self.task;
        let numbers = rows.len().div_ceil(BLOCK) * self.cells.count() * BLOCK;
        let mut sums = zeroed::<f64>("the sums of some rows", numbers)?;
        let sums = sums.as_chunks_mut::<BLOCK>().0;
        self.cells.exchange(sums, out, |sum, cell| *sum = *cell);
        let (mut slots, mut indices, mut path) = (Vec::new(), Vec::new(), Vec::new());
        for (pass, built) in passes.iter().zip(built) {
            if job.progress.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let (layout, tree) = (&self.layouts[pass.tree], &compiled.trees[trees[pass.tree]]);
            let positions = layout.positions[usize::from(matches!(built, Built::Leaves(_)))];
            let mut gains: Vec<Gains> = (0..tree.width).map(|_| Gains::new(positions, index.order())).collect();
            indices.resize(pass.items.len().max(indices.len()), [0; BLOCK]);
            for (first, sums) in rows.clone().step_by(BLOCK).zip(sums.chunks_exact_mut(self.cells.count())) {
                let items = pass.items.clone();
                let source = match built {
                    Built::Tables(tables) => {
                        with_codes!(x.codes(), codes => {
                            let (codes, items) = (x.block_of(codes, first).0, items.clone());
                            widest(Indices { layout, items, codes, slots: &mut slots, out: &mut indices });
                        });
                        Source::Tables(tables, &indices)
                    }
                    Built::Leaves(leaves) => Source::Leaves(leaves, first),
                };
                widest(Read {
                    layout,
                    items,
                    source,
                    cells: self.cells,
                    output: tree.output.first(),
                    n: BLOCK.min(rows.end - first),
                    gains: &mut gains,
                    sums,
                    path: &mut path,
                });
            }
        }
        self.cells.exchange(sums, out, |sum, cell| *cell = *sum);
        Ok(())
    }
}
