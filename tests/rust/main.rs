//! The proof of the core: every result against the definition, the paper's examples, the axioms, and bad input.

mod axioms;
mod backgrounds;
mod choices;
mod definition;
mod determinism;
mod engines;
mod forests;
mod garbage;
mod hard_use;
mod inputs;
mod oracle;
mod paper;
mod path_dependent;
mod routing;
mod saved;
mod sizes;
mod validation;
mod weights;
