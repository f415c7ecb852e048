//! Patterns of paths with more players than the numbers of the machine have bits.

use std::ops::BitOr;

use super::distinct::Word;
use super::walk::Pattern;

const WORDS: usize = 8;

/// How many bits there are: one for each of the other players of a split, and two for the class.
pub(super) const WIDE_BITS: usize = WORDS * u64::BITS as usize;

/// A bit for each player of a path, the lowest word first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Wide([u64; WORDS]);

impl Wide {
    /// Word by word.
    #[inline(always)]
    fn of(word: impl Fn(usize) -> u64) -> Self {
        let mut words = [0; WORDS];
        for (i, out) in words.iter_mut().enumerate() {
            *out = word(i);
        }
        Self(words)
    }

    /// The first `n` bits.
    #[inline(always)]
    fn first_bits(n: usize) -> Self {
        Self::of(|i| match n.saturating_sub(64 * i) {
            0 => 0,
            n @ 1..=63 => (1 << n) - 1,
            _ => u64::MAX,
        })
    }

    /// The bits of `self` where `mask` has one, and elsewhere those of `other`.
    #[inline(always)]
    fn joined(self, mask: Self, other: Self) -> Self {
        Self::of(|i| self.0[i] & mask.0[i] | other.0[i] & !mask.0[i])
    }
}

impl BitOr for Wide {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self::of(|i| self.0[i] | other.0[i])
    }
}

impl Pattern for Wide {
    #[inline(always)]
    fn bit(position: u32) -> Self {
        Self::of(|i| if i as u32 == position / 64 { 1 << (position % 64) } else { 0 })
    }

    #[inline(always)]
    fn has(self, position: u32) -> bool {
        self.0[position as usize / 64] >> (position % 64) & 1 == 1
    }

    #[inline(always)]
    fn taken_out(self, position: u32) -> Self {
        let down = Self::of(|i| self.0[i] >> 1 | self.0.get(i + 1).map_or(0, |next| next << 63));
        self.joined(Self::first_bits(position as usize), down)
    }

    #[inline(always)]
    fn put_in(self, position: u32) -> Self {
        let low = Self::first_bits(position as usize);
        let high = Self::of(|i| self.0[i] & !low.0[i]);
        let up = Self::of(|i| high.0[i] << 1 | if i == 0 { 0 } else { high.0[i - 1] >> 63 });
        Self::of(|i| self.0[i] & low.0[i] | up.0[i])
    }

    #[inline(always)]
    fn number(self) -> usize {
        self.0[0] as usize
    }
}

impl Word for Wide {
    const ALL: Self = Self([u64::MAX; WORDS]);

    #[inline(always)]
    fn hash(self, bits: u32) -> usize {
        let mut hash = 0_u64;
        for word in self.0 {
            hash = (hash.rotate_left(29) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        (hash >> (u64::BITS - bits)) as usize
    }

    #[inline(always)]
    fn low(self, bits: usize) -> usize {
        self.0[0] as usize & ((1 << bits) - 1)
    }

    #[inline(always)]
    fn lowest(self, bits: usize) -> Self {
        self.joined(Self::first_bits(bits), Self::default())
    }

    #[inline(always)]
    fn byte(self, at: usize) -> usize {
        (self.0[at / 8 % WORDS] >> (8 * (at % 8))) as usize & 255
    }

    #[inline(always)]
    fn word(self) -> u64 {
        self.0[0]
    }

    #[inline(always)]
    fn size(self) -> usize {
        let mut size = 0;
        for word in self.0 {
            size += word.count_ones() as usize;
        }
        size
    }

    #[inline(always)]
    fn is_disjoint(self, other: Self) -> bool {
        let mut common = 0;
        for i in 0..WORDS {
            common |= self.0[i] & other.0[i];
        }
        common == 0
    }

    #[inline(always)]
    fn all_but(self, bits: usize) -> Self {
        Self::of(|i| !self.0[i]).lowest(bits)
    }

    #[inline(always)]
    fn first(self) -> Option<usize> {
        let word = self.0.iter().position(|&word| word != 0)?;
        Some(64 * word + self.0[word].trailing_zeros() as usize)
    }

    #[inline(always)]
    fn without_first(mut self) -> Self {
        if let Some(word) = self.0.iter_mut().find(|word| **word != 0) {
            *word &= *word - 1;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::distinct::Bits;
    use super::*;

    impl From<u128> for Wide {
        fn from(n: u128) -> Self {
            Self::of(|i| if i < 2 { (n >> (64 * i)) as u64 } else { 0 })
        }
    }

    fn wide(n: u128) -> Wide {
        n.into()
    }

    /// Against a number of the machine, bit by bit, and the same bits further up.
    #[test]
    fn a_wide_pattern_is_like_a_number() {
        let mut state = 5_u128;
        let mut number = || {
            state = state.wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645).wrapping_add(99);
            state >> 10 & state.rotate_left(17) & (u128::MAX >> 2)
        };
        for position in [0, 1, 5, 62, 63, 64, 65, 100, 125] {
            let (a, b) = (number(), number());
            assert_eq!(wide(a) | wide(b), wide(a | b));
            assert_eq!(Wide::bit(position), wide(1 << position));
            assert_eq!(wide(a).has(position), a.has(position));
            assert_eq!(wide(a).taken_out(position), wide(a.taken_out(position)), "{position} taken out");
            assert_eq!(wide(a).put_in(position), wide(a.put_in(position)), "{position} put in");
            assert_eq!(wide(a).lowest(position as usize), wide(a.lowest(position as usize)));
            assert_eq!(wide(a).all_but(position as usize), wide(a.all_but(position as usize)));
            assert_eq!(wide(a).is_disjoint(wide(b)), a & b == 0);
            assert!(wide(a).is_disjoint(wide(!a)) && !Wide::ALL.is_disjoint(wide(1)));
            assert_eq!((wide(a).size(), wide(a).low(6)), (a.size(), a.low(6)));
            assert!((0..16).all(|at| wide(a).byte(at) == a.byte(at)));
            assert!(Bits(wide(a)).eq(Bits(a)) && Bits(wide(a)).count() == a.size());
        }
        let high = Wide::bit(400).put_in(64).put_in(401);
        assert_eq!((high, high.size(), high.byte(50)), (Wide::bit(402), 1, 4));
        assert_eq!(high.taken_out(0).taken_out(7).taken_out(300), Wide::bit(399));
        assert!(Wide::bit(1).hash(10) != Wide::bit(402).hash(10));
    }
}
