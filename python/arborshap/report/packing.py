"""Arrays and text in a form that a page can contain."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Packed = dict[str, Any]


def packed(array: NDArray[Any]) -> Packed:
    """Compress an array in the narrowest type that keeps every number."""
    narrow = _narrowest(np.asarray(array))
    content = zlib.compress(np.ascontiguousarray(narrow.astype(narrow.dtype.newbyteorder("<"), copy=False)).tobytes())
    return {"type": narrow.dtype.name, "shape": list(narrow.shape), "data": base64.b64encode(content).decode("ascii")}


def packed_size(content: Any) -> int:
    """Return the number of characters that packed content takes in the page."""
    return len(in_script(content))


def in_script(content: Any) -> str:
    """Return JSON for a script element; nothing in it can end the element or begin a comment."""
    return json.dumps(content, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _narrowest(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind in "iub":
        low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
        for kind in (np.uint8, np.int16, np.int32):
            if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
                return array.astype(kind)
        return array.astype(np.float64)  # the whole numbers of a page are far below 2**53
    with np.errstate(over="ignore"):
        single = array.astype(np.float32)
    return single if np.array_equal(single, array, equal_nan=True) else array.astype(np.float64)
