//! The loops of a walk, over rows that stand side by side for vector instructions.
//!
//! Arrays go node after node, and row after row within a node. The rows of a block are filled up to a multiple of
//! [`LANES`], so that no loop has a remainder.

use super::nodes::Chance;

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

/// Sums `slope * product` over the nodes, at a split below a side: if the children of that split are leaves, what its
/// player gains is proportional to it.
#[inline(always)]
pub(super) fn down_to_leaves(
    above: &[f64],
    chances: &[Chance],
    share: f64,
    follow: &[f64],
    below: &[Chance],
    sums: &mut [f64],
) {
    sums.fill(0.0);
    for ((above, chance), below) in above.chunks_exact(follow.len()).zip(chances).zip(below) {
        let (absent, joined, slope) = (chance.absent * share, chance.joined, below.slope);
        for ((sum, above), follow) in sums.iter_mut().zip(above).zip(follow) {
            *sum += slope * (above * (absent + joined * follow));
        }
    }
}

/// What two leaves are worth to the split above them: `mean` to rows whose player has not joined, `here` to the others.
#[inline(always)]
pub(super) fn leaves(chances: &[Chance], mean: f64, here: &[f64], out: &mut [f64]) {
    for (out, chance) in out.chunks_exact_mut(here.len()).zip(chances) {
        let (absent, joined) = (chance.absent * mean, chance.joined);
        for (out, here) in out.iter_mut().zip(here) {
            *out = absent + joined * here;
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
        let [left, right] = sides.subtrees;
        match sides.leaves {
            [None, None] => self.between::<SUM>(left, right, out, gains),
            [Some(left), None] => self.between::<SUM>(left, right, out, gains),
            [None, Some(right)] => self.between::<SUM>(left, right, out, gains),
            [Some(left), Some(right)] => self.between::<SUM>(left, right, out, gains),
        }
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
