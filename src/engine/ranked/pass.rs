//! Some leaves of a tree, whose tables are built, used and dropped together.

use std::ops::Range;

use super::coefficients::Coefficients;
use super::counts::{Lane, Ranked};
use super::distinct::Word;
use super::join::{JoinedLeaf, Room, Rules};
use super::layout::{Layout, Site, Way};
use super::read::pair;
use super::table::{self, Table, Values};
use super::walk::{Indices, Patterns};
use crate::engine::codes::{BLOCK, CodedRows, with_codes};
use crate::engine::compiled::{CompiledTree, Leaf};
use crate::engine::task::BackgroundRows;
use crate::simd::{Kernel, widest};

/// Entries of the tables of a pass, about: they stay in the second-level cache.
const ENTRIES: usize = 1 << 14;
/// The most splits of a pass: their indices for a block of rows stay in the first-level cache.
const SPLITS: usize = 64;
/// Background rows times joined leaves of a pass.
const JOINED_ROWS: usize = 1 << 19;
const JOINED: usize = 8;

/// Some items of a tree.
#[derive(Debug, Clone)]
pub(super) struct Pass {
    /// The position of the tree among those of the task.
    pub(super) tree: usize,
    pub(super) way: Way,
    pub(super) items: Range<u32>,
}

/// What rows read in a pass.
#[derive(Debug)]
pub(super) enum Built {
    /// The tables of each split, one for each output.
    Tables(Vec<Vec<Table>>),
    Leaves(Vec<JoinedLeaf>),
}

impl Pass {
    /// The passes of a tree. They depend on the tree and the background alone, since a row's gains are summed by pass.
    pub(super) fn of_tree(tree: usize, layout: &Layout, m: usize, order: u32) -> Vec<Self> {
        let mut passes = Vec::new();
        let most = if order == 1 { ENTRIES } else { ENTRIES / 4 };
        let (mut start, mut entries) = (0, 0);
        for (item, &n) in (0..).zip(&layout.ranked) {
            entries += layout.sites[n as usize].entries();
            if entries >= most || item - start + 1 >= SPLITS as u32 || item + 1 == layout.ranked.len() as u32 {
                passes.push(Self { tree, way: Way::Ranked, items: start..item + 1 });
                (start, entries) = (item + 1, 0);
            }
        }
        let leaves = layout.joined.len() as u32;
        let each = (JOINED_ROWS / m.max(1)).clamp(1, JOINED);
        let joined = (0..leaves).step_by(each).map(|start| start..leaves.min(start + each as u32));
        passes.extend(joined.map(|items| Self { tree, way: Way::Joined, items }));
        passes
    }

    /// The splits of the items.
    fn sites<'a>(&self, layout: &'a Layout) -> impl Iterator<Item = &'a Site> {
        let all = if self.way == Way::Ranked { &layout.ranked } else { &layout.joined };
        all[self.items.start as usize..self.items.end as usize].iter().map(|&n| &layout.sites[n as usize])
    }

    /// Bytes that rows read, at most.
    pub(super) fn bytes(&self, layout: &Layout, tree: &CompiledTree, rows: usize, order: u32) -> usize {
        let bytes = |site: &Site| {
            let players = site.others as usize + 1;
            match (self.way, order) {
                (Way::Ranked, 1) if finishes(site, rows) => tree.width * site.entries() * (24 + 8 * players),
                (Way::Ranked, 1) => tree.width * site.entries() * 24,
                (Way::Ranked, _) => tree.width * site.entries() * 64,
                (Way::Joined, 1) => rows * (4 + 8 * players),
                (Way::Joined, _) => rows * (4 + 8 * pair(players, 0)),
            }
        };
        self.sites(layout).map(bytes).sum()
    }
}

/// Whether rows read finished numbers: it pays if there are more rows than entries. Both ways give the same bits.
fn finishes(site: &Site, rows: usize) -> bool {
    4 * site.entries() <= rows
}

/// What passes are built from.
pub(super) struct Ingredients<'a, const D: usize> {
    pub(super) background: &'a BackgroundRows<'a>,
    pub(super) total: f64,
    pub(super) coefficients: Coefficients<D>,
    pub(super) rules: Rules,
}

impl<const D: usize> Ingredients<'_, D> {
    pub(super) fn build(&self, pass: &Pass, layout: &Layout, tree: &CompiledTree, x: &CodedRows) -> Built {
        let count = self.background.weights.is_none() && self.background.rows.len() < 1 << 16;
        match pass.way {
            Way::Ranked if count => Built::Tables(self.tables::<u16>(pass, layout, tree, x.len())),
            Way::Ranked => Built::Tables(self.tables::<f64>(pass, layout, tree, x.len())),
            Way::Joined => Built::Leaves(match (layout.positions[1], count) {
                (..=32, true) => self.leaves::<u32, u16>(pass, layout, tree, x),
                (..=32, false) => self.leaves::<u32, f64>(pass, layout, tree, x),
                // Whole numbers need no lanes of their own here: hardly any such leaf is counted.
                _ => self.leaves::<u64, f64>(pass, layout, tree, x),
            }),
        }
    }

    fn tables<L: Lane>(&self, pass: &Pass, layout: &Layout, tree: &CompiledTree, rows: usize) -> Vec<Vec<Table>> {
        let counts = self.counts::<L>(pass, layout);
        let mut ranked = Ranked::new();
        let build = |(site, counts): (&Site, Vec<L>)| {
            let leaves = site.leaves.map(|leaf| leaf.map(|leaf| Leaf::of(tree, leaf as usize).values()));
            let value = |side: usize, output: usize| leaves[side].map_or(0.0, |values| values[output] / self.total);
            let values: Vec<Values> = (0..tree.width).map(|output| [value(0, output), value(1, output)]).collect();
            let finish = D == 3 && finishes(site, rows);
            let coefficients = &self.coefficients;
            widest(BuildTables { site, counts: &counts, values: &values, coefficients, ranked: &mut ranked, finish })
        };
        pass.sites(layout).zip(counts).map(build).collect()
    }

    /// How many background rows have each index, split by split.
    fn counts<L: Lane>(&self, pass: &Pass, layout: &Layout) -> Vec<Vec<L>> {
        let mut counts: Vec<Vec<L>> = pass.sites(layout).map(|site| vec![L::default(); site.entries()]).collect();
        let z = self.background.rows;
        let (mut slots, mut indices) = (Vec::new(), vec![[0; BLOCK]; pass.items.len()]);
        for first in (0..z.len()).step_by(BLOCK) {
            let items = pass.items.clone();
            with_codes!(z.codes(), codes => {
                let codes = z.block_of(codes, first).0;
                widest(Indices { layout, items, codes, slots: &mut slots, out: &mut indices });
            });
            let n = BLOCK.min(z.len() - first);
            for (counts, indices) in counts.iter_mut().zip(&indices) {
                for (r, &index) in indices[..n].iter().enumerate() {
                    let count = &mut counts[usize::from(index)];
                    *count = count.plus(L::of(self.background.weight(first + r)));
                }
            }
        }
        counts
    }

    fn leaves<P: Word, L: Lane>(
        &self,
        pass: &Pass,
        layout: &Layout,
        tree: &CompiledTree,
        x: &CodedRows,
    ) -> Vec<JoinedLeaf> {
        let z = patterns::<P>(pass, layout, self.background.rows);
        let x = patterns::<P>(pass, layout, x);
        let mut room = Room::<P, L>::new();
        let join = |(item, site): (u32, &Site)| {
            let (_, leaf, _) = site.joined().find(|joined| joined.2 == item).expect("an item is a leaf of its split");
            let values = Leaf::of(tree, leaf as usize).values().iter().map(|value| value / self.total).collect();
            let (players, weights, rules) = (site.others as usize + 1, self.background.weights, &self.rules);
            let at = (item - pass.items.start) as usize;
            widest(JoinLeaf { players, values, z: &z[at], x: &x[at], weights, rules, room: &mut room })
        };
        pass.items.clone().zip(pass.sites(layout)).map(join).collect()
    }
}

/// The patterns of all rows, leaf by leaf.
fn patterns<P: Word>(pass: &Pass, layout: &Layout, rows: &CodedRows) -> Vec<Vec<P>> {
    let mut all = vec![Vec::with_capacity(rows.len()); pass.items.len()];
    let (mut slots, mut block) = (Vec::new(), vec![[P::default(); BLOCK]; pass.items.len()]);
    for first in (0..rows.len()).step_by(BLOCK) {
        with_codes!(rows.codes(), codes => {
            let codes = rows.block_of(codes, first).0;
            widest(Patterns { layout, items: pass.items.clone(), codes, slots: &mut slots, out: &mut block });
        });
        let n = BLOCK.min(rows.len() - first);
        all.iter_mut().zip(&block).for_each(|(all, block)| all.extend_from_slice(&block[..n]));
    }
    all
}

struct BuildTables<'a, L, const D: usize> {
    site: &'a Site,
    counts: &'a [L],
    values: &'a [Values],
    coefficients: &'a Coefficients<D>,
    ranked: &'a mut Ranked<L>,
    finish: bool,
}

impl<L: Lane, const D: usize> Kernel for BuildTables<'_, L, D> {
    type Output = Vec<Table>;

    #[inline(always)]
    fn run(self) -> Vec<Table> {
        let mut tables = table::build(self.site, self.counts, self.values, self.coefficients, self.ranked);
        if self.finish {
            for table in &mut tables {
                table.finish(self.site);
            }
        }
        tables
    }
}

struct JoinLeaf<'a, P, L> {
    players: usize,
    values: Vec<f64>,
    z: &'a [P],
    x: &'a [P],
    weights: Option<&'a [f64]>,
    rules: &'a Rules,
    room: &'a mut Room<P, L>,
}

impl<P: Word, L: Lane> Kernel for JoinLeaf<'_, P, L> {
    type Output = JoinedLeaf;

    #[inline(always)]
    fn run(self) -> JoinedLeaf {
        JoinedLeaf::new(self.players, self.values, [self.z, self.x], self.weights, self.rules, self.room)
    }
}
