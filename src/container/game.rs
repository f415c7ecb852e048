//! A game, that is, a forest and its players, as arrays of a container.

use super::{Reader, Writer};
use crate::error::{Error, Result};
use crate::forest::{Forest, ForestArrays};
use crate::players::Players;

/// A file may have up to this many players even if it has fewer features.
const FEW_PLAYERS: usize = 1 << 12;

pub(crate) fn write_game(out: &mut Writer, forest: &Forest, players: &Players) {
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

pub(crate) fn read_game(from: &mut Reader<'_>) -> Result<(Forest, Players)> {
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
        return Err(Error::damaged(format!(
            "`players` has {} entries for {} features",
            players.len(),
            arrays.n_features
        )));
    }
    // Results have a cell for every player; a single number in a file must not make them huge.
    if count > players.len().max(FEW_PLAYERS) {
        return Err(Error::damaged(format!("it has {count} players for {} features", players.len())));
    }
    Ok((arrays.flat().build()?, Players::grouped(players, count).map_err(Error::damaged)?))
}
