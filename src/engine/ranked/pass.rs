//! Some leaves of a tree, whose tables are built, used and dropped together.

use std::ops::Range;

use super::coefficients::{Coefficients, moment};
use super::counts::{Lane, Ranked};
use super::distinct::{Distinct, Word};
use super::join::{Room, Rules, join};
use super::layout::{Layout, Site, Way};
use super::read::{Item, pair};
use super::table::{self, Tables, Values};
use super::walk::{Indices, Patterns};
use super::worth::Worth;
use crate::engine::codes::{BLOCK, CodedRows, with_codes};
use crate::engine::compiled::{CompiledTree, Leaf};
use crate::engine::task::BackgroundRows;
use crate::simd::{Kernel, widest};

/// Patterns at the splits of a pass, about. What those that occur are worth stays in the cache, but every pass has to add
/// up the gains of its whole path.
const ENTRIES: usize = 1 << 14;
/// The same of a tree so deep that the way from the root costs more than the cache saves.
const MOST_ENTRIES: usize = 1 << 20;
/// The most splits of a pass: their indices for a block of rows stay in the first-level cache.
const SPLITS: usize = 64;
/// Background rows times joined leaves of a pass.
const JOINED_ROWS: usize = 1 << 20;
const MOST_JOINED_ROWS: usize = 1 << 23;
const JOINED: usize = 16;
/// Every pass starts at the root, so no path may be gone along much more often than this.
const PASSES: usize = 64;

/// Some items of a tree.
#[derive(Debug, Clone)]
pub(super) struct Pass {
    /// The position of the tree among those of the task.
    pub(super) tree: usize,
    pub(super) way: Way,
    pub(super) items: Range<u32>,
}

impl Pass {
    /// The passes of a tree. They depend on the tree and the background alone, since a row's gains are summed by pass.
    pub(super) fn of_tree(position: usize, layout: &Layout, tree: &CompiledTree, m: usize, order: u32) -> Vec<Self> {
        let mut passes = Vec::new();
        let most = if order == 1 { ENTRIES } else { ENTRIES / 8 };
        let least = (layout.slots / 2 / PASSES) as u32;
        let (mut start, mut entries) = (0, 0);
        for (item, &n) in (0..).zip(&layout.ranked) {
            let all = layout.sites[n as usize].entries();
            entries += if order == 1 { all.min(m) } else { all * tree.width };
            let (items, last) = (item - start + 1, item + 1 == layout.ranked.len() as u32);
            let full = items >= SPLITS as u32 || entries >= most;
            if last || (full && items >= least) || entries >= MOST_ENTRIES {
                passes.push(Self { tree: position, way: Way::Ranked, items: start..item + 1 });
                (start, entries) = (item + 1, 0);
            }
        }
        let leaves = layout.joined.len() as u32;
        let each = |rows: usize| (rows / m.max(1)) as u32;
        let each = each(JOINED_ROWS).min(JOINED as u32).max(least.min(each(MOST_JOINED_ROWS))).max(1);
        let joined = (0..leaves).step_by(each as usize).map(|start| start..leaves.min(start + each));
        passes.extend(joined.map(|items| Self { tree: position, way: Way::Joined, items }));
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
                (Way::Ranked, 1) => rows * 4 + tree.width * rows.min(site.entries()) * 8 * players,
                (Way::Ranked, _) => rows * 2 + tree.width * site.entries() * 64,
                (Way::Joined, 1) => rows * (4 + 8 * players),
                (Way::Joined, _) => rows * (4 + 8 * pair(players, 0)),
            }
        };
        self.sites(layout).map(bytes).sum()
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
    /// What rows read at each item of a pass.
    pub(super) fn build(&self, pass: &Pass, layout: &Layout, tree: &CompiledTree, x: &CodedRows) -> Vec<Item> {
        let count = self.background.weights.is_none() && self.background.rows.len() < 1 << 16;
        match pass.way {
            Way::Ranked if count => self.tables::<u16>(pass, layout, tree, x),
            Way::Ranked => self.tables::<f64>(pass, layout, tree, x),
            Way::Joined => match (layout.positions[1], count) {
                (..=32, true) => self.leaves::<u32, u16>(pass, layout, tree, x),
                (..=32, false) => self.leaves::<u32, f64>(pass, layout, tree, x),
                // Whole numbers need no lanes of their own here: hardly any such leaf is counted.
                _ => self.leaves::<u64, f64>(pass, layout, tree, x),
            },
        }
    }

    fn tables<L: Lane>(&self, pass: &Pass, layout: &Layout, tree: &CompiledTree, x: &CodedRows) -> Vec<Item> {
        let counts = self.counts::<L>(pass, layout);
        let indices = indices(pass, layout, x);
        let (mut ranked, mut tables, mut distinct) = (Ranked::new(), Tables::default(), Distinct::new());
        let mut item = |(site, (counts, indices)): (&Site, (Vec<L>, Vec<u16>))| {
            let leaves = site.leaves.map(|leaf| leaf.map(|leaf| Leaf::of(tree, leaf as usize).values()));
            let value = |side: usize, output: usize| leaves[side].map_or(0.0, |values| values[output] / self.total);
            let values: Vec<Values> = (0..tree.width).map(|output| [value(0, output), value(1, output)]).collect();
            let (coefficients, ranked, rows) = (&self.coefficients, &mut ranked, &indices[..x.len()]);
            if D == moment::SINGLE {
                let (tables, distinct) = (&mut tables, Some((rows, &mut distinct)));
                let build =
                    BuildTables { site, counts: &counts, values: &values, coefficients, ranked, tables, distinct };
                Item::Worth(widest(build).expect("there are rows"))
            } else {
                let mut tables = Tables::default();
                let (into, distinct) = (&mut tables, None);
                widest(BuildTables {
                    site,
                    counts: &counts,
                    values: &values,
                    coefficients,
                    ranked,
                    tables: into,
                    distinct,
                });
                Item::Tables(tables, indices)
            }
        };
        pass.sites(layout).zip(counts.into_iter().zip(indices)).map(&mut item).collect()
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

    fn leaves<P: Word, L: Lane>(&self, pass: &Pass, layout: &Layout, tree: &CompiledTree, x: &CodedRows) -> Vec<Item> {
        let z = patterns::<P>(pass, layout, self.background.rows);
        let x = patterns::<P>(pass, layout, x);
        let mut room = Room::<P, L>::new();
        let leaf = |(item, site): (u32, &Site)| {
            let (_, at_leaf, _) =
                site.joined().find(|joined| joined.2 == item).expect("an item is a leaf of its split");
            let values = Leaf::of(tree, at_leaf as usize).values().iter().map(|value| value / self.total).collect();
            let (players, weights, rules) = (site.others as usize + 1, self.background.weights, &self.rules);
            let at = (item - pass.items.start) as usize;
            Item::Worth(widest(JoinLeaf { players, values, z: &z[at], x: &x[at], weights, rules, room: &mut room }))
        };
        pass.items.clone().zip(pass.sites(layout)).map(leaf).collect()
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

/// The indices of all rows, and of those that fill up the last block, split by split.
fn indices(pass: &Pass, layout: &Layout, rows: &CodedRows) -> Vec<Vec<u16>> {
    let mut all = vec![Vec::with_capacity(rows.len().next_multiple_of(BLOCK)); pass.items.len()];
    let (mut slots, mut block) = (Vec::new(), vec![[0; BLOCK]; pass.items.len()]);
    for first in (0..rows.len()).step_by(BLOCK) {
        with_codes!(rows.codes(), codes => {
            let codes = rows.block_of(codes, first).0;
            widest(Indices { layout, items: pass.items.clone(), codes, slots: &mut slots, out: &mut block });
        });
        all.iter_mut().zip(&block).for_each(|(all, block)| all.extend_from_slice(block));
    }
    all
}

struct BuildTables<'a, L, const D: usize> {
    site: &'a Site,
    counts: &'a [L],
    values: &'a [Values],
    coefficients: &'a Coefficients<D>,
    ranked: &'a mut Ranked<L>,
    tables: &'a mut Tables,
    /// The indices of rows, to work out what they get.
    distinct: Option<(&'a [u16], &'a mut Distinct<u16>)>,
}

impl<L: Lane, const D: usize> Kernel for BuildTables<'_, L, D> {
    type Output = Option<Worth>;

    #[inline(always)]
    fn run(self) -> Option<Worth> {
        table::build(self.site, self.counts, self.values, self.coefficients, self.ranked, self.tables);
        let (indices, distinct) = self.distinct?;
        Some(self.tables.worth(self.site, indices, self.values.len(), distinct))
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
    type Output = Worth;

    #[inline(always)]
    fn run(self) -> Worth {
        join(self.players, self.values, [self.z, self.x], self.weights, self.rules, self.room)
    }
}
