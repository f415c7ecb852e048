//! The engines: two ways to compute one game.

pub(crate) mod codes;
pub(crate) mod compiled;
pub(crate) mod cover;
pub(crate) mod leaf_weights;
pub(crate) mod pattern;
pub(crate) mod plan;
pub(crate) mod traversal;
