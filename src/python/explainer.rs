//! `_core.Explainer`.

use std::collections::BTreeMap;

use numpy::{PyArray1, PyArrayDyn, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::arrays::{Matrix, array, players_from, positive};
use super::background::{PyBackground, Texts};
use super::forest::PyForest;
use super::orders::{hierarchy_from, set_index_named, set_players};
use super::plan::{PyPlan, engine_named, index_named};
use super::run::{Effort, guarded, run};
use crate::explainer::Explainer;
use crate::index::Index;
use crate::saved::Notes;

/// A forest, its players and its background, ready to explain rows.
#[pyclass(frozen, module = "arborshap._core", name = "Explainer")]
pub(super) struct PyExplainer {
    explainer: Explainer,
}

/// Work of fewer estimated seconds than this runs on the calling thread.
const SHORT: f64 = 1e-3;

/// Lists of numbers by name.
type Numbers<'py> = BTreeMap<String, Bound<'py, PyArray1<f64>>>;

impl PyExplainer {
    /// The shape of a result: these axes, then players or pairs of players, then outputs.
    fn shape(&self, first: &[usize], index: Index) -> Vec<usize> {
        let (p, k) = (self.explainer.n_players(), self.explainer.n_outputs());
        let players = &[p, p][..index.order() as usize];
        [first, players, &[k]].concat()
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
        let mut builder = Explainer::builder(&forest).players(&players);
        if let Some(rows) = &background {
            builder = builder.background(rows);
        }
        if let Some(weights) = weights {
            builder = builder.weights(weights);
        }
        if let Some(bytes) = memory_limit {
            builder = builder.memory_limit(bytes);
        }
        Ok(Self { explainer: run(py, Effort::Long(threads), None, move |job| builder.build(job))? })
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
        let explainer = run(py, Effort::Long(threads), None, move |job| {
            let builder = Explainer::builder(&forest).players(&players).merged_background(background.background()?);
            match memory_limit {
                Some(bytes) => builder.memory_limit(bytes),
                None => builder,
            }
            .build(job)
        })?;
        Ok(Self { explainer })
    }

    /// The explainer as bytes, with lists of texts and of numbers.
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
        let bytes = run(py, Effort::Short, None, |_| Ok(self.explainer.to_bytes(&notes)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The explainer, the texts and the numbers that `to_bytes` made the bytes from.
    #[staticmethod]
    #[pyo3(signature = (data, *, memory_limit=None, n_threads))]
    fn from_bytes<'py>(
        py: Python<'py>,
        data: &[u8],
        memory_limit: Option<usize>,
        n_threads: usize,
    ) -> PyResult<(Self, Texts, Numbers<'py>)> {
        let threads = positive(py, "n_threads", n_threads)?;
        let (mut explainer, notes) = run(py, Effort::Long(threads), None, |job| Explainer::from_bytes(data, job))?;
        if let Some(bytes) = memory_limit {
            explainer.set_memory_limit(bytes);
        }
        let numbers =
            notes.numbers.into_iter().map(|(name, numbers)| (name, PyArray1::from_vec(py, numbers))).collect();
        Ok((Self { explainer }, notes.texts, numbers))
    }

    /// The forest that is explained.
    #[getter]
    fn forest(&self) -> PyForest {
        PyForest { forest: self.explainer.forest().clone() }
    }

    /// The player of every feature.
    #[getter]
    fn players<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        let players = self.explainer.players();
        PyArray1::from_iter(py, (0..players.n_features()).map(|feature| players.of(feature) as i32))
    }

    #[getter]
    fn n_players(&self) -> usize {
        self.explainer.n_players()
    }

    /// Rows of the background; 0 if there is none.
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
        let plan = guarded(py, || Ok(explainer.plan(rows.len(), index, engine)))?;
        // Short work needs no other thread, neither to share it nor to wait for Ctrl-C meanwhile.
        let effort = if plan.seconds > SHORT { Effort::Long(threads) } else { Effort::Short };
        let values = run(py, effort, progress.as_ref(), |job| explainer.carry_out(&plan, &rows, job))?;
        array(py, values, &self.shape(&[rows.len()], index))
    }

    /// The same forest and background with other players.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]
    #[pyo3(signature = (players, n_players, *, n_threads))]
    fn with_players(
        &self,
        py: Python<'_>,
        players: PyReadonlyArray1<'_, i32>,
        n_players: usize,
        n_threads: usize,
    ) -> PyResult<Self> {
        let threads = positive(py, "n_threads", n_threads)?;
        let players = players_from(py, &players, n_players)?;
        let explainer = run(py, Effort::Long(threads), None, |job| self.explainer.with_players(&players, job))?;
        Ok(Self { explainer })
    }

    /// The mean of an index over a population: (players, outputs), or (players, players, outputs).
    #[pyo3(signature = (population, index, *, n_threads))]
    fn explain_population<'py>(
        &self,
        py: Python<'py>,
        population: &Bound<'py, PyBackground>,
        index: &str,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let index = index_named(py, index)?;
        let threads = positive(py, "n_threads", n_threads)?;
        let (explainer, population) = (&self.explainer, population.get());
        let values = run(py, Effort::Long(threads), None, |job| {
            explainer.explain_population(&population.background()?, index, job)
        })?;
        array(py, values, &self.shape(&[], index))
    }

    /// The standard error of each number that `explain` gives, because the background is a sample; without rows, of some
    /// of the background's own.
    #[pyo3(signature = (rows, index, *, n_threads, progress=None))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]
    fn standard_error<'py>(
        &self,
        py: Python<'py>,
        rows: Option<Matrix<'py>>,
        index: &str,
        n_threads: usize,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let index = index_named(py, index)?;
        let threads = positive(py, "n_threads", n_threads)?;
        let rows = rows.as_ref().map(|rows| rows.rows(py)).transpose()?;
        let explainer = &self.explainer;
        let errors = run(py, Effort::Long(threads), progress.as_ref(), |job| {
            explainer.standard_error(rows.as_ref(), index, job)
        })?;
        let per_row: usize = self.shape(&[], index).iter().product();
        let n = rows.map_or(errors.len() / per_row.max(1), |rows| rows.len());
        array(py, errors, &self.shape(&[n], index))
    }

    /// How a call with that many rows would be carried out, and why.
    fn plan(&self, py: Python<'_>, n_rows: usize, index: &str, engine: &str) -> PyResult<PyPlan> {
        let (index, engine) = (index_named(py, index)?, engine_named(py, engine)?);
        guarded(py, || Ok(self.explainer.plan(n_rows, index, engine))).map(PyPlan::from)
    }

    /// The sets of up to `order` players that share a path: (sets, order), with -1 in unused places.
    fn player_sets<'py>(&self, py: Python<'py>, order: usize) -> PyResult<Bound<'py, PyArrayDyn<i32>>> {
        let (players, n) = run(py, Effort::Long(1), None, |_| set_players(&self.explainer, order))?;
        array(py, players, &[n, order])
    }

    /// An index of sets of players: (rows, sets, outputs).
    #[pyo3(signature = (rows, index, parameters, order, *, n_threads, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "the options of the method, each under its name")]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]
    fn explain_sets<'py>(
        &self,
        py: Python<'py>,
        rows: Matrix<'py>,
        index: &str,
        parameters: PyReadonlyArray1<'py, f64>,
        order: usize,
        n_threads: usize,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let index = set_index_named(py, index, parameters.as_slice()?)?;
        let (threads, rows) = (positive(py, "n_threads", n_threads)?, rows.rows(py)?);
        let explainer = &self.explainer;
        let (values, n_sets) = run(py, Effort::Long(threads), progress.as_ref(), |job| {
            let values = explainer.explain_sets(&rows, &index, order, job)?;
            Ok((values, explainer.player_sets(order)?.len()))
        })?;
        array(py, values, &[rows.len(), n_sets, explainer.n_outputs()])
    }

    /// The values of members of groups: (rows, players, outputs).
    #[pyo3(signature = (rows, parent, ordered, *, n_threads, progress=None))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]
    fn explain_members<'py>(
        &self,
        py: Python<'py>,
        rows: Matrix<'py>,
        parent: PyReadonlyArray1<'py, i32>,
        ordered: PyReadonlyArray1<'py, bool>,
        n_threads: usize,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let hierarchy = hierarchy_from(py, self.explainer.n_players(), &parent, &ordered)?;
        let (threads, rows) = (positive(py, "n_threads", n_threads)?, rows.rows(py)?);
        let explainer = &self.explainer;
        let values =
            run(py, Effort::Long(threads), progress.as_ref(), |job| explainer.explain_members(&rows, &hierarchy, job))?;
        array(py, values, &self.shape(&[rows.len()], Index::Shapley))
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
        let values = run(py, Effort::Long(threads), progress.as_ref(), |job| {
            explainer.explain_pairs(&rows, background.as_ref(), job)
        })?;
        let m = background.map_or(explainer.n_background(), |b| b.len());
        array(py, values, &[rows.len(), m, explainer.n_players(), explainer.n_outputs()])
    }

    /// What a coalition is worth: (rows, outputs).
    #[pyo3(signature = (rows, members, *, n_threads, progress=None))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]
    fn coalition_values<'py>(
        &self,
        py: Python<'py>,
        rows: Matrix<'py>,
        members: Vec<bool>,
        n_threads: usize,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let rows = rows.rows(py)?;
        let effort = Effort::Long(positive(py, "n_threads", n_threads)?);
        let values = run(py, effort, progress.as_ref(), |job| self.explainer.coalition_values(&rows, &members, job))?;
        array(py, values, &[rows.len(), self.explainer.n_outputs()])
    }

    /// What each of some players is worth alone: (rows, players, outputs).
    #[pyo3(signature = (rows, players, *, n_threads))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]
    fn single_values<'py>(
        &self,
        py: Python<'py>,
        rows: Matrix<'py>,
        players: Vec<usize>,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let rows = rows.rows(py)?;
        let effort = Effort::Long(positive(py, "n_threads", n_threads)?);
        let values = run(py, effort, None, |job| self.explainer.single_values(&rows, &players, job))?;
        array(py, values, &[rows.len(), players.len(), self.explainer.n_outputs()])
    }

    /// What one player and each of some others are worth together: (others, rows, outputs).
    #[pyo3(signature = (rows, player, others, *, n_threads))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]
    fn couple_values<'py>(
        &self,
        py: Python<'py>,
        rows: Matrix<'py>,
        player: usize,
        others: Vec<usize>,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let rows = rows.rows(py)?;
        let effort = Effort::Long(positive(py, "n_threads", n_threads)?);
        let values = run(py, effort, None, |job| self.explainer.couple_values(&rows, player, &others, job))?;
        array(py, values, &[others.len(), rows.len(), self.explainer.n_outputs()])
    }

    /// What all players but one are worth together, for each player in turn: (rows, players, outputs).
    #[pyo3(signature = (rows, *, n_threads))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]
    fn values_without<'py>(
        &self,
        py: Python<'py>,
        rows: Matrix<'py>,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let rows = rows.rows(py)?;
        let effort = Effort::Long(positive(py, "n_threads", n_threads)?);
        let values = run(py, effort, None, |job| self.explainer.values_without(&rows, job))?;
        array(py, values, &[rows.len(), self.explainer.n_players(), self.explainer.n_outputs()])
    }
}
