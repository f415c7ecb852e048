//! A tree as this engine goes through it: depth first, with the positions of the players on the path.

use std::ops::Range;

use super::coefficients::{MOST_LARGE, MOST_OTHERS};
use super::couple::{Couple, couples};
use crate::engine::codes::CodeTest;
use crate::engine::compiled::{Child, CompiledTree, Leaf, Path, Place, common_values, sums_are_equal};

/// A step of the way through a tree.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// To a split.
    Enter(u32),
    /// Away from a split whose player was new to the path, and from its position.
    Leave,
}

/// How the leaves of a split are worked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By a table of ranked counts.
    Ranked,
    /// By such a table, whose indices need more than 16 bits.
    Large,
    /// By the distinct patterns of rows, and the background rows that each of them meets.
    Joined,
}

impl Way {
    /// All of them, in the order of their numbers.
    pub(super) const ALL: [Self; 3] = [Self::Ranked, Self::Large, Self::Joined];

    /// For splits with so many other players, if tables have up to `most` of them.
    fn of(others: usize, most: usize) -> Self {
        match others {
            _ if others > most => Self::Joined,
            _ if others > MOST_OTHERS => Self::Large,
            _ => Self::Ranked,
        }
    }
}

/// What there is to know about a split.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) test: CodeTest,
    /// The split's player, as the game numbers it.
    pub(super) player: u32,
    /// The position of the player on the path.
    pub(super) own: u32,
    /// Whether the player is new to the path.
    pub(super) fresh: bool,
    /// How many players the path has besides the split's own.
    pub(super) others: u32,
    /// The numbers of the children that are leaves, if there is work to do for them.
    pub(super) leaves: [Option<u32>; 2],
    /// Where the split's pattern is kept on the way down, and where that of its left child is; that of the right child
    /// comes next.
    pub(super) slot: u32,
    pub(super) child_slot: u32,
    /// The step after the split's subtree.
    pub(super) end: u32,
    /// The items of the split's subtree, its own first, way by way.
    items: [[u32; 2]; Way::ALL.len()],
    /// How the leaves of the split are worked out, if it has any.
    pub(super) way: Option<Way>,
    /// How the item is worked out that begins at the split, if one does.
    item: Option<Way>,
}

impl Site {
    /// The items of the split's subtree.
    #[inline(always)]
    pub(super) fn items(&self, way: Way) -> Range<u32> {
        let [start, end] = self.items[way as usize];
        start..end
    }

    /// The number of the item that begins at the split, if it is worked out this way.
    #[inline(always)]
    pub(super) fn item(&self, way: Way) -> Option<u32> {
        (self.item == Some(way)).then(|| self.items(way).start)
    }

    /// Rows by class: left, right and, if the player was on the path before, failed further up.
    pub(super) fn classes(&self) -> usize {
        if self.fresh { 2 } else { 3 }
    }

    /// How many entries the split's table has; there must be few enough players for one.
    pub(super) fn entries(&self) -> usize {
        self.classes() << self.others
    }
}

#[cfg(test)]
impl Site {
    /// A split by itself, for tests of what happens at one.
    pub(super) fn alone(own: u32, fresh: bool, others: u32, leaves: [Option<u32>; 2]) -> Self {
        let test = CodeTest { column: 0, lo: 0, span: 0 };
        let (player, slot, child_slot, end) = (own, 0, 1, 0);
        let (items, way) = ([[0; 2]; Way::ALL.len()], Some(Way::Joined));
        Self { test, player, own, fresh, others, leaves, slot, child_slot, end, items, way, item: way }
    }
}

/// What rows read with one index: a split with leaves, or a couple of them.
#[derive(Debug)]
pub(super) struct Item {
    /// The split where rows find the index.
    pub(super) root: u32,
    pub(super) couple: Option<Couple>,
    /// How many entries its table has, if there is one.
    pub(super) entries: usize,
}

/// What limits tables.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The most players that a split with a table may have besides its own.
    pub(super) others: usize,
    /// The most outcomes of a couple.
    pub(super) outcomes: usize,
}

/// A tree ready to be gone through.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) steps: Vec<Step>,
    pub(super) sites: Vec<Site>,
    /// The splits with leaves, by the way in which these are worked out.
    items: [Vec<Item>; Way::ALL.len()],
    /// The most players on the path to a leaf, for each way.
    positions: [usize; Way::ALL.len()],
    pub(super) slots: usize,
    /// How many outputs are worked out. If the values of every leaf have the same sum, as probabilities do, players move one
    /// output by the opposite of what they move all others by, so the last one follows from these.
    pub(super) outputs: usize,
    /// What the values of leaves are measured from, output by output. A constant that is taken from all leaves changes nothing
    /// for any player; so leaves that have these very values need no work.
    pub(super) origin: Vec<f64>,
}

impl Layout {
    pub(super) fn new(tree: &CompiledTree, limits: Limits) -> Self {
        let mut layout = Self {
            steps: Vec::new(),
            sites: Vec::with_capacity(tree.splits.len()),
            items: Default::default(),
            positions: [0; Way::ALL.len()],
            slots: 1,
            outputs: tree.width - usize::from(sums_are_equal(&tree.leaf_values())),
            origin: common_values(&tree.leaf_values()).map_or_else(|| vec![0.0; tree.width], <[f64]>::to_vec),
        };
        // Large tables of many outputs would take gigabytes.
        let large = MOST_LARGE - (layout.outputs.max(1).ilog2() as usize).min(MOST_LARGE - MOST_OTHERS);
        let most = limits.others.min(large);
        let mut path = Path::new(tree.players.len());
        // A split to enter and its slot, or a split to leave.
        let mut stack = vec![(tree.root, Some(0))];
        while let Some((child, slot)) = stack.pop() {
            let Place::Split(n) = child.place() else { continue };
            match slot {
                Some(slot) => {
                    layout.enter(tree, n, slot, &mut path, most);
                    let below = layout.sites[n].child_slot;
                    stack.push((child, None));
                    stack.push((tree.splits[n].right, Some(below + 1)));
                    stack.push((tree.splits[n].left, Some(below)));
                }
                None => layout.leave(n, &mut path),
            }
        }
        // Where an output follows from the others, gains are summed by position, and those of a couple have none of their own.
        let outcomes = if layout.outputs < tree.width { 0 } else { limits.outcomes };
        layout.number(tree, couples(tree, &layout.sites, outcomes));
        layout
    }

    /// What is worked out this way, in the order of the tree.
    pub(super) fn items(&self, way: Way) -> &[Item] {
        &self.items[way as usize]
    }

    /// The most players on the path to a leaf that is worked out this way.
    pub(super) fn positions(&self, way: Way) -> usize {
        self.positions[way as usize]
    }

    fn enter(&mut self, tree: &CompiledTree, n: usize, slot: u32, path: &mut Path, most: usize) {
        let split = &tree.splits[n];
        debug_assert_eq!(n, self.sites.len(), "splits stand in depth-first order");
        let (own, fresh) = path.enter(split.player);
        let matters = |leaf: &u32| Leaf::of(tree, *leaf as usize).values() != self.origin;
        let leaves = [split.left, split.right].map(|child| leaf(child).filter(matters));
        let any = leaves.iter().any(Option::is_some);
        let way = any.then(|| Way::of(path.players.len() - 1, most));
        let child_slot = slot.div_ceil(2) * 2 + 1;
        self.sites.push(Site {
            test: split.test,
            player: tree.players[split.player as usize],
            own,
            fresh,
            others: path.players.len() as u32 - 1,
            leaves,
            slot,
            child_slot,
            end: 0,
            items: [[0; 2]; Way::ALL.len()],
            way,
            item: None,
        });
        self.steps.push(Step::Enter(n as u32));
        self.slots = self.slots.max(child_slot as usize + 2);
        if let Some(way) = way {
            let positions = &mut self.positions[way as usize];
            *positions = path.players.len().max(*positions);
        }
    }

    fn leave(&mut self, n: usize, path: &mut Path) {
        let site = &mut self.sites[n];
        if site.fresh {
            path.leave();
            self.steps.push(Step::Leave);
        }
        site.end = self.steps.len() as u32;
    }

    /// Makes items of the splits that need work, and numbers them in the order of the tree.
    fn number(&mut self, tree: &CompiledTree, mut couples: Vec<Option<Couple>>) {
        let mut is_single: Vec<bool> = self.sites.iter().map(|site| site.way.is_some()).collect();
        for member in couples.iter().flatten().flat_map(|couple| &couple.members) {
            is_single[member.split as usize] = false;
        }
        for (n, couple) in couples.iter_mut().enumerate() {
            let site = &mut self.sites[n];
            site.items = self.items.each_ref().map(|items| [items.len() as u32, 0]);
            let (root, couple) = (n as u32, couple.take());
            if let Some(couple) = couple {
                site.item = Some(Way::Ranked);
                let entries = 1 << couple.bits;
                self.items[Way::Ranked as usize].push(Item { root, couple: Some(couple), entries });
            } else if let Some(way) = site.way.filter(|_| is_single[n]) {
                site.item = Some(way);
                let entries = if way == Way::Joined { 0 } else { site.entries() };
                self.items[way as usize].push(Item { root, couple: None, entries });
            }
        }
        let ends = self.items.each_ref().map(|items| items.len() as u32);
        // A subtree ends where that of its right child does; children come after their parents.
        for n in (0..self.sites.len()).rev() {
            let children = [tree.splits[n].right, tree.splits[n].left];
            let last = children.into_iter().find_map(|child| match child.place() {
                Place::Split(child) => Some(child),
                Place::Leaf(_) => None,
            });
            for way in Way::ALL {
                let own = self.sites[n].item(way).map(|item| item + 1);
                let start = self.sites[n].items[way as usize][0];
                let end = last.map_or(start, |last| self.sites[last].items[way as usize][1]);
                self.sites[n].items[way as usize][1] = end.max(own.unwrap_or(0));
            }
        }
        debug_assert!(self.sites.first().is_none_or(|root| root.items.map(|[_, end]| end) == ends));
    }
}

fn leaf(child: Child) -> Option<u32> {
    match child.place() {
        Place::Leaf(leaf) => Some(leaf as u32),
        Place::Split(_) => None,
    }
}
