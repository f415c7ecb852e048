//! The proof of the core: every result against the definition, the paper's examples, the axioms, and bad input.

mod axioms;
mod backgrounds;
mod coalitions;
mod deep;
mod definition;
mod determinism;
mod garbage;
mod hard_use;
mod long_paths;
mod orders;
mod paper;
mod path_dependent;
mod plans;
mod populations;
mod rooms;
mod routing;
mod saved;
mod sizes;
mod support;
mod validation;
mod weights;
