//! The indices of cooperative games: how a game becomes credit for players, or for pairs of players.
//!
//! At a leaf the game is an AND function (Lemma 12, flow blocking): worth $v_l$ for the coalition $S_X$ of $S_{XZ}$
//! and 0 for every other. So what an index gives to a player depends only on which of the two sets the player is in,
//! and on $x = |S_X|$ and $xz = |S_{XZ}|$.

use crate::set_index::SetIndex;
use crate::weights::{QuadratureNode, Weights, gauss_legendre};

/// An index of cooperative games.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Index {
    /// The Shapley value (Definition 1).
    Shapley,
    /// The Banzhaf value: every coalition counts the same.
    Banzhaf,
    /// The Shapley-Taylor index of order two (Definition 14): half of each pair's interaction on either side of the
    /// diagonal, main effects on it; sums to $h(x) - E[h(z)]$.
    Taylor,
    /// The Shapley interaction index: half of each pair's interaction off the diagonal, and the rest of the player's
    /// Shapley value on it, so that rows sum to the Shapley values.
    Interaction,
}

/// What a leaf gives to single players, as multiples of $v_l$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Singles {
    /// For each player in $S_X$.
    pub(crate) in_x: f64,
    /// For each player in $S_Z$.
    pub(crate) in_z: f64,
}

/// What a leaf gives to pairs of players, as multiples of $v_l$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pairs {
    /// On the diagonal.
    pub(crate) main: Singles,
    /// Two players in $S_X$.
    pub(crate) both_x: f64,
    /// Two players in $S_Z$.
    pub(crate) both_z: f64,
    /// One in each.
    pub(crate) across: f64,
}

impl Index {
    /// All indices, in the order that saved files use.
    pub(crate) const ALL: [Self; 4] = [Self::Shapley, Self::Banzhaf, Self::Taylor, Self::Interaction];

    /// The name that Python and messages use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Shapley => "shapley",
            Self::Banzhaf => "banzhaf",
            Self::Taylor => "taylor",
            Self::Interaction => "interaction",
        }
    }

    /// How many players each number belongs to: 1, or 2 for an index of pairs.
    #[must_use]
    pub fn order(self) -> u32 {
        match self {
            Self::Shapley | Self::Banzhaf => 1,
            Self::Taylor | Self::Interaction => 2,
        }
    }

    /// How many numbers a row has per output.
    pub(crate) fn cells(self, n_players: usize) -> Option<usize> {
        n_players.checked_pow(self.order())
    }
}

/// What stands on the diagonal of an index of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Diagonal {
    /// The player's effect when it joins alone.
    MainEffect,
    /// The player's Shapley value less its share in all pairs.
    Remainder,
}

/// An index as integrals over $t$ of derivatives of the multilinear extension, in which each player has joined with
/// probability $t$. This is all that tables and path-dependent values know about an index.
#[derive(Debug, Clone)]
pub(crate) enum Integral {
    /// $\phi_i = \int \partial_i$.
    Single(Vec<QuadratureNode>),
    /// $\Phi_{ij} = \int g(t)\, \partial_{ij}$, with $g$ in the weights.
    Pair { off: Vec<QuadratureNode>, diagonal: Diagonal, single: Vec<QuadratureNode> },
}

impl Index {
    /// The quadrature rule that is exact for a leaf with `k` players on its path: derivatives have degree at most `k - 1`.
    pub(crate) fn integral(self, k: usize) -> Integral {
        let exact = gauss_legendre(k.div_ceil(2));
        let weighted =
            |g: fn(f64) -> f64| exact.iter().map(|n| QuadratureNode { t: n.t, weight: n.weight * g(n.t) }).collect();
        match self {
            Self::Shapley => Integral::Single(exact),
            Self::Banzhaf => Integral::Single(vec![QuadratureNode { t: 0.5, weight: 1.0 }]),
            Self::Taylor => {
                Integral::Pair { off: weighted(|t| 1.0 - t), diagonal: Diagonal::MainEffect, single: exact }
            }
            Self::Interaction => {
                Integral::Pair { off: weighted(|_| 0.5), diagonal: Diagonal::Remainder, single: exact }
            }
        }
    }
}

impl Index {
    /// What a leaf gives to single players: their values or, for an index of pairs, the diagonal.
    pub(crate) fn singles(self, w: &Weights, x: usize, xz: usize) -> Singles {
        match (self, xz) {
            (_, 0) => Singles { in_x: 0.0, in_z: 0.0 },
            (Self::Shapley, _) => shapley(w, x, xz),
            (Self::Banzhaf, _) => banzhaf(xz),
            (Self::Taylor | Self::Interaction, _) => self.pairs(w, x, xz).main,
        }
    }

    /// What a leaf gives to pairs of players; nothing if this is an index of players.
    pub(crate) fn pairs(self, w: &Weights, x: usize, xz: usize) -> Pairs {
        match (self, xz) {
            (Self::Taylor, 1..) => taylor(w, x, xz),
            (Self::Interaction, 1..) => interaction(w, x, xz),
            (Self::Shapley | Self::Banzhaf, _) | (_, 0) => {
                Pairs { main: Singles { in_x: 0.0, in_z: 0.0 }, both_x: 0.0, both_z: 0.0, across: 0.0 }
            }
        }
    }
}

/// Theorem 13 (with groups, Theorem 22): the Shapley value of a leaf. The moment is $M_1(a, c) = W(a, a + c + 1)$, so a
/// player in $S_X$ gets $W(|S_X| - 1, |S_{XZ}|)$, and one in $S_Z$ gets $-W(|S_X|, |S_{XZ}|)$.
#[inline(always)]
pub(crate) fn shapley(w: &Weights, x: usize, xz: usize) -> Singles {
    single(x, xz, |a, c| SetIndex::Sii.moment(w, 1, 1, a, c))
}

/// The Banzhaf value of a leaf: as Theorem 13 with every coalition of the other players equally likely.
#[inline(always)]
pub(crate) fn banzhaf(xz: usize) -> Singles {
    let each = 0.5_f64.powi(xz as i32 - 1);
    Singles { in_x: each, in_z: -each }
}

/// Theorem 18: the Shapley-Taylor index of a leaf.
#[inline(always)]
pub(crate) fn taylor(w: &Weights, x: usize, xz: usize) -> Pairs {
    let main = single(x, xz, |a, c| SetIndex::Stii.moment(w, 2, 1, a, c));
    off_diagonal(main, x, xz, |a, c| 0.5 * SetIndex::Stii.moment(w, 2, 2, a, c))
}

/// The Shapley interaction index of a leaf, with the rest of the Shapley values on the diagonal.
#[inline(always)]
pub(crate) fn interaction(w: &Weights, x: usize, xz: usize) -> Pairs {
    let phi = shapley(w, x, xz);
    let mut pairs = off_diagonal(phi, x, xz, |a, c| 0.5 * SetIndex::Sii.moment(w, 2, 2, a, c));
    let (x_others, z) = ((x.max(1) - 1) as f64, (xz - x) as f64);
    let z_others = z.max(1.0) - 1.0;
    pairs.main = Singles {
        in_x: phi.in_x - x_others * pairs.both_x - z * pairs.across,
        in_z: phi.in_z - z_others * pairs.both_z - x as f64 * pairs.across,
    };
    pairs
}

/// Single players, by the moments of sets of one player: $S_X$ is what z fails, and $S_Z$ what x fails.
#[inline(always)]
fn single(x: usize, xz: usize, moment: impl Fn(usize, usize) -> f64) -> Singles {
    let z = xz - x;
    Singles { in_x: if x > 0 { moment(x - 1, z) } else { 0.0 }, in_z: if z > 0 { -moment(x, z - 1) } else { 0.0 } }
}

/// The three cases of Theorem 18, by the moments of sets of two players; half of each pair is on either side of the diagonal.
#[inline(always)]
fn off_diagonal(main: Singles, x: usize, xz: usize, moment: impl Fn(usize, usize) -> f64) -> Pairs {
    let z = xz - x;
    Pairs {
        main,
        both_x: if x >= 2 { moment(x - 2, z) } else { 0.0 },
        both_z: if z >= 2 { moment(x, z - 2) } else { 0.0 },
        across: if x >= 1 && z >= 1 { -moment(x - 1, z - 1) } else { 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The quadrature rules of an index integrate over the measure whose moments define it.
    #[test]
    fn integrals_have_the_moments_of_their_index() {
        let w = Weights::up_to(20);
        let check = |nodes: &[QuadratureNode], set_index: &SetIndex, k: usize, l: usize, share: f64, most: usize| {
            for (a, c) in (0..=most).flat_map(|a| (0..=most - a).map(move |c| (a, c))) {
                let moment = |n: &QuadratureNode| n.weight * n.t.powi(a as i32) * (1.0 - n.t).powi(c as i32);
                let (got, want) = (nodes.iter().map(moment).sum::<f64>(), share * set_index.moment(&w, k, l, a, c));
                assert!((got - want).abs() < 1e-14, "{set_index:?}: {a}, {c}");
            }
        };
        for k in 1..=9_usize {
            for index in Index::ALL {
                match (index, index.integral(k)) {
                    (Index::Banzhaf, Integral::Single(nodes)) => check(&nodes, &SetIndex::Bii, 1, 1, 1.0, k - 1),
                    (_, Integral::Single(nodes)) => check(&nodes, &SetIndex::Sii, 1, 1, 1.0, k - 1),
                    (_, Integral::Pair { off, diagonal, single }) => {
                        let of = if diagonal == Diagonal::MainEffect { SetIndex::Stii } else { SetIndex::Sii };
                        if k >= 2 {
                            check(&off, &of, 2, 2, 0.5, k - 2);
                        }
                        check(&single, &SetIndex::Sii, 1, 1, 1.0, k - 1);
                    }
                }
            }
        }
    }
}
