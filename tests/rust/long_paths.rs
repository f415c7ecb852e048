//! Path-dependent values of trees with up to 40 players on a path.

use arborshap::forest::Node;
use arborshap::{Engine, Explainer, Forest, Job, Players};

use crate::support::caterpillars::Caterpillar;
use crate::support::choices::Choices;
use crate::support::engines::{INDICES, assert_close, assert_same, explain};
use crate::support::inputs::{Matrix, matrix};

fn explainer(forest: &Forest, players: &Players) -> Explainer {
    Explainer::builder(forest).players(players).build(&Job::new(1)).expect("all trees have cover")
}

#[test]
fn one_to_forty_players_on_a_path() {
    let mut c = Choices::fixed(31, 200_000);
    for n_features in 1..=40 {
        let width = 1 + c.below(2);
        let depth = n_features + c.below(12);
        let trees: Vec<Caterpillar> =
            (0..=n_features % 2).map(|_| Caterpillar::new(&mut c, n_features, depth, width)).collect();
        let all = trees.iter().map(Caterpillar::tree).collect();
        let forest = Forest::new(all, n_features, vec![0.0; width]).expect("valid trees");
        let groups: Vec<u32> = (0..n_features as u32).map(|feature| feature / 2).collect();
        let grouped = Players::grouped(groups, n_features.div_ceil(2)).expect("a map in range");
        let x = matrix(&mut c, &forest, 3, false);
        for players in [Players::single(n_features), grouped] {
            let explainer = explainer(&forest, &players);
            // All pairs of long paths take the oracle a while.
            let short = n_features <= 12 || n_features % 7 == 5;
            for index in INDICES.into_iter().filter(|index| index.order() == 1 || short) {
                let mut want = vec![0.0; 3 * players.count().pow(index.order()) * width];
                let cells = want.len() / 3;
                for (row, want) in want.chunks_exact_mut(cells).enumerate() {
                    for tree in &trees {
                        tree.add(index, |f| x.rows().get(row, f), &players, want);
                    }
                }
                // By tables as well, where paths are short enough for them.
                for engine in [Engine::Traversal, Engine::Pattern, Engine::Auto] {
                    let got = explain(engine, &explainer, &x, index, 1);
                    assert_close(&got, &want, 10.0, &format!("{n_features} features, {index:?} by {engine:?}"));
                }
            }
        }
    }
}

/// A row's sums depend on nothing but the row: not on its block, nor on threads.
#[test]
fn any_block_gives_the_same_bits() {
    let mut c = Choices::fixed(32, 100_000);
    let trees = (0..6).map(|_| Caterpillar::new(&mut c, 12, 20, 1).tree()).collect();
    let forest = Forest::new(trees, 12, vec![0.0]).expect("valid trees");
    let explainer = explainer(&forest, &Players::single(12));
    let x = matrix(&mut c, &forest, 150, false);
    for index in INDICES {
        let together = explain(Engine::Traversal, &explainer, &x, index, 1);
        let cells = together.len() / 150;
        assert_same(&explain(Engine::Traversal, &explainer, &x, index, 8), &together, "threads");
        for row in [0, 15, 16, 63, 64, 149] {
            let alone = explain(Engine::Traversal, &explainer, &x.row(row), index, 1);
            assert_same(&alone, &together[row * cells..][..cells], "a row by itself");
        }
    }
}

/// A ratio near the end of the range of float64 is as good as zero, and never becomes a NaN.
#[test]
fn ratios_at_the_end_of_the_range() {
    let tree = Caterpillar::new(&mut Choices::fixed(33, 10_000), 3, 12, 1);
    for rest in [0.0, 5e-324, 1e-300, 1e-150, 1e-60] {
        // The rest of the training rows at every left child.
        let mut cover = vec![1.0; tree.nodes.len()];
        for node in &tree.nodes {
            if let Node::Split(split) = node {
                cover[split.left as usize] = rest;
            }
        }
        let tree = Caterpillar { nodes: tree.nodes.clone(), values: tree.values.clone(), cover, width: 1 };
        let forest = Forest::new(vec![tree.tree()], 3, vec![0.0]).expect("a valid tree");
        let players = Players::single(3);
        let x = Matrix::new(vec![-1.0, -1.0, -1.0, 2.0, 2.0, 2.0, -1.0, 2.0, 0.25, f64::NAN, 0.25, 0.75], 3);
        for index in INDICES {
            let got = explain(Engine::Traversal, &explainer(&forest, &players), &x, index, 1);
            let mut want = vec![0.0; got.len()];
            for (row, want) in want.chunks_exact_mut(got.len() / 4).enumerate() {
                tree.add(index, |f| x.rows().get(row, f), &players, want);
            }
            assert_close(&got, &want, 10.0, &format!("a share of {rest:e}, {index:?}"));
        }
    }
}
