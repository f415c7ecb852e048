//! Pairs: what a split gives to its player together with each other player of the path.
//!
//! The gain of a split is a derivative by its own player. The derivative of that by another player of the path only
//! replaces the other player's factor in the product by its slope. Below the split the other player may have splits
//! too: these give the rest of the pair, because there the two players have swapped roles.

use super::lanes::{add_products, add_times, choose, mask};
use super::levels::Standing;
use super::nodes::WalkNode;
use super::numbers::Numbers;
use super::sums::Sums;

/// The player of a split.
pub(super) struct Gainer<'a> {
    /// Its position on the path.
    pub(super) at: usize,
    pub(super) output: usize,
    /// How much more likely each row goes left if the player has joined.
    pub(super) way: &'a [f64],
}

/// The players of the path besides the one that gains.
#[derive(Default)]
pub(super) struct Others {
    /// What the player of a split gains, by node and row.
    gains: Numbers,
    /// [`WalkNode::passed`] of each player of the path, node by node.
    passed: Vec<f64>,
    /// [`WalkNode::failed`], node by node.
    failed: Vec<f64>,
    /// What a pair gains, row by row: if the row has failed the other player, and if it has not.
    if_failed: Numbers,
    if_passed: Numbers,
}

impl Others {
    #[inline(always)]
    pub(super) fn begin(&mut self, nodes: &[WalkNode], rows: usize) {
        self.gains.fit(nodes.len() * rows);
        self.failed.clear();
        self.failed.extend(nodes.iter().map(|node| node.failed()));
        self.if_failed.fit(rows);
        self.if_passed.fit(rows);
    }

    #[inline(always)]
    pub(super) fn gains(&mut self) -> &mut [f64] {
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
        &mut self,
        nodes: &[WalkNode],
        path: &[Standing],
        players: &[u32],
        gainer: &Gainer<'_>,
        sums: &mut Sums<'_>,
    ) {
        let Gainer { at, output, way } = *gainer;
        let player = players[path[at].player as usize];
        self.if_passed.fill(0.0);
        self.if_failed.fill(0.0);
        for ((node, gains), slope) in nodes.iter().zip(self.gains.chunks_exact(way.len())).zip(&self.failed) {
            add_times(&mut self.if_passed, node.on, gains);
            add_times(&mut self.if_failed, *slope, gains);
        }
        add_products(sums.of_player(player, output), &self.if_passed, way);
        for (j, (other, slopes)) in path.iter().zip(self.passed.chunks_exact(nodes.len())).enumerate() {
            if j == at {
                continue;
            }
            self.if_passed.fill(0.0);
            for (gains, slope) in self.gains.chunks_exact(way.len()).zip(slopes) {
                add_times(&mut self.if_passed, *slope, gains);
            }
            for (r, (passed, failed)) in self.if_passed.iter_mut().zip(self.if_failed.iter()).enumerate() {
                *passed = choose(mask(other.rows, r), *passed, *failed);
            }
            add_products(sums.of_pair([player, players[other.player as usize]], output), &self.if_passed, way);
        }
    }
}
