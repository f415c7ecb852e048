//! What the tests share: random cases, all ways to compute, and the definition that they are checked against.

pub(crate) mod caterpillars;
pub(crate) mod choices;
pub(crate) mod engines;
pub(crate) mod forests;
pub(crate) mod inputs;
pub(crate) mod oracle;
