"""Schedules: which line-ups a format has, that nobody is better seated than others, and that nothing is played twice."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from sixnimmt_env.arena import Schedule, cross_play, gauntlet, head_to_head, one_vs_field, round_robin
from sixnimmt_env.arena.schedule import arrangement_count, arrangements, encounters, rotations

# a schedule, its games on a deal, and whether all line-ups are in it
SCHEDULES: dict[str, tuple[Callable[[], Schedule], int, bool]] = {
    "two against two": (lambda: head_to_head(4), 6, True),
    "k against the rest": (lambda: head_to_head(4, [1, 2, 3]), 4 + 6 + 4, True),
    "two players": (lambda: head_to_head(2), 2, True),
    "three against three, rotated": (lambda: head_to_head(6, seating="rotate"), 6, True),
    "ten players": (lambda: head_to_head(10), math.comb(10, 5), True),
    "one against a field of one": (lambda: one_vs_field(2, 4), 4, True),
    "one against a mixed field": (lambda: one_vs_field(3, 5), 5, True),
    "one against all seatings of a field": (lambda: one_vs_field(3, 4, "all"), 12, True),
    "all line-ups": (lambda: round_robin(6, 4), 4 * math.comb(6, 4), True),
    "as many agents as seats": (lambda: round_robin(4, 4), 4, True),
    "as many agents as seats, all seatings": (lambda: round_robin(4, 4, seating="all"), 24, True),
    "fewer agents than seats": (lambda: round_robin(2, 4), 4 + 4 + 4, True),
    "several seats each": (lambda: round_robin(4, 3, repeats=True), 3 * (math.comb(6, 3) - 4), True),
    "a choice": (lambda: round_robin(10, 4), 250, False),
    "a choice of many": (lambda: round_robin(20, 4), 240, False),
    "a choice at a full table": (lambda: round_robin(12, 10), 252, False),
    "a choice of fewer agents than seats": (lambda: round_robin(7, 10), 252, False),
    "gauntlet": (lambda: gauntlet(6, 4), 4 * math.comb(5, 3), True),
    "gauntlet with several seats": (lambda: gauntlet(3, 4), 4 * 4, True),
    "gauntlet for two": (lambda: gauntlet(5, 2), 2 * 4, True),
    "a choice for a gauntlet": (lambda: gauntlet(12, 6), 6 * 33, False),
    "cross play": (lambda: cross_play(3, 4), 3 * 2 * 4 + 3, True),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_games_on_a_deal(name: str) -> None:
    make, games, complete = SCHEDULES[name]
    schedule = make()
    assert (schedule.games, schedule.complete) == (games, complete)
    assert len({tuple(line) for line in schedule.seating.tolist()}) == games, "nothing is played twice"


@pytest.mark.parametrize("name", SCHEDULES)
def test_everybody_sits_in_every_seat_equally_often(name: str) -> None:
    schedule = SCHEDULES[name][0]()
    for agent in range(schedule.seating.max() + 1):
        for counted in (schedule.seating == agent, (schedule.seating == agent) & schedule.counted):
            assert len(set(counted.sum(axis=0).tolist())) == 1


@pytest.mark.parametrize("name", [name for name in SCHEDULES if "line-ups" in name or ("choice" in name and "gauntlet" not in name)])
def test_all_with_all_equally_often(name: str) -> None:
    """Exactly where all line-ups are played; in a choice of them as nearly as it goes."""
    make, _, complete = SCHEDULES[name]
    schedule = make()
    count = schedule.seating.max() + 1
    assert len({(schedule.seating == agent).sum() for agent in range(count)}) == 1
    met = encounters(schedule.seating, count)[~np.eye(count, dtype=bool)]
    assert met.min() == met.max() or not complete
    assert met.max() - met.min() <= max(6, 0.15 * met.mean())


def test_encounters_by_hand() -> None:
    assert encounters(np.array([[0, 1, 1], [2, 0, 1]]), 3).tolist() == [[0, 3, 1], [3, 2, 1], [1, 1, 0]]


def test_a_choice_is_always_the_same() -> None:
    assert (round_robin(11, 5).seating == round_robin(11, 5).seating).all()


def test_the_newcomer_meets_every_line_up_once_in_each_seat() -> None:
    schedule = gauntlet(4, 3, repeats=True)
    fields = [tuple(sorted(agent for agent in line if agent)) for line in schedule.seating.tolist()]
    assert sorted(set(fields)) == list(itertools.combinations_with_replacement([1, 2, 3], 2))
    assert all(line.count(0) == 1 for line in schedule.seating.tolist())
    assert schedule.focus == 0
    assert round_robin(4, 3).focus is None


def test_cross_play_counts_the_single_seat() -> None:
    schedule = cross_play(2, 3)
    single = {tuple(line): counted for line, counted in zip(schedule.seating.tolist(), schedule.counted.tolist(), strict=True)}
    assert single[0, 1, 1] == [True, False, False]
    assert single[1, 1, 0] == [False, False, True]
    assert single[0, 0, 0] == [True, True, True]
    assert single[1, 0, 0] == [True, False, False]
    assert len(single) == 8


def test_arrangements() -> None:
    assert list(arrangements((1, 0, 1))) == [(0, 1, 1), (1, 0, 1), (1, 1, 0)]
    assert arrangement_count((0, 0, 1, 1, 2)) == 30 == len(set(arrangements((0, 0, 1, 1, 2))))
    assert rotations((0, 0, 1)) == [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    assert rotations((0, 1, 0, 1)) == [(0, 1, 0, 1), (1, 0, 1, 0)]


REFUSED: list[tuple[Callable[[], Schedule], str]] = [
    (lambda: head_to_head(4, [4]), "seats=4 of the first agent must be from 1 to 3"),
    (lambda: head_to_head(4, [0]), "seats=0"),
    (lambda: one_vs_field(6, 4), "5 agents are no field for 3 seats"),
    (lambda: round_robin(1, 4), "1 agents are too few"),
    (lambda: round_robin(3, 4, repeats=False), "needs an agent for every seat: 3 for 4 seats"),
    (lambda: one_vs_field(10, 10, "all"), "3,628,800 games on every deal are too many"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_refused(make: Callable[[], Schedule], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
