//! The one error type of the crate.

/// What can go wrong, each with a message that names the place and says what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A node of a tree breaks a rule of the common format.
    #[error("tree {tree}, node {node}: {problem}")]
    Node {
        /// Number of the tree in the forest.
        tree: usize,
        /// Number of the node in its tree.
        node: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The forest as a whole breaks a rule of the common format.
    #[error("{0}")]
    Forest(String),
    /// Rows, weights, players or options that do not fit the forest.
    #[error("{0}")]
    Input(String),
    /// A saved explainer or background that cannot be read or written.
    #[error("{0}")]
    Saved(String),
    /// The result or a table would not fit in memory.
    #[error("{what} needs {bytes} bytes; explain fewer rows at a time or choose another engine")]
    Memory {
        /// What was to be allocated.
        what: String,
        /// How large it would be.
        bytes: u128,
    },
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
