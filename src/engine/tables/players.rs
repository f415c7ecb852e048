//! The table of a unit for an index of players.
//!
//! The gains of each leaf are worked out first, player after player, so that the patterns of a player stand side by side for
//! vector instructions. Then the outcomes of the unit are taken some at a time, so that what is summed stays in the
//! fastest cache, and are turned into the order in which rows look them up.

use std::ops::Range;

use super::transform::Transform;
use super::units::{Masks, Unit};
use super::{PatternWeights, TreeUnits};
use crate::engine::compiled::CompiledTree;
use crate::index::Integral;

/// The most patterns of a path that are summed together.
const PATTERNS: usize = 64;

/// The arrays of one unit, kept from unit to unit to save allocations.
#[derive(Debug, Default)]
pub(super) struct PlayerTables {
    transform: Transform,
    /// The weight of each background pattern of a leaf.
    c: Vec<f64>,
    /// What leaves of value 1 give: leaf after leaf, player after player, pattern after pattern.
    gains: Vec<f64>,
    /// What some outcomes are worth, cell after cell.
    sums: Vec<f64>,
}

/// What a table is made of.
pub(super) struct PlayerTable<'a> {
    pub(super) tree_units: &'a TreeUnits,
    pub(super) unit: usize,
    pub(super) tree: &'a CompiledTree,
    /// The position of the tree.
    pub(super) number: usize,
    pub(super) weights: &'a PatternWeights<'a>,
    /// The index of leaves with 0, 1, 2, ... players.
    pub(super) integrals: &'a [Integral],
}

impl PlayerTables {
    /// Fills the table of a unit: for each outcome, as many numbers for each player as a leaf has values.
    #[inline(always)]
    pub(super) fn fill(&mut self, table: &PlayerTable<'_>, numbers: &mut [f64]) {
        let unit = &table.tree_units.units.all[table.unit];
        self.leaves(table, unit);
        let Some(path_bits) = unit.leaves.first().map(|leaf| leaf.path_bits) else { return };
        let cells = unit.players.len() * table.tree.width;
        let patterns = PATTERNS.min(1 << path_bits);
        self.sums.resize(cells * patterns, 0.0);
        for (some, numbers) in numbers.chunks_exact_mut((cells * patterns).max(1)).enumerate() {
            self.sums.fill(0.0);
            self.add(unit, table.tree, path_bits, some * patterns..(some + 1) * patterns);
            for (cell, sums) in self.sums.chunks_exact(patterns).enumerate() {
                for (number, sum) in numbers[cell..].iter_mut().step_by(cells).zip(sums) {
                    *number = *sum;
                }
            }
        }
    }

    /// Works out what each leaf gives.
    #[inline(always)]
    fn leaves(&mut self, table: &PlayerTable<'_>, unit: &Unit) {
        let PlayerTable { weights, integrals, .. } = *table;
        let Self { transform, c, gains, .. } = self;
        gains.clear();
        for leaf in &unit.leaves {
            let n = leaf.players.len();
            let Integral::Single(nodes) = &integrals[n] else { unreachable!("pairs have other tables") };
            c.clear();
            c.resize(1 << n, 0.0);
            weights.of_leaf(table.tree_units, table.number, table.unit, leaf, c);
            transform.of_patterns(c, nodes);
            transform.players(n, gains);
        }
    }

    /// Adds what the leaves give for some outcomes, which agree in the unit's decisions.
    #[inline(always)]
    fn add(&mut self, unit: &Unit, tree: &CompiledTree, path_bits: u32, outcomes: Range<usize>) {
        let (taken, patterns) = (outcomes.start >> path_bits, outcomes.len());
        let first = outcomes.start & ((1 << path_bits) - 1);
        let mut start = 0;
        for leaf in &unit.leaves {
            let Masks { keep, add } = leaf.masks[taken];
            let all_kept = keep.trailing_ones() >= path_bits;
            for (i, &player) in leaf.players.iter().enumerate() {
                let gains = &self.gains[start + (i << leaf.players.len())..][..1 << leaf.players.len()];
                for (output, &value) in tree.values[leaf.leaf * tree.width..][..tree.width].iter().enumerate() {
                    let sums = &mut self.sums[(player * tree.width + output) * patterns..][..patterns];
                    if all_kept {
                        // The bits of the path are the lowest, so these patterns stand side by side.
                        add_times(sums, &gains[usize::from(add) + first..][..patterns], value);
                    } else {
                        for (p, sum) in sums.iter_mut().enumerate() {
                            *sum += gains[((first + p) as u16 & keep | add) as usize] * value;
                        }
                    }
                }
            }
            start += leaf.players.len() << leaf.players.len();
        }
    }
}

/// `sums += value * gains`.
#[inline(always)]
fn add_times(sums: &mut [f64], gains: &[f64], value: f64) {
    let ((eights, rest), (gains, more)) = (sums.as_chunks_mut::<8>(), gains.as_chunks::<8>());
    for (sums, gains) in eights.iter_mut().zip(gains) {
        for l in 0..8 {
            sums[l] += gains[l] * value;
        }
    }
    rest.iter_mut().zip(more).for_each(|(sum, gain)| *sum += gain * value);
}
