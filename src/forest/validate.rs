//! The rules every tree keeps, checked whenever one is made. Iterative, so that depth costs no machine stack.

use super::{Node, Output, Split, Test, Tree};

/// The depth of a valid tree, or the first offending node and what is wrong with it.
pub(super) fn tree(tree: &Tree, n_features: usize, n_outputs: usize) -> Result<usize, (usize, String)> {
    let n_nodes = tree.nodes.len();
    if n_nodes == 0 {
        return Err((0, "the tree has no nodes; even a constant is one leaf".into()));
    }
    if u32::try_from(n_nodes).is_err() {
        return Err((0, format!("{n_nodes} nodes are more than the format can number")));
    }
    if let Output::One(k) = tree.output
        && k >= n_outputs
    {
        return Err((0, format!("the tree adds to output {k}, but the forest has {n_outputs} outputs")));
    }
    let width = tree.leaf_width(n_outputs);
    let cover = tree.cover.as_deref();
    if let Some(cover) = cover
        && cover.len() != n_nodes
    {
        return Err((0, format!("{} cover values for {n_nodes} nodes", cover.len())));
    }

    let mut reached = vec![false; n_nodes];
    reached[0] = true;
    let mut depth = 0;
    let mut stack = vec![(0_usize, 0_usize)];
    while let Some((n, level)) = stack.pop() {
        depth = depth.max(level);
        if let Some(cover) = cover
            && (cover[n].is_nan() || cover[n] < 0.0 || cover[n].is_infinite())
        {
            return Err((n, format!("its cover is {}, not a finite number of at least 0", cover[n])));
        }
        match &tree.nodes[n] {
            Node::Leaf(leaf) => leaf_values(tree, *leaf as usize, width).map_err(|problem| (n, problem))?,
            Node::Split(split) => {
                test(split, n_features).map_err(|problem| (n, problem))?;
                for (side, child) in [("left", split.left), ("right", split.right)] {
                    let child = child as usize;
                    if child >= n_nodes {
                        return Err((n, format!("its {side} child is node {child}, but the tree has {n_nodes} nodes")));
                    }
                    if reached[child] {
                        return Err((
                            n,
                            format!(
                                "its {side} child, node {child}, is reached twice: a cycle, or a child of two parents"
                            ),
                        ));
                    }
                    reached[child] = true;
                    stack.push((child, level + 1));
                }
            }
        }
    }
    match reached.iter().position(|&r| !r) {
        Some(n) => Err((n, "no path from the root reaches it".into())),
        None => Ok(depth),
    }
}

fn leaf_values(tree: &Tree, leaf: usize, width: usize) -> Result<(), String> {
    let values = leaf.checked_mul(width).and_then(|start| tree.values.get(start..start.checked_add(width)?));
    let Some(values) = values else {
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
