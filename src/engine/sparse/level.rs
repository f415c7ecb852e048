//! Which pairs still meet at a node.

use super::{SETS, Zs};
use crate::engine::codes::{SET, bits};

/// Which rows have satisfied all splits so far of one player of the path.
#[derive(Clone, Copy)]
pub(super) struct Standing {
    pub(super) player: u32,
    pub(super) x: u64,
    pub(super) z: Zs,
}

impl Standing {
    /// The rows that also satisfied the splits before this one.
    #[inline(always)]
    pub(super) fn and(mut self, before: Option<Self>) -> Self {
        if let Some(before) = before {
            self.x &= before.x;
            for i in 0..SETS {
                self.z[i] &= before.z[i];
            }
        }
        self
    }
}

/// Stands behind the background rows of a level and has failed no player.
pub(super) const NOBODY: usize = SETS * SET;

/// A node on the way down: which pairs still meet there, and the set of every row. It begins where a cache line begins,
/// since a wide load or store across two lines takes twice as long.
#[repr(align(64))]
pub(super) struct Level {
    /// The background rows that each row still meets, set by set.
    met: [[u64; SET]; SETS],
    /// $S_Z$ of the pairs of each row: the players that the row has failed; bit j is the path's j-th player. There are bits
    /// for the first 64 of them.
    pub(super) s_z: [u64; SET],
    /// $S_X$ of the pairs of each background row: the players that the background row has failed;
    /// last, that of [`NOBODY`].
    pub(super) s_x: [u64; NOBODY + 1],
}

impl Level {
    pub(super) const TOP: Self = Self { met: [[0; SET]; SETS], s_z: [0; SET], s_x: [0; NOBODY + 1] };

    /// Starts at the root, where the first `n` rows meet all members of the background sets.
    #[inline(always)]
    pub(super) fn start(&mut self, n: usize, members: Zs) {
        for (met, members) in self.met.iter_mut().zip(members) {
            met.fill(0);
            met[..n].fill(members);
        }
    }

    /// Goes one edge further down than `above`; the edge belongs to the path's `at`-th player, whose standing below it
    /// is given. Returns whether any pair of the first `n` rows still meets.
    #[inline(always)]
    pub(super) fn enter(&mut self, above: &Self, standing: &Standing, at: u32, n: usize) -> bool {
        // The lengths of loops are constants, so that they become vector instructions and nothing else.
        match n {
            0..=8 => self.enter_rows::<8>(above, standing, at),
            9..=16 => self.enter_rows::<16>(above, standing, at),
            17..=24 => self.enter_rows::<24>(above, standing, at),
            25..=32 => self.enter_rows::<32>(above, standing, at),
            _ => self.enter_rows::<SET>(above, standing, at),
        }
    }

    #[inline(always)]
    fn enter_rows<const N: usize>(&mut self, above: &Self, standing: &Standing, at: u32) -> bool {
        let mut any = 0;
        for i in 0..SETS {
            for x in 0..N {
                let holds = (standing.x >> x & 1).wrapping_neg();
                self.met[i][x] = above.met[i][x] & (standing.z[i] | holds);
                any |= self.met[i][x];
            }
        }
        if any == 0 {
            return false;
        }
        // Players for whom a word has no bit are known by their standing alone.
        let bit = 1_u64.checked_shl(at).unwrap_or(0);
        for x in 0..N {
            self.s_z[x] = above.s_z[x] | if standing.x >> x & 1 == 0 { bit } else { 0 };
        }
        for i in 0..SETS {
            for z in 0..SET {
                let failed = if standing.z[i] >> z & 1 == 0 { bit } else { 0 };
                self.s_x[i * SET + z] = above.s_x[i * SET + z] | failed;
            }
        }
        true
    }

    /// The rows that still meet any background row.
    #[inline(always)]
    pub(super) fn meeting(&self) -> u64 {
        let mut rows = [0; SET];
        for x in 0..SET {
            rows[x] = u8::from(self.met[0][x] | self.met[1][x] != 0);
        }
        bits(&rows)
    }

    /// The background rows that row `x` still meets.
    #[inline(always)]
    pub(super) fn met(&self, x: usize) -> u128 {
        u128::from(self.met[0][x]) | u128::from(self.met[1][x]) << SET
    }
}
