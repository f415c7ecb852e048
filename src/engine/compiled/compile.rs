//! Compiling one tree: one depth-first pass, without recursion.

use super::shape::expected_meets;
use super::{Child, CompiledSplit, CompiledTree, LEAF, PathLengths, Shape};
use crate::engine::codes::{CodeTest, TreeTests};
use crate::forest::{Node, Split, Tree};
use crate::players::Players;

/// What all trees of a forest share.
pub(super) struct Game<'a> {
    pub(super) n_outputs: usize,
    pub(super) players: &'a Players,
    pub(super) with_shares: bool,
}

/// Compiles a tree.
pub(super) fn tree(tree: &Tree, game: &Game<'_>, tests: &TreeTests<'_>) -> CompiledTree {
    let mut compiler = Compiler::new(tree, game);
    let mut next = Some(0);
    while let Some(node) = next {
        next = match &tree.nodes()[node as usize] {
            Node::Leaf(leaf) => compiler.leaf(*leaf as usize),
            Node::Split(split) => Some(compiler.split(split, tests.of(node as usize, split))),
        };
    }
    compiler.finish()
}

/// A split above the node that comes next.
struct Above {
    at: usize,
    player: u32,
    /// Whether its player is on the path for the first time.
    fresh: bool,
    /// The right child, until the left one is complete.
    right: Option<u32>,
    /// At how many leaves of the left child a pair is expected to meet, once that is complete.
    left_meets: f64,
}

/// A tree on its way to being compiled.
struct Compiler<'a> {
    tree: &'a Tree,
    game: &'a Game<'a>,
    /// The training weight of each node, if the shares are needed.
    cover: Option<&'a [f64]>,
    compiled: CompiledTree,
    n_leaves: u32,
    path: Path,
    above: Vec<Above>,
    /// At how many leaves a pair is expected to meet.
    meets: f64,
}

impl<'a> Compiler<'a> {
    fn new(tree: &'a Tree, game: &'a Game<'a>) -> Self {
        let n_splits = tree.nodes().len() / 2;
        let cover = tree.cover.as_deref().filter(|_| game.with_shares);
        let compiled = CompiledTree {
            root: Child(LEAF),
            splits: Vec::with_capacity(n_splits),
            values: Vec::with_capacity(tree.values.len()),
            output: tree.output(),
            width: tree.leaf_width(game.n_outputs),
            players: Vec::new(),
            max_path: 0,
            depth: 0,
            shares: Vec::with_capacity(if cover.is_some() { n_splits } else { 0 }),
            shape: Shape::default(),
            paths: PathLengths::default(),
        };
        let path = Path::new(game.players.count());
        Self { tree, game, cover, compiled, n_leaves: 0, path, above: Vec::new(), meets: 1.0 }
    }

    /// Adds a leaf, and leaves all splits that are complete with it; the node that comes next.
    fn leaf(&mut self, leaf: usize) -> Option<u32> {
        match self.compiled.width {
            1 => self.compiled.values.push(self.tree.values[leaf]),
            width => self.compiled.values.extend_from_slice(&self.tree.values[leaf * width..(leaf + 1) * width]),
        }
        self.compiled.paths.add_leaf(self.path.distinct);
        self.connect(Child(LEAF | self.n_leaves));
        self.n_leaves += 1;
        let mut meets = 1.0;
        while let Some(above) = self.above.last_mut() {
            if let Some(right) = above.right.take() {
                above.left_meets = meets;
                return Some(right);
            }
            meets = expected_meets(above.fresh, above.left_meets, meets);
            self.path.leave(above.player);
            self.above.pop();
        }
        self.meets = meets;
        None
    }

    /// Adds a split and its code test; the node that comes next.
    fn split(&mut self, split: &Split, test: CodeTest) -> u32 {
        let player = self.path.enter(self.game.players.of(split.feature as usize));
        self.compiled.max_path = self.compiled.max_path.max(self.path.distinct);
        self.compiled.depth = self.compiled.depth.max(self.path.len);
        if let Some(cover) = self.cover {
            self.compiled.shares.push(shares(cover, split));
        }
        let at = self.compiled.splits.len();
        self.connect(Child(at as u32));
        let unknown = Child(LEAF);
        self.compiled.splits.push(CompiledSplit { test, left: unknown, right: unknown, player });
        let fresh = self.path.times[player as usize] == 1;
        self.above.push(Above { at, player, fresh, right: Some(split.right), left_meets: 0.0 });
        split.left
    }

    /// Leads the edge above a node to it.
    fn connect(&mut self, child: Child) {
        match self.above.last() {
            None => self.compiled.root = child,
            Some(above) if above.right.is_some() => self.compiled.splits[above.at].left = child,
            Some(above) => self.compiled.splits[above.at].right = child,
        }
    }

    fn finish(mut self) -> CompiledTree {
        self.compiled.players = self.path.players;
        self.compiled.shape = Shape::new(&self.compiled.paths, self.meets, &self.compiled.leaf_values());
        self.compiled
    }
}

/// The players of a tree, numbered in the order in which they appear, and how many times each is on the path.
struct Path {
    players: Vec<u32>,
    /// For each player of the game, its number in the tree plus 1; 0 if the tree has not named it yet.
    number: Vec<u32>,
    times: Vec<u32>,
    /// How many distinct players are on the path.
    distinct: usize,
    /// How many splits are on the path.
    len: usize,
}

impl Path {
    fn new(n_players: usize) -> Self {
        Self { players: Vec::new(), number: vec![0; n_players], times: Vec::new(), distinct: 0, len: 0 }
    }

    /// Puts a player on the path; its number in the tree.
    fn enter(&mut self, player: usize) -> u32 {
        if self.number[player] == 0 {
            self.players.push(player as u32);
            self.times.push(0);
            self.number[player] = self.players.len() as u32;
        }
        let number = self.number[player] - 1;
        self.len += 1;
        self.times[number as usize] += 1;
        self.distinct += usize::from(self.times[number as usize] == 1);
        number
    }

    fn leave(&mut self, number: u32) {
        self.len -= 1;
        self.times[number as usize] -= 1;
        self.distinct -= usize::from(self.times[number as usize] == 0);
    }
}

/// The shares of a split's training weight that go to either child; halves if no weight reached them. They are taken of
/// the children's sum, because a library that rounds its sums may give the parent a slightly different weight.
fn shares(cover: &[f64], split: &Split) -> [f64; 2] {
    let children = [split.left, split.right].map(|child| cover[child as usize]);
    let all = children[0] + children[1];
    if all > 0.0 && all.is_finite() { children.map(|child| child / all) } else { [0.5; 2] }
}
