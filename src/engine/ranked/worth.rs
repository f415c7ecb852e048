//! What the rows of a pass get at one of its items: rows with the same pattern have the same number, and get the same.

use super::read::pair;
use crate::engine::codes::BLOCK;

/// What each number is worth, and which number each row has.
#[derive(Debug)]
pub(super) struct Worth {
    /// For every row, the number of its pattern among the distinct ones.
    pub(super) numbers: Vec<u32>,
    /// For every number and each of `outputs`, `width` groups of four: position by position, or pair by pair.
    pub(super) groups: Vec<[f64; 4]>,
    pub(super) width: usize,
    /// How many outputs have groups of their own: all of them, or one for all.
    pub(super) outputs: usize,
    /// What an output's groups are multiplied by.
    pub(super) factors: Vec<f64>,
}

impl Worth {
    /// The groups of an output, `stride` apart from number to number.
    #[inline(always)]
    fn of(&self, output: usize) -> (&[[f64; 4]], usize, f64) {
        let first = if self.outputs == 1 { 0 } else { output * self.width };
        (&self.groups[first.min(self.groups.len())..], self.outputs * self.width, self.factors[output])
    }

    /// Adds what `n` rows from `first` on get, position by position: `rows` has `stride` groups for each of them.
    #[inline(always)]
    pub(super) fn add(&self, first: usize, n: usize, output: usize, rows: &mut [[f64; 4]], stride: usize) {
        let (groups, step, factor) = self.of(output);
        let numbers = &self.numbers[first..first + n];
        macro_rules! by_width {
            ($($n:literal)*) => { match self.width {
                $($n => add_groups::<$n>(groups, step, factor, numbers, rows, stride),)*
                width => for (rows, &number) in rows.chunks_exact_mut(stride).zip(numbers) {
                    let worth = &groups[number as usize * step..][..width];
                    for (row, worth) in rows.iter_mut().zip(worth) {
                        for i in 0..4 {
                            row[i] += factor * worth[i];
                        }
                    }
                }
            } };
        }
        by_width!(1 2 3 4 5 6);
    }

    /// Adds what `n` rows from `first` on get, pair of positions by pair of positions.
    #[inline(always)]
    pub(super) fn add_pairs(&self, first: usize, n: usize, players: usize, output: usize, pairs: &mut [[f64; BLOCK]]) {
        let (groups, step, factor) = self.of(output);
        for (r, &number) in self.numbers[first..first + n].iter().enumerate() {
            let worth = groups[number as usize * step..][..self.width].as_flattened();
            for (gains, worth) in pairs.iter_mut().zip(&worth[..pair(players, 0)]) {
                gains[r] += factor * worth;
            }
        }
    }
}

#[inline(always)]
fn add_groups<const N: usize>(
    groups: &[[f64; 4]],
    step: usize,
    factor: f64,
    numbers: &[u32],
    rows: &mut [[f64; 4]],
    stride: usize,
) {
    let rows = &mut rows[..numbers.len() * stride];
    for r in 0..numbers.len() {
        let at = numbers[r] as usize * step;
        let (row, worth) = (&mut rows[r * stride..r * stride + N], &groups[at..at + N]);
        // The sum is worked out aside and stored whole, or the compiler would do it number by number.
        let mut sum = [[0.0; 4]; N];
        for b in 0..N {
            for i in 0..4 {
                sum[b][i] = row[b][i] + factor * worth[b][i];
            }
        }
        row.copy_from_slice(&sum);
    }
}
