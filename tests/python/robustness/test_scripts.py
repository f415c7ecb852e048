"""The scripts that show robustness can tell good from bad."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest

from arborshap import TreeExplainer
from support.places import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import licences
import soak


@pytest.mark.parametrize(
    ("expression", "fine"),
    [
        ("MIT", True),
        ("MIT OR GPL-3.0", True),
        ("GPL-3.0 OR MIT", True),
        ("MIT AND GPL-3.0", False),
        ("(MIT OR GPL-3.0) AND Unicode-3.0", True),
        ("MIT OR (GPL-3.0 AND MIT)", True),
        ("GPL-3.0 AND (MIT OR Apache-2.0)", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-2.0 WITH Classpath-exception-2.0", False),
        ("MIT/Apache-2.0", True),
        ("", False),
        ("MIT MIT", False),
        ("(MIT", False),
    ],
)
def test_licences(expression: str, fine: bool) -> None:
    assert licences.allowed(expression) is fine


class ShortSoak(soak.Soak):
    """It ends after a number of models instead of a time."""

    models = 20

    def one(self, game: soak.Game, choose: random.Random, rng: np.random.Generator) -> None:
        super().one(game, choose, rng)
        if self.count["models"] == self.models:
            self.deadline = -np.inf


def test_a_short_soak() -> None:
    run = ShortSoak([soak.random_game(np.random.default_rng(0))], np.inf)
    run.hammer(seed=1)
    assert run.count["models"] == run.models
    assert run.count["answers compared"] >= 3 * run.models
    assert 0 < run.worst < 1e-13


def test_a_soak_that_finds_something() -> None:
    """An engine that is off by little more than rounding is found."""

    class Wrong(ShortSoak):
        def values(self, explainer: TreeExplainer, X: soak.Array, index: str) -> soak.Array:
            values = super().values(explainer, X, index)
            return values * (1 + 1e-8) if explainer.facts().engine == "traversal" else values

    run = Wrong([soak.random_game(np.random.default_rng(0))], np.inf)
    with pytest.raises(AssertionError, match="off by"):
        run.hammer(seed=1)
