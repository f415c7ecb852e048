//! How the sets of positions on a path are numbered.
//!
//! A set comes after all sets of lower positions: first those without its highest position, and among those with the same
//! highest position in the order of the rest. So the sets of a path begin with the sets of the path above.

/// How many sets of up to 0, 1, ... `order` players there are of 0, 1, ... `most` players, the empty set included.
#[derive(Debug)]
pub(super) struct Subsets {
    order: usize,
    /// `counts[size][players]`.
    counts: Vec<Vec<usize>>,
}

impl Subsets {
    pub(super) fn new(order: usize, most: usize) -> Self {
        let mut counts = vec![vec![1; most + 1]];
        for size in 1..=order {
            let mut row = vec![1_usize];
            for players in 1..=most {
                row.push(row[players - 1].saturating_add(counts[size - 1][players - 1]));
            }
            counts.push(row);
        }
        Self { order, counts }
    }

    /// The largest sets.
    #[inline(always)]
    pub(super) fn order(&self) -> usize {
        self.order
    }

    /// How many sets there are of this many players.
    #[inline(always)]
    pub(super) fn count(&self, players: usize) -> usize {
        self.counts[self.order][players]
    }

    /// What a position adds to the number of a set in which it is the one after `above` higher positions.
    #[inline(always)]
    pub(super) fn step(&self, above: usize, position: usize) -> usize {
        self.counts[self.order - above][position]
    }

    /// Calls `visit(number, size)` for every set of these positions, which ascend, from the empty one on.
    pub(super) fn of(&self, positions: &[u32], visit: &mut impl FnMut(usize, usize)) {
        self.below(positions, 0, 0, visit);
    }

    fn below(&self, positions: &[u32], size: usize, number: usize, visit: &mut impl FnMut(usize, usize)) {
        visit(number, size);
        if size == self.order {
            return;
        }
        for (i, &position) in positions.iter().enumerate() {
            self.below(&positions[..i], size + 1, number + self.step(size, position as usize), visit);
        }
    }
}

/// Calls `visit` with every set of up to `size` positions below `limit`, in the order of their numbers, on top of what is
/// chosen already.
pub(super) fn each_set(limit: usize, size: usize, chosen: &mut Vec<usize>, visit: &mut impl FnMut(&[usize])) {
    visit(chosen);
    if size == 0 {
        return;
    }
    for position in 0..limit {
        chosen.push(position);
        each_set(position, size - 1, chosen, visit);
        chosen.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_come_in_the_order_of_their_numbers() {
        for (order, players) in (1..=6).flat_map(|order| (0..=9).map(move |players| (order, players))) {
            let subsets = Subsets::new(order, 9);
            let mut next = 0;
            each_set(players, order, &mut Vec::new(), &mut |set| {
                let number: usize = set.iter().enumerate().map(|(above, &at)| subsets.step(above, at)).sum();
                assert_eq!(number, next, "order {order}: {set:?}");
                next += 1;
            });
            assert_eq!(next, subsets.count(players), "order {order}, {players} players");
            let positions: Vec<u32> = (0..players as u32).collect();
            let mut seen = vec![0; next];
            subsets.of(&positions, &mut |number, _| seen[number] += 1);
            assert!(seen.iter().all(|&times| times == 1), "order {order}, {players} players");
        }
    }
}
