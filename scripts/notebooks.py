"""Run the notebooks in examples/ and store their outputs: `python scripts/notebooks.py`.

With `--check`, write nothing and fail if a cell does not run, or if its outputs differ in kind from those stored.
Jupyter is not needed: a cell's outputs are what it prints, the value of its last line, and the figures it draws.
"""

import ast
import base64
import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt

ROOT = Path(__file__).parent.parent


def main(check: bool) -> None:
    plt.switch_backend("agg")
    for path in sorted((ROOT / "examples").glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        kept = [_kinds(cell) for cell in notebook["cells"]]
        run(notebook, path.name)
        if not check:
            path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        elif kept != [_kinds(cell) for cell in notebook["cells"]]:
            raise SystemExit(f"the stored outputs of {path.name} are stale: run scripts/notebooks.py")


def run(notebook: dict[str, Any], name: str) -> None:
    """Run all cells in one namespace, and replace their stored outputs."""
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell["execution_count"] = count
            cell["outputs"] = outputs_of("".join(cell["source"]), names, f"{name}, cell {count}", count)


def outputs_of(source: str, names: dict[str, Any], where: str, count: int) -> list[dict[str, Any]]:
    """Run one cell, and return its outputs in the format of a notebook."""
    body = ast.parse(source, where).body
    last = body[-1] if body and isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(ast.Module(body if last is None else body[:-1], []), where, "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), where, "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None and not plt.get_fignums():
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data = {"text/html": _lines(value._repr_html_()), **data}
        outputs.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    for number in plt.get_fignums():
        picture = io.BytesIO()
        plt.figure(number).savefig(picture, dpi=80)
        data = {"image/png": [base64.b64encode(picture.getvalue()).decode()], "text/plain": ["<Figure>"]}
        outputs.append({"output_type": "display_data", "metadata": {}, "data": data})
    plt.close("all")
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _kinds(cell: dict[str, Any]) -> list[list[str]]:
    return [[output["output_type"], *sorted(output.get("data", {}))] for output in cell.get("outputs", [])]


if __name__ == "__main__":
    main("--check" in sys.argv[1:])
