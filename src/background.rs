//! A background that comes in parts: each part is taken in by itself, anywhere, and parts are merged in any order.
//!
//! Where every tree can have tables, all that is kept of a part is how many rows have each pattern. Where not, the rows
//! are kept as their codes, sorted, equal ones once. Counts and weights are whole numbers, so sums are exact: however
//! rows are cut into parts, and in whatever order these are merged, the result is the same to the last bit.

use crate::engine::codes::{Code, CodedRows, Codes, Columns};
use crate::engine::compiled::Compiled;
use crate::engine::pattern::{Histogram, PatternForest};
use crate::error::{Error, Result};
use crate::explainer::check_players;
use crate::forest::Forest;
use crate::job::{Progress, Workers};
use crate::players::Players;
use crate::row_weights::check_weights;
use crate::rows::Rows;
use crate::saved;

/// The weight of a row that carries none: weights are whole numbers of 2^-80.
pub(crate) const ONE: u128 = 1 << 80;
/// Weights of all rows together stay below this.
const MOST: f64 = (1_u64 << 47) as f64;
/// Counts of a forest may take so many numbers; with more, rows are kept instead. The same on every machine, so that
/// parts of different machines fit together.
const MOST_COUNTS: usize = 1 << 27;

/// Takes in the parts of a background.
///
/// ```
/// use arborshap::{Background, Explainer, Forest, Intake, Node, Notes, Output, Players, Progress, Rows, Split, Tree, Workers};
///
/// let nodes = vec![Node::Split(Split::at(0, 0.0, 1, 2)), Node::Leaf(0), Node::Leaf(1)];
/// let stump = Tree::new(nodes, vec![1.0, 4.0], Output::One(0));
/// let (forest, players) = (Forest::new(vec![stump], 1, vec![0.0])?, Players::single(1));
/// let (workers, progress) = (Workers::new(1), Progress::default());
///
/// let intake = Intake::new(&forest, &players, &workers)?;
/// let [here, there] = [[-1.0, -2.0], [-3.0, 5.0]]
///     .map(|part| intake.take(&Rows::new(&part[..], 2, 1).unwrap(), None, &workers, &progress).unwrap());
/// let (sent, _) = Background::from_bytes(&there.to_bytes(&Notes::default()))?;
/// let explainer = Explainer::from_background(&forest, &players, here.merge(sent)?, &workers, &progress)?;
/// assert_eq!(explainer.expected_value(), [1.75]);
/// # Ok::<(), arborshap::Error>(())
/// ```
#[derive(Debug)]
pub struct Intake {
    compiled: Compiled,
    patterns: PatternForest,
    n_features: usize,
    fingerprint: u64,
}

/// A background, or a part of one, as a forest and its players see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Background {
    /// Of the forest, its players and how codes and patterns are laid out.
    pub(crate) fingerprint: u64,
    pub(crate) len: u64,
    pub(crate) kept: Kept,
}

/// What is kept of rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kept {
    Counts(Histogram),
    Rows(DistinctRows),
}

/// Rows as their codes, sorted, each with its weight.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DistinctRows {
    pub(crate) codes: Codes,
    pub(crate) weights: Vec<u128>,
}

impl Intake {
    /// Compiles a forest and its players.
    pub fn new(forest: &Forest, players: &Players, workers: &Workers) -> Result<Self> {
        check_players(forest, players)?;
        let compiled = Compiled::new(forest, players, workers);
        let patterns = PatternForest::new(&compiled.trees, workers);
        let fingerprint = saved::fingerprint(forest, players, &compiled, &patterns);
        Ok(Self { compiled, patterns, n_features: forest.n_features(), fingerprint })
    }

    /// No rows at all: what every merge may begin with.
    pub fn empty(&self) -> Result<Background> {
        let counted = self.compiled.all_tables && self.patterns.n_entries() <= MOST_COUNTS;
        let kept = if counted {
            Kept::Counts(Histogram::empty(&self.patterns, false)?)
        } else if self.compiled.columns.fit_u16() {
            Kept::Rows(DistinctRows { codes: Codes::U16(Vec::new()), weights: Vec::new() })
        } else {
            Kept::Rows(DistinctRows { codes: Codes::U32(Vec::new()), weights: Vec::new() })
        };
        Ok(Background { fingerprint: self.fingerprint, len: 0, kept })
    }

    /// A part of a background, whose rows may carry weights.
    pub fn take(
        &self,
        rows: &Rows<'_>,
        weights: Option<&[f64]>,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Background> {
        self.add(self.empty()?, rows, weights, workers, progress)
    }

    /// A background with more rows.
    pub fn add(
        &self,
        background: Background,
        rows: &Rows<'_>,
        weights: Option<&[f64]>,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Background> {
        background.expect_fingerprint(self.fingerprint)?;
        rows.expect_width("the background", self.n_features)?;
        if rows.is_empty() {
            return Ok(background);
        }
        check_weights(weights, rows.len())?;
        let exact = weights.map(exact_weights).transpose()?;
        let weight = |row: usize| exact.as_ref().map_or(ONE, |weights| weights[row]);
        let coded = CodedRows::new(&self.compiled.columns, rows, workers)?;
        let kept = match background.kept {
            Kept::Counts(mut counts) => {
                if exact.is_some() {
                    counts = counts.weighted(ONE);
                }
                counts.add(&self.patterns, &coded, &weight, workers, progress)?;
                Kept::Counts(counts)
            }
            Kept::Rows(all) => {
                let weights: Vec<u128> = (0..rows.len()).map(weight).collect();
                Kept::Rows(all.merge(DistinctRows::sorted(
                    &coded.row_major(),
                    &weights,
                    self.compiled.columns.len(),
                ))?)
            }
        };
        Background { len: background.len + rows.len() as u64, kept, ..background }.checked()
    }
}

impl Background {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether only patterns were counted, instead of keeping rows.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        matches!(self.kept, Kept::Counts(_))
    }

    /// The rows of both.
    pub fn merge(self, other: Self) -> Result<Self> {
        other.expect_fingerprint(self.fingerprint)?;
        let kept = match (self.kept, other.kept) {
            (Kept::Counts(mut ours), Kept::Counts(mut theirs)) => {
                if ours.is_weighted() != theirs.is_weighted() {
                    (ours, theirs) = (ours.weighted(ONE), theirs.weighted(ONE));
                }
                ours.merge(&theirs).map_err(Error::Input)?;
                Kept::Counts(ours)
            }
            (Kept::Rows(ours), Kept::Rows(theirs)) => Kept::Rows(ours.merge(theirs)?),
            _ => return Err(mismatch()),
        };
        let len = self.len.checked_add(other.len).ok_or_else(too_heavy)?;
        Self { fingerprint: self.fingerprint, len, kept }.checked()
    }

    pub(crate) fn has_no_weight(&self) -> bool {
        match &self.kept {
            Kept::Counts(counts) => counts.total() == 0,
            Kept::Rows(rows) => rows.weights.is_empty(),
        }
    }

    /// What was kept, if it belongs to this forest.
    pub(crate) fn kept_of(
        self,
        forest: &Forest,
        players: &Players,
        compiled: &Compiled,
        patterns: &PatternForest,
    ) -> Result<Kept> {
        self.expect_fingerprint(saved::fingerprint(forest, players, compiled, patterns))?;
        if let Kept::Counts(counts) = &self.kept {
            counts.check(patterns).map_err(saved::damaged)?;
        }
        Ok(self.kept)
    }

    fn expect_fingerprint(&self, fingerprint: u64) -> Result<()> {
        if self.fingerprint == fingerprint { Ok(()) } else { Err(mismatch()) }
    }

    /// An error unless rows and counts agree, and all weights together are below the most, so that sums are exact.
    pub(crate) fn checked(self) -> Result<Self> {
        let agree = match &self.kept {
            Kept::Counts(counts) => counts.is_weighted() || counts.total() == u128::from(self.len),
            Kept::Rows(rows) => rows.weights.len() as u64 <= self.len,
        };
        if !agree {
            return Err(saved::damaged("the number of its rows is not what was counted"));
        }
        let total = match &self.kept {
            Kept::Counts(counts) if counts.is_weighted() => Some(counts.total()),
            Kept::Counts(counts) => counts.total().checked_mul(ONE),
            Kept::Rows(rows) => rows.weights.iter().try_fold(0_u128, |sum, &weight| sum.checked_add(weight)),
        };
        if total.is_some_and(|total| total >> 80 < MOST as u128) { Ok(self) } else { Err(too_heavy()) }
    }
}

impl DistinctRows {
    /// Rows that are sorted and distinct, and weigh something; what is wrong where they are not.
    pub(crate) fn new(codes: Codes, weights: Vec<u128>) -> Result<Self, String> {
        let increase = match &codes {
            Codes::U16(codes) => increase(codes, weights.len()),
            Codes::U32(codes) => increase(codes, weights.len()),
        };
        if !increase || weights.contains(&0) {
            return Err("its rows are not sorted, distinct and of some weight".into());
        }
        Ok(Self { codes, weights })
    }

    /// Rows sorted, equal ones once with the sum of their weights; those that weigh nothing are left out.
    fn sorted(codes: &Codes, weights: &[u128], width: usize) -> Self {
        match codes {
            Codes::U16(codes) => {
                let (codes, weights) = sorted(codes, weights, width);
                Self { codes: Codes::U16(codes), weights }
            }
            Codes::U32(codes) => {
                let (codes, weights) = sorted(codes, weights, width);
                Self { codes: Codes::U32(codes), weights }
            }
        }
    }

    fn merge(self, other: Self) -> Result<Self> {
        match (self.codes, other.codes) {
            (Codes::U16(ours), Codes::U16(theirs)) => {
                let (codes, weights) =
                    merged((&ours, &self.weights), (&theirs, &other.weights)).ok_or_else(mismatch)?;
                Ok(Self { codes: Codes::U16(codes), weights })
            }
            (Codes::U32(ours), Codes::U32(theirs)) => {
                let (codes, weights) =
                    merged((&ours, &self.weights), (&theirs, &other.weights)).ok_or_else(mismatch)?;
                Ok(Self { codes: Codes::U32(codes), weights })
            }
            _ => Err(mismatch()),
        }
    }

    /// The rows as engines want them.
    pub(crate) fn coded(&self, columns: &Columns) -> Result<CodedRows> {
        CodedRows::from_row_major(columns, &self.codes, self.weights.len()).map_err(saved::damaged)
    }

    /// Their weights; none where all are equal and one.
    pub(crate) fn weights(&self) -> Option<Vec<f64>> {
        let unit = (-80.0_f64).exp2();
        let all_one = self.weights.iter().all(|&weight| weight == ONE);
        (!all_one).then(|| self.weights.iter().map(|&weight| weight as f64 * unit).collect())
    }
}

fn row<C>(codes: &[C], width: usize, row: usize) -> &[C] {
    &codes[row * width..][..width]
}

/// Whether so many rows stand in increasing order.
fn increase<C: Ord>(codes: &[C], rows: usize) -> bool {
    let width = codes.len().checked_div(rows).unwrap_or(0);
    codes.len() == width * rows && (1..rows).all(|r| row(codes, width, r - 1) < row(codes, width, r))
}

fn sorted<C: Code + Ord>(codes: &[C], weights: &[u128], width: usize) -> (Vec<C>, Vec<u128>) {
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

/// Two sorted lists as one; nothing where they do not fit together.
fn merged<C: Code + Ord>(a: (&[C], &[u128]), b: (&[C], &[u128])) -> Option<(Vec<C>, Vec<u128>)> {
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
            (true, false) => std::cmp::Ordering::Less,
            _ => std::cmp::Ordering::Greater,
        };
        codes.extend_from_slice(if order.is_le() { row(a.0, width, i) } else { row(b.0, width, j) });
        let (ours, theirs) = (order.is_le().then(|| a.1[i]), order.is_ge().then(|| b.1[j]));
        weights.push(ours.unwrap_or(0).checked_add(theirs.unwrap_or(0))?);
        i += usize::from(ours.is_some());
        j += usize::from(theirs.is_some());
    }
    Some((codes, weights))
}

/// Weights as whole numbers of 2^-80, or an error where they are none.
fn exact_weights(weights: &[f64]) -> Result<Vec<u128>> {
    let whole = |(row, &weight): (usize, &f64)| {
        let scaled = weight * ONE as f64;
        if weight < MOST && scaled.fract() == 0.0 {
            return Ok(scaled as u128);
        }
        Err(Error::Input(format!(
            "the weight of background row {row} is {weight:e}; parts of a background are summed exactly, in whole \
             numbers of 2^-80 up to 2^47: multiply all weights by the same power of two, or round them"
        )))
    };
    weights.iter().enumerate().map(whole).collect()
}

fn too_heavy() -> Error {
    Error::Input("the weights of all background rows together pass 2^47; divide all of them by the same number".into())
}

fn mismatch() -> Error {
    Error::Input(
        "these parts of a background do not belong together: they were made of another model, with other groups, or by \
         another version of arborshap"
            .into(),
    )
}
