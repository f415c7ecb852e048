//! How the splits of a tree are divided: a batch is counted at once, and the tables of a pass stand together.

use std::ops::Range;

use super::layout::{Item, Layout, Site, Way};
use super::read::pair;
use super::table::in_advance;

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
pub(super) fn items<'a>(layout: &'a Layout, way: Way, items: &Range<u32>) -> impl Iterator<Item = &'a Item> + use<'a> {
    layout.items(way)[items.start as usize..items.end as usize].iter()
}

/// The splits of some items that are not couples.
pub(super) fn sites<'a>(layout: &'a Layout, way: Way, some: &Range<u32>) -> impl Iterator<Item = &'a Site> + use<'a> {
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
