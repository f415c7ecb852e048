//! The weight of each background pattern of a leaf.

use super::units::UnitLeaf;
use super::{Histogram, TreeUnits};

/// Where the weight of each background pattern comes from.
pub(crate) enum PatternWeights<'a> {
    /// A background's histogram.
    Background(&'a Histogram),
    /// The shares of the training rows: the ratios of each leaf, tree by tree.
    Cover(&'a [Vec<Vec<f64>>]),
}

impl PatternWeights<'_> {
    /// The weight of each background pattern of a leaf; all of them sum to one.
    #[inline(always)]
    pub(super) fn of_leaf(&self, tree: &TreeUnits, number: usize, unit: usize, leaf: &UnitLeaf, c: &mut [f64]) {
        match self {
            Self::Background(histogram) => {
                let start = tree.entries[unit];
                for outcome in 0..1_usize << tree.units.all[unit].bits {
                    c[leaf.pattern(outcome)] += histogram.share(start + outcome);
                }
            }
            Self::Cover(ratios) => {
                c[0] = 1.0;
                for (j, ratio) in ratios[number][leaf.leaf].iter().enumerate() {
                    for b in 0..1 << j {
                        c[b | 1 << j] = c[b] * ratio;
                        c[b] *= 1.0 - ratio;
                    }
                }
            }
        }
    }
}
