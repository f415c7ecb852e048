//! The tables engine (`Engine::Pattern`, for trees that can have tables): it costs n + m instead of n * m.
//!
//! A row and a background row meet at a leaf only through their *patterns*: one bit for each player on the path, set if
//! the row satisfies every split of that player. So the background is counted by pattern once. One transform per leaf
//! turns the counts into what each pattern of a row is worth, and a row then costs one look-up per unit and player.
//!
//! | file | what |
//! |---|---|
//! | `units` | trees divided into bottom subtrees that share one table |
//! | `divide` | how one tree is divided |
//! | `outcomes` | the outcome of every unit for a block of rows: the number that its table is looked up by |
//! | `histogram` | how much of the background has each outcome |
//! | `tally` | counting rows |
//! | `pattern_weights` | the weight of each background pattern of a leaf |
//! | `transform` | from these weights to the worth of a row's pattern, for any index of games |
//! | `leaf_gains` | other rules than those of indices, for tables of one call |
//! | `build` | the tables of units: the worth of each of their outcomes |
//! | `players` | the same for an index of players |
//! | `explain` | rows through the tables |
//! | `row_outcomes` | the outcomes of rows, kept for rules that have no tables here |
//! | `mean` | rows that were counted through the tables: their mean |

mod build;
mod divide;
mod explain;
mod histogram;
mod leaf_gains;
mod mean;
mod outcomes;
mod pattern_weights;
mod players;
mod row_outcomes;
mod tally;
mod transform;
mod units;

pub(crate) use explain::{PatternTables, Target};
pub(crate) use histogram::Histogram;
pub(crate) use leaf_gains::LeafGains;
pub(crate) use pattern_weights::PatternWeights;
pub(crate) use units::{Unit, UnitLeaf};

use super::compiled::CompiledTree;
use crate::job::Workers;
use units::Units;

/// The trees of a forest that can have tables, divided into units.
#[derive(Debug)]
pub(crate) struct PatternForest {
    trees: Vec<Option<TreeUnits>>,
    /// Entries of all histograms together.
    n_entries: usize,
}

/// The units of one tree, and where the histogram of each begins.
#[derive(Debug)]
struct TreeUnits {
    units: Units,
    entries: Vec<usize>,
}

impl PatternForest {
    /// Divides the trees that can have tables.
    pub(crate) fn new(trees: &[CompiledTree], workers: &Workers) -> Self {
        let units = workers.map(trees.len(), |t| trees[t].can_have_tables().then(|| Units::new(&trees[t])));
        let mut n_entries = 0;
        let placed = |units: Option<Units>| {
            let units = units?;
            let entries = units.all.iter().map(|unit| {
                n_entries += 1 << unit.bits;
                n_entries - (1 << unit.bits)
            });
            let entries = entries.collect();
            Some(TreeUnits { units, entries })
        };
        Self { trees: units.into_iter().map(placed).collect(), n_entries }
    }

    /// Entries of all histograms together.
    pub(crate) fn n_entries(&self) -> usize {
        self.n_entries
    }

    /// The units of a tree that can have tables.
    #[inline(always)]
    fn tree(&self, t: usize) -> &TreeUnits {
        self.trees[t].as_ref().expect("only trees that can have tables are asked for")
    }

    /// The units of a tree, from left to right.
    pub(crate) fn units(&self, t: usize) -> &[Unit] {
        &self.tree(t).units.all
    }

    /// Writes the weight of each background pattern of a leaf to `c`; all of them sum to one.
    pub(crate) fn leaf_weights(
        &self,
        weights: &PatternWeights<'_>,
        t: usize,
        unit: usize,
        leaf: &UnitLeaf,
        c: &mut Vec<f64>,
    ) {
        c.clear();
        c.resize(1 << leaf.players.len(), 0.0);
        weights.of_leaf(self.tree(t), t, unit, leaf, c);
    }

    /// For each leaf of a tree, the patterns of the background that occur, as the players that they fail, and the share
    /// of the background that has each.
    pub(crate) fn pattern_shares(&self, t: usize, tree: &CompiledTree, histogram: &Histogram) -> Vec<Vec<(u64, f64)>> {
        let mut shares = vec![Vec::new(); tree.n_leaves()];
        let units = self.tree(t);
        for (unit, &start) in units.units.all.iter().zip(&units.entries) {
            for leaf in &unit.leaves {
                let full = (1 << leaf.players.len()) - 1;
                let mut of_pattern = vec![0.0; full + 1];
                for index in 0..1_usize << unit.bits {
                    of_pattern[full & !leaf.pattern(index)] += histogram.share(start + index);
                }
                let occurring = (0..).zip(of_pattern).filter(|&(_, share)| share > 0.0);
                shares[leaf.leaf] = occurring.collect();
            }
        }
        shares
    }

    /// The share of the background in each leaf of a tree: the rows whose pattern there is full.
    pub(crate) fn leaf_shares(&self, t: usize, tree: &CompiledTree, histogram: &Histogram) -> Vec<f64> {
        let mut shares = vec![0.0; tree.n_leaves()];
        let units = self.tree(t);
        for (unit, &start) in units.units.all.iter().zip(&units.entries) {
            for leaf in &unit.leaves {
                let full = (1 << leaf.players.len()) - 1;
                let inside = (0..1 << unit.bits).filter(|&outcome| leaf.pattern(outcome) == full);
                shares[leaf.leaf] = histogram.share_of(inside.map(|outcome| start + outcome));
            }
        }
        shares
    }
}
