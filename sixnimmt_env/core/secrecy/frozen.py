"""Values as they were: a copy of anything an environment hands out, to be compared bit for bit, and the first place where two differ.

Arrays and records are compared by type, shape, bytes and what their `base` leads to, be it an array or another object's memory; numbers and
strings by type and value, -0.0 and 0.0 being two; dictionaries by their order too; containers of own classes by their attributes besides;
other objects by their pickled bytes.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator, Mapping, Sequence, Set
from enum import Enum
from functools import lru_cache
from types import MemberDescriptorType
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

_LARGE: Final = 2**16  # bytes from which an array is kept as a digest
_PLAIN: Final = frozenset({type(None), bool, int, float, complex, str, bytes})


class CannotFreeze(TypeError):
    """A value that nothing can be said about: something in it cannot be pickled, or it holds itself."""


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
        CannotFreeze: something in it cannot be pickled, or it holds itself.
    """
    try:
        return _freeze(value)
    except RecursionError:
        raise CannotFreeze(f"a {type(value).__qualname__} cannot be compared: it holds itself") from None


def _freeze(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return Leaf(kind.__name__, _exact(value) if kind is float or kind is complex else value)
    if kind is np.ndarray:
        return _freeze_array(value)
    if kind is dict or kind is list or kind is tuple:
        return _without_attributes(value)
    if isinstance(value, (Enum, type)):
        return Leaf(kind.__name__, repr(value))
    plain = _without_attributes(value)
    if plain is None:
        return _pickled(value)
    added = _attributes(value)
    if not added:
        return plain
    names = ("", *(f".{name}" for name in added))
    return Items(f"{kind.__name__} with attributes", names, (plain, *map(_freeze, added.values())))


def _without_attributes(value: Any) -> Any:
    """What `value` holds as a number, a text, an array or a container; None if it is none of these."""
    name = type(value).__name__
    if isinstance(value, dict):  # as it is, whatever its class says
        return Items(name, tuple(map(key_of, dict.keys(value))), tuple(map(_freeze, dict.values(value))))
    if isinstance(value, (list, tuple)):
        items = tuple(map(_freeze, list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)))
        return Items(name, tuple(f"[{i}]" for i in range(len(items))), items)
    if isinstance(value, np.ndarray):
        return _freeze_array(np.asarray(value))  # of a masked array what lies under the mask as well
    if isinstance(value, np.void):
        return _freeze_record(value)
    if isinstance(value, np.generic):
        return Leaf(str(value.dtype), _exact(value))
    if isinstance(value, (int, float, complex, str, bytes)):
        [base] = {kind for kind in type(value).__mro__ if kind in _PLAIN}
        return Leaf(name, _exact(value) if base in (float, complex) else getattr(base, "__getnewargs__")(value)[0])  # noqa: B009 - typed for some
    if isinstance(value, (bytearray, memoryview)):
        beyond = _beyond(value, value.nbytes) if isinstance(value, memoryview) else None
        return Items(name, ("", ".obj"), (Leaf("bytes", bytes(value)), beyond))
    if isinstance(value, Mapping):
        return Items(name, tuple(map(key_of, value)), tuple(_freeze(item) for item in value.values()))
    if isinstance(value, Set):
        return Leaf(name, repr(sorted(repr(item) if type(item) in _PLAIN else repr(_freeze(item)) for item in value)))
    if isinstance(value, Sequence):
        return Items(name, tuple(f"[{i}]" for i in range(len(value))), tuple(_freeze(item) for item in value))
    return None


def _pickled(value: Any) -> Leaf:
    try:
        return Leaf(type(value).__qualname__, pickle.dumps(value))
    except RecursionError:
        raise
    except Exception as error:
        raise CannotFreeze(f"a {type(value).__qualname__} cannot be compared: {error}") from error


def _exact(value: Any) -> str:
    """A number as text; of one that is none also the bits, of which there are many."""
    text = repr(value)
    return f"{text} ({np.asarray(value).tobytes().hex()})" if value != value else text


def _attributes(value: Any) -> dict[str, Any]:
    """What an object of an own class, or of one of Python's with more than it holds, has besides."""
    kind: Any = type(value)
    slots = {name: getattr(value, name) for name in _slots(kind) if hasattr(value, name)}
    return {**getattr(value, "__dict__", {}), **slots}


@lru_cache(maxsize=1024)
def _slots(kind: Any) -> tuple[str, ...]:
    return tuple(name for each in kind.__mro__ for name, member in vars(each).items() if isinstance(member, MemberDescriptorType))


def key_of(key: Any) -> str:
    """A key of a mapping as it stands in brackets."""
    return f'["{key}"]' if isinstance(key, str) else f"[{key!r}]"


def _freeze_array(array: NDArray[Any]) -> Any:
    if array.dtype.hasobject:
        places = tuple(f"[{', '.join(map(str, index))}]" for index in np.ndindex(array.shape))
        frozen: Any = Items(f"array of objects {array.shape}", places, tuple(_freeze(item) for item in array.flat))
    else:
        data = array.tobytes()
        whole = len(data) < _LARGE
        frozen = Numbers(array.dtype, array.shape, data if whole else hashlib.sha256(data).digest(), whole, _beyond(array, array.nbytes))
    if array.dtype.metadata is None:
        return frozen
    return Items("array with metadata", ("", ".dtype.metadata"), (frozen, _freeze(dict(array.dtype.metadata))))


def _freeze_record(record: np.void) -> Any:
    if record.dtype.hasobject:
        names = record.dtype.names or ()
        return Items("record of objects", tuple(f'["{name}"]' for name in names), tuple(_freeze(record[name]) for name in names))
    return Numbers(record.dtype, (), record.tobytes(), True, _beyond(record, record.nbytes))


def _beyond(part: Any, size: int) -> Any:
    """What an array, a record or a memoryview of `size` bytes is a part of, frozen; None if that shows no more than it does."""
    if isinstance(part, np.ndarray) and part.base is None:
        return None
    owner = part
    while isinstance(owner, (np.ndarray, np.void, memoryview)):
        following = owner.obj if isinstance(owner, memoryview) else owner.base
        if following is None:
            break
        owner = following
    if owner is part:
        return None
    if isinstance(owner, (np.ndarray, np.void)):
        return _freeze(owner) if owner.nbytes > size else None
    try:
        memory = memoryview(owner)
    except TypeError:
        return _if_possible(owner)
    return _freeze_array(np.frombuffer(memory.tobytes(), dtype=np.uint8)) if memory.nbytes > size else None


def _if_possible(owner: Any) -> Any:
    """An object frozen, or None: of capsules and the like nothing can be read."""
    try:
        return _freeze(owner)
    except CannotFreeze:
        return None


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
    names = show(one), show(other)
    return Difference(place, names[0], names[1] if names[0] != names[1] else f"another one, {names[1]}")


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
    """Every array, record and other object in nested containers and the attributes of these, with its place."""
    if type(value) in _PLAIN:
        return
    is_container = isinstance(value, (np.ndarray, np.void, str, bytes, Mapping, Sequence))
    for name, item in _attributes(value).items() if is_container else ():
        yield from arrays_in(item, f"{place}.{name}")
    if isinstance(value, np.ndarray) and value.dtype == object:
        for index in np.ndindex(value.shape):
            yield from arrays_in(value[index], f"{place}[{', '.join(map(str, index))}]")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from arrays_in(item, place + key_of(key))
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview)):
        for i, item in enumerate(value):
            yield from arrays_in(item, f"{place}[{i}]")
    elif not isinstance(value, (bool, int, float, str, bytes)):
        yield place, value
