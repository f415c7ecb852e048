//! What a leaf gives to all sets of its path, for every pattern of a row, or for one.
//!
//! For a row that fails S, a set T gets what its $U = T \setminus S$ and its number b of players in S get (see `sets`), from
//! the background patterns that fail all of U and none of S. So a player of the path has one of three roles: x fails it, x
//! satisfies it and it is not in U, or it is in U. With $h_0$ the background that fails the player and $h_1$ the background
//! that satisfies it, both by how many other players they fail, the roles leave $h_1$, $z h_0 + h_1$ and $h_0$ of it, where
//! $z$ counts one more. Player after player, that leads from $2^k$ weights to one polynomial for each of $3^k$ choices of roles;
//! all its terms are positive. For one pattern alone there are $2^{k - |S|}$ choices. Only the second role adds numbers, so the
//! sums are then the same to the last bit.

use std::sync::OnceLock;

use super::subsets::each_set;
use crate::set_index::Moments;
use crate::simd::{Kernel, widest};

/// One pattern after the other is cheaper if at most one pattern in this many is wanted.
const FEW: usize = 8;

/// The rule of an index for leaves with `k` players on their path.
pub(super) struct LeafSets<'a> {
    moments: &'a Moments,
    k: usize,
    /// The sets as bits of positions, in the order of their numbers, without the empty one.
    sets: Vec<u32>,
    every: OnceLock<EveryPattern>,
}

/// What is known in advance if every pattern is wanted.
struct EveryPattern {
    /// By b, the number of further players that z fails, and the roles.
    coefficients: Vec<f64>,
    /// By pattern and set, where its gain stands: b, then the roles.
    places: Vec<u32>,
}

/// What is used again from leaf to leaf.
#[derive(Default)]
pub(super) struct LeafRoom {
    expansion: Expansion,
    by_roles: Vec<f64>,
    /// The background patterns that satisfy what x fails, and their weights.
    positions: Vec<usize>,
    possible: Vec<f64>,
}

impl<'a> LeafSets<'a> {
    pub(super) fn new(moments: &'a Moments, k: usize) -> Self {
        let mut sets = Vec::new();
        each_set(k, moments.order(), &mut Vec::new(), &mut |positions| {
            sets.push(positions.iter().map(|&at| 1 << at).sum());
        });
        sets.remove(0);
        Self { moments, k, sets, every: OnceLock::new() }
    }

    /// How many sets there are, without the empty one.
    pub(super) fn len(&self) -> usize {
        self.sets.len()
    }

    /// Writes what a leaf of value 1 gives for each wanted pattern of a row, set after set. `c` is the weight of each
    /// background pattern.
    pub(super) fn gains(&self, c: &[f64], wanted: &[bool], room: &mut LeafRoom, gains: &mut Vec<f64>) {
        gains.resize(c.len() * self.len(), 0.0);
        let n_wanted = wanted.iter().filter(|&&wanted| wanted).count();
        if n_wanted * FEW > c.len() {
            let every = self.every.get_or_init(|| self.every_pattern());
            return widest(AllGains { leaf: self, every, c, room, gains });
        }
        for pattern in (0..c.len()).filter(|&pattern| wanted[pattern]) {
            let gains = &mut gains[pattern * self.len()..][..self.len()];
            self.one_pattern(c, pattern, room, gains);
        }
    }

    /// $(-1)^b M_{u+b}(a, s - b)$, or nothing if no set has u players of U and b of the s players in S.
    fn coefficient(&self, u: usize, s: usize, b: usize, a: usize) -> f64 {
        if u + b == 0 || u + b > self.moments.order() || b > s || a + u + s > self.k {
            return 0.0;
        }
        let moment = self.moments.of(u + b, a, s - b);
        if b.is_multiple_of(2) { moment } else { -moment }
    }

    fn every_pattern(&self) -> EveryPattern {
        let (k, n, order) = (self.k, 3_usize.pow(self.k as u32), self.moments.order());
        // How many players have a role.
        let count =
            |choice: usize, role: usize| (0..k as u32).filter(|&at| choice / 3_usize.pow(at) % 3 == role).count();
        let counts: Vec<(usize, usize)> = (0..n).map(|choice| (count(choice, 2), count(choice, 0))).collect();
        let mut coefficients = Vec::with_capacity((order + 1) * (k + 1) * n);
        for (b, a) in (0..=order).flat_map(|b| (0..=k).map(move |a| (b, a))) {
            coefficients.extend(counts.iter().map(|&(u, s)| self.coefficient(u, s, b, a)));
        }
        let place = |pattern: usize, set: u32| {
            let (pattern, failed) = (pattern as u32, set & !(pattern as u32));
            let role = |at: usize| (pattern >> at & 1) + ((pattern & set) >> at & 1);
            // The last player's role counts least, since it is the first to be given one.
            let choice = (0..k).fold(0, |choice, at| 3 * choice + role(at));
            failed.count_ones() * n as u32 + choice
        };
        let places = (0..1 << k).flat_map(|pattern| self.sets.iter().map(move |&set| place(pattern, set)));
        EveryPattern { coefficients, places: places.collect() }
    }

    fn one_pattern(&self, c: &[f64], pattern: usize, room: &mut LeafRoom, gains: &mut [f64]) {
        // Only background patterns count that satisfy what x fails. That leaves a path of the players that x satisfies.
        let failed = (c.len() - 1) & !pattern;
        room.possible.clear();
        room.possible.push(c[failed]);
        room.positions.clear();
        room.positions.push(failed);
        for bit in (0..self.k).map(|at| 1 << at).filter(|bit| pattern & bit != 0) {
            for i in 0..room.positions.len() {
                room.positions.push(room.positions[i] | bit);
                room.possible.push(c[room.positions[i] | bit]);
            }
        }
        let (s, q, order) = (failed.count_ones() as usize, pattern.count_ones() as usize, self.moments.order());
        let LeafRoom { expansion, possible, by_roles, .. } = room;
        let n = expansion.run(possible, q, false);
        by_roles.clear();
        for b in 0..=order.min(s) {
            for choice in 0..n {
                let u = choice.count_ones() as usize;
                let possible = if (1..=order).contains(&(u + b)) { 0..q + 1 - u } else { 0..0 };
                let mut sum = 0.0;
                possible.for_each(|a| sum += self.coefficient(u, s, b, a) * expansion.terms[a * n + choice]);
                by_roles.push(sum);
            }
        }
        for (&set, gain) in self.sets.iter().zip(gains) {
            let b = (set & failed as u32).count_ones() as usize;
            let satisfied = (0..self.k).filter(|at| pattern >> at & 1 == 1);
            let choice = satisfied.fold(0, |choice, at| 2 * choice + (set >> at & 1) as usize);
            *gain = by_roles[b * n + choice];
        }
    }
}

/// The terms of the polynomials, for each degree those of all choices of roles.
#[derive(Default)]
struct Expansion {
    terms: Vec<f64>,
    next: Vec<f64>,
}

impl Expansion {
    /// Gives k players their roles, from the last to the first, and returns how many choices there are. If no player can be
    /// failed by x, there are two roles.
    #[inline(always)]
    fn run(&mut self, c: &[f64], k: usize, can_fail: bool) -> usize {
        let roles = if can_fail { 3 } else { 2 };
        self.terms.clear();
        self.terms.extend_from_slice(c);
        let mut n = 1;
        for at in (0..k).rev() {
            let (half, degrees) = (1 << at, k - at);
            self.next.resize(half * (degrees + 1) * roles * n, 0.0);
            let (lower, upper) = self.terms.split_at(half * degrees * n);
            let pairs = lower.chunks_exact(degrees * n).zip(upper.chunks_exact(degrees * n));
            for (out, (h0, h1)) in self.next.chunks_exact_mut((degrees + 1) * roles * n).zip(pairs) {
                for (degree, mut out) in out.chunks_exact_mut(roles * n).enumerate() {
                    if can_fail {
                        let (failed, rest) = out.split_at_mut(n);
                        term(h1, degree, failed);
                        out = rest;
                    }
                    let (beside, within) = out.split_at_mut(n);
                    term(h1, degree, beside);
                    if degree > 0 {
                        let more = &h0[(degree - 1) * n..][..n];
                        beside.iter_mut().zip(more).for_each(|(sum, term)| *sum += term);
                    }
                    term(h0, degree, within);
                }
            }
            std::mem::swap(&mut self.terms, &mut self.next);
            n *= roles;
        }
        n
    }
}

/// The terms of one degree, which may be beyond the last.
#[inline(always)]
fn term(terms: &[f64], degree: usize, out: &mut [f64]) {
    let n = out.len();
    if let Some(terms) = terms.get(degree * n..(degree + 1) * n) {
        out.copy_from_slice(terms);
    } else {
        out.fill(0.0);
    }
}

/// What a leaf gives for every pattern.
struct AllGains<'a> {
    leaf: &'a LeafSets<'a>,
    every: &'a EveryPattern,
    c: &'a [f64],
    room: &'a mut LeafRoom,
    gains: &'a mut [f64],
}

impl Kernel for AllGains<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { leaf: LeafSets { k, moments, .. }, every, c, room, gains } = self;
        let LeafRoom { expansion, by_roles, .. } = room;
        let n = expansion.run(c, *k, true);
        by_roles.clear();
        by_roles.resize((moments.order() + 1) * n, 0.0);
        let coefficients = every.coefficients.chunks_exact((*k + 1) * n);
        for (b, (sums, coefficients)) in by_roles.chunks_exact_mut(n).zip(coefficients).enumerate() {
            for (terms, coefficients) in
                expansion.terms.chunks_exact(n).zip(coefficients.chunks_exact(n)).take(*k + 1 - b.min(*k))
            {
                for ((sum, term), coefficient) in sums.iter_mut().zip(terms).zip(coefficients) {
                    *sum += coefficient * term;
                }
            }
        }
        for (gain, &place) in gains.iter_mut().zip(&every.places) {
            *gain = by_roles[place as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set_index::SetIndex;

    /// Set by set and pattern by pattern, over all background patterns.
    fn one_by_one(moments: &Moments, sets: &[u32], c: &[f64]) -> Vec<f64> {
        let full = c.len() as u32 - 1;
        let gain = |x: u32, set: u32| {
            let meets = |z: &u32| x | z == full && set & (x & z) == 0;
            let one = |z: u32| {
                let [u, b] = [set & x & !z, set & z & !x].map(|players| players.count_ones() as usize);
                let [f, s] = [full & !z, full & !x].map(|players| players.count_ones() as usize);
                let sign = if b.is_multiple_of(2) { 1.0 } else { -1.0 };
                sign * c[z as usize] * moments.of(u + b, f - u, s - b)
            };
            (0..=full).filter(meets).map(one).sum::<f64>()
        };
        (0..=full).flat_map(|x| sets.iter().map(move |&set| gain(x, set))).collect()
    }

    #[test]
    fn all_patterns_at_once_or_one_by_one() {
        for (index, order) in [(SetIndex::Sii, 3), (SetIndex::Stii, 2), (SetIndex::Fsii, 4), (SetIndex::KSii, 6)] {
            for k in 0..=7 {
                let moments = index.moments(order, 7);
                let (leaf, mut room) = (LeafSets::new(&moments, k), LeafRoom::default());
                let c: Vec<f64> = (0..1_u32 << k).map(|z| f64::from(z * 7919 % 23) / 23.0).collect();
                let (mut all, mut few) = (Vec::new(), Vec::new());
                leaf.gains(&c, &vec![true; c.len()], &mut room, &mut all);
                for (gain, want) in all.iter().zip(one_by_one(&moments, &leaf.sets, &c)) {
                    assert!((gain - want).abs() < 1e-13 * c.len() as f64, "{index:?}, {k} players: {gain}, not {want}");
                }
                for pattern in (0..c.len()).filter(|_| c.len() > FEW) {
                    let wanted: Vec<bool> = (0..c.len()).map(|other| other == pattern).collect();
                    leaf.gains(&c, &wanted, &mut room, &mut few);
                    let here = pattern * leaf.len()..(pattern + 1) * leaf.len();
                    assert_eq!(few[here.clone()], all[here], "{index:?}, {k} players, pattern {pattern:b}");
                }
            }
        }
    }
}
