//! `_core.Explainer`.

use std::collections::BTreeMap;
use std::sync::Arc;

use numpy::{PyArray1, PyArrayDyn, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::arrays::{Matrix, array, players_from, positive};
use super::background::{PyBackground, Texts};
use super::forest::PyForest;
use super::{errors, run};
use crate::engine::plan::Engine;
use crate::error::Error;
use crate::explainer::Explainer;
use crate::index::Index;
use crate::job::Workers;
use crate::saved::Notes;

/// A forest, its players and its background, ready to explain rows.
#[pyclass(frozen, module = "arborshap._core", name = "Explainer")]
pub(super) struct PyExplainer {
    explainer: Explainer,
}

/// Estimated seconds below which work is done right where it is asked for.
const SHORT: f64 = 1e-3;

/// A [`Plan`](crate::Plan) as a tuple.
type PlanParts = (usize, usize, usize, f64, usize, String);

/// Lists of numbers by their name.
type Numbers<'py> = BTreeMap<String, Bound<'py, PyArray1<f64>>>;

fn index_named(py: Python<'_>, name: &str) -> PyResult<Index> {
    match name {
        "shapley" => Ok(Index::Shapley),
        "banzhaf" => Ok(Index::Banzhaf),
        "taylor" => Ok(Index::Taylor),
        "interaction" => Ok(Index::Interaction),
        other => Err(errors::exception(py, &Error::Input(format!("unknown index {other:?}")))),
    }
}

fn engine_named(py: Python<'_>, name: &str) -> PyResult<Engine> {
    match name {
        "auto" => Ok(Engine::Auto),
        "traversal" => Ok(Engine::Traversal),
        "pattern" => Ok(Engine::Pattern),
        "sparse" => Ok(Engine::Sparse),
        other => {
            let known = "there are \"auto\", \"pattern\", \"sparse\" and \"traversal\"";
            Err(errors::exception(py, &Error::Input(format!("unknown engine {other:?}; {known}"))))
        }
    }
}

fn limited(explainer: Explainer, memory_limit: Option<usize>) -> Explainer {
    match memory_limit {
        Some(bytes) => explainer.limited_to(bytes),
        None => explainer,
    }
}

#[pymethods]
impl PyExplainer {
    #[new]
    #[pyo3(signature = (forest, *, players, n_players, background, weights=None, memory_limit=None, n_threads))]
    #[expect(clippy::too_many_arguments, reason = "the options of the constructor, each under its name")]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]
    fn new(
        py: Python<'_>,
        forest: &Bound<'_, PyForest>,
        players: PyReadonlyArray1<'_, i32>,
        n_players: usize,
        background: Option<Matrix<'_>>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        memory_limit: Option<usize>,
        n_threads: usize,
    ) -> PyResult<Self> {
        let threads = positive(py, "n_threads", n_threads)?;
        let forest = forest.get().forest.clone();
        let background = background.as_ref().map(|b| b.rows(py)).transpose()?;
        let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?;
        let players = players_from(py, &players, n_players)?;
        let explainer = run::run(py, true, None, move |progress| {
            let workers = Workers::new(threads);
            match (&background, memory_limit) {
                (Some(z), None) => Explainer::new(&forest, &players, z, weights, &workers, progress),
                (Some(z), Some(b)) => Explainer::within(b, &forest, &players, z, weights, &workers, progress),
                (None, None) => Explainer::path_dependent(&forest, &players, &workers),
                (None, Some(bytes)) => Explainer::path_dependent_within(bytes, &forest, &players, &workers),
            }
        })?;
        Ok(Self { explainer })
    }

    /// Against a background that came in parts.
    #[staticmethod]
    #[pyo3(signature = (forest, background, *, players, n_players, memory_limit=None, n_threads))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]
    fn from_background(
        py: Python<'_>,
        forest: &Bound<'_, PyForest>,
        background: &Bound<'_, PyBackground>,
        players: PyReadonlyArray1<'_, i32>,
        n_players: usize,
        memory_limit: Option<usize>,
        n_threads: usize,
    ) -> PyResult<Self> {
        let threads = positive(py, "n_threads", n_threads)?;
        let (forest, background) = (forest.get().forest.clone(), background.get());
        let players = players_from(py, &players, n_players)?;
        let explainer = run::run(py, true, None, move |progress| {
            let workers = Workers::new(threads);
            Explainer::from_background(&forest, &players, background.background()?, &workers, progress)
        })?;
        Ok(Self { explainer: limited(explainer, memory_limit) })
    }

    /// The explainer as bytes, with lists of texts and of numbers to be kept beside it.
    fn to_bytes<'py>(
        &self,
        py: Python<'py>,
        texts: Texts,
        numbers: BTreeMap<String, PyReadonlyArray1<'py, f64>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut notes = Notes { texts, ..Notes::default() };
        for (name, array) in numbers {
            notes.numbers.insert(name, array.as_slice()?.to_vec());
        }
        let bytes = run::run(py, false, None, |_| Ok(self.explainer.to_bytes(&notes)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// What `to_bytes` was called on and given.
    #[staticmethod]
    #[pyo3(signature = (data, *, memory_limit=None, n_threads))]
    fn from_bytes<'py>(
        py: Python<'py>,
        data: &[u8],
        memory_limit: Option<usize>,
        n_threads: usize,
    ) -> PyResult<(Self, Texts, Numbers<'py>)> {
        let threads = positive(py, "n_threads", n_threads)?;
        let load = |progress: &_| Explainer::from_bytes(data, &Workers::new(threads), progress);
        let (explainer, notes) = run::run(py, true, None, load)?;
        let numbers =
            notes.numbers.into_iter().map(|(name, numbers)| (name, PyArray1::from_vec(py, numbers))).collect();
        Ok((Self { explainer: limited(explainer, memory_limit) }, notes.texts, numbers))
    }

    /// The forest that is explained.
    #[getter]
    fn forest(&self) -> PyForest {
        PyForest { forest: Arc::new(self.explainer.forest.clone()) }
    }

    /// The player of every feature.
    #[getter]
    fn players<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        let players = &self.explainer.players;
        PyArray1::from_iter(py, (0..players.n_features()).map(|feature| players.of(feature) as i32))
    }

    #[getter]
    fn n_players(&self) -> usize {
        self.explainer.n_players()
    }

    /// Rows of the background; none where there is no background.
    #[getter]
    fn n_background(&self) -> usize {
        self.explainer.n_background()
    }

    /// Mean margin over the (weighted) background, one per output.
    #[getter]
    fn expected_value<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.explainer.expected_value())
    }

    /// (rows, players, outputs), or (rows, players, players, outputs) for an index of pairs of players.
    #[pyo3(signature = (rows, index, *, engine, n_threads, progress=None))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        rows: Matrix<'py>,
        index: &str,
        engine: &str,
        n_threads: usize,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let (index, engine) = (index_named(py, index)?, engine_named(py, engine)?);
        let threads = positive(py, "n_threads", n_threads)?;
        let rows = rows.rows(py)?;
        let explainer = &self.explainer;
        let plan = run::guarded(py, || explainer.plan(rows.len(), index, engine))?;
        // Short work needs no other thread, neither to share it nor to wait for Ctrl-C meanwhile.
        let long = plan.seconds > SHORT;
        let values = run::run(py, long, progress.as_ref(), |progress| {
            explainer.explain(&rows, index, engine, &Workers::new(if long { threads } else { 1 }), progress)
        })?;
        let (n, p, k) = (rows.len(), explainer.n_players(), explainer.n_outputs());
        let shape: &[usize] = if index.order() == 1 { &[n, p, k] } else { &[n, p, p, k] };
        array(py, values, shape)
    }

    /// How a call with that many rows would be carried out: trees by tables, by pairs, by walk; seconds on one thread;
    /// bytes; why.
    fn plan(&self, py: Python<'_>, n_rows: usize, index: &str, engine: &str) -> PyResult<PlanParts> {
        let (index, engine) = (index_named(py, index)?, engine_named(py, engine)?);
        let plan = run::guarded(py, || self.explainer.plan(n_rows, index, engine))?;
        Ok((plan.by_tables, plan.by_pairs, plan.by_walk, plan.seconds, plan.bytes, plan.reason))
    }

    /// phi(x, z) for every pair, never averaged: (rows, background rows, players, outputs).
    #[pyo3(signature = (rows, background, *, n_threads, progress=None))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]
    fn explain_pairs<'py>(
        &self,
        py: Python<'py>,
        rows: Matrix<'py>,
        background: Option<Matrix<'py>>,
        n_threads: usize,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let threads = positive(py, "n_threads", n_threads)?;
        let rows = rows.rows(py)?;
        let background = background.as_ref().map(|b| b.rows(py)).transpose()?;
        let explainer = &self.explainer;
        let values = run::run(py, true, progress.as_ref(), |progress| {
            explainer.explain_pairs(&rows, background.as_ref(), &Workers::new(threads), progress)
        })?;
        let m = background.map_or(explainer.n_background(), |b| b.len());
        array(py, values, &[rows.len(), m, explainer.n_players(), explainer.n_outputs()])
    }
}
