//! A forest from the arrays of one tree after another, as libraries hold them: in their own width, and often as one field
//! of an array of nodes. No array of all trees is ever made; each tree is read in one pass.

use std::cell::Cell;

use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::forest::{CategorySets, FlatNode, Made, TreeArrays, WholeTree};

/// The arrays of one tree, in the order in which Python gives them; `_core.pyi` says what they are.
#[derive(FromPyObject)]
pub(super) struct GivenTree<'py>(
    Given<'py, i64, i32>,
    Given<'py, i64, i32>,
    Given<'py, i64, i32>,
    Given<'py, f64, f32>,
    Given<'py, f64, f32>,
    PyReadonlyArray1<'py, u8>,
    PyReadonlyArray1<'py, u8>,
    Option<Given<'py, f64, f32>>,
    i32,
);

/// Numbers in either width.
enum Given<'py, W: Element, N: Element> {
    Wide(PyReadonlyArray1<'py, W>),
    Narrow(PyReadonlyArray1<'py, N>),
}

impl<'py, W: Element, N: Element> FromPyObject<'_, 'py> for Given<'py, W, N> {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        // A cast that fails is cheap; an extraction that fails describes both types for its message.
        match given.cast::<PyArray1<N>>() {
            Ok(array) => Ok(Self::Narrow(array.readonly())),
            Err(_) => Ok(Self::Wide(given.extract()?)),
        }
    }
}

/// The same arrays, free of the interpreter.
pub(super) struct TreeView<'a> {
    left: View<'a, i64, i32>,
    right: View<'a, i64, i32>,
    feature: View<'a, i64, i32>,
    threshold: View<'a, f64, f32>,
    value: View<'a, f64, f32>,
    flags: ArrayView1<'a, u8>,
    default_left: ArrayView1<'a, u8>,
    cover: Option<View<'a, f64, f32>>,
    output: i32,
}

enum View<'a, W, N> {
    Wide(ArrayView1<'a, W>),
    Narrow(ArrayView1<'a, N>),
}

/// The bit of the flags that says where missing values go.
const DEFAULT_LEFT: u8 = 1 << 2;

impl GivenTree<'_> {
    /// The arrays, which must have memory that can be read; their lengths are checked when the tree is built.
    pub(super) fn view(&self) -> PyResult<TreeView<'_>> {
        let Self(left, right, feature, threshold, value, flags, default_left, cover, output) = self;
        Ok(TreeView {
            left: left.view()?,
            right: right.view()?,
            feature: feature.view()?,
            threshold: threshold.view()?,
            value: value.view()?,
            flags: view(flags)?,
            default_left: view(default_left)?,
            cover: cover.as_ref().map(Given::view).transpose()?,
            output: *output,
        })
    }
}

impl<W: Element, N: Element> Given<'_, W, N> {
    fn view(&self) -> PyResult<View<'_, W, N>> {
        Ok(match self {
            Self::Wide(array) => View::Wide(view(array)?),
            Self::Narrow(array) => View::Narrow(view(array)?),
        })
    }
}

fn view<'a, T: Element>(array: &'a PyReadonlyArray1<'_, T>) -> PyResult<ArrayView1<'a, T>> {
    if array.is_aligned() { Ok(array.as_array()) } else { Err(PyTypeError::new_err("arrays must be aligned")) }
}

/// Numbers that are read in the wider of two widths.
trait Numbers<W> {
    fn at(&self, i: usize) -> W;
}

impl<W, T: Copy + Into<W>> Numbers<W> for ArrayView1<'_, T> {
    #[inline(always)]
    fn at(&self, i: usize) -> W {
        self[i].into()
    }
}

impl<W: Copy + From<N>, N: Copy> Numbers<W> for View<'_, W, N> {
    #[inline(always)]
    fn at(&self, i: usize) -> W {
        match self {
            Self::Wide(array) => array[i],
            Self::Narrow(array) => array[i].into(),
        }
    }
}

impl<'a, W, N> View<'a, W, N> {
    fn len(&self) -> usize {
        match self {
            Self::Wide(array) => array.len(),
            Self::Narrow(array) => array.len(),
        }
    }

    fn wide(&self) -> Option<&ArrayView1<'a, W>> {
        if let Self::Wide(array) = self { Some(array) } else { None }
    }

    fn narrow(&self) -> Option<&ArrayView1<'a, N>> {
        if let Self::Narrow(array) = self { Some(array) } else { None }
    }
}

/// All three, if there are three.
fn all<T>(three: [Option<T>; 3]) -> Option<[T; 3]> {
    if let [Some(a), Some(b), Some(c)] = three { Some([a, b, c]) } else { None }
}

impl TreeView<'_> {
    pub(super) fn n_nodes(&self) -> usize {
        self.left.len()
    }

    /// The tree, which is not validated yet; `t` is its position in the forest.
    pub(super) fn build(
        &self,
        t: usize,
        (n_features, n_outputs): (usize, usize),
        sets: CategorySets<'_>,
        first_node: usize,
    ) -> Result<Made> {
        let n = self.n_nodes();
        let cover = self.cover.as_ref().map_or(n, View::len);
        let lengths = [
            ("right", self.right.len(), n),
            ("feature", self.feature.len(), n),
            ("threshold", self.threshold.len(), n),
            ("flags", self.flags.len(), if self.flags.len() == 1 { 1 } else { n }),
            ("default_left", self.default_left.len(), if self.default_left.len() == 1 { 1 } else { n }),
            ("value", self.value.len(), if self.output == -1 { n.saturating_mul(n_outputs) } else { n }),
            ("cover", cover, n),
        ];
        for (name, have, want) in lengths {
            if have != want {
                return Err(Error::forest(format!("tree {t}: array `{name}` has {have} entries where {want} belong")));
            }
        }
        let tree = WholeTree { output: self.output, n_features, n_outputs, sets, first_node };
        let whole = [&self.left, &self.right, &self.feature];
        let real = [&self.threshold, &self.value, self.cover.as_ref().unwrap_or(&self.threshold)];
        // Most libraries hold all of a tree in two widths, which are then asked for once and not at every node.
        if let Some((whole, real)) = all(whole.map(View::wide)).zip(all(real.map(View::wide))) {
            return self.read(t, tree, whole, real);
        }
        if let Some((whole, real)) = all(whole.map(View::narrow)).zip(all(real.map(View::wide))) {
            return self.read(t, tree, whole, real);
        }
        if let Some((whole, real)) = all(whole.map(View::narrow)).zip(all(real.map(View::narrow))) {
            return self.read(t, tree, whole, real);
        }
        self.read(t, tree, whole, real)
    }

    /// The same, given the arrays `left`, `right` and `feature`, and `threshold`, `value` and `cover`.
    fn read<I: Numbers<i64>, F: Numbers<f64>>(
        &self,
        t: usize,
        tree: WholeTree<'_>,
        whole: [&I; 3],
        real: [&F; 3],
    ) -> Result<Made> {
        let n_nodes = self.n_nodes();
        // One entry may stand for all nodes.
        let for_all = "an array has one entry, or one per node";
        let reading = Reading {
            n_nodes,
            whole,
            real,
            flags: self.flags.broadcast(n_nodes).expect(for_all),
            default_left: self.default_left.broadcast(n_nodes).expect(for_all),
            has_cover: self.cover.is_some(),
            fits: Cell::new(true),
        };
        let tree = tree.build(t, &reading);
        if !reading.fits.get() {
            self.check(t)?;
        }
        tree
    }

    /// An error that names the first number that does not fit in the format, if any: those of leaves may be ignored.
    fn check(&self, t: usize) -> Result<()> {
        let is_leaf = |n: usize| self.left.at(n) == -1 && self.right.at(n) == -1;
        for (name, array) in [("left", &self.left), ("right", &self.right), ("feature", &self.feature)] {
            let misfit = |&n: &usize| i32::try_from(array.at(n)).is_err() && !(name == "feature" && is_leaf(n));
            if let Some(n) = (0..array.len()).find(misfit) {
                let (number, low, high) = (array.at(n), i32::MIN, i32::MAX);
                return Err(Error::forest(format!("tree {t}: {name}: entry {n} is {number}, outside [{low}, {high}]")));
            }
        }
        if self.default_left.iter().any(|&left| left > 1) {
            return Err(Error::forest(format!("tree {t}: default_left must be true or false for every node")));
        }
        Ok(())
    }
}

/// A tree that is being read, and whether all of its numbers have fitted in the format so far.
struct Reading<'a, I, F> {
    n_nodes: usize,
    /// The children and the feature.
    whole: [&'a I; 3],
    /// The threshold, the value and the cover.
    real: [&'a F; 3],
    flags: ArrayView1<'a, u8>,
    default_left: ArrayView1<'a, u8>,
    has_cover: bool,
    fits: Cell<bool>,
}

impl<I, F> Reading<'_, I, F> {
    #[inline]
    fn expect(&self, fits: bool) {
        if !fits {
            self.fits.set(false);
        }
    }

    #[inline]
    fn narrow(&self, number: i64) -> i32 {
        let narrow = number as i32;
        self.expect(i64::from(narrow) == number);
        narrow
    }
}

impl<I: Numbers<i64>, F: Numbers<f64>> TreeArrays for Reading<'_, I, F> {
    fn n_nodes(&self) -> usize {
        self.n_nodes
    }

    #[inline(always)]
    fn node(&self, n: usize) -> FlatNode {
        let default_left = self.default_left[n];
        self.expect(default_left <= 1);
        let [left, right, feature] = self.whole.map(|numbers| self.narrow(numbers.at(n)));
        FlatNode {
            left,
            right,
            feature,
            threshold: self.real[0].at(n),
            flags: self.flags[n] | if default_left == 1 { DEFAULT_LEFT } else { 0 },
            cover: self.has_cover.then(|| self.real[2].at(n)),
        }
    }

    #[inline(always)]
    fn value(&self, i: usize) -> f64 {
        self.real[1].at(i)
    }
}
