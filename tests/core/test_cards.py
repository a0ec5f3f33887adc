"""Sets of cards against Python's own sets and integers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sixnimmt_env.core import cards

HIGHEST = 127
sets = st.sets(st.integers(1, HIGHEST))
card = st.integers(0, HIGHEST)
words = st.integers(0, 2**64 - 1)


@settings(deadline=None)
@given(cards_in=sets)
def test_round_trip_in_order(cards_in: set[int]) -> None:
    packed = cards.from_list(cards_in)
    assert packed.dtype == np.uint64
    assert packed.shape == (2,)
    assert cards.to_list(packed) == sorted(cards_in)


def test_from_any_integers() -> None:
    assert cards.to_list(cards.from_list(np.array([104, 1, 64, 63], dtype=np.uint8))) == [1, 63, 64, 104]
    assert cards.to_list(cards.from_list(c for c in (5, 5))) == [5]


@settings(deadline=None)
@given(word=words)
def test_popcount(word: int) -> None:
    assert cards.popcount(np.uint64(word)) == word.bit_count()


@settings(deadline=None)
@given(cards_in=sets)
def test_has_and_size(cards_in: set[int]) -> None:
    packed = cards.from_list(cards_in)
    assert {c for c in range(HIGHEST + 1) if cards.has(packed, c)} == cards_in
    assert cards.size(packed) == len(cards_in)


@settings(deadline=None)
@given(cards_in=sets, changes=st.lists(st.tuples(st.booleans(), card)))
def test_insert_and_discard(cards_in: set[int], changes: list[tuple[bool, int]]) -> None:
    records = np.zeros(3, dtype=[("other", np.uint8), ("sets", np.uint64, (2, 2))])  # as it is in a state
    packed = records["sets"][1, 1]
    packed[:] = cards.from_list(cards_in)
    expected = set(cards_in)
    for add, c in changes:
        if add:
            cards.insert(packed, c)
            expected.add(c)
        else:
            cards.discard(packed, c)
            expected.discard(c)
    assert cards.to_list(records["sets"][1, 1]) == sorted(expected)
    records["sets"][1, 1] = 0
    assert not records["sets"].any()


@settings(deadline=None)
@given(cards_in=sets, highest=card)
def test_fill(cards_in: set[int], highest: int) -> None:
    packed = cards.from_list(cards_in)
    cards.fill(packed, highest)
    assert cards.to_list(packed) == list(range(1, highest + 1))


@settings(deadline=None)
@given(cards_in=sets, low=card, high=st.integers(0, HIGHEST + 1))
def test_between(cards_in: set[int], low: int, high: int) -> None:
    assert cards.between(cards.from_list(cards_in), low, high) == sum(low < c < high for c in cards_in)


@settings(deadline=None)
@given(cards_in=sets)
def test_above_and_nth(cards_in: set[int]) -> None:
    packed, ordered = cards.from_list(cards_in), sorted(cards_in)
    for c in range(HIGHEST + 1):
        assert cards.above(packed, c) == min((d for d in cards_in if d > c), default=0)
    assert [cards.nth(packed, index) for index in range(len(ordered) + 2)] == [*ordered, 0, 0]
    assert cards.to_list(packed) == ordered
