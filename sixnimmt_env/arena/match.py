"""Matches on equal deals, and what they say about an agent's strength.

One agent takes on a field: every deal is played once from every seat, so that neither the deal nor the seat speaks for it. The deal
is the block of all statistics: its games are averaged first, and the standard error is that of independent deals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from ..agents import Agent, decide, name_of
from ..core.game import Game, Rules, States
from .forfeit import Forfeits, Guard, OnFailure

BATCH = 8192  # games side by side: enough to keep a learned policy busy, a few tens of megabytes


@dataclass(frozen=True, slots=True)
class Games:
    """Finished matches.

    Attributes:
        costs: (n, players) what each seat lost in the match (bull heads).
        illegal: (agents,) illegal actions of each agent; each was replaced by the lowest legal one.
        decisions: (agents,) decisions of each.
        seconds: (agents,) time each took to decide.
        forfeits: of the agents that forfeited decisions, by number; the lowest legal action was played for them.
    """

    costs: NDArray[np.int64]
    illegal: NDArray[np.int64]
    decisions: NDArray[np.int64]
    seconds: NDArray[np.float64]
    forfeits: Mapping[int, Forfeits] = field(default_factory=dict)


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
    on_failure: OnFailure = "raise",
    seconds_limit: float | None = None,
) -> Games:
    """Play one match for each line of `seating`, to the end. An illegal action is replaced by the lowest legal one, and counted.

    Args:
        game: the game.
        rules: the variant.
        agents: the players; each is asked in batches over games and seats.
        seating: (n, players) which of `agents` sits where.
        deals: (n,) number of the deal; matches of equal number are dealt equal cards.
        seed: of the deals.
        progress: called with the number of matches finished since the last call.
        on_failure: what happens when an agent raises, answers with something that is not one whole number a view, or runs out of time:
            "raise" ends it all; with "forfeit" the lowest legal action is played, the decision is counted and the others play on.
        seconds_limit: time for a decision, on average over the batch that an agent is asked for; its first answer may take a minute. Who is
            out of time is broken off in the main thread where there is SIGALRM, and when compiled code returns; elsewhere it is noticed
            when the agent returns. See `forfeit`.

    Raises:
        ValueError: seating, deals and rules do not fit together, or a bad `on_failure` or `seconds_limit`.
        OutOfTime: an agent is out of time, with a note of its name; only with on_failure="raise", as all below.
        TypeError: an agent's answer is not one whole number a view.
        Exception: whatever an agent raises, with a note of its name.
    """
    if on_failure not in get_args(OnFailure):
        raise ValueError(f"on_failure={on_failure!r} must be one of {', '.join(get_args(OnFailure))}")
    guards = [Guard(game, agent, seconds_limit, on_failure == "forfeit") for agent in agents]
    return play_guarded(game, rules, guards, seating, deals, seed, progress)


def play_guarded(
    game: Game,
    rules: Rules,
    agents: Sequence[Guard],
    seating: NDArray[np.int64],
    deals: NDArray[np.int64],
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> Games:
    """As `play`, with agents that are guarded already: what is known of their speed lasts from one call to the next."""
    _check(rules, agents, seating, deals)
    costs = np.zeros(seating.shape, dtype=np.int64)
    tally = _Tally(len(agents))
    for agent in agents:
        agent.begin()
    for start in range(0, len(seating), BATCH):
        part = slice(start, start + BATCH)
        states = game.new_states(rules, len(seating[part]), seed)
        states["game"] = deals[part]
        chairs = np.full((len(states), game.max_seats), -1, dtype=np.int64)
        chairs[:, : seating.shape[1]] = seating[part]
        _finish(game, states, chairs, agents, tally, progress)
        costs[part] = game.costs(states)[:, : seating.shape[1]]
    seconds = np.array([agent.seconds for agent in agents], dtype=np.float64)
    forfeits = {number: Forfeits(agent.forfeits, agent.reason) for number, agent in enumerate(agents) if agent.forfeits}
    return Games(costs, tally.illegal, tally.decisions, seconds, forfeits)


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
