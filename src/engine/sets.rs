//! Bitsets for $S_X$ and $S_Z$, over the players of one tree.

/// A set of players. Copied down the tree, so the common case is one machine word.
pub(crate) trait PlayerSet: Clone + Ord + std::hash::Hash {
    /// The empty set, able to hold players below `n`.
    fn empty(n: usize) -> Self;
    fn contains(&self, player: u32) -> bool;
    /// $S \cup \{i\}$.
    fn with(&self, player: u32) -> Self;
    /// $|S|$.
    fn len(&self) -> usize;
    /// Whether the two have a player in common.
    fn meets(&self, other: &Self) -> bool;
    fn for_each(&self, f: impl FnMut(usize));
}

/// Sets over at most 64 players.
impl PlayerSet for u64 {
    fn empty(n: usize) -> Self {
        debug_assert!(n <= 64);
        0
    }

    #[inline(always)]
    fn contains(&self, player: u32) -> bool {
        self >> player & 1 == 1
    }

    #[inline(always)]
    fn with(&self, player: u32) -> Self {
        self | 1 << player
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.count_ones() as usize
    }

    #[inline(always)]
    fn meets(&self, other: &Self) -> bool {
        self & other != 0
    }

    #[inline(always)]
    fn for_each(&self, mut f: impl FnMut(usize)) {
        let mut rest = *self;
        while rest != 0 {
            f(rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}

/// Sets over any number of players.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct WideSet(Box<[u64]>);

impl WideSet {
    /// A set whose player `64 i + j` is bit `j` of word `i`.
    pub(super) fn of_words(words: Vec<u64>) -> Self {
        Self(words.into())
    }
}

impl PlayerSet for WideSet {
    fn empty(n: usize) -> Self {
        Self(vec![0; n.div_ceil(64)].into())
    }

    fn contains(&self, player: u32) -> bool {
        self.0[player as usize / 64].contains(player % 64)
    }

    fn with(&self, player: u32) -> Self {
        let mut words = self.0.clone();
        words[player as usize / 64] |= 1 << (player % 64);
        Self(words)
    }

    fn len(&self) -> usize {
        self.0.iter().map(PlayerSet::len).sum()
    }

    fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    fn for_each(&self, mut f: impl FnMut(usize)) {
        for (i, word) in self.0.iter().enumerate() {
            word.for_each(|player| f(64 * i + player));
        }
    }
}
