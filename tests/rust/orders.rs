//! Sets of players of any size and members of groups: against the definition, on deep trees, and bit by bit.

use arborshap::forest::{Forest, Node, Output, Split, Tree};
use arborshap::{Error, Explainer, Hierarchy, Index, Job, SetIndex};
use proptest::prelude::*;

use crate::support::choices::{Choices, cases, choices};
use crate::support::engines::{assert_close, assert_same};
use crate::support::forests::{LARGEST_VALUE, deep_parts};
use crate::support::inputs::{Case, Matrix, matrix};
use crate::support::oracle::Game;

const SCALE: f64 = 5.0 * LARGEST_VALUE;

fn games(case: &Case) -> Vec<Game> {
    let (x, z) = (case.x.rows(), case.z.rows());
    (0..x.len()).map(|row| Game::new(&case.forest, &case.players, &x, row, &z, case.weights.as_deref())).collect()
}

fn explain_sets(explainer: &Explainer, x: &Matrix, index: &SetIndex, order: usize, threads: usize) -> Vec<f64> {
    explainer.explain_sets(&x.rows(), index, order, &Job::new(threads)).expect("valid rows can be explained")
}

/// The joint change when the players of a set join a coalition.
fn change(game: &Game, set: &[u32], coalition: usize, output: usize) -> f64 {
    let joining =
        |choice: usize| (0..set.len()).filter(|i| choice >> i & 1 == 1).map(|i| 1_usize << set[i]).sum::<usize>();
    let sign = |choice: usize| if (set.len() - choice.count_ones() as usize).is_multiple_of(2) { 1.0 } else { -1.0 };
    (0..1 << set.len()).map(|choice| sign(choice) * game.of(coalition | joining(choice), output)).sum()
}

/// The sum of all joint changes, weighted by the size of the coalition.
fn weighted(game: &Game, p: usize, set: &[u32], output: usize, weight: impl Fn(usize) -> f64) -> f64 {
    let marked: usize = set.iter().map(|&i| 1_usize << i).sum();
    let others = (0..1_usize << p).filter(|coalition| coalition & marked == 0);
    others.map(|s| weight(s.count_ones() as usize) * change(game, set, s, output)).sum()
}

fn factorial(n: usize) -> f64 {
    (1..=n).map(|i| i as f64).product()
}

fn equals_its_definition(case: &Case, index: &SetIndex, order: usize) {
    let (explainer, p) = (case.explainer(), case.players.count());
    let sets = explainer.player_sets(order).expect("few sets");
    let mut want = Vec::new();
    for game in games(case) {
        for set in sets.iter() {
            let l = set.len();
            for output in 0..explainer.n_outputs() {
                want.push(match index {
                    SetIndex::Bii => weighted(&game, p, set, output, |_| 0.5_f64.powi((p - l) as i32)),
                    SetIndex::Stii if l < order => change(&game, set, 0, output),
                    SetIndex::Stii => weighted(&game, p, set, output, |s| {
                        order as f64 * factorial(s) * factorial(p - 1 - s) / factorial(p)
                    }),
                    _ => {
                        weighted(&game, p, set, output, |s| factorial(s) * factorial(p - s - l) / factorial(p - l + 1))
                    }
                });
            }
        }
    }
    let got = explain_sets(&explainer, &case.x, index, order, 1);
    assert_close(&got, &want, SCALE, &format!("{index:?} of order {order}"));
}

/// Everybody stands alone: the Shapley values.
fn flat(n_players: usize) -> Hierarchy {
    Hierarchy::new(n_players, vec![n_players as u32; n_players], vec![false]).expect("a flat hierarchy")
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn sets_equal_their_definition(mut c in choices()) {
        let case = Case::small(&mut c);
        let order = 1 + c.below(4);
        equals_its_definition(&case, &[SetIndex::Sii, SetIndex::Bii, SetIndex::Stii][c.below(3)], order);
    }

    /// Sets of a forest that has more players than any of its paths have no value.
    #[test]
    fn sets_that_share_no_path_have_no_value(mut c in choices()) {
        let case = Case::small(&mut c);
        let (explainer, p) = (case.explainer(), case.players.count() as u32);
        let sets = explainer.player_sets(2).expect("few sets");
        let known: Vec<&[u32]> = sets.iter().collect();
        for pair in (0..p).flat_map(|i| (i + 1..p).map(move |j| [i, j])).filter(|pair| !known.contains(&&pair[..])) {
            for game in games(&case) {
                for s in 0..1_usize << p {
                    if pair.iter().all(|&i| s >> i & 1 == 0) {
                        assert!(change(&game, &pair, s, 0).abs() < 1e-12 * SCALE, "{pair:?}");
                    }
                }
            }
        }
    }
}

/// Up to 80 players on a path, more than a machine word has bits.
fn deep(c: &mut Choices, n: usize, m: usize) -> Case {
    let n_features = c.of(&[5, 20, 40, 80]);
    with_features(c, n_features, n, m)
}

fn with_features(c: &mut Choices, n_features: usize, n: usize, m: usize) -> Case {
    let n_outputs = 1 + c.below(2);
    let trees = (0..2).map(|_| deep_parts(c, n_features, n_outputs).tree()).collect();
    let forest = arborshap::Forest::new(trees, n_features, vec![0.5; n_outputs]).expect("valid trees");
    let (x, z) = (matrix(c, &forest, n, false), matrix(c, &forest, m, false));
    let weights = c.one_in(3).then(|| (0..m).map(|_| (1 + c.below(9)) as f64 / 7.0).collect());
    Case { forest, players: arborshap::Players::single(n_features), x, z, weights }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn deep_trees_agree_with_the_other_engines(mut c in choices()) {
        let n = c.of(&[3, 70]);
        let case = deep(&mut c, n, 40);
        let (explainer, job) = (case.explainer(), Job::new(1));
        let shapley = explainer.explain(&case.x.rows(), Index::Shapley, arborshap::Engine::Auto, &job).expect("rows");
        let single = explain_sets(&explainer, &case.x, &SetIndex::Sii, 1, 1);
        assert_close(&single, &shapley, SCALE, "SII of order 1");
        let alone = explainer.explain_members(&case.x.rows(), &flat(explainer.n_players()), &job).expect("rows");
        assert_close(&alone, &shapley, SCALE, "members without groups");
        // A set of two players gets both halves of the matrix.
        let pairs = explainer.explain(&case.x.rows(), Index::Interaction, arborshap::Engine::Auto, &job).expect("rows");
        let both = explain_sets(&explainer, &case.x, &SetIndex::Sii, 2, 1);
        let sets = explainer.player_sets(2).expect("few sets");
        let (p, k) = (explainer.n_players(), explainer.n_outputs());
        for (row, both) in both.chunks_exact(sets.len() * k).enumerate() {
            for (set, got) in sets.iter().zip(both.chunks_exact(k)).filter(|(set, _)| set.len() == 2) {
                let at = ((row * p + set[0] as usize) * p + set[1] as usize) * k;
                let want: Vec<f64> = pairs[at..at + k].iter().map(|half| 2.0 * half).collect();
                assert_close(got, &want, SCALE, &format!("SII of {set:?}"));
            }
        }
    }
}

#[test]
fn any_number_of_threads_and_any_batch() {
    // Trees with up to eight players on a path go unit by unit, others class by class.
    for (seed, n_features) in (0..).zip([5, 8, 8, 9, 40, 80]) {
        let case = with_features(&mut Choices::fixed(seed, 100_000), n_features, 150, 60);
        let explainer = case.explainer();
        let alone = explain_sets(&explainer, &case.x, &SetIndex::Fsii, 3, 1);
        for threads in [2, 3] {
            assert_same(&explain_sets(&explainer, &case.x, &SetIndex::Fsii, 3, threads), &alone, "threads");
        }
        let per_row = alone.len() / 150;
        for row in [0, 77, 149] {
            let got = explain_sets(&explainer, &case.x.row(row), &SetIndex::Fsii, 3, 1);
            assert_same(&got, &alone[row * per_row..][..per_row], "a row by itself");
        }
        let members = |threads: usize| {
            explainer.explain_members(&case.x.rows(), &flat(explainer.n_players()), &Job::new(threads)).expect("rows")
        };
        assert_same(&members(3), &members(1), "members, threads");
    }
}

/// Rows are explained some thousands at a time.
#[test]
fn the_last_of_many_rows() {
    for n_features in [6, 20] {
        let case = with_features(&mut Choices::fixed(7, 1_000_000), n_features, 4_200, 20);
        let explainer = case.explainer();
        let all = explain_sets(&explainer, &case.x, &SetIndex::Sii, 2, 1);
        let per_row = all.len() / 4_200;
        let members = |x: &Matrix| {
            explainer.explain_members(&x.rows(), &flat(explainer.n_players()), &Job::new(1)).expect("rows")
        };
        let all_members = members(&case.x);
        let row_members = all_members.len() / 4_200;
        for row in [0, 4_095, 4_096, 4_199] {
            let got = explain_sets(&explainer, &case.x.row(row), &SetIndex::Sii, 2, 1);
            assert_same(&got, &all[row * per_row..][..per_row], "a row by itself");
            let got = members(&case.x.row(row));
            assert_close(&got, &all_members[row * row_members..][..row_members], SCALE, "members of a row by itself");
        }
    }
}

/// A tree with one path that asks for all features, against two rows of which one reaches its end.
fn chain(c: &mut Choices, n_features: u32, n: usize) -> Case {
    let split = |at: u32| Node::Split(Split::at(at, 0.0, 2 * at + 1, 2 * at + 2));
    let nodes = (0..n_features).flat_map(|at| [split(at), Node::Leaf(at)]).chain([Node::Leaf(n_features)]);
    let values = (0..=n_features).map(|at| f64::from(at) / 7.0 - 1.0).collect();
    let (tree, width) = (Tree::new(nodes.collect(), values, Output::One(0)), n_features as usize);
    let x = (0..n * width).map(|_| if c.one_in(2) { 1.0 } else { -1.0 }).collect();
    Case {
        forest: Forest::new(vec![tree], width, vec![0.0]).expect("a valid tree"),
        players: arborshap::Players::single(width),
        x: Matrix::new(x, width),
        z: Matrix::new([vec![1.0; width], vec![-1.0; width]].concat(), width),
        weights: None,
    }
}

/// The last leaf gives numbers to thousands of sets for hundreds of classes.
#[test]
fn a_leaf_with_more_numbers_than_are_held_back() {
    let case = chain(&mut Choices::fixed(3, 100_000), 20, 400);
    let explainer = case.explainer();
    let all = explain_sets(&explainer, &case.x, &SetIndex::Sii, 4, 1);
    let per_row = all.len() / 400;
    for row in [0, 1, 199, 399] {
        let got = explain_sets(&explainer, &case.x.row(row), &SetIndex::Sii, 4, 1);
        assert!(got.iter().any(|&value| value != 0.0));
        assert_same(&got, &all[row * per_row..][..per_row], "a row by itself");
    }
}

#[test]
fn too_many_sets_are_refused() {
    let explainer = chain(&mut Choices::fixed(3, 1_000), 60, 1).explainer();
    assert_eq!(explainer.player_sets(2).expect("few sets").len(), 60 + 60 * 59 / 2);
    let problem = explainer.player_sets(6).expect_err("more than 50 million sets").to_string();
    assert!(problem.contains("choose a lower order, or join players into groups"), "{problem}");
}

#[test]
fn a_cancelled_job_ends() {
    let case = deep(&mut Choices::fixed(1, 100_000), 10, 10);
    let job = Job::new(1);
    job.cancel();
    let outcome = case.explainer().explain_sets(&case.x.rows(), &SetIndex::Sii, 2, &job);
    assert_eq!(outcome, Err(Error::Cancelled));
}

#[test]
fn wrong_arguments_are_refused() {
    let case = deep(&mut Choices::fixed(2, 100_000), 2, 2);
    let (explainer, job) = (case.explainer(), Job::new(1));
    let rows = case.x.rows();
    assert!(explainer.player_sets(0).is_err() && explainer.player_sets(7).is_err());
    assert!(explainer.explain_sets(&rows, &SetIndex::WeightedBanzhaf { p: 2.0 }, 1, &job).is_err());
    assert!(explainer.explain_members(&rows, &flat(explainer.n_players() + 1), &job).is_err());
}
