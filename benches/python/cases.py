"""The cases of `make bench-peers`: models, sizes, who takes part, and the speed-ups that we aim for."""

from dataclasses import dataclass, field

from contenders import Task


@dataclass(frozen=True)
class Part:
    """How much of a case a slow peer gets."""

    rows: int | None = None
    trees: int | None = None
    wrong: str | None = None
    """Why the peer's values are known to be wrong; its time is shown, and its values are not compared."""


WHOLE = Part()


@dataclass(frozen=True)
class Case:
    """A model, a task and a size, the peers that take part, and the speed-up that we aim for."""

    name: str
    workload: str
    n: int
    m: int
    peers: dict[str, Part]
    goals: dict[str, float] = field(default_factory=dict)
    task: Task = "shapley"
    memory: bool = False
    """Whether to measure the memory beyond input and output, too."""

    def is_called(self, wanted: str) -> bool:
        """Whether that is the name of the case or of its model."""
        return wanted in (self.name, self.workload)


ORDINARY = [
    Case("A 100 x 100", "A", 100, 100, {"shap": WHOLE, "shapiq": WHOLE, "woodelf": WHOLE}),
    Case("A 1000 x 100", "A", 1000, 100, {"shap": WHOLE, "shapiq": WHOLE, "woodelf": WHOLE}, {"best": 40}),
    Case("A 1000 x 1000", "A", 1000, 1000, {"shap": Part(rows=100), "shapiq": WHOLE, "woodelf": WHOLE}),
    Case(
        "A 10k x 10k",
        "A",
        10_000,
        10_000,
        {"shap": Part(rows=10), "shapiq": WHOLE, "woodelf": WHOLE},
        {"woodelf": 20, "shap": 20_000},
    ),
    Case(
        "A 100k x 100k",
        "A",
        100_000,
        100_000,
        {"shap": Part(rows=1), "shapiq": WHOLE, "woodelf": WHOLE},
        {"woodelf": 12},
    ),
    Case("B 1000 x 100", "B", 1000, 100, {"shap": Part(rows=50), "shapiq": WHOLE, "woodelf": WHOLE}),
    Case(
        "B 10k x 10k", "B", 10_000, 10_000, {"shap": Part(rows=1), "shapiq": WHOLE, "woodelf": WHOLE}, {"woodelf": 20}
    ),
    Case("C10 20 x 100", "C10", 20, 100, {"shap": WHOLE, "shapiq": WHOLE, "woodelf": Part(trees=2)}, {"shap": 30}),
    Case(
        "C30 200 x 100",
        "C30",
        200,
        100,
        {"shap": Part(rows=20), "shapiq": Part(rows=20), "woodelf": Part(trees=1)},
        {"shap": 60},
    ),
    Case("D 200 x 100", "D", 200, 100, {"shap": WHOLE, "shapiq": WHOLE, "woodelf": WHOLE}, {"shap": 200}),
    Case(
        "CatBoost 10k x 10k",
        "CatBoost",
        10_000,
        10_000,
        {"shap": Part(rows=10), "shapiq": Part(rows=10), "woodelf": WHOLE, "catboost": WHOLE},
    ),
]

# woodelf keeps 2^depth numbers per leaf, so unlimited trees of this size are left out for it.
OVERFLOW = "shap counts players in 32 bits, and some paths have more than 30"
DEEP = [
    Case(
        "X12 10k x 10k",
        "X12",
        10_000,
        10_000,
        {"shap": Part(rows=2), "shapiq": Part(rows=2), "woodelf": Part(trees=2)},
        {"shap": 20_000},
        memory=True,
    ),
    Case(
        "L255 10k x 10k",
        "L255",
        10_000,
        10_000,
        {"shap": Part(rows=2), "shapiq": Part(rows=2), "woodelf": Part(trees=10)},
        {"woodelf": 80},
        memory=True,
    ),
    Case(
        "L1023 5k x 5k",
        "L1023",
        5000,
        5000,
        {"shap": Part(rows=2, wrong=OVERFLOW), "shapiq": Part(rows=2)},
        {"shap": 2000},
        memory=True,
    ),
    Case(
        "R30 1000 x 1000", "R30", 1000, 1000, {"shap": Part(rows=5), "shapiq": Part(rows=5)}, {"shap": 300}, memory=True
    ),
    Case(
        "R30/20 10k x 10k",
        "R30/20",
        10_000,
        10_000,
        {"shap": Part(rows=2), "shapiq": Part(rows=2)},
        {"shap": 3000},
        memory=True,
    ),
    Case("K30 5k x 5k", "K30", 5000, 5000, {"shap": Part(rows=2), "shapiq": Part(rows=2)}, {"shap": 4000}, memory=True),
]

PATH_DEPENDENT = [
    Case(
        "path-dependent, A, 10k rows",
        "A",
        10_000,
        0,
        {"shap": WHOLE, "shapiq": Part(rows=1000), "woodelf": WHOLE, "xgboost": WHOLE, "fasttreeshap": WHOLE},
        {"fasttreeshap": 30, "xgboost": 50},
        "path-dependent",
    ),
    Case(
        "path-dependent, X12, 2000 rows",
        "X12",
        2000,
        0,
        {"shap": Part(rows=500), "shapiq": Part(rows=100), "xgboost": WHOLE, "fasttreeshap": Part(rows=500)},
        {"xgboost": 10, "shap": 20},
        "path-dependent",
        memory=True,
    ),
    Case(
        "path-dependent, L255, 3000 rows",
        "L255",
        3000,
        0,
        {"shap": Part(rows=300), "shapiq": Part(rows=100), "lightgbm": WHOLE, "fasttreeshap": Part(rows=300)},
        {"lightgbm": 20},
        "path-dependent",
        memory=True,
    ),
    Case(
        "path-dependent, R30, 300 rows",
        "R30",
        300,
        0,
        {"shap": Part(rows=30), "shapiq": Part(rows=10), "fasttreeshap": Part(rows=30)},
        {"shap": 50},
        "path-dependent",
        memory=True,
    ),
]

# shap rescales every pair of rows, too; no other peer has probabilities.
PROBABILITIES = [
    Case("probability, P 20k x 20k", "P", 20_000, 20_000, {"shap": Part(rows=2)}, task="probability"),
]

INTERACTIONS = [
    Case(
        "interactions, A 100 x 100",
        "A",
        100,
        100,
        {"shap": WHOLE, "shapiq": WHOLE, "woodelf": WHOLE},
        {"woodelf": 8},
        "interaction",
    ),
    Case(
        "interactions, A 10k x 10k",
        "A",
        10_000,
        10_000,
        {"shap": Part(rows=10), "shapiq": WHOLE, "woodelf": WHOLE},
        {"woodelf": 8},
        "interaction",
    ),
]

CASES = [*ORDINARY, *DEEP, *PATH_DEPENDENT, *PROBABILITIES, *INTERACTIONS]
QUICK = ["A 100 x 100", "A 1000 x 100", "D 200 x 100", "interactions, A 100 x 100"]
