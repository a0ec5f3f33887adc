"""Arrays taken out of an object and put back: exactly, or not at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sixnimmt_env.core.saved import fitting, put_back, real, taken, whole, within

RECORD = np.dtype([("a", np.uint8), ("b", np.uint64)], align=True)


class Owner:
    def __init__(self) -> None:
        self.numbers = np.arange(6).reshape(2, 3)
        self._flags = np.array([True, False])
        self.records = np.zeros(2, dtype=RECORD)


NAMES = ("numbers", "_flags", "records")


def test_there_and_back() -> None:
    one, other = Owner(), Owner()
    one.numbers[0, 1], one._flags[1], one.records["b"] = 77, True, (5, 2**63)
    state = taken(one, NAMES)
    one.numbers[:] = 0
    assert sorted(state) == ["flags", "numbers", "records", "records_fields"]
    kept = other.numbers
    put_back(other, NAMES, state)
    assert other.numbers is kept, "in place: others may hold the same array"
    assert other.numbers.tolist() == [[0, 77, 2], [3, 4, 5]]
    assert other._flags.all()
    assert other.records["b"].tolist() == [5, 2**63]


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("numbers", np.zeros((2, 3), np.int32), r"'numbers' is int32\[2, 3\], not int64\[2, 3\]"),
        ("numbers", np.zeros((3, 2), np.int64), r"'numbers' is int64\[3, 2\], not int64\[2, 3\]"),
        ("flags", [True, False], r"'flags' is list, not bool\[2\]"),
        ("records_fields", "[]", "the records of 'records' have other fields"),
    ],
)
def test_what_does_not_fit(key: str, value: Any, words: str) -> None:
    state = taken(Owner(), NAMES)
    state[key] = value
    with pytest.raises(ValueError, match=words):
        put_back(Owner(), NAMES, state)
    del state[key]
    with pytest.raises(KeyError, match=key):
        put_back(Owner(), NAMES, state)


def test_checks() -> None:
    within(np.array([-1, 4]), "x", -1, 5)
    within(np.array([1, 4]), "x", 0, np.array([2, 5]))
    for bad in (-2, 5):
        with pytest.raises(ValueError, match="'x' holds numbers that there cannot be"):
            within(np.array([0, bad]), "x", -1, 5)
    assert (whole(3, "x"), real(3, "x"), real(0.5, "x")) == (3, 3.0, 0.5)
    for wrong in (-1, True, None, "1", 1.0, [1]):
        with pytest.raises(ValueError, match="'x' is no whole number from 0 on"):
            whole(wrong, "x")
    for wrong in (-0.5, True, None, "1", float("nan")):
        with pytest.raises(ValueError, match="'x' is no number from 0 on"):
            real(wrong, "x")
    assert fitting(np.ones(2), "x", np.float64, (2,)).tolist() == [1, 1]
