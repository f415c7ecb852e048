//! Explainers and backgrounds as bytes: written once, read anywhere, checked as if a stranger had written them.
//!
//! A file holds the arrays of the flat format and the background as codes or counts. What can be computed from these is
//! computed again when it is read, by the same code that made it in the first place, so a forest that was read is as
//! valid as any other, and its values are the same to the last bit.

mod container;
mod crc;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use container::damaged;
use container::{Reader, Writer};

use crate::background::{Background, DistinctRows, Kept};
use crate::engine::codes::{CodedRows, Codes};
use crate::engine::compiled::Compiled;
use crate::engine::pattern::{Histogram, PatternForest};
use crate::error::{Error, Result};
use crate::explainer::{Absent, Explainer, default_limit};
use crate::forest::{Forest, ForestArrays};
use crate::job::{Progress, Workers};
use crate::players::Players;
use crate::row_weights::check_weights;

/// What is kept beside an explainer or a background for whoever reads it, such as the names of features.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Notes {
    /// Lists of texts, by their name.
    pub texts: BTreeMap<String, Vec<String>>,
    /// Lists of numbers, by their name.
    pub numbers: BTreeMap<String, Vec<f64>>,
}

/// Counts saves, so that threads that save to one place at once do not write into each other's file.
static SAVED: AtomicU64 = AtomicU64::new(0);

/// More players than features are believed up to here.
const FEW_PLAYERS: usize = 1 << 12;

/// Before the name of every note.
const TEXTS: &str = "texts.";
const NUMBERS: &str = "numbers.";

impl Notes {
    fn write(&self, out: &mut Writer) {
        for (name, texts) in &self.texts {
            out.texts(&format!("{TEXTS}{name}"), texts.iter().map(String::as_str));
        }
        for (name, numbers) in &self.numbers {
            out.numbers(&format!("{NUMBERS}{name}"), numbers.iter().copied());
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let mut notes = Self::default();
        for name in from.named(TEXTS) {
            notes.texts.insert(name[TEXTS.len()..].to_owned(), from.texts(name)?);
        }
        for name in from.named(NUMBERS) {
            notes.numbers.insert(name[NUMBERS.len()..].to_owned(), from.numbers(name)?);
        }
        Ok(notes)
    }
}

impl Explainer {
    /// The explainer as bytes, with what is to be kept beside it.
    #[must_use]
    pub fn to_bytes(&self, notes: &Notes) -> Vec<u8> {
        let mut out = Writer::new("an explainer");
        write_game(&mut out, &self.forest, &self.players);
        out.numbers("expected_value", self.expected.iter().copied());
        out.numbers("rent", self.rents());
        out.number("layout", layout(&self.compiled, None));
        if let Absent::Background { codes, len, weights, histogram, merged } = &self.absent {
            out.number("background.rows", *len as u64);
            out.number("background.merged", u8::from(*merged));
            out.number("background.counted", u8::from(histogram.get().is_some()));
            if let Some(codes) = codes {
                out.number("background.kept_rows", codes.len() as u64);
                write_codes(&mut out, &codes.row_major());
                if let Some(weights) = weights {
                    out.numbers("background.weights", weights.iter().copied());
                }
            } else if let Some(counts) = histogram.get() {
                write_counts(&mut out, counts);
            }
        }
        notes.write(&mut out);
        out.finish()
    }

    /// The explainer that these bytes were made of, and what was kept beside it.
    ///
    /// Everything is checked: bytes that were cut, changed, made up or made by another version are an error that says so.
    pub fn from_bytes(bytes: &[u8], workers: &Workers, progress: &Progress) -> Result<(Self, Notes)> {
        let mut from = Reader::new(bytes, "an explainer")?;
        let (forest, players) = read_game(&mut from)?;
        let expected: Vec<f64> = from.numbers("expected_value")?;
        if expected.len() != forest.n_outputs() || expected.iter().any(|e| !e.is_finite()) {
            return Err(damaged("its expected value is not one finite number for each output"));
        }
        let rents: [f64; 4] = from.numbers("rent")?.try_into().map_err(|_| damaged("it lacks the rent of an index"))?;
        if rents.iter().any(|rent| rent.is_nan() || *rent < 0.0) {
            return Err(damaged("the rent of an index is negative or not a number"));
        }
        let laid_out: u64 = from.number("layout")?;
        let background = from.has("background.rows").then(|| SavedBackground::read(&mut from)).transpose()?;
        let notes = Notes::read(&mut from)?;
        let mut this = match &background {
            None => Self::path_dependent(&forest, &players, workers).map_err(damaged)?,
            Some(saved) => {
                let absent = Absent::of(saved.rows, saved.weights.clone(), saved.merged);
                Self::compile(default_limit(), &forest, &players, absent, workers)?
            }
        };
        if layout(&this.compiled, None) != laid_out {
            return Err(Error::Saved(
                "it was saved by a version of arborshap that lays out codes in another way; use that version, or make \
                 the explainer again"
                    .into(),
            ));
        }
        if let Some(saved) = background {
            saved.give_to(&mut this, &mut from, workers, progress)?;
        }
        from.finish()?;
        this.expected = expected;
        this.set_rents(rents);
        Ok((this, notes))
    }

    /// Writes [`Self::to_bytes`] to a file: all of it, or nothing.
    pub fn save(&self, path: impl AsRef<Path>, notes: &Notes) -> Result<()> {
        let path = path.as_ref();
        let number = SAVED.fetch_add(1, Ordering::Relaxed);
        let mut beside = path.as_os_str().to_owned();
        beside.push(format!(".{}-{number}.part", std::process::id()));
        let write = || {
            let mut file = std::fs::File::create(&beside)?;
            file.write_all(&self.to_bytes(notes))?;
            file.sync_all()?;
            std::fs::rename(&beside, path)
        };
        write().map_err(|error| {
            let _ = std::fs::remove_file(&beside);
            Error::Saved(format!("{}: {error}", path.display()))
        })
    }

    /// Reads what [`Self::save`] wrote, here or in Python.
    ///
    /// ```
    /// # use arborshap::{Explainer, Forest, Node, Notes, Output, Players, Progress, Rows, Split, Tree, Workers};
    /// # let nodes = vec![Node::Split(Split::at(0, 0.0, 1, 2)), Node::Leaf(0), Node::Leaf(1)];
    /// # let forest = Forest::new(vec![Tree::new(nodes, vec![1.0, 4.0], Output::One(0))], 1, vec![0.0])?;
    /// # let (workers, progress) = (Workers::new(1), Progress::default());
    /// # let background = Rows::new(&[-1.0, 2.0][..], 2, 1)?;
    /// # let explainer = Explainer::new(&forest, &Players::single(1), &background, None, &workers, &progress)?;
    /// # let path = std::env::temp_dir().join(format!("arborshap-doctest-{}", std::process::id()));
    /// let texts = [("feature_names".into(), vec!["age".into()])].into();
    /// explainer.save(&path, &Notes { texts, ..Notes::default() })?;
    /// let (loaded, notes) = Explainer::load(&path, &workers, &progress)?;
    /// assert_eq!(loaded.expected_value(), [2.5]);
    /// assert_eq!(notes.texts["feature_names"], ["age"]);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), arborshap::Error>(())
    /// ```
    pub fn load(path: impl AsRef<Path>, workers: &Workers, progress: &Progress) -> Result<(Self, Notes)> {
        let path = path.as_ref();
        let named = |problem: &dyn std::fmt::Display| Error::Saved(format!("{}: {problem}", path.display()));
        let bytes = std::fs::read(path).map_err(|error| named(&error))?;
        Self::from_bytes(&bytes, workers, progress).map_err(|error| match error {
            Error::Cancelled | Error::Memory { .. } => error,
            error => named(&error),
        })
    }
}

impl Background {
    /// The background as bytes, to be sent to where it is merged, with what is to be kept beside it.
    #[must_use]
    pub fn to_bytes(&self, notes: &Notes) -> Vec<u8> {
        let mut out = Writer::new("a background");
        out.number("fingerprint", self.fingerprint);
        out.number("rows", self.len);
        match &self.kept {
            Kept::Counts(counts) => write_counts(&mut out, counts),
            Kept::Rows(rows) => {
                write_codes(&mut out, &rows.codes);
                out.number("background.kept_rows", rows.weights.len() as u64);
                out.packed("background.row_weights", rows.weights.iter().copied());
            }
        }
        notes.write(&mut out);
        out.finish()
    }

    /// The background that these bytes were made of, and what was kept beside it.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Self, Notes)> {
        let mut from = Reader::new(bytes, "a background")?;
        let (fingerprint, len) = (from.number("fingerprint")?, from.number("rows")?);
        let kept = if from.has("background.counts") {
            Kept::Counts(read_counts(&mut from)?)
        } else {
            let codes = read_codes(&mut from)?;
            let n = from.count("background.kept_rows")?;
            Kept::Rows(DistinctRows::new(codes, from.packed("background.row_weights", n)?).map_err(damaged)?)
        };
        let notes = Notes::read(&mut from)?;
        from.finish()?;
        Ok((Self { fingerprint, len, kept }.checked()?, notes))
    }
}

/// Tells forests and players, and the layout of what is counted of a background, apart.
pub(crate) fn fingerprint(forest: &Forest, players: &Players, compiled: &Compiled, patterns: &PatternForest) -> u64 {
    let mut out = Writer::new("a fingerprint");
    write_game(&mut out, forest, players);
    out.number("layout", layout(compiled, Some(patterns)));
    out.fingerprint()
}

/// The test of every split, which says what codes mean, and the number of counts.
fn layout(compiled: &Compiled, patterns: Option<&PatternForest>) -> u64 {
    let mut out = Writer::new("a layout");
    let tests = || compiled.trees.iter().flat_map(|tree| tree.splits.iter().map(|split| split.test));
    out.number("columns", compiled.columns.len() as u64);
    out.numbers("tests", tests().flat_map(|test| [test.column, test.lo, test.span]));
    out.number("entries", patterns.map_or(0, PatternForest::n_entries) as u64);
    out.fingerprint()
}

/// The background of an explainer, as far as it can be read before the forest is compiled.
struct SavedBackground {
    rows: usize,
    merged: bool,
    counted: bool,
    kept: Option<(usize, Codes)>,
    weights: Option<Vec<f64>>,
}

impl SavedBackground {
    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let saved = Self {
            rows: from.count("background.rows")?,
            merged: from.flag("background.merged")?,
            counted: from.flag("background.counted")?,
            kept: if from.has("background.kept_rows") {
                Some((from.count("background.kept_rows")?, read_codes(from)?))
            } else {
                None
            },
            weights: from.has("background.weights").then(|| from.numbers("background.weights")).transpose()?,
        };
        let fits = match &saved.kept {
            Some((kept, _)) => *kept > 0 && if saved.merged { *kept <= saved.rows } else { *kept == saved.rows },
            None => saved.rows > 0 && saved.counted && saved.weights.is_none(),
        };
        if !fits {
            return Err(damaged("the numbers of its background's rows do not fit together"));
        }
        check_weights(saved.weights.as_deref(), saved.kept.as_ref().map_or(0, |(kept, _)| *kept)).map_err(damaged)?;
        Ok(saved)
    }

    fn give_to(
        self,
        explainer: &mut Explainer,
        from: &mut Reader<'_>,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<()> {
        if let Some((rows, saved)) = &self.kept {
            let coded = CodedRows::from_row_major(&explainer.compiled.columns, saved, *rows).map_err(damaged)?;
            if let Absent::Background { codes, .. } = &mut explainer.absent {
                *codes = Some(coded);
            }
            // Counting again is quick, and counts can be much larger than the rows they are of.
            let count = self.counted && explainer.can_count(workers);
            return if count { explainer.counts(workers, progress).map(drop) } else { Ok(()) };
        }
        let counts = read_counts(from)?;
        if counts.total() == 0 || !explainer.compiled.all_tables {
            return Err(damaged("it has counts where rows belong"));
        }
        counts.check(explainer.patterns(workers)).map_err(damaged)?;
        if let Absent::Background { histogram, .. } = &mut explainer.absent {
            *histogram = OnceLock::from(counts);
        }
        Ok(())
    }
}

fn write_game(out: &mut Writer, forest: &Forest, players: &Players) {
    let arrays = ForestArrays::from(forest);
    out.number("n_features", arrays.n_features as u64);
    out.numbers("tree_offsets", arrays.tree_offsets);
    out.numbers("left", arrays.left);
    out.numbers("right", arrays.right);
    out.numbers("feature", arrays.feature);
    out.numbers("threshold", arrays.threshold);
    out.numbers("flags", arrays.flags);
    out.numbers("value", arrays.value);
    out.numbers("tree_output", arrays.tree_output);
    out.numbers("base", arrays.base);
    out.numbers("category_nodes", arrays.category_nodes);
    out.numbers("category_offsets", arrays.category_offsets);
    out.numbers("categories", arrays.categories);
    if let Some(cover) = arrays.cover {
        out.numbers("cover", cover);
    }
    out.number("n_players", players.count() as u64);
    out.numbers("players", (0..players.n_features()).map(|feature| players.of(feature) as u32));
}

fn read_game(from: &mut Reader<'_>) -> Result<(Forest, Players)> {
    let arrays = ForestArrays {
        n_features: from.count("n_features")?,
        tree_offsets: from.numbers("tree_offsets")?,
        left: from.numbers("left")?,
        right: from.numbers("right")?,
        feature: from.numbers("feature")?,
        threshold: from.numbers("threshold")?,
        flags: from.numbers("flags")?,
        value: from.numbers("value")?,
        tree_output: from.numbers("tree_output")?,
        base: from.numbers("base")?,
        category_nodes: from.numbers("category_nodes")?,
        category_offsets: from.numbers("category_offsets")?,
        categories: from.numbers("categories")?,
        cover: from.has("cover").then(|| from.numbers("cover")).transpose()?,
    };
    let count = from.count("n_players")?;
    let players: Vec<u32> = from.numbers("players")?;
    if players.len() != arrays.n_features {
        return Err(damaged(format!("{} features have players, and {} do not", players.len(), arrays.n_features)));
    }
    // Results have a place for every player, and a number alone must not make them large.
    if count > players.len().max(FEW_PLAYERS) {
        return Err(damaged(format!("it has {count} players for {} features", players.len())));
    }
    Ok((arrays.flat().build()?, Players::grouped(players, count).map_err(damaged)?))
}

fn write_codes(out: &mut Writer, codes: &Codes) {
    match codes {
        Codes::U16(codes) => out.numbers("background.codes", codes.iter().copied()),
        Codes::U32(codes) => out.numbers("background.wide_codes", codes.iter().copied()),
    }
}

fn read_codes(from: &mut Reader<'_>) -> Result<Codes> {
    if from.has("background.wide_codes") {
        return Ok(Codes::U32(from.numbers("background.wide_codes")?));
    }
    Ok(Codes::U16(from.numbers("background.codes")?))
}

fn write_counts(out: &mut Writer, counts: &Histogram) {
    out.number("background.entries", counts.numbers().count() as u64);
    out.packed("background.counts", counts.numbers());
    out.packed("background.total", [counts.total()]);
    out.number("background.weighted", u8::from(counts.is_weighted()));
}

fn read_counts(from: &mut Reader<'_>) -> Result<Histogram> {
    let entries = from.count("background.entries")?;
    let numbers = from.packed("background.counts", entries)?;
    let total = from.packed("background.total", 1)?[0];
    Histogram::from_numbers(from.flag("background.weighted")?, numbers, total).map_err(damaged)
}
