//! The rules that every tree keeps, checked whenever one is made. Iterative, so that depth costs no machine stack.
//!
//! Libraries number parents before their children, so one pass over the nodes in order is enough for nearly all trees. Other
//! trees, and those with a problem, are walked from the root.

use super::{Node, Output, Split, Test, Tree};

/// A node that breaks a rule, and how.
type Problem = (usize, String);

/// The depth of a valid tree, or the first offending node and what is wrong with it. Nodes that are known to be `in_order`
/// are not looked at again.
pub(super) fn tree(
    tree: &Tree,
    in_order: Option<InOrder>,
    n_features: usize,
    n_outputs: usize,
) -> Result<usize, Problem> {
    let n_nodes = tree.nodes.len();
    whole(tree, n_outputs).map_err(|problem| (0, problem))?;
    let width = tree.leaf_width(n_outputs);
    if let Some(depth) = in_order.map_or_else(|| all_in_order(tree, n_features, width), InOrder::depth) {
        return Ok(depth);
    }
    let mut reached = vec![false; n_nodes];
    reached[0] = true;
    let mut depth = 0;
    let mut stack = vec![(0_usize, 0_usize)];
    while let Some((n, level)) = stack.pop() {
        depth = depth.max(level);
        if let Some(&cover) = tree.cover.as_ref().map(|cover| &cover[n])
            && !is_weight(cover)
        {
            return Err((n, format!("its cover is {cover}, not a finite number of at least 0")));
        }
        match &tree.nodes[n] {
            Node::Leaf(leaf) => leaf_values(tree, *leaf as usize, width).map_err(|problem| (n, problem))?,
            Node::Split(split) => {
                test(split, n_features).map_err(|problem| (n, problem))?;
                children(split, &mut reached).map_err(|problem| (n, problem))?;
                stack.extend([split.left, split.right].map(|child| (child as usize, level + 1)));
            }
        }
    }
    match reached.iter().position(|&r| !r) {
        Some(n) => Err((n, "no path from the root reaches it".into())),
        None => Ok(depth),
    }
}

/// Checks the nodes of a tree whose parents are numbered before their children, node by node. Any other tree is called
/// invalid, and so may be valid after all.
pub(super) struct InOrder {
    n_features: usize,
    /// How many nodes are on the path to each node, itself included; 0 as long as no parent has named it.
    levels: Vec<u32>,
    deepest: u32,
    valid: bool,
}

impl InOrder {
    pub(super) fn new(n_nodes: usize, n_features: usize) -> Self {
        let mut levels = vec![0; n_nodes];
        levels.iter_mut().take(1).for_each(|root| *root = 1);
        Self { n_features, levels, deepest: 1, valid: true }
    }

    #[inline]
    pub(super) fn cover(&mut self, cover: f64) {
        self.valid &= is_weight(cover);
    }

    #[inline]
    pub(super) fn leaf(&mut self, n: usize, values: &[f64]) {
        self.valid &= self.levels[n] > 0 && values.iter().all(|value| value.is_finite());
    }

    #[inline]
    pub(super) fn split(&mut self, n: usize, split: &Split) {
        let level = self.levels[n];
        self.valid &= level > 0 && test(split, self.n_features).is_ok();
        for child in [split.left, split.right] {
            match self.levels.get_mut(child as usize) {
                Some(below @ 0) => *below = level + 1,
                _ => self.valid = false,
            }
        }
        self.deepest = self.deepest.max(level + 1);
    }

    /// The depth of the tree, if all nodes are valid.
    fn depth(self) -> Option<usize> {
        self.valid.then_some(self.deepest as usize - 1)
    }
}

fn all_in_order(tree: &Tree, n_features: usize, width: usize) -> Option<usize> {
    let mut in_order = InOrder::new(tree.nodes.len(), n_features);
    tree.cover.iter().flatten().for_each(|&cover| in_order.cover(cover));
    for (n, node) in tree.nodes.iter().enumerate() {
        match node {
            Node::Leaf(leaf) => in_order.leaf(n, values(tree, *leaf as usize, width)?),
            Node::Split(split) => in_order.split(n, split),
        }
    }
    in_order.depth()
}

fn is_weight(cover: f64) -> bool {
    cover.is_finite() && cover >= 0.0
}

/// What concerns no single node.
fn whole(tree: &Tree, n_outputs: usize) -> Result<(), String> {
    let n_nodes = tree.nodes.len();
    if n_nodes == 0 {
        return Err("the tree has no nodes; even a constant is one leaf".into());
    }
    if u32::try_from(n_nodes).is_err() {
        return Err(format!("{n_nodes} nodes are more than the format can number"));
    }
    match (tree.output, &tree.cover) {
        (Output::One(k), _) if k >= n_outputs => {
            Err(format!("the tree adds to output {k}, but the forest has {n_outputs} outputs"))
        }
        (_, Some(cover)) if cover.len() != n_nodes => {
            Err(format!("{} cover values were given, but the number of nodes is {n_nodes}", cover.len()))
        }
        _ => Ok(()),
    }
}

/// Both children exist, and nothing else leads to them; they are reached from now on.
fn children(split: &Split, reached: &mut [bool]) -> Result<(), String> {
    for (side, child) in [("left", split.left), ("right", split.right)] {
        match reached.get_mut(child as usize) {
            None => {
                return Err(format!("its {side} child is node {child}, but the tree has {} nodes", reached.len()));
            }
            Some(true) => {
                return Err(format!(
                    "its {side} child, node {child}, is reached twice: a cycle, or a child of two parents"
                ));
            }
            Some(reached) => *reached = true,
        }
    }
    Ok(())
}

/// The values of a leaf, if the tree holds them.
fn values(tree: &Tree, leaf: usize, width: usize) -> Option<&[f64]> {
    let start = leaf.checked_mul(width)?;
    tree.values.get(start..start.checked_add(width)?)
}

fn leaf_values(tree: &Tree, leaf: usize, width: usize) -> Result<(), String> {
    let Some(values) = values(tree, leaf, width) else {
        return Err(format!(
            "it is leaf {leaf}, but the tree holds the values of {} leaves",
            tree.values.len() / width
        ));
    };
    match values.iter().find(|v| !v.is_finite()) {
        Some(v) => Err(format!("its leaf value is {v}, not a finite number")),
        None => Ok(()),
    }
}

fn test(split: &Split, n_features: usize) -> Result<(), String> {
    if split.feature as usize >= n_features {
        return Err(format!("it splits on feature {}, but the forest has {n_features} features", split.feature));
    }
    match split.test {
        Test::Threshold { threshold, .. } if threshold.is_nan() => Err("its threshold is NaN".into()),
        _ => Ok(()),
    }
}
