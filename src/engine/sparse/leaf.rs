//! What the pairs that meet at a leaf get.

use super::Zs;
use super::level::{Level, NOBODY, Standing};
use crate::engine::codes::SET;
use crate::engine::compiled::{CompiledTree, Leaf, MAX_PLAYERS};
use crate::engine::rules;
use crate::engine::sets::WideSet;
use crate::engine::task::{BackgroundRows, Task};
use crate::index::{Index, Singles};
use crate::simd::Aligned;
use crate::weights::Weights;

/// Players whose gains are added up side by side.
const LANES: usize = 8;
/// So many of the background rows that a row meets at a leaf are worked out before it is asked whether there are more.
const AT_ONCE: usize = 2;

/// The weights of the background rows that go down a tree together; last, that of [`NOBODY`].
type ZWeights = [f64; NOBODY + 1];

/// What pairs get by the sizes of their sets: shared by all threads of a call.
pub(super) struct Gains<'a> {
    task: &'a Task<'a>,
    pub(super) background: &'a BackgroundRows<'a>,
    w: Weights,
    /// Numbers of the result per row.
    cells: usize,
    /// [`Singles`] by the sizes of $S_Z$ and $S_X$, `stride` per size of $S_Z$.
    singles: Vec<Singles>,
    stride: usize,
}

impl<'a> Gains<'a> {
    pub(super) fn new(task: &'a Task<'a>, background: &'a BackgroundRows<'a>, cells: usize) -> Self {
        let w = Weights::up_to(task.compiled.max_path());
        let k = task.trees.iter().map(|&t| task.compiled.trees[t].max_path).max().unwrap_or(0).min(MAX_PLAYERS);
        let singles = singles(task.index, &w, k);
        Self { task, background, w, cells, singles, stride: k + 1 }
    }

    /// Adds what row `x` gets: $S_X$ of each background row gains, and $S_Z$, the same for all of them, loses.
    #[inline(always)]
    fn add_row<const N: usize>(
        &self,
        x: usize,
        at: &Level,
        value: f64,
        weights: &ZWeights,
        sums: &mut [Aligned<[f64; LANES]>; N],
    ) {
        let s_z = at.s_z[x];
        let singles = &self.singles[s_z.count_ones() as usize * self.stride..][..self.stride];
        let mut gains = [[0.0; LANES]; N];
        let mut loss = 0.0;
        // Plain loops: a closure would not be compiled for the wide instructions. Most rows meet two or three background
        // rows, and the processor does not foresee where a loop ends. So there are always a few at once, and if there are
        // too few, `NOBODY` takes their places: a set without members has its end for its first one.
        let mut rest = at.met(x);
        loop {
            for _ in 0..AT_ONCE {
                let z = rest.trailing_zeros() as usize;
                rest &= rest.wrapping_sub(1);
                let s_x = at.s_x[z];
                let single = singles[s_x.count_ones() as usize];
                let weight = weights[z];
                loss += weight * single.in_z;
                let gain = weight * single.in_x;
                for n in 0..N {
                    for j in 0..LANES {
                        let with = gains[n][j] + gain;
                        gains[n][j] = if s_x >> (n * LANES + j) & 1 == 1 { with } else { gains[n][j] };
                    }
                }
            }
            if rest == 0 {
                break;
            }
        }
        for n in 0..N {
            // The sum is computed in a copy and stored as a whole; otherwise the compiler would not use vector
            // instructions.
            let mut sum = sums[n].0;
            for j in 0..LANES {
                sum[j] += value * if s_z >> (n * LANES + j) & 1 == 1 { loss } else { gains[n][j] };
            }
            sums[n] = Aligned(sum);
        }
    }
}

/// What a leaf gives for every size of $S_Z$ (rows) and $S_X$ (columns) up to `k` players.
fn singles(index: Index, w: &Weights, k: usize) -> Vec<Singles> {
    let sizes = (0..=k).flat_map(|z| (0..=k).map(move |x| (x, x + z)));
    let singles = sizes.map(|(x, xz)| match index.order() {
        1 => index.singles(w, x, xz),
        _ => Singles { in_x: 0.0, in_z: 0.0 }, // an index of pairs has its own rule
    });
    singles.collect()
}

/// What happens at the leaves of a tree.
///
/// A row's gains are kept by position on the path, all players of a leaf side by side. They are added to the players
/// themselves only when the walk leaves the position for good. So a leaf costs one vector addition, and no additions
/// scattered over memory.
pub(super) struct AtLeaf<'a> {
    gains: &'a Gains<'a>,
    tree: &'a CompiledTree,
    weights: ZWeights,
    /// The gains of each row by position, `stride` times [`LANES`] per row; for leaves of one number.
    by_position: Vec<Aligned<[f64; LANES]>>,
    stride: usize,
}

impl<'a> AtLeaf<'a> {
    pub(super) fn new(gains: &'a Gains<'a>, tree: &'a CompiledTree) -> Self {
        let stride = if tree.max_path > 4 * LANES { MAX_PLAYERS / LANES } else { tree.max_path.div_ceil(LANES) };
        let by_position = vec![Aligned([0.0; LANES]); stride * SET];
        Self { gains, tree, weights: [0.0; NOBODY + 1], by_position, stride }
    }

    /// Turns to the background sets from this one on.
    #[inline(always)]
    pub(super) fn turn_to(&mut self, first: usize) {
        let background = self.gains.background;
        self.weights = [0.0; NOBODY + 1];
        for (i, row) in (first * SET..background.rows.len()).take(NOBODY).enumerate() {
            self.weights[i] = background.weight(row);
        }
    }

    /// Adds the gains at a position to its player, for the rows that met any background row at the split.
    #[inline(always)]
    pub(super) fn settle(&mut self, position: usize, player: u32, split: &Level, sums: &mut [f64]) {
        let Task { compiled, index, .. } = *self.gains.task;
        if index.order() != 1 || self.tree.width != 1 || position >= MAX_PLAYERS {
            return;
        }
        let cell = self.tree.players[player as usize] as usize * compiled.n_outputs + self.tree.output.first();
        let (at, lane) = (position / LANES, position % LANES);
        let mut rows = split.meeting();
        while rows != 0 {
            let x = rows.trailing_zeros() as usize;
            rows &= rows - 1;
            let gain = &mut self.by_position[x * self.stride + at][lane];
            sums[x * self.gains.cells + cell] += *gain;
            *gain = 0.0;
        }
    }

    /// Adds what the pairs that meet at a leaf get.
    #[inline(always)]
    pub(super) fn reached(&mut self, number: usize, path: &[Standing], at: &Level, sums: &mut [f64]) {
        let leaf = Leaf::of(self.tree, number);
        let Task { compiled, index, .. } = *self.gains.task;
        if path.len() > MAX_PLAYERS {
            return self.long_path(path, at, leaf, sums);
        }
        if index.order() == 1 {
            return match path.len() {
                0..=8 => self.rows::<1>(path, at, leaf, sums),
                9..=16 => self.rows::<2>(path, at, leaf, sums),
                17..=24 => self.rows::<3>(path, at, leaf, sums),
                25..=32 => self.rows::<4>(path, at, leaf, sums),
                _ => self.rows::<8>(path, at, leaf, sums),
            };
        }
        let player = |j: usize| self.tree.players[path[j].player as usize] as usize;
        let two = |i: usize, j: usize| player(i) * compiled.n_players + player(j);
        for (x, sums) in sums.chunks_exact_mut(self.gains.cells).enumerate() {
            let mut rest = at.met(x);
            while rest != 0 {
                let z = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let weight = self.weights[z];
                rules::leaf(index, &self.gains.w, &at.s_x[z], &at.s_z[x], player, two, |cell, c| {
                    leaf.add(weight * c, sums, cell, compiled.n_outputs);
                });
            }
        }
    }

    /// The same for a path with more players than a word has bits. Few leaves of few trees have one.
    #[inline(always)]
    fn long_path(&self, path: &[Standing], at: &Level, leaf: Leaf<'_>, sums: &mut [f64]) {
        let Task { compiled, index, .. } = *self.gains.task;
        let player = |j: usize| self.tree.players[path[j].player as usize] as usize;
        let two = |i: usize, j: usize| player(i) * compiled.n_players + player(j);
        let mut of_z: Vec<Option<WideSet>> = vec![None; NOBODY];
        for (x, sums) in sums.chunks_exact_mut(self.gains.cells).enumerate() {
            let mut rest = at.met(x);
            if rest == 0 {
                continue;
            }
            let s_z = long_set(at.s_z[x], path, |standing| standing.x >> x & 1 == 0);
            while rest != 0 {
                let z = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let fails = |z_of: &Zs| z_of[z / SET] >> (z % SET) & 1 == 0;
                let s_x = of_z[z].get_or_insert_with(|| long_set(at.s_x[z], path, |standing| fails(&standing.z)));
                let weight = self.weights[z];
                rules::leaf(index, &self.gains.w, s_x, &s_z, player, two, |cell, c| {
                    leaf.add(weight * c, sums, cell, compiled.n_outputs);
                });
            }
        }
    }

    /// The rows that meet the leaf, whose path fits in `N` times [`LANES`] players.
    #[inline(always)]
    fn rows<const N: usize>(&mut self, path: &[Standing], at: &Level, leaf: Leaf<'_>, sums: &mut [f64]) {
        let mut rest = at.meeting();
        while rest != 0 {
            let x = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            if let &[value] = leaf.values() {
                let gains = &mut self.by_position[x * self.stride..][..N];
                self.gains.add_row::<N>(
                    x,
                    at,
                    value,
                    &self.weights,
                    gains.try_into().expect("a row has room for its path"),
                );
            } else {
                let mut gains = [Aligned([0.0; LANES]); N];
                self.gains.add_row::<N>(x, at, 1.0, &self.weights, &mut gains);
                let sums = &mut sums[x * self.gains.cells..][..self.gains.cells];
                for (standing, gain) in path.iter().zip(gains.iter().flat_map(|gains| gains.0)) {
                    let player = self.tree.players[standing.player as usize] as usize;
                    leaf.add(gain, sums, player, self.gains.task.compiled.n_outputs);
                }
            }
        }
    }
}

/// The positions of the players of a path that somebody fails, of whom those with a bit in a word are known already.
fn long_set(first: u64, path: &[Standing], fails: impl Fn(&Standing) -> bool) -> WideSet {
    let mut words = vec![0; path.len().div_ceil(MAX_PLAYERS)];
    words[0] = first;
    for (position, _) in path.iter().enumerate().skip(MAX_PLAYERS).filter(|(_, standing)| fails(standing)) {
        words[position / MAX_PLAYERS] |= 1 << (position % MAX_PLAYERS);
    }
    WideSet::of_words(words)
}
