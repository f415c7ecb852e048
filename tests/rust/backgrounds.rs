//! Backgrounds that come in parts: any division into parts, any order of merging and any way there give the same bits.

use arborshap::forest::{Node, Output, Split, Tree};
use arborshap::{Background, Engine, Error, Explainer, Forest, Intake, Job, Notes, Players};
use proptest::prelude::*;

use crate::saved::sized;
use crate::support::choices::{Choices, cases, choices};
use crate::support::engines::{ENGINES, INDICES, assert_close, assert_same, explain};
use crate::support::forests::LARGEST_VALUE;
use crate::support::inputs::{Case, Matrix};

fn intake(case: &Case) -> Intake {
    Intake::new(&case.forest, &case.players, &Job::new(1)).expect("a valid game")
}

fn take(intake: &Intake, z: &Matrix, weights: Option<&[f64]>) -> Background {
    intake.take(&z.rows(), weights, &Job::new(1)).expect("valid rows")
}

/// As it arrives elsewhere.
fn sent(part: &Background) -> Background {
    Background::from_bytes(&part.to_bytes(&Notes::default())).expect("just made").0
}

fn from_background(case: &Case, background: Background) -> arborshap::Result<Explainer> {
    Explainer::builder(&case.forest).players(&case.players).merged_background(background).build(&Job::new(2))
}

fn explainer(case: &Case, background: Background) -> Explainer {
    from_background(case, background).expect("a valid case")
}

/// The rows dealt out to parts in any order, the parts merged in any order, some sent as bytes, some filled row by row.
fn in_parts(c: &mut Choices, case: &Case) -> Background {
    let intake = intake(case);
    let mut left: Vec<usize> = (0..case.z.len).collect();
    let mut parts = vec![intake.empty().expect("no rows")];
    while !left.is_empty() {
        let n = 1 + c.below(left.len());
        let mut rows: Vec<usize> = (0..n).map(|_| left.swap_remove(c.below(left.len()))).collect();
        // A part that weighs nothing is refused alone; with another row it is not.
        let weighs = |&row: &usize| case.weights.as_ref().is_none_or(|w| w[row] > 0.0);
        if !rows.iter().any(weighs) {
            let Some(at) = left.iter().position(weighs) else { break };
            rows.push(left.swap_remove(at));
        }
        let weights: Option<Vec<f64>> = case.weights.as_ref().map(|w| rows.iter().map(|&r| w[r]).collect());
        let z = case.z.select(&rows);
        let part = if c.flag() {
            take(&intake, &z, weights.as_deref())
        } else {
            let into = parts.pop().expect("at least one");
            intake.add(into, &z.rows(), weights.as_deref(), &Job::new(2)).expect("valid rows")
        };
        parts.push(if c.flag() { sent(&part) } else { part });
    }
    while parts.len() > 1 {
        let (a, b) = (parts.swap_remove(c.below(parts.len())), parts.swap_remove(c.below(parts.len())));
        parts.push(a.merge(b).expect("of one game"));
    }
    parts.remove(0)
}

/// A chain deeper than tables go: rows are kept.
pub(crate) fn deep(c: &mut Choices, n: usize, m: usize) -> Case {
    let depth = 16;
    let mut nodes = Vec::new();
    for d in 0..depth {
        nodes.push(Node::Split(Split::at(d, 0.5, 2 * d + 1, 2 * d + 2)));
        nodes.push(Node::Leaf(d));
    }
    nodes.push(Node::Leaf(depth));
    let values = (0..=depth).map(|d| f64::from(d) / 7.0 - 1.0).collect();
    let forest =
        Forest::new(vec![Tree::new(nodes, values, Output::One(0))], depth as usize, vec![0.25]).expect("valid");
    let width = depth as usize;
    let mut cells =
        |rows: usize| Matrix::new((0..rows * width).map(|_| f64::from(u8::from(!c.one_in(6)))).collect(), width);
    let (x, z) = (cells(n), cells(m));
    Case { players: Players::single(width), forest, x, z, weights: None }
}

#[track_caller]
fn assert_any_cut_is_the_same(c: &mut Choices, case: &Case) {
    let whole = take(&intake(case), &case.z, case.weights.as_deref());
    let parts = in_parts(c, case);
    if case.weights.is_none() {
        assert_eq!(parts, whole);
    }
    let (whole, parts) = (explainer(case, whole), explainer(case, parts));
    assert_same(parts.expected_value(), whole.expected_value(), "expected value");
    let direct = case.explainer();
    for index in INDICES {
        for engine in ENGINES {
            let got = parts.explain(&case.x.rows(), index, engine, &Job::new(1));
            match (got, whole.explain(&case.x.rows(), index, engine, &Job::new(1))) {
                (Ok(got), Ok(want)) => {
                    assert_same(&got, &want, &format!("{index:?} by {engine:?}"));
                    let usual = explain(engine, &direct, &case.x, index, 1);
                    assert_close(&got, &usual, 5.0 * LARGEST_VALUE, &format!("{index:?} by {engine:?}, directly"));
                    let plan = direct.plan(case.x.len, index, engine);
                    if engine == Engine::Pattern && plan.by_tables == case.forest.trees().len() {
                        assert_same(&got, &usual, &format!("{index:?} by tables, directly"));
                    }
                }
                (Err(got), Err(want)) => assert_eq!(got, want),
                (got, want) => panic!("{got:?} and {want:?}"),
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn any_cut_and_order_of_counts(mut c in choices()) {
        let m = 1 + c.below(12);
        let case = Case::sized(&mut c, 2, m);
        assert_any_cut_is_the_same(&mut c, &case);
    }

    #[test]
    fn any_cut_and_order_of_rows(mut c in choices()) {
        let m = 1 + c.below(12);
        let mut case = deep(&mut c, 2, m);
        case.weights = c.flag().then(|| (0..m).map(|_| 0.25 + c.below(5) as f64 / 10.0).collect());
        prop_assert!(!take(&intake(&case), &case.z, None).is_counted());
        assert_any_cut_is_the_same(&mut c, &case);
    }
}

#[test]
fn rows_are_kept_once() {
    let mut c = Choices::fixed(5, 100_000);
    let case = deep(&mut c, 4, 1000);
    let background = take(&intake(&case), &case.z, None);
    let twice = background.clone().merge(background.clone()).expect("of one game");
    assert_eq!((background.len(), twice.len()), (1000, 2000));
    assert!(
        twice.to_bytes(&Notes::default()).len() < background.to_bytes(&Notes::default()).len() + 2 * 1000,
        "no row is there twice"
    );
    let values = |background| explain(Engine::Sparse, &explainer(&case, background), &case.x, INDICES[0], 1);
    assert_close(&values(twice), &values(background), LARGEST_VALUE, "every row twice");
}

fn message<T: std::fmt::Debug>(result: arborshap::Result<T>) -> String {
    result.expect_err("bad input").to_string()
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let case = sized(2, 5);
    let other = deep(&mut Choices::fixed(4, 4000), 2, 5);
    let grouped = Case {
        players: Players::grouped(vec![0; 16], 1).expect("one group"),
        ..deep(&mut Choices::fixed(4, 4000), 2, 5)
    };
    let [ours, theirs, groups] = [&case, &other, &grouped].map(|case| take(&intake(case), &case.z, None));
    for (a, b) in [(&ours, &theirs), (&theirs, &groups)] {
        assert!(message(a.clone().merge(b.clone())).contains("do not belong together"));
    }
    assert_eq!(from_background(&case, theirs).expect_err("of another game"), Error::Unrelated);
    let none = intake(&case).empty().expect("no rows");
    assert!(none.is_empty());
    assert!(message(from_background(&case, none)).contains("no rows"));
}

#[test]
fn weights_are_exact_or_refused() {
    let case = deep(&mut Choices::fixed(4, 4000), 2, 3);
    let (intake, job) = (intake(&case), Job::new(1));
    let weigh = |weights: &[f64]| intake.take(&case.z.rows(), Some(weights), &job);
    assert!(message(weigh(&[1.0, 1e-30, 1.0])).contains("row 1 is 1e-30"));
    assert!(message(weigh(&[1.0, 1.0, 2e14])).contains("row 2 is 2e14"));
    assert!(message(weigh(&[1e14, 0.1, 1e14])).contains("pass 2^47"));
    assert!(message(weigh(&[0.0, 0.0, 0.0])).contains("sum to 0"));
    assert!(message(weigh(&[1.0, f64::NAN, 1.0])).contains("row 1 is NaN"));
    // The order of a sum of doubles would show: 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1.
    let part =
        |row: usize, weight: f64| intake.take(&case.z.row(row).rows(), Some(&[weight]), &job).expect("a valid row");
    let merge = |order: [f64; 3]| order.map(|w| part(0, w)).into_iter().reduce(|a, b| a.merge(b).expect("of one game"));
    assert_eq!(merge([0.1, 0.2, 0.3]), merge([0.3, 0.2, 0.1]));
}

#[test]
fn damaged_parts_are_refused() {
    for case in [sized(2, 5), deep(&mut Choices::fixed(3, 4000), 2, 5)] {
        let bytes = take(&intake(&case), &case.z, None).to_bytes(&Notes::default());
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert!(matches!(Background::from_bytes(&changed), Err(Error::Saved { .. })), "byte {at}");
            assert!(
                matches!(Background::from_bytes(&bytes[..at]), Err(Error::Saved { .. })),
                "cut off after {at} bytes"
            );
        }
    }
}
