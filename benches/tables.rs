//! The pattern engine, stage by stage: counting a background, building tables, explaining rows with them; sparse pairs
//! and path-dependent values beside it.
//!
//! One thread throughout. Throughputs are in rows of the kind that the stage's work grows with, or in numbers of pairs.

use std::time::Duration;

use arborshap::{Engine, Explainer, Forest, Index, Node, Output, Players, Progress, Rows, Split, Tree, Workers};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const FEATURES: usize = 20;
const INDICES: [Index; 4] = [Index::Shapley, Index::Banzhaf, Index::Taylor, Index::Interaction];

/// Numbers between 0 and 1 that are the same in every run.
fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    (*state >> 33) as f64 / (1_u64 << 31) as f64
}

fn cells(rows: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    (0..rows * FEATURES).map(|_| random(&mut state)).collect()
}

fn rows(cells: &[f64]) -> Rows<'_> {
    Rows::new(cells, cells.len() / FEATURES, FEATURES).expect("a matrix")
}

/// A tree that splits what reaches a node in two uneven parts, down to a depth or until next to nothing is left.
fn tree(state: &mut u64, depth: u32, least: f64, output: Output, width: usize) -> Tree {
    let (mut nodes, mut cover, mut values) = (vec![Node::Leaf(0)], vec![1.0], Vec::new());
    let mut open = vec![(0, 0)];
    while let Some((node, level)) = open.pop() {
        if level == depth || cover[node] < least {
            nodes[node] = Node::Leaf((values.len() / width) as u32);
            values.extend((0..width).map(|_| random(state) - 0.5));
            continue;
        }
        let feature = (random(state) * FEATURES as f64) as u32;
        let share = 0.15 + 0.7 * random(state);
        let left = nodes.len();
        nodes[node] = Node::Split(Split::at(feature, share, left as u32, left as u32 + 1));
        nodes.extend([Node::Leaf(0), Node::Leaf(0)]);
        cover.extend([cover[node] * share, cover[node] * (1.0 - share)]);
        open.extend([(left, level + 1), (left + 1, level + 1)]);
    }
    Tree::new(nodes, values, output).with_cover(cover)
}

fn forest(n_trees: usize, depth: u32, least: f64) -> Forest {
    let mut state = 7;
    let trees = (0..n_trees).map(|_| tree(&mut state, depth, least, Output::One(0), 1)).collect();
    Forest::new(trees, FEATURES, vec![0.0]).expect("valid trees")
}

/// 100 complete trees, as boosting makes them.
fn boosted(depth: u32) -> Forest {
    forest(100, depth, 0.0)
}

fn construct(forest: &Forest, background: &[f64], workers: &Workers) -> Explainer {
    let players = Players::single(FEATURES);
    Explainer::new(forest, &players, &rows(background), None, workers, &Progress::default()).expect("an explainer")
}

fn explain(explainer: &Explainer, cells: &[f64], index: Index, engine: Engine, workers: &Workers) -> Vec<f64> {
    explainer.explain(&rows(cells), index, engine, workers, &Progress::default()).expect("values")
}

/// Compiling the trees, coding the background, and the index of each row in each unit, counted.
fn background(c: &mut Criterion) {
    let mut group = c.benchmark_group("background");
    let workers = Workers::new(1);
    for depth in [4, 6, 8] {
        let forest = boosted(depth);
        for m in [1, 20_000] {
            let z = cells(m, 1);
            group.throughput(Throughput::Elements(m as u64));
            group.bench_function(BenchmarkId::new(format!("depth {depth}"), m), |b| {
                b.iter(|| construct(&forest, &z, &workers));
            });
        }
    }
}

/// The first call of an index on a counted background: the transform, and tables filled, for a single row.
fn tables(c: &mut Criterion) {
    let mut group = c.benchmark_group("tables");
    let workers = Workers::new(1);
    let (z, x) = (cells(5000, 1), cells(1, 2));
    let mut first_call = |name: String, depth: u32, index: Index| {
        let forest = boosted(depth);
        let counted = || {
            let explainer = construct(&forest, &z, &workers);
            let other = if index == Index::Banzhaf { Index::Shapley } else { Index::Banzhaf };
            explain(&explainer, &x, other, Engine::Pattern, &workers);
            explainer
        };
        group.bench_function(name, |b| {
            b.iter_batched(
                counted,
                |explainer| {
                    explain(&explainer, &x, index, Engine::Pattern, &workers);
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
    let workers = Workers::new(1);
    let z = cells(1000, 1);
    for (depth, indices) in [(4, &INDICES[..1]), (6, &INDICES[..]), (8, &INDICES[..1])] {
        let explainer = construct(&boosted(depth), &z, &workers);
        for &index in indices {
            for n in [1, 4096] {
                let x = cells(n, 2);
                explain(&explainer, &x, index, Engine::Pattern, &workers);
                group.throughput(Throughput::Elements(n as u64));
                group.bench_function(BenchmarkId::new(format!("{index:?}, depth {depth}"), n), |b| {
                    b.iter(|| explain(&explainer, &x, index, Engine::Pattern, &workers));
                });
            }
        }
    }
}

/// Ten outputs from the same leaves: patterns are shared between them.
fn outputs(c: &mut Criterion) {
    let mut group = c.benchmark_group("outputs");
    let workers = Workers::new(1);
    let mut state = 7;
    let trees = (0..20).map(|_| tree(&mut state, 6, 0.0, Output::All, 10)).collect();
    let vectors = Forest::new(trees, FEATURES, vec![0.0; 10]).expect("valid trees");
    let explainer = construct(&vectors, &cells(1000, 1), &workers);
    let x = cells(1024, 2);
    explain(&explainer, &x, Index::Shapley, Engine::Pattern, &workers);
    group.throughput(Throughput::Elements(1024));
    group.bench_function("20 trees of vectors", |b| {
        b.iter(|| explain(&explainer, &x, Index::Shapley, Engine::Pattern, &workers));
    });
}

/// Pairs of patterns in deep trees, which have no tables.
fn sparse(c: &mut Criterion) {
    let mut group = c.benchmark_group("sparse pairs");
    let workers = Workers::new(1);
    let deep = forest(5, 40, 1e-3);
    for (n, m) in [(1, 128), (64, 128), (256, 256)] {
        let explainer = construct(&deep, &cells(m, 1), &workers);
        let x = cells(n, 2);
        group.throughput(Throughput::Elements((n * m) as u64));
        for index in [Index::Shapley, Index::Interaction] {
            group.bench_function(BenchmarkId::new(format!("{index:?}"), format!("{n} x {m}")), |b| {
                b.iter(|| explain(&explainer, &x, index, Engine::Sparse, &workers));
            });
        }
    }
}

/// Without a background, from the shares of the training rows.
fn path_dependent(c: &mut Criterion) {
    let mut group = c.benchmark_group("path-dependent");
    let workers = Workers::new(1);
    let (players, x) = (Players::single(FEATURES), cells(4096, 2));
    let whole = boosted(6);
    let construct = |forest: &Forest| Explainer::path_dependent(forest, &players, &workers).expect("an explainer");
    group.bench_function("tables, depth 6", |b| {
        b.iter_batched(
            || construct(&whole),
            |explainer| {
                explain(&explainer, &x[..FEATURES], Index::Shapley, Engine::Pattern, &workers);
                explainer
            },
            BatchSize::PerIteration,
        );
    });
    let ready = construct(&whole);
    explain(&ready, &x, Index::Shapley, Engine::Pattern, &workers);
    group.throughput(Throughput::Elements(4096));
    group.bench_function("explanation, depth 6", |b| {
        b.iter(|| explain(&ready, &x, Index::Shapley, Engine::Pattern, &workers));
    });
    let deep = construct(&forest(5, 40, 1e-3));
    group.throughput(Throughput::Elements(64));
    group.bench_function("deep trees", |b| {
        b.iter(|| explain(&deep, &x[..64 * FEATURES], Index::Shapley, Engine::Auto, &workers));
    });
}

fn settings() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(1500))
}

criterion_group! {
    name = benches;
    config = settings();
    targets = background, tables, explanation, outputs, sparse, path_dependent
}
criterion_main!(benches);
