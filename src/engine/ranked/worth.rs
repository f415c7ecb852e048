//! What the rows of a pass get at a split: rows with the same index have the same number, and get the same.

use crate::engine::codes::BLOCK;
use crate::simd::{Offsets, add_looked_up};

/// What each number is worth, and which number each row has.
#[derive(Debug, Default)]
pub(super) struct Worth {
    /// For every row, the number of its index among the distinct ones. The last block is filled up with the first number.
    pub(super) numbers: Vec<[u32; BLOCK]>,
    /// For every output and number, as many as there are positions, or pairs of them.
    pub(super) gains: Vec<f64>,
    distinct: usize,
    /// How many positions, or pairs of positions, there are.
    width: usize,
}

impl Worth {
    /// Makes room for so many distinct indices, all of which get nothing at first.
    pub(super) fn begin(&mut self, distinct: usize, width: usize, outputs: usize) {
        self.distinct = distinct;
        self.width = width;
        self.gains.clear();
        self.gains.resize(outputs * distinct * width, 0.0);
    }

    /// How much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<[u32; BLOCK]>() * self.numbers.capacity() + size_of::<f64>() * self.gains.capacity()
    }

    /// Where the gains of a number begin.
    #[inline(always)]
    pub(super) fn start(&self, output: usize, number: usize) -> usize {
        (output * self.distinct + number) * self.width
    }

    /// Adds what a block of rows gets to the target of each position, or pair of positions.
    #[inline(always)]
    pub(super) fn add(&self, block: usize, output: usize, targets: &[u32], sums: &mut [[f64; BLOCK]]) {
        let offsets = Offsets::new(&self.numbers[block], self.width as u32);
        add_looked_up(sums, targets, &self.gains[self.start(output, 0)..], &offsets);
    }
}
