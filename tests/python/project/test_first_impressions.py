"""What people see first: the page on PyPI, the citation, the templates, the changelog."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import arborshap
from support.places import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import pypi_page

REPOSITORY = "https://example.org/someone/arborshap"
ADDRESS = re.compile(rf'(?:href|src)="{REPOSITORY}/(?P<kind>blob|raw)/v1/(?P<path>[^"#]+)')


def version() -> str:
    return str(tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]["version"])


def test_the_page_on_pypi_renders_with_whole_addresses() -> None:
    markdown = pytest.importorskip("readme_renderer.markdown", reason="in the dependency group `test`")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    page = pypi_page.with_whole_addresses(pypi_page.with_pip(readme), REPOSITORY, "v1")
    html = markdown.render(page)
    assert html is not None
    assert not re.findall(r'(?:href|src)="(?!https?://|#)', html)
    found = [(match["kind"], match["path"]) for match in ADDRESS.finditer(html)]
    assert ("raw", "docs/images/overview.png") in found
    assert len(found) >= 15
    assert [path for _, path in found if not (ROOT / path).exists()] == []


def test_the_page_on_pypi_tells_how_to_install_what_is_there() -> None:
    page = pypi_page.with_pip((ROOT / "README.md").read_text(encoding="utf-8"))
    section = page.partition("## Install\n")[2].partition("\n## ")[0]
    assert "\npip install arborshap\n" in section
    assert "make" not in section
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = re.findall(r"arborshap\[(\w+)\]", section)
    assert {"plots", "shap", "shapash", "explainerdashboard", "mlflow"} <= {*named} <= {*extras}
    with pytest.raises(SystemExit, match="install:begin"):
        pypi_page.with_pip("# A page without the section")


def test_a_release_changes_the_page_and_the_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("README.md", "pyproject.toml"):
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(pypi_page, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["pypi_page.py", "--repository", f"{REPOSITORY}/", "--ref", "v1"])
    pypi_page.main()
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert f"]({REPOSITORY}/raw/v1/docs/images/overview.png)" in page
    assert "pip install arborshap\n" in page
    assert f'"{REPOSITORY}/issues"' in (tmp_path / "pyproject.toml").read_text(encoding="utf-8")


def test_the_addresses_of_a_release_are_valid_metadata() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(pypi_page.with_urls(text, REPOSITORY, "v1"))["project"]
    assert project["urls"]["Changelog"] == f"{REPOSITORY}/blob/v1/CHANGELOG.md"
    assert project["scripts"] == tomllib.loads(text)["project"]["scripts"]


def test_the_citation_names_this_version_and_the_paper() -> None:
    citation = yaml_of("CITATION.cff")
    assert citation["version"] == version()
    assert "2209.15123" in citation["preferred-citation"]["identifiers"][0]["value"]
    assert citation["preferred-citation"]["title"] in (ROOT / "README.md").read_text().replace("\n> ", " ")


def test_the_changelog_has_a_date_for_this_version() -> None:
    headings = re.findall(r"^## \[(.+)\] - (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0][0] == version()
    dates = [date for _, date in headings]
    assert all(re.fullmatch(r"\d{4}-\d{2}-\d{2}", date) for date in dates)
    assert dates == sorted(dates, reverse=True)
    assert str(yaml_of("CITATION.cff")["date-released"]) == dates[0]


def test_assistants_are_told_of_every_page_and_of_calls_that_exist() -> None:
    text = (ROOT / "llms.txt").read_text(encoding="utf-8")
    pages = {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}
    assert pages - {*re.findall(r"\]\(([\w./-]+)", text)} == set()
    calls = {*re.findall(r"`(?:explainer\.)?([a-z_]{4,})\(", text)}
    adapters = {"use_arborshap", "log_model", "load_model"}
    assert {"partial_dependence", "drift_contributions", "owen_values", *adapters} <= calls
    known = {*dir(arborshap.TreeExplainer), *arborshap.__all__, *dir(arborshap.Explanation)}
    assert calls - known == adapters
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert {*re.findall(r"`(?:arborshap)?\[(\w+)\]`", text)} <= {*extras}


@pytest.mark.parametrize("name", ["wrong-value", "failure", "wish"])
def test_templates_of_issues_are_well_formed(name: str) -> None:
    form = yaml_of(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert {"name", "description", "body"} <= {*form}
    assert all(part["attributes"]["label"] for part in form["body"])


def yaml_of(path: str) -> Any:
    yaml = pytest.importorskip("yaml", reason="dask brings it along")
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))
