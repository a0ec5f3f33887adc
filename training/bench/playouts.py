"""Playouts of a searching player: whole rounds of four from ten cards left, beside plain Python."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import numpy as np

from sixnimmt_env import games
from sixnimmt_env.core.cards import to_list
from sixnimmt_env.core.game import Game, Views

from .engine import resolver
from .measure import Bar, Result, Scale, Work, compare, rate

PLAYERS: Final = 4
VIEWS: Final = 16
COUNT: Final = 20  # playouts of an action in one go
PLAYOUTS_BAR: Final = Bar("value", "least", 1_000_000)


def measure_playouts(scale: Scale) -> list[Result]:
    """Playouts a second, every card of the hand tried in the same imagined deals, as flat Monte Carlo does."""
    game = games.get("sixnimmt")
    module = resolver()
    plain: Callable[[], float] | None = None
    beside = "tests/reference.py is only in a checkout"
    if module is not None:
        plain, beside = rate(_plain(module, _views(game)[0], scale.plain_games), scale.seconds), "plain Python"
    return [compare("playouts.random", "playouts/s", rate(_compiled(game), scale.seconds), beside, plain, scale.pairs, PLAYOUTS_BAR)]


def _views(game: Game) -> Views:
    """What seat 0 sees in games just dealt."""
    states, index = game.new_states(game.rules(num_players=PLAYERS), VIEWS), np.arange(VIEWS)
    game.deal(states, index)
    views = np.zeros(VIEWS, dtype=game.view_dtype)
    game.reveal(states, index, np.zeros(VIEWS, dtype=np.int64), views)
    return views


def _compiled(game: Game) -> Work:
    views = _views(game)
    stats = np.zeros((len(views), game.num_actions, len(game.stats)))

    def work() -> tuple[float, float]:
        stats[:] = 0.0
        before = time.perf_counter()
        game.playouts(views, 0, COUNT, game.heuristics["random"].kind, 0.0, np.uint64(0), stats)
        spent = time.perf_counter() - before
        return float(stats[:, :, 0].sum()), spent

    return work


def _plain(module: ModuleType, view: Any, count: int) -> Work:
    """`count` playouts of one card."""
    table = view["table"]
    rows = [[int(card) for card in row[:length]] for row, length in zip(table["rows"], table["row_len"], strict=True)]
    hand = to_list(view["hand"])
    unseen = sorted(set(range(1, int(table["highest_card"]) + 1)) - {*hand, *to_list(table["seen"])})
    dice = random.Random(0)

    def work() -> tuple[float, float]:
        before = time.perf_counter()
        for _ in range(count):
            cards = dice.sample(unseen, (PLAYERS - 1) * len(hand))
            own = [hand[0], *dice.sample(hand[1:], len(hand) - 1)]
            _play_out(module, rows, [own, *(cards[at :: PLAYERS - 1] for at in range(PLAYERS - 1))])
        return count, time.perf_counter() - before

    return work


def _play_out(module: ModuleType, rows: list[list[int]], orders: list[list[int]]) -> list[int]:
    """The bull heads of each player who lays his cards in the given order, and takes the cheapest row where he has to take one."""
    rows, paid = [list(row) for row in rows], [0] * len(orders)
    for cards in zip(*orders, strict=True):
        for card in sorted(cards):
            spots = module.standard_spots(rows, card)
            row = spots[0][0] if spots else min(range(len(rows)), key=lambda number: module.heads_of(rows[number]))
            if spots and len(rows[row]) < 5:
                rows[row].append(card)
            else:
                paid[cards.index(card)] += module.heads_of(rows[row])
                rows[row] = [card]
    return paid
