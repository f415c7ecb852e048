"""The wire format of Protocol Buffers: the numbered fields of a message, without a schema."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError


class Message:
    """The fields of one message by number; a field that was repeated has several values.

    A value is an int (varint), a memoryview (anything with a length), or a float (four or eight bytes).
    """

    def __init__(self, content: memoryview, what: str) -> None:
        self._what = what
        self._fields: dict[int, list[Any]] = {}
        at = 0
        while at < len(content):
            key, at = _varint(content, at, what)
            value: Any
            match key & 7:
                case 0:
                    value, at = _varint(content, at, what)
                case 1:
                    value, at = _fixed(content, at, "<d", what)
                case 5:
                    value, at = _fixed(content, at, "<f", what)
                case 2:
                    size, at = _varint(content, at, what)
                    if size > len(content) - at:
                        raise _damaged(what)
                    value, at = content[at : at + size], at + size
                case _:
                    raise _damaged(what)
            self._fields.setdefault(key >> 3, []).append(value)

    def messages(self, field: int) -> list[Message]:
        """Return the messages of a repeated field."""
        return [Message(self._view(value), self._what) for value in self._fields.get(field, ())]

    def text(self, field: int) -> str:
        """Return a text, or nothing if the field is absent."""
        values = self.texts(field)
        return values[-1] if values else ""

    def texts(self, field: int) -> list[str]:
        """Return the texts of a repeated field."""
        try:
            return [bytes(self._view(value)).decode() for value in self._fields.get(field, ())]
        except UnicodeDecodeError as error:
            raise _damaged(self._what) from error

    def whole(self, field: int) -> int:
        """Return a signed whole number, or 0 if the field is absent."""
        value = self._fields.get(field, [0])[-1]
        if not isinstance(value, int):
            raise _damaged(self._what)
        return _signed(value)

    def raw(self, field: int) -> bytes:
        """Return the bytes of a field, or none if the field is absent."""
        values = self._fields.get(field, ())
        return bytes(self._view(values[-1])) if values else b""

    def wholes(self, field: int) -> NDArray[np.int64]:
        """Return the numbers of a repeated field, whether packed or not."""
        found: list[int] = []
        for value in self._fields.get(field, ()):
            if isinstance(value, int):
                found.append(_signed(value))
                continue
            packed, at = self._view(value), 0
            while at < len(packed):
                number, at = _varint(packed, at, self._what)
                found.append(_signed(number))
        return np.array(found, np.int64)

    def floats(self, field: int, dtype: str = "<f4") -> NDArray[np.float64]:
        """Return the floats of a repeated field, whether packed or not."""
        found: list[NDArray[Any]] = [np.empty(0)]
        for value in self._fields.get(field, ()):
            if isinstance(value, float):
                found.append(np.array([value]))
                continue
            packed = self._view(value)
            if len(packed) % np.dtype(dtype).itemsize:
                raise _damaged(self._what)
            found.append(np.frombuffer(packed, dtype).astype(np.float64))
        return np.concatenate(found)

    def _view(self, value: Any) -> memoryview:
        if not isinstance(value, memoryview):
            raise _damaged(self._what)
        return value


def _varint(content: memoryview, at: int, what: str) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(content):
            break
        byte = content[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & ((1 << 64) - 1), at
    raise _damaged(what)


def _fixed(content: memoryview, at: int, form: str, what: str) -> tuple[float, int]:
    size = struct.calcsize(form)
    if len(content) - at < size:
        raise _damaged(what)
    return float(struct.unpack_from(form, content, at)[0]), at + size


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _damaged(what: str) -> ModelError:
    return ModelError(f"{what} is damaged: it is not a complete ONNX file")
