//! The traversal engine: every algorithm over the depth of the trees, the number of features and the number of pairs.
//!
//! One thread throughout. The throughput is that of (row, background row, tree) triples, so its inverse is the time a
//! pair takes at one tree, whatever the size of the job.

use std::time::Duration;

use arborshap::forest::{Missing, Precision, Rule, Test};
use arborshap::{Engine, Explainer, Forest, Index, Node, Output, Players, Progress, Rows, Split, Tree, Workers};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, n: usize) -> usize {
        self.bits() as usize % n
    }

    /// Between 0 and 1.
    fn share(&mut self) -> f64 {
        self.bits() as f64 / (1_u64 << 31) as f64
    }

    /// Roughly normal: what columns and leaf values look like.
    fn normal(&mut self) -> f64 {
        (0..6).map(|_| self.share()).sum::<f64>() * 2.0_f64.sqrt() - 3.0 * 2.0_f64.sqrt()
    }
}

/// A tree as boosting grows it: complete but for branches that end early, some features more often than others, and
/// splits well out in their columns. A walk then meets as many leaves as in XGBoost's trees (about 4 of 50 at depth 6).
fn boosted_tree(random: &mut Random, depth: u32, n_features: usize) -> Tree {
    let (mut nodes, mut values) = (vec![Node::Leaf(0)], Vec::new());
    let mut open = vec![(0_usize, 0_u32)];
    while let Some((n, level)) = open.pop() {
        if level == depth || (level > 2 && random.below(12) == 0) {
            nodes[n] = Node::Leaf(values.len() as u32);
            values.push(0.1 * random.normal());
            continue;
        }
        let feature = random.below(n_features).min(random.below(n_features));
        let threshold = f64::from((1.2 * random.normal()) as f32);
        let left = nodes.len();
        nodes.extend([Node::Leaf(0), Node::Leaf(0)]);
        open.extend([(left, level + 1), (left + 1, level + 1)]);
        nodes[n] = Node::Split(Split {
            feature: feature as u32,
            left: left as u32,
            right: left as u32 + 1,
            test: Test::Threshold { rule: Rule::Less, threshold },
            precision: Precision::Float32,
            missing: Missing::Nan,
            default_left: random.below(2) == 0,
        });
    }
    Tree::new(nodes, values, Output::One(0))
}

struct Job {
    explainer: Explainer,
    cells: Vec<f64>,
    n: usize,
    n_features: usize,
    triples: u64,
}

impl Job {
    fn new(n_trees: usize, depth: u32, n_features: usize, n: usize, m: usize, players: &Players) -> Self {
        let mut random = Random(7);
        let trees = (0..n_trees).map(|_| boosted_tree(&mut random, depth, n_features)).collect();
        let forest = Forest::new(trees, n_features, vec![0.5]).expect("valid trees");
        let mut cells = |rows: usize| -> Vec<f64> { (0..rows * n_features).map(|_| random.normal()).collect() };
        let (background, cells) = (cells(m), cells(n));
        let background = Rows::new(&background[..], m, n_features).expect("a matrix");
        let explainer = Explainer::new(&forest, players, &background, None, &Workers::new(1), &Progress::default())
            .expect("a valid case");
        Self { explainer, cells, n, n_features, triples: (n * m * n_trees) as u64 }
    }

    fn rows(&self) -> Rows<'_> {
        Rows::new(&self.cells[..], self.n, self.n_features).expect("a matrix")
    }

    fn explain(&self, index: Index) -> Vec<f64> {
        let (workers, progress) = (Workers::new(1), Progress::default());
        self.explainer.explain(&self.rows(), index, Engine::Traversal, &workers, &progress).expect("values")
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
    let job = Job::new(100, 6, 20, 32, 128, &single);
    for (name, index) in [
        ("Interventional TreeSHAP", Index::Shapley),
        ("Taylor-TreeSHAP", Index::Taylor),
        ("Shapley interaction", Index::Interaction),
        ("Banzhaf", Index::Banzhaf),
    ] {
        job.bench(&mut group, BenchmarkId::from_parameter(name), index);
    }
    let groups = Players::grouped((0..20).map(|feature| feature / 4).collect(), 5).expect("a map in range");
    let grouped = Job::new(100, 6, 20, 32, 128, &groups);
    grouped.bench(&mut group, BenchmarkId::from_parameter("Partition-TreeSHAP"), Index::Shapley);

    let (workers, progress) = (Workers::new(1), Progress::default());
    group.throughput(Throughput::Elements(job.triples));
    group.bench_function("every pair, shared walk", |b| {
        b.iter(|| job.explainer.explain_pairs(&job.rows(), None, &workers, &progress).expect("values"));
    });
    group.bench_function("every pair, single walk", |b| {
        b.iter(|| job.explainer.explain_pairs_singly(&job.rows(), None, &workers, &progress).expect("values"));
    });
}

fn depth(c: &mut Criterion) {
    let mut group = c.benchmark_group("depth");
    for depth in [2, 4, 6, 8, 10, 12] {
        let job = Job::new(20, depth, 20, 16, 128, &Players::single(20));
        job.bench(&mut group, BenchmarkId::new("shapley", depth), Index::Shapley);
        if depth <= 8 {
            job.bench(&mut group, BenchmarkId::new("taylor", depth), Index::Taylor);
        }
    }
}

/// Past 64 features in one tree, sets of players no longer fit a machine word.
fn features(c: &mut Criterion) {
    let mut group = c.benchmark_group("features");
    for n_features in [5, 20, 60, 120, 500] {
        let job = Job::new(20, 8, n_features, 16, 128, &Players::single(n_features));
        job.bench(&mut group, BenchmarkId::new("shapley", n_features), Index::Shapley);
    }
}

fn pairs(c: &mut Criterion) {
    let mut group = c.benchmark_group("pairs");
    for (n, m) in [(1, 1), (1, 64), (1, 4096), (64, 1), (64, 64), (128, 256)] {
        let job = Job::new(100, 6, 20, n, m, &Players::single(20));
        job.bench(&mut group, BenchmarkId::new("shapley", format!("{n} x {m}")), Index::Shapley);
    }
}

fn settings() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(1500))
}

criterion_group! { name = benches; config = settings(); targets = algorithms, depth, features, pairs }
criterion_main!(benches);
