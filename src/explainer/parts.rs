//! Explainers from the parts that were saved.

use std::sync::OnceLock;

use super::Explainer;
use super::absent::{Absent, Reference};
use super::build::{Game, default_limit};
use crate::background::sample_weights::levelled;
use crate::engine::codes::{CodedRows, Codes};
use crate::engine::fingerprint;
use crate::engine::tables::Histogram;
use crate::error::{Error, Result, SavedProblem};
use crate::forest::Forest;
use crate::job::Job;
use crate::players::Players;

/// An explainer taken apart, as it is saved.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) forest: Forest,
    pub(crate) players: Players,
    /// The layout of codes that the codes and counts below were made with.
    pub(crate) layout: u64,
    /// None if the explainer is path-dependent.
    pub(crate) background: Option<BackgroundParts>,
    pub(crate) expected: Vec<f64>,
    /// What earlier calls have spent for want of tables, index by index.
    pub(crate) rents: [f64; 4],
}

/// The background of an explainer taken apart.
#[derive(Debug)]
pub(crate) struct BackgroundParts {
    pub(crate) len: usize,
    pub(crate) merged: bool,
    pub(crate) kept: KeptParts,
}

/// What an explainer keeps of its background.
#[derive(Debug)]
pub(crate) enum KeptParts {
    /// Rows as codes, row after row, and whether they were counted too.
    Rows {
        len: usize,
        codes: Codes,
        weights: Option<Vec<f64>>,
        counted: bool,
    },
    Counts(Histogram),
}

impl Explainer {
    /// An explainer of these parts; an error if they do not fit together.
    pub(crate) fn from_parts(parts: Parts, job: &Job) -> Result<Self> {
        let game = Game { forest: &parts.forest, players: &parts.players, memory_limit: default_limit() };
        let mut explainer = match &parts.background {
            None => game.path_dependent(job).map_err(Error::damaged)?,
            Some(BackgroundParts { len, merged, .. }) => {
                game.compile(Absent::Background(Reference::new(*len, None, *merged)), job)?
            }
        };
        if fingerprint::layout(&explainer.compiled) != parts.layout {
            return Err(SavedProblem::Layout.into());
        }
        if let Some(background) = parts.background {
            explainer.put_back(background.kept, job)?;
        }
        explainer.expected = parts.expected;
        explainer.tables.set_rents(parts.rents);
        Ok(explainer)
    }

    fn put_back(&mut self, kept: KeptParts, job: &Job) -> Result<()> {
        match kept {
            KeptParts::Rows { len, codes, weights, counted } => {
                let coded = CodedRows::from_row_major(&self.compiled.columns, &codes, len).map_err(Error::damaged)?;
                self.change(|reference| {
                    reference.codes = Some(coded);
                    reference.weights = weights.map(levelled);
                });
                // Counting again is quick, and counts can be much larger than the rows they come from.
                if let Some(reference) = self.reference().filter(|_| counted && self.can_count(job)) {
                    reference.counts(self.patterns(job), job)?;
                }
            }
            KeptParts::Counts(counts) => {
                if counts.total() == 0 || !self.compiled.all_tables {
                    return Err(Error::damaged("it has counts where rows belong"));
                }
                counts.check(self.patterns(job)).map_err(Error::damaged)?;
                self.change(|reference| reference.histogram = OnceLock::from(counts));
            }
        }
        Ok(())
    }

    /// Whether counts would leave half of the memory limit to other things, as every plan demands.
    fn can_count(&self, job: &Job) -> bool {
        self.patterns(job).n_entries().saturating_mul(size_of::<u128>()) <= self.memory_limit / 2
    }
}
