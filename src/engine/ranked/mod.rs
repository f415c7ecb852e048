//! Ranked counts: n + m for deep trees, except at splits with many players. A path may have up to 64 players.
//!
//! Let S be the players that x fails at a leaf. A background row that fails some of S gives nothing. Of the others only the
//! number of players that they fail matters, so all that a leaf needs to know of its background is $N_j(S)$: how many
//! rows fail j players and none of S. All of them come from the counts of the background's patterns by one addition per
//! set and player, in whole numbers. What a row gets is then $\phi_i = A[S] - C[S \cup i]$ with
//! $A[S] = \frac{v}{m} \sum_j N_j(S)\, a(|S|, j)$ and $C[S] = \frac{v}{m} \sum_j N_j(S)\, a(|S| - 1, j)$, and pairs of
//! players get second differences of the same kind.
//!
//! Tables have $2^k$ entries, so splits with too many players are worked out from the distinct sets S that rows fail
//! instead. Tables are built, used and dropped, a few at a time.
//!
//! | file | what |
//! |---|---|
//! | `coefficients` | the functions a and e of an index |
//! | `layout` | a tree as this engine goes through it |
//! | `walk` | the patterns of a block of rows |
//! | `counts` | ranked counts, and their moments |
//! | `table` | the table of a split |
//! | `join`, `distinct` | a split with more players: its distinct rows, and by which of the next three it is worked out |
//! | `bits` | such a split, whose background rows are bits |
//! | `leaf` | a leaf of such a split, by ranked counts of its own |
//! | `meet` | a leaf of such a split, by the distinct patterns that meet |
//! | `pass` | the tables that are built, used and dropped together |
//! | `worth` | what the distinct patterns of rows get at a split, and which pattern each row has |
//! | `read` | some blocks of rows read what they get |
//! | `pool` | arrays that are kept from pass to pass |

mod bits;
mod coefficients;
mod counts;
mod distinct;
mod join;
mod layout;
mod leaf;
mod meet;
mod pass;
mod pool;
mod read;
mod table;
mod walk;
mod worth;

use super::cells::CellMap;
use super::codes::{BLOCK, CodedRows};
use super::task::{BackgroundRows, Task};
use crate::error::Result;
use crate::job::Workers;
use crate::memory::zeroed;
use crate::simd::{ALIGNING, aligned, middling};
use coefficients::{Coefficients, MOST_OTHERS, MOST_PLAYERS, moment};
use counts::Lane;
use join::Rules;
use layout::{Layout, Way};
use pass::{Built, Ingredients, Pass, Room, find_indices};
use pool::Pool;
use read::{BLOCKS, Gathering, Read};

/// Trees that are summed by themselves.
pub(crate) const GROUP: usize = 2;
/// Bytes of the sums of a group of trees, at most: rows that use the same tables. For more rows they are built again.
const SUM_BYTES: usize = 32 << 20;
const ROWS: usize = 1 << 16;
/// Bytes of the sums of groups, or of tables, that exist at the same time, about.
pub(crate) const ROUND_BYTES: usize = 64 << 20;

/// Adds the weighted mean over the background of the task's index to `out`.
///
/// Every sum is taken in an order that the forest and the background alone determine: within a group of trees, tree after
/// tree, pass after pass and split after split; then group after group. So results are bitwise the same for any number of
/// threads and any batch of rows.
pub(crate) fn explain(task: &Task<'_>, background: &BackgroundRows<'_>, out: &mut [f64]) -> Result<()> {
    let Some(cells) = task.row_cells(out) else { return Ok(()) };
    if task.index.order() == 1 {
        with_lanes::<{ moment::SINGLE }>(task, background, cells, out)
    } else {
        with_lanes::<{ moment::PAIR }>(task, background, cells, out)
    }
}

/// Counts in the narrowest numbers that hold as many rows; weights are float64.
fn with_lanes<const D: usize>(
    task: &Task<'_>,
    background: &BackgroundRows<'_>,
    cells: usize,
    out: &mut [f64],
) -> Result<()> {
    if background.weights.is_some() || u32::try_from(background.rows.len()).is_err() {
        Engine::<D, f64>::new(task, background).all(cells, out)
    } else if u16::try_from(background.rows.len()).is_err() {
        Engine::<D, u32>::new(task, background).all(cells, out)
    } else {
        Engine::<D, u16>::new(task, background).all(cells, out)
    }
}

/// The most players besides a split's own for which its table is cheaper than bits of `m` background rows, if as many rows
/// are explained.
pub(crate) fn most_others(m: usize) -> usize {
    ((3 * m.max(1)).ilog2() as usize).clamp(4, MOST_OTHERS)
}

/// The most players of a leaf for which ranked counts of its own are cheaper than the other ways, with `m` background rows
/// and as many rows. A set of players costs as much as 1024 pairs of rows that are bits, or as 64 pairs of patterns with
/// weights.
pub(crate) fn most_players(m: usize, exact: bool) -> usize {
    let pairs = if exact { 1024 } else { 64 };
    let sets = (m as u128).pow(2) / pairs;
    (sets.max(1).ilog2() as usize).clamp(4, MOST_PLAYERS)
}

struct Engine<'a, const D: usize, L> {
    task: &'a Task<'a>,
    ingredients: Ingredients<'a, D>,
    layouts: Vec<Layout>,
    /// The passes of each group of trees.
    groups: Vec<Vec<Pass>>,
    cells: CellMap,
    rooms: Pool<Room<L>>,
    built: Pool<Built>,
    gatherings: Pool<Gathering>,
}

/// Who works on a group of trees, and how many bytes of tables they may have at the same time.
#[derive(Clone, Copy)]
struct Hands<'a> {
    workers: &'a Workers,
    bytes: usize,
}

impl<'a, const D: usize, L: Lane> Engine<'a, D, L> {
    fn new(task: &'a Task<'a>, background: &'a BackgroundRows<'a>) -> Self {
        let Task { compiled, trees, index, job, .. } = *task;
        let m = background.rows.len();
        let layouts = job.workers.map(trees.len(), |t| Layout::new(&compiled.trees[trees[t]], most_others(m)));
        let of_tree = |t: usize| Pass::of_tree(t, &layouts[t], m, index.order());
        let of_group = |first: usize| (first..trees.len().min(first + GROUP)).flat_map(of_tree).collect();
        let groups = (0..trees.len()).step_by(GROUP).map(of_group).collect();
        let ingredients = Ingredients {
            background,
            total: background.total(),
            coefficients: Coefficients::new(index),
            rules: Rules::new(index, most_players(m, L::EXACT)),
        };
        let cells = CellMap::new(index, compiled.n_players, compiled.n_outputs);
        let (rooms, built, gatherings) = (Pool::default(), Pool::default(), Pool::default());
        Self { task, ingredients, layouts, groups, cells, rooms, built, gatherings }
    }

    fn all(&self, cells: usize, out: &mut [f64]) -> Result<()> {
        let Task { compiled, rows, job, .. } = *self.task;
        let block_bytes = 8 * BLOCK * self.cells.count();
        let share = BLOCK * (SUM_BYTES / block_bytes).clamp(1, ROWS / BLOCK);
        let passes: usize = self.groups.iter().map(Vec::len).sum();
        job.progress.begin(rows.len().div_ceil(share) * passes);
        // Enough groups for all threads are worked on side by side, each with its tables in the cache of one core.
        let alone = Workers::new(1);
        let side_by_side = job.workers.threads() == 1 || self.groups.len() >= 2 * job.workers.threads();
        let hands = Hands { workers: if side_by_side { &alone } else { &job.workers }, bytes: ROUND_BYTES };
        for (first, out) in (0..rows.len()).step_by(share).zip(out.chunks_mut(share * cells)) {
            let some = rows.slice(first, rows.len().min(first + share));
            let x = CodedRows::new(&compiled.columns, some, &job.workers)?;
            let together = (ROUND_BYTES / (x.len().div_ceil(BLOCK) * block_bytes)).max(job.workers.threads());
            for groups in self.groups.chunks(if side_by_side { together } else { 1 }) {
                let group = |i: usize| self.group(&groups[i], &x, hands);
                let sums = if side_by_side { job.workers.map(groups.len(), group) } else { vec![group(0)] };
                for sums in sums {
                    self.cells.exchange(aligned(&mut sums?).as_chunks_mut::<BLOCK>().0, out, |sum, cell| *cell += *sum);
                }
            }
        }
        Ok(())
    }

    /// The sums of all rows over a group of trees: block by block, cell by cell.
    fn group(&self, passes: &[Pass], x: &CodedRows, hands: Hands<'_>) -> Result<Vec<f64>> {
        let Task { compiled, trees, job, .. } = *self.task;
        let blocks = x.len().div_ceil(BLOCK);
        let size = blocks * self.cells.count() * BLOCK;
        let mut sums = zeroed("the sums of some rows", size + ALIGNING)?;
        for passes in self.rounds(passes, x.len(), hands) {
            let built = hands.workers.map(passes.len(), |i| -> Result<Built> {
                job.progress.step()?;
                let (pass, tree) = (&passes[i], passes[i].tree);
                let (layout, tree) = (&self.layouts[tree], &compiled.trees[trees[tree]]);
                let mut built = self.built.take();
                self.rooms.with(|room| self.ingredients.build(pass, layout, tree, x, room, &mut built));
                Ok(built)
            });
            let built = built.into_iter().collect::<Result<Vec<Built>>>()?;
            let chunk = blocks.div_ceil(hands.workers.threads());
            hands.workers.fill(&mut aligned(&mut sums)[..size], chunk * self.cells.count() * BLOCK, |i, sums| {
                self.gatherings.with(|gathering| {
                    for (pass, built) in passes.iter().zip(&built) {
                        self.read(pass, built, x, i * chunk * BLOCK, gathering, sums);
                    }
                });
                Ok(())
            })?;
            for built in built {
                self.built.give(built);
            }
        }
        Ok(sums)
    }

    /// The passes whose tables exist at the same time. One thread takes one after another.
    fn rounds<'b>(&self, passes: &'b [Pass], rows: usize, hands: Hands<'_>) -> Vec<&'b [Pass]> {
        if hands.workers.threads() == 1 {
            return passes.chunks(1).collect();
        }
        let mut rounds = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        for (i, pass) in passes.iter().enumerate() {
            bytes += pass.bytes(&self.layouts[pass.tree], rows, self.task.index.order());
            if bytes >= hands.bytes || i + 1 == passes.len() {
                rounds.push(&passes[start..=i]);
                (start, bytes) = (i + 1, 0);
            }
        }
        rounds
    }

    /// Some rows, of which row `first` begins the first block, read what a pass gives them.
    fn read(
        &self,
        pass: &Pass,
        built: &Built,
        x: &CodedRows,
        first: usize,
        gathering: &mut Gathering,
        sums: &mut [f64],
    ) {
        let Task { compiled, trees, .. } = *self.task;
        let (layout, tree) = (&self.layouts[pass.tree], &compiled.trees[trees[pass.tree]]);
        let sums = sums.as_chunks_mut::<BLOCK>().0.chunks_mut(BLOCKS * self.cells.count());
        for (first, sums) in (first..).step_by(BLOCKS * BLOCK).zip(sums) {
            let (blocks, items) = (sums.len() / self.cells.count(), pass.items.len());
            if pass.way == Way::Ranked {
                let Gathering { indices, slots, .. } = gathering;
                indices.resize(indices.len().max(blocks * items), [0; BLOCK]);
                for (first, indices) in (first..).step_by(BLOCK).zip(indices.chunks_exact_mut(items).take(blocks)) {
                    find_indices(pass, layout, x, first, slots, indices);
                }
            }
            middling(Read {
                layout,
                way: pass.way,
                items: pass.items.clone(),
                built,
                first: first / BLOCK,
                blocks,
                cells: self.cells,
                output: tree.output.first(),
                width: layout.outputs,
                complement: (layout.outputs < tree.width).then_some(tree.output.first() + layout.outputs),
                gathering: &mut *gathering,
                sums,
            });
        }
    }
}
