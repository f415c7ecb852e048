//! Random cases as lists of numbers.

use proptest::prelude::*;

/// Choices read off a list of numbers. Past its end every choice is the first one, so a shorter list of smaller
/// numbers makes a simpler case: that is what proptest shrinks a failure to.
#[derive(Clone)]
pub(crate) struct Choices {
    numbers: Vec<u16>,
    next: usize,
}

/// On one line, however many they are.
impl std::fmt::Debug for Choices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.numbers)
    }
}

impl Choices {
    /// Many choices, always the same, for cases too large to shrink.
    pub(crate) fn fixed(seed: u32, n: usize) -> Self {
        let step =
            |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
        let numbers = std::iter::successors(Some(u64::from(seed)), step).skip(1).take(n).map(|s| (s >> 48) as u16);
        Self { numbers: numbers.collect(), next: 0 }
    }

    /// A number from 0 to `n - 1`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        let number = self.numbers.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        usize::from(number) % n
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    /// True once in `n` times.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    pub(crate) fn of<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())]
    }
}

/// Enough numbers for the largest case that the generators here make.
pub(crate) fn choices() -> impl Strategy<Value = Choices> {
    prop::collection::vec(any::<u16>(), 0..2000).prop_map(|numbers| Choices { numbers, next: 0 })
}

/// A property is tried on this many cases, or on as many as `PROPTEST_CASES` says.
pub(crate) fn cases(n: u32) -> ProptestConfig {
    let n = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(n);
    ProptestConfig { cases: n, max_shrink_iters: 20_000, failure_persistence: None, ..ProptestConfig::default() }
}
