"""Lay out the sources of the documentation site in a folder for Sphinx: `python scripts/site.py target/site-source`.

The pages keep their places in the repository, so that the links which work on GitHub work on the site too. README.md
becomes the home page, and the reference gets one page per public class, made from `arborshap.__all__`.
"""

import inspect
import shutil
import sys
from pathlib import Path

import numpy as np

import arborshap

ROOT = Path(__file__).parent.parent
SITE = ROOT / "docs" / "site"
COPIED = [
    "DESIGN.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "CITATION.cff",
    "src/lib.rs",
    "docs",
    "examples",
]

OPTIONS = {
    "autoclass": "   :members:\n",
    "autoexception": "   :show-inheritance:\n",
    "automodule": "   :members:\n",
}

RUST = """# The Rust crate

The core of arborshap is a Rust crate that needs no Python.
<a href="../rust/arborshap/index.html">Its documentation</a> is built together with this site.
"""


def main(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "_static").mkdir(parents=True)
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("site", "__pycache__"))
        else:
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    shutil.copy(SITE / "conf.py", folder)
    shutil.copy(SITE / "site.css", folder / "_static")
    home = (ROOT / "README.md").read_text(encoding="utf-8") + (SITE / "contents.md").read_text(encoding="utf-8")
    write(folder / "index.md", home)
    for page in folder.rglob("*.md"):
        write(page, page.read_text(encoding="utf-8").replace("README.md#", "index.md#"))
    write_reference(folder / "api")


def write_reference(folder: Path) -> None:
    folder.mkdir()
    public = {name: getattr(arborshap, name) for name in arborshap.__all__ if not name.startswith("_")}
    classes = [name for name, found in public.items() if inspect.isclass(found)]
    exceptions = [name for name in classes if issubclass(public[name], Exception)]
    functions = [name for name in public if name not in classes]
    pages = {name: [f"autoclass:: {name}"] for name in classes if name not in exceptions}
    pages["Plots"] = [f"autoclass:: {plots_class()}"]
    pages["Functions"] = [f"autofunction:: {name}" for name in functions]
    pages["Exceptions"] = [f"autoexception:: {name}" for name in exceptions]
    pages["Clusters"] = [f"automodule:: arborshap.distributed.{engine}" for engine in ("dask", "spark")]
    adapters = ("shap", "shapash", "explainerdashboard", "mlflow")
    pages["Adapters"] = [f"automodule:: arborshap.adapters.{tool}" for tool in adapters]
    for name, directives in pages.items():
        write(folder / f"{name}.md", f"# {name}\n\n{reference(directives)}")
    listed = "\n".join(pages)
    write(folder / "index.md", f"# The Python API\n\n```{{toctree}}\n:maxdepth: 2\n\n{listed}\n```\n")
    write(folder / "rust.md", RUST)


def plots_class() -> str:
    """Return the class of `Explanation.plot`, whose methods are public although its name is not."""
    plots = type(arborshap.Explanation(np.zeros((1, 1)), np.zeros(1), feature_names=["x"]).plot)
    return f"{plots.__module__}.{plots.__qualname__}"


def reference(directives: list[str]) -> str:
    lines = [f".. {directive}\n{OPTIONS.get(directive.partition(':')[0], '')}" for directive in directives]
    return "```{eval-rst}\n.. currentmodule:: arborshap\n\n" + "\n".join(lines) + "```\n"


def write(page: Path, text: str) -> None:
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
