"""Sphinx settings of the documentation site; `make docs` builds it, from the folder that scripts/site.py lays out."""

import re
from typing import Any

import arborshap

project = "arborshap"
author = "The arborshap developers"
copyright = author
version = release = arborshap.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # the pages render formulas without a network
]

# The pages are read on GitHub too, so they use plain Markdown, formulas between dollar signs and GitHub's anchors.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # `make gallery` runs the notebooks, and the tests check that they are current

autodoc_member_order = "bysource"
autodoc_default_options = {"special-members": "__call__, __getitem__, __len__"}
autodoc_preserve_defaults = True
# Adapters import their tools, which are not needed to read the docstrings.
autodoc_mock_imports = ["cloudpickle", "explainerdashboard", "mlflow", "pandas", "shap", "shapash"]
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_typehints_format = "short"
add_module_names = False
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]  # a list, also for attributes that are properties as well
default_role = "py:obj"  # `name` in a docstring links to what it names, or is shown as code

# A reference to a public name must lead somewhere; other packages and private modules have no pages here.
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(?!arborshap\.[A-Z]).*")]

# A parameter may have the name of an attribute of two classes: either link will do.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = f"arborshap {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False


def as_plain_text(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Keep the bars of |value|, and the colon in the first line about a property, from meaning something else."""
    lines[:] = [re.sub(r"\|(\w+)\|", r"\\|\1\\|", line) for line in lines]
    if what == "property":
        lines[:0] = ["..", ""]  # an empty comment; napoleon would take what stands before the colon for a type


def setup(app: Any) -> None:
    """Come before napoleon, whose priority is 500."""
    app.connect("autodoc-process-docstring", as_plain_text, priority=400)
