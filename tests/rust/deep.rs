//! Paths of 1 to 600 players: every engine against the definition, and against the others.

use arborshap::forest::{Node, Output, Split, Tree};
use arborshap::{Engine, Forest, Index, Job, Players};
use proptest::prelude::*;

use crate::support::caterpillars::Caterpillar;
use crate::support::choices::{Choices, cases, choices};
use crate::support::engines::{ENGINES, INDICES, assert_close, assert_same, explain, explainer};
use crate::support::forests::{LARGEST_VALUE, Parts, bushy_parts, deep_parts};
use crate::support::inputs::{Case, Matrix, matrix};
use crate::support::oracle::{Game, assert_definition};

const SCALE: f64 = 5.0 * LARGEST_VALUE;

/// Rows that differ from the first one in a few columns each: two of them often meet far down a path.
fn similar(c: &mut Choices, forest: &Forest, first: &Matrix, n: usize) -> Matrix {
    let others = matrix(c, forest, n, false);
    let cells = (0..n).flat_map(|row| {
        let often = 1 + c.below(4);
        let pick = |f: usize, c: &mut Choices| {
            if c.below(often) == 0 { others.rows().get(row, f) } else { first.rows().get(0, f) }
        };
        (0..first.width).map(|f| pick(f, c)).collect::<Vec<f64>>()
    });
    Matrix::new(cells.collect(), first.width)
}

/// One or two trees of one long path each.
fn deep(c: &mut Choices, n: usize, m: usize) -> Case {
    let (n_features, n_outputs) = (1 + c.below(40), 1 + c.below(3));
    let trees = (0..=c.below(2)).map(|_| deep_parts(c, n_features, n_outputs).tree()).collect();
    rows_of(c, trees, n_features, n_outputs, n, m)
}

/// Some rows of a forest, now and then with weights, and with groups.
fn rows_of(c: &mut Choices, trees: Vec<Tree>, n_features: usize, n_outputs: usize, n: usize, m: usize) -> Case {
    let forest = Forest::new(trees, n_features, vec![0.5; n_outputs]).expect("the generator makes valid forests");
    let first = matrix(c, &forest, 1, false);
    let (x, z) = (similar(c, &forest, &first, n), similar(c, &forest, &first, m));
    let weights = c.one_in(3).then(|| (0..m).map(|_| (1 + c.below(9)) as f64 / 7.0).collect());
    let count = 1 + c.below(n_features);
    let player = |f: usize| (f * 7 % count) as u32;
    let groups = || Players::grouped((0..n_features).map(player).collect(), count).expect("a map in range");
    let players = if c.one_in(4) { groups() } else { Players::single(n_features) };
    Case { forest, players, x, z, weights }
}

/// A tree whose leaves hold probabilities: the values of every leaf have the sum 1.
fn of_probabilities(c: &mut Choices, n_features: usize, n_outputs: usize) -> Parts {
    let mut parts = deep_parts(c, n_features, n_outputs);
    if parts.output == Output::All {
        for values in parts.values.chunks_exact_mut(n_outputs) {
            let sum: f64 = values.iter().map(|value| 1.0 + value.abs()).sum();
            for value in values {
                *value = (1.0 + value.abs()) / sum;
            }
        }
    }
    parts
}

fn engines_agree(case: &Case) {
    let explainer = case.explainer();
    for index in INDICES {
        let want = explain(Engine::Traversal, &explainer, &case.x, index, 1);
        for engine in [Engine::Counts, Engine::Pattern, Engine::Sparse] {
            let got = explain(engine, &explainer, &case.x, index, 1);
            assert_close(&got, &want, SCALE, &format!("{index:?} by {engine:?}"));
        }
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn engines_agree_on_deep_trees(mut c in choices()) {
        let (n, m) = (c.of(&[1, 5, 127, 130]), c.of(&[1, 7, 128, 131]));
        engines_agree(&deep(&mut c, n, m));
    }
}

proptest! {
    #![proptest_config(cases(40))]

    /// Up to twelve players on a path, against the sum over all coalitions.
    #[test]
    fn longer_paths_equal_the_definition(mut c in choices()) {
        let (n_features, n_outputs) = (7 + c.below(6), 1 + c.below(3));
        let trees = (0..=c.below(2)).map(|_| deep_parts(&mut c, n_features, n_outputs).tree()).collect();
        let (n, m) = (1 + c.below(2), 1 + c.below(6));
        let case = rows_of(&mut c, trees, n_features, n_outputs, n, m);
        let (x, z, weights) = (case.x.rows(), case.z.rows(), case.weights.as_deref());
        let games: Vec<Game> =
            (0..n).map(|row| Game::new(&case.forest, &case.players, &x, row, &z, weights)).collect();
        assert_definition(&case.explainer(), &case.x, &games, SCALE);
    }
}

/// Compares every engine with what each pair of rows gets at each leaf of some trees with so many players on a path.
fn check_long_paths(c: &mut Choices, n_features: usize, depth: usize, width: usize, indices: &[Index]) {
    let trees: Vec<Caterpillar> = (0..=n_features % 2).map(|_| Caterpillar::new(c, n_features, depth, width)).collect();
    let all = trees.iter().map(Caterpillar::tree).collect();
    let Case { forest, x, z, weights, .. } = rows_of(c, all, n_features, width, 4, 9);
    let total: f64 = weights.as_ref().map_or(9.0, |weights| weights.iter().sum());
    let share = |z: usize| weights.as_ref().map_or(1.0, |weights| weights[z]) / total;
    let halves: Vec<u32> = (0..n_features as u32).map(|feature| feature / 2).collect();
    let grouped = Players::grouped(halves, n_features.div_ceil(2)).expect("a map in range");
    for players in [Players::single(n_features), grouped] {
        let explainer = explainer(&forest, &players, &z, weights.as_deref());
        for &index in indices {
            let cells = players.count().pow(index.order()) * width;
            let mut want = vec![0.0; x.len * cells];
            for (row, want) in want.chunks_exact_mut(cells).enumerate() {
                for (tree, other) in trees.iter().flat_map(|tree| (0..z.len).map(move |other| (tree, other))) {
                    let (ours, theirs) = (|f| x.rows().get(row, f), |f| z.rows().get(other, f));
                    tree.add_against(index, ours, (theirs, share(other)), &players, want);
                }
            }
            for engine in ENGINES {
                let got = explain(engine, &explainer, &x, index, 1);
                assert_close(&got, &want, SCALE, &format!("{n_features} features, {index:?} by {engine:?}"));
            }
        }
    }
}

/// Every number of players, every index and every engine.
#[test]
fn one_to_forty_players_on_a_path() {
    let mut c = Choices::fixed(41, 500_000);
    for n_features in 1..=40 {
        // Many outputs of many pairs take a while; bushy trees have them.
        let (widths, depth) = (if n_features <= 14 { [1, 3, 11] } else { [1, 1, 2] }, n_features + c.below(8));
        let width = c.of(&widths);
        check_long_paths(&mut c, n_features, depth, width, &INDICES);
    }
}

/// Patterns of one word, of two and of eight, and paths with more players than ranked counts can have.
#[test]
fn more_players_than_a_word_has_bits() {
    let mut c = Choices::fixed(42, 2_000_000);
    for n_features in [63, 64, 65, 66, 126, 127, 128, 129, 200, 510, 511, 512, 600] {
        let (width, depth) = (1 + n_features % 2, n_features + c.below(8));
        check_long_paths(&mut c, n_features, depth, width, &[Index::Shapley, Index::Banzhaf]);
    }
    for n_features in [66, 130] {
        check_long_paths(&mut c, n_features, n_features + 3, 1, &[Index::Taylor, Index::Interaction]);
    }
}

/// Such paths in trees that also have short ones, and with many rows: those of any batch get the same bits.
#[test]
fn long_paths_beside_short_ones() {
    for (seed, n_features, n, m) in [(0, 90, 300, 250), (1, 160, 140, 700)] {
        let mut c = Choices::fixed(43 + seed, 3_000_000);
        let long = Caterpillar::new(&mut c, n_features, n_features + 20, 1).tree();
        let trees = vec![long, bushy_parts(&mut c, n_features, 1, 80).tree()];
        let mut case = rows_of(&mut c, trees, n_features, 1, n, m);
        for weighted in [false, true] {
            case.weights = weighted.then(|| (0..m).map(|row| 0.5 + (row % 3) as f64).collect());
            let explainer = case.explainer();
            for index in [Index::Shapley, Index::Banzhaf] {
                let want = explain(Engine::Traversal, &explainer, &case.x, index, 2);
                let got = explain(Engine::Counts, &explainer, &case.x, index, 2);
                assert_close(&got, &want, SCALE, &format!("{index:?}, weights: {weighted}"));
                let cells = got.len() / n;
                for (start, len) in [(0, 1), (127, 13)] {
                    let rows: Vec<usize> = (start..start + len).collect();
                    let some = explain(Engine::Counts, &explainer, &case.x.select(&rows), index, 1);
                    assert_same(&some, &got[start * cells..][..len * cells], &format!("{index:?}, from {start}"));
                }
            }
        }
    }
}

/// Many leaves, whose paths have few and many players side by side: one tree goes several ways, in several passes.
#[test]
fn engines_agree_on_bushy_trees() {
    for (seed, n_features, n_outputs, splits) in [(0, 6, 1, 300), (1, 20, 1, 300), (2, 40, 3, 200), (3, 30, 12, 120)] {
        let mut c = Choices::fixed(80 + seed, 400_000);
        let trees = (0..3).map(|_| bushy_parts(&mut c, n_features, n_outputs, splits).tree()).collect();
        let mut case = rows_of(&mut c, trees, n_features, n_outputs, 140, 300);
        engines_agree(&case);
        case.weights = Some((0..300).map(|row| 0.25 + f64::from(row % 5)).collect());
        engines_agree(&case);
    }
}

/// Few players and many background rows: most splits share their table with another one, whatever player both have.
#[test]
fn engines_agree_where_splits_share_tables() {
    for seed in 0..16 {
        let mut c = Choices::fixed(130 + seed, 400_000);
        let (n_features, n_outputs, splits) = (2 + c.below(8), 1 + c.below(3), 3 + c.below(60));
        let trees = (0..3).map(|_| bushy_parts(&mut c, n_features, n_outputs, splits).tree()).collect();
        let mut case = rows_of(&mut c, trees, n_features, n_outputs, 40, 1500);
        engines_agree(&case);
        case.weights = Some((0..1500).map(|row| 0.25 + f64::from(row % 5)).collect());
        engines_agree(&case);
        let explainer = case.explainer();
        let all = explain(Engine::Counts, &explainer, &case.x, Index::Shapley, 2);
        let one = explain(Engine::Counts, &explainer, &case.x.select(&[0]), Index::Shapley, 1);
        assert_same(&one, &all[..one.len()], "the first row alone");
    }
}

/// Ranked counts work out one output less, since the last one is the opposite of the others.
#[test]
fn probabilities_by_every_engine() {
    let mut seen = 0;
    for seed in 0..12 {
        let mut c = Choices::fixed(70 + seed, 200_000);
        let (n_features, n_outputs) = (1 + c.below(20), 2 + c.below(2));
        let parts = of_probabilities(&mut c, n_features, n_outputs);
        seen += usize::from(parts.output == Output::All);
        let forest = Forest::new(vec![parts.tree()], n_features, vec![0.0; n_outputs]).expect("a valid forest");
        let first = matrix(&mut c, &forest, 1, false);
        let (x, z) = (similar(&mut c, &forest, &first, 130), similar(&mut c, &forest, &first, 90));
        engines_agree(&Case { players: Players::single(n_features), forest, x, z, weights: None });
    }
    assert!(seen > 0, "no tree has several outputs");
}

/// Ranked counts against the traversal for a tree of two levels, each output and player by its own size: neither may a
/// large output hide a small one, nor a large leaf two small ones.
fn small_numbers_survive(leaves: [&[f64]; 4]) {
    let split = |feature, left, right| Node::Split(Split::at(feature, 0.0, left, right));
    let nodes = vec![split(0, 1, 2), split(1, 3, 4), split(2, 5, 6)];
    let nodes = nodes.into_iter().chain((0..4).map(Node::Leaf)).collect();
    let n_outputs = leaves[0].len();
    let output = if n_outputs == 1 { Output::One(0) } else { Output::All };
    let tree = Tree::new(nodes, leaves.concat(), output);
    let forest = Forest::new(vec![tree], 3, vec![0.0; n_outputs]).expect("a valid forest");
    let mut c = Choices::fixed(3, 1000);
    let mut rows = |n: usize| Matrix::new((0..3 * n).map(|_| c.below(9) as f64 - 4.0).collect(), 3);
    let case = Case { players: Players::single(3), x: rows(6), z: rows(20), forest, weights: None };
    let explainer = case.explainer();
    for index in [Index::Shapley, Index::Banzhaf] {
        let [want, got] =
            [Engine::Traversal, Engine::Counts].map(|engine| explain(engine, &explainer, &case.x, index, 1));
        for cell in 0..3 * n_outputs {
            let column = |all: &[f64]| all.iter().skip(cell).step_by(3 * n_outputs).copied().collect::<Vec<f64>>();
            let (want, got) = (column(&want), column(&got));
            let scale = want.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
            assert_close(
                &got,
                &want,
                scale,
                &format!("{index:?}, player {}, output {}", cell / n_outputs, cell % n_outputs),
            );
        }
    }
}

#[test]
fn small_outputs_beside_large_ones() {
    small_numbers_survive([&[1e9, 1e-8], &[1e9, 3e-8], &[1e9, -2e-8], &[1e9, 0.0]]);
    small_numbers_survive([&[1e6, -1e6, 1e-11], &[2e6, -2e6, 3e-11], &[0.0, 0.0, 0.0], &[1.0, -1.0, 5e-11]]);
    let rare = |p: f64, q: f64| [p, 1.0 - p - q, q];
    let leaves = [rare(0.5, 1e-9), rare(0.25, 3e-9), rare(0.75, 0.0), rare(0.5, 2e-9)];
    small_numbers_survive(leaves.each_ref().map(<[f64; 3]>::as_slice));
}

#[test]
fn small_leaves_beside_large_ones() {
    small_numbers_survive([&[1e12], &[1e12], &[1e-3], &[2e-3]]);
    small_numbers_survive([&[1.0], &[1.0], &[1e-9], &[3e-9]]);
}

/// More rows than 16 bits count, with and without weights.
#[test]
fn counts_of_many_background_rows() {
    for weighted in [false, true] {
        let mut c = Choices::fixed(21, 3_000_000);
        let mut case = deep(&mut c, 3, 70_000);
        case.weights = weighted.then(|| (0..70_000).map(|row| 0.5 + f64::from(row % 3)).collect());
        let explainer = case.explainer();
        let want = explain(Engine::Sparse, &explainer, &case.x, Index::Shapley, 2);
        assert!(want.iter().any(|&value| value != 0.0));
        let got = explain(Engine::Counts, &explainer, &case.x, Index::Shapley, 2);
        assert_close(&got, &want, SCALE, "70,000 background rows");
    }
}

/// With so many background rows, leaves with many players have ranked counts of their own; a row's values do not depend on
/// the rows beside it.
#[test]
fn counts_of_leaves_alone() {
    for seed in 0..6 {
        let mut c = Choices::fixed(50 + seed, 1_500_000);
        let mut case = deep(&mut c, 150, 3000);
        case.weights = (seed % 2 == 1).then(|| (0..3000).map(|row| 0.5 + f64::from(row % 7) / 3.0).collect());
        let explainer = case.explainer();
        for index in [Index::Shapley, Index::Banzhaf] {
            let want = explain(Engine::Sparse, &explainer, &case.x, index, 2);
            let all = explain(Engine::Counts, &explainer, &case.x, index, 2);
            assert_close(&all, &want, SCALE, &format!("{index:?}, seed {seed}"));
            let cells = all.len() / case.x.len;
            for (start, len) in [(0, 1), (60, 20), (149, 1)] {
                let rows: Vec<usize> = (start..start + len).collect();
                let some = explain(Engine::Counts, &explainer, &case.x.select(&rows), index, 1);
                assert_same(&some, &all[start * cells..][..len * cells], &format!("{index:?}, rows from {start}"));
            }
        }
    }
}

/// The same with so many background rows that they pay for leaves of 16 players and more even without weights.
#[test]
fn counts_of_leaves_with_many_background_rows() {
    let mut c = Choices::fixed(60, 4_000_000);
    let trees = (0..2).map(|_| deep_parts(&mut c, 20, 2).tree()).collect();
    let mut case = rows_of(&mut c, trees, 20, 2, 70, 20_000);
    for weighted in [false, true] {
        case.weights = weighted.then(|| (0..20_000).map(|row| 0.5 + f64::from(row % 3)).collect());
        let explainer = case.explainer();
        for index in [Index::Shapley, Index::Banzhaf] {
            let want = explain(Engine::Sparse, &explainer, &case.x, index, 2);
            let got = explain(Engine::Counts, &explainer, &case.x, index, 2);
            assert_close(&got, &want, SCALE, &format!("{index:?}, weights: {weighted}"));
        }
    }
}

/// A row's values are the same to the last bit for any threads, alone or among others, by tables of either kind.
#[test]
fn any_threads_and_any_batch() {
    for seed in 0..6 {
        let mut c = Choices::fixed(30 + seed, 400_000);
        let case = deep(&mut c, 2000, 300);
        let explainer = case.explainer();
        for index in INDICES {
            let values = |x: &Matrix, threads: usize| {
                explainer.explain(&x.rows(), index, Engine::Counts, &Job::new(threads)).expect("values")
            };
            let all = values(&case.x, 1);
            assert_same(&values(&case.x, 3), &all, &format!("{index:?}, three threads"));
            let cells = all.len() / case.x.len;
            for (start, len) in [(0, 1), (127, 1), (128, 3), (5, 300), (1999, 1)] {
                let rows: Vec<usize> = (start..start + len).collect();
                let want = &all[start * cells..][..len * cells];
                assert_same(&values(&case.x.select(&rows), 2), want, &format!("{index:?}, rows from {start}"));
            }
        }
    }
}

/// So many background rows that splits with 18 other players have tables, and that they take 32 bits to count.
#[test]
fn counts_by_large_tables() {
    for (seed, m) in [(0, 12_000), (1, 90_000)] {
        let mut c = Choices::fixed(90 + seed, 8_000_000);
        let tree = bushy_parts(&mut c, 26, 2, 120).tree();
        let mut case = rows_of(&mut c, vec![tree], 26, 2, 30, m);
        case.players = Players::single(26);
        for weighted in [false, true] {
            case.weights = weighted.then(|| (0..m).map(|row| 0.5 + (row % 3) as f64).collect());
            let explainer = case.explainer();
            for index in [Index::Shapley, Index::Banzhaf] {
                let want = explain(Engine::Sparse, &explainer, &case.x, index, 2);
                let got = explain(Engine::Counts, &explainer, &case.x, index, 2);
                assert_close(&got, &want, SCALE, &format!("{index:?}, {m} background rows, weights: {weighted}"));
                let first = explain(Engine::Counts, &explainer, &case.x.select(&[0]), index, 1);
                assert_same(&first, &got[..first.len()], &format!("{index:?}, the first row alone"));
            }
        }
    }
}

/// A row's values are the same to the last bit if its sums do not fit beside those of all others, if those of one group of
/// trees take so much memory that no other group is worked on at the same time, and if a batch has many passes.
#[test]
fn any_share_of_rows() {
    for (n, m, n_features, n_outputs, splits) in
        [(1300, 100, 40, 100, 12), (2200, 4600, 40, 100, 12), (2500, 3000, 12, 1, 300)]
    {
        let mut c = Choices::fixed(97, 5_000_000);
        let trees = (0..8).map(|_| bushy_parts(&mut c, n_features, n_outputs, splits).tree()).collect();
        let mut case = rows_of(&mut c, trees, n_features, n_outputs, n, m);
        (case.players, case.weights) = (Players::single(n_features), None);
        let explainer = case.explainer();
        let all = explain(Engine::Counts, &explainer, &case.x, Index::Shapley, 2);
        assert_same(&explain(Engine::Counts, &explainer, &case.x, Index::Shapley, 5), &all, "five threads");
        let cells = all.len() / n;
        for start in [0, 600, 1200, n - 40] {
            let rows: Vec<usize> = (start..start + 40).collect();
            let some = explain(Engine::Counts, &explainer, &case.x.select(&rows), Index::Shapley, 1);
            assert_same(&some, &all[start * cells..][..40 * cells], &format!("{n} rows, rows from {start}"));
        }
    }
}
