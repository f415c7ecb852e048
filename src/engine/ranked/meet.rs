//! A leaf with many players: the pairs of distinct patterns that meet.
//!
//! Rows with the same pattern are worked out once, and background rows with the same pattern count together. Background
//! patterns are sorted by the players nearest to the root. A row fails many of these, so most pairs that cannot meet
//! are never looked at. This way serves indices of pairs, and weights.

use super::distinct::Word;
use super::join::Rules;
use super::read::pair;
use crate::engine::codes::{SET, bits};

/// Background patterns are sorted by this many players nearest to the root.
const NEAR: usize = 6;
const BUCKETS: usize = 1 << NEAR;
/// Patterns of a block, and blocks that are tested together.
const TESTED: usize = 8;
const TOGETHER: usize = SET / TESTED;

/// The background of one leaf, ready to be met.
pub(super) struct Meeting<P> {
    /// Bucket after bucket, each filled up to whole blocks with patterns that meet nobody; one more such block at the end.
    patterns: Vec<[P; TESTED]>,
    weights: Vec<f64>,
    /// The blocks that a row may meet, for each way it can fail the near players.
    blocks: Vec<[u32; TOGETHER]>,
    /// Where each of these lists begins, and where the last one ends.
    lists: Vec<u32>,
}

/// Goes through the patterns that are disjoint from `s`, each with its weight. It is a macro because a closure would be
/// compiled without the vector instructions of the kernel that calls it.
macro_rules! for_each_met {
    ($meeting:expr, $s:expr, |$p:ident, $weight:ident| $body:block) => {
        for blocks in $meeting.blocks($s) {
            let mut rest = $meeting.meet($s, blocks);
            while rest != 0 {
                let hit = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let (block, i) = (blocks[hit / TESTED] as usize, hit % TESTED);
                let ($p, $weight) = ($meeting.patterns[block][i], $meeting.weights[block * TESTED + i]);
                $body
            }
        }
    };
}

impl<P: Word> Meeting<P> {
    pub(super) fn new() -> Self {
        Self { patterns: Vec::new(), weights: Vec::new(), blocks: Vec::new(), lists: Vec::new() }
    }

    /// Takes in the distinct patterns of the background, and the weight of each.
    #[inline(always)]
    pub(super) fn prepare(&mut self, patterns: &[P], sums: &[f64]) {
        let mut next = [0_u32; BUCKETS];
        for p in patterns {
            next[p.low(NEAR)] += 1;
        }
        let mut starts = [0_u32; BUCKETS + 1];
        for b in 0..BUCKETS {
            starts[b + 1] = starts[b] + next[b].div_ceil(TESTED as u32);
            next[b] = starts[b] * TESTED as u32;
        }
        let blocks = starts[BUCKETS] as usize + 1;
        self.patterns.clear();
        self.patterns.resize(blocks, [P::ALL; TESTED]);
        self.weights.clear();
        self.weights.resize(blocks * TESTED, 0.0);
        for (&p, &sum) in patterns.iter().zip(sums) {
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
        let mut list = Vec::new();
        for near in 0..BUCKETS {
            self.lists.push(self.blocks.len() as u32);
            list.clear();
            for bucket in (0..BUCKETS).filter(|bucket| bucket & near == 0) {
                list.extend(starts[bucket]..starts[bucket + 1]);
            }
            list.resize(list.len().next_multiple_of(TOGETHER), starts[BUCKETS]);
            self.blocks.extend_from_slice(list.as_chunks().0);
        }
        self.lists.push(self.blocks.len() as u32);
    }

    /// The blocks that a row with the pattern `s` may meet.
    #[inline(always)]
    fn blocks(&self, s: P) -> &[[u32; TOGETHER]] {
        let list = &self.lists[s.low(NEAR)..][..2];
        &self.blocks[list[0] as usize..list[1] as usize]
    }

    /// Which patterns of some blocks are disjoint from `s`, one bit each.
    #[inline(always)]
    fn meet(&self, s: P, blocks: &[u32; TOGETHER]) -> u64 {
        let mut met = [0_u8; SET];
        for (met, &block) in met.as_chunks_mut::<TESTED>().0.iter_mut().zip(blocks) {
            let tested = &self.patterns[block as usize];
            for i in 0..TESTED {
                met[i] = u8::from(tested[i].is_disjoint(s));
            }
        }
        bits(&met)
    }

    /// What a row with the pattern `s` gets.
    #[inline(always)]
    pub(super) fn row(&self, s: P, rules: &Rules, players: usize, out: &mut [f64]) {
        macro_rules! by_bytes {
            ($($n:literal)*) => { match players.div_ceil(8) {
                $(..=$n => self.singles::<$n>(s, rules, out),)*
                _ => unreachable!("no pattern has more players"),
            } };
        }
        if rules.order == 2 {
            self.pairs(s, rules, players, out);
        } else {
            by_bytes!(1 2 3 4 6 8 16 32 64);
        }
    }

    /// What a row with the pattern `s` gets, position by position, for up to `8 N` of them.
    #[inline(always)]
    fn singles<const N: usize>(&self, s: P, rules: &Rules, out: &mut [f64]) {
        let singles = rules.singles(s.size());
        let mut gains = [[0.0; 8]; N];
        let mut loss = 0.0;
        for_each_met!(self, s, |p, weight| {
            let single = singles[p.size().min(rules.most)];
            loss += weight * single.in_z;
            let gain = weight * single.in_x;
            for b in 0..N {
                let lanes = &LANES[p.byte(b)];
                for i in 0..8 {
                    gains[b][i] += gain * lanes[i];
                }
            }
        });
        for (p, (out, gain)) in out.iter_mut().zip(gains.as_flattened()).enumerate() {
            *out = if s.has(p as u32) { loss } else { *gain };
        }
    }

    /// What a row with the pattern `s` gets, pair of positions by pair of positions.
    #[inline(always)]
    fn pairs(&self, s: P, rules: &Rules, players: usize, out: &mut [f64]) {
        let (most, rules) = (rules.most, rules.pairs(s.size()));
        let mut failed = Vec::new();
        let (mut across, mut both_z, mut in_z) = (vec![0.0; players], 0.0, 0.0);
        for_each_met!(self, s, |p, weight| {
            let rule = &rules[p.size().min(most)];
            both_z += weight * rule.both_z;
            in_z += weight * rule.main.in_z;
            failed.clear();
            failed.extend((0..players).filter(|&i| p.has(i as u32)));
            for (n, &i) in failed.iter().enumerate() {
                across[i] += weight * rule.across;
                out[pair(i, i)] += weight * rule.main.in_x;
                failed[..n].iter().for_each(|&j| out[pair(i, j)] += weight * rule.both_x);
            }
        });
        for (i, j) in (0..players).flat_map(|i| (0..=i).map(move |j| (i, j))) {
            match (s.has(i as u32), s.has(j as u32)) {
                (true, true) => out[pair(i, j)] = if i == j { in_z } else { both_z },
                (true, false) => out[pair(i, j)] = across[j],
                (false, true) => out[pair(i, j)] = across[i],
                (false, false) => {}
            }
        }
    }
}

/// The bits of every byte as numbers, side by side.
static LANES: [[f64; 8]; 256] = {
    let mut lanes = [[0.0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            lanes[byte][bit] = (byte >> bit & 1) as f64;
            bit += 1;
        }
        byte += 1;
    }
    lanes
};
