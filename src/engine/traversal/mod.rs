//! The traversal engine: the paper's Algorithms 2 (Interventional `TreeSHAP`), 3 (Taylor-`TreeSHAP`) and 4
//! (Partition-`TreeSHAP`), over all pairs of a row and a background row.
//!
//! | file | what |
//! |---|---|
//! | `walk` | the walk of one pair, as the paper writes it |
//! | `shared` | the same walk for 64 background rows at once |
//! | `average` | the mean over the background, in an order of summation that no number of threads changes |
//! | `pairs` | the values of every pair, never averaged |
//! | `meets` | at how many leaves pairs meet, from a sample: plans price pairs and walks by it |
//!
//! What a leaf adds is in `engine/rules.rs`, $S_X$ and $S_Z$ are in `engine/sets.rs`.

mod average;
mod meets;
mod pairs;
mod shared;
mod walk;

pub(crate) use average::average;
pub(crate) use meets::relative_meets;
pub(crate) use pairs::{PairWalk, pairs};
