"""A small model and its rows in files of every format, and the command run on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from xgboost import XGBRegressor

from arborshap.cli import main

NAMES = ["age", "bmi", "pressure", "sugar"]


@dataclass
class Files:
    """A directory with `model.json`, and 60 rows with missing values in `rows.csv`, `rows.parquet` and `rows.npy`."""

    directory: Path
    rows: pd.DataFrame
    capsys: pytest.CaptureFixture[str]

    def path(self, name: str) -> Path:
        return self.directory / name

    def run(self, *arguments: object) -> int:
        """Return the exit status of ``arborshap explain model.json ...``; paths are relative to this directory."""
        try:
            return main(["explain", str(self.path("model.json")), *map(str, arguments)])
        except SystemExit as ended:  # argparse, on wrong usage
            return int(ended.code or 0)

    def explain(self, rows: str, out: str, *more: object, background: str = "rows.npy") -> int:
        files = ["--background", self.path(background), "--rows", self.path(rows), "--out", self.path(out)]
        return self.run(*files, *more)

    def refused(self, rows: str, out: str, *more: object, background: str = "rows.npy") -> str:
        """Return the one line of an error, and check that no output is left behind."""
        before = sorted(self.directory.iterdir())
        assert self.explain(rows, out, *more, background=background) == 1
        printed = self.capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("arborshap: error: ")
        assert printed.err.count("\n") == 1
        assert sorted(self.directory.iterdir()) == before
        return printed.err

    def write(self, name: str, text: str) -> str:
        self.path(name).write_text(text, encoding="utf-8")
        return name


def make_files(directory: Path, capsys: pytest.CaptureFixture[str]) -> Files:
    rng = np.random.default_rng(3)
    rows = pd.DataFrame(rng.normal(size=(60, 4)).round(4), columns=NAMES)
    rows.iloc[::9, 1] = np.nan
    model = XGBRegressor(n_estimators=12, max_depth=3, n_jobs=1)
    model.fit(rows, rows["age"] * rows["sugar"] + rows["bmi"].fillna(2))
    model.save_model(directory / "model.json")
    rows.to_csv(directory / "rows.csv", index=False)
    rows.to_parquet(directory / "rows.parquet")
    np.save(directory / "rows.npy", rows.to_numpy())
    return Files(directory, rows, capsys)
