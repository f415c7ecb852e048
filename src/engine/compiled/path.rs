//! The distinct players on the way from the root.

/// The distinct players of a path, by their numbers in the tree, in the order in which they came.
pub(crate) struct Path {
    position: Vec<Option<u32>>,
    pub(crate) players: Vec<u32>,
}

impl Path {
    /// A path without players, in a tree that has `players` of them.
    pub(crate) fn new(players: usize) -> Self {
        Self { position: vec![None; players], players: Vec::new() }
    }

    /// The position of a player on the path, and whether the player is new to it.
    pub(crate) fn enter(&mut self, player: u32) -> (u32, bool) {
        if let Some(at) = self.position[player as usize] {
            return (at, false);
        }
        let at = self.players.len() as u32;
        self.position[player as usize] = Some(at);
        self.players.push(player);
        (at, true)
    }

    /// Takes the player that came last off the path.
    pub(crate) fn leave(&mut self) {
        if let Some(player) = self.players.pop() {
            self.position[player as usize] = None;
        }
    }
}
