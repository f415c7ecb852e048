//! A split with many players, whose background rows are bits.
//!
//! A word holds up to 64 background rows that are in the same class (see `table`) and fail equally many of the other
//! players, so all of them give the same to whoever they meet. Each player has one bit for each row: does the row fail the
//! player? Then a few ANDs find the rows that meet a set S, and counting bits says how many of them fail a player. The words
//! are sorted by the number of failed players, because a row that fails more players than there are outside S cannot meet S.

use super::distinct::{Bits, Word};
use super::join::Rules;
use super::layout::Site;
use super::table::Values;
use super::walk::class;
use super::worth::Worth;
use crate::engine::codes::SET;
use crate::simd::{Aligned, bits};

/// Words that are worked on together.
const WORDS: usize = 8;
type Words = Aligned<[u64; WORDS]>;
type Weights = Aligned<[f64; WORDS]>;

/// Left of the split, right of it, or failed further up.
pub(super) const CLASSES: usize = 3;
/// Classes and outputs that are worked out together for a set, because they share its counts.
const TARGETS: usize = 4;
/// Stands for the number of rows that do not occur.
pub(super) const NOBODY: u32 = u32::MAX;

/// The background rows of one split, and room to work with them.
pub(super) struct BitRows<P> {
    /// The rows in words, each filled up with patterns that fail everybody.
    sorted: Vec<[P; SET]>,
    /// How many players the rows of a word fail, and their class.
    kinds: Vec<(u16, u8)>,
    /// Where the next row of each kind is put.
    next: Vec<u32>,
    /// The groups of words that hold all rows which fail at most so many players.
    ends: Vec<usize>,
    /// The bits that stand for rows.
    rows: Vec<Words>,
    /// Who fails, player after player.
    fails: Vec<Words>,
    /// The groups with rows that the present set meets, and which rows these are.
    met: Vec<(usize, Words)>,
    /// What the players get, lane by lane.
    sums: Vec<Weights>,
    /// Where the coefficients of each class and output of the present set begin, and where its gains do.
    targets: Vec<(usize, usize)>,
    coefficients: WordCoefficients,
    groups: usize,
}

impl<P: Word> BitRows<P> {
    pub(super) fn new() -> Self {
        Self {
            sorted: Vec::new(),
            kinds: Vec::new(),
            next: Vec::new(),
            ends: Vec::new(),
            rows: Vec::new(),
            fails: Vec::new(),
            met: Vec::new(),
            sums: Vec::new(),
            targets: Vec::new(),
            coefficients: WordCoefficients::default(),
            groups: 0,
        }
    }

    /// Takes in the indices of the background rows at a split.
    #[inline(always)]
    pub(super) fn prepare(&mut self, site: &Site, z: &[P]) {
        let others = site.others as usize;
        self.sort(others, z);
        self.groups = self.kinds.len() / WORDS;
        self.rows.clear();
        self.rows.resize(self.groups, Words::default());
        self.fails.clear();
        self.fails.resize(self.groups * others, Words::default());
        for (word, rows) in self.sorted.iter().enumerate() {
            let (group, at) = (word / WORDS, word % WORDS);
            let mut bytes = [0_u8; SET];
            for r in 0..SET {
                bytes[r] = u8::from(rows[r] != P::ALL);
            }
            self.rows[group][at] = bits(&bytes);
            for first in (0..others).step_by(8) {
                for r in 0..SET {
                    bytes[r] = rows[r].byte(first / 8) as u8;
                }
                for player in first..others.min(first + 8) {
                    let mut failed = bytes;
                    for r in 0..SET {
                        failed[r] = failed[r] >> (player - first) & 1;
                    }
                    self.fails[player * self.groups + group][at] = bits(&failed);
                }
            }
        }
    }

    /// Puts the rows into words by what they fail, and by class.
    #[inline(always)]
    fn sort(&mut self, others: usize, z: &[P]) {
        let kind = |p: P| p.lowest(others).size() * CLASSES + class(p, others as u32);
        let next = &mut self.next;
        next.clear();
        next.resize(CLASSES * (others + 1), 0);
        for &p in z {
            next[kind(p)] += 1;
        }
        self.kinds.clear();
        self.ends.clear();
        for (kind, next) in next.iter_mut().enumerate() {
            let words = (*next as usize).div_ceil(SET);
            *next = (self.kinds.len() * SET) as u32;
            self.kinds.resize(self.kinds.len() + words, ((kind / CLASSES) as u16, (kind % CLASSES) as u8));
            if kind % CLASSES + 1 == CLASSES {
                self.ends.push(self.kinds.len().div_ceil(WORDS));
            }
        }
        self.kinds.resize(self.kinds.len().next_multiple_of(WORDS), (0, 0));
        self.sorted.clear();
        self.sorted.resize(self.kinds.len(), [P::ALL; SET]);
        let sorted = self.sorted.as_flattened_mut();
        for &p in z {
            let at = &mut next[kind(p)];
            sorted[*at as usize] = p;
            *at += 1;
        }
    }

    /// What rows get at the split, position by position. `sets` are the distinct sets of other players that they fail, and
    /// `numbers` those of the rows that fail them, by class.
    #[inline(always)]
    pub(super) fn rows(
        &mut self,
        site: &Site,
        sets: &[P],
        numbers: &[[u32; CLASSES]],
        values: &[Values],
        rules: &Rules,
        out: &mut Worth,
    ) {
        let (others, own) = (site.others as usize, site.own as usize);
        let Self { ends, rows, fails, met, sums, targets, coefficients, kinds, groups, .. } = self;
        coefficients.begin(others, *groups);
        sums.clear();
        sums.resize((others + 2) * TARGETS, Weights::default());
        for (&failed, numbers) in sets.iter().zip(numbers) {
            let s = failed.size();
            // A row that meets the set fails at most all players outside it.
            meet(&rows[..ends[others - s]], fails, *groups, failed, met);
            if met.is_empty() {
                continue;
            }
            targets.clear();
            for (class, &number) in numbers.iter().enumerate().filter(|(_, number)| **number != NOBODY) {
                let start = coefficients.start(class, s, values, kinds, rules);
                for output in 0..values.len() {
                    targets.push((start + output * *groups, out.start(output, number as usize)));
                }
            }
            for targets in targets.chunks(TARGETS) {
                macro_rules! with {
                    ($n:literal) => {{
                        let mut row: Row<'_, P, $n> = Row {
                            failed,
                            own,
                            others,
                            met,
                            fails,
                            groups: *groups,
                            weights: [WordWeights::default(); $n],
                            starts: [0; $n],
                        };
                        for n in 0..$n {
                            (row.weights[n], row.starts[n]) = (coefficients.of(targets[n].0), targets[n].1);
                        }
                        row.gains(sums, &mut out.gains);
                    }};
                }
                match targets.len() {
                    1 => with!(1),
                    2 => with!(2),
                    3 => with!(3),
                    _ => with!(4),
                }
            }
        }
    }
}

/// Finds the rows that fail none of some players, in groups of words; groups without such rows are left out.
#[inline(always)]
fn meet<P: Word>(rows: &[Words], fails: &[Words], groups: usize, players: P, met: &mut Vec<(usize, Words)>) {
    met.clear();
    for (group, rows) in rows.iter().enumerate() {
        let (mut left, mut any) = (**rows, 0);
        for player in Bits(players) {
            let fails = &fails[player * groups + group];
            for i in 0..WORDS {
                left[i] &= !fails[i];
            }
        }
        for left in left {
            any |= left;
        }
        if any != 0 {
            met.push((group, Aligned(left)));
        }
    }
}

/// Rows that fail the same players, with what they need for `N` classes and outputs.
struct Row<'a, P, const N: usize> {
    /// The other players that they fail.
    failed: P,
    own: usize,
    others: usize,
    met: &'a [(usize, Words)],
    fails: &'a [Words],
    groups: usize,
    weights: [WordWeights<'a>; N],
    /// Where the gains of each begin.
    starts: [usize; N],
}

impl<P: Word, const N: usize> Row<'_, P, N> {
    /// Writes what the rows get, position by position.
    #[inline(always)]
    fn gains(&self, sums: &mut [Weights], out: &mut [f64]) {
        let passed = self.failed.all_but(self.others);
        let mut players = Bits(passed);
        while let Some(first) = players.next() {
            // Two players at a time share what they read.
            let second = players.next().unwrap_or(first);
            self.add_up([first, second], sums);
        }
        let (sums, rest) = sums.split_at_mut(self.others * TARGETS);
        self.add_up_loss_and_own(rest);
        let position = |player: usize| player + usize::from(player >= self.own);
        for n in 0..N {
            let (loss, own) = (sum(&rest[2 * n]), sum(&rest[2 * n + 1]));
            out[self.starts[n] + self.own] = own;
            for player in Bits(self.failed) {
                out[self.starts[n] + position(player)] = loss;
            }
            for player in Bits(passed) {
                out[self.starts[n] + position(player)] = sum(&sums[player * N + n]);
            }
        }
    }

    /// What two players get that the rows do not fail, lane by lane. The lanes are summed later; otherwise the compiler would
    /// not use whole vectors.
    #[inline(always)]
    fn add_up(&self, players: [usize; 2], sums: &mut [Weights]) {
        let fails = players.map(|player| &self.fails[player * self.groups..][..self.groups]);
        let mut weights = [&[] as &[Weights]; N];
        for n in 0..N {
            weights[n] = &self.weights[n].gain[..self.groups];
        }
        let mut lanes = [[[0.0; WORDS]; 2]; N];
        for &(group, ref met) in self.met {
            let mut counts = [[0.0; WORDS]; 2];
            for player in 0..2 {
                let fails = &fails[player][group];
                for i in 0..WORDS {
                    counts[player][i] = f64::from((met[i] & fails[i]).count_ones());
                }
            }
            for n in 0..N {
                let weights = &weights[n][group];
                for player in 0..2 {
                    for i in 0..WORDS {
                        lanes[n][player][i] += counts[player][i] * weights[i];
                    }
                }
            }
        }
        for n in 0..N {
            for player in 0..2 {
                *sums[players[player] * N + n] = lanes[n][player];
            }
        }
    }

    /// What each of the players gets that the rows fail, then the split's own player.
    #[inline(always)]
    fn add_up_loss_and_own(&self, sums: &mut [Weights]) {
        let mut lanes = [[[0.0; WORDS]; 2]; N];
        for &(group, ref met) in self.met {
            let mut counts = [0.0; WORDS];
            for i in 0..WORDS {
                counts[i] = f64::from(met[i].count_ones());
            }
            for n in 0..N {
                let (loss, own) = (&self.weights[n].loss[group], &self.weights[n].own[group]);
                for i in 0..WORDS {
                    lanes[n][0][i] += counts[i] * loss[i];
                }
                for i in 0..WORDS {
                    lanes[n][1][i] += counts[i] * own[i];
                }
            }
        }
        for n in 0..N {
            *sums[2 * n] = lanes[n][0];
            *sums[2 * n + 1] = lanes[n][1];
        }
    }
}

#[inline(always)]
fn sum(x: &Weights) -> f64 {
    let (mut four, mut two) = ([0.0; 4], [0.0; 2]);
    for i in 0..4 {
        four[i] = x[i] + x[i + 4];
    }
    for i in 0..2 {
        two[i] = four[i] + four[i + 2];
    }
    two[0] + two[1]
}

/// What a row of the background gives, word by word, to players that it fails, to those that the explained row fails, and
/// to the split's own player. They are worked out when a row of that class and size first asks for them.
#[derive(Default)]
struct WordCoefficients {
    gain: Vec<Weights>,
    loss: Vec<Weights>,
    own: Vec<Weights>,
    /// Where the coefficients of a class and size begin, if they have been worked out.
    starts: Vec<Option<usize>>,
    others: usize,
    groups: usize,
}

/// The coefficients of one class, size and output.
#[derive(Clone, Copy, Default)]
struct WordWeights<'a> {
    gain: &'a [Weights],
    loss: &'a [Weights],
    own: &'a [Weights],
}

impl WordCoefficients {
    fn begin(&mut self, others: usize, groups: usize) {
        (self.others, self.groups) = (others, groups);
        self.starts.clear();
        self.starts.resize(CLASSES * (others + 1), None);
        self.gain.clear();
        self.loss.clear();
        self.own.clear();
    }

    /// Where the coefficients of rows that are in a class and fail `s` other players begin, output after output.
    #[inline(always)]
    fn start(&mut self, class: usize, s: usize, values: &[Values], kinds: &[(u16, u8)], rules: &Rules) -> usize {
        let slot = class * (self.others + 1) + s;
        if let Some(start) = self.starts[slot] {
            return start;
        }
        let start = self.gain.len();
        for &values in values {
            for kinds in kinds.as_chunks::<WORDS>().0 {
                let (mut gain, mut loss, mut own) = ([0.0; WORDS], [0.0; WORDS], [0.0; WORDS]);
                for i in 0..WORDS {
                    let (f, z) = kinds[i];
                    let given = rules.at_split(class, s, z.into(), f.into(), values);
                    (gain[i], loss[i], own[i]) = (given.gain, given.loss, given.own);
                }
                self.gain.push(Aligned(gain));
                self.loss.push(Aligned(loss));
                self.own.push(Aligned(own));
            }
        }
        self.starts[slot] = Some(start);
        start
    }

    #[inline(always)]
    fn of(&self, start: usize) -> WordWeights<'_> {
        let all = start..start + self.groups;
        WordWeights { gain: &self.gain[all.clone()], loss: &self.loss[all.clone()], own: &self.own[all] }
    }
}
