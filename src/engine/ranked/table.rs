//! The tables of splits with a leaf below them: what rows read.
//!
//! Let i be the split's player and P the other players of the path. A background row is *left* or *right* of the split,
//! or has *failed* i further up. In each of the three classes let $X_d(S) = \sum_j N_j(S)\, a(|S| + d, j)$, where
//! $N_j(S)$ counts the rows that fail j players of P and none of S; L, R and F are these moments, and Q = R + F. Since
//! $a(s, j+1) = a(s, j) - a(s+1, j)$, both leaves together give a row that is left of the split
//!
//! - to a player p of P: $A[S] - C[S \cup p]$, with $A = v_l (L_0 + Q_0 - Q_1) + v_r R_1$ and
//!   $C = v_l (L_{-1} + Q_{-1} - Q_0) + v_r R_0$;
//! - to i: $D[S] = v_l (Q_0 - Q_1) - v_r (R_0 - R_1)$.
//!
//! The mirror image holds for a row right of it. A row that has failed i gets $A = v_l L_1 + v_r R_1$,
//! $C = v_l L_0 + v_r R_0$ and $D = A - C$. A child that is no leaf has the value zero.
//!
//! Pairs have the same form with the moments of e: a pair of P gets
//! $E_0[S] - E_1[S \cup p] - E_1[S \cup q] + E_2[S \cup p \cup q]$ and a pair with i gets $F_0[S] - F_1[S \cup p]$.

use super::coefficients::{Coefficients, moment};
use super::counts::{CHUNK, Lane, Ranked, TILE};
use super::couple::Couple;
use super::gains::{Source, work_out};
use super::layout::Site;
use super::read::pair;
use super::walk::Pattern;
use crate::engine::codes::BLOCK;
use crate::simd::{Offsets, add_looked_up};

/// What the sets of failed players are worth at some splits: one table after another, each output after output and class
/// after class. All stand in the same arrays, so that these grow no larger than the tables that are needed together.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// A and D.
    own: Vec<[f64; 2]>,
    c: Vec<f64>,
    /// What each position gets, if that is worked out once per entry instead of once per row.
    gains: Vec<f64>,
    /// For an index of pairs, all of [`Pair`].
    pairs: Vec<Pair>,
    each: Vec<Table>,
    /// Where the next table begins, in the first two arrays and in the gains.
    next: usize,
    next_gains: usize,
}

/// Where a table stands.
#[derive(Debug, Clone, Copy)]
struct Table {
    start: usize,
    gains: usize,
    /// Entries of one output, a power of two.
    entries: usize,
    /// Whether rows read gains.
    in_advance: bool,
}

/// What an entry gives to all players is worked out in advance if there are so many rows per entry.
pub(super) const READERS: usize = 4;

/// A, C, D, $E_0$, $E_1$, $E_2$, $F_0$, $F_1$.
type Pair = [f64; 8];

/// The moments of a class, pattern by pattern.
type Moments<const D: usize> = [[f64; CHUNK]; D];

/// The values of both children for one output, divided by the weight of the background.
pub(super) type Values = [f64; 2];

/// Adds the table of a split.
#[inline(always)]
pub(super) fn build<L: Lane, const D: usize>(
    site: &Site,
    counts: &[L],
    values: &[Values],
    coefficients: &Coefficients<D>,
    ranked: &mut Ranked<L>,
    rows: usize,
    tables: &mut Tables,
) {
    let (size, classes) = (1_usize << site.others, site.classes());
    ranked.take(site.others as usize, counts);
    let in_advance = D == moment::SINGLE && in_advance(site.entries(), rows);
    let table = tables.make_room(site, values.len(), D, in_advance);
    let mut moments: [Moments<D>; 3] = [[[0.0; CHUNK]; D]; 3];
    for first in (0..size).step_by(CHUNK) {
        if first % TILE == 0 {
            ranked.tile(first);
        }
        for (class, moments) in moments[..classes].iter_mut().enumerate() {
            ranked.moments(class, first, coefficients, moments);
        }
        for (output, &values) in values.iter().enumerate() {
            let here = Here { start: table.start + output * table.entries, first, n: CHUNK.min(size), size, classes };
            if D == moment::SINGLE {
                tables.singles(&here, values, &moments);
            } else {
                tables.pairs(&here, values, &moments);
            }
        }
    }
    if in_advance {
        tables.work_out(table, site, values.len());
    }
}

/// Whether to work out what each entry gives to all players, because so many rows will read it.
pub(super) fn in_advance(entries: usize, rows: usize) -> bool {
    READERS * entries <= rows
}

/// Some patterns of a table.
struct Here {
    /// Where the tables of the output begin.
    start: usize,
    first: usize,
    n: usize,
    size: usize,
    classes: usize,
}

impl Here {
    /// Where the patterns stand in a class.
    #[inline(always)]
    fn of(&self, class: usize) -> std::ops::Range<usize> {
        let first = self.start + class * self.size + self.first;
        first..first + self.n
    }
}

impl Tables {
    /// Forgets all tables.
    pub(super) fn clear(&mut self) {
        self.each.clear();
        (self.next, self.next_gains) = (0, 0);
    }

    /// How much memory they take.
    pub(super) fn bytes(&self) -> usize {
        let Self { own, c, pairs, gains, .. } = self;
        size_of::<f64>() * (2 * own.capacity() + c.capacity() + 8 * pairs.capacity() + gains.capacity())
    }

    /// Makes room for all that is going to be written.
    #[inline(always)]
    fn make_room(&mut self, site: &Site, outputs: usize, moments: usize, in_advance: bool) -> Table {
        let entries = site.entries().next_power_of_two();
        let table = Table { start: self.next, gains: self.next_gains, entries, in_advance };
        let end = table.start + outputs * entries;
        if moments == moment::SINGLE {
            have_room(&mut self.own, end);
            have_room(&mut self.c, end);
        } else {
            have_room(&mut self.pairs, end);
        }
        if in_advance {
            // Once the gains are there, nobody reads the rest.
            self.next_gains += outputs * entries * (site.others as usize + 1);
            have_room(&mut self.gains, self.next_gains);
        } else {
            self.next = end;
        }
        self.each.push(table);
        table
    }

    /// Works out what each position gets, entry by entry: rows then read it with one index.
    #[inline(always)]
    fn work_out(&mut self, table: Table, site: &Site, outputs: usize) {
        let width = site.others as usize + 1;
        for start in (0..outputs).map(|output| output * table.entries) {
            let source = Source {
                own: &self.own[table.start + start..],
                c: &self.c[table.start + start..],
                others: site.others as usize,
                position: site.own as usize,
                place: site.own as usize,
            };
            let gains = &mut self.gains[table.gains + start * width..];
            work_out([source], site.entries(), width, |_, entry| entry, gains);
        }
    }

    /// Adds the table of a couple: what both splits give, outcome by outcome, from the first table of each, and from the index
    /// at each of them.
    #[inline(always)]
    pub(super) fn couple(
        &mut self,
        couple: &Couple,
        sites: [&Site; 2],
        of: &[Self; 2],
        indices: &[Vec<u16>; 2],
        outputs: usize,
    ) {
        let (width, entries) = (couple.width as usize, 1 << couple.bits);
        let table = Table { start: self.next, gains: self.next_gains, entries, in_advance: true };
        self.next_gains += outputs * entries * width;
        have_room(&mut self.gains, self.next_gains);
        self.each.push(table);
        for output in 0..outputs {
            let sources = [0, 1].map(|i| Source {
                own: &of[i].own[output * of[i].each[0].entries..],
                c: &of[i].c[output * of[i].each[0].entries..],
                others: sites[i].others as usize,
                position: sites[i].own as usize,
                place: couple.members[i].own.unwrap_or(sites[i].own) as usize,
            });
            let gains = &mut self.gains[table.gains + output * entries * width..];
            work_out(sources, entries, width, |i, outcome| usize::from(indices[i][outcome]), gains);
        }
    }

    /// Adds what a block of rows with these indices in the table `number` gets to the target of each position.
    #[inline(always)]
    pub(super) fn add<P: Pattern + Into<u32>>(
        &self,
        number: usize,
        site: &Site,
        output: usize,
        indices: &[P; BLOCK],
        targets: &[u32],
        sums: &mut [[f64; BLOCK]],
    ) {
        let table = self.each[number];
        let mask = table.entries - 1;
        if table.in_advance {
            let (width, offsets) = (targets.len(), Offsets::new(indices, targets.len() as u32));
            let gains = &self.gains[table.gains + output * table.entries * width..][..table.entries * width];
            return add_looked_up(sums, targets, gains, &offsets);
        }
        let start = table.start + output * table.entries;
        let (own, c) = (&self.own[start..][..=mask], &self.c[start..][..=mask]);
        let (at, mut a) = (site.own as usize, [0.0; BLOCK]);
        let sum = &mut sums[targets[at] as usize];
        for r in 0..BLOCK {
            let [whole, part] = own[indices[r].number() & mask];
            a[r] = whole;
            sum[r] += part;
        }
        let (before, after) = targets.split_at(at);
        add_others(sums, before, 0, &a, c, indices);
        add_others(sums, &after[1..], at, &a, c, indices);
    }

    /// Adds what pairs of positions get, and each position by itself.
    #[inline(always)]
    pub(super) fn add_pairs(
        &self,
        number: usize,
        site: &Site,
        output: usize,
        indices: &[u16; BLOCK],
        gains: &mut [[f64; BLOCK]],
    ) {
        let table = self.each[number];
        let entries = &self.pairs[table.start + output * table.entries..][..table.entries];
        let (own, positions) = (site.own as usize, site.others as usize + 1);
        let mask = entries.len() - 1;
        let mut e1 = [[0.0; BLOCK]; 16];
        for p in (0..positions).filter(|&p| p != own) {
            let bit = other_bit(p, own);
            let alone = &mut gains[pair(p, p)];
            for r in 0..BLOCK {
                let index = usize::from(indices[r]);
                let with = entries[(index | bit) & mask];
                alone[r] += entries[index & mask][0] - with[1];
                e1[p % 16][r] = with[4];
            }
            let with_own = &mut gains[pair(p.max(own), p.min(own))];
            for r in 0..BLOCK {
                let index = usize::from(indices[r]);
                with_own[r] += entries[index & mask][6] - entries[(index | bit) & mask][7];
            }
            for q in (0..p).filter(|&q| q != own) {
                let (gains, both) = (&mut gains[pair(p, q)], bit | other_bit(q, own));
                for r in 0..BLOCK {
                    let index = usize::from(indices[r]);
                    let e0 = entries[index & mask][3];
                    gains[r] += (e0 - e1[p % 16][r] - e1[q % 16][r]) + entries[(index | both) & mask][5];
                }
            }
        }
        for r in 0..BLOCK {
            gains[pair(own, own)][r] += entries[usize::from(indices[r]) & mask][2];
        }
    }

    #[inline(always)]
    fn singles<const D: usize>(&mut self, here: &Here, values: Values, moments: &[Moments<D>; 3]) {
        let [l, r, f] = moments;
        for (class, near, far, [v, u]) in [(0, l, r, values), (1, r, l, [values[1], values[0]])] {
            let (own, c) = (&mut self.own[here.of(class)], &mut self.c[here.of(class)]);
            for s in 0..here.n {
                let part = left_or_right(near, far, f, [v, u], moment::A + 1, s);
                own[s] = [part.whole, part.own];
                c[s] = left_or_right(near, far, f, [v, u], moment::A, s).whole;
            }
        }
        if here.classes > 2 {
            let (own, c) = (&mut self.own[here.of(2)], &mut self.c[here.of(2)]);
            for s in 0..here.n {
                let a = values[0] * l[moment::A + 2][s] + values[1] * r[moment::A + 2][s];
                c[s] = values[0] * l[moment::A + 1][s] + values[1] * r[moment::A + 1][s];
                own[s] = [a, a - c[s]];
            }
        }
    }

    #[inline(always)]
    fn pairs<const D: usize>(&mut self, here: &Here, values: Values, moments: &[Moments<D>; 3]) {
        let [l, r, f] = moments;
        for (class, near, far, values) in [(0, l, r, values), (1, r, l, [values[1], values[0]])] {
            for (s, pair) in self.pairs[here.of(class)].iter_mut().enumerate() {
                let at = |d: usize| left_or_right(near, far, f, values, d, s);
                let (a, c) = (at(moment::A + 1), at(moment::A));
                let (e0, e1, e2) = (at(moment::E + 2), at(moment::E + 1), at(moment::E));
                *pair = [a.whole, c.whole, a.own, e0.whole, e1.whole, e2.whole, e0.own, e1.own];
            }
        }
        if here.classes > 2 {
            for (s, pair) in self.pairs[here.of(2)].iter_mut().enumerate() {
                let at = |d: usize| values[0] * l[d][s] + values[1] * r[d][s];
                let (a, c) = (at(moment::A + 2), at(moment::A + 1));
                let [e2, e1, e0] = [1, 2, 3].map(|d| at(moment::E + d));
                *pair = [a, c, a - c, e0, e1, e2, e0 - e1, e1 - e2];
            }
        }
    }
}

/// Adds `a - c` for players besides the split's own, whose bits in an index begin with `first`. Two players are served
/// at a time, since both take the same index.
#[inline(always)]
fn add_others<P: Pattern>(
    sums: &mut [[f64; BLOCK]],
    targets: &[u32],
    first: usize,
    a: &[f64; BLOCK],
    c: &[f64],
    indices: &[P; BLOCK],
) {
    let mask = c.len() - 1;
    let (twos, rest) = targets.as_chunks::<2>();
    for (position, two) in (first..).step_by(2).zip(twos) {
        let bit = 1_usize << position;
        let [one, two] =
            sums.get_disjoint_mut(two.map(|target| target as usize)).expect("a path has every player once");
        for r in 0..BLOCK {
            let index = indices[r].number();
            one[r] += a[r] - c[(index | bit) & mask];
            two[r] += a[r] - c[(index | bit << 1) & mask];
        }
    }
    for &target in rest {
        let (sum, bit) = (&mut sums[target as usize], 1_usize << (first + targets.len() - 1));
        for r in 0..BLOCK {
            sum[r] += a[r] - c[(indices[r].number() | bit) & mask];
        }
    }
}

/// Room for so many items, whatever they are.
#[inline(always)]
fn have_room<T: Copy + Default>(items: &mut Vec<T>, n: usize) {
    if items.len() < n {
        items.resize(n, T::default());
    }
}

/// The bit of a position in an index, which has none for the split's own.
#[inline(always)]
fn other_bit(position: usize, own: usize) -> usize {
    if position < own { 1 << position } else { (1 << position) >> 1 }
}

/// What a row gets from both leaves, and which part of it is the own player's.
struct Part {
    whole: f64,
    own: f64,
}

/// For a row on the side of the leaf `v`, with the moments `d` and `d + 1`.
#[inline(always)]
fn left_or_right<const D: usize>(
    near: &Moments<D>,
    far: &Moments<D>,
    failed: &Moments<D>,
    [v, u]: Values,
    d: usize,
    s: usize,
) -> Part {
    let q = [far[d][s] + failed[d][s], far[d + 1][s] + failed[d + 1][s]];
    let own = v * (q[0] - q[1]);
    Part { whole: v * near[d][s] + own + u * far[d + 1][s], own: own - u * (far[d][s] - far[d + 1][s]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ranked::by_pairs::{Random, by_pairs};
    use crate::index::Index;

    /// Compares what rows read with all pairs. Some background rows fail nearly everybody.
    fn check<P: Pattern + Into<u32>, L: Lane>(others: u32, own: u32, fresh: bool, pattern: impl Fn(u128) -> P) {
        let site = Site::alone(own, fresh, others, [Some(0), Some(1)]);
        let mut random = Random(u64::from(others * 64 + own));
        let x: [u128; BLOCK] = std::array::from_fn(|row| match row {
            // Whoever fails nearly everybody is met by those who fail hardly anybody.
            0..20 => (1 << row) & ((1 << others) - 1),
            _ => random.index(&site),
        });
        let all_but = |players: u128| ((1 << others) - 1) & !players;
        let mut z: Vec<u128> = (0..150).map(|_| random.index(&site)).collect();
        z.extend((0..others).flat_map(|p| [all_but(1 << p), all_but(1 << p | 1), all_but(1 << p) | 1 << others]));
        z.extend([all_but(0); 3]);
        let weights: Vec<f64> = (0..z.len()).map(|i| if L::EXACT { 1.0 } else { 0.3 + (i % 5) as f64 }).collect();
        let mut counts = vec![L::default(); site.entries()];
        for (&z, &weight) in z.iter().zip(&weights) {
            counts[z as usize] = counts[z as usize].plus(L::of(weight));
        }
        let targets: Vec<u32> = (0..=others).collect();
        for (index, rows) in [(Index::Shapley, 1), (Index::Banzhaf, 1 << 20)] {
            let coefficients = Coefficients::<{ moment::SINGLE }>::new(index);
            let (values, mut ranked, mut tables) = ([[1.5, -0.5], [0.0, 2.0]], Ranked::new(), Tables::default());
            build(&site, &counts, &values, &coefficients, &mut ranked, rows, &mut tables);
            for (output, &values) in values.iter().enumerate() {
                let mut sums = vec![[0.0; BLOCK]; others as usize + 1];
                tables.add(0, &site, output, &x.map(&pattern), &targets, &mut sums);
                for (row, &x) in x.iter().enumerate() {
                    let want = by_pairs(&site, x, &z, &weights, values, index);
                    let close = sums.iter().zip(&want).all(|(sums, want)| (sums[row] - want).abs() < 1e-9);
                    assert!(close, "{others} others, own {own}, {index:?}, row {row}: {want:?}");
                }
            }
        }
    }

    #[test]
    fn tables_give_what_pairs_give() {
        for (others, own, fresh) in [(0, 0, true), (3, 1, false), (8, 8, true), (9, 0, false), (14, 6, false)] {
            check::<u16, u16>(others, own, fresh, |index| index as u16);
            check::<u16, f64>(others, own, fresh, |index| index as u16);
        }
    }

    #[test]
    fn large_tables_give_what_pairs_give() {
        for (others, own, fresh) in [(15, 3, true), (16, 16, false), (17, 0, true), (18, 9, false)] {
            check::<u32, u16>(others, own, fresh, |index| index as u32);
            check::<u32, u32>(others, own, fresh, |index| index as u32);
        }
        check::<u32, f64>(18, 2, false, |index| index as u32);
    }
}
