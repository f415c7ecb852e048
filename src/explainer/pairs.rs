//! The values of every pair of a row and a background row.

use super::Explainer;
use super::absent::Absent;
use crate::engine::codes::CodedRows;
use crate::engine::traversal::{self, PairWalk};
use crate::error::{Argument, Error, Result};
use crate::job::Job;
use crate::rows::Rows;

impl Explainer {
    /// The Shapley values of every pair of a row and a background row: `(rows, background rows, players, outputs)`.
    ///
    /// Rows are paired with the explainer's own background or, if given, with other rows. Weights play no part.
    pub fn explain_pairs(&self, rows: &Rows<'_>, background: Option<&Rows<'_>>, job: &Job) -> Result<Vec<f64>> {
        self.pairs(rows, background, PairWalk::Shared, job)
    }

    /// [`Self::explain_pairs`] by the paper's walk of one pair at a time. It is slower, and hidden because it serves only
    /// as the reference of tests and benchmarks.
    #[doc(hidden)]
    pub fn explain_pairs_singly(&self, rows: &Rows<'_>, background: Option<&Rows<'_>>, job: &Job) -> Result<Vec<f64>> {
        self.pairs(rows, background, PairWalk::Single, job)
    }

    fn pairs(&self, rows: &Rows<'_>, background: Option<&Rows<'_>>, by: PairWalk, job: &Job) -> Result<Vec<f64>> {
        rows.expect_width(Argument::Data, self.forest.n_features())?;
        let cannot = |problem: &str| Error::input(Argument::Background, problem);
        let coded;
        let z = match (background, &self.absent) {
            (Some(background), _) => {
                background.expect_width(Argument::Background, self.forest.n_features())?;
                coded = CodedRows::new(&self.compiled.columns, background, &job.workers)?;
                &coded
            }
            (None, Absent::Background(reference)) if reference.merged => {
                return Err(cannot(
                    "a background that came in parts has no order of its rows; give the rows to pair with",
                ));
            }
            (None, Absent::Background(reference)) => reference.rows()?.rows,
            (None, Absent::Cover { .. }) => {
                return Err(cannot("pairs need background rows, and this explainer has none; give them"));
            }
        };
        traversal::pairs(&self.compiled, z, rows, by, job)
    }
}
