//! The lowest subtrees of a tree, whose splits have few outcomes together.
//!
//! What a subtree is worth to a row, and what its players gain there, depends on which way the row goes at each of its
//! splits, and on whether the row has satisfied the splits that the same players have above. If these are at most four
//! bits, everything is worked out for the sixteen outcomes, and then looked up for each row. Most bottoms have at most three
//! bits: then there are eight outcomes, and the tables of a tree take less of the cache.

use super::lanes::follow_sides;
use super::nodes::Nodes;
use super::path::{OnPath, descend};
use crate::engine::compiled::{CompiledTree, Place};
use crate::simd::{Aligned, Eight, OUTCOMES};

/// The most bits that an outcome has.
pub(super) const BITS: usize = OUTCOMES.trailing_zeros() as usize;

/// If the tables of a tree take more, each is made again for every block of rows, and is in the cache then. So it is for a
/// single block.
const KEPT_BYTES: usize = 1 << 24;

/// A split of a bottom.
pub(super) struct Part {
    pub(super) split: usize,
    /// The part above and the side of it; none for the top.
    from: Option<(usize, usize)>,
    /// The parts below.
    below: [Option<usize>; 2],
    /// The product of the shares of its player's edges above.
    ratio: f64,
    /// The outcomes of rows that have satisfied the player's splits above, one bit each.
    stands: u64,
}

/// Where the parts and the known players of a bottom end, and the vectors of its tables, for one output and quadrature
/// node.
#[derive(Default, Clone, Copy)]
struct End {
    parts: usize,
    known: usize,
    tables: usize,
}

/// The bottoms of a tree.
pub(super) struct Bottoms {
    /// The number of the bottom below each split that is the top of one.
    at: Vec<u32>,
    /// The splits of all bottoms; a part comes after the part above it.
    parts: Vec<Part>,
    /// The players of a bottom that have splits above it.
    known: Vec<u32>,
    /// The ends of the bottoms, after an end of nothing.
    ends: Vec<End>,
}

/// Not the top of a bottom.
const NONE: u32 = u32::MAX;

impl Bottoms {
    /// No bottoms at all.
    pub(super) fn none(tree: &CompiledTree) -> Self {
        let at = vec![NONE; tree.splits.len()];
        Self { at, parts: Vec::new(), known: Vec::new(), ends: vec![End::default()] }
    }

    pub(super) fn new(tree: &CompiledTree) -> Self {
        let mut bottoms = Self::none(tree);
        let sizes = sizes(tree);
        descend(tree, |place, path| match place {
            // A walk begins with the root, whatever is below.
            Place::Split(split) => {
                path.is_empty() || usize::from(sizes[split]) > BITS || !bottoms.add(tree, split, path)
            }
            Place::Leaf(_) => false,
        });
        bottoms
    }

    /// Adds the subtree below a split, which has few splits, if it is a bottom, and says whether it is.
    fn add(&mut self, tree: &CompiledTree, top: usize, path: &[OnPath]) -> bool {
        let (first, first_known) = (self.parts.len(), self.known.len());
        self.parts.push(Part::new(top, None));
        let mut next = first;
        while let Some(part) = self.parts.get(next) {
            let split = tree.splits[part.split];
            for (side, child) in [split.left, split.right].into_iter().enumerate() {
                if let Place::Split(split) = child.place() {
                    self.parts[next].below[side] = Some(self.parts.len() - first);
                    self.parts.push(Part::new(split, Some((next - first, side))));
                }
            }
            next += 1;
        }
        let n_parts = self.parts.len() - first;
        for i in 0..n_parts {
            let parts = &self.parts[first..];
            let player = tree.splits[parts[i].split].player;
            let (ratio, stands) = if let Some(found) = same_player_above(tree, parts, i) {
                found
            } else if let Some(on_path) = path.iter().find(|on_path| on_path.player == player) {
                let known = &mut self.known;
                let number = known[first_known..].iter().position(|&other| other == player).unwrap_or_else(|| {
                    known.push(player);
                    known.len() - first_known - 1
                });
                (on_path.ratio, bit(n_parts + number))
            } else {
                (1.0, u64::MAX)
            };
            (self.parts[first + i].ratio, self.parts[first + i].stands) = (ratio, stands);
        }
        let fits = n_parts + self.known.len() - first_known <= BITS;
        if fits {
            self.at[top] = self.ends.len() as u32 - 1;
            let End { known, tables, .. } = self.ends[self.ends.len() - 1];
            let tables = tables + (n_parts + 1) * eights(n_parts + self.known.len() - known);
            self.ends.push(End { parts: self.parts.len(), known: self.known.len(), tables });
        } else {
            self.parts.truncate(first);
            self.known.truncate(first_known);
        }
        fits
    }

    /// The number of the bottom whose top is this split.
    #[inline(always)]
    pub(super) fn at(&self, split: usize) -> Option<usize> {
        Some(self.at[split] as usize).filter(|&bottom| bottom + 1 < self.ends.len())
    }

    #[inline(always)]
    pub(super) fn parts(&self, bottom: usize) -> &[Part] {
        &self.parts[self.ends[bottom].parts..self.ends[bottom + 1].parts]
    }

    #[inline(always)]
    pub(super) fn known(&self, bottom: usize) -> &[u32] {
        &self.known[self.ends[bottom].known..self.ends[bottom + 1].known]
    }

    /// How many vectors of eight outcomes a table of a bottom is.
    #[inline(always)]
    pub(super) fn eights(&self, bottom: usize) -> usize {
        eights(self.parts(bottom).len() + self.known(bottom).len())
    }

    /// Works out the tables of a bottom: for each output what it is worth, node by node, and then for each part what its
    /// player gains there per unit of the product above the bottom.
    #[inline(always)]
    fn fill(&self, bottom: usize, tree: &CompiledTree, nodes: &Nodes<'_>, out: &mut [Eight]) {
        match self.eights(bottom) {
            1 => self.fill_outcomes::<8>(bottom, tree, nodes, out),
            _ => self.fill_outcomes::<OUTCOMES>(bottom, tree, nodes, out),
        }
    }

    #[inline(always)]
    fn fill_outcomes<const O: usize>(&self, bottom: usize, tree: &CompiledTree, nodes: &Nodes<'_>, out: &mut [Eight]) {
        let parts = self.parts(bottom);
        let n_nodes = nodes.all.len();
        let mut follow = [[[0.0; O]; 2]; BITS];
        for (i, (part, [to_left, to_right])) in parts.iter().zip(&mut follow).enumerate() {
            follow_sides(part.stands, bit(i), tree.shares[part.split], [to_left, to_right]);
        }
        // They are written for each node before they are read, so they are cleared only once.
        let mut to = [[[0.0; O]; 2]; BITS];
        let mut products = [[1.0; O]; BITS];
        // What the difference between a part's sides counts.
        let mut counts = [[0.0; O]; BITS];
        let mut worth = [[0.0; O]; BITS];
        for q in 0..n_nodes {
            for (i, part) in parts.iter().enumerate() {
                let shares = tree.shares[part.split];
                let chance = nodes.chance(q, part.ratio);
                if let Some((above, side)) = part.from {
                    let (product, to) = (products[above], to[above][side]);
                    for o in 0..O {
                        products[i][o] = product[o] * to[o];
                    }
                }
                let absent = shares.map(|share| chance.absent * share);
                for o in 0..O {
                    to[i][0][o] = absent[0] + chance.joined * follow[i][0][o];
                    to[i][1][o] = absent[1] + chance.joined * follow[i][1][o];
                    counts[i][o] = chance.slope * products[i][o] * (follow[i][0][o] - shares[0]);
                }
            }
            for output in 0..tree.width {
                let each = (parts.len() + 1) * n_nodes * (O / 8);
                let out = &mut out[output * each..][..each];
                for (i, part) in parts.iter().enumerate().rev() {
                    let split = tree.splits[part.split];
                    let [left, right] = [(0, split.left), (1, split.right)].map(|(side, child)| {
                        match (part.below[side], child.place()) {
                            (None, Place::Leaf(leaf)) => [tree.values[leaf * tree.width + output]; O],
                            (below, _) => worth[below.unwrap_or(0)],
                        }
                    });
                    let mut gains = [0.0; O];
                    for o in 0..O {
                        gains[o] = counts[i][o] * (left[o] - right[o]);
                        worth[i][o] = to[i][0][o] * left[o] + to[i][1][o] * right[o];
                    }
                    put(out, (1 + i) * n_nodes + q, &gains);
                }
                put(out, q, &worth[0]);
            }
        }
    }
}

impl Part {
    /// A split of a player that is new to the path, as far as is known.
    fn new(split: usize, from: Option<(usize, usize)>) -> Self {
        Self { split, from, below: [None; 2], ratio: 1.0, stands: u64::MAX }
    }
}

/// How many splits there are from each split on, up to one more than a bottom may have.
fn sizes(tree: &CompiledTree) -> Vec<u8> {
    let mut sizes = vec![0; tree.splits.len()];
    // A split comes before those below it.
    for (n, split) in tree.splits.iter().enumerate().rev() {
        let below = [split.left, split.right].map(|child| match child.place() {
            Place::Split(n) => sizes[n],
            Place::Leaf(_) => 0,
        });
        sizes[n] = (1 + below[0] + below[1]).min(BITS as u8 + 1);
    }
    sizes
}

/// How many vectors of eight outcomes there are if outcomes have so many bits.
#[inline(always)]
fn eights(bits: usize) -> usize {
    (1 << bits) / 8 + usize::from(bits < 3)
}

/// Writes one table.
#[inline(always)]
fn put<const O: usize>(out: &mut [Eight], number: usize, table: &[f64; O]) {
    for (eight, numbers) in out[number * (O / 8)..].iter_mut().zip(table.as_chunks::<8>().0) {
        **eight = *numbers;
    }
}

/// The outcomes in which a bit is set.
#[inline(always)]
fn bit(number: usize) -> u64 {
    let mut outcomes = 0;
    for o in 0..OUTCOMES {
        outcomes |= ((o >> number & 1) as u64) << o;
    }
    outcomes
}

/// The ratio of a part's player, and the outcomes in which it stands, if a part above has the same player.
fn same_player_above(tree: &CompiledTree, parts: &[Part], part: usize) -> Option<(f64, u64)> {
    let player = tree.splits[parts[part].split].player;
    let mut from = parts[part].from;
    while let Some((above, side)) = from {
        let Part { split, ratio, stands, .. } = parts[above];
        if tree.splits[split].player == player {
            let passed = if side == 0 { bit(above) } else { !bit(above) };
            return Some((ratio * tree.shares[split][side], stands & passed));
        }
        from = parts[above].from;
    }
    None
}

/// The tables of a tree's bottoms, or of one of them at a time.
#[derive(Default)]
pub(super) struct Tables {
    all: Vec<Eight>,
    /// Whether the tables of all bottoms are kept.
    kept: bool,
}

impl Tables {
    /// Comes to a tree and the nodes of a walk, for so many blocks of rows.
    #[inline(always)]
    pub(super) fn begin(&mut self, bottoms: &Bottoms, tree: &CompiledTree, nodes: &Nodes<'_>, blocks: usize) {
        let each = tree.width * nodes.all.len();
        let all = bottoms.ends[bottoms.ends.len() - 1].tables * each;
        self.kept = blocks > 1 && all * size_of::<Eight>() <= KEPT_BYTES;
        let one = (BITS + 1) * eights(BITS) * each;
        let len = if self.kept { all } else { one };
        if self.all.len() < len {
            self.all.resize(len, Aligned([0.0; 8]));
        }
        if self.kept {
            for bottom in 0..bottoms.ends.len() - 1 {
                bottoms.fill(bottom, tree, nodes, &mut self.all[bottoms.ends[bottom].tables * each..]);
            }
        }
    }

    /// The tables of a bottom.
    #[inline(always)]
    pub(super) fn of(&mut self, bottom: usize, bottoms: &Bottoms, tree: &CompiledTree, nodes: &Nodes<'_>) -> &[Eight] {
        let each = tree.width * nodes.all.len();
        let [start, end] = [bottom, bottom + 1].map(|i| bottoms.ends[i].tables * each);
        if self.kept {
            return &self.all[start..end];
        }
        bottoms.fill(bottom, tree, nodes, &mut self.all);
        &self.all[..end - start]
    }
}
