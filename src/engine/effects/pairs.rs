//! Coalitions of one player and each of some others: the background walks, and may always fail the first.
//!
//! With both players from the row, a leaf gives its value to the codes of a rectangle, times the background that fails
//! nobody else. What is added here is the difference to the coalition of the first player alone, so only leaves with the
//! other player on their path count.

use std::ops::Range;

use super::axes::{Axis, positions};
use super::rectangles::{Points, Rectangles};
use super::walk::{Arrival, Budget, Tally, walk};
use super::{Setting, coalition, shares, stretches};
use crate::engine::codes::with_codes;
use crate::engine::compiled::{Compiled, CompiledTree, Leaf};
use crate::error::Result;
use crate::memory::zeros;

/// Leaves times players on their paths in the trees whose rectangles are held at a time.
const BATCH: usize = 1 << 20;

/// One of the other players.
struct Other {
    slot: usize,
    player: usize,
    column: u32,
    n: u32,
}

/// What the background finds for one of the other players.
struct Found {
    rectangles: Rectangles,
    /// What is added for the codes of the first player, whatever the other has: `(positions, outputs)`, as changes.
    strips: Vec<f64>,
}

/// The first player, and the others.
struct Pairs<'a> {
    setting: &'a Setting<'a>,
    player: usize,
    column: u32,
    n: u32,
    others: Vec<Other>,
    /// For each player of the game, its place in `others`.
    place: Vec<Option<usize>>,
}

/// The mean prediction with one player and each of some others from the row: `(others, rows, outputs)`. `alone` is that
/// of the one player, `(rows, outputs)`.
pub(crate) fn pairs(setting: &Setting<'_>, player: usize, others: &[usize], alone: &[f64]) -> Result<Vec<f64>> {
    let Setting { compiled, axes, rows, .. } = *setting;
    let per_pair = rows.len() * compiled.n_outputs;
    let mut out = zeros("the result", &[others.len(), rows.len(), compiled.n_outputs])?;
    if out.is_empty() {
        return Ok(out);
    }
    out.chunks_exact_mut(per_pair).for_each(|out| out.copy_from_slice(alone));
    let mut place = vec![None; compiled.n_players];
    let mut on_axes = Vec::new();
    for (slot, &other) in others.iter().enumerate() {
        match (axes.of(player), axes.of(other)) {
            (_, Axis::Unused) => {}
            (Axis::Column { .. }, Axis::Column { column, n }) => {
                place[other] = Some(on_axes.len());
                on_axes.push(Other { slot, player: other, column, n });
            }
            _ => {
                let both: Vec<bool> = (0..compiled.n_players).map(|i| i == player || i == other).collect();
                out[slot * per_pair..][..per_pair].copy_from_slice(&coalition(setting, &both)?);
            }
        }
    }
    if let Axis::Column { column, n } = axes.of(player) {
        Pairs { setting, player, column, n, others: on_axes, place }.add_to(&mut out)?;
    }
    Ok(out)
}

impl Pairs<'_> {
    fn add_to(&self, out: &mut [f64]) -> Result<()> {
        let Setting { compiled, background, rows, job, .. } = *self.setting;
        if self.others.is_empty() {
            return Ok(());
        }
        let (k, total) = (compiled.n_outputs, background.total());
        let first = positions(rows, self.column, self.n);
        let order = by_position(&first, self.n);
        job.progress.begin(compiled.trees.len());
        for batch in batches(compiled) {
            let shares = shares(batch);
            let found = job.workers.map(shares.len(), |share| self.find(shares[share].clone()));
            let found = found.into_iter().collect::<Result<Vec<_>>>()?;
            let sums = job.workers.map(self.others.len(), |at| -> Result<Vec<f64>> {
                let other = &self.others[at];
                let second = positions(rows, other.column, other.n);
                let points = Points { first: &first, second: &second, order: &order };
                let mut sums = zeros("a partial sum", &[rows.len(), k])?;
                let mut rectangles = Rectangles::default();
                let mut strips = vec![0.0; self.strips()];
                for found in &found {
                    rectangles.append(&found[at].rectangles);
                    strips.iter_mut().zip(&found[at].strips).for_each(|(sum, strip)| *sum += strip);
                }
                for at in k..strips.len() {
                    strips[at] += strips[at - k];
                }
                rectangles.add_to(&points, [self.n + 1, other.n + 1], &mut sums);
                for (sums, &position) in sums.chunks_exact_mut(k).zip(&first) {
                    sums.iter_mut().zip(&strips[position as usize * k..]).for_each(|(sum, strip)| *sum += strip);
                }
                Ok(sums)
            });
            for (other, sums) in self.others.iter().zip(sums) {
                let out = &mut out[other.slot * rows.len() * k..][..rows.len() * k];
                out.iter_mut().zip(sums?).for_each(|(out, sum)| *out += sum / total);
            }
        }
        Ok(())
    }

    /// How many numbers the strips of one of the others are.
    fn strips(&self) -> usize {
        (self.n as usize + 3) * self.setting.compiled.n_outputs
    }

    /// Walks the background down some trees.
    fn find(&self, trees: Range<usize>) -> Result<Vec<Found>> {
        let Setting { compiled, background, job, .. } = *self.setting;
        let none = |_: &Other| Found { rectangles: Rectangles::default(), strips: vec![0.0; self.strips()] };
        let mut found: Vec<Found> = self.others.iter().map(none).collect();
        let mut tally = Tally::default();
        for tree in &compiled.trees[trees] {
            let may_fail: Vec<bool> =
                tree.players.iter().map(|&player| self.place[player as usize].is_some()).collect();
            let free = (0..).zip(&tree.players).find(|&(_, &player)| player as usize == self.player);
            if may_fail.contains(&true) {
                let budget = Budget { tree, may_fail, free: free.map(|(number, _)| number) };
                for some in stretches(background.rows.len()) {
                    with_codes!(background.rows.codes(), codes => walk(&budget, background.rows, codes, some, |arrival| {
                        tally.count(tree.players.len(), arrival.walkers, |row| background.weight(row));
                        self.add(&mut found, tree, arrival, &tally, budget.free);
                    }));
                }
            }
            job.progress.step()?;
        }
        Ok(found)
    }

    fn add(&self, found: &mut [Found], tree: &CompiledTree, arrival: &Arrival<'_>, tally: &Tally, free: Option<u32>) {
        let leaf = Leaf::of(tree, arrival.leaf);
        let k = self.setting.compiled.n_outputs;
        let first = free.map_or(super::axes::Interval::ALL, |player| arrival.interval(player));
        for &player in arrival.players {
            let Some(at) = self.place[tree.players[player as usize] as usize] else { continue };
            let (other, found) = (&self.others[at], &mut found[at]);
            debug_assert_eq!(other.player, tree.players[player as usize] as usize);
            for first in first.ranges(self.n) {
                for second in arrival.interval(player).ranges(other.n) {
                    found.rectangles.push(first, second, leaf, tally.nobody() + tally.of(player), k);
                }
                leaf.add(-tally.nobody(), &mut found.strips, first.0 as usize, k);
                leaf.add(tally.nobody(), &mut found.strips, first.1 as usize, k);
            }
        }
    }
}

/// The trees, a few at a time, so that their rectangles fit into memory.
fn batches(compiled: &Compiled) -> Vec<Range<usize>> {
    let (mut batches, mut start, mut size) = (Vec::new(), 0, 0);
    for (t, tree) in compiled.trees.iter().enumerate() {
        size += tree.n_leaves() * tree.max_path;
        if size > BATCH || t + 1 == compiled.trees.len() {
            batches.push(start..t + 1);
            (start, size) = (t + 1, 0);
        }
    }
    batches
}

/// The points by their position, which is at most one more than `n`.
fn by_position(first: &[u32], n: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..first.len() as u32).collect();
    debug_assert!(first.iter().all(|&position| position <= n + 1));
    order.sort_by_key(|&point| first[point as usize]);
    order
}
