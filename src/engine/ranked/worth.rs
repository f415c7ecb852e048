//! What the rows of a pass get at a split: rows with the same pattern have the same number, and get the same.

use crate::engine::codes::BLOCK;

/// What each number is worth, and which number each row has.
#[derive(Debug, Default)]
pub(super) struct Worth {
    /// For every row, the number of its index among the distinct ones.
    pub(super) numbers: Vec<u32>,
    /// For every output and number, as many as there are positions, or pairs of them.
    pub(super) gains: Vec<f64>,
    distinct: usize,
    width: usize,
}

impl Worth {
    /// Makes room for so many distinct indices, all of which get nothing at first.
    pub(super) fn begin(&mut self, distinct: usize, width: usize, outputs: usize) {
        (self.distinct, self.width) = (distinct, width);
        self.gains.clear();
        self.gains.resize(outputs * distinct * width, 0.0);
    }

    /// Where the gains of a number begin.
    #[inline(always)]
    pub(super) fn start(&self, output: usize, number: usize) -> usize {
        (output * self.distinct + number) * self.width
    }

    /// Adds what `n` rows from `first` on get, position by position or pair of positions by pair of positions.
    #[inline(always)]
    pub(super) fn add(&self, first: usize, n: usize, output: usize, gains: &mut [[f64; BLOCK]]) {
        let numbers = &self.numbers[first..first + n];
        let mut starts = [0; BLOCK];
        for (start, &number) in starts.iter_mut().zip(numbers) {
            *start = self.start(output, number as usize);
        }
        for (cell, gains) in gains[..self.width].iter_mut().enumerate() {
            let all = &self.gains[cell..];
            for (gain, &start) in gains[..n].iter_mut().zip(&starts) {
                *gain += all[start];
            }
        }
    }
}
