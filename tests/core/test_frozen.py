"""Frozen values are equal only if all in them is, and say where they are not."""

from __future__ import annotations

import enum
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from sixnimmt_env.core.records import as_bytes, clone, cloned
from sixnimmt_env.core.secrecy.frozen import CannotFreeze, arrays_in, difference, freeze

PAIR = np.dtype([("small", np.uint8), ("large", np.uint64, (2,))], align=True)  # seven bytes of padding after `small`


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Text(str):
    pass


class Whole(int):
    pass


class Numbers(np.ndarray[Any, Any]):
    pass


class Named(dict[str, int]):
    pass


class Slotted(list[int]):
    __slots__ = ("note",)


class Hiding(dict[str, int]):
    """Holds more than it shows."""

    def __iter__(self) -> Any:
        return iter(())

    def values(self) -> Any:
        return ()


def noted(value: Any, note: Any) -> Any:
    value.note = note
    return value


def first_half(memory: Any) -> Any:
    return np.frombuffer(memory, np.uint8, 2)


def records(*larges: int) -> Any:
    array = np.zeros(len(larges), PAIR)
    array["large"][:, 1] = larges
    return array


def padded(byte: int) -> Any:
    array = records(1)
    as_bytes(array)[0, 3] = byte
    return array


DIFFERENT: list[tuple[str, Any, Any, str]] = [
    ("numbers", 1, 2, ""),
    ("types", 1, 1.0, ""),
    ("bool", 1, True, ""),
    ("zeros", 0.0, -0.0, ""),
    ("precision", np.float32(0.5), np.float64(0.5), ""),
    ("text", "ab", "ac", ""),
    ("nothing", None, 0, ""),
    ("enums", Colour.RED, Colour.BLUE, ""),
    ("sets", {1, 2}, {1, 3}, ""),
    ("a value", {"a": [1, 2]}, {"a": [1, 3]}, '["a"][1]'),
    ("a key", {"a": 1}, {"b": 1}, ""),
    ("order", {"a": 1, "b": 2}, {"b": 2, "a": 1}, ""),
    ("length", (1, 2), (1, 2, 3), ""),
    ("containers", (1, 2), [1, 2], ""),
    ("a number", np.arange(6).reshape(2, 3), np.array([[0, 1, 2], [3, 9, 5]]), "[1, 1]"),
    ("shape", np.zeros(2), np.zeros((1, 2)), ""),
    ("type", np.zeros(2, np.int8), np.zeros(2, np.int16), ""),
    ("bits", np.array([0.0]), np.array([-0.0]), "[0]"),
    ("large", np.zeros(10**5), np.ones(10**5), ""),
    ("base", np.arange(4)[:2], np.array([0, 1, 2, 9])[:2], ".base[3]"),
    ("field", records(1, 2), records(1, 3), '["large"][1, 1]'),
    ("record", records(1)[0], records(3)[0], '["large"][1]'),
    ("padding", padded(0), padded(1), ""),
    ("objects", np.array([None, {"a": 1}]), np.array([None, {"a": 2}]), '[1]["a"]'),
    ("attribute of a text", noted(Text("a"), 1), noted(Text("a"), 2), ".note"),
    ("attribute of a number", noted(Whole(1), 1), noted(Whole(1), 2), ".note"),
    ("attribute of an array", noted(np.zeros(1).view(Numbers), 1), noted(np.zeros(1).view(Numbers), 2), ".note"),
    ("attribute of a dictionary", {"a": noted(Named(b=1), 1)}, {"a": noted(Named(b=1), 2)}, '["a"].note'),
    ("slot of a list", noted(Slotted([1]), 1), noted(Slotted([1]), 2), ".note"),
    ("what makes defaults", defaultdict(int), defaultdict(list), ".default_factory"),
    ("text of an own class", Text("ab"), Text("ac"), ""),
    ("what a dictionary hides", Hiding(a=1), Hiding(a=2), '["a"]'),
    ("under a mask", np.ma.masked_array([1, 2], [0, 1]), np.ma.masked_array([1, 3], [0, 1]), "[1]"),
    ("a mask", np.ma.masked_array([1, 2], [0, 1]), np.ma.masked_array([1, 2], [0, 0]), "._mask[1]"),
    ("base of bytes", first_half(b"1234"), first_half(b"1235"), ".base[3]"),
    ("base of a bytearray", first_half(bytearray(b"1234")), first_half(bytearray(b"1235")), ".base[3]"),
    ("base of a memoryview", first_half(memoryview(b"1234")[1:3]), first_half(memoryview(b"1235")[1:3]), ".base[3]"),
    ("base of a record", cloned(records(1, 2))[0], cloned(records(1, 3))[0], ".base[1, 16]"),
    ("what a memoryview is of", memoryview(b"12")[:1], memoryview(b"13")[:1], ".obj[1]"),
    ("bytearrays", bytearray(b"12"), bytearray(b"13"), ""),
    ("metadata", np.zeros(1, np.dtype(float, metadata={"a": 1})), np.zeros(1, np.dtype(float, metadata={"a": 2})), '.dtype.metadata["a"]'),
    ("what is no number", float("nan"), -float("nan"), ""),
    ("generators", np.random.default_rng(1), np.random.default_rng(2), ""),
]


@pytest.mark.parametrize(("one", "other", "place"), [row[1:] for row in DIFFERENT], ids=[row[0] for row in DIFFERENT])
def test_what_differs_is_found_and_placed(one: Any, other: Any, place: str) -> None:
    assert difference(freeze(one), freeze(one)) is None
    found = difference(freeze(one), freeze(other), "x")
    assert found is not None
    assert found.place == f"x{place}"
    assert found.one
    assert found.other


def test_a_frozen_value_stays_as_it_was() -> None:
    value: Any = {"array": np.zeros(3), "list": [1, {"deep": 2}]}
    before, again = freeze(value), freeze(value)
    value["array"][1] = 5
    assert difference(before, freeze(value), "x") is not None
    value["array"][1] = 0
    value["list"][1]["deep"] = 3
    assert difference(before, freeze(value), "x") == ('x["list"][1]["deep"]', "2", "3", (), ())
    assert before == again


@pytest.mark.parametrize("text", ["words", b"words"])
def test_long_texts_are_shown_where_they_differ(text: Any) -> None:
    one, other = text * 100 + text[:1], text * 100 + text[1:2]
    found = difference(freeze(one), freeze(other))
    assert found is not None
    assert found.one != found.other
    assert max(len(found.one), len(found.other)) < 40


def test_what_cannot_be_pickled_cannot_be_frozen() -> None:
    with pytest.raises(CannotFreeze, match="a function cannot be compared"):
        freeze({"call": lambda: 0})


def test_what_holds_itself_cannot_be_frozen() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(CannotFreeze, match="a list cannot be compared: it holds itself"):
        freeze(endless)


def test_arrays_are_found_wherever_they_are() -> None:
    array, other = np.zeros(2), np.ones(1)
    value = {"a": [1, array, noted(Text("text"), [other])], "b": (None, {"c": np.array([other, 3], dtype=object)}), "d": records(1)[0]}
    assert [place for place, _ in arrays_in(value, "x")] == ['x["a"][1]', 'x["a"][2].note[0]', 'x["b"][1]["c"][0]', 'x["d"]']


# --- records -----------------------------------------------------------------------------------------------------------


def test_copies_of_records_hold_the_padding_and_nothing_by_chance() -> None:
    array = records(*range(5))
    as_bytes(array)[:] = np.arange(array.nbytes, dtype=np.uint8).reshape(len(array), -1)
    for _ in range(20):  # memory that was used for other things in between
        junk = [np.full(PAIR.itemsize, 255, dtype=np.uint8) for _ in range(50)]
        del junk
        assert cloned(array).tobytes() == array.tobytes()
        assert cloned(array, np.array([3, 1])).tobytes() == array[3:4].tobytes() + array[1:2].tobytes()
        assert all(clone(record).tobytes() == array[i : i + 1].tobytes() for i, record in enumerate(array))


def test_copies_of_records_are_independent_and_can_be_written() -> None:
    array = records(1, 2)
    for copy in (cloned(array)[0], clone(array[0])):
        copy["large"][1] = 7
        assert copy["large"].tolist() == [0, 7]
    assert array["large"].tolist() == [[0, 1], [0, 2]]
