"""A saved XGBoost model, explained in an environment without xgboost.

`python scripts/saved_model.py write DIRECTORY` trains a model, saves it as JSON next to its data, and computes the
Shapley values of some rows by their definition, with xgboost's own predictions.
`python scripts/saved_model.py check DIRECTORY` needs only numpy and arborshap, and compares.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np

# The definition shares no code with the package, so both the tests and this script may use it.
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "python"))


def write(directory: Path) -> None:
    import xgboost

    from support import oracle

    rng = np.random.default_rng(0)
    background = rng.normal(size=(40, 5)).astype(np.float32).astype(np.float64)
    background[rng.random(background.shape) < 0.1] = np.nan
    target = np.nan_to_num(background[:, 0]) * np.nan_to_num(background[:, 1]) + np.nan_to_num(background[:, 2])
    model = xgboost.XGBRegressor(n_estimators=20, max_depth=4, n_jobs=1).fit(background, target)
    rows = background[:6][:, ::-1].copy()

    values = oracle.shapley(oracle.worths(model.predict, rows, background))[:, :, 0]
    model.save_model(directory / "model.json")
    np.savez(directory / "case.npz", background=background, rows=rows, values=values)


def check(directory: Path) -> None:
    from arborshap import TreeExplainer

    if importlib.util.find_spec("xgboost"):
        raise SystemExit("xgboost is installed here, so this check would prove nothing")
    case = np.load(directory / "case.npz")
    values = TreeExplainer(directory / "model.json", case["background"]).shap_values(case["rows"])
    worst = float(np.max(np.abs(values - case["values"])))
    if not worst < 1e-5:  # xgboost sums its leaves in float32
        raise SystemExit(f"Shapley values differ from their definition by up to {worst:.2g}")
    print(f"explained a saved XGBoost model without xgboost; largest difference from the definition: {worst:.1g}")


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](Path(sys.argv[2]))
