//! What the definitions imply, checked on the results alone: efficiency, dummy, symmetry, linearity, groups, weights.

use arborshap::{Engine, Explainer, Forest, Index, Players};
use proptest::prelude::*;

use crate::support::choices::{Choices, cases, choices};
use crate::support::engines::{ENGINES, INDICES, WALKS, assert_close, assert_same, explain, explainer, pairs};
use crate::support::forests::{LARGEST_VALUE, Parts, forest, some_parts};
use crate::support::inputs::{Case, Cells, Matrix, matrix};

const SCALE: f64 = 10.0 * LARGEST_VALUE;

/// `h` of every row: `(rows, outputs)`.
fn margins(forest: &Forest, x: &Matrix) -> Vec<f64> {
    let k = forest.n_outputs();
    let mut h = vec![0.0; x.len * k];
    h.chunks_exact_mut(k).enumerate().for_each(|(row, h)| forest.add_margin(&x.rows(), row, h));
    h
}

/// `h(x) - E[h(z)]` of every row: `(rows, outputs)`.
fn gains(case: &Case, explainer: &Explainer) -> Vec<f64> {
    let expected = explainer.expected_value();
    margins(&case.forest, &case.x).iter().enumerate().map(|(i, h)| h - expected[i % expected.len()]).collect()
}

/// Sums `(outer, n, outputs)` over the middle.
fn sums(values: &[f64], n: usize, n_outputs: usize) -> Vec<f64> {
    let sum = |part: &[f64], output: usize| part.chunks_exact(n_outputs).map(|cell| cell[output]).sum();
    values.chunks_exact(n * n_outputs).flat_map(|part| (0..n_outputs).map(move |k| sum(part, k))).collect()
}

/// A matrix with some columns of another: `columns[j]` is the old number of the new column j.
fn columns(x: &Matrix, columns: &[usize]) -> Matrix {
    fn pick<T: Copy>(cells: &[T], width: usize, columns: &[usize]) -> Vec<T> {
        cells.chunks_exact(width).flat_map(|row| columns.iter().map(|&j| row[j])).collect()
    }
    let cells = match &x.cells {
        Cells::F32(cells) => Cells::F32(pick(cells, x.width, columns)),
        Cells::F64(cells) => Cells::F64(pick(cells, x.width, columns)),
    };
    Matrix { cells, len: x.len, width: columns.len() }
}

/// Two forests over the same features, and rows for them.
fn two_forests(c: &mut Choices) -> (Case, Forest) {
    let case = Case::small(c);
    let other = forest(c, case.forest.n_features(), case.forest.n_outputs());
    (case, other)
}

fn joined(a: &Forest, b: &Forest) -> Forest {
    Forest::new([a.trees(), b.trees()].concat(), a.n_features(), a.base().to_vec()).expect("both parts are valid")
}

fn all_ways(mut check: impl FnMut(Engine, Index)) {
    for engine in ENGINES {
        for index in INDICES {
            check(engine, index);
        }
    }
}

proptest! {
    #![proptest_config(cases(300))]

    /// Shapley values, and both matrices as a whole, sum to `h(x) - E[h(z)]`; those of a pair to `h(x) - h(z)`.
    #[test]
    fn efficiency(mut c in choices()) {
        let case = Case::small(&mut c);
        let explainer = case.explainer();
        let (p, k) = (explainer.n_players(), explainer.n_outputs());
        let gains = gains(&case, &explainer);
        for engine in ENGINES {
            for (index, n) in [(Index::Shapley, p), (Index::Taylor, p * p), (Index::Interaction, p * p)] {
                let got = sums(&explain(engine, &explainer, &case.x, index, 1), n, k);
                assert_close(&got, &gains, SCALE, &format!("the sum of {index:?} by {engine:?}"));
            }
        }
        let (hx, hz) = (margins(&case.forest, &case.x), margins(&case.forest, &case.z));
        let want: Vec<f64> = hx.chunks_exact(k)
            .flat_map(|hx| hz.chunks_exact(k).flat_map(move |hz| hx.iter().zip(hz).map(|(x, z)| x - z)))
            .collect();
        for walk in WALKS {
            let got = sums(&pairs(walk, &explainer, &case.x, None, 1), p, k);
            assert_close(&got, &want, SCALE, &format!("the sum of a pair by the {walk:?} walk"));
        }
    }

    /// Every row of both matrices sums to the player's Shapley value.
    ///
    /// For the interaction index that is how its diagonal is defined. For the Shapley-Taylor index it is a theorem:
    /// W(|S|, d) is the chance that exactly S comes before j and i after j, so the sum over j of the interactions of
    /// i is the mean, over orders, of what the players before i change, one by one, in the worth that i adds. That
    /// telescopes to what i adds where it stands less what it adds to nobody, and the latter is the main effect.
    #[test]
    fn rows_of_matrices_sum_to_shapley_values(mut c in choices()) {
        let case = Case::small(&mut c);
        let explainer = case.explainer();
        let (p, k) = (explainer.n_players(), explainer.n_outputs());
        for engine in ENGINES {
            let phi = explain(engine, &explainer, &case.x, Index::Shapley, 1);
            for index in [Index::Taylor, Index::Interaction] {
                let rows = sums(&explain(engine, &explainer, &case.x, index, 1), p, k);
                assert_close(&rows, &phi, SCALE, &format!("the rows of {index:?} by {engine:?}"));
            }
        }
    }

    /// Both matrices are symmetric, to the last bit.
    #[test]
    fn matrices_are_symmetric(mut c in choices()) {
        let case = Case::small(&mut c);
        let explainer = case.explainer();
        let (p, k) = (explainer.n_players(), explainer.n_outputs());
        for engine in ENGINES {
            for index in [Index::Taylor, Index::Interaction] {
                let values = explain(engine, &explainer, &case.x, index, 1);
                for (row, matrix) in values.chunks_exact(p * p * k).enumerate() {
                    for cell in 0..p * p {
                        let (i, j) = (cell / p, cell % p);
                        let (above, below) = (&matrix[(i * p + j) * k..][..k], &matrix[(j * p + i) * k..][..k]);
                        assert_same(above, below, &format!("{index:?} by {engine:?}: row {row}, players {i}, {j}"));
                    }
                }
            }
        }
    }

    /// A player whose features no tree asks for gets nothing, and takes nothing from the others.
    #[test]
    fn dummy_player(mut c in choices()) {
        let case = Case { players: Players::single(1), ..Case::small(&mut c) };
        let d = case.forest.n_features();
        let case = Case { players: Players::single(d), ..case };
        let wider = Forest::new(case.forest.trees().to_vec(), d + 1, case.forest.base().to_vec()).expect("valid");
        let again: Vec<usize> = (0..d).chain([0]).collect();
        let wide = Case {
            forest: wider,
            players: Players::single(d + 1),
            x: columns(&case.x, &again),
            z: columns(&case.z, &again),
            weights: case.weights.clone(),
        };
        let (explainer, wide_explainer, k) = (case.explainer(), wide.explainer(), case.forest.n_outputs());
        all_ways(|engine, index| {
            let values = explain(engine, &explainer, &case.x, index, 1);
            let wide_values = explain(engine, &wide_explainer, &wide.x, index, 1);
            let (mut others, mut dummy) = (Vec::new(), Vec::new());
            let order = index.order();
            for (cell, value) in wide_values.iter().enumerate() {
                let (last, before) = (cell / k % (d + 1), cell / k / (d + 1) % (d + 1));
                if last == d || (order == 2 && before == d) { dummy.push(*value) } else { others.push(*value) }
            }
            assert_same(&others, &values, &format!("{index:?} by {engine:?} beside a dummy"));
            assert!(dummy.iter().all(|&v| v == 0.0), "{index:?} by {engine:?} of a dummy: {dummy:?}");
        });
    }

    /// A player that x and the whole background agree on gets nothing.
    #[test]
    fn player_without_a_difference(mut c in choices()) {
        let case = Case::sized(&mut c, 1, 4);
        let d = case.forest.n_features();
        let same = c.below(d);
        let x: Vec<f64> = (0..d).map(|f| case.x.rows().get(0, f)).collect();
        let z = (0..4).flat_map(|r| {
            let (z, x) = (case.z.rows(), &x);
            (0..d).map(move |f| if f == same { x[f] } else { z.get(r, f) }).collect::<Vec<_>>()
        });
        let z = Matrix::new(z.collect(), d);
        let case = Case { players: Players::single(d), x: Matrix::new(x, d), z, ..case };
        let explainer = case.explainer();
        let k = explainer.n_outputs();
        for engine in ENGINES {
            for index in [Index::Shapley, Index::Banzhaf] {
                let phi = explain(engine, &explainer, &case.x, index, 1);
                assert_close(&phi[same * k..][..k], &vec![0.0; k], SCALE, &format!("{index:?} by {engine:?}"));
            }
        }
    }

    /// Two players that can stand in for one another get the same.
    #[test]
    fn symmetry(mut c in choices()) {
        let case = Case::small(&mut c);
        let d = case.forest.n_features();
        let (i, j) = (c.below(d), c.below(d));
        let swapped = |f: u32| match f as usize {
            f if f == i => j as u32,
            f if f == j => i as u32,
            _ => f,
        };
        let like: Vec<usize> = (0..d).map(|f| if f == j { i } else { f }).collect();
        let parts = some_parts(&mut c, d, case.forest.n_outputs());
        let twins = parts.iter().map(|p| p.with_features(swapped));
        let trees = parts.iter().cloned().chain(twins).map(Parts::tree).collect();
        let case = Case {
            forest: Forest::new(trees, d, case.forest.base().to_vec()).expect("valid trees"),
            players: Players::single(d),
            x: columns(&case.x, &like),
            z: columns(&case.z, &like),
            weights: case.weights,
        };
        let explainer = case.explainer();
        let k = explainer.n_outputs();
        all_ways(|engine, index| {
            let values = explain(engine, &explainer, &case.x, index, 1);
            let what = format!("{index:?} by {engine:?} of players {i} and {j}");
            for row in values.chunks_exact(k * d.pow(index.order())) {
                let of = |p: usize| if index.order() == 1 { &row[p * k..][..k] } else { &row[(p * d + p) * k..][..k] };
                assert_close(of(i), of(j), SCALE, &what);
            }
        });
    }

    /// The index of a sum of two games is the sum of their indices.
    #[test]
    fn linearity(mut c in choices()) {
        let (case, other) = two_forests(&mut c);
        let of_forest = |forest: &Forest| explainer(forest, &case.players, &case.z, case.weights.as_deref());
        let (one, two) = (of_forest(&case.forest), of_forest(&other));
        let both = of_forest(&joined(&case.forest, &other));
        all_ways(|engine, index| {
            let of = |explainer: &Explainer| explain(engine, explainer, &case.x, index, 1);
            let (a, b) = (of(&one), of(&two));
            let sum: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
            assert_close(&of(&both), &sum, SCALE, &format!("{index:?} by {engine:?} of a sum"));
        });
    }

    /// If a game is multiplied by a factor, so is its index: to the last bit if the factor costs no rounding, however
    /// large or small it makes the numbers.
    #[test]
    fn homogeneity(mut c in choices()) {
        let case = Case::small(&mut c);
        let (d, k) = (case.forest.n_features(), case.forest.n_outputs());
        let parts = some_parts(&mut c, d, k);
        let factor = c.of(&[-1.0, 0.0, 2.0_f64.powi(900), 2.0_f64.powi(-900)]);
        let times = |factor: f64| {
            let trees = parts.iter().map(|p| p.times(factor).tree()).collect();
            let forest = Forest::new(trees, d, vec![0.0; k]).expect("valid trees");
            explainer(&forest, &case.players, &case.z, case.weights.as_deref())
        };
        let (one, many) = (times(1.0), times(factor));
        all_ways(|engine, index| {
            let of = |explainer: &Explainer| explain(engine, explainer, &case.x, index, 1);
            // Adding zero leaves no zero negative: only numbers count here.
            let want: Vec<f64> = of(&one).iter().map(|v| factor * v + 0.0).collect();
            let got: Vec<f64> = of(&many).iter().map(|v| v + 0.0).collect();
            assert_same(&got, &want, &format!("{index:?} by {engine:?} of {factor:e} times a game"));
        });
    }

    /// Groups of one feature each are no groups at all, however the players are numbered.
    #[test]
    fn groups_of_single_features(mut c in choices()) {
        let case = Case::small(&mut c);
        let d = case.forest.n_features();
        let shift = c.below(d);
        let map: Vec<u32> = (0..d).map(|f| ((f + shift) % d) as u32).collect();
        let plain = case.explainer_for(&Players::single(d));
        let grouped = case.explainer_for(&Players::grouped(map, d).expect("a map in range"));
        let k = case.forest.n_outputs();
        for engine in ENGINES {
            for index in [Index::Shapley, Index::Banzhaf] {
                let want = explain(engine, &plain, &case.x, index, 1);
                let got = explain(engine, &grouped, &case.x, index, 1);
                let back: Vec<f64> = got.chunks_exact(d * k)
                    .flat_map(|row| (0..d).flat_map(move |f| row[(f + shift) % d * k..][..k].iter().copied()))
                    .collect();
                assert_same(&back, &want, &format!("{index:?} by {engine:?}"));
            }
        }
    }

    /// One group of all features gets all there is: `h(x) - E[h(z)]`, whatever the index.
    #[test]
    fn one_group_of_all_features(mut c in choices()) {
        let case = Case::small(&mut c);
        let all = Players::grouped(vec![0; case.forest.n_features()], 1).expect("a map in range");
        let explainer = case.explainer_for(&all);
        let want = gains(&case, &explainer);
        all_ways(|engine, index| {
            let got = explain(engine, &explainer, &case.x, index, 1);
            assert_close(&got, &want, SCALE, &format!("{index:?} by {engine:?}"));
        });
    }

    /// A row of weight three counts like three rows, and one of weight zero like none.
    #[test]
    fn weights_count_rows(mut c in choices()) {
        let case = Case::sized(&mut c, 2, 6);
        let counts: Vec<usize> = (0..6).map(|r| if r == 0 { 2 } else { c.below(4) }).collect();
        let unit = c.of(&[0.3, 1e-9, 1e-300, 1e300]);
        let repeated: Vec<usize> = counts.iter().enumerate().flat_map(|(r, &n)| vec![r; n]).collect();
        let repeated = Case { z: case.z.select(&repeated), weights: None, ..case };
        let weighted = Case {
            forest: repeated.forest.clone(),
            players: repeated.players.clone(),
            x: repeated.x.clone(),
            z: case.z,
            // Only their ratios matter.
            weights: Some(counts.iter().map(|&n| n as f64 * unit).collect()),
        };
        let (want, got) = (repeated.explainer(), weighted.explainer());
        assert_close(got.expected_value(), want.expected_value(), SCALE, "the expected value");
        all_ways(|engine, index| {
            let want = explain(engine, &want, &repeated.x, index, 1);
            let got = explain(engine, &got, &repeated.x, index, 1);
            assert_close(&got, &want, SCALE, &format!("{index:?} by {engine:?}"));
        });
    }

    /// Rows in single precision are the same rows in double precision.
    #[test]
    fn single_precision_rows(mut c in choices()) {
        let case = Case::small(&mut c);
        let x = matrix(&mut c, &case.forest, 3, true);
        let wide: Vec<f64> = (0..3).flat_map(|r| (0..x.width).map(move |f| (r, f))).map(|(r, f)| x.rows().get(r, f))
            .collect();
        let wide = Matrix::new(wide, x.width);
        let explainer = case.explainer();
        all_ways(|engine, index| {
            let (want, got) = (explain(engine, &explainer, &wide, index, 1), explain(engine, &explainer, &x, index, 1));
            assert_same(&got, &want, &format!("{index:?} by {engine:?}"));
        });
    }
}
