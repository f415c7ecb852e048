//! How the sets of a forest are numbered: those sets of players that share a path.

use std::collections::HashMap;

use super::subsets::{Subsets, each_set};
use crate::engine::compiled::{Child, Compiled, CompiledTree, Path, Place};
use crate::error::{Argument, Error, Result};
use crate::set_index::MOST_ORDER;

/// More sets than this are refused: a row would take more than 32 MB.
const MOST_SETS: usize = 1 << 22;

/// A set of players in ascending order; the places that are left hold [`u32::MAX`].
type Key = [u32; MOST_ORDER];

/// All sets of up to some number of players that share a path of a forest, by size, then by the numbers of their players.
///
/// Sets of one player are all there, whether a tree asks for the player or not.
#[derive(Debug)]
pub struct PlayerSets {
    order: usize,
    keys: Vec<Key>,
    numbers: HashMap<Key, u32>,
}

impl PlayerSets {
    pub(crate) fn new(compiled: &Compiled, order: usize) -> Result<Self> {
        // A single path may have too many already; the empty set does not count.
        let longest = compiled.max_path();
        if Subsets::new(order, longest).count(longest) > MOST_SETS + 1 {
            return Err(too_many(order));
        }
        let mut numbers: HashMap<Key, u32> = (0..compiled.n_players as u32).map(|i| (key([i]), 0)).collect();
        for tree in compiled.trees.iter().filter(|_| order > 1) {
            add_sets(tree, order, &mut numbers)?;
        }
        let mut keys: Vec<Key> = numbers.keys().copied().collect();
        keys.sort_unstable_by_key(|key| (size(key), *key));
        numbers.extend(keys.iter().copied().zip(0..));
        Ok(Self { order, keys, numbers })
    }

    /// The largest number of players of a set.
    #[must_use]
    pub fn order(&self) -> usize {
        self.order
    }

    /// How many sets there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The sets, each with its players in ascending order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.keys.iter().map(|key| &key[..size(key)])
    }

    /// The number of a set, whose players may come in any order.
    pub(super) fn number(&self, players: impl IntoIterator<Item = u32>) -> u32 {
        self.numbers[&key(players)]
    }
}

fn size(key: &Key) -> usize {
    key.iter().take_while(|&&player| player != u32::MAX).count()
}

fn key(players: impl IntoIterator<Item = u32>) -> Key {
    let mut key = [u32::MAX; MOST_ORDER];
    key.iter_mut().zip(players).for_each(|(place, player)| *place = player);
    key.sort_unstable();
    key
}

fn too_many(order: usize) -> Error {
    let problem = format!(
        "more than {MOST_SETS} sets of up to {order} players share a path of these trees; choose a lower order, or join \
         players into groups"
    );
    Error::input(Argument::Option, problem)
}

/// A step of the way through a tree, depth first.
enum Step {
    Enter(Child),
    Leave,
}

/// Adds the sets of all paths of a tree.
fn add_sets(tree: &CompiledTree, order: usize, sets: &mut HashMap<Key, u32>) -> Result<()> {
    let mut path = Path::new(tree.players.len());
    let mut stack = vec![Step::Enter(tree.root)];
    while let Some(step) = stack.pop() {
        let split = match step {
            Step::Leave => {
                path.leave();
                continue;
            }
            Step::Enter(child) => match child.place() {
                Place::Leaf(_) => continue,
                Place::Split(split) => &tree.splits[split],
            },
        };
        if path.enter(split.player).1 {
            stack.push(Step::Leave);
            let game = |position: usize| tree.players[path.players[position] as usize];
            let new = path.players.len() - 1;
            each_set(new, order - 1, &mut vec![new], &mut |positions| {
                if sets.len() <= MOST_SETS {
                    sets.insert(key(positions.iter().map(|&at| game(at))), 0);
                }
            });
            if sets.len() > MOST_SETS {
                return Err(too_many(order));
            }
        }
        stack.extend([Step::Enter(split.left), Step::Enter(split.right)]);
    }
    Ok(())
}
