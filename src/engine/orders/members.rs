//! The leaf rule of members of groups: Owen values, for nested groups Winter values, and groups that join in order.
//!
//! A member joins its group one by one with the other members, while every other group beside it joins as a block. So in the
//! view of a member, the other blocks inside each group around it are either in as a whole, and then x must satisfy all their
//! players, or out as a whole, and then z must. With A blocks of which z fails players, and B of which x does, the integral
//! over the chance to join is $W(A, A + B + 1)$. A block in which both fail players rules the leaf out. If blocks join in
//! order, those before are in and those after are out.

use super::others::Others;
use super::rule::Rule;
use crate::engine::sets::PlayerSet;
use crate::hierarchy::Hierarchy;
use crate::weights::Weights;

/// A player that z fails, and one that x fails.
const FAILS_Z: u8 = 1;
const FAILS_X: u8 = 2;

/// The rule of one hierarchy.
pub(crate) struct Members<'a> {
    hierarchy: &'a Hierarchy,
    weights: Weights,
}

impl<'a> Members<'a> {
    /// For paths of up to `most` players.
    pub(crate) fn new(hierarchy: &'a Hierarchy, most: usize) -> Self {
        Self { hierarchy, weights: Weights::up_to(most + 1) }
    }

    pub(super) fn hierarchy(&self) -> &Hierarchy {
        self.hierarchy
    }
}

/// A group around players of a path, with at least two blocks in it.
#[derive(Debug)]
pub(super) struct Group {
    /// Whether its blocks join in order.
    pub(super) ordered: bool,
    /// Its blocks: players of the path (by position) or groups, which follow the players.
    pub(super) blocks: Vec<usize>,
}

/// What the rule remembers of a path and a leaf.
#[derive(Default)]
pub(crate) struct Room {
    cells: Vec<u32>,
    /// The groups that matter, inner groups first.
    groups: Vec<Group>,
    /// For players and groups: who fails in it, what reaches it, and the share of training rows that satisfy it.
    state: Vec<u8>,
    weight: Vec<f64>,
    ratio: Vec<f64>,
}

/// The groups around the players of a path, inner groups first. A group with a single block here is that block.
pub(super) fn grouped(hierarchy: &Hierarchy, players: &[u32]) -> Vec<Group> {
    let mut groups = Vec::new();
    // The blocks so far, each with its node of the hierarchy.
    let mut open: Vec<(u32, usize)> = players.iter().enumerate().map(|(at, &player)| (player, at)).collect();
    while open.len() > 1 {
        // All children of the lowest parent that are here are open, since children have lower numbers.
        let Some(parent) = open.iter().filter_map(|&(node, _)| hierarchy.parent(node)).min() else { break };
        let inside = |&(node, _): &(u32, usize)| hierarchy.parent(node) == Some(parent);
        let mut children: Vec<(u32, usize)> = open.iter().copied().filter(inside).collect();
        open.retain(|entry| !inside(entry));
        children.sort_unstable_by_key(|&(node, _)| hierarchy.rank(node));
        let block = if let [(_, only)] = children[..] {
            only
        } else {
            let blocks = children.into_iter().map(|(_, block)| block).collect();
            groups.push(Group { ordered: hierarchy.is_ordered(parent), blocks });
            players.len() + groups.len() - 1
        };
        open.push((parent, block));
    }
    groups
}

impl Rule for Members<'_> {
    type Room = Room;

    fn enter(&self, room: &mut Room, players: &[u32]) {
        room.cells.extend(players.last());
    }

    fn leave(&self, room: &mut Room, _: &[u32]) {
        room.cells.pop();
    }

    fn cells<'r>(&self, room: &'r Room) -> &'r [u32] {
        &room.cells
    }

    fn prepare<S: PlayerSet>(&self, room: &mut Room, players: &[u32], _: &Others<'_, S>) {
        room.groups = grouped(self.hierarchy, players);
        let all = players.len() + room.groups.len();
        room.state.resize(all, 0);
        room.weight.resize(all, 0.0);
        room.ratio.resize(all, 1.0);
    }

    fn give<S: PlayerSet>(&self, room: &mut Room, fails: &S, others: &Others<'_, S>, out: &mut [f64]) -> bool {
        match others {
            Others::Patterns(patterns) => {
                let mut any = false;
                for (failed, weight) in patterns.iter().filter(|(failed, _)| !failed.meets(fails)) {
                    any = true;
                    self.pattern(room, fails, failed, *weight, out);
                }
                any
            }
            Others::Ratios(ratios) => {
                self.ratios(room, fails, ratios, out);
                true
            }
        }
    }
}

impl Members<'_> {
    /// Adds what background rows give that fail these players.
    fn pattern<S: PlayerSet>(&self, room: &mut Room, fails: &S, failed: &S, weight: f64, out: &mut [f64]) {
        let (k, Room { groups, state, weight: reaches, .. }) = (out.len(), room);
        state[..k].fill(0);
        fails.for_each(|position| state[position] = FAILS_X);
        failed.for_each(|position| state[position] = FAILS_Z);
        for (g, group) in groups.iter().enumerate() {
            state[k + g] = group.blocks.iter().fold(0, |all, &block| all | state[block]);
        }
        if let Some(last) = reaches.last_mut() {
            *last = weight;
        }
        for (g, group) in groups.iter().enumerate().rev() {
            let here = reaches[k + g];
            for (place, &block) in group.blocks.iter().enumerate() {
                let factor = if state[block] == 0 || here == 0.0 { 0.0 } else { self.factor(group, place, state) };
                reaches[block] = here * factor;
            }
        }
        for (position, out) in out.iter_mut().enumerate() {
            match state[position] {
                FAILS_Z => *out += reaches[position],
                FAILS_X => *out -= reaches[position],
                _ => {}
            }
        }
    }

    /// The integral over the other blocks of a group.
    fn factor(&self, group: &Group, place: usize, state: &[u8]) -> f64 {
        let (before, after) = (&group.blocks[..place], &group.blocks[place + 1..]);
        if group.ordered {
            let possible = before.iter().all(|&block| state[block] & FAILS_X == 0)
                && after.iter().all(|&block| state[block] & FAILS_Z == 0);
            return f64::from(u8::from(possible));
        }
        let (mut a, mut b) = (0, 0);
        for &block in before.iter().chain(after) {
            match state[block] {
                0 => {}
                FAILS_Z => a += 1,
                FAILS_X => b += 1,
                _ => return 0.0,
            }
        }
        self.weights.w(a, a + b + 1)
    }

    /// The same against training rows, whose players fail independently of each other.
    fn ratios<S: PlayerSet>(&self, room: &mut Room, fails: &S, ratios: &[f64], out: &mut [f64]) {
        let (k, Room { groups, state, weight: reaches, ratio, .. }) = (out.len(), room);
        state[..k].fill(0);
        fails.for_each(|position| state[position] = FAILS_X);
        ratio[..k].copy_from_slice(ratios);
        for (g, group) in groups.iter().enumerate() {
            state[k + g] = group.blocks.iter().fold(0, |all, &block| all | state[block]);
            ratio[k + g] = group.blocks.iter().map(|&block| ratio[block]).product();
        }
        if let Some(last) = reaches.last_mut() {
            *last = 1.0;
        }
        for (g, group) in groups.iter().enumerate().rev() {
            let here = reaches[k + g];
            for (place, &block) in group.blocks.iter().enumerate() {
                reaches[block] = if here == 0.0 { 0.0 } else { here * self.mean_factor(group, place, state, ratio) };
            }
        }
        for (position, out) in out.iter_mut().enumerate() {
            let joined = if state[position] == FAILS_X { 0.0 } else { 1.0 };
            *out = reaches[position] * (joined - ratios[position]);
        }
    }

    /// The mean of [`factor`](Self::factor) over what training rows fail.
    fn mean_factor(&self, group: &Group, place: usize, state: &[u8], ratio: &[f64]) -> f64 {
        let (before, after) = (&group.blocks[..place], &group.blocks[place + 1..]);
        if group.ordered {
            let possible = before.iter().all(|&block| state[block] == 0);
            let out: f64 = after.iter().map(|&block| ratio[block]).product();
            return if possible { out } else { 0.0 };
        }
        // `chances[n]` is the chance that z fails n of the blocks that x satisfies.
        let (mut chances, mut b, mut satisfied) = (vec![1.0], 0, 1.0);
        for &block in before.iter().chain(after) {
            if state[block] == FAILS_X {
                b += 1;
                satisfied *= ratio[block];
                continue;
            }
            chances.push(0.0);
            for a in (1..chances.len()).rev() {
                chances[a] = chances[a] * ratio[block] + chances[a - 1] * (1.0 - ratio[block]);
            }
            chances[0] *= ratio[block];
        }
        satisfied * chances.iter().enumerate().map(|(a, chance)| chance * self.weights.w(a, a + b + 1)).sum::<f64>()
    }
}
