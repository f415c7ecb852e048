//! A leaf with more players than tables of splits may have, by ranked counts of its own: one class, and only the rows'
//! distinct patterns are looked up.

use super::coefficients::{Coefficients, RANKS, moment};
use super::counts::{CHUNK, Lane, Ranked, TILE};
use super::distinct::Word;

/// The arrays A and C of one leaf.
pub(super) struct LeafCounts<L> {
    counts: Vec<L>,
    ranked: Ranked<L>,
    a: Vec<f64>,
    c: Vec<f64>,
}

impl<L: Lane> LeafCounts<L> {
    pub(super) fn new() -> Self {
        Self { counts: Vec::new(), ranked: Ranked::new(), a: Vec::new(), c: Vec::new() }
    }

    /// Takes in the distinct patterns of the background, and the weight of each.
    #[inline(always)]
    pub(super) fn prepare<P: Word>(
        &mut self,
        players: usize,
        patterns: &[P],
        sums: &[f64],
        coefficients: &Coefficients<{ moment::SINGLE }>,
    ) {
        let size = 1 << players;
        self.counts.clear();
        self.counts.resize(size, L::default());
        // Rows that fail more players than there are ranks: hardly any, and they meet hardly any pattern.
        let mut beyond = Vec::new();
        for (&p, &sum) in patterns.iter().zip(sums) {
            if p.size() < RANKS {
                self.counts[p.low(players)] = L::of_sum(sum);
            } else {
                beyond.push((p.low(players), sum));
            }
        }
        self.ranked.take(players, &self.counts);
        self.a.resize(size, 0.0);
        self.c.resize(size, 0.0);
        let mut moments = [[0.0; CHUNK]; moment::SINGLE];
        for first in (0..size).step_by(CHUNK) {
            if first % TILE == 0 {
                self.ranked.finish_tile(first);
            }
            self.ranked.moments(0, first, coefficients, &mut moments);
            let n = CHUNK.min(size);
            for &(failed, sum) in beyond.iter().filter(|(failed, _)| failed & first == 0) {
                for s in (0..n).filter(|s| failed & s == 0) {
                    let more = coefficients.beyond((first | s).count_ones() as usize, failed.count_ones() as usize);
                    moments.iter_mut().zip(more).for_each(|(moment, more)| moment[s] += sum * more);
                }
            }
            self.c[first..first + n].copy_from_slice(&moments[moment::A][..n]);
            self.a[first..first + n].copy_from_slice(&moments[moment::A + 1][..n]);
        }
    }

    /// What a row with the pattern `s` gets, position by position.
    #[inline(always)]
    pub(super) fn row<P: Word>(&self, players: usize, s: P, out: &mut [f64]) {
        let s = s.low(players);
        for (p, out) in out[..players].iter_mut().enumerate() {
            *out = self.a[s] - self.c[s | 1 << p];
        }
    }
}
