//! A block of rows, tree after tree.

use super::lanes::LANES;
use super::levels::Size;
use super::nodes::{Nodes, WalkNode, goes};
use super::sums::{Cells, Sums};
use super::walk::{Room, Walk};
use crate::engine::codes::{CodedRows, SET};
use crate::engine::compiled::CompiledTree;
use crate::engine::task::Task;
use crate::index::Index;
use crate::simd::Kernel;

/// Bytes that a thread may use, unless the smallest block needs more.
const ROOM_BYTES: usize = 1 << 24;

/// How a tree is walked for an index.
pub(super) struct TreeRule<'a> {
    tree: &'a CompiledTree,
    /// The quadrature nodes: there is one walk for each of these lists.
    goes: Vec<Vec<WalkNode>>,
    /// The position of each of the tree's players among the [`Cells`].
    players: Vec<u32>,
}

impl<'a> TreeRule<'a> {
    pub(super) fn new(tree: &'a CompiledTree, index: Index, cells: &Cells) -> Self {
        Self { tree, goes: goes(&index.integral(tree.max_path)), players: cells.of(tree) }
    }

    /// Bytes of the levels of a walk.
    fn bytes(&self, rows: usize) -> usize {
        let nodes = self.goes.iter().map(Vec::len).max().unwrap_or(0);
        let size = Size { nodes, rows: rows.next_multiple_of(LANES), width: self.tree.width };
        (self.tree.depth + 2) * size.bytes()
    }
}

/// How many rows go through the trees together: enough for every thread to have some, and as memory allows.
pub(super) fn block_rows(task: &Task<'_>, rules: &[TreeRule<'_>], cells: &Cells) -> usize {
    let share = task.rows.len().div_ceil(task.job.workers.threads());
    let bytes = |rows: usize| cells.bytes(rows) + rules.iter().map(|rule| rule.bytes(rows)).max().unwrap_or(0);
    let mut rows = SET;
    while rows > LANES && (rows / 2 >= share || bytes(rows) > ROOM_BYTES) {
        rows /= 2;
    }
    rows
}

/// Walks one tree for a block of rows.
pub(super) struct BlockWalk<'a, 'b> {
    pub(super) rule: &'a TreeRule<'a>,
    pub(super) x: &'a CodedRows,
    /// The rows of the block, which begin with row `first` and end in the same set.
    pub(super) first: usize,
    pub(super) len: usize,
    pub(super) left: &'a mut Vec<u64>,
    pub(super) room: &'a mut Room,
    pub(super) sums: &'a mut Sums<'b>,
}

impl Kernel for BlockWalk<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { rule: TreeRule { tree, goes, players }, left, room, sums, .. } = self;
        self.x.passing(self.first / SET, tree.tests(), left);
        for left in left.iter_mut() {
            *left >>= self.first % SET;
        }
        for nodes in goes {
            let size = Size { nodes: nodes.len(), rows: self.len.next_multiple_of(LANES), width: tree.width };
            let members = u64::MAX >> (SET - self.len);
            Walk { tree, players, nodes: Nodes::new(nodes), size, left, members, room, sums }.run();
        }
    }
}
