//! What a background row adds to the arrays that rows read, by the sizes of the two sets.
//!
//! Let $s = |S|$ be the number of players that x fails at a leaf, $j$ the number that z fails, and let the two sets be
//! disjoint. A rule for single players gives $in_x(j, s)$ to those that z fails and $in_z(j, s)$ to those that x fails. A
//! player that changes nothing gets nothing and changes nothing for others, hence
//! $in_x(j, s) - in_x(j, s-1) = in_z(j, s) = -in_x(j+1, s-1)$. So with
//!
//! $$a(s, j) = in_x(j, s) \text{ for } j \ge 1, \qquad a(s, 0) = \sum_{i \le s} in_z(0, i)$$
//!
//! all players are served by one function: $a(s, j) - a(s-1, j) = in_z(j, s)$ and $a(s, j+1) = a(s, j) - a(s+1, j)$.
//! For pairs of players $e(s, j)$ does the same with second differences.

use crate::index::Index;
use crate::simd::Aligned;
use crate::weights::Weights;

/// Ranks side by side: how many rows fail 0, 1, ..., 15 players.
pub(super) const RANKS: usize = 16;
/// The most players besides the split's own that an ordinary table may have: with two bits for the class, an index has 16.
pub(super) const MOST_OTHERS: usize = 14;
/// The most that a large one may have: it takes 25 MB.
pub(super) const MOST_LARGE: usize = 18;
/// The most players of a leaf whose ranked counts are worked out for it alone.
pub(super) const MOST_PLAYERS: usize = 22;

/// Which of the functions a moment is taken of, and how far its first argument is from $|S|$.
pub(super) mod moment {
    /// $a(|S| - 1, j)$, $a(|S|, j)$ and $a(|S| + 1, j)$.
    pub(in crate::engine::ranked) const A: usize = 0;
    /// $e(|S| - 2, j)$ to $e(|S| + 1, j)$.
    pub(in crate::engine::ranked) const E: usize = 3;
    /// How many moments an index of players needs, and how many an index of pairs.
    pub(in crate::engine::ranked) const SINGLE: usize = 3;
    pub(in crate::engine::ranked) const PAIR: usize = 7;
}

/// Sets side by side: they differ in the players of the lowest positions, as the bits of 0 to 7 do.
pub(super) const SETS: usize = 8;

/// The coefficients of `D` moments for every $|S|$ and rank.
pub(super) struct Coefficients<const D: usize> {
    ranks: Vec<[[f64; RANKS]; D]>,
    /// By the number of players that all sets side by side have: rank after rank.
    side_by_side: Vec<[[Aligned<[f64; SETS]>; D]; RANKS]>,
    beyond: Vec<Vec<[f64; D]>>,
}

impl<const D: usize> Coefficients<D> {
    pub(super) fn new(index: Index) -> Self {
        let rule = Rule::new(index, MOST_PLAYERS + 1, MOST_PLAYERS);
        let of = |s: usize| std::array::from_fn(|d| std::array::from_fn(|j| rule.moment(s as isize, d, j)));
        let at = |s: usize, j: usize| std::array::from_fn(|d| rule.moment(s as isize, d, j));
        let beyond = |s: usize| (RANKS..=MOST_PLAYERS).map(|j| at(s, j)).collect();
        let sizes = 0..=MOST_PLAYERS;
        let ranks: Vec<[[f64; RANKS]; D]> = sizes.clone().map(of).collect();
        let set = |s: usize, d: usize, j: usize, set: usize| ranks[s + set.count_ones() as usize][d][j];
        let sets = |s: usize| {
            std::array::from_fn(|j| std::array::from_fn(|d| Aligned(std::array::from_fn(|i| set(s, d, j, i)))))
        };
        let side_by_side = (0..=MOST_LARGE).map(sets).collect();
        Self { ranks, side_by_side, beyond: sizes.map(beyond).collect() }
    }

    /// Of sets side by side that have `s` players in common.
    #[inline(always)]
    pub(super) fn side_by_side(&self, s: usize) -> &[[Aligned<[f64; SETS]>; D]; RANKS] {
        &self.side_by_side[s]
    }

    /// For a row that fails so many players that there is no rank for it.
    pub(super) fn beyond(&self, s: usize, j: usize) -> &[f64; D] {
        &self.beyond[s][j - RANKS]
    }

    #[inline(always)]
    pub(super) fn of(&self, s: usize) -> &[[f64; RANKS]; D] {
        &self.ranks[s]
    }
}

/// The functions a and e of an index.
struct Rule {
    a: Vec<Vec<f64>>,
    e: Vec<Vec<f64>>,
}

impl Rule {
    /// For up to `most_s` players that x fails and `most_j` that z fails.
    fn new(index: Index, most_s: usize, most_j: usize) -> Self {
        let w = Weights::up_to(most_s + most_j);
        let single = |x: usize, z: usize| index.singles(&w, x, x + z);
        let pair = |x: usize, z: usize| index.pairs(&w, x, x + z);
        let a = |s: usize, j: usize| match j {
            0 => (1..=s).map(|i| single(0, i).in_z).sum(),
            _ => single(j, s).in_x,
        };
        let e = |s: usize, j: usize| match j {
            0 => (2..=s).map(|i| (s + 1 - i) as f64 * pair(0, i).both_z).sum(),
            1 => (1..=s).map(|i| pair(1, i).across).sum(),
            _ => pair(j, s).both_x,
        };
        let table =
            |f: &dyn Fn(usize, usize) -> f64| (0..=most_s).map(|s| (0..=most_j).map(|j| f(s, j)).collect()).collect();
        Self { a: table(&a), e: if index.order() == 1 { Vec::new() } else { table(&e) } }
    }

    fn moment(&self, s: isize, d: usize, j: usize) -> f64 {
        let (function, s) = match d {
            moment::E.. => (&self.e, s + (d - moment::E) as isize - 2),
            _ => (&self.a, s + (d - moment::A) as isize - 1),
        };
        // No row reads what has a negative size.
        usize::try_from(s).map_or(0.0, |s| function[s][j])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 30;

    fn close(got: f64, want: f64) -> bool {
        (got - want).abs() < 1e-13 * (1.0 + want.abs())
    }

    #[test]
    fn one_function_serves_single_players() {
        for index in Index::ALL {
            let (rule, w) = (Rule::new(index, MOST, MOST), Weights::up_to(2 * MOST));
            for (s, j) in (0..MOST).flat_map(|s| (0..MOST).map(move |j| (s, j))) {
                let a = |s: usize, j: usize| rule.a[s][j];
                let single = index.singles(&w, j, j + s);
                assert!(j == 0 || close(a(s, j), single.in_x), "{index:?}: in_x of {j}, {s}");
                assert!(s == 0 || close(a(s, j) - a(s - 1, j), single.in_z), "{index:?}: in_z of {j}, {s}");
                assert!(close(a(s, j + 1), a(s, j) - a(s + 1, j)), "{index:?}: one more than {j}, {s}");
            }
        }
    }

    #[test]
    fn one_function_serves_pairs() {
        for index in [Index::Taylor, Index::Interaction] {
            let (rule, w) = (Rule::new(index, MOST, MOST), Weights::up_to(2 * MOST));
            for (s, j) in (0..MOST).flat_map(|s| (0..MOST).map(move |j| (s, j))) {
                let e = |s: usize, j: usize| rule.e[s][j];
                let pair = index.pairs(&w, j, j + s);
                assert!(j < 2 || close(e(s, j), pair.both_x), "{index:?}: both_x of {j}, {s}");
                assert!(s < 1 || j < 1 || close(e(s, j) - e(s - 1, j), pair.across), "{index:?}: across {j}, {s}");
                let second = || e(s, j) - 2.0 * e(s - 1, j) + e(s - 2, j);
                assert!(s < 2 || close(second(), pair.both_z), "{index:?}: both_z of {j}, {s}");
                assert!(close(e(s, j + 1), e(s, j) - e(s + 1, j)), "{index:?}: one more than {j}, {s}");
            }
        }
    }
}
