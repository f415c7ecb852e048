//! The traversal engine: the paper's Algorithms 2 (Interventional `TreeSHAP`), 3 (Taylor-`TreeSHAP`) and 4
//! (Partition-`TreeSHAP`), over all pairs of a row and a background row.
//!
//! | file | what |
//! |---|---|
//! | `walk` | the walk of one pair, as the paper writes it |
//! | `shared` | the same walk carrying 64 background rows at once |
//! | `rules` | what a leaf adds: Theorems 13, 18 and 22 |
//! | `sets` | $S_X$ and $S_Z$ |
//! | `schedule` | which rows meet which trees and background rows, in an order that no number of threads changes |

mod rules;
mod schedule;
mod sets;
mod shared;
mod walk;

pub(crate) use rules::leaf as leaf_rule;
pub(crate) use schedule::{Leaf, Walk, average, pairs};
