"""Check the licences of everything that is built in: `python scripts/licences.py`, without a network.

Lists each crate that the native module is made of, as `Cargo.lock` pins it, with its licence, and fails if one has no
licence of the list below. Crates that only the tests and benches use are named as such and held to the same list.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
# Licences that ask for no more than to be passed on with the wheel.
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
    """Whether a licence expression can be met: one side of each OR, both sides of each AND, from the list."""
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
    """The packages that the native module is built of: all but what only tests and benches use."""
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
    print(f"{len(inside)} crates built in, {len(metadata['packages']) - len(inside)} for tests only: all on the list")


if __name__ == "__main__":
    main()
