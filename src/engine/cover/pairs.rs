//! Pairs: what a split gives to its player together with each other player of the path.
//!
//! The gain of a split is a derivative by its own player. The derivative of that by another player of the path only
//! replaces the other player's factor in the product by its slope. Below the split the other player may have splits too:
//! these give the rest of the pair, because there it is the other way round.

use super::lanes::{LANES, Lanes, ZERO, add_times, choose, times};
use super::levels::Standing;
use super::nodes::WalkNode;
use super::sums::Sums;

/// The player of a split, for a group of rows.
pub(super) struct Gainer<'a> {
    /// Its position on the path.
    pub(super) at: usize,
    pub(super) output: usize,
    pub(super) group: usize,
    /// How much further each row goes left if the player has joined.
    pub(super) way: &'a Lanes,
}

/// The players of the path besides the one that gains.
#[derive(Default)]
pub(super) struct Others {
    /// What the player of a split gains, node by node.
    gains: Vec<Lanes>,
    /// [`WalkNode::passed`] of each player of the path, node by node.
    passed: Vec<f64>,
    /// [`WalkNode::failed`], node by node.
    failed: Vec<f64>,
}

impl Others {
    #[inline(always)]
    pub(super) fn begin(&mut self, nodes: &[WalkNode]) {
        self.gains.resize(nodes.len(), ZERO);
        self.failed.clear();
        self.failed.extend(nodes.iter().map(|node| node.failed()));
    }

    #[inline(always)]
    pub(super) fn gains(&mut self) -> &mut Vec<Lanes> {
        &mut self.gains
    }

    /// The player at a position of the path has this ratio now.
    #[inline(always)]
    pub(super) fn put(&mut self, at: usize, ratio: f64, nodes: &[WalkNode]) {
        let start = at * nodes.len();
        if self.passed.len() < start + nodes.len() {
            self.passed.resize(start + nodes.len(), 0.0);
        }
        for (passed, node) in self.passed[start..].iter_mut().zip(nodes) {
            *passed = node.passed(ratio);
        }
    }

    /// Gives the gains to a player of the path, and to its pairs with the others.
    #[inline(always)]
    pub(super) fn give(
        &self,
        nodes: &[WalkNode],
        path: &[Standing],
        players: &[u32],
        gainer: &Gainer<'_>,
        sums: &mut Sums<'_>,
    ) {
        let Gainer { at, output, group, way } = *gainer;
        let player = players[path[at].player as usize];
        let (mut alone, mut failed) = (ZERO, ZERO);
        for ((node, gain), slope) in nodes.iter().zip(&self.gains).zip(&self.failed) {
            add_times(&mut alone, node.on, gain);
            add_times(&mut failed, *slope, gain);
        }
        sums.add(player, output, group, &times(&alone, way));
        for (j, (other, slopes)) in path.iter().zip(self.passed.chunks_exact(nodes.len())).enumerate() {
            if j == at {
                continue;
            }
            let mut passed = ZERO;
            for (gain, slope) in self.gains.iter().zip(slopes) {
                add_times(&mut passed, *slope, gain);
            }
            let both = choose(other.rows >> (group * LANES), &passed, &failed);
            sums.add_pair([player, players[other.player as usize]], output, group, &times(&both, way));
        }
    }
}
