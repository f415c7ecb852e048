"""Prepare README.md and pyproject.toml for PyPI: `python scripts/pypi_page.py --repository URL --ref v0.2.0`.

On PyPI a page stands alone: links and pictures need whole addresses, the sidebar needs some too, and readers install a
wheel instead of building one. Only a release knows the repository and the tag, so the release workflow runs this on its
own checkout before it builds.
"""

import argparse
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!https?://|#)(?P<path>[^)\s]+)\)")
INSTALL = re.compile(r"(?<=<!-- install:begin -->\n).*?(?=<!-- install:end -->)", re.DOTALL)
INSTALLED_BY_PIP = """
```text
pip install arborshap
```

The wheels need CPython 3.11 or later and numpy. An extra adds what one feature needs: `'arborshap[plots]'` for plots,
and `'arborshap[shap]'`, `'arborshap[shapash]'`, `'arborshap[explainerdashboard]'` or `'arborshap[mlflow]'` for an
adapter. `python -m arborshap.demo` trains a model and explains it; it needs `'arborshap[demo]'`.

"""
URLS = """
[project.urls]
Repository = "{repository}"
Documentation = "{repository}/blob/{ref}/docs/index.md"
Changelog = "{repository}/blob/{ref}/CHANGELOG.md"
Issues = "{repository}/issues"
"""


def with_whole_addresses(page: str, repository: str, ref: str) -> str:
    """Replace each relative link by the address of the file in the repository, and each picture by its raw file."""

    def whole(link: re.Match[str]) -> str:
        kind = "raw" if link["picture"] else "blob"
        return f"{link['picture']}[{link['text']}]({repository}/{kind}/{ref}/{link['path']})"

    return LINK.sub(whole, page)


def with_pip(page: str) -> str:
    """Replace the section about building by one about installing."""
    changed, found = INSTALL.subn(INSTALLED_BY_PIP, page)
    if found != 1:
        raise SystemExit("README.md needs one section between <!-- install:begin --> and <!-- install:end -->")
    return changed


def with_urls(project: str, repository: str, ref: str) -> str:
    """Add the addresses that PyPI shows beside the page."""
    if "[project.urls]" in project:
        raise SystemExit("pyproject.toml has [project.urls] already")
    table = "[project.scripts]"
    return project.replace(table, URLS.format(repository=repository, ref=ref).lstrip() + "\n" + table, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repository", required=True, help="the address of the repository")
    parser.add_argument("--ref", required=True, help="the tag of the release")
    options = parser.parse_args()
    readme, project = ROOT / "README.md", ROOT / "pyproject.toml"
    page = with_whole_addresses(
        with_pip(readme.read_text(encoding="utf-8")), options.repository.rstrip("/"), options.ref
    )
    metadata = with_urls(project.read_text(encoding="utf-8"), options.repository.rstrip("/"), options.ref)
    readme.write_text(page, encoding="utf-8")
    project.write_text(metadata, encoding="utf-8")


if __name__ == "__main__":
    main()
