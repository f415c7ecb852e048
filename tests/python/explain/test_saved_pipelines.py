"""Explainers of pipelines, saved without pickle: the same bits without scikit-learn, or refused by step."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, QuantileTransformer, StandardScaler

from arborshap import InputError, ModelError, TreeExplainer
from support.patience import HANG
from support.pipeline_cases import CASES, N_FIT, fitted, forest
from support.raw_tables import NAMES, table
from support.saved_files import parts_of, with_text

REFUSED = {
    "any function": "'columntransformer/functiontransformer', a FunctionTransformer, .* its function 'cumsum'",
    "bins, quantiles and splines": "'columntransformer/splinetransformer', a SplineTransformer, cannot be saved",
    "neighbours fill the gaps": "'columntransformer/knnimputer', a KNNImputer, cannot be saved",
    "a step of one's own": "'columntransformer/ratio', a Ratio, .* it comes from support.pipeline_cases",
    "words of a text": "'columntransformer/countvectorizer', a CountVectorizer, cannot be saved",
}


def loaded(explainer: TreeExplainer) -> TreeExplainer:
    return TreeExplainer.from_bytes(explainer.to_bytes())


@pytest.mark.parametrize("name", [name for name in CASES if name not in REFUSED])
def test_the_same_bits_for_rows_of_any_kind(name: str) -> None:
    it = fitted(name)
    again = loaded(it.explainer)
    assert again.feature_names == it.explainer.feature_names
    moved = it.X[NAMES[::-1]]
    for rows in (it.X, it.X[:0], moved, pl.from_pandas(moved), it.X.to_numpy(), it.X.to_numpy().tolist()):
        np.testing.assert_array_equal(again.shap_values(rows), it.explainer.shap_values(rows), err_msg=str(type(rows)))
    for index in ("taylor", "banzhaf", "interaction"):
        ours, theirs = again(it.X, index=index), it.explainer(it.X, index=index)
        np.testing.assert_array_equal(ours.values, theirs.values)
    assert again(it.X).data_names == it.explainer(it.X).data_names
    assert again(it.X).data_players == it.explainer(it.X).data_players
    trace = again.trace(it.X.iloc[[0]], it.Z.iloc[[0]], tree=0)
    assert str(trace) == str(it.explainer.trace(it.X.iloc[[0]], it.Z.iloc[[0]], tree=0))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_data_is_refused_by_the_name_of_its_step(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"the pipeline's step {REFUSED[name]}"):
        fitted(name).explainer.save(tmp_path / "explainer")
    assert list(tmp_path.iterdir()) == []


class OwnScaler(StandardScaler):  # type: ignore[misc]
    """A subclass that may do anything."""


def numbers_only(*steps: Any) -> TreeExplainer:
    frame = table(N_FIT, gaps=False)[["w", "v", "size"]]
    pipeline = make_pipeline(*steps, forest()).fit(frame, frame["w"])
    return TreeExplainer(pipeline, frame[:20], verify=False)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (OwnScaler(), "'ownscaler', a OwnScaler, .*only scikit-learn's own .* use StandardScaler itself"),
        (FunctionTransformer(lambda rows: rows), "its function '<lambda>' is not a NumPy function of one number"),
        (QuantileTransformer(n_quantiles=10, output_distribution="normal"), "use 'uniform'"),
    ],
)
def test_subclasses_and_functions_are_refused(step: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        numbers_only(step).to_bytes()


def test_a_step_whose_transform_was_replaced_is_refused() -> None:
    explainer = numbers_only(StandardScaler())
    step = explainer.state.reader.pipeline._steps[0][1]  # type: ignore[union-attr]  # noqa: SLF001
    step.transform = lambda rows: rows * 2
    with pytest.raises(InputError, match="its transform method was replaced"):
        explainer.to_bytes()


def test_what_would_be_replayed_otherwise_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    explainer = numbers_only(StandardScaler(), PCA(2))
    from arborshap.steps.linear import Projected

    plain: Any = Projected.transform
    calls = []

    def wrong(self: Any, rows: Any) -> Any:
        calls.append(1)  # the trials of the writer are left alone
        return plain(self, rows) * (1.0 + 1e-15 * (len(calls) > 3))

    monkeypatch.setattr(Projected, "transform", wrong)
    with pytest.raises(InputError, match=r"other numbers for the first rows, in feature 'pca[01]'"):
        explainer.to_bytes()


def test_saved_loaded_saved_and_pickled_again() -> None:
    it = fitted("imputed, with indicators")
    again = loaded(it.explainer)
    for copy in (loaded(again), pickle.loads(pickle.dumps(again))):
        np.testing.assert_array_equal(copy.shap_values(it.X), it.explainer.shap_values(it.X))
    rows = it.explainer.state.reader.pipeline
    assert vars(pickle.loads(pickle.dumps(rows)))["_seen"] is None  # a pickle holds no raw rows


def test_probabilities_of_a_saved_pipeline() -> None:
    frame = table(N_FIT)
    it = fitted("imputed, with indicators")
    explainer = TreeExplainer(it.pipeline, frame[:20], model_output="probability")
    again = loaded(explainer)
    np.testing.assert_array_equal(again.shap_values(it.X), explainer.shap_values(it.X))


def test_numpy_alone_explains(tmp_path: Path) -> None:
    it = fitted("unknown categories ignored")
    it.explainer.save(tmp_path / "explainer")
    np.save(tmp_path / "expected.npy", it.explainer.shap_values(it.X))
    rows = [[None if cell != cell else cell for cell in row] for row in it.X.to_numpy().tolist()]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    script = f"""
        import sys
        for name in ("sklearn", "scipy", "pandas", "polars", "pyarrow", "lightgbm", "xgboost"):
            sys.modules[name] = None  # an import of it fails
        import json
        import numpy as np
        from arborshap import TreeExplainer
        rows = json.load(open({str(tmp_path / "rows.json")!r}))
        explainer = TreeExplainer.load({str(tmp_path / "explainer")!r})
        expected = np.load({str(tmp_path / "expected.npy")!r})
        np.testing.assert_array_equal(explainer.shap_values(rows), expected)
        np.testing.assert_array_equal(explainer.shap_values(np.array(rows, dtype=object)), expected)
        np.testing.assert_array_equal(explainer.contrast(rows[0], rows[1]).values.shape, expected[0].shape)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=HANG)


def test_arrow_tables() -> None:
    it = fitted("unknown categories ignored")
    arrow = pa.Table.from_pandas(it.X[NAMES[::-1]])
    np.testing.assert_array_equal(loaded(it.explainer).shap_values(arrow), it.explainer.shap_values(arrow))


def test_refused_cells_are_named_with_row_and_column() -> None:
    again = loaded(fitted("principal components").explainer)
    rows = table(5, seed=4)
    rows.loc[2, "town"] = "Nowhere"
    with pytest.raises(
        InputError,
        match=r"X: the pipeline's step 'columntransformer' refuses row 2 of column 'town', which is 'Nowhere'; "
        r"the known categories are 'Bern', 'Chur', 'Genf', 'Thun'",
    ):
        again.shap_values(rows)
    rows = table(5, seed=4)
    rows.loc[1, "v"] = np.inf
    with pytest.raises(InputError, match="refuses row 1 of column 'v', which is infinite"):
        again.shap_values(rows)
    with pytest.raises(InputError, match="X has no column 'town', which the model needs"):
        again.shap_values(rows.drop(columns="town"))
    with pytest.raises(InputError, match="'columntransformer' refuses these rows: its columns must hold numbers"):
        again.shap_values(table(5, seed=4).assign(v="many"))


def test_a_pipeline_fitted_on_an_array() -> None:
    frame = table(N_FIT, gaps=False)[["w", "size", "v"]]
    pipeline = make_pipeline(make_column_transformer((OneHotEncoder(), [1]), remainder="passthrough"), forest())
    pipeline.fit(frame.to_numpy(), frame["w"])
    explainer = TreeExplainer(pipeline, frame[:20])
    again = loaded(explainer)
    for rows in (frame[20:30], frame[20:30].to_numpy(), frame[20:30][["v", "w", "size"]]):
        np.testing.assert_array_equal(again.shap_values(rows), explainer.shap_values(rows))


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_text_without_types_is_what_the_encoder_knows(missing: Any) -> None:
    towns = np.array(["Bern", "Chur", missing, "Thun"] * 10, dtype=object)
    frame = pd.DataFrame({"town": pd.Series(towns, dtype=object), "w": np.arange(40.0)})
    pipeline = make_pipeline(make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough"), forest())
    explainer = TreeExplainer(pipeline.fit(frame, 5.0 * frame["town"].isna() + frame["w"] / 50), frame)
    again = loaded(explainer)
    expected = explainer.shap_values(frame[:4])
    assert abs(expected[2, 0]) > 1
    for gap in (None, float("nan")):
        rows = [["Bern", 0.0], ["Chur", 1.0], [gap, 2.0], ["Thun", 3.0]]
        np.testing.assert_array_equal(again.shap_values(rows), expected)
    assert again.categories == {"town": ["Bern", "Chur", "Thun"]}


# --- files of strangers ---------------------------------------------------------------------------------------------


def changed(data: bytes, **changes: Any) -> bytes:
    document = json.loads(parts_of(data)["texts.steps"][0])
    document.update(changes)
    return with_text(data, "texts.steps", json.dumps(document))


def test_unknown_versions_steps_and_fields_are_refused_by_name() -> None:
    data = fitted("imputed, with indicators").explainer.to_bytes()
    steps = json.loads(parts_of(data)["texts.steps"][0])["steps"]
    for damaged, message in (
        (changed(data, version=2), "steps of the pipeline have version 2, but this arborshap reads version 1"),
        (changed(data, steps=[{"kind": "magic"}]), "does not know the saved step 'magic'"),
        (
            changed(data, steps=[{**steps[0], "colour": 1}]),
            "does not know the field 'colour' of the saved step 'parts'",
        ),
        (changed(data, colour=1), "does not know the field 'colour'"),
        (changed(data, steps=[], names=[]), r"do not make the \d+ features of the model"),
        (changed(data, n_columns=3), "takes 6 columns, but it would get 3"),
        (changed(data, features=["a"]), r"do not make the \d+ features"),
        (with_text(data, "texts.steps", "{"), "not valid JSON"),
        (with_text(data, "texts.steps", "[" * 100_000), "not valid JSON|cannot be read|version"),
    ):
        with pytest.raises(ModelError, match=message):
            TreeExplainer.from_bytes(damaged)


@pytest.mark.parametrize("name", ["imputed, with indicators", "principal components"])
def test_no_damaged_document_crashes(name: str) -> None:
    it = fitted(name)
    data = it.explainer.to_bytes()
    document = json.loads(parts_of(data)["texts.steps"][0])
    wrong: list[Any] = [None, -1, "x", [[]], 1e400]
    refused = 0
    for path in paths_of(document):
        for value in wrong:
            damaged = json.loads(json.dumps(document))
            inside = damaged
            for key in path[:-1]:
                inside = inside[key]
            inside[path[-1]] = value
            try:
                TreeExplainer.from_bytes(with_text(data, "texts.steps", json.dumps(damaged))).shap_values(it.X)
            except (ModelError, InputError):
                refused += 1
    assert refused > 100


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """List the places of a document, two of each list."""
    entries = (
        value.items() if isinstance(value, dict) else list(enumerate(value))[:2] if isinstance(value, list) else ()
    )
    found = [path] if path else []
    for key, entry in entries:
        found += paths_of(entry, (*path, key))
    return found


def test_a_pipeline_that_has_read_no_rows_is_saved_too() -> None:
    frame = table(N_FIT)
    explainer = TreeExplainer(fitted("unknown categories ignored").pipeline)
    again = loaded(explainer)
    np.testing.assert_array_equal(again.shap_values(frame), explainer.shap_values(frame))
