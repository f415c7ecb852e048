//! A forest, its players and its background, compiled once to explain many rows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::engine::codes::CodedRows;
use crate::engine::compiled::Compiled;
use crate::engine::pattern::{self, Histogram, PatternForest, PatternTables, Source};
use crate::engine::traversal::{self, Walk};
use crate::error::{Error, Result, zeros};
use crate::forest::Forest;
use crate::index::Index;
use crate::job::{Progress, Workers};
use crate::players::Players;
use crate::rows::Rows;

/// Which engine explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// Whichever is expected to be faster, tree by tree.
    #[default]
    Auto,
    /// The paper's traversal of all pairs.
    Traversal,
    /// Pattern tables.
    Pattern,
    /// Pairs of patterns that meet.
    Sparse,
}

/// Explains rows of a forest against a background.
///
/// The game is $\nu(S) = E_z[h(x \text{ on } S, z \text{ elsewhere})]$ over the players; results are the exact index
/// of that game, the mean over all pairs $(x, z)$.
#[derive(Debug)]
pub struct Explainer {
    compiled: Compiled,
    patterns: PatternForest,
    n_features: usize,
    background: CodedRows,
    weights: Option<Vec<f64>>,
    expected: Vec<f64>,
    histogram: OnceLock<Histogram>,
    tables: Mutex<HashMap<Index, Arc<PatternTables>>>,
}

impl Explainer {
    /// Compiles a forest, its players and a background whose rows may carry weights.
    pub fn new(
        forest: &Forest,
        players: &Players,
        background: &Rows<'_>,
        weights: Option<&[f64]>,
        workers: &Workers,
    ) -> Result<Self> {
        let n_features = forest.n_features();
        background.expect_width("the background", n_features)?;
        if players.n_features() != n_features {
            return Err(Error::Input(format!(
                "the players map {} features, but the model has {n_features}",
                players.n_features()
            )));
        }
        if background.is_empty() {
            return Err(Error::Input(
                "the background has no rows; an explanation needs at least one to compare with".into(),
            ));
        }
        check_weights(weights, background.len())?;
        let expected = expected_value(forest, background, weights, workers);
        let compiled = Compiled::new(forest, players);
        let patterns = PatternForest::new(&compiled.trees, |tree| tree.max_path <= 13);
        let background = CodedRows::new(&compiled.columns, background, workers);
        Ok(Self {
            compiled,
            patterns,
            n_features,
            background,
            weights: weights.map(<[f64]>::to_vec),
            expected,
            histogram: OnceLock::new(),
            tables: Mutex::default(),
        })
    }

    /// The weighted mean of $h(z)$ over the background, one number an output.
    #[must_use]
    pub fn expected_value(&self) -> &[f64] {
        &self.expected
    }

    /// Number of players.
    #[must_use]
    pub fn n_players(&self) -> usize {
        self.compiled.n_players
    }

    /// Number of outputs.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        self.compiled.n_outputs
    }

    /// Number of background rows.
    #[must_use]
    pub fn n_background(&self) -> usize {
        self.background.len()
    }

    /// The index of each row, averaged over the background: `(rows, players, outputs)`, or
    /// `(rows, players, players, outputs)` for an index of pairs.
    pub fn explain(
        &self,
        rows: &Rows<'_>,
        index: Index,
        engine: Engine,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Vec<f64>> {
        rows.expect_width("the data", self.n_features)?;
        let compiled = &self.compiled;
        let per_output = index.cells(compiled.n_players).unwrap_or(usize::MAX);
        let mut out = zeros("the result", &[rows.len(), per_output, compiled.n_outputs])?;
        if out.is_empty() {
            return Ok(out);
        }
        let by_pattern = |tree: &usize| matches!(engine, Engine::Pattern | Engine::Auto) && self.patterns.has(*tree);
        let walked: Vec<usize> = (0..compiled.trees.len()).filter(|t| !by_pattern(t)).collect();
        if walked.len() < compiled.trees.len() {
            let tables = self.tables(index, workers, progress)?;
            pattern::explain(&self.patterns, compiled, &tables, rows, index, &mut out, workers, progress)?;
        }
        let sparse = |t: &usize| engine != Engine::Traversal && compiled.trees[*t].max_path <= pattern::MAX_PLAYERS;
        let (met, walked): (Vec<_>, Vec<_>) = walked.into_iter().partition(sparse);
        let (z, weights) = (&self.background, self.weights.as_deref());
        pattern::explain_sparse(compiled, &met, z, weights, rows, index, &mut out, workers, progress)?;
        traversal::average(compiled, &walked, z, weights, rows, index, &mut out, workers, progress)?;
        Ok(out)
    }

    fn tables(&self, index: Index, workers: &Workers, progress: &Progress) -> Result<Arc<PatternTables>> {
        if let Some(tables) = self.tables.lock().unwrap_or_else(PoisonError::into_inner).get(&index) {
            return Ok(tables.clone());
        }
        if self.histogram.get().is_none() {
            let weights = self.weights.as_deref();
            let largest = weights.map(|w| w.iter().copied().fold(0.0, f64::max));
            let mut histogram = Histogram::empty(&self.patterns, largest)?;
            histogram.add(&self.patterns, &self.background, weights, workers, progress)?;
            let _ = self.histogram.set(histogram);
        }
        let source = Source::Background(self.histogram.get().expect("just set"));
        let tables = Arc::new(PatternTables::new(&self.patterns, &self.compiled, &source, index, workers, progress)?);
        self.tables.lock().unwrap_or_else(PoisonError::into_inner).insert(index, tables.clone());
        Ok(tables)
    }

    /// The Shapley values of every pair of a row and a background row: `(rows, background rows, players, outputs)`.
    ///
    /// Against the explainer's own background, or other rows; weights play no part.
    pub fn explain_pairs(
        &self,
        rows: &Rows<'_>,
        background: Option<&Rows<'_>>,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Vec<f64>> {
        self.pairs(rows, background, Walk::Shared, workers, progress)
    }

    /// [`Self::explain_pairs`] by the paper's walk of one pair at a time: slower, and the reference it is tested
    /// against.
    pub fn explain_pairs_singly(
        &self,
        rows: &Rows<'_>,
        background: Option<&Rows<'_>>,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Vec<f64>> {
        self.pairs(rows, background, Walk::Single, workers, progress)
    }

    fn pairs(
        &self,
        rows: &Rows<'_>,
        background: Option<&Rows<'_>>,
        walk: Walk,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Vec<f64>> {
        rows.expect_width("the data", self.n_features)?;
        let Some(background) = background else {
            return traversal::pairs(&self.compiled, &self.background, rows, walk, workers, progress);
        };
        background.expect_width("the background", self.n_features)?;
        let background = CodedRows::new(&self.compiled.columns, background, workers);
        traversal::pairs(&self.compiled, &background, rows, walk, workers, progress)
    }
}

fn check_weights(weights: Option<&[f64]>, n_rows: usize) -> Result<()> {
    let Some(weights) = weights else { return Ok(()) };
    if weights.len() != n_rows {
        return Err(Error::Input(format!("{} weights were given for {n_rows} background rows", weights.len())));
    }
    if let Some(row) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
        let weight = weights[row];
        return Err(Error::Input(format!(
            "the weight of background row {row} is {weight}; weights are finite and not negative"
        )));
    }
    let total: f64 = weights.iter().sum();
    if total <= 0.0 || !total.is_finite() {
        return Err(Error::Input(format!("the background weights sum to {total}; they need a positive, finite sum")));
    }
    Ok(())
}

/// Rows whose margins are summed before the sums are: fixed, so that threads do not change the result.
const MARGIN_ROWS: usize = 4096;

fn expected_value(forest: &Forest, background: &Rows<'_>, weights: Option<&[f64]>, workers: &Workers) -> Vec<f64> {
    let (m, k) = (background.len(), forest.n_outputs());
    let sums = workers.map(m.div_ceil(MARGIN_ROWS), |chunk| {
        let mut sum = vec![0.0; k];
        let mut margin = vec![0.0; k];
        for row in chunk * MARGIN_ROWS..m.min((chunk + 1) * MARGIN_ROWS) {
            margin.fill(0.0);
            forest.add_margin(background, row, &mut margin);
            let weight = weights.map_or(1.0, |w| w[row]);
            sum.iter_mut().zip(&margin).for_each(|(s, h)| *s += weight * h);
        }
        sum
    });
    let total = weights.map_or(m as f64, |w| w.iter().sum());
    (0..k).map(|output| sums.iter().map(|s| s[output]).sum::<f64>() / total).collect()
}
