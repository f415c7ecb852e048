//! The paper's traversal for one pair $(x, z)$: the skeleton shared by Algorithms 2, 3 and 4.
//!
//! It visits every maximal path that has no type B edge and on which $S_X$ and $S_Z$ stay disjoint (all other paths
//! contribute nothing: Corollaries 8 and 10) and hands each leaf with its two sets to a leaf rule. Groups enter
//! only through the players of the splits, as $\mathcal{I}(i_n)$ in Algorithm 4.

use crate::engine::compiled::{Child, CompiledTree, Place};
use crate::engine::sets::PlayerSet;

/// Walks one tree; `x_left(n)` and `z_left(n)` say where the two rows go at split `n`.
///
/// The paper's recursion, with its pending branches on a heap-allocated stack so that depth has no limit.
pub(crate) fn walk<S: PlayerSet>(
    tree: &CompiledTree,
    x_left: impl Fn(usize) -> bool,
    z_left: impl Fn(usize) -> bool,
    mut leaf: impl FnMut(usize, &S, &S),
) {
    let none = S::empty(tree.players.len());
    let mut pending: Vec<(Child, S, S)> = vec![(tree.root, none.clone(), none)];
    while let Some((mut at, mut s_x, s_z)) = pending.pop() {
        loop {
            let n = match at.place() {
                Place::Leaf(number) => {
                    leaf(number, &s_x, &s_z);
                    break;
                }
                Place::Split(n) => n,
            };
            let split = &tree.splits[n];
            let child = |left| if left { split.left } else { split.right };
            let (x_child, z_child) = (child(x_left(n)), child(z_left(n)));
            if x_child == z_child {
                // Scenario 1: x and z flow the same way; the other edge is of type B.
                at = x_child;
            } else if s_x.contains(split.player) {
                // Scenario 2: the player is in S_X, so only x's way keeps the sets disjoint.
                at = x_child;
            } else if s_z.contains(split.player) {
                // Scenario 2: the player is in S_Z, so only z's way does.
                at = z_child;
            } else {
                // Scenario 3: a new player; both ways, each with its set.
                pending.push((z_child, s_x.clone(), s_z.with(split.player)));
                s_x = s_x.with(split.player);
                at = x_child;
            }
        }
    }
}
