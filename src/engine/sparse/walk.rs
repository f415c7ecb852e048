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
    Enter { child: Child, split: u32, left: bool, level: u32 },
    /// Restores the edge's player as it stood before; `last` after the second of a split's edges.
    Restore { position: u32, before: Option<Standing>, last: bool },
}

impl Kernel for TreeWalk<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let background = self.gains.background.rows;
        let Place::Split(root) = self.tree.root.place() else { return };
        let mut way = Way::new(self.tree);
        let mut leaf = AtLeaf::new(self.gains, self.tree);
        self.x.passing(self.x_set, self.tree.tests(), &mut way.x_left);
        for first in (0..background.n_sets()).step_by(SETS) {
            if self.progress.is_cancelled() {
                return;
            }
            let members = way.take(background, first);
            way.levels[0].start(self.n, members);
            way.push_children(root, 1);
            while let Some(step) = way.stack.pop() {
                match step {
                    EdgeStep::Restore { position, before: Some(standing), .. } => {
                        way.path[position as usize] = standing;
                    }
                    EdgeStep::Restore { position, before: None, last } => {
                        let player = way.leave();
                        if last {
                            leaf.settle(position as usize, player, self.sums);
                        }
                    }
                    EdgeStep::Enter { child, split, left, level } => {
                        let (standing, before, at) = way.standing(split as usize, left);
                        let player = standing.player;
                        if !way.enter(standing, before, at, level as usize) {
                            if !left && before.is_none() {
                                leaf.settle(at as usize, player, self.sums);
                            }
                            continue;
                        }
                        way.stack.push(EdgeStep::Restore { position: at, before, last: !left });
                        match child.place() {
                            Place::Leaf(number) => {
                                leaf.reached(number, &way.path, &way.levels[level as usize], first, self.sums);
                            }
                            Place::Split(n) => way.push_children(n, level + 1),
                        }
                    }
                }
            }
        }
    }
}

/// Where a walk is.
struct Way<'a> {
    tree: &'a CompiledTree,
    /// For each split, which rows go left.
    x_left: Vec<u64>,
    /// For each split, which background rows go left, set by set.
    z_left: [Vec<u64>; SETS],
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
    fn new(tree: &'a CompiledTree) -> Self {
        Self {
            tree,
            x_left: Vec::new(),
            z_left: Default::default(),
            levels: vec![Level::TOP],
            path: Vec::new(),
            position: vec![u32::MAX; tree.players.len()],
            stack: Vec::new(),
        }
    }

    /// Takes the background sets from `first` on: finds out where they go, and returns their members.
    #[inline(always)]
    fn take(&mut self, background: &CodedRows, first: usize) -> Zs {
        let mut members = [0; SETS];
        for (i, z_left) in self.z_left.iter_mut().enumerate() {
            if first + i < background.n_sets() {
                members[i] = background.members(first + i);
                background.passing(first + i, self.tree.tests(), z_left);
            } else {
                z_left.clear();
                z_left.resize(self.tree.splits.len(), 0);
            }
        }
        members
    }

    #[inline(always)]
    fn push_children(&mut self, n: usize, level: u32) {
        let split = &self.tree.splits[n];
        self.stack.push(EdgeStep::Enter { child: split.right, split: n as u32, left: false, level });
        self.stack.push(EdgeStep::Enter { child: split.left, split: n as u32, left: true, level });
    }

    /// How the player of an edge stands below it, how it stood before, and its position on the path.
    #[inline(always)]
    fn standing(&self, n: usize, left: bool) -> (Standing, Option<Standing>, u32) {
        let player = self.tree.splits[n].player;
        let side = |mask: u64| if left { mask } else { !mask };
        let here = Standing { player, x: side(self.x_left[n]), z: [side(self.z_left[0][n]), side(self.z_left[1][n])] };
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
        if !below[0].enter(&above[level - 1], &standing, at) {
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

    /// Takes the last player off the path.
    #[inline(always)]
    fn leave(&mut self) -> u32 {
        let player = self.path.pop().expect("a player was entered").player;
        self.position[player as usize] = u32::MAX;
        player
    }
}
