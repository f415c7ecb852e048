"""The columns of a row: their names, and the player that each belongs to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import checked_names
from arborshap.exceptions import InputError, ModelError

_SAVED_AS = {"column_names": str, "data_names": str, "players": int, "data_players": int, "player_names": str}
"""The lists that describe columns in a saved background, and the type of their entries."""


@dataclass(frozen=True, slots=True, eq=False)
class Apart:
    """The players that columns would be if no feature joined them.

    Attributes
    ----------
    owners
        The player of each column.
    names
        The names of the players.
    read
        The player of each column that the model itself reads: of each raw column, unless a pipeline makes other ones.
    """

    owners: tuple[int, ...]
    names: tuple[str, ...]
    read: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of a row, and the players of the game.

    The columns of a row are the model's features or, for a pipeline, its raw columns.

    Attributes
    ----------
    matched
        The names that a frame's columns are matched to; ``None`` if neither the model nor its rows have names.
    names
        The names of the columns in results.
    owners
        The player of each column.
    players : array of int32
        The player of each feature of the model: the paper's index map.
    player_names
        The names of the players.
    spaces_are_underscores
        Whether the names in `matched` have underscores in place of the spaces of training (LightGBM).
    apart
        The players before features that depend on several of them joined these; ``None`` if no feature does.
    """

    matched: tuple[str, ...] | None
    names: tuple[str, ...]
    owners: tuple[int, ...]
    players: NDArray[np.int32]
    player_names: tuple[str, ...]
    spaces_are_underscores: bool = False
    apart: Apart | None = None

    @property
    def n_players(self) -> int:
        """The number of players."""
        return len(self.player_names)

    @property
    def owner_names(self) -> list[str]:
        """The name of each column's player."""
        return [self.player_names[player] for player in self.owners]

    @property
    def called(self) -> list[str]:
        """The name of each column as the caller knows it: that of its player if it plays alone."""
        alone = {player for player, count in Counter(self.owners).items() if count == 1}
        return [
            self.player_names[player] if player in alone else name
            for name, player in zip(self.names, self.owners, strict=True)
        ]

    def renamed(self, player_names: Sequence[str]) -> Self:
        """Return the same columns with other names for the players."""
        names = checked_names(player_names, self.n_players)
        return self if names is None else replace(self, player_names=tuple(names))

    def check_order(self, names: Sequence[str], what: str) -> None:
        """Raise `InputError` for a frame that has the names given later, by `renamed`, in another order.

        Without names of its own, a model takes columns by their position, whatever a frame calls them.
        """
        if self.matched is not None or self.player_names == self.names or tuple(names) == self.player_names:
            return
        if sorted(names) == sorted(self.player_names):
            raise InputError(
                f"{what} has the columns {list(names)}, but feature_names has them in another order, "
                f"{list(self.player_names)}; put the columns into that order"
            )

    def named_by(self, names: Sequence[str] | None) -> Self:
        """Return the columns with the names of a frame of rows, if neither the model nor the background has names."""
        if names is None or self.matched is not None or len(names) != len(self.names):
            return self
        called = dict(zip(self.names, names, strict=True))
        player_names = tuple(called.get(name, name) for name in self.player_names)
        if len(set(player_names)) < len(player_names):
            return self
        apart = self.apart
        if apart is not None:
            apart = replace(apart, names=tuple(called.get(name, name) for name in apart.names))
        return replace(self, names=tuple(names), player_names=player_names, apart=apart)

    def agreed_with(self, other: Columns) -> Columns:
        """Return the columns of two parts of a background, which must be the same if both have names."""
        if self.matched is None or other.matched is None:
            return other if self.matched is None else self
        if self.matched != other.matched:
            raise other_columns("one part was made from", self.matched, other.matched)
        if self.player_names != other.player_names:
            raise InputError(
                "these parts of a background have different names for their groups: "
                f"{list(self.player_names)} and {list(other.player_names)}; give the same groups for all parts"
            )
        return self

    def adopted_by(self, wanted: Columns, *, keep_groups: bool) -> Columns:
        """Return the columns of an explainer against this background.

        Parameters
        ----------
        wanted
            The explainer's columns, according to its model and arguments.
        keep_groups
            Whether the explainer takes over this background's players, because it was given no groups of its own.
        """
        if wanted.matched is None:
            wanted = replace(wanted, matched=self.matched, names=self.names)
        if len(self.players) != len(wanted.players):
            raise InputError(
                f"the background has {len(self.players)} features, but the model has {len(wanted.players)}; "
                "make the background with this model"
            )
        if self.matched not in (None, wanted.matched):
            raise other_columns("the background was made from", self.matched, wanted.matched or ())
        if not keep_groups:
            return wanted
        # A column that plays alone has the name that the explainer gives it.
        called = dict(zip(self.names, wanted.names, strict=True))
        player_names = tuple(called.get(name, name) for name in self.player_names)
        return replace(wanted, players=self.players, owners=self.owners, player_names=player_names)

    def to_json(self) -> dict[str, Any]:
        """Return a description of the columns that JSON can hold."""
        return {
            "column_names": None if self.matched is None else list(self.matched),
            "data_names": list(self.names),
            "players": self.players.tolist(),
            "data_players": list(self.owners),
            "player_names": list(self.player_names),
        }

    @classmethod
    def from_json(cls, described: Any) -> Self:
        """Read such a description, which may have been tampered with."""
        for key, kind in _SAVED_AS.items():
            found = described.get(key, 0) if isinstance(described, dict) else 0
            if not (found is None and key == "column_names") and not (
                isinstance(found, list) and all(isinstance(entry, kind) for entry in found)
            ):
                raise ModelError(f"the names of the background's columns cannot be read: {key!r} is damaged")
        players, owners = described["players"], described["data_players"]
        names, matched, n_players = described["data_names"], described["column_names"], len(described["player_names"])
        lengths = {len(owners), len(names), len(matched or names)}
        if len(lengths) > 1 or not all(0 <= player < n_players for player in [*players, *owners]):
            raise ModelError("the names of the background's columns do not fit together")
        return cls(
            matched=None if matched is None else tuple(matched),
            names=tuple(names),
            owners=tuple(owners),
            players=np.array(players, np.int32),
            player_names=tuple(described["player_names"]),
        )


def other_columns(whose: str, ours: Sequence[str] | None, theirs: Sequence[str]) -> InputError:
    """Return the error for two sets of columns with different names."""
    return InputError(
        f"{whose} the columns {None if ours is None else list(ours)}, in this order, but {list(theirs)} are needed; "
        "the model does not name its columns, so give the same feature_names everywhere"
    )
