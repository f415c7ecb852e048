//! How the cells of a result are numbered.

use crate::index::Index;

/// How cells are numbered: player by player, or pair by pair (each once), and output by output.
#[derive(Debug, Clone, Copy)]
pub(super) struct CellMap {
    pub(super) order: u32,
    pub(super) n_players: usize,
    pub(super) n_outputs: usize,
}

impl CellMap {
    pub(super) fn new(index: Index, n_players: usize, n_outputs: usize) -> Self {
        Self { order: index.order(), n_players, n_outputs }
    }

    /// How many there are.
    pub(super) fn count(self) -> usize {
        let p = self.n_players;
        (if self.order == 1 { p } else { p * (p + 1) / 2 }) * self.n_outputs
    }

    /// The cell of a player (`i == j`), or of a pair, either way round.
    #[inline]
    pub(super) fn number(self, i: usize, j: usize, output: usize) -> usize {
        let pair = if self.order == 1 {
            i
        } else {
            let (i, j) = (i.min(j), i.max(j));
            i * self.n_players - i * (i + 1) / 2 + j
        };
        pair * self.n_outputs + output
    }
}
