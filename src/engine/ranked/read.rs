//! Some blocks of rows read what they get.
//!
//! What a row gains is summed by position on the path, and is added to the sums of the players only when the walk
//! leaves the position for good. Several blocks go along together, so that a table that is in the cache is used by many
//! rows.

use std::ops::Range;

use super::batch::Batch;
use super::layout::{Layout, Site, Step, Way};
use super::pass::{Built, Walk};
use super::walk::meets;
use crate::engine::cells::CellMap;
use crate::engine::codes::{BLOCK, CodedRows};
use crate::simd::{ALIGNING, Kernel, aligned};

/// Blocks of rows that go along together, at most.
pub(super) const BLOCKS: usize = 8;

/// The number of a pair of positions, the second not after the first.
#[inline(always)]
pub(super) fn pair(p: usize, q: usize) -> usize {
    p * (p + 1) / 2 + q
}

/// Where rows gather what they get, kept from pass to pass.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    /// Output by output and block by block: position by position, or pair of positions by pair of positions, the second
    /// not after the first. All zero between two passes.
    gains: Vec<f64>,
    /// The players of the path.
    path: Vec<u32>,
    /// Where the gains of each position, or pair of positions, are summed.
    targets: Vec<u32>,
    /// The indices in the tables of the batch, if these are small, and if they are large.
    pub(super) small: Walk<u16>,
    pub(super) large: Walk<u32>,
}

impl Gathering {
    /// Finds the indices of some blocks of rows, from block `first` on, in the tables of a batch.
    pub(super) fn find(&mut self, batch: &Batch, layout: &Layout, x: &CodedRows, first: usize, blocks: usize) {
        match batch.way {
            Way::Ranked => self.small.find(batch, layout, x, first * BLOCK, blocks),
            Way::Large => self.large.find(batch, layout, x, first * BLOCK, blocks),
            Way::Joined => {}
        }
    }
}

/// Reads all items of a pass for some blocks of rows.
pub(super) struct Read<'a> {
    pub(super) layout: &'a Layout,
    pub(super) way: Way,
    /// The items of the batch, and those of the pass.
    pub(super) batch: Range<u32>,
    pub(super) items: Range<u32>,
    /// What rows read at each item of the pass.
    pub(super) built: &'a Built,
    /// The first of all blocks that is read, its number among those that were gathered, and how many are read.
    pub(super) first: usize,
    pub(super) gathered: usize,
    pub(super) blocks: usize,
    pub(super) cells: CellMap,
    /// The first output of the tree, and how many are worked out.
    pub(super) output: usize,
    pub(super) width: usize,
    /// The output that gets the opposite of what all these get together.
    pub(super) complement: Option<usize>,
    pub(super) gathering: &'a mut Gathering,
    /// Block by block and cell by cell.
    pub(super) sums: &'a mut [[f64; BLOCK]],
}

impl Kernel for Read<'_> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let (layout, way) = (self.layout, self.way);
        let room = self.width * self.blocks * self.room() * BLOCK + ALIGNING;
        if self.gathering.gains.len() < room {
            self.gathering.gains.resize(room, 0.0);
        }
        let mut at = 0;
        self.gathering.path.clear();
        while let Some(&step) = layout.steps.get(at) {
            at += 1;
            match step {
                Step::Enter(n) => {
                    let site = &layout.sites[n as usize];
                    if !meets(&site.items(way), &self.items) {
                        at = site.end as usize;
                        continue;
                    }
                    if site.fresh {
                        self.gathering.path.push(site.player);
                    }
                    self.split(site);
                }
                Step::Leave => {
                    if !self.is_direct() {
                        self.settle();
                    }
                    self.gathering.path.pop();
                }
            }
        }
    }
}

impl Read<'_> {
    /// How many gains there are for each output and block.
    #[inline(always)]
    fn room(&self) -> usize {
        let positions = self.layout.positions(self.way);
        if self.cells.order == 1 { positions } else { pair(positions, 0) }
    }

    /// Whether rows add what they get to the sums of players at once. Pairs have too many sums for that, and a gain that
    /// also counts for another output is added up by position first.
    #[inline(always)]
    fn is_direct(&self) -> bool {
        self.cells.order == 1 && self.complement.is_none()
    }

    #[inline(always)]
    fn split(&mut self, site: &Site) {
        let Some(item) = site.item(self.way) else { return };
        if !self.items.contains(&item) {
            return;
        }
        let (at, is_direct) = ((item - self.items.start) as usize, self.is_direct());
        let index = |block: usize| (self.gathered + block) * self.batch.len() + (item - self.batch.start) as usize;
        let room = if is_direct { self.cells.count() } else { self.room() };
        let Gathering { gains, path, targets, small, large } = &mut *self.gathering;
        for output in 0..self.width {
            targets.clear();
            if is_direct {
                let cell =
                    |&player: &u32| self.cells.number(player as usize, player as usize, self.output + output) as u32;
                targets.extend(path.iter().map(cell));
                let couple = self.layout.items(self.way)[item as usize].couple.iter();
                let more = couple.flat_map(|couple| &couple.members).filter(|member| member.own.is_some());
                targets.extend(more.map(|member| cell(&self.layout.sites[member.split as usize].player)));
            } else {
                targets.extend(0..if self.cells.order == 1 { path.len() } else { pair(path.len(), 0) } as u32);
            }
            for block in 0..self.blocks {
                let all = if is_direct { &mut *self.sums } else { aligned(gains).as_chunks_mut::<BLOCK>().0 };
                let start = if is_direct { block } else { output * self.blocks + block } * room;
                let sums = &mut all[start..][..room];
                let tables = &self.built.tables;
                match self.way {
                    Way::Ranked if self.cells.order == 1 => {
                        tables.add(at, site, output, &small.all()[index(block)], targets, sums);
                    }
                    Way::Ranked => tables.add_pairs(at, site, output, &small.all()[index(block)], sums),
                    Way::Large => tables.add(at, site, output, &large.all()[index(block)], targets, sums),
                    Way::Joined => self.built.joined[at].add(self.first + block, output, targets, sums),
                }
            }
        }
    }

    /// Adds the gains at the last position of the path to its player.
    #[inline(always)]
    fn settle(&mut self) {
        let room = self.room();
        let Gathering { gains, path, .. } = &mut *self.gathering;
        let position = path.len() - 1;
        let (first, partners) = if self.cells.order == 1 { (position, 1) } else { (pair(position, 0), path.len()) };
        let mut all = aligned(gains).as_chunks_mut::<BLOCK>().0.chunks_exact_mut(room);
        for output in 0..self.width {
            for sums in self.sums.chunks_exact_mut(self.cells.count()) {
                let gains = &mut all.next().expect("there is room for every block")[first..][..partners];
                for (q, gains) in gains.iter_mut().enumerate() {
                    let (player, other) = (path[position] as usize, path[q] as usize);
                    if let Some(complement) = self.complement {
                        let sums = &mut sums[self.cells.number(player, other, complement)];
                        for r in 0..BLOCK {
                            sums[r] -= gains[r];
                        }
                    }
                    let sums = &mut sums[self.cells.number(player, other, self.output + output)];
                    for r in 0..BLOCK {
                        sums[r] += gains[r];
                        gains[r] = 0.0;
                    }
                }
            }
        }
    }
}
