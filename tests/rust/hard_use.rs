//! One explainer, many callers: on threads, inside somebody's own rayon pool, and with numbers at the ends of the range.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use arborshap::forest::{Node, Output, Split, Tree};
use arborshap::{Engine, Error, Explainer, Forest, Index, Job, Players};
use proptest::prelude::*;
use rayon::prelude::*;

use crate::support::choices::{Choices, cases, choices};
use crate::support::engines::{ENGINES, INDICES, WALKS, assert_close, assert_same, explain, explainer, pairs};
use crate::support::forests::some_parts;
use crate::support::inputs::{Case, Matrix, matrix};

/// Enough trees that several threads prepare them.
fn forest(seed: u32) -> (Forest, Matrix) {
    let mut c = Choices::fixed(seed, 60_000);
    let parts = (0..12).flat_map(|_| some_parts(&mut c, 6, 1));
    let trees = parts.map(|parts| (parts.nodes.len(), parts.tree())).map(|(n, tree)| tree.with_cover(vec![1.0; n]));
    let trees = trees.collect();
    let forest = Forest::new(trees, 6, vec![0.5]).expect("valid trees");
    let rows = matrix(&mut c, &forest, 40, false);
    (forest, rows)
}

/// Callers that take longer than this are waiting for each other; it says nothing about speed.
const HANG: Duration = Duration::from_secs(900);

/// Runs the work on a thread of its own: what waits for itself would wait for ever.
fn without_waiting_for_ever(work: impl FnOnce() + Send + 'static) {
    let (done, finished) = mpsc::channel();
    let worker = thread::spawn(move || {
        work();
        done.send(()).expect("the test waits");
    });
    let outcome = finished.recv_timeout(HANG);
    assert!(outcome != Err(mpsc::RecvTimeoutError::Timeout), "the callers wait for each other");
    worker.join().expect("no caller fails");
}

/// While our threads work for it, a worker of the caller's pool takes on other calls of that pool, to the same
/// explainer.
#[test]
fn calls_from_a_rayon_pool() {
    without_waiting_for_ever(|| {
        let (forest, rows) = forest(3);
        let players = Players::single(6);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
        for engine in ENGINES {
            let want =
                INDICES.map(|index| explain(engine, &explainer(&forest, &players, &rows, None), &rows, index, 1));
            let shared = explainer(&forest, &players, &rows, None);
            // Without a background, nothing is made before the first call.
            let bare = Explainer::builder(&forest).build(&Job::new(1)).expect("trees with weights");
            pool.install(|| {
                (0..24_usize).into_par_iter().for_each(|call| {
                    explain(engine, &bare, &rows, INDICES[call % 4], 2);
                    let got = explain(engine, &shared, &rows, INDICES[call % 4], 2);
                    assert_close(&got, &want[call % 4], 60.0, &format!("{engine:?}, call {call}"));
                });
            });
        }
    });
}

/// All ask at once for what nobody has made yet.
#[test]
fn first_calls_from_many_threads() {
    without_waiting_for_ever(|| {
        let (forest, rows) = forest(4);
        let players = Players::single(6);
        for engine in [Engine::Pattern, Engine::Sparse, Engine::Traversal] {
            let want =
                INDICES.map(|index| explain(engine, &explainer(&forest, &players, &rows, None), &rows, index, 1));
            let shared = explainer(&forest, &players, &rows, None);
            thread::scope(|scope| {
                for call in 0..12 {
                    let (shared, rows, want) = (&shared, &rows, &want[call % 4]);
                    scope.spawn(move || {
                        let got = explain(engine, shared, rows, INDICES[call % 4], 2);
                        assert_same(&got, want, &format!("{engine:?}, call {call}"));
                    });
                }
            });
        }
    });
}

/// Two leaves beside a split on each of two features.
fn small(values: [f64; 4]) -> Forest {
    let nodes = vec![
        Node::Split(Split::at(0, 0.0, 1, 2)),
        Node::Split(Split::at(1, 0.0, 3, 4)),
        Node::Split(Split::at(1, 0.0, 5, 6)),
        Node::Leaf(0),
        Node::Leaf(1),
        Node::Leaf(2),
        Node::Leaf(3),
    ];
    Forest::new(vec![Tree::new(nodes, values.to_vec(), Output::One(0))], 2, vec![0.0]).expect("a valid tree")
}

/// Weights are shares: that of all is their sum, whatever it is.
#[test]
fn weights_at_the_ends_of_the_range() {
    let (forest, players) = (small([0.1, -0.7, 0.3, 0.9]), Players::single(2));
    let x = Matrix::new(vec![1.0, 1.0, -1.0, 1.0], 2);
    let z = Matrix::new(vec![-1.0, -1.0, -1.0, 1.0, 1.0, -1.0], 2);
    let plain = explainer(&forest, &players, &z, Some(&[1.0, 2.0, 1.0]));
    let power = |exponent: u64| f64::from_bits((1023 + exponent) << 52);
    for unit in [f64::from_bits(1), 1.0 / power(1000), power(1000), power(1020)] {
        let scaled = explainer(&forest, &players, &z, Some(&[unit, 2.0 * unit, unit]));
        assert_same(scaled.expected_value(), plain.expected_value(), &format!("weights of {unit:e}"));
        for (engine, index) in ENGINES.into_iter().flat_map(|e| INDICES.map(|i| (e, i))) {
            let (got, want) = (explain(engine, &scaled, &x, index, 1), explain(engine, &plain, &x, index, 1));
            assert_same(&got, &want, &format!("weights of {unit:e}, {index:?} by {engine:?}"));
        }
    }
}

/// As large as is allowed, all results are finite; beyond it, the tree is named.
#[test]
fn leaves_at_the_end_of_the_range() {
    let players = Players::single(2);
    let z = Matrix::new(vec![-1.0, -1.0, -1.0, 1.0, 1.0, -1.0], 2);
    let x = Matrix::new(vec![1.0, 1.0], 2);
    let large = explainer(&small([9e288, -9e288, -9e288, 9e288]), &players, &z, None);
    for (engine, index) in ENGINES.into_iter().flat_map(|e| INDICES.map(|i| (e, i))) {
        let values = explain(engine, &large, &x, index, 1);
        assert!(values.iter().all(|v| v.is_finite()), "{index:?} by {engine:?}: {values:?}");
    }
    let larger = small([1e289, -1e308, 1.0, 0.0]);
    let refused = Explainer::builder(&larger).background(&z.rows()).build(&Job::new(1)).expect_err("too large");
    assert!(matches!(refused, Error::Range { tree: 0, .. }), "{refused:?}");
    assert!(refused.to_string().contains("tree 0 are as large as 1e308"), "{refused}");
}

proptest! {
    #![proptest_config(cases(60))]

    /// Every block size of every kernel: the vector kernels and their unchecked reads against the walk of one pair,
    /// which has neither.
    #[test]
    fn blocks_of_rows_against_the_single_walk(mut c in choices()) {
        let n = c.of(&[1, 2, 15, 16, 17, 127, 128, 129, 300]);
        let case = Case { weights: None, ..Case::sized(&mut c, n, 3) };
        let explainer = case.explainer();
        let single = pairs(WALKS[1], &explainer, &case.x, None, 1);
        let cells = explainer.n_players() * explainer.n_outputs();
        let want: Vec<f64> = single
            .chunks_exact(3 * cells)
            .flat_map(|row| (0..cells).map(|cell| (0..3).map(|z| row[z * cells + cell]).sum::<f64>() / 3.0))
            .collect();
        for engine in ENGINES {
            let got = explain(engine, &explainer, &case.x, Index::Shapley, 1);
            assert_close(&got, &want, 60.0, &format!("{n} rows by {engine:?}"));
        }
    }
}
