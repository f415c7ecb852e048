//! The common format: a [`Forest`] of binary decision trees, the same for models of every library.

mod arrays;
mod flat;
mod margins;
mod split;
mod validate;

pub use arrays::ForestArrays;
pub use flat::FlatForest;
pub(crate) use flat::Made;
#[cfg(feature = "python")]
pub(crate) use flat::{CategorySets, FlatNode, TreeArrays, WholeTree};
pub(crate) use split::ZERO;
pub use split::{Categories, Missing, Precision, Rule, Split, Test};

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::job::Workers;
use crate::rows::Rows;
use crate::simd::prefetch;
use validate::InOrder;

/// A node of a tree: internal, or a leaf.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// An internal node with two children.
    Split(Split),
    /// A leaf; the number says which of the tree's leaf values belongs to it.
    Leaf(u32),
}

/// What is wrong with a forest that has no base value.
const NO_OUTPUT: &str = "a forest needs at least one output (one base value each)";

/// Which outputs of the model a tree adds to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// One number per leaf, added to this output (boosting: one tree per class and round).
    One(usize),
    /// A vector per leaf, with one number for each output (forests of classification trees).
    All,
}

/// A binary decision tree (Definition 4 of the paper); node 0 is the root.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    pub(crate) nodes: Vec<Node>,
    pub(crate) values: Vec<f64>,
    pub(crate) output: Output,
    pub(crate) cover: Option<Vec<f64>>,
}

impl Tree {
    /// A tree of these nodes; `values` holds the leaf values, leaf after leaf.
    #[must_use]
    pub fn new(nodes: Vec<Node>, values: Vec<f64>, output: Output) -> Self {
        Self { nodes, values, output, cover: None }
    }

    /// The same tree with the training weight that reached each node.
    #[must_use]
    pub fn with_cover(self, cover: Vec<f64>) -> Self {
        Self { cover: Some(cover), ..self }
    }

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The outputs the tree adds to.
    #[must_use]
    pub fn output(&self) -> Output {
        self.output
    }

    /// How many numbers each leaf holds.
    #[must_use]
    pub fn leaf_width(&self, n_outputs: usize) -> usize {
        match self.output {
            Output::One(_) => 1,
            Output::All => n_outputs,
        }
    }

    /// The largest absolute value of a leaf, which is finite.
    pub(crate) fn largest_value(&self) -> f64 {
        // Eight at a time, because each maximum has to wait for the one before it.
        let (eights, rest) = self.values.as_chunks::<8>();
        let mut most = [0.0_f64; 8];
        for eight in eights {
            for i in 0..8 {
                most[i] = if eight[i].abs() > most[i] { eight[i].abs() } else { most[i] };
            }
        }
        most.iter().chain(rest).fold(0.0, |most, value| most.max(value.abs()))
    }

    /// The leaf (its number among the tree's leaves) that each row falls into.
    ///
    /// All rows go one step further at a time, so that the nodes of many rows are on their way from memory together.
    fn leaves_of(&self, rows: &Rows<'_>, leaves: &mut [usize]) {
        let mut going: Vec<(usize, u32)> = (0..rows.len()).map(|row| (row, 0)).collect();
        while !going.is_empty() {
            going.retain_mut(|(row, n)| match &self.nodes[*n as usize] {
                Node::Leaf(leaf) => {
                    leaves[*row] = *leaf as usize;
                    false
                }
                Node::Split(split) => {
                    let left = split.goes_left(rows.cell(*row, split.feature as usize));
                    *n = if left { split.left } else { split.right };
                    // Nodes begin anywhere in a cache line, so one may go on in the next line.
                    prefetch(&self.nodes, *n as usize);
                    prefetch(&self.nodes, *n as usize + 1);
                    true
                }
            });
        }
    }
}

/// A sum of trees plus a base value for each output. Every forest is valid, because [`Forest::new`] checks it. Clones
/// share the trees.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    trees: Arc<[Tree]>,
    n_features: usize,
    base: Vec<f64>,
    max_depth: usize,
}

impl Forest {
    /// A forest over `n_features` features, with as many outputs as there are base values.
    ///
    /// An error names the tree and the node of the first problem: a cycle, a child with two parents, a node that no
    /// path reaches, a position out of range, a NaN threshold, or a leaf value that is not finite.
    pub fn new(trees: Vec<Tree>, n_features: usize, base: Vec<f64>) -> Result<Self> {
        check_whole(n_features, &base)?;
        let depths: Result<Vec<usize>> =
            trees.iter().enumerate().map(|(t, tree)| depth(t, tree, None, n_features, base.len())).collect();
        Ok(Self { trees: trees.into(), n_features, base, max_depth: depths?.into_iter().max().unwrap_or(0) })
    }

    /// The same for trees that are still to be made: each is checked while it is made.
    pub(crate) fn of_made(
        n_trees: usize,
        tree: impl Fn(usize) -> Result<Made> + Sync + Send,
        n_features: usize,
        base: Vec<f64>,
        workers: &Workers,
    ) -> Result<Self> {
        check_whole(n_features, &base)?;
        let checked = workers.map(n_trees, |t| -> Result<(usize, Tree)> {
            let Made { tree, in_order } = tree(t)?;
            Ok((depth(t, &tree, Some(in_order), n_features, base.len())?, tree))
        });
        let (mut trees, mut max_depth) = (Vec::with_capacity(n_trees), 0);
        for made in checked {
            let (depth, tree) = made?;
            max_depth = max_depth.max(depth);
            trees.push(tree);
        }
        Ok(Self { trees: trees.into(), n_features, base, max_depth })
    }

    /// The trees.
    #[must_use]
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// Number of features a row has.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Number of outputs.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        self.base.len()
    }

    /// The base value of each output.
    #[must_use]
    pub fn base(&self) -> &[f64] {
        &self.base
    }

    /// The longest path from a root to a leaf, in edges.
    #[must_use]
    pub fn max_depth(&self) -> usize {
        self.max_depth
    }

    /// Number of nodes of all trees.
    #[must_use]
    pub fn n_nodes(&self) -> usize {
        self.trees.iter().map(|t| t.nodes.len()).sum()
    }

    /// Number of leaves of all trees.
    #[must_use]
    pub fn n_leaves(&self) -> usize {
        let leaves = |tree: &Tree| tree.nodes.iter().filter(|node| matches!(node, Node::Leaf(_))).count();
        self.trees.iter().map(leaves).sum()
    }

    /// Number of categories in the sets of all categorical splits.
    #[cfg(feature = "python")]
    pub(crate) fn n_categories(&self) -> usize {
        let categories = |node: &Node| match node {
            Node::Split(Split { test: Test::Member { categories, .. }, .. }) => categories.codes().len(),
            _ => 0,
        };
        self.trees.iter().flat_map(Tree::nodes).map(categories).sum()
    }

    /// The largest absolute value of a leaf, or of the base, for each output.
    #[cfg(feature = "python")]
    pub(crate) fn largest_leaves(&self) -> Vec<f64> {
        let mut largest: Vec<f64> = self.base.iter().map(|base| base.abs()).collect();
        for tree in self.trees.iter() {
            let of_tree = &mut largest[tree.output.first()..][..tree.leaf_width(self.base.len())];
            if let [most] = of_tree {
                *most = most.max(tree.largest_value());
                continue;
            }
            for leaf in tree.values.chunks_exact(of_tree.len()) {
                of_tree.iter_mut().zip(leaf).for_each(|(most, value)| *most = most.max(value.abs()));
            }
        }
        largest
    }
}

/// An error unless there are finite base values, and features can be numbered.
fn check_whole(n_features: usize, base: &[f64]) -> Result<()> {
    if base.is_empty() {
        return Err(Error::forest(NO_OUTPUT));
    }
    if let Some(k) = base.iter().position(|b| !b.is_finite()) {
        return Err(Error::forest(format!("the base value of output {k} is {}, not a finite number", base[k])));
    }
    if u32::try_from(n_features).is_err() {
        return Err(Error::forest(format!("{n_features} features are more than the format can number")));
    }
    Ok(())
}

/// The depth of the tree at this position, if it is valid.
fn depth(t: usize, tree: &Tree, in_order: Option<InOrder>, n_features: usize, n_outputs: usize) -> Result<usize> {
    validate::tree(tree, in_order, n_features, n_outputs).map_err(|(node, problem)| Error::Node {
        tree: t,
        node,
        problem,
    })
}

impl Output {
    /// The first output that a tree adds to.
    pub(crate) fn first(self) -> usize {
        match self {
            Self::One(k) => k,
            Self::All => 0,
        }
    }
}
