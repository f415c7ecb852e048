//! How the codes of a forest are chosen: its cuts are collected and ranked, column by column.

use std::collections::HashMap;

use super::{Axis, CodeTest, Coding, Column, Columns};
use crate::forest::{Forest, Missing, Node, Precision, Rule, Split, Test, Tree};
use crate::job::Workers;

/// The code tests of the nodes of a forest.
pub(crate) struct CodeTests {
    /// For each node of a run of trees: the rank of its cut, or the column of its category set.
    numbers: Vec<Vec<u32>>,
    /// For each tree, its first node in its run.
    starts: Vec<usize>,
    /// For each [`place`]: the column of its thresholds.
    columns: Vec<u32>,
}

/// The code tests of the nodes of a tree.
pub(crate) struct TreeTests<'a> {
    numbers: &'a [u32],
    columns: &'a [u32],
}

impl CodeTests {
    /// Those of the tree at this position.
    pub(crate) fn of_tree(&self, t: usize) -> TreeTests<'_> {
        TreeTests { numbers: &self.numbers[t / RUN][self.starts[t]..], columns: &self.columns }
    }
}

impl TreeTests<'_> {
    /// The test of a split, which is this node of the tree.
    #[inline]
    pub(crate) fn of(&self, node: usize, split: &Split) -> CodeTest {
        let number = self.numbers[node];
        match split.test {
            Test::Member { .. } => CodeTest { column: number, lo: 1, span: 0 },
            Test::Threshold { .. } => {
                let place = place(split.feature as usize, (split.precision, split.missing));
                CodeTest::at(self.columns[place], number, split.default_left)
            }
        }
    }
}

/// How many axes a feature may have.
const AXES: usize = 6;

/// Where the thresholds of a feature on an axis are found in a list of all features and axes.
#[inline]
fn place(feature: usize, (precision, missing): Axis) -> usize {
    let precision = match precision {
        Precision::Float32 => 0,
        Precision::Float64 => 3,
    };
    let missing = match missing {
        Missing::Nan => 0,
        Missing::NanIsZero => 1,
        Missing::NanOrZero => 2,
    };
    AXES * feature + precision + missing
}

/// Trees whose cuts are collected together.
const RUN: usize = 8;

impl Columns {
    /// The columns for a forest, and the code tests of its nodes.
    pub(crate) fn new(forest: &Forest, workers: &Workers) -> (Self, CodeTests) {
        let runs: Vec<&[Tree]> = forest.trees().chunks(RUN).collect();
        let found = workers.map(runs.len(), |r| Found::new(runs[r], forest.n_features()));
        let thresholds = Thresholds::gather(&found, forest.n_features());
        let ranked = workers.map(thresholds.len(), |i| thresholds[i].rank(&found));
        let (mut columns, mut sets) = (Vec::new(), HashMap::new());
        let mut column_of = |&(_, split): &(u32, &Split)| {
            *sets.entry(SetKey::of(split)).or_insert_with(|| {
                columns.push(Column { feature: split.feature as usize, coding: Coding::Split(split.clone()) });
                columns.len() as u32 - 1
            })
        };
        let of_sets: Vec<Vec<u32>> = found.iter().map(|run| run.sets.iter().map(&mut column_of).collect()).collect();
        let mut parts = vec![Vec::new(); runs.len()];
        for (Thresholds { parts: some, .. }, Ranked { ranks, .. }) in thresholds.iter().zip(&ranked) {
            let mut rest = &ranks[..];
            for &(run, i) in some {
                let (here, after) = rest.split_at(found[run].thresholds[i].len());
                parts[run].push((i, here));
                rest = after;
            }
        }
        let numbers = workers.map(runs.len(), |r| found[r].numbers(&parts[r], &of_sets[r]));
        let mut of_place = vec![0; AXES * forest.n_features()];
        let mut max_code = 2;
        for (Thresholds { feature, axis, .. }, Ranked { coding, .. }) in thresholds.iter().zip(ranked) {
            of_place[place(*feature, *axis)] = columns.len() as u32;
            max_code = max_code.max(coding.largest() as usize);
            columns.push(Column { feature: *feature, coding });
        }
        let starts = |run: &&[Tree]| starts(run).collect::<Vec<_>>();
        let starts = runs.iter().flat_map(starts).collect();
        (Self { columns, max_code }, CodeTests { numbers, starts, columns: of_place })
    }
}

/// The first node of each tree of a run.
fn starts(run: &[Tree]) -> impl Iterator<Item = usize> {
    run.iter().scan(0, |next, tree| Some(std::mem::replace(next, *next + tree.nodes().len())))
}

/// What a run of trees asks.
struct Found<'a> {
    n_nodes: usize,
    thresholds: Vec<SomeThresholds>,
    /// The category splits, with their node numbers.
    sets: Vec<(u32, &'a Split)>,
}

/// The splits of a run of trees by one feature on one axis. Those that no value passes are left out: their rank is 0.
struct SomeThresholds {
    feature: usize,
    axis: Axis,
    /// In single precision, a cut and its node number as one word.
    words: Vec<u64>,
    /// In double precision.
    cuts: Vec<(f64, u32)>,
}

impl SomeThresholds {
    fn len(&self) -> usize {
        self.words.len() + self.cuts.len()
    }
}

impl<'a> Found<'a> {
    /// What these trees ask, whose nodes are numbered one tree after the other.
    fn new(trees: &'a [Tree], n_features: usize) -> Self {
        let n_nodes = trees.iter().map(|tree| tree.nodes().len()).sum();
        let mut found = Self { n_nodes, thresholds: Vec::new(), sets: Vec::new() };
        // The number of the thresholds at each place plus 1; 0 if no split has asked for them yet.
        let mut at = vec![0_u32; AXES * n_features];
        for (number, node) in (0..).zip(trees.iter().flat_map(Tree::nodes)) {
            if let Node::Split(split) = node {
                found.add(number, split, &mut at);
            }
        }
        found
    }

    #[inline]
    fn add(&mut self, number: u32, split: &'a Split, at: &mut [u32]) {
        let Test::Threshold { rule, threshold } = split.test else {
            self.sets.push((number, split));
            return;
        };
        let (feature, axis) = (split.feature as usize, (split.precision, split.missing));
        let at = &mut at[place(feature, axis)];
        if *at == 0 {
            self.thresholds.push(SomeThresholds { feature, axis, words: Vec::new(), cuts: Vec::new() });
            *at = self.thresholds.len() as u32;
        }
        let thresholds = &mut self.thresholds[*at as usize - 1];
        // The largest value that goes left.
        let cut = match rule {
            Rule::LessEqual => threshold,
            Rule::Less if threshold == f64::NEG_INFINITY => return,
            Rule::Less => threshold.next_down(),
        };
        match split.precision {
            Precision::Float32 => thresholds.words.push(word(ordered(cut), number as usize)),
            Precision::Float64 => thresholds.cuts.push((cut, number)),
        }
    }

    /// The number of each node, from the ranks of some thresholds, and from the columns of the category splits.
    fn numbers(&self, parts: &[(usize, &[u32])], of_sets: &[u32]) -> Vec<u32> {
        let mut numbers = vec![0; self.n_nodes];
        for &(i, ranks) in parts {
            let SomeThresholds { words, cuts, .. } = &self.thresholds[i];
            let nodes = words.iter().map(|&word| word as u32).chain(cuts.iter().map(|cut| cut.1));
            nodes.zip(ranks).for_each(|(node, &rank)| numbers[node as usize] = rank);
        }
        self.sets.iter().zip(of_sets).for_each(|(&(node, _), &column)| numbers[node as usize] = column);
        numbers
    }
}

/// The splits of all trees by one feature on one axis.
struct Thresholds {
    feature: usize,
    axis: Axis,
    /// The runs that ask for them, and where they are in each run.
    parts: Vec<(usize, usize)>,
}

/// Cuts in order, and the rank of every split, part after part, counted from 1.
struct Ranked {
    coding: Coding,
    ranks: Vec<u32>,
}

impl Thresholds {
    /// Those of all runs. Neighbours in a row are neighbours in memory, so they are coded one after the other.
    fn gather(found: &[Found<'_>], n_features: usize) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let mut at = vec![0_u32; AXES * n_features];
        for (run, found) in found.iter().enumerate() {
            for (i, &SomeThresholds { feature, axis, .. }) in found.thresholds.iter().enumerate() {
                let at = &mut at[place(feature, axis)];
                if *at == 0 {
                    all.push(Self { feature, axis, parts: Vec::new() });
                    *at = all.len() as u32;
                }
                all[*at as usize - 1].parts.push((run, i));
            }
        }
        all.sort_by_key(|thresholds| thresholds.feature);
        all
    }

    fn rank(&self, found: &[Found<'_>]) -> Ranked {
        let parts = || self.parts.iter().map(|&(run, i)| &found[run].thresholds[i]);
        let (precision, missing) = self.axis;
        // Ranks are written in the order of the cuts, so splits are numbered anew: their ranks then stay in the cache.
        let mut ranks = vec![0; parts().map(SomeThresholds::len).sum()];
        if precision == Precision::Float64 {
            let numbered = parts().flat_map(|part| &part.cuts).zip(0_u32..);
            let mut sorted: Vec<(f64, u32)> = numbered.map(|(&(cut, _), i)| (cut, i)).collect();
            sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let mut cuts: Vec<f64> = Vec::new();
            for (cut, i) in sorted {
                // Zeros of either sign are one cut.
                if cuts.last().is_none_or(|&last| last < cut) {
                    cuts.push(cut);
                }
                ranks[i as usize] = cuts.len() as u32;
            }
            return Ranked { coding: Coding::F64 { cuts, missing }, ranks };
        }
        let numbered = parts().flat_map(|part| &part.words).enumerate();
        let words = sorted(numbered.map(|(i, &cut)| word(cut_of(cut), i)).collect());
        // Every split writes its cut, since the processor does not foresee which cuts are new.
        let mut cuts = vec![0.0; words.len()];
        let (mut rank, mut last) = (0_u32, None);
        for word in words {
            let cut = cut_of(word);
            rank += u32::from(last != Some(cut));
            last = Some(cut);
            cuts[rank as usize - 1] = number_of(cut);
            ranks[word as u32 as usize] = rank;
        }
        cuts.truncate(rank as usize);
        cuts.shrink_to_fit();
        Ranked { coding: Coding::F32 { cuts, missing }, ranks }
    }
}

/// A cut in single precision and a number as one word, which is several times faster to sort.
#[inline]
fn word(cut: u32, number: usize) -> u64 {
    u64::from(cut) << 32 | number as u64
}

/// The cut of a [`word`].
#[inline]
fn cut_of(word: u64) -> u32 {
    (word >> 32) as u32
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

/// An integer that compares like the largest single-precision number that is not above `x`. Zeros of either sign are one.
#[inline]
fn ordered(x: f64) -> u32 {
    // Without a branch, since about every second number is rounded up.
    let near = x as f32;
    let bits = near.to_bits();
    let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
    let ordered = ordered - u32::from(f64::from(near) > x);
    ordered + u32::from(ordered == SIGN - 1)
}

/// The number that [`ordered`] made this integer from.
#[inline]
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

    #[test]
    fn cuts_are_rounded_down_to_single_precision() {
        let least = f64::from(f32::from_bits(1));
        let cases = [
            (0.1, 0.1_f32.next_down()), // single precision has no 0.1, and its nearest number is above
            (0.3_f64.next_down(), 0.3_f32.next_down()),
            (f64::from(0.1_f32), 0.1),
            (1.0, 1.0),
            (-1.0, -1.0),
            (1.0_f64.next_down(), 1.0_f32.next_down()),
            ((-1.0_f64).next_down(), (-1.0_f32).next_down()),
            (0.0, 0.0),
            (-0.0, 0.0),
            (least, least as f32),
            (1e-300, 0.0),
            (-1e-300, -least as f32),
            (1e300, f32::MAX),
            (-1e300, f32::NEG_INFINITY),
            (f64::INFINITY, f32::INFINITY),
        ];
        for (x, cut) in cases {
            let found = number_of(ordered(x));
            assert_eq!(found.to_bits(), cut.to_bits(), "{x:e} becomes {found:e} and not {cut:e}");
        }
        for window in cases.map(|(x, _)| x).windows(2) {
            let (a, b) = (window[0], window[1]);
            assert_eq!(ordered(a) < ordered(b), number_of(ordered(a)) < number_of(ordered(b)), "{a:e} and {b:e}");
        }
    }
}
