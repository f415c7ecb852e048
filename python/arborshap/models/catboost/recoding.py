"""What CatBoost does to rows with categories before its trees see them, as plain data that can be saved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError, ModelError
from arborshap.models.catboost.hashing import category_hash
from arborshap.models.catboost.statistics import Statistic, Test
from arborshap.rows.categories import column_of
from arborshap.rows.columns import numbers
from arborshap.rows.numbers import floats, is_missing

_ADVICE = "CatBoost takes only text and whole numbers as categories; turn the column into text as for training"


@dataclass(frozen=True)
class CatBoostRecoding:
    """Turns rows into numbers: the columns, with a code for each category, and then the statistics of categories.

    The code of a category is its position among the categories that splits name, or their number if no split does. The
    hashes of categories come last; no split reads them, but statistics of several columns can be made of them again.

    Attributes
    ----------
    column_names
        The names of the columns, if the model records them.
    named
        Per column, the hashes of the categories that splits name; ``None`` for a column of numbers.
    statistics
        The statistics that splits compare with a border.
    hashed
        The columns whose hashes are kept: those of categories in a statistic of several columns.
    """

    column_names: tuple[str, ...] | None
    named: tuple[tuple[int, ...] | None, ...]
    statistics: tuple[Statistic, ...]
    hashed: tuple[int, ...] = ()
    kind: ClassVar[str] = "categories of CatBoost"
    takes_text: ClassVar[bool] = True

    @property
    def n_columns(self) -> int:
        """Number of columns of a row."""
        return len(self.named)

    @property
    def text_columns(self) -> list[int]:
        """The columns of categories, which are known by their hashes only."""
        return [column for column, named in enumerate(self.named) if named is not None]

    @cached_property
    def sources(self) -> list[frozenset[int]]:
        """The columns that each feature of the trees depends on."""
        own = [frozenset([column]) for column in range(self.n_columns)]
        of_statistics = [frozenset(statistic.columns) for statistic in self.statistics]
        return own + of_statistics + [frozenset([column]) for column in self.hashed]

    @cached_property
    def feature_names(self) -> list[str]:
        """The names of the features that the trees see."""
        columns = self.column_names or [f"x{j}" for j in range(self.n_columns)]
        names = list(columns)
        for statistic in self.statistics:
            of = " and ".join(columns[column] for column in statistic.columns)
            name = f"{statistic.kind} of {of}"
            names.append(name if name not in names else f"{name} ({len(names)})")
        for column in self.hashed:
            name = f"hash of {columns[column]}"
            names.append(name if name not in names else f"{name} ({len(names)})")
        return names

    def __call__(self, rows: Any) -> NDArray[np.float64]:
        """Recode rows."""
        columns, features = [], []
        for named, cells in zip(self.named, self._columns(rows), strict=True):
            if named is None:
                columns.append(cells)
                features.append(cells)
                continue
            codes, texts = cells
            hashes = np.array([category_hash(text) for text in texts], np.uint32)
            position = {value: float(code) for code, value in enumerate(named)}
            columns.append(hashes[codes])
            features.append(np.array([position.get(value, len(named)) for value in hashes.tolist()], np.float64)[codes])
        features += [statistic.of(columns) for statistic in self.statistics]
        features += [columns[column].astype(np.float64) for column in self.hashed]
        return np.column_stack(features)

    def inputs(self, feature: int) -> dict[int, int]:
        """Return where a statistic's columns stand among the features, from which `made` makes it again."""
        first = self.n_columns + len(self.statistics)
        return {
            column: column if self.named[column] is None else first + self.hashed.index(column)
            for column in self.statistics[feature - self.n_columns].columns
        }

    def made(self, feature: int, columns: dict[int, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return a statistic of rows that are mixed of others, given their numbers or hashes by column."""
        given: list[Any] = [None] * self.n_columns
        for column, cells in columns.items():
            given[column] = cells if self.named[column] is None else cells.astype(np.uint32)
        return self.statistics[feature - self.n_columns].of(given)

    def table(self, rows: Any) -> NDArray[Any]:
        """Return rows as CatBoost itself reads them from any kind of rows: numbers, and categories as text."""
        columns = [
            cells if named is None else np.array(cells[1], object)[cells[0]]
            for named, cells in zip(self.named, self._columns(rows), strict=True)
        ]
        table = np.empty((len(columns[0]), len(columns)), object)
        for j, column in enumerate(columns):
            table[:, j] = column
        return table

    def _columns(self, rows: Any) -> list[Any]:
        """Read each column: numbers, or the codes and the texts of categories."""
        is_matrix = isinstance(rows, np.ndarray)
        found: list[Any] = []
        for j, named in enumerate(self.named):
            name, column = (str(j), rows[:, j]) if is_matrix else column_of(rows, j)
            if is_matrix and self.column_names is not None:
                name = self.column_names[j]
            if named is not None:
                found.append(_texts(name, column, from_numbers=is_matrix and rows.dtype.kind == "f"))
            else:
                read = _floats(name, column) if is_matrix else numbers(name, column)
                found.append(read.astype(np.float64))
        return found

    def describe(self) -> dict[str, Any]:
        """Return a description that JSON can hold."""
        return {
            "column_names": self.column_names,
            "named": self.named,
            "hashed": self.hashed,
            "statistics": [
                {
                    "kind": one.kind,
                    "tests": [[test.column, test.border, test.nan_is_largest, test.category] for test in one.tests],
                    "keys": one.keys.tolist(),
                    "values": one.values.tolist(),
                    "default": one.default,
                }
                for one in self.statistics
            ],
        }

    @classmethod
    def from_description(cls, described: dict[str, Any], n_features: int) -> Self:
        """Read such a description, which may have been tampered with."""
        try:
            names = described["column_names"]
            recoding = cls(
                None if names is None else tuple(map(str, names)),
                tuple(None if named is None else tuple(map(int, named)) for named in described["named"]),
                tuple(_statistic(one) for one in described["statistics"]),
                tuple(map(int, described.get("hashed", ()))),  # older files have none
            )
            width = recoding.n_columns
            sources = recoding.sources
            fits = len(sources) == n_features and all(0 <= j < width for source in sources for j in source)
            is_category = [named is not None for named in recoding.named]
            fits = fits and (names is None or len(names) == width)
            fits = fits and all(is_category[column] for column in recoding.hashed)
            tests = [test for one in recoding.statistics for test in one.tests]
            fits = fits and all(is_category[test.column] == (test.border is None) for test in tests)
        except (KeyError, TypeError, ValueError, OverflowError, IndexError):
            fits = False
        if not fits:
            raise ModelError("the saved categories of CatBoost do not fit the model's columns")
        return recoding


def _statistic(described: Any) -> Statistic:
    keys = np.array(described["keys"], np.uint64)
    values = np.array(described["values"], np.float32)
    if keys.ndim != 1 or keys.shape != values.shape or (keys[1:] < keys[:-1]).any() or not described["tests"]:
        raise ValueError("keys and values differ")
    tests = tuple(
        Test(int(column), border, bool(nan), category) for column, border, nan, category in described["tests"]
    )
    return Statistic(str(described["kind"]), tests, keys, values, float(described["default"]))


def _floats(name: str, column: NDArray[Any]) -> NDArray[Any]:
    """Read a column of numbers from an array, which may hold them as objects or, beside texts, as text."""
    if column.dtype.kind not in "OU":
        return floats(column, "", name)
    cells = []
    for cell in column:
        try:
            cells.append(float(cell) if isinstance(cell, str) else cell)
        except ValueError:
            cells.append(cell)  # refused below, by its row
    return floats(np.array(cells, object), "", name)


def _texts(name: str, column: Any, *, from_numbers: bool) -> tuple[NDArray[np.intp], list[str]]:
    """Return the distinct categories of a column as text, and the position of each row's among them."""
    if hasattr(column, "to_pylist"):  # pyarrow
        cells = column.to_pylist()
    else:
        cells = column.tolist() if hasattr(column, "tolist") else column.to_list()
    position: dict[tuple[type, Any], int] = {}
    texts: list[str] = []
    codes = np.empty(len(cells), np.intp)
    for row, cell in enumerate(cells):
        key = (type(cell), cell)
        code = position.get(key) if cell.__hash__ is not None else None
        if code is None:
            texts.append(_text(name, row, cell, from_numbers))
            code = position[key] = len(texts) - 1
        codes[row] = code
    return codes, texts


def _text(name: str, row: int, cell: Any, from_numbers: bool) -> str:
    """Return a category as the text that CatBoost hashes."""
    if isinstance(cell, str):
        try:
            cell.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise InputError(f"row {row} of column {name!r} is {cell[:40]!r}, which is not valid Unicode") from None
        return cell
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "surrogateescape")  # as CatBoost hashes them
    if isinstance(cell, (Integral, np.bool_)):
        return str(int(cell))
    if from_numbers and isinstance(cell, float) and cell.is_integer():  # a matrix of floats has no other whole numbers
        return str(int(cell))
    what = "missing" if is_missing(cell) else repr(cell)[:40]
    raise InputError(f"row {row} of column {name!r} is {what}, but the column holds categories; {_ADVICE}")
