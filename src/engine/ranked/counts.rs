//! Ranked counts: for every set S of players, how many background rows fail none of S and 0, 1, 2, ... others.

use super::coefficients::{Coefficients, RANKS, SETS};
use crate::simd::Aligned;

/// A sum of background rows: a count of fewer than 2^16 rows, or of fewer than 2^32, or a weight.
pub(super) trait Lane: Copy + Default + Send + Sync {
    /// Whether sums are the same in any order.
    const EXACT: bool;
    fn plus(self, other: Self) -> Self;
    fn number(self) -> f64;
    fn is_zero(self) -> bool;
    /// The weight of a row.
    fn of(weight: f64) -> Self;
    /// The weight of many rows.
    fn of_sum(sum: f64) -> Self;
}

macro_rules! count {
    ($($t:ty)*) => { $(impl Lane for $t {
        const EXACT: bool = true;
        #[inline(always)]
        fn plus(self, other: Self) -> Self {
            self.wrapping_add(other)
        }
        #[inline(always)]
        fn number(self) -> f64 {
            f64::from(self)
        }
        #[inline(always)]
        fn is_zero(self) -> bool {
            self == 0
        }
        #[inline(always)]
        fn of(_: f64) -> Self {
            1
        }
        #[inline(always)]
        fn of_sum(sum: f64) -> Self {
            sum as Self
        }
    })* };
}
count!(u16 u32);

impl Lane for f64 {
    const EXACT: bool = false;
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }
    #[inline(always)]
    fn number(self) -> f64 {
        self
    }
    #[inline(always)]
    fn is_zero(self) -> bool {
        self == 0.0
    }
    #[inline(always)]
    fn of(weight: f64) -> Self {
        weight
    }
    #[inline(always)]
    fn of_sum(sum: f64) -> Self {
        sum
    }
}

/// Patterns whose lanes are worked out together, and stay in the cache.
pub(super) const TILE: usize = 1 << TILE_PLAYERS;
pub(super) const TILE_PLAYERS: usize = 9;
/// Patterns whose moments are worked out together.
pub(super) const CHUNK: usize = 64;

/// Ranks of sets side by side.
const LANES: usize = RANKS * SETS;

/// Ranks that neighbouring patterns have, which differ in the players that sets side by side differ in.
const SPAN: usize = SETS.trailing_zeros() as usize + 1;

/// Neighbouring patterns, which differ in the players that sets side by side differ in, of one class.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The class, and the failed players that a tile tells apart.
    at: u32,
    /// The other failed players.
    far: u32,
    /// The least number of players that such a row fails; less if there would not be ranks for all of them.
    rank: u32,
    /// Where the sums stand that these patterns add to the lanes.
    sums: u32,
}

/// For [`SPAN`] ranks, how many of the rows with neighbouring patterns each of the sets side by side meets.
type Sums<L> = Aligned<[L; SPAN * SETS]>;

/// Background rows that fail more players than there are ranks, of one class, and a set that they meet.
#[derive(Debug, Clone, Copy)]
struct Beyond<L> {
    set: u32,
    class: u32,
    /// How many players they fail.
    failed: u32,
    count: L,
}

/// The counts of one split by class, failed players and rank, a tile of patterns at a time.
///
/// All patterns of a tile fail the same *far* players, those that a tile does not tell apart. Few patterns occur in the
/// background, so a tile starts from the entries that fail none of its far players, and only sums over the others.
pub(super) struct Ranked<L> {
    /// The lanes of the present tile, class after class: for sets side by side, rank after rank.
    lanes: Vec<[L; LANES]>,
    players: usize,
    /// Patterns of a tile.
    size: usize,
    /// All entries, then for every far player of the present tile those entries that are left; see `ranges`.
    entries: Vec<Entry>,
    sums: Vec<Sums<L>>,
    /// Which entries fail none of the far players from this one on; all of them at the end.
    ranges: Vec<(usize, usize)>,
    /// Set by set. There are few, because such a row meets only sets of the few players that it does not fail.
    beyond: Vec<Beyond<L>>,
}

impl<L: Lane> Ranked<L> {
    pub(super) fn new() -> Self {
        let (lanes, entries, sums, ranges, beyond) = Default::default();
        Self { lanes, players: 0, size: 1, entries, sums, ranges, beyond }
    }

    /// Takes in how many rows have each index: class after class, the sets of failed players.
    #[inline(always)]
    pub(super) fn take(&mut self, players: usize, counts: &[L]) {
        self.begin(players, counts.len() >> players);
        let neighbours = SETS.min(1 << players);
        for (first, counts) in (0_usize..).step_by(neighbours).zip(counts.chunks_exact(neighbours)) {
            let mut none = true;
            for count in counts {
                none &= count.is_zero();
            }
            if none {
                continue;
            }
            let (class, failed) = (first >> players, first & ((1 << players) - 1));
            match counts.try_into() {
                Ok(counts) if failed.count_ones() as usize + SPAN <= RANKS => self.add(class, failed, counts),
                _ => self.add_others(class, failed, counts),
            }
        }
        self.end();
    }

    /// Forgets what it was about, to count rows of so many classes that fail some of so many players.
    #[inline(always)]
    fn begin(&mut self, players: usize, classes: usize) {
        (self.players, self.size) = (players, TILE.min(1 << players));
        self.lanes.resize(classes * self.size.div_ceil(SETS), [L::default(); LANES]);
        self.entries.clear();
        self.sums.clear();
        self.beyond.clear();
    }

    /// Adds the rows of a class that fail these players and perhaps some that sets side by side differ in.
    #[inline(always)]
    fn add(&mut self, class: usize, failed: usize, counts: &[L; SETS]) {
        let mut sums = [L::default(); SPAN * SETS];
        for side in 0..SETS {
            let rank = side.count_ones() as usize;
            for set in 0..SETS {
                let sum = &mut sums[rank * SETS + set];
                *sum = sum.plus(if set & side == 0 { counts[side] } else { L::default() });
            }
        }
        self.push(class, failed, failed.count_ones() as usize, sums);
    }

    /// The same if there are not so many players, or if some of these rows fail more players than there are ranks.
    #[cold]
    fn add_others(&mut self, class: usize, failed: usize, counts: &[L]) {
        let least = (failed.count_ones() as usize).min(RANKS - SPAN);
        let mut sums = [L::default(); SPAN * SETS];
        for (side, &count) in counts.iter().enumerate().filter(|(_, count)| !count.is_zero()) {
            let rank = (failed | side).count_ones() as usize;
            if rank >= RANKS {
                self.add_beyond(class, failed | side, count);
                continue;
            }
            for set in (0..SETS).filter(|set| set & side == 0) {
                let sum = &mut sums[(rank - least) * SETS + set];
                *sum = sum.plus(count);
            }
        }
        self.push(class, failed, least, sums);
    }

    #[inline(always)]
    fn push(&mut self, class: usize, failed: usize, rank: usize, sums: [L; SPAN * SETS]) {
        self.entries.push(Entry {
            at: (class * self.size.div_ceil(SETS) + (failed & (self.size - 1)) / SETS) as u32,
            far: (failed >> TILE_PLAYERS) as u32,
            rank: rank as u32,
            sums: self.sums.len() as u32,
        });
        self.sums.push(Aligned(sums));
    }

    /// The same for rows that fail more players than there are ranks.
    #[cold]
    fn add_beyond(&mut self, class: usize, failed: usize, count: L) {
        let passed = ((1 << self.players) - 1) & !failed;
        let mut set = passed;
        loop {
            self.beyond.push(Beyond { set: set as u32, class: class as u32, failed: failed.count_ones(), count });
            if set == 0 {
                break;
            }
            set = (set - 1) & passed;
        }
    }

    /// All rows have been added.
    fn end(&mut self) {
        self.beyond.sort_by_key(|beyond| beyond.set);
        let far = self.players.saturating_sub(TILE_PLAYERS);
        self.ranges.clear();
        self.ranges.resize(far + 1, (0, self.entries.len()));
    }

    /// Goes on to the tile that begins at pattern `first`; tiles come one after another, from the first one on.
    #[inline(always)]
    pub(super) fn tile(&mut self, first: usize) {
        let (start, end) = self.left(first >> TILE_PLAYERS);
        // No row fails more players than there are.
        let used = (self.players + 1).next_multiple_of(SPAN).min(RANKS) * SETS;
        for lanes in &mut self.lanes {
            lanes[..used].fill(L::default());
        }
        for entry in &self.entries[start..end] {
            let lanes = &mut self.lanes[entry.at as usize][entry.rank as usize * SETS..];
            let lanes = lanes.first_chunk_mut().expect("there are lanes for all ranks");
            *lanes = sums(lanes, &self.sums[entry.sums as usize]);
        }
        for class in self.lanes.chunks_exact_mut(self.size.div_ceil(SETS)) {
            sum_over::<L, LANES, { SPAN * SETS }>(class, used);
        }
    }

    /// The entries that fail none of these far players. Only the players up to the first one that the tile before did not
    /// have are looked at again.
    #[inline(always)]
    fn left(&mut self, far: usize) -> (usize, usize) {
        let changed = if far == 0 { 0 } else { far.trailing_zeros() as usize + 1 };
        for player in (0..changed).rev() {
            let (start, end) = self.ranges[player + 1];
            self.ranges[player] = if far >> player & 1 == 0 {
                (start, end)
            } else {
                self.entries.truncate(end);
                for at in start..end {
                    let entry = self.entries[at];
                    if entry.far >> player & 1 == 0 {
                        self.entries.push(entry);
                    }
                }
                (end, self.entries.len())
            };
        }
        self.ranges[0]
    }

    /// The moments of the patterns from `first` on, in one class.
    #[inline(always)]
    pub(super) fn moments<const D: usize>(
        &self,
        class: usize,
        first: usize,
        coefficients: &Coefficients<D>,
        out: &mut [[f64; CHUNK]; D],
    ) {
        let n = CHUNK.min(self.size).div_ceil(SETS);
        let lanes = &self.lanes[class * self.size.div_ceil(SETS) + (first & (self.size - 1)) / SETS..][..n];
        for (i, lanes) in lanes.iter().enumerate() {
            let failed = (first / SETS + i).count_ones() as usize;
            let coefficients = coefficients.side_by_side(failed);
            let mut sums = [[0.0; SETS]; D];
            // No row that fails none of these players fails more than all others.
            let ranks = lanes.as_chunks::<SETS>().0.iter().zip(coefficients).take(self.players - failed + 1);
            for (lanes, coefficients) in ranks {
                for d in 0..D {
                    for s in 0..SETS {
                        sums[d][s] += lanes[s].number() * coefficients[d][s];
                    }
                }
            }
            for d in 0..D {
                out[d][i * SETS..][..SETS].copy_from_slice(&sums[d]);
            }
        }
        let start = self.beyond.partition_point(|beyond| (beyond.set as usize) < first);
        for beyond in self.beyond[start..].iter().take_while(|beyond| (beyond.set as usize) < first + CHUNK) {
            if beyond.class as usize == class {
                let coefficients = coefficients.beyond(beyond.set.count_ones() as usize, beyond.failed as usize);
                for d in 0..D {
                    out[d][beyond.set as usize - first] += beyond.count.number() * coefficients[d];
                }
            }
        }
    }
}

/// Lane by lane. They are arrays, so that the compiler sees that no sum is read again.
#[inline(always)]
fn sums<L: Lane, const P: usize>(a: &[L; P], b: &[L; P]) -> [L; P] {
    let mut sums = [L::default(); P];
    for i in 0..P {
        sums[i] = a[i].plus(b[i]);
    }
    sums
}

/// For every player, `(h0, h1) -> (h0 + h1, h0)`: a set without the player meets rows of both kinds, a set with it meets
/// only those that do not fail the player. Two players per pass, and only the first `used` lanes, `P` at a time.
#[inline(always)]
pub(super) fn sum_over<L: Lane, const N: usize, const P: usize>(h: &mut [[L; N]], used: usize) {
    let mut half = 1;
    while half < h.len() {
        if 2 * half < h.len() {
            for four in h.chunks_exact_mut(4 * half) {
                let (a, b) = four.split_at_mut(2 * half);
                let ((h0, h1), (h2, h3)) = (a.split_at_mut(half), b.split_at_mut(half));
                for (((h0, h1), h2), h3) in h0.iter_mut().zip(h1).zip(h2).zip(h3) {
                    let [h0, h1, h2, h3] = [h0, h1, h2, h3].map(|h| h[..used].as_chunks_mut::<P>().0);
                    for (((h0, h1), h2), h3) in h0.iter_mut().zip(h1).zip(h2).zip(h3) {
                        let (a, b, c, d) = (*h0, *h1, *h2, *h3);
                        let (ac, ab) = (sums(&a, &c), sums(&a, &b));
                        (*h0, *h1, *h2, *h3) = (sums(&ac, &sums(&b, &d)), ac, ab, a);
                    }
                }
            }
            half *= 4;
        } else {
            let (h0, h1) = h.split_at_mut(half);
            for (h0, h1) in h0.iter_mut().zip(h1) {
                let [h0, h1] = [h0, h1].map(|h| h[..used].as_chunks_mut::<P>().0);
                for (h0, h1) in h0.iter_mut().zip(h1) {
                    let a = *h0;
                    (*h0, *h1) = (sums(&a, h1), a);
                }
            }
            half *= 2;
        }
    }
}
