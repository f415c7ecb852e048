//! How far values may be off because the background is a sample of all rows that could have been in it.
//!
//! A value is a mean over the background. So the background is dealt out to a few parts, the rows are explained against
//! each part, and the spread of these results says how much the mean over all of them varies.

use super::Explainer;
use crate::engine::codes::{CodedRows, RowSource};
use crate::engine::plan::Engine;
use crate::engine::task::BackgroundRows;
use crate::error::{Argument, Error, Result};
use crate::index::Index;
use crate::job::Job;
use crate::rows::Rows;

/// Parts of a background: enough for a standard error that is itself accurate to about an eighth.
const PARTS: usize = 30;
/// Rows of the background that stand for all rows, if none are given.
const OWN_ROWS: usize = 200;

impl Explainer {
    /// The standard error of each number that [`explain`](Self::explain) gives, if the background is a sample of a
    /// larger population.
    ///
    /// The background is divided into 30 parts, and row r is in part r modulo 30; with fewer rows than that, each is a
    /// part. A background that came in parts has lost the order of its rows and is refused. Without `rows`, up to 200
    /// rows of the background itself are explained.
    pub fn standard_error(&self, rows: Option<&Rows<'_>>, index: Index, job: &Job) -> Result<Vec<f64>> {
        if let Some(rows) = rows {
            rows.expect_width(Argument::Data, self.forest.n_features())?;
        }
        let cannot = |problem: &str| Error::input(Argument::Background, problem);
        let Some(reference) = self.reference() else {
            return Err(cannot("values without a background have no sampling error; give a background"));
        };
        if reference.is_merged() {
            let problem = "a background that came in parts has lost its order; give its rows to have standard errors";
            return Err(cannot(problem));
        }
        let background = reference.rows()?;
        let n_parts = background.rows.len().min(PARTS);
        if n_parts < 2 {
            return Err(cannot("a standard error needs at least two background rows"));
        }
        let step = background.rows.len().div_ceil(OWN_ROWS);
        let own = background.rows.select((0..background.rows.len()).step_by(step));
        let rows = rows.map_or_else(|| RowSource::from(&own), RowSource::from);
        let plan = self.plan(rows.len(), index, Engine::Counts);
        let mut spread = Spread::default();
        for part in 0..n_parts {
            let some = Part::new(&background, part, n_parts);
            spread.add(some.weight, self.run(&plan, rows, Some(&some.rows()), job)?);
        }
        Ok(spread.standard_error())
    }
}

/// The spread of the results of several parts, each with a weight, around their mean.
///
/// Results are taken relative to those of the first part, so that what does not vary has no error at all.
#[derive(Default)]
struct Spread {
    first: Vec<f64>,
    n_parts: usize,
    weight: f64,
    squared_weight: f64,
    /// Three sums: of the differences times the weight, of the differences times the squared weight, and of the squared
    /// differences times the squared weight.
    sums: Vec<[f64; 3]>,
}

impl Spread {
    fn add(&mut self, weight: f64, values: Vec<f64>) {
        self.n_parts += 1;
        self.weight += weight;
        self.squared_weight += weight * weight;
        if self.n_parts == 1 {
            self.sums = vec![[0.0; 3]; values.len()];
            self.first = values;
            return;
        }
        for ((sums, value), first) in self.sums.iter_mut().zip(values).zip(&self.first) {
            let difference = weight * (value - first);
            sums[0] += difference;
            sums[1] += weight * difference;
            sums[2] += difference * difference;
        }
    }

    /// The standard error of the weighted mean of all parts.
    fn standard_error(self) -> Vec<f64> {
        let correction = self.n_parts as f64 / (self.n_parts - 1) as f64;
        let of = |[sum, weighted, squares]: [f64; 3]| {
            let mean = sum / self.weight;
            let around = squares - 2.0 * mean * weighted + mean * mean * self.squared_weight;
            (correction * around.max(0.0)).sqrt() / self.weight
        };
        self.sums.iter().copied().map(of).collect()
    }
}

/// Every n-th row of a background.
struct Part {
    codes: CodedRows,
    weights: Option<Vec<f64>>,
    weight: f64,
}

impl Part {
    fn new(background: &BackgroundRows<'_>, part: usize, n_parts: usize) -> Self {
        let chosen = || (part..background.rows.len()).step_by(n_parts);
        let weights = background.weights.map(|weights| chosen().map(|row| weights[row]).collect::<Vec<f64>>());
        let codes = background.rows.select(chosen());
        let weight = weights.as_ref().map_or(codes.len() as f64, |weights| weights.iter().sum());
        Self { codes, weights, weight }
    }

    fn rows(&self) -> BackgroundRows<'_> {
        BackgroundRows { rows: &self.codes, weights: self.weights.as_deref() }
    }
}
