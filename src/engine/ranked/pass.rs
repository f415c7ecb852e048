//! Some splits of a tree: what rows read at them is worked out, used and dropped together.

use std::ops::Range;

use super::coefficients::Coefficients;
use super::counts::{Lane, Ranked};
use super::couple::{AtMembers, Couple};
use super::distinct::Word;
use super::join::{self, Joined, Rules};
use super::layout::{Item, Layout, Site, Way};
use super::read::pair;
use super::table::{self, Tables, Values, in_advance};
use super::walk::{Indices, Pattern, Slots};
use super::worth::Worth;
use crate::engine::codes::{BLOCK, CodedRows, with_codes};
use crate::engine::compiled::{CompiledTree, Leaf};
use crate::engine::task::BackgroundRows;
use crate::job::Progress;
use crate::simd::{Kernel, counting, widest};

/// About how many entries the tables of a pass have: few enough to stay in the second-level cache, but not fewer,
/// because every pass has to add up the gains of its whole path.
const ENTRIES: usize = 1 << 14;
/// The same for a tree that is so deep that the way from the root costs more than the cache saves.
const MOST_ENTRIES: usize = 1 << 20;
/// The most splits of a pass: their indices for a block of rows stay in the first-level cache.
const SPLITS: usize = 64;
/// The most splits of a batch, and about how many entries its tables have: the counts of a batch stay in the second-level
/// cache.
const BATCH_SPLITS: usize = 2 * SPLITS;
const BATCH_ENTRIES: usize = 1 << 18;
/// Background rows times joined splits of a pass; the same for a very deep tree; and joined splits times outputs of a pass,
/// since every distinct row has its gains for each of these.
const JOINED_ROWS: usize = 1 << 20;
const MOST_JOINED_ROWS: usize = 1 << 23;
const JOINED: usize = 16;
/// Every pass starts at the root, so no path should be walked much more often than this.
const PASSES: usize = 64;
/// Blocks of background rows whose indices are found before they are counted, so that the counts of a split serve many rows
/// while they are in the first-level cache.
const COUNTED: usize = 4;

/// Some items of a tree: splits whose leaves need work, all in the same way. The way from the root to them is walked once
/// for the background and once for the rows; then they are worked out pass by pass.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    /// The position of the tree among those of the task.
    pub(super) tree: usize,
    pub(super) way: Way,
    /// The items of each pass, whose tables are built, used and dropped together.
    pub(super) passes: Vec<Range<u32>>,
}

impl Batch {
    /// The batches of a tree. Their passes depend on the tree and the background alone, since a row's gains are summed by
    /// pass.
    pub(super) fn of_tree(position: usize, layout: &Layout, m: usize, order: u32) -> Vec<Self> {
        let of_way = |way: Way| {
            let passes = if way == Way::Joined { joined(layout, m) } else { by_table(layout, way, order) };
            let mut batches: Vec<Self> = Vec::new();
            let (mut splits, mut entries) = (0, 0);
            for pass in passes {
                splits += pass.len();
                entries += items(layout, way, &pass).map(|item| item.entries).sum::<usize>();
                let full = splits > BATCH_SPLITS || entries > BATCH_ENTRIES || way == Way::Joined;
                if full || batches.is_empty() {
                    batches.push(Self { tree: position, way, passes: Vec::new() });
                    splits = pass.len();
                    entries = items(layout, way, &pass).map(|item| item.entries).sum();
                }
                batches.last_mut().expect("just pushed").passes.push(pass);
            }
            batches
        };
        Way::ALL.into_iter().flat_map(of_way).collect()
    }

    /// The items of all passes.
    pub(super) fn items(&self) -> Range<u32> {
        let [first, .., last] = &self.passes[..] else { return self.passes[0].clone() };
        first.start..last.end
    }

    /// Bytes that rows read, at most.
    pub(super) fn bytes(&self, layout: &Layout, rows: usize, order: u32) -> usize {
        let bytes = |item: &Item| {
            let of_root = layout.sites[item.root as usize].others as usize + 1;
            let players = item.couple.as_ref().map_or(of_root, |couple| couple.width as usize);
            match (self.way, order) {
                (Way::Joined, 1) => rows * (4 + 8 * players * layout.outputs),
                (Way::Joined, _) => rows * (4 + 8 * pair(players, 0) * layout.outputs),
                (_, 1) if item.couple.is_some() || in_advance(item.entries, rows) => {
                    layout.outputs * item.entries * (24 + 8 * players)
                }
                (_, 1) => layout.outputs * item.entries * 24,
                (_, _) => layout.outputs * item.entries * 64,
            }
        };
        items(layout, self.way, &self.items()).map(bytes).sum()
    }
}

/// Some items.
fn items<'a>(layout: &'a Layout, way: Way, items: &Range<u32>) -> impl Iterator<Item = &'a Item> + use<'a> {
    layout.items(way)[items.start as usize..items.end as usize].iter()
}

/// The splits of some items that are not couples.
fn sites<'a>(layout: &'a Layout, way: Way, some: &Range<u32>) -> impl Iterator<Item = &'a Site> + use<'a> {
    items(layout, way, some).map(|item| &layout.sites[item.root as usize])
}

/// The passes over splits with tables.
fn by_table(layout: &Layout, way: Way, order: u32) -> Vec<Range<u32>> {
    let mut passes = Vec::new();
    let most = if order == 1 { ENTRIES } else { ENTRIES / 2 };
    let least = (layout.slots / 2 / PASSES) as u32;
    let (mut start, mut entries) = (0, 0);
    let all = layout.items(way);
    for (number, item) in (0..).zip(all) {
        entries += item.entries * layout.outputs;
        let (items, last) = (number - start + 1, number + 1 == all.len() as u32);
        let full = items >= SPLITS as u32 || entries >= most;
        if last || (full && items >= least) || entries >= MOST_ENTRIES {
            passes.push(start..number + 1);
            (start, entries) = (number + 1, 0);
        }
    }
    passes
}

/// The passes over splits that are worked out by distinct patterns.
fn joined(layout: &Layout, m: usize) -> Vec<Range<u32>> {
    let splits = layout.items(Way::Joined).len() as u32;
    let least = (layout.slots / 2 / PASSES) as u32;
    let each = |rows: usize| (rows / m.max(1)) as u32;
    let most = (JOINED / layout.outputs.max(1)) as u32;
    let each = each(JOINED_ROWS).min(most).max(least.min(each(MOST_JOINED_ROWS))).max(1);
    (0..splits).step_by(each as usize).map(|start| start..splits.min(start + each)).collect()
}

/// What rows read at each item of a pass, kept from pass to pass.
#[derive(Debug, Default)]
pub(super) struct Built {
    pub(super) tables: Tables,
    pub(super) joined: Vec<Worth>,
}

impl Built {
    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.tables.bytes() + self.joined.iter().map(Worth::bytes).sum::<usize>()
    }
}

/// What passes are built with, kept from pass to pass.
pub(super) struct Room<L> {
    /// How many background rows have each index, split by split of the present batch.
    pub(super) counts: Vec<Vec<L>>,
    ranked: Ranked<L>,
    couple: CoupleRoom<L>,
    small: Walk<u16>,
    large: Walk<u32>,
    narrow: Splits<u32, L>,
    wide: Splits<u128, L>,
}

/// The indices of some blocks of rows at the splits of a batch, block by block and split by split, and room to find them.
#[derive(Debug)]
pub(super) struct Walk<P> {
    slots: Slots<P>,
    indices: Vec<[P; BLOCK]>,
}

impl<P> Default for Walk<P> {
    fn default() -> Self {
        Self { slots: Vec::new(), indices: Vec::new() }
    }
}

impl<P: Pattern> Walk<P> {
    /// Finds the indices of all blocks from row `first` on, at most `blocks` of them.
    pub(super) fn find(&mut self, batch: &Batch, layout: &Layout, rows: &CodedRows, first: usize, blocks: usize) {
        let items = batch.items().len();
        self.indices.resize(self.indices.len().max(blocks * items), [P::default(); BLOCK]);
        let firsts = (first..rows.len()).step_by(BLOCK).take(blocks);
        for (first, indices) in firsts.zip(self.indices.chunks_exact_mut(items)) {
            find_indices(batch, layout, rows, first, &mut self.slots, indices);
        }
    }

    /// The indices that were found last, block by block and split by split.
    pub(super) fn all(&self) -> &[[P; BLOCK]] {
        &self.indices
    }
}

impl<L: Lane> Default for Room<L> {
    fn default() -> Self {
        Self {
            counts: Vec::new(),
            ranked: Ranked::new(),
            couple: CoupleRoom::default(),
            small: Walk::default(),
            large: Walk::default(),
            narrow: Splits::default(),
            wide: Splits::default(),
        }
    }
}

/// The indices of all rows at the splits of a pass, and room to work with them.
struct Splits<P, L> {
    z: Vec<Vec<P>>,
    x: Vec<Vec<P>>,
    slots: Slots<P>,
    block: Vec<[P; BLOCK]>,
    room: join::Room<P, L>,
}

impl<P: Word, L: Lane> Default for Splits<P, L> {
    fn default() -> Self {
        let (z, x, slots, block) = Default::default();
        Self { z, x, slots, block, room: join::Room::default() }
    }
}

/// What passes are built from.
pub(super) struct Ingredients<'a, const D: usize> {
    pub(super) background: &'a BackgroundRows<'a>,
    pub(super) total: f64,
    pub(super) progress: &'a Progress,
    pub(super) coefficients: Coefficients<D>,
    pub(super) rules: Rules,
}

impl<const D: usize> Ingredients<'_, D> {
    /// Counts some background rows at all splits of a batch at once.
    pub(super) fn count<L: Lane>(
        &self,
        batch: &Batch,
        layout: &Layout,
        rows: Range<usize>,
        counts: &mut Vec<Vec<L>>,
        room: &mut Room<L>,
    ) {
        match batch.way {
            Way::Ranked => self.count_by(batch, layout, rows, counts, &mut room.small),
            Way::Large => self.count_by(batch, layout, rows, counts, &mut room.large),
            Way::Joined => {}
        }
    }

    /// Works out what rows read at each item of a pass, from the counts of its batch.
    pub(super) fn build<L: Lane>(
        &self,
        (batch, pass): (&Batch, &Range<u32>),
        (layout, tree): (&Layout, &CompiledTree),
        x: &CodedRows,
        counts: &[Vec<L>],
        room: &mut Room<L>,
        built: &mut Built,
    ) {
        match batch.way {
            Way::Ranked | Way::Large => {
                let before = (pass.start - batch.items().start) as usize;
                let counts = counts[before..].iter();
                let counted = items(layout, batch.way, pass).zip(counts);
                self.tables(counted, layout, tree, x.len(), (&mut room.ranked, &mut room.couple), &mut built.tables);
            }
            // An index has a bit for each of the other players, and two for the class.
            Way::Joined if sites(layout, batch.way, pass).all(|site| site.others + 2 <= u32::BITS) => {
                self.splits(batch, layout, tree, x, &mut room.narrow, &mut built.joined);
            }
            Way::Joined => self.splits(batch, layout, tree, x, &mut room.wide, &mut built.joined),
        }
    }

    fn tables<'a, L: Lane + 'a>(
        &self,
        counted: impl Iterator<Item = (&'a Item, &'a Vec<L>)>,
        layout: &Layout,
        tree: &CompiledTree,
        rows: usize,
        (ranked, room): (&mut Ranked<L>, &mut CoupleRoom<L>),
        all: &mut Tables,
    ) {
        let coefficients = &self.coefficients;
        all.clear();
        for (item, counts) in counted {
            let Some(couple) = &item.couple else {
                let site = &layout.sites[item.root as usize];
                let values = &self.values(site, layout, tree);
                widest(BuildTables { site, counts, values, coefficients, ranked, rows, tables: all });
                continue;
            };
            let (root, sites) =
                (&layout.sites[item.root as usize], couple.members.map(|m| &layout.sites[m.split as usize]));
            let CoupleRoom { indices, counts: own, tables } = &mut *room;
            widest(AtMembers { couple, root, sites, out: indices });
            for ((site, indices), tables) in sites.into_iter().zip(&*indices).zip(&mut *tables) {
                own.clear();
                own.resize(site.entries(), L::default());
                for (&index, &count) in indices.iter().zip(counts).filter(|(_, count)| !count.is_zero()) {
                    let sum = &mut own[usize::from(index)];
                    *sum = sum.plus(count);
                }
                let (counts, values, rows) = (&*own, &self.values(site, layout, tree), 0);
                tables.clear();
                widest(BuildTables { site, counts, values, coefficients, ranked, rows, tables });
            }
            widest(CoupleTables { couple, sites, of: tables, indices, outputs: layout.outputs, tables: all });
        }
    }

    /// The values of both children of a split, output by output, divided by the weight of the background.
    fn values(&self, site: &Site, layout: &Layout, tree: &CompiledTree) -> Vec<Values> {
        let leaves = site.leaves.map(|leaf| leaf.map(|leaf| Leaf::of(tree, leaf as usize).values()));
        let value = |side: usize, output: usize| {
            leaves[side].map_or(0.0, |values| (values[output] - layout.origin[output]) / self.total)
        };
        (0..layout.outputs).map(|output| [value(0, output), value(1, output)]).collect()
    }

    /// Counts how many background rows have each index, split by split.
    fn count_by<P: Pattern, L: Lane>(
        &self,
        batch: &Batch,
        layout: &Layout,
        rows: Range<usize>,
        counts: &mut Vec<Vec<L>>,
        walk: &mut Walk<P>,
    ) {
        let items = batch.items();
        counts.resize_with(items.len().max(counts.len()), Vec::new);
        for (counts, item) in counts.iter_mut().zip(self::items(layout, batch.way, &items)) {
            counts.clear();
            counts.resize(item.entries, L::default());
        }
        for first in rows.clone().step_by(COUNTED * BLOCK) {
            // Whoever takes the next step will find that the call is over.
            if self.progress.is_cancelled() {
                return;
            }
            walk.find(batch, layout, self.background.rows, first, COUNTED);
            let blocks = (first..rows.end).step_by(BLOCK).take(COUNTED);
            for (item, counts) in counts[..items.len()].iter_mut().enumerate() {
                for (block, first) in blocks.clone().enumerate() {
                    let n = BLOCK.min(rows.end - first);
                    let weights = self.background.weights.map(|weights| &weights[first..]);
                    let indices = &walk.all()[block * items.len() + item][..n];
                    for (r, &index) in indices.iter().enumerate() {
                        let count = &mut counts[index.number()];
                        let weight = if L::EXACT { 1.0 } else { weights.map_or(1.0, |weights| weights[r]) };
                        *count = count.plus(L::of(weight));
                    }
                }
            }
        }
    }

    fn splits<P: Word, L: Lane>(
        &self,
        batch: &Batch,
        layout: &Layout,
        tree: &CompiledTree,
        x: &CodedRows,
        splits: &mut Splits<P, L>,
        all: &mut Vec<Worth>,
    ) {
        let Splits { z, x: ours, slots, block, room } = splits;
        let items = batch.items();
        for (rows, all) in [(self.background.rows, &mut *z), (x, &mut *ours)] {
            all.resize_with(items.len().max(all.len()), Vec::new);
            all.iter_mut().for_each(Vec::clear);
            block.resize(items.len(), [P::default(); BLOCK]);
            for first in (0..rows.len()).step_by(BLOCK) {
                find_indices(batch, layout, rows, first, slots, block);
                let n = BLOCK.min(rows.len() - first);
                all.iter_mut().zip(&*block).for_each(|(all, block)| all.extend_from_slice(&block[..n]));
            }
        }
        all.resize_with(items.len().max(all.len()), Worth::default);
        for ((site, (z, x)), worth) in sites(layout, batch.way, &items).zip(z.iter().zip(ours)).zip(all) {
            let values = self.values(site, layout, tree);
            let joined = Joined { site, values: &values, weights: self.background.weights, rules: &self.rules };
            counting(JoinSplit { joined, z, x, room, worth });
        }
    }
}

/// Finds the indices of the block of rows that begins at `first`, split by split.
fn find_indices<P: Pattern>(
    batch: &Batch,
    layout: &Layout,
    rows: &CodedRows,
    first: usize,
    slots: &mut Slots<P>,
    out: &mut [[P; BLOCK]],
) {
    with_codes!(rows.codes(), codes => {
        let next = rows.block_of(codes, if first + BLOCK < rows.len() { first + BLOCK } else { first }).0;
        let codes = rows.block_of(codes, first).0;
        widest(Indices { layout, way: batch.way, items: batch.items(), codes, next, slots, out });
    });
}

struct BuildTables<'a, L, const D: usize> {
    site: &'a Site,
    counts: &'a [L],
    values: &'a [Values],
    coefficients: &'a Coefficients<D>,
    ranked: &'a mut Ranked<L>,
    rows: usize,
    tables: &'a mut Tables,
}

impl<L: Lane, const D: usize> Kernel for BuildTables<'_, L, D> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        table::build(self.site, self.counts, self.values, self.coefficients, self.ranked, self.rows, self.tables);
    }
}

/// Room to build the table of a couple.
struct CoupleRoom<L> {
    /// The index at each split for every outcome.
    indices: [Vec<u16>; 2],
    /// How many background rows have each index at a split.
    counts: Vec<L>,
    tables: [Tables; 2],
}

impl<L> Default for CoupleRoom<L> {
    fn default() -> Self {
        Self { indices: Default::default(), counts: Vec::new(), tables: Default::default() }
    }
}

struct CoupleTables<'a> {
    couple: &'a Couple,
    sites: [&'a Site; 2],
    of: &'a [Tables; 2],
    indices: &'a [Vec<u16>; 2],
    outputs: usize,
    tables: &'a mut Tables,
}

impl Kernel for CoupleTables<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.tables.couple(self.couple, self.sites, self.of, self.indices, self.outputs);
    }
}

struct JoinSplit<'a, P, L> {
    joined: Joined<'a>,
    z: &'a [P],
    x: &'a [P],
    room: &'a mut join::Room<P, L>,
    worth: &'a mut Worth,
}

impl<P: Word, L: Lane> Kernel for JoinSplit<'_, P, L> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.joined.join([self.z, self.x], self.room, self.worth);
    }
}
