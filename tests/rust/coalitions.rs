//! Mean predictions of coalitions against the definition.

use arborshap::{Argument, Error, Job};
use proptest::prelude::*;

use crate::backgrounds::deep;
use crate::support::choices::{Choices, cases, choices};
use crate::support::engines::{assert_close, assert_same};
use crate::support::forests::LARGEST_VALUE;
use crate::support::inputs::{Case, Matrix};
use crate::support::oracle::Game;

/// The worth of some coalitions, given as bits, row by row: `(rows, coalitions, outputs)`.
fn worth(case: &Case, coalitions: &[usize]) -> Vec<f64> {
    let k = case.forest.n_outputs();
    let mut all = Vec::new();
    for row in 0..case.x.len {
        let game = Game::new(&case.forest, &case.players, &case.x.rows(), row, &case.z.rows(), case.weights.as_deref());
        for &coalition in coalitions {
            all.extend((0..k).map(|output| game.of(coalition, output)));
        }
    }
    all
}

#[track_caller]
fn assert_worth(case: &Case) {
    let explainer = case.explainer();
    let (p, k, rows) = (case.players.count(), case.forest.n_outputs(), case.x.rows());
    let same = |one: &[f64], call: &dyn Fn(&Job) -> Vec<f64>, what: &str| {
        assert_same(&call(&Job::new(3)), one, &format!("{what}, with more threads"));
    };
    let scale = 10.0 * LARGEST_VALUE;

    let coalitions: Vec<usize> = (0..1 << p).collect();
    let expected = worth(case, &coalitions);
    for &coalition in &coalitions {
        let members: Vec<bool> = (0..p).map(|player| coalition >> player & 1 == 1).collect();
        let call = |job: &Job| explainer.coalition_values(&rows, &members, job).expect("valid rows");
        let got = call(&Job::new(1));
        let wanted: Vec<f64> =
            (0..case.x.len).flat_map(|row| expected[(row * (1 << p) + coalition) * k..][..k].to_vec()).collect();
        assert_close(&got, &wanted, scale, &format!("the coalition {coalition:b}"));
        same(&got, &call, "a coalition");
    }

    let players: Vec<usize> = (0..p).rev().collect();
    let call = |job: &Job| explainer.single_values(&rows, &players, job).expect("valid rows");
    let alone: Vec<usize> = players.iter().map(|&player| 1 << player).collect();
    let got = call(&Job::new(1));
    assert_close(&got, &worth(case, &alone), scale, "one player");
    same(&got, &call, "one player");

    let all = (1 << p) - 1;
    let without: Vec<usize> = (0..p).map(|player| all & !(1 << player)).collect();
    let call = |job: &Job| explainer.values_without(&rows, job).expect("valid rows");
    let got = call(&Job::new(1));
    assert_close(&got, &worth(case, &without), scale, "all players but one");
    same(&got, &call, "all players but one");

    for player in 0..p {
        let others: Vec<usize> = (0..p).filter(|&other| other != player).collect();
        let call = |job: &Job| explainer.couple_values(&rows, player, &others, job).expect("valid rows");
        let got = call(&Job::new(1));
        for (&other, got) in others.iter().zip(got.chunks(case.x.len * k)) {
            assert_close(got, &worth(case, &[1 << player | 1 << other]), scale, &format!("{player} and {other}"));
        }
        same(&got, &call, "pairs");
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn of_any_forest(mut c in choices()) {
        let (n, m) = (1 + c.below(6), 1 + c.below(9));
        assert_worth(&Case::sized(&mut c, n, m));
    }

    #[test]
    fn of_deep_trees(mut c in choices()) {
        let (n, m) = (1 + c.below(3), 1 + c.below(4));
        let case = deep(&mut c, n, m);
        let explainer = case.explainer();
        let p = case.players.count();
        // Too many players for all coalitions: the ways to the same numbers are compared.
        let rows = case.x.rows();
        let players: Vec<usize> = (0..p).collect();
        let (k, job) = (case.forest.n_outputs(), Job::new(2));
        let singles = explainer.single_values(&rows, &players, &job).expect("valid rows");
        let without = explainer.values_without(&rows, &job).expect("valid rows");
        let player = c.below(p);
        for (values, alone) in [(&singles, true), (&without, false)] {
            let members: Vec<bool> = (0..p).map(|other| (other == player) == alone).collect();
            let any = explainer.coalition_values(&rows, &members, &job).expect("valid rows");
            let of_row = |row: usize| values[(row * p + player) * k..][..k].to_vec();
            let picked: Vec<f64> = (0..case.x.len).flat_map(of_row).collect();
            assert_close(&picked, &any, 10.0 * LARGEST_VALUE, "a deep tree");
        }
        let others: Vec<usize> = (0..p).filter(|&other| other != player).collect();
        let couples = explainer.couple_values(&rows, player, &others, &job).expect("valid rows");
        for (&other, values) in others.iter().zip(couples.chunks(case.x.len * k)) {
            let members: Vec<bool> = (0..p).map(|i| i == player || i == other).collect();
            let any = explainer.coalition_values(&rows, &members, &job).expect("valid rows");
            assert_close(values, &any, 10.0 * LARGEST_VALUE, "a pair in a deep tree");
        }
    }
}

#[test]
fn bad_arguments() {
    let mut c = Choices::fixed(5, 500);
    let case = Case::sized(&mut c, 2, 3);
    let (explainer, job) = (case.explainer(), Job::new(1));
    let p = case.players.count();
    let refused = |result: Result<Vec<f64>, Error>, what: Argument| {
        assert!(matches!(result, Err(Error::Input { what: found, .. }) if found == what), "{what}");
    };
    let rows = case.x.rows();
    refused(explainer.coalition_values(&rows, &vec![true; p + 1], &job), Argument::Players);
    refused(explainer.single_values(&rows, &[p], &job), Argument::Players);
    refused(explainer.couple_values(&rows, 0, &[0], &job), Argument::Players);
    let wide = Matrix::new(vec![0.0; case.forest.n_features() + 1], case.forest.n_features() + 1);
    assert!(matches!(explainer.values_without(&wide.rows(), &job), Err(Error::Columns { .. })));
}
