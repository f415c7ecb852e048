//! A tree cut into units: bottom subtrees of a few leaves that share one table index.
//!
//! A leaf's contribution depends on a row only through the row's pattern, one bit for each player on the path. A
//! *unit* is a bottom subtree of height at most two; its index is the pattern of the path that leads to it plus
//! one bit for each of its own decisions, and the tables of its leaves are summed into one. That makes four times
//! fewer look-ups than leaf by leaf.

use crate::engine::codes::CodeTest;
use crate::engine::compiled::{Child, CompiledTree, Place};

/// Units are subtrees of at most this height.
const HEIGHT: u32 = 2;
/// Indices are 16 bits wide.
pub(super) const MAX_BITS: u32 = 16;

/// A step of the program that gives every unit its index, in depth-first order.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// Patterns of both children of the split whose own pattern is `at`.
    Split {
        at: Slot,
        test: CodeTest,
        /// The bit of the split's player.
        bit: u16,
        /// Whether the player is on the path for the first time.
        fresh: bool,
        /// Where the children's patterns go: `Slot::left(level)` and `Slot::right(level)`.
        level: u32,
        /// The step after this subtree.
        end: u32,
        /// The first unit after this subtree.
        end_unit: u32,
    },
    /// The index of a unit: the pattern of the path and the bits of its own decisions, which begin and end there.
    Unit { at: Slot, decisions: (u32, u32) },
}

/// A place that holds the patterns of one node for a block of rows; two a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot(u32);

impl Slot {
    pub(super) const ROOT: Self = Self(0);

    pub(super) fn left(level: u32) -> Self {
        Self(2 * level)
    }

    pub(super) fn right(level: u32) -> Self {
        Self(2 * level + 1)
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A decision inside a unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decision {
    pub(super) test: CodeTest,
    /// Its bit of the unit's index.
    pub(super) bit: u16,
}

/// A leaf of a unit.
#[derive(Debug)]
pub(super) struct UnitLeaf {
    /// Its number in the tree.
    pub(super) leaf: usize,
    /// The players on its path, by their number in the unit: bit j of the leaf's pattern is `players[j]`'s.
    pub(super) players: Vec<usize>,
    /// For each way the unit's decisions can go, what that does to the pattern.
    masks: Vec<Masks>,
    /// Bits of the path that leads to the unit.
    path_bits: u32,
}

/// The path's bits that survive the unit's decisions, and the bits the decisions add.
#[derive(Debug, Clone, Copy)]
struct Masks {
    keep: u16,
    add: u16,
}

impl UnitLeaf {
    /// The leaf's pattern for an index of the unit.
    #[inline(always)]
    pub(super) fn pattern(&self, index: usize) -> usize {
        let masks = self.masks[index >> self.path_bits];
        usize::from((index as u16 & masks.keep) | masks.add)
    }
}

/// When a player's bit is set in the pattern of a leaf: its path bit, if it has one, and these decisions.
#[derive(Debug, Clone, Copy)]
struct Condition {
    player: usize,
    set: u16,
    clear: u16,
}

/// A bottom subtree with one index.
#[derive(Debug)]
pub(super) struct Unit {
    /// Its players, by their number in the tree.
    pub(super) players: Vec<u32>,
    pub(super) leaves: Vec<UnitLeaf>,
    /// Bits of the index.
    pub(super) bits: u32,
}

/// The units of a tree and the program that finds their indices.
#[derive(Debug)]
pub(super) struct Units {
    pub(super) steps: Vec<Step>,
    /// The decisions of all units, side by side as the program reads them.
    pub(super) decisions: Vec<Decision>,
    /// The units, from left to right.
    pub(super) all: Vec<Unit>,
    /// Slots the program needs.
    pub(super) n_slots: usize,
}

/// A step of the way through a tree, depth first.
enum Visit {
    Enter {
        child: Child,
        at: Slot,
        level: u32,
    },
    /// Takes a fresh player off the path again.
    Leave,
    /// The subtree of this step is complete.
    Close {
        step: usize,
    },
}

impl Units {
    /// Cuts a tree whose paths have at most [`TABLE_PLAYERS`](super::TABLE_PLAYERS) players, so that an index, with the
    /// at most three decisions of a unit, has at most [`MAX_BITS`].
    pub(super) fn new(tree: &CompiledTree) -> Self {
        let heights = heights(tree);
        let height = |child: Child| match child.place() {
            Place::Leaf(_) => 0,
            Place::Split(n) => heights[n],
        };
        let mut this = Self { steps: Vec::new(), decisions: Vec::new(), all: Vec::new(), n_slots: 1 };
        let mut path = Path { bits: vec![None; tree.players.len()], players: Vec::new() };
        let mut stack = vec![Visit::Enter { child: tree.root, at: Slot::ROOT, level: 1 }];
        while let Some(visit) = stack.pop() {
            match visit {
                Visit::Leave => path.pop(),
                Visit::Close { step } => {
                    let (steps, units) = (this.steps.len() as u32, this.all.len() as u32);
                    if let Step::Split { end, end_unit, .. } = &mut this.steps[step] {
                        (*end, *end_unit) = (steps, units);
                    }
                }
                Visit::Enter { child, at, .. } if height(child) <= HEIGHT => {
                    let first = this.decisions.len() as u32;
                    this.all.push(unit(tree, child, &path, &mut this.decisions));
                    this.steps.push(Step::Unit { at, decisions: (first, this.decisions.len() as u32) });
                }
                Visit::Enter { child, at, level } => {
                    let Place::Split(n) = child.place() else { unreachable!("a leaf has height 0") };
                    let split = &tree.splits[n];
                    let (bit, fresh) = path.enter(split.player);
                    let step = this.steps.len();
                    this.steps.push(Step::Split { at, test: split.test, bit, fresh, level, end: 0, end_unit: 0 });
                    this.n_slots = this.n_slots.max(Slot::right(level).index() + 1);
                    if fresh {
                        stack.push(Visit::Leave);
                    }
                    stack.push(Visit::Close { step });
                    stack.push(Visit::Enter { child: split.right, at: Slot::right(level), level: level + 1 });
                    stack.push(Visit::Enter { child: split.left, at: Slot::left(level), level: level + 1 });
                }
            }
        }
        this
    }
}

/// The players on the way to a unit, each with its bit.
struct Path {
    bits: Vec<Option<u16>>,
    players: Vec<u32>,
}

impl Path {
    /// The player's bit, and whether it is new.
    fn enter(&mut self, player: u32) -> (u16, bool) {
        if let Some(bit) = self.bits[player as usize] {
            return (bit, false);
        }
        let bit = 1_u16 << self.players.len();
        self.bits[player as usize] = Some(bit);
        self.players.push(player);
        (bit, true)
    }

    fn pop(&mut self) {
        let player = self.players.pop().expect("a fresh player was entered");
        self.bits[player as usize] = None;
    }
}

/// The height of the subtree at every split; children stand after their parents.
fn heights(tree: &CompiledTree) -> Vec<u32> {
    let mut heights = vec![0; tree.splits.len()];
    for n in (0..tree.splits.len()).rev() {
        let of = |child: Child| match child.place() {
            Place::Leaf(_) => 0,
            Place::Split(n) => heights[n],
        };
        heights[n] = 1 + of(tree.splits[n].left).max(of(tree.splits[n].right));
    }
    heights
}

/// The unit below an edge; its decisions are added to those of the units before.
fn unit(tree: &CompiledTree, root: Child, path: &Path, decisions: &mut Vec<Decision>) -> Unit {
    let path_bits = path.players.len() as u32;
    let mut players = path.players.clone();
    let first = decisions.len();
    let mut paths = Vec::new();
    // Path players come first, so that their bits of a leaf's pattern are those of the index.
    let outer = (0..players.len()).map(|player| Condition { player, set: 0, clear: 0 });
    let mut stack = vec![(root, outer.collect::<Vec<_>>())];
    while let Some((child, conditions)) = stack.pop() {
        let n = match child.place() {
            Place::Leaf(leaf) => {
                paths.push((leaf, conditions));
                continue;
            }
            Place::Split(n) => n,
        };
        let split = &tree.splits[n];
        let position = (decisions.len() - first) as u32;
        decisions.push(Decision { test: split.test, bit: 1 << (path_bits + position) });
        let player = players.iter().position(|&p| p == split.player).unwrap_or_else(|| {
            players.push(split.player);
            players.len() - 1
        });
        for (child, left) in [(split.right, false), (split.left, true)] {
            let mut conditions = conditions.clone();
            let at = conditions.iter().position(|c| c.player == player).unwrap_or_else(|| {
                conditions.push(Condition { player, set: 0, clear: 0 });
                conditions.len() - 1
            });
            if left {
                conditions[at].set |= 1 << position;
            } else {
                conditions[at].clear |= 1 << position;
            }
            stack.push((child, conditions));
        }
    }
    let leaves = paths.into_iter().map(|(leaf, conditions)| UnitLeaf {
        leaf,
        masks: (0..1_u16 << (decisions.len() - first)).map(|way| masks(&conditions, way, path_bits)).collect(),
        players: conditions.into_iter().map(|c| c.player).collect(),
        path_bits,
    });
    let leaves = leaves.collect();
    let bits = path_bits + (decisions.len() - first) as u32;
    debug_assert!(bits <= MAX_BITS);
    Unit { players, leaves, bits }
}

fn masks(conditions: &[Condition], way: u16, path_bits: u32) -> Masks {
    let mut masks = Masks { keep: 0, add: 0 };
    for (bit, condition) in conditions.iter().enumerate() {
        let holds = way & condition.set == condition.set && way & condition.clear == 0;
        let on_path = (bit as u32) < path_bits;
        if holds && on_path {
            masks.keep |= 1 << bit;
        } else if holds {
            masks.add |= 1 << bit;
        }
    }
    masks
}
