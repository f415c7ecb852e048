//! The index map $\mathcal{I}$ of the paper's Section 6: which player each model feature belongs to.

use crate::error::{Argument, Error, Result};

/// A partition of the model's features into players.
///
/// A player is a single feature, or a group of them (the columns of a one-hot encoding, of an embedding, ...)
/// that is always replaced as a whole. With every feature its own player, Partition-TreeSHAP is TreeSHAP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Players {
    map: Vec<u32>,
    count: usize,
}

impl Players {
    /// Every feature is its own player: $\mathcal{I}(i) = i$.
    #[must_use]
    pub fn single(n_features: usize) -> Self {
        Self { map: (0..n_features as u32).collect(), count: n_features }
    }

    /// Groups features: `map[i]` is the player of feature `i`, and players are numbered `0..count`.
    ///
    /// ```
    /// use arborshap::Players;
    /// // Two one-hot encodings between two plain features: 8 columns, 4 players.
    /// let players = Players::grouped(vec![0, 1, 1, 2, 2, 2, 2, 3], 4).unwrap();
    /// assert_eq!(players.of(5), 2);
    /// ```
    pub fn grouped(map: Vec<u32>, count: usize) -> Result<Self> {
        if let Some((feature, &player)) = map.iter().enumerate().find(|&(_, &p)| p as usize >= count) {
            let problem = format!(
                "feature {feature} is mapped to player {player}, but there are only {count} players (0 to {})",
                count.saturating_sub(1)
            );
            return Err(Error::input(Argument::Players, problem));
        }
        Ok(Self { map, count })
    }

    /// The player of a feature, $\mathcal{I}(i)$. Panics if there is no such feature.
    #[inline]
    #[must_use]
    pub fn of(&self, feature: usize) -> usize {
        self.map[feature] as usize
    }

    /// Number of players.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Number of model features.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.map.len()
    }

    /// An error unless the map has one entry per feature of the model.
    pub(crate) fn check(&self, n_features: usize) -> Result<()> {
        let mapped = self.n_features();
        if mapped == n_features {
            return Ok(());
        }
        let problem = format!("the players map {mapped} features, but the model has {n_features}");
        Err(Error::input(Argument::Players, problem))
    }
}
