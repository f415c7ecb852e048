//! The transform: from the patterns of the background to what each pattern of a row is worth at a leaf.
//!
//! With `full` the pattern of all `k` players, a background pattern `b` and a row's pattern `p` meet at the leaf only
//! if `p | b == full`; then $S_X = p \setminus b$ and $S_Z = b \setminus p$. If every player has joined with probability
//! $t$, the leaf is reached with probability $H_t(p) = \sum_b c(b)\, t^{|S_X|} (1-t)^{|S_Z|}$, a product over the players of
//! one 2 x 2 factor each, so one in-place pass per axis gives all $2^k$ of them. For both values of x's bit i
//!
//! $$\partial_i H_t(p) = \frac{H_t(p)}{t} - \frac{H_t(p \setminus i)}{t(1-t)},$$
//!
//! so derivatives need no further pass, and an index is a few weighted sums of $H_t$ over quadrature nodes.

use crate::index::{Diagonal, Integral};
use crate::weights::QuadratureNode;

/// The arrays of one leaf, kept from leaf to leaf to save allocations.
#[derive(Debug, Default)]
pub(super) struct Transform {
    h: Vec<f64>,
    sums: [Vec<f64>; 3],
    /// The integrals of $H_t(p) / t$ and $H_t(p) / (t (1-t))$.
    single: [Vec<f64>; 2],
}

/// Every axis in turn: $(h_0, h_1) \to ((1-t)\, h_1,\; t\, h_0 + h_1)$.
#[inline(always)]
fn fold(h: &mut [f64], t: f64) {
    let mut half = 1;
    while half < h.len() {
        for pair in h.chunks_exact_mut(2 * half) {
            let (h0, h1) = pair.split_at_mut(half);
            for (h0, h1) in h0.iter_mut().zip(h1) {
                (*h0, *h1) = ((1.0 - t) * *h1, t * *h0 + *h1);
            }
        }
        half *= 2;
    }
}

/// `sums[a][p]` becomes the integral of $H_t(p) / (t^{order} (1-t)^a)$ for each a.
#[inline(always)]
fn integrate<const N: usize>(
    c: &[f64],
    nodes: &[QuadratureNode],
    order: i32,
    h: &mut Vec<f64>,
    sums: [&mut Vec<f64>; N],
) {
    let mut sums = sums.map(|sum| {
        sum.clear();
        sum.resize(c.len(), 0.0);
        sum
    });
    for node in nodes {
        h.clear();
        h.extend_from_slice(c);
        fold(h, node.t);
        let mut factor = node.weight / node.t.powi(order);
        for sum in &mut sums {
            sum.iter_mut().zip(&*h).for_each(|(sum, h)| *sum += factor * h);
            factor /= 1.0 - node.t;
        }
    }
}

impl Transform {
    /// Integrates the single derivatives of a leaf; `c` holds the weight of each of the $2^k$ background patterns.
    #[inline(always)]
    pub(super) fn of_patterns(&mut self, c: &[f64], nodes: &[QuadratureNode]) {
        let [a, b] = &mut self.single;
        integrate(c, nodes, 1, &mut self.h, [a, b]);
    }

    /// Appends what a leaf of value 1 gives to each of its `k` players: player after player, and for each player
    /// pattern after pattern of a row.
    #[inline(always)]
    pub(super) fn players(&self, k: usize, gains: &mut Vec<f64>) {
        let [a, b] = &self.single;
        let first = gains.len();
        gains.resize(first + (k << k), 0.0);
        for (i, gains) in gains[first..].chunks_exact_mut(1 << k).enumerate() {
            match i {
                0 if k >= 3 => near::<1>(a, b, gains),
                1 if k >= 3 => near::<2>(a, b, gains),
                2 if k >= 3 => near::<4>(a, b, gains),
                _ => far(1 << i, a, b, gains),
            }
        }
    }

    /// What a leaf of value 1 gives to each pair of its players for each pattern of a row: pattern after pattern, and for
    /// each pattern every pair of players i <= j in order.
    ///
    /// `c` holds the weight of each of the $2^k$ background patterns.
    #[inline(always)]
    pub(super) fn pairs(&mut self, c: &[f64], integral: &Integral, gains: &mut Vec<f64>) {
        let Integral::Pair { off, diagonal, single } = integral else { unreachable!("players have other tables") };
        let k = c.len().trailing_zeros() as usize;
        gains.clear();
        let Self { h, sums: [e0, e1, e2], single: [a, b] } = self;
        integrate(c, off, 2, h, [e0, e1, e2]);
        if *diagonal == Diagonal::Remainder {
            integrate(c, single, 1, h, [a, b]);
        }
        for p in 0..c.len() {
            let first = gains.len();
            for i in 0..k {
                let pi = p & !(1 << i);
                gains.push(match diagonal {
                    Diagonal::MainEffect => main_effect(c, p, i),
                    Diagonal::Remainder => a[p] - b[pi],
                });
                for j in i + 1..k {
                    let pj = p & !(1 << j);
                    gains.push(e0[p] - e1[pi] - e1[pj] + e2[pi & pj]);
                }
            }
            if *diagonal == Diagonal::Remainder {
                take_from_diagonal(k, &mut gains[first..]);
            }
        }
    }
}

/// `gains[p] = a[p] - b[p without the bit]`, for a bit below eight: eight patterns are one vector, whose numbers change
/// places.
#[inline(always)]
fn near<const BIT: usize>(a: &[f64], b: &[f64], gains: &mut [f64]) {
    let (a, b, gains) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0, gains.as_chunks_mut::<8>().0);
    for ((gains, a), b) in gains.iter_mut().zip(a).zip(b) {
        for p in 0..8 {
            gains[p] = a[p] - b[p & !BIT];
        }
    }
}

/// The same for any bit.
#[inline(always)]
fn far(bit: usize, a: &[f64], b: &[f64], gains: &mut [f64]) {
    let halves = gains.chunks_exact_mut(2 * bit).zip(a.chunks_exact(2 * bit)).zip(b.chunks_exact(2 * bit));
    for ((gains, a), b) in halves {
        let ((gains_0, gains_1), (a_0, a_1)) = (gains.split_at_mut(bit), a.split_at(bit));
        for (gains, a) in [(gains_0, a_0), (gains_1, a_1)] {
            for ((gain, a), b) in gains.iter_mut().zip(a).zip(b) {
                *gain = a - b;
            }
        }
    }
}

/// Subtracts the share of every pair from both its players.
#[inline(always)]
fn take_from_diagonal(k: usize, gains: &mut [f64]) {
    let row = |i: usize| i * k - i * (i + 1) / 2;
    for i in 0..k {
        for j in i + 1..k {
            let both = gains[row(i) + j];
            gains[row(i) + i] -= both;
            gains[row(j) + j] -= both;
        }
    }
}

/// Theorem 18, main effects: $+1$ if $S_X = \{i\}$, $-1$ if $S_X$ is empty and $i \in S_Z$.
#[inline(always)]
fn main_effect(c: &[f64], p: usize, i: usize) -> f64 {
    let full = c.len() - 1;
    if p >> i & 1 == 1 { c[full & !(1 << i)] } else { -c[full] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Index;

    /// Player after player, by vectors, against the formula pattern by pattern.
    #[test]
    fn players_get_first_differences() {
        for k in 0..=7 {
            let Integral::Single(nodes) = Index::Shapley.integral(k) else { unreachable!("an index of players") };
            let c: Vec<f64> = (0..1 << k).map(|p| f64::from(p * 7 % 11) / 10.0).collect();
            let (mut transform, mut all) = (Transform::default(), vec![7.0]);
            transform.of_patterns(&c, &nodes);
            transform.players(k, &mut all);
            assert_eq!(all.len(), 1 + (k << k));
            let [a, b] = &transform.single;
            for (i, gains) in all[1..].chunks_exact(1 << k).enumerate() {
                for (p, gain) in gains.iter().enumerate() {
                    assert_eq!(gain.to_bits(), (a[p] - b[p & !(1 << i)]).to_bits(), "player {i} of {k}, pattern {p}");
                }
            }
        }
    }
}
