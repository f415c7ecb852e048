//! Taking in the parts of a background.

use super::sample_weights::{ONE, check_weights, exact_weights};
use super::{Background, DistinctRows, Kept};
use crate::engine::codes::CodedRows;
use crate::engine::compiled::Compiled;
use crate::engine::fingerprint::fingerprint;
use crate::engine::tables::{Histogram, PatternForest};
use crate::error::{Argument, Error, Result};
use crate::forest::Forest;
use crate::job::Job;
use crate::players::Players;
use crate::rows::Rows;

/// The most counts that a forest may have; if it has more, rows are kept instead. The limit is the same on every
/// machine, so that parts from different machines fit together.
const MOST_COUNTS: usize = 1 << 27;

/// Takes in the parts of a background.
///
/// ```
/// use arborshap::forest::{Forest, Node, Output, Split, Tree};
/// use arborshap::{Background, Explainer, Intake, Job, Notes, Players, Rows};
///
/// let nodes = vec![Node::Split(Split::at(0, 0.0, 1, 2)), Node::Leaf(0), Node::Leaf(1)];
/// let stump = Tree::new(nodes, vec![1.0, 4.0], Output::One(0));
/// let (forest, players) = (Forest::new(vec![stump], 1, vec![0.0])?, Players::single(1));
/// let job = Job::new(1);
///
/// let intake = Intake::new(&forest, &players, &job)?;
/// let [here, there] = [[-1.0, -2.0], [-3.0, 5.0]]
///     .map(|part| intake.take(&Rows::new(&part[..], 2, 1).unwrap(), None, &job).unwrap());
/// let (sent, _) = Background::from_bytes(&there.to_bytes(&Notes::default()))?;
/// let explainer = Explainer::builder(&forest).merged_background(here.merge(sent)?).build(&job)?;
/// assert_eq!(explainer.expected_value(), [1.75]);
/// # Ok::<(), arborshap::Error>(())
/// ```
#[derive(Debug)]
pub struct Intake {
    compiled: Compiled,
    patterns: PatternForest,
    n_features: usize,
    fingerprint: u64,
}

impl Intake {
    /// Compiles a forest and its players.
    pub fn new(forest: &Forest, players: &Players, job: &Job) -> Result<Self> {
        players.check(forest.n_features())?;
        let compiled = Compiled::new(forest, players, false, &job.workers);
        let patterns = PatternForest::new(&compiled.trees, &job.workers);
        let fingerprint = fingerprint(forest, players, &compiled, patterns.n_entries());
        Ok(Self { compiled, patterns, n_features: forest.n_features(), fingerprint })
    }

    /// A background without rows, for example to begin a series of merges with.
    pub fn empty(&self) -> Result<Background> {
        let counted = self.compiled.all_tables && self.patterns.n_entries() <= MOST_COUNTS;
        let kept = if counted {
            Kept::Counts(Histogram::empty(&self.patterns, false)?)
        } else {
            Kept::Rows(DistinctRows::empty(&self.compiled.columns))
        };
        Background::new(self.fingerprint, 0, kept)
    }

    /// A part of a background with these rows; `weights`, if given, has one number per row.
    pub fn take(&self, rows: &Rows<'_>, weights: Option<&[f64]>, job: &Job) -> Result<Background> {
        self.add(self.empty()?, rows, weights, job)
    }

    /// The background with these rows added to it.
    pub fn add(
        &self,
        background: Background,
        rows: &Rows<'_>,
        weights: Option<&[f64]>,
        job: &Job,
    ) -> Result<Background> {
        background.expect_fingerprint(self.fingerprint)?;
        rows.expect_width(Argument::Background, self.n_features)?;
        if rows.is_empty() {
            return Ok(background);
        }
        check_weights(weights, rows.len())?;
        let exact = weights.map(exact_weights).transpose()?;
        let weight = |row: usize| exact.as_ref().map_or(ONE, |weights| weights[row]);
        let coded = CodedRows::new(&self.compiled.columns, rows, &job.workers)?;
        let kept = match background.kept {
            Kept::Counts(mut counts) => {
                if exact.is_some() {
                    counts = counts.weighted(ONE);
                }
                counts.add(&self.patterns, &coded, &weight, job)?;
                Kept::Counts(counts)
            }
            Kept::Rows(all) => {
                let weights: Vec<u128> = (0..rows.len()).map(weight).collect();
                let more = DistinctRows::sorted(&coded.row_major(), &weights, self.compiled.columns.len());
                Kept::Rows(all.merge(&more).ok_or(Error::Unrelated)?)
            }
        };
        Background::new(background.fingerprint, background.len + rows.len() as u64, kept)
    }
}
