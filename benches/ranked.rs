//! Ranked counts of deep trees: tables of splits, leaves with ranked counts of their own, and distinct patterns that meet.
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

fn bench(c: &mut Criterion, name: &str, (features, outputs): (usize, usize), index: Index, sizes: &[usize]) {
    let mut group = c.benchmark_group(name);
    let job = Job::new(1);
    let forest = forest(features, outputs);
    for &n in sizes {
        let (x, z) = (cells(n, features, 2), cells(n, features, 1));
        let explainer = Explainer::builder(&forest).background(&rows(&z, features)).build(&job).expect("an explainer");
        group.throughput(Throughput::Elements(n as u64));
        group.bench_function(BenchmarkId::from_parameter(n), |b| {
            b.iter(|| explainer.explain(&rows(&x, features), index, Engine::Counts, &job).expect("values"));
        });
    }
}

fn few_players(c: &mut Criterion) {
    bench(c, "paths of up to 8 players", (8, 1), Index::Shapley, &[1000, 10_000]);
}

fn many_players(c: &mut Criterion) {
    bench(c, "paths of up to 40 players", (40, 1), Index::Shapley, &[100, 1000, 10_000]);
}

fn outputs(c: &mut Criterion) {
    bench(c, "ten outputs", (8, 10), Index::Shapley, &[1000]);
}

fn pairs(c: &mut Criterion) {
    bench(c, "pairs of players", (12, 1), Index::Interaction, &[1000]);
}

criterion_group! {
    name = benches;
    config = settings();
    targets = few_players, many_players, outputs, pairs
}
criterion_main!(benches);
