//! What the benchmarks share: numbers that are the same in every run, a way to grow trees, and settings.

use std::time::Duration;

use arborshap::forest::{Node, Output, Split, Tree};
use criterion::Criterion;

/// Numbers that are the same in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Between 0 and 1.
    pub(crate) fn share(&mut self) -> f64 {
        self.bits() as f64 / (1_u64 << 31) as f64
    }

    /// A number from 0 to `n - 1`.
    #[allow(dead_code, reason = "only the traversal's trees use it")]
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.bits() as usize % n
    }

    /// Roughly normal: what columns and leaf values look like.
    #[allow(dead_code, reason = "only the traversal's trees use it")]
    pub(crate) fn normal(&mut self) -> f64 {
        (0..6).map(|_| self.share()).sum::<f64>() * 2.0_f64.sqrt() - 3.0 * 2.0_f64.sqrt()
    }
}

/// What becomes of a node.
pub(crate) enum Growth {
    /// A leaf with these values.
    Leaf(Vec<f64>),
    /// A split whose children are the two given nodes.
    Split(Split),
}

/// Grows a tree from the root, depth first: `decide(node, level, left)` says what becomes of a node, whose children would
/// be the nodes `left` and `left + 1`.
pub(crate) fn grow(output: Output, mut decide: impl FnMut(usize, u32, u32) -> Growth) -> Tree {
    let (mut nodes, mut values, mut leaves) = (vec![Node::Leaf(0)], Vec::new(), 0);
    let mut open = vec![(0_usize, 0_u32)];
    while let Some((node, level)) = open.pop() {
        let left = nodes.len();
        match decide(node, level, left as u32) {
            Growth::Leaf(of_leaf) => {
                nodes[node] = Node::Leaf(leaves);
                leaves += 1;
                values.extend(of_leaf);
            }
            Growth::Split(split) => {
                nodes[node] = Node::Split(split);
                nodes.extend([Node::Leaf(0), Node::Leaf(0)]);
                open.extend([(left, level + 1), (left + 1, level + 1)]);
            }
        }
    }
    Tree::new(nodes, values, output)
}

/// A tree with the cover of its nodes: it splits what reaches a node in two uneven parts, down to a depth or until no more
/// than a least share is left.
#[allow(dead_code, reason = "the traversal has trees of its own")]
pub(crate) fn uneven(
    random: &mut Random,
    n_features: usize,
    (depth, least): (u32, f64),
    output: Output,
    width: usize,
) -> Tree {
    let mut cover = vec![1.0];
    let tree = grow(output, |node, level, left| {
        if level == depth || cover[node] < least {
            return Growth::Leaf((0..width).map(|_| random.share() - 0.5).collect());
        }
        let feature = (random.share() * n_features as f64) as u32;
        let share = 0.15 + 0.7 * random.share();
        cover.extend([cover[node] * share, cover[node] * (1.0 - share)]);
        Growth::Split(Split::at(feature, share, left, left + 1))
    });
    tree.with_cover(cover)
}

/// Few samples, so that a run takes minutes and not hours.
pub(crate) fn settings() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(1500))
}
