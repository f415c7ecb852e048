//! The examples of the paper.

use arborshap::forest::{Node, Output, Split, Tree};
use arborshap::{Explainer, Forest, Index, Players};

use crate::support::engines::{ENGINES, WALKS, assert_close, explain, explainer, pairs};
use crate::support::inputs::Matrix;

fn of_tree(tree: &Tree, players: &Players, z: &Matrix) -> Explainer {
    let forest = Forest::new(vec![tree.clone()], z.width, vec![0.0]).expect("a valid tree");
    explainer(&forest, players, z, None)
}

#[track_caller]
fn check(tree: &Tree, players: &Players, x: &[f64], z: &[f64], want: &[f64]) {
    let (x, z) = (Matrix::new(x.to_vec(), x.len()), Matrix::new(z.to_vec(), z.len()));
    let explainer = of_tree(tree, players, &z);
    for engine in ENGINES {
        assert_close(&explain(engine, &explainer, &x, Index::Shapley, 1), want, 1.0, &format!("{engine:?}"));
    }
    for walk in WALKS {
        assert_close(&pairs(walk, &explainer, &x, None, 1), want, 1.0, &format!("{walk:?} walk"));
    }
}

#[track_caller]
fn check_taylor(tree: &Tree, players: &Players, x: &[f64], z: &[f64], want: &[f64]) {
    let (x, z) = (Matrix::new(x.to_vec(), x.len()), Matrix::new(z.to_vec(), z.len()));
    let explainer = of_tree(tree, players, &z);
    for engine in ENGINES {
        assert_close(&explain(engine, &explainer, &x, Index::Taylor, 1), want, 1.0, &format!("{engine:?}"));
    }
}

/// A path by its edges: a feature, a threshold, and whether the edge is the right one (`>`). Its leaf is worth 1 and
/// every leaf beside it 0, so the tree is the step function `h_P` of the path.
fn path(edges: &[(u32, f64, bool)]) -> Tree {
    let mut nodes = Vec::new();
    for (i, &(feature, threshold, above)) in (0..).zip(edges) {
        let (beside, next) = (2 * i + 1, 2 * i + 2);
        let (left, right) = if above { (beside, next) } else { (next, beside) };
        nodes.extend([Node::Split(Split::at(feature, threshold, left, right)), Node::Leaf(0)]);
    }
    nodes.push(Node::Leaf(1));
    Tree::new(nodes, vec![0.0, 1.0], Output::One(0))
}

/// Section 2: `h(x) = 1(x_0 > 0) 1(x_1 > 0)` with x = (1, 1) and z = (-1, -1) gives 1/2 to each.
#[test]
fn and_function() {
    let and = path(&[(0, 0.0, true), (1, 0.0, true)]);
    check(&and, &Players::single(2), &[1.0, 1.0], &[-1.0, -1.0], &[0.5, 0.5]);
    // Neither alone changes anything: all of it is interaction, half to each side of the diagonal.
    check_taylor(&and, &Players::single(2), &[1.0, 1.0], &[-1.0, -1.0], &[0.0, 0.5, 0.5, 0.0]);
    // The other way round, each alone loses everything and the two together no more.
    check(&and, &Players::single(2), &[-1.0, -1.0], &[1.0, 1.0], &[-0.5, -0.5]);
    check_taylor(&and, &Players::single(2), &[-1.0, -1.0], &[1.0, 1.0], &[-1.0, 0.5, 0.5, -1.0]);
}

/// The tree of Figures 2 and 4 with these values of its leaves 3 to 6.
fn three_features(values: [f64; 4]) -> Tree {
    let split = |feature, threshold, left, right| Node::Split(Split::at(feature, threshold, left, right));
    let splits = [split(1, 0.5, 1, 2), split(2, 1.33, 3, 4), split(0, 0.25, 5, 6)];
    let nodes = splits.into_iter().chain((0..4).map(Node::Leaf)).collect();
    Tree::new(nodes, values.to_vec(), Output::One(0))
}

/// Figure 2: x = (3.4, 0.2, 2) ends up at leaf 4.
#[test]
fn maximal_path_of_an_input() {
    let x = Matrix::new(vec![3.4, 0.2, 2.0], 3);
    let mut h = [0.0];
    let forest = Forest::new(vec![three_features([3.0, 4.0, 5.0, 6.0])], 3, vec![0.0]).expect("a valid tree");
    forest.add_margin(&x.rows(), 0, &mut h);
    assert_close(&h, &[4.0], 1.0, "h(x)");
}

/// Figure 4: with x = (0, 0, 1) and z = (-2, -1, 2), both flow through the edge (0, 1), x alone through (1, 3), z
/// alone through (1, 4), and (0, 2) is blocked for both. One leaf at a time shows what each path contributes.
#[test]
fn four_types_of_edges() {
    let (x, z) = ([0.0, 0.0, 1.0], [-2.0, -1.0, 2.0]);
    let alone = Players::single(3);
    // F, X: the game is worth 1 with feature 2 and 0 without it.
    check(&three_features([1.0, 0.0, 0.0, 0.0]), &alone, &x, &z, &[0.0, 0.0, 1.0]);
    // F, Z: the other way round.
    check(&three_features([0.0, 1.0, 0.0, 0.0]), &alone, &x, &z, &[0.0, 0.0, -1.0]);
    // B, F and B, B: nothing.
    check(&three_features([0.0, 0.0, 1.0, 0.0]), &alone, &x, &z, &[0.0, 0.0, 0.0]);
    check(&three_features([0.0, 0.0, 0.0, 1.0]), &alone, &x, &z, &[0.0, 0.0, 0.0]);
    // All together: v_3 - v_4, a main effect of feature 2.
    let tree = three_features([3.0, 8.0, 100.0, -50.0]);
    check(&tree, &alone, &x, &z, &[0.0, 0.0, -5.0]);
    check_taylor(&tree, &alone, &x, &z, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -5.0]);
}

/// Figure 3: a path with an edge of each type, the last blocked for both, contributes nothing; without that last edge
/// it has `S_X = {0}` and `S_Z = {1}`.
#[test]
fn path_with_a_blocked_edge() {
    let (x, z) = ([1.0, -1.0, 1.0, -1.0], [-1.0, 1.0, 1.0, -1.0]);
    let edges = [(0, 0.0, true), (1, 0.0, true), (2, 0.0, true), (3, 0.0, true)];
    check(&path(&edges), &Players::single(4), &x, &z, &[0.0; 4]);
    check(&path(&edges[..3]), &Players::single(4), &x, &z, &[0.5, -0.5, 0.0, 0.0]);
}

/// Figure 5: a path with `S_X = {0, 1}` and `S_Z = {0, 2}`, which meet in feature 0.
#[test]
fn path_whose_sets_meet() {
    let (x, z) = ([0.0, 0.0, 1.0], [-2.0, -1.0, 2.0]);
    let edges = [(1, -0.5, true), (2, 1.5, true), (1, 1.0, false), (0, -1.0, true), (1, -0.33, true), (0, -1.5, false)];
    let alone = Players::single(3);
    check(&path(&edges), &alone, &x, &z, &[0.0; 3]);
    check_taylor(&path(&edges), &alone, &x, &z, &[0.0; 9]);
    // Up to the edge before, they are {0, 1} and {2}: W(1, 3), W(1, 3) and -W(2, 3) by Theorem 13.
    check(&path(&edges[..5]), &alone, &x, &z, &[1.0 / 6.0, 1.0 / 6.0, -1.0 / 3.0]);
    // And by Theorem 18: W(0, 3) for the pair in S_X, -W(1, 3) across.
    let (both, across) = (1.0 / 3.0, -1.0 / 6.0);
    check_taylor(&path(&edges[..5]), &alone, &x, &z, &[0.0, both, across, both, 0.0, across, across, across, 0.0]);
}

/// Figure 9: one-hot encodings of two and four columns between two plain features, 8 columns and 4 players.
#[test]
fn one_hot_columns() {
    let sizes = [1, 2, 4, 1];
    // The paper's I(i): the first j for which i is below the number of columns up to j.
    let map: Vec<u32> =
        (0..8).map(|i| (0..4).find(|&j| i < sizes[..=j].iter().sum()).expect("a player") as u32).collect();
    assert_eq!(map, [0, 1, 1, 2, 2, 2, 2, 3]);
    let players = Players::grouped(map, 4).expect("a map in range");
    let x = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0];
    let z = [-1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0];

    // Figure 8: a path only for the row with players 0 and 2 from x and 1 and 3 from z. Several columns of a player
    // are edges on it, and count once: I(S_X) = {0, 2}, I(S_Z) = {1, 3}.
    let edges = [
        (0, 0.0, true),
        (1, 0.5, true),
        (2, 0.5, false),
        (3, 0.5, false),
        (5, 0.5, true),
        (6, 0.5, false),
        (7, 0.0, false),
    ];
    let w = 1.0 / 12.0; // W(1, 4) = W(2, 4)
    check(&path(&edges), &players, &x, &z, &[w, -w, w, -w]);

    // Column 3 from z and column 5 from x: no coalition of players has both, though one of columns has.
    let torn = [(0, 0.0, true), (3, 0.5, true), (5, 0.5, true)];
    check(&path(&torn), &players, &x, &z, &[0.0; 4]);
    let (a, b) = (1.0 / 6.0, -1.0 / 3.0);
    check(&path(&torn), &Players::single(8), &x, &z, &[a, 0.0, 0.0, b, 0.0, a, 0.0, 0.0]);
}
