//! A leaf with more players than tables of splits may have, by ranked counts of its own: only for the sets of players that
//! rows ask for.
//!
//! A row that fails the players S asks for A[S], for C[S], and for C[S ∪ p] with every other player p. The background
//! and what is asked for go down together, player by player from the last position on. At a player that is in a set,
//! the background rows that fail it are left behind; where nothing is asked for, nobody goes. The players nearest to
//! the root are left to a tile of ranked counts, unless so little is asked for that the background rows are looked at
//! one by one.

use std::ops::Range;

use super::coefficients::{Coefficients, RANKS, moment};
use super::counts::{Lane, TILE_PLAYERS, sum_over};
use super::distinct::Word;
use crate::simd::{Kernel, widest};

/// Background rows that fail the same players.
#[derive(Debug, Clone, Copy)]
struct Entry<L> {
    /// The players that a tile does not tell apart.
    far: u64,
    /// The others, and the rank.
    near: u16,
    rank: u16,
    count: L,
}

/// A set of players that a row asks for.
#[derive(Debug, Clone, Copy)]
struct Query {
    far: u64,
    near: u16,
    /// The position of the player that the set has and the row does not fail; [`OWN`] if there is none.
    added: u16,
    row: u32,
}

const OWN: u16 = u16::MAX;
/// This many pairs of a set and a background pattern take as long as a tile.
const DIRECT: usize = 256;

/// What rows get at a leaf.
pub(super) struct LeafCounts<L> {
    entries: Vec<Entry<L>>,
    queries: Vec<Query>,
    /// Background rows that fail more players than there are ranks: hardly any, and they meet hardly any set.
    beyond: Vec<(u64, f64)>,
    tile: Vec<[L; RANKS]>,
    near: usize,
    players: usize,
}

impl<L: Lane> LeafCounts<L> {
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), queries: Vec::new(), beyond: Vec::new(), tile: Vec::new(), near: 0, players: 0 }
    }

    /// Takes in the distinct patterns of the background, and the weight of each.
    #[inline(always)]
    pub(super) fn prepare<P: Word>(&mut self, players: usize, patterns: &[P], sums: &[f64]) {
        (self.players, self.near) = (players, players.min(TILE_PLAYERS));
        self.entries.clear();
        self.beyond.clear();
        for (&p, &sum) in patterns.iter().zip(sums) {
            let (far, near) = (p.word() >> self.near, p.low(self.near) as u16);
            if p.size() < RANKS {
                self.entries.push(Entry { far, near, rank: p.size() as u16, count: L::of_sum(sum) });
            } else {
                self.beyond.push((p.word(), sum));
            }
        }
    }

    /// What rows with these patterns get, position by position: `width` numbers for each.
    #[inline(always)]
    pub(super) fn rows<P: Word>(
        &mut self,
        patterns: &[P],
        coefficients: &Coefficients<{ moment::SINGLE }>,
        out: &mut [f64],
        width: usize,
    ) {
        self.queries.clear();
        for (row, p) in (0..).zip(patterns) {
            let (far, near) = (p.word() >> self.near, p.low(self.near) as u16);
            self.queries.push(Query { far, near, added: OWN, row });
        }
        let far = self.players - self.near;
        let (queries, entries) = (0..self.queries.len(), 0..self.entries.len());
        let mut answers = Answers { coefficients, a: vec![0.0; patterns.len()], c: out, width };
        self.descend(far, queries, entries, &mut answers);
        let Answers { a, c: out, .. } = answers;
        for ((&s, &a), out) in patterns.iter().zip(&a).zip(out.chunks_exact_mut(width)) {
            let more = if s.size() + RANKS <= self.players { self.beyond.as_slice() } else { &[] };
            let moment = |set: u64, d: usize| -> f64 {
                let met = more.iter().filter(|(failed, _)| failed & set == 0);
                let t = set.count_ones() as usize;
                met.map(|(failed, sum)| sum * coefficients.beyond(t, failed.count_ones() as usize)[d]).sum()
            };
            let a = a + moment(s.word(), moment::A + 1);
            for (p, out) in out[..self.players].iter_mut().enumerate() {
                *out = a - (*out + moment(s.word() | 1 << p, moment::A));
            }
        }
    }

    /// Answers some queries from some entries; `left` far players are still to be looked at.
    fn descend(&mut self, left: usize, queries: Range<usize>, entries: Range<usize>, answers: &mut Answers<'_>) {
        let (asked, met) = (queries.len(), entries.len());
        if asked == 0 {
            return;
        }
        // Sums of whole numbers are the same in any order; those of weights must not depend on what else is asked for.
        let direct = L::EXACT && asked * met <= DIRECT * asked.min(1 << left.min(16));
        if direct || left == 0 {
            let positions = self.near + left;
            return widest(Answer { counts: self, queries, entries, positions, direct, answers });
        }
        let (bit, added) = (1 << (left - 1), (self.near + left - 1) as u16);
        let (first_query, first_entry) = (self.queries.len(), self.entries.len());
        keep(&mut self.queries, queries.clone(), |query| {
            let with = Query { far: query.far | bit, added, ..query };
            if query.far & bit == 0 { (with, query.added == OWN) } else { (query, true) }
        });
        keep(&mut self.entries, entries.clone(), |entry| (entry, entry.far & bit == 0));
        let with = (first_query..self.queries.len(), first_entry..self.entries.len());
        self.descend(left - 1, with.0, with.1, answers);
        self.entries.truncate(first_entry);
        self.queries.truncate(first_query);
        keep(&mut self.queries, queries, |query| (query, query.far & bit == 0));
        self.descend(left - 1, first_query..self.queries.len(), entries, answers);
        self.queries.truncate(first_query);
    }
}

/// Appends some of the items in a range, without a branch for each.
fn keep<T: Copy>(all: &mut Vec<T>, range: Range<usize>, which: impl Fn(T) -> (T, bool)) {
    let Some(&filler) = all.get(range.start) else { return };
    let first = all.len();
    all.resize(first + range.len(), filler);
    let (before, new) = all.split_at_mut(first);
    let mut kept = 0;
    for &item in &before[range] {
        let (item, keep) = which(item);
        new[kept] = item;
        kept += usize::from(keep);
    }
    all.truncate(first + kept);
}

/// Where answers go.
struct Answers<'a> {
    coefficients: &'a Coefficients<{ moment::SINGLE }>,
    /// A[S] of every row.
    a: Vec<f64>,
    /// C[S ∪ p] of every row, `width` numbers for each.
    c: &'a mut [f64],
    width: usize,
}

impl Answers<'_> {
    /// C of a set of `t` players from its ranked counts, of which all beyond `most` are zero.
    #[inline(always)]
    fn c<L: Lane>(&mut self, row: u32, position: usize, lanes: &[L; RANKS], t: usize, most: usize) {
        self.c[row as usize * self.width + position] = dot(lanes, &self.coefficients.of(t)[moment::A], most);
    }

    /// A and C of the set of all players that a row fails.
    #[inline(always)]
    fn own<L: Lane>(&mut self, row: u32, failed: u64, lanes: &[L; RANKS], most: usize) {
        let [c, a, _] = self.coefficients.of(failed.count_ones() as usize);
        self.a[row as usize] = dot(lanes, a, most);
        let (c, mut rest) = (dot(lanes, c, most), failed);
        while rest != 0 {
            self.c[row as usize * self.width + rest.trailing_zeros() as usize] = c;
            rest &= rest - 1;
        }
    }
}

/// The first ranks up to `most`, times coefficients.
#[inline(always)]
fn dot<L: Lane>(lanes: &[L; RANKS], coefficients: &[f64; RANKS], most: usize) -> f64 {
    let mut sum = [0.0; 4];
    for q in 0..if most < RANKS / 2 { 2 } else { 4 } {
        for i in 0..4 {
            sum[i] += lanes[4 * q + i].number() * coefficients[4 * q + i];
        }
    }
    (sum[0] + sum[1]) + (sum[2] + sum[3])
}

/// Answers queries that share all far players, by a tile; or others directly, entry by entry.
struct Answer<'a, 'b, L> {
    counts: &'a mut LeafCounts<L>,
    queries: Range<usize>,
    entries: Range<usize>,
    /// Queries with one player more have been made for the positions from here on.
    positions: usize,
    direct: bool,
    answers: &'a mut Answers<'b>,
}

impl<L: Lane> Kernel for Answer<'_, '_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { counts, queries, entries, positions, direct, answers } = self;
        let LeafCounts { entries: all, queries: asked, tile, near, players, .. } = counts;
        let (entries, queries) = (&all[entries], &asked[queries]);
        if !direct {
            tile.clear();
            tile.resize(1 << *near, [L::default(); RANKS]);
            for entry in entries {
                let lane = &mut tile[entry.near as usize][entry.rank as usize % RANKS];
                *lane = lane.plus(entry.count);
            }
            sum_over::<L, RANKS, RANKS>(tile, RANKS);
        }
        for query in queries {
            let set = query.far << *near | u64::from(query.near);
            let (t, most) = (set.count_ones() as usize, *players - set.count_ones() as usize);
            let source = if direct { Source::Entries(entries) } else { Source::Tile(tile) };
            if query.added != OWN {
                answers.c(query.row, query.added as usize, &source.lanes(query.far, query.near), t, most);
                continue;
            }
            answers.own(query.row, set, &source.lanes(query.far, query.near), most);
            for p in 0..positions {
                let with = set | 1 << p;
                if with != set {
                    let lanes = source.lanes(with >> *near, (with & ((1 << *near) - 1)) as u16);
                    answers.c(query.row, p, &lanes, t + 1, most - 1);
                }
            }
        }
    }
}

/// Where the ranked counts of a set come from.
#[derive(Clone, Copy)]
enum Source<'a, L> {
    Tile(&'a [[L; RANKS]]),
    Entries(&'a [Entry<L>]),
}

impl<L: Lane> Source<'_, L> {
    #[inline(always)]
    fn lanes(self, far: u64, near: u16) -> [L; RANKS] {
        let entries = match self {
            Self::Tile(tile) => return tile[near as usize],
            Self::Entries(entries) => entries,
        };
        let mut lanes = [L::default(); RANKS];
        for entry in entries {
            if entry.far & far == 0 && entry.near & near == 0 {
                let lane = &mut lanes[entry.rank as usize % RANKS];
                *lane = lane.plus(entry.count);
            }
        }
        lanes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Index;
    use crate::weights::Weights;

    /// Patterns that are the same in every run, of few and of many failed players.
    fn patterns(n: usize, players: usize, seed: u64) -> Vec<u32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        };
        let mut all: Vec<u32> = (0..n)
            .map(|i| match i % 3 {
                0 => next() & next() & next(),
                1 => next() & next(),
                _ => next() | next(),
            })
            .map(|p| p & ((1 << players) - 1))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn rows<L: Lane>(players: usize, x: &[u32], z: &[u32], sums: &[f64], index: Index) -> Vec<f64> {
        let mut counts = LeafCounts::<L>::new();
        counts.prepare(players, z, sums);
        let mut out = vec![0.0; x.len() * players];
        counts.rows(x, &Coefficients::new(index), &mut out, players);
        out
    }

    /// Pair by pair, from the rule of the index.
    fn by_pairs(players: usize, s: u32, z: &[u32], sums: &[f64], index: Index) -> Vec<f64> {
        let w = Weights::up_to(2 * players);
        let mut out = vec![0.0; players];
        for (f, sum) in z.iter().zip(sums).filter(|(f, _)| *f & s == 0) {
            let single = index.singles(&w, f.count_ones() as usize, (f | s).count_ones() as usize);
            for (p, out) in out.iter_mut().enumerate() {
                *out += sum * f64::from(f >> p & 1) * single.in_x + sum * f64::from(s >> p & 1) * single.in_z;
            }
        }
        out
    }

    fn check<L: Lane>(weight: impl Fn(usize) -> f64) {
        for players in 1..=20 {
            let (x, z) = (patterns(120, players, 1), patterns(150, players, 2));
            let sums: Vec<f64> = (0..z.len()).map(&weight).collect();
            for index in [Index::Shapley, Index::Banzhaf] {
                let all = rows::<L>(players, &x, &z, &sums, index);
                for (&s, all) in x.iter().zip(all.chunks_exact(players)) {
                    let want = by_pairs(players, s, &z, &sums, index);
                    let close = |(got, want): (&f64, &f64)| (got - want).abs() < 1e-9;
                    assert!(all.iter().zip(&want).all(close), "{players} players, {s:b}, {index:?}");
                    let alone = rows::<L>(players, &[s], &z, &sums, index);
                    let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
                    assert!(alone.iter().zip(all).all(same), "{players} players, {s:b}, alone");
                }
            }
        }
    }

    #[test]
    fn counts_give_what_pairs_give() {
        check::<u16>(|i| (1 + i % 7) as f64);
    }

    #[test]
    fn weights_give_what_pairs_give() {
        check::<f64>(|i| 0.3 + (i % 5) as f64 / 7.0);
    }
}
