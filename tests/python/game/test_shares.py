"""The factors of coalitions in the indices of small games, against sums over all coalitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arborshap.game.shares import shares_of
from support.oracle import INDICES


@pytest.mark.parametrize("n_players", [1, 2, 3, 5])
@pytest.mark.parametrize("index", list(INDICES))
def test_the_factors_are_those_of_the_definition(index: Any, n_players: int) -> None:
    worth = np.random.default_rng(n_players).normal(size=(1 << n_players, 3, 2))
    members = [np.array([coalition >> i & 1 == 1 for i in range(n_players)]) for coalition in range(1 << n_players)]
    found = sum(np.multiply.outer(shares_of(index, joined), worth[at]) for at, joined in enumerate(members))
    np.testing.assert_allclose(np.moveaxis(np.asarray(found), -2, 0), INDICES[index](worth), rtol=0, atol=1e-13)
