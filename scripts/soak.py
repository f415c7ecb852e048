"""Stress one process for minutes: `make soak`, or `python scripts/soak.py --minutes 5`.

Several threads take random models of every library, explain rows in random ways, and compare the values with those of a
second engine and with what they must sum to. Threads share, save, pickle and reload explainers. Meanwhile the script
watches the memory of the process, which must not grow.
"""

from __future__ import annotations

import argparse
import gc
import os
import pickle
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap import Forest, ForestBuilder, TreeExplainer
from arborshap.models import load

Array = NDArray[np.float64]
ENGINES = ("pattern", "counts", "sparse", "traversal")
"""What the values of engine "auto" are compared with."""
INDICES = ("shapley", "banzhaf", "taylor", "interaction")
TOLERANCE = 1e-11
"""Largest difference of two engines, relative to the largest margin; they only round differently."""
GROWTH = 0.05
"""Most growth of memory from the second quarter of the time to the last, as a share."""


@dataclass
class Game:
    """A model and its rows."""

    name: str
    model: Any
    forest: Forest
    X: Array
    scale: float

    @classmethod
    def of(cls, name: str, model: Any, X: Array) -> Game:
        forest = model if isinstance(model, Forest) else load(model).forest
        return cls(name, model, forest, X, float(np.abs(forest.margin(X)).max()) + 1.0)


def trained() -> list[Game]:
    """Make a small model of every installed library."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 8))
    y = X[:, 0] * X[:, 1] + np.where(X[:, 2] > 0, X[:, 3], -X[:, 4])
    holes = np.where(rng.random(X.shape) < 0.05, np.nan, X)

    def xgboost() -> Game:
        from xgboost import XGBClassifier

        model = XGBClassifier(n_estimators=10, max_depth=4, n_jobs=1).fit(holes, np.digitize(y, [-0.5, 0.5]))
        return Game.of("XGBoost, 3 classes", model, holes)

    def lightgbm() -> Game:
        from lightgbm import LGBMRegressor

        model = LGBMRegressor(n_estimators=30, num_leaves=15, n_jobs=1, verbose=-1).fit(holes, y)
        return Game.of("LightGBM", model, holes)

    def catboost() -> Game:
        from catboost import CatBoostRegressor

        model = CatBoostRegressor(iterations=30, depth=5, thread_count=1, verbose=False, allow_writing_files=False)
        return Game.of("CatBoost", model.fit(X, y), X)

    def sklearn() -> Game:
        from sklearn.ensemble import RandomForestRegressor

        return Game.of("random forest", RandomForestRegressor(5, random_state=0).fit(X, y), X)

    games = []
    for make in (xgboost, lightgbm, catboost, sklearn):
        try:
            games.append(make())
        except ImportError:
            print(f"{make.__name__} is not installed; skipping it", file=sys.stderr)
    return games


def random_game(rng: np.random.Generator) -> Game:
    """Make random trees with one to three outputs, missing values and sometimes categories."""
    n_features, n_outputs = int(rng.integers(1, 12)), int(rng.integers(1, 4))
    builder = ForestBuilder(n_features, n_outputs, rule="<", precision="float32")
    for _ in range(int(rng.integers(1, 30))):
        n_leaves = int(rng.integers(1, 60))
        left, right = np.full(2 * n_leaves - 1, -1), np.full(2 * n_leaves - 1, -1)
        leaves = [0]
        for made in range(1, 2 * n_leaves - 1, 2):
            node = leaves.pop(int(rng.integers(len(leaves))))
            left[node], right[node] = made, made + 1
            leaves += [made, made + 1]
        n = len(left)
        splits = np.flatnonzero(left >= 0)
        some = rng.choice(splits, len(splits) // 8, replace=False)
        builder.add_tree(
            left=left,
            right=right,
            feature=rng.integers(0, n_features, n),
            threshold=rng.normal(size=n).round(1),
            value=rng.normal(size=n),
            default_left=rng.random(n) < 0.5,
            categories={int(node): rng.integers(0, 4, 2).tolist() for node in some},
            output=int(rng.integers(n_outputs)),
        )
    X = rng.normal(size=(int(rng.integers(2, 300)), n_features)).round(1)
    X[rng.random(X.shape) < 0.05] = np.nan
    return Game.of("random trees", builder.build(base=rng.normal(size=n_outputs)), X)


@dataclass
class Soak:
    games: list[Game]
    deadline: float
    count: Counter[str] = field(default_factory=Counter)
    worst: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)
    kept: list[tuple[Game, TreeExplainer]] = field(default_factory=list)
    """A few explainers that several threads share; they are few, so memory should stay flat."""

    def hammer(self, seed: int) -> None:
        choose, rng = random.Random(seed), np.random.default_rng(seed)
        while time.monotonic() < self.deadline:
            game = choose.choice(self.games) if choose.random() < 0.5 else random_game(rng)
            self.one(game, choose, rng)

    def one(self, game: Game, choose: random.Random, rng: np.random.Generator) -> None:
        X = game.X[rng.integers(0, len(game.X), choose.choice((1, 3, 17, 130)))]
        Z = game.X[rng.integers(0, len(game.X), choose.choice((1, 20, 150)))]
        options: dict[str, Any] = {"n_jobs": choose.choice((1, 2, 4)), "verify": False}
        if choose.random() < 0.3:
            options["sample_weight"] = 10.0 ** rng.uniform(-6, 6, len(Z))
        if choose.random() < 0.3:
            options["groups"] = rng.integers(0, 3, game.X.shape[1]).tolist()
            options["groups"][:3] = range(min(3, game.X.shape[1]))
        explainer = TreeExplainer(game.model, Z, engine="auto", **options)
        index = choose.choice(INDICES)
        values = self.values(explainer, X, index)
        second = self.second(game, Z, options, choose)
        self.agree(game, values, self.values(second, X, index), f"{index} by auto and another engine")
        if index == "shapley":
            gap = (
                values.sum(axis=1)
                + explainer.expected_value
                - np.squeeze(game.forest.margin(X), axis=-1 if values.ndim == 2 else ())
            )
            self.agree(game, gap, np.zeros_like(gap), "the sum of the values")
        again = choose.choice(WAYS)(explainer)
        self.agree(game, self.values(again, X, index), values, "an explainer that was saved")
        self.share(game, explainer, choose)
        with self.lock:
            self.count["models"] += 1
            self.count[game.name] += 1

    def second(self, game: Game, Z: Array, options: dict[str, Any], choose: random.Random) -> TreeExplainer:
        engine = choose.choice(ENGINES)
        try:
            return TreeExplainer(game.model, Z, engine=engine, **options)
        except ValueError as error:  # tables do not support paths with that many players
            if "players on a path" not in str(error):
                raise
            return TreeExplainer(game.model, Z, engine="traversal", **options)

    def values(self, explainer: TreeExplainer, X: Array, index: str) -> Array:
        values = np.asarray(explainer(X, index=index).values)  # type: ignore[arg-type]
        with self.lock:
            self.count["calls"] += 1
            self.count["values"] += values.size
        return values

    def share(self, game: Game, explainer: TreeExplainer, choose: random.Random) -> None:
        """Call explainers that other threads call too, and replace one of them by this one."""
        with self.lock:
            if len(self.kept) < 4:
                self.kept.append((game, explainer))
            else:
                self.kept[choose.randrange(4)] = (game, explainer)
            other, shared = choose.choice(self.kept)
        rows = other.X[:5]
        self.agree(
            other, self.values(shared, rows, "shapley"), self.values(shared, rows, "shapley"), "one call after another"
        )

    def agree(self, game: Game, some: Array, others: Array, what: str) -> None:
        off = float(np.abs(some - others).max(initial=0.0)) / game.scale
        if not off <= TOLERANCE:
            raise AssertionError(f"{game.name}: {what}: off by {off:.1e} of the largest margin")
        with self.lock:
            self.worst = max(self.worst, off)
            self.count["answers compared"] += 1


def saved(explainer: TreeExplainer) -> TreeExplainer:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "explainer"
        explainer.save(path)
        return TreeExplainer.load(path)


def pickled(explainer: TreeExplainer) -> TreeExplainer:
    again: TreeExplainer = pickle.loads(pickle.dumps(explainer))
    return again


WAYS: tuple[Callable[[TreeExplainer], TreeExplainer], ...] = (saved, pickled)


def resident() -> int:
    """Return the resident memory of the process, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def watch(deadline: float, start: float) -> list[tuple[float, int]]:
    sizes = []
    while (now := time.monotonic()) < deadline:
        gc.collect()
        sizes.append((now - start, resident()))
        time.sleep(min(1.0, max(0.0, deadline - now)))
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    games = trained()
    start = time.monotonic()
    seconds = 60 * arguments.minutes
    soak = Soak(games, start + seconds)
    with ThreadPoolExecutor(arguments.threads) as pool:
        threads = [pool.submit(soak.hammer, arguments.seed + i) for i in range(arguments.threads)]
        sizes = watch(soak.deadline, start)
        for thread in threads:
            thread.result()
    quarter = [np.mean([size for at, size in sizes if low <= 4 * at / seconds < low + 1]) for low in range(4)]
    growth = quarter[3] / quarter[1] - 1
    print(f"{seconds:.0f} s on {arguments.threads} threads, each call on 1 to 4 more")
    for what in ("models", "calls", "answers compared", "values"):
        print(f"{what}: {soak.count[what]:,}")
    print("by model:", ", ".join(f"{soak.count[name]:,} {name}" for name in [*(g.name for g in games), "random trees"]))
    print(f"largest difference: {soak.worst:.1e} of the largest margin")
    print("memory by quarter:", ", ".join(f"{size / 1e6:.0f} MB" for size in quarter), f"({growth:+.1%})")
    if growth > GROWTH:
        raise SystemExit(f"memory grew by {growth:.1%} from the second quarter to the last")


if __name__ == "__main__":
    main()
