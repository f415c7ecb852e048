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

/// `vec![0.0; a * b * ...]`, refused with [`Error::Memory`] where it cannot be had, instead of aborting.
pub(crate) fn zeros(what: &str, shape: &[usize]) -> Result<Vec<f64>> {
    let too_big = |bytes| Error::Memory { what: what.to_owned(), bytes };
    let wide = shape.iter().try_fold(8_u128, |a, &b| a.checked_mul(b as u128)).unwrap_or(u128::MAX);
    let len = usize::try_from(wide / 8).map_err(|_| too_big(wide))?;
    let mut out = Vec::new();
    out.try_reserve_exact(len).map_err(|_| too_big(wide))?;
    out.resize(len, 0.0);
    Ok(out)
}
