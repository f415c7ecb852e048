//! How the cells of a result are numbered.

use crate::index::Index;

/// How cells are numbered: player by player, or pair by pair (each once), and output by output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CellMap {
    pub(crate) order: u32,
    pub(crate) n_players: usize,
    pub(crate) n_outputs: usize,
}

impl CellMap {
    pub(crate) fn new(index: Index, n_players: usize, n_outputs: usize) -> Self {
        Self { order: index.order(), n_players, n_outputs }
    }

    /// How many there are.
    pub(crate) fn count(self) -> usize {
        let p = self.n_players;
        (if self.order == 1 { p } else { p * (p + 1) / 2 }) * self.n_outputs
    }

    /// The cell of a player (`i == j`), or of a pair, either way round.
    #[inline]
    pub(crate) fn number(self, i: usize, j: usize, output: usize) -> usize {
        let pair = if self.order == 1 {
            i
        } else {
            let (i, j) = (i.min(j), i.max(j));
            i * self.n_players - i * (i + 1) / 2 + j
        };
        pair * self.n_outputs + output
    }

    /// Copies between the sums of blocks of rows (block by block, cell by cell) and the result (row by row, each pair in
    /// both places).
    pub(crate) fn exchange<const R: usize>(
        self,
        sums: &mut [[f64; R]],
        out: &mut [f64],
        mut copy: impl FnMut(&mut f64, &mut f64),
    ) {
        let Self { order, n_players: p, n_outputs: k } = self;
        let row_cells = if order == 1 { p * k } else { p * p * k };
        for (sums, out) in sums.chunks_exact_mut(self.count()).zip(out.chunks_mut(R * row_cells)) {
            if order == 1 {
                for (r, out) in out.chunks_exact_mut(row_cells).enumerate() {
                    sums.iter_mut().zip(out).for_each(|(sum, cell)| copy(&mut sum[r], cell));
                }
                continue;
            }
            // Pair by pair, since the sums of all pairs may not fit in cache and would be read once for every row.
            for (i, j) in (0..p).flat_map(|i| (i..p).map(move |j| (i, j))) {
                for output in 0..k {
                    let sums = &mut sums[self.number(i, j, output)];
                    for (sum, out) in sums.iter_mut().zip(out.chunks_exact_mut(row_cells)) {
                        copy(sum, &mut out[(i * p + j) * k + output]);
                        if i != j {
                            copy(sum, &mut out[(j * p + i) * k + output]);
                        }
                    }
                }
            }
        }
    }
}
