//! The engines: several ways to compute one game, and the plan that picks one.

pub(crate) mod codes;
pub(crate) mod compiled;
pub(crate) mod cover;
pub(crate) mod leaf_weights;
pub(crate) mod pattern;
pub(crate) mod plan;
pub(crate) mod traversal;
