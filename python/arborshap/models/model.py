"""A loaded model: the forest, and how its library treats inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.notices import warn
from arborshap.exceptions import InputError
from arborshap.forest import Forest
from arborshap.models.link import UNKNOWN, Link
from arborshap.rows.frames import Rows, check_none_missing, is_ready, is_sparse, read_rows, read_some_rows


@dataclass(frozen=True, slots=True)
class Model:
    """A model of any library in the common format.

    Attributes
    ----------
    forest
        The trees.
    library
        The library and its version, such as ``"xgboost 3.2.0"``, or ``"xgboost JSON"`` for a file.
    link
        How margins become the library's prediction.
    classes
        The labels of a classifier's classes, in the order of their codes; ``None`` if the labels are these codes, or if
        they are not known.
    raw_predict
        For a live model, the library's own raw prediction of a float matrix, (rows, outputs), used to verify ours;
        ``None`` for a file. The matrix is the one that the trees see, after `encode`.
    predicts_given_rows
        Whether `raw_predict` takes rows before `encode` instead, because the library cannot read the encoded matrix.
    tolerance
        How far, relative to the size of the margins, the library's own arithmetic may be from float64.
    encode
        For a model that recodes its input (category columns, a marker for missing values), the function that turns a
        frame or float matrix, with its columns in the model's order, into the float matrix that the trees see; ``None``
        if columns are plain numbers. If its attribute ``takes_text`` is true, it also takes arrays with text. If the
        features that it makes are not the columns, its attributes ``sources``, ``n_columns`` and ``column_names`` tell
        the columns that each feature depends on, and the number and names of the columns.
    takes_missing
        Whether the library predicts rows with missing values at all.
    sparse_zero_is_missing
        Whether an entry that a sparse matrix does not store is missing (XGBoost, treelite) or zero (all other
        libraries); ``None`` if it is missing to some members of a wrapper and zero to others, so that sparse rows are
        refused.
    spaces_are_underscores
        Whether the model's names have underscores in place of the spaces of training (LightGBM).
    predicts_by_position
        Whether the library's own predict takes the columns of a frame in the order given, whatever their names
        (LightGBM).
    ask_margins
        Asks a pipeline that ends in this model for its raw predictions of some rows, to verify ours; ``None`` if no
        method of the library returns them.
    """

    forest: Forest
    library: str
    link: Link = UNKNOWN
    classes: NDArray[Any] | None = None
    raw_predict: Callable[[Any], NDArray[np.float64]] | None = None
    predicts_given_rows: bool = False
    tolerance: float = 1e-9
    encode: Callable[[Any], NDArray[np.float64]] | None = None
    takes_missing: bool = True
    sparse_zero_is_missing: bool | None = False
    spaces_are_underscores: bool = False
    predicts_by_position: bool = False
    ask_margins: Callable[[Any, Any], Any] | None = None

    @property
    def sources(self) -> list[frozenset[int]] | None:
        """The columns that each feature of the trees depends on; ``None`` if the features are the columns."""
        return getattr(self.encode, "sources", None)

    @property
    def n_columns(self) -> int:
        """Number of columns of a row."""
        return self.forest.n_features if self.sources is None else int(getattr(self.encode, "n_columns", 0))

    @property
    def column_names(self) -> Sequence[str] | None:
        """Names of the columns of a row, if the model records them."""
        names: Sequence[str] | None = getattr(self.encode, "column_names", None)
        return self.forest.feature_names if self.sources is None else names

    def read(self, rows: Any, what: str, names: Sequence[str] | None = None, *, one: bool = False) -> Rows:
        """Read rows as the trees see them.

        Parameters
        ----------
        rows
            Rows of any kind.
        what
            What to call the rows in messages.
        names
            The names to which the columns of a frame are matched.
        one
            Whether a single row is allowed that is not in a matrix.
        """
        read = read_some_rows if one else read_rows
        if self.sparse_zero_is_missing is None and is_sparse(rows):
            raise InputError(
                f"{what}: an entry that a sparse matrix does not store is missing to XGBoost and zero to other members "
                "of this model; pass a dense matrix"
            )
        found = read(
            rows,
            what,
            names=names,
            n_features=self.n_columns,
            encode=self.encode,
            sparse_zero_is_missing=bool(self.sparse_zero_is_missing),
            spaces_are_underscores=self.spaces_are_underscores,
        )
        if found.reordered and self.predicts_by_position:
            warn(
                f"the columns of {what} are in another order than in training. They are matched by name here, but the "
                f"predict method of {self.library.partition(' ')[0]} goes by position, so it mixes up the columns of "
                "this frame; put the columns in the order of training"
            )
        if not self.takes_missing:
            check_none_missing(found.matrix, what, found.names, self.library)
        return found

    def takes_as_it_is(self, rows: Any) -> bool:
        """Whether the trees can read these rows without a copy, a check or a recoding."""
        return is_ready(rows) and rows.shape[1] == self.forest.n_features and self.encode is None and self.takes_missing


def class_names(classes: NDArray[Any] | None, n_outputs: int) -> list[str] | None:
    """Name the outputs of a classifier after its classes, if there is one output per class."""
    return [str(label) for label in classes] if classes is not None and len(classes) == n_outputs > 1 else None
