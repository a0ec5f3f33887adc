"""Carrying out recorded decisions one by one, with every one checked: what traces are read and made by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..game import Event, Game, Rules, States

_SHOWN = 12  # legal actions that an error names
_INDEX = np.zeros(1, dtype=np.int64)


def due(game: Game, states: States) -> list[int]:
    """The seats that decide now in the one game of `states`, ascending; none when the match is over."""
    bits = np.zeros(1, dtype=np.uint16)
    game.to_act(states, _INDEX, bits)
    return [seat for seat in range(game.max_seats) if int(bits[0]) >> seat & 1]


def shown(game: Game, states: States, seat: int | None) -> np.void:
    """What `seat` may know of the one game of `states`; None: what spectators do, who see all hands and never decide."""
    views = np.zeros(1, dtype=game.view_dtype)  # zeros: padding must not hold chance
    reveal = game.reveal_all if seat is None else game.reveal
    reveal(states, _INDEX, np.array([seat or 0], dtype=np.int64), views)
    if seat is None:
        views["deciding"] = 0
    view: np.void = views[0]
    return view


def carry_out(game: Game, states: States, seat: Any, action: Any) -> Iterator[Event]:
    """Carry out one decision in the one game of `states`, (1,), and tell it, as `game.unfold` does.

    Seats that decide together do so in ascending order, so that a match has one record only.

    Raises:
        ValueError: nobody decides, another seat does, or the action is illegal; nothing has changed.
    """
    seats = due(game, states)
    if not seats:
        raise ValueError("the match is over, and nobody decides any more")
    if type(seat) is not int or seat != seats[0]:
        raise ValueError(f"seat {seats[0]} decides now, not {seat!r:.40}" + (", in ascending order" if seat in seats else ""))
    legal = choices(game, states, seat)
    if type(action) is not int or action not in legal:
        known = type(action) is int and 0 <= action < game.num_actions
        what = f"action {action} ({game.action_name(action)}) is illegal" if known else f"{action!r:.40} is no action"
        words = ", ".join(f"{one} ({game.action_name(one)})" for one in legal[:_SHOWN]) + (", ..." if len(legal) > _SHOWN else "")
        raise ValueError(f"{what} for seat {seat} now; legal are {words}")
    return game.unfold(states, 0, seat, action)


def choices(game: Game, states: States, seat: int) -> list[int]:
    """The legal actions of `seat` now, ascending."""
    views = np.zeros(1, dtype=game.view_dtype)
    game.reveal(states, _INDEX, np.array([seat], dtype=np.int64), views)
    masks = np.zeros((1, game.num_actions), dtype=np.int8)
    game.legal(views, masks)
    actions: list[int] = np.flatnonzero(masks[0]).tolist()
    return actions


def abandon(game: Game, states: States, rules: Rules, offenders: Sequence[int]) -> Event:
    """End the one match of `states` because of illegal actions of `offenders`, and tell it.

    Raises:
        ValueError: the match is over, or `offenders` are not seats in ascending order.
    """
    if not due(game, states):
        raise ValueError("the match is over, and nobody can forfeit it any more")
    seats = list(offenders)
    fit = all(type(seat) is int and 0 <= seat < rules.num_players for seat in seats)
    if not seats or not fit or seats != sorted(set(seats)):
        raise ValueError(f"who forfeits a match are seats from 0 to {rules.num_players - 1} in ascending order, not {seats!r:.60}")
    game.abandon(states, _INDEX)
    return {"event": "abandoned", "seats": seats, "forfeit": int(rules.forfeit)}


def truncate(game: Game, states: States) -> Event:
    """Tell that the one match of `states` is cut short. `ValueError` if it is over."""
    if not due(game, states):
        raise ValueError("the match is over, and cannot be cut short any more")
    return {"event": "truncated"}
