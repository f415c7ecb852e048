"""Functions of single numbers and their products: FunctionTransformer, PowerTransformer and PolynomialFeatures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.steps.scaling import Scaled, write_standard
from arborshap.steps.step import Fields, OneToOne, Step, WriteStep
from arborshap.steps.table import CellError, Frame, Table, as_array, dense, numbers
from arborshap.steps.unsaved import Unsaved, like_its_own

FUNCTIONS = (
    *("absolute", "fabs", "negative", "positive", "sign", "square", "sqrt", "cbrt", "reciprocal"),
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p"),
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
    *("floor", "ceil", "trunc", "rint", "degrees", "radians", "deg2rad", "rad2deg"),
    *("isnan", "isfinite", "isinf", "signbit", "logical_not"),
)
"""The functions of NumPy that are saved by name: those of one number."""

_OVERFLOWS = 709.78  # the exponential of more is infinite, for which Python raises an error

POWERS = ("yeo-johnson", "yeo-johnson by powers", "box-cox")


@dataclass(frozen=True)
class Applied(OneToOne):
    """A function of NumPy, applied to every cell; ``"identity"`` leaves the rows as they are."""

    KIND: ClassVar[str] = "function"

    function: str
    validate: bool

    @classmethod
    def read(cls, saved: Fields) -> Self:
        """Make the step from its saved fields."""
        return cls(saved.word("function", ("identity", *FUNCTIONS)), saved.flag("validate"))

    def transform(self, rows: Table) -> Table:
        """Apply the function."""
        if self.validate:
            rows = numbers(rows, "numbers", "FunctionTransformer", missing=False)
        if self.function == "identity":
            return rows
        function = getattr(np, self.function)
        with np.errstate(all="ignore"):
            try:
                if isinstance(rows, Frame) and rows.keeps_floats:
                    return Frame([function(column) for column in rows.arrays], rows.n_rows)
                return np.asarray(
                    function(as_array(rows) if isinstance(rows, Frame) else dense(rows, "FunctionTransformer"))
                )
            except TypeError as error:
                raise InputError(f"its columns must hold numbers: {error}") from error


@dataclass(frozen=True)
class Powered:
    """A power transform of each column, followed by a scaler or by nothing."""

    KIND: ClassVar[str] = "power"

    method: str
    exponents: NDArray[np.float64]
    scaler: list[Step]

    @classmethod
    def read(cls, saved: Fields) -> Self:
        """Make the step from its saved fields."""
        method, exponents = saved.word("method", POWERS), saved.array("exponents", (None,))
        scaler = saved.steps("scaler")
        fits = len(scaler) <= 1 and all(isinstance(s, Scaled) and s.n_columns == len(exponents) for s in scaler)
        saved.check(fits, "scaler")
        return cls(method, exponents, scaler)

    @property
    def n_inputs(self) -> int:
        """Number of columns that go in."""
        return len(self.exponents)

    def n_outputs(self, n_inputs: int) -> int:
        """Return how many columns are made."""
        return n_inputs

    def transform(self, rows: Table) -> Table:
        """Transform every column."""
        found = numbers(rows, "floats", "PowerTransformer")
        if self.method == "box-cox" and (found <= 0).any():
            row, column = (int(place) for place in np.argwhere(found <= 0)[0])
            raise CellError(row, column, f"is {found[row, column]:g}; Box-Cox needs numbers above 0")
        power = _POWER[self.method]
        with np.errstate(all="ignore"):
            for j, exponent in enumerate(self.exponents):
                found[:, j] = power(found[:, j], exponent)
        for scaler in self.scaler:
            return scaler.transform(found)
        return found


def _yeo_johnson(x: NDArray[Any], exponent: np.float64) -> NDArray[Any]:
    above, below = (lambda t, p: np.expm1(p * np.log1p(t)) / p), (lambda t, p: -np.expm1(p * np.log1p(t)) / p)
    return _two_sided(x, exponent, above, below)


def _yeo_johnson_by_powers(x: NDArray[Any], exponent: np.float64) -> NDArray[Any]:
    above, below = (lambda t, p: (np.power(t + 1, p) - 1) / p), (lambda t, p: -(np.power(t + 1, p) - 1) / p)
    return _two_sided(x, exponent, above, below)


def _two_sided(
    x: NDArray[Any], exponent: np.float64, above: Callable[[Any, Any], Any], below: Callable[[Any, Any], Any]
) -> NDArray[Any]:
    """Yeo and Johnson's transform: one power from zero up, and the mirrored one, 2 - p, below zero."""
    out = np.zeros_like(x)
    up = x >= 0
    least = np.spacing(1.0)
    out[up] = np.log1p(x[up]) if abs(exponent) < least else above(x[up], exponent)
    out[~up] = below(-x[~up], 2 - exponent) if abs(exponent - 2) > least else -np.log1p(-x[~up])
    return out


def _box_cox(x: NDArray[Any], exponent: np.float64) -> NDArray[Any]:
    """Box and Cox's transform by the C library's functions, which SciPy calls too; NumPy's differ in the last bit."""
    p = float(exponent)
    logs = np.array([math.log(cell) for cell in x.tolist()])
    if abs(p) < 1e-19:
        return logs
    return np.array([math.inf if cell > _OVERFLOWS else math.expm1(cell) for cell in (p * logs).tolist()]) / p


_POWER: dict[str, Callable[[NDArray[Any], np.float64], NDArray[Any]]] = {
    "yeo-johnson": _yeo_johnson,
    "yeo-johnson by powers": _yeo_johnson_by_powers,
    "box-cox": _box_cox,
}


@dataclass(frozen=True)
class Polynomial:
    """Products of columns."""

    KIND: ClassVar[str] = "polynomial"

    powers: NDArray[np.int64]
    order: str

    @classmethod
    def read(cls, saved: Fields) -> Self:
        """Make the step from its saved fields."""
        powers = saved.array("powers", (None, None))
        saved.check(powers.dtype.kind == "i" and bool(((powers >= 0) & (powers < 1000)).all()), "powers")
        return cls(powers, saved.word("order", ("C", "F")))

    @property
    def n_inputs(self) -> int:
        """Number of columns that go in."""
        return int(self.powers.shape[1])

    def n_outputs(self, n_inputs: int) -> int:
        """Return how many columns are made."""
        return len(self.powers)

    def transform(self, rows: Table) -> Table:
        """Multiply columns, the last one first, as scikit-learn does."""
        found = numbers(rows, "floats", "PolynomialFeatures", missing=False)
        out = np.ones((len(found), len(self.powers)), found.dtype, order="C" if self.order == "C" else "F")
        with np.errstate(all="ignore"):
            for place, powers in enumerate(self.powers):
                factors = np.repeat(np.arange(len(powers)), powers)[::-1]
                for number, j in enumerate(factors):
                    out[:, place] = found[:, j] if number == 0 else out[:, place] * found[:, j]
        return out


def _write_function(transformer: Any) -> Step:
    function = transformer.func
    if function is None:
        return Applied("identity", bool(transformer.validate))
    name = getattr(function, "__name__", "")
    if transformer.kw_args or name not in FUNCTIONS or getattr(np, name) is not function:
        raise Unsaved(
            f"its function {name or function!r} is not a NumPy function of one number, such as numpy.log1p; apply the "
            "function to the columns before the pipeline"
        )
    return Applied(name, bool(transformer.validate))


def _write_power(transformer: Any) -> Step:
    exponents = np.asarray(transformer.lambdas_)
    scaler = [write_standard(transformer._scaler)] if transformer.standardize else []
    # Two libraries agree on most numbers even where they compute differently, so the trial is large.
    rows = 3.0 * np.random.default_rng(0).normal(size=(4096, len(exponents)))
    if transformer.method == "box-cox":
        rows = np.exp(rows)
    candidates = (Powered(method, exponents, scaler) for method in POWERS if method.startswith(transformer.method))
    return like_its_own(transformer, candidates, [rows])


def _write_polynomial(transformer: Any) -> Step:
    return Polynomial(np.array(transformer.powers_, np.int64), transformer.order)


STEPS: tuple[type[Step], ...] = (Applied, Powered, Polynomial)
WRITERS: dict[str, WriteStep] = {
    "FunctionTransformer": _write_function,
    "PowerTransformer": _write_power,
    "PolynomialFeatures": _write_polynomial,
}
