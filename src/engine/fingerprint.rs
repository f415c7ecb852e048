//! Fingerprints: which forest and players a background belongs to, and how its codes and counts are laid out.

use super::compiled::{Compiled, CompiledTree};
use crate::container::{Writer, write_game};
use crate::forest::Forest;
use crate::players::Players;

/// Differs between forests, between players, and between layouts of a background with that many counts.
pub(crate) fn fingerprint(forest: &Forest, players: &Players, compiled: &Compiled, n_counts: usize) -> u64 {
    let mut out = Writer::new("a fingerprint");
    write_game(&mut out, forest, players);
    out.number("layout", layout_with(compiled, n_counts));
    out.fingerprint()
}

/// Differs between layouts of coded rows.
pub(crate) fn layout(compiled: &Compiled) -> u64 {
    layout_with(compiled, 0)
}

/// The test of every split, which says what codes mean, and the number of counts.
fn layout_with(compiled: &Compiled, n_counts: usize) -> u64 {
    let mut out = Writer::new("a layout");
    let tests = compiled.trees.iter().flat_map(CompiledTree::tests);
    out.number("columns", compiled.columns.len() as u64);
    out.numbers("tests", tests.flat_map(|test| [test.column, test.lo, test.span]));
    out.number("entries", n_counts as u64);
    out.fingerprint()
}
