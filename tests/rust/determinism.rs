//! The same numbers, to the last bit, for any number of threads and any batch of rows.

use arborshap::{Engine, Explainer, Forest, Job, Players};

use crate::support::choices::Choices;
use crate::support::engines::{ENGINES, INDICES, WALKS, assert_close, assert_same, explain, pairs};
use crate::support::forests::{LARGEST_VALUE, Parts, some_parts};
use crate::support::inputs::{Case, matrix};

const THREADS: [usize; 3] = [2, 3, 7];

/// Enough trees and rows that there is something to share out between threads.
fn large(seed: u32, n: usize, m: usize) -> Case {
    let (n_features, n_outputs) = (6, 2);
    let mut c = Choices::fixed(seed, 50_000 + 20 * (n + m));
    let trees = (0..8).flat_map(|_| some_parts(&mut c, n_features, n_outputs)).map(Parts::tree).collect();
    let forest = Forest::new(trees, n_features, vec![0.1, 0.2]).expect("valid trees");
    let x = matrix(&mut c, &forest, n, false);
    let z = matrix(&mut c, &forest, m, false);
    let weights = (seed % 2 == 1).then(|| (0..m).map(|_| c.below(1000) as f64 / 7.0).collect());
    Case { forest, players: Players::single(n_features), x, z, weights }
}

/// Many rows, which threads share out, and few rows against many, where they share out trees and background.
const SIZES: [(usize, usize); 3] = [(1100, 40), (3, 5000), (40, 300)];

#[test]
fn any_number_of_threads() {
    for (seed, (n, m)) in (0..).zip(SIZES) {
        let case = large(seed, n, m);
        let explainer = case.explainer();
        for engine in ENGINES {
            for index in INDICES {
                let alone = explain(engine, &explainer, &case.x, index, 1);
                assert!(alone.iter().any(|&v| v != 0.0));
                for threads in THREADS {
                    let got = explain(engine, &explainer, &case.x, index, threads);
                    assert_same(&got, &alone, &format!("{n} x {m}, {index:?} by {engine:?}, {threads} threads"));
                }
            }
        }
    }
}

#[test]
fn any_number_of_threads_for_pairs() {
    let case = large(5, 30, 130);
    let explainer = case.explainer();
    for walk in WALKS {
        let alone = pairs(walk, &explainer, &case.x, None, 1);
        for threads in THREADS {
            let got = pairs(walk, &explainer, &case.x, None, threads);
            assert_same(&got, &alone, &format!("{walk:?} walk, {threads} threads"));
        }
    }
}

/// More rows than one thread sums up for the expected value.
#[test]
fn any_number_of_threads_to_compile() {
    let case = large(7, 1, 10_000);
    let explainer = |threads| {
        let background = case.z.rows();
        let builder = Explainer::builder(&case.forest).background(&background);
        let weights = case.weights.as_deref().expect("an odd seed gives weights");
        builder.weights(weights).build(&Job::new(threads)).expect("a valid case")
    };
    let alone = explainer(1);
    for threads in THREADS {
        assert_same(explainer(threads).expected_value(), alone.expected_value(), &format!("{threads} threads"));
    }
}

/// An engine gives a row the same values in any batch, whatever the explainer did before. Which engine is the best
/// choice depends on the batch, so where that is left open values agree only to rounding.
#[test]
fn any_batch() {
    let case = large(2, 1100, 70);
    for engine in ENGINES {
        for index in INDICES {
            let all = explain(engine, &case.explainer(), &case.x, index, 2);
            let cells = all.len() / case.x.len;
            for (start, len) in [(0, 1), (1, 1), (63, 1), (64, 1), (1099, 1), (0, 63), (1, 64), (60, 65), (500, 600)] {
                let rows: Vec<usize> = (start..start + len).collect();
                let got = explain(engine, &case.explainer(), &case.x.select(&rows), index, 2);
                let want = &all[start * cells..][..len * cells];
                let what = format!("{index:?} by {engine:?}, rows {start} to {}", start + len);
                if engine == Engine::Auto {
                    assert_close(&got, want, 20.0 * LARGEST_VALUE, &what);
                } else {
                    assert_same(&got, want, &what);
                }
            }
        }
    }
}

#[test]
fn any_batch_of_pairs() {
    let case = large(4, 20, 130);
    let explainer = case.explainer();
    for walk in WALKS {
        let all = pairs(walk, &explainer, &case.x, None, 2);
        let cells = all.len() / (20 * 130);
        for (x, z) in [(0, 0), (7, 63), (8, 64), (19, 129)] {
            let got = pairs(walk, &explainer, &case.x.row(x), Some(&case.z.row(z)), 1);
            assert_same(&got, &all[(x * 130 + z) * cells..][..cells], &format!("{walk:?} walk, pair {x}, {z}"));
        }
    }
}
