//! Trees that are wide, deep, or empty, and what must not depend on size: the machine stack.

use arborshap::forest::{Node, Output, Split, Tree};
use arborshap::{Engine, Explainer, Forest, Index, Job, Players};

use crate::support::choices::Choices;
use crate::support::engines::{ENGINES, INDICES, WALKS, assert_close, explain, explainer, pairs};
use crate::support::inputs::{Cells, Matrix};
use crate::support::oracle::Game;

/// Every feature its own player.
fn alone(forest: &Forest, z: &Matrix) -> Explainer {
    explainer(forest, &Players::single(forest.n_features()), z, None)
}

/// A tree that is one long path, with a leaf beside each of its splits: `splits[i]` is a feature, a threshold, and
/// whether the path goes on to the left.
fn chain(splits: &[(u32, f64, bool)], values: Vec<f64>) -> Tree {
    let mut nodes = Vec::with_capacity(2 * splits.len() + 1);
    for (i, &(feature, threshold, left)) in (0..).zip(splits) {
        let (leaf, next) = (2 * i + 1, 2 * i + 2);
        let (left, right) = if left { (next, leaf) } else { (leaf, next) };
        nodes.extend([Node::Split(Split::at(feature, threshold, left, right)), Node::Leaf(i)]);
    }
    nodes.push(Node::Leaf(splits.len() as u32));
    Tree::new(nodes, values, Output::One(0))
}

/// Against the definition, over the players that are not dummies: those on which x differs from some background row.
fn check_against_definition(forest: &Forest, x: &Matrix, z: &Matrix, scale: f64) {
    let d = forest.n_features();
    let (row, against) = (x.rows(), z.rows());
    let differs = |f: &usize| (0..z.len).any(|r| row.get(0, *f).to_bits() != against.get(r, *f).to_bits());
    let mut differing: Vec<usize> = (0..d).filter(differs).collect();
    if differing.is_empty() {
        differing.push(0);
    }
    let p = differing.len();
    // The others join the first one's group; whichever group they are in, they change nothing.
    let player = |f: usize| differing.iter().position(|&other| other == f).unwrap_or(0) as u32;
    let players = Players::grouped((0..d).map(player).collect(), p).expect("a map in range");
    let game = Game::new(forest, &players, &row, 0, &against, None);
    let explainer = alone(forest, z);
    for engine in ENGINES {
        for index in INDICES {
            let mut want = vec![0.0; d.pow(index.order())];
            let of = |cell: usize| {
                if index.order() == 1 { differing[cell] } else { differing[cell / p] * d + differing[cell % p] }
            };
            game.index(index).iter().enumerate().for_each(|(cell, &value)| want[of(cell)] = value);
            let got = explain(engine, &explainer, x, index, 1);
            assert_close(&got, &want, scale, &format!("{index:?} by {engine:?}"));
        }
    }
    for walk in WALKS {
        let mut want = vec![0.0; d];
        game.index(Index::Shapley).iter().zip(&differing).for_each(|(&value, &f)| want[f] = value);
        let all = pairs(walk, &explainer, x, None, 1);
        let mean = |f: usize| (0..z.len).map(|r| all[r * d + f]).sum::<f64>() / z.len as f64;
        let got: Vec<f64> = (0..d).map(mean).collect();
        assert_close(&got, &want, scale, &format!("{walk:?} walk"));
    }
}

/// `h(x) = 1` iff every feature has the value the path wants. With `a` features right in x alone and the `b` others
/// in z alone, Theorem 13 gives W(a - 1, d) to the former and -W(a, d) to the latter, for any d.
#[test]
fn paths_of_any_number_of_players() {
    for (a, b) in [(1, 0), (0, 1), (64, 0), (0, 64), (65, 0), (40, 25), (64, 1), (1, 200), (260, 40), (500, 600)] {
        let d = a + b;
        let splits: Vec<_> = (0..d as u32).map(|f| (f, 0.5, false)).collect();
        let mut values = vec![0.0; d];
        values.push(1.0);
        let forest = Forest::new(vec![chain(&splits, values)], d, vec![0.0]).expect("a valid chain");
        let x = Matrix::new((0..d).map(|f| f64::from(u8::from(f < a))).collect(), d);
        let z = Matrix::new((0..d).map(|f| f64::from(u8::from(f >= a))).collect(), d);
        // ln of k! (d - k - 1)! / d!
        let ln_factorial = |n: usize| (2..=n).map(|i| (i as f64).ln()).sum::<f64>();
        let w = |k: usize| (ln_factorial(k) + ln_factorial(d - k - 1) - ln_factorial(d)).exp();
        let (in_x, in_z) = (if a > 0 { w(a - 1) } else { 0.0 }, if b > 0 { -w(a) } else { 0.0 });
        let want: Vec<f64> = (0..d).map(|f| if f < a { in_x } else { in_z }).collect();
        let relative = |got: &[f64], what: &str| {
            for (got, want) in got.iter().zip(&want) {
                assert!(
                    (got - want).abs() <= 1e-10 * want.abs() + f64::MIN_POSITIVE,
                    "{what}, {a} + {b} players: {got}, not {want}"
                );
            }
        };
        let explainer = alone(&forest, &z);
        for engine in ENGINES {
            relative(&explain(engine, &explainer, &x, Index::Shapley, 1), &format!("{engine:?}"));
        }
        for walk in WALKS {
            relative(&pairs(walk, &explainer, &x, None, 1), &format!("{walk:?} walk"));
        }
    }
}

/// Rows that fail every player of a long path, some of them, or none, with and without weights, by all indices: ranked
/// counts hold such paths in wider words, and each way in which they work out a split has to cope with all of these rows.
#[test]
fn long_paths_by_ranked_counts() {
    let mut c = Choices::fixed(5, 10_000);
    for d in [31, 32, 33, 45, 63, 64, 65, 127, 128, 300] {
        let splits: Vec<_> = (0..d as u32).map(|f| (f, 0.5, false)).collect();
        let values = (0..=d).map(|i| (i * i % 7) as f64 - 2.0).collect();
        let forest = Forest::new(vec![chain(&splits, values)], d, vec![0.0]).expect("a valid chain");
        // A row goes on along the path at 1 and leaves it at 0.
        let mut row = |chance: usize| (0..d).map(|_| f64::from(u8::from(c.below(8) < chance))).collect::<Vec<f64>>();
        let x = Matrix::new([8, 7, 6, 4, 0].into_iter().flat_map(&mut row).collect(), d);
        let z = Matrix::new((0..30).flat_map(|i| row(i % 9)).collect(), d);
        let weights: Vec<f64> = (0..z.len).map(|i| 0.5 + (i % 4) as f64).collect();
        for weights in [None, Some(weights.as_slice())] {
            let explainer = explainer(&forest, &Players::single(d), &z, weights);
            for index in INDICES {
                let want = explain(Engine::Traversal, &explainer, &x, index, 1);
                let got = explain(Engine::Counts, &explainer, &x, index, 1);
                assert_close(&got, &want, 10.0, &format!("{d} players, {index:?}, weights: {}", weights.is_some()));
            }
        }
    }
}

/// Balanced trees over 65 to 200 features; x and z differ on a few of them, the rest decide where both go.
#[test]
fn trees_of_more_than_64_features() {
    let mut c = Choices::fixed(11, 100_000);
    for _ in 0..30 {
        let d = 65 + c.below(136);
        let inner = 255;
        let mut nodes: Vec<Node> = (0..inner)
            .map(|n| {
                // Every feature somewhere, and any feature anywhere else.
                let feature = if n < d { n } else { c.below(d) };
                Node::Split(Split::at(feature as u32, c.below(3) as f64, 2 * n as u32 + 1, 2 * n as u32 + 2))
            })
            .collect();
        nodes.extend((0..=inner as u32).map(Node::Leaf));
        let values = (0..=inner).map(|_| c.below(100) as f64 / 10.0).collect();
        let forest = Forest::new(vec![Tree::new(nodes, values, Output::One(0))], d, vec![0.0]).expect("a valid tree");
        let mut cells: Vec<f64> = (0..d).map(|_| c.below(4) as f64).collect();
        let x = Matrix::new(cells.clone(), d);
        // The features near the root matter most; always at least one of them.
        (0..7).for_each(|i| cells[if i < 4 { c.below(7) } else { c.below(d) }] = 3.0 - c.below(4) as f64);
        cells[0] = if x.rows().get(0, 0) > 1.0 { 0.0 } else { 3.0 };
        check_against_definition(&forest, &x, &Matrix::new(cells, d), 10.0);
    }
}

/// A path that goes on where every value is near 0: the farther from it a value is, the sooner its row falls off.
fn path_around_zero(c: &mut Choices, n_splits: usize, d: usize) -> Tree {
    let mut split = || {
        let (feature, distance, left) = (c.below(d) as u32, (1 + c.below(1000)) as f64, c.flag());
        (feature, if left { distance } else { -distance }, left)
    };
    let splits: Vec<_> = (0..n_splits).map(|_| split()).collect();
    let values = (0..=n_splits).map(|_| c.below(100) as f64 / 10.0).collect();
    chain(&splits, values)
}

/// Values at different distances from 0, so that rows fall off at different depths, or never.
fn around_zero(c: &mut Choices, d: usize) -> Matrix {
    Matrix::new((0..d).map(|_| c.of(&[0.0, 1.0, -1.0, 3.5, -12.25, 50.0, -300.0, 2000.0])).collect(), d)
}

#[test]
fn depth_over_100() {
    let mut c = Choices::fixed(12, 200_000);
    for _ in 0..200 {
        let d = 1 + c.below(7);
        let trees = [101, 150, 200].map(|depth| path_around_zero(&mut c, depth, d)).to_vec();
        let forest = Forest::new(trees, d, vec![1.0]).expect("valid chains");
        assert_eq!(forest.max_depth(), 200);
        let x = around_zero(&mut c, d);
        check_against_definition(&forest, &x, &around_zero(&mut c, d), 30.0);
    }
}

/// Paths of 1 to 20 players, shorter and longer ones in one forest: whatever suits some of them only.
#[test]
fn paths_of_1_to_20_players() {
    let mut c = Choices::fixed(15, 100_000);
    for _ in 0..40 {
        let d = 20;
        let paths = [3, 8, 13, 14, 20].map(|players| path_around_zero(&mut c, 24, players));
        let forest = Forest::new(paths.to_vec(), d, vec![1.0]).expect("valid chains");
        let x = around_zero(&mut c, d);
        let mut cells: Vec<f64> = (0..3).flat_map(|_| (0..d).map(|f| x.rows().get(0, f))).collect();
        // Eight players take part, the first ones more often as more of the paths ask for them.
        let taking_part: Vec<usize> = (0..8).map(|_| c.below(d).min(c.below(d))).collect();
        for row in 0..3 {
            let other = around_zero(&mut c, d);
            for &f in &taking_part {
                cells[row * d + f] = other.rows().get(0, f);
            }
        }
        check_against_definition(&forest, &x, &Matrix::new(cells, d), 50.0);
    }
}

/// More background rows than single precision counts exactly, and with them more pairs than 32 bits do.
#[test]
fn many_background_rows() {
    let m = (1 << 24) + 7;
    let mut cells = vec![1.0_f32; m];
    for row in [0, 1, 77, m / 2, m - 1] {
        cells[row] = -1.0;
    }
    let z = Matrix { cells: Cells::F32(cells), len: m, width: 1 };
    let forest = Forest::new(vec![chain(&[(0, 0.0, true)], vec![3.0, 1.0])], 1, vec![0.0]).expect("a stump");
    let explainer = alone(&forest, &z);
    let want = 5.0 * (3.0 - 1.0) / m as f64;
    for engine in ENGINES {
        // The others look at every pair, which would take too long for a test.
        let n = if engine == Engine::Pattern { 300 } else { 1 };
        let x = Matrix { cells: Cells::F32(vec![1.0; n]), len: n, width: 1 };
        for value in explain(engine, &explainer, &x, Index::Shapley, 2) {
            assert!((value / want - 1.0).abs() < 1e-12, "{engine:?}: {value:e}, not {want:e}");
        }
    }
    assert_close(explainer.expected_value(), &[3.0 - want], 1.0, "the expected value");
}

/// With little memory the tables come a few at a time, or another way is found.
#[test]
fn little_memory() {
    let mut c = Choices::fixed(16, 100_000);
    let d = 12;
    let trees = (0..10).map(|_| path_around_zero(&mut c, 14, d)).collect();
    let forest = Forest::new(trees, d, vec![1.0]).expect("valid chains");
    let (x, z) = (around_zero(&mut c, d), around_zero(&mut c, d));
    let plenty = alone(&forest, &z);
    for limit in [0, 1 << 10, 1 << 20] {
        let rows = z.rows();
        let builder = Explainer::builder(&forest).background(&rows).memory_limit(limit);
        let limited = builder.build(&Job::new(1)).expect("a valid case");
        for engine in ENGINES {
            for index in INDICES {
                let (want, got) = (explain(engine, &plenty, &x, index, 1), explain(engine, &limited, &x, index, 1));
                assert_close(&got, &want, 20.0, &format!("{index:?} by {engine:?} with {limit} bytes"));
            }
        }
    }
}

/// Checked, compiled and walked on a stack of 64 KiB: nothing here may recurse.
#[test]
fn chain_of_100_000_nodes() {
    let on_a_small_stack = || {
        let mut c = Choices::fixed(13, 400_000);
        let d = 4;
        let tree = path_around_zero(&mut c, 49_999, d);
        assert_eq!(tree.nodes().len(), 99_999);
        let forest = Forest::new(vec![tree], d, vec![0.0]).expect("a valid chain");
        assert_eq!(forest.max_depth(), 49_999);
        // One row stays to the end, the other has a value on each side of where the path goes on.
        let x = Matrix::new(vec![0.0, 0.5, -0.5, 0.0], d);
        for z in [vec![0.0, 0.5, -0.5, 2000.0], vec![0.25, 700.0, -2.0, 0.0]] {
            check_against_definition(&forest, &x, &Matrix::new(z, d), 10.0);
        }
        drop(forest);
    };
    std::thread::Builder::new()
        .stack_size(64 << 10)
        .spawn(on_a_small_stack)
        .expect("a thread")
        .join()
        .expect("no panic");
}

/// A chain whose last child leads back to the root, and one whose nodes were all given twice.
#[test]
fn broken_chain_of_100_000_nodes() {
    let mut c = Choices::fixed(14, 400_000);
    let tree = path_around_zero(&mut c, 49_999, 4);
    let (mut nodes, last) = (tree.nodes().to_vec(), 99_996);
    let Node::Split(split) = &mut nodes[last] else { panic!("a split") };
    split.left = 0;
    let error = Forest::new(vec![Tree::new(nodes, vec![0.0; 50_000], Output::One(0))], 4, vec![0.0]).unwrap_err();
    assert!(error.to_string().starts_with("tree 0, node 99996: its left child, node 0, is reached twice"), "{error}");
}

#[test]
fn nothing_to_explain() {
    let leaf = Tree::new(vec![Node::Leaf(0)], vec![2.5], Output::One(0));
    let row = |width: usize| Matrix { len: 1, ..Matrix::new(vec![0.0; width], width) };
    // A forest of no trees, of a constant, and one without a single feature.
    for (trees, d, expected) in [(vec![], 3, 1.0), (vec![leaf.clone()], 3, 3.5), (vec![leaf], 0, 3.5)] {
        let forest = Forest::new(trees, d, vec![1.0]).expect("a valid forest");
        let explainer = alone(&forest, &row(d));
        assert_close(explainer.expected_value(), &[expected], 1.0, "the expected value");
        for engine in ENGINES {
            for index in INDICES {
                let values = explain(engine, &explainer, &row(d), index, 2);
                assert_close(&values, &vec![0.0; d.pow(index.order())], 1.0, "nothing");
            }
        }
        for walk in WALKS {
            assert_close(&pairs(walk, &explainer, &row(d), None, 2), &vec![0.0; d], 1.0, "nothing");
        }
    }
}

#[test]
fn no_rows() {
    let split = vec![Node::Split(Split::at(0, 0.0, 1, 2)), Node::Leaf(0), Node::Leaf(1)];
    let forest = Forest::new(vec![Tree::new(split, vec![1.0, 2.0], Output::One(0))], 2, vec![0.0]).expect("a stump");
    let explainer = alone(&forest, &Matrix::new(vec![0.0; 2], 2));
    let none = Matrix::new(vec![], 2);
    for engine in ENGINES {
        for index in INDICES {
            assert!(explain(engine, &explainer, &none, index, 2).is_empty());
        }
    }
    for walk in WALKS {
        assert!(pairs(walk, &explainer, &none, None, 2).is_empty());
        assert!(pairs(walk, &explainer, &Matrix::new(vec![0.0; 2], 2), Some(&none), 2).is_empty());
    }
}
