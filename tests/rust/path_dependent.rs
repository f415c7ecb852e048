//! Without a background: a player that has not joined follows the training rows, by the share that went each way.

use arborshap::forest::{Node, Output, Split, Tree};
use arborshap::{Engine, Explainer, Forest, Index, Job, Players};
use proptest::prelude::*;

use crate::support::choices::{Choices, cases, choices};
use crate::support::engines::{ENGINES, INDICES, assert_close, assert_same, explain};
use crate::support::forests::{LARGEST_VALUE, Parts, some_parts};
use crate::support::inputs::{Case, Matrix, matrix};
use crate::support::oracle::{Game, assert_definition};

const SCALE: f64 = 5.0 * LARGEST_VALUE;

/// A tree and the training weight of its nodes.
struct Trained {
    parts: Parts,
    cover: Vec<f64>,
}

impl Trained {
    /// Weight handed down from the root, now and then all of it to one side.
    fn new(c: &mut Choices, parts: Parts) -> Self {
        let mut cover = vec![0.0; parts.nodes.len()];
        cover[0] = 100.0;
        let mut pending = vec![0];
        while let Some(n) = pending.pop() {
            if let Node::Split(split) = &parts.nodes[n] {
                let left = cover[n] * c.of(&[0.5, 0.25, 0.9, 0.0, 1.0, 0.125]);
                cover[split.left as usize] = left;
                cover[split.right as usize] = cover[n] - left;
                pending.extend([split.left as usize, split.right as usize]);
            }
        }
        Self { parts, cover }
    }

    fn tree(&self) -> Tree {
        self.parts.clone().tree().with_cover(self.cover.clone())
    }

    /// Adds what the tree is expected to give when the players in the coalition have the values of x.
    fn add_worth(&self, joined: impl Fn(usize) -> bool, x: impl Fn(usize) -> f64, worth: &mut [f64]) {
        let mut pending = vec![(0_usize, 1.0)];
        while let Some((n, chance)) = pending.pop() {
            match &self.parts.nodes[n] {
                Node::Leaf(leaf) => {
                    let leaf = *leaf as usize;
                    match self.parts.output {
                        Output::One(k) => worth[k] += chance * self.parts.values[leaf],
                        Output::All => {
                            let values = self.parts.values[leaf * worth.len()..].iter();
                            worth.iter_mut().zip(values).for_each(|(worth, v)| *worth += chance * v);
                        }
                    }
                }
                Node::Split(split) => {
                    let (left, right) = (split.left as usize, split.right as usize);
                    if joined(split.feature as usize) {
                        let way = if split.goes_left(x(split.feature as usize)) { left } else { right };
                        pending.push((way, chance));
                    } else {
                        // Where no training row came by, either way is as likely.
                        let share = if self.cover[n] > 0.0 { self.cover[left] / self.cover[n] } else { 0.5 };
                        pending.extend([(left, chance * share), (right, chance * (1.0 - share))]);
                    }
                }
            }
        }
    }
}

/// The trees, players and rows of a case; the background is never looked at.
fn trained(c: &mut Choices) -> (Case, Vec<Trained>) {
    let case = Case::small(c);
    let parts = some_parts(c, case.forest.n_features(), case.forest.n_outputs());
    let trained: Vec<Trained> = parts.into_iter().map(|parts| Trained::new(c, parts)).collect();
    let trees = trained.iter().map(Trained::tree).collect();
    let forest = Forest::new(trees, case.forest.n_features(), case.forest.base().to_vec()).expect("valid trees");
    (Case { forest, ..case }, trained)
}

fn explainer(forest: &Forest, players: &Players) -> Explainer {
    Explainer::builder(forest).players(players).build(&Job::new(1)).expect("all trees have cover")
}

fn game(case: &Case, trees: &[Trained], row: usize) -> Game {
    let x = case.x.rows();
    Game::worth(case.players.count(), case.forest.n_outputs(), |coalition, worth| {
        worth.copy_from_slice(case.forest.base());
        let joined = |feature: usize| coalition >> case.players.of(feature) & 1 == 1;
        for tree in trees {
            tree.add_worth(joined, |feature| x.get(row, feature), worth);
        }
    })
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn every_index_equals_its_definition(mut c in choices()) {
        let (case, trees) = trained(&mut c);
        let explainer = explainer(&case.forest, &case.players);
        let games: Vec<Game> = (0..case.x.len).map(|row| game(&case, &trees, row)).collect();
        assert_definition(&explainer, &case.x, &games, SCALE);
    }
}

/// Paths longer than tables, and than sets of 64 players.
#[test]
fn long_paths() {
    let mut c = Choices::fixed(21, 10_000);
    for d in [1_usize, 5, 13, 14, 40, 64, 70, 130] {
        // h(x) = 1 iff every feature is above 0: with share r on the path at every split, phi is the same for all.
        let mut nodes = Vec::new();
        for i in 0..d as u32 {
            nodes.extend([Node::Split(Split::at(i, 0.0, 2 * i + 1, 2 * i + 2)), Node::Leaf(0)]);
        }
        nodes.push(Node::Leaf(1));
        let share = 0.25 + c.below(50) as f64 / 100.0;
        let cover = (0..nodes.len()).map(|n| {
            let above = share.powi(n as i32 / 2);
            if n % 2 == 0 { above } else { above * (1.0 - share) }
        });
        let cover = cover.collect();
        let tree = Tree::new(nodes, vec![0.0, 1.0], Output::One(0)).with_cover(cover);
        let forest = Forest::new(vec![tree], d, vec![0.0]).expect("a valid path");
        let explainer = explainer(&forest, &Players::single(d));
        let x = Matrix::new(vec![1.0; d], d);
        let want = vec![(1.0 - share.powi(d as i32)) / d as f64; d];
        for engine in ENGINES {
            let got = explain(engine, &explainer, &x, Index::Shapley, 1);
            assert_close(&got, &want, 1.0, &format!("{d} players by {engine:?}"));
        }
    }
}

#[test]
fn any_number_of_threads_and_any_batch() {
    let mut c = Choices::fixed(22, 100_000);
    let trees: Vec<Trained> =
        (0..8).flat_map(|_| some_parts(&mut c, 6, 1)).map(|p| Trained::new(&mut Choices::fixed(3, 99), p)).collect();
    let forest = Forest::new(trees.iter().map(Trained::tree).collect(), 6, vec![0.0]).expect("valid trees");
    let x = matrix(&mut c, &forest, 300, false);
    for engine in ENGINES {
        for index in INDICES {
            let fresh = || explainer(&forest, &Players::single(6));
            let alone = explain(engine, &fresh(), &x, index, 1);
            for threads in [2, 7] {
                assert_same(&explain(engine, &fresh(), &x, index, threads), &alone, "threads");
            }
            let cells = alone.len() / 300;
            for row in [0, 63, 64, 299] {
                let got = explain(engine, &fresh(), &x.row(row), index, 1);
                assert_close(&got, &alone[row * cells..][..cells], SCALE, "a row by itself");
            }
        }
    }
}

/// What is worked out once for a tree is worked out again for every block of rows if the tree has many outputs.
#[test]
fn an_output_does_not_depend_on_how_many_there_are() {
    let (depth, outputs, n_features) = (12_u32, 12_usize, 9_usize);
    let n_splits = (1_u32 << depth) - 1;
    let mut c = Choices::fixed(23, 100_000);
    let mut nodes: Vec<Node> = (0..n_splits)
        .map(|n| Node::Split(Split::at(c.below(n_features) as u32, c.below(7) as f64 / 2.0, 2 * n + 1, 2 * n + 2)))
        .collect();
    nodes.extend((0..=n_splits).map(Node::Leaf));
    let values: Vec<f64> =
        (0..=n_splits as usize).flat_map(|i| (0..outputs).map(move |k| (i * (k + 3) % 17) as f64)).collect();
    let mut cover = vec![1.0; nodes.len()];
    for n in (0..n_splits as usize).rev() {
        cover[n] = cover[2 * n + 1] * c.of(&[0.5, 1.0, 3.0]) + cover[2 * n + 2];
    }
    let explained = |values: Vec<f64>, outputs: usize| {
        let tree = Tree::new(nodes.clone(), values, Output::All).with_cover(cover.clone());
        let forest = Forest::new(vec![tree], n_features, vec![0.0; outputs]).expect("a valid tree");
        let x = Matrix::new((0..100 * n_features).map(|i| (i * i % 11) as f64 / 3.0).collect(), n_features);
        explain(Engine::Traversal, &explainer(&forest, &Players::single(n_features)), &x, Index::Shapley, 1)
    };
    let all = explained(values.clone(), outputs);
    for k in [0, outputs - 1] {
        let alone = explained(values.iter().skip(k).step_by(outputs).copied().collect(), 1);
        let among: Vec<f64> = all.iter().skip(k).step_by(outputs).copied().collect();
        assert_same(&among, &alone, "an output by itself");
    }
}

#[test]
fn needs_the_cover_of_every_tree() {
    let leaf = || Tree::new(vec![Node::Leaf(0)], vec![1.0], Output::One(0));
    let forest = Forest::new(vec![leaf().with_cover(vec![1.0]), leaf()], 1, vec![0.0]).expect("valid trees");
    let error = Explainer::builder(&forest).build(&Job::new(1)).expect_err("no cover");
    assert!(error.to_string().contains("tree 1 has none"), "{error}");
}
