//! What an engine is given.

use super::codes::{CodedRows, RowSource, SET};
use super::compiled::Compiled;
use crate::index::Index;
use crate::job::Job;

/// The index of some rows, summed over some of the trees.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) compiled: &'a Compiled,
    /// The positions of the trees.
    pub(crate) trees: &'a [usize],
    pub(crate) rows: RowSource<'a>,
    pub(crate) index: Index,
    pub(crate) job: &'a Job,
}

impl Task<'_> {
    /// How many numbers of the result belong to each row, all outputs included; none if there is nothing to do.
    pub(crate) fn row_cells(&self, out: &[f64]) -> Option<usize> {
        if self.trees.is_empty() { None } else { out.len().checked_div(self.rows.len()).filter(|&cells| cells > 0) }
    }
}

/// Background rows and their weights.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BackgroundRows<'a> {
    pub(crate) rows: &'a CodedRows,
    pub(crate) weights: Option<&'a [f64]>,
}

impl BackgroundRows<'_> {
    /// The weight of all rows.
    pub(crate) fn total(&self) -> f64 {
        self.weights.map_or(self.rows.len() as f64, |weights| weights.iter().sum())
    }

    /// The weight of one row.
    #[inline(always)]
    pub(crate) fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }

    /// The weight of some rows of a set, one bit each.
    #[inline]
    pub(crate) fn weight_of(&self, set: usize, rows: u64) -> f64 {
        let Some(weights) = self.weights else { return f64::from(rows.count_ones()) };
        let (mut sum, mut rest) = (0.0, rows);
        while rest != 0 {
            sum += weights[set * SET + rest.trailing_zeros() as usize];
            rest &= rest - 1;
        }
        sum
    }
}
