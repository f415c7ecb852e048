//! The traversal engine: every algorithm over the depth of the trees, the number of features and the number of pairs.
//!
//! One thread throughout. The throughput is that of (row, background row, tree) triples, so its inverse is the time a
//! pair takes at one tree, whatever the size of the job.

mod common;

use arborshap::forest::{Forest, Missing, Output, Precision, Rule, Split, Test, Tree};
use arborshap::{Engine, Explainer, Index, Job, Players, Rows};
use common::{Growth, Random, grow, settings};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// A tree as boosting grows it: complete but for branches that end early, some features more often than others, and
/// splits well out in their columns. A walk then meets as many leaves as in XGBoost's trees (about 4 of 50 at depth 6).
fn boosted_tree(random: &mut Random, depth: u32, n_features: usize) -> Tree {
    grow(Output::One(0), |_, level, left| {
        if level == depth || (level > 2 && random.below(12) == 0) {
            return Growth::Leaf(vec![0.1 * random.normal()]);
        }
        let feature = random.below(n_features).min(random.below(n_features));
        let threshold = f64::from((1.2 * random.normal()) as f32);
        Growth::Split(Split {
            feature: feature as u32,
            left,
            right: left + 1,
            test: Test::Threshold { rule: Rule::Less, threshold },
            precision: Precision::Float32,
            missing: Missing::Nan,
            default_left: random.below(2) == 0,
        })
    })
}

struct Work {
    explainer: Explainer,
    cells: Vec<f64>,
    n: usize,
    n_features: usize,
    triples: u64,
}

impl Work {
    fn new(n_trees: usize, depth: u32, n_features: usize, n: usize, m: usize, players: &Players) -> Self {
        let mut random = Random(7);
        let trees = (0..n_trees).map(|_| boosted_tree(&mut random, depth, n_features)).collect();
        let forest = Forest::new(trees, n_features, vec![0.5]).expect("valid trees");
        let mut cells = |rows: usize| -> Vec<f64> { (0..rows * n_features).map(|_| random.normal()).collect() };
        let (background, cells) = (cells(m), cells(n));
        let background = Rows::new(&background[..], m, n_features).expect("a matrix");
        let builder = Explainer::builder(&forest).players(players).background(&background);
        let explainer = builder.build(&Job::new(1)).expect("a valid case");
        Self { explainer, cells, n, n_features, triples: (n * m * n_trees) as u64 }
    }

    fn rows(&self) -> Rows<'_> {
        Rows::new(&self.cells[..], self.n, self.n_features).expect("a matrix")
    }

    fn explain(&self, index: Index) -> Vec<f64> {
        self.explainer.explain(&self.rows(), index, Engine::Traversal, &Job::new(1)).expect("values")
    }

    fn bench(&self, group: &mut BenchmarkGroup<'_, WallTime>, id: BenchmarkId, index: Index) {
        group.throughput(Throughput::Elements(self.triples));
        group.bench_function(id, |b| b.iter(|| self.explain(index)));
    }
}

/// Each algorithm on the same job: 100 trees of depth 6 over 20 features.
fn algorithms(c: &mut Criterion) {
    let mut group = c.benchmark_group("algorithm");
    let single = Players::single(20);
    let work = Work::new(100, 6, 20, 32, 128, &single);
    for (name, index) in [
        ("Interventional TreeSHAP", Index::Shapley),
        ("Taylor-TreeSHAP", Index::Taylor),
        ("Shapley interaction", Index::Interaction),
        ("Banzhaf", Index::Banzhaf),
    ] {
        work.bench(&mut group, BenchmarkId::from_parameter(name), index);
    }
    let groups = Players::grouped((0..20).map(|feature| feature / 4).collect(), 5).expect("a map in range");
    let grouped = Work::new(100, 6, 20, 32, 128, &groups);
    grouped.bench(&mut group, BenchmarkId::from_parameter("Partition-TreeSHAP"), Index::Shapley);

    let one = Job::new(1);
    group.throughput(Throughput::Elements(work.triples));
    group.bench_function("every pair, shared walk", |b| {
        b.iter(|| work.explainer.explain_pairs(&work.rows(), None, &one).expect("values"));
    });
    group.bench_function("every pair, single walk", |b| {
        b.iter(|| work.explainer.explain_pairs_singly(&work.rows(), None, &one).expect("values"));
    });
}

fn depth(c: &mut Criterion) {
    let mut group = c.benchmark_group("depth");
    for depth in [2, 4, 6, 8, 10, 12] {
        let work = Work::new(20, depth, 20, 16, 128, &Players::single(20));
        work.bench(&mut group, BenchmarkId::new("shapley", depth), Index::Shapley);
        if depth <= 8 {
            work.bench(&mut group, BenchmarkId::new("taylor", depth), Index::Taylor);
        }
    }
}

/// Past 64 features in one tree, sets of players no longer fit a machine word.
fn features(c: &mut Criterion) {
    let mut group = c.benchmark_group("features");
    for n_features in [5, 20, 60, 120, 500] {
        let work = Work::new(20, 8, n_features, 16, 128, &Players::single(n_features));
        work.bench(&mut group, BenchmarkId::new("shapley", n_features), Index::Shapley);
    }
}

fn pairs(c: &mut Criterion) {
    let mut group = c.benchmark_group("pairs");
    for (n, m) in [(1, 1), (1, 64), (1, 4096), (64, 1), (64, 64), (128, 256)] {
        let work = Work::new(100, 6, 20, n, m, &Players::single(20));
        work.bench(&mut group, BenchmarkId::new("shapley", format!("{n} x {m}")), Index::Shapley);
    }
}

criterion_group! { name = benches; config = settings(); targets = algorithms, depth, features, pairs }
criterion_main!(benches);
