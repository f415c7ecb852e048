//! The table of a split with a leaf below it: what rows read.
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
use super::layout::Site;

/// What rows read at a split, for one output: class after class, the sets S of failed players, and room for a power of two.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// A and D.
    pub(super) own: Vec<[f64; 2]>,
    pub(super) c: Vec<f64>,
    /// What each position of the path gets, side by side, instead of `c`.
    pub(super) finished: Vec<[f64; 4]>,
    /// For an index of pairs, all of [`Pair`].
    pub(super) pairs: Vec<Pair>,
}

/// A, C, D, $E_0$, $E_1$, $E_2$, $F_0$, $F_1$.
pub(super) type Pair = [f64; 8];

/// The moments of a class, pattern by pattern.
type Moments<const D: usize> = [[f64; CHUNK]; D];

/// The values of both children for one output, divided by the weight of the background.
pub(super) type Values = [f64; 2];

/// Builds the tables of a split, one for each output.
#[inline(always)]
pub(super) fn build<L: Lane, const D: usize>(
    site: &Site,
    counts: &[L],
    values: &[Values],
    coefficients: &Coefficients<D>,
    ranked: &mut Ranked<L>,
) -> Vec<Table> {
    let (size, classes) = (1_usize << site.others, site.classes());
    ranked.take(site.others as usize, counts);
    let room = classes.next_power_of_two() * size;
    let mut tables: Vec<Table> = values.iter().map(|_| Table::with_room(room, D)).collect();
    let mut moments: [Moments<D>; 3] = [[[0.0; CHUNK]; D]; 3];
    for first in (0..size).step_by(CHUNK) {
        if first % TILE == 0 {
            ranked.finish_tile(first);
        }
        for (class, moments) in moments[..classes].iter_mut().enumerate() {
            ranked.moments(class, first, coefficients, moments);
        }
        let here = Here { first, n: CHUNK.min(size), size, classes };
        for (table, &values) in tables.iter_mut().zip(values) {
            if D == moment::SINGLE {
                table.singles(&here, values, &moments);
            } else {
                table.pairs(&here, values, &moments);
            }
        }
    }
    tables
}

/// Some patterns of a table.
struct Here {
    first: usize,
    n: usize,
    size: usize,
    classes: usize,
}

impl Here {
    /// Where the patterns stand in a class.
    #[inline(always)]
    fn of(&self, class: usize) -> std::ops::Range<usize> {
        class * self.size + self.first..class * self.size + self.first + self.n
    }
}

impl Table {
    fn with_room(room: usize, moments: usize) -> Self {
        if moments == moment::SINGLE {
            Self { own: vec![[0.0; 2]; room], c: vec![0.0; room], ..Self::default() }
        } else {
            Self { pairs: vec![[0.0; 8]; room], ..Self::default() }
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

    /// Works out what each position gets, so that rows read numbers that stand side by side.
    #[inline(always)]
    pub(super) fn finish(&mut self, site: &Site) {
        let positions = site.others as usize + usize::from(!site.direct());
        let (own, lanes) = (site.own as usize, positions.div_ceil(4));
        self.finished = vec![[0.0; 4]; lanes * self.own.len()];
        for (index, &[a, d]) in self.own[..site.entries()].iter().enumerate() {
            let out = self.finished[index * lanes..][..lanes].as_flattened_mut();
            for (p, out) in out[..positions].iter_mut().enumerate() {
                *out = if p == own { d } else { a - self.c[index | other_bit(p, own)] };
            }
        }
        self.c = Vec::new();
    }
}

/// The bit of a position in an index, which has none for the split's own.
#[inline(always)]
pub(super) fn other_bit(position: usize, own: usize) -> usize {
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
