//! The raw prediction of rows, straight from the definition of routing.

use super::{Forest, Output};
use crate::error::{Argument, Result};
use crate::job::Job;
use crate::memory::zeros;
use crate::rows::Rows;

/// Rows that one thread computes at a time. They go through one tree after another, so that a large tree stays in cache.
const CHUNK_ROWS: usize = 64;

impl Forest {
    /// The raw predictions $h(x)$ of all rows, in double precision: `(rows, outputs)`.
    pub fn margins(&self, rows: &Rows<'_>, job: &Job) -> Result<Vec<f64>> {
        rows.expect_width(Argument::Data, self.n_features())?;
        let k = self.n_outputs();
        let mut out = zeros("the margins", &[rows.len(), k])?;
        job.progress.begin(rows.len().div_ceil(CHUNK_ROWS));
        job.workers.fill(&mut out, CHUNK_ROWS * k, |chunk, out| {
            let start = chunk * CHUNK_ROWS;
            self.add_margins(&rows.slice(start, rows.len().min(start + CHUNK_ROWS)), out);
            job.progress.step()
        })?;
        Ok(out)
    }

    /// Adds the raw prediction $h(x)$ of one row, in double precision, to `out` (one number per output).
    ///
    /// This follows [`Split::goes_left`](super::Split::goes_left) directly: the definition that the engines are tested
    /// against.
    pub fn add_margin(&self, rows: &Rows<'_>, row: usize, out: &mut [f64]) {
        self.add_margins(&rows.slice(row, row + 1), out);
    }

    /// The same for all rows.
    fn add_margins(&self, rows: &Rows<'_>, out: &mut [f64]) {
        let k = self.base.len();
        let add = |sum: &mut [f64], values: &[f64]| sum.iter_mut().zip(values).for_each(|(s, v)| *s += v);
        out.chunks_exact_mut(k).for_each(|out| add(out, &self.base));
        let mut leaves = vec![0; rows.len()];
        for tree in self.trees.iter() {
            tree.leaves_of(rows, &mut leaves);
            for (&leaf, out) in leaves.iter().zip(out.chunks_exact_mut(k)) {
                match tree.output {
                    Output::One(output) => out[output] += tree.values[leaf],
                    Output::All => add(out, &tree.values[leaf * k..][..k]),
                }
            }
        }
    }
}
