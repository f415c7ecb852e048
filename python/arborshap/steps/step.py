"""A step: fitted state as plain arrays and words, and how it is written and read.

The words of a step go into one JSON document and its arrays, one after another, into one vector of float64. Both come
back from a stranger's file, so every field is checked when it is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError
from arborshap.steps.table import Table

Cell: TypeAlias = str | int | float | bool | None

DTYPES = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")
_LONGEST = 2**20
"""Numbers that a matrix may span in memory beyond a multiple of its size."""

_DEEPEST = 40
"""Most steps within steps; a deeper file was not written by us."""


class Step(Protocol):
    """A fitted step. It is a dataclass whose fields are plain: numbers, words, arrays, categories, other steps."""

    KIND: ClassVar[str]

    @classmethod
    def read(cls, saved: Fields) -> Self:
        """Make a step from its saved fields, each of which is checked."""

    @property
    def n_inputs(self) -> int | None:
        """Number of columns that go in; ``None`` if any number may."""

    def n_outputs(self, n_inputs: int) -> int:
        """Return how many columns are made; refuse parts that do not fit together."""

    def transform(self, rows: Table) -> Table:
        """Do to rows what scikit-learn's step does."""


def width_after(steps: Sequence[Step], n_inputs: int) -> int:
    """Return how many columns consecutive steps make of `n_inputs` columns; refuse steps that do not fit together."""
    for step in steps:
        if step.n_inputs not in (None, n_inputs):
            raise ModelError(f"the saved step {step.KIND!r} takes {step.n_inputs} columns, but it would get {n_inputs}")
        n_inputs = step.n_outputs(n_inputs)
    return n_inputs


class OneToOne:
    """A step that makes one column of each, of however many there are."""

    @property
    def n_inputs(self) -> int | None:
        """Any number of columns may go in."""
        return None

    def n_outputs(self, n_inputs: int) -> int:
        """Return how many columns are made."""
        return n_inputs


class Writer:
    """Writes steps: the words into a document, and the arrays into one vector."""

    def __init__(self) -> None:
        self._arrays: list[NDArray[np.float64]] = []
        self._length = 0

    @property
    def vector(self) -> NDArray[np.float64]:
        """All arrays, one after another."""
        return np.concatenate([np.empty(0), *self._arrays])

    def step(self, step: Any) -> dict[str, Any]:
        """Return the document of a step."""
        return {"kind": step.KIND, **{field.name: self._value(getattr(step, field.name)) for field in fields(step)}}

    def _value(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return self._array(value)
        if hasattr(value, "KIND"):
            return self.step(value)
        if isinstance(value, (list, tuple)):
            return [self._value(entry) for entry in value]
        if isinstance(value, float) and not math.isfinite(value):
            return {"number": str(value)}
        return value

    def _array(self, array: NDArray[Any]) -> dict[str, Any]:
        # A matrix product adds in an order that depends on how the matrix lies in memory.
        described = {"at": self._length, "shape": list(array.shape), "dtype": array.dtype.name, **_layout(array)}
        flat = np.flip(np.asarray(array, np.float64), tuple(described["backwards"])).ravel(described["order"])
        self._arrays.append(flat)
        self._length += len(flat)
        return described


def _layout(array: NDArray[Any]) -> dict[str, Any]:
    """Describe how an array lies in memory: in which order, along which axes backwards, with how much between lines."""
    strides = [abs(stride) for stride in array.strides]
    line = max(strides, default=0) // array.itemsize
    return {
        "order": "F" if strides != sorted(strides, reverse=True) else "C",
        "backwards": [axis for axis, stride in enumerate(array.strides) if stride < 0],
        "line": line if array.ndim == 2 else 0,
    }


def _laid_out(array: NDArray[Any], order: str, backwards: list[int], line: int) -> NDArray[Any]:
    """Lay an array out in memory as it was described."""
    if array.ndim == 2:
        lines = array if order == "C" else array.T
        wider = np.zeros((lines.shape[0], max(line, lines.shape[1])), array.dtype)
        wider[:, : lines.shape[1]] = lines
        kept = wider[:, : lines.shape[1]]
        array = kept if order == "C" else kept.T
    return np.asarray(np.flip(array, tuple(backwards)))


class Fields:
    """The saved fields of one step, and the vector that holds all arrays."""

    def __init__(
        self, document: Any, vector: NDArray[np.float64], kinds: dict[str, type[Step]], depth: int = 0
    ) -> None:
        if not isinstance(document, dict) or depth > _DEEPEST:
            raise ModelError("the saved steps of the pipeline cannot be read")
        self._left = dict(document)
        self._vector, self._kinds, self._depth = vector, kinds, depth
        self._kind = str(self._left.pop("kind", None))

    def as_step(self) -> Step:
        """Read the step; refuse a kind or a field that this version does not know."""
        kind = self._kinds.get(self._kind)
        if kind is None:
            raise ModelError(f"this version does not know the saved step {self._kind!r}; load it with a newer one")
        step = kind.read(self)
        self.done()
        return step

    def done(self) -> None:
        """Refuse fields that have not been read, because this version does not know what they mean."""
        if self._left:
            raise ModelError(
                f"this version does not know the field {next(iter(self._left))!r} of the saved step {self._kind!r}; "
                "load it with a newer one"
            )

    def steps(self, name: str) -> list[Step]:
        """Read a list of steps."""
        return [Fields(entry, self._vector, self._kinds, self._depth + 1).as_step() for entry in self.entries(name)]

    def array(self, name: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
        """Read an array of this shape; ``None`` stands for any length."""
        return self._array(self._take(name), name, shape)

    def arrays(self, name: str, shape: tuple[int | None, ...]) -> list[NDArray[Any]]:
        """Read a list of arrays of this shape."""
        return [self._array(entry, name, shape) for entry in self.entries(name)]

    def maybe_array(self, name: str, shape: tuple[int | None, ...]) -> NDArray[Any] | None:
        """Read an array that may be ``None``."""
        found = self._take(name)
        return None if found is None else self._array(found, name, shape)

    def positions(self, name: str, below: int | None = None) -> NDArray[np.intp]:
        """Read positions of columns."""
        found = self.array(name, (None,))
        if found.dtype.kind != "i" or (found < 0).any() or (below is not None and (found >= below).any()):
            raise self.damaged(name)
        return found.astype(np.intp)

    def flag(self, name: str) -> bool:
        """Read a yes or no."""
        return bool(self._of(name, bool))

    def number(self, name: str) -> float:
        """Read a number."""
        return float(self._plain(self._take(name), name, (int, float)))

    def whole(self, name: str) -> int:
        """Read a whole number from 0 up."""
        found = self._of(name, int)
        if isinstance(found, bool) or found < 0:
            raise self.damaged(name)
        return int(found)

    def word(self, name: str, choices: Sequence[str]) -> str:
        """Read one of a few words."""
        found = self._of(name, str)
        if found not in choices:
            raise ModelError(f"this version does not know the {name} {found!r} of the saved step {self._kind!r}")
        return str(found)

    def dtype(self, name: str) -> str:
        """Read the name of a type of numbers."""
        return self.word(name, DTYPES)

    def entries(self, name: str) -> list[Any]:
        """Read a list of anything, which the caller checks."""
        return list(self._of(name, list))

    def texts(self, name: str) -> list[str] | None:
        """Read a list of texts, or ``None``."""
        found = self._take(name)
        if found is not None and not (isinstance(found, list) and all(isinstance(text, str) for text in found)):
            raise self.damaged(name)
        return found

    def cells(self, found: Any, name: str) -> list[Cell]:
        """Read a list of texts, numbers, booleans and missing cells."""
        if not isinstance(found, list):
            raise self.damaged(name)
        return [self._plain(cell, name, (str, int, float, bool, type(None))) for cell in found]

    def cell(self, name: str) -> Cell:
        """Read a text, a number, a boolean or a missing cell."""
        return self.cells([self._take(name)], name)[0]

    def damaged(self, name: str) -> ModelError:
        """Return the error for a field that cannot be right."""
        return ModelError(f"the field {name!r} of the saved step {self._kind!r} is damaged")

    def check(self, holds: bool, name: str) -> None:
        """Refuse a field that does not fit the others."""
        if not holds:
            raise self.damaged(name)

    def _take(self, name: str) -> Any:
        if name not in self._left:
            raise ModelError(f"the saved step {self._kind!r} has no {name!r}")
        return self._left.pop(name)

    def _of(self, name: str, kind: type) -> Any:
        found = self._take(name)
        if not isinstance(found, kind):
            raise self.damaged(name)
        return found

    def _plain(self, found: Any, name: str, kinds: tuple[type, ...]) -> Any:
        if isinstance(found, dict) and found.get("number") in ("nan", "inf", "-inf") and len(found) == 1:
            return float(found["number"])
        if not isinstance(found, kinds):
            raise self.damaged(name)
        return found

    def _array(self, found: Any, name: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
        try:
            at, saved_shape = int(found["at"]), tuple(int(length) for length in found["shape"])
            dtype, order, backwards, line = found["dtype"], found["order"], found["backwards"], int(found["line"])
        except (TypeError, KeyError, ValueError, OverflowError) as error:
            raise self.damaged(name) from error
        size = math.prod(saved_shape)
        fits = len(saved_shape) == len(shape) and all(
            length >= 0 and wanted in (None, length) for length, wanted in zip(saved_shape, shape, strict=True)
        )
        fits = fits and backwards in ([], [0], [1], [0, 1])[: len(shape) * 2]
        fits = fits and 0 <= line * max(saved_shape) <= _LONGEST + 64 * size
        if not fits or at < 0 or at + size > len(self._vector) or dtype not in DTYPES or order not in ("C", "F"):
            raise self.damaged(name)
        with np.errstate(all="ignore"):  # a damaged file may hold numbers that the type cannot
            numbers = self._vector[at : at + size].astype(dtype).reshape(saved_shape, order=order)
        return _laid_out(numbers, order, backwards, line)


WriteStep: TypeAlias = Callable[[Any], Any]
"""Makes a step from scikit-learn's fitted object."""
