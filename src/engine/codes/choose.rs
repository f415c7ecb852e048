//! How the codes of a forest are chosen: its cuts are collected and ranked, column by column.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Axis, CodeTest, Coding, Column, Columns};
use crate::forest::{Forest, Node, Precision, Rule, Split, Test};
use crate::job::Workers;

/// The code tests of the nodes of a forest.
pub(crate) struct CodeTests {
    /// For each node, numbered over all trees: the rank of its cut, or the column of its category set. Atomic, since the
    /// columns are ranked side by side, each for its own nodes.
    numbers: Vec<AtomicU32>,
    /// The columns of thresholds of each feature.
    columns: Vec<Vec<(Axis, u32)>>,
}

impl CodeTests {
    /// The test of a split, which is the node of this number.
    #[inline]
    pub(crate) fn of(&self, number: usize, split: &Split) -> CodeTest {
        let found = self.numbers[number].load(Ordering::Relaxed);
        if let Test::Member { .. } = split.test {
            return CodeTest { column: found, lo: 1, span: 0 };
        }
        let axis = (split.precision, split.missing);
        let column = self.columns[split.feature as usize].iter().find(|(known, _)| *known == axis);
        CodeTest::at(column.expect("every split has its column").1, found, split.default_left)
    }
}

/// Trees whose cuts are collected together.
const RUN: usize = 8;

impl Columns {
    /// The columns for a forest, and the code tests of its nodes.
    pub(crate) fn new(forest: &Forest, workers: &Workers) -> (Self, CodeTests) {
        let mut starts = vec![0_usize];
        starts.extend(forest.trees().iter().scan(0, |next, tree| {
            *next += tree.nodes().len();
            Some(*next)
        }));
        let n_trees = forest.trees().len();
        let runs = workers.map(n_trees.div_ceil(RUN), |i| {
            let mut found = Found::new(forest.n_features());
            for t in i * RUN..n_trees.min((i + 1) * RUN) {
                found.add(forest.trees()[t].nodes(), starts[t] as u32);
            }
            found
        });
        let numbers: Vec<AtomicU32> = std::iter::repeat_with(AtomicU32::default).take(starts[n_trees]).collect();
        let mut columns = Vec::new();
        let mut sets: HashMap<SetKey, u32> = HashMap::new();
        let mut thresholds: Vec<Thresholds<'_>> = Vec::new();
        for run in &runs {
            for &(number, split) in &run.sets {
                let column = *sets.entry(SetKey::of(split)).or_insert_with(|| {
                    columns.push(Column { feature: split.feature as usize, coding: Coding::Split(split.clone()) });
                    columns.len() as u32 - 1
                });
                numbers[number as usize].store(column, Ordering::Relaxed);
            }
        }
        let mut of_feature: Vec<Vec<usize>> = vec![Vec::new(); forest.n_features()];
        for run in &runs {
            for some in &run.thresholds {
                let known = of_feature[some.feature].iter().copied().find(|&i| thresholds[i].axis == some.axis);
                let i = known.unwrap_or_else(|| {
                    of_feature[some.feature].push(thresholds.len());
                    thresholds.push(Thresholds { feature: some.feature, axis: some.axis, parts: Vec::new() });
                    thresholds.len() - 1
                });
                thresholds[i].parts.push(some);
            }
        }
        // Neighbours in a row are neighbours in memory, so they are coded one after the other.
        thresholds.sort_by_key(|t| t.feature);
        let ranked = workers.map(thresholds.len(), |i| thresholds[i].rank(&numbers));
        let mut of_feature = vec![Vec::new(); forest.n_features()];
        let mut max_code = 2;
        for (Thresholds { feature, axis, .. }, cuts) in thresholds.iter().zip(ranked) {
            max_code = max_code.max(cuts.len() + 1);
            of_feature[*feature].push((*axis, columns.len() as u32));
            let (precision, missing) = *axis;
            let coding = match precision {
                Precision::Float32 => Coding::F32 { cuts: cuts.iter().map(|&c| c as f32).collect(), missing },
                Precision::Float64 => Coding::F64 { cuts, missing },
            };
            columns.push(Column { feature: *feature, coding });
        }
        (Self { columns, max_code }, CodeTests { numbers, columns: of_feature })
    }
}

/// What a run of trees asks.
struct Found<'a> {
    thresholds: Vec<SomeThresholds>,
    /// Where those of each feature are.
    of_feature: Vec<Vec<u32>>,
    /// The category splits, with their node numbers.
    sets: Vec<(u32, &'a Split)>,
}

/// The splits of a run of trees by one feature on one axis. Those that no value passes are left out: their rank is 0.
struct SomeThresholds {
    feature: usize,
    axis: Axis,
    /// In single precision, a cut and its node number as one word, which is several times faster to sort.
    words: Vec<u64>,
    /// In double precision.
    cuts: Vec<(f64, u32)>,
}

impl<'a> Found<'a> {
    fn new(n_features: usize) -> Self {
        Self { thresholds: Vec::new(), of_feature: vec![Vec::new(); n_features], sets: Vec::new() }
    }

    /// Adds the splits of a tree, whose nodes are numbered from `first` on.
    fn add(&mut self, nodes: &'a [Node], first: u32) {
        for (number, node) in (first..).zip(nodes) {
            let Node::Split(split) = node else { continue };
            let cut = cut(split);
            if matches!(cut, Cut::Set) {
                self.sets.push((number, split));
                continue;
            }
            let (feature, axis) = (split.feature as usize, (split.precision, split.missing));
            let known = self.of_feature[feature].iter().find(|&&i| self.thresholds[i as usize].axis == axis);
            let i = known.copied().unwrap_or_else(|| {
                self.of_feature[feature].push(self.thresholds.len() as u32);
                self.thresholds.push(SomeThresholds { feature, axis, words: Vec::new(), cuts: Vec::new() });
                self.thresholds.len() as u32 - 1
            });
            let thresholds = &mut self.thresholds[i as usize];
            match (cut, split.precision) {
                (Cut::At(cut), Precision::Float32) => {
                    thresholds.words.push(u64::from(ordered(cut as f32)) << 32 | u64::from(number));
                }
                (Cut::At(cut), Precision::Float64) => thresholds.cuts.push((cut, number)),
                (Cut::Never | Cut::Set, _) => {}
            }
        }
    }
}

/// The splits of all trees by one feature on one axis.
struct Thresholds<'a> {
    feature: usize,
    axis: Axis,
    parts: Vec<&'a SomeThresholds>,
}

impl Thresholds<'_> {
    /// The distinct cuts in order. The number of each split becomes the rank of its cut, counted from 1.
    fn rank(&self, numbers: &[AtomicU32]) -> Vec<f64> {
        let mut cuts: Vec<f64> = Vec::new();
        let mut add = |cut: f64, number: u32| {
            // Zeros of either sign are one cut.
            if cuts.last().is_none_or(|&last| last < cut) {
                cuts.push(cut);
            }
            numbers[number as usize].store(cuts.len() as u32, Ordering::Relaxed);
        };
        if self.axis.0 == Precision::Float64 {
            let mut sorted: Vec<(f64, u32)> = self.parts.iter().flat_map(|part| &part.cuts).copied().collect();
            sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            for (cut, number) in sorted {
                add(cut, number);
            }
        } else {
            let words = self.parts.iter().map(|part| &part.words[..]).collect::<Vec<_>>().concat();
            for word in sorted(words) {
                add(f64::from(number_of((word >> 32) as u32)), word as u32);
            }
        }
        cuts
    }
}

/// Words in the order of their upper halves.
fn sorted(mut words: Vec<u64>) -> Vec<u64> {
    if words.len() < 1 << 12 {
        words.sort_unstable();
        return words;
    }
    // Digit by digit, from the last one on: each pass keeps the order of the passes before it.
    let digit = |word: u64, d: usize| (word >> (32 + 11 * d)) as usize % (1 << 11);
    let mut counts = vec![[0_u32; 1 << 11]; 3];
    for &word in &words {
        for d in 0..3 {
            counts[d][digit(word, d)] += 1;
        }
    }
    let mut next = vec![0; words.len()];
    for (d, places) in counts.iter_mut().enumerate() {
        let mut place = 0;
        for count in &mut *places {
            place += std::mem::replace(count, place);
        }
        for &word in &words {
            let place = &mut places[digit(word, d)];
            next[*place as usize] = word;
            *place += 1;
        }
        std::mem::swap(&mut words, &mut next);
    }
    words
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_words_are_sorted_by_their_upper_halves() {
        let word = |i: u64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) & !0xFFFF_FFFF) | i;
        let words: Vec<u64> = (0..10_000).map(|i| word(i % 7_000)).collect();
        let mut expected = words.clone();
        expected.sort_unstable();
        assert_eq!(sorted(words), expected);
    }
}
