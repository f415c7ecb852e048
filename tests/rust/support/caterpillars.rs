//! Trees with up to 40 players on a path, too many for the sum over all coalitions, and what their leaves give.
//!
//! A leaf is worth $v \prod_{j \in S} o_j \prod_{j \notin S} r_j$ to a coalition S of the players of its path, where $o_j$
//! says whether x passes player j, and $r_j$ whether z does, or which share of the training rows. How many players S has is
//! all that an index asks, so the coefficients of $\prod_j (r_j + o_j y)$ are enough: no quadrature.

use arborshap::forest::{Categories, Node, Output, Split, Test, Tree};
use arborshap::{Index, Players};

use crate::support::choices::Choices;

/// A tree that is one long path, with a leaf or a stump beside every split of it.
pub(crate) struct Caterpillar {
    pub(crate) nodes: Vec<Node>,
    pub(crate) values: Vec<f64>,
    pub(crate) cover: Vec<f64>,
    pub(crate) width: usize,
}

impl Caterpillar {
    pub(crate) fn new(c: &mut Choices, n_features: usize, depth: usize, width: usize) -> Self {
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

    pub(crate) fn tree(&self) -> Tree {
        let output = if self.width == 1 { Output::One(0) } else { Output::All };
        Tree::new(self.nodes.clone(), self.values.clone(), output).with_cover(self.cover.clone())
    }

    /// Adds what every leaf gives to a row, by the shares of the training rows.
    pub(crate) fn add(&self, index: Index, x: impl Fn(usize) -> f64, players: &Players, out: &mut [f64]) {
        let ratio = |split: &Split, left: bool| {
            let [ours, other] = if left { [split.left, split.right] } else { [split.right, split.left] };
            let [ours, other] = [ours, other].map(|child| self.cover[child as usize]);
            if ours + other > 0.0 { ours / (ours + other) } else { 0.5 }
        };
        self.add_by(index, x, ratio, 1.0, players, out);
    }

    /// Adds what every leaf gives to a row against a background row that has this share of the weights.
    pub(crate) fn add_against(
        &self,
        index: Index,
        x: impl Fn(usize) -> f64,
        (z, share): (impl Fn(usize) -> f64, f64),
        players: &Players,
        out: &mut [f64],
    ) {
        let ratio = |split: &Split, left: bool| f64::from(u8::from(split.goes_left(z(split.feature as usize)) == left));
        self.add_by(index, x, ratio, share, players, out);
    }

    fn add_by(
        &self,
        index: Index,
        x: impl Fn(usize) -> f64,
        ratio: impl Fn(&Split, bool) -> f64,
        factor: f64,
        players: &Players,
        out: &mut [f64],
    ) {
        let mut pending = vec![(0_usize, Vec::<Member>::new())];
        while let Some((n, path)) = pending.pop() {
            // A player that nobody passes keeps every coalition away.
            if path.iter().any(|member| member.passes == 0.0 && member.ratio == 0.0) {
                continue;
            }
            let split = match &self.nodes[n] {
                Node::Split(split) => split,
                Node::Leaf(leaf) => {
                    let values = self.values[*leaf as usize * self.width..][..self.width].iter();
                    let values: Vec<f64> = values.map(|value| factor * value).collect();
                    add_leaf(index, &path, &values, players.count(), out);
                    continue;
                }
            };
            let goes_left = split.goes_left(x(split.feature as usize));
            for (child, left) in [(split.left, true), (split.right, false)] {
                let player = players.of(split.feature as usize);
                let mut below = path.clone();
                let known = below.iter().position(|member| member.player == player);
                let at = known.unwrap_or(below.len());
                if known.is_none() {
                    below.push(Member { player, passes: 1.0, ratio: 1.0 });
                }
                below[at].passes *= f64::from(u8::from(goes_left == left));
                below[at].ratio *= ratio(split, left);
                pending.push((child as usize, below));
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
