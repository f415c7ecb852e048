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
        let mut piece = Piece { cumulated: &cumulated, first, n_outputs: k, shares: Vec::new() };
        for tree in &compiled.trees {
            let may_fail = tree.players.iter().map(|&player| cumulated[player as usize].is_some()).collect();
            let budget = Budget { tree, may_fail, free: None };
            for some in stretches(out.len() / (p * k).max(1)) {
                let some = first + some.start..first + some.end;
                with_codes!(rows.codes(), codes => walk(&budget, rows, codes, some, |arrival| {
                    piece.add(tree, arrival, out);
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

/// What a leaf gives to the rows of a piece.
struct Piece<'a> {
    cumulated: &'a [Option<Cumulated>],
    /// The first row of the piece.
    first: usize,
    n_outputs: usize,
    /// The share of the background that satisfies each player of the path, by its number in the tree.
    shares: Vec<f64>,
}

impl Piece<'_> {
    /// Adds what a leaf gives: without a player, its value times the share of the background, instead of its value.
    fn add(&mut self, tree: &CompiledTree, arrival: &Arrival<'_>, out: &mut [f64]) {
        let leaf = Leaf::of(tree, arrival.leaf);
        let (p, k) = (self.cumulated.len(), self.n_outputs);
        self.shares.resize(tree.players.len(), 0.0);
        for &player in arrival.players {
            let cumulated = &self.cumulated[tree.players[player as usize] as usize];
            // Without a share of its own, a player is not failed by any row that arrives, and nothing is to be added.
            let share = cumulated.as_ref().map_or(1.0, |cumulated| cumulated.share(arrival.interval(player)));
            self.shares[player as usize] = share;
        }
        for walker in arrival.walkers {
            let row = (walker.row as usize - self.first) * p;
            let mut give =
                |player: u32, share: f64| leaf.add(share, out, row + tree.players[player as usize] as usize, k);
            if let Some(failed) = walker.failed() {
                give(failed, self.shares[failed as usize]);
            } else {
                for &player in arrival.players {
                    give(player, self.shares[player as usize] - 1.0);
                }
            }
        }
    }
}
