"""What a notebook shows of an explanation."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from arborshap import Explanation

MINUS = "\N{MINUS SIGN}"


def rows(explanation: Explanation) -> list[tuple[str, str, float, str]]:
    """Label, number, width of the bar and its colour, line by line; what is not well-formed does not parse."""
    tree = ElementTree.fromstring(explanation._repr_html_())
    found = []
    for line in tree.iter("tr"):
        label, number, bar = line
        style = bar[0].attrib["style"]
        width, colour = re.search(r"width:([\d.]+)em", style), re.search(r"background:(#\w+)", style)
        assert width is not None
        assert colour is not None
        found.append((label.text or "", number.text or "", float(width[1]), colour[1]))
    return found


def test_one_row() -> None:
    explanation = Explanation(
        np.array([[1.0, -4.0, 0.0]]), [2.0], feature_names=["a", "b", "c"], data=np.array([[5.0, np.nan, 7.5]])
    )[0]
    shown = rows(explanation)
    assert [line[:2] for line in shown] == [("b = missing", f"{MINUS}4.00"), ("a = 5", "+1.00"), ("c = 7.5", "0.00")]
    assert [line[2] for line in shown] == pytest.approx([9, 9 / 4, 0])
    assert shown[0][3] != shown[1][3]
    assert f"from the base value 2.00 to the model output {MINUS}1.00" in explanation._repr_html_()


def test_several_rows_show_mean_sizes_and_how_many_are_left_out() -> None:
    values = np.array([[1.0], [-3.0]]) * np.arange(1, 15)
    explanation = Explanation(values, np.zeros(2), feature_names=[f"f{j}" for j in range(14)])
    assert [line[:2] for line in rows(explanation)] == [(f"f{j}", f"{2 * (j + 1):.1f}") for j in range(13, 3, -1)]
    assert "4 more are smaller" in explanation._repr_html_()


def test_pairs() -> None:
    values = np.array([[[2.0, -0.5], [-0.5, 0.25]]])
    explanation = Explanation(values, np.zeros(1), feature_names=["a", "b"], index="taylor")
    assert [line[:2] for line in rows(explanation)] == [("a", "2.00"), ("a and b", "1.00"), ("b", "0.25")]
    signed = [("a", "+2.00"), ("a and b", f"{MINUS}1.00"), ("b", "+0.25")]
    assert [line[:2] for line in rows(explanation[0])] == signed
    assert rows(explanation[:, "a"])[0][:2] == ("a", "2.00")


def test_several_outputs() -> None:
    explanation = Explanation(
        np.array([[[1.0, -3.0], [0.5, 0.5]]]), np.zeros((1, 2)), feature_names=["a", "b"], output_names=["no", "yes"]
    )
    assert [line[:2] for line in rows(explanation)] == [("a", "2.00"), ("b", "0.50")]
    assert "over all outputs: no, yes" in explanation._repr_html_()


def test_text_from_the_data_is_escaped() -> None:
    explanation = Explanation(
        np.array([[1.0]]), [0.0], feature_names=["<script>alert(1)</script>"], data=np.array([["&<b>"]], dtype=object)
    )
    html = explanation[0]._repr_html_()
    assert "<script" not in html
    assert "<b>Explanation" in html
    assert rows(explanation[0])[0][0] == "<script>alert(1)</script> = &<b>"


@pytest.mark.parametrize("shape", [(0, 2), (3, 0)])
def test_nothing_to_show(shape: tuple[int, int]) -> None:
    names = ["a", "b"][: shape[1]]
    assert rows(Explanation(np.zeros(shape), np.zeros(shape[0]), feature_names=names)) == []


def test_a_single_number() -> None:
    explanation = Explanation(np.array([[1.5]]), [0.0], feature_names=["a"])[0, "a"]
    assert "1.5" in explanation._repr_html_()
