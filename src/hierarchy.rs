//! Players inside groups, groups inside groups: the tree in which members of groups play.

use crate::error::{Argument, Error, Result};

/// A tree over the players, which are its leaves. Inside a node, its children join one by one; for everybody outside
/// the node, they join together, as one block.
///
/// Nodes are numbered: first the players, then the groups, and last the root. A group has a smaller number than the
/// node around it.
///
/// ```
/// use arborshap::Hierarchy;
///
/// // Players 0 and 1 form a group, and player 2 stands alone beside it.
/// let hierarchy = Hierarchy::new(3, vec![3, 3, 4, 4], vec![false, false])?;
/// # Ok::<(), arborshap::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Hierarchy {
    n_players: usize,
    parent: Vec<u32>,
    /// The place of each node among the children of its parent.
    rank: Vec<u32>,
    /// Whether the children join in order, the first one first; for all nodes.
    ordered: Vec<bool>,
}

impl Hierarchy {
    /// A hierarchy of `n_players` players. `parent[i]` is the node that node i, a player or a group, is in; the root
    /// has no entry. `ordered` says for each group, and last for the root, whether its children join in the order of
    /// their numbers.
    pub fn new(n_players: usize, parent: Vec<u32>, ordered: Vec<bool>) -> Result<Self> {
        let wrong = |problem: String| Err(Error::input(Argument::Players, problem));
        let root = parent.len();
        if root < n_players || ordered.len() != root + 1 - n_players {
            return wrong(format!(
                "`parent` and `ordered` have {root} and {} entries, which do not fit {n_players} players: `parent` needs \
                 one per player and group, and `ordered` one per group and one for the root",
                ordered.len()
            ));
        }
        let mut children = vec![0; root + 1];
        let mut rank = Vec::with_capacity(root);
        for (node, &parent) in parent.iter().enumerate() {
            let parent = parent as usize;
            if parent <= node || parent < n_players || parent > root {
                return wrong(format!("node {node} of the hierarchy is in node {parent}, which is no group above it"));
            }
            rank.push(children[parent]);
            children[parent] += 1;
        }
        let ordered = vec![false; n_players].into_iter().chain(ordered).collect();
        Ok(Self { n_players, parent, rank, ordered })
    }

    /// Number of players.
    #[must_use]
    pub fn n_players(&self) -> usize {
        self.n_players
    }

    /// The node that a node is in; none for the root.
    pub(crate) fn parent(&self, node: u32) -> Option<u32> {
        self.parent.get(node as usize).copied()
    }

    /// The place of a node among the children of its parent.
    pub(crate) fn rank(&self, node: u32) -> u32 {
        self.rank.get(node as usize).copied().unwrap_or(0)
    }

    /// Whether the children of a node join in order.
    pub(crate) fn is_ordered(&self, node: u32) -> bool {
        self.ordered[node as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trees_are_hierarchies() {
        assert!(Hierarchy::new(2, vec![2, 2], vec![false]).is_ok());
        assert!(Hierarchy::new(2, vec![3, 3, 3], vec![false, true]).is_ok());
        assert!(Hierarchy::new(2, vec![2], vec![false]).is_err(), "a player is in no group");
        assert!(Hierarchy::new(2, vec![2, 1], vec![false]).is_err(), "a player is in a player");
        assert!(Hierarchy::new(2, vec![2, 3], vec![false]).is_err(), "a node is beyond the root");
        assert!(Hierarchy::new(2, vec![3, 3, 2], vec![false, false]).is_err(), "a group is in itself");
        assert!(Hierarchy::new(2, vec![2, 2], vec![]).is_err(), "the root does not say whether it is ordered");
    }
}
