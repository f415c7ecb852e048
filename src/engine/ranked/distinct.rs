//! Finding the distinct patterns among many.

use super::walk::Pattern;

/// A pattern that can be looked up.
pub(super) trait Word: Pattern {
    /// A pattern that nothing is disjoint from, except the empty one: it stands for nobody.
    const ALL: Self;
    /// Spreads patterns over the numbers below `2^bits`.
    fn hash(self, bits: u32) -> usize;
    /// The lowest bits, as a number and as a pattern.
    fn low(self, bits: usize) -> usize;
    fn lowest(self, bits: usize) -> Self;
    /// Eight bits, the lowest first.
    fn byte(self, at: usize) -> usize;
    /// The lowest 64 bits.
    fn word(self) -> u64;
    fn size(self) -> usize;
    fn is_disjoint(self, other: Self) -> bool;
    /// Those of the lowest bits that are not set.
    fn all_but(self, bits: usize) -> Self;
    /// The lowest bit that is set.
    fn first(self) -> Option<usize>;
    fn without_first(self) -> Self;
}

/// The positions of the bits of a pattern.
pub(super) struct Bits<P>(pub(super) P);

impl<P: Word> Iterator for Bits<P> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let first = self.0.first()?;
        self.0 = self.0.without_first();
        Some(first)
    }
}

macro_rules! word {
    ($t:ty, $factor:literal) => {
        impl Word for $t {
            const ALL: Self = Self::MAX;
            #[inline(always)]
            fn hash(self, bits: u32) -> usize {
                (self.wrapping_mul($factor) >> (Self::BITS - bits)) as usize
            }
            #[inline(always)]
            fn low(self, bits: usize) -> usize {
                self as usize & ((1 << bits) - 1)
            }
            #[inline(always)]
            fn lowest(self, bits: usize) -> Self {
                self & (((1 as Self) << bits) - 1)
            }
            #[inline(always)]
            fn byte(self, at: usize) -> usize {
                (self >> (8 * at as u32 % Self::BITS)) as usize & 255
            }
            #[allow(clippy::cast_lossless, reason = "the same text serves narrow and wide patterns")]
            #[inline(always)]
            fn word(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn size(self) -> usize {
                self.count_ones() as usize
            }
            #[inline(always)]
            fn is_disjoint(self, other: Self) -> bool {
                self & other == 0
            }
            #[inline(always)]
            fn all_but(self, bits: usize) -> Self {
                (!self).lowest(bits)
            }
            #[inline(always)]
            fn first(self) -> Option<usize> {
                (self != 0).then_some(self.trailing_zeros() as usize)
            }
            #[inline(always)]
            fn without_first(self) -> Self {
                self & self.wrapping_sub(1)
            }
        }
    };
}
word!(u32, 0x9E37_79B1);
word!(u128, 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);

/// A hash table; clearing it touches only the slots that are in use.
pub(super) struct Distinct<P> {
    /// A pattern, and its number plus one.
    slots: Vec<(P, u32)>,
    patterns: Vec<P>,
    places: Vec<u32>,
}

impl<P: Word> Distinct<P> {
    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), patterns: Vec::new(), places: Vec::new() }
    }

    /// In the order in which they came up.
    pub(super) fn patterns(&self) -> &[P] {
        &self.patterns
    }

    /// Finds the distinct patterns among `all`, which are `bits` wide; calls `number(row, number of its pattern)`.
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        bits: usize,
        all: impl ExactSizeIterator<Item = P>,
        mut number: impl FnMut(usize, u32),
    ) {
        for &place in &self.places {
            self.slots[place as usize].1 = 0;
        }
        self.patterns.clear();
        self.places.clear();
        // With few players, every pattern has a slot of its own, which saves the hash.
        let size = (2 * all.len()).next_power_of_two().max(64);
        let own_slots = 1_usize.checked_shl(bits as u32).is_some_and(|patterns| patterns <= 4 * size);
        let size = if own_slots { 1 << bits } else { size };
        if self.slots.len() < size {
            self.slots = vec![(P::default(), 0); size];
        }
        let (log, mask) = (size.trailing_zeros(), size - 1);
        let slots = &mut self.slots[..size];
        for (row, p) in all.enumerate() {
            let mut place = if own_slots { p.low(bits) } else { p.hash(log) };
            let found = loop {
                let slot = &mut slots[place & mask];
                if slot.1 == 0 {
                    self.patterns.push(p);
                    self.places.push((place & mask) as u32);
                    *slot = (p, self.patterns.len() as u32);
                    break slot.1 - 1;
                }
                if slot.0 == p {
                    break slot.1 - 1;
                }
                place += 1;
            };
            number(row, found);
        }
    }
}
