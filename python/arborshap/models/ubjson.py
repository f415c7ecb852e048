"""UBJSON as XGBoost writes it. Every length is checked against the remaining bytes before it is used."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from arborshap.exceptions import ModelError
from arborshap.models.documents import shown

_NUMBERS: dict[bytes, np.dtype[Any]] = {
    b"i": np.dtype(">i1"),
    b"U": np.dtype(">u1"),
    b"I": np.dtype(">i2"),
    b"l": np.dtype(">i4"),
    b"L": np.dtype(">i8"),
    b"d": np.dtype(">f4"),
    b"D": np.dtype(">f8"),
}
_LENGTHS = {
    ord(marker): struct.Struct(code)
    for marker, code in (("i", ">b"), ("U", ">B"), ("I", ">h"), ("l", ">i"), ("L", ">q"))
}
_NESTING = 64
"""Deepest nesting of containers; XGBoost's documents have less than ten levels, whatever their trees are."""
_CONSTANTS = {b"Z": None, b"T": True, b"F": False}


def parse_ubjson(content: bytes, what: str) -> Any:
    """Parse a UBJSON document; arrays of numbers of one type become NumPy arrays, big-endian as in the file."""
    return _Reader(content, what).document()


class _Reader:
    def __init__(self, content: bytes, what: str) -> None:
        self.content = content
        self.what = what
        self.position = 0

    def fault(self, problem: str) -> ModelError:
        return ModelError(f"{self.what} is damaged: {problem} at byte {self.position}")

    def take(self, n: int) -> bytes:
        start = self.position
        taken = self.content[start : start + n]
        if len(taken) != n:
            raise self.fault(f"{n} bytes are announced, but {len(taken)} are left")
        self.position = start + n
        return taken

    def peek(self) -> bytes:
        return self.content[self.position : self.position + 1]

    def length(self) -> int:
        # Nearly all small values of a model are lengths, so this method is written for speed.
        position = self.position
        try:
            code = _LENGTHS[self.content[position]]
            (n,) = code.unpack_from(self.content, position + 1)
        except (KeyError, IndexError, struct.error):
            raise self.fault("a length is missing or of unknown type") from None
        self.position = position + 1 + code.size
        if n < 0:
            raise self.fault(f"a length is {n}")
        return int(n)

    def text(self) -> str:
        raw = self.take(self.length())
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise self.fault("a text is not UTF-8") from None

    def document(self) -> Any:
        """Read the whole document with a stack of open containers, so that nesting uses no machine stack."""
        result: list[Any] = []
        # Each open container, and its number of remaining entries; None if an end marker closes it.
        stack: list[tuple[Any, int | None]] = []
        container: Any = result
        remaining: int | None = 1
        while True:
            ended = remaining == 0
            if remaining is None and self.peek() == (b"]" if isinstance(container, list) else b"}"):
                self.position += 1
                ended = True
            if ended:
                if not stack:
                    break
                container, remaining = stack.pop()
                continue
            key = self.text() if isinstance(container, dict) else None
            value, entries = self.value()
            if remaining is not None:
                remaining -= 1
            if key is None:
                container.append(value)
            elif key in container:
                raise self.fault(f"the key {shown(key)} appears twice in one object")
            else:
                container[key] = value
            if isinstance(value, (list, dict)):
                if len(stack) == _NESTING:
                    raise self.fault(f"more than {_NESTING} containers are nested")
                stack.append((container, remaining))
                container, remaining = value, entries
        if self.position != len(self.content):
            raise self.fault("there is more data after the end")
        return result[0]

    def value(self) -> tuple[Any, int | None]:
        """Read one value. A container is only opened; its number of entries is returned if the file announces it."""
        marker = self.take(1)
        if marker == b"S":
            return self.text(), None
        if marker == b"[" and self.peek() == b"$":
            return self.typed_array(), None
        if marker in _NUMBERS:
            dtype = _NUMBERS[marker]
            return np.frombuffer(self.take(dtype.itemsize), dtype)[0].item(), None
        if marker in _CONSTANTS:
            return _CONSTANTS[marker], None
        if marker == b"C":
            return self.take(1).decode("latin-1"), None
        if marker not in (b"[", b"{"):
            raise self.fault(f"a value is of unknown type {marker!r}")
        empty: Any = [] if marker == b"[" else {}
        if self.peek() != b"#":
            return empty, None
        self.position += 1
        n = self.length()
        if n > len(self.content) - self.position:
            raise self.fault(f"{n} entries are announced, but {len(self.content) - self.position} bytes are left")
        return empty, n

    def typed_array(self) -> Any:
        self.position += 1
        marker = self.take(1)
        if marker not in _NUMBERS:
            raise self.fault(f"an array is of type {marker!r}, which is not numeric")
        if self.take(1) != b"#":
            raise self.fault("an array of one type has no length")
        dtype = _NUMBERS[marker]
        n = self.length()
        return np.frombuffer(self.take(n * dtype.itemsize), dtype)
