//! Path-dependent values: no background, but the share of the training rows that went each way.
//!
//! A player that has not joined follows each of its splits with the share of training rows that did. On one path the
//! players are then independent: with $r_j$ the product of the shares of player j's edges, the chance to reach the
//! leaf, when everybody has joined with chance t, is a product over the players of
//!
//! $$f_j(t) = t\,[\text{x satisfies j's splits}] + (1-t)\, r_j,$$
//!
//! and an index is the same integral of its derivatives as in the pattern engine, whose tables this engine spares.

use crate::engine::codes::{CodedRows, SET};
use crate::engine::compiled::{Child, Compiled, CompiledTree, Place};
use crate::engine::traversal::Leaf;
use crate::error::Result;
use crate::index::{Diagonal, Index, Integral};
use crate::job::{Progress, Workers};
use crate::rows::Rows;
use crate::simd::{Kernel, widest};
use crate::weights::QuadratureNode;

/// The ratios $r_j$ of every leaf, for the distinct players of its path in the order they come up.
pub(crate) fn path_ratios(tree: &CompiledTree) -> Vec<Vec<f64>> {
    let mut ratios = vec![Vec::new(); tree.values.len() / tree.width];
    descend(tree, |_, _| true, |leaf, path| ratios[leaf] = path.iter().map(|p| p.ratio).collect());
    ratios
}

/// The mean over the training rows as the model remembers them: every leaf with the product of its ratios.
pub(crate) fn expected_value(compiled: &Compiled, base: &[f64]) -> Vec<f64> {
    let mut expected = base.to_vec();
    for tree in &compiled.trees {
        descend(
            tree,
            |_, _| true,
            |number, path| {
                let chance = path.iter().map(|p| p.ratio).product();
                Leaf::of(tree, number).add(chance, &mut expected, 0, compiled.n_outputs);
            },
        );
    }
    expected
}

/// Adds the path-dependent index of every row, summed over some of the trees, to `out`.
pub(crate) fn explain_cover(
    compiled: &Compiled,
    trees: &[usize],
    rows: &Rows<'_>,
    index: Index,
    out: &mut [f64],
    workers: &Workers,
    progress: &Progress,
) -> Result<()> {
    if out.is_empty() || trees.is_empty() {
        return Ok(());
    }
    let cells = out.len() / rows.len();
    let x = CodedRows::new(&compiled.columns, rows, workers)?;
    let integrals: Vec<Integral> = trees.iter().map(|&t| index.integral(compiled.trees[t].max_path)).collect();
    progress.expect(x.n_sets());
    workers.fill(out, SET * cells, |set, out| {
        let mut left = Vec::new();
        let mut room = Room::default();
        for (&t, integral) in trees.iter().zip(&integrals) {
            let tree = &compiled.trees[t];
            x.passing(set, tree.splits.iter().map(|s| s.test), &mut left);
            for (r, sums) in out.chunks_exact_mut(cells).enumerate() {
                let satisfied = |n: usize, to_left: bool| (left[n] >> r & 1 == 1) == to_left;
                descend(tree, satisfied, |number, path| room.leaf(compiled, tree, number, path, integral, sums));
            }
            if progress.is_cancelled() {
                break;
            }
        }
        progress.step()
    })
}

/// A player on the path: whether x satisfies all its splits so far, and the product of their shares.
#[derive(Debug, Clone, Copy)]
struct OnPath {
    player: u32,
    satisfied: bool,
    ratio: f64,
}

/// Visits every leaf with the distinct players of its path.
fn descend(tree: &CompiledTree, satisfied: impl Fn(usize, bool) -> bool, mut leaf: impl FnMut(usize, &[OnPath])) {
    enum Step {
        Enter { child: Child, split: usize, left: bool },
        Restore { at: usize, before: Option<OnPath> },
    }
    let mut path: Vec<OnPath> = Vec::new();
    let mut position = vec![usize::MAX; tree.players.len()];
    let mut stack = Vec::new();
    let arrive =
        |child: Child, path: &[OnPath], stack: &mut Vec<Step>, leaf: &mut dyn FnMut(usize, &[OnPath])| match child
            .place()
        {
            Place::Leaf(number) => leaf(number, path),
            Place::Split(split) => {
                stack.push(Step::Enter { child: tree.splits[split].right, split, left: false });
                stack.push(Step::Enter { child: tree.splits[split].left, split, left: true });
            }
        };
    arrive(tree.root, &path, &mut stack, &mut leaf);
    while let Some(step) = stack.pop() {
        match step {
            Step::Restore { at, before: Some(before) } => path[at] = before,
            Step::Restore { before: None, .. } => {
                position[path.pop().expect("a player was entered").player as usize] = usize::MAX;
            }
            Step::Enter { child, split, left } => {
                let player = tree.splits[split].player;
                let share = tree.shares[split][usize::from(!left)];
                let here = OnPath { player, satisfied: satisfied(split, left), ratio: share };
                let at = position[player as usize];
                if let Some(on_path) = path.get_mut(at) {
                    stack.push(Step::Restore { at, before: Some(*on_path) });
                    on_path.satisfied &= here.satisfied;
                    on_path.ratio *= here.ratio;
                } else {
                    position[player as usize] = path.len();
                    stack.push(Step::Restore { at: path.len(), before: None });
                    path.push(here);
                }
                arrive(child, &path, &mut stack, &mut leaf);
            }
        }
    }
}

/// Room for one leaf, kept from leaf to leaf.
#[derive(Default)]
struct Room {
    /// The derivative of each player's factor over the factor: at every node, player after player.
    slopes: Vec<f64>,
    product: Vec<f64>,
    /// The second derivatives: for every player, those with the players before it.
    seconds: Vec<f64>,
}

impl Room {
    fn leaf(
        &mut self,
        compiled: &Compiled,
        tree: &CompiledTree,
        number: usize,
        path: &[OnPath],
        integral: &Integral,
        sums: &mut [f64],
    ) {
        // A player whom x fails and no training row followed closes the leaf, whoever joins.
        if path.iter().any(|p| !p.satisfied && p.ratio == 0.0) {
            return;
        }
        let leaf = Leaf::of(tree, number);
        let k = compiled.n_outputs;
        let player = |i: usize| tree.players[path[i].player as usize] as usize;
        match integral {
            Integral::Single(nodes) => {
                self.at(path, nodes);
                for (i, first) in self.firsts(path.len()).into_iter().enumerate() {
                    leaf.add(first, sums, player(i), k);
                }
            }
            Integral::Pair { off, diagonal, single } => {
                let p = compiled.n_players;
                let mut on: Vec<f64> = match diagonal {
                    Diagonal::MainEffect => (0..path.len()).map(|i| main_effect(path, i)).collect(),
                    Diagonal::Remainder => {
                        self.at(path, single);
                        self.firsts(path.len())
                    }
                };
                self.at(path, off);
                self.seconds(path.len());
                for i in 0..path.len() {
                    for j in 0..i {
                        let both = self.seconds[i * (i.max(1) - 1) / 2 + j];
                        leaf.add(both, sums, player(i) * p + player(j), k);
                        leaf.add(both, sums, player(j) * p + player(i), k);
                        if *diagonal == Diagonal::Remainder {
                            on[i] -= both;
                            on[j] -= both;
                        }
                    }
                }
                for (i, on) in on.into_iter().enumerate() {
                    leaf.add(on, sums, player(i) * (p + 1), k);
                }
            }
        }
    }

    /// The product of all factors, and each one's slope, at every node.
    fn at(&mut self, path: &[OnPath], nodes: &[QuadratureNode]) {
        self.product.clear();
        self.slopes.clear();
        for node in nodes {
            let mut product = node.weight;
            for on_path in path {
                let joined = f64::from(u8::from(on_path.satisfied));
                let factor = node.t * joined + (1.0 - node.t) * on_path.ratio;
                product *= factor;
                self.slopes.push((joined - on_path.ratio) / factor);
            }
            self.product.push(product);
        }
    }

    /// The first derivatives of k players.
    fn firsts(&self, k: usize) -> Vec<f64> {
        let mut firsts = vec![0.0; k];
        for (g, slopes) in self.product.iter().zip(self.slopes.chunks_exact(k.max(1))) {
            firsts.iter_mut().zip(slopes).for_each(|(first, slope)| *first += g * slope);
        }
        firsts
    }

    /// Fills in the second derivatives of all pairs of k players.
    fn seconds(&mut self, k: usize) {
        self.seconds.clear();
        self.seconds.resize(k * k.saturating_sub(1) / 2, 0.0);
        widest(Seconds { k, product: &self.product, slopes: &self.slopes, sums: &mut self.seconds });
    }
}

/// Sums over the nodes: long paths have many pairs, and here the players of a node stand side by side.
struct Seconds<'a> {
    k: usize,
    product: &'a [f64],
    slopes: &'a [f64],
    sums: &'a mut [f64],
}

impl Kernel for Seconds<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut sums = self.sums;
        for i in 1..self.k {
            let (these, rest) = sums.split_at_mut(i);
            for (g, slopes) in self.product.iter().zip(self.slopes.chunks_exact(self.k)) {
                let slope = g * slopes[i];
                these.iter_mut().zip(slopes).for_each(|(sum, other)| *sum += slope * other);
            }
            sums = rest;
        }
    }
}

/// The change when player i alone joins.
fn main_effect(path: &[OnPath], i: usize) -> f64 {
    let others: f64 = path.iter().enumerate().filter(|&(j, _)| j != i).map(|(_, p)| p.ratio).product();
    (f64::from(u8::from(path[i].satisfied)) - path[i].ratio) * others
}
