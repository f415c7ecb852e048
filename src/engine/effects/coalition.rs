//! Any coalition: the rows and the background walk down a tree together.
//!
//! A split of the coalition divides the rows, and the background goes both ways; any other split does the reverse. Where
//! either is gone, the subtree is skipped.

use std::ops::Range;

use super::{Setting, shares};
use crate::engine::codes::{Code, CodeTest, CodedRows, with_codes};
use crate::engine::compiled::{Child, CompiledTree, Leaf, Place};
use crate::error::Result;
use crate::memory::zeros;

/// The mean prediction with the players of a coalition from the row and all others from the background:
/// `(rows, outputs)`.
pub(crate) fn coalition(setting: &Setting<'_>, members: &[bool]) -> Result<Vec<f64>> {
    let Setting { compiled, background, rows, job, .. } = *setting;
    let k = compiled.n_outputs;
    let mut out = zeros("the result", &[rows.len(), k])?;
    out.iter_mut().zip(setting.base.iter().cycle()).for_each(|(out, base)| *out = *base);
    job.progress.begin(compiled.trees.len());
    let shares = shares(0..compiled.trees.len());
    let total = background.total();
    let sums = job.workers.map(shares.len(), |share| -> Result<Vec<f64>> {
        let mut sums = zeros("a partial sum", &[rows.len(), k])?;
        for tree in &compiled.trees[shares[share].clone()] {
            let members: Vec<bool> = tree.players.iter().map(|&player| members[player as usize]).collect();
            let weight = |some: &[u32]| some.iter().map(|&row| background.weight(row as usize)).sum();
            let at_leaf = |leaf: usize, some_rows: &[u32], weight: f64| {
                let leaf = Leaf::of(tree, leaf);
                for &row in some_rows {
                    leaf.add(weight / total, &mut sums, row as usize, k);
                }
            };
            with_codes!(rows.codes(), codes => {
                let theirs = Code::unwrap(background.rows.codes()).expect("all rows of a forest have codes of one width");
                let (x, z) = (Descent::new(rows, codes), Descent::new(background.rows, theirs));
                walk(tree, &members, x, z, weight, at_leaf);
            });
            job.progress.step()?;
        }
        Ok(sums)
    });
    for sums in sums {
        out.iter_mut().zip(sums?).for_each(|(out, sum)| *out += sum);
    }
    Ok(out)
}

/// Rows on their way down a tree. Those at a node stand together, behind those of the nodes that are visited later.
struct Descent<'a, C> {
    rows: &'a CodedRows,
    codes: &'a [C],
    list: Vec<u32>,
    /// The rows of one side of a split, until they are put behind those of the other.
    aside: Vec<u32>,
}

impl<'a, C: Code> Descent<'a, C> {
    fn new(rows: &'a CodedRows, codes: &'a [C]) -> Self {
        Self { rows, codes, list: (0..rows.len() as u32).collect(), aside: Vec::new() }
    }

    fn all(&self) -> Range<usize> {
        0..self.list.len()
    }

    /// Puts the rows of a node that go right, then those that go left, at the end.
    fn divide(&mut self, node: Range<usize>, test: CodeTest) -> [Range<usize>; 2] {
        let (lo, span) = (C::from_u32(test.lo), C::from_u32(test.span));
        let start = self.list.len();
        self.list.resize(start + node.len(), 0);
        self.aside.resize(self.aside.len().max(node.len()), 0);
        let (mut right, mut left) = (start, 0);
        for i in node {
            let row = self.list[i];
            let passes = self.rows.code(self.codes, row as usize, test.column).within(lo, span);
            self.aside[left] = row;
            left += usize::from(passes);
            self.list[right] = row;
            right += usize::from(!passes);
        }
        self.list.truncate(right);
        self.list.extend_from_slice(&self.aside[..left]);
        [start..right, right..right + left]
    }
}

/// An edge to follow with some rows and some of the background.
struct Todo {
    at: Child,
    rows: Range<usize>,
    background: Range<usize>,
    /// The weight of that background, which changes only where it divides.
    weight: f64,
    /// How much of the two lists is still needed.
    keep: [usize; 2],
}

/// Takes rows and background down a tree, and calls `at_leaf` where both arrive: with the leaf, the rows and the weight of
/// the background there.
fn walk<C: Code>(
    tree: &CompiledTree,
    members: &[bool],
    mut x: Descent<'_, C>,
    mut z: Descent<'_, C>,
    weight_of: impl Fn(&[u32]) -> f64,
    mut at_leaf: impl FnMut(usize, &[u32], f64),
) {
    let keep = [x.list.len(), z.list.len()];
    let weight = weight_of(&z.list);
    let mut todo = vec![Todo { at: tree.root, rows: x.all(), background: z.all(), weight, keep }];
    while let Some(Todo { at, rows, background, weight, keep }) = todo.pop() {
        x.list.truncate(keep[0]);
        z.list.truncate(keep[1]);
        match at.place() {
            Place::Leaf(leaf) => at_leaf(leaf, &x.list[rows], weight),
            Place::Split(n) => {
                let split = &tree.splits[n];
                let sides = if members[split.player as usize] {
                    x.divide(rows, split.test).map(|rows| (rows, background.clone(), weight))
                } else {
                    z.divide(background, split.test).map(|background| {
                        let weight = weight_of(&z.list[background.clone()]);
                        (rows.clone(), background, weight)
                    })
                };
                for (at, (rows, background, weight)) in [split.right, split.left].into_iter().zip(sides) {
                    if !rows.is_empty() && !background.is_empty() {
                        let keep = [keep[0].max(rows.end), keep[1].max(background.end)];
                        todo.push(Todo { at, rows, background, weight, keep });
                    }
                }
            }
        }
    }
}
