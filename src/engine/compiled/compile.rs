//! Compiling one tree: one depth-first pass, without recursion.

use super::{Child, CompiledSplit, CompiledTree, LEAF, PathLengths, Shape};
use crate::engine::codes::CodeTest;
use crate::forest::{Node, Split, Tree};
use crate::players::Players;

/// A step of the way through a tree, depth first.
enum Visit {
    Enter { node: u32, parent: Option<(usize, bool)> },
    Leave { player: u32 },
}

/// Compiles a tree whose nodes have these code tests.
pub(super) fn tree(tree: &Tree, n_outputs: usize, players: &Players, tests: &[CodeTest]) -> CompiledTree {
    let mut compiler = Compiler::new(tree, n_outputs, players.count());
    let mut stack = vec![Visit::Enter { node: 0, parent: None }];
    while let Some(visit) = stack.pop() {
        let (node, parent) = match visit {
            Visit::Enter { node, parent } => (node, parent),
            Visit::Leave { player } => {
                compiler.path.leave(player);
                continue;
            }
        };
        let child = match &tree.nodes()[node as usize] {
            Node::Leaf(leaf) => compiler.leaf(*leaf as usize),
            Node::Split(split) => {
                let player = compiler.path.enter(players.of(split.feature as usize));
                let at = compiler.split(split, tests[node as usize], player);
                stack.push(Visit::Leave { player });
                stack.push(Visit::Enter { node: split.right, parent: Some((at, false)) });
                stack.push(Visit::Enter { node: split.left, parent: Some((at, true)) });
                Child(at as u32)
            }
        };
        compiler.connect(parent, child);
    }
    compiler.finish()
}

/// A tree on its way to being compiled.
struct Compiler<'a> {
    tree: &'a Tree,
    compiled: CompiledTree,
    path: Path,
    /// For each split, whether its player is on the path for the first time.
    fresh: Vec<bool>,
}

impl<'a> Compiler<'a> {
    fn new(tree: &'a Tree, n_outputs: usize, n_players: usize) -> Self {
        let n_splits = tree.nodes().len() / 2;
        let compiled = CompiledTree {
            root: Child(LEAF),
            splits: Vec::with_capacity(n_splits),
            values: Vec::with_capacity(tree.values.len()),
            output: tree.output(),
            width: tree.leaf_width(n_outputs),
            players: Vec::new(),
            max_path: 0,
            depth: 0,
            shares: Vec::with_capacity(if tree.cover.is_some() { n_splits } else { 0 }),
            shape: Shape::default(),
            paths: PathLengths::default(),
        };
        Self { tree, compiled, path: Path::new(n_players), fresh: Vec::with_capacity(n_splits) }
    }

    fn leaf(&mut self, leaf: usize) -> Child {
        let width = self.compiled.width;
        self.compiled.values.extend_from_slice(&self.tree.values[leaf * width..(leaf + 1) * width]);
        self.compiled.paths.add_leaf(self.path.distinct);
        Child(LEAF | (self.compiled.n_leaves() - 1) as u32)
    }

    /// Adds a split whose player was just entered, with its children still unknown.
    fn split(&mut self, split: &Split, test: CodeTest, player: u32) -> usize {
        self.compiled.max_path = self.compiled.max_path.max(self.path.distinct);
        self.compiled.depth = self.compiled.depth.max(self.path.len);
        self.fresh.push(self.path.times[player as usize] == 1);
        if let Some(cover) = &self.tree.cover {
            self.compiled.shares.push(shares(cover, split));
        }
        let unknown = Child(LEAF);
        self.compiled.splits.push(CompiledSplit { test, left: unknown, right: unknown, player });
        self.compiled.splits.len() - 1
    }

    fn connect(&mut self, parent: Option<(usize, bool)>, child: Child) {
        match parent {
            None => self.compiled.root = child,
            Some((at, true)) => self.compiled.splits[at].left = child,
            Some((at, false)) => self.compiled.splits[at].right = child,
        }
    }

    fn finish(mut self) -> CompiledTree {
        self.compiled.players = self.path.players;
        self.compiled.shape = Shape::new(&self.compiled.paths, self.compiled.expected_meets(&self.fresh));
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
