//! The mean over rows that were counted, instead of one result per row.
//!
//! What a row gets from a unit depends only on its outcome there, so the mean over many rows needs only how many of them have
//! each outcome.

use super::build::RunTables;
use super::{Histogram, PatternForest, PatternTables};
use crate::engine::cells::CellMap;
use crate::engine::task::Task;
use crate::error::Result;

impl PatternTables {
    /// Adds the mean of the task's index over counted rows to `out`, which has the shape of the result of one row.
    ///
    /// Runs are added one after another, so the bits depend neither on threads nor on how tables were batched.
    pub(crate) fn add_mean(
        &self,
        forest: &PatternForest,
        task: &Task<'_>,
        rows: &Histogram,
        out: &mut [f64],
    ) -> Result<()> {
        let cells = CellMap::new(task.index, task.compiled.n_players, task.compiled.n_outputs);
        task.job.progress.begin(self.runs.len());
        let means = task.job.workers.map(self.runs.len(), |i| -> Result<_> {
            task.job.progress.step()?;
            Ok(mean_of_run(forest, &self.runs[i], rows, cells))
        });
        for mean in means {
            cells.exchange(&mut mean?, out, |sum, cell| *cell += *sum);
        }
        Ok(())
    }
}

fn mean_of_run(forest: &PatternForest, run: &RunTables, rows: &Histogram, cells: CellMap) -> Vec<[f64; 1]> {
    let mut sums = vec![[0.0]; cells.count()];
    let tree = forest.tree(run.tree);
    for unit in run.units.clone() {
        let (cells, numbers) = run.table(unit);
        for (entry, numbers) in (tree.entries[unit]..).zip(numbers.chunks_exact(cells.len().max(1))) {
            let share = rows.share(entry);
            if share > 0.0 {
                for (&cell, number) in cells.iter().zip(numbers) {
                    sums[cell as usize][0] += share * number;
                }
            }
        }
    }
    sums
}
