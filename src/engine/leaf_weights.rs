//! How much of the background is in each leaf, and with it the expected value.

use super::codes::{BLOCK, Code, CodedRows, Codes};
use super::compiled::{Compiled, CompiledTree, Place};
use super::pattern::{Histogram, PatternForest};
use super::plan::can_have_tables;
use crate::error::{Error, Result};
use crate::forest::Output;
use crate::job::{Progress, Workers};

/// The weighted mean of the margin over the background, one number an output.
///
/// Rows are counted leaf by leaf, by histogram where there is one and one by one where not; counts are exact, so both
/// ways give the same bits.
pub(crate) fn expected_value(
    compiled: &Compiled,
    base: &[f64],
    counted: Option<(&Histogram, &PatternForest)>,
    rows: Option<&CodedRows>,
    weights: Option<&[f64]>,
    workers: &Workers,
    progress: &Progress,
) -> Result<Vec<f64>> {
    let total: f64 = weights.map_or_else(|| rows.map_or(0.0, |r| r.len() as f64), |w| w.iter().sum());
    progress.expect(compiled.trees.len());
    let trees = workers.map(compiled.trees.len(), |t| -> Result<Vec<f64>> {
        progress.step()?;
        let tree = &compiled.trees[t];
        let shares = match (counted, rows) {
            (Some((histogram, patterns)), _) if can_have_tables(tree) => patterns.leaf_shares(t, tree, histogram),
            (_, Some(rows)) => leaf_sums(tree, rows, weights).into_iter().map(|sum| sum / total).collect(),
            _ => return Err(Error::Input("a background that is not kept must have been counted".into())),
        };
        let mut mean = vec![0.0; tree.width];
        for (share, values) in shares.iter().zip(tree.values.chunks_exact(tree.width)) {
            mean.iter_mut().zip(values).for_each(|(mean, value)| *mean += share * value);
        }
        Ok(mean)
    });
    let mut expected = base.to_vec();
    for (tree, mean) in compiled.trees.iter().zip(trees) {
        let first = match tree.output {
            Output::One(k) => k,
            Output::All => 0,
        };
        expected[first..].iter_mut().zip(mean?).for_each(|(sum, mean)| *sum += mean);
    }
    Ok(expected)
}

/// The weight of the rows in each leaf, row by row.
fn leaf_sums(tree: &CompiledTree, rows: &CodedRows, weights: Option<&[f64]>) -> Vec<f64> {
    let mut sums = vec![0.0; tree.values.len() / tree.width];
    for row in 0..rows.len() {
        let leaf = match rows.codes() {
            Codes::U16(codes) => leaf_of(tree, codes, row, rows.len()),
            Codes::U32(codes) => leaf_of(tree, codes, row, rows.len()),
        };
        sums[leaf] += weights.map_or(1.0, |w| w[row]);
    }
    sums
}

fn leaf_of<C: Code>(tree: &CompiledTree, codes: &[C], row: usize, n_rows: usize) -> usize {
    let block_codes = codes.len() / n_rows.div_ceil(BLOCK);
    let block = &codes[row / BLOCK * block_codes..][..block_codes];
    let mut at = tree.root;
    loop {
        match at.place() {
            Place::Leaf(leaf) => return leaf,
            Place::Split(n) => {
                let split = &tree.splits[n];
                let code = block[split.test.column as usize * BLOCK + row % BLOCK];
                let left = code.within(C::from_u32(split.test.lo), C::from_u32(split.test.span));
                at = if left { split.left } else { split.right };
            }
        }
    }
}
