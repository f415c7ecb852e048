//! Sets of players and members of groups, for `_core.Explainer`.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use super::errors;
use crate::error::{Argument, Error};
use crate::explainer::Explainer;
use crate::hierarchy::Hierarchy;
use crate::set_index::SetIndex;

/// The index of this name, with its parameters.
pub(super) fn set_index_named(py: Python<'_>, name: &str, parameters: &[f64]) -> PyResult<SetIndex> {
    Ok(match (name, parameters) {
        ("SII", []) => SetIndex::Sii,
        ("k-SII", []) => SetIndex::KSii,
        ("STII", []) => SetIndex::Stii,
        ("FSII", []) => SetIndex::Fsii,
        ("BII", []) => SetIndex::Bii,
        ("beta", &[alpha, beta]) => SetIndex::Beta { alpha, beta },
        ("weighted-banzhaf", &[p]) => SetIndex::WeightedBanzhaf { p },
        ("semivalue", weights) => SetIndex::Semivalue { weights: weights.to_vec() },
        _ => {
            let problem = format!("the index {name:?} with {} parameters is unknown", parameters.len());
            return Err(errors::exception(py, &Error::input(Argument::Option, problem)));
        }
    })
}

/// The players of each set, with -1 in unused places, and the number of sets.
pub(super) fn set_players(explainer: &Explainer, order: usize) -> crate::error::Result<(Vec<i32>, usize)> {
    let sets = explainer.player_sets(order)?;
    let mut players = vec![-1; sets.len() * order];
    for (set, places) in sets.iter().zip(players.chunks_exact_mut(order)) {
        places.iter_mut().zip(set).for_each(|(place, &player)| *place = player as i32);
    }
    Ok((players, sets.len()))
}

/// The hierarchy, from Python.
pub(super) fn hierarchy_from(
    py: Python<'_>,
    n_players: usize,
    parent: &PyReadonlyArray1<'_, i32>,
    ordered: &PyReadonlyArray1<'_, bool>,
) -> PyResult<Hierarchy> {
    let parent = parent.as_slice()?.iter().map(|&node| u32::try_from(node).unwrap_or(u32::MAX)).collect();
    Hierarchy::new(n_players, parent, ordered.as_slice()?.to_vec()).map_err(|e| errors::exception(py, &e))
}
