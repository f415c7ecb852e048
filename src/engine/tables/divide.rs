//! Dividing a tree into units: one depth-first pass, without recursion.

use super::units::{Decision, Instruction, MAX_BITS, Masks, Slot, Unit, UnitLeaf, Units};
use crate::engine::compiled::{Child, CompiledTree, Path, Place};

/// Units are subtrees of at most this height.
const HEIGHT: u32 = 2;

/// A step of the way through a tree, depth first.
enum Descent {
    Enter {
        child: Child,
        at: Slot,
        level: u32,
    },
    /// Takes a fresh player off the path again.
    Leave,
    /// The subtree of this instruction is complete.
    Close {
        at: usize,
    },
}

impl Units {
    /// Divides a tree that can have tables. Its paths have at most
    /// [`TABLE_PLAYERS`](crate::engine::compiled::TABLE_PLAYERS) players, and a unit has at most three decisions, so an
    /// outcome has at most [`MAX_BITS`] bits.
    pub(super) fn new(tree: &CompiledTree) -> Self {
        let heights = heights(tree);
        let height = |child: Child| match child.place() {
            Place::Leaf(_) => 0,
            Place::Split(n) => heights[n],
        };
        let mut this = Self { program: Vec::new(), decisions: Vec::new(), all: Vec::new(), n_slots: 1 };
        let mut path = Path::new(tree.players.len());
        let mut stack = vec![Descent::Enter { child: tree.root, at: Slot::ROOT, level: 1 }];
        while let Some(visit) = stack.pop() {
            match visit {
                Descent::Leave => path.leave(),
                Descent::Close { at } => {
                    let (program, units) = (this.program.len() as u32, this.all.len() as u32);
                    if let Instruction::Split { end, end_unit, .. } = &mut this.program[at] {
                        (*end, *end_unit) = (program, units);
                    }
                }
                Descent::Enter { child, at, .. } if height(child) <= HEIGHT => {
                    let first = this.decisions.len() as u32;
                    this.all.push(unit(tree, child, &path, &mut this.decisions));
                    this.program.push(Instruction::Unit { at, decisions: (first, this.decisions.len() as u32) });
                }
                Descent::Enter { child, at, level } => {
                    let Place::Split(n) = child.place() else { unreachable!("a leaf has height 0") };
                    let split = &tree.splits[n];
                    let (position, fresh) = path.enter(split.player);
                    let here = this.program.len();
                    let bit = 1 << position;
                    this.program.push(Instruction::Split {
                        at,
                        test: split.test,
                        bit,
                        fresh: if fresh { bit } else { 0 },
                        level,
                        end: 0,
                        end_unit: 0,
                    });
                    this.n_slots = this.n_slots.max(Slot::right(level).position() + 1);
                    if fresh {
                        stack.push(Descent::Leave);
                    }
                    stack.push(Descent::Close { at: here });
                    stack.push(Descent::Enter { child: split.right, at: Slot::right(level), level: level + 1 });
                    stack.push(Descent::Enter { child: split.left, at: Slot::left(level), level: level + 1 });
                }
            }
        }
        this
    }
}

/// The height of the subtree at every split; children come after their parents.
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

/// When a player's bit is set in the pattern of a leaf: its path bit must be set, if it has one, and these decisions of
/// the unit must be taken or not.
#[derive(Debug, Clone, Copy)]
struct Condition {
    player: usize,
    taken: u16,
    not_taken: u16,
}

/// The unit below an edge; its decisions are added to those of the units before.
fn unit(tree: &CompiledTree, root: Child, path: &Path, decisions: &mut Vec<Decision>) -> Unit {
    let path_bits = path.players.len() as u32;
    let mut players = path.players.clone();
    let first = decisions.len();
    let mut leaves = Vec::new();
    // Path players come first, so that their bits of a leaf's pattern are those of the outcome.
    let outer = (0..players.len()).map(|player| Condition { player, taken: 0, not_taken: 0 });
    let mut stack = vec![(root, outer.collect::<Vec<_>>())];
    while let Some((child, conditions)) = stack.pop() {
        let n = match child.place() {
            Place::Leaf(leaf) => {
                leaves.push((leaf, conditions));
                continue;
            }
            Place::Split(n) => n,
        };
        let split = &tree.splits[n];
        let decision = (decisions.len() - first) as u32;
        decisions.push(Decision { test: split.test, bit: 1 << (path_bits + decision) });
        let player = position_or_push(&mut players, |&p| p == split.player, split.player);
        for (child, left) in [(split.right, false), (split.left, true)] {
            let mut conditions = conditions.clone();
            let new = Condition { player, taken: 0, not_taken: 0 };
            let at = position_or_push(&mut conditions, |c| c.player == player, new);
            let decisions = if left { &mut conditions[at].taken } else { &mut conditions[at].not_taken };
            *decisions |= 1 << decision;
            stack.push((child, conditions));
        }
    }
    let n_decisions = (decisions.len() - first) as u32;
    let leaf = |(leaf, conditions): (usize, Vec<Condition>)| UnitLeaf {
        leaf,
        masks: (0..1_u16 << n_decisions).map(|taken| masks(&conditions, taken, path_bits)).collect(),
        players: conditions.into_iter().map(|c| c.player).collect(),
        path_bits,
    };
    let bits = path_bits + n_decisions;
    debug_assert!(bits <= MAX_BITS);
    Unit { players, leaves: leaves.into_iter().map(leaf).collect(), bits }
}

/// The position of the first item that fits, or of a new one at the end.
fn position_or_push<T>(items: &mut Vec<T>, fits: impl Fn(&T) -> bool, new: T) -> usize {
    items.iter().position(fits).unwrap_or_else(|| {
        items.push(new);
        items.len() - 1
    })
}

/// How an outcome of the unit becomes the leaf's pattern, if exactly these decisions are taken.
fn masks(conditions: &[Condition], taken: u16, path_bits: u32) -> Masks {
    let mut masks = Masks { keep: 0, add: 0 };
    for (bit, condition) in conditions.iter().enumerate() {
        let holds = taken & condition.taken == condition.taken && taken & condition.not_taken == 0;
        let on_path = (bit as u32) < path_bits;
        if holds && on_path {
            masks.keep |= 1 << bit;
        } else if holds {
            masks.add |= 1 << bit;
        }
    }
    masks
}
