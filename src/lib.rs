//! Exact Shapley values for tree ensembles.
//!
//! Why did a model predict what it did for one row? The interventional Shapley value answers with a game. The players
//! are the features (or groups of them), and a coalition $S$ is worth the mean prediction over a *background* of other
//! rows $z$, with the features of $S$ taken from the row $x$:
//!
//! $$\nu(S) = E_z[h(x \text{ on } S, z \text{ elsewhere})].$$
//!
//! Each player's Shapley value is its fair share of $h(x) - E_z[h(z)]$. By the definition this takes $2^d$ coalitions of
//! $d$ players for each pair $(x, z)$. For trees there are exact shortcuts: this crate implements those of
//! *Understanding Interventional TreeSHAP: How and Why it Works* (Laberge and Pequignot), that is, Interventional
//! `TreeSHAP`, Taylor-`TreeSHAP` (Shapley-Taylor interactions) and Partition-`TreeSHAP` (groups of features as one
//! player), and engines that need far less work for the same numbers. Nothing is sampled. Names follow the paper:
//! $S_X$, $S_Z$, $W$, $\mathcal{I}$, scenarios 1 to 3.
//!
//! # Example
//!
//! ```
//! use arborshap::forest::ForestArrays;
//! use arborshap::{Engine, Explainer, Index, Job, Rows};
//!
//! // The paper's first example, h(x) = 1 if x0 > 0 and x1 > 0, else 0, as one tree of five nodes.
//! let and = ForestArrays {
//!     n_features: 2,
//!     tree_offsets: vec![0, 5],
//!     left: vec![1, -1, 3, -1, -1],
//!     right: vec![2, -1, 4, -1, -1],
//!     feature: vec![0, 0, 1, 0, 0],
//!     threshold: vec![0.0; 5],
//!     flags: vec![1; 5], // left if x <= threshold
//!     value: vec![0.0, 0.0, 0.0, 0.0, 1.0],
//!     tree_output: vec![0],
//!     base: vec![0.0],
//!     category_offsets: vec![0],
//!     ..ForestArrays::default()
//! };
//! let forest = and.flat().build()?;
//! let (x, z) = ([1.0, 1.0], [-1.0, -1.0]);
//! let job = Job::new(1);
//! let explainer = Explainer::builder(&forest).background(&Rows::new(&z[..], 1, 2)?).build(&job)?;
//! let phi = explainer.explain(&Rows::new(&x[..], 1, 2)?, Index::Shapley, Engine::Auto, &job)?;
//! assert_eq!(phi, [0.5, 0.5]);
//! # Ok::<(), arborshap::Error>(())
//! ```
//!
//! # Overview
//!
//! * [`Forest`]: the model, in one format for all libraries. Module [`forest`] holds its parts, and two ways to make it:
//!   from [`Tree`](forest::Tree)s, or from flat arrays.
//! * [`Rows`]: a borrowed matrix of `f32` or `f64`. Cells may be NaN; each split says where such a row goes.
//! * [`Players`]: which features form one player, and so are replaced together.
//! * [`Explainer`]: the compiled forest with its background. [`Explainer::builder`] makes one. An explainer can be
//!   saved with [`Notes`] and loaded again, and threads can share it.
//! * [`Index`]: which index of the game to compute; [`Engine`]: how. [`Explainer::plan`] says how a call would be carried
//!   out, as a [`Plan`].
//! * [`SetIndex`]: indices of sets of players of any size, for the sets that [`PlayerSets`] lists; [`Hierarchy`]: groups
//!   whose members get values of their own.
//! * [`Job`]: the threads of a call, its progress, and a way to cancel it.
//! * [`Intake`] and [`Background`]: backgrounds that come in parts, perhaps on several machines.
//! * [`Error`]: what can go wrong, with fields to match on.
//!
//! Results are flat vectors in row-major order; each method documents its shape, such as `(rows, players, outputs)`.
//! They are bitwise the same for any number of threads.
//!
//! # Features
//!
//! * `python` (off by default): adds the native module of the Python package `arborshap`. Rust callers do not need it.

mod background;
mod container;
mod engine;
mod error;
mod explainer;
pub mod forest;
mod hierarchy;
mod index;
mod job;
mod memory;
mod players;
mod rows;
mod saved;
mod set_index;
mod simd;
mod sync;
mod weights;

#[cfg(feature = "python")]
mod python;

pub use background::{Background, Intake};
pub use engine::orders::PlayerSets;
pub use engine::plan::{Engine, Plan};
pub use error::{Argument, Error, Result, SavedProblem};
pub use explainer::{Builder, Explainer};
pub use forest::Forest;
pub use hierarchy::Hierarchy;
pub use index::Index;
pub use job::Job;
pub use players::Players;
pub use rows::{Cells, Rows};
pub use saved::Notes;
pub use set_index::SetIndex;
// Hidden: no caller needs the weights by themselves, but the tests check them for paths of any length.
#[doc(hidden)]
pub use weights::Weights;

/// What callers may do with every type, checked when the crate is compiled.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    const fn survives_panics<T: Send + Sync + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    survives_panics::<Background>();
    survives_panics::<Builder<'_>>();
    survives_panics::<Error>();
    survives_panics::<Explainer>();
    survives_panics::<Forest>();
    survives_panics::<Hierarchy>();
    survives_panics::<Intake>();
    survives_panics::<Notes>();
    survives_panics::<Plan>();
    survives_panics::<PlayerSets>();
    survives_panics::<Players>();
    survives_panics::<Rows<'_>>();
    // Its threads belong to rayon, which does not say what a panic leaves behind.
    shared::<Job>();
};
