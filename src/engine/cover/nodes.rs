//! The quadrature nodes of a walk, and how likely players have joined at each of them.

use crate::index::{Diagonal, Integral};

/// If there are more nodes than this, the tree is walked several times, so that the memory of a walk grows with the
/// depth alone.
pub(super) const MOST_NODES: usize = 16;

/// A factor below this counts as 0, because quotients with it would leave the range of float64.
const NO_RATIO: f64 = 1e-100;

/// A node of the quadrature rule. What a split gives at the node counts `weight * on` times for its player, and
/// `weight * off` times for the pairs of its player.
#[derive(Debug, Clone, Copy)]
pub(super) struct WalkNode {
    pub(super) t: f64,
    pub(super) weight: f64,
    pub(super) on: f64,
    pub(super) off: f64,
}

/// The nodes of an index, in lists of similar size, one for each walk of the tree.
pub(super) fn goes(integral: &Integral) -> Vec<Vec<WalkNode>> {
    let nodes = walk_nodes(integral);
    let goes = nodes.len().div_ceil(MOST_NODES).max(1);
    nodes.chunks(nodes.len().div_ceil(goes).max(1)).map(<[WalkNode]>::to_vec).collect()
}

fn walk_nodes(integral: &Integral) -> Vec<WalkNode> {
    match integral {
        Integral::Single(nodes) => {
            nodes.iter().map(|n| WalkNode { t: n.t, weight: n.weight, on: 1.0, off: 0.0 }).collect()
        }
        Integral::Pair { off, diagonal: Diagonal::Remainder, single } => {
            let both = single.iter().zip(off);
            both.map(|(n, off)| WalkNode { t: n.t, weight: n.weight, on: 1.0, off: off.weight / n.weight }).collect()
        }
        Integral::Pair { off, diagonal: Diagonal::MainEffect, .. } => {
            // A player that joins alone joins at t = 0.
            let alone = WalkNode { t: 0.0, weight: 1.0, on: 1.0, off: 0.0 };
            let off = off.iter().map(|n| WalkNode { t: n.t, weight: n.weight, on: 0.0, off: 1.0 });
            std::iter::once(alone).chain(off).collect()
        }
    }
}

/// How likely the player of a split has joined at a node, given that the row has come by all of the player's splits
/// above.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Chance {
    pub(super) absent: f64,
    pub(super) joined: f64,
    /// The derivative of `joined` by the player's own t.
    pub(super) slope: f64,
}

impl WalkNode {
    /// The factor of a player whose splits the row satisfies, if training rows did with this ratio.
    #[inline(always)]
    fn factor(self, ratio: f64) -> f64 {
        self.t + (1.0 - self.t) * ratio
    }

    /// By Bayes' rule: with a player that has joined, the row certainly came here; with one that has not, with chance
    /// `ratio`.
    #[inline(always)]
    pub(super) fn chance(self, ratio: f64) -> Chance {
        let factor = self.factor(ratio);
        // This happens only at t = 0 with a ratio of about 0. The limit is that of every other node for this ratio.
        if factor < NO_RATIO {
            return Chance { absent: 0.0, joined: 1.0, slope: 0.0 };
        }
        Chance { absent: (1.0 - self.t) * ratio / factor, joined: self.t / factor, slope: ratio / factor / factor }
    }

    /// The derivative of a player's factor divided by the factor, times `off`: for a player whose splits the row
    /// satisfies.
    #[inline(always)]
    pub(super) fn passed(self, ratio: f64) -> f64 {
        if self.off == 0.0 { 0.0 } else { self.off * (1.0 - ratio) / self.factor(ratio) }
    }

    /// The same for a player that the row fails, whatever its ratio.
    #[inline(always)]
    pub(super) fn failed(self) -> f64 {
        if self.off == 0.0 { 0.0 } else { -self.off / (1.0 - self.t) }
    }
}

/// The nodes of a walk.
pub(super) struct Nodes<'a> {
    pub(super) all: &'a [WalkNode],
    /// The chances of a player that is new to the path. Most are, and divisions are slow.
    fresh: Vec<Chance>,
}

impl<'a> Nodes<'a> {
    pub(super) fn new(all: &'a [WalkNode]) -> Self {
        Self { all, fresh: all.iter().map(|node| node.chance(1.0)).collect() }
    }

    /// How likely a player with this ratio has joined, at one node.
    #[inline(always)]
    pub(super) fn chance(&self, node: usize, ratio: f64) -> Chance {
        if ratio >= 1.0 { self.fresh[node] } else { self.all[node].chance(ratio) }
    }

    /// The same node by node.
    #[inline(always)]
    pub(super) fn chances(&self, ratio: f64, out: &mut [Chance]) {
        if ratio >= 1.0 {
            out.copy_from_slice(&self.fresh);
            return;
        }
        for (chance, node) in out.iter_mut().zip(self.all) {
            *chance = node.chance(ratio);
        }
    }
}
