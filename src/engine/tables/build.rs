//! The tables of units: for each outcome of a unit, what a row with that outcome gets, cell by cell.
//!
//! A *cell* is a player and an output, or a pair of players and an output. The cells of one outcome stand side by side,
//! so that all a row gains from a unit is usually on one or two cache lines.

use std::ops::Range;

use super::players::{PlayerTable, PlayerTables};
use super::transform::Transform;
use super::{LeafGains, PatternForest, PatternWeights, TreeUnits};
use crate::engine::cells::CellMap;
use crate::engine::compiled::{Compiled, CompiledTree, Leaf};
use crate::error::{Error, Result};
use crate::index::{Index, Integral};
use crate::simd::{Kernel, widest};

/// The tables of a run of units of one tree.
#[derive(Debug)]
pub(super) struct RunTables {
    pub(super) tree: usize,
    pub(super) units: Range<usize>,
    tables: Vec<UnitTable>,
    /// The cells of all tables, side by side as they are read.
    cells: Vec<u32>,
    numbers: Vec<f64>,
}

impl RunTables {
    /// The cells of a unit, and its table: as many numbers for each of its outcomes.
    #[inline(always)]
    pub(super) fn table(&self, unit: usize) -> (&[u32], &[f64]) {
        let at = unit - self.units.start;
        let (table, next) = (&self.tables[at], &self.tables[at + 1]);
        (&self.cells[table.cells..next.cells], &self.numbers[table.numbers..next.numbers])
    }

    /// The units in stretches whose tables have about so many numbers, or one unit.
    pub(super) fn stretches(&self, numbers: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let start_of = |unit: usize| self.tables[unit - self.units.start].numbers;
        let mut next = self.units.start;
        std::iter::from_fn(move || {
            let first = next;
            while next < self.units.end && start_of(next) - start_of(first) < numbers {
                next += 1;
            }
            (first < next).then_some(first..next)
        })
    }
}

/// Where the table of a unit begins; one more entry says where the last table ends.
#[derive(Debug, Clone, Copy)]
struct UnitTable {
    cells: usize,
    numbers: usize,
}

/// How many numbers the table of a unit has.
pub(super) fn unit_size(tree: &TreeUnits, unit: usize, index: Index, leaf_width: usize) -> usize {
    let unit = &tree.units.all[unit];
    let k = unit.players.len();
    let cells = if index.order() == 1 { k } else { k * (k + 1) / 2 };
    (cells * leaf_width) << unit.bits
}

/// What tables are built from.
#[derive(Clone, Copy)]
pub(crate) struct Ingredients<'a> {
    pub(crate) forest: &'a PatternForest,
    pub(crate) compiled: &'a Compiled,
    pub(crate) weights: &'a PatternWeights<'a>,
    pub(crate) index: Index,
    /// The index of leaves with 0, 1, 2, ... players.
    pub(crate) integrals: &'a [Integral],
    /// What leaves give, if that is not what the index says; for an index of single players.
    pub(crate) instead: Option<&'a dyn LeafGains>,
}

impl Ingredients<'_> {
    /// Builds the tables of some units of a tree.
    pub(super) fn build(&self, number: usize, units: Range<usize>) -> Result<RunTables> {
        let (tree_units, tree) = (self.forest.tree(number), &self.compiled.trees[number]);
        let size_of_unit = |unit: usize| unit_size(tree_units, unit, self.index, tree.width);
        let map = CellMap::new(self.index, self.compiled.n_players, self.compiled.n_outputs);
        let size = units.clone().map(size_of_unit).sum::<usize>();
        let mut numbers = Vec::new();
        let bytes = size as u128 * 8;
        numbers.try_reserve_exact(size).map_err(|_| Error::Memory { what: "the pattern tables".into(), bytes })?;
        numbers.resize(size, 0.0);
        let mut tables = Vec::with_capacity(units.len() + 1);
        let mut cells = Vec::new();
        let mut start = 0;
        let mut of_players = PlayerTables::default();
        for unit in units.clone() {
            tables.push(UnitTable { cells: cells.len(), numbers: start });
            let end = start + size_of_unit(unit);
            let unit_cells = unit_cells(tree_units, unit, tree, map);
            widest(Fill {
                tree_units,
                unit,
                tree,
                number,
                weights: self.weights,
                integrals: self.integrals,
                instead: self.instead,
                width: unit_cells.len(),
                of_players: &mut of_players,
                numbers: &mut numbers[start..end],
            });
            cells.extend(unit_cells);
            start = end;
        }
        tables.push(UnitTable { cells: cells.len(), numbers: start });
        Ok(RunTables { tree: number, units, tables, cells, numbers })
    }
}

/// The cells of a unit in the order of its table.
fn unit_cells(tree_units: &TreeUnits, unit: usize, tree: &CompiledTree, cells: CellMap) -> Vec<u32> {
    let players = &tree_units.units.all[unit].players;
    let player = |i: usize| tree.players[players[i] as usize] as usize;
    let outputs = tree.output.first()..tree.output.first() + tree.width;
    let pairs = local_cells(players.len(), cells.order);
    pairs.flat_map(|(i, j)| outputs.clone().map(move |k| cells.number(player(i), player(j), k) as u32)).collect()
}

/// The players, or pairs of players, of a unit with `k` of them.
fn local_cells(k: usize, order: u32) -> impl Iterator<Item = (usize, usize)> {
    (0..k).flat_map(move |i| (i..if order == 1 { i + 1 } else { k }).map(move |j| (i, j)))
}

/// Fills the table of one unit.
struct Fill<'a> {
    tree_units: &'a TreeUnits,
    unit: usize,
    tree: &'a CompiledTree,
    /// The position of the tree.
    number: usize,
    weights: &'a PatternWeights<'a>,
    integrals: &'a [Integral],
    instead: Option<&'a dyn LeafGains>,
    /// Numbers per outcome.
    width: usize,
    of_players: &'a mut PlayerTables,
    numbers: &'a mut [f64],
}

impl Kernel for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        if self.instead.is_none() && matches!(self.integrals[0], Integral::Single(_)) {
            let Self { tree_units, unit, tree, number, weights, integrals, .. } = self;
            return self
                .of_players
                .fill(&PlayerTable { tree_units, unit, tree, number, weights, integrals }, self.numbers);
        }
        let unit = &self.tree_units.units.all[self.unit];
        let leaf_width = self.tree.width;
        let order = if matches!(self.integrals[0], Integral::Single(_)) { 1 } else { 2 };
        let k = unit.players.len();
        // Where the cell of players i <= j begins among the numbers of an outcome.
        let mut place = vec![0_u32; k * k];
        for (at, (i, j)) in local_cells(k, order).enumerate() {
            place[i * k + j] = (at * leaf_width) as u32;
            place[j * k + i] = (at * leaf_width) as u32;
        }
        let (mut transform, mut c, mut gains) = (Transform::default(), Vec::new(), Vec::new());
        for leaf in &unit.leaves {
            let n = leaf.players.len();
            if n == 0 {
                continue;
            }
            let values = Leaf::of(self.tree, leaf.leaf);
            c.clear();
            c.resize(1 << n, 0.0);
            self.weights.of_leaf(self.tree_units, self.number, self.unit, leaf, &mut c);
            // What the leaf gives for each of its own patterns is spread over the outcomes that have the pattern.
            let pairs: Vec<u32> =
                local_cells(n, order).map(|(i, j)| place[leaf.players[i] * k + leaf.players[j]]).collect();
            if let Some(instead) = self.instead {
                let player = |&j: &usize| self.tree.players[unit.players[j] as usize];
                instead.leaf(&leaf.players.iter().map(player).collect::<Vec<u32>>(), &c, &mut gains);
            } else {
                transform.pairs(&c, &self.integrals[n], &mut gains);
            }
            for (outcome, row) in self.numbers.chunks_exact_mut(self.width).enumerate() {
                let gains = &gains[leaf.pattern(outcome) * pairs.len()..][..pairs.len()];
                for (&place, &gain) in pairs.iter().zip(gains) {
                    values.add_at(gain, row, place as usize);
                }
            }
        }
    }
}
