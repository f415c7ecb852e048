//! The cost model: the steps of each way, counted from the shape of the trees and priced.
//!
//! Prices were measured on one core of a 2023 server; only their ratios matter for the choice.

use super::Circumstances;
use crate::engine::compiled::{Compiled, CompiledTree, Shape};
use crate::engine::ranked::{GROUP, most_on_path, most_others, most_players};
use crate::index::Index;

/// Nanoseconds.
mod price {
    /// A pair that meets at a leaf, for a row that has met the leaf.
    pub(super) const HIT: f64 = 2.3;
    /// A row that meets a leaf at all.
    pub(super) const MET: f64 = 8.4;
    /// A tree, pair by pair, whatever it is like.
    pub(super) const PAIRS: f64 = 1e3;
    /// A node, 64 rows and 128 background rows.
    pub(super) const NODE: f64 = 24.0;
    /// A split and a row, path-dependent.
    pub(super) const SPLIT: f64 = 1.2;
    /// The same at each quadrature node.
    pub(super) const SPLIT_NODE: f64 = 0.22;
    /// The same without pairs costs this fraction, because the lowest subtrees are looked up; and to make what is looked up
    /// takes as long as so many rows.
    pub(super) const LOOKED_UP: f64 = 0.62;
    pub(super) const LOOKED_UP_ROWS: f64 = 85.0;
    /// A split and another player of its path, for a row; then the same at each quadrature node.
    pub(super) const OTHER: f64 = 0.5;
    pub(super) const OTHER_NODE: f64 = 0.09;
    /// A node visited by the walk, for a pair.
    pub(super) const WALK: f64 = 8.4;
    /// A tree, whatever it is like, by tables that have to be made; and by ranked counts.
    pub(super) const TABLES: f64 = 2.1e3;
    pub(super) const TREE: f64 = 1.2e4;
    /// A step of the transform: one entry, one axis, one quadrature node.
    pub(super) const FOLD: f64 = 0.98;
    /// A number of a table, written; most of it is the cost of fresh memory.
    pub(super) const FILL: f64 = 4.9;
    /// A background row's index in a unit, counted.
    pub(super) const COUNT: f64 = 1.4;
    /// A number of a table, looked up for a row: if the tables of a tree stay in the cache, and if they do not.
    pub(super) const LOOK: f64 = 0.12;
    pub(super) const LOOK_FAR: f64 = 0.22;
    /// A leaf of ranked counts, whatever the rows; and a row or a background row on its way there.
    pub(super) const LEAF: f64 = 60.0;
    pub(super) const SITE: f64 = 0.22;
    /// An entry of ranked counts, from counts to what rows read.
    pub(super) const RANK: f64 = 3.1;
    /// Such an entry costs so many times as much if the table does not stay in the cache, and so does a number read there.
    pub(super) const FAR: f64 = 3.0;
    /// With so many columns that neither codes nor sums stay in the cache, a row's way and what it reads cost so many times
    /// as much.
    pub(super) const WIDE: f64 = 2.5;
    /// A row at a split with ranked counts, and a number that it reads there.
    pub(super) const ROW: f64 = 0.33;
    pub(super) const READ: f64 = 0.1;
    /// A number of a row's sums over a group of trees.
    pub(super) const SUM: f64 = 0.9;
    /// A split with many players: finding a row's or a background row's pattern among the distinct ones.
    pub(super) const DISTINCT: f64 = 5.4;
    /// Such a leaf with ranked counts: a set of players, and a set that a row asks for.
    pub(super) const SET: f64 = 7.2;
    pub(super) const ASK: f64 = 14.0;
    /// A split whose background rows are bits: a background row put into its word; a set of players that rows fail; and
    /// such a set, a word and a player.
    pub(super) const SORT: f64 = 1.8;
    pub(super) const FAILED: f64 = 27.0;
    pub(super) const WORD: f64 = 0.096;
    /// A leaf with many players and an index of pairs: a row and a background row.
    pub(super) const JOIN: f64 = 0.078;
    /// A number of the result, written; most of it is the cost of fresh memory.
    pub(super) const WRITE: f64 = 0.7;
}

/// Tables of a tree that stay in the cache have at most so many bytes.
const NEAR_BYTES: f64 = 262_144.0;
/// Tables of ranked counts stay in the cache if they have at most so many players.
const NEAR_PLAYERS: usize = 12;
/// Codes and sums of ranked counts stay in the cache if there are at most so many columns.
const NEAR_COLUMNS: usize = 256;
/// About the most players that a pair which meets at a leaf has failed.
const MOST_FAILED: f64 = 20.0;
/// Bytes of a count: the one that is kept, and those that each thread makes of its part.
const COUNT_BYTES: f64 = 16.0;

/// What each way would cost; times are in nanoseconds.
pub(super) struct Costs {
    /// Trees that can have tables.
    pub(super) fit: usize,
    /// The trees that can have tables, by tables.
    pub(super) tables: f64,
    /// The part of that which every call costs, even if the tables exist already.
    pub(super) look: f64,
    pub(super) table_bytes: usize,
    /// The trees that can have tables, pair by pair.
    pub(super) pairs: f64,
    /// The trees that can have tables, by ranked counts.
    pub(super) counts: f64,
    /// The trees that cannot have tables, pair by pair.
    pub(super) rest_pairs: f64,
    /// The trees that cannot have tables, by ranked counts.
    pub(super) rest_counts: f64,
    /// Bytes of the background's histogram.
    pub(super) count_bytes: f64,
    /// Whether the histogram exists, or may take its memory.
    pub(super) countable: bool,
    /// Writing the result.
    pub(super) write: f64,
}

impl Costs {
    pub(super) fn new(compiled: &Compiled, now: &Circumstances) -> Self {
        let can = || compiled.trees.iter().filter(|tree| tree.can_have_tables());
        let cannot = || compiled.trees.iter().filter(|tree| !tree.can_have_tables());
        let (tables, table_bytes) = of_tables(compiled, now);
        let look = can().map(|tree| of_look(tree, now)).sum();
        let entries: f64 = can().map(|tree| tree.shape.entries).sum();
        let count_bytes = if now.background == 0 { 0.0 } else { COUNT_BYTES * entries };
        Self {
            fit: can().count(),
            tables,
            look,
            table_bytes,
            pairs: can().map(|tree| of_pairs(tree, now)).sum(),
            counts: can().map(|tree| of_counts(compiled, tree, now)).sum(),
            rest_pairs: cannot().map(|tree| of_pairs(tree, now)).sum(),
            rest_counts: cannot().map(|tree| of_counts(compiled, tree, now)).sum(),
            count_bytes,
            countable: now.counted || count_bytes <= 0.5 * now.memory_limit as f64,
            write: of_writing(compiled, now),
        }
    }
}

/// All trees, by the traversal.
pub(super) fn of_walking(compiled: &Compiled, now: &Circumstances) -> f64 {
    compiled.trees.iter().map(|tree| of_walk(tree, now)).sum()
}

fn of_writing(compiled: &Compiled, now: &Circumstances) -> f64 {
    price::WRITE * now.rows as f64 * result_cells(compiled, now)
}

/// Numbers of the result for a row.
fn result_cells(compiled: &Compiled, now: &Circumstances) -> f64 {
    let cells = now.index.cells(compiled.n_players).map_or(f64::INFINITY, |cells| cells as f64);
    cells * compiled.n_outputs as f64
}

/// All trees, by tables that exist already.
pub(super) fn of_looking_up(compiled: &Compiled, now: &Circumstances) -> f64 {
    let numbers = compiled.looked_up[now.index.order() as usize - 1];
    price::LOOK * now.rows as f64 * numbers + of_writing(compiled, now)
}

/// The trees that can have tables, by tables: nanoseconds and bytes.
fn of_tables(compiled: &Compiled, now: &Circumstances) -> (f64, usize) {
    let m = now.background as f64;
    let mut cost = 0.0;
    let mut bytes = 0.0;
    for tree in compiled.trees.iter().filter(|tree| tree.can_have_tables()) {
        let Shape { leaves, entries, cells, .. } = tree.shape;
        let per_player = tree.cells_per_player(now.index.order());
        let numbers = table_numbers(tree, now);
        if !now.counted {
            cost += price::COUNT * m * leaves / 4.0 + entries;
        }
        if !now.built {
            let nodes = (tree.max_path as f64 / 2.0).ceil();
            cost += price::TABLES + price::FOLD * cells * nodes * per_player.sqrt() + price::FILL * numbers;
        }
        cost += of_look(tree, now);
        bytes += 8.0 * numbers;
    }
    (cost, bytes as usize)
}

/// How many numbers the tables of a tree have: a unit holds up to four leaves and shares their tables.
fn table_numbers(tree: &CompiledTree, now: &Circumstances) -> f64 {
    0.6 * tree.shape.cells * tree.cells_per_player(now.index.order()) * tree.width as f64
}

/// A tree, by tables that exist already.
fn of_look(tree: &CompiledTree, now: &Circumstances) -> f64 {
    let near = 8.0 * table_numbers(tree, now) <= NEAR_BYTES;
    let price = if near { price::LOOK } else { price::LOOK_FAR };
    price * now.rows as f64 * tree.looked_up(now.index.order())
}

/// A tree, by one walk for a block of rows: path-dependent.
fn of_cover(tree: &CompiledTree, now: &Circumstances) -> f64 {
    let Shape { leaves, players, .. } = tree.shape;
    let nodes = match now.index {
        Index::Banzhaf => 1.0,
        _ => (tree.max_path as f64 / 2.0).ceil(),
    };
    // A split has about as many players on its path as the leaves below it.
    let is_pairs = now.index.order() == 2;
    let (part, others) = if is_pairs { (1.0, players) } else { (price::LOOKED_UP, 0.0) };
    let split = part * leaves * (price::SPLIT + price::SPLIT_NODE * nodes * tree.width as f64);
    let pairs = others * tree.width as f64 * (price::OTHER + price::OTHER_NODE * nodes);
    // Rows go in groups of sixteen.
    let rows = now.rows.next_multiple_of(16) as f64 + if is_pairs { 0.0 } else { price::LOOKED_UP_ROWS };
    rows * (split + pairs)
}

/// A tree, by the traversal; without a background, by the only walk there is.
fn of_walk(tree: &CompiledTree, now: &Circumstances) -> f64 {
    if now.background == 0 {
        return of_cover(tree, now);
    }
    price::WALK * now.rows as f64 * now.background as f64 * 2.0 * tree.shape.meets * now.meets
}

/// A tree, by ranked counts. There are none without a background, and where a path has too many players.
fn of_counts(compiled: &Compiled, tree: &CompiledTree, now: &Circumstances) -> f64 {
    if now.background == 0 || tree.max_path > most_on_path(now.index) {
        return of_pairs(tree, now);
    }
    let (n, m) = (now.rows as f64, now.background as f64);
    let (in_tables, counted) = (most_others(now.background, now.index) + 1, most_players(now.background, true));
    // A split costs the same for one leaf as for two, so common leaves save less than their share.
    let used = (1.0 + 2.0 * tree.shape.uncommon) / 3.0;
    let wide = if compiled.columns.len() > NEAR_COLUMNS { price::WIDE } else { 1.0 };
    let leaf = |k: usize| {
        let players = k.max(1) as f64;
        let per_player = if now.index.order() == 1 { 1.0 } else { 0.5 * (players + 1.0) };
        let (way, sets, width) = (wide * price::SITE * (n + m), players.exp2(), tree.shape.outputs);
        if k <= in_tables {
            // About every second split has two leaves, which share a table, and every second one has three classes. Only
            // the last step is for each output.
            let far = if k > NEAR_PLAYERS { price::FAR } else { 1.0 };
            let rank = far * price::RANK * 1.2 * sets * per_player * (0.7 + 0.3 * width);
            let read = wide * n * (price::ROW + far * price::READ * players * per_player * width);
            return price::LEAF + way + used * 0.7 * (rank + read);
        }
        let find = price::DISTINCT * (n + m);
        let read = wide * n * (price::ROW + price::READ * players * per_player * width);
        if now.index.order() == 2 {
            return price::LEAF + way + used * (find + read + price::JOIN * n * m * per_player);
        }
        if k <= counted {
            let work = price::SET * sets.min(512.0 * n * players) + price::ASK * 0.5 * n * (2.0 + 0.5 * players);
            return price::LEAF + way + used * (find + read + work);
        }
        // Background rows that fail too many players to meet a set are passed over, and the two leaves of a split share all
        // of this. Weights are priced as counts.
        let failed = failed_sets(n, players);
        let words = 0.65 * (m / 64.0 + 1.5 * players);
        let work = price::SORT * m + failed * (price::FAILED + price::WORD * words * players * width);
        price::LEAF + way + used * 0.6 * (price::DISTINCT * n + read + work)
    };
    let leaves: f64 = tree.paths.iter().map(|(k, leaves)| leaves * leaf(k)).sum();
    price::TREE + leaves + price::SUM * n * result_cells(compiled, now) / GROUP as f64
}

/// How many different sets of players are failed at a split with many players: fewer than there are rows, because few splits
/// halve the rows. Fitted to forests of three libraries, whose rows differ by a factor of two either way.
fn failed_sets(n: f64, players: f64) -> f64 {
    let spread = 0.6 * (players / 13.0).powi(2) * (1000.0 / n).sqrt();
    n * (1.0 - (-spread).exp())
}

/// A tree, pair by pair.
fn of_pairs(tree: &CompiledTree, now: &Circumstances) -> f64 {
    let (n, m) = (now.rows as f64, now.background as f64);
    let Shape { leaves, players, .. } = tree.shape;
    let meets = tree.shape.meets * now.meets;
    if now.background == 0 {
        return of_walk(tree, now);
    }
    let width = tree.width as f64;
    // Rows that meet at the end of a long path have failed few of its players.
    let cells = if now.index.order() == 1 { 1.0 } else { (players / leaves.max(1.0)).min(MOST_FAILED) };
    let sets = (m / 128.0).ceil();
    let met = 0.55 * leaves * (1.0 - (-meets * m.min(128.0) / leaves.max(1.0)).exp());
    let nodes = price::NODE * (n / 64.0).ceil() * sets * 2.0 * tree.splits.len() as f64;
    price::PAIRS + price::HIT * n * m * meets * cells * cells * width + price::MET * n * sets * met * width + nodes
}
