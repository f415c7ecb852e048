//! The shape of a tree, as far as the cost of explaining it depends on it, and the limits of the engines.

use std::slice::ChunksExact;

use super::CompiledTree;
use super::values::{common_values, sums_are_equal};

/// Trees with more players on a path than this have no tables: a table has 2^players entries.
const TABLE_PLAYERS: usize = 13;
/// So many players of a path have a bit in a machine word; sparse pairs put the sets of longer paths together at their leaves.
pub(crate) const MAX_PLAYERS: usize = 64;
/// The most background patterns that all leaves of a tree may have for tables.
const MOST_ENTRIES: f64 = (1 << 24) as f64;

/// The estimated probability that a row and a background row part at a split whose player is new to the path.
const PART: f64 = 0.3;

/// So many leaves of a tree are looked at, to see what their values have in common.
const SAMPLE: usize = 64;

/// What the cost of a tree depends on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shape {
    pub(crate) leaves: f64,
    /// The expected number of leaves at which an average pair meets.
    pub(crate) meets: f64,
    /// Sum over the leaves of $2^k$.
    pub(crate) entries: f64,
    /// Sum over the leaves of $k 2^k$.
    pub(crate) cells: f64,
    /// Sum over the leaves of k.
    pub(crate) players: f64,
    /// Estimated from some leaves: the share of them whose values are not the common ones, and how many outputs do not follow
    /// from the others. Ranked counts work on nothing else.
    pub(crate) uncommon: f64,
    pub(crate) outputs: f64,
}

impl Shape {
    pub(super) fn new(paths: &PathLengths, meets: f64, values: &ChunksExact<'_, f64>) -> Self {
        // An odd step, because leaves of two classes often alternate.
        let some = || values.clone().step_by(values.len().div_ceil(SAMPLE) | 1);
        let common = common_values(&some()).map_or(0, |common| some().filter(|leaf| *leaf == common).count());
        let uncommon = 1.0 - common as f64 / some().len().max(1) as f64;
        let width = values.clone().next().map_or(1, <[f64]>::len);
        let outputs = (width - usize::from(sums_are_equal(&some()))) as f64;
        let mut shape = Self { meets, uncommon, outputs, ..Self::default() };
        for (players, leaves) in paths.iter() {
            let (k, entries) = (players as f64, leaves * (players as f64).exp2());
            shape.leaves += leaves;
            shape.entries += entries;
            shape.cells += k * entries;
            shape.players += k * leaves;
        }
        shape
    }
}

/// How many leaves have 0, 1, 2, ... players on their paths.
#[derive(Debug, Clone, Default)]
pub(crate) struct PathLengths(Vec<u32>);

impl PathLengths {
    pub(super) fn add_leaf(&mut self, players: usize) {
        if self.0.len() <= players {
            self.0.resize(players + 1, 0);
        }
        self.0[players] += 1;
    }

    /// Numbers of players, and how many leaves have them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, f64)> {
        self.0.iter().map(|&leaves| f64::from(leaves)).enumerate().filter(|&(_, leaves)| leaves > 0.0)
    }
}

impl CompiledTree {
    /// Whether the tree is within the limits of tables.
    pub(crate) fn can_have_tables(&self) -> bool {
        self.max_path <= TABLE_PLAYERS && self.shape.entries <= MOST_ENTRIES
    }

    /// How many numbers of the tree's tables a row looks up: units share the players of their path.
    pub(crate) fn looked_up(&self, order: u32) -> f64 {
        0.4 * self.shape.players * self.cells_per_player(order) * self.width as f64
    }

    /// Cells per player of a path: the player itself, or about half of its pairs.
    pub(crate) fn cells_per_player(&self, order: u32) -> f64 {
        if order == 1 { 1.0 } else { 0.5 * (self.max_path as f64 + 1.0) }
    }
}

/// At how many leaves below a split an average pair is expected to meet, by the same of its children: where the two part
/// and the player is new to the path (`fresh`), both ways are open.
pub(super) fn expected_meets(fresh: bool, left: f64, right: f64) -> f64 {
    let part = if fresh { PART } else { PART / 2.0 };
    0.5 * (1.0 + part) * (left + right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pure_leaves_need_half_the_work() {
        let pure: Vec<f64> = (0..1000).flat_map(|leaf| if leaf % 2 == 0 { [1.0, 0.0] } else { [0.0, 1.0] }).collect();
        let mixed: Vec<f64> = (0..2000).map(f64::from).collect();
        let shape = |values: &[f64]| Shape::new(&PathLengths::default(), 1.0, &values.chunks_exact(2));
        let [pure, mixed] = [pure, mixed].map(|values| shape(&values)).map(|shape| [shape.uncommon, shape.outputs]);
        assert!((mixed[0] - 1.0).abs() < 1e-9 && (mixed[1] - 2.0).abs() < 1e-9, "{mixed:?}");
        assert!((pure[0] - 0.5).abs() < 0.02 && (pure[1] - 1.0).abs() < 1e-9, "{pure:?}");
    }
}
