//! A forest, its players and its background, compiled once to explain many rows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::engine::codes::CodedRows;
use crate::engine::compiled::Compiled;
use crate::engine::pattern::{self, Histogram, PatternForest, PatternTables, Source};
use crate::engine::plan::{self, Engine, Plan, can_have_tables};
use crate::engine::traversal::{self, Walk};
use crate::engine::{cover, leaf_weights};
use crate::error::{Error, Result, zeros};
use crate::forest::Forest;
use crate::index::Index;
use crate::job::{Progress, Workers};
use crate::memory;
use crate::players::Players;
use crate::rows::Rows;

/// Explains rows of a forest.
///
/// Against a background, the game is $\nu(S) = E_z[h(x \text{ on } S, z \text{ elsewhere})]$ over the players, and
/// results are the exact index of that game, the mean over all pairs $(x, z)$. Without one, players that have not
/// joined follow the training rows (path-dependent).
#[derive(Debug)]
pub struct Explainer {
    compiled: Compiled,
    n_features: usize,
    absent: Absent,
    expected: Vec<f64>,
    memory_limit: usize,
    patterns: OnceLock<PatternForest>,
    tables: Mutex<HashMap<Index, Arc<PatternTables>>>,
    /// What earlier calls have spent on going without tables.
    rent: Mutex<HashMap<Index, f64>>,
}

/// What stands in for the players that have not joined.
#[derive(Debug)]
enum Absent {
    /// Background rows.
    Background { codes: Option<CodedRows>, len: usize, weights: Option<Vec<f64>>, histogram: OnceLock<Histogram> },
    /// The shares of the training rows.
    Cover { ratios: OnceLock<Vec<Vec<Vec<f64>>>> },
}

/// Rows coded at a time when the background is not kept.
const PASSING_ROWS: usize = 1 << 18;

impl Explainer {
    /// Compiles a forest, its players and a background whose rows may carry weights.
    pub fn new(
        forest: &Forest,
        players: &Players,
        background: &Rows<'_>,
        weights: Option<&[f64]>,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Self> {
        Self::within(default_limit(), forest, players, background, weights, workers, progress)
    }

    /// The same, with counts and tables that take no more than `memory_limit` bytes; by default half of what is
    /// available.
    pub fn within(
        memory_limit: usize,
        forest: &Forest,
        players: &Players,
        background: &Rows<'_>,
        weights: Option<&[f64]>,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Self> {
        background.expect_width("the background", forest.n_features())?;
        if background.is_empty() {
            return Err(Error::Input(
                "the background has no rows; an explanation needs at least one to compare with".into(),
            ));
        }
        check_weights(weights, background.len())?;
        let absent = Absent::Background {
            codes: None,
            len: background.len(),
            weights: weights.map(<[f64]>::to_vec),
            histogram: OnceLock::new(),
        };
        let mut this = Self::compile(memory_limit, forest, players, absent, workers)?;
        this.take_in(background, workers, progress)?;
        this.expected = this.expect(forest.base(), workers, progress)?;
        Ok(this)
    }

    /// Compiles a forest whose trees say how many training rows went each way, to explain without a background.
    pub fn path_dependent(forest: &Forest, players: &Players, workers: &Workers) -> Result<Self> {
        Self::path_dependent_within(default_limit(), forest, players, workers)
    }

    /// The same, with tables that take no more than `memory_limit` bytes.
    pub fn path_dependent_within(
        memory_limit: usize,
        forest: &Forest,
        players: &Players,
        workers: &Workers,
    ) -> Result<Self> {
        if let Some(tree) = forest.trees().iter().position(|t| t.cover.is_none()) {
            return Err(Error::Input(format!(
                "path-dependent values need the training weight of every node, and tree {tree} has none; give a background"
            )));
        }
        let mut this =
            Self::compile(memory_limit, forest, players, Absent::Cover { ratios: OnceLock::new() }, workers)?;
        this.expected = cover::expected_value(&this.compiled, forest.base());
        Ok(this)
    }

    fn compile(
        memory_limit: usize,
        forest: &Forest,
        players: &Players,
        absent: Absent,
        workers: &Workers,
    ) -> Result<Self> {
        let n_features = forest.n_features();
        if players.n_features() != n_features {
            return Err(Error::Input(format!(
                "the players map {} features, but the model has {n_features}",
                players.n_features()
            )));
        }
        Ok(Self {
            compiled: Compiled::new(forest, players, workers),
            n_features,
            absent,
            expected: Vec::new(),
            memory_limit,
            patterns: OnceLock::new(),
            tables: Mutex::default(),
            rent: Mutex::default(),
        })
    }

    /// Codes the background, and counts it right away where tables will surely be wanted or it is too large to keep.
    fn take_in(&mut self, background: &Rows<'_>, workers: &Workers, progress: &Progress) -> Result<()> {
        let n = background.len();
        let tables = self.compiled.all_tables && self.plan_for(n, Index::Shapley, Engine::Auto)?.tables;
        let keep = !tables || CodedRows::bytes(&self.compiled.columns, n) <= self.memory_limit / 16;
        let Absent::Background { codes, weights, histogram, .. } = &mut self.absent else { return Ok(()) };
        if keep {
            *codes = Some(CodedRows::new(&self.compiled.columns, background, workers));
        }
        if !tables {
            return Ok(());
        }
        let patterns = self.patterns.get_or_init(|| PatternForest::new(&self.compiled.trees, workers));
        let weights = weights.as_deref();
        let mut sums = Histogram::empty(patterns, weights.map(largest))?;
        if let Some(codes) = codes {
            sums.add(patterns, codes, weights, workers, progress)?;
        } else {
            for start in (0..n).step_by(PASSING_ROWS) {
                let end = n.min(start + PASSING_ROWS);
                let codes = CodedRows::new(&self.compiled.columns, &background.slice(start, end), workers);
                sums.add(patterns, &codes, weights.map(|w| &w[start..end]), workers, progress)?;
            }
        }
        *histogram = OnceLock::from(sums);
        Ok(())
    }

    /// The mean margin over the background, from how many rows are in each leaf.
    fn expect(&self, base: &[f64], workers: &Workers, progress: &Progress) -> Result<Vec<f64>> {
        let Absent::Background { codes, weights, histogram, .. } = &self.absent else {
            unreachable!("there is a background")
        };
        let counted = histogram.get().zip(self.patterns.get());
        leaf_weights::expected_value(
            &self.compiled,
            base,
            counted,
            codes.as_ref(),
            weights.as_deref(),
            workers,
            progress,
        )
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

    /// Number of background rows; none for a path-dependent explainer.
    #[must_use]
    pub fn n_background(&self) -> usize {
        match &self.absent {
            Absent::Background { len, .. } => *len,
            Absent::Cover { .. } => 0,
        }
    }

    /// How a call with that many rows would be carried out, and why; an error if it could not be.
    pub fn plan(&self, n_rows: usize, index: Index, engine: Engine) -> Result<Plan> {
        self.plan_for(n_rows, index, engine)
    }

    fn plan_for(&self, rows: usize, index: Index, engine: Engine) -> Result<Plan> {
        let call = plan::Call {
            rows,
            background: self.n_background(),
            index,
            counted: match &self.absent {
                Absent::Background { histogram, .. } => histogram.get().is_some(),
                Absent::Cover { .. } => true,
            },
            built: locked(&self.tables).contains_key(&index),
            memory_limit: self.memory_limit,
            rent: locked(&self.rent).get(&index).copied().unwrap_or(0.0),
        };
        Plan::new(&self.compiled, engine, &call)
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
        let plan = self.plan_for(rows.len(), index, engine)?;
        let compiled = &self.compiled;
        let per_output = index.cells(compiled.n_players).unwrap_or(usize::MAX);
        let mut out = zeros("the result", &[rows.len(), per_output, compiled.n_outputs])?;
        if out.is_empty() {
            return Ok(out);
        }
        let by_tables = |t: &usize| plan.tables && can_have_tables(&compiled.trees[*t]);
        let rest: Vec<usize> = (0..compiled.trees.len()).filter(|t| !by_tables(t)).collect();
        if plan.tables {
            self.by_tables(rows, index, &mut out, workers, progress)?;
        } else if engine == Engine::Auto {
            *locked(&self.rent).entry(index).or_default() += plan.rent;
        }
        match &self.absent {
            Absent::Cover { .. } => cover::explain_cover(compiled, &rest, rows, index, &mut out, workers, progress)?,
            Absent::Background { .. } if rest.is_empty() => {}
            Absent::Background { codes, weights, .. } => {
                let z = codes.as_ref().ok_or_else(too_large)?;
                let w = weights.as_deref();
                let sparse =
                    |t: &usize| engine != Engine::Traversal && compiled.trees[*t].max_path <= pattern::MAX_PLAYERS;
                let (met, walked): (Vec<_>, Vec<_>) = rest.into_iter().partition(sparse);
                pattern::explain_sparse(compiled, &met, z, w, rows, index, &mut out, workers, progress)?;
                traversal::average(compiled, &walked, z, w, rows, index, &mut out, workers, progress)?;
            }
        }
        Ok(out)
    }

    /// Adds what the tables give; kept if they fit, else built and dropped a few at a time.
    fn by_tables(
        &self,
        rows: &Rows<'_>,
        index: Index,
        out: &mut [f64],
        workers: &Workers,
        progress: &Progress,
    ) -> Result<()> {
        let compiled = &self.compiled;
        let patterns = self.patterns.get_or_init(|| PatternForest::new(&compiled.trees, workers));
        let kept = locked(&self.tables).get(&index).cloned();
        if let Some(tables) = kept {
            return tables.explain(patterns, compiled, rows, index, out, workers, progress);
        }
        let source = match &self.absent {
            Absent::Cover { ratios } => {
                let all = || workers.map(compiled.trees.len(), |t| cover::path_ratios(&compiled.trees[t]));
                Source::Cover(ratios.get_or_init(all))
            }
            Absent::Background { codes, weights, histogram, .. } => {
                if histogram.get().is_none() {
                    let codes = codes.as_ref().ok_or_else(too_large)?;
                    let mut sums = Histogram::empty(patterns, weights.as_deref().map(largest))?;
                    sums.add(patterns, codes, weights.as_deref(), workers, progress)?;
                    // Another thread may have been first; its counts are the same.
                    let _ = histogram.set(sums);
                }
                Source::Background(histogram.get().expect("just set"))
            }
        };
        let batches = PatternTables::batches(patterns, compiled, index, self.memory_limit);
        let [all] = &batches[..] else {
            for batch in &batches {
                let tables = PatternTables::new(patterns, compiled, &source, index, batch, workers, progress)?;
                tables.explain(patterns, compiled, rows, index, out, workers, progress)?;
            }
            return Ok(());
        };
        let tables = Arc::new(PatternTables::new(patterns, compiled, &source, index, all, workers, progress)?);
        locked(&self.tables).insert(index, tables.clone());
        tables.explain(patterns, compiled, rows, index, out, workers, progress)
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
        let coded;
        let z = if let Some(background) = background {
            background.expect_width("the background", self.n_features)?;
            coded = CodedRows::new(&self.compiled.columns, background, workers);
            &coded
        } else if let Absent::Background { codes, .. } = &self.absent {
            codes.as_ref().ok_or_else(too_large)?
        } else {
            return Err(Error::Input("pairs need background rows, and this explainer has none; give them".into()));
        };
        traversal::pairs(&self.compiled, z, rows, walk, workers, progress)
    }
}

/// What the lock guards; a thread that panicked while holding it has left nothing half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn default_limit() -> usize {
    memory::available() / 2
}

fn too_large() -> Error {
    Error::Input("the background was too large to keep, only its counts were; give the background rows again".into())
}

fn largest(weights: &[f64]) -> f64 {
    weights.iter().copied().fold(0.0, f64::max)
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
