//! A pass: the background is counted at some splits of a tree, and what rows read there is worked out.

use std::ops::Range;

use super::batch::{Batch, items, sites};
use super::coefficients::Coefficients;
use super::counts::{Lane, Ranked};
use super::couple::{AtMembers, Couple};
use super::distinct::Word;
use super::join::{self, Joined, Rules};
use super::layout::{Item, Layout, Site, Way};
use super::table::{self, Tables, Values};
use super::walk::{Indices, Pattern, Slots};
use super::wide::Wide;
use super::worth::Worth;
use crate::engine::codes::{BLOCK, CodedRows, with_codes};
use crate::engine::compiled::{CompiledTree, Leaf};
use crate::engine::task::BackgroundRows;
use crate::job::Progress;
use crate::simd::{Kernel, counting, widest};

/// Blocks of background rows whose indices are found before they are counted, so that the counts of a split serve many rows
/// while they are in the first-level cache.
const COUNTED: usize = 4;

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
    widest: Splits<Wide, L>,
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
            widest: Splits::default(),
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
            Way::Joined => match sites(layout, batch.way, pass).map(|site| site.others + 2).max() {
                Some(..=u32::BITS) => self.splits(batch, layout, tree, x, &mut room.narrow, &mut built.joined),
                Some(..=u128::BITS) => self.splits(batch, layout, tree, x, &mut room.wide, &mut built.joined),
                _ => self.splits(batch, layout, tree, x, &mut room.widest, &mut built.joined),
            },
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
