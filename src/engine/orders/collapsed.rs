//! Members of groups at a leaf with few players, from its background counts by pattern.
//!
//! In the view of the members of a group, every other block beside them, or beside a group around them, is one player: it
//! satisfies its splits if all its players do. So the counts collapse to a game of the members and these blocks, in which
//! those of each level join with a chance of their own. As in tables, $H[p]$ is the chance that the leaf is reached, and
//! $\partial_i H[p] = H[p] / t - H[p \setminus i] / (t (1-t))$, with $t$ the chance of the members.

use super::members::{Group, Members, grouped};
use crate::engine::tables::LeafGains;
use crate::weights::{QuadratureNode, gauss_legendre};

/// A player of the collapsed game: the bits of its players in a pattern, and how likely it has joined.
#[derive(Debug, Clone, Copy)]
struct Axis {
    mask: usize,
    chance: Chance,
}

/// How likely a block has joined.
#[derive(Debug, Clone, Copy)]
enum Chance {
    /// With the chance of the level of this number.
    Level(usize),
    /// In this very case, because blocks join in order: 1 if it comes before, 0 if after.
    Known(f64),
}

impl LeafGains for Members<'_> {
    fn leaf(&self, players: &[u32], c: &[f64], gains: &mut Vec<f64>) {
        let k = players.len();
        gains.clear();
        gains.resize(c.len() * k, 0.0);
        let groups = grouped(self.hierarchy(), players);
        if groups.is_empty() {
            let [whole, full] = [c.iter().sum::<f64>(), c[c.len() - 1]];
            gains.iter_mut().zip([-full, whole - full]).for_each(|(gain, value)| *gain = value);
            return;
        }
        // Bits of the players of each block, and the group around each block.
        let mut masks: Vec<usize> = (0..k).map(|position| 1 << position).collect();
        let mut around = vec![usize::MAX; k + groups.len()];
        for (g, group) in groups.iter().enumerate() {
            masks.push(group.blocks.iter().map(|&block| masks[block]).sum());
            group.blocks.iter().for_each(|&block| around[block] = g);
        }
        let game = Collapse { groups: &groups, masks: &masks, around: &around, k, c };
        for (g, group) in groups.iter().enumerate() {
            let members = group.blocks.iter().enumerate().filter(|&(_, &block)| block < k);
            if group.ordered {
                for (place, &member) in members {
                    game.run(g, Some(place), &[member], gains);
                }
            } else {
                let members: Vec<usize> = members.map(|(_, &member)| member).collect();
                game.run(g, None, &members, gains);
            }
        }
    }
}

/// The blocks of a leaf, and its background counts.
struct Collapse<'a> {
    groups: &'a [Group],
    masks: &'a [usize],
    around: &'a [usize],
    k: usize,
    c: &'a [f64],
}

impl Collapse<'_> {
    /// Adds what some members of a group get; if its blocks join in order, one of them, with its place.
    fn run(&self, g: usize, place: Option<usize>, members: &[usize], gains: &mut [f64]) {
        if members.is_empty() {
            return;
        }
        let (axes, levels) = self.axes(g, place);
        let of = |pattern: usize| {
            let bit = |(i, axis): (usize, &Axis)| usize::from(pattern & axis.mask == axis.mask) << i;
            axes.iter().enumerate().map(bit).sum::<usize>()
        };
        let collapsed: Vec<usize> = (0..self.c.len()).map(of).collect();
        let mut counts = vec![0.0; 1 << axes.len()];
        collapsed.iter().zip(self.c).for_each(|(&to, c)| counts[to] += c);
        let (mut a, mut b) = (vec![0.0; counts.len()], vec![0.0; counts.len()]);
        each_node(&levels, &mut Vec::new(), 1.0, &mut |t, weight| {
            let mut h = counts.clone();
            for (i, axis) in axes.iter().enumerate() {
                fold(
                    &mut h,
                    1 << i,
                    match axis.chance {
                        Chance::Level(level) => t[level],
                        Chance::Known(chance) => chance,
                    },
                );
            }
            let own = weight / t[0];
            a.iter_mut().zip(&h).for_each(|(a, h)| *a += own * h);
            b.iter_mut().zip(&h).for_each(|(b, h)| *b += own / (1.0 - t[0]) * h);
        });
        for &member in members {
            let bit = 1 << axes.iter().position(|axis| axis.mask == self.masks[member]).expect("members are axes");
            for (pattern, &at) in collapsed.iter().enumerate() {
                gains[pattern * self.k + member] = a[at] - b[at & !bit];
            }
        }
    }

    /// The players of the collapsed game, and the quadrature rule of each level: first that of the members.
    fn axes(&self, g: usize, place: Option<usize>) -> (Vec<Axis>, Vec<Vec<QuadratureNode>>) {
        let (mut axes, mut levels) = (Vec::new(), Vec::new());
        let (mut group, mut own) = (Some(g), place.map(|place| self.groups[g].blocks[place]));
        while let Some(g) = group {
            let Group { ordered, blocks } = &self.groups[g];
            let at = own.and_then(|own| blocks.iter().position(|&block| block == own));
            let level = levels.len();
            for (i, &block) in blocks.iter().enumerate() {
                let chance = match at {
                    // The derivative does not depend on the chance of the member itself, so any will do.
                    Some(at) if i == at && level > 0 => continue,
                    Some(at) if i != at && *ordered => Chance::Known(f64::from(u8::from(i < at))),
                    _ => Chance::Level(level),
                };
                axes.push(Axis { mask: self.masks[block], chance });
            }
            let middle = || vec![QuadratureNode { t: 0.5, weight: 1.0 }];
            levels.push(if *ordered { middle() } else { gauss_legendre(blocks.len().div_ceil(2)) });
            own = Some(self.k + g);
            group = self.around.get(self.k + g).copied().filter(|&outer| outer != usize::MAX);
        }
        (axes, levels)
    }
}

/// Calls `visit` with every choice of one node per level, and the product of their weights.
fn each_node(levels: &[Vec<QuadratureNode>], t: &mut Vec<f64>, weight: f64, visit: &mut impl FnMut(&[f64], f64)) {
    let Some(nodes) = levels.get(t.len()) else { return visit(t, weight) };
    for node in nodes {
        t.push(node.t);
        each_node(levels, t, weight * node.weight, visit);
        t.pop();
    }
}

/// One axis: $(h_0, h_1) \to ((1-t)\, h_1,\; t\, h_0 + h_1)$.
fn fold(h: &mut [f64], half: usize, t: f64) {
    for pair in h.chunks_exact_mut(2 * half) {
        let (h0, h1) = pair.split_at_mut(half);
        h0.iter_mut().zip(h1).for_each(|(h0, h1)| (*h0, *h1) = ((1.0 - t) * *h1, t * *h0 + *h1));
    }
}
