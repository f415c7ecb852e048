//! A tree divided into units: bottom subtrees of a few leaves that share one table.
//!
//! What a leaf contributes depends on a row only through the row's pattern, one bit for each player on the path. A
//! *unit* is a bottom subtree of height at most two. The *outcome* of a row there is its pattern on the path that leads
//! to the unit, plus one bit for each of the unit's own decisions. The tables of the unit's leaves are summed into one,
//! which a row looks up by its outcome. That takes up to four times fewer look-ups than leaf by leaf.

use crate::engine::codes::CodeTest;

/// Outcomes are 16 bits wide.
pub(super) const MAX_BITS: u32 = 16;

/// An instruction of the program that finds the outcome of every unit, in depth-first order.
#[derive(Debug, Clone, Copy)]
pub(super) enum Instruction {
    /// Computes the patterns of both children of the split whose own pattern is in `at`.
    Split {
        at: Slot,
        test: CodeTest,
        /// The bit of the split's player.
        bit: u16,
        /// The same bit if the player is on the path for the first time, and so has satisfied all splits before; 0 if not.
        fresh: u16,
        /// Where the children's patterns go: `Slot::left(level)` and `Slot::right(level)`.
        level: u32,
        /// The first instruction after this subtree.
        end: u32,
        /// The first unit after this subtree.
        end_unit: u32,
    },
    /// Computes the outcome of a unit: the pattern of the path, and one bit for each of its decisions (from, to).
    Unit { at: Slot, decisions: (u32, u32) },
}

/// A place that holds the patterns of one node for a block of rows; there are two per level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot(u32);

impl Slot {
    pub(super) const ROOT: Self = Self(0);

    pub(super) fn left(level: u32) -> Self {
        Self(2 * level)
    }

    pub(super) fn right(level: u32) -> Self {
        Self(2 * level + 1)
    }

    pub(super) fn position(self) -> usize {
        self.0 as usize
    }
}

/// A decision inside a unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decision {
    pub(super) test: CodeTest,
    /// Its bit of the unit's outcome.
    pub(super) bit: u16,
}

/// A leaf of a unit.
#[derive(Debug)]
pub(crate) struct UnitLeaf {
    /// Its number in the tree.
    pub(crate) leaf: usize,
    /// The players on its path, by their number in the unit: bit j of the leaf's pattern belongs to `players[j]`.
    pub(crate) players: Vec<usize>,
    /// For each way the unit's decisions can go, what that does to the pattern.
    pub(super) masks: Vec<Masks>,
    /// Bits of the path that leads to the unit.
    pub(super) path_bits: u32,
}

/// The path's bits that survive the unit's decisions, and the bits the decisions add.
#[derive(Debug, Clone, Copy)]
pub(super) struct Masks {
    pub(super) keep: u16,
    pub(super) add: u16,
}

impl UnitLeaf {
    /// The leaf's pattern for an outcome of the unit.
    #[inline(always)]
    pub(crate) fn pattern(&self, outcome: usize) -> usize {
        let masks = self.masks[outcome >> self.path_bits];
        usize::from((outcome as u16 & masks.keep) | masks.add)
    }
}

/// A bottom subtree with one table.
#[derive(Debug)]
pub(crate) struct Unit {
    /// Its players, by their number in the tree.
    pub(crate) players: Vec<u32>,
    pub(crate) leaves: Vec<UnitLeaf>,
    /// Bits of the outcome.
    pub(crate) bits: u32,
}

/// The units of a tree and the program that finds their outcomes.
#[derive(Debug)]
pub(super) struct Units {
    pub(super) program: Vec<Instruction>,
    /// The decisions of all units, side by side as the program reads them.
    pub(super) decisions: Vec<Decision>,
    /// The units, from left to right.
    pub(super) all: Vec<Unit>,
    /// Slots that the program needs.
    pub(super) n_slots: usize,
}
