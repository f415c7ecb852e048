//! Ranked counts: n + m for deep trees, except at splits with many players.
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
//! | `couple` | two splits that share a table |
//! | `gains` | what rows get by index, worked out in advance |
//! | `wide` | patterns of more players than a number has bits |
//! | `join`, `distinct` | a split with more players: its distinct rows, and by which of the next three it is worked out |
//! | `bits` | such a split, whose background rows are bits |
//! | `leaf` | a leaf of such a split, by ranked counts of its own |
//! | `meet` | a leaf of such a split, by the distinct patterns that meet |
//! | `batch` | how a tree is divided into what is counted at once, and what stands together |
//! | `pass` | the background is counted, and what rows read is worked out |
//! | `worth` | what the distinct patterns of rows get at a split, and which pattern each row has |
//! | `read` | some blocks of rows read what they get |
//! | `pool` | arrays that are kept from pass to pass |

mod batch;
mod bits;
#[cfg(test)]
mod by_pairs;
mod coefficients;
mod counts;
mod couple;
mod distinct;
mod gains;
mod join;
mod layout;
mod leaf;
mod meet;
mod pass;
mod pool;
mod read;
mod table;
mod walk;
mod wide;
mod worth;

use std::ops::Range;
use std::sync::Mutex;

use super::cells::CellMap;
use super::codes::{BLOCK, CodedRows};
use super::compiled::{Compiled, CompiledTree, MAX_PLAYERS};
use super::task::{BackgroundRows, Task};
use crate::error::Result;
use crate::index::Index;
use crate::job::Workers;
use crate::memory::zeroed;
use crate::simd::{ALIGNING, aligned, middling};
use crate::sync::locked;
use batch::Batch;
use coefficients::{Coefficients, MOST_LARGE, MOST_OTHERS, MOST_PLAYERS, moment};
use counts::Lane;
use couple::MOST_OUTCOMES;
use join::Rules;
use layout::{Layout, Limits, Way};
use pass::{Built, Ingredients, Room};
use pool::Pool;
use read::{BLOCKS, Gathering, Read};
use table::READERS;
use wide::WIDE_BITS;

/// Bytes of arrays that are kept for later passes, for each pass that is built at the same time.
const MOST_KEPT: usize = 16 << 20;
/// Trees that are summed by themselves.
pub(crate) const GROUP: usize = 2;
/// Bytes of the sums of a group of trees, about: rows that use the same tables. For more rows they are built again.
const SUM_BYTES: usize = 32 << 20;
/// The same if there are so many background rows that it takes longer to count them than to explain the rows.
const MOST_SUM_BYTES: usize = 400 << 20;
/// Rows that use the same tables, at most.
const ROWS: usize = 1 << 17;
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

/// The most players on a path: a pattern has a bit for each of a split's other players, and two for the class. What pairs of
/// players get at a split takes memory for each of them, so for an index of pairs there are as many as a word has bits.
pub(crate) fn most_on_path(index: Index) -> usize {
    if index.order() == 1 { WIDE_BITS - 1 } else { MAX_PLAYERS }
}

/// The most players besides a split's own for which its table is cheaper than bits of `m` background rows, if as many rows
/// are explained.
pub(crate) fn most_others(m: usize, index: Index) -> usize {
    // An entry for pairs of players is larger.
    let most = if index.order() == 1 { MOST_LARGE } else { MOST_OTHERS };
    ((7 * m.max(1)).ilog2() as usize).clamp(4, most)
}

/// The most players of a leaf for which ranked counts of its own are cheaper than the other ways, with `m` background rows
/// and as many rows. A set of players costs as much as 1024 pairs of rows that are bits, or as 64 pairs of patterns with
/// weights.
pub(crate) fn most_players(m: usize, exact: bool) -> usize {
    let pairs = if exact { 1024 } else { 64 };
    let sets = (m as u128).pow(2) / pairs;
    (sets.max(1).ilog2() as usize).clamp(4, MOST_PLAYERS)
}

/// Bytes that the sums of a group of trees take for so many rows and `m` background rows.
pub(crate) fn sum_bytes(compiled: &Compiled, index: Index, rows: usize, m: usize) -> usize {
    let block_bytes = bytes_of_block(CellMap::new(index, compiled.n_players, compiled.n_outputs));
    rows.div_ceil(BLOCK).min(blocks_of_share(block_bytes, m)) * block_bytes
}

fn bytes_of_block(cells: CellMap) -> usize {
    size_of::<f64>() * BLOCK * cells.count().max(1)
}

/// How many blocks of rows use the same tables. The background is counted once for all of them, so where it is large, there
/// should be as many.
fn blocks_of_share(block_bytes: usize, m: usize) -> usize {
    let many = (MOST_SUM_BYTES / block_bytes).min(m.div_ceil(2 * BLOCK));
    (SUM_BYTES / block_bytes).max(many).clamp(1, ROWS / BLOCK)
}

struct Engine<'a, const D: usize, L> {
    task: &'a Task<'a>,
    ingredients: Ingredients<'a, D>,
    layouts: Vec<Layout>,
    /// The batches of each group of trees.
    groups: Vec<Vec<Batch>>,
    cells: CellMap,
    rooms: Pool<Room<L>>,
    built: Pool<Built>,
    gatherings: Pool<Gathering>,
    sums: Pool<Vec<f64>>,
}

impl<'a, const D: usize, L: Lane> Engine<'a, D, L> {
    fn new(task: &'a Task<'a>, background: &'a BackgroundRows<'a>) -> Self {
        let Task { compiled, trees, index, job, .. } = *task;
        let m = background.rows.len();
        // Background rows count as rows, because no bit of a result may depend on how many rows are explained together.
        let outcomes = if index.order() == 1 { MOST_OUTCOMES.min(m / READERS) } else { 0 };
        let limits = Limits { others: most_others(m, index), outcomes };
        let layouts = job.workers.map(trees.len(), |t| Layout::new(&compiled.trees[trees[t]], limits));
        let of_tree = |t: usize| Batch::of_tree(t, &layouts[t], m, index.order());
        let of_group = |first: usize| (first..trees.len().min(first + GROUP)).flat_map(of_tree).collect();
        let groups = (0..trees.len()).step_by(GROUP).map(of_group).collect();
        let longest = trees.iter().map(|&t| compiled.trees[t].max_path).max().unwrap_or(0);
        let ingredients = Ingredients {
            background,
            total: background.total(),
            progress: &job.progress,
            coefficients: Coefficients::new(index),
            rules: Rules::new(index, most_players(m, L::EXACT), longest),
        };
        let cells = CellMap::new(index, compiled.n_players, compiled.n_outputs);
        let (rooms, built, gatherings, sums) = Default::default();
        Self { task, ingredients, layouts, groups, cells, rooms, built, gatherings, sums }
    }

    fn all(&self, cells: usize, out: &mut [f64]) -> Result<()> {
        let Task { compiled, rows, job, .. } = *self.task;
        let block_bytes = bytes_of_block(self.cells);
        let share = BLOCK * blocks_of_share(block_bytes, self.ingredients.background.rows.len());
        let passes: usize = self.groups.iter().flatten().map(|batch| batch.passes.len()).sum();
        job.progress.begin(rows.len().div_ceil(share) * passes);
        // Enough groups for all threads are worked on side by side, each with its tables in the cache of one core, unless
        // their sums take too much memory.
        let alone = Workers::new(1);
        let are_large = share.min(rows.len()) / BLOCK * block_bytes > ROUND_BYTES;
        let side_by_side = job.workers.threads() == 1 || (!are_large && self.groups.len() >= 2 * job.workers.threads());
        let workers = if side_by_side { &alone } else { &job.workers };
        for (first, out) in (0..rows.len()).step_by(share).zip(out.chunks_mut(share * cells)) {
            let some = rows.slice(first, rows.len().min(first + share));
            let x = CodedRows::new(&compiled.columns, some, &job.workers)?;
            let together = (ROUND_BYTES / (x.len().div_ceil(BLOCK) * block_bytes)).max(job.workers.threads());
            for groups in self.groups.chunks(if side_by_side { together } else { 1 }) {
                let group = |i: usize| self.group(&groups[i], &x, workers);
                let sums = if side_by_side { job.workers.map(groups.len(), group) } else { vec![group(0)] };
                for sums in sums {
                    let mut sums = sums?;
                    self.add(&mut sums, out, cells)?;
                    self.sums.give(sums);
                }
            }
        }
        Ok(())
    }

    /// Adds the sums of a group of trees to the result.
    fn add(&self, sums: &mut [f64], out: &mut [f64], cells: usize) -> Result<()> {
        let workers = &self.task.job.workers;
        let blocks = out.len().div_ceil(BLOCK * cells).div_ceil(workers.threads());
        let sums = aligned(sums).as_chunks_mut::<BLOCK>().0.chunks_mut(blocks * self.cells.count());
        let sums: Vec<Mutex<&mut [[f64; BLOCK]]>> = sums.map(Mutex::new).collect();
        workers.fill(out, blocks * BLOCK * cells, |i, out| {
            self.cells.exchange(&mut locked(&sums[i]), out, |sum, cell| *cell += *sum);
            Ok(())
        })
    }

    /// Zeros for the sums of all rows over a group of trees, in memory that was used before, if there is any.
    fn zeros(&self, size: usize, workers: &Workers) -> Result<Vec<f64>> {
        let mut sums = self.sums.take();
        if sums.len() != size {
            return zeroed("the sums of some rows", size);
        }
        workers.fill(&mut sums, size.div_ceil(workers.threads()), |_, sums| {
            sums.fill(0.0);
            Ok(())
        })?;
        Ok(sums)
    }

    /// The sums of all rows over a group of trees, which these threads work on: block by block, cell by cell.
    fn group(&self, batches: &[Batch], x: &CodedRows, workers: &Workers) -> Result<Vec<f64>> {
        let blocks = x.len().div_ceil(BLOCK);
        let size = blocks * self.cells.count() * BLOCK;
        let mut sums = self.zeros(size + ALIGNING, workers)?;
        if workers.threads() == 1 {
            for batch in batches {
                self.one_by_one(batch, x, &mut aligned(&mut sums)[..size])?;
            }
            return Ok(sums);
        }
        for batches in self.rounds(batches, x.len()) {
            let built = self.build(batches, x, workers)?;
            let chunk = blocks.div_ceil(workers.threads());
            workers.fill(&mut aligned(&mut sums)[..size], chunk * self.cells.count() * BLOCK, |i, sums| {
                self.gatherings.with(|gathering| {
                    for (batch, built) in batches.iter().zip(&built) {
                        self.gather(batch, x, i * chunk, sums, gathering);
                        for (pass, built) in batch.passes.iter().zip(built) {
                            self.read((batch, pass), built, x, i * chunk, gathering, sums);
                        }
                    }
                });
                Ok(())
            })?;
            for built in built.into_iter().flatten() {
                self.put_back(built);
            }
        }
        Ok(sums)
    }

    /// Adds what rows get in a batch, pass by pass: what one pass builds is in the cache while it is read.
    fn one_by_one(&self, batch: &Batch, x: &CodedRows, sums: &mut [f64]) -> Result<()> {
        let (layout, tree) = self.tree(batch);
        let mut built = self.built.take();
        self.rooms.with(|room| {
            self.gatherings.with(|gathering| -> Result<()> {
                let mut counts = std::mem::take(&mut room.counts);
                self.ingredients.count(batch, layout, 0..self.ingredients.background.rows.len(), &mut counts, room);
                self.gather(batch, x, 0, sums, gathering);
                for pass in &batch.passes {
                    self.task.job.progress.step()?;
                    self.ingredients.build((batch, pass), (layout, tree), x, &counts, room, &mut built);
                    self.read((batch, pass), &built, x, 0, gathering, sums);
                }
                room.counts = counts;
                Ok(())
            })
        })?;
        self.put_back(built);
        Ok(())
    }

    /// Builds what rows read at all passes of some batches: all threads work on one batch with tables, or on passes over
    /// joined splits.
    fn build(&self, batches: &[Batch], x: &CodedRows, workers: &Workers) -> Result<Vec<Vec<Built>>> {
        let passes: Vec<_> =
            batches.iter().flat_map(|batch| batch.passes.iter().map(move |pass| (batch, pass))).collect();
        let counts = self.count(&batches[0], workers);
        let build = |i: usize| -> Result<Built> {
            self.task.job.progress.step()?;
            let (batch, pass) = passes[i];
            let (layout, tree) = self.tree(batch);
            let mut built = self.built.take();
            self.rooms.with(|room| self.ingredients.build((batch, pass), (layout, tree), x, &counts, room, &mut built));
            Ok(built)
        };
        let mut built = workers.map(passes.len(), build).into_iter();
        self.rooms.with(|room| room.counts = counts);
        batches.iter().map(|batch| built.by_ref().take(batch.passes.len()).collect()).collect()
    }

    /// Counts the background at the splits of a batch, on all threads if the order of rows does not matter.
    fn count(&self, batch: &Batch, workers: &Workers) -> Vec<Vec<L>> {
        let (layout, m) = (self.tree(batch).0, self.ingredients.background.rows.len());
        let pieces = if L::EXACT { workers.threads().min(m.div_ceil(BLOCK)).max(1) } else { 1 };
        let piece = m.div_ceil(pieces).next_multiple_of(BLOCK);
        let count = |i: usize| {
            self.rooms.with(|room| {
                let mut counts = std::mem::take(&mut room.counts);
                self.ingredients.count(batch, layout, i * piece..m.min((i + 1) * piece), &mut counts, room);
                counts
            })
        };
        let mut counted = workers.map(pieces, count).into_iter();
        let mut all = counted.next().unwrap_or_default();
        for counts in counted {
            for (sums, counts) in all.iter_mut().zip(&counts) {
                sums.iter_mut().zip(counts).for_each(|(sum, &count)| *sum = sum.plus(count));
            }
            self.rooms.with(|room| room.counts = counts);
        }
        all
    }

    /// Keeps arrays for later passes, unless they are so large that keeping many of them would take too much memory.
    fn put_back(&self, built: Built) {
        if built.bytes() <= MOST_KEPT {
            self.built.give(built);
        }
    }

    fn tree(&self, batch: &Batch) -> (&Layout, &CompiledTree) {
        let Task { compiled, trees, .. } = *self.task;
        (&self.layouts[batch.tree], &compiled.trees[trees[batch.tree]])
    }

    /// The batches whose tables exist at the same time: one, or several of joined splits.
    fn rounds<'b>(&self, batches: &'b [Batch], rows: usize) -> Vec<&'b [Batch]> {
        let mut rounds = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        for (i, batch) in batches.iter().enumerate() {
            bytes += batch.bytes(&self.layouts[batch.tree], rows, self.task.index.order());
            let next = batches.get(i + 1).map(|batch| batch.way);
            if bytes >= ROUND_BYTES || batch.way != Way::Joined || next != Some(Way::Joined) {
                rounds.push(&batches[start..=i]);
                (start, bytes) = (i + 1, 0);
            }
        }
        rounds
    }

    /// Finds where some rows, from a block on, read in the tables of a batch of several passes.
    fn gather(&self, batch: &Batch, x: &CodedRows, block: usize, sums: &[f64], gathering: &mut Gathering) {
        if batch.passes.len() > 1 {
            gathering.find(batch, self.tree(batch).0, x, block, sums.len() / (BLOCK * self.cells.count()));
        }
    }

    /// Some rows, from a block on, read what a pass gives them. If the pass is the only one of its batch, they first find where.
    fn read(
        &self,
        (batch, pass): (&Batch, &Range<u32>),
        built: &Built,
        x: &CodedRows,
        block: usize,
        gathering: &mut Gathering,
        sums: &mut [f64],
    ) {
        let (layout, tree) = self.tree(batch);
        let sums = sums.as_chunks_mut::<BLOCK>().0.chunks_mut(BLOCKS * self.cells.count());
        for (before, sums) in (0..).step_by(BLOCKS).zip(sums) {
            let (first, blocks) = (block + before, sums.len() / self.cells.count());
            let gathered = if batch.passes.len() > 1 { before } else { 0 };
            if batch.passes.len() == 1 {
                gathering.find(batch, layout, x, first, blocks);
            }
            middling(Read {
                layout,
                way: batch.way,
                batch: batch.items(),
                items: pass.clone(),
                built,
                first,
                gathered,
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
