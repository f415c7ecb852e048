//! Numbers that begin where a cache line begins: a wide load or store across two lines takes twice as long, and the loops
//! of a walk do little else.

use std::ops::{Deref, DerefMut};

use crate::simd::{ALIGNING, aligned};

/// Like a vector of numbers.
#[derive(Default)]
pub(super) struct Numbers {
    all: Vec<f64>,
    /// Where the cache line begins.
    start: usize,
    len: usize,
}

impl Numbers {
    pub(super) fn zeros(len: usize) -> Self {
        let mut numbers = Self::default();
        numbers.fit(len);
        numbers
    }

    /// Makes room for so many numbers. What they are afterwards is not said.
    #[inline(always)]
    pub(super) fn fit(&mut self, len: usize) {
        if self.all.len() < len + ALIGNING {
            self.all.resize(len + ALIGNING, 0.0);
            self.start = self.all.len() - aligned(&mut self.all).len();
        }
        self.len = len;
    }
}

impl Deref for Numbers {
    type Target = [f64];

    #[inline(always)]
    fn deref(&self) -> &[f64] {
        &self.all[self.start..][..self.len]
    }
}

impl DerefMut for Numbers {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.all[self.start..][..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Aligned;

    #[test]
    fn numbers_begin_at_a_cache_line() {
        let mut numbers = Numbers::zeros(3);
        for len in [3, 0, 64, 5, 1000] {
            numbers.fit(len);
            assert_eq!(numbers.len(), len);
            assert!(cfg!(miri) || numbers.as_ptr().align_offset(align_of::<Aligned<f64>>()) == 0, "{len} numbers");
        }
    }
}
