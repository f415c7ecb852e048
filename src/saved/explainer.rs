//! Explainers as bytes, and as files.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Notes;
use super::kept::{read_codes, read_counts, write_codes, write_counts};
use crate::background::sample_weights::check_weights;
use crate::container::{Reader, Writer, read_game, write_game};
use crate::error::{Error, Result, SavedProblem};
use crate::explainer::{BackgroundParts, Explainer, KeptParts, Parts, Reference};
use crate::job::Job;

/// What the bytes say they hold.
const HOLDS: &str = "an explainer";

/// Counts saves, so that threads that save to one place at the same time do not write into each other's file.
static SAVES: AtomicU64 = AtomicU64::new(0);

impl Explainer {
    /// The explainer as bytes, with notes.
    #[must_use]
    pub fn to_bytes(&self, notes: &Notes) -> Vec<u8> {
        let mut out = Writer::new(HOLDS);
        write_game(&mut out, self.forest(), self.players());
        out.numbers("expected_value", self.expected_value().iter().copied());
        out.numbers("rent", self.rents());
        out.number("layout", self.layout());
        if let Some(background) = self.reference() {
            write_background(&mut out, background);
        }
        notes.write(&mut out);
        out.finish()
    }

    /// The explainer that these bytes were made from, and its notes.
    ///
    /// Everything is checked: bytes that were cut off, changed, made up or made by another version are an error that says
    /// so.
    pub fn from_bytes(bytes: &[u8], job: &Job) -> Result<(Self, Notes)> {
        let mut from = Reader::new(bytes, HOLDS)?;
        let (forest, players) = read_game(&mut from)?;
        let expected: Vec<f64> = from.numbers("expected_value")?;
        if expected.len() != forest.n_outputs() || expected.iter().any(|e| !e.is_finite()) {
            return Err(Error::damaged("its expected value is not one finite number for each output"));
        }
        let rents: [f64; 4] = from.numbers("rent")?.try_into().map_err(|rents: Vec<f64>| {
            Error::damaged(format!("`rent` has {} numbers where 4 belong, one for each index", rents.len()))
        })?;
        if let Some(rent) = rents.iter().find(|rent| rent.is_nan() || **rent < 0.0) {
            let problem = format!("`rent` (nanoseconds spent without tables) must be at least 0, but is {rent}");
            return Err(Error::damaged(problem));
        }
        let layout = from.number("layout")?;
        let background = from.has("background.rows").then(|| read_background(&mut from)).transpose()?;
        let notes = Notes::read(&mut from)?;
        from.finish()?;
        Ok((Self::from_parts(Parts { forest, players, layout, background, expected, rents }, job)?, notes))
    }

    /// Writes [`Self::to_bytes`] to a file: all of it, or nothing.
    ///
    /// The file is written beside `path` and then renamed, so a link at `path` is replaced by a plain file. (Python saves
    /// explainers with its own function, which follows links and keeps the mode of a file that it replaces.)
    pub fn save(&self, path: impl AsRef<Path>, notes: &Notes) -> Result<()> {
        let path = path.as_ref();
        let number = SAVES.fetch_add(1, Ordering::Relaxed);
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
            of_file(path, SavedProblem::File(error.to_string()))
        })
    }

    /// Reads what [`Self::save`] wrote, here or in Python.
    ///
    /// ```
    /// # use arborshap::forest::{Forest, Node, Output, Split, Tree};
    /// # use arborshap::{Explainer, Job, Notes, Rows};
    /// # let nodes = vec![Node::Split(Split::at(0, 0.0, 1, 2)), Node::Leaf(0), Node::Leaf(1)];
    /// # let forest = Forest::new(vec![Tree::new(nodes, vec![1.0, 4.0], Output::One(0))], 1, vec![0.0])?;
    /// # let job = Job::new(1);
    /// # let background = Rows::new(&[-1.0, 2.0][..], 2, 1)?;
    /// # let explainer = Explainer::builder(&forest).background(&background).build(&job)?;
    /// # let path = std::env::temp_dir().join(format!("arborshap-doctest-{}", std::process::id()));
    /// let texts = [("feature_names".into(), vec!["age".into()])].into();
    /// explainer.save(&path, &Notes { texts, ..Notes::default() })?;
    /// let (loaded, notes) = Explainer::load(&path, &job)?;
    /// assert_eq!(loaded.expected_value(), [2.5]);
    /// assert_eq!(notes.texts["feature_names"], ["age"]);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), arborshap::Error>(())
    /// ```
    pub fn load(path: impl AsRef<Path>, job: &Job) -> Result<(Self, Notes)> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|error| of_file(path, SavedProblem::File(error.to_string())))?;
        Self::from_bytes(&bytes, job).map_err(|error| match error {
            Error::Cancelled | Error::Memory { .. } => error,
            Error::Saved { problem, .. } => of_file(path, problem),
            error => of_file(path, SavedProblem::Damaged(error.to_string())),
        })
    }
}

fn of_file(path: &Path, problem: SavedProblem) -> Error {
    Error::Saved { path: Some(path.to_owned()), problem }
}

fn write_background(out: &mut Writer, background: &Reference) {
    out.number("background.rows", background.len() as u64);
    out.number("background.merged", u8::from(background.is_merged()));
    out.number("background.counted", u8::from(background.counted().is_some()));
    if let Some(codes) = background.codes() {
        out.number("background.kept_rows", codes.len() as u64);
        write_codes(out, &codes.row_major());
        if let Some(weights) = background.weights() {
            out.numbers("background.weights", weights.iter().copied());
        }
    } else if let Some(counts) = background.counted() {
        write_counts(out, counts);
    }
}

fn read_background(from: &mut Reader<'_>) -> Result<BackgroundParts> {
    let len = from.count("background.rows")?;
    let merged = from.flag("background.merged")?;
    let counted = from.flag("background.counted")?;
    let contradicts = || Error::damaged("the numbers of its background's rows do not fit together");
    if !from.has("background.kept_rows") {
        if len == 0 || !counted || from.has("background.weights") {
            return Err(contradicts());
        }
        return Ok(BackgroundParts { len, merged, kept: KeptParts::Counts(read_counts(from)?) });
    }
    let (kept, codes) = (from.count("background.kept_rows")?, read_codes(from)?);
    if kept == 0 || if merged { kept > len } else { kept != len } {
        return Err(contradicts());
    }
    let weights = from.has("background.weights").then(|| from.numbers("background.weights")).transpose()?;
    check_weights(weights.as_deref(), kept).map_err(Error::damaged)?;
    Ok(BackgroundParts { len, merged, kept: KeptParts::Rows { len: kept, codes, weights, counted } })
}
