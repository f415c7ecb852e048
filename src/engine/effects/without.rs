//! Coalitions of all players but one: the rows walk, and the background is a histogram of the codes of each player.

use super::axes::{Axis, Interval, positions};
use super::walk::{Arrival, Budget, walk};
use super::{Setting, coalition, stretches};
use crate::engine::codes::with_codes;
use crate::engine::compiled::{CompiledTree, Leaf};
use crate::error::Result;
use crate::memory::zeros;

/// Rows that a thread takes at a time.
const PIECE: usize = 8192;

/// The share of the background below each position of one player.
struct Cumulated {
    n: u32,
    below: Vec<f64>,
}

impl Cumulated {
    fn new(setting: &Setting<'_>, column: u32, n: u32) -> Self {
        let background = &setting.background;
        let mut below = vec![0.0; n as usize + 3];
        for (row, position) in positions(background.rows, column, n).into_iter().enumerate() {
            below[position as usize + 1] += background.weight(row);
        }
        for at in 1..below.len() {
            below[at] += below[at - 1];
        }
        let total = background.total();
        for below in &mut below {
            *below /= total;
        }
        Self { n, below }
    }

    /// The share of the background in an interval.
    fn share(&self, interval: Interval) -> f64 {
        interval.ranges(self.n).map(|(from, to)| self.below[to as usize] - self.below[from as usize]).sum()
    }
}

/// The mean prediction with each player in turn from the background and all others from the row:
/// `(rows, players, outputs)`. `margins` are the predictions of the rows themselves.
pub(crate) fn without(setting: &Setting<'_>, margins: &[f64]) -> Result<Vec<f64>> {
    let Setting { compiled, axes, rows, job, .. } = *setting;
    let (p, k) = (compiled.n_players, compiled.n_outputs);
    let mut out = zeros("the result", &[rows.len(), p, k])?;
    let cumulated: Vec<Option<Cumulated>> = (0..p)
        .map(|player| match axes.of(player) {
            Axis::Column { column, n } => Some(Cumulated::new(setting, column, n)),
            Axis::Unused | Axis::Several => None,
        })
        .collect();
    job.progress.begin(rows.len().div_ceil(PIECE));
    job.workers.fill(&mut out, PIECE * p * k, |piece, out| {
        let first = piece * PIECE;
        for tree in &compiled.trees {
            let may_fail = tree.players.iter().map(|&player| cumulated[player as usize].is_some()).collect();
            let budget = Budget { tree, may_fail, free: None };
            for some in stretches(out.len() / (p * k).max(1)) {
                let some = first + some.start..first + some.end;
                with_codes!(rows.codes(), codes => walk(&budget, rows, codes, some, |arrival| {
                    add(tree, arrival, &cumulated, first, k, out);
                }));
            }
        }
        job.progress.step()
    })?;
    // What was added is the difference to the prediction of the row itself.
    for (out, margin) in out.chunks_exact_mut((p * k).max(1)).zip(margins.chunks_exact(k.max(1))) {
        out.iter_mut().zip(margin.iter().cycle()).for_each(|(out, margin)| *out += margin);
    }
    for player in (0..p).filter(|&player| axes.of(player) == Axis::Several) {
        let others: Vec<bool> = (0..p).map(|other| other != player).collect();
        for (row, values) in coalition(setting, &others)?.chunks_exact(k.max(1)).enumerate() {
            out[(row * p + player) * k..][..k].copy_from_slice(values);
        }
    }
    Ok(out)
}

/// Adds what a leaf gives: without a player, its value times the share of the background, instead of its value.
fn add(
    tree: &CompiledTree,
    arrival: &Arrival<'_>,
    cumulated: &[Option<Cumulated>],
    first: usize,
    k: usize,
    out: &mut [f64],
) {
    let leaf = Leaf::of(tree, arrival.leaf);
    let share = |player: u32| {
        let game = tree.players[player as usize] as usize;
        cumulated[game].as_ref().map(|cumulated| (game, cumulated.share(arrival.interval(player))))
    };
    // The shares are needed for every row that failed nobody.
    let all: Vec<(usize, f64)> = if arrival.walkers.iter().any(|walker| walker.failed().is_none()) {
        arrival.players.iter().filter_map(|&player| share(player)).collect()
    } else {
        Vec::new()
    };
    let p = cumulated.len();
    for walker in arrival.walkers {
        let row = (walker.row as usize - first) * p;
        if let Some(failed) = walker.failed() {
            if let Some((player, share)) = share(failed) {
                leaf.add(share, out, row + player, k);
            }
        } else {
            for &(player, share) in &all {
                leaf.add(share - 1.0, out, row + player, k);
            }
        }
    }
}
