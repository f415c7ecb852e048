//! The loops of a walk, over rows that stand side by side for vector instructions.
//!
//! Arrays go node after node, and row after row within a node. The rows of a block are filled up to a multiple of
//! [`LANES`], so that no loop has a remainder.

use super::nodes::{Chance, MOST_NODES};
use crate::simd::{TwoSides, join_wide};

/// Rows come in multiples of this.
pub(super) const LANES: usize = 16;

/// How likely each row goes to the left and to the right of a split if its player has joined: 1 for the row's own side,
/// and 0 for the other. Rows that have failed the player further up get the shares, because for them it has not joined.
#[inline(always)]
pub(super) fn follow_sides(stands: u64, left: u64, shares: [f64; 2], out: [&mut [f64]; 2]) {
    let [to_left, to_right] = out;
    let sides = to_left.iter_mut().zip(to_right).enumerate();
    if stands == u64::MAX {
        // Most players are new to the path.
        for (r, (to_left, to_right)) in sides {
            let goes_left = mask(left, r);
            *to_left = choose(goes_left, 1.0, 0.0);
            *to_right = choose(goes_left, 0.0, 1.0);
        }
        return;
    }
    for (r, (to_left, to_right)) in sides {
        let (stands, goes_left) = (mask(stands, r), mask(left, r));
        *to_left = choose(stands, choose(goes_left, 1.0, 0.0), shares[0]);
        *to_right = choose(stands, choose(goes_left, 0.0, 1.0), shares[1]);
    }
}

/// All bits set if the row's bit is.
#[inline(always)]
pub(super) fn mask(rows: u64, row: usize) -> u64 {
    (rows >> row & 1).wrapping_neg()
}

/// One of two numbers by a [`mask`], without a branch.
#[inline(always)]
pub(super) fn choose(mask: u64, yes: f64, no: f64) -> f64 {
    f64::from_bits((yes.to_bits() & mask) | (no.to_bits() & !mask))
}

/// `a += factor * b`.
#[inline(always)]
pub(super) fn add_times(a: &mut [f64], factor: f64, b: &[f64]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += factor * b;
    }
}

/// `sums += a * b`.
#[inline(always)]
pub(super) fn add_products(sums: &mut [f64], a: &[f64], b: &[f64]) {
    for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
        *sum += a * b;
    }
}

/// The products below a side of a split.
#[inline(always)]
pub(super) fn down(above: &[f64], chances: &[Chance], share: f64, follow: &[f64], out: &mut [f64]) {
    let rows = follow.len();
    for ((above, out), chance) in above.chunks_exact(rows).zip(out.chunks_exact_mut(rows)).zip(chances) {
        let (absent, joined) = (chance.absent * share, chance.joined);
        for ((out, above), follow) in out.iter_mut().zip(above).zip(follow) {
            *out = above * (absent + joined * follow);
        }
    }
}

/// What the sides of a split are worth: numbers for leaves, arrays for subtrees.
pub(super) struct Sides<'a> {
    pub(super) leaves: [Option<f64>; 2],
    pub(super) subtrees: [&'a [f64]; 2],
}

/// What one side of a split is worth.
trait Worth: Copy {
    /// At a node.
    fn node(self, node: usize, rows: usize) -> Self;
    /// To a row.
    fn row(self, row: usize) -> f64;
}

/// A leaf.
impl Worth for f64 {
    #[inline(always)]
    fn node(self, _: usize, _: usize) -> Self {
        self
    }

    #[inline(always)]
    fn row(self, _: usize) -> f64 {
        self
    }
}

/// A subtree.
impl Worth for &[f64] {
    #[inline(always)]
    fn node(self, node: usize, rows: usize) -> Self {
        &self[node * rows..][..rows]
    }

    #[inline(always)]
    fn row(self, row: usize) -> f64 {
        self[row]
    }
}

/// A split on the way up.
pub(super) struct Split<'a> {
    pub(super) products: &'a [f64],
    pub(super) chances: &'a [Chance],
    pub(super) shares: [f64; 2],
    pub(super) follow: [&'a [f64]; 2],
}

impl Split<'_> {
    /// What the split is worth to the split above it goes to `out`, and `slope * product * (left - right)` to `gains`:
    /// its sum over the nodes, or node by node.
    #[inline(always)]
    pub(super) fn up<const SUM: bool>(&self, sides: &Sides<'_>, out: &mut [f64], gains: &mut [f64]) {
        if SUM && self.up_wide(sides, out, gains) {
            return;
        }
        self.up_plain::<SUM>(sides, out, gains);
    }

    #[inline(always)]
    fn up_plain<const SUM: bool>(&self, sides: &Sides<'_>, out: &mut [f64], gains: &mut [f64]) {
        let [left, right] = sides.subtrees;
        match sides.leaves {
            [None, None] => self.between::<SUM>(left, right, out, gains),
            [Some(left), None] => self.between::<SUM>(left, right, out, gains),
            [None, Some(right)] => self.between::<SUM>(left, right, out, gains),
            [Some(left), Some(right)] => self.between::<SUM>(left, right, out, gains),
        }
    }

    /// The sum over the nodes, if the machine has the instructions for it. The bits are the same.
    #[inline(always)]
    fn up_wide(&self, sides: &Sides<'_>, out: &mut [f64], gains: &mut [f64]) -> bool {
        let mut edges = [[0.0; 4]; MOST_NODES];
        for (edge, chance) in edges.iter_mut().zip(self.chances) {
            let [left, right] = self.shares.map(|share| chance.absent * share);
            *edge = [left, right, chance.joined, chance.slope];
        }
        let Sides { leaves, subtrees } = *sides;
        let edges = &edges[..self.chances.len()];
        join_wide(TwoSides { products: self.products, edges, follow: self.follow, leaves, subtrees }, out, gains)
    }

    #[inline(always)]
    fn between<const SUM: bool>(&self, left: impl Worth, right: impl Worth, out: &mut [f64], gains: &mut [f64]) {
        let rows = self.follow[0].len();
        let (follow_left, follow_right) = (self.follow[0], &self.follow[1][..rows]);
        if SUM {
            gains.fill(0.0);
        }
        for (q, (product, out)) in self.products.chunks_exact(rows).zip(out.chunks_exact_mut(rows)).enumerate() {
            let Chance { absent, joined, slope } = self.chances[q];
            let (absent_left, absent_right) = (absent * self.shares[0], absent * self.shares[1]);
            let (left, right) = (left.node(q, rows), right.node(q, rows));
            let gains = &mut gains[if SUM { 0 } else { q * rows }..][..rows];
            for r in 0..rows {
                let (left, right) = (left.row(r), right.row(r));
                let to_left = absent_left + joined * follow_left[r];
                let to_right = absent_right + joined * follow_right[r];
                out[r] = to_left * left + to_right * right;
                let gain = slope * product[r] * (left - right);
                gains[r] = if SUM { gains[r] + gain } else { gain };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_instructions_give_the_same_bits() {
        let number = |i: usize| ((i * 7 + 3) % 31) as f64 / 7.0 - 1.6;
        for (rows, nodes) in [(16, 1), (32, 6), (48, 3), (64, MOST_NODES)] {
            let array = |start: usize, len: usize| (start..start + len).map(number).collect::<Vec<f64>>();
            let (products, left, right) = (array(0, nodes * rows), array(5, nodes * rows), array(9, nodes * rows));
            let follow = [array(1, rows), array(4, rows)];
            let chances: Vec<Chance> =
                (0..nodes).map(|q| Chance { absent: number(q), joined: number(q + 8), slope: number(q + 2) }).collect();
            let follow = [&follow[0][..], &follow[1]];
            let split = Split { products: &products, chances: &chances, shares: [0.3, 0.7], follow };
            for leaves in [[None, None], [Some(0.1), None], [None, Some(0.2)], [Some(0.1), Some(0.2)]] {
                let sides = Sides { leaves, subtrees: [&left, &right] };
                let run = |plain: bool| {
                    let (mut out, mut gains) = (vec![0.0; nodes * rows], vec![0.0; rows]);
                    if plain || !split.up_wide(&sides, &mut out, &mut gains) {
                        split.up_plain::<true>(&sides, &mut out, &mut gains);
                    }
                    out.into_iter().chain(gains).map(f64::to_bits).collect::<Vec<u64>>()
                };
                assert_eq!(run(true), run(false));
            }
        }
    }
}
