//! Mean predictions of coalitions: $f_S(x) = E_z[h(x \text{ on } S, z \text{ elsewhere})]$, at a cost of n + m.
//!
//! A leaf adds its value to $f_S(x)$ if x satisfies the splits of S on its path, times the share of the background that
//! satisfies all others. Rows go down a tree as lists, which divide at a split, so nothing is spent on leaves that no
//! row reaches, and trees may be of any depth.
//!
//! If S is one player, a background row matters at the leaves where it fails nobody but that player, so one walk in
//! which a row may fail one player serves all players at once. What it finds are steps over the codes of each player:
//! rows only look their own code up. If S is a pair, every row may also fail one of the two players freely, and the
//! steps are rectangles. If S is all players but one, the roles are swapped: the rows that are explained walk, and the
//! background is a histogram of codes.
//!
//! A player has codes to take steps over if all its splits read one code column. Groups, and features whose splits have
//! different category sets, have several; for them, the walk of any coalition does the work.
//!
//! | file | what |
//! |---|---|
//! | `axes` | the codes of a player as positions on a line |
//! | `walk` | the walk of rows that may fail one player |
//! | `singles` | coalitions of one player, all at once |
//! | `pairs` | coalitions of one player and each of some others |
//! | `rectangles` | sums over the rectangles that a point lies in |
//! | `without` | coalitions of all players but one |
//! | `coalition` | any coalition |

mod axes;
mod coalition;
mod pairs;
mod rectangles;
mod singles;
mod walk;
mod without;

pub(crate) use coalition::coalition;
pub(crate) use pairs::pairs;
pub(crate) use singles::singles;
pub(crate) use without::without;

use std::ops::Range;

pub(crate) use axes::Axes;

use super::codes::CodedRows;
use super::compiled::Compiled;
use super::task::BackgroundRows;
use crate::job::Job;

/// What every mean prediction is computed from.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) compiled: &'a Compiled,
    /// What the model adds to its trees, one number per output.
    pub(crate) base: &'a [f64],
    pub(crate) axes: &'a Axes,
    pub(crate) background: BackgroundRows<'a>,
    /// The rows whose players are in the coalition.
    pub(crate) rows: &'a CodedRows,
    pub(crate) job: &'a Job,
}

/// Trees are summed in at most this many shares, then share after share: the same order for any number of threads.
const SHARES: usize = 8;
/// Rows that go down a tree together.
const TOGETHER: usize = 1 << 16;

/// The shares of some trees.
fn shares(trees: Range<usize>) -> Vec<Range<usize>> {
    let each = trees.len().div_ceil(SHARES).max(1);
    trees.clone().step_by(each).map(|start| start..trees.end.min(start + each)).collect()
}

/// Some rows at a time.
fn stretches(n_rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n_rows).step_by(TOGETHER).map(move |start| start..n_rows.min(start + TOGETHER))
}
