//! What stands in for the players that have not joined: background rows, or the shares of the training rows.

use std::sync::OnceLock;

use crate::background::sample_weights::{levelled, whole_weights};
use crate::engine::codes::CodedRows;
use crate::engine::tables::{Histogram, PatternForest};
use crate::engine::task::BackgroundRows;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::sync::once;

/// What stands in for the players that have not joined.
#[derive(Debug)]
pub(crate) enum Absent {
    /// Background rows.
    Background(Reference),
    /// The shares of the training rows: the ratios of each leaf, tree by tree.
    Cover { ratios: OnceLock<Vec<Vec<Vec<f64>>>> },
}

/// A background: its rows, its counts, or both.
#[derive(Debug)]
pub(crate) struct Reference {
    /// How many rows it has.
    pub(super) len: usize,
    /// Whether it came in parts; then rows are in the order of their codes, and equal rows are kept once.
    pub(super) merged: bool,
    pub(super) codes: Option<CodedRows>,
    pub(super) weights: Option<Vec<f64>>,
    pub(super) histogram: OnceLock<Histogram>,
}

impl Reference {
    /// A background of `len` rows, with neither rows nor counts yet.
    pub(super) fn new(len: usize, weights: Option<Vec<f64>>, merged: bool) -> Self {
        Self { len, merged, codes: None, weights: weights.map(levelled), histogram: OnceLock::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_merged(&self) -> bool {
        self.merged
    }

    pub(crate) fn codes(&self) -> Option<&CodedRows> {
        self.codes.as_ref()
    }

    pub(crate) fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    pub(crate) fn counted(&self) -> Option<&Histogram> {
        self.histogram.get()
    }

    /// The rows, or an error if only counts were kept.
    pub(super) fn rows(&self) -> Result<BackgroundRows<'_>> {
        let rows = self.codes.as_ref().ok_or(Error::OnlyCounts)?;
        Ok(BackgroundRows { rows, weights: self.weights.as_deref() })
    }

    /// The histogram, counted now if it was not counted before.
    pub(super) fn counts(&self, patterns: &PatternForest, job: &Job) -> Result<&Histogram> {
        if let Some(histogram) = self.histogram.get() {
            return Ok(histogram);
        }
        let rows = self.rows()?;
        let mut sums = Histogram::empty(patterns, self.weights.is_some())?;
        job.progress.announce(1);
        sums.add(patterns, rows.rows, &whole_weights(rows.weights), job)?;
        // If another thread was first, its counts are the same.
        Ok(once(&self.histogram, || sums))
    }
}
