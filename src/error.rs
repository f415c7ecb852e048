//! The one error type of the crate.

use std::path::PathBuf;

/// What can go wrong. Every message says what is wrong, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A node of a tree breaks a rule of the common format.
    #[error("tree {tree}, node {node}: {problem}")]
    Node {
        /// Position of the tree in the forest.
        tree: usize,
        /// Position of the node in its tree.
        node: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The forest as a whole breaks a rule of the common format.
    #[error("{problem}")]
    Forest {
        /// What is wrong with it.
        problem: String,
    },
    /// Leaf values are so large that sums over trees and background rows could leave the range of float64.
    #[error(
        "leaves of tree {tree} are as large as {largest:e}, and sums over trees and background rows would leave the \
         range of float64; divide the model's outputs by a power of two so that they stay below {limit:.0e}"
    )]
    Range {
        /// Position of the tree in the forest.
        tree: usize,
        /// The largest absolute value of its leaves.
        largest: f64,
        /// The limit for the sum over all trees.
        limit: f64,
    },
    /// Rows do not have as many columns as the model has features.
    #[error("{what} has {columns} columns, but the model has {features} features")]
    Columns {
        /// Which rows.
        what: Argument,
        /// Columns they have.
        columns: usize,
        /// Features the model has.
        features: usize,
    },
    /// An argument does not fit the forest, or is invalid by itself.
    #[error("{problem}")]
    Input {
        /// Which argument.
        what: Argument,
        /// What is wrong with it.
        problem: String,
    },
    /// The call needs the background's rows, but only their counts were kept.
    #[error(
        "only the counts of the background were kept, as it was too large or came in parts; give the rows again, or \
         leave the engine open"
    )]
    OnlyCounts,
    /// Parts of a background belong to different models, groups or versions.
    #[error(
        "these parts of a background do not belong together: they were made of another model, with other groups, or by \
         another version of arborshap"
    )]
    Unrelated,
    /// A saved explainer or background cannot be read or written.
    #[error("{}{problem}", path.as_ref().map(|path| format!("{}: ", path.display())).unwrap_or_default())]
    Saved {
        /// The file, if there is one.
        path: Option<PathBuf>,
        /// What is wrong with it.
        problem: SavedProblem,
    },
    /// The result or a table would not fit in memory.
    #[error("{what} needs {bytes} bytes; explain fewer rows at a time or choose another engine")]
    Memory {
        /// What was to be allocated.
        what: String,
        /// How large it would be.
        bytes: u128,
    },
    /// The caller asked to stop.
    #[error("the call was cancelled")]
    Cancelled,
}

/// An argument of a call, as [`Error`] names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Argument {
    /// The rows to explain.
    Data,
    /// The background rows.
    Background,
    /// The weights of background rows.
    Weights,
    /// The map of features to players.
    Players,
    /// The plan of the call.
    Plan,
    /// An option, such as the name of an index.
    Option,
}

impl std::fmt::Display for Argument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Data => "the data",
            Self::Background => "the background",
            Self::Weights => "the weights",
            Self::Players => "the map of players",
            Self::Plan => "the plan",
            Self::Option => "the option",
        })
    }
}

/// Why a saved explainer or background cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SavedProblem {
    /// The bytes are something else altogether.
    #[error("this is not a saved explainer or background of arborshap: it does not begin with ARBORSHP")]
    Foreign,
    /// The format has another version.
    #[error(
        "it is in version {found} of the format, and this arborshap reads version {known}; use the release that saved \
         it, or save it again"
    )]
    Version {
        /// The version of the bytes.
        found: u64,
        /// The version that this crate reads.
        known: u32,
    },
    /// An explainer where a background belongs, or the other way round.
    #[error("it holds {found}, not {expected}")]
    Holds {
        /// What the bytes hold.
        found: String,
        /// What they should hold.
        expected: &'static str,
    },
    /// Codes are laid out in another way.
    #[error(
        "it was saved by a version of arborshap that lays out codes in another way; use that version, or make the \
         explainer again"
    )]
    Layout,
    /// The content is cut off, changed or contradicts itself.
    #[error("the saved explainer or background is damaged: {0}")]
    Damaged(String),
    /// The file cannot be read or written.
    #[error("{0}")]
    File(String),
}

impl Error {
    pub(crate) fn forest(problem: impl Into<String>) -> Self {
        Self::Forest { problem: problem.into() }
    }

    pub(crate) fn input(what: Argument, problem: impl Into<String>) -> Self {
        Self::Input { what, problem: problem.into() }
    }

    /// Saved bytes that are cut off, changed, or contradict themselves.
    pub(crate) fn damaged(problem: impl std::fmt::Display) -> Self {
        SavedProblem::Damaged(problem.to_string()).into()
    }
}

impl From<SavedProblem> for Error {
    fn from(problem: SavedProblem) -> Self {
        Self::Saved { path: None, problem }
    }
}

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
