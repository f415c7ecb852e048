//! Two splits with leaves whose rows read one table: a split and its child, or two siblings.
//!
//! Both hang from one split, the *root* of the couple, and their paths differ only in their own players. So what a row gets
//! from both depends on its *outcome*: the pattern at the root, and one bit for each of the two or three splits: is the row
//! on its right? There are about as many outcomes as both tables have entries. So their sum takes no more memory than both,
//! rows read it once, and background rows are counted once.

use super::layout::{Site, Way};
use super::walk::ToIndex;
use crate::engine::compiled::{Child, CompiledTree, Place};
use crate::simd::Kernel;

/// The most outcomes of a couple: its table should stay in the second-level cache.
pub(super) const MOST_OUTCOMES: usize = 1 << 13;

/// A split of a couple.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    /// The number of the split.
    pub(super) split: u32,
    /// On which side of the root it is; `None` if it is the root itself.
    pub(super) side: Option<usize>,
    /// The bit of an outcome that says on which side of it the row is.
    pub(super) bit: u32,
    /// The place of its own player among those of the couple, if the root's path does not have this player. Siblings that
    /// have the same player have two places for it.
    pub(super) own: Option<u32>,
}

#[derive(Debug, Clone)]
pub(super) struct Couple {
    pub(super) members: [Member; 2],
    /// How many players are on the path to the root.
    pub(super) before: u32,
    /// Bits of an outcome.
    pub(super) bits: u32,
    /// How many places for players the couple has.
    pub(super) width: u32,
}

impl Couple {
    /// The couple of two splits below, or at, the split `root`.
    fn new(sites: &[Site], root: usize, splits: [(usize, Option<usize>); 2]) -> Self {
        let common = sites[root].others + 1;
        let before = common - u32::from(sites[root].fresh);
        let (mut bits, mut width) = (before + 1, common);
        let members = splits.map(|(split, side)| {
            let site = &sites[split];
            let bit = side.map_or(before, |_| {
                bits += 1;
                bits - 1
            });
            let own = (side.is_some() && site.fresh).then(|| {
                width += 1;
                width - 1
            });
            Member { split: split as u32, side, bit, own }
        });
        Self { members, before, bits, width }
    }
}

/// The couples of a tree, each at its root. They have at most `most` outcomes; no split is in two of them.
pub(super) fn couples(tree: &CompiledTree, sites: &[Site], most: usize) -> Vec<Option<Couple>> {
    let mut couples: Vec<Option<Couple>> = Vec::new();
    couples.resize_with(sites.len(), || None);
    let mut is_free: Vec<bool> = sites.iter().map(|site| site.way == Some(Way::Ranked)).collect();
    let split = |child: Child| match child.place() {
        Place::Split(n) => Some(n),
        Place::Leaf(_) => None,
    };
    // Children come after their parents, so that couples begin at the leaves.
    for root in (0..sites.len()).rev() {
        let [left, right] =
            [tree.splits[root].left, tree.splits[root].right].map(|child| split(child).filter(|&child| is_free[child]));
        let splits = match (is_free[root], left, right) {
            (true, Some(left), _) => [(root, None), (left, Some(0))],
            (true, None, Some(right)) => [(root, None), (right, Some(1))],
            (false, Some(left), Some(right)) => [(left, Some(0)), (right, Some(1))],
            _ => continue,
        };
        let couple = Couple::new(sites, root, splits);
        if 1_usize.checked_shl(couple.bits).is_some_and(|outcomes| outcomes <= most) {
            for (split, _) in splits {
                is_free[split] = false;
            }
            couples[root] = Some(couple);
        }
    }
    couples
}

/// Finds the index at both splits of a couple for each of its outcomes.
pub(super) struct AtMembers<'a> {
    pub(super) couple: &'a Couple,
    pub(super) root: &'a Site,
    pub(super) sites: [&'a Site; 2],
    pub(super) out: &'a mut [Vec<u16>; 2],
}

impl Kernel for AtMembers<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { couple, root, sites, out } = self;
        let path = (1_u16 << couple.before) - 1;
        for ((member, site), indices) in couple.members.iter().zip(sites).zip(out) {
            // On the other side of the root, the row fails the root's player.
            let (failed, other) = match member.side {
                None => (0, 0),
                Some(side) => (1 << root.own, if side == 0 { 1 << couple.before } else { 0 }),
            };
            let root_bit = 1 << couple.before;
            indices.resize(1 << couple.bits, 0);
            let (own_bit, outcome) = (1 << member.bit, |outcome: usize| outcome as u16);
            let above = |i| outcome(i) & path | if outcome(i) & root_bit == other { failed } else { 0 };
            ToIndex::new(site).write(above, |i| outcome(i) & own_bit == 0, indices);
        }
    }
}
