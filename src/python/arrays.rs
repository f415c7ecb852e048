//! `NumPy` arrays as the core's own types, and back.

use numpy::{Element, PyArrayDyn, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::errors;
use crate::error::{Argument, Error};
use crate::players::Players;
use crate::rows::Rows;

/// Rows as Python holds them: C-contiguous, float32 or float64.
pub(super) enum Matrix<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
}

impl<'py> FromPyObject<'_, 'py> for Matrix<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.extract() {
            return Ok(Self::F64(array));
        }
        match object.extract() {
            Ok(array) => Ok(Self::F32(array)),
            Err(_) => Err(PyTypeError::new_err("rows must be a two-dimensional float32 or float64 array")),
        }
    }
}

impl Matrix<'_> {
    /// The rows, without a copy.
    pub(super) fn rows(&self, py: Python<'_>) -> PyResult<Rows<'_>> {
        let contiguous = || PyTypeError::new_err("rows must be C-contiguous and aligned");
        let rows = match self {
            // An array in Fortran's order has a slice too, but that of the transposed rows.
            Self::F32(a) if !a.is_c_contiguous() => return Err(contiguous()),
            Self::F64(a) if !a.is_c_contiguous() => return Err(contiguous()),
            Self::F32(a) => Rows::new(a.as_slice().map_err(|_| contiguous())?, a.shape()[0], a.shape()[1]),
            Self::F64(a) => Rows::new(a.as_slice().map_err(|_| contiguous())?, a.shape()[0], a.shape()[1]),
        };
        rows.map_err(|e| errors::exception(py, &e))
    }
}

/// An array of this shape that takes over the memory of the numbers.
pub(super) fn array<'py, T: Element>(
    py: Python<'py>,
    values: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    numpy::PyArray1::from_vec(py, values).reshape(shape.to_vec())
}

/// A count of at least one, from Python.
pub(super) fn positive(py: Python<'_>, what: &str, n: usize) -> PyResult<usize> {
    if n > 0 {
        return Ok(n);
    }
    Err(errors::exception(py, &Error::input(Argument::Option, format!("{what} must be at least 1"))))
}

/// The map of features to players, from Python.
pub(super) fn players_from(py: Python<'_>, map: &PyReadonlyArray1<'_, i32>, n_players: usize) -> PyResult<Players> {
    let map: Result<Vec<u32>, _> = map.as_slice()?.iter().map(|&player| u32::try_from(player)).collect();
    let map = map.map_err(|_| Error::input(Argument::Players, "a feature is mapped to a negative player"));
    map.and_then(|map| Players::grouped(map, n_players)).map_err(|e| errors::exception(py, &e))
}
