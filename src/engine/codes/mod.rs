//! Values as small integers: all that a forest can see of a value.
//!
//! A forest asks finitely many questions about a feature, so a value matters only through the interval between two
//! thresholds that it falls into. Each value is looked up once and becomes a *code*. Every split of every tree is then
//! the same test, `code - lo <= span` in wrapping arithmetic, whatever rule, precision, missing direction or
//! category set the library has. [`Split::goes_left`] stays the definition.

mod encode;
mod row_major;
mod rows;
mod source;
mod width;

pub(crate) use crate::simd::bits;
pub(crate) use rows::{BLOCK, CodedRows, SET};
pub(crate) use source::RowSource;
pub(crate) use width::{Code, Codes, of_width, with_codes};

use std::collections::HashMap;

use crate::forest::{Forest, Missing, Node, Precision, Rule, Split, Test, Tree};
use crate::job::Workers;

/// A test of a column's code: `code - lo <= span`, wrapping. `lo` is stored as a `u32` whose low bits serve
/// narrower codes too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodeTest {
    pub(crate) column: u32,
    pub(crate) lo: u32,
    pub(crate) span: u32,
}

impl CodeTest {
    /// The test of a split at the cut of this rank. Values up to the cut pass, which have the codes 1 ..= rank, and so
    /// do missing values if `missing_left` says so. In wrapping arithmetic the missing code comes right before code 0,
    /// which no value has.
    pub(crate) fn at(column: u32, rank: u32, missing_left: bool) -> Self {
        match (missing_left, rank) {
            (true, 0) => Self { column, lo: u32::MAX, span: 0 },
            (true, _) => Self { column, lo: u32::MAX, span: rank + 1 },
            (false, 0) => Self { column, lo: 0, span: 0 },
            (false, _) => Self { column, lo: 1, span: rank - 1 },
        }
    }

    /// The rank of [`at`](Self::at), and whether missing values pass.
    pub(crate) fn rank(self) -> (u32, bool) {
        match self.lo {
            u32::MAX => (self.span.saturating_sub(1), true),
            0 => (0, false),
            _ => (self.span + 1, false),
        }
    }
}

/// How a value of one feature becomes a code.
#[derive(Debug)]
enum Coding {
    /// 1 + the number of cuts below the value; cuts in single precision.
    F32 { cuts: Vec<f32>, missing: Missing },
    /// The same in double precision.
    F64 { cuts: Vec<f64>, missing: Missing },
    /// 1 if the split sends the value left, 2 if right (a category set).
    Split(Split),
}

/// One column of codes.
#[derive(Debug)]
struct Column {
    feature: usize,
    coding: Coding,
}

/// What distinguishes columns of thresholds of the same feature.
type Axis = (Precision, Missing);

/// The columns of codes that a forest needs.
#[derive(Debug)]
pub(crate) struct Columns {
    columns: Vec<Column>,
    max_code: usize,
}

/// The splits of one feature on one axis.
struct Thresholds {
    feature: usize,
    axis: Axis,
    /// The cut and the node number of each split.
    cuts: Vec<(f64, u32)>,
    /// The node numbers of splits that no value passes.
    never: Vec<u32>,
}

impl Columns {
    /// The columns for a forest, and the code test of each of its nodes, numbered over all trees; leaves have none.
    pub(crate) fn new(forest: &Forest, workers: &Workers) -> (Self, Vec<CodeTest>) {
        let nodes = || forest.trees().iter().flat_map(Tree::nodes);
        let mut tests = vec![CodeTest { column: 0, lo: 0, span: 0 }; nodes().count()];
        let mut thresholds: Vec<Thresholds> = Vec::new();
        let mut of_feature: Vec<Vec<usize>> = vec![Vec::new(); forest.n_features()];
        let mut columns = Vec::new();
        let mut sets: HashMap<SetKey, u32> = HashMap::new();
        for (number, node) in (0..).zip(nodes()) {
            let Node::Split(split) = node else { continue };
            let feature = split.feature as usize;
            let cut = cut(split);
            if matches!(cut, Cut::Set) {
                let column = *sets.entry(SetKey::of(split)).or_insert_with(|| {
                    columns.push(Column { feature, coding: Coding::Split(split.clone()) });
                    columns.len() as u32 - 1
                });
                tests[number as usize] = CodeTest { column, lo: 1, span: 0 };
                continue;
            }
            let axis = (split.precision, split.missing);
            let known = of_feature[feature].iter().copied().find(|&i| thresholds[i].axis == axis);
            let i = known.unwrap_or_else(|| {
                of_feature[feature].push(thresholds.len());
                thresholds.push(Thresholds { feature, axis, cuts: Vec::new(), never: Vec::new() });
                thresholds.len() - 1
            });
            // The test is completed below; until then its span says where a missing value goes.
            tests[number as usize].span = u32::from(split.default_left);
            match cut {
                Cut::At(cut) => thresholds[i].cuts.push((cut, number)),
                Cut::Never | Cut::Set => thresholds[i].never.push(number),
            }
        }
        // Neighbours in a row are neighbours in memory, so they are coded one after the other.
        thresholds.sort_by_key(|t| t.feature);
        let mut max_code = 2;
        let ranked = workers.map(thresholds.len(), |i| thresholds[i].rank());
        for (thresholds, (cuts, ranks)) in thresholds.iter().zip(ranked) {
            max_code = max_code.max(cuts.len() + 1);
            for (number, rank) in ranks {
                let test = &mut tests[number as usize];
                *test = CodeTest::at(columns.len() as u32, rank, test.span == 1);
            }
            let (precision, missing) = thresholds.axis;
            let coding = match precision {
                Precision::Float32 => Coding::F32 { cuts: cuts.iter().map(|&c| c as f32).collect(), missing },
                Precision::Float64 => Coding::F64 { cuts, missing },
            };
            columns.push(Column { feature: thresholds.feature, coding });
        }
        (Self { columns, max_code }, tests)
    }

    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    /// The largest code of a value in a column.
    pub(crate) fn largest_code(&self, column: usize) -> u32 {
        match &self.columns[column].coding {
            Coding::F32 { cuts, .. } => cuts.len() as u32 + 1,
            Coding::F64 { cuts, .. } => cuts.len() as u32 + 1,
            Coding::Split(_) => 2,
        }
    }

    /// Whether 16 bits hold every code, with room for the tests' own arithmetic.
    pub(crate) fn fit_u16(&self) -> bool {
        self.max_code < usize::from(u16::MAX) - 4
    }
}

impl Thresholds {
    /// The distinct cuts in order, and each split's node number with the rank of its cut, counted from 1; the rank is 0
    /// for a split that no value passes.
    fn rank(&self) -> (Vec<f64>, Vec<(u32, u32)>) {
        let mut cuts: Vec<f64> = Vec::new();
        let mut ranks: Vec<(u32, u32)> = Vec::with_capacity(self.never.len() + self.cuts.len());
        ranks.extend(self.never.iter().map(|&number| (number, 0)));
        for (cut, number) in self.sorted() {
            // Zeros of either sign are one cut.
            if cuts.last().is_none_or(|&last| last < cut) {
                cuts.push(cut);
            }
            ranks.push((number, cuts.len() as u32));
        }
        (cuts, ranks)
    }

    /// The splits by their cuts.
    fn sorted(&self) -> Vec<(f64, u32)> {
        if self.axis.0 == Precision::Float64 {
            let mut sorted = self.cuts.clone();
            sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            return sorted;
        }
        // Cuts in single precision fit into one word with their node numbers, which is several times faster to sort.
        let word = |&(cut, number): &(f64, u32)| u64::from(ordered(cut as f32)) << 32 | u64::from(number);
        let mut words: Vec<u64> = self.cuts.iter().map(word).collect();
        words.sort_unstable();
        words.into_iter().map(|word| (f64::from(number_of((word >> 32) as u32)), word as u32)).collect()
    }
}

/// The sign bit of a number in single precision.
const SIGN: u32 = 1 << 31;

/// An integer that compares like the number.
fn ordered(x: f32) -> u32 {
    let bits = x.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// The number that [`ordered`] made this integer from.
fn number_of(ordered: u32) -> f32 {
    f32::from_bits(if ordered & SIGN == 0 { !ordered } else { ordered & !SIGN })
}

/// What identifies a category split: equal splits share a column.
#[derive(Debug, PartialEq, Eq, Hash)]
struct SetKey {
    feature: u32,
    axis: Axis,
    default_left: bool,
    categories: Box<[u32]>,
    members_left: bool,
    negative_fraction_is_zero: bool,
}

impl SetKey {
    fn of(split: &Split) -> Self {
        let Test::Member { categories, members_left, negative_fraction_is_zero } = &split.test else {
            unreachable!("only category splits have a set")
        };
        Self {
            feature: split.feature,
            axis: (split.precision, split.missing),
            default_left: split.default_left,
            categories: categories.codes().into(),
            members_left: *members_left,
            negative_fraction_is_zero: *negative_fraction_is_zero,
        }
    }
}

/// The largest value that goes left.
enum Cut {
    At(f64),
    /// No value goes left.
    Never,
    /// A category split has no cut.
    Set,
}

fn cut(split: &Split) -> Cut {
    let Test::Threshold { rule, threshold } = split.test else { return Cut::Set };
    let largest = match rule {
        Rule::LessEqual => threshold,
        Rule::Less if threshold == f64::NEG_INFINITY => return Cut::Never,
        Rule::Less => threshold.next_down(),
    };
    Cut::At(match split.precision {
        Precision::Float64 => largest,
        Precision::Float32 => f64::from(round_down(largest)),
    })
}

/// The largest single-precision number that is not above `x`.
fn round_down(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) > x { near.next_down() } else { near }
}
