//! `_core.Background`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::arrays::{Matrix, players_from, positive};
use super::forest::PyForest;
use super::run::{self, Effort, run};
use crate::background::{Background, Intake};
use crate::error::{Argument, Error, Result};
use crate::saved::Notes;
use crate::sync::locked;

/// Lists of texts by name.
pub(super) type Texts = BTreeMap<String, Vec<String>>;

/// A background, or a part of one, as a forest and its players see it.
#[pyclass(frozen, module = "arborshap._core", name = "Background")]
pub(super) struct PyBackground {
    /// None if the background came as bytes, without its forest: then no rows can be added.
    intake: Option<Arc<Intake>>,
    /// None once adding rows was interrupted.
    background: Mutex<Option<Background>>,
}

impl PyBackground {
    fn new_of(intake: Option<Arc<Intake>>, background: Background) -> Self {
        Self { intake, background: Mutex::new(Some(background)) }
    }

    pub(super) fn background(&self) -> Result<Background> {
        self.with(Background::clone)
    }

    fn with<T>(&self, f: impl FnOnce(&Background) -> T) -> Result<T> {
        locked(&self.background).as_ref().map(f).ok_or_else(broken_off)
    }
}

fn broken_off() -> Error {
    Error::input(Argument::Background, "adding rows to this background was broken off; begin it anew")
}

#[pymethods]
impl PyBackground {
    /// A background without rows.
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
        let (intake, background) = run(py, Effort::Long(threads), None, move |job| {
            let intake = Intake::new(&forest, &players, job)?;
            let background = intake.empty()?;
            Ok((intake, background))
        })?;
        Ok(Self::new_of(Some(Arc::new(intake)), background))
    }

    /// A background without rows, of the same forest and players, which need not be compiled again.
    fn empty(&self, py: Python<'_>) -> PyResult<Self> {
        let empty = run(py, Effort::Short, None, |_| {
            let problem = "a background that was sent does not know its forest";
            self.intake.as_ref().ok_or_else(|| Error::input(Argument::Background, problem))?.empty()
        })?;
        Ok(Self::new_of(self.intake.clone(), empty))
    }

    /// Adds rows, which may have weights.
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
        run(py, Effort::Long(threads), None, |job| {
            let problem = "a background that was sent can be merged, but takes no more rows";
            let intake = self.intake.as_ref().ok_or_else(|| Error::input(Argument::Background, problem))?;
            let mut background = locked(&self.background);
            let before = background.take().ok_or_else(broken_off)?;
            *background = Some(intake.add(before, &rows, weights, job)?);
            Ok(())
        })
    }

    /// A new background with the rows of both.
    fn merge(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<Self> {
        let other = other.get();
        let merged = run(py, Effort::Short, None, |_| self.background()?.merge(other.background()?))?;
        Ok(Self::new_of(None, merged))
    }

    /// A new background without the rows of a part of it.
    fn subtract(&self, py: Python<'_>, part: &Bound<'_, Self>) -> PyResult<Self> {
        let part = part.get();
        let rest = run(py, Effort::Short, None, |_| self.background()?.subtract(part.background()?))?;
        Ok(Self::new_of(None, rest))
    }

    #[getter]
    fn n_rows(&self, py: Python<'_>) -> PyResult<usize> {
        run::guarded(py, || self.with(Background::len))
    }

    /// The weights of all rows together.
    #[getter]
    fn weight(&self, py: Python<'_>) -> PyResult<f64> {
        run::guarded(py, || self.with(Background::weight))
    }

    /// Whether only patterns were counted, instead of keeping rows.
    #[getter]
    fn counted(&self, py: Python<'_>) -> PyResult<bool> {
        run::guarded(py, || self.with(Background::is_counted))
    }

    /// The background as bytes, with lists of texts.
    fn to_bytes<'py>(&self, py: Python<'py>, texts: Texts) -> PyResult<Bound<'py, PyBytes>> {
        let notes = Notes { texts, ..Notes::default() };
        let bytes = run(py, Effort::Short, None, |_| self.with(|background| background.to_bytes(&notes)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The background and the texts that `to_bytes` made the bytes from.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<(Self, Texts)> {
        let (background, notes) = run(py, Effort::Short, None, |_| Background::from_bytes(data))?;
        Ok((Self::new_of(None, background), notes.texts))
    }
}
