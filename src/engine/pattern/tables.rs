//! The tables: for each unit and index, what a row with that index gets, cell by cell.
//!
//! A *cell* is a player and an output, or a pair of players and an output. The cells of one index stand side by side,
//! so that a row's whole gain from a unit is on one or two cache lines.

use std::ops::Range;

use super::transform::Transform;
use super::{Cells, PatternForest, Source, TreeUnits};
use crate::engine::compiled::CompiledTree;
use crate::error::{Error, Result};
use crate::forest::Output;
use crate::index::{Index, Integral};
use crate::simd::{Kernel, widest};

/// The tables of some units of a tree.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) tree: usize,
    pub(super) units: Range<usize>,
    tables: Vec<UnitTable>,
    /// The cells of all tables, side by side as they are read.
    cells: Vec<u32>,
    numbers: Vec<f64>,
}

impl Piece {
    /// The cells of a unit, and as many numbers for each of its indices.
    #[inline(always)]
    pub(super) fn table(&self, unit: usize) -> (&[u32], &[f64]) {
        let at = unit - self.units.start;
        let (table, next) = (&self.tables[at], &self.tables[at + 1]);
        (&self.cells[table.cells..next.cells], &self.numbers[table.numbers..next.numbers])
    }
}

/// Where a unit's table begins; one more says where the last one ends.
#[derive(Debug, Clone, Copy)]
struct UnitTable {
    cells: usize,
    numbers: usize,
}

/// Numbers in the table of a unit.
pub(super) fn unit_size(tree: &TreeUnits, unit: usize, index: Index, leaf_width: usize) -> usize {
    let unit = &tree.units.all[unit];
    let k = unit.players.len();
    let cells = if index.order() == 1 { k } else { k * (k + 1) / 2 };
    (cells * leaf_width) << unit.bits
}

/// Builds the tables of some units.
pub(super) fn build(
    forest: &PatternForest,
    trees: &[CompiledTree],
    source: &Source<'_>,
    index: Index,
    cells: Cells,
    tree: usize,
    units: Range<usize>,
) -> Result<Piece> {
    let tree_units = forest.trees[tree].as_ref().expect("only trees with units have tables");
    let size = units.clone().map(|u| unit_size(tree_units, u, index, trees[tree].width)).sum::<usize>();
    let mut numbers = Vec::new();
    let bytes = size as u128 * 8;
    numbers.try_reserve_exact(size).map_err(|_| Error::Memory { what: "the pattern tables".into(), bytes })?;
    numbers.resize(size, 0.0);
    let integrals: Vec<Integral> =
        (0..=crate::engine::pattern::units::MAX_BITS as usize).map(|k| index.integral(k)).collect();
    let mut tables = Vec::with_capacity(units.len() + 1);
    let mut all_cells = Vec::new();
    let mut start = 0;
    for u in units.clone() {
        tables.push(UnitTable { cells: all_cells.len(), numbers: start });
        let len = unit_size(tree_units, u, index, trees[tree].width);
        let unit_cells = unit_cells(tree_units, u, &trees[tree], cells);
        widest(Fill {
            tree_units,
            unit: u,
            tree: &trees[tree],
            number: tree,
            source,
            integrals: &integrals,
            width: unit_cells.len(),
            numbers: &mut numbers[start..start + len],
        });
        all_cells.extend(unit_cells);
        start += len;
    }
    tables.push(UnitTable { cells: all_cells.len(), numbers: start });
    Ok(Piece { tree, units, tables, cells: all_cells, numbers })
}

/// The cells of a unit in the order of its table.
fn unit_cells(tree_units: &TreeUnits, unit: usize, tree: &CompiledTree, cells: Cells) -> Vec<u32> {
    let players = &tree_units.units.all[unit].players;
    let player = |i: usize| tree.players[players[i] as usize] as usize;
    let outputs = match tree.output {
        Output::One(k) => k..k + 1,
        Output::All => 0..tree.width,
    };
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
    number: usize,
    source: &'a Source<'a>,
    integrals: &'a [Integral],
    width: usize,
    numbers: &'a mut [f64],
}

impl Kernel for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let unit = &self.tree_units.units.all[self.unit];
        let leaf_width = self.tree.width;
        let order = if matches!(self.integrals[0], Integral::Single(_)) { 1 } else { 2 };
        let k = unit.players.len();
        // Where the cell of players i <= j begins among the numbers of an index.
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
            let values = &self.tree.values[leaf.leaf * leaf_width..][..leaf_width];
            c.clear();
            c.resize(1 << n, 0.0);
            self.source.patterns(self.tree_units, self.number, self.unit, leaf, &mut c);
            // What the leaf gives for each of its own patterns, then spread over the indices that have that pattern.
            let pairs: Vec<u32> =
                local_cells(n, order).map(|(i, j)| place[leaf.players[i] * k + leaf.players[j]]).collect();
            transform.leaf(&c, &self.integrals[n], &mut gains);
            for (index, row) in self.numbers.chunks_exact_mut(self.width).enumerate() {
                let gains = &gains[leaf.pattern(index) * pairs.len()..][..pairs.len()];
                for (&place, &gain) in pairs.iter().zip(gains) {
                    if let [value] = values {
                        row[place as usize] += gain * value;
                    } else {
                        let row = &mut row[place as usize..][..leaf_width];
                        row.iter_mut().zip(values).for_each(|(cell, value)| *cell += gain * value);
                    }
                }
            }
        }
    }
}
