//! Any bytes as the arrays of a forest: it is refused, or can be explained in every way.
#![no_main]

use arborshap::forest::FlatForest;
use arborshap::{Engine, Explainer, Forest, Index, Job, Notes, Rows};
use libfuzzer_sys::{Corpus, fuzz_target};

/// Numbers read off the bytes; zeros past their end.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// Mostly a small number, so that it means something; sometimes any.
    fn int(&mut self) -> i32 {
        match self.byte() {
            255 => i32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()]),
            small => i32::from(small as i8),
        }
    }

    fn float(&mut self) -> f64 {
        match self.byte() {
            255 => f64::from_le_bytes(std::array::from_fn(|_| self.byte())),
            254 => f64::NAN,
            253 => f64::INFINITY,
            small => f64::from(small as i8) / 4.0,
        }
    }

    /// An array of that length, or rarely of another.
    fn array<T>(&mut self, len: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let len = if self.byte() == 255 { usize::from(self.byte()) } else { len };
        (0..len).map(|_| one(self)).collect()
    }
}

fn forest(from: &mut Numbers<'_>) -> Option<Forest> {
    let (nodes, trees, outputs) = (usize::from(from.byte() % 40), usize::from(from.byte() % 4), 1 + from.byte() % 3);
    let sets = usize::from(from.byte() % 4);
    let vectors = from.byte() % 4 == 0;
    let numbers = if vectors { nodes * usize::from(outputs) } else { nodes };
    let mut tree_offsets = from.array(trees + 1, |from| i64::from(from.int()));
    // Otherwise nothing but the offsets would ever be looked at.
    if from.byte() % 8 != 0 {
        tree_offsets.iter_mut().for_each(|offset| *offset = offset.rem_euclid(nodes as i64 + 1));
        tree_offsets.sort_unstable();
        if let [first, .., last] = &mut tree_offsets[..] {
            (*first, *last) = (0, nodes as i64);
        }
    }
    let (left, right) = (from.array(nodes, Numbers::int), from.array(nodes, Numbers::int));
    let (feature, threshold) = (from.array(nodes, Numbers::int), from.array(nodes, Numbers::float));
    let (flags, value) = (from.array(nodes, Numbers::byte), from.array(numbers, Numbers::float));
    let tree_output = from.array(trees, |from| if vectors { -1 } else { from.int() });
    let base = from.array(usize::from(outputs), Numbers::float);
    let category_nodes = from.array(sets, |from| i64::from(from.int()));
    let category_offsets = from.array(sets + 1, |from| i64::from(from.int()));
    let categories = from.array(6, |from| from.int() as u32);
    let cover = (from.byte() % 2 == 0).then(|| from.array(nodes, Numbers::float));
    let flat = FlatForest {
        n_features: usize::from(from.byte() % 12),
        tree_offsets: &tree_offsets,
        left: &left,
        right: &right,
        feature: &feature,
        threshold: &threshold,
        flags: &flags,
        value: &value,
        tree_output: &tree_output,
        base: &base,
        category_nodes: &category_nodes,
        category_offsets: &category_offsets,
        categories: &categories,
        cover: cover.as_deref(),
    };
    flat.build().ok()
}

fuzz_target!(|data: &[u8]| -> Corpus {
    let mut from = Numbers(data);
    let Some(forest) = forest(&mut from) else { return Corpus::Keep };
    let d = forest.n_features();
    let cells: Vec<f64> = (0..3 * d).map(|_| from.float()).collect();
    let rows = Rows::new(&cells[..], 3, d).expect("three rows");
    let job = Job::new(1);
    let explainer = Explainer::builder(&forest).background(&rows).build(&job).expect("a valid forest");
    for index in [Index::Shapley, Index::Taylor, Index::Interaction, Index::Banzhaf] {
        for engine in [Engine::Auto, Engine::Pattern, Engine::Sparse, Engine::Traversal] {
            // Only an engine that cannot do it may refuse.
            let _ = explainer.explain(&rows, index, engine, &job);
        }
    }
    if let Ok(explainer) = Explainer::builder(&forest).build(&job) {
        explainer.explain(&rows, Index::Shapley, Engine::Auto, &job).expect("values");
    }
    let bytes = explainer.to_bytes(&Notes::default());
    let (again, _) = Explainer::from_bytes(&bytes, &job).expect("what was just written");
    assert_eq!(again.to_bytes(&Notes::default()), bytes);
    Corpus::Keep
});
