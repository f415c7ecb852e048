//! A block of rows reads what it gets.
//!
//! What a row gains stands by position on the path, and is added to the sums of the players only when the way through the
//! tree leaves the position for good.

use std::ops::Range;

use super::layout::{Layout, Site, Step, Way};
use super::table::{Pair, Tables, other_bit};
use super::walk::meets;
use super::worth::Worth;
use crate::engine::cells::CellMap;
use crate::engine::codes::BLOCK;
use crate::simd::Kernel;

/// The gains of a block of rows by position, for one output.
#[derive(Debug, Default)]
pub(super) struct Gains {
    /// Row by row, `stride` groups of four positions each.
    rows: Vec<[f64; 4]>,
    stride: usize,
    /// For an index of pairs: pair of positions by pair of positions, the second not after the first.
    pairs: Vec<[f64; BLOCK]>,
}

impl Gains {
    pub(super) fn new(positions: usize, order: u32) -> Self {
        let stride = positions.div_ceil(4);
        if order == 1 {
            Self { rows: vec![[0.0; 4]; stride * BLOCK], stride, pairs: Vec::new() }
        } else {
            Self { rows: Vec::new(), stride, pairs: vec![[0.0; BLOCK]; pair(positions, 0)] }
        }
    }
}

/// The number of a pair of positions, the second not after the first.
#[inline(always)]
pub(super) fn pair(p: usize, q: usize) -> usize {
    p * (p + 1) / 2 + q
}

/// What rows read at an item of a pass.
#[derive(Debug)]
pub(super) enum Item {
    Worth(Worth),
    /// For an index of pairs, the tables of a split, and the index of each row, whole blocks of them.
    Tables(Tables, Vec<u16>),
}

/// Reads all items of a pass for a block of rows.
pub(super) struct Read<'a> {
    pub(super) layout: &'a Layout,
    pub(super) way: Way,
    pub(super) items: Range<u32>,
    /// What rows read at each item.
    pub(super) built: &'a [Item],
    /// Which of all rows the block begins with.
    pub(super) first: usize,
    pub(super) cells: CellMap,
    /// The first output of the tree.
    pub(super) output: usize,
    /// How many rows the block has.
    pub(super) n: usize,
    /// One for each output of the tree.
    pub(super) gains: &'a mut [Gains],
    /// Cell by cell.
    pub(super) sums: &'a mut [[f64; BLOCK]],
    /// The players of the path.
    pub(super) path: &'a mut Vec<u32>,
}

impl Kernel for Read<'_> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let (layout, way) = (self.layout, self.way);
        let mut at = 0;
        self.path.clear();
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
                        self.path.push(site.player);
                    }
                    self.split(site);
                }
                Step::Leave => {
                    self.settle();
                    self.path.pop();
                }
            }
        }
    }
}

impl Read<'_> {
    #[inline(always)]
    fn split(&mut self, site: &Site) {
        // No closures here: they would be compiled without the vector instructions of the kernel.
        if self.way == Way::Joined {
            for (_, _, item) in site.joined() {
                self.item(site, item);
            }
        } else if let Some(item) = site.table() {
            self.item(site, item);
        }
    }

    #[inline(always)]
    fn item(&mut self, site: &Site, item: u32) {
        if !self.items.contains(&item) {
            return;
        }
        let (n, first) = (self.n, self.first);
        for (output, gains) in self.gains.iter_mut().enumerate() {
            match &self.built[(item - self.items.start) as usize] {
                Item::Worth(worth) if self.cells.order == 1 => {
                    worth.add(first, n, output, &mut gains.rows, gains.stride);
                }
                Item::Worth(worth) => worth.add_pairs(first, n, site.others as usize + 1, output, &mut gains.pairs),
                Item::Tables(tables, indices) => {
                    let indices = indices[first..].first_chunk().expect("indices come in whole blocks");
                    add_pairs(&mut gains.pairs, site, tables.of_pairs(output), indices);
                }
            }
        }
    }

    /// Adds the gains at the last position of the path to its player.
    #[inline(always)]
    fn settle(&mut self) {
        let position = self.path.len() - 1;
        let player = |p: usize| self.path[p] as usize;
        for (output, gains) in self.gains.iter_mut().enumerate() {
            let cell = |q: usize| self.cells.number(player(position), player(q), self.output + output);
            if self.cells.order == 1 {
                let (group, lane) = (position / 4, position % 4);
                let rows = gains.rows[..self.n * gains.stride].chunks_exact_mut(gains.stride);
                for (row, sum) in rows.zip(&mut self.sums[cell(0)]) {
                    *sum += row[group][lane];
                    row[group][lane] = 0.0;
                }
                continue;
            }
            for q in 0..=position {
                let (gains, sums) = (&mut gains.pairs[pair(position, q)], &mut self.sums[cell(q)]);
                for r in 0..BLOCK {
                    sums[r] += gains[r];
                    gains[r] = 0.0;
                }
            }
        }
    }
}

/// Adds what pairs of positions get, and each position by itself.
#[inline(always)]
fn add_pairs(gains: &mut [[f64; BLOCK]], site: &Site, entries: &[Pair], indices: &[u16; BLOCK]) {
    let (own, positions) = (site.own as usize, site.others as usize + 1);
    let mask = entries.len() - 1;
    let mut e1 = [[0.0; BLOCK]; 16];
    for p in (0..positions).filter(|&p| p != own) {
        let bit = other_bit(p, own);
        let alone = &mut gains[pair(p, p)];
        for r in 0..BLOCK {
            let index = usize::from(indices[r]);
            let with = entries[(index | bit) & mask];
            alone[r] += entries[index & mask][0] - with[1];
            e1[p % 16][r] = with[4];
        }
        let with_own = &mut gains[pair(p.max(own), p.min(own))];
        for r in 0..BLOCK {
            let index = usize::from(indices[r]);
            with_own[r] += entries[index & mask][6] - entries[(index | bit) & mask][7];
        }
        for q in (0..p).filter(|&q| q != own) {
            let (gains, both) = (&mut gains[pair(p, q)], bit | other_bit(q, own));
            for r in 0..BLOCK {
                let index = usize::from(indices[r]);
                let e0 = entries[index & mask][3];
                gains[r] += (e0 - e1[p % 16][r] - e1[q % 16][r]) + entries[(index | both) & mask][5];
            }
        }
    }
    for r in 0..BLOCK {
        gains[pair(own, own)][r] += entries[usize::from(indices[r]) & mask][2];
    }
}
