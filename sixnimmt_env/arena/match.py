"""Matches on equal deals, and what they say about an agent's strength.

One agent takes on a field: every deal is played once from every seat, so that neither the deal nor the seat speaks for it. The deal
is the block of all statistics: its games are averaged first, and the standard error is that of independent deals.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..agents import Agent, decide, name_of
from ..core.game import Game, Rules, States

BATCH = 8192  # games side by side: enough to keep a learned policy busy, a few tens of megabytes


@dataclass(frozen=True, slots=True)
class Games:
    """Finished matches.

    Attributes:
        costs: (n, players) what each seat lost in the match (bull heads).
        illegal: (agents,) illegal actions of each agent; each was replaced by the lowest legal one.
        decisions: (agents,) decisions of each.
        seconds: (agents,) time each took to decide.
    """

    costs: NDArray[np.int64]
    illegal: NDArray[np.int64]
    decisions: NDArray[np.int64]
    seconds: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Strength:
    """How an agent did against a field.

    Attributes:
        against: the field's name.
        players: seats at the table.
        games: matches played.
        mean: cost of a match (bull heads), with its standard error `se`.
        win_share: share of wins, ties split, with `win_se`.
        illegal: illegal actions.
        seconds_per_decision: of the agent, inside its batches.
    """

    against: str
    players: int
    games: int
    mean: float
    se: float
    win_share: float
    win_se: float
    illegal: int
    seconds_per_decision: float


def play(
    game: Game,
    rules: Rules,
    agents: Sequence[Agent],
    seating: NDArray[np.int64],
    deals: NDArray[np.int64],
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> Games:
    """Play one match for each line of `seating`, to the end.

    Args:
        game: the game.
        rules: the variant.
        agents: the players; each is asked in batches over games and seats.
        seating: (n, players) which of `agents` sits where.
        deals: (n,) number of the deal; matches of equal number are dealt equal cards.
        seed: of the deals.
        progress: called with the number of matches finished since the last call.

    Raises:
        ValueError: seating, deals and rules do not fit together.
        Exception: whatever an agent raises, with a note of its name.
    """
    _check(rules, agents, seating, deals)
    costs = np.zeros(seating.shape, dtype=np.int64)
    tally = _Tally(len(agents))
    timed = [_Timed(game, agent, tally.seconds[i : i + 1]) for i, agent in enumerate(agents)]
    for start in range(0, len(seating), BATCH):
        part = slice(start, start + BATCH)
        states = game.new_states(rules, len(seating[part]), seed)
        states["game"] = deals[part]
        chairs = np.full((len(states), game.max_seats), -1, dtype=np.int64)
        chairs[:, : seating.shape[1]] = seating[part]
        _finish(game, states, chairs, timed, tally, progress)
        costs[part] = game.costs(states)[:, : seating.shape[1]]
    return Games(costs, tally.illegal, tally.decisions, tally.seconds)


def against_field(
    game: Game,
    rules: Rules,
    agent: Agent,
    field: Agent,
    games: int,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Strength:
    """`agent` in one seat against `field` in all others, every deal from every seat; `games` is rounded up to whole deals.

    Where nothing is dealt (the logic deck), agents without dice play the same game every time: the error is then 0, and more games tell no
    more.
    """
    if isinstance(games, bool) or not isinstance(games, (int, np.integer)) or games < 1:
        raise ValueError(f"games={games!r} must be a whole number of at least 1")
    players = rules.num_players
    blocks = -(-int(games) // players)
    seats = np.tile(np.arange(players), blocks)
    seating = np.ones((blocks * players, players), dtype=np.int64)
    seating[np.arange(len(seats)), seats] = 0
    played = play(game, rules, [agent, field], seating, np.repeat(np.arange(blocks), players), seed, progress)
    own = played.costs[np.arange(len(seats)), seats]
    best = played.costs.min(axis=1)
    wins = np.where(own == best, 1.0 / (played.costs == best[:, None]).sum(axis=1), 0.0)
    mean, se = block_mean(own.reshape(blocks, players))
    share, share_se = block_mean(wins.reshape(blocks, players))
    return Strength(
        against=name_of(field),
        players=players,
        games=len(seats),
        mean=mean,
        se=se,
        win_share=share,
        win_se=share_se,
        illegal=int(played.illegal[0]),
        seconds_per_decision=float(played.seconds[0] / max(1, played.decisions[0])),
    )


def block_mean(values: NDArray[np.float64] | NDArray[np.int64]) -> tuple[float, float]:
    """Mean and standard error of (blocks, games of a block), the blocks being independent. The error is nan for a single block."""
    means = values.mean(axis=1)
    se = means.std(ddof=1) / np.sqrt(len(means)) if len(means) > 1 else float("nan")
    return float(means.mean()), float(se)


def _check(rules: Rules, agents: Sequence[Agent], seating: NDArray[np.int64], deals: NDArray[np.int64]) -> None:
    if seating.ndim != 2 or seating.shape[1] != rules.num_players:
        raise ValueError(
            f"seating of shape {seating.shape} does not fit: a line is a match, with an agent for each of {rules.num_players} seats"
        )
    if deals.shape != seating.shape[:1]:
        raise ValueError(f"deals of shape {deals.shape} do not fit: one number for each of {len(seating)} matches")
    if seating.size and not 0 <= seating.min() <= seating.max() < len(agents):
        raise ValueError(f"seating names agents {seating.min()} to {seating.max()}: there are 0 to {len(agents) - 1}")


class _Tally:
    def __init__(self, agents: int) -> None:
        self.illegal = np.zeros(agents, dtype=np.int64)
        self.decisions = np.zeros(agents, dtype=np.int64)
        self.seconds = np.zeros(agents, dtype=np.float64)


class _Timed(Agent):
    """An agent whose thinking time is added to `seconds`, (1,)."""

    def __init__(self, game: Game, agent: Agent, seconds: NDArray[np.float64]) -> None:
        self._agent, self._seconds = agent, seconds
        super().__init__(game, name_of(agent))

    def reset(self, seed: int) -> None:
        self.seed = seed

    def _act(self, views: NDArray[np.void]) -> NDArray[np.int64]:
        before = time.perf_counter()
        actions = self._agent.act(views)
        self._seconds[0] += time.perf_counter() - before
        return actions


def _finish(
    game: Game,
    states: States,
    chairs: NDArray[np.int64],
    agents: Sequence[Agent],
    tally: _Tally,
    progress: Callable[[int], None] | None,
) -> None:
    index = np.arange(len(states))
    game.deal(states, index)
    while len(index):
        actions = np.zeros((len(index), game.max_seats), dtype=np.int64)
        asked = decide(game, states, index, chairs, agents, actions)
        going = (asked >= 0).any(axis=1)
        if progress is not None and not going.all():
            progress(int((~going).sum()))
        index, actions, asked = index[going], actions[going], asked[going]
        tally.decisions += np.bincount(asked[asked >= 0], minlength=len(agents))
        illegal = np.zeros(len(index), dtype=np.uint16)
        game.step(states, index, actions, illegal)
        if illegal.any():
            _replace(game, states, index, actions, illegal, asked, tally)


def _replace(
    game: Game,
    states: States,
    index: NDArray[np.int64],
    actions: NDArray[np.int64],
    illegal: NDArray[np.uint16],
    asked: NDArray[np.int64],
    tally: _Tally,
) -> None:
    """Count illegal actions, put the lowest legal one in their place, and let these games go on."""
    wrong = np.flatnonzero(illegal)
    rows, seats = np.nonzero((illegal[wrong, None] >> np.arange(game.max_seats, dtype=np.uint16)) & 1)
    views = np.zeros(len(rows), dtype=game.view_dtype)  # zeros: padding must not hold chance
    game.reveal(states, index[wrong[rows]], seats, views)
    masks = np.empty((len(rows), game.num_actions), dtype=np.int8)
    game.legal(views, masks)
    actions[wrong[rows], seats] = masks.argmax(axis=1)
    tally.illegal += np.bincount(asked[wrong[rows], seats], minlength=len(tally.illegal))
    game.step(states, index[wrong], actions[wrong], illegal[wrong])
