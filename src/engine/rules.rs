//! The leaf rules: what a leaf with its $S_X$ and $S_Z$ adds to an index.
//!
//! A rule says which players get which multiple of $v_l$. The caller decides what to do with it: add it for one pair or
//! for an average over the background, to one output or to many.

use super::sets::PlayerSet;
use crate::index::{self, Index};
use crate::weights::Weights;

/// Calls `add(cell, coefficient)` for every cell with $\phi_{cell} \mathrel{+}= \text{coefficient} \cdot v_l$. The cell
/// of a player is `one(i)`; an index of pairs has cells `two(i, j)`.
#[inline(always)]
pub(super) fn leaf<S: PlayerSet>(
    index: Index,
    w: &Weights,
    s_x: &S,
    s_z: &S,
    one: impl Fn(usize) -> usize,
    two: impl Fn(usize, usize) -> usize,
    mut add: impl FnMut(usize, f64),
) {
    let x = s_x.len();
    let xz = x + s_z.len();
    if xz == 0 {
        return;
    }
    let pairs = match index {
        Index::Shapley => return singles(index::shapley(w, x, xz), s_x, s_z, one, add),
        Index::Banzhaf => return singles(index::banzhaf(xz), s_x, s_z, one, add),
        Index::Taylor => index::taylor(w, x, xz),
        Index::Interaction => index::interaction(w, x, xz),
    };
    singles(pairs.main, s_x, s_z, |i| two(i, i), &mut add);
    s_x.for_each(|i| {
        s_x.for_each(|j| {
            if i != j {
                add(two(i, j), pairs.both_x);
            }
        });
        s_z.for_each(|j| {
            add(two(i, j), pairs.across);
            add(two(j, i), pairs.across);
        });
    });
    s_z.for_each(|i| {
        s_z.for_each(|j| {
            if i != j {
                add(two(i, j), pairs.both_z);
            }
        });
    });
}

#[inline(always)]
fn singles<S: PlayerSet>(
    gains: index::Singles,
    s_x: &S,
    s_z: &S,
    cell: impl Fn(usize) -> usize,
    mut add: impl FnMut(usize, f64),
) {
    s_x.for_each(|i| add(cell(i), gains.in_x));
    s_z.for_each(|i| add(cell(i), gains.in_z));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::shapley_weight;

    /// The game of one leaf (Lemma 12, flow blocking): 1 for the coalition S_X of S_XZ, 0 for all others.
    fn game(s: u64, s_x: u64) -> f64 {
        f64::from(u8::from(s == s_x))
    }

    fn subsets(of: u64) -> impl Iterator<Item = u64> {
        (0..=of).filter(move |s| s & !of == 0)
    }

    /// All splits of five players into S_X, S_Z and neither.
    fn cases() -> impl Iterator<Item = (u64, u64)> {
        (0..32_u64).flat_map(|s_x| subsets(!s_x & 31).map(move |s_z| (s_x, s_z)))
    }

    fn by_rule(index: Index, s_x: u64, s_z: u64) -> Vec<f64> {
        let mut phi = vec![0.0; 25];
        leaf(index, &Weights::up_to(5), &s_x, &s_z, |i| i, |i, j| 5 * i + j, |cell, c| phi[cell] += c);
        phi
    }

    /// Sum over coalitions S of the others of weight(|S|, players) times the derivative by `i` (and `j`).
    fn definition(s_x: u64, s_z: u64, ij: &[u32], weight: impl Fn(usize, usize) -> f64) -> f64 {
        let all = s_x | s_z;
        let marked: u64 = ij.iter().map(|i| 1 << i).sum();
        if marked & !all != 0 {
            return 0.0;
        }
        let derivative = |s: u64| -> f64 {
            let sign = |t: u64| if (marked & !t).len().is_multiple_of(2) { 1.0 } else { -1.0 };
            subsets(marked).map(|t| sign(t) * game(s | t, s_x)).sum()
        };
        subsets(all & !marked).map(|s| weight(s.len(), all.len()) * derivative(s)).sum()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-15
    }

    #[test]
    fn values_equal_their_definitions() {
        for (s_x, s_z) in cases() {
            let (shapley, banzhaf) = (by_rule(Index::Shapley, s_x, s_z), by_rule(Index::Banzhaf, s_x, s_z));
            for i in 0..5 {
                let want = definition(s_x, s_z, &[i], shapley_weight);
                assert!(close(shapley[i as usize], want), "Shapley {s_x:b} {s_z:b} player {i}");
                let want = definition(s_x, s_z, &[i], |_, d| 0.5_f64.powi(d as i32 - 1));
                assert!(close(banzhaf[i as usize], want), "Banzhaf {s_x:b} {s_z:b} player {i}");
            }
        }
    }

    #[test]
    fn pair_indices_equal_their_definitions() {
        for (s_x, s_z) in cases() {
            let (taylor, interaction) = (by_rule(Index::Taylor, s_x, s_z), by_rule(Index::Interaction, s_x, s_z));
            for i in 0..5_u32 {
                let mut left = definition(s_x, s_z, &[i], shapley_weight);
                for j in (0..5_u32).filter(|&j| j != i) {
                    let cell = (5 * i + j) as usize;
                    let want = definition(s_x, s_z, &[i, j], shapley_weight);
                    assert!(close(taylor[cell], want), "Taylor {s_x:b} {s_z:b} players {i}, {j}");
                    let want = definition(s_x, s_z, &[i, j], |k, d| 0.5 * shapley_weight(k, d - 1));
                    assert!(close(interaction[cell], want), "interaction {s_x:b} {s_z:b} players {i}, {j}");
                    left -= want;
                }
                let on = (6 * i) as usize;
                let main = if (s_x | s_z).contains(i) { game(1 << i, s_x) - game(0, s_x) } else { 0.0 };
                assert!(close(taylor[on], main), "Taylor main {s_x:b} {s_z:b} player {i}");
                assert!(close(interaction[on], left), "interaction main {s_x:b} {s_z:b} player {i}");
            }
        }
    }
}
