//! Path-dependent values of trees with up to 40 players on a path, too many for the sum over all coalitions.
//!
//! A leaf is worth $v \prod_{j \in S} o_j \prod_{j \notin S} r_j$ to a coalition S of the players of its path. How many
//! players S has is all that an index asks, so the coefficients of $\prod_j (r_j + o_j y)$ are enough: no quadrature.

use arborshap::forest::{Categories, Node, Output, Split, Test, Tree};
use arborshap::{Engine, Explainer, Forest, Index, Job, Players};

use crate::support::choices::Choices;
use crate::support::engines::{INDICES, assert_close, assert_same, explain};
use crate::support::inputs::{Matrix, matrix};

/// A tree that is one long path, with a leaf or a stump beside every split of it.
struct Caterpillar {
    nodes: Vec<Node>,
    values: Vec<f64>,
    cover: Vec<f64>,
    width: usize,
}

impl Caterpillar {
    fn new(c: &mut Choices, n_features: usize, depth: usize, width: usize) -> Self {
        let mut tree = Self { nodes: vec![Node::Leaf(0)], values: Vec::new(), cover: vec![64.0], width };
        let mut at = 0;
        for level in 0..depth {
            // Every feature once, then any of them again.
            let feature = if level < n_features { level } else { c.below(n_features) };
            let mut children = tree.split(c, at, feature);
            if c.flag() {
                children.reverse();
            }
            at = children[0];
            if c.one_in(4) {
                let feature = c.below(n_features);
                let leaves = tree.split(c, children[1], feature);
                for leaf in leaves {
                    tree.leaf(c, leaf);
                }
            } else {
                tree.leaf(c, children[1]);
            }
        }
        tree.leaf(c, at);
        tree
    }

    /// Makes a node a split, which now and then no training row passes; its children.
    fn split(&mut self, c: &mut Choices, node: usize, feature: usize) -> [usize; 2] {
        let left = self.nodes.len();
        let share = c.of(&[0.5, 0.25, 0.9, 0.625, 0.75, 0.125, 0.0, 1.0]);
        let mut split = Split::at(feature as u32, c.of(&[0.0, 0.5, 1.0]), left as u32, left as u32 + 1);
        split.default_left = c.flag();
        if c.one_in(5) {
            let categories = Categories::new(&[0, 1]);
            split.test = Test::Member { categories, members_left: c.flag(), negative_fraction_is_zero: false };
        }
        self.nodes[node] = Node::Split(split);
        self.nodes.extend([Node::Leaf(0), Node::Leaf(0)]);
        self.cover.extend([self.cover[node] * share, self.cover[node] * (1.0 - share)]);
        [left, left + 1]
    }

    fn leaf(&mut self, c: &mut Choices, node: usize) {
        self.nodes[node] = Node::Leaf((self.values.len() / self.width) as u32);
        self.values.extend((0..self.width).map(|_| c.below(61) as f64 / 10.0 - 3.0));
    }

    fn tree(&self) -> Tree {
        let output = if self.width == 1 { Output::One(0) } else { Output::All };
        Tree::new(self.nodes.clone(), self.values.clone(), output).with_cover(self.cover.clone())
    }

    /// Adds what every leaf gives to a row.
    fn add(&self, index: Index, x: impl Fn(usize) -> f64, players: &Players, out: &mut [f64]) {
        let mut pending = vec![(0_usize, Vec::<Member>::new())];
        while let Some((n, path)) = pending.pop() {
            let split = match &self.nodes[n] {
                Node::Split(split) => split,
                Node::Leaf(leaf) => {
                    let values = &self.values[*leaf as usize * self.width..][..self.width];
                    add_leaf(index, &path, values, players.count(), out);
                    continue;
                }
            };
            let goes_left = split.goes_left(x(split.feature as usize));
            let children = [split.left as usize, split.right as usize];
            let all: f64 = children.iter().map(|&child| self.cover[child]).sum();
            for (child, goes) in [(children[0], goes_left), (children[1], !goes_left)] {
                let ratio = if all > 0.0 { self.cover[child] / all } else { 0.5 };
                let player = players.of(split.feature as usize);
                let mut below = path.clone();
                let known = below.iter().position(|member| member.player == player);
                let at = known.unwrap_or(below.len());
                if known.is_none() {
                    below.push(Member { player, passes: 1.0, ratio: 1.0 });
                }
                below[at].passes *= f64::from(u8::from(goes));
                below[at].ratio *= ratio;
                pending.push((child, below));
            }
        }
    }
}

/// A player of a path: o and r.
#[derive(Clone, Copy)]
struct Member {
    player: usize,
    passes: f64,
    ratio: f64,
}

/// The sum over all coalitions of the players besides some, by a weight that depends on their number.
fn sum_over(path: &[Member], without: &[usize], weight: impl Fn(usize) -> f64) -> f64 {
    let mut by_size = vec![1.0];
    for (_, member) in path.iter().enumerate().filter(|(j, _)| !without.contains(j)) {
        by_size.push(0.0);
        for s in (0..by_size.len()).rev() {
            by_size[s] = member.ratio * by_size[s] + if s > 0 { member.passes * by_size[s - 1] } else { 0.0 };
        }
    }
    by_size.iter().enumerate().map(|(s, sum)| weight(s) * sum).sum()
}

/// `a! b! / (a + b + 1)!`
fn ratio_of_factorials(a: usize, b: usize) -> f64 {
    (1..=a).fold(1.0 / (a + b + 1) as f64, |w, i| w * i as f64 / (b + i) as f64)
}

fn add_leaf(index: Index, path: &[Member], values: &[f64], p: usize, out: &mut [f64]) {
    let k = path.len();
    let change = |i: usize| path[i].passes - path[i].ratio;
    let single = |i: usize| {
        change(i)
            * sum_over(path, &[i], |s| match index {
                Index::Banzhaf => 0.5_f64.powi(k as i32 - 1),
                _ => ratio_of_factorials(s, k - s - 1),
            })
    };
    let both = |i: usize, j: usize| {
        change(i)
            * change(j)
            * sum_over(path, &[i, j], |s| match index {
                Index::Taylor => ratio_of_factorials(s, k - s - 1),
                _ => 0.5 * ratio_of_factorials(s, k - s - 2),
            })
    };
    let mut give = |cell: usize, gain: f64| {
        out[cell * values.len()..].iter_mut().zip(values).for_each(|(out, value)| *out += gain * value);
    };
    for i in 0..k {
        let one = path[i].player;
        if index.order() == 1 {
            give(one, single(i));
            continue;
        }
        let mut on = match index {
            Index::Taylor => change(i) * sum_over(path, &[i], |s| f64::from(u8::from(s == 0))),
            _ => single(i),
        };
        for j in 0..i {
            let (other, both) = (path[j].player, both(i, j));
            give(one * p + other, both);
            give(other * p + one, both);
            if index == Index::Interaction {
                on -= both;
                give(other * (p + 1), -both);
            }
        }
        give(one * (p + 1), on);
    }
}

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
                let got = explain(Engine::Traversal, &explainer, &x, index, 1);
                let cells = got.len() / 3;
                let mut want = vec![0.0; got.len()];
                for (row, want) in want.chunks_exact_mut(cells).enumerate() {
                    for tree in &trees {
                        tree.add(index, |f| x.rows().get(row, f), &players, want);
                    }
                }
                assert_close(&got, &want, 10.0, &format!("{n_features} features, {index:?}"));
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
