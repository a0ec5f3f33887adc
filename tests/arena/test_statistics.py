"""Statistics: figures by hand, intervals that cover as often as they say, and the number of deals that would do."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sixnimmt_env.arena import cross_play, head_to_head, round_robin
from sixnimmt_env.arena.statistics import LEVEL, Blocks, blocks, compare, cross, estimate, further_deals, places, student

# heads of the seats: shares of the win, ranks
PLACES = [
    ([3, 5, 7, 9], [1, 0, 0, 0], [1, 2, 3, 4]),
    ([3, 3, 7, 9], [0.5, 0.5, 0, 0], [1.5, 1.5, 3, 4]),
    ([0, 0, 0, 0], [0.25] * 4, [2.5] * 4),
    ([9, 1, 5, 5], [0, 1, 0, 0], [4, 1, 2.5, 2.5]),
    ([4, 4, 4, 1], [0, 0, 0, 1], [3, 3, 3, 1]),
]


@pytest.mark.parametrize(("heads", "wins", "ranks"), PLACES)
def test_places(heads: list[int], wins: list[float], ranks: list[float]) -> None:
    found = places(np.array([heads]))
    assert [values[0].tolist() for values in found] == [wins, ranks]


def test_blocks_by_hand() -> None:
    schedule = head_to_head(3, [1])  # (0, 1, 1), (1, 0, 1), (1, 1, 0)
    costs = np.array([[[4, 1, 1], [2, 3, 2], [7, 7, 1]], [[0, 0, 0], [5, 6, 7], [1, 2, 3]]])
    found = blocks(costs, schedule, 2)
    assert found.heads[:, 0] == pytest.approx([(4 + 3 + 1) / 3, (0 + 6 + 3) / 3])
    assert found.heads[:, 1] == pytest.approx([(1 + 1 + 2 + 2 + 7 + 7) / 6, (0 + 0 + 5 + 7 + 1 + 2) / 6])
    assert found.wins[:, 0] == pytest.approx([1 / 3, (1 / 3 + 0 + 0) / 3])
    assert found.wins[:, 1] == pytest.approx([(1 / 2 + 1 / 2 + 1 / 2 + 1 / 2) / 6, (1 / 3 + 1 / 3 + 1 + 1) / 6])
    assert found.ranks[:, 0] == pytest.approx([(3 + 3 + 1) / 3, (2 + 2 + 3) / 3])


def test_blocks_do_not_depend_on_how_many_there_are() -> None:
    schedule = round_robin(5, 3)
    costs = np.random.default_rng(0).integers(0, 20, size=(700, schedule.games, 3))
    whole, parts = blocks(costs, schedule, 5), [blocks(costs[i : i + 1], schedule, 5) for i in (0, 511, 512, 699)]
    for part, i in zip(parts, (0, 511, 512, 699), strict=True):
        assert whole.heads[i] == pytest.approx(part.heads[0])
        assert whole.ranks[i] == pytest.approx(part.ranks[0])
    assert whole.heads.shape == (700, 5)
    assert whole.wins.mean() == pytest.approx(1 / 3)


def test_cross_by_hand() -> None:
    schedule = cross_play(2, 2)  # (0, 0), (0, 1), (1, 0), (1, 0), (0, 1), (1, 1), a game of two for each
    schedule_lines = schedule.seating.tolist()
    costs = np.arange(2 * len(schedule_lines) * 2).reshape(2, -1, 2)
    means, errors = cross(costs, schedule, 2)
    for own in range(2):
        for other in range(2):
            seats = [
                (game, seat)
                for game, line in enumerate(schedule_lines)
                for seat in range(2)
                if schedule.counted[game, seat] and line[seat] == own and line[1 - seat] == other
            ]
            each = [np.mean([costs[deal, game, seat] for game, seat in seats]) for deal in range(2)]
            assert means[own, other] == pytest.approx(np.mean(each))
            assert errors[own, other] == pytest.approx(np.std(each, ddof=1) / math.sqrt(2))
    means, errors = cross(np.ones((1, 4, 4), dtype=np.int64), round_robin(4, 4), 4)
    assert np.isnan(np.diag(means)).all()
    assert np.isnan(errors).all()


def test_students_quantiles() -> None:
    """As tables print them."""
    for freedom, value in [(1, 12.706), (4, 2.776), (9, 2.262), (29, 2.045), (1000, 1.962)]:
        assert student(0.975, freedom) == pytest.approx(value, abs=5e-4)


def test_estimates() -> None:
    found = estimate(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert (found.mean, found.se) == pytest.approx((3.0, math.sqrt(2.5 / 5)))
    assert (found.low, found.high) == pytest.approx((3 - 2.776445 * found.se, 3 + 2.776445 * found.se))
    single = estimate(np.array([7.0]))
    assert (single.mean, single.low, single.high, math.isnan(single.se)) == (7.0, -math.inf, math.inf, True)


@pytest.mark.parametrize("deals", [3, 8, 40])
def test_intervals_cover_as_often_as_they_say(deals: int) -> None:
    """Skewed games with a deal that all share: 95 % within four standard errors of the simulation."""
    rng, schedule, truth, covered, runs = np.random.default_rng(deals), head_to_head(4), 1.5, 0, 1000
    strength = np.where(schedule.seating == 0, 0.0, truth)
    for _ in range(runs):
        luck = rng.gamma(3.0, 1.5, size=(deals, 6, 4)) + rng.gamma(2.0, 2.0, size=(deals, 1, 4))
        values = blocks((1000 * (luck + strength)).astype(np.int64), schedule, 2)
        found = compare(values, 0, 1).heads
        covered += found.low <= -1000 * truth <= found.high
    assert abs(covered / runs - 0.95) < 4 * math.sqrt(0.95 * 0.05 / runs)


def values(*differences: float) -> Blocks:
    heads = np.stack([np.array(differences), np.zeros(len(differences))], axis=1)
    return Blocks(heads, heads, heads)


def test_comparisons() -> None:
    better = compare(values(-1.0, -1.2, -0.8, -1.1), 0, 1)
    assert (better.decided, better.further) == (-1, 0)
    assert better.better > 0.999
    worse = compare(values(1.0, 1.2, 0.8, 1.1), 0, 1)
    assert (worse.decided, worse.better) == (1, pytest.approx(1 - better.better))
    unclear = compare(values(-1.0, 3.0, -4.0, 1.0), 0, 1)
    assert unclear.decided == 0
    assert unclear.low < 0 < unclear.high
    assert unclear.further is not None
    assert unclear.further > 4


def test_many_comparisons_need_more() -> None:
    """The interval that decides is that of Bonferroni; the one that is shown stays 95 %."""
    drawn = np.random.default_rng(0).normal(size=30)
    data = values(*((drawn - drawn.mean()) / drawn.std(ddof=1) - 0.45))  # two and a half standard errors below zero
    one, many = compare(data, 0, 1), compare(data, 0, 1, comparisons=20)
    assert one.heads == many.heads
    wider = estimate(data.heads[:, 0], LEVEL / 20)
    assert (many.low, many.high) == pytest.approx((wider.low, wider.high))
    assert (one.decided, many.decided) == (-1, 0)


def test_nothing_left_to_chance() -> None:
    for data, decided, further in [(values(-1.0, -1.0, -1.0), -1, 0), (values(0.0, 0.0), 0, None)]:  # all deals alike
        found = compare(data, 0, 1)
        assert (found.decided, found.further, found.heads.se) == (decided, further, 0.0)
    assert compare(values(-1.0), 0, 1).decided == 0, "a single deal tells nothing"


def test_differences_that_happen_to_be_equal() -> None:
    """Two deals that differ, and in which one agent is by chance as much better, prove nothing; thirty do."""
    for deals, decided, further in [(2, 0, 28), (29, 0, 1), (30, -1, 0)]:
        heads = np.stack([np.arange(deals) + 3.0, np.arange(deals) + 5.0], axis=1)
        found = compare(Blocks(heads, heads, heads), 0, 1)
        assert (found.decided, found.further) == (decided, further)


def test_rounding_is_no_difference() -> None:
    thirds = Blocks(*[np.array([[1 / 3 + 1 / 3 + 1 / 3, 1.0], [0.1 + 0.2, 0.3]])] * 3)
    assert compare(thirds, 0, 1).heads.se == 0.0


def test_as_many_deals_as_are_advised_do() -> None:
    """The formula by hand, and the power by simulation."""
    rng = np.random.default_rng(5)
    seen = rng.normal(size=50)
    seen = (seen - seen.mean()) / seen.std(ddof=1) + 0.2  # mean 0.2, spread 1
    further = further_deals(seen)
    assert further == math.ceil(((1.959964 + 0.841621) / 0.2) ** 2) - 50
    told = [estimate(rng.normal(0.2, 1.0, size=further + 50)).low > 0 for _ in range(1000)]
    assert abs(np.mean(told) - 0.8) < 0.05


@pytest.mark.parametrize("seen", [[1.0], [0.0, 0.0], [1.0, -1.0], [2.0, 2.0]])
def test_no_number_of_deals_would_do(seen: list[float]) -> None:
    assert further_deals(np.array(seen)) is None
