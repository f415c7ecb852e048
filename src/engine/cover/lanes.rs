//! The loops of a walk over quadrature nodes and rows, with rows side by side for vector instructions.
//!
//! Arrays go group after group of [`LANES`] rows, and node after node within a group. Sums are worked out aside and
//! stored whole, or the compiler would do them number by number.

use super::nodes::Chance;

/// Rows side by side.
pub(super) const LANES: usize = 16;
pub(super) type Lanes = [f64; LANES];
pub(super) const ZERO: Lanes = [0.0; LANES];

/// The products below a side of a split.
#[inline(always)]
pub(super) fn down(above: &[Lanes], chances: &[Chance], share: f64, follow: &[Lanes], out: &mut [Lanes]) {
    let nodes = chances.len();
    let groups = above.chunks_exact(nodes).zip(out.chunks_exact_mut(nodes)).zip(follow);
    for ((above, out), follow) in groups {
        for ((product, out), chance) in above.iter().zip(out).zip(chances) {
            let absent = chance.absent * share;
            let mut here = *product;
            for i in 0..LANES {
                here[i] *= absent + chance.joined * follow[i];
            }
            *out = here;
        }
    }
}

/// The sum of `slope * product` for a group of rows at a split below a side: if the children of that split are leaves,
/// what its player gains is proportional to it.
#[inline(always)]
pub(super) fn down_to_leaves(
    above: &[Lanes],
    chances: &[Chance],
    share: f64,
    follow: &Lanes,
    below: &[Chance],
) -> Lanes {
    let mut sum = ZERO;
    for ((product, chance), below) in above.iter().zip(chances).zip(below) {
        let absent = chance.absent * share;
        for i in 0..LANES {
            sum[i] += below.slope * (product[i] * (absent + chance.joined * follow[i]));
        }
    }
    sum
}

/// Where rows go at a split if its player has joined, for the left side and for the right: 1 there, and 0 to the other
/// side. Rows that have failed the player further up get the share, because for them it has not joined.
#[inline(always)]
pub(super) fn follow_sides(stands: u64, left: u64, shares: [f64; 2], out: [&mut [Lanes]; 2]) {
    const ONE: u64 = 1.0_f64.to_bits();
    let shares = shares.map(f64::to_bits);
    let [to_left, to_right] = out;
    for (g, (to_left, to_right)) in to_left.iter_mut().zip(to_right).enumerate() {
        let (stands, left) = (masks(stands >> (g * LANES)), masks(left >> (g * LANES)));
        let mut both = [ZERO; 2];
        for i in 0..LANES {
            both[0][i] = f64::from_bits((ONE & stands[i] & left[i]) | (shares[0] & !stands[i]));
            both[1][i] = f64::from_bits((ONE & stands[i] & !left[i]) | (shares[1] & !stands[i]));
        }
        [*to_left, *to_right] = both;
    }
}

/// `yes` for the rows whose bit is set, and `no` for the others.
#[inline(always)]
pub(super) fn choose(rows: u64, yes: &Lanes, no: &Lanes) -> Lanes {
    let masks = masks(rows);
    let mut out = ZERO;
    for i in 0..LANES {
        out[i] = f64::from_bits((yes[i].to_bits() & masks[i]) | (no[i].to_bits() & !masks[i]));
    }
    out
}

/// All bits of the rows whose bit is set, worked out without a branch.
#[inline(always)]
fn masks(rows: u64) -> [u64; LANES] {
    let mut masks = [0; LANES];
    for i in 0..LANES {
        masks[i] = i64::from(rows & 1 << i == 1 << i).wrapping_neg() as u64;
    }
    masks
}

/// `a * b`.
#[inline(always)]
pub(super) fn times(a: &Lanes, b: &Lanes) -> Lanes {
    let mut product = *a;
    for i in 0..LANES {
        product[i] *= b[i];
    }
    product
}

/// `a += factor * b`.
#[inline(always)]
pub(super) fn add_times(a: &mut Lanes, factor: f64, b: &Lanes) {
    let mut sum = *a;
    for i in 0..LANES {
        sum[i] += factor * b[i];
    }
    *a = sum;
}

/// What two leaves are worth to the split above them: `mean` to rows whose player has not joined, `here` to the others.
#[inline(always)]
pub(super) fn leaves(chances: &[Chance], mean: f64, here: &Lanes, out: &mut [Lanes]) {
    for (out, chance) in out.iter_mut().zip(chances) {
        let absent = chance.absent * mean;
        let mut worth = *here;
        for i in 0..LANES {
            worth[i] = absent + chance.joined * worth[i];
        }
        *out = worth;
    }
}

/// What the sides of a split are worth: numbers for leaves, node by node for subtrees.
pub(super) struct Sides<'a> {
    pub(super) leaves: [Option<f64>; 2],
    pub(super) subtrees: [&'a [Lanes]; 2],
}

/// What one side of a split is worth at a node.
trait Worth: Copy {
    fn at(self, node: usize, lane: usize) -> f64;
}

/// A leaf.
impl Worth for f64 {
    #[inline(always)]
    fn at(self, _: usize, _: usize) -> f64 {
        self
    }
}

/// A subtree.
impl Worth for &[Lanes] {
    #[inline(always)]
    fn at(self, node: usize, lane: usize) -> f64 {
        self[node][lane]
    }
}

/// Takes what a split gives to its player at each node.
pub(super) trait Take {
    fn take(&mut self, node: usize, gain: &Lanes);
}

/// Summed over the nodes.
impl Take for Lanes {
    #[inline(always)]
    fn take(&mut self, _: usize, gain: &Lanes) {
        for i in 0..LANES {
            self[i] += gain[i];
        }
    }
}

/// Node by node.
impl Take for Vec<Lanes> {
    #[inline(always)]
    fn take(&mut self, node: usize, gain: &Lanes) {
        self[node] = *gain;
    }
}

/// A split on the way up, for a group of rows.
pub(super) struct Split<'a> {
    pub(super) product: &'a [Lanes],
    pub(super) chances: &'a [Chance],
    pub(super) shares: [f64; 2],
    pub(super) follow: [&'a Lanes; 2],
}

impl Split<'_> {
    /// What the split is worth to the split above it goes to `out`; `slope * product * (left - right)` is taken.
    #[inline(always)]
    pub(super) fn up(&self, sides: &Sides<'_>, out: &mut [Lanes], gains: &mut impl Take) {
        let [left, right] = sides.subtrees;
        match sides.leaves {
            [None, None] => self.between(left, right, out, gains),
            [Some(left), None] => self.between(left, right, out, gains),
            [None, Some(right)] => self.between(left, right, out, gains),
            [Some(left), Some(right)] => self.between(left, right, out, gains),
        }
    }

    #[inline(always)]
    fn between(&self, left: impl Worth, right: impl Worth, out: &mut [Lanes], gains: &mut impl Take) {
        let [share_left, share_right] = self.shares;
        let [follow_left, follow_right] = self.follow;
        for (q, ((product, chance), out)) in self.product.iter().zip(self.chances).zip(out).enumerate() {
            let (absent_left, absent_right) = (chance.absent * share_left, chance.absent * share_right);
            let (mut here, mut gain) = (ZERO, ZERO);
            // A few lanes at a time, or there would not be enough registers.
            for first in (0..LANES).step_by(4) {
                for i in first..first + 4 {
                    let (left, right) = (left.at(q, i), right.at(q, i));
                    let to_left = absent_left + chance.joined * follow_left[i];
                    let to_right = absent_right + chance.joined * follow_right[i];
                    here[i] = to_left * left + to_right * right;
                    gain[i] = chance.slope * product[i] * (left - right);
                }
            }
            *out = here;
            gains.take(q, &gain);
        }
    }
}
