//! At how many leaves pairs meet, from a sample.

use super::walk::walk;
use crate::engine::codes::{Code, CodedRows, with_codes};
use crate::engine::compiled::{Compiled, CompiledTree};
use crate::engine::sets::{PlayerSet, WideSet};

/// Trees and pairs of background rows that are looked at.
const TREES: usize = 8;
const PAIRS: usize = 16;

/// At how many leaves pairs of background rows meet, divided by what the shapes of the trees suggest. Rows that are explained
/// are taken to be like those of the background.
///
/// The shape of a tree does not say how often two rows part at its splits. In forests that were grown on a skewed target,
/// pairs meet at more than twice as many leaves as it suggests; in boosted trees, at fewer than half as many.
pub(crate) fn relative_meets(compiled: &Compiled, rows: &CodedRows) -> f64 {
    let n_trees = compiled.trees.len();
    let pairs = if rows.len() == 0 { 0 } else { PAIRS };
    // Rows from all over the background, which may be sorted; the same ones in every call.
    let row = |k: usize| ((k as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % rows.len();
    let (mut met, mut suggested) = (0, 0.0);
    for t in (0..n_trees).step_by(n_trees.div_ceil(TREES).max(1)) {
        let tree = &compiled.trees[t];
        for pair in 0..pairs {
            let (x, z) = (row(2 * pair), row(2 * pair + 1));
            met += if tree.players.len() <= 64 {
                leaves_met::<u64>(tree, rows, x, z)
            } else {
                leaves_met::<WideSet>(tree, rows, x, z)
            };
            suggested += tree.shape.meets;
        }
    }
    if suggested > 0.0 { met as f64 / suggested } else { 1.0 }
}

fn leaves_met<S: PlayerSet>(tree: &CompiledTree, rows: &CodedRows, x: usize, z: usize) -> usize {
    let mut met = 0;
    with_codes!(rows.codes(), codes => {
        let left = |row: usize, n: usize| {
            let test = tree.splits[n].test;
            rows.code(codes, row, test.column).within(Code::from_u32(test.lo), Code::from_u32(test.span))
        };
        walk(tree, |n| left(x, n), |n| left(z, n), |_, _: &S, _: &S| met += 1);
    });
    met
}
