//! A block of rows reads what it gets.
//!
//! What a row gains stands by position on the path, and is added to the sums of the players only when the way through the
//! tree leaves the position for good.

use std::ops::Range;

use super::join::JoinedLeaf;
use super::layout::{Layout, Site, Step, Way};
use super::table::{Table, other_bit};
use super::walk::meets;
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

/// What a block of rows reads.
pub(super) enum Source<'a> {
    /// The tables of splits, and the block's indices in them.
    Tables(&'a [Vec<Table>], &'a [[u16; BLOCK]]),
    /// Joined leaves, and which of their rows the block begins with.
    Leaves(&'a [JoinedLeaf], usize),
}

/// Reads all items of a pass for a block of rows.
pub(super) struct Read<'a> {
    pub(super) layout: &'a Layout,
    pub(super) items: Range<u32>,
    pub(super) source: Source<'a>,
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
        let layout = self.layout;
        let way = if matches!(self.source, Source::Tables(..)) { Way::Ranked } else { Way::Joined };
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
                Step::Leave(n) => {
                    if !layout.sites[n as usize].direct() || self.cells.order == 2 {
                        self.settle();
                    }
                    self.path.pop();
                }
            }
        }
    }
}

impl Read<'_> {
    #[inline(always)]
    fn split(&mut self, site: &Site) {
        match self.source {
            Source::Tables(tables, indices) => {
                let Some(item) = site.table().filter(|item| self.items.contains(item)) else { return };
                let at = (item - self.items.start) as usize;
                for (output, table) in tables[at].iter().enumerate() {
                    self.table(site, table, &indices[at], output);
                }
            }
            Source::Leaves(leaves, first) => {
                for (_, _, item) in site.joined().filter(|(_, _, item)| self.items.contains(item)) {
                    let leaf = &leaves[(item - self.items.start) as usize];
                    for (output, gains) in self.gains.iter_mut().enumerate() {
                        leaf.add(first, self.n, output, &mut gains.rows, gains.stride, &mut gains.pairs);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn table(&mut self, site: &Site, table: &Table, indices: &[u16; BLOCK], output: usize) {
        let gains = &mut self.gains[output];
        if self.cells.order == 2 {
            return add_pairs(&mut gains.pairs, site, table, indices);
        }
        let (direct, own) = (site.direct(), site.own as usize);
        if direct {
            let sums = &mut self.sums[self.cells.number(site.player as usize, 0, self.output + output)];
            let mask = table.own.len() - 1;
            for (sum, &index) in sums.iter_mut().zip(indices) {
                *sum += table.own[usize::from(index) & mask][1];
            }
        }
        let positions = site.others as usize + usize::from(!direct);
        let (rows, stride) = (&mut gains.rows[..self.n * gains.stride], gains.stride);
        if !table.finished.is_empty() {
            macro_rules! by_lanes {
                ($($n:literal)*) => { match positions.div_ceil(4) {
                    $($n => add_finished::<$n>(rows, stride, &table.finished, indices),)*
                    _ => {}
                } };
            }
            by_lanes!(1 2 3 4);
            return;
        }
        let rows = rows.as_flattened_mut();
        macro_rules! by_positions {
            ($($k:literal)*) => { match positions {
                $($k if direct => add_table::<$k, true>(rows, 4 * stride, table, indices, own),
                  $k => add_table::<$k, false>(rows, 4 * stride, table, indices, own),)*
                _ => {}
            } };
        }
        by_positions!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
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

/// Adds finished numbers, `4 N` for each index.
#[inline(always)]
fn add_finished<const N: usize>(gains: &mut [[f64; 4]], stride: usize, finished: &[[f64; 4]], indices: &[u16; BLOCK]) {
    let finished = finished.as_chunks::<N>().0;
    let mask = finished.len() - 1;
    for (gains, &index) in gains.chunks_exact_mut(stride).zip(indices) {
        let gains: &mut [[f64; 4]; N] = (&mut gains[..N]).try_into().expect("a row has room for its path");
        // The sum is worked out aside and stored whole, or the compiler would do it number by number.
        let (mut sum, more) = (*gains, finished[usize::from(index) & mask]);
        for b in 0..N {
            for i in 0..4 {
                sum[b][i] += more[b][i];
            }
        }
        *gains = sum;
    }
}

/// Adds `A - C[S ∪ p]` at position p of the path; the split's own player gets D, unless it had it `DIRECT`ly and is
/// left out.
#[inline(always)]
fn add_table<const K: usize, const DIRECT: bool>(
    gains: &mut [f64],
    stride: usize,
    table: &Table,
    indices: &[u16; BLOCK],
    own: usize,
) {
    let bits: [usize; K] = std::array::from_fn(|p| if DIRECT { 1 << p } else { other_bit(p, own) });
    let mask = table.c.len() - 1;
    let (own_worth, c) = (&table.own[..=mask], &table.c[..=mask]);
    for (gains, &index) in gains.chunks_exact_mut(stride).zip(indices) {
        let index = usize::from(index);
        let [a, d] = own_worth[index & mask];
        let gains: &mut [f64; K] = (&mut gains[..K]).try_into().expect("a row has room for its path");
        let mut sum = *gains;
        for p in 0..K {
            sum[p] += a - c[(index | bits[p]) & mask];
        }
        if !DIRECT {
            sum[own % K] = gains[own % K] + d;
        }
        *gains = sum;
    }
}

/// Adds what pairs of positions get, and each position by itself.
#[inline(always)]
fn add_pairs(gains: &mut [[f64; BLOCK]], site: &Site, table: &Table, indices: &[u16; BLOCK]) {
    let (own, positions) = (site.own as usize, site.others as usize + 1);
    let mask = table.pairs.len() - 1;
    let entries = &table.pairs[..=mask];
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
