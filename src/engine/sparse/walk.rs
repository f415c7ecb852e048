//! One tree, one set of rows, all background rows: depth first, two background sets at a time.

use super::leaf::{AtLeaf, Gains};
use super::level::{Level, Standing};
use super::{SETS, Zs};
use crate::engine::codes::CodedRows;
use crate::engine::compiled::{Child, CompiledTree, Place};
use crate::job::Progress;
use crate::simd::Kernel;

/// The walk of one tree for up to [`SET`](crate::engine::codes::SET) rows.
pub(super) struct TreeWalk<'a> {
    pub(super) gains: &'a Gains<'a>,
    pub(super) tree: &'a CompiledTree,
    pub(super) x: &'a CodedRows,
    pub(super) x_set: usize,
    /// How many rows the set has.
    pub(super) n: usize,
    pub(super) sums: &'a mut [f64],
    pub(super) progress: &'a Progress,
}

/// A step of the walk.
enum EdgeStep {
    /// Goes down an edge, from the level above.
    Enter { child: Child, player: u32, left: bool, level: u32, passing: Passing },
    /// Restores the edge's player as it stood before; `last` after the second of a split's edges.
    Restore { position: u32, before: Option<Standing>, last: bool, level: u32 },
}

impl Kernel for TreeWalk<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let background = self.gains.background.rows;
        let Place::Split(root) = self.tree.root.place() else { return };
        let mut way = Way::new(self.tree, self.x, self.x_set, self.n, background);
        let mut leaf = AtLeaf::new(self.gains, self.tree);
        for first in (0..background.n_sets()).step_by(SETS) {
            if self.progress.is_cancelled() {
                return;
            }
            way.first = first;
            let members = way.members();
            leaf.turn_to(first);
            way.levels[0].start(self.n, members);
            way.push_children(root, 1);
            while let Some(step) = way.stack.pop() {
                match step {
                    EdgeStep::Restore { position, before: Some(standing), .. } => {
                        way.path[position as usize] = standing;
                    }
                    EdgeStep::Restore { position, before: None, last, level } => {
                        let player = way.leave();
                        if last {
                            leaf.settle(position as usize, player, way.above(level), self.sums);
                        }
                    }
                    EdgeStep::Enter { child, player, left, level, passing } => {
                        let (standing, before, at) = way.standing(player, left, passing);
                        if !way.enter(standing, before, at, level as usize) {
                            if !left && before.is_none() {
                                leaf.settle(at as usize, player, way.above(level), self.sums);
                            }
                            continue;
                        }
                        way.stack.push(EdgeStep::Restore { position: at, before, last: !left, level });
                        match child.place() {
                            Place::Leaf(number) => {
                                leaf.reached(number, &way.path, &way.levels[level as usize], self.sums);
                            }
                            Place::Split(n) => way.push_children(n, level + 1),
                        }
                    }
                }
            }
        }
    }
}

/// The rows that pass the test of a split and go left.
#[derive(Clone, Copy)]
struct Passing {
    x: u64,
    z: Zs,
}

/// Where a walk is.
struct Way<'a> {
    tree: &'a CompiledTree,
    x: &'a CodedRows,
    x_set: usize,
    background: &'a CodedRows,
    /// The first of the background sets that go down the tree.
    first: usize,
    /// How many rows there are.
    n: usize,
    /// The nodes of the path, from the root down.
    levels: Vec<Level>,
    /// The distinct players of the path.
    path: Vec<Standing>,
    /// Where each player is on the path.
    position: Vec<u32>,
    stack: Vec<EdgeStep>,
}

impl<'a> Way<'a> {
    #[inline(always)]
    fn new(tree: &'a CompiledTree, x: &'a CodedRows, x_set: usize, n: usize, background: &'a CodedRows) -> Self {
        Self {
            tree,
            x,
            x_set,
            background,
            first: 0,
            n,
            levels: vec![Level::TOP],
            path: Vec::new(),
            position: vec![u32::MAX; tree.players.len()],
            stack: Vec::new(),
        }
    }

    /// The members of the background sets.
    #[inline(always)]
    fn members(&self) -> Zs {
        let mut members = [0; SETS];
        for i in 0..SETS {
            if self.first + i < self.background.n_sets() {
                members[i] = self.background.members(self.first + i);
            }
        }
        members
    }

    /// Only splits that some pair reaches are tested: in a deep tree, these are a small part.
    #[inline(always)]
    fn push_children(&mut self, n: usize, level: u32) {
        let split = &self.tree.splits[n];
        let mut passing = Passing { x: self.x.passing_one(self.x_set, split.test), z: [0; SETS] };
        for i in 0..SETS {
            passing.z[i] = self.background.passing_one(self.first + i, split.test);
        }
        let player = split.player;
        self.stack.push(EdgeStep::Enter { child: split.right, player, left: false, level, passing });
        self.stack.push(EdgeStep::Enter { child: split.left, player, left: true, level, passing });
    }

    /// How the player of an edge stands below it, how it stood before, and its position on the path.
    #[inline(always)]
    fn standing(&self, player: u32, left: bool, passing: Passing) -> (Standing, Option<Standing>, u32) {
        let flip = if left { 0 } else { u64::MAX };
        let here = Standing { player, x: passing.x ^ flip, z: [passing.z[0] ^ flip, passing.z[1] ^ flip] };
        let at = self.position[player as usize];
        let before = self.path.get(at as usize).copied();
        (here.and(before), before, if before.is_some() { at } else { self.path.len() as u32 })
    }

    /// Goes down an edge; whether any pair still meets there.
    #[inline(always)]
    fn enter(&mut self, standing: Standing, before: Option<Standing>, at: u32, level: usize) -> bool {
        if self.levels.len() <= level {
            self.levels.push(Level::TOP);
        }
        let (above, below) = self.levels.split_at_mut(level);
        if !below[0].enter(&above[level - 1], &standing, at, self.n) {
            return false;
        }
        if before.is_some() {
            self.path[at as usize] = standing;
        } else {
            self.position[standing.player as usize] = at;
            self.path.push(standing);
        }
        true
    }

    /// The split that an edge leads down from.
    #[inline(always)]
    fn above(&self, level: u32) -> &Level {
        &self.levels[level as usize - 1]
    }

    /// Takes the last player off the path.
    #[inline(always)]
    fn leave(&mut self) -> u32 {
        let player = self.path.pop().expect("a player was entered").player;
        self.position[player as usize] = u32::MAX;
        player
    }
}
