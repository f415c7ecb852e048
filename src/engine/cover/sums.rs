//! What players have gained so far, for a block of rows.

use super::lanes::LANES;
use super::numbers::Numbers;
use crate::engine::compiled::{Compiled, CompiledTree};
use crate::index::{Diagonal, Index, Integral};

/// The players that the trees of a call ask for, and the numbers that each of them has in a result.
pub(super) struct Cells {
    /// Their numbers in the game.
    players: Vec<u32>,
    n_players: usize,
    n_outputs: usize,
    /// What an index of pairs has on its diagonal; none for an index of players.
    diagonal: Option<Diagonal>,
}

impl Cells {
    pub(super) fn new<'a>(compiled: &Compiled, trees: impl Iterator<Item = &'a CompiledTree>, index: Index) -> Self {
        let mut players: Vec<u32> = trees.flat_map(|tree| tree.players.iter().copied()).collect();
        players.sort_unstable();
        players.dedup();
        let diagonal = match index.integral(0) {
            Integral::Single(_) => None,
            Integral::Pair { diagonal, .. } => Some(diagonal),
        };
        Self { players, n_players: compiled.n_players, n_outputs: compiled.n_outputs, diagonal }
    }

    pub(super) fn of_pairs(&self) -> bool {
        self.diagonal.is_some()
    }

    /// The positions of a tree's players among these.
    pub(super) fn of(&self, tree: &CompiledTree) -> Vec<u32> {
        let position = |player| self.players.partition_point(|&other| other < player) as u32;
        tree.players.iter().map(|&player| position(player)).collect()
    }

    fn n_singles(&self) -> usize {
        self.players.len() * self.n_outputs
    }

    fn n_pairs(&self) -> usize {
        if self.of_pairs() { self.players.len() * self.players.len().saturating_sub(1) / 2 * self.n_outputs } else { 0 }
    }

    /// Bytes of the sums of some rows.
    pub(super) fn bytes(&self, rows: usize) -> usize {
        (self.n_singles() + self.n_pairs()) * rows.next_multiple_of(LANES) * size_of::<f64>()
    }
}

/// Gains by player or pair of players, by output, and by row.
pub(super) struct Sums<'a> {
    cells: &'a Cells,
    /// How many rows there are, filled up to a multiple of [`LANES`].
    rows: usize,
    singles: Numbers,
    /// Each pair once: a player with all players before it.
    pairs: Numbers,
}

impl<'a> Sums<'a> {
    pub(super) fn new(cells: &'a Cells, rows: usize) -> Self {
        let rows = rows.next_multiple_of(LANES);
        let (singles, pairs) = (Numbers::zeros(cells.n_singles() * rows), Numbers::zeros(cells.n_pairs() * rows));
        Self { cells, rows, singles, pairs }
    }

    #[inline(always)]
    pub(super) fn of_pairs(&self) -> bool {
        self.cells.diagonal.is_some()
    }

    #[inline(always)]
    fn place(&self, cell: usize, output: usize) -> usize {
        (cell * self.cells.n_outputs + output) * self.rows
    }

    /// What a player has gained, row by row.
    #[inline(always)]
    pub(super) fn of_player(&mut self, player: u32, output: usize) -> &mut [f64] {
        let place = self.place(player as usize, output);
        &mut self.singles[place..][..self.rows]
    }

    /// What a pair of players has gained, row by row.
    #[inline(always)]
    pub(super) fn of_pair(&mut self, players: [u32; 2], output: usize) -> &mut [f64] {
        let place = self.place(pair(players.map(|player| player as usize)), output);
        &mut self.pairs[place..][..self.rows]
    }

    /// Adds everything to the result of the rows.
    pub(super) fn add_to(&self, out: &mut [f64], row_cells: usize) {
        for (row, out) in out.chunks_exact_mut(row_cells).enumerate() {
            for output in 0..self.cells.n_outputs {
                if self.of_pairs() {
                    self.add_pairs_to(out, row, output);
                    continue;
                }
                for (i, &player) in self.cells.players.iter().enumerate() {
                    out[player as usize * self.cells.n_outputs + output] += self.of(&self.singles, i, row, output);
                }
            }
        }
    }

    fn of(&self, sums: &[f64], cell: usize, row: usize, output: usize) -> f64 {
        sums[self.place(cell, output) + row]
    }

    /// Adds the pairs of one row and output.
    fn add_pairs_to(&self, out: &mut [f64], row: usize, output: usize) {
        let Cells { n_players, n_outputs, diagonal, .. } = *self.cells;
        let number = |i: u32, j: u32| (i as usize * n_players + j as usize) * n_outputs + output;
        for (i, &one) in self.cells.players.iter().enumerate() {
            out[number(one, one)] += self.of(&self.singles, i, row, output);
            for (j, &other) in self.cells.players[..i].iter().enumerate() {
                let both = self.of(&self.pairs, pair([i, j]), row, output);
                out[number(one, other)] += both;
                out[number(other, one)] += both;
                if diagonal == Some(Diagonal::Remainder) {
                    out[number(one, one)] -= both;
                    out[number(other, other)] -= both;
                }
            }
        }
    }
}

/// The number of a pair of different players.
#[inline(always)]
fn pair([i, j]: [usize; 2]) -> usize {
    let (i, j) = (i.max(j), i.min(j));
    i * (i - 1) / 2 + j
}
