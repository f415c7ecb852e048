//! Random rows, players and weights for a forest.

use arborshap::forest::Test;
use arborshap::{Explainer, Forest, Players, Rows};

use crate::support::choices::Choices;
use crate::support::engines::explainer;
use crate::support::forests::{forest, splits};

/// Rows in either precision.
#[derive(Debug, Clone)]
pub(crate) enum Cells {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// A matrix that owns its cells.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    pub(crate) cells: Cells,
    pub(crate) len: usize,
    pub(crate) width: usize,
}

impl Matrix {
    pub(crate) fn new(cells: Vec<f64>, width: usize) -> Self {
        let len = cells.len().checked_div(width).unwrap_or(0);
        Self { cells: Cells::F64(cells), len, width }
    }

    pub(crate) fn rows(&self) -> Rows<'_> {
        match &self.cells {
            Cells::F32(cells) => Rows::new(&cells[..], self.len, self.width),
            Cells::F64(cells) => Rows::new(&cells[..], self.len, self.width),
        }
        .expect("the cells fit the shape")
    }

    pub(crate) fn row(&self, row: usize) -> Self {
        self.select(&[row])
    }

    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        fn copy<T: Copy>(cells: &[T], width: usize, rows: &[usize]) -> Vec<T> {
            rows.iter().flat_map(|&r| cells[r * width..(r + 1) * width].iter().copied()).collect()
        }
        let cells = match &self.cells {
            Cells::F32(cells) => Cells::F32(copy(cells, self.width, rows)),
            Cells::F64(cells) => Cells::F64(copy(cells, self.width, rows)),
        };
        Self { cells, len: rows.len(), width: self.width }
    }
}

/// A forest and something to explain with it.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) forest: Forest,
    pub(crate) players: Players,
    pub(crate) x: Matrix,
    pub(crate) z: Matrix,
    pub(crate) weights: Option<Vec<f64>>,
}

/// The most features of a case: the definition looks at two to the power of this many coalitions.
const MAX_FEATURES: usize = 6;

impl Case {
    /// A case of a few rows against a few background rows.
    pub(crate) fn small(c: &mut Choices) -> Self {
        let (n, m) = (1 + c.below(3), 1 + c.below(5));
        Self::sized(c, n, m)
    }

    pub(crate) fn sized(c: &mut Choices, n: usize, m: usize) -> Self {
        let n_features = 1 + c.below(MAX_FEATURES);
        let n_outputs = 1 + c.below(3);
        let forest = forest(c, n_features, n_outputs);
        let players = if c.flag() { Players::single(n_features) } else { groups(c, n_features) };
        let single_precision = c.one_in(4);
        let x = matrix(c, &forest, n, single_precision);
        let z = matrix(c, &forest, m, single_precision);
        let weights = c.one_in(3).then(|| weights(c, m));
        Self { forest, players, x, z, weights }
    }

    pub(crate) fn explainer(&self) -> Explainer {
        self.explainer_for(&self.players)
    }

    /// The same case with other players.
    pub(crate) fn explainer_for(&self, players: &Players) -> Explainer {
        explainer(&self.forest, players, &self.z, self.weights.as_deref())
    }
}

/// A map of features to fewer players, or to as many with some that have no feature at all.
fn groups(c: &mut Choices, n_features: usize) -> Players {
    let count = 1 + c.below(n_features);
    Players::grouped((0..n_features).map(|_| c.below(count) as u32).collect(), count).expect("a map in range")
}

/// Zero is a weight too; not all of them are.
fn weights(c: &mut Choices, m: usize) -> Vec<f64> {
    let mut weights: Vec<f64> = (0..m).map(|_| c.below(9) as f64 / 4.0).collect();
    weights[0] += 0.75;
    weights
}

pub(crate) fn matrix(c: &mut Choices, forest: &Forest, len: usize, single_precision: bool) -> Matrix {
    let width = forest.n_features();
    let anchors: Vec<Vec<f64>> = (0..width).map(|feature| anchors(forest, feature)).collect();
    let mut cells = Vec::with_capacity(len * width);
    for _ in 0..len {
        cells.extend(anchors.iter().map(|anchors| cell(c, anchors)));
    }
    let cells =
        if single_precision { Cells::F32(cells.iter().map(|&x| x as f32).collect()) } else { Cells::F64(cells) };
    Matrix { cells, len, width }
}

/// Where the forest's answer may change along a feature.
fn anchors(forest: &Forest, feature: usize) -> Vec<f64> {
    let mut anchors = vec![0.0, 1.0];
    for split in splits(forest).filter(|s| s.feature as usize == feature) {
        match &split.test {
            Test::Threshold { threshold, .. } => anchors.push(*threshold),
            Test::Member { categories, .. } => anchors.extend(categories.codes().iter().map(|&code| f64::from(code))),
            other => panic!("make values around {other:?} here"),
        }
    }
    anchors
}

const SPECIAL: [f64; 13] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    -0.0,
    -0.5,
    -1.0,
    -7.0,
    1e-36,
    -1e-36,
    4_294_967_296.0,
    1.844_674_407_370_955_2e19,
    1e300,
    -1e300,
];

/// A value at one of these places, one step of either precision beside it, or a special one.
fn cell(c: &mut Choices, anchors: &[f64]) -> f64 {
    let at = c.of(anchors);
    match c.below(10) {
        0 | 1 => at,
        2 => at.next_up(),
        3 => at.next_down(),
        4 => f64::from((at as f32).next_up()),
        5 => f64::from((at as f32).next_down()),
        6 => f64::from(at as f32),
        7 => at + 0.75,
        8 => f64::NAN,
        _ => c.of(&SPECIAL),
    }
}
