//! The indices by their definitions, as sums over all coalitions of the game
//! `v(S) = E_z[h(x on S, z elsewhere)]`.
//!
//! Shares nothing with the engines but `Forest::add_margin`, which is `h`.

use arborshap::{Explainer, Forest, Index, Players, Rows};

use crate::support::engines::{ENGINES, INDICES, assert_close, explain};
use crate::support::inputs::Matrix;

/// A game: its worth for every coalition (bit i stands for player i) and output.
pub(crate) struct Game {
    n_players: usize,
    n_outputs: usize,
    worth: Vec<f64>,
}

impl Game {
    /// The game whose worth for a coalition is what `add` adds to zeros, one number per output.
    pub(crate) fn worth(n_players: usize, n_outputs: usize, mut add: impl FnMut(usize, &mut [f64])) -> Self {
        let mut worth = vec![0.0; n_outputs << n_players];
        worth.chunks_exact_mut(n_outputs).enumerate().for_each(|(coalition, worth)| add(coalition, worth));
        Self { n_players, n_outputs, worth }
    }

    /// The game of row `row` of `x` against the background `z`.
    pub(crate) fn new(
        forest: &Forest,
        players: &Players,
        x: &Rows<'_>,
        row: usize,
        z: &Rows<'_>,
        weights: Option<&[f64]>,
    ) -> Self {
        let (p, k, d) = (players.count(), forest.n_outputs(), forest.n_features());
        let total: f64 = (0..z.len()).map(|r| weights.map_or(1.0, |w| w[r])).sum();
        Self::worth(p, k, |coalition, worth| {
            for r in 0..z.len() {
                let from_x = |feature: usize| coalition >> players.of(feature) & 1 == 1;
                let hybrid: Vec<f64> = (0..d).map(|f| if from_x(f) { x.get(row, f) } else { z.get(r, f) }).collect();
                let mut h = vec![0.0; k];
                forest.add_margin(&Rows::new(&hybrid[..], 1, d).expect("one row"), 0, &mut h);
                let share = weights.map_or(1.0, |w| w[r]) / total;
                worth.iter_mut().zip(&h).for_each(|(worth, h)| *worth += share * h);
            }
        })
    }

    /// The worth of a coalition.
    pub(crate) fn of(&self, coalition: usize, output: usize) -> f64 {
        self.worth[coalition * self.n_outputs + output]
    }

    /// An index as the engines lay it out: `(players[, players], outputs)`.
    pub(crate) fn index(&self, index: Index) -> Vec<f64> {
        let (p, k) = (self.n_players, self.n_outputs);
        let players = 0..p;
        match index {
            Index::Shapley | Index::Banzhaf => {
                players.flat_map(|i| (0..k).map(move |output| self.single(index, i, output))).collect()
            }
            Index::Taylor | Index::Interaction => players
                .flat_map(|i| (0..p).map(move |j| (i, j)))
                .flat_map(|(i, j)| (0..k).map(move |output| self.pair(index, i, j, output)))
                .collect(),
            _ => panic!("write the definition of {index:?} here"),
        }
    }

    fn single(&self, index: Index, i: usize, output: usize) -> f64 {
        let p = self.n_players;
        let weight = |s: usize| match index {
            Index::Banzhaf => 0.5_f64.powi(p as i32 - 1),
            _ => factorial(s) * factorial(p - s - 1) / factorial(p),
        };
        self.without(1 << i).map(|s| weight(size(s)) * (self.of(s | 1 << i, output) - self.of(s, output))).sum()
    }

    fn pair(&self, index: Index, i: usize, j: usize, output: usize) -> f64 {
        let p = self.n_players;
        match (index, i == j) {
            (Index::Taylor, true) => self.of(1 << i, output) - self.of(0, output),
            (_, true) => {
                let others = (0..p).filter(|&other| other != i).map(|other| self.pair(index, i, other, output));
                self.single(Index::Shapley, i, output) - others.sum::<f64>()
            }
            (_, false) => {
                let weight = |s: usize| match index {
                    Index::Taylor => factorial(s) * factorial(p - s - 1) / factorial(p),
                    _ => 0.5 * factorial(s) * factorial(p - s - 2) / factorial(p - 1),
                };
                let (i, j) = (1 << i, 1 << j);
                let nabla = |s: usize| {
                    self.of(s | i | j, output) - self.of(s | j, output) - (self.of(s | i, output) - self.of(s, output))
                };
                self.without(i | j).map(|s| weight(size(s)) * nabla(s)).sum()
            }
        }
    }

    /// All coalitions that none of these players is in.
    fn without(&self, players: usize) -> impl Iterator<Item = usize> {
        (0..1 << self.n_players).filter(move |s| s & players == 0)
    }
}

fn size(coalition: usize) -> usize {
    coalition.count_ones() as usize
}

fn factorial(n: usize) -> f64 {
    (1..=n).map(|i| i as f64).product()
}

/// Fails unless every index of every engine equals its definition, and so does the expected value. Row i of `x` plays
/// `games[i]`, and values are of the order of `scale`.
#[track_caller]
pub(crate) fn assert_definition(explainer: &Explainer, x: &Matrix, games: &[Game], scale: f64) {
    for index in INDICES {
        let want: Vec<f64> = games.iter().flat_map(|game| game.index(index)).collect();
        for engine in ENGINES {
            let got = explain(engine, explainer, x, index, 1);
            assert_close(&got, &want, scale, &format!("{index:?} by {engine:?}"));
        }
    }
    let expected: Vec<f64> = (0..explainer.n_outputs()).map(|output| games[0].of(0, output)).collect();
    assert_close(explainer.expected_value(), &expected, scale, "the expected value");
}
