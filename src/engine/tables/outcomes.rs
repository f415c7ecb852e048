//! The outcome of every unit for a block of rows.
//!
//! Patterns go down the tree one block of rows at a time: one comparison of a column of codes gives the patterns of both
//! children for all rows, without a branch, for 16 or 32 rows per instruction.

use std::hint::select_unpredictable;
use std::ops::Range;

use super::units::{Decision, Instruction, Slot, Units};
use crate::engine::codes::{Code, CodeTest};

/// The patterns of the nodes on the way to a unit.
pub(super) struct Slots<const R: usize>(Vec<[u16; R]>);

impl<const R: usize> Slots<R> {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }
}

/// What to do with the outcomes of a unit. It is a trait and not a closure, so that it can be `#[inline(always)]` and is
/// compiled for the wide instructions.
pub(super) trait UnitVisitor<const R: usize> {
    fn unit(&mut self, unit: usize, outcomes: &[u16; R]);
}

/// Visits every unit in the range; `codes` are those of a block, `R` per column.
#[inline(always)]
pub(super) fn outcomes<C: Code, const R: usize>(
    units: &Units,
    range: Range<usize>,
    codes: &[C],
    slots: &mut Slots<R>,
    visitor: &mut impl UnitVisitor<R>,
) {
    let slots = &mut slots.0;
    if slots.len() < units.n_slots {
        slots.resize(units.n_slots, [0; R]);
    }
    slots[Slot::ROOT.position()] = [0; R];
    let (mut s, mut u) = (0, 0);
    while s < units.program.len() && u < range.end {
        match &units.program[s] {
            Instruction::Split { end, end_unit, .. } if *end_unit as usize <= range.start => {
                (s, u) = (*end as usize, *end_unit as usize);
            }
            Instruction::Split { at, test, bit, fresh, level, .. } => {
                let (above, below) = slots.split_at_mut(Slot::left(*level).position());
                let [left, right, ..] = below else { unreachable!("both children have a slot") };
                descend(&above[at.position()], passing::<C, R>(codes, *test), *bit, *fresh, left, right);
                s += 1;
            }
            Instruction::Unit { at, decisions } => {
                if u >= range.start {
                    let mut outcomes = slots[at.position()];
                    for decision in &units.decisions[decisions.0 as usize..decisions.1 as usize] {
                        decide(&mut outcomes, codes, decision);
                    }
                    visitor.unit(u, &outcomes);
                }
                (s, u) = (s + 1, u + 1);
            }
        }
    }
}

/// A test of one column, row by row.
#[inline(always)]
fn passing<C: Code, const R: usize>(codes: &[C], test: CodeTest) -> impl Fn(usize) -> bool {
    let (lo, span) = (C::from_u32(test.lo), C::from_u32(test.span));
    let column: &[C; R] = codes[test.column as usize * R..][..R].try_into().expect("a block has R rows");
    move |r| column[r].within(lo, span)
}

/// The patterns of both children: the player's bit is set for a child as long as the row satisfies every split of that
/// player on the way to it.
#[inline(always)]
fn descend<const R: usize>(
    pattern: &[u16; R],
    passes: impl Fn(usize) -> bool,
    bit: u16,
    fresh: u16,
    left: &mut [u16; R],
    right: &mut [u16; R],
) {
    for r in 0..R {
        let (before, passed) = (pattern[r] | fresh, if passes(r) { bit } else { 0 });
        left[r] = before & (passed | !bit);
        right[r] = before & !passed;
    }
}

#[inline(always)]
fn decide<C: Code, const R: usize>(outcomes: &mut [u16; R], codes: &[C], decision: &Decision) {
    let passes = passing::<C, R>(codes, decision.test);
    for (r, outcome) in outcomes.iter_mut().enumerate() {
        // For a single row, the compiler would make a branch of it.
        *outcome |= select_unpredictable(passes(r), decision.bit, 0);
    }
}
