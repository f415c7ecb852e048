"""Why a mean prediction moved when both the data and the model changed: the model is one more player."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.explain.background import Background
from arborshap.explain.contrasts import contrast_of
from arborshap.explain.reader import Gate, Reader
from arborshap.explain.settings import Settings
from arborshap.explain.state import State, compiled
from arborshap.forest.switch import switched
from arborshap.game.columns import Columns
from arborshap.game.groups import Groups
from arborshap.models.compose import Part, joined_forest
from arborshap.models.link import UNKNOWN
from arborshap.models.model import Model
from arborshap.result.explanation import Explanation

Array: TypeAlias = NDArray[np.float64]


def release_attribution(
    old: Any,
    new: Any,
    before: Any,
    after: Any,
    *,
    groups: Groups | None = None,
    feature_names: Sequence[str] | None = None,
    verify: bool = True,
    n_jobs: int | None = None,
    memory_limit: int | None = None,
) -> Explanation:
    """Explain why the mean prediction moved when both the model and the data changed.

    The players are the columns, or groups of them, and the model. A coalition takes its columns from the rows after the
    release and the others from the rows before it, and predicts with the new model if the model is in the coalition.
    Each player gets its Shapley value of that game, averaged over all pairs of rows.

    Parameters
    ----------
    old, new
        The two models, in any form that `TreeExplainer` accepts, with the same outputs in the same unit. They may be of
        different libraries, prepare rows in different ways, and use different columns.
    before, after
        The rows of the two populations. A model picks its columns from a frame by name; a matrix needs the same
        columns for both models.
    groups, feature_names, verify, n_jobs, memory_limit
        As for `TreeExplainer`; they hold for both models.

    Returns
    -------
    Explanation
        The explanation of a single change: its last player is ``"model"``, its base value is the mean prediction of the
        old model before the release, and its values sum to the mean prediction of the new model after it, less the
        base value. `standard_error` says how far each value may be off because the rows are samples.
    """
    settings = Settings.of(n_jobs=n_jobs, memory_limit=memory_limit)
    for what, rows in (("before", before), ("after", after)):
        if isinstance(rows, Background):
            raise InputError(
                f"{what} is a Background, which was counted for one model only, but a release has two; give the rows"
            )
    sides = []
    for model in (old, new):
        reader, first = Reader.of(
            model,
            before,
            groups=groups,
            feature_names=feature_names,
            verify=verify,
            n_threads=settings.n_threads,
            what="before",
        )
        if first is None:
            raise InputError("before is missing: give the rows before the release")
        second = reader.read(after, "after").matrix
        for what, matrix in (("before", first.matrix), ("after", second)):
            if len(matrix) == 0:
                raise InputError(f"{what} has no rows; a comparison needs at least one on each side")
        reader.verify(first.matrix, "before")
        sides.append((reader, first.matrix, second))
    reader = _release(sides[0][0], sides[1][0])
    theirs = _beside([side[1] for side in sides], 0.0)
    ours = _beside([side[2] for side in sides], 1.0)
    state = State.of(reader, settings, compiled(reader, settings, theirs[:1]))
    contrast = contrast_of(state, ours, theirs)
    return Explanation(
        contrast.values,
        contrast.base[:, 0] if state.n_outputs == 1 else contrast.base,
        feature_names=reader.columns.player_names,
        output_names=state.output_names,
        standard_error=contrast.standard_error,
    )[0]


def _beside(matrices: list[Any], switch: float) -> Array:
    """Put what each model sees of the same rows side by side, and then the feature that says which model predicts."""
    return np.column_stack([*matrices, np.full(len(matrices[0]), switch)]).astype(np.float64, copy=False)


def _check_same_unit(old: Model, new: Model) -> None:
    """Raise `InputError` if the raw predictions of two models cannot be subtracted from each other."""
    links = old.link, new.link
    if UNKNOWN not in links and links[0] != links[1]:
        named = [link.name for link in links]
        said = f"{named[0]} and {named[1]}" if named[0] != named[1] else f"two different {named[0]} links"
        raise InputError(
            f"the raw predictions of the old and the new model have different units (their links are {said}), so their "
            "difference means nothing; compare models of the same kind"
        )
    if old.classes is None or new.classes is None:
        return
    ours, theirs = np.asarray(new.classes).tolist(), np.asarray(old.classes).tolist()
    if ours != theirs:
        raise InputError(f"the old model has the classes {theirs}, the new one has {ours}; they must be the same")


def _release(old: Reader, new: Reader) -> Reader:
    """Return a reader of one forest that is the old model, or the new one if its last feature is 1."""
    models = old.model, new.model
    widths = [model.forest.n_features for model in models]
    numbers = [model.forest.n_outputs for model in models]
    if numbers[0] != numbers[1]:
        raise InputError(f"the old model has {numbers[0]} outputs, the new one has {numbers[1]}; they must be the same")
    _check_same_unit(*models)
    last = sum(widths)
    starts = 0, widths[0]
    parts = [
        Part(
            replace(model, forest=switched(model.forest, on=which == 1)),
            np.eye(numbers[0]),
            np.array([*range(starts[which], starts[which] + widths[which]), last]),
        )
        for which, model in enumerate(models)
    ]
    names = new.model.forest.output_names or old.model.forest.output_names
    forest = joined_forest(parts, last + 1, np.zeros(numbers[0]), None, names)
    players = list(dict.fromkeys([*old.columns.player_names, *new.columns.player_names]))
    called = "model" if "model" not in players else "the model itself"
    position = {name: i for i, name in enumerate(players)}
    owners = [
        position[reader.columns.player_names[player]] for reader in (old, new) for player in reader.columns.players
    ]
    owners.append(len(players))
    columns = Columns(
        matched=None,
        names=tuple(f"feature {j}" for j in range(last + 1)),
        owners=tuple(owners),
        players=np.array(owners, np.int32),
        player_names=(*players, called),
    )
    model = replace(new.model, forest=forest, encode=None, raw_predict=None)
    return Reader(model, columns, None, Gate(is_open=False, n_threads=new.gate.n_threads))
