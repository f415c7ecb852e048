//! The same forest and background, with other players.

use super::Explainer;
use super::absent::{Absent, Reference};
use super::build::Game;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::players::Players;

impl Explainer {
    /// An explainer of the same forest against the same background, with other players.
    ///
    /// Codes do not depend on players, so the rows are not needed again; counts do, so a background of which only counts
    /// were kept is refused.
    pub fn with_players(&self, players: &Players, job: &Job) -> Result<Self> {
        let game = Game { forest: &self.forest, players, memory_limit: self.memory_limit };
        let Some(reference) = self.reference() else { return game.path_dependent(job) };
        let codes = reference.codes().ok_or(Error::OnlyCounts)?.clone();
        let same = Reference::new(reference.len(), reference.weights().map(<[f64]>::to_vec), reference.is_merged());
        let mut explainer = game.compile(Absent::Background(same), job)?;
        explainer.change(|reference| reference.codes = Some(codes));
        explainer.count_if_wanted(job)?;
        explainer.expected.clone_from(&self.expected);
        Ok(explainer)
    }
}
