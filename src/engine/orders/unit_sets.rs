//! What the units of a tree give to sets of players: one table per unit, for the outcomes that occur.

use std::ops::Range;

use super::leaf_sets::{LeafRoom, LeafSets};
use super::player_sets::PlayerSets;
use super::subsets::each_set;
use crate::engine::compiled::{CompiledTree, Leaf};
use crate::engine::tables::{PatternForest, PatternWeights, Unit, UnitLeaf};

/// A row that gets nothing from a unit.
pub(super) const NOTHING: u32 = u32::MAX;
/// A cell or an outcome that has no number yet.
const UNKNOWN: u32 = u32::MAX;

/// What all trees have in common.
pub(super) struct UnitRule<'a> {
    pub(super) forest: &'a PatternForest,
    pub(super) weights: &'a PatternWeights<'a>,
    pub(super) numbers: &'a PlayerSets,
    /// By the number of players on a leaf's path.
    pub(super) leaves: Vec<LeafSets<'a>>,
    pub(super) n_outputs: usize,
}

/// The tables of a tree's units, and what each row finds there.
#[derive(Default)]
pub(super) struct TreeSets {
    /// Numbers per cell.
    pub(super) width: usize,
    /// The cells of each unit: where the numbers of a set begin among those of a row.
    pub(super) cells: Vec<u32>,
    pub(super) unit_cells: Vec<Range<usize>>,
    pub(super) numbers: Vec<f64>,
    /// Row after row and unit after unit, where the numbers of the row's outcome begin, or [`NOTHING`].
    pub(super) of_row: Vec<u32>,
}

/// Sets of a leaf that stand side by side among the cells of the unit.
struct Stretch {
    from: usize,
    to: usize,
    len: usize,
}

/// What is used again from unit to unit.
#[derive(Default)]
struct Room {
    leaf: LeafRoom,
    place: Vec<u32>,
    c: Vec<f64>,
    wanted: Vec<bool>,
    gains: Vec<f64>,
    /// The outcomes that occur, and where the numbers of each outcome begin.
    outcomes: Vec<usize>,
    starts: Vec<u32>,
}

impl UnitRule<'_> {
    /// Builds the tables of a tree for rows with these outcomes, `stride` of them per unit, of which the first `n_rows`
    /// count.
    pub(super) fn tree(
        &self,
        t: usize,
        tree: &CompiledTree,
        outcomes: &[u16],
        stride: usize,
        n_rows: usize,
    ) -> TreeSets {
        let units = self.forest.units(t);
        let (mut built, mut room) = (TreeSets { width: tree.width, ..TreeSets::default() }, Room::default());
        built.of_row.resize(n_rows * units.len(), NOTHING);
        for (u, unit) in units.iter().enumerate() {
            let outcomes = &outcomes[u * stride..][..n_rows];
            room.list(outcomes, 1 << unit.bits);
            self.table(t, tree, u, unit, &mut room, &mut built);
            for (row, &outcome) in outcomes.iter().enumerate() {
                built.of_row[row * units.len() + u] = room.starts[usize::from(outcome)];
            }
        }
        built
    }

    /// Builds the table of one unit for the outcomes that are listed.
    fn table(&self, t: usize, tree: &CompiledTree, u: usize, unit: &Unit, room: &mut Room, built: &mut TreeSets) {
        let first_cell = built.cells.len();
        let stretches: Vec<Vec<Stretch>> =
            unit.leaves.iter().map(|leaf| self.stretches(tree, unit, leaf, first_cell, room, built)).collect();
        room.place.clear();
        let size = (built.cells.len() - first_cell) * tree.width;
        built.unit_cells.push(first_cell..built.cells.len());
        let start = built.numbers.len();
        built.numbers.resize(start + room.outcomes.len() * size, 0.0);
        for (leaf, stretches) in unit.leaves.iter().zip(&stretches) {
            let k = leaf.players.len();
            self.forest.leaf_weights(self.weights, t, u, leaf, &mut room.c);
            room.wanted.clear();
            room.wanted.resize(1 << k, false);
            room.outcomes.iter().for_each(|&outcome| room.wanted[leaf.pattern(outcome)] = true);
            self.leaves[k].gains(&room.c, &room.wanted, &mut room.leaf, &mut room.gains);
            let (values, n_sets) = (Leaf::of(tree, leaf.leaf).values(), self.leaves[k].len());
            for (i, &outcome) in room.outcomes.iter().enumerate() {
                let gains = &room.gains[leaf.pattern(outcome) * n_sets..][..n_sets];
                let numbers = &mut built.numbers[start + i * size..][..size];
                for &Stretch { from, to, len } in stretches {
                    add_gains(&gains[from..from + len], values, &mut numbers[to * tree.width..][..len * tree.width]);
                }
            }
        }
        for (i, &outcome) in room.outcomes.iter().enumerate() {
            let at = start + i * size;
            let any = built.numbers[at..at + size].iter().any(|&number| number != 0.0);
            room.starts[outcome] = if any { at as u32 } else { NOTHING };
        }
    }

    /// Where the sets of a leaf stand among the cells of its unit; sets that no leaf before had are added to them.
    fn stretches(
        &self,
        tree: &CompiledTree,
        unit: &Unit,
        leaf: &UnitLeaf,
        first_cell: usize,
        room: &mut Room,
        built: &mut TreeSets,
    ) -> Vec<Stretch> {
        room.place.resize(1 << unit.players.len(), UNKNOWN);
        let (mut stretches, mut from): (Vec<Stretch>, usize) = (Vec::new(), 0);
        let order = self.numbers.order();
        each_set(leaf.players.len(), order, &mut Vec::new(), &mut |positions| {
            if positions.is_empty() {
                return;
            }
            let members = || positions.iter().map(|&at| leaf.players[at]);
            let place = &mut room.place[members().map(|player| 1 << player).sum::<usize>()];
            if *place == UNKNOWN {
                *place = (built.cells.len() - first_cell) as u32;
                let set = self.numbers.number(members().map(|player| tree.players[unit.players[player] as usize]));
                built.cells.push(set * self.n_outputs as u32 + tree.output.first() as u32);
            }
            let to = *place as usize;
            match stretches.last_mut() {
                Some(last) if last.to + last.len == to => last.len += 1,
                _ => stretches.push(Stretch { from, to, len: 1 }),
            }
            from += 1;
        });
        stretches
    }
}

impl Room {
    /// Lists the outcomes that occur, in ascending order.
    fn list(&mut self, outcomes: &[u16], n_outcomes: usize) {
        self.starts.clear();
        self.starts.resize(n_outcomes, UNKNOWN);
        for &outcome in outcomes {
            self.starts[usize::from(outcome)] = 0;
        }
        self.outcomes.clear();
        self.outcomes.extend((0..n_outcomes).filter(|&outcome| self.starts[outcome] != UNKNOWN));
    }
}

/// Adds the gains of sets side by side, times the values of the leaf.
#[inline(always)]
fn add_gains(gains: &[f64], values: &[f64], numbers: &mut [f64]) {
    if let [value] = values {
        numbers.iter_mut().zip(gains).for_each(|(number, gain)| *number += gain * value);
        return;
    }
    for (numbers, gain) in numbers.chunks_exact_mut(values.len()).zip(gains) {
        numbers.iter_mut().zip(values).for_each(|(number, value)| *number += gain * value);
    }
}
