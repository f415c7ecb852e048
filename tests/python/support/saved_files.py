"""The saved format as its page describes it, read and written independently of the package."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

DTYPES = {0: "u1", 1: "<u2", 2: "<u4", 3: "<u8", 4: "<i4", 5: "<i8", 6: "<f8"}
TEXT, PACKED = 7, 8


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        remainder = byte
        for _ in range(8):
            remainder = (remainder >> 1) ^ (0xC96C5795D7870F42 if remainder & 1 else 0)
        table.append(remainder)
    return table


_TABLE = _crc_table()


def crc64(content: bytes) -> int:
    remainder = 2**64 - 1
    for byte in content:
        remainder = (remainder >> 8) ^ _TABLE[(remainder ^ byte) & 0xFF]
    return remainder ^ (2**64 - 1)


def sealed(content: bytes) -> bytes:
    """Return the same content with a correct checksum."""
    return content[:-8] + struct.pack("<Q", crc64(content[:-8]))


def entries_of(content: bytes) -> list[tuple[str, int, bytes]]:
    assert content[:8] == b"ARBORSHP"
    version, count, length = struct.unpack("<IIQ", content[8:24])
    assert (version, length) == (1, len(content))
    assert content == sealed(content)
    entries, at = [], 24
    for _ in range(count):
        size = content[at]
        name = content[at + 1 : at + 1 + size].decode()
        kind, n_bytes = struct.unpack("<BQ", content[at + 1 + size : at + 10 + size])
        at += 10 + size + n_bytes
        entries.append((name, kind, content[at - n_bytes : at]))
    assert at == len(content) - 8
    return entries


def _texts(payload: bytes) -> list[str]:
    texts = []
    while payload:
        (size,) = struct.unpack("<I", payload[:4])
        texts.append(payload[4 : 4 + size].decode())
        payload = payload[4 + size :]
    return texts


def _unpacked(payload: bytes) -> list[int]:
    numbers, number, shift = [], 0, 0
    for byte in payload:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number)
            number, shift = 0, 0
    return numbers


def parts_of(content: bytes) -> dict[str, Any]:
    """Return all arrays by name."""
    parts: dict[str, Any] = {}
    for name, kind, payload in entries_of(content):
        if kind == TEXT:
            parts[name] = _texts(payload)
        else:
            parts[name] = _unpacked(payload) if kind == PACKED else np.frombuffer(payload, DTYPES[kind])
    return parts


def with_text(content: bytes, name: str, text: str | None) -> bytes:
    """Return the same file with one text in place of those of this name, or without them."""
    entries = [entry for entry in entries_of(content) if entry[0] != name]
    if text is not None:
        raw = text.encode()
        entries.append((name, TEXT, struct.pack("<I", len(raw)) + raw))
    return joined(content, entries)


def joined(content: bytes, entries: list[tuple[str, int, bytes]]) -> bytes:
    """Return a file with these arrays and the header of `content`."""
    body = b"".join(
        struct.pack("<B", len(one)) + one.encode() + struct.pack("<BQ", kind, len(payload)) + payload
        for one, kind, payload in entries
    )
    return sealed(content[:12] + struct.pack("<IQ", len(entries), len(body) + 32) + body + bytes(8))
