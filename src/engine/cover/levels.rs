//! What a walk knows at each level of the tree.

use super::lanes::follow_sides;
use super::nodes::{Chance, Nodes, WalkNode};
use super::numbers::Numbers;

/// A player of the path, as it stands at some node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    /// Its number in the tree.
    pub(super) player: u32,
    /// The product of the shares of its edges.
    pub(super) ratio: f64,
    /// The rows that have satisfied all its splits, one bit each.
    pub(super) rows: u64,
}

/// A split as the walk meets it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Met {
    pub(super) split: usize,
    /// The side of the split above: 0 for left, 1 for right.
    pub(super) from: usize,
    /// The position of its player on the path.
    pub(super) at: usize,
    /// Whether the player is on the path for the first time.
    pub(super) fresh: bool,
    /// The player as it stands above the split.
    pub(super) above: Standing,
    /// The sides that no coalition of any row reaches.
    pub(super) skipped: [bool; 2],
}

/// How large the arrays of a level are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    /// Quadrature nodes.
    pub(super) nodes: usize,
    /// Rows, a multiple of [`LANES`](super::lanes::LANES).
    pub(super) rows: usize,
    /// Values per leaf.
    pub(super) width: usize,
}

impl Size {
    /// Bytes of a level's arrays.
    pub(super) fn bytes(self) -> usize {
        let numbers = (2 * self.width + 1) * self.nodes * self.rows + 2 * self.rows;
        numbers * size_of::<f64>() + self.nodes * size_of::<Chance>()
    }
}

/// A level of the walk. The arrays are kept from split to split and from tree to tree to save allocations.
#[derive(Default)]
pub(super) struct Level {
    pub(super) met: Option<Met>,
    /// How likely the split's player has joined, node by node.
    pub(super) chances: Vec<Chance>,
    /// Of either side, row by row: see [`follow_sides`].
    pub(super) follow: [Numbers; 2],
    /// The product of the node's weight and the chances of all edges above, by node and row.
    pub(super) products: Numbers,
    /// What either side is worth if the walk is there: the expected leaf, by output, node and row.
    pub(super) worth: [Numbers; 2],
}

impl Level {
    /// Makes the arrays as large as they must be.
    #[inline(always)]
    pub(super) fn fit(&mut self, size: Size) {
        self.chances.resize(size.nodes, Chance::default());
        self.products.fit(size.nodes * size.rows);
        for side in 0..2 {
            self.follow[side].fit(size.rows);
            self.worth[side].fit(size.width * size.nodes * size.rows);
        }
    }

    /// Every product is the weight of its node.
    #[inline(always)]
    pub(super) fn begin(&mut self, nodes: &[WalkNode], rows: usize) {
        self.products.chunks_exact_mut(rows).zip(nodes).for_each(|(products, node)| products.fill(node.weight));
    }

    /// Comes to a split at which the rows `left` go left.
    #[inline(always)]
    pub(super) fn meet(&mut self, met: Met, nodes: &Nodes<'_>, left: u64, shares: [f64; 2]) {
        self.met = Some(met);
        nodes.chances(met.above.ratio, &mut self.chances);
        let [to_left, to_right] = &mut self.follow;
        follow_sides(met.above.rows, left, shares, [to_left, to_right]);
    }
}
