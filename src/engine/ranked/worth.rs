//! What the rows of a pass get at a leaf: rows with the same pattern have the same number, and get the same.

use crate::engine::codes::BLOCK;

/// What each number is worth, and which number each row has.
#[derive(Debug, Default)]
pub(super) struct Worth {
    /// For every row, the number of its pattern among the distinct ones.
    pub(super) numbers: Vec<u32>,
    /// For every number, as many as there are positions, or pairs of them.
    pub(super) gains: Vec<f64>,
    pub(super) width: usize,
    /// What the gains of each output are multiplied by.
    pub(super) factors: Vec<f64>,
}

impl Worth {
    /// Adds what `n` rows from `first` on get, position by position or pair of positions by pair of positions.
    #[inline(always)]
    pub(super) fn add(&self, first: usize, n: usize, output: usize, gains: &mut [[f64; BLOCK]]) {
        let (factor, numbers) = (self.factors[output], &self.numbers[first..first + n]);
        let mut starts = [0; BLOCK];
        for (start, &number) in starts.iter_mut().zip(numbers) {
            *start = number as usize * self.width;
        }
        for (cell, gains) in gains[..self.width].iter_mut().enumerate() {
            let all = &self.gains[cell..];
            for (gain, &start) in gains[..n].iter_mut().zip(&starts) {
                *gain += factor * all[start];
            }
        }
    }
}
