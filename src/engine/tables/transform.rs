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
    /// What a leaf gives to each of its cells for each pattern of a row, as a multiple of its value: pattern after
    /// pattern, and for each pattern player after player, or every pair of players i <= j in order.
    ///
    /// `c` holds the weight of each of the $2^k$ background patterns.
    #[inline(always)]
    pub(super) fn leaf(&mut self, c: &[f64], integral: &Integral, gains: &mut Vec<f64>) {
        let k = c.len().trailing_zeros() as usize;
        gains.clear();
        let Self { h, sums: [e0, e1, e2], single: [a, b] } = self;
        match integral {
            Integral::Single(nodes) => {
                integrate(c, nodes, 1, h, [a, b]);
                for p in 0..c.len() {
                    for i in 0..k {
                        gains.push(a[p] - b[p & !(1 << i)]);
                    }
                }
            }
            Integral::Pair { off, diagonal, single } => {
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
