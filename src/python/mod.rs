//! The Python module `arborshap._core`: arrays in, arrays out. The only room that knows `PyO3` and `NumPy`.

mod arrays;
mod background;
mod errors;
mod explainer;
mod forest;
mod plan;
mod run;

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

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("MAGIC", PyBytes::new(module.py(), crate::container::MAGIC))?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
