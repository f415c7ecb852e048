//! Random forests: splits of every type, features that come back on a path, equal thresholds, trees of one leaf.

use arborshap::Forest;
use arborshap::forest::{Categories, Missing, Node, Output, Precision, Rule, Split, Test, Tree};

use crate::support::choices::Choices;

/// Few, so that they meet on a path; with numbers that single precision has and has not, and the ends of both ranges.
const THRESHOLDS: [f64; 20] = [
    0.0,
    1.0,
    0.5,
    -1.5,
    0.1,
    0.1_f32 as f64,
    2.0,
    -0.0,
    16_777_217.0,
    1e-35,
    1e-35_f32 as f64,
    -1e-35,
    5e-324,
    1e-46,
    1e39,
    -1e39,
    f64::MAX,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

/// Around the borders of machine words, of what single precision counts exactly, and of the format itself.
const CATEGORIES: [u32; 10] = [0, 1, 2, 31, 32, 63, 64, 16_777_216, u32::MAX - 1, u32::MAX];

const MISSING: [Missing; 3] = [Missing::Nan, Missing::NanIsZero, Missing::NanOrZero];
const PRECISION: [Precision; 2] = [Precision::Float64, Precision::Float32];
const RULE: [Rule; 2] = [Rule::LessEqual, Rule::Less];

const MAX_TREES: usize = 4;
const MAX_NODES: usize = 31;

/// No leaf or base value is larger than this.
pub(crate) const LARGEST_VALUE: f64 = 3.0;

/// A forest of up to four trees.
pub(crate) fn forest(c: &mut Choices, n_features: usize, n_outputs: usize) -> Forest {
    // Real forests read all values alike; mixed ones are the harder test of how values are read.
    let alike = (!c.one_in(3)).then(|| (c.of(&PRECISION), c.of(&MISSING)));
    let trees = (0..c.below(MAX_TREES + 1)).map(|_| parts(c, n_features, n_outputs, alike).tree()).collect();
    let base = (0..n_outputs).map(|_| value(c)).collect();
    Forest::new(trees, n_features, base).expect("the generator makes valid forests")
}

/// What a tree is made of.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    pub(crate) nodes: Vec<Node>,
    pub(crate) values: Vec<f64>,
    pub(crate) output: Output,
}

impl Parts {
    pub(crate) fn tree(self) -> Tree {
        Tree::new(self.nodes, self.values, self.output)
    }

    /// The same tree asking for other features.
    pub(crate) fn with_features(&self, feature: impl Fn(u32) -> u32) -> Self {
        let moved = |node: &Node| match node {
            Node::Split(s) => Node::Split(Split { feature: feature(s.feature), ..s.clone() }),
            leaf @ Node::Leaf(_) => leaf.clone(),
        };
        Self { nodes: self.nodes.iter().map(moved).collect(), ..self.clone() }
    }

    /// The same tree with all leaf values multiplied by a factor.
    pub(crate) fn times(&self, factor: f64) -> Self {
        Self { values: self.values.iter().map(|v| factor * v).collect(), ..self.clone() }
    }
}

/// The parts of a few trees whose splits read values in any way.
pub(crate) fn some_parts(c: &mut Choices, n_features: usize, n_outputs: usize) -> Vec<Parts> {
    (0..=c.below(MAX_TREES)).map(|_| parts(c, n_features, n_outputs, None)).collect()
}

/// A tree of one long path, with leaves and a few splits beside it. The path has every feature, and some come back.
pub(crate) fn deep_parts(c: &mut Choices, n_features: usize, n_outputs: usize) -> Parts {
    let alike = c.flag().then(|| (c.of(&PRECISION), c.of(&MISSING)));
    let (first, depth) = (c.below(n_features.max(1)), n_features + c.below(4));
    let feature = |c: &mut Choices, splits: usize| {
        if splits < n_features { (first + splits) % n_features } else { c.below(n_features) }
    };
    grow(c, n_features, n_outputs, alike, feature, |c, nodes, open| {
        // The newest node goes on; of the others, some have children of their own.
        let newest = open.len() - 1;
        if nodes <= 2 * depth { (newest, false) } else { (newest, c.below(4) > 0 || nodes > 3 * depth) }
    })
}

/// A tree with so many splits, any of whose open nodes is split next: many paths of different lengths.
pub(crate) fn bushy_parts(c: &mut Choices, n_features: usize, n_outputs: usize, splits: usize) -> Parts {
    let alike = Some((c.of(&PRECISION), c.of(&MISSING)));
    let feature = |c: &mut Choices, _: usize| c.below(n_features);
    grow(c, n_features, n_outputs, alike, feature, |c, nodes, open| {
        // Mostly the newest nodes, so that paths are long.
        let back = c.below(4).min(c.below(4));
        (open.len() - 1 - back.min(open.len() - 1), nodes > 2 * splits)
    })
}

/// A small tree: any of its open nodes is given two children, or made a leaf.
fn parts(c: &mut Choices, n_features: usize, n_outputs: usize, alike: Option<(Precision, Missing)>) -> Parts {
    let feature = |c: &mut Choices, _: usize| c.below(n_features);
    grow(c, n_features, n_outputs, alike, feature, |c, nodes, open| {
        (c.below(open.len()), nodes + 2 > MAX_NODES || c.below(4) == 0)
    })
}

/// Grows a tree from the root: `next` says which of the open nodes is the next one, and whether it becomes a leaf;
/// `feature` says what a split asks for, given how many splits there are already.
fn grow(
    c: &mut Choices,
    n_features: usize,
    n_outputs: usize,
    alike: Option<(Precision, Missing)>,
    feature: impl Fn(&mut Choices, usize) -> usize,
    next: impl Fn(&mut Choices, usize, &[usize]) -> (usize, bool),
) -> Parts {
    let output = match c.below(n_outputs + 1) {
        k if k < n_outputs => Output::One(k),
        _ => Output::All,
    };
    let width = if output == Output::All { n_outputs } else { 1 };
    let (mut nodes, mut values) = (vec![Node::Leaf(0)], Vec::new());
    let mut open = vec![0_usize];
    while !open.is_empty() {
        let (at, leaf) = next(c, nodes.len(), &open);
        let n = open.swap_remove(at);
        if n_features == 0 || leaf {
            nodes[n] = Node::Leaf((values.len() / width) as u32);
            values.extend((0..width).map(|_| value(c)));
        } else {
            let splits = (nodes.len() - 1) / 2;
            let mut children = [nodes.len(), nodes.len() + 1];
            open.extend(children);
            nodes.extend([Node::Leaf(0), Node::Leaf(0)]);
            if c.flag() {
                children.reverse();
            }
            let children = children.map(|child| child as u32);
            nodes[n] = Node::Split(split(c, |c| feature(c, splits), children, alike));
        }
    }
    if c.flag() {
        nodes = renumbered(&nodes);
    }
    Parts { nodes, values, output }
}

/// The same tree with every node but the root at the other end of the list: children before their parents.
fn renumbered(nodes: &[Node]) -> Vec<Node> {
    let last = nodes.len() as u32;
    let moved = |node: &Node| match node {
        Node::Split(s) => Node::Split(Split { left: last - s.left, right: last - s.right, ..s.clone() }),
        leaf @ Node::Leaf(_) => leaf.clone(),
    };
    std::iter::once(&nodes[0]).chain(nodes[1..].iter().rev()).map(moved).collect()
}

fn split(
    c: &mut Choices,
    feature: impl Fn(&mut Choices) -> usize,
    [left, right]: [u32; 2],
    alike: Option<(Precision, Missing)>,
) -> Split {
    let test = if c.one_in(5) {
        let codes: Vec<u32> = (0..c.below(5)).map(|_| c.of(&CATEGORIES)).collect();
        Test::Member {
            categories: Categories::new(&codes),
            members_left: c.flag(),
            negative_fraction_is_zero: c.flag(),
        }
    } else {
        // Half of the thresholds from the tame end of the list, else hardly any two rows would part.
        let tame = if c.flag() { 6 } else { THRESHOLDS.len() };
        Test::Threshold { rule: c.of(&RULE), threshold: c.of(&THRESHOLDS[..tame]) }
    };
    let (precision, missing) = alike.unwrap_or_else(|| (c.of(&PRECISION), c.of(&MISSING)));
    Split { feature: feature(c) as u32, left, right, test, precision, missing, default_left: c.flag() }
}

fn value(c: &mut Choices) -> f64 {
    (c.below(61) as f64 - 30.0) / 10.0
}

/// The splits of a forest.
pub(crate) fn splits(forest: &Forest) -> impl Iterator<Item = &Split> {
    forest.trees().iter().flat_map(Tree::nodes).filter_map(|node| match node {
        Node::Split(split) => Some(split),
        Node::Leaf(_) => None,
    })
}
