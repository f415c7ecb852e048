//! Which engine explains which trees.
//!
//! Four ways compute the same numbers. *Tables* cost n + m and are kept, but a table has $2^k$ entries for a path with k
//! players. Ranked *counts* cost n + m too, except at splits with many players, and are made anew for every call. *Sparse*
//! pairs cost n * m: one bit per pair and node, and more only where a pair meets at a leaf. The *walk* is taken if it is asked
//! for; without a background, it is one walk of each tree for a block of rows, and there are neither counts nor pairs. `cost`
//! estimates what each way would take; this file chooses.

mod cost;
mod words;

use cost::Costs;
use words::{Bytes, Count, Time};

use super::compiled::{Compiled, CompiledTree};
use super::ranked::{ROUND_BYTES, most_on_path, sum_bytes};
use crate::index::Index;

/// Which way a caller asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Engine {
    /// The cheapest way for each call, by the cost model.
    #[default]
    Auto,
    /// The paper's traversal, for 64 background rows at once.
    Traversal,
    /// Patterns, at a cost of n + m: tables if a tree can have them, else ranked counts.
    Pattern,
    /// Ranked counts of patterns.
    Counts,
    /// Pairs of patterns that meet.
    Sparse,
}

impl Engine {
    /// All of them.
    #[cfg(feature = "python")]
    pub(crate) const ALL: [Self; 5] = [Self::Auto, Self::Traversal, Self::Pattern, Self::Counts, Self::Sparse];

    /// The name that Python and messages use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Traversal => "traversal",
            Self::Pattern => "pattern",
            Self::Counts => "counts",
            Self::Sparse => "sparse",
        }
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
    /// Trees explained by ranked counts.
    pub by_counts: usize,
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
    /// How the trees are explained that can have tables, and how the others.
    pub(crate) ways: Ways,
    /// What this call spends more, in nanoseconds, because trees that could have tables have none.
    pub(crate) rent: f64,
}

/// What a plan depends on, besides the forest and the engine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances {
    pub(crate) rows: usize,
    pub(crate) background: usize,
    pub(crate) index: Index,
    /// At how many leaves pairs meet, relative to what the shapes of the trees suggest.
    pub(crate) meets: f64,
    /// Whether the background's histogram exists already.
    pub(crate) counted: bool,
    /// Whether the tables of this index exist already.
    pub(crate) built: bool,
    pub(crate) memory_limit: usize,
    /// The [`Plan::rent`] of earlier calls: once it would have paid for the tables, they are built.
    pub(crate) rent: f64,
}

/// Bytes that the tables of an index may take before earlier calls have spent as much time for want of them. A single call
/// of many rows hardly gains by larger ones, because most of what they take is fresh memory.
const MOST_TABLES: usize = 1 << 30;
/// Nanoseconds that tables may always take, because a second call will make use of them.
const CHEAP: f64 = 4e6;

/// How trees are explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Tables,
    Counts,
    Pairs,
    /// Walked pair by pair.
    Walk,
}

/// How the trees are explained that can have tables, and how the others; those with too many players for ranked counts go
/// pair by pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ways {
    pub(crate) fit: Way,
    pub(crate) rest: Way,
}

impl Plan {
    /// The plan for a call.
    pub(crate) fn new(compiled: &Compiled, engine: Engine, now: &Circumstances) -> Self {
        if now.built && matches!(engine, Engine::Auto | Engine::Pattern) && compiled.all_tables {
            // A service explains one row after another this way: nothing else needs to be looked at.
            return Self::from_tables(compiled, engine, now);
        }
        let costs = Costs::new(compiled, now);
        let (ways, reason) = choose(compiled, engine, now, &costs);
        let fit = match ways.fit {
            Way::Tables => costs.tables,
            Way::Counts => costs.counts,
            Way::Pairs => costs.pairs,
            Way::Walk if now.background == 0 => costs.pairs,
            Way::Walk => 0.0,
        };
        let rest = match ways.rest {
            Way::Walk if now.background > 0 => cost::of_walking(compiled, now),
            Way::Counts => costs.rest_counts,
            _ => costs.rest_pairs,
        };
        let mut plan = Self {
            by_tables: 0,
            by_counts: 0,
            by_pairs: 0,
            by_walk: 0,
            seconds: 1e-9 * (fit + rest + costs.write),
            bytes: if ways.fit == Way::Tables { costs.table_bytes.min(now.memory_limit) } else { 0 },
            rent: (costs.pairs.min(costs.counts) - costs.look).max(0.0),
            ways,
            reason,
            n_rows: now.rows,
            index: now.index,
            engine,
        };
        for tree in &compiled.trees {
            *match plan.way(tree) {
                Way::Tables => &mut plan.by_tables,
                Way::Counts => &mut plan.by_counts,
                Way::Pairs => &mut plan.by_pairs,
                Way::Walk => &mut plan.by_walk,
            } += 1;
        }
        if plan.by_counts > 0 {
            plan.bytes += ROUND_BYTES + sum_bytes(compiled, now.index, now.rows, now.background);
        }
        plan
    }

    /// The plan if all trees have tables already.
    fn from_tables(compiled: &Compiled, engine: Engine, now: &Circumstances) -> Self {
        Self {
            n_rows: now.rows,
            index: now.index,
            engine,
            by_tables: compiled.trees.len(),
            by_counts: 0,
            by_pairs: 0,
            by_walk: 0,
            seconds: 1e-9 * cost::of_looking_up(compiled, now),
            bytes: 0,
            reason: ALREADY.into(),
            ways: Ways { fit: Way::Tables, rest: Way::Counts },
            rent: 0.0,
        }
    }

    /// Whether the trees that can have tables use them.
    pub(crate) fn has_tables(&self) -> bool {
        self.ways.fit == Way::Tables
    }

    /// How a tree is explained.
    pub(crate) fn way(&self, tree: &CompiledTree) -> Way {
        if tree.can_have_tables() {
            self.ways.fit
        } else {
            match self.ways.rest {
                Way::Counts if tree.max_path > most_on_path(self.index) => Way::Pairs,
                way => way,
            }
        }
    }
}

const ALREADY: &str = "the tables are there already";

/// The ways to take, and why.
fn choose(compiled: &Compiled, engine: Engine, now: &Circumstances, costs: &Costs) -> (Ways, String) {
    let n_trees = compiled.trees.len();
    let all = |way: Way| Ways { fit: way, rest: way };
    // Without a background there is nothing to count: trees without tables are walked.
    let counts = if now.background > 0 { Way::Counts } else { Way::Walk };
    match engine {
        Engine::Traversal => (all(Way::Walk), "the traversal was asked for".into()),
        Engine::Sparse if now.background == 0 => (all(Way::Walk), "there is no background to pair rows with".into()),
        Engine::Sparse => (all(Way::Pairs), "sparse pairs were asked for".into()),
        Engine::Counts => (all(counts), "ranked counts were asked for".into()),
        // Which way a tree goes must not depend on the number of rows.
        Engine::Pattern => {
            let fit = if costs.countable { Way::Tables } else { counts };
            (Ways { fit, rest: counts }, "the pattern engine was asked for".into())
        }
        Engine::Auto => cheapest(n_trees, now, costs),
    }
}

/// The cheapest ways, and why.
fn cheapest(n_trees: usize, now: &Circumstances, costs: &Costs) -> (Ways, String) {
    let cheaper = |counts: f64, pairs: f64| match now.background {
        0 => Way::Walk,
        _ if counts < pairs => Way::Counts,
        _ => Way::Pairs,
    };
    let rest = cheaper(costs.rest_counts, costs.rest_pairs);
    let without = cheaper(costs.counts, costs.pairs);
    if costs.fit == 0 {
        let others = others(now, costs.rest_counts, costs.rest_pairs);
        let reason = format!("every tree has paths with too many players for tables; {others}");
        return (Ways { fit: without, rest }, reason);
    }
    if !costs.countable {
        let reason = format!("counting the background's patterns would need about {}", Bytes(costs.count_bytes));
        return (Ways { fit: without, rest }, reason);
    }
    if now.built {
        return (Ways { fit: Way::Tables, rest }, ALREADY.into());
    }
    let is_large = costs.table_bytes > MOST_TABLES;
    if costs.table_bytes > now.memory_limit || (is_large && now.rent < costs.tables) {
        let reason = format!(
            "tables would take {}, which is too much {}; {}",
            Bytes(costs.table_bytes as f64),
            if costs.table_bytes > now.memory_limit { "to keep" } else { "for so few calls" },
            others(now, costs.counts, costs.pairs)
        );
        return (Ways { fit: without, rest }, reason);
    }
    let most = (costs.counts.min(costs.pairs) + now.rent).max(CHEAP);
    let fit = if costs.tables < most { Way::Tables } else { without };
    let reason = format!(
        "{} of {} would take {} by tables; {}, and tables would have saved {} in earlier calls",
        costs.fit,
        Count(n_trees, "tree"),
        Time(costs.tables),
        others(now, costs.counts, costs.pairs),
        Time(now.rent),
    );
    (Ways { fit, rest }, reason)
}

/// What the ways without tables would take.
fn others(now: &Circumstances, counts: f64, pairs: f64) -> String {
    let (counts, pairs, rows) = (Time(counts), Time(pairs), Count(now.rows, "row"));
    match now.background {
        0 => format!("for {rows} they would take {pairs} by walking"),
        m => format!(
            "for {rows} and {} they would take {counts} by ranked counts and {pairs} by pairs",
            Count(m, "background row")
        ),
    }
}
