//! A forest and its players made ready for the engines: every split a code test, every path's players numbered.

use super::codes::{CodeTest, Columns};
use super::plan::{PART, Shape, can_have_tables, looked_up};
use crate::forest::{Forest, Node, Output, Split, Tree};
use crate::job::Workers;
use crate::players::Players;

/// Where an edge leads: an internal node, or a leaf (top bit set).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Child(u32);

const LEAF: u32 = 1 << 31;

/// [`Child`], told apart.
pub(crate) enum Place {
    Split(usize),
    Leaf(usize),
}

impl Child {
    #[inline(always)]
    pub(crate) fn place(self) -> Place {
        if self.0 & LEAF == 0 { Place::Split(self.0 as usize) } else { Place::Leaf((self.0 & !LEAF) as usize) }
    }
}

/// An internal node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompiledSplit {
    pub(crate) test: CodeTest,
    pub(crate) left: Child,
    pub(crate) right: Child,
    /// $\mathcal{I}(i_n)$, numbered within the tree.
    pub(crate) player: u32,
}

/// A tree whose internal nodes stand in depth-first order, parents before children.
#[derive(Debug)]
pub(crate) struct CompiledTree {
    pub(crate) root: Child,
    pub(crate) splits: Vec<CompiledSplit>,
    /// Leaf values, `width` numbers a leaf.
    pub(crate) values: Vec<f64>,
    pub(crate) output: Output,
    pub(crate) width: usize,
    /// The tree's players: their number in the game, by their number in the tree.
    pub(crate) players: Vec<u32>,
    /// The most distinct players on a path.
    pub(crate) max_path: usize,
    /// Which share of the training weight goes left and right at each split; empty where the model does not say.
    pub(crate) shares: Vec<[f64; 2]>,
    pub(crate) shape: Shape,
}

/// A forest ready for the engines.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) columns: Columns,
    pub(crate) trees: Vec<CompiledTree>,
    pub(crate) n_players: usize,
    pub(crate) n_outputs: usize,
    /// Whether every tree can have tables.
    pub(crate) all_tables: bool,
    /// Numbers of tables that a row looks up, for an index of players and one of pairs.
    pub(crate) looked_up: [f64; 2],
}

impl Compiled {
    pub(crate) fn new(forest: &Forest, players: &Players, workers: &Workers) -> Self {
        let (columns, tests) = Columns::new(forest, workers);
        let starts =
            forest.trees().iter().scan(0, |next, tree| Some(std::mem::replace(next, *next + tree.nodes().len())));
        let starts: Vec<usize> = starts.collect();
        let tree = |t: usize| compile_tree(&forest.trees()[t], forest.n_outputs(), players, &tests[starts[t]..]);
        let trees = workers.map(forest.trees().len(), tree);
        Self {
            all_tables: trees.iter().all(can_have_tables),
            looked_up: [1, 2].map(|order| trees.iter().map(|tree| looked_up(tree, order)).sum()),
            columns,
            trees,
            n_players: players.count(),
            n_outputs: forest.n_outputs(),
        }
    }

    /// The most distinct players on a path of any tree.
    pub(crate) fn max_path(&self) -> usize {
        self.trees.iter().map(|t| t.max_path).max().unwrap_or(0)
    }
}

/// A step of the way through a tree, depth first.
enum Step {
    Enter { node: u32, parent: Option<(usize, bool)> },
    Leave { player: u32 },
}

fn compile_tree(tree: &Tree, n_outputs: usize, players: &Players, tests: &[CodeTest]) -> CompiledTree {
    let width = tree.leaf_width(n_outputs);
    let mut local = LocalPlayers::default();
    let mut compiled = CompiledTree {
        root: Child(LEAF),
        splits: Vec::new(),
        values: Vec::new(),
        output: tree.output(),
        width,
        players: Vec::new(),
        max_path: 0,
        shares: Vec::new(),
        shape: Shape::default(),
    };
    let mut fresh = Vec::new();
    // The path's distinct players are counted on the way down and taken back on the way up.
    let mut on_path: Vec<u32> = Vec::new();
    let mut distinct = 0;
    let mut stack = vec![Step::Enter { node: 0, parent: None }];
    while let Some(step) = stack.pop() {
        let (node, parent) = match step {
            Step::Enter { node, parent } => (node, parent),
            Step::Leave { player } => {
                on_path[player as usize] -= 1;
                distinct -= usize::from(on_path[player as usize] == 0);
                continue;
            }
        };
        let child = match &tree.nodes()[node as usize] {
            Node::Leaf(leaf) => {
                let leaf = *leaf as usize;
                compiled.values.extend_from_slice(&tree.values[leaf * width..(leaf + 1) * width]);
                compiled.shape.add_leaf(distinct);
                Child(LEAF | (compiled.values.len() / width - 1) as u32)
            }
            Node::Split(split) => {
                let player = local.number(players.of(split.feature as usize));
                on_path.resize(local.players.len().max(on_path.len()), 0);
                on_path[player as usize] += 1;
                distinct += usize::from(on_path[player as usize] == 1);
                compiled.max_path = compiled.max_path.max(distinct);
                fresh.push(on_path[player as usize] == 1);
                if let Some(cover) = &tree.cover {
                    compiled.shares.push(shares(cover, split));
                }
                let at = compiled.splits.len();
                let unset = Child(LEAF);
                compiled.splits.push(CompiledSplit { test: tests[node as usize], left: unset, right: unset, player });
                stack.push(Step::Leave { player });
                stack.push(Step::Enter { node: split.right, parent: Some((at, false)) });
                stack.push(Step::Enter { node: split.left, parent: Some((at, true)) });
                Child(at as u32)
            }
        };
        match parent {
            None => compiled.root = child,
            Some((at, true)) => compiled.splits[at].left = child,
            Some((at, false)) => compiled.splits[at].right = child,
        }
    }
    compiled.players = local.players;
    compiled.shape.meets = expected_meets(&compiled, &fresh);
    compiled
}

/// The shares of the training weight of a split's children; halves where none reached them. Taken of the children's
/// sum, which a library that rounds its sums may give a little differently from the parent's own weight.
fn shares(cover: &[f64], split: &Split) -> [f64; 2] {
    let children = [split.left, split.right].map(|child| cover[child as usize]);
    let all = children[0] + children[1];
    if all > 0.0 && all.is_finite() { children.map(|child| child / all) } else { [0.5; 2] }
}

/// Leaves that an average pair is expected to meet at: both ways where the two part and the player is new.
fn expected_meets(tree: &CompiledTree, fresh: &[bool]) -> f64 {
    let mut meets = vec![0.0; tree.splits.len()];
    let of = |meets: &[f64], child: Child| match child.place() {
        Place::Leaf(_) => 1.0,
        Place::Split(n) => meets[n],
    };
    for n in (0..tree.splits.len()).rev() {
        let part = if fresh[n] { PART } else { PART / 2.0 };
        meets[n] = 0.5 * (1.0 + part) * (of(&meets, tree.splits[n].left) + of(&meets, tree.splits[n].right));
    }
    of(&meets, tree.root)
}

impl Shape {
    fn add_leaf(&mut self, players: usize) {
        let (k, entries) = (players as f64, (players as f64).exp2());
        self.leaves += 1.0;
        self.entries += entries;
        self.cells += k * entries;
        self.players += k;
    }
}

/// Numbers the players a tree uses in the order it meets them.
#[derive(Default)]
struct LocalPlayers {
    players: Vec<u32>,
    number: std::collections::HashMap<usize, u32>,
}

impl LocalPlayers {
    fn number(&mut self, player: usize) -> u32 {
        let players = &mut self.players;
        *self.number.entry(player).or_insert_with(|| {
            players.push(player as u32);
            players.len() as u32 - 1
        })
    }
}
