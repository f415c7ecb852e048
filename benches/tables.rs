//! The tables engine, stage by stage: counting a background, building tables, explaining rows with them, also without a
//! background; sparse pairs beside it.
//!
//! One thread throughout. Throughputs are in rows of the kind that the stage's work grows with, or in numbers of pairs.

mod common;

use arborshap::forest::{Forest, Output};
use arborshap::{Engine, Explainer, Index, Job, Rows};
use common::{Random, settings, uneven};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const FEATURES: usize = 20;
const INDICES: [Index; 4] = [Index::Shapley, Index::Banzhaf, Index::Taylor, Index::Interaction];

fn cells(rows: usize, seed: u64) -> Vec<f64> {
    let mut random = Random(seed);
    (0..rows * FEATURES).map(|_| random.share()).collect()
}

fn rows(cells: &[f64]) -> Rows<'_> {
    Rows::new(cells, cells.len() / FEATURES, FEATURES).expect("a matrix")
}

fn forest(n_trees: usize, depth: u32, least: f64) -> Forest {
    let mut random = Random(7);
    let trees = (0..n_trees).map(|_| uneven(&mut random, FEATURES, (depth, least), Output::One(0), 1)).collect();
    Forest::new(trees, FEATURES, vec![0.0]).expect("valid trees")
}

/// 100 complete trees, as boosting makes them.
fn boosted(depth: u32) -> Forest {
    forest(100, depth, 0.0)
}

fn construct(forest: &Forest, background: &[f64], job: &Job) -> Explainer {
    Explainer::builder(forest).background(&rows(background)).build(job).expect("an explainer")
}

fn explain(explainer: &Explainer, cells: &[f64], index: Index, engine: Engine, job: &Job) -> Vec<f64> {
    explainer.explain(&rows(cells), index, engine, job).expect("values")
}

/// Compiling the trees, coding the background, and counting the outcome of each row in each unit.
fn background(c: &mut Criterion) {
    let mut group = c.benchmark_group("background");
    let job = Job::new(1);
    for depth in [4, 6, 8] {
        let forest = boosted(depth);
        for m in [1, 20_000] {
            let z = cells(m, 1);
            group.throughput(Throughput::Elements(m as u64));
            group.bench_function(BenchmarkId::new(format!("depth {depth}"), m), |b| {
                b.iter(|| construct(&forest, &z, &job));
            });
        }
    }
}

/// The first call of an index on a counted background: the transform and the filling of tables, for a single row.
fn tables(c: &mut Criterion) {
    let mut group = c.benchmark_group("tables");
    let job = Job::new(1);
    let (z, x) = (cells(5000, 1), cells(1, 2));
    let mut first_call = |name: String, depth: u32, index: Index| {
        let forest = boosted(depth);
        let counted = || {
            let explainer = construct(&forest, &z, &job);
            let other = if index == Index::Banzhaf { Index::Shapley } else { Index::Banzhaf };
            explain(&explainer, &x, other, Engine::Pattern, &job);
            explainer
        };
        group.bench_function(name, |b| {
            b.iter_batched(
                counted,
                |explainer| {
                    explain(&explainer, &x, index, Engine::Pattern, &job);
                    explainer // dropped outside the measurement
                },
                BatchSize::PerIteration,
            );
        });
    };
    for depth in [4, 6, 8] {
        first_call(format!("Shapley, depth {depth}"), depth, Index::Shapley);
    }
    for index in [Index::Banzhaf, Index::Taylor, Index::Interaction] {
        first_call(format!("{index:?}, depth 6"), 6, index);
    }
}

/// Later calls: the patterns of the rows, looked up.
fn explanation(c: &mut Criterion) {
    let mut group = c.benchmark_group("explanation");
    let job = Job::new(1);
    let z = cells(1000, 1);
    for (depth, indices) in [(4, &INDICES[..1]), (6, &INDICES[..]), (8, &INDICES[..1])] {
        let explainer = construct(&boosted(depth), &z, &job);
        for &index in indices {
            for n in [1, 4096] {
                let x = cells(n, 2);
                explain(&explainer, &x, index, Engine::Pattern, &job);
                group.throughput(Throughput::Elements(n as u64));
                group.bench_function(BenchmarkId::new(format!("{index:?}, depth {depth}"), n), |b| {
                    b.iter(|| explain(&explainer, &x, index, Engine::Pattern, &job));
                });
            }
        }
    }
}

/// Ten outputs from the same leaves: patterns are shared between them.
fn outputs(c: &mut Criterion) {
    let mut group = c.benchmark_group("outputs");
    let job = Job::new(1);
    let mut random = Random(7);
    let trees = (0..20).map(|_| uneven(&mut random, FEATURES, (6, 0.0), Output::All, 10)).collect();
    let vectors = Forest::new(trees, FEATURES, vec![0.0; 10]).expect("valid trees");
    let explainer = construct(&vectors, &cells(1000, 1), &job);
    let x = cells(1024, 2);
    explain(&explainer, &x, Index::Shapley, Engine::Pattern, &job);
    group.throughput(Throughput::Elements(1024));
    group.bench_function("20 trees of vectors", |b| {
        b.iter(|| explain(&explainer, &x, Index::Shapley, Engine::Pattern, &job));
    });
}

/// Pairs of patterns in deep trees, which have no tables.
fn sparse(c: &mut Criterion) {
    let mut group = c.benchmark_group("sparse pairs");
    let job = Job::new(1);
    let deep = forest(5, 40, 1e-3);
    for (n, m) in [(1, 128), (64, 128), (256, 256)] {
        let explainer = construct(&deep, &cells(m, 1), &job);
        let x = cells(n, 2);
        group.throughput(Throughput::Elements((n * m) as u64));
        for index in [Index::Shapley, Index::Interaction] {
            group.bench_function(BenchmarkId::new(format!("{index:?}"), format!("{n} x {m}")), |b| {
                b.iter(|| explain(&explainer, &x, index, Engine::Sparse, &job));
            });
        }
    }
}

/// Without a background, from the shares of the training rows; `cover` has the walk.
fn path_dependent(c: &mut Criterion) {
    let mut group = c.benchmark_group("path-dependent");
    let job = Job::new(1);
    let x = cells(4096, 2);
    let whole = boosted(6);
    let construct = |forest: &Forest| Explainer::builder(forest).build(&job).expect("an explainer");
    group.bench_function("tables, depth 6", |b| {
        b.iter_batched(
            || construct(&whole),
            |explainer| {
                explain(&explainer, &x[..FEATURES], Index::Shapley, Engine::Pattern, &job);
                explainer
            },
            BatchSize::PerIteration,
        );
    });
    let ready = construct(&whole);
    explain(&ready, &x, Index::Shapley, Engine::Pattern, &job);
    group.throughput(Throughput::Elements(4096));
    group.bench_function("explanation, depth 6", |b| {
        b.iter(|| explain(&ready, &x, Index::Shapley, Engine::Pattern, &job));
    });
}

criterion_group! {
    name = benches;
    config = settings();
    targets = background, tables, explanation, outputs, sparse, path_dependent
}
criterion_main!(benches);
