//! The patterns of a block of rows on its way through a tree. A pattern has a bit for each player of the path that the
//! row fails.

use std::iter;
use std::ops::Range;

use super::couple::Couple;
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

/// The patterns of a block of rows at the splits of a path.
pub(super) type Slots<P> = Vec<Aligned<[P; BLOCK]>>;

/// Finds the indices of a block of rows at splits: a bit for each of the other players that the row fails, then two bits for
/// its class (0 left, 1 right, 2 failed the split's player further up).
pub(super) struct Indices<'a, C, P> {
    pub(super) layout: &'a Layout,
    pub(super) way: Way,
    pub(super) items: Range<u32>,
    /// The codes of the block, and those of the block that comes next.
    pub(super) codes: &'a [C],
    pub(super) next: &'a [C],
    pub(super) slots: &'a mut Slots<P>,
    /// The indices at each split.
    pub(super) out: &'a mut [[P; BLOCK]],
}

impl<C: Code, P: Pattern> Kernel for Indices<'_, C, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { layout, way, items, codes, next, slots, out } = self;
        slots.resize(layout.slots.max(slots.len()), Aligned([P::default(); BLOCK]));
        let mut at = 0;
        while let Some(&step) = layout.steps.get(at) {
            at += 1;
            let Step::Enter(n) = step else { continue };
            let site = &layout.sites[n as usize];
            let below = site.items(way);
            if !meets(&below, &items) {
                at = site.end as usize;
                continue;
            }
            ask_for(site, next);
            if let Some(item) = site.item(way).filter(|item| items.contains(item)) {
                let (above, out) = (&slots[site.slot as usize], &mut out[(item - items.start) as usize]);
                match &layout.items(way)[item as usize].couple {
                    None => index(site, above, codes, out),
                    Some(couple) => outcome(layout, site, couple, above, codes, next, out),
                }
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

/// Asks for the codes of a block that will be tested at a split: with many columns, they come from far away.
#[inline(always)]
fn ask_for<C: Code>(site: &Site, codes: &[C]) {
    let column = column(site, codes);
    for first in (0..BLOCK).step_by(CACHE_LINE / size_of::<C>()) {
        prefetch(column, first);
    }
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

/// How the index at a split comes from the pattern above it.
#[derive(Clone, Copy)]
pub(super) struct ToIndex<P> {
    own: u32,
    fresh: bool,
    right: P,
    failed: P,
}

impl<P: Pattern> ToIndex<P> {
    #[inline(always)]
    pub(super) fn new(site: &Site) -> Self {
        let (right, failed) = (P::bit(site.others), P::bit(site.others + 1));
        Self { own: site.own, fresh: site.fresh, right, failed }
    }

    /// Writes the index of every row; `above` gives its pattern, and `is_left` on which side it is.
    #[inline(always)]
    pub(super) fn write(self, above: impl Fn(usize) -> P, is_left: impl Fn(usize) -> bool, out: &mut [P]) {
        let Self { own, fresh, right, failed } = self;
        let left = P::default();
        if fresh {
            for (r, out) in out.iter_mut().enumerate() {
                *out = above(r) | if is_left(r) { left } else { right };
            }
            return;
        }
        for (r, out) in out.iter_mut().enumerate() {
            let (above, side) = (above(r), if is_left(r) { left } else { right });
            *out = above.taken_out(own) | if above.has(own) { failed } else { side };
        }
    }
}

#[inline(always)]
fn index<C: Code, P: Pattern>(site: &Site, above: &[P; BLOCK], codes: &[C], out: &mut [P; BLOCK]) {
    let (lo, span) = (C::from_u32(site.test.lo), C::from_u32(site.test.span));
    let column = column(site, codes);
    ToIndex::new(site).write(|r| above[r], |r| column[r].within(lo, span), out);
}

/// The outcomes of a couple.
#[inline(always)]
fn outcome<C: Code, P: Pattern>(
    layout: &Layout,
    root: &Site,
    couple: &Couple,
    above: &[P; BLOCK],
    codes: &[C],
    next: &[C],
    out: &mut [P; BLOCK],
) {
    *out = *above;
    let below = couple.members.iter().filter(|member| member.side.is_some());
    let below = below.map(|member| (&layout.sites[member.split as usize], member.bit));
    for (site, bit) in iter::once((root, couple.before)).chain(below) {
        let (lo, span) = (C::from_u32(site.test.lo), C::from_u32(site.test.span));
        ask_for(site, next);
        let (column, left, right) = (column(site, codes), P::default(), P::bit(bit));
        for r in 0..BLOCK {
            out[r] = out[r] | if column[r].within(lo, span) { left } else { right };
        }
    }
}
