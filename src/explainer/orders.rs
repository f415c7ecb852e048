//! Sets of players of any size, and members of groups.

use std::sync::Arc;

use super::Explainer;
use super::absent::Absent;
use crate::engine::codes::RowSource;
use crate::engine::compiled::CompiledTree;
use crate::engine::orders::{self, ByPattern, ByUnit, Members, PlayerSets, Sets, Source};
use crate::engine::tables::LeafGains;
use crate::engine::task::Task;
use crate::error::{Argument, Error, Result};
use crate::hierarchy::Hierarchy;
use crate::index::Index;
use crate::job::Job;
use crate::memory::zeros;
use crate::rows::Rows;
use crate::set_index::SetIndex;
use crate::sync::locked;

/// With fewer rows than this, working out all patterns costs more than it saves, because few of them occur.
const TABLE_ROWS: usize = 64;

impl Explainer {
    /// The sets of up to `order` players that share a path, to which [`explain_sets`](Self::explain_sets) gives values.
    pub fn player_sets(&self, order: usize) -> Result<Arc<PlayerSets>> {
        SetIndex::Sii.check(order, self.n_players())?;
        let mut kept = locked(&self.player_sets);
        if let Some(sets) = kept.as_ref().filter(|sets| sets.order() == order) {
            return Ok(sets.clone());
        }
        let sets = Arc::new(PlayerSets::new(&self.compiled, order)?);
        *kept = Some(sets.clone());
        Ok(sets)
    }

    /// An index of sets of up to `order` players: `(rows, sets, outputs)`, in the order of
    /// [`player_sets`](Self::player_sets).
    ///
    /// ```
    /// use arborshap::forest::{Forest, Node, Output, Split, Tree};
    /// use arborshap::{Explainer, Job, Rows, SetIndex};
    ///
    /// // 1 if both features are above 0.
    /// let nodes = vec![
    ///     Node::Split(Split::at(0, 0.0, 1, 2)),
    ///     Node::Leaf(0),
    ///     Node::Split(Split::at(1, 0.0, 3, 4)),
    ///     Node::Leaf(0),
    ///     Node::Leaf(1),
    /// ];
    /// let forest = Forest::new(vec![Tree::new(nodes, vec![0.0, 1.0], Output::One(0))], 2, vec![0.0])?;
    /// let job = Job::new(1);
    /// let explainer = Explainer::builder(&forest).background(&Rows::new(&[-1.0, -1.0][..], 1, 2)?).build(&job)?;
    /// let values = explainer.explain_sets(&Rows::new(&[1.0, 1.0][..], 1, 2)?, &SetIndex::Stii, 2, &job)?;
    /// assert_eq!(values, [0.0, 0.0, 1.0]); // {0}, {1} and {0, 1}
    /// # Ok::<(), arborshap::Error>(())
    /// ```
    pub fn explain_sets(&self, rows: &Rows<'_>, index: &SetIndex, order: usize, job: &Job) -> Result<Vec<f64>> {
        rows.expect_width(Argument::Data, self.forest.n_features())?;
        index.check(order, self.n_players())?;
        let (sets, most) = (self.player_sets(order)?, self.compiled.max_path());
        let moments = index.moments(order, most);
        let mut out = zeros("the result", &[rows.len(), sets.len(), self.n_outputs()])?;
        let rule = Sets::new(&moments, &sets, most);
        if order == 1 {
            self.singles(rows.into(), &rule, &ByPattern(&rule), job, &mut out)?;
            return Ok(out);
        }
        let numbered = sets.len().saturating_mul(self.n_outputs()) < u32::MAX as usize;
        let by_unit = |t: &usize| numbered && orders::goes_by_unit(&self.compiled.trees[*t], order);
        let (units, rest): (Vec<usize>, Vec<usize>) = if self.can_be_counted(job) {
            (0..self.compiled.trees.len()).partition(by_unit)
        } else {
            (Vec::new(), (0..self.compiled.trees.len()).collect())
        };
        if !units.is_empty() {
            job.progress.announce(1);
            let (forest, weights) = (self.patterns(job), &self.pattern_weights(job)?);
            let by_unit = ByUnit { compiled: &self.compiled, forest, weights, moments: &moments, sets: &sets, job };
            by_unit.explain(&units, rows.into(), &mut out)?;
        }
        self.by_classes(&rest, rows.into(), &rule, job, &mut out)?;
        Ok(out)
    }

    /// The values of members of groups: `(rows, players, outputs)`.
    ///
    /// With one level of groups these are Owen values, with nested groups Winter values. The players of each group sum to
    /// what the group as one player would get.
    pub fn explain_members(&self, rows: &Rows<'_>, hierarchy: &Hierarchy, job: &Job) -> Result<Vec<f64>> {
        rows.expect_width(Argument::Data, self.forest.n_features())?;
        if hierarchy.n_players() != self.n_players() {
            let problem = format!(
                "the hierarchy has {} players, but the explainer has {}",
                hierarchy.n_players(),
                self.n_players()
            );
            return Err(Error::input(Argument::Players, problem));
        }
        let mut out = zeros("the result", &[rows.len(), self.n_players(), self.n_outputs()])?;
        let rule = Members::new(hierarchy, self.compiled.max_path());
        self.singles(rows.into(), &rule, &rule, job, &mut out)?;
        Ok(out)
    }

    /// Explains by a rule of single players: with tables of `gains` for trees that can have them, if there are enough
    /// rows, and otherwise class by class.
    fn singles<R: orders::Rule>(
        &self,
        rows: RowSource<'_>,
        rule: &R,
        gains: &dyn LeafGains,
        job: &Job,
        out: &mut [f64],
    ) -> Result<()> {
        let counted = self.can_be_counted(job);
        let by_tables = |t: &usize| counted && rows.len() >= TABLE_ROWS && self.compiled.trees[*t].can_have_tables();
        let (tables, rest): (Vec<usize>, Vec<usize>) = (0..self.compiled.trees.len()).partition(by_tables);
        if !tables.is_empty() {
            let task = Task { compiled: &self.compiled, trees: &tables, rows, index: Index::Shapley, job };
            self.by_tables_of(gains, &task, out)?;
        }
        self.by_classes(&rest, rows, rule, job, out)
    }

    /// Whether the background is counted by pattern, or may be, or is not needed.
    fn can_be_counted(&self, job: &Job) -> bool {
        match &self.absent {
            Absent::Cover { .. } => true,
            Absent::Background(reference) => {
                let bytes = self.patterns(job).n_entries().saturating_mul(size_of::<u128>());
                reference.counted().is_some() || bytes <= self.memory_limit / 2
            }
        }
    }

    /// Adds what some trees give to `out`, class by class.
    fn by_classes<R: orders::Rule>(
        &self,
        trees: &[usize],
        rows: RowSource<'_>,
        rule: &R,
        job: &Job,
        out: &mut [f64],
    ) -> Result<()> {
        if trees.is_empty() {
            return Ok(());
        }
        job.progress.announce(1);
        let source = match &self.absent {
            Absent::Cover { .. } => Source::Cover,
            Absent::Background(reference) => {
                let patterns = self.compiled.all_tables.then(|| self.patterns(job));
                let leaves = self.compiled.trees.iter().map(CompiledTree::n_leaves).sum::<usize>();
                // Counts have an entry for every pattern that could occur. If there are few rows, most of them are
                // zero.
                let few = |n_entries: usize| n_entries <= leaves.saturating_mul(reference.len());
                let wanted = patterns.filter(|patterns| reference.codes().is_none() || few(patterns.n_entries()));
                if let Some(patterns) = wanted {
                    Source::Counts { patterns, counts: reference.counts(patterns, job)? }
                } else {
                    let rows = reference.rows()?;
                    Source::Rows { rows, total: rows.total() }
                }
            }
        };
        orders::explain(&self.compiled, trees, rows, &source, rule, job, out)
    }
}
