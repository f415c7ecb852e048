"""The readers of JSON and UBJSON: what they read, and that nothing in a file can lead them astray."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from arborshap.exceptions import ModelError
from arborshap.models.json import parse_json
from arborshap.models.ubjson import parse_ubjson
from support.effort import lines_in_proportion

DEEP = 100_000  # more than the standard parser of any Python follows
L = b"L" + struct.pack(">q", 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{" + b"L" + struct.pack(">q", 2**62) + b"a", "4611686018427387904 bytes are announced, but 1 are left"),
        (b"{" + b"L" + struct.pack(">q", -5) + b"a", "a length is -5"),
        (b"{" + L + b"a[$d#L" + struct.pack(">q", 2**61), "bytes are announced"),
        (b"{" + L + b"a[$Z#L" + struct.pack(">q", 2**61), "which is not numeric"),
        (b"{" + L + b"a[#L" + struct.pack(">q", 2**61), "2305843009213693952 entries are announced"),
        (b"{" + L + b"a{#L" + struct.pack(">q", 2**61), "2305843009213693952 entries are announced"),
        (b"{" + L + b"a[$d", "an array of one type has no length|announced"),
        (b"{" + L + b"aZ" + L + b"aZ}", "the key 'a' appears twice"),
        (b"{" + L + b"\xffZ}", "a text is not UTF-8"),
        (b"{" + L + b"aX}", "a value is of unknown type b'X'"),
        (b"{" + L + b"aZ}Z", "there is more data after the end"),
        (b"{" + L + b"aZ", "a length is missing"),
        (b"{" + L + b"a" + b"[" * 200_000, "more than 64 containers are nested at byte 7"),
        (b"{", "a length is missing"),
        (b"", "announced, but 0 are left"),
    ],
)
def test_hostile_ubjson(content: bytes, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        parse_ubjson(content, "the file")


def test_ubjson_reads_all_that_it_may_hold() -> None:
    content = (
        b"{" + b"i\x01" + b"a" + b"[i\x05U\xffI\xff\xfel\x00\x00\x00\x07d?\x80\x00\x00D@\x00\x00\x00\x00\x00\x00\x00]"
        b"U\x01bS" + L + b"xI\x00\x01cTl\x00\x00\x00\x01dF" + L + b"eZ" + L + b"fCq" + L + b"g{}" + L + b"h[#i\x02TF"
        + L + b"i[$I#i\x02\x00\x01\xff\xff}"
    )  # fmt: skip
    parsed = parse_ubjson(content, "the file")
    assert parsed.pop("i").tolist() == [1, -1]
    assert parsed == {
        "a": [5, 255, -2, 7, 1.0, 2.0],
        "b": "x",
        "c": True,
        "d": False,
        "e": None,
        "f": "q",
        "g": {},
        "h": [True, False],
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a": \xff}', "not UTF-8 text: byte 6 is invalid"),
        (b'{"a": 1, "a": 2}', "the key 'a' appears twice"),
        (b'{"a": ' + b"9" * 5000 + b"}", "is not valid JSON"),
        (b"[" * DEEP, "it ends too early"),
        (b"[" * DEEP + b"]" * (DEEP - 1), "it ends too early"),
        (b"[" * 300_000 + b"]" * 300_000, "more than 262,208 nested containers"),
        (b"[" * DEEP + b"1 2" + b"]" * DEEP, "a comma or the end is missing"),
        (b"[" * DEEP + b"1,]" + b"]" * DEEP, "unexpected ']'"),
        (b"[" * DEEP + b"}" + b"]" * DEEP, "unexpected '}'"),
        (b"[" * DEEP + b"tru" + b"]" * DEEP, "'tru' is not a value"),
        (b"[" * DEEP + b'"' + b"]" * DEEP, "unexpected character"),
        (b"[" * DEEP + b'{"a" 1}' + b"]" * DEEP, "a key and its colon are missing"),
        (b"[" * DEEP + b'{"a": 1, "a": 2}' + b"]" * DEEP, "the key 'a' appears twice"),
    ],
)
def test_hostile_json(content: bytes, message: str) -> None:
    with lines_in_proportion(content), pytest.raises(ModelError, match=message):
        parse_json(content, "the file")


def test_json_nested_deeper_than_the_standard_parser_goes() -> None:
    inner: Any = {"x": [1, -2.5e3, 'a"\u00e9', True, None, {}, []]}
    parsed = parse_json("[" * DEEP + json.dumps(inner) + "]" * DEEP, "the file")
    for _ in range(DEEP):
        (parsed,) = parsed
    assert parsed == inner
