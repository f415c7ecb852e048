//! Ranked counts: for every set S of players, how many background rows fail none of S and 0, 1, 2, ... others.

use super::coefficients::{Coefficients, RANKS};

/// A sum of background rows: a count of fewer than 2^16 rows, or a weight.
pub(super) trait Lane: Copy + Default + Send + Sync {
    fn plus(self, other: Self) -> Self;
    fn number(self) -> f64;
    /// The weight of a row.
    fn of(weight: f64) -> Self;
    /// The weight of many rows.
    fn of_sum(sum: f64) -> Self;
}

impl Lane for u16 {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn number(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn of(_: f64) -> Self {
        1
    }
    #[inline(always)]
    fn of_sum(sum: f64) -> Self {
        sum as Self
    }
}

impl Lane for f64 {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }
    #[inline(always)]
    fn number(self) -> f64 {
        self
    }
    #[inline(always)]
    fn of(weight: f64) -> Self {
        weight
    }
    #[inline(always)]
    fn of_sum(sum: f64) -> Self {
        sum
    }
}

/// Patterns whose lanes of all classes stay in the first-level cache.
pub(super) const TILE: usize = 256;
/// Patterns whose moments are worked out together.
pub(super) const CHUNK: usize = 64;

/// The counts of one split by class, failed players and rank.
pub(super) struct Ranked<L> {
    lanes: Vec<[L; RANKS]>,
    size: usize,
    players: usize,
}

impl<L: Lane> Ranked<L> {
    pub(super) fn new() -> Self {
        Self { lanes: Vec::new(), size: 1, players: 0 }
    }

    /// Takes in how many rows have each index, and sums over the players that lead out of a tile;
    /// [`finish_tile`](Self::finish_tile) does the others.
    #[inline(always)]
    pub(super) fn take(&mut self, players: usize, counts: &[L]) {
        (self.size, self.players) = (1 << players, players);
        self.lanes.clear();
        self.lanes.resize(counts.len(), [L::default(); RANKS]);
        for (index, (&count, lanes)) in counts.iter().zip(&mut self.lanes).enumerate() {
            lanes[(index & (self.size - 1)).count_ones() as usize % RANKS] = count;
        }
        for class in self.lanes.chunks_exact_mut(self.size) {
            sum_over(class, TILE);
        }
    }

    /// The tile that begins at pattern `first`, class after class.
    #[inline(always)]
    pub(super) fn finish_tile(&mut self, first: usize) {
        let n = TILE.min(self.size);
        for class in self.lanes.chunks_exact_mut(self.size) {
            sum_over(&mut class[first..][..n], 1);
        }
    }

    /// The moments of the patterns from `first` on, in one class.
    #[inline(always)]
    pub(super) fn moments<const D: usize>(
        &self,
        class: usize,
        first: usize,
        coefficients: &Coefficients<D>,
        out: &mut [[f64; CHUNK]; D],
    ) {
        let n = CHUNK.min(self.size);
        let lanes = &self.lanes[class * self.size + first..][..n];
        let mut partial = [[[0.0; 4]; CHUNK]; D];
        for (s, lanes) in lanes.iter().enumerate() {
            let failed = (first + s).count_ones() as usize;
            let coefficients = coefficients.of(failed);
            // No row that fails none of these players fails more than all others.
            if self.players - failed < RANKS / 2 {
                dots::<L, D, 2>(lanes, coefficients, s, &mut partial);
            } else {
                dots::<L, D, 4>(lanes, coefficients, s, &mut partial);
            }
        }
        for (out, partial) in out.iter_mut().zip(&partial) {
            for s in 0..CHUNK {
                out[s] = (partial[s][0] + partial[s][1]) + (partial[s][2] + partial[s][3]);
            }
        }
    }
}

/// The first `4 Q` lanes times coefficients, in four sums.
#[inline(always)]
fn dots<L: Lane, const D: usize, const Q: usize>(
    lanes: &[L; RANKS],
    coefficients: &[[f64; RANKS]; D],
    s: usize,
    out: &mut [[[f64; 4]; CHUNK]; D],
) {
    let mut numbers = [[0.0; 4]; Q];
    for q in 0..Q {
        for i in 0..4 {
            numbers[q][i] = lanes[4 * q + i].number();
        }
    }
    for d in 0..D {
        let mut sum = [0.0; 4];
        for q in 0..Q {
            for i in 0..4 {
                sum[i] += numbers[q][i] * coefficients[d][4 * q + i];
            }
        }
        out[d][s] = sum;
    }
}

/// For every player from the one with bit `from` on, `(h0, h1) -> (h0 + h1, h0)`: a set without the player meets rows of
/// both kinds, a set with it meets only those that do not fail the player. Two players per pass.
#[inline(always)]
fn sum_over<L: Lane>(h: &mut [[L; RANKS]], from: usize) {
    let mut half = from;
    while half < h.len() {
        if 2 * half < h.len() {
            for four in h.chunks_exact_mut(4 * half) {
                let (a, b) = four.split_at_mut(2 * half);
                let ((h0, h1), (h2, h3)) = (a.split_at_mut(half), b.split_at_mut(half));
                for (((h0, h1), h2), h3) in h0.iter_mut().zip(h1).zip(h2).zip(h3) {
                    for i in 0..RANKS {
                        let (a, b, c, d) = (h0[i], h1[i], h2[i], h3[i]);
                        let (ac, ab) = (a.plus(c), a.plus(b));
                        (h0[i], h1[i], h2[i], h3[i]) = (ac.plus(b.plus(d)), ac, ab, a);
                    }
                }
            }
            half *= 4;
        } else {
            let (h0, h1) = h.split_at_mut(half);
            for (h0, h1) in h0.iter_mut().zip(h1) {
                for i in 0..RANKS {
                    (h0[i], h1[i]) = (h0[i].plus(h1[i]), h0[i]);
                }
            }
            half *= 2;
        }
    }
}
