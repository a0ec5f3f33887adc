"""Ratings: known strengths are found, ties are halves, intervals cover, and nobody is infinitely strong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from sixnimmt_env.arena import Schedule, cross_play, head_to_head, ratings, round_robin
from sixnimmt_env.arena.ratings import POINTS, fit, pairs, rate

STRENGTHS = np.array([4.0, 2.0, 1.0, 1.0, 0.5])
TRUTH = POINTS * (np.log(STRENGTHS) - np.log(STRENGTHS).mean())


def games(rng: np.random.Generator, schedule: Schedule, deals: int, strengths: NDArray[np.float64]) -> NDArray[np.int64]:
    """Costs by the model of Plackett and Luce: who is first when everybody waits for a time of his own."""
    waits = rng.exponential(size=(deals, *schedule.seating.shape)) / strengths[schedule.seating]
    return np.floor(1e6 * waits).astype(np.int64)


@pytest.mark.parametrize("players", [2, 3, 5])
def test_known_strengths_are_found(players: int) -> None:
    schedule = round_robin(5, players)
    found = rate(games(np.random.default_rng(0), schedule, 1500, STRENGTHS), schedule, 5, fits=200)
    assert np.abs(found.points - TRUTH).max() < 10
    assert found.points.sum() == pytest.approx(0.0, abs=1e-6)
    assert ((found.low < found.points) & (found.points < found.high)).all()
    odds = STRENGTHS[:, None] / (STRENGTHS[:, None] + STRENGTHS)
    assert np.abs(found.ahead - odds).max() < 0.02
    assert found.better[0, 1] > 0.99
    assert 0.01 < found.better[2, 3] < 0.99
    assert found.better + found.better.T == pytest.approx(np.ones((5, 5)))


def test_pairs_by_hand() -> None:
    schedule = head_to_head(3, [1])  # (0, 1, 1), (1, 0, 1), (1, 1, 0)
    costs = np.array([[[4, 1, 5], [2, 2, 2], [7, 7, 1]], [[0, 1, 2], [1, 0, 2], [2, 1, 0]]])
    assert pairs(costs, schedule, 2).tolist() == [[[0.0, 4.0], [2.0, 0.0]], [[0.0, 6.0], [0.0, 0.0]]]


def test_pairs_of_many_agents() -> None:
    rng, schedule = np.random.default_rng(1), round_robin(4, 3, repeats=True)
    costs = rng.integers(0, 4, size=(7, schedule.games, 3))
    expected = np.zeros((7, 4, 4))
    for deal, game, one, other in np.ndindex(7, schedule.games, 3, 3):
        i, j = schedule.seating[game, [one, other]]
        a, b = costs[deal, game, [one, other]]
        if i != j:
            expected[deal, i, j] += 1.0 if a < b else 0.5 if a == b else 0.0
    assert pairs(costs, schedule, 4) == pytest.approx(expected)


def test_two_agents_by_the_formula() -> None:
    """Three quarters of the pairs won are odds of 3 to 1."""
    found = fit(np.array([[0.0, 75_000.0], [25_000.0, 0.0]]))
    assert found[0] - found[1] == pytest.approx(math.log(3), abs=1e-4)


def test_deals_may_be_weighted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = round_robin(5, 3)
    costs = games(np.random.default_rng(3), schedule, 600, STRENGTHS)
    single = rate(costs, schedule, 5, fits=300)
    monkeypatch.setattr(ratings, "_GROUPS", 70)
    monkeypatch.setattr(ratings, "_DEALS", 64)
    together = rate(costs, schedule, 5, fits=300)
    assert together.points == pytest.approx(single.points)
    assert together.high - together.low == pytest.approx(single.high - single.low, rel=0.3)


def test_equals_are_equal() -> None:
    schedule = head_to_head(4)
    found = rate(np.zeros((10, 6, 4), dtype=np.int64), schedule, 2, fits=50)
    assert found.points.tolist() == pytest.approx([0.0, 0.0])
    assert found.better.tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_who_always_wins_is_not_infinitely_strong() -> None:
    schedule = head_to_head(2)
    costs = np.where(schedule.seating == 0, 0, 9)[None].repeat(20, axis=0)
    found = rate(costs, schedule, 2, fits=50)
    assert 400 < found.points[0] - found.points[1] < 1000
    assert found.better[0, 1] == 1.0


def test_agents_that_never_meet_can_be_rated() -> None:
    schedule = cross_play(3, 2)
    seldom = Schedule(schedule.seating[:3], schedule.counted[:3])  # agents 0 and 1 only
    found = rate(games(np.random.default_rng(0), seldom, 50, STRENGTHS), seldom, 3, fits=50)
    assert np.isfinite(found.points).all()


def test_a_single_deal_has_no_interval() -> None:
    schedule = head_to_head(2)
    found = rate(games(np.random.default_rng(0), schedule, 1, STRENGTHS), schedule, 2, fits=10)
    assert np.isfinite(found.points).all()
    assert np.isnan([*found.low, *found.high, found.better[0, 1]]).all()


@pytest.mark.slow
@pytest.mark.parametrize("shared", [0.0, 0.8])
def test_intervals_cover(shared: float) -> None:
    """Also where the games of a deal resemble each other, which pairs taken one by one would not see."""
    rng, schedule, runs = np.random.default_rng(7), round_robin(3, 3, seating="all"), 300
    strengths = np.array([1.5, 1.0, 1.0])
    truth = POINTS * (np.log(strengths) - np.log(strengths).mean())
    covered = np.zeros(3)
    for run in range(runs):
        own = rng.exponential(size=(60, *schedule.seating.shape))
        of_the_agent = rng.exponential(size=(60, 3))[:, schedule.seating]
        waits = np.where(rng.random((60, 1, 1)) < shared, of_the_agent, own) / strengths[schedule.seating]
        found = rate(np.floor(1e6 * waits).astype(np.int64), schedule, 3, seed=run, fits=200)
        covered += (found.low <= truth) & (truth <= found.high)
    assert (np.abs(covered / runs - 0.95) < 0.045).all()
