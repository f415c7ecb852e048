//! Sparse patterns: only the pairs of patterns that meet.
//!
//! Where paths have too many players for tables, or rows are too few to pay for them, pairs are kept as bits: going
//! down the tree, bit z of a row's set says whether the row x and the background row z still meet, that is, whether no
//! player has failed for both. One AND updates a row's pairs with 64 background rows at once, so only the pairs that
//! meet at a leaf cost more than a bit. There $p \mathbin{|} b$ is full, hence $S_X$ is the complement of $b$ and $S_Z$
//! that of $p$: all pairs of one row share their $S_Z$.

use crate::engine::codes::{CodedRows, SET, bits};
use crate::engine::compiled::{Child, Compiled, CompiledTree, Place};
use crate::engine::traversal::{Leaf, leaf_rule};
use crate::error::Result;
use crate::forest::Output;
use crate::index::{self, Index, Singles};
use crate::job::{Progress, Workers};
use crate::rows::Rows;
use crate::simd::{Kernel, widest};
use crate::weights::Weights;

/// Sets of background rows that go down a tree together.
const SETS: usize = 2;
/// Background rows that go down a tree together, one bit each.
type Zs = [u64; SETS];

/// A tree can be walked this way if its paths have at most so many players: their patterns are one word.
pub(crate) const MAX_PLAYERS: usize = 64;

/// What every thread of a call shares.
struct Meeting<'a> {
    compiled: &'a Compiled,
    background: &'a CodedRows,
    weights: Option<&'a [f64]>,
    w: &'a Weights,
    index: Index,
    cells: usize,
    /// [`Singles`] by the sizes of $S_Z$ and $S_X$, `stride` to a row.
    give: Vec<Singles>,
    stride: usize,
}

/// Adds the weighted mean over the background of an index, summed over some of the trees, to `out`.
#[expect(clippy::too_many_arguments, reason = "the forest, its background, the rows, and where and how to put what")]
pub(crate) fn explain_sparse(
    compiled: &Compiled,
    trees: &[usize],
    background: &CodedRows,
    weights: Option<&[f64]>,
    rows: &Rows<'_>,
    index: Index,
    out: &mut [f64],
    workers: &Workers,
    progress: &Progress,
) -> Result<()> {
    if out.is_empty() || trees.is_empty() {
        return Ok(());
    }
    let cells = out.len() / rows.len();
    let w = &Weights::up_to(compiled.max_path());
    let k = trees.iter().map(|&t| compiled.trees[t].max_path).max().unwrap_or(0);
    let give = give(index, w, k);
    let meeting = Meeting { compiled, background, weights, w, index, cells, give, stride: k + 1 };
    let total: f64 = weights.map_or(background.len() as f64, |w| w.iter().sum());
    let x = CodedRows::new(&compiled.columns, rows, workers)?;
    let x_sets = rows.len().div_ceil(SET);
    progress.expect(trees.len().div_ceil(GROUP) * x_sets);

    // A group of trees is summed on its own, then group after group: the same order for any threads and rows.
    let tasks: Vec<(usize, usize)> =
        (0..trees.len().div_ceil(GROUP)).flat_map(|group| (0..x_sets).map(move |set| (group, set))).collect();
    for tasks in tasks.chunks(ROUND.max(x_sets)) {
        let sums = workers.map(tasks.len(), |i| {
            let (group, set) = tasks[i];
            let n = (rows.len() - set * SET).min(SET);
            let mut sums = crate::memory::zeros("a partial sum", &[n, cells])?;
            for &tree in &trees[group * GROUP..trees.len().min((group + 1) * GROUP)] {
                widest(Walk {
                    meeting: &meeting,
                    tree: &compiled.trees[tree],
                    x: &x,
                    x_set: set,
                    n,
                    sums: &mut sums,
                    progress,
                });
                if progress.is_cancelled() {
                    break;
                }
            }
            progress.step()?;
            Ok(sums)
        });
        for (&(_, set), sums) in tasks.iter().zip(sums) {
            let out = &mut out[set * SET * cells..];
            out.iter_mut().zip(sums?).for_each(|(cell, sum)| *cell += sum / total);
        }
    }
    Ok(())
}

/// Trees summed on their own.
const GROUP: usize = 4;
/// Partial sums held at once.
const ROUND: usize = 64;

/// One tree, one set of rows, all background rows.
struct Walk<'a> {
    meeting: &'a Meeting<'a>,
    tree: &'a CompiledTree,
    x: &'a CodedRows,
    x_set: usize,
    n: usize,
    sums: &'a mut [f64],
    progress: &'a Progress,
}

/// Where the rows stand with one player of the path: who has satisfied all its splits so far.
#[derive(Clone, Copy)]
struct Standing {
    player: u32,
    x: u64,
    z: Zs,
}

enum Step {
    /// Down an edge, from the level above.
    Enter { child: Child, split: u32, left: bool, level: u32 },
    /// The edge's player as it stood before; `last` after the second of a split's edges.
    Restore { position: u32, before: Option<Standing>, last: bool },
}

impl Kernel for Walk<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let tests = || self.tree.splits.iter().map(|s| s.test);
        let mut x_left = Vec::new();
        self.x.passing(self.x_set, tests(), &mut x_left);
        let mut z_left: [Vec<u64>; SETS] = Default::default();
        let background = self.meeting.background;
        let mut levels: Vec<Level> = vec![Level::TOP];
        let mut path: Vec<Standing> = Vec::new();
        let mut position = vec![u32::MAX; self.tree.players.len()];
        let mut stack = Vec::new();
        let mut leaf = AtLeaf::new(self.meeting, self.tree);
        for first in (0..background.n_sets()).step_by(SETS) {
            if self.progress.is_cancelled() {
                return;
            }
            let mut members = [0; SETS];
            for (i, z_left) in z_left.iter_mut().enumerate() {
                if first + i < background.n_sets() {
                    members[i] = background.members(first + i);
                    background.passing(first + i, tests(), z_left);
                } else {
                    z_left.clear();
                    z_left.resize(self.tree.splits.len(), 0);
                }
            }
            for (met, members) in levels[0].met.iter_mut().zip(members) {
                met.fill(0);
                met[..self.n].fill(members);
            }
            match self.tree.root.place() {
                Place::Leaf(_) => return,
                Place::Split(n) => push_children(self.tree, n, 1, &mut stack),
            }
            while let Some(step) = stack.pop() {
                match step {
                    Step::Restore { position: at, before: Some(standing), .. } => path[at as usize] = standing,
                    Step::Restore { position: at, before: None, last } => {
                        let player = path.pop().expect("a player was entered").player;
                        position[player as usize] = u32::MAX;
                        if last {
                            leaf.settle(at as usize, player, self.sums);
                        }
                    }
                    Step::Enter { child, split, left, level } => {
                        let n = split as usize;
                        let player = self.tree.splits[n].player;
                        let side = |mask: u64| if left { mask } else { !mask };
                        let mut standing =
                            Standing { player, x: side(x_left[n]), z: [side(z_left[0][n]), side(z_left[1][n])] };
                        let at = position[player as usize];
                        let before = path.get(at as usize).copied();
                        if let Some(before) = before {
                            standing.x &= before.x;
                            for i in 0..SETS {
                                standing.z[i] &= before.z[i];
                            }
                        }
                        let level = level as usize;
                        if levels.len() <= level {
                            levels.push(Level::TOP);
                        }
                        let (above, below) = levels.split_at_mut(level);
                        let at = if before.is_some() { at } else { path.len() as u32 };
                        if !below[0].enter(&above[level - 1], &standing, at) {
                            if !left && before.is_none() {
                                leaf.settle(at as usize, player, self.sums);
                            }
                            continue;
                        }
                        if before.is_some() {
                            path[at as usize] = standing;
                        } else {
                            position[player as usize] = at;
                            path.push(standing);
                        }
                        stack.push(Step::Restore { position: at, before, last: !left });
                        match child.place() {
                            Place::Leaf(number) => leaf.reached(number, &path, &below[0], first, self.sums),
                            Place::Split(n) => push_children(self.tree, n, level as u32 + 1, &mut stack),
                        }
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn push_children(tree: &CompiledTree, n: usize, level: u32, stack: &mut Vec<Step>) {
    let split = &tree.splits[n];
    stack.push(Step::Enter { child: split.right, split: n as u32, left: false, level });
    stack.push(Step::Enter { child: split.left, split: n as u32, left: true, level });
}

/// A node on the way down: which pairs still meet there, and every row's own set.
struct Level {
    /// The background rows that each row still meets, set by set.
    met: [[u64; SET]; SETS],
    /// $S_Z$ of the pairs of each row: the players it has failed; bit j is the path's j-th player.
    s_z: [u64; SET],
    /// $S_X$ of the pairs of each background row: the players that one has failed.
    s_x: [u64; SETS * SET],
}

impl Level {
    const TOP: Self = Self { met: [[0; SET]; SETS], s_z: [0; SET], s_x: [0; SETS * SET] };

    /// One edge further down than `above`, where the path's `at`-th player stands so; whether any pair still meets.
    #[inline(always)]
    fn enter(&mut self, above: &Self, standing: &Standing, at: u32) -> bool {
        let mut any = 0;
        for i in 0..SETS {
            for x in 0..SET {
                let holds = (standing.x >> x & 1).wrapping_neg();
                self.met[i][x] = above.met[i][x] & (standing.z[i] | holds);
                any |= self.met[i][x];
            }
        }
        if any == 0 {
            return false;
        }
        let bit = 1_u64 << at;
        for x in 0..SET {
            self.s_z[x] = above.s_z[x] | if standing.x >> x & 1 == 0 { bit } else { 0 };
        }
        for i in 0..SETS {
            for z in 0..SET {
                let failed = if standing.z[i] >> z & 1 == 0 { bit } else { 0 };
                self.s_x[i * SET + z] = above.s_x[i * SET + z] | failed;
            }
        }
        true
    }

    /// The rows that still meet any background row.
    #[inline(always)]
    fn meeting(&self) -> u64 {
        let mut rows = [0; SET];
        for x in 0..SET {
            rows[x] = u8::from(self.met[0][x] | self.met[1][x] != 0);
        }
        bits(&rows)
    }

    /// The background rows that row `x` still meets.
    #[inline(always)]
    fn met(&self, x: usize) -> u128 {
        u128::from(self.met[0][x]) | u128::from(self.met[1][x]) << SET
    }
}

/// Players whose gains are added up side by side.
const LANES: usize = 8;

/// What happens at the leaves.
///
/// A row's gains stand by position on the path, all players of a leaf side by side, and are added to the players
/// themselves only when the position is left for good: a vector addition a leaf instead of one scattered over memory.
struct AtLeaf<'a> {
    meeting: &'a Meeting<'a>,
    tree: &'a CompiledTree,
    /// The gains of each row by position, `stride` times [`LANES`] to a row; for leaves of one number.
    gains: Vec<[f64; LANES]>,
    stride: usize,
    output: usize,
}

impl<'a> AtLeaf<'a> {
    fn new(meeting: &'a Meeting<'a>, tree: &'a CompiledTree) -> Self {
        let stride = if tree.max_path > 4 * LANES { MAX_PLAYERS / LANES } else { tree.max_path.div_ceil(LANES) };
        let output = match tree.output {
            Output::One(output) => output,
            Output::All => 0,
        };
        Self { meeting, tree, gains: vec![[0.0; LANES]; stride * SET], stride, output }
    }

    /// Adds the gains at a position to its player.
    #[inline(always)]
    fn settle(&mut self, position: usize, player: u32, sums: &mut [f64]) {
        let cell = self.tree.players[player as usize] as usize * self.meeting.compiled.n_outputs + self.output;
        let gains = self.gains[position / LANES..].iter_mut().step_by(self.stride);
        let lane = position % LANES;
        if self.meeting.index.order() == 1 && self.tree.width == 1 {
            for (gain, sums) in gains.zip(sums.chunks_exact_mut(self.meeting.cells)) {
                sums[cell] += gain[lane];
                gain[lane] = 0.0;
            }
        }
    }

    #[inline(always)]
    fn reached(&mut self, number: usize, path: &[Standing], at: &Level, first: usize, sums: &mut [f64]) {
        let leaf = Leaf::of(self.tree, number);
        let meeting = self.meeting;
        let (cells, n_outputs) = (meeting.cells, meeting.compiled.n_outputs);
        let player = |j: usize| self.tree.players[path[j].player as usize] as usize;
        if meeting.index.order() == 1 {
            return match path.len() {
                0..=8 => self.rows::<1>(path, at, first, leaf, sums),
                9..=16 => self.rows::<2>(path, at, first, leaf, sums),
                17..=24 => self.rows::<3>(path, at, first, leaf, sums),
                25..=32 => self.rows::<4>(path, at, first, leaf, sums),
                _ => self.rows::<8>(path, at, first, leaf, sums),
            };
        }
        let two = |i: usize, j: usize| player(i) * meeting.compiled.n_players + player(j);
        for (x, sums) in sums.chunks_exact_mut(cells).enumerate() {
            each(at.met(x), |z| {
                let weight = meeting.weight(first * SET + z);
                leaf_rule(meeting.index, meeting.w, &at.s_x[z], &at.s_z[x], player, two, |cell, c| {
                    leaf.add(weight * c, sums, cell, n_outputs);
                });
            });
        }
    }

    /// The rows that meet the leaf, whose path fits in `N` times [`LANES`] players.
    #[inline(always)]
    fn rows<const N: usize>(&mut self, path: &[Standing], at: &Level, first: usize, leaf: Leaf<'_>, sums: &mut [f64]) {
        let mut rest = at.meeting();
        while rest != 0 {
            let x = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            if let &[value] = leaf.values() {
                let gains = &mut self.gains[x * self.stride..][..N];
                self.meeting.singles::<N>(x, at, first, value, gains.try_into().expect("a row has room for its path"));
            } else {
                let mut gains = [[0.0; LANES]; N];
                self.meeting.singles::<N>(x, at, first, 1.0, &mut gains);
                let sums = &mut sums[x * self.meeting.cells..][..self.meeting.cells];
                for (standing, &gain) in path.iter().zip(gains.as_flattened()) {
                    let player = self.tree.players[standing.player as usize] as usize;
                    leaf.add(gain, sums, player, self.meeting.compiled.n_outputs);
                }
            }
        }
    }
}

impl Meeting<'_> {
    /// All pairs of row `x`: each background row's $S_X$ gains, and $S_Z$, the same for all, loses.
    #[inline(always)]
    fn singles<const N: usize>(&self, x: usize, at: &Level, first: usize, value: f64, sums: &mut [[f64; LANES]; N]) {
        let s_z = at.s_z[x];
        let give = &self.give[s_z.count_ones() as usize * self.stride..][..self.stride];
        let mut gains = [[0.0; LANES]; N];
        let mut loss = 0.0;
        // A plain loop: a closure would not be compiled for the wide instructions. And one for all background rows,
        // since most of its time goes into its end, which comes unforeseen.
        let mut rest = at.met(x);
        while rest != 0 {
            let z = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let s_x = at.s_x[z];
            let give = give[s_x.count_ones() as usize];
            let weight = self.weight(first * SET + z);
            loss += weight * give.in_z;
            let gain = weight * give.in_x;
            for n in 0..N {
                for j in 0..LANES {
                    gains[n][j] += if s_x >> (n * LANES + j) & 1 == 1 { gain } else { 0.0 };
                }
            }
        }
        for n in 0..N {
            // Worked out aside and stored whole, or it would be done number by number.
            let mut sum = sums[n];
            for j in 0..LANES {
                sum[j] += value * if s_z >> (n * LANES + j) & 1 == 1 { loss } else { gains[n][j] };
            }
            sums[n] = sum;
        }
    }
}

#[inline(always)]
fn each(mut zs: u128, mut f: impl FnMut(usize)) {
    while zs != 0 {
        f(zs.trailing_zeros() as usize);
        zs &= zs - 1;
    }
}

impl Meeting<'_> {
    #[inline(always)]
    fn weight(&self, z: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[z])
    }
}

/// What a leaf gives for every size of $S_Z$ (rows) and $S_X$ (columns) up to `k` players.
fn give(index: Index, w: &Weights, k: usize) -> Vec<Singles> {
    let sizes = (0..=k).flat_map(|z| (0..=k).map(move |x| (x, x + z)));
    let give = sizes.map(|(x, xz)| match (index, xz) {
        (Index::Shapley, 1..) => index::shapley(w, x, xz),
        (Index::Banzhaf, 1..) => index::banzhaf(xz),
        // Nobody is on the path; or an index of pairs, which has its own rule.
        _ => Singles { in_x: 0.0, in_z: 0.0 },
    });
    give.collect()
}
