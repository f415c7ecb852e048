//! What leaves give to single players, for values that are not an index of the game alone.

/// What a leaf gives to each player of its path, in tables that are built for one call.
pub(crate) trait LeafGains: Sync {
    /// Writes what a leaf of value 1 gives, pattern after pattern of a row and player after player of the path.
    ///
    /// `players` are the players of the path by their numbers in the game, and `c` holds the weight of each background
    /// pattern. Bit j of a pattern belongs to `players[j]`.
    fn leaf(&self, players: &[u32], c: &[f64], gains: &mut Vec<f64>);
}
