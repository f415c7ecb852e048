//! `_core.Forest`.

use numpy::{PyArray1, PyArrayDyn, PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::arrays::{Matrix, array, positive};
use super::run::{Effort, guarded, run};
use super::trees::{GivenTree, TreeView};
use crate::error::Error;
use crate::forest::{CategorySets, FlatForest, Forest, ForestArrays};

/// A validated, immutable forest: the common format that every model is converted to.
#[pyclass(frozen, module = "arborshap._core", name = "Forest")]
pub(super) struct PyForest {
    pub(super) forest: Forest,
}

/// Calls that look at more nodes than this, at most, are long.
const SHORT: usize = 1 << 17;

#[pymethods]
impl PyForest {
    #[new]
    #[pyo3(signature = (*, n_features, tree_offsets, left, right, feature, threshold, flags, value, tree_output, base,
        category_nodes, category_offsets, categories, cover=None))]
    #[expect(clippy::too_many_arguments, reason = "the arrays of the format, each under its name")]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]
    fn new(
        py: Python<'_>,
        n_features: usize,
        tree_offsets: PyReadonlyArray1<'_, i64>,
        left: PyReadonlyArray1<'_, i32>,
        right: PyReadonlyArray1<'_, i32>,
        feature: PyReadonlyArray1<'_, i32>,
        threshold: PyReadonlyArray1<'_, f64>,
        flags: PyReadonlyArray1<'_, u8>,
        value: PyReadonlyArrayDyn<'_, f64>,
        tree_output: PyReadonlyArray1<'_, i32>,
        base: PyReadonlyArray1<'_, f64>,
        category_nodes: PyReadonlyArray1<'_, i64>,
        category_offsets: PyReadonlyArray1<'_, i64>,
        categories: PyReadonlyArray1<'_, u32>,
        cover: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Self> {
        let flat = FlatForest {
            n_features,
            tree_offsets: tree_offsets.as_slice()?,
            left: left.as_slice()?,
            right: right.as_slice()?,
            feature: feature.as_slice()?,
            threshold: threshold.as_slice()?,
            flags: flags.as_slice()?,
            value: value.as_slice()?,
            tree_output: tree_output.as_slice()?,
            base: base.as_slice()?,
            category_nodes: category_nodes.as_slice()?,
            category_offsets: category_offsets.as_slice()?,
            categories: categories.as_slice()?,
            cover: cover.as_ref().map(|c| c.as_slice()).transpose()?,
        };
        Ok(Self { forest: run(py, Effort::Short, None, |_| flat.build())? })
    }

    /// A forest from the arrays of one tree after another.
    #[staticmethod]
    #[pyo3(signature = (trees, *, n_features, base, category_nodes, category_offsets, categories, n_threads))]
    #[expect(clippy::too_many_arguments, reason = "the arrays of the format, each under its name")]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]
    fn of_trees(
        py: Python<'_>,
        trees: Vec<GivenTree<'_>>,
        n_features: usize,
        base: PyReadonlyArray1<'_, f64>,
        category_nodes: PyReadonlyArray1<'_, i64>,
        category_offsets: PyReadonlyArray1<'_, i64>,
        categories: PyReadonlyArray1<'_, u32>,
        n_threads: usize,
    ) -> PyResult<Self> {
        let threads = positive(py, "n_threads", n_threads)?;
        let views: Vec<TreeView<'_>> = trees.iter().map(GivenTree::view).collect::<PyResult<_>>()?;
        let sets = CategorySets {
            nodes: category_nodes.as_slice()?,
            offsets: category_offsets.as_slice()?,
            all: categories.as_slice()?,
        };
        let base = base.as_slice()?;
        let starts: Vec<usize> =
            views.iter().scan(0, |next, tree| Some(std::mem::replace(next, *next + tree.n_nodes()))).collect();
        let n_nodes: usize = views.iter().map(TreeView::n_nodes).sum();
        let effort = if n_nodes > SHORT { Effort::Long(threads) } else { Effort::Short };
        let forest = run(py, effort, None, |job| {
            sets.check()?;
            let tree = |t: usize| views[t].build(t, (n_features, base.len()), sets, starts[t]);
            Forest::of_made(views.len(), tree, n_features, base.to_vec(), &job.workers)
        })?;
        Ok(Self { forest })
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.forest.n_features()
    }

    #[getter]
    fn n_outputs(&self) -> usize {
        self.forest.n_outputs()
    }

    #[getter]
    fn n_trees(&self) -> usize {
        self.forest.trees().len()
    }

    #[getter]
    fn n_nodes(&self) -> usize {
        self.forest.n_nodes()
    }

    #[getter]
    fn n_leaves(&self) -> usize {
        self.forest.n_leaves()
    }

    #[getter]
    fn max_depth(&self) -> usize {
        self.forest.max_depth()
    }

    /// Number of categories in the sets of all categorical splits.
    #[getter]
    fn n_categories(&self) -> usize {
        self.forest.n_categories()
    }

    /// The largest absolute leaf or base value of each output.
    fn largest_leaves<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.forest.largest_leaves())
    }

    /// The arrays that `Forest` takes, by name. If the leaves of any tree are vectors, all are.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (n_nodes, n_outputs) = (self.forest.n_nodes(), self.forest.n_outputs());
        let (arrays, vectors) = guarded(py, || {
            let mut arrays = ForestArrays::from(&self.forest);
            let vectors = arrays.tree_output.contains(&-1);
            let wide = n_nodes.saturating_mul(n_outputs);
            if vectors && wide / 64 > arrays.value.len().max(1 << 16) {
                return Err(Error::forest(format!(
                    "some trees hold one value per leaf and others {n_outputs}; as one array they would be {wide} numbers"
                )));
            }
            if vectors {
                arrays.widen_leaves();
            }
            Ok((arrays, vectors))
        })?;
        let shape: &[usize] = if vectors { &[n_nodes, n_outputs] } else { &[n_nodes] };
        let all = PyDict::new(py);
        all.set_item("tree_offsets", PyArray1::from_vec(py, arrays.tree_offsets))?;
        all.set_item("left", PyArray1::from_vec(py, arrays.left))?;
        all.set_item("right", PyArray1::from_vec(py, arrays.right))?;
        all.set_item("feature", PyArray1::from_vec(py, arrays.feature))?;
        all.set_item("threshold", PyArray1::from_vec(py, arrays.threshold))?;
        all.set_item("flags", PyArray1::from_vec(py, arrays.flags))?;
        all.set_item("value", array(py, arrays.value, shape)?)?;
        all.set_item("tree_output", PyArray1::from_vec(py, arrays.tree_output))?;
        all.set_item("base", PyArray1::from_vec(py, arrays.base))?;
        all.set_item("category_nodes", PyArray1::from_vec(py, arrays.category_nodes))?;
        all.set_item("category_offsets", PyArray1::from_vec(py, arrays.category_offsets))?;
        all.set_item("categories", PyArray1::from_vec(py, arrays.categories))?;
        all.set_item("cover", arrays.cover.map(|cover| PyArray1::from_vec(py, cover)))?;
        Ok(all)
    }

    /// The raw prediction in float64: (rows, outputs).
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]
    fn margin<'py>(
        &self,
        py: Python<'py>,
        rows: Matrix<'py>,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let threads = positive(py, "n_threads", n_threads)?;
        let rows = rows.rows(py)?;
        let steps = rows.len().saturating_mul(self.forest.trees().len()).saturating_mul(self.forest.max_depth());
        let long = steps > SHORT;
        let effort = if long { Effort::Long(threads) } else { Effort::Short };
        let margins = run(py, effort, None, |job| self.forest.margins(&rows, job))?;
        array(py, margins, &[rows.len(), self.forest.n_outputs()])
    }
}
