"""Where things are in the repository."""

from pathlib import Path

ROOT = Path(__file__).parents[3]
TESTS = ROOT / "tests" / "python"
CORPUS = ROOT / "tests" / "corpus"
EXAMPLES = ROOT / "examples"
DOCS = ROOT / "docs"
