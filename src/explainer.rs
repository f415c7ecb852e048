//! A forest, its players and its background, compiled once to explain many rows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::background::{Background, Kept};
use crate::engine::codes::CodedRows;
use crate::engine::compiled::Compiled;
use crate::engine::pattern::{self, Histogram, Onto, PatternForest, PatternTables, Source};
use crate::engine::plan::{self, Engine, Plan, can_have_tables};
use crate::engine::traversal::{self, Walk};
use crate::engine::{cover, leaf_weights};
use crate::error::{Error, Result};
use crate::forest::Forest;
use crate::index::Index;
use crate::job::{Progress, Workers};
use crate::memory::{self, zeros};
use crate::players::Players;
use crate::row_weights::{check_weights, levelled, whole_weights};
use crate::rows::Rows;
use crate::turns::Turns;

/// Explains rows of a forest.
///
/// Against a background, the game is $\nu(S) = E_z[h(x \text{ on } S, z \text{ elsewhere})]$ over the players, and
/// results are the exact index of that game, the mean over all pairs $(x, z)$. Without one, players that have not
/// joined follow the training rows (path-dependent).
#[derive(Debug)]
pub struct Explainer {
    pub(crate) forest: Forest,
    pub(crate) players: Players,
    pub(crate) compiled: Compiled,
    pub(crate) absent: Absent,
    pub(crate) expected: Vec<f64>,
    memory_limit: usize,
    pub(crate) patterns: OnceLock<PatternForest>,
    tables: Mutex<HashMap<Index, Arc<PatternTables>>>,
    building: Turns<Index>,
    /// What earlier calls have spent on going without tables.
    rent: Mutex<HashMap<Index, f64>>,
}

/// What stands in for the players that have not joined.
#[derive(Debug)]
pub(crate) enum Absent {
    /// Background rows.
    Background {
        codes: Option<CodedRows>,
        len: usize,
        weights: Option<Vec<f64>>,
        histogram: OnceLock<Histogram>,
        /// They came in parts, and stand in the order of their codes, equal ones once.
        merged: bool,
    },
    /// The shares of the training rows.
    Cover { ratios: OnceLock<Vec<Vec<Vec<f64>>>> },
}

impl Absent {
    /// Rows that are neither coded nor counted yet.
    pub(crate) fn of(len: usize, weights: Option<Vec<f64>>, merged: bool) -> Self {
        Self::Background { codes: None, len, weights: weights.map(levelled), histogram: OnceLock::new(), merged }
    }
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
        let absent = Absent::of(background.len(), weights.map(<[f64]>::to_vec), false);
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

    /// Compiles a forest, its players and a background that came in parts.
    ///
    /// However the rows were cut into parts, and in whatever order these were merged, the explainer is the same.
    pub fn from_background(
        forest: &Forest,
        players: &Players,
        background: Background,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Self> {
        if background.has_no_weight() {
            return Err(Error::Input(
                "the background has no rows, or none with a weight; an explanation needs at least one".into(),
            ));
        }
        let absent = Absent::of(background.len(), None, true);
        let mut this = Self::compile(default_limit(), forest, players, absent, workers)?;
        let kept = background.kept_of(forest, players, &this.compiled, this.patterns(workers))?;
        if let Absent::Background { codes, weights, histogram, .. } = &mut this.absent {
            match kept {
                Kept::Counts(counts) => *histogram = OnceLock::from(counts),
                Kept::Rows(rows) => {
                    *codes = Some(rows.coded(&this.compiled.columns)?);
                    *weights = rows.weights();
                }
            }
        }
        this.count_if_wanted(workers, progress)?;
        this.expected = this.expect(forest.base(), workers, progress)?;
        Ok(this)
    }

    /// The same explainer with tables that take no more than so many bytes.
    #[must_use]
    pub fn limited_to(self, memory_limit: usize) -> Self {
        Self { memory_limit, ..self }
    }

    pub(crate) fn compile(
        memory_limit: usize,
        forest: &Forest,
        players: &Players,
        absent: Absent,
        workers: &Workers,
    ) -> Result<Self> {
        check_players(forest, players)?;
        check_range(forest)?;
        Ok(Self {
            forest: forest.clone(),
            players: players.clone(),
            compiled: Compiled::new(forest, players, workers),
            absent,
            expected: Vec::new(),
            memory_limit,
            patterns: OnceLock::new(),
            tables: Mutex::default(),
            building: Turns::default(),
            rent: Mutex::default(),
        })
    }

    /// Codes the background, and counts it right away where tables will surely be wanted or it is too large to keep.
    fn take_in(&mut self, background: &Rows<'_>, workers: &Workers, progress: &Progress) -> Result<()> {
        let n = background.len();
        let keep = !self.wants_counts(n)? || CodedRows::bytes(&self.compiled.columns, n) <= self.memory_limit / 16;
        let Absent::Background { codes, weights, histogram, .. } = &mut self.absent else { return Ok(()) };
        if keep {
            *codes = Some(CodedRows::new(&self.compiled.columns, background, workers)?);
            return self.count_if_wanted(workers, progress);
        }
        let patterns = once(&self.patterns, || PatternForest::new(&self.compiled.trees, workers));
        let mut sums = Histogram::empty(patterns, weights.is_some())?;
        let weight = whole_weights(weights.as_deref());
        progress.stages(n.div_ceil(PASSING_ROWS));
        for start in (0..n).step_by(PASSING_ROWS) {
            let end = n.min(start + PASSING_ROWS);
            let codes = CodedRows::new(&self.compiled.columns, &background.slice(start, end), workers)?;
            sums.add(patterns, &codes, &|row| weight(start + row), workers, progress)?;
        }
        drop(weight);
        *histogram = OnceLock::from(sums);
        // Rows that are not kept need no weights either.
        *weights = None;
        Ok(())
    }

    /// Whether tables will surely be wanted, so that the background is best counted right away.
    fn wants_counts(&self, n: usize) -> Result<bool> {
        Ok(self.compiled.all_tables && self.plan_for(n, Index::Shapley, Engine::Auto)?.tables)
    }

    /// Counts the rows that are kept, if tables will surely be wanted.
    fn count_if_wanted(&self, workers: &Workers, progress: &Progress) -> Result<()> {
        match &self.absent {
            Absent::Background { codes: Some(codes), .. } if self.wants_counts(codes.len())? => {
                self.counts(workers, progress).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// The background's histogram, counted now if it was not before.
    pub(crate) fn counts(&self, workers: &Workers, progress: &Progress) -> Result<&Histogram> {
        let Absent::Background { codes, weights, histogram, .. } = &self.absent else {
            unreachable!("there is a background")
        };
        if histogram.get().is_none() {
            let (patterns, codes) = (self.patterns(workers), codes.as_ref().ok_or_else(only_counts)?);
            let mut sums = Histogram::empty(patterns, weights.is_some())?;
            progress.stages(1);
            sums.add(patterns, codes, &whole_weights(weights.as_deref()), workers, progress)?;
            // Another thread may have been first; its counts are the same.
            let _ = histogram.set(sums);
        }
        Ok(histogram.get().expect("just set"))
    }

    /// Whether counts would leave half of the memory limit to others, as any plan demands.
    pub(crate) fn can_count(&self, workers: &Workers) -> bool {
        self.patterns(workers).n_entries().saturating_mul(size_of::<u128>()) <= self.memory_limit / 2
    }

    pub(crate) fn patterns(&self, workers: &Workers) -> &PatternForest {
        once(&self.patterns, || PatternForest::new(&self.compiled.trees, workers))
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
        let (counted, kept) = match &self.absent {
            Absent::Background { codes, histogram, .. } => (histogram.get().is_some(), codes.as_ref()),
            Absent::Cover { .. } => (true, None),
        };
        let call = plan::Call {
            rows,
            // Of rows that came in parts, equal ones are kept once.
            background: kept.map_or(self.n_background(), CodedRows::len),
            index,
            counted,
            built: locked(&self.tables).contains_key(&index),
            memory_limit: self.memory_limit,
            rent: locked(&self.rent).get(&index).copied().unwrap_or(0.0),
        };
        let only_counts = counted && kept.is_none() && call.background > 0;
        if engine == Engine::Auto && only_counts && !call.built {
            let reason = "only the background's counts were kept, and they serve tables alone".into();
            return Ok(Plan { reason, ..Plan::new(&self.compiled, Engine::Pattern, &call)? });
        }
        Plan::new(&self.compiled, engine, &call)
    }

    /// For each index, what earlier calls have spent on going without tables; without end where there are tables.
    pub(crate) fn rents(&self) -> [f64; 4] {
        Index::ALL.map(|index| {
            let built = locked(&self.tables).contains_key(&index);
            if built { f64::INFINITY } else { locked(&self.rent).get(&index).copied().unwrap_or(0.0) }
        })
    }

    pub(crate) fn set_rents(&self, rents: [f64; 4]) {
        *locked(&self.rent) = Index::ALL.into_iter().zip(rents).collect();
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
        rows.expect_width("the data", self.forest.n_features())?;
        let plan = self.plan_for(rows.len(), index, engine)?;
        let compiled = &self.compiled;
        let per_output = index.cells(compiled.n_players).unwrap_or(usize::MAX);
        let mut out = zeros("the result", &[rows.len(), per_output, compiled.n_outputs])?;
        if out.is_empty() {
            return Ok(out);
        }
        let by_tables = |t: &usize| plan.tables && can_have_tables(&compiled.trees[*t]);
        let rest: Vec<usize> = (0..compiled.trees.len()).filter(|t| !by_tables(t)).collect();
        let path_dependent = matches!(self.absent, Absent::Cover { .. });
        let walks = |t: &usize| {
            path_dependent || engine == Engine::Traversal || compiled.trees[*t].max_path > pattern::MAX_PLAYERS
        };
        let (walked, met): (Vec<_>, Vec<_>) = rest.into_iter().partition(walks);
        progress.stages(usize::from(!met.is_empty()) + usize::from(!walked.is_empty()));
        if plan.tables {
            self.by_tables(rows, index, &mut out, workers, progress)?;
        } else if engine == Engine::Auto {
            *locked(&self.rent).entry(index).or_default() += plan.rent;
        }
        match &self.absent {
            Absent::Cover { .. } => cover::explain_cover(compiled, &walked, rows, index, &mut out, workers, progress)?,
            Absent::Background { .. } if met.is_empty() && walked.is_empty() => {}
            Absent::Background { codes, weights, .. } => {
                let z = codes.as_ref().ok_or_else(only_counts)?;
                let w = weights.as_deref();
                pattern::explain_sparse(compiled, &met, z, w, rows, index, &mut out, workers, progress)?;
                traversal::average(compiled, &walked, z, w, rows, index, &mut out, workers, progress)?;
            }
        }
        Ok(out)
    }

    /// Puts what the tables give into `out`, all zeros; they are kept if they fit, else built and dropped a few at a time.
    fn by_tables(
        &self,
        rows: &Rows<'_>,
        index: Index,
        out: &mut [f64],
        workers: &Workers,
        progress: &Progress,
    ) -> Result<()> {
        let compiled = &self.compiled;
        let by_kept = |tables: &PatternTables, out: &mut [f64]| {
            progress.stages(1);
            tables.explain(self.patterns(workers), compiled, rows, index, Onto::Nothing(out), workers, progress)
        };
        let kept = || locked(&self.tables).get(&index).cloned();
        if let Some(tables) = kept() {
            return by_kept(&tables, out);
        }
        let turn = self.building.take(index, progress)?;
        if let Some(tables) = kept() {
            drop(turn);
            return by_kept(&tables, out);
        }
        let patterns = self.patterns(workers);
        let batches = PatternTables::batches(patterns, compiled, index, self.memory_limit);
        progress.stages(2 * batches.len());
        let source = match &self.absent {
            Absent::Cover { ratios } => {
                let all = || workers.map(compiled.trees.len(), |t| cover::path_ratios(&compiled.trees[t]));
                Source::Cover(once(ratios, all).as_slice())
            }
            Absent::Background { .. } => Source::Background(self.counts(workers, progress)?),
        };
        // The turn is kept meanwhile: two callers at once would take twice the memory.
        let [all] = &batches[..] else {
            for (i, batch) in batches.iter().enumerate() {
                let tables = PatternTables::new(patterns, compiled, &source, index, batch, workers, progress)?;
                let onto = if i == 0 { Onto::Nothing(&mut *out) } else { Onto::Sums(&mut *out) };
                tables.explain(patterns, compiled, rows, index, onto, workers, progress)?;
            }
            return Ok(());
        };
        let tables = Arc::new(PatternTables::new(patterns, compiled, &source, index, all, workers, progress)?);
        locked(&self.tables).insert(index, tables.clone());
        drop(turn);
        tables.explain(patterns, compiled, rows, index, Onto::Nothing(out), workers, progress)
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
        rows.expect_width("the data", self.forest.n_features())?;
        let coded;
        let z = if let Some(background) = background {
            background.expect_width("the background", self.forest.n_features())?;
            coded = CodedRows::new(&self.compiled.columns, background, workers)?;
            &coded
        } else if let Absent::Background { merged: true, .. } = &self.absent {
            return Err(Error::Input(
                "a background that came in parts has no order of its rows; give the rows to pair with".into(),
            ));
        } else if let Absent::Background { codes, .. } = &self.absent {
            codes.as_ref().ok_or_else(only_counts)?
        } else {
            return Err(Error::Input("pairs need background rows, and this explainer has none; give them".into()));
        };
        traversal::pairs(&self.compiled, z, rows, walk, workers, progress)
    }
}

/// What the cell holds, made now if it was not before.
///
/// Not `get_or_init`, in which others would wait: a worker of somebody's own rayon pool does other work of that pool
/// while our threads make it, and would come back to wait for itself.
fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    if cell.get().is_none() {
        // Another thread may have been first; it made the same.
        let _ = cell.set(make());
    }
    cell.get().expect("just set")
}

/// What the lock guards; a thread that panicked while holding it has left nothing half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn default_limit() -> usize {
    memory::available() / 2
}

fn only_counts() -> Error {
    Error::Input(
        "only the counts of the background were kept, as it was too large or came in parts; give the rows again, or \
         leave the engine open"
            .into(),
    )
}

pub(crate) fn check_players(forest: &Forest, players: &Players) -> Result<()> {
    let (mapped, n_features) = (players.n_features(), forest.n_features());
    if mapped == n_features {
        return Ok(());
    }
    Err(Error::Input(format!("the players map {mapped} features, but the model has {n_features}")))
}

/// The largest sum of leaves: with it, sums over 2^63 background rows are still within the range of float64.
const LARGEST_SUM: f64 = f64::MAX / (1_u128 << 64) as f64;

/// An error if sums over the trees and the background could leave the range of float64.
fn check_range(forest: &Forest) -> Result<()> {
    let largest = |values: &[f64]| values.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    let mut sum = 0.0;
    for (t, tree) in forest.trees().iter().enumerate() {
        let most = largest(&tree.values);
        sum += most;
        if sum > LARGEST_SUM {
            return Err(Error::Forest(format!(
                "leaves of tree {t} are as large as {most:e}, and sums over trees and background rows would leave the \
                 range of float64; divide the model's outputs by a power of two so that they stay below {LARGEST_SUM:.0e}"
            )));
        }
    }
    Ok(())
}
