//! What is no forest is refused, and the error says where.

use arborshap::forest::{FlatForest, Node, Output, Split, Tree};
use arborshap::{Engine, Error, Explainer, Forest, Hierarchy, Index, Job, Players, Rows};

use crate::support::engines::ENGINES;
use crate::support::inputs::Matrix;

fn split(left: u32, right: u32) -> Node {
    Node::Split(Split::at(0, 0.5, left, right))
}

/// A stump comes first, so that the tree in question is number 1.
#[track_caller]
fn refused(tree: Tree, expected: &str) {
    let stump = Tree::new(vec![split(1, 2), Node::Leaf(0), Node::Leaf(1)], vec![1.0, 2.0], Output::One(0));
    let error = Forest::new(vec![stump, tree], 2, vec![0.0, 0.0]).expect_err("no forest");
    assert_eq!(error.to_string(), expected);
}

fn tree(nodes: Vec<Node>) -> Tree {
    Tree::new(nodes, vec![0.0; 8], Output::One(0))
}

#[test]
fn cycles_and_shared_children() {
    let twice = |n: usize, side: &str, child: usize| {
        format!(
            "tree 1, node {n}: its {side} child, node {child}, is reached twice: a cycle, or a child of two parents"
        )
    };
    refused(tree(vec![split(0, 1), Node::Leaf(0)]), &twice(0, "left", 0));
    refused(tree(vec![split(1, 2), Node::Leaf(0), split(3, 0), Node::Leaf(1)]), &twice(2, "right", 0));
    refused(
        tree(vec![split(1, 2), Node::Leaf(0), split(3, 4), split(2, 5), Node::Leaf(1), Node::Leaf(2)]),
        &twice(3, "left", 2),
    );
    refused(tree(vec![split(1, 1), Node::Leaf(0)]), &twice(0, "right", 1));
    refused(
        tree(vec![split(1, 2), split(3, 4), split(4, 5), Node::Leaf(0), Node::Leaf(1), Node::Leaf(2)]),
        &twice(1, "right", 4),
    );
}

#[test]
fn nodes_that_no_path_reaches() {
    refused(tree(vec![Node::Leaf(0), Node::Leaf(1)]), "tree 1, node 1: no path from the root reaches it");
    // A cycle of its own, apart from the tree.
    let apart = vec![split(1, 2), Node::Leaf(0), Node::Leaf(1), split(4, 5), split(3, 6), Node::Leaf(2), Node::Leaf(3)];
    refused(tree(apart), "tree 1, node 3: no path from the root reaches it");
}

#[test]
fn indices_out_of_range() {
    refused(
        tree(vec![split(1, 3), Node::Leaf(0), Node::Leaf(1)]),
        "tree 1, node 0: its right child is node 3, but the tree has 3 nodes",
    );
    refused(
        tree(vec![split(1, 2), Node::Leaf(0), split(u32::MAX, 1)]),
        "tree 1, node 2: its left child is node 4294967295, but the tree has 3 nodes",
    );
    let feature = Node::Split(Split::at(2, 0.5, 3, 4));
    refused(
        tree(vec![split(1, 2), feature, Node::Leaf(0), Node::Leaf(1), Node::Leaf(2)]),
        "tree 1, node 1: it splits on feature 2, but the forest has 2 features",
    );
    refused(
        tree(vec![split(1, 2), Node::Leaf(8), Node::Leaf(0)]),
        "tree 1, node 1: it is leaf 8, but the tree holds the values of 8 leaves",
    );
    refused(
        Tree::new(vec![Node::Leaf(u32::MAX)], vec![0.0; 4], Output::All),
        "tree 1, node 0: it is leaf 4294967295, but the tree holds the values of 2 leaves",
    );
    refused(
        Tree::new(vec![split(1, 2), Node::Leaf(0), Node::Leaf(1)], vec![0.0; 3], Output::All),
        "tree 1, node 2: it is leaf 1, but the tree holds the values of 1 leaves",
    );
    refused(
        Tree::new(vec![Node::Leaf(0)], vec![0.0], Output::One(2)),
        "tree 1, node 0: the tree adds to output 2, but the forest has 2 outputs",
    );
    refused(tree(vec![]), "tree 1, node 0: the tree has no nodes; even a constant is one leaf");
}

#[test]
fn numbers_that_are_none() {
    let nan = Node::Split(Split::at(0, f64::NAN, 1, 2));
    refused(tree(vec![nan, Node::Leaf(0), Node::Leaf(1)]), "tree 1, node 0: its threshold is NaN");
    for (value, text) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")] {
        refused(
            Tree::new(vec![split(1, 2), Node::Leaf(1), Node::Leaf(0)], vec![0.0, 1.0, 2.0, value], Output::All),
            &format!("tree 1, node 1: its leaf value is {text}, not a finite number"),
        );
        let error = Forest::new(vec![], 1, vec![0.0, value]).expect_err("no forest");
        assert_eq!(error.to_string(), format!("the base value of output 1 is {text}, not a finite number"));
    }
    for cover in [f64::NAN, -1.0, f64::INFINITY] {
        let leaf = Tree::new(vec![Node::Leaf(0)], vec![0.0], Output::One(0)).with_cover(vec![cover]);
        refused(leaf, &format!("tree 1, node 0: its cover is {cover}, not a finite number of at least 0"));
    }
    let leaf = Tree::new(vec![Node::Leaf(0)], vec![0.0], Output::One(0)).with_cover(vec![1.0, 2.0]);
    refused(leaf, "tree 1, node 0: 2 cover values were given, but the number of nodes is 1");
    let error = Forest::new(vec![], 1, vec![]).expect_err("no forest");
    assert_eq!(error.to_string(), "a forest needs at least one output (one base value each)");
}

/// Two trees, the second with a category set at its root, as flat arrays.
const FLAT: FlatForest<'static> = FlatForest {
    n_features: 2,
    tree_offsets: &[0, 3, 6],
    left: &[1, -1, -1, 1, -1, -1],
    right: &[2, -1, -1, 2, -1, -1],
    feature: &[1, 0, 0, 0, 0, 0],
    threshold: &[0.5, 0.0, 0.0, 0.0, 0.0, 0.0],
    flags: &[1, 0, 0, 32, 0, 0],
    value: &[0.0, 1.0, 2.0, 0.0, 3.0, 4.0],
    tree_output: &[0, 0],
    base: &[10.0],
    category_nodes: &[3],
    category_offsets: &[0, 2],
    categories: &[7, 3],
    cover: Some(&[2.0, 1.0, 1.0, 2.0, 1.0, 1.0]),
};

#[test]
fn flat_arrays() {
    let forest = FLAT.build().expect("a valid forest");
    let x = Matrix::new(vec![0.0, 0.5, 3.0, 0.6], 2);
    let mut h = [[0.0], [0.0]];
    h.iter_mut().enumerate().for_each(|(row, h)| forest.add_margin(&x.rows(), row, h));
    // Members of the set go right where flag 64 is not set.
    assert_eq!(h.map(|[h]| h.to_bits()), [10.0 + 1.0 + 3.0, 10.0 + 2.0 + 4.0].map(f64::to_bits));
}

#[track_caller]
fn flat_refused(flat: FlatForest<'_>, expected: &str) {
    assert_eq!(flat.build().expect_err("no forest").to_string(), expected);
}

#[test]
fn flat_arrays_of_different_lengths() {
    let wrong = |name: &str, have: usize, want: usize| format!("array `{name}` has {have} entries where {want} belong");
    flat_refused(FlatForest { right: &[2], ..FLAT }, &wrong("right", 1, 6));
    flat_refused(FlatForest { left: &[1, -1, -1], ..FLAT }, &wrong("right", 6, 3));
    flat_refused(FlatForest { feature: &[0; 7], ..FLAT }, &wrong("feature", 7, 6));
    flat_refused(FlatForest { threshold: &[], ..FLAT }, &wrong("threshold", 0, 6));
    flat_refused(FlatForest { flags: &[0; 5], ..FLAT }, &wrong("flags", 5, 6));
    flat_refused(FlatForest { value: &[0.0; 12], ..FLAT }, &wrong("value", 12, 6));
    flat_refused(FlatForest { tree_output: &[-1, -1], base: &[0.0, 0.0], ..FLAT }, &wrong("value", 6, 12));
    flat_refused(FlatForest { cover: Some(&[1.0]), ..FLAT }, &wrong("cover", 1, 6));
    flat_refused(FlatForest { tree_output: &[0], ..FLAT }, &wrong("tree_output", 2, 3));
    flat_refused(FlatForest { category_offsets: &[0], ..FLAT }, &wrong("category_offsets", 1, 2));
}

#[test]
fn flat_arrays_with_bad_offsets() {
    let wrong = |name: &str, total: usize| format!("`{name}` must start at 0, never decrease and end at {total}");
    for offsets in [[1, 3, 6], [0, 7, 6], [0, 3, 5], [0, -1, 6], [0, 3, i64::MAX], [i64::MIN, 3, 6]] {
        flat_refused(FlatForest { tree_offsets: &offsets, ..FLAT }, &wrong("tree_offsets", 6));
    }
    for offsets in [[1, 2], [0, 1], [0, 3], [0, -1]] {
        flat_refused(FlatForest { category_offsets: &offsets, ..FLAT }, &wrong("category_offsets", 2));
    }
    // An empty tree between two others.
    let empty = FlatForest { tree_offsets: &[0, 3, 3, 6], tree_output: &[0; 3], ..FLAT };
    flat_refused(empty, "tree 1, node 0: the tree has no nodes; even a constant is one leaf");
    let twice = FlatForest { category_nodes: &[3, 3], category_offsets: &[0, 1, 2], ..FLAT };
    flat_refused(twice, "`category_nodes` does not increase at entry 1");
}

#[test]
fn flat_arrays_with_bad_entries() {
    flat_refused(FlatForest { left: &[1, -1, -1, -7, -1, -1], ..FLAT }, "tree 1, node 0: its left child is -7");
    flat_refused(FlatForest { right: &[2, -1, -1, -1, -1, -1], ..FLAT }, "tree 1, node 0: its right child is -1");
    flat_refused(FlatForest { left: &[1, -1, 0, 1, -1, -1], ..FLAT }, "tree 0, node 2: its right child is -1");
    flat_refused(
        FlatForest { left: &[1, -1, -1, 9, -1, -1], ..FLAT },
        "tree 1, node 0: its left child is node 9, but the tree has 3 nodes",
    );
    flat_refused(FlatForest { feature: &[-1, 0, 0, 0, 0, 0], ..FLAT }, "tree 0, node 0: its feature is -1");
    flat_refused(
        FlatForest { feature: &[1, 0, 0, 2, 0, 0], ..FLAT },
        "tree 1, node 0: it splits on feature 2, but the forest has 2 features",
    );
    flat_refused(FlatForest { threshold: &[f64::NAN; 6], ..FLAT }, "tree 0, node 0: its threshold is NaN");
    flat_refused(
        FlatForest { value: &[0.0, 1.0, 2.0, 0.0, 3.0, f64::INFINITY], ..FLAT },
        "tree 1, node 2: its leaf value is inf, not a finite number",
    );
    flat_refused(
        FlatForest { flags: &[24, 0, 0, 32, 0, 0], ..FLAT },
        "tree 0, node 0: its flags 24 say both that NaN is zero and that zero is missing",
    );
    let without_set = FlatForest { flags: &[32, 0, 0, 32, 0, 0], ..FLAT };
    flat_refused(without_set, "tree 0, node 0: it is categorical, but no category set is given for it");
    flat_refused(
        FlatForest { tree_output: &[0, 1], ..FLAT },
        "tree 1, node 0: the tree adds to output 1, but the forest has 1 outputs",
    );
    flat_refused(
        FlatForest { tree_output: &[0, -2], ..FLAT },
        "tree 1, node 0: the tree's output is -2; outputs are numbered from 0, -1 for all of them",
    );
    flat_refused(
        FlatForest { tree_output: &[0, -1], base: &[0.0, 0.0], ..FLAT },
        "array `value` has 6 entries where 9 belong",
    );
    flat_refused(FlatForest { base: &[], ..FLAT }, "a forest needs at least one output (one base value each)");
    // Vector leaves of no outputs at all.
    flat_refused(
        FlatForest { base: &[], value: &[], tree_output: &[-1, -1], ..FLAT },
        "a forest needs at least one output (one base value each)",
    );
}

fn input_error<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    let error = result.expect_err("bad input");
    assert!(matches!(error, Error::Input { .. } | Error::Columns { .. }), "not an input error: {error}");
    error.to_string()
}

#[test]
fn rows_players_and_weights_that_do_not_fit() {
    let forest = FLAT.build().expect("a valid forest");
    let cells = [0.0; 12];
    let rows = |len: usize, width: usize| Rows::new(&cells[..len * width], len, width).expect("cells enough");
    let job = Job::new(1);
    let new = |players: &Players, z: &Rows<'_>, weights: Option<&[f64]>| {
        let builder = Explainer::builder(&forest).players(players).background(z);
        input_error(if let Some(weights) = weights { builder.weights(weights) } else { builder }.build(&job))
    };
    let two = Players::single(2);
    assert_eq!(input_error(Rows::new(&cells[..], 5, 2)), "12 cells were given for 5 rows of 2 columns");
    assert!(Rows::new(&cells[..], usize::MAX, 2).is_err());
    assert_eq!(new(&two, &rows(4, 3), None), "the background has 3 columns, but the model has 2 features");
    assert_eq!(new(&Players::single(3), &rows(4, 2), None), "the players map 3 features, but the model has 2");
    assert!(new(&two, &rows(0, 2), None).starts_with("the background has no rows"));
    assert_eq!(new(&two, &rows(2, 2), Some(&[1.0])), "1 weights were given for 2 background rows");
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let want = format!("the weight of background row 1 is {bad}; weights are finite and not negative");
        assert_eq!(new(&two, &rows(2, 2), Some(&[1.0, bad])), want);
    }
    assert!(new(&two, &rows(2, 2), Some(&[0.0, 0.0])).starts_with("the background weights sum to 0"));
    assert!(new(&two, &rows(2, 2), Some(&[f64::MAX, f64::MAX])).starts_with("the background weights sum to inf"));
    assert_eq!(
        input_error(Players::grouped(vec![0, 2], 2)),
        "feature 1 is mapped to player 2, but there are only 2 players (0 to 1)"
    );

    let weightless = Explainer::builder(&forest).weights(&[1.0]).build(&job);
    assert!(input_error(weightless).starts_with("weights belong to background rows"));
    let explainer = Explainer::builder(&forest).background(&rows(2, 2)).build(&job).expect("a valid case");
    let wide = rows(1, 3);
    for engine in ENGINES {
        let problem = input_error(explainer.explain(&wide, Index::Shapley, engine, &job));
        assert_eq!(problem, "the data has 3 columns, but the model has 2 features");
    }
    let problem = input_error(explainer.explain_pairs(&rows(1, 2), Some(&wide), &job));
    assert_eq!(problem, "the background has 3 columns, but the model has 2 features");
}

#[test]
fn cancelled_work_says_so() {
    let forest = FLAT.build().expect("a valid forest");
    let cells = [0.0; 4];
    let rows = Rows::new(&cells[..], 2, 2).expect("cells enough");
    let explainer = Explainer::builder(&forest).background(&rows).build(&Job::new(1)).expect("a valid case");
    for threads in [1, 2] {
        let job = Job::new(threads);
        job.cancel();
        for engine in ENGINES {
            let values = explainer.explain(&rows, Index::Shapley, engine, &job);
            assert_eq!(values, Err(Error::Cancelled), "{engine:?}, {threads} threads");
        }
        assert_eq!(explainer.explain_pairs(&rows, None, &job), Err(Error::Cancelled));
        assert_eq!(Error::Cancelled.to_string(), "the call was cancelled");
    }
    for engine in ENGINES {
        let job = Job::new(2);
        // An interrupted call leaves the explainer as it was.
        explainer.explain(&rows, Index::Shapley, engine, &job).expect("not cancelled");
        assert!((job.fraction() - 1.0).abs() < f64::EPSILON, "{engine:?} is done: {}", job.fraction());
    }
}

#[test]
fn a_hierarchy_says_what_does_not_fit() {
    let forest = FLAT.build().expect("a valid forest");
    let (cells, job) = ([0.0; 4], Job::new(1));
    let rows = Rows::new(&cells[..], 2, 2).expect("cells enough");
    let explainer = Explainer::builder(&forest).background(&rows).build(&job).expect("a valid case");
    let other = Hierarchy::new(3, vec![3; 3], vec![false]).expect("three players side by side");
    let problem = input_error(explainer.explain_members(&rows, &other, &job));
    assert_eq!(problem, "the hierarchy has 3 players, but the explainer has 2");
    let problem = input_error(Hierarchy::new(2, vec![2], vec![false]));
    assert!(problem.starts_with("`parent` and `ordered` have 1 and 1 entries"), "{problem}");
}

#[test]
fn a_plan_is_for_its_number_of_rows() {
    let forest = FLAT.build().expect("a valid forest");
    let (cells, job) = ([0.0; 6], Job::new(1));
    let rows = Rows::new(&cells[..], 3, 2).expect("cells enough");
    let explainer = Explainer::builder(&forest).background(&rows).build(&job).expect("a valid case");
    let plan = explainer.plan(3, Index::Shapley, Engine::Auto);
    let values = explainer.explain(&rows, Index::Shapley, Engine::Auto, &job).expect("values");
    assert_eq!(explainer.carry_out(&plan, &rows, &job), Ok(values));
    let one = explainer.plan(1, Index::Banzhaf, Engine::Auto).reason;
    assert!(one.starts_with("2 of 2 trees") && one.contains("for 1 row and 3 background rows"), "{one}");
    let problem = input_error(explainer.carry_out(&plan, &rows.slice(0, 2), &job));
    assert_eq!(problem, "the plan is for 3 rows, but 2 are given");
}
