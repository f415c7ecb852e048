//! Exact Shapley values for tree ensembles.
//!
//! This crate implements the algorithms of *Understanding Interventional TreeSHAP: How and Why it Works* (Laberge
//! and Pequignot): Interventional `TreeSHAP`, Taylor-`TreeSHAP` (Shapley-Taylor interactions) and
//! Partition-`TreeSHAP` (groups of features as one player), for every pair of a row $x$ and a background row $z$,
//! or averaged over the background. Names follow the paper: $S_X$, $S_Z$, $W$, $\mathcal{I}$, scenarios 1 to 3.
//!
//! ```
//! use arborshap::{Engine, Explainer, Forest, Index, Node, Output, Players, Progress, Rows, Split, Tree, Workers};
//!
//! // The paper's first example: h(x) = 1 if x0 > 0 and x1 > 0, else 0.
//! let nodes = vec![
//!     Node::Split(Split::at(0, 0.0, 1, 2)),
//!     Node::Leaf(0),
//!     Node::Split(Split::at(1, 0.0, 3, 4)),
//!     Node::Leaf(1),
//!     Node::Leaf(2),
//! ];
//! let and = Tree::new(nodes, vec![0.0, 0.0, 1.0], Output::One(0));
//! let forest = Forest::new(vec![and], 2, vec![0.0])?;
//!
//! let (x, z) = ([1.0, 1.0], [-1.0, -1.0]);
//! let background = Rows::new(&z[..], 1, 2)?;
//! let workers = Workers::new(1);
//! let progress = Progress::default();
//! let explainer = Explainer::new(&forest, &Players::single(2), &background, None, &workers, &progress)?;
//! let phi = explainer.explain(&Rows::new(&x[..], 1, 2)?, Index::Shapley, Engine::Auto, &workers, &progress)?;
//! assert_eq!(phi, [0.5, 0.5]);
//! # Ok::<(), arborshap::Error>(())
//! ```

mod background;
mod engine;
mod error;
mod explainer;
pub mod forest;
mod index;
mod job;
mod memory;
mod players;
mod row_weights;
mod rows;
mod saved;
mod simd;
mod turns;
mod weights;

#[cfg(feature = "python")]
mod python;

pub use background::{Background, Intake};
pub use engine::plan::{Engine, Plan};
pub use error::{Error, Result};
pub use explainer::Explainer;
pub use forest::{Forest, Node, Output, Split, Tree};
pub use index::Index;
pub use job::{Progress, Workers};
pub use players::Players;
pub use rows::{Cells, Rows};
pub use saved::Notes;
pub use weights::{Weights, shapley_weight};
