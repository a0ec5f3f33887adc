"""What agents have in common that play every legal action out in imagined deals, so many times or for so long."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..core.game import Game, Views
from .base import SearchingAgent
from .options import Option, check

_SLICE: Final = 32  # playouts an action between two looks at the clock


def options(rollouts: int) -> tuple[Option, Option]:
    """How much is played out: by default `rollouts` of each action."""
    return (
        Option("rollouts", int, rollouts, "playouts for each legal action", 1, 10_000_000),
        Option("seconds", float, None, "think as long for each decision instead", 1e-4, 3600.0),
    )


class PlayoutAgent(SearchingAgent):
    """Plays every legal action out in the same deals; derived agents say in `_play` who decides in them.

    Args:
        game: what it plays.
        name: the spec it was made from.
        seed: its dice. Equal seeds and views give equal actions, in whatever batch, unless `seconds` is given.
        rollouts: playouts for each legal action.
        seconds: think as long for each decision instead.
        known: the options of the agent, whose bounds `given` and these have to keep.

    Raises:
        ValueError: a number outside its bounds.
    """

    def __init__(
        self, game: Game, name: str, seed: int, rollouts: int, seconds: float | None, known: Sequence[Option], **given: Any
    ) -> None:
        check(name, known, rollouts=rollouts, seconds=seconds, **given)
        self.rollouts, self.seconds = rollouts, seconds
        super().__init__(game, name, seed)

    def statistics(self, views: Views) -> NDArray[np.float64]:
        """(k, num_actions, n) sums over the playouts of every legal action, see `core.game.Game.playouts`."""
        stats = np.zeros((len(views), self.game.num_actions, len(self.game.stats)))
        if self.seconds is None:
            self._play(views, 0, self.rollouts, stats)
            return stats
        for k in range(len(views)):
            end, done = time.perf_counter() + self.seconds, 0
            while done == 0 or time.perf_counter() < end:
                self._play(views[k : k + 1], done, _SLICE, stats[k : k + 1])
                done += _SLICE
        return stats

    @abstractmethod
    def _play(self, views: Views, first: int, count: int, stats: NDArray[np.float64]) -> None:
        """Add the playouts first, ..., first + count - 1 of every action to `stats`."""
