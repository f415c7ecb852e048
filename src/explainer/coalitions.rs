//! Mean predictions with some players from the row and all others from the background.

use super::{Absent, Explainer};
use crate::engine::codes::CodedRows;
use crate::engine::effects::{Axes, Setting, coalition, pairs, singles, without};
use crate::error::{Argument, Error, Result};
use crate::job::Job;
use crate::rows::Rows;

impl Explainer {
    /// What a coalition of players is worth: the mean prediction with their columns from each row and all others from the
    /// background, `(rows, outputs)`. `members` says of each player whether it is in the coalition.
    ///
    /// ```
    /// use arborshap::forest::{Forest, Node, Output, Split, Tree};
    /// use arborshap::{Explainer, Job, Rows};
    ///
    /// let nodes = vec![Node::Split(Split::at(0, 0.0, 1, 2)), Node::Leaf(0), Node::Leaf(1)];
    /// let stump = Tree::new(nodes, vec![1.0, 4.0], Output::One(0));
    /// let forest = Forest::new(vec![stump], 1, vec![0.0])?;
    /// let background = Rows::new(&[-1.0, 2.0][..], 2, 1)?;
    /// let explainer = Explainer::builder(&forest).background(&background).build(&Job::new(1))?;
    /// let rows = Rows::new(&[5.0][..], 1, 1)?;
    /// assert_eq!(explainer.coalition_values(&rows, &[true], &Job::new(1))?, [4.0]);
    /// assert_eq!(explainer.coalition_values(&rows, &[false], &Job::new(1))?, [2.5]);
    /// # Ok::<(), arborshap::Error>(())
    /// ```
    pub fn coalition_values(&self, rows: &Rows<'_>, members: &[bool], job: &Job) -> Result<Vec<f64>> {
        if members.len() != self.n_players() {
            let problem =
                format!("{} players are said to be in or out, but there are {}", members.len(), self.n_players());
            return Err(Error::input(Argument::Players, problem));
        }
        self.with_setting(rows, job, |setting| coalition(setting, members))
    }

    /// What each of some players is worth alone: `(rows, players, outputs)`.
    pub fn single_values(&self, rows: &Rows<'_>, players: &[usize], job: &Job) -> Result<Vec<f64>> {
        self.check_players(players)?;
        self.with_setting(rows, job, |setting| singles(setting, players, self.expected_value()))
    }

    /// What one player and each of some others are worth together: `(others, rows, outputs)`.
    pub fn couple_values(&self, rows: &Rows<'_>, player: usize, others: &[usize], job: &Job) -> Result<Vec<f64>> {
        self.check_players(&[&[player], others].concat())?;
        self.with_setting(rows, job, |setting| {
            let alone = singles(setting, &[player], self.expected_value())?;
            pairs(setting, player, others, &alone)
        })
    }

    /// What all players but one are worth together, for each player in turn: `(rows, players, outputs)`.
    pub fn values_without(&self, rows: &Rows<'_>, job: &Job) -> Result<Vec<f64>> {
        self.with_setting(rows, job, |setting| {
            let margins = coalition(setting, &vec![true; self.n_players()])?;
            without(setting, &margins)
        })
    }

    fn check_players(&self, players: &[usize]) -> Result<()> {
        for (at, &player) in players.iter().enumerate() {
            let problem = if player >= self.n_players() {
                format!("there is no player {player}: there are {}", self.n_players())
            } else if players[..at].contains(&player) {
                format!("player {player} is named twice; name each player once")
            } else {
                continue;
            };
            return Err(Error::input(Argument::Players, problem));
        }
        Ok(())
    }

    fn with_setting<T>(&self, rows: &Rows<'_>, job: &Job, f: impl FnOnce(&Setting<'_>) -> Result<T>) -> Result<T> {
        rows.expect_width(Argument::Data, self.forest.n_features())?;
        let Absent::Background(reference) = &self.absent else {
            let problem = "without a background nothing stands in for the players outside of a coalition; give one";
            return Err(Error::input(Argument::Background, problem));
        };
        let compiled = &self.compiled;
        let coded = CodedRows::new(&compiled.columns, rows, &job.workers)?;
        let (axes, background) = (Axes::new(compiled), reference.rows()?);
        f(&Setting { compiled, base: self.forest.base(), axes: &axes, background, rows: &coded, job })
    }
}
