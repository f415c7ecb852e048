//! Errors of the core as Python exceptions: one exhaustive match.

use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::error::Error;

/// The exception for an error of the core.
pub(super) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Node { .. } | Error::Forest { .. } | Error::Range { .. } | Error::Saved { .. } => {
            ours(py, "ModelError", message)
        }
        Error::Columns { .. } | Error::Input { .. } | Error::OnlyCounts | Error::Unrelated => {
            ours(py, "InputError", message)
        }
        Error::Memory { .. } => PyMemoryError::new_err(message),
        // Only the caller's own signal or progress callback cancels, and each has raised its own exception by then.
        Error::Cancelled => PyKeyboardInterrupt::new_err(()),
    }
}

/// The exception for a panic: a bug of ours, which must not take the process down.
pub(super) fn internal(py: Python<'_>, panic: &(dyn std::any::Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown");
    ours(
        py,
        "InternalError",
        format!("internal error in arborshap ({text}); please report it with the model and the call"),
    )
}

/// The exception class of that name in `arborshap.exceptions`.
fn ours(py: Python<'_>, class: &str, message: String) -> PyErr {
    let class =
        py.import("arborshap.exceptions").and_then(|m| m.getattr(class)).and_then(|c| Ok(c.cast_into::<PyType>()?));
    match class {
        Ok(class) => PyErr::from_type(class, message),
        Err(error) => error,
    }
}
