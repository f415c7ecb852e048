"""Backgrounds in parts, in the weightings that an output needs: each weighting is counted like a background.

Parts are merged bit for bit, so the weight of a row must depend on the model and on the row alone. The margins are
therefore divided into fixed panels, such as -12 to 12 for a logistic link, and each panel has a sum of products of its
own, which is exact enough for every row that the model could ever see. Only panels with rows take up space. Weights are
rounded to whole numbers of 2**-80, in which they are summed exactly.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap import _core
from arborshap.exceptions import InputError, ModelError
from arborshap.explain.labels import MODEL_OUTPUTS, OutputName
from arborshap.explain.outputs import ModelOutput
from arborshap.explain.panels import DIGITS, Panels, incomparable
from arborshap.explain.reader import Reader
from arborshap.explain.settings import Settings
from arborshap.explain.weighted import MarginCores, Product, Weighted, Weighting, check_finite
from arborshap.forest import Forest
from arborshap.forest.margins import forest_of_margin
from arborshap.rows.numbers import Matrix

Array: TypeAlias = NDArray[np.float64]
Key: TypeAlias = tuple[int, int, int]
"""The position of a term, the number of a panel, and the position of a product."""

_SCHEME, _COARSE_SCHEME = "2", "2 coarse"
"""Which weightings these are; files of another scheme mean something else."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightedParts:
    """The rows of a background, or of a part of one, in all weightings of an output.

    Attributes
    ----------
    name
        The name of the output.
    counts
        The counts in each weighting.
    coarse
        Whether these are fewer weightings, which give only about three digits: enough for error bars.
    """

    name: OutputName
    counts: dict[Key, _core.Background] = field(default_factory=dict)
    coarse: bool = False

    def merge(self, other: Self | None) -> Self:
        """Return the weightings of the rows of both."""
        self._check_same(other)
        assert other is not None
        counts = dict(self.counts)
        for key, theirs in other.counts.items():
            counts[key] = counts[key].merge(theirs) if key in counts else theirs
        return type(self)(self.name, counts, self.coarse)

    def subtract(self, part: Self | None) -> Self:
        """Return the weightings without the rows of a part."""
        self._check_same(part)
        assert part is not None
        counts = dict(self.counts)
        for key, theirs in part.counts.items():
            if key not in counts:
                raise InputError("some rows of this part are not in the background")
            counts[key] = counts[key].subtract(theirs)
        return type(self)(self.name, {key: left for key, left in counts.items() if left.n_rows}, self.coarse)

    def _check_same(self, other: Self | None) -> None:
        """Check that both were made for the same output; those of backgrounds and those of deals are never mixed."""
        if other is None or other.name != self.name:
            theirs = "raw" if other is None else other.name
            raise InputError(
                f"one Background was made for model_output={self.name!r}, and the other for {theirs!r}; make all parts "
                "for the same output"
            )

    def to_texts(self) -> dict[str, list[str]]:
        """Return the weightings as lists of texts, to be saved beside other arrays."""
        ordered = sorted(self.counts)
        keys = [f"{term} {panel} {product}" for term, panel, product in ordered]
        saved = [b64encode(self.counts[key].to_bytes({})).decode("ascii") for key in ordered]
        return {
            "weighted_output": [self.name],
            "weighting_scheme": [_COARSE_SCHEME if self.coarse else _SCHEME],
            "weightings": keys,
            "weighted_counts": saved,
        }

    @classmethod
    def from_texts(cls, texts: dict[str, list[str]]) -> Self | None:
        """Read the lists that `to_texts` wrote; ``None`` if there are none."""
        if "weighted_output" not in texts:
            return None
        try:
            (name,) = texts["weighted_output"]
            if name not in MODEL_OUTPUTS:
                raise ModelError(f"this version does not know the saved model_output {name!r}")
            scheme = texts.get("weighting_scheme")
            if scheme not in ([_SCHEME], [_COARSE_SCHEME]):
                raise ModelError(
                    f"the rows were counted for model_output={name!r} by another version, with other weightings; count "
                    "them again"
                )
            counts: dict[Key, _core.Background] = {}
            for key, saved in zip(texts["weightings"], texts["weighted_counts"], strict=True):
                term, panel, product = map(int, key.split())
                counts[term, panel, product], _ = _core.Background.from_bytes(b64decode(saved, validate=True))
        except ModelError:
            raise
        except (KeyError, ValueError) as error:
            raise ModelError(f"the saved weightings are not valid: {error}") from error
        return cls(name, counts, scheme == [_COARSE_SCHEME])


class WeightedIntake:
    """Counts rows in all weightings of an output."""

    def __init__(self, panels: Panels, nothing: dict[int, _core.Background], n_threads: int) -> None:
        self._panels, self._nothing, self._n_threads = panels, nothing, n_threads
        self.parts = WeightedParts(panels.output.name, coarse=panels.coarse)

    @classmethod
    def of(cls, output: ModelOutput, reader: Reader, n_threads: int) -> Self:
        """Prepare to count rows for this output; `nothing` is a background without rows for each margin."""
        forest, columns = reader.model.forest, reader.columns
        panels = Panels.of(output, forest)
        nothing = {
            margin: _core.Background(
                forest_of_margin(forest, margin).native,
                players=columns.players,
                n_players=columns.n_players,
                n_threads=n_threads,
            )
            for margin in {term.margin for term in panels.output.terms}
        }
        return cls(panels, nothing, n_threads)

    def coarse(self) -> Self | None:
        """Return another one for the same output, coarse and without rows; ``None`` if it would be of no use."""
        panels = Panels.of(self._panels.output, self._panels.forest, coarse=True)
        if incomparable(panels) is not None:
            return None
        return type(self)(panels, self._nothing, self._n_threads)

    def add(self, rows: Matrix, weights: Array | None, what: str) -> None:
        """Count more rows; `what` names them in messages."""
        forest, output = self._panels.forest, self._panels.output
        margins = forest.native.margin(rows, self._n_threads)
        check_finite(output, margins, what, 0)
        for t, term in enumerate(output.terms):
            if self._panels.is_plain(t):
                continue
            panels = self._panels.numbers(t, margins[:, term.margin])
            for panel in np.unique(panels).tolist():
                own = np.flatnonzero(panels == panel)
                found = self._panels.factors(t, panel).weights(margins[own, term.margin])
                for r, sizes in enumerate(found if weights is None else found * weights[own]):
                    self._count((t, panel, r), term.margin, rows[own], _rounded(sizes / self._panels.scale))

    def _count(self, key: Key, margin: int, rows: Matrix, weights: Array) -> None:
        if not weights.any():
            return
        if key not in self.parts.counts:
            self.parts.counts[key] = self._nothing[margin].empty()
        self.parts.counts[key].add(rows, weights, n_threads=self._n_threads)


def _rounded(weights: Array) -> Array:
    """Round weights to the units in which they are summed exactly."""
    return np.ldexp(np.rint(np.ldexp(weights, DIGITS)), -DIGITS)


def weighted_by_parts(
    output: ModelOutput,
    forest: Forest,
    plain: _core.Explainer,
    weight: float,
    parts: WeightedParts,
    settings: Settings,
) -> Weighted:
    """Make explainers against a background that was counted in parts.

    Parameters
    ----------
    output
        What is explained.
    forest
        The trees.
    plain
        The explainer of all margins against the same background with its own weights.
    weight
        The weight of the whole background.
    parts
        The background in all weightings.
    settings
        The threads, and the memory that all weightings share.
    """
    panels = Panels.of(output, forest, coarse=parts.coarse)
    margin_cores = MarginCores.of(panels.output, forest, plain, settings, len(parts.counts) + 1)
    weightings: list[Weighting] = []
    places: dict[Key, int] = {}
    for key in sorted(parts.counts):  # so that sums do not depend on the order of merging
        counts = parts.counts[key]
        term = panels.output.terms[key[0]]
        core = margin_cores.against_counts(term.margin, counts)
        places[key] = len(weightings)
        weightings.append(Weighting(core, panels.scale * counts.weight / weight, term.output))
    nothing = len(weightings)  # stands for weightings in which all rows of a panel have the weight 0
    weightings.append(Weighting(plain, 0.0, 0))
    products = []
    for t, term in enumerate(panels.output.terms):
        if panels.is_plain(t):
            products.append(Product(term, panels.factors(t, 0), (len(weightings),)))
            weightings.append(Weighting(plain, 1.0, term.output))
        for panel in sorted({key[1] for key in places if key[0] == t}):
            found = panels.factors(t, panel)
            products.append(Product(term, found, tuple(places.get((t, panel, r), nothing) for r in range(found.rank))))
    return Weighted(panels.output, forest.native, tuple(products), tuple(weightings))
