"""Random streams: the published sequence, ranges, and that what should look independent does (with fixed seeds, so never by luck)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sixnimmt_env.core import seeding

words = st.integers(0, 2**64 - 1)

# The first numbers of splitmix64 from 0, which other implementations of it are tested with too.
SEQUENCE = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC, 0x1B39896A51A8749B]
GOLDEN = 0x9E3779B97F4A7C15


def mixed(*values: int) -> int:
    """A word made of integers, as the engine makes one of (seed, game, round)."""
    word = 0
    for value in values:
        word = int(seeding.mix(np.uint64(word), np.uint64(value)))
    return word


def drawn(draw: Callable[..., tuple[Any, Any]], word: int, count: int, *arguments: int) -> NDArray[Any]:
    """`count` successive numbers of a stream."""
    numbers = []
    for _ in range(count):
        word, number = draw(np.uint64(word), *arguments)
        numbers.append(number)
    return np.array(numbers)


def chi_square(values: Iterable[int], bound: int) -> float:
    """How far the values 0..bound-1 are from equally frequent, in standard deviations of the chi-square statistic."""
    counts = np.bincount(np.fromiter(values, np.int64), minlength=bound)
    assert len(counts) == bound
    expected = counts.sum() / bound
    statistic = float(((counts - expected) ** 2).sum() / expected)
    return abs(statistic - (bound - 1)) / (2 * (bound - 1)) ** 0.5


def test_published_sequence() -> None:
    assert drawn(seeding.below, 0, 5, 2**32).tolist() == [number >> 32 for number in SEQUENCE]
    assert drawn(seeding.uniform, 0, 5).tolist() == [(number >> 11) / 2**53 for number in SEQUENCE]
    assert [mixed((GOLDEN * index) % 2**64) for index in range(5)] == SEQUENCE


@settings(deadline=None)
@given(word=words, bound=st.integers(1, 2**32))
def test_ranges(word: int, bound: int) -> None:
    state, number = seeding.below(np.uint64(word), bound)
    assert 0 <= number < bound
    assert int(state) == (word + GOLDEN) % 2**64
    state, real = seeding.uniform(np.uint64(word))
    assert 0.0 <= real < 1.0
    assert int(state) == (word + GOLDEN) % 2**64


@pytest.mark.parametrize("bound", [2, 3, 7, 10, 104])
def test_below_is_even(bound: int) -> None:
    numbers = drawn(seeding.below, mixed(2, bound), 20_000, bound)
    assert chi_square(numbers, bound) < 4
    assert chi_square(numbers[:-1] * bound + numbers[1:], bound**2) < 4  # successive pairs


def test_uniform_is_even() -> None:
    numbers = np.sort(drawn(seeding.uniform, mixed(1), 20_000))
    distance = np.abs(numbers - (np.arange(20_000) + 0.5) / 20_000).max()
    assert distance < 2 / 20_000**0.5  # Kolmogorov and Smirnov: exceeded once in 1500 sequences


@pytest.mark.parametrize("name", ["seed", "game", "round"])
def test_neighbouring_streams_are_unrelated(name: str) -> None:
    """The first draws of the streams that differ by one in a single part are as even as those of one stream."""
    bound = 20
    place = ["seed", "game", "round"].index(name)
    firsts = []
    for index in range(20_000):
        parts = [5, 5, 5]
        parts[place] = index
        firsts.append(int(seeding.below(np.uint64(mixed(*parts)), bound)[1]))
    assert chi_square(firsts, bound) < 4
    assert chi_square([a * bound + b for a, b in itertools.pairwise(firsts)], bound**2) < 4


def test_streams_of_all_parts_differ() -> None:
    """Above all, games of one seed are no games of another, nor the same in another order."""
    parts = list(itertools.product(range(20), range(40), range(20)))
    assert len({mixed(*part) for part in parts}) == len(parts)


@settings(deadline=None)
@given(values=st.lists(words, min_size=2, max_size=4, unique=True))
def test_order_matters(values: list[int]) -> None:
    orders = list(itertools.permutations(values))
    assert len({mixed(*order) for order in orders}) == len(orders)


@settings(deadline=None)
@given(word=words, value=words, bit=st.integers(0, 63))
def test_every_bit_matters(word: int, value: int, bit: int) -> None:
    before = int(seeding.mix(np.uint64(word), np.uint64(value)))
    after = int(seeding.mix(np.uint64(word), np.uint64(value ^ 1 << bit)))
    assert 8 <= (before ^ after).bit_count() <= 56  # 32 on average


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1, np.int64(5), np.uint8(5)])
def test_seed(seed: object) -> None:
    checked = seeding.check_seed(seed)
    assert type(checked) is int
    assert checked == seed


@pytest.mark.parametrize("seed", [-1, 2**63, 1.0, True, False, None, "1", np.float64(1), np.bool_(True), [1]])
def test_impossible_seed(seed: object) -> None:
    with pytest.raises(ValueError, match="must be a whole number from 0 to 9223372036854775807") as caught:
        seeding.check_seed(seed)
    assert f"seed={seed!r} " in str(caught.value)


def test_fresh_seeds() -> None:
    seeds = {seeding.check_seed(seeding.fresh_seed()) for _ in range(100)}
    assert len(seeds) == 100
