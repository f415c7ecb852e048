//! Which engine explains which trees.
//!
//! Three ways compute the same numbers. *Tables* cost n + m, but a table has $2^k$ entries for a path with k players.
//! *Sparse* pairs cost n * m: one bit per pair and node, and more only where a pair meets at a leaf. The *walk* has no
//! limit at all; without a background, it is one walk of each tree for a block of rows, and there are no pairs. `cost`
//! estimates what each way would take; this file chooses.

mod cost;

use cost::Costs;

use super::compiled::{Compiled, CompiledTree, MAX_PLAYERS, MOST_ENTRIES, TABLE_PLAYERS};
use crate::error::{Error, Result};
use crate::index::Index;

/// Which way a caller asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// The cheapest way for each call, by the cost model.
    #[default]
    Auto,
    /// The paper's traversal, for 64 background rows at once.
    Traversal,
    /// Tables of patterns.
    Pattern,
    /// Pairs of patterns that meet.
    Sparse,
}

impl Engine {
    /// All of them.
    #[cfg(feature = "python")]
    pub(crate) const ALL: [Self; 4] = [Self::Auto, Self::Traversal, Self::Pattern, Self::Sparse];

    /// The name that Python and messages use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Traversal => "traversal",
            Self::Pattern => "pattern",
            Self::Sparse => "sparse",
        }
    }

    fn cannot(self, why: impl Into<String>) -> Error {
        Error::EngineCannot { engine: self.name(), why: why.into() }
    }
}

/// How a call will be carried out, and why.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Plan {
    /// Rows that the plan is for.
    pub n_rows: usize,
    /// The index that the plan is for.
    pub index: Index,
    /// The engine that was asked for.
    pub engine: Engine,
    /// Trees explained by tables.
    pub by_tables: usize,
    /// Trees explained by sparse pairs.
    pub by_pairs: usize,
    /// Trees walked: pair by pair, or once per block of rows if there is no background.
    pub by_walk: usize,
    /// Estimated seconds on one thread.
    pub seconds: f64,
    /// Estimated bytes beyond the rows and the result.
    pub bytes: usize,
    /// Why.
    pub reason: String,
    /// Whether the trees that can have tables use them.
    pub(crate) tables: bool,
    /// What this call spends more, in nanoseconds, because trees that could have tables have none.
    pub(crate) rent: f64,
}

/// What a plan depends on, besides the forest and the engine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances {
    pub(crate) rows: usize,
    pub(crate) background: usize,
    pub(crate) index: Index,
    /// Whether the background's histogram exists already.
    pub(crate) counted: bool,
    /// Whether the tables of this index exist already.
    pub(crate) built: bool,
    pub(crate) memory_limit: usize,
    /// The [`Plan::rent`] of earlier calls: once it would have paid for the tables, they are built.
    pub(crate) rent: f64,
}

/// Nanoseconds that tables may always take, because a second call will make use of them.
const CHEAP: f64 = 2e7;

/// How the trees are explained that could have tables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Tables,
    Pairs,
    /// All trees are walked.
    Walk,
}

impl Plan {
    /// The plan for a call, or an error that says why the requested engine cannot do it.
    pub(crate) fn new(compiled: &Compiled, engine: Engine, now: &Circumstances) -> Result<Self> {
        if now.built && matches!(engine, Engine::Auto | Engine::Pattern) && compiled.all_tables {
            // A service explains one row after another this way: nothing else needs to be looked at.
            return Ok(Self::from_tables(compiled, engine, now));
        }
        let costs = Costs::new(compiled, now);
        let (way, reason) = choose(compiled, engine, now, &costs)?;
        let tables = way == Way::Tables;
        let by_tables = if tables { costs.fit } else { 0 };
        let by_walk = match way {
            Way::Walk => compiled.trees.len(),
            // Without a background there are no pairs.
            _ if now.background == 0 => compiled.trees.len() - by_tables,
            _ => costs.wide,
        };
        let work = match way {
            Way::Walk => cost::of_walking(compiled, now),
            Way::Tables => costs.rest + costs.tables,
            Way::Pairs => costs.rest + costs.pairs,
        };
        Ok(Self {
            by_pairs: compiled.trees.len() - by_tables - by_walk,
            seconds: 1e-9 * (work + costs.write),
            bytes: if tables { costs.table_bytes.min(now.memory_limit) } else { 0 },
            rent: (costs.pairs - costs.look).max(0.0),
            by_tables,
            by_walk,
            reason,
            tables,
            n_rows: now.rows,
            index: now.index,
            engine,
        })
    }

    /// The plan if all trees have tables already.
    fn from_tables(compiled: &Compiled, engine: Engine, now: &Circumstances) -> Self {
        Self {
            n_rows: now.rows,
            index: now.index,
            engine,
            by_tables: compiled.trees.len(),
            by_pairs: 0,
            by_walk: 0,
            seconds: 1e-9 * cost::of_looking_up(compiled, now),
            bytes: 0,
            reason: ALREADY.into(),
            tables: true,
            rent: 0.0,
        }
    }

    /// Whether a tree is explained by tables.
    pub(crate) fn has_tables(&self, tree: &CompiledTree) -> bool {
        self.tables && tree.can_have_tables()
    }

    /// Whether a tree without tables is walked instead of explained by sparse pairs.
    pub(crate) fn walks(&self, tree: &CompiledTree) -> bool {
        self.engine == Engine::Traversal || tree.max_path > MAX_PLAYERS
    }
}

const ALREADY: &str = "the tables are there already";

/// The way to take, and why; or an error that says why the requested engine cannot do it.
fn choose(compiled: &Compiled, engine: Engine, now: &Circumstances, costs: &Costs) -> Result<(Way, String)> {
    let n_trees = compiled.trees.len();
    match engine {
        Engine::Traversal => Ok((Way::Walk, "the traversal was asked for".into())),
        Engine::Sparse if costs.wide > 0 => Err(engine.cannot(format!(
            "holds up to {MAX_PLAYERS} players on a path, but {} of {n_trees} trees have more; use \"auto\" or \
             \"traversal\"",
            costs.wide
        ))),
        Engine::Sparse => Ok((Way::Pairs, "sparse pairs were asked for".into())),
        Engine::Pattern if costs.fit < n_trees => Err(engine.cannot(too_large_for_tables(compiled))),
        Engine::Pattern if !costs.countable => Err(engine.cannot(format!(
            "needs about {:.1e} bytes to count the background's patterns, more than half of the memory limit of {} \
             bytes; use \"auto\" or \"sparse\", or raise memory_limit",
            costs.count_bytes, now.memory_limit
        ))),
        Engine::Pattern => Ok((Way::Tables, "pattern tables were asked for".into())),
        Engine::Auto if costs.fit == 0 => {
            Ok((Way::Pairs, "every tree has paths with too many players for tables".into()))
        }
        Engine::Auto if !costs.countable => Ok((
            Way::Pairs,
            format!("counting the background's patterns would need about {:.1e} bytes", costs.count_bytes),
        )),
        Engine::Auto if now.built => Ok((Way::Tables, ALREADY.into())),
        Engine::Auto => Ok(cheapest(compiled, now, costs)),
    }
}

/// The cheaper way for the trees that can have tables, and why.
fn cheapest(compiled: &Compiled, now: &Circumstances, costs: &Costs) -> (Way, String) {
    // Tables that do not fit in memory are built for every call, so there is nothing to save for.
    let rent = if costs.table_bytes <= now.memory_limit { now.rent } else { 0.0 };
    let way = if costs.tables < (costs.pairs + rent).max(CHEAP) { Way::Tables } else { Way::Pairs };
    let (background, other) = match now.background {
        0 => (String::new(), "by walking"),
        m => (format!(" and {m} background rows"), "by pairs"),
    };
    let reason = format!(
        "for {} rows{background}, {} of {} trees would take {:.2e} s by tables and {:.2e} s {other}, and tables would have \
         saved {:.2e} s in earlier calls",
        now.rows,
        costs.fit,
        compiled.trees.len(),
        costs.tables * 1e-9,
        costs.pairs * 1e-9,
        now.rent * 1e-9,
    );
    (way, reason)
}

fn too_large_for_tables(compiled: &Compiled) -> String {
    let mut trees = compiled.trees.iter().enumerate();
    let (t, tree) = trees.find(|(_, tree)| !tree.can_have_tables()).expect("some tree is too large");
    format!(
        "has tables of 2^players entries per leaf, for at most {TABLE_PLAYERS} players on a path and {MOST_ENTRIES:.0e} \
         entries per tree; tree {t} has up to {} players on a path and {:.0e} entries; use \"auto\" or \"sparse\", or \
         group features",
        tree.max_path, tree.shape.entries
    )
}
