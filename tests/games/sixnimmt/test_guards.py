"""Kernels refuse shapes and indices with which compiled code would read or write beyond an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sixnimmt_env.games import sixnimmt
from sixnimmt_env.games.sixnimmt import GAME, Rules
from sixnimmt_env.games.sixnimmt.position import play_turn, table_view
from tests.games.sixnimmt.playing import dealt

FOUR, TEN = np.arange(4), np.arange(10)


def states() -> Any:
    return dealt(Rules(), 4)


def views(count: int = 4) -> Any:
    return np.zeros(count, dtype=GAME.view_dtype)


def masks(count: int = 4, width: int = GAME.num_actions) -> Any:
    return np.zeros((count, width), dtype=np.int8)


def vectors(count: int, width: int) -> Any:
    return np.zeros((count, width), dtype=np.float32)


CALLS: dict[str, Callable[[], Any]] = {
    "deal beyond the end": lambda: GAME.deal(states(), np.array([4])),
    "deal before the start": lambda: GAME.deal(states(), np.array([-1])),
    "abandon beyond the end": lambda: GAME.abandon(states(), np.array([4])),
    "to_act beyond the end": lambda: GAME.to_act(states(), np.array([9]), np.zeros(1, dtype=np.uint16)),
    "to_act into too little": lambda: GAME.to_act(states(), FOUR, np.zeros(1, dtype=np.uint16)),
    "step beyond the end": lambda: GAME.step(states(), np.array([4]), np.zeros((1, 10), dtype=int), np.zeros(1, dtype=np.uint16)),
    "step with too few actions": lambda: GAME.step(states(), FOUR, np.zeros((1, 10), dtype=int), np.zeros(4, dtype=np.uint16)),
    "step with too few seats": lambda: GAME.step(states(), FOUR, np.zeros((4, 4), dtype=int), np.zeros(4, dtype=np.uint16)),
    "step with too little for the illegal": lambda: GAME.step(states(), FOUR, np.zeros((4, 10), dtype=int), np.zeros(1, dtype=np.uint16)),
    "commit beyond the end": lambda: GAME.commit(states(), 4, 0, 0, views(1), masks(1)),
    "commit before the start": lambda: GAME.commit(states(), -1, 0, 0, views(1), masks(1)),
    "commit with a narrow mask": lambda: GAME.commit(states(), 0, 0, 0, views(1), masks(1, 3)),
    "commit without a view": lambda: GAME.commit(states(), 0, 0, 0, views(0), masks(1)),
    "reveal beyond the end": lambda: GAME.reveal(states(), np.array([4]), np.zeros(1, dtype=int), views(1)),
    "reveal a seat that is none": lambda: GAME.reveal(states(), FOUR, np.full(4, 10), views()),
    "reveal a negative seat": lambda: GAME.reveal(states(), FOUR, np.full(4, -1), views()),
    "reveal into too little": lambda: GAME.reveal(states(), FOUR, np.zeros(4, dtype=int), views(3)),
    "reveal for too few seats": lambda: GAME.reveal(states(), FOUR, np.zeros(3, dtype=int), views()),
    "legal into too little": lambda: GAME.legal(views(), masks(3)),
    "legal into narrow masks": lambda: GAME.legal(views(), masks(4, 3)),
    "play for all with a game that is none": lambda: GAME.play_all(states(), 4, TEN, views(), masks(4), vectors(4, GAME.layout.size)),
    "play for all without enough actions": lambda: GAME.play_all(states(), 0, TEN[:3], views(), masks(4), vectors(4, GAME.layout.size)),
    "play for all into too little": lambda: GAME.play_all(states(), 0, TEN, views(3), masks(4), vectors(4, GAME.layout.size)),
    "encode into too little": lambda: GAME.encode(views(), vectors(2, GAME.layout.size)),
    "encode into narrow vectors": lambda: GAME.encode(views(), vectors(4, 10)),
    "encode into wide vectors": lambda: GAME.encode(views(), vectors(4, GAME.layout.size + 1)),
    "act into too little": lambda: GAME.act(views(), 1, np.uint64(0), np.zeros(1, dtype=np.int64)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_kernels_refuse_what_does_not_fit(call: Callable[[], Any]) -> None:
    with pytest.raises((ValueError, IndexError)):
        call()


ROWS = [[12], [37], [43], [58]]
BY_HAND: dict[str, Callable[[], Any]] = {
    "a card with a fraction": lambda: sixnimmt.bull_heads(10.5),  # type: ignore[arg-type]
    "a card that is a bool": lambda: sixnimmt.bull_heads(True),
    "a draft of eleven cards": lambda: sixnimmt.draft_order(3, 0, 11),
    "a draft of a negative round": lambda: sixnimmt.draft_order(3, -1),
    "winners of an iterator": lambda: sixnimmt.winners(iter([3, 1])),  # type: ignore[arg-type]
    "winners of a mapping": lambda: sixnimmt.winners({0: 5, 1: 3}),  # type: ignore[arg-type]
    "winners of nobody": lambda: sixnimmt.winners([]),
    "winners with no number": lambda: sixnimmt.winners([float("nan"), 1]),  # type: ignore[list-item]
    "a match of negative rounds": lambda: sixnimmt.match_over([70, 3], -5),
    "a match to words": lambda: sixnimmt.match_over([70], 1, target="x"),  # type: ignore[arg-type]
    "choices that are a number": lambda: play_turn(ROWS, [3, 15], choices=5),  # type: ignore[arg-type]
    "a choice that is a word": lambda: play_turn(ROWS, [3, 15], choices={0: "row"}),  # type: ignore[dict-item]
    "a row with a fraction": lambda: play_turn(ROWS, [3, 15], choices={0: {"row": 0.0}}),
    "a row that is a bool": lambda: play_turn(ROWS, [3, 15], choices={0: {"row": np.False_}}),
    "professional in words": lambda: play_turn(ROWS, [13, 15], professional="no"),  # type: ignore[arg-type]
    "a hand used up by looking": lambda: play_turn(ROWS, [50], hands=[iter([12, 50])]),  # type: ignore[list-item]
    "a seat with a fraction": lambda: table_view([8], ROWS, seat=0.5),  # type: ignore[arg-type]
    "revealed by a fraction": lambda: table_view([8], ROWS, revealed={0.0: 1, 1: 50, 2: 51, 3: 52}),  # type: ignore[dict-item]
    "a row for a card that is not the lowest": lambda: table_view([8], ROWS, revealed={0: 4, 1: 1, 2: 51, 3: 52}),
    "more penalties than heads": lambda: table_view([8], ROWS, penalties=[171] * 4),
    "totals below the penalties": lambda: table_view([8], ROWS, penalties=[9, 0, 0, 0], totals=[1, 0, 0, 0]),
}


@pytest.mark.parametrize("call", BY_HAND.values(), ids=BY_HAND.keys())
def test_functions_by_hand_refuse_what_cannot_be(call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the texts differ; that it is refused is the point
        call()


def test_answers_by_hand_are_plain_python() -> None:
    assert all(type(seat) is int for seat in sixnimmt.draft_order(np.uint8(3), np.uint8(250), 4))  # type: ignore[arg-type]
    assert sixnimmt.draft_order(np.uint8(3), np.uint8(250), 4) == sixnimmt.draft_order(3, 250, 4)  # type: ignore[arg-type]
    assert sixnimmt.match_over(np.array([66, 1]), 1) is True  # type: ignore[arg-type]


def test_a_match_in_which_nobody_ever_takes_a_row_ends() -> None:
    rules = Rules(2, "standard", True, None, 1, hand_size=1, num_rows=2)
    games = dealt(rules, 1)
    index, illegal = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.uint16)
    due = np.ones(1, dtype=np.uint16)
    seats = np.arange(2)
    while due[0]:
        seen, allowed = views(2), masks(2)
        GAME.reveal(games, np.zeros(2, dtype=np.int64), seats, seen)
        GAME.legal(seen, allowed)
        actions = np.zeros((1, 10), dtype=np.int64)
        actions[0, :2] = allowed.argmax(axis=1)
        GAME.step(games, index, actions, illegal)
        GAME.to_act(games, index, due)
    assert games["table"]["round_index"][0] == 10_000
