//! Path-dependent values by the walk of each tree: over the depth of the trees, the index, the outputs and the rows.
//!
//! One thread throughout. The throughput is that of (row, leaf) pairs, so its inverse is the time a row takes per leaf.

mod common;

use arborshap::forest::{Forest, Output, Tree};
use arborshap::{Engine, Explainer, Index, Job, Rows};
use common::{Random, settings, uneven};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const FEATURES: usize = 30;

/// Trees of one shape, and rows to explain.
struct Work {
    explainer: Explainer,
    cells: Vec<f64>,
    leaves: usize,
}

impl Work {
    fn new(n_trees: usize, depth: u32, least: f64, width: usize, rows: usize) -> Self {
        let mut random = Random(7);
        let output = if width == 1 { Output::One(0) } else { Output::All };
        let trees: Vec<Tree> =
            (0..n_trees).map(|_| uneven(&mut random, FEATURES, (depth, least), output, width)).collect();
        let leaves = trees.iter().map(|tree| tree.nodes().len().div_ceil(2)).sum();
        let forest = Forest::new(trees, FEATURES, vec![0.0; width]).expect("valid trees");
        let explainer = Explainer::builder(&forest).build(&Job::new(1)).expect("an explainer");
        let cells = (0..rows * FEATURES).map(|_| random.share()).collect();
        Self { explainer, cells, leaves }
    }

    fn bench(&self, group: &mut BenchmarkGroup<'_, WallTime>, id: BenchmarkId, index: Index) {
        let rows = Rows::new(&self.cells[..], self.cells.len() / FEATURES, FEATURES).expect("a matrix");
        group.throughput(Throughput::Elements((rows.len() * self.leaves) as u64));
        let job = Job::new(1);
        group.bench_function(id, |b| {
            b.iter(|| self.explainer.explain(&rows, index, Engine::Traversal, &job).expect("values"));
        });
    }
}

/// Complete trees, as boosting makes them, and one that goes on until next to nothing is left.
fn depth(c: &mut Criterion) {
    let mut group = c.benchmark_group("depth");
    for depth in [4, 6, 8, 12] {
        Work::new(4, depth, 0.0, 1, 256).bench(&mut group, BenchmarkId::new("shapley", depth), Index::Shapley);
    }
    Work::new(4, 40, 1e-4, 1, 256).bench(&mut group, BenchmarkId::new("shapley", "deep"), Index::Shapley);
}

fn index(c: &mut Criterion) {
    let mut group = c.benchmark_group("index");
    let work = Work::new(4, 40, 1e-3, 1, 128);
    for index in [Index::Shapley, Index::Banzhaf, Index::Taylor, Index::Interaction] {
        work.bench(&mut group, BenchmarkId::from_parameter(format!("{index:?}")), index);
    }
}

fn outputs(c: &mut Criterion) {
    let mut group = c.benchmark_group("outputs");
    for width in [1, 3, 10] {
        Work::new(4, 8, 0.0, width, 256).bench(&mut group, BenchmarkId::new("shapley", width), Index::Shapley);
    }
}

fn rows(c: &mut Criterion) {
    let mut group = c.benchmark_group("rows");
    for rows in [1, 16, 64, 1024] {
        Work::new(4, 8, 0.0, 1, rows).bench(&mut group, BenchmarkId::new("shapley", rows), Index::Shapley);
    }
}

criterion_group! { name = benches; config = settings(); targets = depth, index, outputs, rows }
criterion_main!(benches);
