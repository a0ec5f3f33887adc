"""What a searching agent thinks of a position, action by action."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..core.game import Game, Views
from .base import Agent, as_views, name_of


@runtime_checkable
class Searcher(Protocol):
    """An agent that tries actions out and can tell what came of it."""

    game: Game
    name: str

    def statistics(self, views: Views) -> NDArray[np.float64]:
        """(k, num_actions, len(game.stats)) sums over its playouts of each action."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """What an action leads to, as far as an agent has tried.

    Attributes:
        action: its number.
        name: what it is called.
        playouts: how often it was tried.
        cost: mean cost from this decision to the end of the round (bull heads), with its standard error `se`.
        chances: shares of the playouts in which each of the game's further statistics happened: that the card takes a row, and which row it
            goes to, for 6 nimmt!.
    """

    action: int
    name: str
    playouts: int
    cost: float
    se: float
    chances: Mapping[str, float]


def analyze(agent: Agent, view: Any) -> list[Prospect]:
    """The prospects of every legal action in the position `view`, the cheapest first; of equals the lower action.

    Errors are those of each action by itself. As all are tried in the same deals, differences between them are less uncertain.

    Raises:
        ValueError: the agent does not search, or the seat has nothing to decide.
        TypeError: `view` is no view of the agent's game.
    """
    if not isinstance(agent, Searcher):
        raise ValueError(
            f"agent {name_of(agent)!r} does not search, so it cannot tell what its actions lead to: take monte_carlo:rollouts=1000"
        )
    views = as_views(agent.game, [view])
    stats = agent.statistics(views)[0]
    if not stats[:, 0].any():
        raise ValueError("the seat has nothing to decide in this position")
    found = [_prospect(agent.game, int(action), stats[action]) for action in np.flatnonzero(stats[:, 0])]
    return sorted(found, key=lambda prospect: prospect.cost)


def _prospect(game: Game, action: int, stats: NDArray[np.float64]) -> Prospect:
    count, total, squares = stats[:3]
    mean = total / count
    variance = max(squares / count - mean * mean, 0.0) * count / (count - 1) if count > 1 else float("nan")
    chances = {name: float(number / count) for name, number in zip(game.stats[3:], stats[3:], strict=True)}
    return Prospect(action, game.action_name(action), int(count), float(mean), float(np.sqrt(variance / count)), chances)
