//! The common format as flat arrays, the form in which Python and files hold it.

use std::ops::Range;

use super::validate::InOrder;
use super::{Categories, Forest, Missing, NO_OUTPUT, Node, Output, Precision, Rule, Split, Test, Tree};
use crate::error::{Error, Result};
use crate::job::Workers;

/// The meaning of the bits of [`FlatForest::flags`].
pub(super) mod flag {
    pub(in crate::forest) const LESS_EQUAL: u8 = 1;
    pub(in crate::forest) const FLOAT32: u8 = 1 << 1;
    pub(in crate::forest) const DEFAULT_LEFT: u8 = 1 << 2;
    pub(in crate::forest) const NAN_IS_ZERO: u8 = 1 << 3;
    pub(in crate::forest) const ZERO_IS_MISSING: u8 = 1 << 4;
    pub(in crate::forest) const CATEGORICAL: u8 = 1 << 5;
    pub(in crate::forest) const MEMBERS_LEFT: u8 = 1 << 6;
    pub(in crate::forest) const NEGATIVE_FRACTION_IS_ZERO: u8 = 1 << 7;
}

/// A forest as borrowed arrays. Node arrays run over all trees, tree after tree; children are numbered within
/// their own tree; a node whose children are both -1 is a leaf. Nothing here is trusted: [`FlatForest::build`] checks it all.
#[derive(Debug, Clone, Copy)]
pub struct FlatForest<'a> {
    /// Number of features a row has.
    pub n_features: usize,
    /// Where each tree's nodes begin, and the total at the end.
    pub tree_offsets: &'a [i64],
    /// Left children.
    pub left: &'a [i32],
    /// Right children.
    pub right: &'a [i32],
    /// Split features.
    pub feature: &'a [i32],
    /// Thresholds.
    pub threshold: &'a [f64],
    /// How each split compares. Bit 0: `<=` instead of `<`. Bit 1: in single precision. Bit 2: missing values go left.
    /// Bit 3: NaN counts as zero. Bit 4: zero is missing, like NaN. Bit 5: a category set instead of a threshold.
    /// Bit 6: members of the set go left. Bit 7: a value between -1 and 0 is category 0.
    pub flags: &'a [u8],
    /// Leaf values, tree after tree: one per node, or `base.len()` per node if the tree's `tree_output` is -1.
    pub value: &'a [f64],
    /// The output each tree adds to, or -1 for a tree with vector leaves.
    pub tree_output: &'a [i32],
    /// One base value per output.
    pub base: &'a [f64],
    /// The categorical nodes, numbered over all trees, in increasing order.
    pub category_nodes: &'a [i64],
    /// Where the set of each categorical node begins in `categories`, and the total at the end.
    pub category_offsets: &'a [i64],
    /// The sets, one after another.
    pub categories: &'a [u32],
    /// The training weight that reached each node.
    pub cover: Option<&'a [f64]>,
}

impl FlatForest<'_> {
    /// The validated forest.
    pub fn build(&self) -> Result<Forest> {
        if self.base.is_empty() {
            return Err(Error::forest(NO_OUTPUT));
        }
        let n_nodes = self.left.len();
        if self.tree_offsets.is_empty() {
            offsets("tree_offsets", self.tree_offsets, n_nodes)?;
        }
        let lengths = [
            ("right", self.right.len(), n_nodes),
            ("feature", self.feature.len(), n_nodes),
            ("threshold", self.threshold.len(), n_nodes),
            ("flags", self.flags.len(), n_nodes),
            ("cover", self.cover.map_or(n_nodes, <[f64]>::len), n_nodes),
            ("tree_output", self.tree_output.len() + 1, self.tree_offsets.len()),
        ];
        for (name, have, want) in lengths {
            if have != want {
                return Err(Error::forest(format!("array `{name}` has {have} entries where {want} belong")));
            }
        }
        offsets("tree_offsets", self.tree_offsets, n_nodes)?;
        let sets = CategorySets { nodes: self.category_nodes, offsets: self.category_offsets, all: self.categories };
        sets.check()?;
        let nodes = |t: usize| (self.tree_offsets[t + 1] - self.tree_offsets[t]) as usize;
        let numbers = |t: usize| nodes(t).saturating_mul(self.width(t));
        let mut starts = Vec::with_capacity(self.tree_offsets.len());
        starts.push(0);
        for t in 0..self.tree_output.len() {
            starts.push(numbers(t).saturating_add(starts[t]));
        }
        let values = starts[self.tree_output.len()];
        if self.value.len() != values {
            let have = self.value.len();
            return Err(Error::forest(format!("array `value` has {have} entries where {values} belong")));
        }
        let tree = |t: usize| {
            let own = self.tree_offsets[t] as usize..self.tree_offsets[t + 1] as usize;
            let (output, n_features, n_outputs) = (self.tree_output[t], self.n_features, self.base.len());
            let whole = WholeTree { output, n_features, n_outputs, sets, first_node: own.start };
            whole.build(t, &TreeSlices { forest: self, nodes: own, values: starts[t] })
        };
        Forest::of_made(self.tree_output.len(), tree, self.n_features, self.base.to_vec(), &Workers::new(1))
    }

    /// How many numbers each leaf of a tree holds.
    fn width(&self, t: usize) -> usize {
        if self.tree_output[t] == -1 { self.base.len() } else { 1 }
    }
}

/// The sets of all categorical nodes; see the fields of [`FlatForest`].
#[derive(Clone, Copy)]
pub(crate) struct CategorySets<'a> {
    pub(crate) nodes: &'a [i64],
    pub(crate) offsets: &'a [i64],
    pub(crate) all: &'a [u32],
}

impl CategorySets<'_> {
    /// An error unless there is a set for each node, and offsets and nodes are in order.
    pub(crate) fn check(&self) -> Result<()> {
        let (have, want) = (self.offsets.len(), self.nodes.len() + 1);
        if have != want {
            return Err(Error::forest(format!("array `category_offsets` has {have} entries where {want} belong")));
        }
        offsets("category_offsets", self.offsets, self.all.len())?;
        match self.nodes.windows(2).position(|w| w[0] >= w[1]) {
            Some(w) => Err(Error::forest(format!("`category_nodes` does not increase at entry {}", w + 1))),
            None => Ok(()),
        }
    }

    fn of(&self, node: usize) -> Result<Categories, String> {
        let entry = self
            .nodes
            .binary_search(&(node as i64))
            .map_err(|_| "it is categorical, but no category set is given for it")?;
        Ok(Categories::new(&self.all[self.offsets[entry] as usize..self.offsets[entry + 1] as usize]))
    }
}

/// A node as the format holds it; see the fields of [`FlatForest`].
#[derive(Clone, Copy)]
pub(crate) struct FlatNode {
    pub(crate) left: i32,
    pub(crate) right: i32,
    pub(crate) feature: i32,
    pub(crate) threshold: f64,
    pub(crate) flags: u8,
    pub(crate) cover: Option<f64>,
}

/// The arrays of one tree, in whatever width and order they are held.
pub(crate) trait TreeArrays {
    fn n_nodes(&self) -> usize;
    fn node(&self, n: usize) -> FlatNode;
    /// A number of the leaf values, which have one per node, or one per node and output.
    fn value(&self, i: usize) -> f64;
}

/// One tree of a forest.
struct TreeSlices<'a> {
    forest: &'a FlatForest<'a>,
    nodes: Range<usize>,
    /// Where its leaf values begin.
    values: usize,
}

impl TreeArrays for TreeSlices<'_> {
    fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    #[inline]
    fn node(&self, n: usize) -> FlatNode {
        let (all, n) = (self.forest, self.nodes.start + n);
        FlatNode {
            left: all.left[n],
            right: all.right[n],
            feature: all.feature[n],
            threshold: all.threshold[n],
            flags: all.flags[n],
            cover: all.cover.map(|cover| cover[n]),
        }
    }

    #[inline]
    fn value(&self, i: usize) -> f64 {
        self.forest.value[self.values + i]
    }
}

/// What concerns all nodes of a tree.
#[derive(Clone, Copy)]
pub(crate) struct WholeTree<'a> {
    /// The output it adds to, or -1 for vector leaves.
    pub(crate) output: i32,
    pub(crate) n_features: usize,
    pub(crate) n_outputs: usize,
    /// The sets of all trees, checked.
    pub(crate) sets: CategorySets<'a>,
    /// What the root is called there.
    pub(crate) first_node: usize,
}

/// A tree that was just made, and what was found out about its nodes on the way.
pub(crate) struct Made {
    pub(super) tree: Tree,
    pub(super) in_order: InOrder,
}

impl WholeTree<'_> {
    /// The tree, which is not validated yet; `t` is its position in the forest.
    /// Panics if an array is too short.
    pub(crate) fn build(&self, t: usize, arrays: &impl TreeArrays) -> Result<Made> {
        let n_nodes = arrays.n_nodes();
        let at = |node: usize, problem: String| Error::Node { tree: t, node, problem };
        let (output, width) = match self.output {
            -1 => (Output::All, self.n_outputs),
            k if k >= 0 => (Output::One(k as usize), 1),
            k => {
                return Err(at(
                    0,
                    format!("the tree's output is {k}; outputs are numbered from 0, -1 for all of them"),
                ));
            }
        };
        // One pass over the nodes, since arrays may be fields of larger records: each record is then read once.
        let mut values = Vec::with_capacity((n_nodes / 2 + 1).saturating_mul(width).min(n_nodes.saturating_mul(width)));
        let mut nodes = Vec::with_capacity(n_nodes);
        let mut covers = Vec::new();
        let mut n_leaves = 0;
        let mut in_order = InOrder::new(n_nodes, self.n_features);
        for n in 0..n_nodes {
            let node = arrays.node(n);
            if let Some(cover) = node.cover {
                if n == 0 {
                    covers.reserve_exact(n_nodes);
                }
                covers.push(cover);
                in_order.cover(cover);
            }
            nodes.push(if (node.left, node.right) == (-1, -1) {
                match width {
                    1 => values.push(arrays.value(n)),
                    _ => values.extend((n * width..(n + 1) * width).map(|i| arrays.value(i))),
                }
                in_order.leaf(n, &values[values.len() - width..]);
                n_leaves += 1;
                Node::Leaf(n_leaves - 1)
            } else {
                let split = self.split(n, &node).map_err(|problem| at(n, problem))?;
                in_order.split(n, &split);
                Node::Split(split)
            });
        }
        let tree = Tree::new(nodes, values, output);
        let tree = if covers.is_empty() { tree } else { tree.with_cover(covers) };
        Ok(Made { tree, in_order })
    }

    #[inline(always)]
    fn split(&self, n: usize, node: &FlatNode) -> Result<Split, String> {
        let index = |what: &str, i: i32| u32::try_from(i).map_err(|_| format!("its {what} is {i}"));
        let flags = node.flags;
        let has = |bit: u8| flags & bit != 0;
        let missing = match (has(flag::NAN_IS_ZERO), has(flag::ZERO_IS_MISSING)) {
            (false, false) => Missing::Nan,
            (true, false) => Missing::NanIsZero,
            (false, true) => Missing::NanOrZero,
            (true, true) => {
                return Err(format!("its flags {flags} say both that NaN is zero and that zero is missing"));
            }
        };
        let test = if has(flag::CATEGORICAL) {
            Test::Member {
                categories: self.sets.of(self.first_node + n)?,
                members_left: has(flag::MEMBERS_LEFT),
                negative_fraction_is_zero: has(flag::NEGATIVE_FRACTION_IS_ZERO),
            }
        } else {
            let rule = if has(flag::LESS_EQUAL) { Rule::LessEqual } else { Rule::Less };
            Test::Threshold { rule, threshold: node.threshold }
        };
        Ok(Split {
            feature: index("feature", node.feature)?,
            left: index("left child", node.left)?,
            right: index("right child", node.right)?,
            test,
            precision: if has(flag::FLOAT32) { Precision::Float32 } else { Precision::Float64 },
            missing,
            default_left: has(flag::DEFAULT_LEFT),
        })
    }
}

/// Offsets start at 0, never decrease and end at `total`.
fn offsets(name: &str, offsets: &[i64], total: usize) -> Result<()> {
    let ends = offsets.first() == Some(&0) && offsets.last().is_some_and(|&last| usize::try_from(last) == Ok(total));
    if !ends || offsets.windows(2).any(|w| w[0] > w[1]) {
        return Err(Error::forest(format!("`{name}` must start at 0, never decrease and end at {total}")));
    }
    Ok(())
}
