//! Arrays of anything: each is a valid forest or an error, never a panic, and what is valid can be explained.

use arborshap::forest::ForestArrays;
use arborshap::{Error, Explainer, Forest, Index, Job, Rows};
use proptest::prelude::*;

use crate::support::choices::{Choices, cases, choices};
use crate::support::engines::ENGINES;

const NUMBERS: [f64; 8] = [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 5e-324];
const INTS: [i32; 9] = [-1, 0, 1, 2, 3, -2, 7, i32::MAX, i32::MIN];

/// Anything at all, though the lengths mostly fit: else nothing else would ever be looked at.
fn any(c: &mut Choices) -> ForestArrays {
    let (n, trees, outputs, sets) = (c.below(8), c.below(3), c.below(3), c.below(3));
    let int = |c: &mut Choices| c.of(&INTS);
    let number = |c: &mut Choices| c.of(&NUMBERS);
    let offset = |c: &mut Choices| i64::from(c.of(&INTS));
    let vectors = c.flag();
    let mut tree_offsets = some(c, trees + 1, |c| c.below(n + 1) as i64);
    if c.flag() {
        tree_offsets.sort_unstable();
        if let [first, .., last] = &mut tree_offsets[..] {
            (*first, *last) = (0, n as i64);
        }
    }
    ForestArrays {
        n_features: c.of(&[0, 1, 2, 3, usize::MAX]),
        tree_offsets,
        left: some(c, n, int),
        right: some(c, n, int),
        feature: some(c, n, int),
        threshold: some(c, n, number),
        flags: some(c, n, |c| c.below(256) as u8),
        value: some(c, if vectors { n * outputs } else { n }, number),
        tree_output: some(c, trees, |c| if vectors { -1 } else { c.of(&INTS) }),
        base: some(c, outputs, number),
        category_nodes: some(c, sets, offset),
        category_offsets: some(c, sets + 1, offset),
        categories: some(c, 3, |c| c.below(100) as u32),
        cover: c.flag().then(|| some(c, n, number)),
    }
}

/// Two good trees, then a few entries and lengths changed.
fn damaged(c: &mut Choices) -> ForestArrays {
    let mut this = ForestArrays {
        n_features: 2,
        tree_offsets: vec![0, 5, 8],
        left: vec![1, -1, 3, -1, -1, 1, -1, -1],
        right: vec![2, -1, 4, -1, -1, 2, -1, -1],
        feature: vec![0, 0, 1, 0, 0, 1, 0, 0],
        threshold: vec![0.5, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        flags: vec![7, 0, 32 + 64, 0, 0, 2 + 16, 0, 0],
        value: vec![0.0, 1.0, 0.0, 2.0, 3.0, 0.0, 4.0, 5.0],
        tree_output: vec![0, 1],
        base: vec![0.5, 1.5],
        category_nodes: vec![2],
        category_offsets: vec![0, 3],
        categories: vec![1, 5, 64],
        cover: Some(vec![4.0, 1.0, 3.0, 1.0, 2.0, 2.0, 1.0, 1.0]),
    };
    for _ in 0..c.below(4) {
        let (int, number, flags) = (c.of(&INTS), c.of(&NUMBERS), c.below(256) as u8);
        match c.below(13) {
            0 => change(c, &mut this.tree_offsets, i64::from(int)),
            1 => change(c, &mut this.left, int),
            2 => change(c, &mut this.right, int),
            3 => change(c, &mut this.feature, int),
            4 => change(c, &mut this.threshold, number),
            5 => change(c, &mut this.flags, flags),
            6 => change(c, &mut this.value, number),
            7 => change(c, &mut this.tree_output, int),
            8 => change(c, &mut this.base, number),
            9 => change(c, &mut this.category_nodes, i64::from(int)),
            10 => change(c, &mut this.category_offsets, i64::from(int)),
            11 => change(c, &mut this.categories, int as u32),
            _ => this.cover.iter_mut().for_each(|cover| change(c, cover, number)),
        }
    }
    this
}

/// An array of this length, or now and then of another.
fn some<T>(c: &mut Choices, len: usize, mut one: impl FnMut(&mut Choices) -> T) -> Vec<T> {
    let len = if c.one_in(30) { c.below(9) } else { len };
    (0..len).map(|_| one(c)).collect()
}

/// One entry changed, or one more, or one less.
fn change<T: Clone>(c: &mut Choices, array: &mut Vec<T>, to: T) {
    match (c.below(8), array.len()) {
        (0, _) => array.push(to),
        (1, 1..) => drop(array.pop()),
        (_, len @ 1..) => array[c.below(len)] = to,
        _ => {}
    }
}

/// Explains two rows with everything a forest of unknown origin can do.
fn explain(forest: &Forest) {
    let d = forest.n_features();
    let cells: Vec<f64> = (0..2 * d).map(|i| NUMBERS[i % NUMBERS.len()]).collect();
    let rows = Rows::new(&cells[..], 2, d).expect("two rows");
    let job = Job::new(1);
    let explainer = match Explainer::builder(forest).background(&rows).build(&job) {
        Err(Error::Range { .. }) => return,
        explainer => explainer.expect("a valid case"),
    };
    for index in [Index::Shapley, Index::Interaction] {
        for engine in ENGINES {
            let values = explainer.explain(&rows, index, engine, &job).expect("values");
            assert_eq!(values.len(), 2 * d.pow(index.order()) * forest.n_outputs());
            assert!(values.iter().all(|v| v.is_finite()), "{index:?} by {engine:?}: {values:?}");
        }
    }
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn arrays_of_anything(mut c in choices()) {
        if let Ok(forest) = any(&mut c).flat().build() && forest.n_features() < 10 {
            explain(&forest);
        }
    }

    #[test]
    fn damaged_arrays(mut c in choices()) {
        if let Ok(forest) = damaged(&mut c).flat().build() && forest.n_features() < 10 {
            explain(&forest);
        }
    }
}
