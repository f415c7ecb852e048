"""Several populations of one model, counted and compiled once, to be compared with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import checked_choice, checked_flag
from arborshap.exceptions import ArborshapError, InputError
from arborshap.explain.background import Background
from arborshap.explain.comparable import reader_of_model
from arborshap.explain.labels import MODEL_OUTPUTS, OutputName
from arborshap.explain.outputs import output_of
from arborshap.explain.population import Population, change_error
from arborshap.explain.reader import Reader
from arborshap.explain.settings import Settings
from arborshap.explain.state import State
from arborshap.explain.values import without_single_output
from arborshap.explain.weighted import shared_memory
from arborshap.game.groups import Groups
from arborshap.game.indices import IndexName


@dataclass(frozen=True, slots=True)
class Options:
    """How several populations are counted and compared; see `cohort_contrasts`."""

    model_output: OutputName | None
    groups: Groups | None
    error_bars: bool
    n_jobs: int | None
    memory_limit: int | None

    @property
    def settings(self) -> Settings:
        """The threads and the memory of the comparison."""
        return Settings.of(n_jobs=self.n_jobs, memory_limit=self.memory_limit)


def counted(model: Any, populations: Any, what: str, options: Options) -> dict[str, Background]:
    """Count each population that is given as rows; `what` names one of them in messages."""
    if not isinstance(populations, Mapping):
        raise InputError(
            f"the {what}s must be a dictionary that maps names to rows or Backgrounds; got a "
            f"{type(populations).__name__}"
        )
    if len(populations) < 2:
        raise InputError(f"a comparison needs at least two {what}s; got {len(populations)}")
    if len({str(name) for name in populations}) < len(populations):
        raise InputError(f"two {what}s have the same name as text; rename one of them")
    checked_flag("error_bars", options.error_bars)
    if options.model_output is not None:
        checked_choice("model_output", options.model_output, MODEL_OUTPUTS)
    state = getattr(model, "state", None)
    if isinstance(state, State):
        reader_of_model(model, state.columns, options.settings)  # refuses a path-dependent explainer
        possible = options.model_output in (None, "raw", state.model_output)
        if options.groups is not None or not possible:
            raise InputError("an explainer brings its own groups and model_output; leave them out")
    found = {}
    for name, rows in populations.items():
        try:
            found[str(name)] = _background(model, rows, options)
        except ArborshapError as error:
            raise type(error)(f"{what} {str(name)!r}: {error}") from error
        if len(found[str(name)]) == 0:
            raise InputError(f"{what} {str(name)!r} has no rows; a comparison needs at least one")
    return found


def _background(model: Any, rows: Any, options: Options) -> Background:
    if isinstance(rows, Background):
        return rows
    if isinstance(getattr(model, "state", None), State):
        part: Background = model.background_part(rows, error_bars=options.error_bars)
        return part
    return Background(
        model,
        rows,
        groups=options.groups,
        model_output=options.model_output or "raw",
        error_bars=options.error_bars,
        n_jobs=options.n_jobs,
    )


def compiled_populations(model: Any, parts: Sequence[Background], what: str, options: Options) -> list[Population]:
    """Compile an explainer against each of the populations, which must belong together."""
    names = {"raw" if part.weighted is None else part.weighted.name for part in parts}
    if options.model_output is None and len(names) > 1:
        raise InputError(
            f"the {what}s were made for different outputs, {sorted(names)}; make all for the same output, or compare "
            "them with model_output='raw'"
        )
    settings = options.settings
    settings = replace(settings, memory_limit=shared_memory(settings, 2 * len(parts)))
    first, *rest = parts
    columns = first.columns
    for part in rest:
        columns = columns.agreed_with(part.columns)
    reader: Reader = reader_of_model(model, columns, settings)
    name: Any = options.model_output or names.pop()
    output = output_of(reader.model, name, has_background=True)
    return [part.population(reader, settings, output) for part in parts]


def sampling_errors(pairs: Sequence[tuple[Population, Population]], index: IndexName) -> NDArray[np.float64] | None:
    """Compute how far each change between two populations may be off because both are samples.

    One that is not known is NaN; ``None`` if none is known. A single row does not tell how far the mean of such rows
    may be off.
    """
    found = []
    for pair in pairs:
        tell = all(one.deals is not None and len(one.deals.some()[0]) > 1 for one in pair)
        found.append(change_error(*pair, index) if tell else None)
    known = next((error for error in found if error is not None), None)
    if known is None:
        return None
    return np.stack([np.full(known.shape, np.nan) if error is None else error for error in found])


def shared_fields(
    state: State, values: NDArray[np.float64], errors: NDArray[np.float64] | None, index: str
) -> dict[str, Any]:
    """Return what every result of a comparison has: see `arborshap.result.comparison.Comparison`."""
    several = state.n_outputs > 1 and state.output_names is not None
    return {
        "values": without_single_output(state, values),
        "standard_error": None if errors is None else without_single_output(state, errors),
        "feature_names": list(state.columns.player_names),
        "output_names": list(state.output_names or ()) if several else None,
        "index": index,
        "model_output": state.model_output,
        "unit": state.unit,
    }
