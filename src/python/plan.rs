//! `_core.Plan`, and the names of indices and engines.

use pyo3::prelude::*;

use super::errors;
use crate::engine::plan::{Engine, Plan};
use crate::error::{Argument, Error};
use crate::index::Index;

/// How a call would be carried out, and why.
#[pyclass(frozen, get_all, module = "arborshap._core", name = "Plan")]
pub(super) struct PyPlan {
    trees_by_tables: usize,
    trees_by_counts: usize,
    trees_by_pairs: usize,
    trees_by_walk: usize,
    /// Estimated seconds on one thread.
    seconds: f64,
    /// Estimated bytes beyond the rows and the result.
    bytes: usize,
    reason: String,
}

impl From<Plan> for PyPlan {
    fn from(plan: Plan) -> Self {
        Self {
            trees_by_tables: plan.by_tables,
            trees_by_counts: plan.by_counts,
            trees_by_pairs: plan.by_pairs,
            trees_by_walk: plan.by_walk,
            seconds: plan.seconds,
            bytes: plan.bytes,
            reason: plan.reason,
        }
    }
}

pub(super) fn index_named(py: Python<'_>, name: &str) -> PyResult<Index> {
    let known = Index::ALL.into_iter().find(|index| index.name() == name);
    known.ok_or_else(|| unknown(py, format!("the index {name:?} is unknown")))
}

pub(super) fn engine_named(py: Python<'_>, name: &str) -> PyResult<Engine> {
    let known = Engine::ALL.into_iter().find(|engine| engine.name() == name);
    let names = "choose \"auto\", \"pattern\", \"counts\", \"sparse\" or \"traversal\"";
    known.ok_or_else(|| unknown(py, format!("the engine {name:?} is unknown; {names}")))
}

fn unknown(py: Python<'_>, problem: String) -> PyErr {
    errors::exception(py, &Error::input(Argument::Option, problem))
}
