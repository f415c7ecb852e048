//! A background that comes in parts: each part can be taken in by itself, on any machine, and parts can be merged in
//! any order.
//!
//! If every tree can have tables, all that is kept of a part is how many rows have each pattern. If not, the rows are
//! kept as their codes, sorted, and equal rows are kept once. Counts and weights are whole numbers, so sums are exact:
//! however rows are divided into parts, and in whatever order these are merged, the result is the same to the last bit.

mod distinct;
mod intake;
pub(crate) mod sample_weights;

pub(crate) use distinct::DistinctRows;
pub use intake::Intake;

use crate::engine::compiled::Compiled;
use crate::engine::fingerprint::fingerprint;
use crate::engine::tables::{Histogram, PatternForest};
use crate::error::{Argument, Error, Result};
use crate::forest::Forest;
use crate::players::Players;
use sample_weights::{MOST, ONE};

/// A background, or a part of one, as a forest and its players see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Background {
    /// Identifies the forest, its players, and how codes and patterns are laid out.
    fingerprint: u64,
    len: u64,
    kept: Kept,
}

/// What is kept of rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kept {
    Counts(Histogram),
    Rows(DistinctRows),
}

impl Kept {
    /// The weights of all rows together, in whole numbers of 2^-80; None if that is too much for 128 bits.
    fn weight(&self) -> Option<u128> {
        match self {
            Self::Counts(counts) if counts.is_weighted() => Some(counts.total()),
            Self::Counts(counts) => counts.total().checked_mul(ONE),
            Self::Rows(rows) => rows.total(),
        }
    }
}

impl Background {
    /// A background of these parts, whose rows and counts agree, and whose weights are within limits, so that sums are
    /// exact; an error otherwise.
    pub(crate) fn new(fingerprint: u64, len: u64, kept: Kept) -> Result<Self> {
        let agree = match &kept {
            Kept::Counts(counts) => counts.is_weighted() || counts.total() == u128::from(len),
            Kept::Rows(rows) => rows.len() as u64 <= len,
        };
        if !agree {
            return Err(Error::damaged("the number of its rows is not what was counted"));
        }
        if kept.weight().is_none_or(|weight| weight >> 80 >= MOST as u128) {
            return Err(too_heavy());
        }
        Ok(Self { fingerprint, len, kept })
    }

    /// The sum of the weights of all rows; without weights, the number of rows.
    #[must_use]
    pub fn weight(&self) -> f64 {
        self.kept.weight().unwrap_or_default() as f64 / ONE as f64
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether only the counts of patterns are kept, and no rows.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        matches!(self.kept, Kept::Counts(_))
    }

    /// A background with the rows of both; an error if they were not taken in with the same forest and players.
    pub fn merge(self, other: Self) -> Result<Self> {
        other.expect_fingerprint(self.fingerprint)?;
        let kept = match (self.kept, other.kept) {
            (Kept::Counts(ours), Kept::Counts(theirs)) => {
                let (mut ours, theirs) = alike(ours, theirs);
                ours.merge(&theirs).map_err(|problem| Error::input(Argument::Background, problem))?;
                Kept::Counts(ours)
            }
            (Kept::Rows(ours), Kept::Rows(theirs)) => Kept::Rows(ours.merge(&theirs).ok_or(Error::Unrelated)?),
            _ => return Err(Error::Unrelated),
        };
        let len = self.len.checked_add(other.len).ok_or_else(too_heavy)?;
        Self::new(self.fingerprint, len, kept)
    }

    /// Undoes the merge with a part, exactly; an error if some rows of the part are not in this background.
    pub fn subtract(self, part: Self) -> Result<Self> {
        part.expect_fingerprint(self.fingerprint)?;
        let kept = match (self.kept, part.kept) {
            (Kept::Counts(ours), Kept::Counts(theirs)) => {
                let (mut ours, theirs) = alike(ours, theirs);
                ours.subtract(&theirs).map(|()| Kept::Counts(ours))
            }
            (Kept::Rows(ours), Kept::Rows(theirs)) => ours.subtract(&theirs).map(Kept::Rows),
            _ => return Err(Error::Unrelated),
        };
        let (Some(kept), Some(len)) = (kept, self.len.checked_sub(part.len)) else {
            let problem = "this part cannot be subtracted, because some of its rows are not in the background";
            return Err(Error::input(Argument::Background, problem));
        };
        Self::new(self.fingerprint, len, kept)
    }

    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    pub(crate) fn kept(&self) -> &Kept {
        &self.kept
    }

    pub(crate) fn has_no_weight(&self) -> bool {
        match &self.kept {
            Kept::Counts(counts) => counts.total() == 0,
            Kept::Rows(rows) => rows.len() == 0,
        }
    }

    /// What was kept, if it belongs to this forest.
    pub(crate) fn kept_of(
        self,
        forest: &Forest,
        players: &Players,
        compiled: &Compiled,
        patterns: &PatternForest,
    ) -> Result<Kept> {
        self.expect_fingerprint(fingerprint(forest, players, compiled, patterns.n_entries()))?;
        if let Kept::Counts(counts) = &self.kept {
            counts.check(patterns).map_err(Error::damaged)?;
        }
        Ok(self.kept)
    }

    fn expect_fingerprint(&self, fingerprint: u64) -> Result<()> {
        if self.fingerprint == fingerprint { Ok(()) } else { Err(Error::Unrelated) }
    }
}

/// Two histograms in the same units: with weights if either has them.
fn alike(a: Histogram, b: Histogram) -> (Histogram, Histogram) {
    if a.is_weighted() == b.is_weighted() { (a, b) } else { (a.weighted(ONE), b.weighted(ONE)) }
}

fn too_heavy() -> Error {
    let problem = "the weights of all background rows together pass 2^47; divide all of them by the same number";
    Error::input(Argument::Weights, problem)
}
