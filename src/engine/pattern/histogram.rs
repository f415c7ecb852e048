//! How many background rows have each index of each unit: all that the pattern engine keeps of a background.
//!
//! Counts are integers and weights fixed-point integers, so sums are exact: any partition of the rows, in any order,
//! gives bitwise the same histogram.

use std::ops::Range;
use std::sync::Mutex;

use super::indices::{Slots, Visit, indices};
use super::{PatternForest, TreeUnits};
use crate::engine::codes::{BLOCK, Code, CodedRows, Codes};
use crate::error::{Error, Result};
use crate::job::{Progress, Workers};
use crate::memory::{Zero, zeroed};
use crate::simd::{Kernel, widest};

/// Blocks looked up before the next tree has its turn: enough to keep a tree's counts in cache.
const BLOCKS: usize = 16;
/// A task takes at least this many blocks.
const TASK_BLOCKS: usize = 8 * BLOCKS;

/// What they are called where there is no room for them.
const COUNTS: &str = "the background's histograms";

/// The histograms of all units of a forest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Histogram {
    sums: Sums,
    /// The weight of all rows, in the units of `sums`.
    total: u128,
}

#[derive(Debug, Clone, PartialEq)]
enum Sums {
    Counts(Vec<u64>),
    Weights(Vec<u128>),
}

/// The weight of a row by its number, as a whole number of some unit.
pub(crate) type WholeWeight<'a> = &'a (dyn Fn(usize) -> u128 + Sync);

impl Histogram {
    /// Of no rows yet, which will carry weights or not.
    pub(crate) fn empty(forest: &PatternForest, weighted: bool) -> Result<Self> {
        let sums = if weighted {
            Sums::Weights(zeroed(COUNTS, forest.n_entries)?)
        } else {
            Sums::Counts(zeroed(COUNTS, forest.n_entries)?)
        };
        Ok(Self { sums, total: 0 })
    }

    /// The same rows, each with the weight `one`; weights stay what they are.
    pub(crate) fn weighted(self, one: u128) -> Self {
        match self.sums {
            Sums::Counts(counts) => Self {
                sums: Sums::Weights(counts.into_iter().map(|count| u128::from(count) * one).collect()),
                total: self.total * one,
            },
            Sums::Weights(_) => self,
        }
    }

    pub(crate) fn is_weighted(&self) -> bool {
        matches!(self.sums, Sums::Weights(_))
    }

    /// The weight of all rows.
    pub(crate) fn total(&self) -> u128 {
        self.total
    }

    /// All numbers, unit after unit.
    pub(crate) fn numbers(&self) -> Box<dyn Iterator<Item = u128> + '_> {
        match &self.sums {
            Sums::Counts(counts) => Box::new(counts.iter().map(|&count| u128::from(count))),
            Sums::Weights(weights) => Box::new(weights.iter().copied()),
        }
    }

    /// A histogram of these numbers; what is wrong with them where they are none.
    pub(crate) fn from_numbers(weighted: bool, numbers: Vec<u128>, total: u128) -> Result<Self, String> {
        let sums = if weighted {
            Sums::Weights(numbers)
        } else {
            let narrow = |number: u128| u64::try_from(number).map_err(|_| format!("{number} is more than 2^64"));
            Sums::Counts(numbers.into_iter().map(narrow).collect::<Result<_, _>>()?)
        };
        Ok(Self { sums, total })
    }

    /// What is wrong with it where it cannot be one of this forest: every unit counts every row once.
    pub(crate) fn check(&self, forest: &PatternForest) -> Result<(), String> {
        let have = match &self.sums {
            Sums::Counts(counts) => counts.len(),
            Sums::Weights(weights) => weights.len(),
        };
        if have != forest.n_entries {
            return Err(format!("it has {have} counts where {} belong", forest.n_entries));
        }
        let units = forest.trees.iter().flatten().flat_map(|tree| &tree.units.all);
        let mut numbers = self.numbers();
        for (u, unit) in units.enumerate() {
            let sum = numbers.by_ref().take(1 << unit.bits).try_fold(0_u128, u128::checked_add);
            if sum != Some(self.total) {
                return Err(format!("the counts of unit {u} do not sum to those of the background"));
            }
        }
        Ok(())
    }

    /// Adds the counts of other rows, in the same units; both with weights or both without.
    pub(crate) fn merge(&mut self, other: &Self) -> Result<(), String> {
        fn add<T: Copy>(into: &mut [T], from: &[T], sum: impl Fn(T, T) -> Option<T>) -> Option<()> {
            if into.len() != from.len() {
                return None;
            }
            for (into, from) in into.iter_mut().zip(from) {
                *into = sum(*into, *from)?;
            }
            Some(())
        }
        let merged = match (&mut self.sums, &other.sums) {
            (Sums::Counts(into), Sums::Counts(from)) => add(into, from, u64::checked_add),
            (Sums::Weights(into), Sums::Weights(from)) => add(into, from, u128::checked_add),
            _ => None,
        };
        self.total =
            merged.and_then(|()| self.total.checked_add(other.total)).ok_or("the counts do not fit together")?;
        Ok(())
    }

    /// The weight of an entry as a share of the whole background.
    #[inline]
    pub(super) fn share(&self, at: usize) -> f64 {
        let total = self.total as f64;
        match &self.sums {
            Sums::Counts(counts) => counts[at] as f64 / total,
            Sums::Weights(weights) => weights[at] as f64 / total,
        }
    }

    /// The weight of several entries together, as a share of the whole background.
    pub(super) fn share_of(&self, entries: impl Iterator<Item = usize>) -> f64 {
        let sum = match &self.sums {
            Sums::Counts(counts) => entries.map(|at| u128::from(counts[at])).sum::<u128>(),
            Sums::Weights(weights) => entries.map(|at| weights[at]).sum(),
        };
        sum as f64 / self.total as f64
    }

    /// Adds rows; with their weights, where the histogram was made for such.
    pub(crate) fn add(
        &mut self,
        forest: &PatternForest,
        rows: &CodedRows,
        weight: WholeWeight<'_>,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<()> {
        let tally = Tally { forest, rows, workers, progress };
        match &mut self.sums {
            Sums::Counts(sums) => {
                self.total += rows.len() as u128;
                tally.all(sums, |_| 1_u32, |sum, count| *sum += u64::from(count))
            }
            Sums::Weights(sums) => {
                self.total += (0..rows.len()).map(weight).sum::<u128>();
                tally.all(sums, weight, |sum, weight| *sum += weight)
            }
        }
    }
}

/// What every thread of a count shares.
struct Tally<'a> {
    forest: &'a PatternForest,
    rows: &'a CodedRows,
    workers: &'a Workers,
    progress: &'a Progress,
}

/// A sum that starts at zero.
trait Sum: Zero + Default + Send + Sync {
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
    fn all<T: Sum, G: Send>(
        &self,
        into: &mut [G],
        weight: impl Fn(usize) -> T + Sync + Send,
        merge: impl Fn(&mut G, T) + Sync + Send,
    ) -> Result<()> {
        let n = self.rows.len().div_ceil(BLOCK);
        // A task's own sums are 32 bits wide, so it must stay below 2^32 rows.
        let per_task = n.div_ceil(self.workers.threads()).clamp(TASK_BLOCKS, 1 << 24);
        let tasks = n.div_ceil(per_task);
        self.progress.expect(tasks);
        let into = Mutex::new(into);
        let results = self.workers.map(tasks, |task| -> Result<()> {
            let blocks = task * per_task..n.min((task + 1) * per_task);
            let sums = match self.rows.codes() {
                Codes::U16(codes) => self.some(codes, blocks, &weight),
                Codes::U32(codes) => self.some(codes, blocks, &weight),
            }?;
            let mut into = into.lock().map_err(|_| Error::Cancelled)?;
            into.iter_mut().zip(sums).for_each(|(into, sum)| merge(into, sum));
            self.progress.step()
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
            widest(Chunk {
                forest: self.forest,
                codes,
                block_codes,
                weights: &weights,
                slots: &mut slots,
                sums: &mut sums,
            });
            if self.progress.is_cancelled() {
                return Err(Error::Cancelled);
            }
        }
        Ok(sums)
    }
}

/// A few blocks of rows against all trees.
struct Chunk<'a, C, T> {
    forest: &'a PatternForest,
    codes: &'a [C],
    block_codes: usize,
    weights: &'a [T],
    slots: &'a mut Slots<BLOCK>,
    sums: &'a mut [T],
}

impl<C: Code, T: Sum> Kernel for Chunk<'_, C, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for tree in self.forest.trees.iter().flatten() {
            for (block, weights) in self.weights.chunks(BLOCK).enumerate() {
                let codes = &self.codes[block * self.block_codes..][..self.block_codes];
                let mut count = Count { tree, weights, sums: self.sums };
                indices(&tree.units, 0..tree.units.all.len(), codes, self.slots, &mut count);
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

impl<T: Sum> Visit<BLOCK> for Count<'_, T> {
    #[inline(always)]
    fn unit(&mut self, unit: usize, indices: &[u16; BLOCK]) {
        let size = 1_usize << self.tree.units.all[unit].bits;
        let sums = &mut self.sums[self.tree.entries[unit]..][..size];
        let mask = sums.len() - 1; // of a power of two: no index needs to be checked
        for (&index, &weight) in indices.iter().zip(self.weights) {
            sums[usize::from(index) & mask].add(weight);
        }
    }
}
