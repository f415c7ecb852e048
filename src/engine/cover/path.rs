//! The players on the way to each leaf.

use crate::engine::compiled::{Child, CompiledTree, Place};

/// A player on the path: whether x satisfies all its splits so far, and the product of their shares.
#[derive(Debug, Clone, Copy)]
pub(super) struct OnPath {
    pub(super) player: u32,
    pub(super) satisfied: bool,
    pub(super) ratio: f64,
}

/// A step of the way through a tree, depth first.
enum PathStep {
    Enter { child: Child, split: usize, left: bool },
    Restore { at: usize, before: Option<OnPath> },
}

/// Visits every leaf with the distinct players of its path. `satisfied(n, left)` says whether x goes that way at split n.
pub(super) fn descend(
    tree: &CompiledTree,
    satisfied: impl Fn(usize, bool) -> bool,
    mut leaf: impl FnMut(usize, &[OnPath]),
) {
    let mut path: Vec<OnPath> = Vec::new();
    let mut position = vec![usize::MAX; tree.players.len()];
    let mut stack = Vec::new();
    let mut next = Some(tree.root);
    loop {
        match next.take().map(Child::place) {
            Some(Place::Leaf(number)) => leaf(number, &path),
            Some(Place::Split(split)) => {
                stack.push(PathStep::Enter { child: tree.splits[split].right, split, left: false });
                stack.push(PathStep::Enter { child: tree.splits[split].left, split, left: true });
            }
            None => {}
        }
        match stack.pop() {
            None => return,
            Some(PathStep::Restore { at, before: Some(before) }) => path[at] = before,
            Some(PathStep::Restore { before: None, .. }) => {
                position[path.pop().expect("a player was entered").player as usize] = usize::MAX;
            }
            Some(PathStep::Enter { child, split, left }) => {
                let player = tree.splits[split].player;
                let share = tree.shares[split][usize::from(!left)];
                let here = OnPath { player, satisfied: satisfied(split, left), ratio: share };
                let at = position[player as usize];
                if let Some(on_path) = path.get_mut(at) {
                    stack.push(PathStep::Restore { at, before: Some(*on_path) });
                    on_path.satisfied &= here.satisfied;
                    on_path.ratio *= here.ratio;
                } else {
                    position[player as usize] = path.len();
                    stack.push(PathStep::Restore { at: path.len(), before: None });
                    path.push(here);
                }
                next = Some(child);
            }
        }
    }
}
