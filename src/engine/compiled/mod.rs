//! A forest and its players made ready for the engines: every split is a code test, and the players of every tree are
//! numbered.

mod compile;
mod leaf;
mod path;
mod shape;
mod values;

pub(crate) use leaf::Leaf;
pub(crate) use path::Path;
pub(crate) use shape::{MAX_PLAYERS, PathLengths, Shape};
pub(crate) use values::{common_values, sums_are_equal};

use super::codes::{CodeTest, Columns};
use crate::forest::{Forest, Output};
use crate::job::Workers;
use crate::players::Players;

/// Where an edge leads: to an internal node, or to a leaf (top bit set).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Child(u32);

const LEAF: u32 = 1 << 31;

/// [`Child`], decoded.
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
    /// Leaf values, `width` numbers per leaf.
    pub(crate) values: Vec<f64>,
    pub(crate) output: Output,
    pub(crate) width: usize,
    /// For each player of the tree, its number in the game.
    pub(crate) players: Vec<u32>,
    /// The most distinct players on a path.
    pub(crate) max_path: usize,
    /// The most splits on a path.
    pub(crate) depth: usize,
    /// The shares of the training weight that go left and right at each split; empty if the model does not say, or if
    /// nobody needs them.
    pub(crate) shares: Vec<[f64; 2]>,
    pub(crate) shape: Shape,
    pub(crate) paths: PathLengths,
}

impl CompiledTree {
    pub(crate) fn n_leaves(&self) -> usize {
        self.values.len() / self.width
    }

    /// The values of every leaf.
    pub(crate) fn leaf_values(&self) -> std::slice::ChunksExact<'_, f64> {
        self.values.chunks_exact(self.width)
    }

    /// The code test of every split.
    #[inline(always)]
    pub(crate) fn tests(&self) -> impl ExactSizeIterator<Item = CodeTest> {
        self.splits.iter().map(|split| split.test)
    }
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
    /// How many numbers of tables a row looks up, for an index of players and for one of pairs.
    pub(crate) looked_up: [f64; 2],
}

impl Compiled {
    /// Compiles a forest; path-dependent values need the shares of the training weight too.
    pub(crate) fn new(forest: &Forest, players: &Players, with_shares: bool, workers: &Workers) -> Self {
        let (columns, tests) = Columns::new(forest, workers);
        let game = compile::Game { n_outputs: forest.n_outputs(), players, with_shares };
        let tree = |t: usize| compile::tree(&forest.trees()[t], &game, &tests.of_tree(t));
        let trees = workers.map(forest.trees().len(), tree);
        Self {
            all_tables: trees.iter().all(CompiledTree::can_have_tables),
            looked_up: [1, 2].map(|order| trees.iter().map(|tree| tree.looked_up(order)).sum()),
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
