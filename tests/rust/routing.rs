//! Where a value goes at a split: by hand for each rule, and the engines against [`Split::goes_left`].

use arborshap::forest::{Categories, Missing, Node, Output, Precision, Rule, Split, Test, Tree};
use arborshap::{Forest, Index, Players};
use proptest::prelude::*;

use crate::support::choices::{cases, choices};
use crate::support::engines::{ENGINES, assert_same, explain};
use crate::support::forests::splits;
use crate::support::inputs::{Case, matrix};

fn split(test: Test, precision: Precision, missing: Missing, default_left: bool) -> Split {
    Split { feature: 0, left: 1, right: 2, test, precision, missing, default_left }
}

fn threshold(rule: Rule, threshold: f64, precision: Precision) -> Split {
    split(Test::Threshold { rule, threshold }, precision, Missing::Nan, false)
}

#[track_caller]
fn check(split: &Split, left: &[f64], right: &[f64]) {
    for (values, goes_left) in [(left, true), (right, false)] {
        for &x in values {
            assert_eq!(split.goes_left(x), goes_left, "{x:e} at {split:?}");
        }
    }
}

#[test]
fn equal_values_follow_the_rule() {
    let at = 1.5_f64;
    let (below, above) = ([at.next_down(), -1.0, f64::NEG_INFINITY], [at.next_up(), 2.0, f64::INFINITY]);
    for (rule, goes_left) in [(Rule::LessEqual, true), (Rule::Less, false)] {
        let split = threshold(rule, at, Precision::Float64);
        check(&split, &below, &above);
        assert_eq!(split.goes_left(at), goes_left);
    }
    check(&threshold(Rule::LessEqual, 0.0, Precision::Float64), &[0.0, -0.0, -5e-324], &[5e-324]);
    check(&threshold(Rule::Less, 0.0, Precision::Float64), &[-5e-324], &[0.0, -0.0, 5e-324]);
    check(&threshold(Rule::Less, -0.0, Precision::Float64), &[-5e-324], &[0.0, -0.0, 5e-324]);
}

#[test]
fn infinite_thresholds() {
    check(&threshold(Rule::LessEqual, f64::INFINITY, Precision::Float64), &[f64::INFINITY, 0.0], &[f64::NAN]);
    check(&threshold(Rule::Less, f64::INFINITY, Precision::Float64), &[f64::MAX], &[f64::INFINITY]);
    check(&threshold(Rule::LessEqual, f64::NEG_INFINITY, Precision::Float64), &[f64::NEG_INFINITY], &[f64::MIN]);
    check(&threshold(Rule::Less, f64::NEG_INFINITY, Precision::Float64), &[], &[f64::NEG_INFINITY, f64::MIN]);
}

/// The value is rounded, the threshold never.
#[test]
fn single_precision() {
    // 0.1 in single precision is above 0.1.
    let (double, single) = (0.1_f64, f64::from(0.1_f32));
    check(&threshold(Rule::LessEqual, double, Precision::Float32), &[0.09], &[double, single]);
    check(&threshold(Rule::LessEqual, double, Precision::Float64), &[0.09, double], &[single]);
    check(
        &threshold(Rule::LessEqual, single, Precision::Float32),
        &[double, single, single.next_up()],
        &[0.100_000_02],
    );
    check(&threshold(Rule::Less, single, Precision::Float32), &[0.099_999_99], &[double, single, single.next_down()]);
    // Beyond the range of single precision a value is infinite, or zero.
    check(&threshold(Rule::LessEqual, 1e300, Precision::Float32), &[1e38, -1e39], &[1e39, f64::INFINITY]);
    check(&threshold(Rule::Less, 0.0, Precision::Float32), &[-1e-40], &[-1e-50, 0.0, 1e-50]);
}

#[test]
fn missing_values() {
    let test = || Test::Threshold { rule: Rule::LessEqual, threshold: -1.0 };
    for default_left in [true, false] {
        let of = |missing| split(test(), Precision::Float64, missing, default_left);
        assert_eq!(of(Missing::Nan).goes_left(f64::NAN), default_left);
        assert_eq!(of(Missing::NanOrZero).goes_left(f64::NAN), default_left);
        // NaN as zero is above -1, whatever the default.
        check(&of(Missing::NanIsZero), &[-1.0], &[f64::NAN, 0.0]);
        check(&of(Missing::Nan), &[-1.0], &[0.0, 1e-36]);
        for zero in [0.0, -0.0, 1e-36, -1e-36, 1e-35] {
            assert_eq!(of(Missing::NanOrZero).goes_left(zero), default_left, "{zero:e}");
        }
        check(&of(Missing::NanOrZero), &[-1.0], &[1.1e-35, -1.1e-35]);
    }
}

#[test]
fn categories() {
    let member = |codes: &[u32], members_left, negative_fraction_is_zero, precision| {
        let test = Test::Member { categories: Categories::new(codes), members_left, negative_fraction_is_zero };
        split(test, precision, Missing::Nan, true)
    };
    let inside = [0.0, -0.0, 0.9, 3.0, 3.999, 64.0, 4_294_967_295.0, 4_294_967_295.5];
    let outside = [1.0, 2.999, 63.0, 65.0, -1.0, -3.0, 4_294_967_296.0, 1e30, f64::INFINITY, f64::NEG_INFINITY];
    let codes = [64, 3, 0, u32::MAX, 3];
    check(&member(&codes, true, false, Precision::Float64), &inside, &outside);
    check(&member(&codes, false, false, Precision::Float64), &outside, &inside);
    // A missing value takes its own way; a value between -1 and 0 is outside, or category 0.
    check(&member(&codes, true, false, Precision::Float64), &[f64::NAN], &[-0.5]);
    check(&member(&codes, false, true, Precision::Float64), &[f64::NAN, -1.0], &[-0.5]);
    check(&member(&[], true, true, Precision::Float64), &[f64::NAN], &[0.0, -0.5, 7.0]);
    check(&member(&[16_777_216], true, false, Precision::Float32), &[16_777_217.0], &[16_777_215.0]);
    check(&member(&[16_777_216], true, false, Precision::Float64), &[16_777_216.0], &[16_777_217.0]);
}

proptest! {
    #![proptest_config(cases(1000))]

    /// Each split of a random forest as a stump worth a power of two: the sum tells which way each of them went.
    #[test]
    fn engines_route_as_splits_do(mut c in choices()) {
        let case = Case::small(&mut c);
        let d = case.forest.n_features();
        let stump = |(i, s): (u32, &Split)| {
            let nodes = vec![Node::Split(Split { left: 1, right: 2, ..s.clone() }), Node::Leaf(0), Node::Leaf(1)];
            Tree::new(nodes, vec![2.0_f64.powi(i as i32), 0.0], Output::One(0))
        };
        let all: Vec<&Split> = splits(&case.forest).take(50).collect();
        let stumps = (0..).zip(all.iter().copied()).map(stump).collect();
        let forest = Forest::new(stumps, d, vec![0.0]).expect("valid stumps");
        let single_precision = c.flag();
        let x = matrix(&mut c, &forest, 20, single_precision);
        let z = matrix(&mut c, &forest, 1, single_precision);
        let players = Players::grouped(vec![0; d], 1).expect("a map in range");
        let sum = |row: &dyn Fn(usize) -> f64| -> f64 {
            let went = |(i, s): (u32, &&Split)| if s.goes_left(row(s.feature as usize)) { 2.0_f64.powi(i as i32) } else { 0.0 };
            (0..).zip(&all).map(went).sum()
        };
        let (rows, against) = (x.rows(), z.rows());
        let want: Vec<f64> = (0..20).map(|r| sum(&|f| rows.get(r, f)) - sum(&|f| against.get(0, f))).collect();
        let case = Case { forest, players, x: x.clone(), z: z.clone(), weights: None };
        for engine in ENGINES {
            let got = explain(engine, &case.explainer(), &case.x, Index::Shapley, 1);
            let got: Vec<f64> = got.iter().map(|v| v + 0.0).collect();
            assert_same(&got, &want, &format!("{engine:?}"));
        }
    }
}
