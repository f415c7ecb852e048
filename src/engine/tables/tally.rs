//! Counting rows by the outcome of every unit.

use std::ops::Range;
use std::sync::Mutex;

use super::histogram::COUNTS;
use super::outcomes::{Slots, UnitVisitor, outcomes};
use super::{PatternForest, TreeUnits};
use crate::engine::codes::{BLOCK, Code, CodedRows, with_codes};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::memory::{Zero, zeroed};
use crate::simd::{Kernel, widest};
use crate::sync::locked;

/// Blocks counted before the next tree has its turn: enough to keep a tree's counts in cache.
const BLOCKS: usize = 16;
/// A thread takes at least this many blocks.
const PIECE_BLOCKS: usize = 8 * BLOCKS;

/// Rows to be counted.
pub(super) struct Tally<'a> {
    pub(super) forest: &'a PatternForest,
    pub(super) rows: &'a CodedRows,
    pub(super) job: &'a Job,
}

/// A sum that starts at zero.
pub(super) trait Sum: Zero + Default + Send + Sync {
    fn add(&mut self, other: Self);
}

impl Sum for u32 {
    #[inline(always)]
    fn add(&mut self, other: Self) {
        *self += other;
    }
}

impl Sum for u128 {
    #[inline(always)]
    fn add(&mut self, other: Self) {
        *self += other;
    }
}

impl Tally<'_> {
    /// Counts all rows and merges the counts into sums that may be wider.
    pub(super) fn all<T: Sum, G: Send>(
        &self,
        into: &mut [G],
        weight: impl Fn(usize) -> T + Sync + Send,
        merge: impl Fn(&mut G, T) + Sync + Send,
    ) -> Result<()> {
        let n = self.rows.len().div_ceil(BLOCK);
        // The counts of one piece are 32 bits wide, so it must stay below 2^32 rows.
        let per_piece = n.div_ceil(self.job.workers.threads()).clamp(PIECE_BLOCKS, 1 << 24);
        let pieces = n.div_ceil(per_piece);
        self.job.progress.begin(pieces);
        let into = Mutex::new(into);
        let results = self.job.workers.map(pieces, |piece| -> Result<()> {
            let blocks = piece * per_piece..n.min((piece + 1) * per_piece);
            let sums = with_codes!(self.rows.codes(), codes => self.some(codes, blocks, &weight))?;
            locked(&into).iter_mut().zip(sums).for_each(|(into, sum)| merge(into, sum));
            self.job.progress.step()
        });
        results.into_iter().collect()
    }

    fn some<C: Code, T: Sum>(&self, codes: &[C], blocks: Range<usize>, weight: impl Fn(usize) -> T) -> Result<Vec<T>> {
        let mut sums = zeroed::<T>(COUNTS, self.forest.n_entries)?;
        let block_codes = codes.len() / self.rows.len().div_ceil(BLOCK);
        let mut slots = Slots::new();
        for first in blocks.clone().step_by(BLOCKS) {
            let last = blocks.end.min(first + BLOCKS);
            let weights: Vec<T> = (first * BLOCK..self.rows.len().min(last * BLOCK)).map(&weight).collect();
            let codes = &codes[first * block_codes..last * block_codes];
            widest(CountBlocks {
                forest: self.forest,
                codes,
                block_codes,
                weights: &weights,
                slots: &mut slots,
                sums: &mut sums,
            });
            if self.job.progress.is_cancelled() {
                return Err(Error::Cancelled);
            }
        }
        Ok(sums)
    }
}

/// A few blocks of rows against all trees.
struct CountBlocks<'a, C, T> {
    forest: &'a PatternForest,
    codes: &'a [C],
    block_codes: usize,
    weights: &'a [T],
    slots: &'a mut Slots<BLOCK>,
    sums: &'a mut [T],
}

impl<C: Code, T: Sum> Kernel for CountBlocks<'_, C, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for tree in self.forest.trees.iter().flatten() {
            for (block, weights) in self.weights.chunks(BLOCK).enumerate() {
                let codes = &self.codes[block * self.block_codes..][..self.block_codes];
                let mut count = Count { tree, weights, sums: self.sums };
                outcomes(&tree.units, 0..tree.units.all.len(), codes, self.slots, &mut count);
            }
        }
    }
}

/// Counts the rows of a block.
struct Count<'a, T> {
    tree: &'a TreeUnits,
    weights: &'a [T],
    sums: &'a mut [T],
}

impl<T: Sum> UnitVisitor<BLOCK> for Count<'_, T> {
    #[inline(always)]
    fn unit(&mut self, unit: usize, outcomes: &[u16; BLOCK]) {
        let size = 1_usize << self.tree.units.all[unit].bits;
        let sums = &mut self.sums[self.tree.entries[unit]..][..size];
        let mask = sums.len() - 1; // of a power of two: no position needs to be checked
        for (&outcome, &weight) in outcomes.iter().zip(self.weights) {
            sums[usize::from(outcome) & mask].add(weight);
        }
    }
}
