//! The Python module `arborshap._core`: arrays in, arrays out. The only room that knows `PyO3` and `NumPy`.

mod arrays;
mod background;
mod errors;
mod explainer;
mod forest;
mod orders;
mod plan;
mod run;
mod trees;
mod ubjson;

use pyo3::prelude::*;

/// The native module behind the Python package.
#[pymodule(gil_used = false)]
#[pyo3(name = "_core")]
mod core {
    use pyo3::prelude::*;
    use pyo3::types::PyBytes;

    #[pymodule_export]
    use super::background::PyBackground;
    #[pymodule_export]
    use super::explainer::PyExplainer;
    #[pymodule_export]
    use super::forest::PyForest;
    #[pymodule_export]
    use super::plan::PyPlan;

    /// Bytes of memory that can be used without pushing anything else out.
    #[pyfunction]
    fn available_memory() -> usize {
        crate::memory::available()
    }

    /// The document in UBJSON that these bytes hold; `what` names it in errors.
    #[pyfunction]
    fn parse_ubjson<'py>(py: Python<'py>, content: &[u8], what: &str) -> PyResult<Bound<'py, PyAny>> {
        super::ubjson::parse(py, content, what)
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("MAGIC", PyBytes::new(module.py(), crate::container::MAGIC))?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
