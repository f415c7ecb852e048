//! What stands in for the players that have not joined, as a leaf sees it.

use crate::engine::compiled::CompiledTree;
use crate::engine::cover;
use crate::engine::sets::PlayerSet;
use crate::engine::tables::{Histogram, PatternForest};
use crate::engine::task::BackgroundRows;

/// What stands in for the players that have not joined.
pub(crate) enum Source<'a> {
    /// Background rows.
    Rows { rows: BackgroundRows<'a>, total: f64 },
    /// The counts of a background by pattern.
    Counts { patterns: &'a PatternForest, counts: &'a Histogram },
    /// The shares of the training rows.
    Cover,
}

/// The same at one leaf.
pub(crate) enum Others<'a, S> {
    /// The players that background rows fail, each set once, and the share of the background that fails them.
    Patterns(&'a [(S, f64)]),
    /// For each player of the path, the share of training rows that satisfy all its splits.
    Ratios(&'a [f64]),
}

/// What is known of a tree before any row goes through it.
pub(super) enum OfTree<S> {
    /// Patterns are found on the way.
    OnTheWay,
    /// Leaf by leaf.
    Patterns(Vec<Vec<(S, f64)>>),
    Ratios(Vec<Vec<f64>>),
}

impl Source<'_> {
    pub(super) fn of_tree<S: PlayerSet>(&self, t: usize, tree: &CompiledTree) -> OfTree<S> {
        match self {
            Self::Rows { .. } => OfTree::OnTheWay,
            Self::Cover => OfTree::Ratios(cover::path_ratios(tree)),
            Self::Counts { patterns, counts } => {
                let set = |bits: u64| {
                    let mut set = S::empty(tree.max_path);
                    bits.for_each(|position| set = set.with(position as u32));
                    set
                };
                let leaf =
                    |shares: Vec<(u64, f64)>| shares.into_iter().map(|(bits, share)| (set(bits), share)).collect();
                OfTree::Patterns(patterns.pattern_shares(t, tree, counts).into_iter().map(leaf).collect())
            }
        }
    }
}
