//! A forest from the arrays of one tree after another, as libraries hold them: in their own width, and often as one field
//! of an array of nodes. No array of all trees is ever made; each tree is read in one pass.

use std::cell::Cell;

use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::forest::{CategorySets, FlatNode, Tree, TreeArrays, WholeTree};

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

impl<W: Copy + From<N>, N: Copy> View<'_, W, N> {
    fn len(&self) -> usize {
        match self {
            Self::Wide(array) => array.len(),
            Self::Narrow(array) => array.len(),
        }
    }

    #[inline]
    fn at(&self, i: usize) -> W {
        match self {
            Self::Wide(array) => array[i],
            Self::Narrow(array) => array[i].into(),
        }
    }
}

impl TreeView<'_> {
    pub(super) fn n_nodes(&self) -> usize {
        self.left.len()
    }

    /// The tree, whose nodes are not validated yet; `t` is its position in the forest.
    pub(super) fn build(&self, t: usize, n_outputs: usize, sets: CategorySets<'_>, first_node: usize) -> Result<Tree> {
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
        let reading = Reading { tree: self, fits: Cell::new(true) };
        let tree = WholeTree { output: self.output, n_outputs, sets, first_node }.build(t, &reading);
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
struct Reading<'a, 'v> {
    tree: &'a TreeView<'v>,
    fits: Cell<bool>,
}

impl Reading<'_, '_> {
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

impl TreeArrays for Reading<'_, '_> {
    fn n_nodes(&self) -> usize {
        self.tree.n_nodes()
    }

    #[inline]
    fn node(&self, n: usize) -> FlatNode {
        let tree = self.tree;
        // One entry may stand for all nodes.
        let one = |array: &ArrayView1<'_, u8>| array[if array.len() == 1 { 0 } else { n }];
        let default_left = one(&tree.default_left);
        self.expect(default_left <= 1);
        FlatNode {
            left: self.narrow(tree.left.at(n)),
            right: self.narrow(tree.right.at(n)),
            feature: self.narrow(tree.feature.at(n)),
            threshold: tree.threshold.at(n),
            flags: one(&tree.flags) | if default_left == 1 { DEFAULT_LEFT } else { 0 },
            cover: tree.cover.as_ref().map(|cover| cover.at(n)),
        }
    }

    #[inline]
    fn value(&self, i: usize) -> f64 {
        self.tree.value.at(i)
    }
}
