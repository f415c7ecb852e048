//! Sets of players of any size, and members of groups.
//!
//! The rows go down each tree together with the background. At a leaf, rows that fail the same players are one *class*. What a
//! class gets from the leaf is worked out once, from the distinct patterns of the background, or from the ratios of the
//! training rows if there is no background. Then every row adds what its class gets. Paths may have any number of players.
//!
//! Trees with few players on their paths, which most are, have a shorter way to sets: their rows are sorted by the outcome of
//! whole units, as for tables, and a transform works all patterns of a leaf out together.
//!
//! | file | what |
//! |---|---|
//! | `classes` | rows that fail the same players |
//! | `walk` | the way of rows and background through a tree |
//! | `others` | what stands in for players that have not joined, leaf by leaf |
//! | `rule` | what the leaf rules have in common |
//! | `subsets` | how the sets of a path are numbered |
//! | `player_sets` | how the sets of a forest are numbered |
//! | `sets` | the leaf rule of sets of players |
//! | `by_unit` | the same for trees with few players on their paths, unit by unit |
//! | `unit_sets` | what the units of a tree give to sets |
//! | `leaf_sets` | what a leaf gives to sets, for all patterns at once |
//! | `members` | the leaf rule of members of groups |
//! | `collapsed` | the same for leaves with few players, from counts by pattern |
//! | `by_pattern` | any rule of single players in tables |
//! | `sums` | adding what classes get to rows |

mod by_pattern;
mod by_unit;
mod classes;
mod collapsed;
mod leaf_sets;
mod members;
mod others;
mod player_sets;
mod rule;
mod sets;
mod subsets;
mod sums;
mod unit_sets;
mod walk;

pub(crate) use by_pattern::ByPattern;
pub(crate) use by_unit::{ByUnit, goes_by_unit};
pub(crate) use members::Members;
pub(crate) use others::Source;
pub use player_sets::PlayerSets;
pub(crate) use rule::Rule;
pub(crate) use sets::Sets;

use super::codes::{CodedRows, RowSource, SET};
use super::compiled::Compiled;
use crate::error::Result;
use crate::job::Job;
use sums::Sums;
use walk::TreeWalk;

use super::sets::WideSet;

/// The most rows that a thread takes at a time.
const MOST_ROWS: usize = 4096;

/// Adds what the leaves of some trees give to each row, `cells` numbers per row and output, to `out`.
///
/// A row's sums go tree after tree and leaf after leaf, and what its class gets does not depend on other rows, so results
/// are bitwise the same for any number of threads and any batch of rows.
pub(crate) fn explain<R: Rule>(
    compiled: &Compiled,
    trees: &[usize],
    rows: RowSource<'_>,
    source: &Source<'_>,
    rule: &R,
    job: &Job,
    out: &mut [f64],
) -> Result<()> {
    if rows.len() == 0 || out.is_empty() || trees.is_empty() {
        return Ok(());
    }
    let x = CodedRows::new(&compiled.columns, rows, &job.workers)?;
    let row_cells = out.len() / rows.len();
    let block = rows.len().div_ceil(job.workers.threads()).next_multiple_of(SET).min(MOST_ROWS);
    job.progress.begin(rows.len().div_ceil(block) * trees.len());
    job.workers.fill(out, block * row_cells, |number, out| {
        let first = number * block;
        let mut room = R::Room::default();
        let mut sums = Sums::new(out, row_cells, compiled.n_outputs);
        for &t in trees {
            let tree = &compiled.trees[t];
            let walk = TreeWalk { tree, x: &x, first, source, rule, job };
            if tree.max_path <= 64 {
                walk.run::<u64>(t, &mut room, &mut sums)?;
            } else {
                walk.run::<WideSet>(t, &mut room, &mut sums)?;
            }
            job.progress.step()?;
        }
        Ok(())
    })
}
