//! The walk of rows down a tree, in which a row may fail one player and, besides, the free player if there is one.

use std::ops::Range;

use super::axes::Interval;
use crate::engine::codes::{Code, CodedRows};
use crate::engine::compiled::{Child, CompiledTree, Path, Place};

/// A row on its way, and the player it has failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walker {
    pub(super) row: u32,
    /// 1 + the number of the player in the tree; 0 if the row has failed nobody but the free player.
    failed: u32,
}

/// Which players of a tree may be failed.
pub(super) struct Budget<'a> {
    pub(super) tree: &'a CompiledTree,
    /// Whether each player of the tree may be the one that is failed.
    pub(super) may_fail: Vec<bool>,
    /// The player that every row may fail beside that one, by its number in the tree.
    pub(super) free: Option<u32>,
}

/// The rows that arrive at a leaf.
pub(super) struct Arrival<'a> {
    pub(super) leaf: usize,
    pub(super) walkers: &'a [Walker],
    /// The players on the path, by their numbers in the tree.
    pub(super) players: &'a [u32],
    intervals: &'a [Interval],
}

impl Arrival<'_> {
    /// The codes of a player that arrive here.
    pub(super) fn interval(&self, player: u32) -> Interval {
        self.intervals[player as usize]
    }
}

impl Walker {
    /// The player that the row has failed, by its number in the tree.
    #[inline(always)]
    pub(super) fn failed(self) -> Option<u32> {
        self.failed.checked_sub(1)
    }
}

/// How much weight arrived at a leaf, by the player that was failed.
#[derive(Default)]
pub(super) struct Tally {
    sums: Vec<f64>,
}

impl Tally {
    /// Counts the rows at a leaf; those that failed somebody stand under 1 + the number of the player.
    pub(super) fn count(&mut self, n_players: usize, walkers: &[Walker], weight: impl Fn(usize) -> f64) {
        self.sums.clear();
        self.sums.resize(n_players + 1, 0.0);
        for walker in walkers {
            self.sums[walker.failed as usize] += weight(walker.row as usize);
        }
    }

    /// The rows that failed nobody.
    pub(super) fn nobody(&self) -> f64 {
        self.sums[0]
    }

    /// The rows that failed this player alone.
    pub(super) fn of(&self, player: u32) -> f64 {
        self.sums[player as usize + 1]
    }
}

/// What is left to do, last in, first out.
enum Todo {
    /// Follow an edge with the walkers up to `end`.
    Enter { at: Child, player: u32, interval: Interval, start: usize, end: usize },
    /// Leave the player of an edge again.
    Leave { player: u32, before: Interval, was_new: bool },
}

/// Takes some rows down a tree and calls `arrive` at every leaf that they reach.
pub(super) fn walk<C: Code>(
    budget: &Budget<'_>,
    rows: &CodedRows,
    codes: &[C],
    some: Range<usize>,
    mut arrive: impl FnMut(&Arrival<'_>),
) {
    let tree = budget.tree;
    let mut intervals = vec![Interval::ALL; tree.players.len()];
    let mut path = Path::new(tree.players.len());
    let mut walkers: Vec<Walker> = some.map(|row| Walker { row: row as u32, failed: 0 }).collect();
    let mut aside = Vec::new();
    let mut todo = Vec::new();
    let (mut at, mut start) = (tree.root, 0);
    loop {
        match at.place() {
            Place::Leaf(leaf) => {
                let players = &path.players;
                arrive(&Arrival { leaf, walkers: &walkers[start..], players, intervals: &intervals });
            }
            Place::Split(n) => {
                let split = &tree.splits[n];
                let divided = divide(budget, n, rows, codes, &mut walkers, start, &mut aside);
                let middle = walkers.len() - divided;
                let before = intervals[split.player as usize];
                // The left edge is followed first, so its walkers stand behind those of the right one.
                for (at, left, start, end) in
                    [(split.right, false, start, middle), (split.left, true, middle, walkers.len())]
                {
                    if start < end {
                        let interval = before.along(split.test, left);
                        todo.push(Todo::Enter { at, player: split.player, interval, start, end });
                    }
                }
            }
        }
        loop {
            match todo.pop() {
                None => return,
                Some(Todo::Leave { player, before, was_new }) => {
                    intervals[player as usize] = before;
                    if was_new {
                        path.leave();
                    }
                }
                Some(Todo::Enter { at: next, player, interval, start: first, end }) => {
                    walkers.truncate(end);
                    let (_, was_new) = path.enter(player);
                    let before = std::mem::replace(&mut intervals[player as usize], interval);
                    todo.push(Todo::Leave { player, before, was_new });
                    (at, start) = (next, first);
                    break;
                }
            }
        }
    }
}

/// Divides the walkers from `start` on at a split: those that go right, then those that go left, whose number it returns.
#[inline]
fn divide<C: Code>(
    budget: &Budget<'_>,
    n: usize,
    rows: &CodedRows,
    codes: &[C],
    walkers: &mut Vec<Walker>,
    start: usize,
    aside: &mut Vec<Walker>,
) -> usize {
    let split = &budget.tree.splits[n];
    let (lo, span) = (C::from_u32(split.test.lo), C::from_u32(split.test.span));
    let is_free = budget.free == Some(split.player);
    let me = split.player + 1;
    let may_fail = budget.may_fail[split.player as usize];
    let n_walkers = walkers.len() - start;
    if aside.len() < n_walkers {
        aside.resize(n_walkers, Walker { row: 0, failed: 0 });
    }
    let list = &mut walkers[start..];
    let (mut right, mut left) = (0, 0);
    for i in 0..n_walkers {
        let Walker { row, failed } = list[i];
        let passes = rows.code(codes, row as usize, split.test.column).within(lo, span);
        let both = is_free || (may_fail && (failed == 0 || failed == me));
        let marked = if is_free { failed } else { me };
        aside[left] = Walker { row, failed: if passes { failed } else { marked } };
        left += usize::from(passes | both);
        list[right] = Walker { row, failed: if passes { marked } else { failed } };
        right += usize::from(!passes | both);
    }
    walkers.truncate(start + right);
    walkers.extend_from_slice(&aside[..left]);
    left
}
