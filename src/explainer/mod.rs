//! A forest, its players and its background, compiled once to explain many rows.
//!
//! | file | what |
//! |---|---|
//! | `build` | making explainers from a forest and its background |
//! | `parts` | making them from the parts that were saved |
//! | `absent` | what stands in for the players that have not joined |
//! | `tables` | the tables that are kept, and when they are built |
//! | `orders` | sets of players of any size, and members of groups |
//! | `pairs` | the values of every pair |
//! | `regroup` | the same forest and background with other players |
//! | `population` | the mean over a population that was counted |
//! | `coalitions` | mean predictions with some players from the row |
//! | `standard_error` | how far values may be off because the background is a sample |

mod absent;
mod build;
mod coalitions;
mod orders;
mod pairs;
mod parts;
mod population;
mod regroup;
mod standard_error;
mod tables;

use std::sync::{Arc, Mutex, OnceLock};

pub(crate) use absent::Reference;
pub use build::Builder;
pub(crate) use parts::{BackgroundParts, KeptParts, Parts};

use crate::engine::codes::{CodedRows, RowSource};
use crate::engine::compiled::Compiled;
use crate::engine::expected_value::{Known, expected_value};
use crate::engine::orders::PlayerSets;
use crate::engine::plan::{Circumstances, Engine, Plan, Way};
use crate::engine::tables::PatternForest;
use crate::engine::task::{BackgroundRows, Task};
use crate::engine::{cover, fingerprint, ranked, sparse, traversal};
use crate::error::{Argument, Error, Result};
use crate::forest::Forest;
use crate::index::Index;
use crate::job::Job;
use crate::memory::zeros;
use crate::players::Players;
use crate::rows::Rows;
use crate::sync::once;
use absent::Absent;
use tables::TableCache;

/// Explains the predictions of a forest; [`Explainer::builder`] makes one.
///
/// Against a background, the game is $\nu(S) = E_z[h(x \text{ on } S, z \text{ elsewhere})]$ over the players, and
/// results are the exact index of that game: the mean over all pairs $(x, z)$. Without a background, players that have
/// not joined follow the training rows (path-dependent).
///
/// Calls may run at the same time on several threads. Tables that a call builds are kept for later calls.
#[derive(Debug)]
pub struct Explainer {
    forest: Forest,
    players: Players,
    compiled: Compiled,
    absent: Absent,
    expected: Vec<f64>,
    memory_limit: usize,
    patterns: OnceLock<PatternForest>,
    tables: TableCache,
    /// What a sample of the background says about pairs; see [`traversal::relative_meets`].
    meets: OnceLock<f64>,
    /// The sets that were asked for last.
    player_sets: Mutex<Option<Arc<PlayerSets>>>,
}

impl Explainer {
    /// Begins an explainer of a forest.
    ///
    /// ```
    /// use arborshap::forest::{Forest, Node, Output, Split, Tree};
    /// use arborshap::{Explainer, Job, Rows};
    ///
    /// let nodes = vec![Node::Split(Split::at(0, 0.0, 1, 2)), Node::Leaf(0), Node::Leaf(1)];
    /// let stump = Tree::new(nodes, vec![1.0, 4.0], Output::One(0));
    /// let forest = Forest::new(vec![stump], 1, vec![0.0])?;
    /// let background = Rows::new(&[-1.0, 2.0][..], 2, 1)?;
    /// let builder = Explainer::builder(&forest).background(&background).weights(&[3.0, 1.0]);
    /// let explainer = builder.memory_limit(1 << 30).build(&Job::new(1))?;
    /// assert_eq!(explainer.expected_value(), [1.75]);
    /// # Ok::<(), arborshap::Error>(())
    /// ```
    pub fn builder(forest: &Forest) -> Builder<'_> {
        Builder::new(forest)
    }

    fn new(forest: Forest, players: Players, compiled: Compiled, absent: Absent, memory_limit: usize) -> Self {
        Self {
            forest,
            players,
            compiled,
            absent,
            expected: Vec::new(),
            memory_limit,
            patterns: OnceLock::new(),
            tables: TableCache::default(),
            meets: OnceLock::new(),
            player_sets: Mutex::default(),
        }
    }

    /// Changes how many bytes counts and tables may take.
    pub fn set_memory_limit(&mut self, bytes: usize) {
        self.memory_limit = bytes;
    }

    /// The forest.
    #[must_use]
    pub fn forest(&self) -> &Forest {
        &self.forest
    }

    /// Who the players are.
    #[must_use]
    pub fn players(&self) -> &Players {
        &self.players
    }

    /// The weighted mean of $h(z)$ over the background, one number per output.
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

    /// Number of background rows; 0 for a path-dependent explainer.
    #[must_use]
    pub fn n_background(&self) -> usize {
        self.reference().map_or(0, Reference::len)
    }

    /// The background, unless the explainer is path-dependent.
    pub(crate) fn reference(&self) -> Option<&Reference> {
        match &self.absent {
            Absent::Background(reference) => Some(reference),
            Absent::Cover { .. } => None,
        }
    }

    /// How codes are laid out.
    pub(crate) fn layout(&self) -> u64 {
        fingerprint::layout(&self.compiled)
    }

    /// What earlier calls have spent for want of tables, index by index.
    pub(crate) fn rents(&self) -> [f64; 4] {
        self.tables.rents()
    }

    fn patterns(&self, job: &Job) -> &PatternForest {
        once(&self.patterns, || PatternForest::new(&self.compiled.trees, &job.workers))
    }

    /// Computes the expected value from what is known of the background.
    fn expect(&mut self, job: &Job) -> Result<()> {
        let counts = self.reference().and_then(Reference::counted).zip(self.patterns.get());
        let known = Known { counts, rows: self.reference().and_then(|reference| reference.rows().ok()) };
        self.expected = expected_value(&self.compiled, self.forest.base(), known, job)?;
        Ok(())
    }

    /// How a call with that many rows would be carried out, and why.
    #[must_use]
    pub fn plan(&self, n_rows: usize, index: Index, engine: Engine) -> Plan {
        let (counted, kept) = match &self.absent {
            Absent::Background(reference) => (reference.counted().is_some(), reference.codes()),
            Absent::Cover { .. } => (true, None),
        };
        let now = Circumstances {
            rows: n_rows,
            // A background that came in parts keeps equal rows once.
            background: kept.map_or(self.n_background(), CodedRows::len),
            index,
            meets: kept.map_or(1.0, |rows| *once(&self.meets, || traversal::relative_meets(&self.compiled, rows))),
            counted,
            built: self.tables.has(index),
            memory_limit: self.memory_limit,
            rent: self.tables.rent(index),
        };
        let only_counts = counted && kept.is_none() && now.background > 0;
        if engine == Engine::Auto && only_counts && !now.built {
            let reason = "only the background's counts were kept, and they serve tables alone".into();
            return Plan { engine, reason, ..Plan::new(&self.compiled, Engine::Pattern, &now) };
        }
        Plan::new(&self.compiled, engine, &now)
    }

    /// The index of each row, averaged over the background: `(rows, players, outputs)`, or
    /// `(rows, players, players, outputs)` for an index of pairs.
    pub fn explain(&self, rows: &Rows<'_>, index: Index, engine: Engine, job: &Job) -> Result<Vec<f64>> {
        rows.expect_width(Argument::Data, self.forest.n_features())?;
        self.carry_out(&self.plan(rows.len(), index, engine), rows, job)
    }

    /// Like [`explain`](Self::explain), by a plan that [`plan`](Self::plan) of this explainer made for as many rows.
    pub fn carry_out(&self, plan: &Plan, rows: &Rows<'_>, job: &Job) -> Result<Vec<f64>> {
        rows.expect_width(Argument::Data, self.forest.n_features())?;
        if plan.n_rows != rows.len() {
            let problem = format!("the plan is for {} rows, but {} are given", plan.n_rows, rows.len());
            return Err(Error::input(Argument::Plan, problem));
        }
        self.run(plan, rows.into(), None, job)
    }

    /// Carries out a plan for as many rows; for trees without tables, perhaps against another background.
    fn run(
        &self,
        plan: &Plan,
        rows: RowSource<'_>,
        instead: Option<&BackgroundRows<'_>>,
        job: &Job,
    ) -> Result<Vec<f64>> {
        let compiled = &self.compiled;
        let per_output = plan.index.cells(compiled.n_players).unwrap_or(usize::MAX);
        let mut out = zeros("the result", &[rows.len(), per_output, compiled.n_outputs])?;
        if out.is_empty() {
            return Ok(out);
        }
        let trees = Division::new(compiled, plan);
        let task = |trees| Task { compiled, trees, rows, index: plan.index, job };
        let stages = [&trees.counts, &trees.pairs, &trees.walk].into_iter().filter(|trees| !trees.is_empty()).count();
        job.progress.announce(stages);
        if plan.has_tables() {
            self.by_tables(&task(&trees.tables), &mut out)?;
        } else if plan.engine == Engine::Auto {
            self.tables.add_rent(plan.index, plan.rent);
        }
        match &self.absent {
            Absent::Cover { .. } => cover::explain(&task(&trees.walk), &mut out)?,
            Absent::Background(_) if stages == 0 => {}
            Absent::Background(reference) => {
                let background = instead.map_or_else(|| reference.rows(), |&background| Ok(background))?;
                ranked::explain(&task(&trees.counts), &background, &mut out)?;
                sparse::explain(&task(&trees.pairs), &background, &mut out)?;
                traversal::average(&task(&trees.walk), &background, &mut out)?;
            }
        }
        Ok(out)
    }
}

/// Which trees are explained in which way.
struct Division {
    tables: Vec<usize>,
    counts: Vec<usize>,
    pairs: Vec<usize>,
    /// Walked pair by pair; all trees without tables if there is no background.
    walk: Vec<usize>,
}

impl Division {
    fn new(compiled: &Compiled, plan: &Plan) -> Self {
        let all = |way: Way| (0..compiled.trees.len()).filter(|&t| plan.way(&compiled.trees[t]) == way).collect();
        Self { tables: all(Way::Tables), counts: all(Way::Counts), pairs: all(Way::Pairs), walk: all(Way::Walk) }
    }
}
