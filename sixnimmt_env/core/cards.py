"""Sets of cards as two 64-bit words, for the kernels: card c is bit c of the 128 (card 0 does not exist).

A set is any indexable pair of uint64: a `uint64[2]` field of a record, or a row of such a field. Mixing uint64 with int64
silently gives a signed result in compiled code, so every constant here is unsigned.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .kernel import i64, kernel

_0: Final = np.uint64(0)
_1: Final = np.uint64(1)
_2: Final = np.uint64(2)
_4: Final = np.uint64(4)
_56: Final = np.uint64(56)
_01: Final = np.uint64(0x0101010101010101)
_0F: Final = np.uint64(0x0F0F0F0F0F0F0F0F)
_33: Final = np.uint64(0x3333333333333333)
_55: Final = np.uint64(0x5555555555555555)
_ALL: Final = (1 << 64) - 1

_UPTO: Final = np.array([[(2 << card) - 1 & _ALL, (2 << card) - 1 >> 64] for card in range(128)], dtype=np.uint64)
"""The sets {0, ..., card} by card: (128, 2) uint64."""


@kernel
def popcount(word: Any) -> int:
    """Number of set bits of a uint64."""
    word = word - ((word >> _1) & _55)
    word = (word & _33) + ((word >> _2) & _33)
    word = (word + (word >> _4)) & _0F
    return i64((word * _01) >> _56)


@kernel
def has(cards: Any, card: int) -> bool:
    """Whether `card` is in the set."""
    return bool((cards[card >> 6] >> np.uint64(card & 63)) & _1 != _0)


@kernel
def insert(cards: Any, card: int) -> None:
    """Add `card` to the set."""
    cards[card >> 6] |= _1 << np.uint64(card & 63)


@kernel
def discard(cards: Any, card: int) -> None:
    """Take `card` out of the set."""
    cards[card >> 6] &= ~(_1 << np.uint64(card & 63))


@kernel
def size(cards: Any) -> int:
    """Number of cards in the set."""
    return popcount(cards[0]) + popcount(cards[1])


@kernel
def fill(cards: Any, highest: int) -> None:
    """Make the set {1, ..., highest}."""
    cards[0] = _UPTO[highest, 0] & ~_1
    cards[1] = _UPTO[highest, 1]


@kernel
def between(cards: Any, low: int, high: int) -> int:
    """Number of cards c of the set with low < c < high (0 if high <= low + 1)."""
    if high <= low + 1:
        return 0
    first = cards[0] & _UPTO[high - 1, 0] & ~_UPTO[low, 0]
    second = cards[1] & _UPTO[high - 1, 1] & ~_UPTO[low, 1]
    return popcount(first) + popcount(second)


@kernel
def above(cards: Any, card: int) -> int:
    """The lowest card of the set that is greater than `card`, or 0 if there is none: walks a set in ascending order."""
    word = cards[0] & ~_UPTO[card, 0]
    if word != _0:
        return popcount((word & (~word + _1)) - _1)
    word = cards[1] & ~_UPTO[card, 1]
    if word != _0:
        return 64 + popcount((word & (~word + _1)) - _1)
    return 0


@kernel
def nth(cards: Any, index: int) -> int:
    """The card of the set at `index` in ascending order, counting from 0; 0 if there are not so many."""
    card = 0
    for _ in range(index + 1):
        card = above(cards, card)
        if card == 0:
            return 0
    return card


def to_list(cards: NDArray[np.uint64]) -> list[int]:
    """The set as a sorted list of ints, for Python code."""
    word = int(cards[0]) | int(cards[1]) << 64
    return [card for card in range(128) if word >> card & 1]


def from_list(cards: Any) -> NDArray[np.uint64]:
    """A set, (2,) uint64, of the ints in `cards`."""
    word = 0
    for card in cards:
        word |= 1 << int(card)
    return np.array([word & 0xFFFFFFFFFFFFFFFF, word >> 64], dtype=np.uint64)
