"""Arrays taken out of an object, to be stored, and put back into one that was made alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .records import as_bytes


def taken(owner: object, names: Sequence[str]) -> dict[str, Any]:
    """Copies of the arrays that the attributes `names` of `owner` are; records as bytes, with a description of their fields."""
    state: dict[str, Any] = {}
    for name in names:
        array, key = getattr(owner, name), name.lstrip("_")
        state[key] = np.array(as_bytes(array) if array.dtype.names else array)
        if array.dtype.names:
            state[f"{key}_fields"] = str(array.dtype.descr)
    return state


def put_back(owner: object, names: Sequence[str], state: Mapping[str, Any]) -> None:
    """Copy what `taken` gave into the arrays of `owner`.

    Raises:
        KeyError: one of `names` is missing.
        ValueError: an array is of another type or size than that of `owner`, or its records have other fields.
    """
    for name in names:
        array, key = getattr(owner, name), name.lstrip("_")
        if array.dtype.names and state[f"{key}_fields"] != str(array.dtype.descr):
            raise ValueError(f"the records of {key!r} have other fields")
        target = as_bytes(array) if array.dtype.names else array
        target[...] = fitting(state[key], key, target.dtype, target.shape)


def fitting(given: object, what: str, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """`given`, which must be an array of that type and shape; `ValueError` otherwise."""
    if not isinstance(given, np.ndarray) or given.dtype != dtype or given.shape != shape:
        found = f"{given.dtype}{list(given.shape)}" if isinstance(given, np.ndarray) else type(given).__name__
        raise ValueError(f"{what!r} is {found}, not {np.dtype(dtype)}{list(shape)}")
    return given


def within(array: NDArray[Any], what: str, low: int, high: Any) -> None:
    """`ValueError` unless low <= array < high everywhere: what arrays are indexed with must be checked before compiled code believes it."""
    if not ((array >= low) & (array < high)).all():
        raise ValueError(f"{what!r} holds numbers that there cannot be")


def whole(given: object, what: str, low: int = 0) -> int:
    """`given`, which must be a whole number from `low` on; `ValueError` otherwise."""
    if type(given) is not int or given < low:
        raise ValueError(f"{what!r} is no whole number from {low} on")
    return given


def real(given: object, what: str, low: float = 0.0) -> float:
    """`given`, which must be a number from `low` on; `ValueError` otherwise."""
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not given >= low:
        raise ValueError(f"{what!r} is no number from {low:g} on")
    return float(given)
