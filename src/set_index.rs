//! The indices of sets of players of any size, each by its moments.
//!
//! At a leaf let z fail the players F and x the players S; the two sets are disjoint. The leaf is reached by a coalition
//! that holds all of F and none of S. If every player has joined with probability $t$, this happens with probability
//! $t^{|F|} (1-t)^{|S|}$. The derivative by all players of a set $T \subseteq F \cup S$ of size $l$ is
//!
//! $$\partial_T = (-1)^{|T \cap S|}\; t^{a} (1-t)^{c}, \qquad a = |F \setminus T|, \quad c = |S \setminus T|,$$
//!
//! and 0 for all other sets. An index is the integral of that over some measure $\mu_l$, so all that the engines need
//! to know of an index are its moments
//!
//! $$M_l(a, c) = \int t^a (1-t)^c \, d\mu_l(t).$$
//!
//! To add an index, add a variant and its moments.

use crate::error::{Argument, Error, Result};
use crate::weights::Weights;

/// The largest sets that are supported.
pub(crate) const MOST_ORDER: usize = 6;

/// The Bernoulli numbers, with $B_1 = -1/2$.
const BERNOULLI: [f64; MOST_ORDER] = [1.0, -0.5, 1.0 / 6.0, 0.0, -1.0 / 30.0, 0.0];

/// An index of sets of players. Sets of one player give values of players.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SetIndex {
    /// The Shapley interaction index (Grabisch and Roubens): $t$ is uniform, for sets of every size.
    Sii,
    /// The aggregated Shapley interaction index (Bordt and von Luxburg): SII, with the interactions of larger sets shared
    /// out to their subsets by Bernoulli numbers, so that all sets sum to $h(x) - E[h(z)]$.
    KSii,
    /// The Shapley-Taylor index (Sundararajan and others): for the largest sets, $t$ has density $l (1-t)^{l-1}$; for
    /// smaller ones, $t = 0$.
    Stii,
    /// The faithful Shapley index (Tsai and others): the best approximation by sets of that size under Shapley's weights.
    Fsii,
    /// The Banzhaf interaction index: every coalition counts the same.
    Bii,
    /// Beta(α, β)-Shapley values (Kwon and Zou): large α stresses small coalitions, large β large ones.
    Beta {
        /// α, above 0.
        alpha: f64,
        /// β, above 0.
        beta: f64,
    },
    /// Weighted Banzhaf values: everybody joins with this probability.
    WeightedBanzhaf {
        /// The probability.
        p: f64,
    },
    /// A semivalue by its weights: `weights[s]` is that of a coalition of s other players.
    Semivalue {
        /// One weight for each number of other players, from 0 to all of them.
        weights: Vec<f64>,
    },
}

impl SetIndex {
    /// An error if a parameter is out of range, or if the index has no sets of that size.
    pub(crate) fn check(&self, order: usize, n_players: usize) -> Result<()> {
        let wrong = |problem: String| Err(Error::input(Argument::Option, problem));
        if !(1..=MOST_ORDER).contains(&order) {
            return wrong(format!("the order must be from 1 to {MOST_ORDER}, not {order}"));
        }
        match self {
            Self::Beta { alpha, beta } if !(*alpha > 0.0 && *beta > 0.0 && alpha.is_finite() && beta.is_finite()) => {
                wrong(format!("alpha and beta must be positive numbers, not {alpha} and {beta}"))
            }
            Self::WeightedBanzhaf { p } if !(0.0..=1.0).contains(p) => {
                wrong(format!("p is a probability, from 0 to 1, not {p}"))
            }
            Self::Semivalue { weights } if weights.len() != n_players || !weights.iter().all(|w| w.is_finite()) => {
                wrong(format!("a semivalue of {n_players} players has {n_players} finite weights"))
            }
            Self::Beta { .. } | Self::WeightedBanzhaf { .. } | Self::Semivalue { .. } if order > 1 => {
                wrong("this is an index of single players; its order is 1".into())
            }
            _ => Ok(()),
        }
    }

    /// The moments for sets of up to `order` players, for paths of up to `most` players.
    pub(crate) fn moments(&self, order: usize, most: usize) -> Moments {
        if let Self::Semivalue { weights } = self {
            return Moments { width: most + 1, by_size: vec![semivalue(weights, most)] };
        }
        let w = Weights::up_to(most + 2 * MOST_ORDER);
        let table = |l: usize| {
            let cell = |a: usize, c: usize| if a + c <= most { self.moment(&w, order, l, a, c) } else { 0.0 };
            (0..=most).flat_map(|a| (0..=most).map(move |c| (a, c))).map(|(a, c)| cell(a, c)).collect()
        };
        Moments { width: most + 1, by_size: (1..=order).map(table).collect() }
    }

    /// $M_l(a, c)$, where sets have up to `k` players: the definition of each index.
    #[inline(always)]
    pub(crate) fn moment(&self, w: &Weights, k: usize, l: usize, a: usize, c: usize) -> f64 {
        // The integral of t^(p-1) (1-t)^(q-1).
        let beta = |p: usize, q: usize| w.w(p - 1, p + q - 1);
        match self {
            Self::Sii => beta(a + 1, c + 1),
            Self::KSii => (0..=k - l).map(|r| BERNOULLI[r] * larger_sets(&beta, a, c, r)).sum(),
            Self::Stii if l == k => l as f64 * beta(a + 1, c + l),
            Self::Stii => f64::from(u8::from(a == 0)),
            Self::Fsii => faithful(&beta, k, l, a, c) / faithful(&beta, k, l, 0, 0),
            Self::Bii => 0.5_f64.powi((a + c) as i32),
            Self::WeightedBanzhaf { p } => p.powi(a as i32) * (1.0 - p).powi(c as i32),
            Self::Beta { alpha, beta } => beta_shapley(*alpha, *beta, a, c),
            Self::Semivalue { .. } => unreachable!("its moments follow from each other"),
        }
    }
}

/// $\binom{n}{k}$.
fn binomial(n: usize, k: usize) -> f64 {
    if k > n { 0.0 } else { (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product() }
}

/// The sum of SII over all sets with `r` more players, of which u are in S.
fn larger_sets(beta: &impl Fn(usize, usize) -> f64, a: usize, c: usize, r: usize) -> f64 {
    let possible = (0..=r.min(c)).filter(|&u| r - u <= a);
    let sign = |u: usize| if u.is_multiple_of(2) { 1.0 } else { -1.0 };
    possible.map(|u| sign(u) * binomial(a, r - u) * binomial(c, u) * beta(a + u - r + 1, c - u + 1)).sum()
}

/// The moments of the faithful index, up to a factor. By Tsai and others a set of size l gets from a set of r more players
/// a share that vanishes for $1 \le r \le k - l$. That makes the density $t^{l-1} (1-t)^{l-1}$ times the Jacobi polynomial
/// of degree $n = k - l$ for the weight $t^l (1-t)^{l-1}$.
fn faithful(beta: &impl Fn(usize, usize) -> f64, k: usize, l: usize, a: usize, c: usize) -> f64 {
    let n = k - l;
    let sign = |s: usize| if s.is_multiple_of(2) { 1.0 } else { -1.0 };
    let term = |s: usize| sign(s) * binomial(k - 1, n - s) * binomial(k, s) * beta(a + l + n - s, c + l + s);
    (0..=n).map(term).sum()
}

/// $t$ has the density $t^{\beta-1} (1-t)^{\alpha-1}$, up to a factor.
fn beta_shapley(alpha: f64, beta: f64, a: usize, c: usize) -> f64 {
    let (rise_a, rise_c) = ((0..a).map(|i| beta + i as f64), (0..c).map(|i| alpha + i as f64));
    rise_a.chain(rise_c).zip(0..).map(|(factor, i)| factor / (alpha + beta + f64::from(i))).product()
}

/// A player that changes nothing joins or does not: $M(a, c) = M(a+1, c) + M(a, c+1)$.
fn semivalue(weights: &[f64], most: usize) -> Vec<f64> {
    let width = most + 1;
    let mut table = vec![0.0; width * width];
    let mut level = weights.to_vec();
    while !level.is_empty() {
        let sum = level.len() - 1;
        if sum <= most {
            (0..=sum).for_each(|a| table[a * width + sum - a] = level[a]);
        }
        level = level.windows(2).map(|pair| pair[0] + pair[1]).collect();
    }
    table
}

/// $M_l(a, c)$ of an index, tabulated.
#[derive(Debug)]
pub(crate) struct Moments {
    width: usize,
    by_size: Vec<Vec<f64>>,
}

impl Moments {
    /// The largest sets.
    pub(crate) fn order(&self) -> usize {
        self.by_size.len()
    }

    /// $M_l(a, c)$.
    #[inline(always)]
    pub(crate) fn of(&self, l: usize, a: usize, c: usize) -> f64 {
        self.by_size[l - 1][a * self.width + c]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64) -> bool {
        (got - want).abs() < 1e-12 * (1.0 + want.abs())
    }

    fn all(n_players: usize) -> Vec<(SetIndex, usize)> {
        let several = [SetIndex::Sii, SetIndex::KSii, SetIndex::Stii, SetIndex::Fsii, SetIndex::Bii];
        let weights = (0..n_players).map(|s| 1.0 / (1.0 + s as f64)).collect();
        let single = [
            SetIndex::Beta { alpha: 0.5, beta: 4.0 },
            SetIndex::WeightedBanzhaf { p: 0.3 },
            SetIndex::Semivalue { weights },
        ];
        let several = several.into_iter().flat_map(|index| (1..=MOST_ORDER).map(move |order| (index.clone(), order)));
        several.chain(single.into_iter().map(|index| (index, 1))).collect()
    }

    /// A player that changes nothing gets nothing and changes nothing for others.
    #[test]
    fn moments_are_those_of_one_measure() {
        for (index, order) in all(20) {
            let moments = index.moments(order, 12);
            for l in 1..=order {
                for (a, c) in (0..12).flat_map(|a| (0..12 - a).map(move |c| (a, c))) {
                    let sum = moments.of(l, a + 1, c) + moments.of(l, a, c + 1);
                    assert!(close(moments.of(l, a, c), sum), "{index:?}, order {order}, size {l}: {a}, {c}");
                }
            }
        }
    }

    /// The share that a set of size l gets from the Harsanyi dividend of a set of r more players.
    #[test]
    fn faithful_shares_are_those_of_the_paper() {
        for k in 1..=MOST_ORDER {
            let moments = SetIndex::Fsii.moments(k, 20);
            for (l, r) in (1..=k).flat_map(|l| (1..=14).map(move |r| (l, r))) {
                let sign = if (k - l).is_multiple_of(2) { 1.0 } else { -1.0 };
                let ratio = binomial(l + r - 1, k) / binomial(l + r + k - 1, k + l);
                let want = sign * l as f64 / (k + l) as f64 * binomial(k, l) * ratio;
                assert!(close(moments.of(l, r, 0), want), "order {k}, size {l}, {r} more");
            }
        }
    }

    /// An index that adds up gives each dividend of a set away once: its subsets' shares sum to one.
    #[test]
    fn shares_of_efficient_indices_sum_to_one() {
        for index in [SetIndex::KSii, SetIndex::Stii, SetIndex::Fsii] {
            for order in 1..=MOST_ORDER {
                let moments = index.moments(order, 16);
                for size in 1..=12 {
                    let shares = (1..=order.min(size)).map(|l| binomial(size, l) * moments.of(l, size - l, 0));
                    assert!(close(shares.sum(), 1.0), "{index:?}, order {order}, a set of {size}");
                }
            }
        }
    }

    #[test]
    fn wrong_parameters_are_refused() {
        let check = |index: SetIndex, order: usize| index.check(order, 3);
        assert!(check(SetIndex::Sii, 0).is_err() && check(SetIndex::Sii, 7).is_err());
        assert!(check(SetIndex::Beta { alpha: 0.0, beta: 1.0 }, 1).is_err());
        assert!(check(SetIndex::WeightedBanzhaf { p: f64::NAN }, 1).is_err());
        assert!(check(SetIndex::Semivalue { weights: vec![1.0; 2] }, 1).is_err());
        assert!(check(SetIndex::Semivalue { weights: vec![1.0, f64::NAN, 1.0] }, 1).is_err());
        for order in 2..=MOST_ORDER {
            assert!(check(SetIndex::Semivalue { weights: vec![1.0; 3] }, order).is_err());
            assert!(check(SetIndex::Beta { alpha: 1.0, beta: 1.0 }, order).is_err());
            assert!(check(SetIndex::WeightedBanzhaf { p: 0.5 }, order).is_err());
        }
        assert!(check(SetIndex::Semivalue { weights: vec![1.0; 3] }, 1).is_ok());
    }
}
