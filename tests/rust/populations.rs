//! Populations that were counted: their mean values are the means of their rows' values, and parts can be taken away.

use arborshap::{Background, Engine, Explainer, Intake, Job, Notes};
use proptest::prelude::*;

use crate::backgrounds::deep;
use crate::support::choices::{Choices, cases, choices};
use crate::support::engines::{INDICES, assert_close, assert_same};
use crate::support::forests::LARGEST_VALUE;
use crate::support::inputs::{Case, Matrix};

fn counted(case: &Case, rows: &Matrix, weights: Option<&[f64]>) -> Background {
    let job = Job::new(1);
    let intake = Intake::new(&case.forest, &case.players, &job).expect("a valid game");
    intake.take(&rows.rows(), weights, &job).expect("valid rows")
}

/// The mean of each cell over rows of these weights.
fn mean(values: &[f64], weights: &[f64]) -> Vec<f64> {
    let cells = values.len() / weights.len();
    let total: f64 = weights.iter().sum();
    (0..cells).map(|c| weights.iter().zip(values.chunks(cells)).map(|(w, row)| w / total * row[c]).sum()).collect()
}

#[track_caller]
fn assert_means(c: &mut Choices, case: &Case) {
    let weights: Option<Vec<f64>> = c.flag().then(|| (0..case.x.len).map(|_| 0.25 + c.below(9) as f64 / 8.0).collect());
    let population = counted(case, &case.x, weights.as_deref());
    let (sent, _) = Background::from_bytes(&population.to_bytes(&Notes::default())).expect("just made");
    let weights = weights.unwrap_or_else(|| vec![1.0; case.x.len]);
    let merged = Explainer::builder(&case.forest).players(&case.players);
    let merged = merged.merged_background(counted(case, &case.z, case.weights.as_deref()));
    let merged = merged.build(&Job::new(2)).expect("a valid case");
    for explainer in [case.explainer(), merged] {
        for index in INDICES {
            let rows = case.explainer().explain(&case.x.rows(), index, Engine::Traversal, &Job::new(1)).expect("valid");
            let got = explainer.explain_population(&population, index, &Job::new(1)).expect("of one game");
            assert_close(&got, &mean(&rows, &weights), 10.0 * LARGEST_VALUE, &format!("{index:?}"));
            let again = explainer.explain_population(&sent, index, &Job::new(3)).expect("of one game");
            assert_same(&again, &got, &format!("{index:?}, sent, with more threads"));
        }
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn means_of_counts(mut c in choices()) {
        let (n, m) = (1 + c.below(9), 1 + c.below(9));
        let case = Case::sized(&mut c, n, m);
        assert_means(&mut c, &case);
    }

    #[test]
    fn means_of_kept_rows(mut c in choices()) {
        let (n, m) = (1 + c.below(9), 1 + c.below(9));
        let case = deep(&mut c, n, m);
        assert_means(&mut c, &case);
    }

    #[test]
    fn a_part_can_be_taken_away(mut c in choices()) {
        let (n, m) = (1 + c.below(6), 1 + c.below(6));
        let case = if c.flag() { deep(&mut c, n, m) } else { Case::sized(&mut c, n, m) };
        let [a, b] = [&case.x, &case.z].map(|rows| {
            let weights: Option<Vec<f64>> = c.flag().then(|| (0..rows.len).map(|_| 1.0 + c.below(3) as f64).collect());
            counted(&case, rows, weights.as_deref())
        });
        let both = a.clone().merge(b.clone()).expect("of one game");
        let rest = both.clone().subtract(b.clone()).expect("it was merged before");
        // Counts that have become weights stay weights, so it is what comes of them that is compared.
        prop_assert_eq!(rest.len(), a.len());
        prop_assert_eq!(rest.merge(b.clone()).expect("of one game"), both.clone());
        prop_assert!(b.subtract(both).expect_err("more than there is").to_string().contains("not in the background"));
    }
}

/// The weighted standard error of the mean over the pairs of every row: (rows, cells).
fn errors_of_pairs(pairs: &[f64], n: usize, weights: &[f64]) -> Vec<f64> {
    let (m, total) = (weights.len(), weights.iter().sum::<f64>());
    let cells = pairs.len() / (n * m);
    let error = |x: usize, cell: usize| {
        let value = |z: usize| pairs[(x * m + z) * cells + cell];
        let mean: f64 = (0..m).map(|z| weights[z] / total * value(z)).sum();
        let squares: f64 = (0..m).map(|z| (weights[z] / total * (value(z) - mean)).powi(2)).sum();
        (squares * m as f64 / (m - 1) as f64).sqrt()
    };
    (0..n).flat_map(|x| (0..cells).map(move |cell| (x, cell))).map(|(x, cell)| error(x, cell)).collect()
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn standard_errors_are_those_of_pairs(mut c in choices()) {
        let (n, m) = (1 + c.below(3), 2 + c.below(12));
        let mut case = if c.flag() { deep(&mut c, n, m) } else { Case::sized(&mut c, n, m) };
        case.weights = c.flag().then(|| (0..m).map(|_| 0.25 + c.below(9) as f64 / 8.0).collect());
        let explainer = case.explainer();
        let got = explainer.standard_error(Some(&case.x.rows()), INDICES[0], &Job::new(2)).expect("it has rows");
        let pairs = explainer.explain_pairs(&case.x.rows(), None, &Job::new(1)).expect("it has rows");
        let want = errors_of_pairs(&pairs, n, &case.weights.unwrap_or_else(|| vec![1.0; m]));
        let own = explainer.standard_error(None, INDICES[0], &Job::new(1)).expect("it has rows");
        let same = explainer.standard_error(Some(&case.z.rows()), INDICES[0], &Job::new(1)).expect("it has rows");
        assert_same(&own, &same, "the background's own rows");
        // Differences of squares leave errors of the order of the root of the rounding.
        for (got, want) in got.iter().zip(&want) {
            prop_assert!((got - want).abs() <= 1e-7 * LARGEST_VALUE, "{} instead of {}", got, want);
        }
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let mut c = Choices::fixed(5, 100_000);
    let case = deep(&mut c, 3, 4);
    let other = Case::sized(&mut c, 3, 4);
    let population = counted(&case, &case.x, None);
    let message = |result: arborshap::Result<Vec<f64>>| result.expect_err("bad input").to_string();
    let job = Job::new(1);
    assert!(
        message(other.explainer().explain_population(&population, INDICES[0], &job)).contains("do not belong together")
    );
    let none = Intake::new(&case.forest, &case.players, &job).and_then(|intake| intake.empty()).expect("no rows");
    assert!(message(case.explainer().explain_population(&none, INDICES[0], &job)).contains("has no rows"));
    assert!(population.clone().subtract(counted(&other, &other.x, None)).is_err());
    let alone = Case { z: case.z.row(0), ..deep(&mut c, 3, 4) };
    let error = |explainer: &Explainer| message(explainer.standard_error(Some(&case.x.rows()), INDICES[0], &job));
    assert!(error(&alone.explainer()).contains("at least two background rows"));
    let merged = Explainer::builder(&case.forest).merged_background(population).build(&job).expect("a valid case");
    assert!(error(&merged).contains("has lost its order"));
}
