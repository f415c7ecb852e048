"""Damage that keeps the structure of a file, so that the code behind the parsers is reached too."""

from __future__ import annotations

import json
import random
import struct
from typing import Any

from support.saved_files import DTYPES, TEXT, entries_of, joined

NUMBERS: list[Any] = [
    *(
        -1,
        0,
        1,
        2,
        3,
        7,
        64,
        255,
        256,
        65535,
        2**24,
        2**31 - 1,
        2**31,
        -(2**31),
        2**32,
        2**53 + 1,
        2**63,
        2**64,
        -(2**70),
    ),
    *(0.5, -0.0, 1e-45, 1e30, 1e39, 1e300, -1e308, float("inf"), float("-inf"), float("nan")),
]
VALUES: list[Any] = [
    *NUMBERS,
    "",
    "0",
    "-1",
    "1e999",
    "nan",
    "x" * 50,
    "4000000000",
    None,
    True,
    False,
    [],
    {},
    [[]],
    [0],
]
WORDS = ["", "-1", "0", "1", "2", "-2147483648", "4294967296", "99999999999999999999", "nan", "inf", "1e999", "x", "="]


def mutated(folder: str, content: bytes, rng: random.Random) -> bytes:
    """Damage a file of the corpus in a way that suits its folder."""
    if rng.random() < 0.2:
        return _bytes(content, rng)
    return {"json": _json, "lightgbm": _words, "ubjson": _ubjson, "saved": _saved}[folder](content, rng)


def _bytes(content: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        if not damaged:
            break
        at = rng.randrange(len(damaged))
        match rng.randrange(4):
            case 0:
                damaged[at] = rng.randrange(256)
            case 1:
                del damaged[at : at + rng.randint(1, 8)]
            case 2:
                damaged[at:at] = damaged[rng.randrange(len(damaged)) :][: rng.randint(1, 30)]
            case _:
                damaged[at : at + 4] = rng.choice(
                    [b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0"]
                )
    return bytes(damaged[: rng.randrange(len(damaged) + 1)] if rng.random() < 0.05 else damaged)


def _json(content: bytes, rng: random.Random) -> bytes:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return _bytes(content, rng)
    for _ in range(rng.randint(1, 3)):
        _change(document, rng)
    return json.dumps(document).encode()


def _change(document: Any, rng: random.Random) -> None:
    """Descend to a random place, and change the value there."""
    container = document
    while isinstance(container, (dict, list)) and container:
        key: Any = rng.choice(list(container)) if isinstance(container, dict) else rng.randrange(len(container))
        below = container[key]
        if isinstance(below, (dict, list)) and below and rng.random() < 0.93:
            container = below
            continue
        match rng.randrange(8):
            case 0:
                del container[key]
            case 1 if isinstance(container, list):
                container.insert(key, rng.choice(VALUES))
            case 2:
                container[key] = container[rng.choice(list(container)) if isinstance(container, dict) else -1]
            case 3 if isinstance(below, (int, float)):
                container[key] = below + rng.choice([-1, 1])
            case 4 if isinstance(below, str):
                container[key] = str(rng.choice(NUMBERS))
            case 5 | 6:
                container[key] = rng.choice(NUMBERS)
            case _:
                container[key] = rng.choice(VALUES)
        return


def _words(content: bytes, rng: random.Random) -> bytes:
    lines = content.decode("latin-1").split("\n")
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(lines))
        key, sign, value = lines[at].partition("=")
        words = value.split(" ")
        match rng.randrange(6):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, rng.choice(lines))
            case 2:
                words.append(rng.choice(WORDS))
                lines[at] = key + sign + " ".join(words)
            case _:
                words[rng.randrange(len(words))] = rng.choice([*WORDS, str(rng.choice(NUMBERS))])
                lines[at] = key + sign + " ".join(words)
        if not lines:
            break
    return "\n".join(lines).encode("latin-1")


def _ubjson(content: bytes, rng: random.Random) -> bytes:
    """Change numbers in place: after a marker, or within an array of numbers."""
    damaged = bytearray(content)
    places = [at for at in range(len(damaged)) if damaged[at] in b"lLdDiUI"]
    for at in rng.choices(places, k=rng.randint(1, 3)) if places else []:
        # The change before may have been made here.
        code = {"l": ">i", "L": ">q", "d": ">f", "D": ">d", "i": ">b", "U": ">B"}.get(chr(damaged[at]), ">h")
        try:
            number = struct.pack(code, rng.choice(NUMBERS))
        except (struct.error, OverflowError):
            number = bytes(struct.calcsize(code))
        damaged[at + 1 : at + 1 + len(number)] = number
    return bytes(damaged)


def _saved(content: bytes, rng: random.Random) -> bytes:
    try:
        entries = entries_of(content)
    except (AssertionError, ValueError, struct.error, IndexError):
        return _bytes(content, rng)
    for _ in range(rng.randint(1, 3)):
        if not entries:
            break
        at = rng.randrange(len(entries))
        name, kind, payload = entries[at]
        match rng.randrange(8):
            case 0:
                del entries[at]
            case 1:
                entries[at] = (name, rng.randrange(10), payload)
            case 2:
                entries[at] = (name, kind, payload[: rng.randrange(len(payload) + 1)])
            case 3:
                entries[at] = (name, kind, payload + payload[-8:])
            case 4 if name == "texts.python":
                text = _json(payload[4:], rng)
                entries[at] = (name, TEXT, struct.pack("<I", len(text)) + text)
            case _:
                entries[at] = (name, kind, _number_changed(kind, payload, rng))
    return joined(content, entries)


def _number_changed(kind: int, payload: bytes, rng: random.Random) -> bytes:
    if kind not in DTYPES:
        return _bytes(payload, rng)
    codes = {"u1": "<B", "<u2": "<H", "<u4": "<I", "<u8": "<Q", "<i4": "<i", "<i8": "<q", "<f8": "<d"}
    code = codes[DTYPES[kind]]
    size = struct.calcsize(code)
    at = size * rng.randrange(max(1, len(payload) // size))
    try:
        number = struct.pack(code, rng.choice(NUMBERS))
    except (struct.error, OverflowError):
        number = rng.randbytes(size)
    return payload[:at] + number + payload[at + size :]
