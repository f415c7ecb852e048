//! A split with more players than tables may have.
//!
//! Rows that are in the same class and fail the same players get the same, which is worked out once. If the background rows
//! are counted and the index is one of players, they become `bits`, or go by `leaf` where that is cheaper; weights go by
//! `leaf` or `meet`, and an index of pairs goes by `meet`.

use std::sync::OnceLock;

use super::bits::{BitRows, CLASSES, NOBODY};
use super::coefficients::{Coefficients, moment};
use super::counts::Lane;
use super::distinct::{Distinct, Word};
use super::layout::Site;
use super::leaf::LeafCounts;
use super::meet::Meeting;
use super::read::pair;
use super::table::Values;
use super::walk::class;
use super::worth::Worth;
use crate::engine::codes::BLOCK;
use crate::index::{Index, Pairs, Singles};
use crate::weights::Weights;

/// What pairs of patterns get by the sizes of their sets.
pub(super) struct Rules {
    pub(super) order: u32,
    /// The most players of a path.
    pub(super) most: usize,
    index: Index,
    w: Weights,
    /// For each number of players that the row fails, once somebody asks: by the number that the background row fails.
    singles: Vec<OnceLock<Vec<Singles>>>,
    pairs: Vec<OnceLock<Vec<Pairs>>>,
    coefficients: Coefficients<{ moment::SINGLE }>,
    /// Leaves of up to this many players are worked out by ranked counts of their own.
    counted: usize,
}

impl Rules {
    /// For paths of up to `most` players.
    pub(super) fn new(index: Index, counted: usize, most: usize) -> Self {
        Self {
            order: index.order(),
            most,
            index,
            w: Weights::up_to(most),
            singles: (0..=most).map(|_| OnceLock::new()).collect(),
            pairs: (0..=most).map(|_| OnceLock::new()).collect(),
            coefficients: Coefficients::new(index),
            counted: if index.order() == 1 { counted } else { 0 },
        }
    }

    /// What single players get if the row fails `s` of them, by the number that the background row fails.
    #[inline(always)]
    pub(super) fn singles(&self, s: usize) -> &[Singles] {
        self.singles[s].get_or_init(|| self.sizes(s).map(|(x, xz)| self.index.singles(&self.w, x, xz)).collect())
    }

    /// The same for pairs of players.
    #[inline(always)]
    pub(super) fn pairs(&self, s: usize) -> &[Pairs] {
        self.pairs[s].get_or_init(|| self.sizes(s).map(|(x, xz)| self.index.pairs(&self.w, x, xz)).collect())
    }

    /// The sizes of $S_X$ and $S_{XZ}$ for every number of players that a background row fails.
    fn sizes(&self, s: usize) -> impl Iterator<Item = (usize, usize)> {
        // Two disjoint sets have at most all players.
        let most = self.most;
        (0..=most).map(move |j| if j + s <= most { (j, j + s) } else { (0, 0) })
    }
}

/// What a background row gives at a split, to whoever meets it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Given {
    /// To each of the other players that it fails.
    pub(super) gain: f64,
    /// To each of the other players that the explained row fails.
    pub(super) loss: f64,
    /// To the split's own player.
    pub(super) own: f64,
}

impl Rules {
    /// What the leaves of a split, worth `values`, give if the explained row is in the class `x` and fails `s` other players,
    /// and the background row is in the class `z` and fails `f` others. The classes are those of `table`.
    #[inline(always)]
    pub(super) fn at_split(&self, x: usize, s: usize, z: usize, f: usize, values: Values) -> Given {
        let single = |s: usize, f: usize| self.singles(s)[f];
        let [v, u] = if x == 1 { [values[1], values[0]] } else { values };
        match (x, z) {
            // Both failed the player further up, so neither leaf is reached.
            (2, 2) => Given::default(),
            // One leaf is reached, by the background row alone.
            (2, _) => {
                let (v, single) = (values[z], single(s + 1, f));
                Given { gain: v * single.in_x, loss: v * single.in_z, own: v * single.in_z }
            }
            // One leaf is reached, by both.
            _ if x == z => {
                let single = single(s, f);
                Given { gain: v * single.in_x, loss: v * single.in_z, own: 0.0 }
            }
            // One leaf is reached, by the explained row alone.
            (_, 2) => {
                let single = single(s, f + 1);
                Given { gain: v * single.in_x, loss: v * single.in_z, own: v * single.in_x }
            }
            // Each row reaches a leaf of its own.
            _ => {
                let (ours, theirs) = (single(s, f + 1), single(s + 1, f));
                Given {
                    gain: v * ours.in_x + u * theirs.in_x,
                    loss: v * ours.in_z + u * theirs.in_z,
                    own: v * ours.in_x + u * theirs.in_z,
                }
            }
        }
    }
}

/// A split whose leaves are worked out by distinct patterns.
#[derive(Clone, Copy)]
pub(super) struct Joined<'a> {
    pub(super) site: &'a Site,
    /// The values of both children, output by output.
    pub(super) values: &'a [Values],
    /// The weights of the background rows, if they have any.
    pub(super) weights: Option<&'a [f64]>,
    pub(super) rules: &'a Rules,
}

impl Joined<'_> {
    /// Works out what rows get, from the indices of the background and of the rows.
    #[inline(always)]
    pub(super) fn join<P: Word, L: Lane>(&self, [z, x]: [&[P]; 2], room: &mut Room<P, L>, out: &mut Worth) {
        let Self { site, values, rules, .. } = *self;
        let (others, players) = (site.others as usize, site.others as usize + 1);
        let width = if rules.order == 1 { players } else { pair(players, 0) };
        out.numbers.clear();
        out.numbers.resize(x.len().div_ceil(BLOCK), [0; BLOCK]);
        if rules.order == 1 && L::EXACT && players > rules.counted {
            let distinct = self.number(x, room, out.numbers.as_flattened_mut());
            out.begin(distinct, width, values.len());
            room.bits.prepare(site, z);
            room.bits.rows(site, room.ours.patterns(), &room.by_class, values, rules, out);
            return;
        }
        let bits = others + 2;
        let numbers = out.numbers.as_flattened_mut();
        room.ours.find(bits, x.iter().copied(), |row, number| numbers[row] = number);
        out.begin(room.ours.patterns().len(), width, values.len());
        room.sums.clear();
        let sums = &mut room.sums;
        room.theirs.find(bits, z.iter().copied(), |row, number| {
            if number as usize == sums.len() {
                sums.push(0.0);
            }
            sums[number as usize] += self.weights.map_or(1.0, |weights| weights[row]);
        });
        for side in [0, 1] {
            if site.leaves[side].is_some() {
                self.leaf(side, room, out);
            }
        }
    }

    /// Gives rows with the same index the same number; returns how many numbers there are. Rows that fail the same other
    /// players are found together, whatever their class.
    #[inline(always)]
    fn number<P: Word, L: Lane>(&self, x: &[P], room: &mut Room<P, L>, numbers: &mut [u32]) -> usize {
        let others = self.site.others;
        let (by_class, mut next) = (&mut room.by_class, 0);
        by_class.clear();
        room.ours.find(others as usize, x.iter().map(|index| index.lowest(others as usize)), |row, set| {
            if set as usize == by_class.len() {
                by_class.push([NOBODY; CLASSES]);
            }
            let number = &mut by_class[set as usize][class(x[row], others)];
            if *number == NOBODY {
                *number = next;
                next += 1;
            }
            numbers[row] = *number;
        });
        next as usize
    }

    /// Adds what rows get at one of the leaves.
    #[inline(always)]
    fn leaf<P: Word, L: Lane>(&self, side: usize, room: &mut Room<P, L>, out: &mut Worth) {
        let Self { site, values, rules, .. } = *self;
        let Room { ours, theirs, patterns, sums, counts, meeting, gains, .. } = room;
        let players = site.others as usize + 1;
        let [our_patterns, their_patterns] = patterns;
        for (indices, patterns) in [(ours, &mut *our_patterns), (theirs, &mut *their_patterns)] {
            patterns.clear();
            patterns.extend(indices.patterns().iter().map(|&index| at_leaf(site, side, index)));
        }
        let width = if rules.order == 1 { players } else { pair(players, 0) };
        gains.clear();
        gains.resize(our_patterns.len() * width, 0.0);
        if players <= rules.counted {
            counts.prepare(players, their_patterns, sums);
            counts.rows(our_patterns, &rules.coefficients, gains, width);
        } else {
            meeting.prepare(their_patterns, sums);
            for (&s, gains) in our_patterns.iter().zip(gains.chunks_exact_mut(width)) {
                meeting.row(s, rules, players, gains);
            }
        }
        for (output, values) in values.iter().enumerate() {
            let all = &mut out.gains[output * gains.len()..][..gains.len()];
            for (sum, gain) in all.iter_mut().zip(&*gains) {
                *sum += values[side] * gain;
            }
        }
    }
}

/// The pattern of a row at a leaf of a split, from its index at the split.
#[inline(always)]
fn at_leaf<P: Word>(site: &Site, side: usize, index: P) -> P {
    let others = index.lowest(site.others as usize).put_in(site.own);
    others | if class(index, site.others) == side { P::default() } else { P::bit(site.own) }
}

/// Room for one split after another.
pub(super) struct Room<P, L> {
    /// The distinct indices of rows, and of background rows.
    ours: Distinct<P>,
    theirs: Distinct<P>,
    /// For every set of other players that rows fail, the numbers of those rows by class.
    by_class: Vec<[u32; CLASSES]>,
    /// Their patterns at a leaf.
    patterns: [Vec<P>; 2],
    /// The weights of distinct background patterns.
    sums: Vec<f64>,
    gains: Vec<f64>,
    bits: BitRows<P>,
    counts: LeafCounts<L>,
    meeting: Meeting<P>,
}

impl<P: Word, L: Lane> Default for Room<P, L> {
    fn default() -> Self {
        let (patterns, sums, gains, by_class) = Default::default();
        let (ours, theirs) = (Distinct::new(), Distinct::new());
        let (bits, counts, meeting) = (BitRows::new(), LeafCounts::new(), Meeting::new());
        Self { ours, theirs, by_class, patterns, sums, gains, bits, counts, meeting }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ranked::by_pairs::{Random, by_pairs};
    use crate::engine::ranked::wide::Wide;

    /// Compares what rows get at a split with all pairs, and with the same row alone.
    fn check<P: Word + TryFrom<u128>, L: Lane>(others: u32, own: u32, fresh: bool, outputs: usize, counted: usize) {
        let leaves = if own % 3 == 2 { [None, Some(0)] } else { [Some(0), Some(1)] };
        let site = Site::alone(own, fresh, others, leaves);
        let mut random = Random(u64::from(others * 64 + own));
        let (x, z): (Vec<u128>, Vec<u128>) = (0..150).map(|_| (random.index(&site), random.index(&site))).unzip();
        let weights: Vec<f64> = (0..z.len()).map(|i| if L::EXACT { 1.0 } else { 0.3 + (i % 5) as f64 }).collect();
        let value = |side: usize, output: usize| leaves[side].map_or(0.0, |_| (3 * output + side) as f64 - 1.5);
        let values: Vec<Values> = (0..outputs).map(|output| [value(0, output), value(1, output)]).collect();
        let [narrow_x, narrow_z] = [&x, &z].map(|rows| -> Vec<P> {
            rows.iter().map(|&index| P::try_from(index).ok().expect("an index that fits")).collect()
        });
        for index in [Index::Shapley, Index::Banzhaf] {
            let rules = Rules::new(index, counted, others as usize + 1);
            let joined = Joined {
                site: &site,
                values: &values,
                weights: (!L::EXACT).then_some(weights.as_slice()),
                rules: &rules,
            };
            let (mut room, mut worth, mut alone) = (Room::<P, L>::default(), Worth::default(), Worth::default());
            joined.join([&narrow_z, &narrow_x], &mut room, &mut worth);
            for (row, &x) in x.iter().enumerate() {
                joined.join([&narrow_z, &narrow_x[row..=row]], &mut room, &mut alone);
                for (output, &values) in values.iter().enumerate() {
                    let start = worth.start(output, worth.numbers.as_flattened()[row] as usize);
                    let got = &worth.gains[start..][..=others as usize];
                    let want = by_pairs(&site, x, &z, &weights, values, index);
                    let close = got.iter().zip(&want).all(|(got, want)| (got - want).abs() < 1e-9);
                    assert!(close, "{others} others, own {own}, {index:?}: {got:?} is not {want:?}");
                    let start = alone.start(output, 0);
                    let alone = &alone.gains[start..][..=others as usize];
                    assert!(got.iter().zip(alone).all(|(a, b)| a.to_bits() == b.to_bits()), "alone");
                }
            }
        }
    }

    #[test]
    fn bits_give_what_pairs_give() {
        for (others, own, fresh, outputs) in [
            (0, 0, true, 1),
            (1, 0, false, 2),
            (5, 5, true, 3),
            (8, 3, false, 1),
            (9, 2, false, 7),
            (16, 16, true, 4),
            (17, 8, false, 5),
            (30, 11, false, 1),
        ] {
            check::<u32, u16>(others, own, fresh, outputs, 0);
        }
        check::<u128, u16>(41, 40, false, 2, 0);
        check::<u128, u16>(63, 63, true, 1, 0);
        check::<u128, u16>(126, 70, false, 1, 0);
        check::<Wide, u16>(20, 7, false, 1, 0);
        check::<Wide, u16>(126, 64, false, 2, 0);
    }

    #[test]
    fn leaf_by_leaf_gives_what_pairs_give() {
        for counted in [0, 22] {
            check::<u32, f64>(4, 4, true, 2, counted);
            check::<u32, f64>(12, 7, false, 1, counted);
            check::<u32, f64>(18, 2, false, 3, counted);
            check::<u128, f64>(63, 20, false, 1, counted);
            check::<u128, f64>(125, 124, true, 2, counted);
            check::<Wide, f64>(17, 3, true, 1, counted);
            check::<Wide, f64>(110, 65, false, 1, counted);
        }
        check::<u32, u16>(15, 9, false, 2, 22);
    }
}
