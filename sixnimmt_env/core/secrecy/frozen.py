"""Values as they were: a copy of anything an environment hands out, to be compared bit for bit, and the first place where two differ.

Arrays are compared by type, shape, bytes and what their `base` leads to; numbers and strings by type and value, -0.0 and 0.0 being two;
dictionaries by their order too; other objects by their pickled bytes.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator, Mapping, Sequence, Set
from enum import Enum
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

_LARGE: Final = 2**16  # bytes from which an array is kept as a digest


class CannotFreeze(TypeError):
    """A value that nothing can be said about: it cannot be pickled."""


class Leaf(NamedTuple):
    """A plain value, or the bytes of an object."""

    kind: str
    value: Any


class Items(NamedTuple):
    """A container: the names of its places, and what is there."""

    kind: str
    places: tuple[str, ...]
    values: tuple[Any, ...]


class Numbers(NamedTuple):
    """An array or a record. `data` is a digest if the array is large; `root` is what its base shows beyond it, if anything."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    data: bytes
    whole: bool
    root: Any = None


class Difference(NamedTuple):
    """Where two values differ, as an index into what was compared, and what is there."""

    place: str
    one: str
    other: str
    at: tuple[int, ...] = ()  # in an array of the shape
    shape: tuple[int, ...] = ()


def freeze(value: Any) -> Any:
    """A copy of `value` that compares equal to another one only if everything in them is the same.

    Raises:
        CannotFreeze: something in it cannot be pickled.
    """
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, Enum, type)):
        return Leaf(type(value).__name__, repr(value) if isinstance(value, (float, complex, Enum, type)) else value)
    if isinstance(value, np.ndarray):
        return _freeze_array(value)
    if isinstance(value, np.void):
        return Numbers(value.dtype, (), value.tobytes(), True)
    if isinstance(value, np.generic):
        return Leaf(str(value.dtype), repr(value))
    if isinstance(value, Mapping):
        return Items(type(value).__name__, tuple(_key(key) for key in value), tuple(freeze(item) for item in value.values()))
    if isinstance(value, Set):
        return Leaf(type(value).__name__, repr(sorted(map(repr, value))))
    if isinstance(value, Sequence):
        return Items(type(value).__name__, tuple(f"[{i}]" for i in range(len(value))), tuple(freeze(item) for item in value))
    try:
        return Leaf(type(value).__qualname__, pickle.dumps(value))
    except Exception as error:
        raise CannotFreeze(f"a {type(value).__qualname__} cannot be compared: {error}") from error


def _key(key: Any) -> str:
    return f'["{key}"]' if isinstance(key, str) else f"[{key!r}]"


def _freeze_array(array: NDArray[Any]) -> Any:
    if array.dtype.hasobject:
        places = tuple(f"[{', '.join(map(str, index))}]" for index in np.ndindex(array.shape))
        return Items(f"array of objects {array.shape}", places, tuple(freeze(item) for item in array.flat))
    root: Any = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    beyond = freeze(root) if root is not array and root.nbytes > array.nbytes else None
    data = array.tobytes()
    whole = len(data) < _LARGE
    return Numbers(array.dtype, array.shape, data if whole else hashlib.sha256(data).digest(), whole, beyond)


def difference(one: Any, other: Any, place: str = "") -> Difference | None:
    """The first place where two frozen values differ; None where they do not."""
    if one == other:
        return None
    if isinstance(one, Items) and isinstance(other, Items) and one[:2] == other[:2]:
        found = (difference(a, b, place + name) for name, a, b in zip(one.places, one.values, other.values, strict=True))
        return next(each for each in found if each is not None)
    if isinstance(one, Numbers) and isinstance(other, Numbers) and one[:2] == other[:2]:
        if one.data == other.data:
            return difference(one.root, other.root, f"{place}.base")
        return _in_numbers(one, other, place) if one.whole else Difference(place, "an array", "another one of the same shape")
    if isinstance(one, Leaf) and isinstance(other, Leaf) and one.kind == other.kind and one.kind in ("str", "bytes"):
        shorter = min(len(one.value), len(other.value))
        same = next((i for i in range(shorter) if one.value[i] != other.value[i]), shorter)
        return Difference(place, _around(one.value, same), _around(other.value, same))
    return Difference(place, show(one), show(other))


def _in_numbers(one: Numbers, other: Numbers, place: str) -> Difference:
    """The first number that differs; in a record, the field it lies in."""
    pair = [np.frombuffer(each.data, dtype=each.dtype).reshape(each.shape) for each in (one, other)]
    if one.dtype.names is None:
        width = one.dtype.itemsize
        places = np.array([np.frombuffer(each.data, np.uint8).reshape(-1, width) for each in (one, other)])
        first = int((places[0] != places[1]).any(axis=1).argmax())
        index = tuple(int(i) for i in np.unravel_index(first, one.shape)) if one.shape else ()
        where = f"[{', '.join(map(str, index))}]" if index else ""
        return Difference(place + where, str(pair[0][index]), str(pair[1][index]), index, one.shape)
    for name in one.dtype.names:
        fields = [freeze(each[name].copy()) for each in pair]
        found = difference(fields[0], fields[1], f'{place}["{name}"]')
        if found is not None:
            return found
    return Difference(place, "a record", "one with other bytes between its fields")


def show(frozen: Any) -> str:
    """A frozen value in a few words."""
    if isinstance(frozen, Leaf):
        return f"a {frozen.kind}" if isinstance(frozen.value, bytes) and frozen.kind != "bytes" else _short(str(frozen.value))
    if isinstance(frozen, Items):
        return f"a {frozen.kind} of {len(frozen.values)}" + (f" ({_short(', '.join(frozen.places))})" if frozen.places else "")
    return f"{frozen.dtype} of shape {frozen.shape}" if isinstance(frozen, Numbers) else _short(repr(frozen))


def _around(text: Any, place: int) -> str:
    """What stands at a place of a long text, and a bit before it."""
    start = max(0, place - 20)
    return ("..." if start else "") + _short(repr(text[start:]))


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}..."


def arrays_in(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every array, record and other object in nested containers, with its place."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        for index in np.ndindex(value.shape):
            yield from arrays_in(value[index], f"{place}[{', '.join(map(str, index))}]")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from arrays_in(item, place + _key(key))
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        for i, item in enumerate(value):
            yield from arrays_in(item, f"{place}[{i}]")
    elif value is not None and not isinstance(value, (bool, int, float, str, bytes)):
        yield place, value
