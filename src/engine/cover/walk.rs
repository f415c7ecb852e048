//! One walk of a tree for a block of rows, depth first.

use super::bottoms::{BITS, Bottoms, Tables};
use super::lanes::{Sides, Split, add_products, down};
use super::levels::{Level, Met, Size, Standing};
use super::nodes::{MOST_NODES, Nodes};
use super::numbers::Numbers;
use super::pairs::{Gainer, Others};
use super::sums::Sums;
use crate::engine::compiled::{Child, CompiledTree, Place};
use crate::simd::{Aligned, Factors, MOST_ROWS, Outcomes};

/// A step of the walk.
#[derive(Clone, Copy)]
enum Step {
    Enter { split: usize, from: usize },
    Side(usize),
    Leave,
}

/// The memory of a walk, kept from tree to tree.
#[derive(Default)]
pub(super) struct Room {
    steps: Vec<Step>,
    /// The root is at level 1; what it is worth goes to level 0.
    levels: Vec<Level>,
    /// How many levels are as large as this tree needs.
    fitted: usize,
    path: Vec<Standing>,
    /// The position of each player of the tree on the path.
    position: Vec<usize>,
    /// What the player of a split gains, row by row.
    gains: Numbers,
    /// How much more likely each row goes left if the player has joined.
    way: Numbers,
    others: Others,
    pub(super) tables: Tables,
}

/// Not on the path.
const NOWHERE: usize = usize::MAX;

/// A walk of one tree.
pub(super) struct Walk<'a, 'b> {
    pub(super) tree: &'a CompiledTree,
    /// The position of each of the tree's players in the sums.
    pub(super) players: &'a [u32],
    pub(super) bottoms: &'a Bottoms,
    pub(super) nodes: &'a Nodes<'a>,
    pub(super) size: Size,
    /// The rows that go left at each split, one bit each.
    pub(super) left: &'a [u64],
    /// The rows that there are.
    pub(super) members: u64,
    pub(super) room: &'a mut Room,
    pub(super) sums: &'a mut Sums<'b>,
}

impl Walk<'_, '_> {
    #[inline(always)]
    pub(super) fn run(&mut self) {
        let Place::Split(root) = self.tree.root.place() else { return };
        self.room.path.clear();
        self.room.position.clear();
        self.room.position.resize(self.tree.players.len(), NOWHERE);
        self.room.gains.fit(self.size.rows);
        self.room.way.fit(self.size.rows);
        self.room.others.begin(self.nodes.all, self.size.rows);
        let mut level = 0;
        self.room.fitted = 0;
        self.make_room(1);
        self.room.levels[1].begin(self.nodes.all, self.size.rows);
        self.room.steps.push(Step::Enter { split: root, from: 0 });
        while let Some(step) = self.room.steps.pop() {
            match step {
                Step::Enter { split, from } => {
                    level += 1;
                    self.enter(split, level, from);
                }
                Step::Side(side) => self.side(level, side),
                Step::Leave => {
                    self.leave(level);
                    level -= 1;
                }
            }
        }
    }

    /// Makes sure that there are levels down to this one.
    #[inline(always)]
    fn make_room(&mut self, level: usize) {
        while self.room.fitted <= level {
            if self.room.levels.len() <= self.room.fitted {
                self.room.levels.push(Level::default());
            }
            self.room.levels[self.room.fitted].fit(self.size);
            self.room.fitted += 1;
        }
    }

    /// The split, coming from a side of the split above.
    #[inline(always)]
    fn met(&self, split: usize, from: usize) -> Met {
        let player = self.tree.splits[split].player;
        let at = self.room.position[player as usize];
        let fresh = at == NOWHERE;
        let at = if fresh { self.room.path.len() } else { at };
        let above = if fresh { Standing { player, ratio: 1.0, rows: u64::MAX } } else { self.room.path[at] };
        Met { split, from, at, fresh, above, skipped: [false; 2] }
    }

    #[inline(always)]
    fn enter(&mut self, split: usize, level: usize, from: usize) {
        self.make_room(level + 1);
        let met = self.met(split, from);
        let room = &mut *self.room;
        if met.fresh {
            room.position[met.above.player as usize] = met.at;
            room.path.push(met.above);
        }
        room.levels[level].meet(met, self.nodes, self.left[split], self.tree.shares[split]);
        room.steps.extend([Step::Leave, Step::Side(1), Step::Side(0)]);
    }

    /// Goes down to a side of a split, unless it is a leaf.
    #[inline(always)]
    fn side(&mut self, level: usize, side: usize) {
        let Some(Met { split, at, above, .. }) = self.room.levels[level].met else { return };
        let share = self.tree.shares[split][side];
        let rows = above.rows & if side == 0 { self.left[split] } else { !self.left[split] };
        let below = Standing { ratio: above.ratio * share, rows, ..above };
        if below.ratio == 0.0 && rows & self.members == 0 {
            self.room.levels[level].met.iter_mut().for_each(|met| met.skipped[side] = true);
            return;
        }
        let Place::Split(split) = children(self.tree, split)[side].place() else { return };
        self.put(at, below);
        if let Some(bottom) = self.bottoms.at(split) {
            match (self.bottoms.parts(bottom).len(), self.bottoms.eights(bottom)) {
                (1, _) => self.bottom::<1, 1>(level, side, share, bottom),
                (2, 1) => self.bottom::<2, 1>(level, side, share, bottom),
                (2, _) => self.bottom::<2, 2>(level, side, share, bottom),
                (3, 1) => self.bottom::<3, 1>(level, side, share, bottom),
                (3, _) => self.bottom::<3, 2>(level, side, share, bottom),
                _ => self.bottom::<BITS, 2>(level, side, share, bottom),
            }
            return;
        }
        let (here, below) = self.room.levels.split_at_mut(level + 1);
        let here = &here[level];
        down(&here.products, &here.chances, share, &here.follow[side], &mut below[0].products);
        self.room.steps.push(Step::Enter { split, from: side });
    }

    /// A side that is a bottom of M splits, whose tables are E vectors each: what it is worth, and what its players gain, is
    /// looked up.
    #[inline(always)]
    fn bottom<const M: usize, const E: usize>(&mut self, level: usize, side: usize, share: f64, bottom: usize) {
        let Size { nodes, rows, width } = self.size;
        let room = &mut *self.room;
        let parts = self.bottoms.parts(bottom);
        let known = self.bottoms.known(bottom).iter().map(|&player| room.path[room.position[player as usize]].rows);
        let mut bits = [0; BITS];
        for (bits, rows) in bits.iter_mut().zip(parts.iter().map(|part| self.left[part.split]).chain(known)) {
            *bits = rows;
        }
        let outcomes = Outcomes::new(bits, rows);
        let tables = room.tables.of(bottom, self.bottoms, self.tree, self.nodes);
        let Level { chances, follow, products, worth, .. } = &mut room.levels[level];
        let mut edges = [[0.0; 2]; MOST_NODES];
        for (edge, chance) in edges.iter_mut().zip(chances) {
            *edge = [chance.absent * share, chance.joined];
        }
        let factors = Factors { products, edges: &edges[..nodes], follow: &follow[side] };
        let mut gains = Aligned([[0.0; MOST_ROWS]; M]);
        for (output, tables) in tables.chunks_exact((M + 1) * nodes * E).enumerate().take(width) {
            let worth = &mut worth[side][output * nodes * rows..][..nodes * rows];
            outcomes.look_up::<M, E>(tables, factors, worth, &mut gains);
            for (part, gains) in parts.iter().zip(gains.iter()) {
                let player = self.players[self.tree.splits[part.split].player as usize];
                let sums = self.sums.of_player(player, self.tree.output.first() + output);
                sums.iter_mut().zip(gains).for_each(|(sum, gain)| *sum += gain);
            }
        }
    }

    /// Gives the split's player what it gains, and the split above what this one is worth.
    #[inline(always)]
    fn leave(&mut self, level: usize) {
        let Size { nodes, rows, width } = self.size;
        let room = &mut *self.room;
        let (above, here) = room.levels.split_at_mut(level);
        let here = &here[0];
        let Some(met) = here.met else { return };
        let shares = self.tree.shares[met.split];
        let follow = [&here.follow[0][..], &here.follow[1]];
        let split = Split { products: &here.products, chances: &here.chances, shares, follow };
        room.way.iter_mut().zip(follow[0]).for_each(|(way, to_left)| *way = to_left - shares[0]);
        let known = leaf_values(self.tree, &met);
        for output in 0..width {
            let place = output * nodes * rows..(output + 1) * nodes * rows;
            let sides = Sides {
                leaves: known.map(|known| known.map(|values| values[output % values.len()])),
                subtrees: [&here.worth[0][place.clone()], &here.worth[1][place.clone()]],
            };
            let out = &mut above[level - 1].worth[met.from][place];
            let cell_output = self.tree.output.first() + output;
            if self.sums.of_pairs() {
                split.up::<false>(&sides, out, room.others.gains());
                let gainer = Gainer { at: met.at, output: cell_output, way: &room.way };
                room.others.give(self.nodes.all, &room.path, self.players, &gainer, self.sums);
            } else {
                split.up::<true>(&sides, out, &mut room.gains);
                let sums = self.sums.of_player(self.players[met.above.player as usize], cell_output);
                add_products(sums, &room.gains, &room.way);
            }
        }
        if met.fresh {
            room.path.pop();
            room.position[met.above.player as usize] = NOWHERE;
        } else {
            self.put(met.at, met.above);
        }
    }

    /// Changes how a player of the path stands.
    #[inline(always)]
    fn put(&mut self, at: usize, standing: Standing) {
        self.room.path[at] = standing;
        if self.sums.of_pairs() {
            self.room.others.put(at, standing.ratio, self.nodes.all);
        }
    }
}

#[inline(always)]
fn children(tree: &CompiledTree, split: usize) -> [Child; 2] {
    [tree.splits[split].left, tree.splits[split].right]
}

/// The worth of each side of a split that is a leaf or is skipped: it is the same for all rows and nodes. A single
/// number serves all outputs.
#[inline(always)]
fn leaf_values<'a>(tree: &'a CompiledTree, met: &Met) -> [Option<&'a [f64]>; 2] {
    let children = children(tree, met.split);
    let side = |side: usize| match children[side].place() {
        _ if met.skipped[side] => Some(&[0.0][..]),
        Place::Leaf(leaf) => Some(values(tree, leaf)),
        Place::Split(_) => None,
    };
    [side(0), side(1)]
}

#[inline(always)]
fn values(tree: &CompiledTree, leaf: usize) -> &[f64] {
    &tree.values[leaf * tree.width..][..tree.width]
}
