//! Making explainers from a forest and its background.

use std::sync::OnceLock;

use super::Explainer;
use super::absent::{Absent, Reference};
use crate::background::sample_weights::{check_weights, whole_weights};
use crate::background::{Background, Kept};
use crate::engine::codes::CodedRows;
use crate::engine::compiled::Compiled;
use crate::engine::cover;
use crate::engine::plan::Engine;
use crate::engine::tables::Histogram;
use crate::error::{Argument, Error, Result};
use crate::forest::Forest;
use crate::index::Index;
use crate::job::Job;
use crate::memory;
use crate::players::Players;
use crate::rows::Rows;

/// Rows coded at a time if the background is not kept.
const PASSING_ROWS: usize = 1 << 18;

/// Makes an [`Explainer`]; see [`Explainer::builder`].
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct Builder<'a> {
    forest: &'a Forest,
    players: Option<Players>,
    background: Option<BackgroundChoice<'a>>,
    weights: Option<&'a [f64]>,
    memory_limit: Option<usize>,
}

#[derive(Debug, Clone)]
enum BackgroundChoice<'a> {
    Rows(Rows<'a>),
    Merged(Background),
}

impl<'a> Builder<'a> {
    pub(super) fn new(forest: &'a Forest) -> Self {
        Self { forest, players: None, background: None, weights: None, memory_limit: None }
    }

    /// Who the players are. By default, every feature is its own player.
    pub fn players(self, players: &Players) -> Self {
        Self { players: Some(players.clone()), ..self }
    }

    /// The background rows to compare with. Without a background, the explainer is path-dependent: players that have
    /// not joined follow the training rows.
    pub fn background(self, rows: &Rows<'a>) -> Self {
        Self { background: Some(BackgroundChoice::Rows(*rows)), ..self }
    }

    /// A background that came in parts, instead of [`background`](Self::background).
    ///
    /// However the rows were divided into parts, and in whatever order these were merged, the explainer is the same.
    pub fn merged_background(self, background: Background) -> Self {
        Self { background: Some(BackgroundChoice::Merged(background)), ..self }
    }

    /// One weight for each row of [`background`](Self::background); without it, all rows weigh the same.
    pub fn weights(self, weights: &'a [f64]) -> Self {
        Self { weights: Some(weights), ..self }
    }

    /// How many bytes counts and tables may take. By default, half of the memory that is available.
    pub fn memory_limit(self, bytes: usize) -> Self {
        Self { memory_limit: Some(bytes), ..self }
    }

    /// Compiles the forest and takes in the background.
    pub fn build(self, job: &Job) -> Result<Explainer> {
        let players = self.players.unwrap_or_else(|| Players::single(self.forest.n_features()));
        let limit = self.memory_limit.unwrap_or_else(default_limit);
        let game = Game { forest: self.forest, players: &players, memory_limit: limit };
        match self.background {
            Some(BackgroundChoice::Rows(rows)) => game.with_rows(&rows, self.weights, job),
            _ if self.weights.is_some() => Err(Error::input(
                Argument::Weights,
                "weights belong to background rows, and there are none; give them as `background`",
            )),
            Some(BackgroundChoice::Merged(background)) => game.with_merged(background, job),
            None => game.path_dependent(job),
        }
    }
}

pub(super) fn default_limit() -> usize {
    memory::available() / 2
}

/// A forest and its players, about to be compiled.
#[derive(Clone, Copy)]
pub(super) struct Game<'a> {
    pub(super) forest: &'a Forest,
    pub(super) players: &'a Players,
    pub(super) memory_limit: usize,
}

impl Game<'_> {
    pub(super) fn compile(&self, absent: Absent, job: &Job) -> Result<Explainer> {
        self.players.check(self.forest.n_features())?;
        check_range(self.forest)?;
        let with_shares = matches!(absent, Absent::Cover { .. });
        let compiled = Compiled::new(self.forest, self.players, with_shares, &job.workers);
        Ok(Explainer::new(self.forest.clone(), self.players.clone(), compiled, absent, self.memory_limit))
    }

    fn with_rows(&self, rows: &Rows<'_>, weights: Option<&[f64]>, job: &Job) -> Result<Explainer> {
        rows.expect_width(Argument::Background, self.forest.n_features())?;
        if rows.is_empty() {
            let problem = "the background has no rows; an explanation needs at least one to compare with";
            return Err(Error::input(Argument::Background, problem));
        }
        check_weights(weights, rows.len())?;
        let reference = Reference::new(rows.len(), weights.map(<[f64]>::to_vec), false);
        let mut explainer = self.compile(Absent::Background(reference), job)?;
        explainer.take_in(rows, job)?;
        explainer.expect(job)?;
        Ok(explainer)
    }

    fn with_merged(&self, background: Background, job: &Job) -> Result<Explainer> {
        if background.has_no_weight() {
            let problem = "the background has no rows, or none with a weight; an explanation needs at least one";
            return Err(Error::input(Argument::Background, problem));
        }
        let reference = Reference::new(background.len(), None, true);
        let mut explainer = self.compile(Absent::Background(reference), job)?;
        let patterns = explainer.patterns(job);
        let kept = background.kept_of(self.forest, self.players, &explainer.compiled, patterns)?;
        match kept {
            Kept::Counts(counts) => explainer.change(|reference| reference.histogram = OnceLock::from(counts)),
            Kept::Rows(rows) => {
                let codes = rows.coded(&explainer.compiled.columns)?;
                explainer.change(|reference| {
                    reference.codes = Some(codes);
                    reference.weights = rows.weights();
                });
            }
        }
        explainer.count_if_wanted(job)?;
        explainer.expect(job)?;
        Ok(explainer)
    }

    pub(super) fn path_dependent(&self, job: &Job) -> Result<Explainer> {
        if let Some(tree) = self.forest.trees().iter().position(|t| t.cover.is_none()) {
            return Err(Error::input(
                Argument::Background,
                format!(
                    "path-dependent values need the training weight of every node, and tree {tree} has none; give a \
                     background"
                ),
            ));
        }
        let mut explainer = self.compile(Absent::Cover { ratios: OnceLock::new() }, job)?;
        explainer.expected = cover::expected_value(&explainer.compiled, self.forest.base());
        Ok(explainer)
    }
}

impl Explainer {
    /// Changes the background, if there is one.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Reference)) {
        if let Absent::Background(reference) = &mut self.absent {
            change(reference);
        }
    }

    /// Codes the background, and counts it right away if tables will surely be wanted or it is too large to keep.
    fn take_in(&mut self, rows: &Rows<'_>, job: &Job) -> Result<()> {
        let n = rows.len();
        let keep = !self.wants_counts(n) || CodedRows::bytes(&self.compiled.columns, n) <= self.memory_limit / 16;
        if keep {
            let codes = CodedRows::new(&self.compiled.columns, rows, &job.workers)?;
            self.change(|reference| reference.codes = Some(codes));
            return self.count_if_wanted(job);
        }
        let sums = self.count_passing(rows, job)?;
        self.change(|reference| {
            reference.histogram = OnceLock::from(sums);
            // Rows that are not kept need no weights either.
            reference.weights = None;
        });
        Ok(())
    }

    /// Counts rows that are not kept.
    fn count_passing(&self, rows: &Rows<'_>, job: &Job) -> Result<Histogram> {
        let (n, patterns) = (rows.len(), self.patterns(job));
        let weights = self.reference().and_then(Reference::weights);
        let mut sums = Histogram::empty(patterns, weights.is_some())?;
        let weight = whole_weights(weights);
        job.progress.announce(n.div_ceil(PASSING_ROWS));
        for start in (0..n).step_by(PASSING_ROWS) {
            let some = rows.slice(start, n.min(start + PASSING_ROWS));
            let codes = CodedRows::new(&self.compiled.columns, &some, &job.workers)?;
            sums.add(patterns, &codes, &|row| weight(start + row), job)?;
        }
        Ok(sums)
    }

    /// Whether tables will surely be wanted, so that the background is best counted right away.
    fn wants_counts(&self, n: usize) -> bool {
        self.compiled.all_tables && self.plan(n, Index::Shapley, Engine::Auto).has_tables()
    }

    /// Counts the rows that are kept, if tables will surely be wanted.
    pub(super) fn count_if_wanted(&self, job: &Job) -> Result<()> {
        if let Some((reference, codes)) = self.reference().and_then(|r| Some((r, r.codes()?)))
            && self.wants_counts(codes.len())
        {
            reference.counts(self.patterns(job), job)?;
        }
        Ok(())
    }
}

/// The largest sum of leaves: with it, sums over 2^63 background rows are still within the range of float64.
const LARGEST_SUM: f64 = f64::MAX / (1_u128 << 64) as f64;

/// An error if sums over the trees and the background could leave the range of float64.
fn check_range(forest: &Forest) -> Result<()> {
    let mut sum = 0.0;
    for (t, tree) in forest.trees().iter().enumerate() {
        let largest = tree.largest_value();
        sum += largest;
        if sum > LARGEST_SUM {
            return Err(Error::Range { tree: t, largest, limit: LARGEST_SUM });
        }
    }
    Ok(())
}
