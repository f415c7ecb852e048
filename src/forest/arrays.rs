//! A forest taken apart into the arrays of the flat format, to be written down.

use super::flat::{FlatForest, flag};
use super::{Forest, Missing, Node, Precision, Rule, Split, Test, Tree};

/// The arrays of a [`FlatForest`], owned; the field of the same name there says what each of them is.
#[derive(Debug, Clone, PartialEq, Default)]
#[expect(missing_docs, reason = "each array is described by its namesake in `FlatForest`")]
pub struct ForestArrays {
    pub n_features: usize,
    pub tree_offsets: Vec<i64>,
    pub left: Vec<i32>,
    pub right: Vec<i32>,
    pub feature: Vec<i32>,
    pub threshold: Vec<f64>,
    pub flags: Vec<u8>,
    pub value: Vec<f64>,
    pub tree_output: Vec<i32>,
    pub base: Vec<f64>,
    pub category_nodes: Vec<i64>,
    pub category_offsets: Vec<i64>,
    pub categories: Vec<u32>,
    pub cover: Option<Vec<f64>>,
}

impl ForestArrays {
    /// The arrays, borrowed.
    #[must_use]
    pub fn flat(&self) -> FlatForest<'_> {
        FlatForest {
            n_features: self.n_features,
            tree_offsets: &self.tree_offsets,
            left: &self.left,
            right: &self.right,
            feature: &self.feature,
            threshold: &self.threshold,
            flags: &self.flags,
            value: &self.value,
            tree_output: &self.tree_output,
            base: &self.base,
            category_nodes: &self.category_nodes,
            category_offsets: &self.category_offsets,
            categories: &self.categories,
            cover: self.cover.as_deref(),
        }
    }

    /// Gives every leaf a value for each output: zeros beside its own value.
    #[cfg(feature = "python")]
    pub(crate) fn widen_leaves(&mut self) {
        let (outputs, mut narrow) = (self.base.len(), std::mem::take(&mut self.value).into_iter());
        for (t, output) in self.tree_output.iter_mut().enumerate() {
            for _ in self.tree_offsets[t]..self.tree_offsets[t + 1] {
                let has = |k: usize| *output == -1 || *output == k as i32;
                let number = |k: usize| if has(k) { narrow.next().expect("a number for it") } else { 0.0 };
                self.value.extend((0..outputs).map(number));
            }
            *output = -1;
        }
    }

    fn add_tree(&mut self, tree: &Tree) {
        let width = tree.leaf_width(self.base.len());
        self.tree_output.push(match tree.output {
            super::Output::One(k) => k as i32,
            super::Output::All => -1,
        });
        for node in &tree.nodes {
            match node {
                Node::Leaf(leaf) => {
                    self.value.extend_from_slice(&tree.values[*leaf as usize * width..][..width]);
                    self.add_node(-1, -1, 0, 0.0, 0);
                }
                Node::Split(split) => {
                    self.value.extend(std::iter::repeat_n(0.0, width));
                    self.add_split(split);
                }
            }
        }
        if let (Some(all), Some(cover)) = (&mut self.cover, &tree.cover) {
            all.extend_from_slice(cover);
        }
        self.tree_offsets.push(self.left.len() as i64);
    }

    fn add_split(&mut self, split: &Split) {
        let mut flags = match split.missing {
            Missing::Nan => 0,
            Missing::NanIsZero => flag::NAN_IS_ZERO,
            Missing::NanOrZero => flag::ZERO_IS_MISSING,
        };
        let mut set = |bit: u8, on: bool| flags |= if on { bit } else { 0 };
        set(flag::FLOAT32, split.precision == Precision::Float32);
        set(flag::DEFAULT_LEFT, split.default_left);
        let threshold = match &split.test {
            Test::Threshold { rule, threshold } => {
                set(flag::LESS_EQUAL, *rule == Rule::LessEqual);
                *threshold
            }
            Test::Member { categories, members_left, negative_fraction_is_zero } => {
                set(flag::CATEGORICAL, true);
                set(flag::MEMBERS_LEFT, *members_left);
                set(flag::NEGATIVE_FRACTION_IS_ZERO, *negative_fraction_is_zero);
                self.category_nodes.push(self.left.len() as i64);
                self.categories.extend_from_slice(categories.codes());
                self.category_offsets.push(self.categories.len() as i64);
                0.0
            }
        };
        self.add_node(split.left as i32, split.right as i32, split.feature as i32, threshold, flags);
    }

    fn add_node(&mut self, left: i32, right: i32, feature: i32, threshold: f64, flags: u8) {
        self.left.push(left);
        self.right.push(right);
        self.feature.push(feature);
        self.threshold.push(threshold);
        self.flags.push(flags);
    }
}

impl From<&Forest> for ForestArrays {
    /// The arrays from which [`FlatForest::build`] makes the same forest; with training weights if every tree has them.
    fn from(forest: &Forest) -> Self {
        let mut arrays = Self {
            n_features: forest.n_features,
            tree_offsets: vec![0],
            base: forest.base.clone(),
            category_offsets: vec![0],
            cover: forest.trees.iter().all(|tree| tree.cover.is_some()).then(Vec::new),
            ..Self::default()
        };
        forest.trees.iter().for_each(|tree| arrays.add_tree(tree));
        arrays
    }
}
