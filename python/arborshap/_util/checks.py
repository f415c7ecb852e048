"""Checks of the explainer's arguments, each with a message that says what is wrong and where."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from math import prod
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from arborshap import _core
from arborshap.exceptions import InputError

_FLOAT64, _FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)


def checked_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """Return the value if it is one of a few words."""
    if isinstance(value, str) and value in choices:
        return value
    raise InputError(f"{name} must be {' or '.join(map(repr, choices))}; got {value!r}")


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number. A bool is not, although Python counts with it."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def whole_number(name: str, value: Any, low: int, high: int, needed: str) -> int:
    """Return a whole number from `low` to `high`; `needed` describes in words what the argument must be."""
    if not is_whole(value) or not low <= value <= high:
        raise InputError(f"{name} must be {needed}; got {in_short(value)}")
    return int(value)


def in_short(value: object) -> str:
    """Show a value on one line: a whole array of rows would hide what the message says."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{type(value).__name__} {text[:60]}..."


def checked_flag(name: str, value: object) -> bool:
    """Return the value if it is True or False. Any other value, such as the text "no", could mean either."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} must be True or False; got {value!r}")
    return bool(value)


def repeated(names: Iterable[str]) -> list[str]:
    """List the names that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


def check_unmasked(name: str, column: Any) -> None:
    """Raise `InputError` if a masked array hides some of its entries, which NumPy would read all the same."""
    if np.ma.is_masked(column):
        row = int(np.argwhere(np.ma.getmaskarray(column))[0, 0])
        raise InputError(f"{name} of row {row} is masked; leave out such rows")


def checked_weights(weights: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Return the background's weights as float64: one per row, none negative, not all zero."""
    if weights is None:
        return None
    check_unmasked("sample_weight", weights)
    try:
        given = np.asarray(weights)
    except ValueError as error:
        raise InputError(f"sample_weight must be one number per row: {error}") from error
    if given.dtype == object and given.ndim == 1:
        given = _numbers_in("sample_weight", given)
    if given.dtype.kind not in "fiub":
        raise InputError(f"sample_weight must be numbers, got {given.dtype}")
    if given.shape != (n_rows,):
        raise InputError(f"sample_weight has shape {given.shape}, but data has {n_rows} rows; give one weight per row")
    array = np.require(given, np.float64, ["C", "A"])
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(f"sample_weight of row {row} is {array[row]}; weights are finite and not negative")
    with np.errstate(over="ignore"):
        total = float(array.sum())
    if not 0 < total < np.inf:
        raise InputError(f"sample_weight sums to {total}; the sum must be positive and finite")
    return array


def _numbers_in(name: str, column: NDArray[Any]) -> NDArray[np.float64]:
    """Return a column of objects, all of which must be numbers, as float64."""
    for row, cell in enumerate(column.tolist()):
        if not isinstance(cell, (int, float, Decimal, np.number, np.bool_)):
            raise InputError(f"{name} of row {row} is {cell!r}; weights must be numbers")
    try:
        return column.astype(np.float64)
    except OverflowError as error:
        raise InputError(f"{name} has a number that is too large: {error}") from error


def checked_names(names: Any, n: int, argument: str = "feature_names", things: str = "features") -> list[str] | None:
    """Return the caller's names: one per feature, or per output, each used once."""
    if names is None:
        return None
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"{argument} must be a list of names, got {names!r}")
    texts = [str(name) for name in names]
    if len(texts) != n:
        raise InputError(f"{argument} has {len(texts)} names, but the model has {n} {things}")
    if twice := repeated(texts):
        raise InputError(f"{argument} has {twice[0]!r} more than once")
    return texts


def checked_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of the result, float64 or float32."""
    if dtype is np.float64:
        return _FLOAT64  # the default: a single row takes so little time that comparisons of dtypes would count
    for choice in (_FLOAT64, _FLOAT32):
        if dtype == choice:
            return choice
    raise InputError(f"dtype must be float64 or float32, got {dtype!r}")


def checked_memory_limit(limit: Any) -> int | None:
    """Return the most bytes a result may take, given as a number or as text such as ``"2GiB"``."""
    if limit is None:
        return None
    if isinstance(limit, str):
        limit = bytes_in(limit) or limit
    limit = min(limit, _MOST) if is_whole(limit) else limit
    return whole_number("memory_limit", limit, 1, _MOST, "a positive number of bytes, a size such as '2GiB', or None")


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def bytes_in(text: str) -> int | None:
    """Return the number of bytes that a text such as ``"500MB"`` means; ``None`` if it means none."""
    found = re.fullmatch(r"([0-9]{1,15})\s*(|k|m|g|ki|mi|gi)b?", text.strip().lower())
    return int(found[1]) * _UNITS[found[2]] if found else None


_MOST = 2**62
"""More memory than any machine has, and the most that the native side can hold."""


def check_fits(
    shape: tuple[int, ...], dtype: np.dtype[Any] | None, limit: int | None, smaller: str = ""
) -> np.dtype[Any]:
    """Refuse a result that is larger than the limit, or than the free memory, before computing anything.

    Methods whose callers cannot choose a dtype pass ``None``, and get float64. `smaller` says how such a caller can get
    a smaller result of the same rows, if there is a way.

    Returns
    -------
    numpy.dtype
        The dtype of the result.
    """
    kind = _FLOAT64 if dtype is None else dtype
    size = prod(shape) * kind.itemsize
    if size < 2**26 and limit is None:
        return kind  # every machine has this much, and asking costs more than a small result
    if dtype is not None and dtype == _FLOAT64:  # NumPy takes None for float64
        smaller = "pass dtype=np.float32 to halve it"
    most = _core.available_memory() if limit is None else limit
    if size > most:
        room = f"this machine has {most:,} free" if limit is None else f"memory_limit allows {most:,}"
        raise MemoryError(
            f"the result, {' x '.join(map(str, shape))} {kind} values, takes {size:,} bytes, but {room}; "
            f"explain fewer rows at a time{smaller and f', or {smaller}'}"
        )
    return kind
