"""Records copied byte by byte, the padding between their fields included.

NumPy copies structured records field by field or not, as it comes: its copies leave in the padding what was in memory by chance, which
may be anything, other records' hidden fields among it, and they are slow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_bytes(records: NDArray[np.void]) -> NDArray[np.uint8]:
    """(n,) contiguous records as (n, size) bytes, in the same memory."""
    return records.view(np.uint8).reshape(len(records), records.dtype.itemsize)


def cloned(records: NDArray[np.void], index: Any = slice(None)) -> NDArray[np.void]:
    """A copy of those records of an array that `index` names."""
    copy: NDArray[np.void] = np.array(as_bytes(records)[index]).view(records.dtype).reshape(-1)
    return copy


def clone(record: np.void) -> np.void:
    """A copy of one record."""
    copy: np.void = np.frombuffer(bytearray(record.tobytes()), dtype=record.dtype)[0]
    return copy
