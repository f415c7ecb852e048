"""JSON from an untrusted file: every fault is a `ModelError`, and nesting uses no machine stack."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from arborshap.exceptions import ModelError
from arborshap.limits import DEFAULT
from arborshap.models.documents import shown

# A string, a number or word, a punctuation mark; anything else is a fault.
_TOKEN = re.compile(r'[ \t\n\r]*(?:("[^"\\]*(?:\\.[^"\\]*)*")|([-+.\w]+)|([\[\]{},:]))', re.DOTALL)


def parse_json(text: str | bytes, what: str, nesting: int = DEFAULT.nesting) -> Any:
    """Parse JSON text; `what` names it in errors, and `nesting` is the most levels of nested containers."""
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        raise ModelError(f"{what} is not UTF-8 text: byte {error.start} is invalid") from None
    try:
        return json.loads(decoded, object_pairs_hook=_unique)
    except RecursionError:
        # The text, such as a dump of a deep tree, is nested too deeply for the standard parser.
        return _parse_nested(decoded, what, nesting)
    except _DuplicateKeyError as error:
        raise ModelError(f"{what} is damaged: the key {shown(error.args[0])} appears twice in one object") from None
    except ValueError as error:
        raise ModelError(f"{what} is not valid JSON: {error}") from None


class _DuplicateKeyError(Exception):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _DuplicateKeyError(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return result


def _parse_nested(text: str, what: str, nesting: int) -> Any:
    """Parse with a stack of open containers instead of recursion, which is slower but works at any depth."""
    result: list[Any] = []
    open_containers: list[Any] = [result]
    keys: list[str | None] = [None]
    position, end = 0, len(text.rstrip(" \t\n\r"))
    expects_value, just_opened = True, False

    def fault(problem: str) -> ModelError:
        return ModelError(f"{what} is not valid JSON: {problem} at character {position}")

    while position < end:
        token = _TOKEN.match(text, position)
        if token is None:
            raise fault("unexpected character")
        string, word, mark = token.groups()
        container = open_containers[-1]
        if mark in ("]", "}"):
            closes = {"]": list, "}": dict}[mark]
            if len(open_containers) == 1 or type(container) is not closes or (expects_value and not just_opened):
                raise fault(f"unexpected {mark!r}")
            open_containers.pop()
            keys.pop()
            expects_value = False
        elif mark == ",":
            if expects_value or container is result:
                raise fault("unexpected ','")
            expects_value = True
        elif not expects_value or mark == ":":
            raise fault("a comma or the end is missing")
        elif isinstance(container, dict) and keys[-1] is None:
            colon = _TOKEN.match(text, token.end()) if string else None
            if colon is None or colon[3] != ":":
                raise fault("a key and its colon are missing")
            keys[-1] = _scalar(string, fault)
            if keys[-1] in container:
                raise ModelError(f"{what} is damaged: the key {shown(keys[-1])} appears twice in one object")
            token = colon
        else:
            value = {"[": list, "{": dict}[mark]() if mark else _scalar(string or word, fault)
            if isinstance(container, dict):
                container[keys[-1]] = value
                keys[-1] = None
            else:
                container.append(value)
            if mark:
                if len(open_containers) > nesting:
                    raise fault(f"more than {nesting:,} nested containers, too deep for the limits,")
                open_containers.append(value)
                keys.append(None)
            expects_value = bool(mark)
        just_opened = mark in ("[", "{")
        position = token.end()
    if len(open_containers) != 1 or len(result) != 1:
        raise fault("it ends too early")
    return result[0]


def _scalar(token: str, fault: Any) -> Any:
    try:
        return json.loads(token)
    except ValueError:
        raise fault(f"{token[:40]!r} is not a value") from None
