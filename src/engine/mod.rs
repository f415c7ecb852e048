//! The engines: two ways to compute one game.

pub(crate) mod codes;
pub(crate) mod compiled;
pub(crate) mod pattern;
pub(crate) mod traversal;
