//! The codes of a player as positions on a line: 1, 2, ... for values, and one more for what is missing.

use crate::engine::codes::{Code, CodeTest, CodedRows, Codes, with_codes};
use crate::engine::compiled::Compiled;

/// Where the splits of a player read codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Axis {
    /// Nowhere: no tree asks for this player.
    Unused,
    /// In this column, whose largest code of a value is `n`.
    Column { column: u32, n: u32 },
    /// In several columns.
    Several,
}

/// The axis of every player of the game.
#[derive(Debug)]
pub(crate) struct Axes(Vec<Axis>);

impl Axes {
    pub(crate) fn new(compiled: &Compiled) -> Self {
        let mut axes = vec![Axis::Unused; compiled.n_players];
        for tree in &compiled.trees {
            for split in &tree.splits {
                let axis = &mut axes[tree.players[split.player as usize] as usize];
                let column = split.test.column;
                *axis = match *axis {
                    Axis::Unused => Axis::Column { column, n: compiled.columns.largest_code(column as usize) },
                    Axis::Column { column: known, .. } if known != column => Axis::Several,
                    same => same,
                };
            }
        }
        Self(axes)
    }

    pub(crate) fn of(&self, player: usize) -> Axis {
        self.0[player]
    }
}

/// The position of each row on an axis.
pub(super) fn positions(rows: &CodedRows, column: u32, n: u32) -> Vec<u32> {
    fn all<C: Code>(rows: &CodedRows, codes: &[C], column: u32, n: u32) -> Vec<u32> {
        let position = |code: C| if code == C::MISSING { n + 1 } else { code.into() };
        (0..rows.len()).map(|row| position(rows.code(codes, row, column))).collect()
    }
    let codes: &Codes = rows.codes();
    with_codes!(codes, codes => all(rows, codes, column, n))
}

/// The codes that satisfy every split of a player on a path: from `first` to `last`, and perhaps what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interval {
    first: u32,
    last: u32,
    missing: bool,
}

impl Interval {
    /// All codes: no split has asked yet.
    pub(super) const ALL: Self = Self { first: 1, last: u32::MAX, missing: true };

    /// The codes that go on along an edge, left or right.
    pub(super) fn along(self, test: CodeTest, left: bool) -> Self {
        let (rank, missing_left) = test.rank();
        if left {
            Self { last: self.last.min(rank), missing: self.missing && missing_left, ..self }
        } else {
            Self { first: self.first.max(rank + 1), missing: self.missing && !missing_left, ..self }
        }
    }

    /// The positions on an axis with `n` codes of values, as up to two ranges.
    pub(super) fn ranges(self, n: u32) -> impl Iterator<Item = (u32, u32)> {
        let values = (self.first, self.last.min(n) + 1);
        let absent = (n + 1, n + 2);
        let (one, two) = match (values.0 < values.1, self.missing) {
            (true, true) if values.1 == absent.0 => (Some((values.0, absent.1)), None),
            (true, missing) => (Some(values), missing.then_some(absent)),
            (false, missing) => (missing.then_some(absent), None),
        };
        one.into_iter().chain(two)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every chain of edges, against the test of every code.
    #[test]
    fn intervals_are_the_codes_that_pass() {
        let n = 4;
        let tests: Vec<CodeTest> =
            (0..=n).flat_map(|rank| [CodeTest::at(0, rank, true), CodeTest::at(0, rank, false)]).collect();
        for &one in &tests {
            for &two in &tests {
                for sides in 0..4 {
                    let (first, second) = (sides & 1 == 1, sides & 2 == 2);
                    let interval = Interval::ALL.along(one, first).along(two, second);
                    let passes = |code: u16, test: CodeTest| code.within(test.lo as u16, test.span as u16);
                    for position in 1..=n + 1 {
                        let code = if position > n { u16::MISSING } else { position as u16 };
                        let expected = passes(code, one) == first && passes(code, two) == second;
                        let found = interval.ranges(n).any(|(from, to)| (from..to).contains(&position));
                        assert_eq!(found, expected, "{one:?} {first} {two:?} {second} at {position}");
                    }
                }
            }
        }
    }
}
