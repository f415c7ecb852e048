//! A leaf with many players: the pairs of distinct patterns that meet.
//!
//! Rows with the same pattern are worked out once, and background rows with the same pattern count together. Background
//! patterns are found by the players nearest to the root, of which a row fails many, so that most pairs that cannot meet
//! are never looked at.

use super::distinct::{Distinct, Word};
use super::read::pair;
use crate::engine::codes::BLOCK;
use crate::engine::compiled::MAX_PLAYERS;
use crate::index::{Index, Pairs, Singles};
use crate::weights::Weights;

/// Background patterns are found by this many players nearest to the root.
const NEAR: usize = 6;
const BUCKETS: usize = 1 << NEAR;
/// Patterns that are tested together.
const TESTED: usize = 8;

/// What pairs of patterns get by the sizes of their sets, `stride` per number of players that the row fails.
pub(super) struct Rules {
    order: u32,
    singles: Vec<Singles>,
    pairs: Vec<Pairs>,
    stride: usize,
}

impl Rules {
    /// For all sizes of patterns, even that of [`Word::ALL`].
    pub(super) fn new(index: Index) -> Self {
        let most = MAX_PLAYERS;
        let w = Weights::up_to(most);
        let sizes = || (0..=most).flat_map(|s| (0..=most).map(move |j| (j, s))).map(|(j, s)| (j, j + s));
        // Two disjoint sets have at most all players.
        let of = |(x, xz): (usize, usize)| if xz <= most { (x, xz) } else { (0, 0) };
        Self {
            order: index.order(),
            singles: sizes().map(of).map(|(x, xz)| index.singles(&w, x, xz)).collect(),
            pairs: sizes().map(of).map(|(x, xz)| index.pairs(&w, x, xz)).collect(),
            stride: most + 1,
        }
    }
}

/// What rows get at a leaf.
#[derive(Debug)]
pub(super) struct JoinedLeaf {
    players: usize,
    order: u32,
    /// The leaf's values, divided by the weight of the background.
    values: Vec<f64>,
    /// Which of the distinct patterns each row has.
    numbers: Vec<u32>,
    /// What each distinct pattern gets, `width` groups of four numbers each: position by position, or pair by pair.
    worth: Vec<[f64; 4]>,
    width: usize,
}

impl JoinedLeaf {
    /// Works out what rows get, from the patterns of the background and of the rows.
    #[inline(always)]
    pub(super) fn new<P: Word>(
        players: usize,
        values: Vec<f64>,
        [z, x]: [&[P]; 2],
        weights: Option<&[f64]>,
        rules: &Rules,
        room: &mut Room<P>,
    ) -> Self {
        room.join.prepare(z, weights, &mut room.distinct);
        let mut numbers = vec![0; x.len()];
        room.distinct.find(x, |row, number| numbers[row] = number);
        let cells = if rules.order == 1 { players } else { pair(players, 0) };
        let width = cells.div_ceil(4);
        let patterns = room.distinct.patterns();
        let mut worth = vec![[0.0; 4]; patterns.len() * width];
        for (&s, out) in patterns.iter().zip(worth.chunks_exact_mut(width)) {
            if rules.order == 2 {
                room.join.pairs(s, rules, players, out.as_flattened_mut());
                continue;
            }
            macro_rules! by_lanes {
                ($($n:literal)*) => { match width {
                    $(..=$n => room.join.singles::<$n>(s, rules, out),)*
                    _ => unreachable!("a pattern has at most 64 players"),
                } };
            }
            by_lanes!(2 3 4 5 6 8 12 16);
        }
        Self { players, order: rules.order, values, numbers, worth, width }
    }

    /// Adds what the rows of a block get.
    #[inline(always)]
    pub(super) fn add(
        &self,
        first: usize,
        n: usize,
        output: usize,
        rows: &mut [[f64; 4]],
        stride: usize,
        pairs: &mut [[f64; BLOCK]],
    ) {
        let value = self.values[output];
        for (r, &number) in self.numbers[first..first + n].iter().enumerate() {
            let worth = &self.worth[number as usize * self.width..][..self.width];
            if self.order == 1 {
                let gains = &mut rows[r * stride..][..self.width];
                for (gains, worth) in gains.iter_mut().zip(worth) {
                    for i in 0..4 {
                        gains[i] += value * worth[i];
                    }
                }
            } else {
                let worth = &worth.as_flattened()[..pair(self.players, 0)];
                for (gains, worth) in pairs.iter_mut().zip(worth) {
                    gains[r] += value * worth;
                }
            }
        }
    }
}

/// Room for one leaf after another.
pub(super) struct Room<P> {
    distinct: Distinct<P>,
    join: Join<P>,
}

impl<P: Word> Room<P> {
    pub(super) fn new() -> Self {
        Self { distinct: Distinct::new(), join: Join::new() }
    }
}

/// The background of one leaf, ready to be met.
struct Join<P> {
    /// Bucket after bucket, each filled up to whole blocks with patterns that meet nobody.
    patterns: Vec<[P; TESTED]>,
    weights: Vec<f64>,
    /// The blocks that a row may meet, for each way it can fail the near players.
    blocks: Vec<u32>,
    /// Where each of these lists begins, and where the last one ends.
    lists: Vec<u32>,
    hits: Vec<u32>,
}

impl<P: Word> Join<P> {
    fn new() -> Self {
        Self { patterns: Vec::new(), weights: Vec::new(), blocks: Vec::new(), lists: Vec::new(), hits: Vec::new() }
    }

    /// Takes in the patterns of the background.
    #[inline(always)]
    fn prepare(&mut self, z: &[P], weights: Option<&[f64]>, distinct: &mut Distinct<P>) {
        let mut sums: Vec<f64> = Vec::new();
        distinct.find(z, |row, number| {
            if number as usize == sums.len() {
                sums.push(0.0);
            }
            sums[number as usize] += weights.map_or(1.0, |weights| weights[row]);
        });
        let mut next = [0_u32; BUCKETS];
        distinct.patterns().iter().for_each(|&p| next[p.low(NEAR)] += 1);
        let mut starts = [0_u32; BUCKETS + 1];
        for b in 0..BUCKETS {
            starts[b + 1] = starts[b] + next[b].div_ceil(TESTED as u32);
            next[b] = starts[b] * TESTED as u32;
        }
        let blocks = starts[BUCKETS] as usize;
        self.patterns.clear();
        self.patterns.resize(blocks, [P::ALL; TESTED]);
        self.weights.clear();
        self.weights.resize(blocks * TESTED, 0.0);
        self.hits.resize(blocks * TESTED + TESTED, 0);
        for (&p, &sum) in distinct.patterns().iter().zip(&sums) {
            let at = &mut next[p.low(NEAR)];
            self.patterns.as_flattened_mut()[*at as usize] = p;
            self.weights[*at as usize] = sum;
            *at += 1;
        }
        self.list_blocks(&starts);
    }

    fn list_blocks(&mut self, starts: &[u32; BUCKETS + 1]) {
        self.blocks.clear();
        self.lists.clear();
        for near in 0..BUCKETS {
            self.lists.push(self.blocks.len() as u32);
            for bucket in (0..BUCKETS).filter(|bucket| bucket & near == 0) {
                self.blocks.extend(starts[bucket]..starts[bucket + 1]);
            }
        }
        self.lists.push(self.blocks.len() as u32);
    }

    /// Finds the places of all background patterns that are disjoint from `s`; returns how many they are.
    #[inline(always)]
    fn meet(&mut self, s: P) -> usize {
        let list = &self.lists[s.low(NEAR)..][..2];
        let mut n = 0;
        for &block in &self.blocks[list[0] as usize..list[1] as usize] {
            let mut met = [0_u8; TESTED];
            let tested = &self.patterns[block as usize];
            for i in 0..TESTED {
                met[i] = u8::from(tested[i].is_disjoint(s));
            }
            // Eight bytes become eight bits by one multiplication.
            let mask = u64::from_le_bytes(met).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            let places = &SET_BITS[mask as usize];
            let hits: &mut [u32; TESTED] =
                (&mut self.hits[n..n + TESTED]).try_into().expect("there is room for a block beyond all hits");
            for i in 0..TESTED {
                hits[i] = block * TESTED as u32 + u32::from(places[i]);
            }
            n += mask.count_ones() as usize;
        }
        n
    }

    /// What a row with the pattern `s` gets, position by position: `4 N` of them, or fewer.
    #[inline(always)]
    fn singles<const N: usize>(&mut self, s: P, rules: &Rules, out: &mut [[f64; 4]]) {
        let n = self.meet(s);
        let singles = &rules.singles[s.size() * rules.stride..][..rules.stride];
        let mut gains = [[0.0; 4]; N];
        let mut loss = 0.0;
        let patterns = self.patterns.as_flattened();
        for &at in &self.hits[..n] {
            let (p, weight) = (patterns[at as usize], self.weights[at as usize]);
            let single = singles[p.size()];
            loss += weight * single.in_z;
            let gain = weight * single.in_x;
            for b in 0..N {
                for i in 0..4 {
                    gains[b][i] += if p.has(4 * b + i) { gain } else { 0.0 };
                }
            }
        }
        for (b, (out, gains)) in out.iter_mut().zip(gains).enumerate() {
            for i in 0..4 {
                out[i] = if s.has(4 * b + i) { loss } else { gains[i] };
            }
        }
    }

    /// What a row with the pattern `s` gets, pair of positions by pair of positions.
    #[inline(always)]
    fn pairs(&mut self, s: P, rules: &Rules, players: usize, out: &mut [f64]) {
        let n = self.meet(s);
        let at_size = s.size() * rules.stride;
        let rules = &rules.pairs[at_size..][..rules.stride];
        let mut failed = Vec::new();
        let (mut across, mut both_z, mut in_z) = (vec![0.0; players], 0.0, 0.0);
        for &at in &self.hits[..n] {
            let (p, weight) = (self.patterns.as_flattened()[at as usize], self.weights[at as usize]);
            let rule = &rules[p.size()];
            both_z += weight * rule.both_z;
            in_z += weight * rule.main.in_z;
            failed.clear();
            failed.extend((0..players).filter(|&i| p.has(i)));
            for (n, &i) in failed.iter().enumerate() {
                across[i] += weight * rule.across;
                out[pair(i, i)] += weight * rule.main.in_x;
                failed[..n].iter().for_each(|&j| out[pair(i, j)] += weight * rule.both_x);
            }
        }
        for i in 0..players {
            for j in 0..=i {
                match (s.has(i), s.has(j)) {
                    (true, true) => out[pair(i, j)] = if i == j { in_z } else { both_z },
                    (true, false) => out[pair(i, j)] = across[j],
                    (false, true) => out[pair(i, j)] = across[i],
                    (false, false) => {}
                }
            }
        }
    }
}

/// The places of the set bits of every byte, in order.
static SET_BITS: [[u8; 8]; 256] = {
    let mut places = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut n, mut bit) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                places[byte][n] = bit as u8;
                n += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    places
};
