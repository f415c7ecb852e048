//! How many background rows have each outcome of each unit: all that tables need of a background.
//!
//! Counts are integers and weights are fixed-point integers, so sums are exact: any partition of the rows, in any order,
//! gives bitwise the same histogram.

use super::PatternForest;
use super::tally::Tally;
use crate::engine::codes::CodedRows;
use crate::error::Result;
use crate::job::Job;
use crate::memory::zeroed;

/// What the counts are called in an error message.
pub(super) const COUNTS: &str = "the background's histograms";

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

/// The weight of a row by its position, as a whole number of some unit.
pub(crate) type WholeWeight<'a> = &'a (dyn Fn(usize) -> u128 + Sync);

impl Histogram {
    /// The histogram of no rows; rows added later have weights or not.
    pub(crate) fn empty(forest: &PatternForest, weighted: bool) -> Result<Self> {
        let sums = if weighted {
            Sums::Weights(zeroed(COUNTS, forest.n_entries)?)
        } else {
            Sums::Counts(zeroed(COUNTS, forest.n_entries)?)
        };
        Ok(Self { sums, total: 0 })
    }

    /// The same rows with weights: `one` for each row that had none.
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

    /// A histogram of these numbers, or a description of what is invalid.
    pub(crate) fn from_numbers(weighted: bool, numbers: Vec<u128>, total: u128) -> Result<Self, String> {
        let sums = if weighted {
            Sums::Weights(numbers)
        } else {
            let narrow = |number: u128| u64::try_from(number).map_err(|_| format!("{number} is more than 2^64"));
            Sums::Counts(numbers.into_iter().map(narrow).collect::<Result<_, _>>()?)
        };
        Ok(Self { sums, total })
    }

    /// An error that describes what is invalid, unless this is a histogram of the forest: every unit counts every row
    /// once.
    pub(crate) fn check(&self, forest: &PatternForest) -> Result<(), String> {
        let have = self.numbers().count();
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

    /// Adds the counts of other rows, in the same units; both have weights, or neither has.
    pub(crate) fn merge(&mut self, other: &Self) -> Result<(), String> {
        let merged = self.combine(other, u64::checked_add, u128::checked_add);
        merged.ok_or_else(|| "the counts do not fit together".into())
    }

    /// Takes the counts of other rows away; `None` if not all of them were there.
    pub(crate) fn subtract(&mut self, other: &Self) -> Option<()> {
        self.combine(other, u64::checked_sub, u128::checked_sub)
    }

    fn combine(
        &mut self,
        other: &Self,
        counts: impl Fn(u64, u64) -> Option<u64>,
        weights: impl Fn(u128, u128) -> Option<u128>,
    ) -> Option<()> {
        fn each<T: Copy>(into: &mut [T], from: &[T], result: impl Fn(T, T) -> Option<T>) -> Option<()> {
            if into.len() != from.len() {
                return None;
            }
            for (into, from) in into.iter_mut().zip(from) {
                *into = result(*into, *from)?;
            }
            Some(())
        }
        match (&mut self.sums, &other.sums) {
            (Sums::Counts(into), Sums::Counts(from)) => each(into, from, counts)?,
            (Sums::Weights(into), Sums::Weights(from)) => each(into, from, &weights)?,
            _ => return None,
        }
        self.total = weights(self.total, other.total)?;
        Some(())
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

    /// Adds rows, with their weights if the histogram has weights.
    pub(crate) fn add(
        &mut self,
        forest: &PatternForest,
        rows: &CodedRows,
        weight: WholeWeight<'_>,
        job: &Job,
    ) -> Result<()> {
        let tally = Tally { forest, rows, job };
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
