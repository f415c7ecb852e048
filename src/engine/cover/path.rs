//! The players on the way to each leaf.

use crate::engine::compiled::{Child, CompiledTree, Place};

/// A player on the path, and the product of the shares of its edges.
#[derive(Debug, Clone, Copy)]
pub(super) struct OnPath {
    pub(super) player: u32,
    pub(super) ratio: f64,
}

/// A step of the way through a tree, depth first.
enum PathStep {
    Enter { child: Child, split: usize, side: usize },
    Restore { at: usize, before: Option<OnPath> },
}

/// Visits every leaf and split with the distinct players of its path. It goes on below a split only if the visitor says so.
pub(super) fn descend(tree: &CompiledTree, mut visit: impl FnMut(Place, &[OnPath]) -> bool) {
    let mut path: Vec<OnPath> = Vec::new();
    let mut position = vec![usize::MAX; tree.players.len()];
    let mut stack = Vec::new();
    let mut next = Some(tree.root);
    loop {
        match next.take().map(Child::place) {
            Some(Place::Split(split)) if visit(Place::Split(split), &path) => {
                stack.push(PathStep::Enter { child: tree.splits[split].right, split, side: 1 });
                stack.push(PathStep::Enter { child: tree.splits[split].left, split, side: 0 });
            }
            Some(Place::Leaf(leaf)) => {
                visit(Place::Leaf(leaf), &path);
            }
            Some(Place::Split(_)) | None => {}
        }
        match stack.pop() {
            None => return,
            Some(PathStep::Restore { at, before: Some(before) }) => path[at] = before,
            Some(PathStep::Restore { before: None, .. }) => {
                position[path.pop().expect("a player was entered").player as usize] = usize::MAX;
            }
            Some(PathStep::Enter { child, split, side }) => {
                let player = tree.splits[split].player;
                let share = tree.shares[split][side];
                let at = position[player as usize];
                if let Some(on_path) = path.get_mut(at) {
                    stack.push(PathStep::Restore { at, before: Some(*on_path) });
                    on_path.ratio *= share;
                } else {
                    position[player as usize] = path.len();
                    stack.push(PathStep::Restore { at: path.len(), before: None });
                    path.push(OnPath { player, ratio: share });
                }
                next = Some(child);
            }
        }
    }
}
