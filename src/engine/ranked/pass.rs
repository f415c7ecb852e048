//! Some splits of a tree: what rows read at them is worked out, used and dropped together.

use std::ops::Range;

use super::coefficients::Coefficients;
use super::counts::{Lane, Ranked};
use super::distinct::Word;
use super::join::{self, Joined, Rules};
use super::layout::{Layout, Site, Way};
use super::read::pair;
use super::table::{self, Tables, Values, in_advance};
use super::walk::{Indices, Pattern, Slots};
use super::worth::Worth;
use crate::engine::codes::{BLOCK, CodedRows, with_codes};
use crate::engine::compiled::{CompiledTree, Leaf};
use crate::engine::task::BackgroundRows;
use crate::simd::{Kernel, counting, widest};

/// About how many entries the tables of a pass have: few enough to stay in the second-level cache, but not fewer,
/// because every pass has to add up the gains of its whole path.
const ENTRIES: usize = 1 << 14;
/// The same for a tree that is so deep that the way from the root costs more than the cache saves.
const MOST_ENTRIES: usize = 1 << 20;
/// The most splits of a pass: their indices for a block of rows stay in the first-level cache.
const SPLITS: usize = 64;
/// Background rows times joined splits of a pass; the same for a very deep tree; and joined splits times outputs of a pass,
/// since every distinct row has its gains for each of these.
const JOINED_ROWS: usize = 1 << 20;
const MOST_JOINED_ROWS: usize = 1 << 23;
const JOINED: usize = 16;
/// Every pass starts at the root, so no path should be walked much more often than this.
const PASSES: usize = 64;

/// Some items of a tree: splits whose leaves need work, all in the same way.
#[derive(Debug, Clone)]
pub(super) struct Pass {
    /// The position of the tree among those of the task.
    pub(super) tree: usize,
    pub(super) way: Way,
    pub(super) items: Range<u32>,
}

impl Pass {
    /// The passes of a tree. They depend on the tree and the background alone, since a row's gains are summed by pass.
    pub(super) fn of_tree(position: usize, layout: &Layout, m: usize, order: u32) -> Vec<Self> {
        let mut passes = Vec::new();
        let most = if order == 1 { ENTRIES } else { ENTRIES / 2 };
        let least = (layout.slots / 2 / PASSES) as u32;
        let (mut start, mut entries) = (0, 0);
        for (item, &n) in (0..).zip(&layout.ranked) {
            let all = layout.sites[n as usize].entries();
            entries += all * layout.outputs;
            let (items, last) = (item - start + 1, item + 1 == layout.ranked.len() as u32);
            let full = items >= SPLITS as u32 || entries >= most;
            if last || (full && items >= least) || entries >= MOST_ENTRIES {
                passes.push(Self { tree: position, way: Way::Ranked, items: start..item + 1 });
                (start, entries) = (item + 1, 0);
            }
        }
        let splits = layout.joined.len() as u32;
        let each = |rows: usize| (rows / m.max(1)) as u32;
        let most = (JOINED / layout.outputs.max(1)) as u32;
        let each = each(JOINED_ROWS).min(most).max(least.min(each(MOST_JOINED_ROWS))).max(1);
        let joined = (0..splits).step_by(each as usize).map(|start| start..splits.min(start + each));
        passes.extend(joined.map(|items| Self { tree: position, way: Way::Joined, items }));
        passes
    }

    /// The splits of the items.
    fn sites<'a>(&self, layout: &'a Layout) -> impl Iterator<Item = &'a Site> {
        let all = if self.way == Way::Ranked { &layout.ranked } else { &layout.joined };
        all[self.items.start as usize..self.items.end as usize].iter().map(|&n| &layout.sites[n as usize])
    }

    /// Bytes that rows read, at most.
    pub(super) fn bytes(&self, layout: &Layout, rows: usize, order: u32) -> usize {
        let bytes = |site: &Site| {
            let players = site.others as usize + 1;
            match (self.way, order) {
                (Way::Ranked, 1) if in_advance(site, rows) => layout.outputs * site.entries() * (24 + 8 * players),
                (Way::Ranked, 1) => layout.outputs * site.entries() * 24,
                (Way::Ranked, _) => layout.outputs * site.entries() * 64,
                (Way::Joined, 1) => rows * (4 + 8 * players * layout.outputs),
                (Way::Joined, _) => rows * (4 + 8 * pair(players, 0) * layout.outputs),
            }
        };
        self.sites(layout).map(bytes).sum()
    }
}

/// What rows read at each item of a pass, kept from pass to pass.
#[derive(Debug, Default)]
pub(super) struct Built {
    pub(super) tables: Vec<Tables>,
    pub(super) joined: Vec<Worth>,
}

/// What passes are built with, kept from pass to pass.
pub(super) struct Room<L> {
    counts: Vec<Vec<L>>,
    ranked: Ranked<L>,
    slots: Slots<u16>,
    indices: Vec<[u16; BLOCK]>,
    narrow: Splits<u32, L>,
    wide: Splits<u128, L>,
}

impl<L: Lane> Default for Room<L> {
    fn default() -> Self {
        Self {
            counts: Vec::new(),
            ranked: Ranked::new(),
            slots: Vec::new(),
            indices: Vec::new(),
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
    pub(super) coefficients: Coefficients<D>,
    pub(super) rules: Rules,
}

impl<const D: usize> Ingredients<'_, D> {
    /// Works out what rows read at each item of a pass.
    pub(super) fn build<L: Lane>(
        &self,
        pass: &Pass,
        layout: &Layout,
        tree: &CompiledTree,
        x: &CodedRows,
        room: &mut Room<L>,
        built: &mut Built,
    ) {
        match pass.way {
            Way::Ranked => self.tables(pass, layout, tree, x.len(), room, &mut built.tables),
            // An index has a bit for each of the other players, and two for the class.
            Way::Joined if pass.sites(layout).all(|site| site.others + 2 <= u32::BITS) => {
                self.splits(pass, layout, tree, x, &mut room.narrow, &mut built.joined);
            }
            Way::Joined => self.splits(pass, layout, tree, x, &mut room.wide, &mut built.joined),
        }
    }

    fn tables<L: Lane>(
        &self,
        pass: &Pass,
        layout: &Layout,
        tree: &CompiledTree,
        rows: usize,
        room: &mut Room<L>,
        all: &mut Vec<Tables>,
    ) {
        self.count(pass, layout, room);
        all.resize_with(pass.items.len().max(all.len()), Tables::default);
        for ((site, counts), tables) in pass.sites(layout).zip(&room.counts).zip(all) {
            let values = self.values(site, layout, tree);
            let (coefficients, ranked) = (&self.coefficients, &mut room.ranked);
            widest(BuildTables { site, counts, values: &values, coefficients, ranked, rows, tables });
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
    fn count<L: Lane>(&self, pass: &Pass, layout: &Layout, room: &mut Room<L>) {
        let Room { counts, slots, indices, .. } = room;
        counts.resize_with(pass.items.len().max(counts.len()), Vec::new);
        for (counts, site) in counts.iter_mut().zip(pass.sites(layout)) {
            counts.clear();
            counts.resize(site.entries(), L::default());
        }
        indices.resize(pass.items.len(), [0; BLOCK]);
        let z = self.background.rows;
        for first in (0..z.len()).step_by(BLOCK) {
            find_indices(pass, layout, z, first, slots, indices);
            let n = BLOCK.min(z.len() - first);
            let weights = self.background.weights.map(|weights| &weights[first..]);
            for (counts, indices) in counts.iter_mut().zip(&*indices) {
                for (r, &index) in indices[..n].iter().enumerate() {
                    let count = &mut counts[usize::from(index)];
                    let weight = if L::EXACT { 1.0 } else { weights.map_or(1.0, |weights| weights[r]) };
                    *count = count.plus(L::of(weight));
                }
            }
        }
    }

    fn splits<P: Word, L: Lane>(
        &self,
        pass: &Pass,
        layout: &Layout,
        tree: &CompiledTree,
        x: &CodedRows,
        splits: &mut Splits<P, L>,
        all: &mut Vec<Worth>,
    ) {
        let Splits { z, x: ours, slots, block, room } = splits;
        for (rows, all) in [(self.background.rows, &mut *z), (x, &mut *ours)] {
            all.resize_with(pass.items.len().max(all.len()), Vec::new);
            all.iter_mut().for_each(Vec::clear);
            block.resize(pass.items.len(), [P::default(); BLOCK]);
            for first in (0..rows.len()).step_by(BLOCK) {
                find_indices(pass, layout, rows, first, slots, block);
                let n = BLOCK.min(rows.len() - first);
                all.iter_mut().zip(&*block).for_each(|(all, block)| all.extend_from_slice(&block[..n]));
            }
        }
        all.resize_with(pass.items.len().max(all.len()), Worth::default);
        for ((site, (z, x)), worth) in pass.sites(layout).zip(z.iter().zip(ours)).zip(all) {
            let values = self.values(site, layout, tree);
            let joined = Joined { site, values: &values, weights: self.background.weights, rules: &self.rules };
            counting(JoinSplit { joined, z, x, room, worth });
        }
    }
}

/// Finds the indices of the block of rows that begins at `first`, split by split.
pub(super) fn find_indices<P: Pattern>(
    pass: &Pass,
    layout: &Layout,
    rows: &CodedRows,
    first: usize,
    slots: &mut Slots<P>,
    out: &mut [[P; BLOCK]],
) {
    with_codes!(rows.codes(), codes => {
        let codes = rows.block_of(codes, first).0;
        widest(Indices { layout, way: pass.way, items: pass.items.clone(), codes, slots, out });
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
