//! At how many leaves pairs meet, from a sample.

use super::walk::walk;
use crate::engine::codes::{Code, CodedRows, with_codes};
use crate::engine::compiled::{Compiled, CompiledTree};
use crate::engine::sets::{PlayerSet, WideSet};

/// Trees and pairs of background rows that are looked at.
const TREES: usize = 8;
const PAIRS: usize = 16;

/// At how many leaves pairs of background rows meet, divided by what the shapes of the trees suggest.
///
/// The shape of a tree does not say how its splits divide the rows: where most rows go the same way, as in trees that
/// were grown on a skewed target, pairs meet at several times as many leaves as where rows are halved, or at fewer.
pub(crate) fn relative_meets(compiled: &Compiled, rows: &CodedRows) -> f64 {
    let (n_trees, pairs) = (compiled.trees.len(), PAIRS.min(rows.len() / 2));
    let (mut met, mut suggested) = (0, 0.0);
    for t in (0..n_trees).step_by(n_trees.div_ceil(TREES).max(1)) {
        let tree = &compiled.trees[t];
        for pair in 0..pairs {
            // The first half of the rows with the second half.
            let (x, z) = (pair * (rows.len() / 2) / pairs, rows.len() / 2 + pair * (rows.len() / 2) / pairs);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::{Forest, Node, Output, Split, Tree};
    use crate::job::{Job, Workers};
    use crate::players::Players;
    use crate::rows::Rows;

    /// A split in two of feature 0 above a split in two of feature 1.
    fn compiled() -> Compiled {
        let split = |feature, left, right| Node::Split(Split::at(feature, 0.0, left, right));
        let nodes = vec![split(0, 1, 2), split(1, 3, 4), Node::Leaf(0), Node::Leaf(1), Node::Leaf(2)];
        let tree = Tree::new(nodes, vec![1.0, 2.0, 3.0], Output::One(0));
        let forest = Forest::new(vec![tree], 2, vec![0.0]).expect("a valid tree");
        Compiled::new(&forest, &Players::single(2), &Job::new(1).workers)
    }

    fn met(cells: &[f64]) -> f64 {
        let compiled = compiled();
        let rows = Rows::new(cells, cells.len() / 2, 2).expect("a matrix");
        let rows = CodedRows::new(&compiled.columns, &rows, &Workers::new(1)).expect("codes");
        relative_meets(&compiled, &rows) * compiled.trees[0].shape.meets
    }

    #[test]
    fn leaves_are_counted() {
        assert!((met(&[-1.0, -1.0, -2.0, -2.0]) - 1.0).abs() < 1e-12, "rows that go together meet at one leaf");
        assert!((met(&[-1.0, -1.0, 2.0, -2.0]) - 2.0).abs() < 1e-12, "rows that part above meet at two");
        assert!((met(&[-1.0, -1.0, 2.0, 2.0]) - 3.0).abs() < 1e-12, "rows that part twice meet at three");
    }
}
