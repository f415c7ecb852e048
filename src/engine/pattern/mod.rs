//! The pattern engine: cost n + m instead of n * m.
//!
//! A row and a background row meet at a leaf only through their *patterns*: one bit for each player on the path, set
//! when the row satisfies every split of that player. So the background is counted by pattern once, one transform a
//! leaf turns the counts into what each row pattern is worth, and a row costs one look-up a unit and player.
//!
//! | file | what |
//! |---|---|
//! | `units` | trees cut into bottom subtrees that share one index |
//! | `indices` | the index of every unit for a block of rows |
//! | `histogram` | how often the background has each index |
//! | `transform` | from counts to the worth of a pattern, for any index of games |
//! | `tables` | the worth of every index of a unit, finished |
//! | `explain` | rows through the tables |
//! | `sparse` | where tables would be too large: only the pairs of patterns that meet |

mod explain;
mod histogram;
mod indices;
mod sparse;
mod tables;
mod transform;
mod units;

pub(crate) use explain::{Onto, PatternTables};
pub(crate) use histogram::Histogram;
pub(crate) use sparse::{MAX_PLAYERS, explain_sparse};

use crate::engine::compiled::CompiledTree;
use crate::engine::plan::can_have_tables;
use crate::index::Index;
use crate::job::Workers;
use units::{UnitLeaf, Units};

/// Paths with more players than this have no tables: each would be 2^players entries.
pub(crate) const TABLE_PLAYERS: usize = 13;

/// The trees of a forest that have patterns, cut into units.
#[derive(Debug)]
pub(crate) struct PatternForest {
    trees: Vec<Option<TreeUnits>>,
    /// Entries of all histograms.
    n_entries: usize,
}

/// One tree's units, and where each one's histogram begins.
#[derive(Debug)]
struct TreeUnits {
    units: Units,
    entries: Vec<usize>,
}

impl PatternForest {
    /// Cuts the trees that can have tables.
    pub(crate) fn new(trees: &[CompiledTree], workers: &Workers) -> Self {
        let units = workers.map(trees.len(), |t| can_have_tables(&trees[t]).then(|| Units::new(&trees[t])));
        let mut n_entries = 0;
        let cut = |units: Option<Units>| {
            let units = units?;
            let entries = units.all.iter().map(|unit| {
                n_entries += 1 << unit.bits;
                n_entries - (1 << unit.bits)
            });
            let entries = entries.collect();
            Some(TreeUnits { units, entries })
        };
        Self { trees: units.into_iter().map(cut).collect(), n_entries }
    }

    /// Entries of all histograms.
    pub(crate) fn n_entries(&self) -> usize {
        self.n_entries
    }

    /// The share of the background in each leaf of a tree: the rows whose pattern there is full.
    pub(crate) fn leaf_shares(&self, t: usize, tree: &CompiledTree, histogram: &Histogram) -> Vec<f64> {
        let mut shares = vec![0.0; tree.values.len() / tree.width];
        let units = self.trees[t].as_ref().expect("a tree with tables has units");
        for (unit, &start) in units.units.all.iter().zip(&units.entries) {
            for leaf in &unit.leaves {
                let full = (1 << leaf.players.len()) - 1;
                let inside = (0..1 << unit.bits).filter(|&index| leaf.pattern(index) == full);
                shares[leaf.leaf] = histogram.share_of(inside.map(|index| start + index));
            }
        }
        shares
    }
}

/// Where the weight of each background pattern comes from.
pub(crate) enum Source<'a> {
    /// A background's histogram.
    Background(&'a Histogram),
    /// The shares of the training rows: each leaf's ratios, tree by tree.
    Cover(&'a [Vec<Vec<f64>>]),
}

impl Source<'_> {
    /// The weight of each background pattern of a leaf, summing to one over all of them.
    #[inline(always)]
    fn patterns(&self, tree: &TreeUnits, number: usize, unit: usize, leaf: &UnitLeaf, c: &mut [f64]) {
        match self {
            Self::Background(histogram) => {
                let start = tree.entries[unit];
                for index in 0..1_usize << tree.units.all[unit].bits {
                    c[leaf.pattern(index)] += histogram.share(start + index);
                }
            }
            Self::Cover(ratios) => {
                c[0] = 1.0;
                for (j, ratio) in ratios[number][leaf.leaf].iter().enumerate() {
                    for b in 0..1 << j {
                        c[b | 1 << j] = c[b] * ratio;
                        c[b] *= 1.0 - ratio;
                    }
                }
            }
        }
    }
}

/// How cells are numbered: player by player, or pair by pair (each once), and output by output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cells {
    order: u32,
    n_players: usize,
    n_outputs: usize,
}

impl Cells {
    pub(crate) fn new(index: Index, n_players: usize, n_outputs: usize) -> Self {
        Self { order: index.order(), n_players, n_outputs }
    }

    /// How many there are.
    fn count(self) -> usize {
        let p = self.n_players;
        (if self.order == 1 { p } else { p * (p + 1) / 2 }) * self.n_outputs
    }

    /// The cell of a player (`i == j`), or of a pair, either way round.
    #[inline]
    fn number(self, i: usize, j: usize, output: usize) -> usize {
        let pair = if self.order == 1 {
            i
        } else {
            let (i, j) = (i.min(j), i.max(j));
            i * self.n_players - i * (i + 1) / 2 + j
        };
        pair * self.n_outputs + output
    }
}
