"""The rule to stop early: how often it is wrong where there is nothing to find, and that it finds what there is."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from sixnimmt_env.arena import UntilDecided, head_to_head, round_robin
from sixnimmt_env.arena.sequential import MIN_DEALS, NARROWEST, interval, reach

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]
DEALS = 3000

# differences of two equals, mean 0
EQUALS: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "skewed": lambda rng, n: rng.exponential(size=n) - 1.0,
    "mostly zero": lambda rng, n: rng.choice([-1.0, 0.0, 1.0], p=[0.05, 0.9, 0.05], size=n),
    "heads of two seats": lambda rng, n: rng.gamma(2.0, 5.0, size=n) - rng.gamma(2.0, 5.0, size=n),
}


def wrong(draws: NDArray[np.float64], level: float) -> NDArray[np.bool_]:
    """For each line of (runs, deals): whether zero is ever outside, looked at after every single deal."""
    n = np.arange(1, draws.shape[1] + 1)
    means = draws.cumsum(axis=1) / n
    spread = np.sqrt(np.maximum((draws**2).cumsum(axis=1) / n - means**2, 0) * n / np.maximum(n - 1, 1))
    half = np.array([0.0 if math.isinf(x) else x for x in (reach(int(k), 1.0, level) for k in n)])
    outside = np.abs(means) > half * spread
    return outside[:, MIN_DEALS - 1 :].any(axis=1)


@pytest.mark.parametrize("kind", EQUALS)
def test_equals_are_seldom_told_apart_however_often_one_looks(kind: str) -> None:
    rng, runs = np.random.default_rng(1), 1000
    found = wrong(np.stack([EQUALS[kind](rng, DEALS) for _ in range(runs)]), 0.05)
    assert found.mean() < 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def test_an_ordinary_interval_would_be_wrong_much_more_often() -> None:
    """What the rule is there for."""
    rng = np.random.default_rng(2)
    draws = rng.normal(size=(300, DEALS))
    n = np.arange(1, DEALS + 1)
    outside = np.abs(draws.cumsum(axis=1) / n) > 1.96 / np.sqrt(n)
    assert outside[:, MIN_DEALS - 1 :].any(axis=1).mean() > 0.2


def test_the_formula() -> None:
    """By hand at n = 400, and narrowest, in its own measure, where it was asked to be."""
    rho = math.sqrt((-2 * math.log(0.05) + math.log(-2 * math.log(0.05)) + 1) / 1000)
    by_hand = math.sqrt(2 * (400 * rho**2 + 1) / (400**2 * rho**2) * math.log(math.sqrt(400 * rho**2 + 1) / 0.05))
    assert reach(400, 1.0, 0.05, 1000) == pytest.approx(by_hand)
    assert reach(400, 2.5, 0.05, 1000) == pytest.approx(2.5 * by_hand)
    assert reach(MIN_DEALS - 1, 1.0) == math.inf
    own = [math.sqrt(n) * reach(n, 1.0) for n in range(MIN_DEALS, 5000)]
    assert abs(MIN_DEALS + int(np.argmin(own)) - NARROWEST) < 0.1 * NARROWEST
    assert min(own) < 1.6 * 1.96


def test_intervals() -> None:
    draws = np.random.default_rng(3).normal(1.0, 2.0, size=1000)
    low, high = interval(draws)
    assert low < draws.mean() < high
    assert (low + high) / 2 == pytest.approx(draws.mean())
    assert interval(draws[: MIN_DEALS - 1]) == (-math.inf, math.inf)


def costs(rng: np.random.Generator, deals: int, gap: float, seating: NDArray[np.int64]) -> NDArray[np.int64]:
    """Games in which agent 1 loses `gap` heads more than the others."""
    luck = rng.gamma(2.0, 5.0, size=(deals, *seating.shape))
    return np.round(luck + gap * (seating == 1)).astype(np.int64)


def test_stops_when_all_is_decided() -> None:
    rng, schedule = np.random.default_rng(4), head_to_head(4)
    rule = UntilDecided(schedule, 2, [(0, 1)])
    looks = 1
    while not rule(costs(rng, 16, 4.0, schedule.seating)):
        looks += 1
    assert MIN_DEALS <= 16 * looks < 200
    rule = UntilDecided(schedule, 2, [(0, 1)])
    assert not any(rule(costs(rng, 50, 0.0, schedule.seating)) for _ in range(20))


def test_waits_for_the_last_comparison() -> None:
    """Agents 0 and 2 are equal: agent 1 is told from both, but play goes on."""
    rng, schedule = np.random.default_rng(5), round_robin(3, 3)
    rule = UntilDecided(schedule, 3, [(0, 1), (0, 2), (1, 2)])
    assert not any(rule(costs(rng, 100, 4.0, schedule.seating)) for _ in range(10))
    assert UntilDecided(schedule, 3, [(0, 1), (1, 2)])(costs(rng, 1000, 4.0, schedule.seating))


def test_differences_that_do_not_matter() -> None:
    rng, schedule = np.random.default_rng(6), head_to_head(4)
    rule = UntilDecided(schedule, 2, [(0, 1)], indifference=1.0)
    looks = 1
    while not rule(costs(rng, 100, 0.0, schedule.seating)):
        looks += 1
    assert looks < 40
    assert rule.settled(-0.9, 0.9)
    assert rule.settled(0.1, 5.0)
    assert rule.settled(-5.0, -0.1)
    assert not rule.settled(-1.1, 0.9)
    assert not UntilDecided(schedule, 2, [(0, 1)]).settled(-0.001, 0.001)
