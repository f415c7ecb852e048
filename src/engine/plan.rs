//! Which engine explains which trees: an explicit model of what each would cost.
//!
//! Three ways compute the same numbers. *Tables* cost n + m, but a table has $2^k$ entries for a path with k players.
//! *Sparse* pairs cost n * m, a bit for a pair and node and more only where a pair meets at a leaf. The *walk* has no
//! limit at all. The model counts the steps of each way from the shape of the trees and prices them with the constants
//! below, measured on one core of a 2023 server; only their ratios matter for the choice.

use super::compiled::{Compiled, CompiledTree};
use super::pattern::{MAX_PLAYERS, TABLE_PLAYERS};
use crate::error::{Error, Result};
use crate::index::Index;

/// What a caller asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// The cheapest way for each call, by the cost model.
    #[default]
    Auto,
    /// The paper's traversal, carrying 64 background rows at once.
    Traversal,
    /// Pattern tables.
    Pattern,
    /// Pairs of patterns that meet.
    Sparse,
}

/// Nanoseconds.
mod price {
    /// A pair that meets at a leaf, of a row that has met the leaf.
    pub(super) const HIT: f64 = 3.5;
    /// A row that meets a leaf at all.
    pub(super) const MET: f64 = 14.0;
    /// A node, 64 rows and 128 background rows.
    pub(super) const NODE: f64 = 45.0;
    /// A player of a leaf at a quadrature node, path-dependent.
    pub(super) const SLOPE: f64 = 3.0;
    /// A node visited by the walk, for a pair.
    pub(super) const WALK: f64 = 12.0;
    /// A step of the transform: one entry, one axis, one quadrature node.
    pub(super) const FOLD: f64 = 0.5;
    /// A number of a table, written.
    pub(super) const FILL: f64 = 2.5;
    /// A background row's index in a unit, counted.
    pub(super) const COUNT: f64 = 2.0;
    /// A number of a table, looked up for a row.
    pub(super) const LOOK: f64 = 0.8;
    /// A number of the result, written; fresh memory is most of it.
    pub(super) const WRITE: f64 = 1.0;
}

/// The shape of a tree as far as its cost goes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shape {
    pub(crate) leaves: f64,
    /// Leaves that an average pair is expected to meet at.
    pub(crate) meets: f64,
    /// Sum over the leaves of $2^k$.
    pub(crate) entries: f64,
    /// Sum over the leaves of $k 2^k$.
    pub(crate) cells: f64,
    /// Sum over the leaves of k.
    pub(crate) players: f64,
}

/// Chance that a row and a background row part at a split whose player is new to the path.
pub(crate) const PART: f64 = 0.3;

/// Nanoseconds that tables may always take: a second call will be glad of them.
const CHEAP: f64 = 2e7;

/// How a call will be carried out.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Trees explained by pattern tables.
    pub by_tables: usize,
    /// Trees explained by sparse pairs.
    pub by_pairs: usize,
    /// Trees walked pair by pair.
    pub by_walk: usize,
    /// Estimated seconds on one thread.
    pub seconds: f64,
    /// Estimated bytes beyond the rows and the result.
    pub bytes: usize,
    /// Why.
    pub reason: String,
    pub(crate) tables: bool,
    /// Nanoseconds by pairs of the trees that could have tables.
    pub(crate) rent: f64,
}

/// What the plan is made for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) rows: usize,
    pub(crate) background: usize,
    pub(crate) index: Index,
    /// The histogram is there already.
    pub(crate) counted: bool,
    /// The tables of this index are there already.
    pub(crate) built: bool,
    pub(crate) memory_limit: usize,
    /// The [`Plan::rent`] of earlier calls: once it would have paid for the tables, they are built.
    pub(crate) rent: f64,
}

/// Background patterns of all leaves that one tree may have.
const MOST_ENTRIES: f64 = (1 << 24) as f64;
/// Bytes of a count, the one that is kept and those that threads make of their part.
const COUNT_BYTES: f64 = 16.0;

/// A tree whose tables could be had at all.
pub(crate) fn can_have_tables(tree: &CompiledTree) -> bool {
    tree.max_path <= TABLE_PLAYERS && tree.shape.entries <= MOST_ENTRIES
}

impl Plan {
    /// The plan for a call, or an error that says why the engine asked for cannot do it.
    pub(crate) fn new(compiled: &Compiled, engine: Engine, call: &Call) -> Result<Self> {
        let trees = &compiled.trees;
        let n_trees = trees.len();
        let written = call.index.cells(compiled.n_players).map_or(f64::INFINITY, |cells| cells as f64);
        let write = price::WRITE * call.rows as f64 * written * compiled.n_outputs as f64;
        if call.built && matches!(engine, Engine::Auto | Engine::Pattern) && compiled.all_tables {
            // The way of one row after another in a service: nothing else needs to be looked at.
            let numbers = compiled.looked_up[call.index.order() as usize - 1];
            return Ok(Self {
                by_tables: n_trees,
                by_pairs: 0,
                by_walk: 0,
                seconds: 1e-9 * (price::LOOK * call.rows as f64 * numbers + write),
                bytes: 0,
                reason: "the tables are there already".into(),
                tables: true,
                rent: 0.0,
            });
        }
        let fit = trees.iter().filter(|t| can_have_tables(t)).count();
        let wide = trees.iter().filter(|t| t.max_path > MAX_PLAYERS).count();
        let (tables, tables_bytes) = table_cost(compiled, call);
        let pairs: f64 = trees.iter().filter(|t| can_have_tables(t)).map(|t| pair_cost(t, call)).sum();
        let rest: f64 = trees.iter().filter(|t| !can_have_tables(t)).map(|t| pair_cost(t, call)).sum();
        let entries: f64 = trees.iter().filter(|t| can_have_tables(t)).map(|t| t.shape.entries).sum();
        let counts = if call.background == 0 { 0.0 } else { COUNT_BYTES * entries };
        let countable = call.counted || counts <= 0.5 * call.memory_limit as f64;
        let plan = |use_tables: bool, walk: bool, reason: String| {
            let by_tables = if use_tables { fit } else { 0 };
            let by_walk = if walk { n_trees } else { wide };
            let walked = || trees.iter().map(|t| walk_cost(t, call)).sum::<f64>();
            let work = if walk { walked() } else { rest + if use_tables { tables } else { pairs } };
            let seconds = 1e-9 * (work + write);
            let bytes = if use_tables { tables_bytes.min(call.memory_limit) } else { 0 };
            let by_pairs = n_trees - by_tables - by_walk;
            Self { by_tables, by_pairs, by_walk, seconds, bytes, reason, tables: use_tables, rent: pairs }
        };
        match engine {
            Engine::Traversal => Ok(plan(false, true, "the traversal was asked for".into())),
            Engine::Sparse if wide > 0 => Err(Error::Input(format!(
                "engine \"sparse\" holds up to {MAX_PLAYERS} players on a path, but {wide} of {n_trees} trees have more; \
                 use \"auto\" or \"traversal\""
            ))),
            Engine::Sparse => Ok(plan(false, false, "sparse pairs were asked for".into())),
            Engine::Pattern if fit < n_trees => {
                let (t, tree) = trees.iter().enumerate().find(|(_, t)| !can_have_tables(t)).expect("not all fit");
                Err(Error::Input(format!(
                    "engine \"pattern\" has tables of 2^players entries a leaf, for at most {TABLE_PLAYERS} players on a path \
                     and {MOST_ENTRIES:.0e} entries a tree; tree {t} has up to {} players on a path and {:.0e} entries; use \
                     \"auto\" or \"sparse\", or group features",
                    tree.max_path, tree.shape.entries
                )))
            }
            Engine::Pattern if !countable => Err(Error::Input(format!(
                "engine \"pattern\" needs about {counts:.1e} bytes to count the background's patterns, more than half of the \
                 memory limit of {} bytes; use \"auto\" or \"sparse\", or raise memory_limit",
                call.memory_limit
            ))),
            Engine::Pattern => Ok(plan(true, false, "pattern tables were asked for".into())),
            Engine::Auto if fit == 0 => {
                Ok(plan(false, false, "every tree has paths with too many players for tables".into()))
            }
            Engine::Auto if !countable => {
                let reason = format!("counting the background's patterns would need about {counts:.1e} bytes");
                Ok(plan(false, false, reason))
            }
            Engine::Auto if call.built => Ok(plan(true, false, "the tables are there already".into())),
            Engine::Auto => {
                let reason = format!(
                    "for {} rows and {} background rows, {fit} of {n_trees} trees would take {:.2e} s by tables and {:.2e} s \
                     by pairs, after {:.2e} s by pairs in earlier calls",
                    call.rows,
                    call.background,
                    tables * 1e-9,
                    pairs * 1e-9,
                    call.rent * 1e-9,
                );
                Ok(plan(tables < (pairs + call.rent).max(CHEAP), false, reason))
            }
        }
    }
}

/// Nanoseconds and bytes for the trees that can have tables.
fn table_cost(compiled: &Compiled, call: &Call) -> (f64, usize) {
    let (n, m) = (call.rows as f64, call.background as f64);
    let mut cost = 0.0;
    let mut bytes = 0.0;
    for tree in compiled.trees.iter().filter(|t| can_have_tables(t)) {
        let Shape { leaves, entries, cells, .. } = tree.shape;
        let width = tree.width as f64;
        let k = tree.max_path as f64;
        let pairs = pairs_per_player(call.index.order(), k);
        // A unit holds up to four leaves and shares their tables.
        let numbers = 0.6 * cells * pairs * width;
        if !call.counted {
            cost += price::COUNT * m * leaves / 4.0 + entries;
        }
        if !call.built {
            cost += price::FOLD * cells * (k / 2.0).ceil() * pairs.sqrt() + price::FILL * numbers;
        }
        cost += price::LOOK * n * looked_up(tree, call.index.order());
        bytes += 8.0 * numbers;
    }
    (cost, bytes as usize)
}

/// Cells for each player of a path: itself, or about half of the pairs it is in.
fn pairs_per_player(order: u32, k: f64) -> f64 {
    if order == 1 { 1.0 } else { 0.5 * (k + 1.0) }
}

/// Numbers of the tables of a tree that a row looks up: units share their path's players.
pub(crate) fn looked_up(tree: &CompiledTree, order: u32) -> f64 {
    0.4 * tree.shape.players * pairs_per_player(order, tree.max_path as f64) * tree.width as f64
}

/// Nanoseconds for a tree, by the traversal; without a background there is none, and leaves are gone through instead.
fn walk_cost(tree: &CompiledTree, call: &Call) -> f64 {
    if call.background == 0 {
        return pair_cost(tree, call);
    }
    price::WALK * call.rows as f64 * call.background as f64 * 2.0 * tree.shape.meets
}

/// Nanoseconds for a tree, pair by pair.
fn pair_cost(tree: &CompiledTree, call: &Call) -> f64 {
    let (n, m) = (call.rows as f64, call.background as f64);
    let Shape { leaves, meets, players, .. } = tree.shape;
    if call.background == 0 {
        // Path-dependent: every leaf, every player, every quadrature node.
        let cells = if call.index.order() == 1 { players } else { players * tree.max_path as f64 };
        return price::SLOPE * n * cells * (tree.max_path as f64 / 2.0).ceil();
    }
    if tree.max_path > MAX_PLAYERS {
        return walk_cost(tree, call);
    }
    let width = tree.width as f64;
    let cells = if call.index.order() == 1 { 1.0 } else { players / leaves.max(1.0) };
    let sets = (m / 128.0).ceil();
    let met = 0.55 * leaves * (1.0 - (-meets * m.min(128.0) / leaves.max(1.0)).exp());
    let nodes = price::NODE * (n / 64.0).ceil() * sets * 2.0 * tree.splits.len() as f64;
    price::HIT * n * m * meets * cells * cells * width + price::MET * n * sets * met * width + nodes
}
