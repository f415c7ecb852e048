"""Check the licences of everything in the wheel: `python scripts/licences.py`, without a network.

The script lists each crate of the native module, as `Cargo.lock` pins it, with its licence, and fails if that licence
is not in the list below. Crates that only tests and benches use are marked and must be on the same list.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
# Licences that only ask to be included in the wheel.
ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}


def allowed(expression: str) -> bool:
    """Whether the list satisfies a licence expression: one side of each OR, both sides of each AND."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def either() -> bool:
        found = both()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            found = both() or found
        return found

    def both() -> bool:
        found = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            found = one() and found
        return found

    def one() -> bool:
        if not tokens:
            return False
        token = tokens.pop(0)
        if token == "(":
            found = either()
            return bool(tokens) and tokens.pop(0) == ")" and found
        if tokens and tokens[0] == "WITH":
            token = f"{token} WITH {tokens[1]}" if len(tokens) > 1 else token
            del tokens[:2]
        return token in ALLOWED

    return either() and not tokens


def built_in(metadata: dict[str, Any]) -> set[str]:
    """Return the packages in the native module: all but those that only tests and benches use."""
    needs = {
        node["id"]: [
            needed["pkg"]
            for needed in node["deps"]
            if any(kind["kind"] in (None, "build") for kind in needed["dep_kinds"])
        ]
        for node in metadata["resolve"]["nodes"]
    }
    found: set[str] = set()
    pending = [metadata["resolve"]["root"]]
    while pending:
        package = pending.pop()
        if package not in found:
            found.add(package)
            pending += needs[package]
    return found


def main() -> None:
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--offline", "--features=python"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    inside = built_in(metadata)
    refused = []
    for package in sorted(metadata["packages"], key=lambda p: (p["id"] not in inside, p["name"])):
        licence = package["license"] or ""
        where = "built in" if package["id"] in inside else "tests only"
        print(f"{where:10}  {package['name']:24} {package['version']:12} {licence or 'no licence'}")
        if not allowed(licence):
            refused.append(f"{package['name']} {package['version']}: {licence or 'no licence'}")
    if refused:
        raise SystemExit("not on the list of licences: " + "; ".join(refused))
    print(
        f"{len(inside)} crates in the wheel, {len(metadata['packages']) - len(inside)} for tests only: all on the list"
    )


if __name__ == "__main__":
    main()
