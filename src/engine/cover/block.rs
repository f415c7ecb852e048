//! A block of rows, tree after tree.

use super::bottoms::Bottoms;
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

/// The most blocks that go through a tree one after another.
const MOST_TOGETHER: usize = 16;

/// How a tree is walked for an index.
pub(super) struct TreeRule<'a> {
    tree: &'a CompiledTree,
    /// The quadrature nodes: there is one walk for each of these lists.
    goes: Vec<Vec<WalkNode>>,
    /// The lowest subtrees.
    bottoms: Bottoms,
    /// The position of each of the tree's players among the [`Cells`].
    players: Vec<u32>,
}

impl<'a> TreeRule<'a> {
    pub(super) fn new(tree: &'a CompiledTree, index: Index, cells: &Cells) -> Self {
        let bottoms = if cells.of_pairs() { Bottoms::none(tree) } else { Bottoms::new(tree) };
        Self { tree, goes: goes(&index.integral(tree.max_path)), bottoms, players: cells.of(tree) }
    }

    /// Bytes of the levels of a walk.
    fn bytes(&self, rows: usize) -> usize {
        let nodes = self.goes.iter().map(Vec::len).max().unwrap_or(0);
        let size = Size { nodes, rows: rows.next_multiple_of(LANES), width: self.tree.width };
        (self.tree.depth + 2) * size.bytes()
    }
}

/// How rows go through the trees.
pub(super) struct Blocks {
    /// The rows of a block: enough for every thread to have some, and as memory allows.
    pub(super) rows: usize,
    /// The blocks that go through a tree one after another, so that the tables of its bottoms serve them all.
    pub(super) together: usize,
}

impl Blocks {
    pub(super) fn new(task: &Task<'_>, rules: &[TreeRule<'_>], cells: &Cells) -> Self {
        let share = task.rows.len().div_ceil(task.job.workers.threads());
        let bytes = |rows: usize| cells.bytes(rows) + rules.iter().map(|rule| rule.bytes(rows)).max().unwrap_or(0);
        let mut rows = SET;
        while rows > LANES && (rows / 2 >= share || bytes(rows) > ROOM_BYTES) {
            rows /= 2;
        }
        let most = (ROOM_BYTES / cells.bytes(rows).max(1)).clamp(1, MOST_TOGETHER);
        let blocks = share.div_ceil(rows).max(1);
        Self { rows, together: blocks.div_ceil(blocks.div_ceil(most)) }
    }
}

/// Rows that go through the trees side by side.
pub(super) struct Block<'a> {
    /// The rows begin with this one and end in the same set.
    first: usize,
    len: usize,
    pub(super) sums: Sums<'a>,
}

impl<'a> Block<'a> {
    pub(super) fn new(first: usize, len: usize, cells: &'a Cells) -> Self {
        Self { first, len, sums: Sums::new(cells, len) }
    }
}

/// Walks one tree for some blocks of rows.
pub(super) struct TreeWalk<'a, 'b> {
    pub(super) rule: &'a TreeRule<'a>,
    pub(super) x: &'a CodedRows,
    pub(super) left: &'a mut Vec<u64>,
    pub(super) room: &'a mut Room,
    pub(super) blocks: &'a mut [Block<'b>],
}

impl Kernel for TreeWalk<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { rule: TreeRule { tree, goes, bottoms, players }, x, left, room, blocks } = self;
        for nodes in goes {
            let nodes = &Nodes::new(nodes);
            room.tables.begin(bottoms, tree, nodes, blocks.len());
            for Block { first, len, sums } in blocks.iter_mut() {
                x.passing(*first / SET, tree.tests(), left);
                for left in left.iter_mut() {
                    *left >>= *first % SET;
                }
                let size = Size { nodes: nodes.all.len(), rows: len.next_multiple_of(LANES), width: tree.width };
                let members = u64::MAX >> (SET - *len);
                Walk { tree, players, bottoms, nodes, size, left, members, room, sums }.run();
            }
        }
    }
}
