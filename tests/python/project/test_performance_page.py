"""The times that the README and docs/performance.md show are the ones that were recorded, losses included."""

import sys
from typing import Any

import pytest

from support.places import ROOT

sys.path.append(str(ROOT / "benches" / "python"))

import readme_table
import tables


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    found = readme_table.recorded("peers")
    assert found is not None
    return found


def test_the_readme_shows_what_was_recorded(recorded: dict[str, Any]) -> None:
    shown = readme_table.BLOCK.findall((ROOT / "README.md").read_text())
    assert shown == [readme_table.readme_block(recorded)], "run `make bench-table`"


def test_the_readme_has_eight_rows_and_every_loss(recorded: dict[str, Any]) -> None:
    names = [case["name"] for case in readme_table.shortened(recorded)["cases"]]
    assert len(names) == readme_table.README_ROWS
    assert {*names} <= {*readme_table.SHOWN_FIRST}, "these are the cases unless a peer wins another"

    left_out = next(case for case in recorded["cases"] if case["name"] not in names)
    lost = {**left_out, "entries": {"arborshap": {"seconds": 2.0}, "shap": {"seconds": 1.0}}}
    cases = [lost if case is left_out else case for case in recorded["cases"]]
    with_loss = [case["name"] for case in readme_table.shortened({**recorded, "cases": cases})["cases"]]
    assert lost["name"] in with_loss
    assert len(with_loss) == readme_table.README_ROWS


def test_the_page_shows_what_was_recorded(recorded: dict[str, Any]) -> None:
    rendered = readme_table.page(recorded, *map(readme_table.recorded, ("large", "scaling", "hd")))
    assert (ROOT / "docs" / "performance.md").read_text() == rendered, "run `make bench-table`"


def test_every_recorded_value_agreed(recorded: dict[str, Any]) -> None:
    entries = {(case["name"], name): e for case in recorded["cases"] for name, e in case["entries"].items()}
    peers = {key: e for key, e in entries.items() if key[1] != "arborshap"}
    timed = {key: e for key, e in peers.items() if "seconds" in e}
    assert len(timed) > len(peers) / 2
    # shap counts the players of a path in 32 bits, which is too few for this model.
    wrong = {key for key, e in timed.items() if "wrong" in e}
    assert wrong <= {("L1023 5k x 5k", "shap")}
    compared = [e for key, e in timed.items() if key not in wrong]
    assert all(e["difference"] < 2e-5 and e["rows_apart"] < 10 for e in compared)


def test_a_loss_is_shown_as_one() -> None:
    case = {
        "name": "A 1 x 1",
        "entries": {
            "arborshap": {"seconds": 2.0},
            "shap": {"seconds": 3.0, "extrapolated": "1 of 2 rows"},
            "woodelf": {"seconds": 1.0},
            "other": {"problem": "does not build here"},
        },
    }
    row = tables.peers_table({"cases": [case]}).splitlines()[-1]
    assert row == "| A 1 x 1 | **2.0 s** | 3.0 s EXT | 1.0 s | other does not build here | 0.50 x (woodelf) |"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(4.9e-5, "49 us"), (0.0042, "4.2 ms"), (0.042, "42 ms"), (0.42, "0.42 s"), (4.2, "4.2 s"), (42.4, "42 s"),
     (0.0996, "0.10 s"), (0.000999, "1.0 ms"), (370_512.0, "370,000 s")],
)  # fmt: skip
def test_seconds_in_two_figures(value: float, shown: str) -> None:
    assert tables.seconds(value) == shown
