"""Import and explain, quickly: what runs on every CPython and platform, with whichever model libraries are there."""

from pathlib import Path

import numpy as np
import pytest

from arborshap import TreeExplainer, demo
from support import oracle
from support.models.cases import CASES, Case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values_are_the_definition(case: Case) -> None:
    pytest.importorskip(case.library)
    built = case.build()
    rows, background = built.X[:3], built.X[10:18]
    expected = oracle.shapley(oracle.worths(built.raw_predict, rows, background))
    values = TreeExplainer(built.model, background).shap_values(rows)
    scale = np.abs(built.raw_predict(built.X)).max()
    np.testing.assert_allclose(values.reshape(expected.shape), expected, rtol=0, atol=case.tolerance * scale)


def test_the_demonstration_adds_up(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xgboost")
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    assert demo.main() == 0
    printed = capsys.readouterr().out
    assert "569 rows x 426 background rows = 242,394 pairs" in printed
    assert str(tmp_path / demo.REPORT) in printed
    assert "</html>" in (tmp_path / demo.REPORT).read_text(encoding="utf-8")
