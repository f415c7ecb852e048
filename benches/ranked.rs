//! Deep trees by ranked counts: tables of splits, splits with many players, leaves with ranked counts of their own,
//! weights, outputs and pairs of players; the same trees by sparse pairs.
//!
//! One thread throughout. Throughputs are in rows.

mod common;

use arborshap::forest::{Forest, Output};
use arborshap::{Engine, Explainer, Index, Job, Rows};
use common::{Random, settings, uneven};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn cells(rows: usize, features: usize, seed: u64) -> Vec<f64> {
    let mut random = Random(seed);
    (0..rows * features).map(|_| random.share()).collect()
}

fn rows(cells: &[f64], features: usize) -> Rows<'_> {
    Rows::new(cells, cells.len() / features, features).expect("a matrix")
}

/// Trees that split until less than a thousandth of the rows is left: the more features, the more players on a path.
fn forest(features: usize, outputs: usize) -> Forest {
    let mut random = Random(7);
    let output = if outputs == 1 { Output::One(0) } else { Output::All };
    let trees = (0..2).map(|_| uneven(&mut random, features, (40, 1e-3), output, outputs)).collect();
    Forest::new(trees, features, vec![0.0; outputs]).expect("valid trees")
}

/// What is explained, and how.
#[derive(Clone, Copy)]
struct Work {
    features: usize,
    outputs: usize,
    index: Index,
    engine: Engine,
    weights: bool,
}

impl Work {
    /// Shapley values of one output by ranked counts, against rows without weights.
    fn of(features: usize) -> Self {
        Self { features, outputs: 1, index: Index::Shapley, engine: Engine::Counts, weights: false }
    }
}

/// Rows against background rows, of the numbers given.
fn bench(c: &mut Criterion, name: &str, work: Work, sizes: &[(usize, usize)]) {
    let Work { features, outputs, index, engine, weights } = work;
    let mut group = c.benchmark_group(name);
    let job = Job::new(1);
    let forest = forest(features, outputs);
    for &(n, m) in sizes {
        let (x, z) = (cells(n, features, 2), cells(m, features, 1));
        let background = rows(&z, features);
        let some: Vec<f64> = (0..m).map(|row| 0.5 + (row % 3) as f64).collect();
        let mut builder = Explainer::builder(&forest).background(&background);
        if weights {
            builder = builder.weights(&some);
        }
        let explainer = builder.build(&job).expect("an explainer");
        group.throughput(Throughput::Elements(n as u64));
        group.bench_function(BenchmarkId::from_parameter(format!("{n} x {m}")), |b| {
            b.iter(|| explainer.explain(&rows(&x, features), index, engine, &job).expect("values"));
        });
    }
}

fn few_players(c: &mut Criterion) {
    bench(c, "paths of up to 8 players", Work::of(8), &[(1000, 1000), (10_000, 10_000)]);
}

/// The fewer background rows there are, the fewer players the tables have, and the more splits go by distinct patterns.
fn many_players(c: &mut Criterion) {
    bench(c, "paths of up to 40 players", Work::of(40), &[(100, 100), (1000, 1000), (10_000, 10_000)]);
}

fn many_background_rows(c: &mut Criterion) {
    bench(c, "many background rows", Work::of(40), &[(500, 30_000), (500, 70_000)]);
}

fn weights(c: &mut Criterion) {
    let weighted = |features: usize| Work { weights: true, ..Work::of(features) };
    bench(c, "weights, up to 8 players", weighted(8), &[(1000, 1000)]);
    bench(c, "weights, up to 40 players", weighted(40), &[(1000, 1000)]);
}

fn outputs(c: &mut Criterion) {
    bench(c, "ten outputs, up to 8 players", Work { outputs: 10, ..Work::of(8) }, &[(1000, 1000)]);
    bench(c, "ten outputs, up to 40 players", Work { outputs: 10, ..Work::of(40) }, &[(500, 500)]);
}

fn pairs(c: &mut Criterion) {
    let pairs = |features: usize| Work { index: Index::Interaction, ..Work::of(features) };
    bench(c, "pairs of up to 12 players", pairs(12), &[(1000, 1000)]);
    bench(c, "pairs of up to 40 players", pairs(40), &[(200, 200)]);
}

fn sparse_pairs(c: &mut Criterion) {
    bench(
        c,
        "sparse pairs, up to 40 players",
        Work { engine: Engine::Sparse, ..Work::of(40) },
        &[(1, 1000), (200, 200)],
    );
}

criterion_group! {
    name = benches;
    config = settings();
    targets = few_players, many_players, many_background_rows, weights, outputs, pairs, sparse_pairs
}
criterion_main!(benches);
