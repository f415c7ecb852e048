"""A short run of what `make fuzz` does at length, on the same corpus; the same files every time."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from arborshap import TreeExplainer, _core
from arborshap.exceptions import ModelError
from support.effort import lines_in_proportion
from support.mutation import mutated
from support.places import CORPUS
from support.readers import read_model, read_saved, resealed

READERS: dict[str, Callable[[bytes], bool]] = {
    "json": read_model,
    "ubjson": read_model,
    "lightgbm": read_model,
    "saved": read_saved,
}
EXECUTIONS = 250


def seeds(folder: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((CORPUS / folder).iterdir())]


@pytest.mark.parametrize("folder", READERS)
def test_the_corpus_itself_is_read(folder: str) -> None:
    assert all(READERS[folder](seed) for seed in seeds(folder))


@pytest.mark.parametrize("folder", READERS)
def test_damage_is_refused_or_harmless(folder: str) -> None:
    rng = random.Random(f"{folder} 1")
    refused = 0
    for _ in range(EXECUTIONS):
        content = mutated(folder, rng.choice(seeds(folder)), rng)
        with lines_in_proportion(content):
            refused += not READERS[folder](content)
    assert EXECUTIONS // 5 < refused < EXECUTIONS, "damage that is never noticed, or always, tests nothing"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("saved-players-by-the-million", "it has 16777219 players for 3 features"),
        ("saved-no-cover", "tree 0 has none"),
    ],
)
def test_the_native_reader_refuses_what_was_found(name: str, message: str) -> None:
    data = resealed((CORPUS / "findings" / name).read_bytes())
    with pytest.raises(ModelError, match=message):
        _core.Explainer.from_bytes(data, n_threads=1)


def test_saved_texts_that_were_changed() -> None:
    content = (CORPUS / "saved" / "rows").read_bytes()
    for old, new, message in [
        (b'"engine": "auto"', b'"engine": "aut]"', "the saved engine cannot explain the saved model"),
        (b'"model_output": "raw"', b'"model_output": "war"', "the saved model_output 'war'"),
    ]:
        assert old in content
        with pytest.raises(ModelError, match=message):
            TreeExplainer.from_bytes(resealed(content.replace(old, new)))


def test_findings_stay_fixed() -> None:
    """Files that once ended in another error than they should have, or took far too much memory."""
    for path in sorted((CORPUS / "findings").iterdir()):
        (read_saved if path.name.startswith("saved") else read_model)(path.read_bytes())
