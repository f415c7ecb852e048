//! The leaf rule of sets of players.
//!
//! Let x fail S and z fail F, two disjoint sets. A set T gets $(-1)^{b} M_l(|F| - u, |S| - b)$ if it consists of u players of F
//! and b players of S. So all sets T with the same $U = T \setminus S$ and the same b get the same. A sum over the background
//! is needed for each U and b only: over those z that fail all of U and none of S.

use super::others::Others;
use super::player_sets::PlayerSets;
use super::rule::Rule;
use super::subsets::{Subsets, each_set};
use crate::engine::sets::PlayerSet;
use crate::set_index::{MOST_ORDER, Moments};

/// What a set gets by the number of its players in F and in S.
type Coefficients = [[f64; MOST_ORDER + 1]; MOST_ORDER + 1];

/// The rule of one index.
pub(crate) struct Sets<'a> {
    moments: &'a Moments,
    numbers: &'a PlayerSets,
    subsets: Subsets,
}

impl<'a> Sets<'a> {
    /// For paths of up to `most` players.
    pub(crate) fn new(moments: &'a Moments, sets: &'a PlayerSets, most: usize) -> Self {
        Self { moments, numbers: sets, subsets: Subsets::new(moments.order(), most) }
    }

    /// $(-1)^b M_{u+b}(f - u, s - b)$.
    fn coefficients(&self, f: usize, s: usize, weight: f64) -> Coefficients {
        let mut all = Coefficients::default();
        let order = self.moments.order();
        for u in 0..=order.min(f) {
            let mut sign = weight;
            for b in 0..=(order - u).min(s) {
                if u + b > 0 {
                    all[u][b] = sign * self.moments.of(u + b, f - u, s - b);
                }
                sign = -sign;
            }
        }
        all
    }
}

/// What the rule remembers of a path and a leaf.
#[derive(Default)]
pub(crate) struct Room {
    /// The numbers of all sets of the path, without the empty one.
    cells: Vec<u32>,
    players: usize,
    /// For each background pattern, the numbers and sizes of the sets of players that it fails.
    failed: Vec<(u32, u32)>,
    starts: Vec<usize>,
    /// What sets get, by U and b.
    gains: Vec<f64>,
    /// A polynomial for each size of U, the players of the path that x satisfies, and what players are.
    polynomials: Vec<Vec<f64>>,
    satisfied: Vec<u32>,
}

impl Rule for Sets<'_> {
    type Room = Room;

    fn enter(&self, room: &mut Room, players: &[u32]) {
        let new = players.len() - 1;
        each_set(new, self.subsets.order() - 1, &mut vec![new], &mut |positions| {
            room.cells.push(self.numbers.number(positions.iter().map(|&at| players[at])));
        });
    }

    fn leave(&self, room: &mut Room, players: &[u32]) {
        room.cells.truncate(self.subsets.count(players.len() - 1) - 1);
    }

    fn cells<'r>(&self, room: &'r Room) -> &'r [u32] {
        &room.cells
    }

    fn prepare<S: PlayerSet>(&self, room: &mut Room, players: &[u32], others: &Others<'_, S>) {
        room.players = players.len();
        room.failed.clear();
        room.starts.clear();
        if let Others::Patterns(patterns) = others {
            let mut positions = Vec::new();
            for (fails, _) in *patterns {
                positions.clear();
                fails.for_each(|position| positions.push(position as u32));
                room.starts.push(room.failed.len());
                self.subsets.of(&positions, &mut |number, size| room.failed.push((number as u32, size as u32)));
            }
            room.starts.push(room.failed.len());
        }
    }

    fn give<S: PlayerSet>(&self, room: &mut Room, fails: &S, others: &Others<'_, S>, out: &mut [f64]) -> bool {
        let width = self.subsets.order() + 1;
        room.gains.clear();
        room.gains.resize((out.len() + 1) * width, 0.0);
        let any = match others {
            Others::Patterns(patterns) => self.by_patterns(room, fails, patterns),
            Others::Ratios(ratios) => self.by_ratios(room, fails, ratios),
        };
        if any {
            let mut hand_out = HandOut { subsets: &self.subsets, fails, gains: &room.gains, out, next: 0 };
            hand_out.sets(room.players, 0, 0, 0);
        }
        any
    }
}

impl Sets<'_> {
    /// Sums over the background patterns that fail none of the players that x fails.
    fn by_patterns<S: PlayerSet>(&self, room: &mut Room, fails: &S, patterns: &[(S, f64)]) -> bool {
        let (order, s) = (self.subsets.order(), fails.len());
        let mut any = false;
        for (i, (failed, weight)) in patterns.iter().enumerate() {
            if failed.meets(fails) {
                continue;
            }
            any = true;
            let coefficients = self.coefficients(failed.len(), s, *weight);
            for &(number, size) in &room.failed[room.starts[i]..room.starts[i + 1]] {
                let (size, number) = (size as usize, number as usize);
                let most = (order - size).min(s);
                let gains = &mut room.gains[number * (order + 1)..][..=most];
                gains.iter_mut().zip(&coefficients[size]).for_each(|(gain, coefficient)| *gain += coefficient);
            }
        }
        any
    }

    /// The same over training rows, whose players fail independently of each other: the number of players that z fails
    /// besides U has a polynomial as its generating function.
    fn by_ratios<S: PlayerSet>(&self, room: &mut Room, fails: &S, ratios: &[f64]) -> bool {
        let mut weight = 1.0;
        fails.for_each(|position| weight *= ratios[position]);
        if weight == 0.0 {
            return false;
        }
        room.satisfied.clear();
        room.satisfied.extend((0..ratios.len() as u32).filter(|&position| !fails.contains(position)));
        room.polynomials.resize(self.subsets.order() + 1, Vec::new());
        room.polynomials[0].clear();
        room.polynomials[0].push(weight);
        self.with_polynomial(room, ratios, room.satisfied.len(), 0, 0, fails.len());
        true
    }

    /// For U as it is, and with one more of the first `left` players that x satisfies: the polynomial of the size of U knows
    /// all other players beyond these.
    fn with_polynomial(&self, room: &mut Room, ratios: &[f64], left: usize, size: usize, number: usize, s: usize) {
        for i in (0..left).rev() {
            let position = room.satisfied[i] as usize;
            let ratio = ratios[position];
            if size < self.subsets.order() && ratio < 1.0 {
                let (below, above) = room.polynomials.split_at_mut(size + 1);
                above[0].clear();
                above[0].extend(below[size].iter().map(|term| term * (1.0 - ratio)));
                let number = number + self.subsets.step(size, position);
                self.with_polynomial(room, ratios, i, size + 1, number, s);
            }
            let polynomial = &mut room.polynomials[size];
            polynomial.push(0.0);
            for degree in (1..polynomial.len()).rev() {
                polynomial[degree] = polynomial[degree] * ratio + polynomial[degree - 1] * (1.0 - ratio);
            }
            polynomial[0] *= ratio;
        }
        let width = self.subsets.order() + 1;
        for (more, &term) in room.polynomials[size].iter().enumerate() {
            let coefficients = self.coefficients(size + more, s, term);
            let gains = &mut room.gains[number * width..][..width - size];
            gains.iter_mut().zip(&coefficients[size]).for_each(|(gain, coefficient)| *gain += coefficient);
        }
    }
}

/// Gives every set of the path what its U and b get.
struct HandOut<'a, S> {
    subsets: &'a Subsets,
    fails: &'a S,
    gains: &'a [f64],
    out: &'a mut [f64],
    /// How many sets have been visited.
    next: usize,
}

impl<S: PlayerSet> HandOut<'_, S> {
    /// The set so far, and all sets with more players from the first `limit` positions: `number` is that of its `u` players
    /// that x satisfies, and `b` players are failed.
    fn sets(&mut self, limit: usize, number: usize, u: usize, b: usize) {
        if let Some(place) = self.next.checked_sub(1) {
            self.out[place] = self.gains[number * (self.subsets.order() + 1) + b];
        }
        self.next += 1;
        if u + b == self.subsets.order() {
            return;
        }
        for position in 0..limit {
            if self.fails.contains(position as u32) {
                self.sets(position, number, u, b + 1);
            } else {
                self.sets(position, number + self.subsets.step(u, position), u + 1, b);
            }
        }
    }
}
