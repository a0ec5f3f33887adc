"""Random play on the engine alone, and records as plain bytes and sets: what several tests of 6 nimmt! need."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixnimmt_env.games.sixnimmt import Rules, engine, state, view
from sixnimmt_env.games.sixnimmt.rules import DECKS, MAX_SEATS

KINDS: list[tuple[Any, bool]] = list(itertools.product(DECKS, (False, True)))
VARIANTS = [Rules(num_players=players, deck=deck, professional=professional) for deck, professional in KINDS for players in (2, 3, 5, 10)]
SMALL = [
    Rules(num_players=3, deck=deck, professional=professional, hand_size=4, num_rows=rows, row_capacity=capacity, rounds=2)
    for deck, professional in KINDS
    for rows, capacity in ((1, 1), (2, 2), (3, 4))
]


def name_of(rules: Rules) -> str:
    """An id for a test."""
    size = f" {rules.hand_size}x{rules.num_rows}x{rules.row_capacity}" if rules.hand_size != 10 else ""
    return f"{rules.deck}{' professional' if rules.professional else ''} {rules.num_players}{size}"


def dealt(rules: Rules, count: int, seed: int = 0, first_game: int = 0) -> NDArray[np.void]:
    """New games, dealt."""
    states = state.new_states(rules, count, seed, first_game)
    engine.deal(states, np.arange(count))
    return states


def content(records: NDArray[np.void]) -> NDArray[np.uint8]:
    """The bytes of all fields, one line a record, without what lies between the fields (copies leave that out)."""
    names = records.dtype.names
    if names is None:
        return np.ascontiguousarray(records).view(np.uint8).reshape(len(records), -1)
    return np.concatenate(
        [content(records[name].reshape(len(records), -1) if records[name].dtype.names is None else records[name]) for name in names], 1
    )


def seats_to_act(states: NDArray[np.void]) -> NDArray[np.bool_]:
    """(n, 10): whether a seat decides now."""
    bits = np.zeros(len(states), dtype=np.uint16)
    engine.to_act(states, np.arange(len(states)), bits)
    return (bits[:, None] >> np.arange(MAX_SEATS) & 1).astype(bool)


def views_of(states: NDArray[np.void], games: Any, seats: Any, reveal: Any = view.reveal) -> NDArray[np.void]:
    """What the seats of the games may know; both (k,)."""
    views = np.zeros(len(games), dtype=view.VIEW)
    reveal(states, np.asarray(games, dtype=np.int64), np.asarray(seats, dtype=np.int64), views)
    return views


def all_views(states: NDArray[np.void]) -> NDArray[np.void]:
    """What every seat of every game may know, game by game."""
    players = int(states["table"]["num_players"][0])
    return views_of(states, np.repeat(np.arange(len(states)), players), np.tile(np.arange(players), len(states)))


def legal_masks(views: NDArray[np.void]) -> NDArray[np.bool_]:
    """(k, 113): the legal actions."""
    masks = np.zeros((len(views), state.NUM_ACTIONS), dtype=np.int8)
    view.legal(views, masks)
    return masks.astype(bool)


def random_actions(states: NDArray[np.void], rng: np.random.Generator) -> NDArray[np.int64]:
    """(n, 10): a random legal action of every seat that decides, wait for the others."""
    actions = np.full((len(states), MAX_SEATS), state.ACTION_WAIT)
    games, seats = np.nonzero(seats_to_act(states))
    masks = legal_masks(views_of(states, games, seats))
    actions[games, seats] = np.argmax(masks * rng.random(masks.shape), axis=1)
    return actions


def advance(states: NDArray[np.void], actions: NDArray[np.int64]) -> NDArray[np.uint16]:
    """Step all games; returns who acted illegally."""
    illegal = np.zeros(len(states), dtype=np.uint16)
    engine.step(states, np.arange(len(states)), actions, illegal)
    return illegal


def walk(rules: Rules, count: int, seed: int) -> Iterator[NDArray[np.void]]:
    """Games in random play: the same array before every decision, and once more when all are over."""
    rng = np.random.default_rng(seed)
    states = dealt(rules, count, seed)
    while True:
        yield states
        if (states["table"]["phase"] == state.OVER).all():
            return
        assert not advance(states, random_actions(states, rng)).any()


def phases_of(rules: Rules) -> set[int]:
    """The phases that its games go through."""
    phases = {state.PICK, state.OVER}
    if rules.deck == "logic":
        phases.add(state.DRAFT)
    if rules.professional and rules.num_rows > 1:
        phases.add(state.SIDE)  # an end and a front at the same distance are those of two rows
    if not rules.professional or rules.row_capacity > 1:
        phases.add(state.ROW)  # between the first and the last card of a row; a row of one card has no between
    return phases


def walk_all_phases(rules: Rules, count: int, seed: int) -> Iterator[NDArray[np.void]]:
    """`walk` for as many seeds as it takes to meet every phase that the rules know, at least one."""
    met: set[int] = set()
    for more in range(seed, seed + 100):
        for states in walk(rules, count, more):
            met |= set(states["table"]["phase"].tolist())
            yield states
        if met == phases_of(rules):
            return
    raise AssertionError(f"phases {met} were met, not {phases_of(rules)}")


def in_phase(phase: int, count: int, rules: Rules, seed: int = 0) -> NDArray[np.void]:
    """`count` positions of the phase, met in random play."""
    found: list[NDArray[np.void]] = []
    for more in itertools.count(seed):
        for states in walk(rules, 4, more):
            found.append(states[states["table"]["phase"] == phase])
            if sum(map(len, found)) >= count:
                return np.concatenate(found)[:count]
    raise AssertionError("never reached")


def members(cards: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Sets of cards, (..., 2) uint64, as (..., 128) bool."""
    return np.unpackbits(np.ascontiguousarray(cards).view(np.uint8), axis=-1, bitorder="little").astype(bool)


def as_set(cards: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """The other way."""
    return np.packbits(cards, axis=-1, bitorder="little").view(np.uint64)
