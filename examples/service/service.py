"""A service that explains predictions over HTTP: ``uvicorn --factory service:from_environment`` in this directory.

`EXPLAINER` names a file that ``explainer.save(path)`` wrote. It is read once, at startup, and needs neither the model's
library nor the background. Rows come in as JSON, by position or by name, and values go out.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

import numpy as np
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, Strict

from arborshap import ArborshapError, InputError, TreeExplainer, __version__

MOST_ROWS = 10_000
"""Rows of one request; whoever has more wants the command line."""

SMALL = 16
"""Rows explained right where they arrive: that takes less time than handing them to another thread."""

Cell = Annotated[bool, Strict()] | Annotated[float, Strict()] | Annotated[str, Strict()] | None
"""A number, true or false, the text of a category, or null for a missing value."""


class Rows(BaseModel):
    """The body of a request: rows as lists in the order of the columns, or as objects by their names."""

    model_config = ConfigDict(extra="forbid")

    rows: list[list[Cell]] | list[dict[str, Cell]] = Field(min_length=1, max_length=MOST_ROWS)
    top: int | None = Field(default=None, ge=1, description="how many of the largest values of each row to return")


def from_environment() -> FastAPI:
    """Build the service around the saved explainer that `EXPLAINER` names."""
    # Workers share the machine: each explains with one thread, and a request never waits for another's threads.
    return create_app(TreeExplainer.load(os.environ["EXPLAINER"], n_jobs=1))


def create_app(explainer: TreeExplainer) -> FastAPI:
    """Build the service around an explainer. If there are several outputs, they are the last axis of the values."""
    app = FastAPI(title="arborshap", version=__version__)
    columns, names = explainer.data_names, explainer.feature_names
    categories, model_id = explainer.categories, explainer.model_id
    first = [str(next(iter(categories[name]), "")) if name in categories else 0.0 for name in columns]
    with suppress(InputError):  # a pipeline may refuse zeros; then the first request builds the tables
        explainer.shap_values([first])  # the tables are built now and not at the first request

    def explained(wanted: Rows) -> dict[str, Any]:
        table = table_of(wanted.rows, columns)
        if wanted.top is not None and wanted.top > len(names):
            raise InputError(f"top is {wanted.top}, but there are {len(names)} features")
        values = explainer.shap_values(table)
        answer = {
            "model_id": model_id,
            "base_value": np.asarray(explainer.expected_value).tolist(),
            "prediction": (explainer.expected_value + values.sum(axis=1)).tolist(),
        }
        if wanted.top is None:
            return answer | {"features": names, "values": values.tolist()}
        largest = np.argsort(-np.abs(values), axis=1, kind="stable")[:, : wanted.top]
        features, some = np.array(names, dtype=object)[largest], np.take_along_axis(values, largest, axis=1)
        return answer | {"features": features.tolist(), "values": some.tolist()}

    @app.post("/explain")
    async def explain(wanted: Rows) -> JSONResponse:
        small = len(wanted.rows) <= SMALL
        return JSONResponse(explained(wanted) if small else await run_in_threadpool(explained, wanted))

    @app.get("/health")
    async def health() -> dict[str, Any]:
        about = {"version": __version__, "model_id": model_id, "metadata": explainer.metadata}
        return {"status": "ready", **about, "columns": columns, "categories": categories}

    @app.exception_handler(ArborshapError)
    async def refuse(_: Request, error: ArborshapError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, status_code=422)

    @app.exception_handler(RequestValidationError)
    async def misread(_: Request, error: RequestValidationError) -> JSONResponse:
        # Rows may be of two kinds; of the one that was meant, more was understood before something went wrong.
        told = max(error.errors(), key=lambda found: len(found["loc"]))
        if told["type"] == "json_invalid":
            why = f"not valid JSON after {told['loc'][-1]} characters: {told['ctx']['error']}"
            return JSONResponse({"detail": f"body: {why}"}, status_code=422)
        where = ".".join(str(part) for part in told["loc"][1:] if "[" not in str(part))  # without pydantic's types
        return JSONResponse({"detail": f"{where or 'body'}: {told['msg']}"}, status_code=422)

    return app


def table_of(rows: Sequence[Any], columns: Sequence[str]) -> list[list[Any]]:
    """Turn the rows of a request into a table, or say which row has too few or too many cells."""
    if isinstance(rows[0], dict):
        wanted = set(columns)
        for number, row in enumerate(rows):
            if row.keys() != wanted:
                missing, unknown = sorted(wanted - row.keys()), sorted(row.keys() - wanted)
                raise InputError(f"row {number}: columns {missing} are missing, and columns {unknown} are unknown")
        rows = [[row[name] for name in columns] for row in rows]
    for number, row in enumerate(rows):
        if len(row) != len(columns):
            raise InputError(f"row {number} has {len(row)} values, but there are {len(columns)} columns")
    return list(rows)
