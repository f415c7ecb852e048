//! Rows as their codes, sorted, each distinct row once with the sum of its weights.

use std::cmp::Ordering;

use super::sample_weights::ONE;
use crate::engine::codes::{Code, CodedRows, Codes, Columns, of_width, with_codes};
use crate::error::{Error, Result};

/// Rows as their codes, sorted, each with its weight.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DistinctRows {
    codes: Codes,
    weights: Vec<u128>,
}

impl DistinctRows {
    /// Takes rows that are sorted, distinct and of positive weight; or a description of what is invalid.
    pub(crate) fn new(codes: Codes, weights: Vec<u128>) -> Result<Self, String> {
        let increase = with_codes!(&codes, codes => increase(codes, weights.len()));
        if !increase || weights.contains(&0) {
            return Err("its rows are not sorted, distinct and of some weight".into());
        }
        Ok(Self { codes, weights })
    }

    /// No rows, with codes as wide as those of these columns.
    pub(super) fn empty(columns: &Columns) -> Self {
        Self { codes: of_width!(columns, C => C::wrap(Vec::new())), weights: Vec::new() }
    }

    /// Sorts rows and keeps equal ones once, with the sum of their weights. Rows without weight are left out.
    pub(super) fn sorted(codes: &Codes, weights: &[u128], width: usize) -> Self {
        with_codes!(codes, codes => {
            let (codes, weights) = sorted(codes, weights, width);
            Self { codes: Code::wrap(codes), weights }
        })
    }

    /// The rows of both; `None` if their codes are of different forests.
    pub(super) fn merge(&self, other: &Self) -> Option<Self> {
        with_codes!(&self.codes, ours => {
            let theirs = Code::unwrap(&other.codes)?;
            let (codes, weights) = merged((ours, &self.weights), (theirs, &other.weights))?;
            Some(Self { codes: Code::wrap(codes), weights })
        })
    }

    /// These rows without those of another; `None` if not all of them are here.
    pub(super) fn subtract(&self, other: &Self) -> Option<Self> {
        with_codes!(&self.codes, ours => {
            let theirs = Code::unwrap(&other.codes)?;
            let (codes, weights) = without((ours, &self.weights), (theirs, &other.weights))?;
            Some(Self { codes: Code::wrap(codes), weights })
        })
    }

    /// How many distinct rows there are.
    pub(crate) fn len(&self) -> usize {
        self.weights.len()
    }

    /// The sum of all weights; `None` if it exceeds 128 bits.
    pub(super) fn total(&self) -> Option<u128> {
        self.weights.iter().try_fold(0_u128, |sum, &weight| sum.checked_add(weight))
    }

    /// The codes, row after row.
    pub(crate) fn codes(&self) -> &Codes {
        &self.codes
    }

    /// The weights as whole numbers of 2^-80.
    pub(crate) fn whole_weights(&self) -> &[u128] {
        &self.weights
    }

    /// The rows as the engines use them.
    pub(crate) fn coded(&self, columns: &Columns) -> Result<CodedRows> {
        CodedRows::from_row_major(columns, &self.codes, self.weights.len()).map_err(Error::damaged)
    }

    /// The weights; `None` if all of them are 1.
    pub(crate) fn weights(&self) -> Option<Vec<f64>> {
        let unit = (-80.0_f64).exp2();
        let all_one = self.weights.iter().all(|&weight| weight == ONE);
        (!all_one).then(|| self.weights.iter().map(|&weight| weight as f64 * unit).collect())
    }
}

fn row<C>(codes: &[C], width: usize, row: usize) -> &[C] {
    &codes[row * width..][..width]
}

/// Whether these are `rows` rows in increasing order.
fn increase<C: Ord>(codes: &[C], rows: usize) -> bool {
    let width = codes.len().checked_div(rows).unwrap_or(0);
    codes.len() == width * rows && (1..rows).all(|r| row(codes, width, r - 1) < row(codes, width, r))
}

fn sorted<C: Code>(codes: &[C], weights: &[u128], width: usize) -> (Vec<C>, Vec<u128>) {
    let mut order: Vec<usize> = (0..weights.len()).filter(|&r| weights[r] > 0).collect();
    order.sort_unstable_by(|&a, &b| row(codes, width, a).cmp(row(codes, width, b)));
    let (mut out, mut sums): (Vec<C>, Vec<u128>) = (Vec::new(), Vec::new());
    for r in order {
        let codes = row(codes, width, r);
        match sums.last_mut() {
            Some(sum) if out[out.len() - width..] == *codes => *sum += weights[r],
            _ => {
                out.extend_from_slice(codes);
                sums.push(weights[r]);
            }
        }
    }
    (out, sums)
}

/// The rows of one sorted list without those of another; `None` unless all of these are in the first.
fn without<C: Code>(a: (&[C], &[u128]), b: (&[C], &[u128])) -> Option<(Vec<C>, Vec<u128>)> {
    let width = a.0.len().checked_div(a.1.len()).unwrap_or(0);
    if b.0.len() != width * b.1.len() {
        return None;
    }
    let (mut codes, mut weights) = (Vec::new(), Vec::new());
    let mut rest = (0..b.1.len()).peekable();
    for (i, &ours) in a.1.iter().enumerate() {
        let row_codes = row(a.0, width, i);
        let same = rest.next_if(|&j| row(b.0, width, j) == row_codes);
        let left = ours.checked_sub(same.map_or(0, |j| b.1[j]))?;
        if left > 0 {
            codes.extend_from_slice(row_codes);
            weights.push(left);
        }
    }
    rest.peek().is_none().then_some((codes, weights))
}

/// Two sorted lists merged into one; `None` if their rows differ in width, or if a sum of weights exceeds 128 bits.
fn merged<C: Code>(a: (&[C], &[u128]), b: (&[C], &[u128])) -> Option<(Vec<C>, Vec<u128>)> {
    let width = [a, b].iter().find(|(_, weights)| !weights.is_empty()).map_or(0, |(codes, w)| codes.len() / w.len());
    if [a, b].iter().any(|(codes, weights)| codes.len() != width * weights.len()) {
        return None;
    }
    let mut codes = Vec::with_capacity(a.0.len().max(b.0.len()));
    let mut weights = Vec::with_capacity(a.1.len().max(b.1.len()));
    let (mut i, mut j) = (0, 0);
    while i < a.1.len() || j < b.1.len() {
        let order = match (i < a.1.len(), j < b.1.len()) {
            (true, true) => row(a.0, width, i).cmp(row(b.0, width, j)),
            (true, false) => Ordering::Less,
            _ => Ordering::Greater,
        };
        codes.extend_from_slice(if order.is_le() { row(a.0, width, i) } else { row(b.0, width, j) });
        let (ours, theirs) = (order.is_le().then(|| a.1[i]), order.is_ge().then(|| b.1[j]));
        weights.push(ours.unwrap_or(0).checked_add(theirs.unwrap_or(0))?);
        i += usize::from(ours.is_some());
        j += usize::from(theirs.is_some());
    }
    Some((codes, weights))
}
