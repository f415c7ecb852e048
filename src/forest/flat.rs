//! The common format as flat arrays, the form in which Python and files hold it.

use super::{Categories, Forest, Missing, NO_OUTPUT, Node, Output, Precision, Rule, Split, Test, Tree};
use crate::error::{Error, Result};

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
            ("category_offsets", self.category_offsets.len(), self.category_nodes.len() + 1),
        ];
        for (name, have, want) in lengths {
            if have != want {
                return Err(Error::forest(format!("array `{name}` has {have} entries where {want} belong")));
            }
        }
        offsets("tree_offsets", self.tree_offsets, n_nodes)?;
        offsets("category_offsets", self.category_offsets, self.categories.len())?;
        if let Some(w) = self.category_nodes.windows(2).position(|w| w[0] >= w[1]) {
            return Err(Error::forest(format!("`category_nodes` does not increase at entry {}", w + 1)));
        }
        let nodes = |t: usize| (self.tree_offsets[t + 1] - self.tree_offsets[t]) as usize;
        let numbers = |t: usize| nodes(t).saturating_mul(self.width(t));
        let values = (0..self.tree_output.len()).map(numbers).fold(0, usize::saturating_add);
        if self.value.len() != values {
            let have = self.value.len();
            return Err(Error::forest(format!("array `value` has {have} entries where {values} belong")));
        }
        let mut value = self.value;
        let tree = |t: usize| {
            let (of_tree, rest) = value.split_at(numbers(t));
            value = rest;
            self.tree(t, of_tree)
        };
        Forest::from_trees((0..self.tree_output.len()).map(tree), self.n_features, self.base.to_vec())
    }

    /// How many numbers each leaf of a tree holds.
    fn width(&self, t: usize) -> usize {
        if self.tree_output[t] == -1 { self.base.len() } else { 1 }
    }

    fn tree(&self, t: usize, value: &[f64]) -> Result<Tree> {
        let (start, end) = (self.tree_offsets[t] as usize, self.tree_offsets[t + 1] as usize);
        let width = self.width(t);
        let at = |node: usize, problem: String| Error::Node { tree: t, node, problem };
        let output = match self.tree_output[t] {
            -1 => Output::All,
            k if k >= 0 => Output::One(k as usize),
            k => {
                return Err(at(
                    0,
                    format!("the tree's output is {k}; outputs are numbered from 0, -1 for all of them"),
                ));
            }
        };
        let mut values = Vec::with_capacity(((end - start) / 2 + 1).saturating_mul(width).min(value.len()));
        let mut nodes = Vec::with_capacity(end - start);
        for n in start..end {
            let node = match (self.left[n], self.right[n]) {
                (-1, -1) => {
                    values.extend_from_slice(&value[(n - start) * width..][..width]);
                    Node::Leaf((values.len() / width - 1) as u32)
                }
                (left, right) => Node::Split(self.split(n, left, right).map_err(|problem| at(n - start, problem))?),
            };
            nodes.push(node);
        }
        let tree = Tree::new(nodes, values, output);
        Ok(match self.cover {
            Some(cover) => tree.with_cover(cover[start..end].to_vec()),
            None => tree,
        })
    }

    fn split(&self, n: usize, left: i32, right: i32) -> Result<Split, String> {
        let index = |what: &str, i: i32| u32::try_from(i).map_err(|_| format!("its {what} is {i}"));
        let flags = self.flags[n];
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
            let categories = self.category_set(n)?;
            Test::Member {
                categories,
                members_left: has(flag::MEMBERS_LEFT),
                negative_fraction_is_zero: has(flag::NEGATIVE_FRACTION_IS_ZERO),
            }
        } else {
            let rule = if has(flag::LESS_EQUAL) { Rule::LessEqual } else { Rule::Less };
            Test::Threshold { rule, threshold: self.threshold[n] }
        };
        Ok(Split {
            feature: index("feature", self.feature[n])?,
            left: index("left child", left)?,
            right: index("right child", right)?,
            test,
            precision: if has(flag::FLOAT32) { Precision::Float32 } else { Precision::Float64 },
            missing,
            default_left: has(flag::DEFAULT_LEFT),
        })
    }

    fn category_set(&self, n: usize) -> Result<Categories, String> {
        let entry = self
            .category_nodes
            .binary_search(&(n as i64))
            .map_err(|_| "it is categorical, but no category set is given for it")?;
        let set = &self.categories[self.category_offsets[entry] as usize..self.category_offsets[entry + 1] as usize];
        Ok(Categories::new(set))
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
