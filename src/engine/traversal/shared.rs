//! The same traversal for one $x$ and up to 64 background rows at once.
//!
//! Background rows that have taken the same edges so far have the same $S_X$ and $S_Z$, so one walk can carry all
//! of them as a set and do the work of each step once. At a split the set splits into the rows that go x's way and
//! those that go the other way; the scenarios are those of [`walk`](super::walk), decided for each part.

use crate::engine::compiled::{Child, CompiledTree, Place};
use crate::engine::sets::PlayerSet;

/// A branch still to be walked: the rows on it all share $S_X$ and $S_Z$.
type Branch<S> = (Child, u64, S, S);

/// The stack of a walk, kept between walks to save allocations.
pub(crate) struct Pending<S>(Vec<Branch<S>>);

impl<S> Default for Pending<S> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Walks one tree for the background rows in the set `rows`; bit r of `z_left[n]` says where row r goes at split n.
#[inline]
pub(crate) fn shared_walk<S: PlayerSet>(
    tree: &CompiledTree,
    x_left: impl Fn(usize) -> bool,
    z_left: &[u64],
    rows: u64,
    pending: &mut Pending<S>,
    mut leaf: impl FnMut(usize, u64, &S, &S),
) {
    let pending = &mut pending.0;
    let none = S::empty(tree.players.len());
    pending.push((tree.root, rows, none.clone(), none));
    while let Some((mut at, mut rows, s_x, s_z)) = pending.pop() {
        loop {
            let n = match at.place() {
                Place::Leaf(number) => {
                    leaf(number, rows, &s_x, &s_z);
                    break;
                }
                Place::Split(n) => n,
            };
            let split = &tree.splits[n];
            let (x_child, other_child, with_x) = if x_left(n) {
                (split.left, split.right, rows & z_left[n])
            } else {
                (split.right, split.left, rows & !z_left[n])
            };
            let apart = rows & !with_x;
            if apart == 0 || s_x.contains(split.player) {
                // Scenario 1 for all rows; or, if some part from x, scenario 2 with the player in S_X: x's way.
                at = x_child;
                continue;
            }
            if s_z.contains(split.player) {
                // Scenario 2 with the player in S_Z: the rows that part from x go their own way.
                if with_x == 0 {
                    at = other_child;
                    continue;
                }
                pending.push((other_child, apart, s_x.clone(), s_z.clone()));
            } else {
                // Scenario 3 for the rows that part from x: both ways.
                pending.push((other_child, apart, s_x.clone(), s_z.with(split.player)));
                pending.push((x_child, apart, s_x.with(split.player), s_z.clone()));
                if with_x == 0 {
                    break;
                }
            }
            // Scenario 1 for the others.
            rows = with_x;
            at = x_child;
        }
    }
}
