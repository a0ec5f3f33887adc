"""Results in words and as data: who is better, what the rounds do not tell, and what a reader should know."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sixnimmt_env import arena
from sixnimmt_env.arena import Results, Schedule
from sixnimmt_env.games.sixnimmt import Rules
from tests.arena.toys import plan, played


def games(schedule: Schedule, deals: int, handicaps: list[float], spread: float = 5.0, seed: int = 0) -> NDArray[np.int64]:
    """Costs in which each agent loses its handicap more than luck alone."""
    luck = np.random.default_rng(seed).gamma(2.0, spread, size=(deals, *schedule.seating.shape))
    return np.round(luck + np.array(handicaps)[schedule.seating]).astype(np.int64)


def results(schedule: Schedule, deals: int, handicaps: list[float], **options: Any) -> Results:
    it = played(schedule, games(schedule, deals, handicaps, options.pop("spread", 5.0)), len(handicaps))
    return arena.summarise(it, fits=20, **options)


def test_standings_and_verdicts() -> None:
    found = results(arena.round_robin(4, 4), 500, [6.0, 0.0, 3.0, 9.0])
    assert [standing.agent for standing in found.standings] == [1, 2, 0, 3]
    assert list(np.argsort(-found.ratings.points)) == [1, 2, 0, 3]
    assert [(c.first, c.second) for c in found.comparisons] == [(1, 2), (1, 0), (1, 3), (2, 0), (2, 3), (0, 3)]
    assert all(comparison.decided == -1 for comparison in found.comparisons)
    verdict = found.verdict(found.comparisons[0])
    assert re.fullmatch(r"random\.1 is better than random\.2 by \d\.\d\d ± 0\.\d\d heads a match", verdict)
    assert found.notes == ()
    assert sum(standing.wins.mean for standing in found.standings) == pytest.approx(1.0)
    assert sum(standing.rank.mean for standing in found.standings) == pytest.approx(10.0)
    for standing in found.standings:
        assert standing.histogram @ np.arange(len(standing.histogram)) / standing.seats == pytest.approx(standing.heads.mean)


def test_the_newcomer_is_compared_with_all_others() -> None:
    found = results(arena.gauntlet(4, 3), 300, [0.0, 6.0, 3.0, 9.0])
    assert [(c.first, c.second) for c in found.comparisons] == [(0, 2), (0, 1), (0, 3)]


def test_not_enough_rounds_to_tell() -> None:
    found = results(arena.head_to_head(4), 40, [0.0, 0.3], spread=7.0)
    [comparison] = found.comparisons
    verdict = found.verdict(comparison)
    match = re.fullmatch(
        r"not enough rounds to tell random\.\d and random\.\d apart \(\d\.\d\d ± \d\.\d\d heads a match\): if the difference is as large "
        r"as it looks, about ([\d,]+) more deals \(([\d,]+) matches\) would do",
        verdict,
    )
    assert match is not None, verdict
    deals, matches = (int(number.replace(",", "")) for number in match.groups())
    assert comparison.further is not None
    assert comparison.further <= deals <= 1.1 * comparison.further
    assert 6 * comparison.further <= matches <= 1.1 * 6 * comparison.further


WORDS = [
    (np.zeros((1, 6, 4), dtype=np.int64), "a single deal has no error; play at least 2 deals", "Only 1 deal:"),
    (np.zeros((9, 6, 4), dtype=np.int64), "are equal: no deal made a difference", "nothing was left to chance"),
    (games(arena.head_to_head(4), 9, [0.0, 1.0]), "not enough rounds", "Only 9 deals: take the intervals with a grain of salt."),
]


@pytest.mark.parametrize(("costs", "verdict", "note"), WORDS)
def test_words(costs: NDArray[np.int64], verdict: str, note: str) -> None:
    found = arena.summarise(played(arena.head_to_head(4), costs, 2), fits=5)
    assert verdict in found.verdict(found.comparisons[0])
    assert note in " ".join(found.notes)
    json.dumps(arena.as_data(found), allow_nan=False)


def test_as_good_as_equal() -> None:
    """A difference that happens to be nothing at all: no number of rounds is named."""
    costs = games(arena.head_to_head(4), 10, [0.0, 0.0])
    turned = np.concatenate([costs, costs[:, ::-1]])  # in the turned order of arrangements the agents have changed places
    found = arena.summarise(played(arena.head_to_head(4), turned, 2), fits=5)
    assert found.comparisons[0].further is None
    assert "they are as good as equal, no number of rounds would do" in found.verdict(found.comparisons[0])


def test_a_deck_that_leaves_nothing_to_chance() -> None:
    """The logic deck and agents without dice: every deal is the same game, and that is said."""
    schedule = arena.head_to_head(2)
    found = arena.summarise(arena.hold(plan(schedule, "greedy", "lowest", deals=40, rules=Rules(2, "logic"))), fits=5)
    assert all(standing.heads.se == 0.0 for standing in found.standings)
    assert "nothing was left to chance" in found.notes[0]
    assert found.comparisons[0].further == 0


@pytest.mark.parametrize(("stopped", "note"), [("decided", "Stopped after 70 deals"), ("interrupted", "Interrupted: these are")])
def test_why_there_are_fewer_deals(stopped: str, note: str) -> None:
    schedule = arena.head_to_head(4)
    found = arena.summarise(played(schedule, games(schedule, 70, [0.0, 5.0]), 2, stopped=stopped), fits=5)
    assert note in found.notes[0]


def test_the_rule_that_stops_also_decides() -> None:
    """Its intervals are wider than those for a single look."""
    usual = results(arena.head_to_head(4), 200, [0.0, 2.0])
    ruled = results(arena.head_to_head(4), 200, [0.0, 2.0], sequential_rule=True)
    assert usual.comparisons[0].heads == ruled.comparisons[0].heads
    assert ruled.comparisons[0].high - ruled.comparisons[0].low > 1.4 * (usual.comparisons[0].high - usual.comparisons[0].low)
    assert "hold at all times" in ruled.notes[-1]


@pytest.mark.parametrize("schedule", [arena.head_to_head(3, [1]), arena.head_to_head(7, [3]), arena.round_robin(3, 6)])
def test_equals_do_not_differ_by_rounding(schedule: Schedule) -> None:
    """Whose matches are the same on every deal, whoever sits where; the averages of thirds and sevenths are not, to the last bit."""
    agents = int(schedule.seating.max()) + 1
    costs = np.random.default_rng(1).integers(0, 30, size=(300, 1, 1)) + np.zeros((1, *schedule.seating.shape), dtype=np.int64)
    rule = arena.UntilDecided(schedule, agents, arena.compared(schedule, agents))
    assert rule(costs), "an interval of no width about 0: no deal makes a difference"
    for sequential in (True, False):
        found = arena.summarise(played(schedule, costs, agents), sequential, fits=5)
        assert [comparison.decided for comparison in found.comparisons] == [0] * len(found.comparisons)
        assert all("are equal: no deal made a difference" in found.verdict(comparison) for comparison in found.comparisons)


def test_nothing_played() -> None:
    it = played(arena.head_to_head(4), np.zeros((1, 6, 4), dtype=np.int64), 2)
    with pytest.raises(ValueError, match="no deal was finished"):
        arena.summarise(arena.Played(it.plan, it.costs[:0], it.illegal, it.decisions, it.seconds, "interrupted"))


def test_data() -> None:
    found = results(arena.cross_play(3, 4), 50, [0.0, 4.0, 8.0])
    data = json.loads(json.dumps(arena.as_data(found), allow_nan=False))
    assert (data["players"], data["deals"], data["games_a_deal"], data["rounds"]) == (4, 50, 27, 1350)
    assert [agent["name"] for agent in data["agents"]] == ["random.0", "random.1", "random.2"]
    assert data["order"] == ["random.0", "random.1", "random.2"]
    for agent in data["agents"]:
        for figure in ("mean_heads", "win_share", "mean_rank"):
            assert agent[f"{figure}_low"] < agent[figure] < agent[f"{figure}_high"]
        assert agent["rating_low"] <= agent["rating"] <= agent["rating_high"]
        assert sum(agent["histogram"]) == agent["seats"] == 50 * 12
    assert data["comparisons"][0]["decided"] == "random.0"
    cross = np.array(data["cross_play"]["mean_heads"])
    assert cross.shape == (3, 3)
    assert (np.diff(cross, axis=0) > 0).all()
    assert "seconds" not in json.dumps(data), "they differ from run to run"
    assert set(arena.timing(found)) == set(data["order"])
