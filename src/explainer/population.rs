//! The mean of an index over a population: what moves the mean prediction from the background to the population.
//!
//! The game is worth $E_{x,z}[h(x \text{ on } S, z \text{ elsewhere})]$ with x from the population and z from the
//! background. It is bilinear in the two counts, so no rows are needed.

use super::Explainer;
use crate::background::{Background, DistinctRows, Kept};
use crate::engine::codes::RowSource;
use crate::engine::fingerprint::fingerprint;
use crate::engine::plan::Engine;
use crate::engine::tables::Histogram;
use crate::engine::task::Task;
use crate::error::{Argument, Error, Result};
use crate::index::Index;
use crate::job::Job;
use crate::memory::zeros;
use crate::rows::Rows;

/// Numbers of the rows' results that are held at a time.
const CHUNK: usize = 1 << 24;

impl Explainer {
    /// The mean of an index over the rows of a population: `(players, outputs)`, or `(players, players, outputs)`.
    ///
    /// The population must have been taken in with the same forest and players. Shapley values sum to the mean
    /// prediction of the population less that of the background.
    pub fn explain_population(&self, population: &Background, index: Index, job: &Job) -> Result<Vec<f64>> {
        let cannot = |problem: &str| Err(Error::input(Argument::Background, problem));
        if self.reference().is_none() {
            return cannot("a population is compared with a background, and this explainer has none; give one");
        }
        if population.has_no_weight() {
            return cannot("the population has no rows, or none with a weight; a comparison needs at least one");
        }
        let n_counts = self.patterns(job).n_entries();
        let ours = fingerprint(&self.forest, &self.players, &self.compiled, n_counts);
        if population.fingerprint() != ours {
            return Err(Error::Unrelated);
        }
        match population.kept() {
            Kept::Counts(counts) => self.mean_by_tables(counts, index, job),
            Kept::Rows(rows) => self.mean_of_rows(rows, index, job),
        }
    }

    fn mean_by_tables(&self, rows: &Histogram, index: Index, job: &Job) -> Result<Vec<f64>> {
        let compiled = &self.compiled;
        let patterns = self.patterns(job);
        rows.check(patterns).map_err(Error::damaged)?;
        let per_output = index.cells(compiled.n_players).unwrap_or(usize::MAX);
        let mut out = zeros("the result", &[per_output, compiled.n_outputs])?;
        let task = Task { compiled, trees: &[], rows: RowSource::Given(Rows::NONE), index, job };
        job.progress.announce(1);
        self.with_tables(&task, |tables| tables.add_mean(patterns, &task, rows, &mut out))?;
        Ok(out)
    }

    /// The rows go through the engines in chunks whose size depends on the game alone, so the bits are always the same.
    fn mean_of_rows(&self, distinct: &DistinctRows, index: Index, job: &Job) -> Result<Vec<f64>> {
        let compiled = &self.compiled;
        let per_output = index.cells(compiled.n_players).unwrap_or(usize::MAX);
        let mut out = zeros("the result", &[per_output, compiled.n_outputs])?;
        let rows = distinct.coded(&compiled.columns)?;
        let source = RowSource::from(&rows);
        let weights = distinct.weights();
        let weight = |row: usize| weights.as_ref().map_or(1.0, |weights| weights[row]);
        let total: f64 = (0..rows.len()).map(weight).sum();
        let step = (CHUNK / out.len().max(1)).max(1);
        for start in (0..rows.len()).step_by(step) {
            let some = source.slice(start, rows.len().min(start + step));
            let plan = self.plan(some.len(), index, Engine::Pattern);
            let values = self.run(&plan, some, None, job)?;
            for (row, values) in (start..).zip(values.chunks_exact(out.len().max(1))) {
                let share = weight(row) / total;
                out.iter_mut().zip(values).for_each(|(mean, value)| *mean += share * value);
            }
        }
        Ok(out)
    }
}
