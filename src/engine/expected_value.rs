//! The expected value, from how much of the background is in each leaf.

use super::codes::{BLOCK, Code, with_codes};
use super::compiled::{Child, Compiled, CompiledTree, Place};
use super::tables::{Histogram, PatternForest};
use super::task::BackgroundRows;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::simd::prefetch;

/// What is known of a background: its histogram, its rows, or both.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) counts: Option<(&'a Histogram, &'a PatternForest)>,
    pub(crate) rows: Option<BackgroundRows<'a>>,
}

/// The weighted mean of the margin over the background, one number per output.
///
/// Rows are counted leaf by leaf, from the histogram if there is one and row by row if not. Counts are exact, so both
/// ways give the same bits.
pub(crate) fn expected_value(compiled: &Compiled, base: &[f64], known: Known<'_>, job: &Job) -> Result<Vec<f64>> {
    let total = known.rows.map_or(0.0, |rows| rows.total());
    job.progress.begin(compiled.trees.len());
    let trees = job.workers.map(compiled.trees.len(), |t| -> Result<Vec<f64>> {
        job.progress.step()?;
        let tree = &compiled.trees[t];
        let shares = match (known.counts, known.rows) {
            (Some((histogram, patterns)), _) if tree.can_have_tables() => patterns.leaf_shares(t, tree, histogram),
            (_, Some(rows)) => leaf_sums(tree, &rows).into_iter().map(|sum| sum / total).collect(),
            _ => return Err(Error::OnlyCounts),
        };
        let mut mean = vec![0.0; tree.width];
        // Few rows reach few of the leaves of a large tree.
        for (share, values) in shares.iter().zip(tree.leaf_values()).filter(|(share, _)| **share != 0.0) {
            mean.iter_mut().zip(values).for_each(|(mean, value)| *mean += share * value);
        }
        Ok(mean)
    });
    let mut expected = base.to_vec();
    for (tree, mean) in compiled.trees.iter().zip(trees) {
        expected[tree.output.first()..].iter_mut().zip(mean?).for_each(|(sum, mean)| *sum += mean);
    }
    Ok(expected)
}

/// The weight of the rows in each leaf, row by row.
fn leaf_sums(tree: &CompiledTree, background: &BackgroundRows<'_>) -> Vec<f64> {
    let mut sums = vec![0.0; tree.n_leaves()];
    let rows = background.rows;
    let mut leaves = [0; BLOCK];
    with_codes!(rows.codes(), codes => {
        for start in (0..rows.len()).step_by(BLOCK) {
            let (block, _) = rows.block_of(codes, start);
            let leaves = &mut leaves[..(rows.len() - start).min(BLOCK)];
            leaves_of(tree, block, leaves);
            for (row, &leaf) in (start..).zip(leaves.iter()) {
                sums[leaf] += background.weight(row);
            }
        }
    });
    sums
}

/// The leaf that each row of a block falls into. All rows go one step further at a time, so that the nodes of many rows are
/// on their way from memory together.
fn leaves_of<C: Code>(tree: &CompiledTree, block: &[C], leaves: &mut [usize]) {
    let mut going: Vec<(usize, Child)> = (0..leaves.len()).map(|row| (row, tree.root)).collect();
    while !going.is_empty() {
        going.retain_mut(|(row, at)| match at.place() {
            Place::Leaf(leaf) => {
                leaves[*row] = leaf;
                false
            }
            Place::Split(n) => {
                let split = &tree.splits[n];
                let code = block[split.test.column as usize * BLOCK + *row];
                let left = code.within(C::from_u32(split.test.lo), C::from_u32(split.test.span));
                *at = if left { split.left } else { split.right };
                if let Place::Split(next) = at.place() {
                    prefetch(&tree.splits, next);
                    prefetch(&tree.splits, next + 1);
                }
                true
            }
        });
    }
}
