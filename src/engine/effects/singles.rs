//! Coalitions of one player: the background walks, and what it finds are steps over the codes of each player.

use super::axes::{Axis, positions};
use super::walk::{Arrival, Budget, Tally, walk};
use super::{Setting, coalition, shares, stretches};
use crate::engine::codes::with_codes;
use crate::engine::compiled::{CompiledTree, Leaf};
use crate::error::Result;
use crate::memory::zeros;

/// Sums over the positions of one player: each step is added where it begins and taken away where it ends.
struct Steps {
    /// `(positions, outputs)`.
    changes: Vec<f64>,
    /// What is added everywhere.
    constant: Vec<f64>,
}

/// What the background finds for the players of one call.
struct Found {
    /// For each player of the game, its place among those that are asked for.
    place: Vec<Option<usize>>,
    /// The number of codes of each player that is asked for.
    n: Vec<u32>,
    n_outputs: usize,
    steps: Vec<Steps>,
}

impl Found {
    fn new(place: &[Option<usize>], n: &[u32], n_outputs: usize) -> Result<Self> {
        let steps = n.iter().map(|&n| -> Result<Steps> {
            let changes = zeros("the steps of a player", &[n as usize + 3, n_outputs])?;
            Ok(Steps { changes, constant: vec![0.0; n_outputs] })
        });
        Ok(Self { place: place.to_vec(), n: n.to_vec(), n_outputs, steps: steps.collect::<Result<_>>()? })
    }

    fn add(&mut self, tree: &CompiledTree, arrival: &Arrival<'_>, tally: &Tally) {
        let leaf = Leaf::of(tree, arrival.leaf);
        for &player in arrival.players {
            let Some(place) = self.place[tree.players[player as usize] as usize] else { continue };
            let weight = tally.nobody() + tally.of(player);
            let steps = &mut self.steps[place];
            for (from, to) in arrival.interval(player).ranges(self.n[place]) {
                leaf.add(weight, &mut steps.changes, from as usize, self.n_outputs);
                leaf.add(-weight, &mut steps.changes, to as usize, self.n_outputs);
            }
            leaf.add(-tally.nobody(), &mut steps.constant, 0, self.n_outputs);
        }
    }

    fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.steps.iter_mut().zip(&other.steps) {
            ours.changes.iter_mut().zip(&theirs.changes).for_each(|(ours, theirs)| *ours += theirs);
            ours.constant.iter_mut().zip(&theirs.constant).for_each(|(ours, theirs)| *ours += theirs);
        }
    }
}

/// The mean prediction with each of some players from the row: `(rows, players, outputs)`.
pub(crate) fn singles(setting: &Setting<'_>, players: &[usize], expected: &[f64]) -> Result<Vec<f64>> {
    let Setting { compiled, axes, background, rows, .. } = *setting;
    let k = compiled.n_outputs;
    let mut out = zeros("the result", &[rows.len(), players.len(), k])?;
    let mut place = vec![None; compiled.n_players];
    let (mut n, mut columns) = (Vec::new(), Vec::new());
    for (slot, &player) in players.iter().enumerate() {
        if let Axis::Column { column, n: codes } = axes.of(player) {
            place[player] = Some(n.len());
            n.push(codes);
            columns.push((slot, column));
        }
    }
    let found = if columns.is_empty() { Found::new(&place, &n, k)? } else { find(setting, &place, &n)? };
    let total = background.total();
    for (out, expected) in out.iter_mut().zip(expected.iter().cycle()) {
        *out = *expected;
    }
    for ((&(slot, column), steps), &n) in columns.iter().zip(found.steps).zip(&n) {
        let mut values = steps.changes;
        for at in k..values.len() {
            values[at] += values[at - k];
        }
        for (row, position) in positions(rows, column, n).into_iter().enumerate() {
            let out = &mut out[(row * players.len() + slot) * k..][..k];
            let values = &values[position as usize * k..][..k];
            for ((out, value), constant) in out.iter_mut().zip(values).zip(&steps.constant) {
                *out += (value + constant) / total;
            }
        }
    }
    for (slot, &player) in players.iter().enumerate() {
        if axes.of(player) != Axis::Several {
            continue;
        }
        let alone: Vec<bool> = (0..compiled.n_players).map(|other| other == player).collect();
        for (row, values) in coalition(setting, &alone)?.chunks_exact(k.max(1)).enumerate() {
            out[(row * players.len() + slot) * k..][..k].copy_from_slice(values);
        }
    }
    Ok(out)
}

/// Walks the background down all trees.
fn find(setting: &Setting<'_>, place: &[Option<usize>], n: &[u32]) -> Result<Found> {
    let Setting { compiled, background, job, .. } = *setting;
    job.progress.begin(compiled.trees.len());
    let shares = shares(0..compiled.trees.len());
    let found = job.workers.map(shares.len(), |share| -> Result<Found> {
        let mut found = Found::new(place, n, compiled.n_outputs)?;
        let mut tally = Tally::default();
        for tree in &compiled.trees[shares[share].clone()] {
            let may_fail = tree.players.iter().map(|&player| place[player as usize].is_some()).collect();
            let budget = Budget { tree, may_fail, free: None };
            for some in stretches(background.rows.len()) {
                with_codes!(background.rows.codes(), codes => walk(&budget, background.rows, codes, some, |arrival| {
                    tally.count(tree.players.len(), arrival.walkers, |row| background.weight(row));
                    found.add(tree, arrival, &tally);
                }));
            }
            job.progress.step()?;
        }
        Ok(found)
    });
    let mut sum = Found::new(place, n, compiled.n_outputs)?;
    for found in found {
        sum.merge(&found?);
    }
    Ok(sum)
}
