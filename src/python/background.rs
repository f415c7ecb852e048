//! `_core.Background`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::arrays::{Matrix, players_from, positive};
use super::forest::PyForest;
use super::{errors, run};
use crate::background::{Background, Intake};
use crate::error::{Error, Result};
use crate::job::Workers;

/// A background, or a part of one, as a forest and its players see it.
#[pyclass(frozen, module = "arborshap._core", name = "Background")]
pub(super) struct PyBackground {
    /// Only whoever knows the forest can add rows.
    intake: Option<Intake>,
    /// Nothing once adding rows was broken off.
    background: Mutex<Option<Background>>,
}

impl PyBackground {
    fn of(intake: Option<Intake>, background: Background) -> Self {
        Self { intake, background: Mutex::new(Some(background)) }
    }

    fn locked(&self) -> MutexGuard<'_, Option<Background>> {
        self.background.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn background(&self) -> Result<Background> {
        self.locked().clone().ok_or_else(broken_off)
    }
}

fn broken_off() -> Error {
    Error::Input("adding rows to this background was broken off; begin it anew".into())
}

#[pymethods]
impl PyBackground {
    /// Of no rows yet.
    #[new]
    #[pyo3(signature = (forest, *, players, n_players, n_threads))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]
    fn new(
        py: Python<'_>,
        forest: &Bound<'_, PyForest>,
        players: PyReadonlyArray1<'_, i32>,
        n_players: usize,
        n_threads: usize,
    ) -> PyResult<Self> {
        let threads = positive(py, "n_threads", n_threads)?;
        let forest = forest.get().forest.clone();
        let players = players_from(py, &players, n_players)?;
        let (intake, background) = run::run(py, true, None, move |_| {
            let intake = Intake::new(&forest, &players, &Workers::new(threads))?;
            let background = intake.empty()?;
            Ok((intake, background))
        })?;
        Ok(Self::of(Some(intake), background))
    }

    /// Adds rows, which may carry weights.
    #[pyo3(signature = (rows, weights=None, *, n_threads))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]
    fn add(
        &self,
        py: Python<'_>,
        rows: Matrix<'_>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        n_threads: usize,
    ) -> PyResult<()> {
        let threads = positive(py, "n_threads", n_threads)?;
        let rows = rows.rows(py)?;
        let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?;
        run::run(py, true, None, |progress| {
            let only_merges =
                || Error::Input("a background that was sent can be merged, but takes no more rows".into());
            let intake = self.intake.as_ref().ok_or_else(only_merges)?;
            let mut background = self.locked();
            let before = background.take().ok_or_else(broken_off)?;
            *background = Some(intake.add(before, &rows, weights, &Workers::new(threads), progress)?);
            Ok(())
        })
    }

    /// The rows of both, in a background of its own.
    fn merge(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<Self> {
        let other = other.get();
        let merged = run::run(py, false, None, |_| self.background()?.merge(other.background()?))?;
        Ok(Self::of(None, merged))
    }

    #[getter]
    fn n_rows(&self, py: Python<'_>) -> PyResult<usize> {
        let of = |background: &Background| background.len();
        self.locked().as_ref().map(of).ok_or_else(|| errors::exception(py, &broken_off()))
    }

    /// Whether only patterns were counted, instead of keeping rows.
    #[getter]
    fn counted(&self, py: Python<'_>) -> PyResult<bool> {
        self.locked().as_ref().map(Background::is_counted).ok_or_else(|| errors::exception(py, &broken_off()))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = run::run(py, false, None, |_| Ok(self.locked().as_ref().ok_or_else(broken_off)?.to_bytes()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        Ok(Self::of(None, run::run(py, false, None, |_| Background::from_bytes(data))?))
    }
}
