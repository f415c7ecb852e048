//! All ways to compute, in one list: what holds must hold for each of them.

use arborshap::{Engine, Explainer, Forest, Index, Job, Players};

use crate::support::inputs::Matrix;

pub(crate) const ENGINES: [Engine; 5] =
    [Engine::Traversal, Engine::Pattern, Engine::Counts, Engine::Sparse, Engine::Auto];

pub(crate) const INDICES: [Index; 4] = [Index::Shapley, Index::Banzhaf, Index::Taylor, Index::Interaction];

/// An explainer of a valid case.
pub(crate) fn explainer(forest: &Forest, players: &Players, z: &Matrix, weights: Option<&[f64]>) -> Explainer {
    let z = z.rows();
    let mut builder = Explainer::builder(forest).players(players).background(&z);
    if let Some(weights) = weights {
        builder = builder.weights(weights);
    }
    builder.build(&Job::new(1)).expect("a valid case")
}

/// Rows explained by this engine.
pub(crate) fn explain(engine: Engine, explainer: &Explainer, x: &Matrix, index: Index, threads: usize) -> Vec<f64> {
    explainer.explain(&x.rows(), index, engine, &Job::new(threads)).expect("valid rows can be explained")
}

/// The walk that carries many background rows, or the paper's walk of one pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Walk {
    Shared,
    Single,
}

pub(crate) const WALKS: [Walk; 2] = [Walk::Shared, Walk::Single];

/// The Shapley values of every pair.
pub(crate) fn pairs(walk: Walk, explainer: &Explainer, x: &Matrix, z: Option<&Matrix>, threads: usize) -> Vec<f64> {
    let (rows, z) = (x.rows(), z.map(Matrix::rows));
    let job = Job::new(threads);
    let values = match walk {
        Walk::Shared => explainer.explain_pairs(&rows, z.as_ref(), &job),
        Walk::Single => explainer.explain_pairs_singly(&rows, z.as_ref(), &job),
    };
    values.expect("valid rows can be explained")
}

/// Fails unless both agree to rounding; values are of the order of `scale`.
#[track_caller]
pub(crate) fn assert_close(got: &[f64], want: &[f64], scale: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}: number of values");
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= 1e-12 * scale, "{what}: value {i} is {got}, not {want}");
    }
}

/// Fails unless both are the same to the last bit.
#[track_caller]
pub(crate) fn assert_same(got: &[f64], want: &[f64], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}: number of values");
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!(got.to_bits() == want.to_bits(), "{what}: value {i} is {got:e}, not {want:e}");
    }
}
