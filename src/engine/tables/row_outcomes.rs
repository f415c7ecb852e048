//! The outcomes of rows at every unit of a tree, kept for other rules than those of tables.

use std::ops::Range;

use super::PatternForest;
use super::outcomes::{Slots, UnitVisitor, outcomes};
use super::units::Units;
use crate::engine::codes::{BLOCK, Code, CodedRows, with_codes};
use crate::simd::{Kernel, widest};

impl PatternForest {
    /// The outcomes of whole blocks of rows at each unit of a tree: unit after unit, those of all rows of the blocks.
    pub(crate) fn row_outcomes(&self, t: usize, rows: &CodedRows, blocks: Range<usize>) -> Vec<u16> {
        let units = &self.tree(t).units;
        let mut found = vec![0; units.all.len() * blocks.len() * BLOCK];
        with_codes!(rows.codes(), codes => {
            let block_codes = codes.len() / rows.len().div_ceil(BLOCK).max(1);
            widest(FindBlocks { units, codes, block_codes, blocks, found: &mut found });
        });
        found
    }
}

/// Blocks of rows through one tree.
struct FindBlocks<'a, C> {
    units: &'a Units,
    codes: &'a [C],
    block_codes: usize,
    blocks: Range<usize>,
    found: &'a mut [u16],
}

impl<C: Code> Kernel for FindBlocks<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let stride = self.blocks.len() * BLOCK;
        let mut slots = Slots::new();
        for (at, block) in self.blocks.enumerate() {
            let codes = &self.codes[block * self.block_codes..][..self.block_codes];
            let mut keep = Keep { found: &mut *self.found, stride, first: at * BLOCK };
            outcomes(self.units, 0..self.units.all.len(), codes, &mut slots, &mut keep);
        }
    }
}

/// Keeps the outcomes of a block.
struct Keep<'a> {
    found: &'a mut [u16],
    stride: usize,
    first: usize,
}

impl UnitVisitor<BLOCK> for Keep<'_> {
    #[inline(always)]
    fn unit(&mut self, unit: usize, outcomes: &[u16; BLOCK]) {
        self.found[unit * self.stride + self.first..][..BLOCK].copy_from_slice(outcomes);
    }
}
