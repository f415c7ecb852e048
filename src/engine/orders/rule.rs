//! What the leaf rules have in common.

use super::others::Others;
use crate::engine::sets::PlayerSet;

/// What leaves give to the cells of a row.
pub(crate) trait Rule: Sync {
    /// What a rule remembers on its way through a tree.
    type Room: Default;

    /// The last of these players (by their numbers in the game) is new to the path.
    fn enter(&self, room: &mut Self::Room, players: &[u32]);

    /// The last of these players leaves the path.
    fn leave(&self, room: &mut Self::Room, players: &[u32]);

    /// The cells that a leaf here gives something to.
    fn cells<'r>(&self, room: &'r Self::Room) -> &'r [u32];

    /// A leaf comes, with these players on its path.
    fn prepare<S: PlayerSet>(&self, room: &mut Self::Room, players: &[u32], others: &Others<'_, S>);

    /// What a leaf of value 1 gives to the cells of a row that fails these players; false if that is nothing.
    fn give<S: PlayerSet>(&self, room: &mut Self::Room, fails: &S, others: &Others<'_, S>, out: &mut [f64]) -> bool;
}
