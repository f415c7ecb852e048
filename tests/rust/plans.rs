//! What plans say about calls.

use arborshap::forest::{Node, Output, Split, Tree};
use arborshap::{Engine, Forest, Index, Players};

use crate::support::engines::explainer;
use crate::support::inputs::Matrix;

/// Complete trees of this depth with a feature of its own for each level.
fn complete(depth: u32, n_trees: usize) -> Forest {
    let splits = (1_u32 << depth) - 1;
    let split = |n: u32| Node::Split(Split::at((n + 1).ilog2(), 0.0, 2 * n + 1, 2 * n + 2));
    let nodes = (0..splits).map(split).chain((0..=splits).map(Node::Leaf)).collect();
    let tree = Tree::new(nodes, (0..=splits).map(f64::from).collect(), Output::One(0));
    Forest::new(vec![tree; n_trees], depth as usize, vec![0.0]).expect("valid trees")
}

/// A pair that parts at every split meets at every leaf, and one that never parts meets at one leaf alone. The shape of
/// the tree is the same, so the plan has to look at the background.
#[test]
fn pairs_cost_as_much_as_the_background_makes_them_meet() {
    let forest = complete(8, 1);
    let seconds = |rows: Vec<f64>| {
        let explainer = explainer(&forest, &Players::single(8), &Matrix::new(rows, 8), None);
        explainer.plan(1000, Index::Shapley, Engine::Sparse).seconds
    };
    let same = seconds(vec![1.0; 8 * 100]);
    // Rows in any order, and rows in sorted order, as a background that came in parts has them.
    let parted = seconds((0..8 * 100).map(|i| if i / 8 % 2 == 0 { 1.0 } else { -1.0 }).collect());
    let sorted = seconds((0..8 * 100).map(|i| if i / 8 < 50 { 1.0 } else { -1.0 }).collect());
    assert!(parted > 4.0 * same, "{parted} s if half of the pairs part, {same} s if none does");
    assert!(sorted > 4.0 * same, "{sorted} s if half of the pairs part, {same} s if none does");
    assert!((0.5..=2.0).contains(&(sorted / parted)), "the order of rows matters: {sorted} s and {parted} s");
}

/// Tables of gigabytes are not made for a single call, however many rows it has.
#[test]
fn large_tables_are_not_made_for_one_call() {
    let plan = |n_trees: usize, engine: Engine| {
        let rows = Matrix::new((0..12 * 500).map(|i| f64::from(i % 7) - 3.0).collect(), 12);
        let explainer = explainer(&complete(12, n_trees), &Players::single(12), &rows, None);
        explainer.plan(10_000_000, Index::Shapley, engine)
    };
    assert_eq!(plan(1, Engine::Auto).by_tables, 1);
    let large = plan(8, Engine::Auto);
    assert_eq!((large.by_tables, large.by_counts), (0, 8), "{}", large.reason);
    assert!(large.reason.contains("too much"), "{}", large.reason);
}

/// Every path is explained by counts or by pairs. What pairs of players get takes too much memory by counts where paths are
/// long.
#[test]
fn long_paths_are_not_walked() {
    let way = |players: u32, index: Index, engine: Engine| {
        let nodes = (0..players).flat_map(|i| [Node::Split(Split::at(i, 0.0, 2 * i + 1, 2 * i + 2)), Node::Leaf(i)]);
        let tree = Tree::new(
            nodes.chain([Node::Leaf(players)]).collect(),
            (0..=players).map(f64::from).collect(),
            Output::One(0),
        );
        let width = players as usize;
        let forest = Forest::new(vec![tree], width, vec![0.0]).expect("a chain");
        let explainer = explainer(&forest, &Players::single(width), &Matrix::new(vec![1.0; 3 * width], width), None);
        let plan = explainer.plan(5, index, engine);
        (plan.by_counts, plan.by_pairs)
    };
    for (players, index, want) in [
        (64, Index::Taylor, (1, 0)),
        (65, Index::Taylor, (0, 1)),
        (65, Index::Shapley, (1, 0)),
        (511, Index::Banzhaf, (1, 0)),
        (512, Index::Banzhaf, (0, 1)),
    ] {
        assert_eq!(way(players, index, Engine::Counts), want, "{players} players, {index:?}");
        assert_eq!(way(players, index, Engine::Sparse), (0, 1), "{players} players, {index:?}");
        assert_ne!(way(players, index, Engine::Auto), (0, 0), "{players} players, {index:?}");
    }
}
