//! What a leaf gives to the players of its path.

use super::path::OnPath;
use crate::engine::compiled::{Compiled, CompiledTree, Leaf};
use crate::index::{Diagonal, Integral};
use crate::simd::{Kernel, widest};
use crate::weights::QuadratureNode;

/// What a leaf gives to the players of its path. The arrays are kept from leaf to leaf to save allocations.
#[derive(Default)]
pub(super) struct LeafSums {
    /// The derivative of each player's factor, divided by the factor: node after node, player after player.
    slopes: Vec<f64>,
    /// The product of all factors and the node's weight, node after node.
    product: Vec<f64>,
    /// The second derivatives: for every player, those with each player before it.
    seconds: Vec<f64>,
}

impl LeafSums {
    /// Adds what a leaf gives to one row.
    pub(super) fn leaf(
        &mut self,
        compiled: &Compiled,
        tree: &CompiledTree,
        number: usize,
        path: &[OnPath],
        integral: &Integral,
        sums: &mut [f64],
    ) {
        // If x fails a player's splits and no training row passed them, no coalition reaches the leaf.
        if path.iter().any(|p| !p.satisfied && p.ratio == 0.0) {
            return;
        }
        let leaf = Leaf::of(tree, number);
        let k = compiled.n_outputs;
        let player = |i: usize| tree.players[path[i].player as usize] as usize;
        match integral {
            Integral::Single(nodes) => {
                self.factors(path, nodes);
                for (i, first) in self.firsts(path.len()).into_iter().enumerate() {
                    leaf.add(first, sums, player(i), k);
                }
            }
            Integral::Pair { off, diagonal, single } => {
                let p = compiled.n_players;
                let mut on: Vec<f64> = match diagonal {
                    Diagonal::MainEffect => (0..path.len()).map(|i| main_effect(path, i)).collect(),
                    Diagonal::Remainder => {
                        self.factors(path, single);
                        self.firsts(path.len())
                    }
                };
                self.factors(path, off);
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

    /// Evaluates the product of all factors, and the slope of each factor, at every quadrature node.
    fn factors(&mut self, path: &[OnPath], nodes: &[QuadratureNode]) {
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

    /// The integrals of the first derivatives of k players.
    fn firsts(&self, k: usize) -> Vec<f64> {
        let mut firsts = vec![0.0; k];
        for (g, slopes) in self.product.iter().zip(self.slopes.chunks_exact(k.max(1))) {
            firsts.iter_mut().zip(slopes).for_each(|(first, slope)| *first += g * slope);
        }
        firsts
    }

    /// Computes the integrals of the second derivatives of all pairs of k players.
    fn seconds(&mut self, k: usize) {
        self.seconds.clear();
        self.seconds.resize(k * k.saturating_sub(1) / 2, 0.0);
        widest(Seconds { k, product: &self.product, slopes: &self.slopes, sums: &mut self.seconds });
    }
}

/// Sums over the nodes. Long paths have many pairs, so the players of a node stand side by side for vector instructions.
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
