"""CatBoost's hashes: of the text of a category, and of a combination of several tests.

A saved model knows categories only by the low 32 bits of their CityHash64. The hash is that of CityHash 1.0, which
differs from later versions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MASK = (1 << 64) - 1
_K0, _K1, _K2, _K3 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
_MIX = 0x9DDFEA08EB382D69
_COMBINE = 0x4906BA494954CB65


def category_hash(text: str) -> int:
    """Return the 32-bit hash by which CatBoost knows a category."""
    return city_hash(text.encode("utf-8", "surrogateescape")) & 0xFFFFFFFF


def combined(hashes: NDArray[np.uint64], more: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Add the outcome of one more test to the hash of a combination, for all rows."""
    factor = np.uint64(_COMBINE)
    with np.errstate(over="ignore"):
        return factor * (hashes + factor * more)


def signed(hashes: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Widen the hashes of categories as CatBoost does, which takes them for signed numbers."""
    return hashes.view(np.int32).astype(np.int64).view(np.uint64)


def city_hash(data: bytes) -> int:
    """Return the 64-bit CityHash 1.0 of some bytes."""
    n = len(data)
    if n <= 16:
        return _up_to_16(data)
    if n <= 32:
        return _up_to_32(data)
    if n <= 64:
        return _up_to_64(data)
    return _longer(data)


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _rotated(x: int, by: int) -> int:
    x &= _MASK
    return ((x >> by) | (x << (64 - by))) & _MASK


def _shifted(x: int) -> int:
    x &= _MASK
    return x ^ (x >> 47)


def _pair(low: int, high: int) -> int:
    low, high = low & _MASK, high & _MASK
    a = _shifted((low ^ high) * _MIX)
    return _shifted((high ^ a) * _MIX) * _MIX & _MASK


def _up_to_16(data: bytes) -> int:
    n = len(data)
    if n > 8:
        last = _word(data, n - 8)
        return _pair(_word(data, 0), _rotated(last + n, n)) ^ last
    if n >= 4:
        return _pair(n + (int.from_bytes(data[:4], "little") << 3), int.from_bytes(data[-4:], "little"))
    if n > 0:
        y = data[0] + (data[n >> 1] << 8)
        z = n + (data[-1] << 2)
        return _shifted(y * _K2 ^ z * _K3) * _K2 & _MASK
    return _K2


def _up_to_32(data: bytes) -> int:
    n = len(data)
    a, b = _word(data, 0) * _K1, _word(data, 8)
    c, d = _word(data, n - 8) * _K2, _word(data, n - 16) * _K0
    return _pair(_rotated(a - b, 43) + _rotated(c, 30) + d, a + _rotated(b ^ _K3, 20) - c + n)


def _half(first: int, second: int, third: int, last: int, start: int) -> tuple[int, int]:
    """Mix four words of which the first comes with a start value, as both halves of up to 64 bytes do."""
    a = first + start
    b, c = _rotated(a + last, 52), _rotated(a, 37)
    a += second
    c += _rotated(a, 7)
    a += third
    return a + last, b + _rotated(a, 31) + c


def _up_to_64(data: bytes) -> int:
    n = len(data)
    v = _half(_word(data, 0), _word(data, 8), _word(data, 16), _word(data, 24), (n + _word(data, n - 16)) * _K0)
    w = _half(_word(data, n - 32), _word(data, n - 24), _word(data, n - 16), _word(data, n - 8), _word(data, 16))
    r = _shifted((v[0] + w[1]) * _K2 + (w[0] + v[1]) * _K0)
    return _shifted(r * _K0 + v[1]) * _K2 & _MASK


def _weak(data: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """Mix 32 bytes with two seeds."""
    a += _word(data, at)
    b = _rotated(b + a + _word(data, at + 24), 21)
    start = a
    a += _word(data, at + 8) + _word(data, at + 16)
    b += _rotated(a, 44)
    return (a + _word(data, at + 24)) & _MASK, (b + start) & _MASK


def _longer(data: bytes) -> int:
    n = len(data)
    x, y, z = _word(data, 0), _word(data, n - 16) ^ _K1, _word(data, n - 56) ^ _K0
    v = _weak(data, n - 64, n, y)
    w = _weak(data, n - 32, n * _K1 & _MASK, _K0)
    z = (z + _shifted(v[1]) * _K1) & _MASK
    x = _rotated(z + x, 39) * _K1 & _MASK
    y = _rotated(y, 33) * _K1 & _MASK
    for at in range(0, (n - 1) & ~63, 64):
        x = _rotated(x + y + v[0] + _word(data, at + 16), 37) * _K1 & _MASK
        y = _rotated(y + v[1] + _word(data, at + 48), 42) * _K1 & _MASK
        x ^= w[1]
        y ^= v[0]
        z = _rotated(z ^ w[0], 33)
        v = _weak(data, at, v[1] * _K1, x + w[0])
        w = _weak(data, at + 32, z + w[1], y)
        z, x = x, z
    return _pair(_pair(v[0], w[0]) + _shifted(y) * _K1 + z, _pair(v[1], w[1]) + x)
