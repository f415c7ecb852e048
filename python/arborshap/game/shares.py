"""What each coalition's worth adds to an index of a small game, straight from the definitions."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from arborshap.game.indices import PAIR_INDICES, IndexName


def shares_of(index: IndexName, joined: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the factor of one coalition's worth in the index of every player, or of every pair of players.

    Parameters
    ----------
    index
        The index.
    joined
        Whether each player of the game is in the coalition.

    Returns
    -------
    array, (players,) or (players, players)
        The index of a game is the sum over all coalitions of their worth times these factors. Pairs have half of their
        value on either side of the diagonal, as everywhere in arborshap.
    """
    n = len(joined)
    signs = np.where(joined, 1.0, -1.0)
    others = int(joined.sum()) - joined  # members of the coalition without the player itself
    if index == "banzhaf":
        return np.asarray(signs * 0.5 ** (n - 1))
    of_players: NDArray[np.float64] = signs * np.array([1.0 / (n * comb(n - 1, int(size))) for size in others])
    if index not in PAIR_INDICES:
        return of_players
    others_of_pair = np.subtract.outer(others, joined.astype(np.int64)).clip(min=0)
    if index == "taylor":
        weights = np.array([1.0 / (n * comb(n - 1, size)) for size in range(n)])
    else:
        weights = np.array([0.5 / ((n - 1) * comb(n - 2, size)) if size <= n - 2 else 0.0 for size in range(n)])
    matrix: NDArray[np.float64] = np.outer(signs, signs) * weights[others_of_pair]
    np.fill_diagonal(matrix, 0.0)
    alone = np.where(joined, int(joined.sum()) == 1, -float(not joined.any()))  # Theorem 18's main effect
    np.fill_diagonal(matrix, alone if index == "taylor" else of_players - matrix.sum(axis=1))
    return matrix
