//! The patterns of a block of rows on its way through a tree. A pattern has a bit for each player of the path that the
//! row fails.

use std::ops::Range;

use super::layout::{Layout, Site, Step, Way};
use crate::engine::codes::{BLOCK, Code};
use crate::simd::{Aligned, CACHE_LINE, Kernel, prefetch};

/// An unsigned integer with a bit for each player of a path.
pub(super) trait Pattern: Copy + Default + Eq + Send + Sync + std::ops::BitOr<Output = Self> {
    fn bit(position: u32) -> Self;
    fn has(self, position: u32) -> bool;
    /// The pattern without the bit at a position; those above it move down.
    fn taken_out(self, position: u32) -> Self;
    /// The pattern with one more bit, of a player that is not failed; those above it move up.
    fn put_in(self, position: u32) -> Self;
    /// As a number, for patterns that fit.
    fn number(self) -> usize;
}

macro_rules! pattern {
    ($($t:ty)*) => { $(impl Pattern for $t {
        #[inline(always)]
        fn bit(position: u32) -> Self {
            1 << position
        }
        #[inline(always)]
        fn has(self, position: u32) -> bool {
            self & Self::bit(position) != 0
        }
        #[inline(always)]
        fn taken_out(self, position: u32) -> Self {
            let low = Self::bit(position) - 1;
            (self & low) | (self >> 1 & !low)
        }
        #[inline(always)]
        fn put_in(self, position: u32) -> Self {
            let low = Self::bit(position) - 1;
            (self & low) | (self & !low) << 1
        }
        #[inline(always)]
        fn number(self) -> usize {
            self as usize
        }
    })* };
}
pattern!(u16 u32 u128);

/// The codes that a walk needs so many steps later are asked for: with many columns, they come from far away.
const AHEAD: usize = 3;

/// The patterns of a block of rows at the splits of a path.
pub(super) type Slots<P> = Vec<Aligned<[P; BLOCK]>>;

/// Finds the indices of a block of rows at splits: a bit for each of the other players that the row fails, then two bits for
/// its class (0 left, 1 right, 2 failed the split's player further up).
pub(super) struct Indices<'a, C, P> {
    pub(super) layout: &'a Layout,
    pub(super) way: Way,
    pub(super) items: Range<u32>,
    /// The codes of the block.
    pub(super) codes: &'a [C],
    pub(super) slots: &'a mut Slots<P>,
    /// The indices at each split.
    pub(super) out: &'a mut [[P; BLOCK]],
}

impl<C: Code, P: Pattern> Kernel for Indices<'_, C, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { layout, way, items, codes, slots, out } = self;
        slots.resize(layout.slots.max(slots.len()), Aligned([P::default(); BLOCK]));
        let mut at = 0;
        while let Some(&step) = layout.steps.get(at) {
            at += 1;
            let Step::Enter(n) = step else { continue };
            if let Some(Step::Enter(next)) = layout.steps.get(at + AHEAD) {
                let column = column(&layout.sites[*next as usize], codes);
                for first in (0..BLOCK).step_by(CACHE_LINE / size_of::<C>()) {
                    prefetch(column, first);
                }
            }
            let site = &layout.sites[n as usize];
            let below = site.items(way);
            if !meets(&below, &items) {
                at = site.end as usize;
                continue;
            }
            if let Some(item) = site.item(way).filter(|item| items.contains(item)) {
                let out = &mut out[(item - items.start) as usize];
                index(site, &slots[site.slot as usize], column(site, codes), out);
                if below.len() == 1 {
                    continue;
                }
            }
            descend(site, codes, slots);
        }
    }
}

/// The class of a row with this index at a split that has so many other players.
#[inline(always)]
pub(super) fn class<P: Pattern>(index: P, others: u32) -> usize {
    usize::from(index.has(others)) + 2 * usize::from(index.has(others + 1))
}

/// Whether two ranges have an item in common.
#[inline(always)]
pub(super) fn meets(a: &Range<u32>, b: &Range<u32>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}

#[inline(always)]
fn column<'a, C: Code>(site: &Site, codes: &'a [C]) -> &'a [C; BLOCK] {
    codes[site.test.column as usize * BLOCK..][..BLOCK].try_into().expect("a block has BLOCK rows")
}

/// The patterns of both children.
#[inline(always)]
fn descend<C: Code, P: Pattern>(site: &Site, codes: &[C], slots: &mut [Aligned<[P; BLOCK]>]) {
    let (lo, span) = (C::from_u32(site.test.lo), C::from_u32(site.test.span));
    let column = column(site, codes);
    let (above, below) = slots.split_at_mut(site.child_slot as usize);
    let above = &above[site.slot as usize];
    let [left, right, ..] = below else { unreachable!("both children have a slot") };
    let (none, failed) = (P::default(), P::bit(site.own));
    for r in 0..BLOCK {
        let passes = column[r].within(lo, span);
        left[r] = above[r] | if passes { none } else { failed };
        right[r] = above[r] | if passes { failed } else { none };
    }
}

#[inline(always)]
fn index<C: Code, P: Pattern>(site: &Site, above: &[P; BLOCK], column: &[C; BLOCK], out: &mut [P; BLOCK]) {
    let (lo, span) = (C::from_u32(site.test.lo), C::from_u32(site.test.span));
    let (left, right, failed) = (P::default(), P::bit(site.others), P::bit(site.others + 1));
    if site.fresh {
        for r in 0..BLOCK {
            out[r] = above[r] | if column[r].within(lo, span) { left } else { right };
        }
        return;
    }
    for r in 0..BLOCK {
        let side = if column[r].within(lo, span) { left } else { right };
        out[r] = above[r].taken_out(site.own) | if above[r].has(site.own) { failed } else { side };
    }
}
