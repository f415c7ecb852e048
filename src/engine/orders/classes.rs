//! Rows that fail the same players of a path.

use std::collections::HashMap;

use crate::engine::codes::SET;
use crate::engine::sets::PlayerSet;

/// The class of a row that gets nothing from here on.
pub(super) const NONE: u32 = u32::MAX;
const UNKNOWN: u32 = u32::MAX - 1;

/// Some rows, divided by the players of a path that they fail.
#[derive(Debug, Clone)]
pub(super) struct Classes<S> {
    /// The class of each row, or [`NONE`].
    pub(super) of_row: Vec<u32>,
    /// The players that the rows of each class fail.
    pub(super) sets: Vec<S>,
}

impl<S> Default for Classes<S> {
    fn default() -> Self {
        Self { of_row: Vec::new(), sets: Vec::new() }
    }
}

impl<S: PlayerSet> Classes<S> {
    /// At the root nobody fails; paths have up to `players` players.
    pub(super) fn at_root(n_rows: usize, players: usize) -> Self {
        Self { of_row: vec![0; n_rows], sets: vec![S::empty(players)] }
    }

    /// The same rows below a split of the player at `position`. `failing` has one bit for each row of a set of rows, set if
    /// the row goes the other way.
    pub(super) fn below(&self, failing: impl Fn(usize) -> u64, position: u32, into: &mut Self) {
        into.of_row.clear();
        into.sets.clear();
        let mut next = vec![UNKNOWN; 2 * self.sets.len()];
        let mut known: HashMap<S, u32> = HashMap::new();
        for (set, rows) in self.of_row.chunks(SET).enumerate() {
            let failing = failing(set);
            for (r, &class) in rows.iter().enumerate() {
                if class == NONE {
                    into.of_row.push(NONE);
                    continue;
                }
                let fails = failing >> r & 1;
                let next = &mut next[2 * class as usize + fails as usize];
                if *next == UNKNOWN {
                    let above = &self.sets[class as usize];
                    let set = if fails == 1 { above.with(position) } else { above.clone() };
                    *next = *known.entry(set).or_insert_with_key(|set| {
                        into.sets.push(set.clone());
                        (into.sets.len() - 1) as u32
                    });
                }
                into.of_row.push(*next);
            }
        }
    }

    /// Keeps only the classes that fail no player in common with some class of the others.
    pub(super) fn keep_meeting(&mut self, others: &Self) {
        let meets = |set: &S| others.sets.iter().any(|other| !set.meets(other));
        let mut number = Vec::with_capacity(self.sets.len());
        let mut kept = 0;
        self.sets.retain(|set| {
            let keep = meets(set);
            number.push(if keep { kept } else { NONE });
            kept += u32::from(keep);
            keep
        });
        if number.len() > self.sets.len() {
            self.of_row.iter_mut().filter(|class| **class != NONE).for_each(|class| *class = number[*class as usize]);
        }
    }
}
