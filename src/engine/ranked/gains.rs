//! What rows with an index get, player by player: worked out in advance for all indices of a table, if many rows read it.

use super::coefficients::{MOST_LARGE, SETS};

/// The most players of a split or couple.
const MOST_WIDTH: usize = MOST_LARGE + 1;

/// The tables of a split, for one output.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    /// A and D by index.
    pub(super) own: &'a [[f64; 2]],
    pub(super) c: &'a [f64],
    /// How many players the path has besides the split's own.
    pub(super) others: usize,
    /// The position of the own player on the path, and its place in what is worked out.
    pub(super) position: usize,
    pub(super) place: usize,
}

type Columns = [[f64; SETS]; MOST_WIDTH];

impl Source<'_> {
    /// The place of one of the other players.
    #[inline(always)]
    fn place_of(&self, other: usize) -> usize {
        other + usize::from(other >= self.position)
    }

    /// Adds what rows with these indices get, place by place.
    #[inline(always)]
    fn add(&self, indices: &[usize], columns: &mut Columns) {
        let first = indices[0];
        let are_side_by_side = first.is_multiple_of(SETS)
            && indices.len() == SETS
            && indices.iter().enumerate().all(|(s, &index)| index == first + s);
        if !are_side_by_side {
            for (s, &index) in indices.iter().enumerate() {
                let [whole, part] = self.own[index];
                columns[self.place][s] += part;
                for other in 0..self.others {
                    columns[self.place_of(other)][s] += whole - self.c[index | 1 << other];
                }
            }
            return;
        }
        let mut whole = [0.0; SETS];
        for (s, &[a, part]) in self.own[first..][..SETS].iter().enumerate() {
            whole[s] = a;
            columns[self.place][s] += part;
        }
        for other in 0..self.others {
            let (with, column) = (with_player(self.c, first, other), &mut columns[self.place_of(other)]);
            for s in 0..SETS {
                column[s] += whole[s] - with[s];
            }
        }
    }
}

/// C of the sets side by side from `first` on, each together with one of the other players.
#[inline(always)]
fn with_player(c: &[f64], first: usize, other: usize) -> [f64; SETS] {
    if 1 << other >= SETS {
        return *c[first | 1 << other..].first_chunk().expect("sets stand side by side");
    }
    let here: &[f64; SETS] = c[first..].first_chunk().expect("sets stand side by side");
    match other {
        0 => std::array::from_fn(|s| here[s | 1]),
        1 => std::array::from_fn(|s| here[s | 2]),
        _ => std::array::from_fn(|s| here[s | 4]),
    }
}

/// Writes what rows get for each of `n` indices, `width` numbers for each: the sum over some splits, of which `index` says
/// what the index at each is. Eight indices are worked out side by side, and change places with the players when they are
/// written.
#[inline(always)]
pub(super) fn work_out<const N: usize>(
    sources: [Source<'_>; N],
    n: usize,
    width: usize,
    index: impl Fn(usize, usize) -> usize,
    gains: &mut [f64],
) {
    let mut columns = [[0.0; SETS]; MOST_WIDTH];
    for (first, gains) in (0..n).step_by(SETS).zip(gains[..n * width].chunks_mut(SETS * width)) {
        let some = SETS.min(n - first);
        columns[..width].fill([0.0; SETS]);
        for (i, source) in sources.iter().enumerate() {
            let indices: [usize; SETS] = std::array::from_fn(|s| if s < some { index(i, first + s) } else { 0 });
            source.add(&indices[..some], &mut columns);
        }
        for (s, gains) in gains.chunks_exact_mut(width).enumerate() {
            for (gain, column) in gains.iter_mut().zip(&columns) {
                *gain = column[s % SETS];
            }
        }
    }
}
