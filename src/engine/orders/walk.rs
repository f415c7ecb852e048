//! The way of a block of rows, and of the background, through one tree.

use super::classes::{Classes, NONE};
use super::others::{OfTree, Others, Source};
use super::rule::Rule;
use super::sums::Sums;
use crate::engine::codes::{CodedRows, SET};
use crate::engine::compiled::{Child, CompiledTree, Leaf, Path, Place};
use crate::engine::sets::PlayerSet;
use crate::error::{Error, Result};
use crate::job::Job;

/// One tree, and the rows from `first` on.
pub(super) struct TreeWalk<'a, R> {
    pub(super) tree: &'a CompiledTree,
    pub(super) x: &'a CodedRows,
    pub(super) first: usize,
    pub(super) source: &'a Source<'a>,
    pub(super) rule: &'a R,
    pub(super) job: &'a Job,
}

/// A step of the way, depth first.
enum Step {
    Enter { child: Child, level: usize },
    Side { split: usize, left: bool, position: u32, level: usize },
    Leave,
}

/// Rows and background at one level of the tree.
struct Level<S> {
    x: Classes<S>,
    z: Classes<S>,
}

impl<R: Rule> TreeWalk<'_, R> {
    /// Adds what the leaves of the tree give to the rows.
    pub(super) fn run<S: PlayerSet>(&self, t: usize, room: &mut R::Room, sums: &mut Sums<'_>) -> Result<()> {
        let tree = self.tree;
        let of_tree = self.source.of_tree::<S>(t, tree);
        let n_background = if let Source::Rows { rows, .. } = self.source { rows.rows.len() } else { 0 };
        let mut levels = vec![Level {
            x: Classes::<S>::at_root(sums.n_rows(), tree.max_path),
            z: Classes::at_root(n_background, tree.max_path),
        }];
        let mut path = Path::new(tree.players.len());
        let mut players: Vec<u32> = Vec::new();
        let mut stack = vec![Step::Enter { child: tree.root, level: 0 }];
        while let Some(step) = stack.pop() {
            match step {
                Step::Leave => {
                    self.rule.leave(room, &players);
                    path.leave();
                    players.pop();
                }
                Step::Side { split, left, position, level } => {
                    if self.go(split, left, position, level, &mut levels) {
                        let split = &tree.splits[split];
                        let child = if left { split.left } else { split.right };
                        stack.push(Step::Enter { child, level: level + 1 });
                    }
                }
                Step::Enter { child, level } => match child.place() {
                    Place::Leaf(leaf) => self.leaf(leaf, &levels[level], &of_tree, &players, room, sums),
                    Place::Split(split) => {
                        if self.job.progress.is_cancelled() {
                            return Err(Error::Cancelled);
                        }
                        let player = tree.splits[split].player;
                        let (position, fresh) = path.enter(player);
                        if fresh {
                            players.push(tree.players[player as usize]);
                            self.rule.enter(room, &players);
                            stack.push(Step::Leave);
                        }
                        stack.push(Step::Side { split, left: false, position, level });
                        stack.push(Step::Side { split, left: true, position, level });
                    }
                },
            }
        }
        sums.add();
        Ok(())
    }

    /// Follows one side of a split to the next level; false if nobody gets anything there.
    fn go<S: PlayerSet>(
        &self,
        split: usize,
        left: bool,
        position: u32,
        level: usize,
        levels: &mut Vec<Level<S>>,
    ) -> bool {
        let test = self.tree.splits[split].test;
        if levels.len() == level + 1 {
            levels.push(Level { x: Classes::default(), z: Classes::default() });
        }
        let (above, below) = levels.split_at_mut(level + 1);
        let (above, below) = (&above[level], &mut below[0]);
        let failing = |passing: u64| if left { !passing } else { passing };
        let first_set = self.first / SET;
        above.x.below(|set| failing(self.x.passing_one(first_set + set, test)), position, &mut below.x);
        if let Source::Rows { rows, .. } = self.source {
            above.z.below(|set| failing(rows.rows.passing_one(set, test)), position, &mut below.z);
            below.x.keep_meeting(&below.z);
            below.z.keep_meeting(&below.x);
        }
        !below.x.sets.is_empty()
    }

    fn leaf<S: PlayerSet>(
        &self,
        leaf: usize,
        level: &Level<S>,
        of_tree: &OfTree<S>,
        players: &[u32],
        room: &mut R::Room,
        sums: &mut Sums<'_>,
    ) {
        let found;
        let others = match of_tree {
            OfTree::OnTheWay => {
                found = self.patterns(&level.z);
                Others::Patterns(&found)
            }
            OfTree::Patterns(patterns) => Others::Patterns(&patterns[leaf]),
            OfTree::Ratios(ratios) => Others::Ratios(&ratios[leaf]),
        };
        self.rule.prepare(room, players, &others);
        let cells = self.rule.cells(room).to_vec();
        let x = &level.x;
        sums.take(Leaf::of(self.tree, leaf), &cells, x.sets.len(), &x.of_row, |class, out| {
            self.rule.give(room, &x.sets[class], &others, out)
        });
    }

    /// The share of the background in each class, in the order of what they fail.
    fn patterns<S: PlayerSet>(&self, z: &Classes<S>) -> Vec<(S, f64)> {
        let Source::Rows { rows, total } = self.source else { return Vec::new() };
        let mut weights = vec![0.0; z.sets.len()];
        for (row, &class) in z.of_row.iter().enumerate().filter(|&(_, &class)| class != NONE) {
            weights[class as usize] += rows.weight(row);
        }
        let shares = z.sets.iter().cloned().zip(weights.into_iter().map(|weight| weight / total));
        let mut patterns: Vec<(S, f64)> = shares.filter(|&(_, share)| share > 0.0).collect();
        patterns.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        patterns
    }
}
