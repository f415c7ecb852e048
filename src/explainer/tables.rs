//! The tables that an explainer keeps, and what earlier calls have spent for want of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::Explainer;
use super::absent::Absent;
use crate::engine::cover;
use crate::engine::tables::{LeafGains, PatternTables, PatternWeights, Target};
use crate::engine::task::Task;
use crate::error::Result;
use crate::index::Index;
use crate::job::Job;
use crate::sync::{Turns, locked, once};

/// Tables by index, built on demand.
#[derive(Debug, Default)]
pub(super) struct TableCache {
    kept: Mutex<HashMap<Index, Arc<PatternTables>>>,
    building: Turns<Index>,
    /// Nanoseconds that earlier calls have spent because there were no tables.
    rent: Mutex<HashMap<Index, f64>>,
}

impl TableCache {
    pub(super) fn has(&self, index: Index) -> bool {
        locked(&self.kept).contains_key(&index)
    }

    fn get(&self, index: Index) -> Option<Arc<PatternTables>> {
        locked(&self.kept).get(&index).cloned()
    }

    pub(super) fn rent(&self, index: Index) -> f64 {
        locked(&self.rent).get(&index).copied().unwrap_or(0.0)
    }

    pub(super) fn add_rent(&self, index: Index, rent: f64) {
        *locked(&self.rent).entry(index).or_default() += rent;
    }

    /// The rent of every index; infinite if its tables exist, so that they are built again at the first call.
    pub(super) fn rents(&self) -> [f64; 4] {
        Index::ALL.map(|index| if self.has(index) { f64::INFINITY } else { self.rent(index) })
    }

    pub(super) fn set_rents(&self, rents: [f64; 4]) {
        *locked(&self.rent) = Index::ALL.into_iter().zip(rents).collect();
    }
}

impl Explainer {
    /// Writes what the tables give to `out`, which is all zeros.
    pub(super) fn by_tables(&self, task: &Task<'_>, out: &mut [f64]) -> Result<()> {
        let patterns = self.patterns(task.job);
        let mut untouched = true;
        self.with_tables(task, |tables| {
            let target = if untouched { Target::Zeros(&mut *out) } else { Target::Sums(&mut *out) };
            untouched = false;
            tables.explain(patterns, task, target)
        })
    }

    /// The weight of each background pattern of every leaf that can have tables; counted now if it was not before.
    pub(super) fn pattern_weights(&self, job: &Job) -> Result<PatternWeights<'_>> {
        Ok(match &self.absent {
            Absent::Cover { ratios } => {
                let trees = &self.compiled.trees;
                let all = || job.workers.map(trees.len(), |t| cover::path_ratios(&trees[t]));
                PatternWeights::Cover(once(ratios, all).as_slice())
            }
            Absent::Background(reference) => PatternWeights::Background(reference.counts(self.patterns(job), job)?),
        })
    }

    /// Builds tables for this call alone, and writes what they give to `out`, which is all zeros.
    pub(super) fn by_tables_of(&self, gains: &dyn LeafGains, task: &Task<'_>, out: &mut [f64]) -> Result<()> {
        let (patterns, weights) = (self.patterns(task.job), self.pattern_weights(task.job)?);
        let batches = PatternTables::batches(patterns, task, self.memory_limit);
        task.job.progress.announce(2 * batches.len());
        for (i, batch) in batches.iter().enumerate() {
            let target = if i == 0 { Target::Zeros(&mut *out) } else { Target::Sums(&mut *out) };
            PatternTables::new(patterns, task, &weights, batch, Some(gains))?.explain(patterns, task, target)?;
        }
        Ok(())
    }

    /// Calls `read` with the tables of all trees. The tables are kept if they fit in memory; otherwise they are built and
    /// dropped batch by batch, and `read` is called for each batch.
    pub(super) fn with_tables(
        &self,
        task: &Task<'_>,
        mut read: impl FnMut(&PatternTables) -> Result<()>,
    ) -> Result<()> {
        let (job, index) = (task.job, task.index);
        let patterns = self.patterns(job);
        let mut from_kept = |tables: &PatternTables| {
            job.progress.announce(1);
            read(tables)
        };
        if let Some(tables) = self.tables.get(index) {
            return from_kept(&tables);
        }
        let turn = self.tables.building.take(index, || job.progress.is_cancelled())?;
        if let Some(tables) = self.tables.get(index) {
            drop(turn);
            return from_kept(&tables);
        }
        let batches = PatternTables::batches(patterns, task, self.memory_limit);
        job.progress.announce(2 * batches.len());
        let weights = self.pattern_weights(job)?;
        // The turn is kept meanwhile: two callers at once would take twice the memory.
        let [all] = &batches[..] else {
            for batch in &batches {
                read(&PatternTables::new(patterns, task, &weights, batch, None)?)?;
            }
            return Ok(());
        };
        let tables = Arc::new(PatternTables::new(patterns, task, &weights, all, None)?);
        locked(&self.tables.kept).insert(index, tables.clone());
        drop(turn);
        read(&tables)
    }
}
