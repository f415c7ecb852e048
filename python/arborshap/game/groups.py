"""Players from groups of columns: the paper's index map I, which maps every model feature to its player."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import is_whole
from arborshap.exceptions import InputError
from arborshap.game.relations import Relation, components, fitted_names, names_out, relation_of


class Transformer(Protocol):
    """A scikit-learn transformer or pipeline, or any object that follows its conventions."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn from rows."""


Groups: TypeAlias = Mapping[str, Iterable[str | int]] | Sequence[int] | NDArray[np.integer[Any]] | Transformer


def players_from(
    groups: Groups | None, feature_names: Sequence[str], n_features: int
) -> tuple[NDArray[np.int32], list[str]]:
    """Read groups in any of their forms.

    Parameters
    ----------
    groups
        ``None``: every feature is a player of its own. A dict ``{"name": [columns]}``, with columns by name or
        position: features that it does not list play alone, and a group takes the place of its first column. An index
        map, with the player of each feature such as ``[0, 1, 1, 2]``, in which every player from 0 up has a feature. A
        fitted transformer that made the model's columns: columns made from the same raw columns play as one.
    feature_names
        The model's columns, in order.
    n_features
        The number of columns.

    Returns
    -------
    players : array of int32, (features,)
        The player of each feature.
    names : list of str
        The players' names: that of the group, or of the feature that plays alone. A group of an index map is named
        after its features.

    Raises
    ------
    InputError
        If a column is unknown, out of range or in two groups, if a group is empty, or if a player has no feature.
    ModelError
        If the transformer is not fitted.
    """
    if groups is None:
        return np.arange(n_features, dtype=np.int32), list(feature_names)
    if isinstance(groups, Mapping):
        return _from_dict(groups, list(feature_names), n_features)
    if isinstance(groups, (list, tuple, range, np.ndarray)):
        return _from_index_map(groups, list(feature_names), n_features)
    if hasattr(groups, "fit") and (hasattr(groups, "transform") or hasattr(groups, "steps")):
        return _from_dict(_made_of_the_same(groups, list(feature_names)), list(feature_names), n_features)
    raise InputError(
        "groups must be a dict of lists of columns, an index map with the player of each feature, or a fitted "
        f"transformer; got a {type(groups).__name__}"
    )


def players_of(
    relation: Relation, groups: Groups | None, names: Sequence[str]
) -> tuple[NDArray[np.int32], list[int], list[str]]:
    """Find the players if features are made from columns: columns that share a feature, or a group, are one player.

    Parameters
    ----------
    relation
        The columns that each feature depends on.
    groups
        Groups of columns, in any of the forms that `players_from` reads.
    names
        The columns' names.

    Returns
    -------
    players : array of int32, (features,)
        The player of each feature.
    owners : list of int
        The player of each column. A column that no feature depends on is still a player, whose values are 0.
    names : list of str
        The players' names: those of a column, of a group, or of all columns that share a feature.
    """
    given, given_names = players_from(groups, names, relation.n_inputs)
    together = [np.flatnonzero(given == player).tolist() for player in range(len(given_names))]
    parts = components(relation.n_inputs, [*relation.sources, *together])
    # Players keep the order of their numbers in an index map, not that of their columns.
    lowest: dict[int, int] = {}
    for player, part in zip(given.tolist(), parts, strict=True):
        lowest[part] = min(player, lowest.get(part, player))
    owner_of = {part: owner for owner, part in enumerate(sorted(lowest, key=lowest.__getitem__))}
    owners = [owner_of[part] for part in parts]
    members: list[dict[str, None]] = [{} for _ in owner_of]
    for player, owner in zip(given, owners, strict=True):
        members[owner][given_names[player]] = None
    player_names = [joined(list(names_of_player)) for names_of_player in members]
    if len(set(player_names)) < len(player_names):
        raise InputError("groups: two players would have the same name; name one of them with groups={...}")
    return relation.owners(owners), owners, player_names


def joined(names: Sequence[str]) -> str:
    """Return a name made from the columns of a player that has no name of its own."""
    shown = " + ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} + {len(names) - 3} more"


def _made_of_the_same(transformer: Any, feature_names: list[str]) -> dict[str, list[int]]:
    """Group the columns that a fitted transformer makes from the same raw columns, and name the groups after those."""
    relation = relation_of(transformer)
    raw_names = fitted_names(transformer) or [f"x{j}" for j in range(relation.n_inputs)]
    made = names_out(transformer)
    width = len(relation.sources)
    if made is not None and set(made) <= set(feature_names):  # other columns may be between them
        columns = [feature_names.index(name) for name in made]
    elif width == len(feature_names):
        columns = list(range(width))
    else:
        raise InputError(
            f"groups: this {type(transformer).__name__} makes {width} columns, but the model has {len(feature_names)} "
            "features, whose names are different; give the transformer that made all of them"
        )
    player_of = components(relation.n_inputs, relation.sources)
    raw_of: dict[int, list[str]] = {}
    for raw, player in zip(raw_names, player_of, strict=True):
        raw_of.setdefault(player, []).append(raw)
    members: dict[int, list[int]] = {}
    for column, sources in zip(columns, relation.sources, strict=True):
        if sources:  # a constant stays alone: it never changes a prediction
            members.setdefault(player_of[min(sources)], []).append(column)
    groups = {joined(raw_of[player]): made_of_it for player, made_of_it in members.items()}
    if len(groups) < len(members):
        raise InputError("groups: two players would have the same name; rename a raw column, or give a dict of groups")
    return groups


def _from_dict(
    groups: Mapping[Any, Any], feature_names: list[str], n_features: int
) -> tuple[NDArray[np.int32], list[str]]:
    positions = {name: j for j, name in enumerate(feature_names)}
    group_of: dict[int, str] = {}
    for group, columns in groups.items():
        if not isinstance(group, str):
            raise InputError(f"groups: a group's name must be text, got {group!r}")
        if isinstance(columns, (str, bytes)) or not isinstance(columns, Iterable):
            raise InputError(f"groups: group {group!r} must be a list of columns, got {columns!r}")
        members = [_column_position(column, group, positions, n_features) for column in columns]
        if not members:
            raise InputError(f"groups: group {group!r} is empty")
        for j in members:
            if group_of.get(j) == group:
                raise InputError(f"groups: column {feature_names[j]!r} is listed twice in group {group!r}")
            if j in group_of:
                message = f"groups: column {feature_names[j]!r} is in two groups, {group_of[j]!r} and {group!r}"
                raise InputError(message)
            group_of[j] = group

    players = np.empty(n_features, dtype=np.int32)
    names: list[str] = []
    player_of: dict[str, int] = {}
    for j, feature in enumerate(feature_names):
        group = group_of.get(j)
        if group is None:
            players[j] = len(names)
            names.append(feature)
            continue
        if group not in player_of:
            player_of[group] = len(names)
            names.append(group)
        players[j] = player_of[group]
    alone = {feature for j, feature in enumerate(feature_names) if j not in group_of}
    for group in player_of:
        if group in alone:
            message = (
                f"groups: {group!r} is the name of a group and of a column outside it; give the group another name"
            )
            raise InputError(message)
    return players, names


def _column_position(column: Any, group: str, positions: Mapping[str, int], n_features: int) -> int:
    if isinstance(column, str):
        if column not in positions:
            raise InputError(f"groups: group {group!r} lists the column {column!r}, which the model does not have")
        return positions[column]
    if is_whole(column):
        if not 0 <= column < n_features:
            raise InputError(
                f"groups: group {group!r} lists column {column}, but the model's columns are 0 to {n_features - 1}"
            )
        return int(column)
    raise InputError(
        f"groups: group {group!r} lists {column!r}, which is neither the name nor the position of a column"
    )


def _from_index_map(groups: Any, feature_names: list[str], n_features: int) -> tuple[NDArray[np.int32], list[str]]:
    try:
        index_map = np.asarray(groups)
    except ValueError:  # lists of different lengths
        index_map = np.empty((0, 0))
    if index_map.ndim != 1 or (index_map.dtype.kind not in "iu" and index_map.size > 0):
        raise InputError("groups: an index map is a flat list of whole numbers, one per feature, such as [0, 1, 1, 2]")
    if len(index_map) != n_features:
        raise InputError(f"groups: the index map has {len(index_map)} entries, but the model has {n_features} features")
    if n_features == 0:
        return np.empty(0, dtype=np.int32), []
    if index_map.min() < 0:
        raise InputError(f"groups: entry {int(index_map.argmin())} of the index map is {index_map.min()}, below 0")
    if index_map.max() >= n_features:
        raise InputError(
            f"groups: entry {int(index_map.argmax())} of the index map is {index_map.max()}, "
            f"but {n_features} features make at most {n_features} players"
        )
    members: list[list[str]] = [[] for _ in range(int(index_map.max()) + 1)]
    for j, player in enumerate(index_map):
        members[player].append(feature_names[j])
    for player, features in enumerate(members):
        if not features:
            raise InputError(f"groups: the index map gives player {player} no feature; number players without gaps")
    return index_map.astype(np.int32), [joined(features) for features in members]
