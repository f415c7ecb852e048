//! The engines: several ways to compute one game, and the plan that picks one.
//!
//! An engine is a function over a [`Task`](task::Task): the compiled forest, some of its trees, the rows and the index. It adds what
//! these trees give to a result of shape `(rows, players[, players], outputs)`.

mod cells;
pub(crate) mod codes;
pub(crate) mod compiled;
pub(crate) mod cover;
pub(crate) mod effects;
pub(crate) mod expected_value;
pub(crate) mod fingerprint;
pub(crate) mod orders;
pub(crate) mod plan;
pub(crate) mod ranked;
mod rules;
mod sets;
pub(crate) mod sparse;
pub(crate) mod tables;
pub(crate) mod task;
pub(crate) mod traversal;
