"""What an agent is, and how a batch of games asks its agents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..core.game import Game, States, Views
from ..core.seeding import check_seed

_CHUNK: Final = 256  # views searched side by side; their statistics take a few megabytes


class Agent(ABC):
    """A player: decides from views and nothing else.

    To write one, derive from this class and define `_act(views)`, which gets a contiguous (k,) array of views and returns (k,) actions; a
    game's `read_view` gives a view as plain Python. Anything else with a method `act(views)` can play as well.

    Attributes:
        game: the game it plays.
        name: the spec it was made from.
        inner: the agents that it asks; none for most.
    """

    inner: tuple[Agent, ...] = ()

    def __init__(self, game: Game, name: str, seed: int = 0) -> None:
        self.game = game
        self.name = name
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Start the agent's dice anew. Equal seeds and equal views give equal actions, in whatever batch the views lie."""
        self.seed = check_seed(seed)

    def act(self, views: Views | Sequence[Any]) -> NDArray[np.int64]:
        """The actions, (k,) int64, for `views`: a (k,) array of the game's view dtype, or a sequence of such records.

        A seat that has nothing to decide gets the action `game.wait`. `TypeError` for anything that is no view of the game.
        """
        return self._act(as_views(self.game, views))

    def values(self, views: Views | Sequence[Any]) -> NDArray[np.float64]:
        """What the agent expects each action to cost, (k, num_actions), for `views` as `act` takes them; infinite for illegal actions.

        `ValueError` if the agent puts no numbers on actions.
        """
        return self._values(as_views(self.game, views))

    def _values(self, views: Views) -> NDArray[np.float64]:
        """The values for a contiguous (k,) array of views."""
        raise ValueError(f"agent {self.name!r} does not say what an action costs: greedy, monte_carlo and search do")

    @abstractmethod
    def _act(self, views: Views) -> NDArray[np.int64]:
        """The actions for a contiguous (k,) array of views."""

    def __repr__(self) -> str:
        return f"<agent {self.name!r} for {self.game.name}>"


class HeuristicAgent(Agent):
    """One of the game's rule-based players, by its name in `game.heuristics`."""

    def __init__(self, game: Game, name: str, seed: int = 0) -> None:
        self._kind = game.heuristics[name].kind
        super().__init__(game, name, seed)

    def _act(self, views: Views) -> NDArray[np.int64]:
        actions = np.empty(len(views), dtype=np.int64)
        self.game.act(views, self._kind, np.uint64(self.seed), actions)
        return actions

    def _values(self, views: Views) -> NDArray[np.float64]:
        if self._kind != self.game.heuristics["greedy"].kind:
            return super()._values(views)
        costs = np.empty((len(views), self.game.num_actions))
        self.game.expect(views, costs)
        return costs


class SearchingAgent(Agent):
    """An agent that tries actions out and takes the one that has cost least on average, the first of equals.

    Where there is no choice, nothing is tried.
    """

    @abstractmethod
    def statistics(self, views: Views) -> NDArray[np.float64]:
        """(k, num_actions, n) sums over the playouts of every legal action, named by `core.game.Game.stats`."""

    def _act(self, views: Views) -> NDArray[np.int64]:
        actions = np.empty(len(views), dtype=np.int64)
        for start in range(0, len(views), _CHUNK):
            part = slice(start, start + _CHUNK)
            actions[part] = self._decide(views[part])
        return actions

    def _decide(self, views: Views) -> NDArray[np.int64]:
        masks = np.empty((len(views), self.game.num_actions), dtype=np.int8)
        self.game.legal(views, masks)
        choices = masks.sum(axis=1)
        actions = np.where(choices == 0, self.game.wait, masks.argmax(axis=1)).astype(np.int64)
        open_ = choices > 1
        if open_.any():
            actions[open_] = _means(self.statistics(np.ascontiguousarray(views[open_]))).argmin(axis=1)
        return actions

    def _values(self, views: Views) -> NDArray[np.float64]:
        parts = [_means(self.statistics(views[start : start + _CHUNK])) for start in range(0, len(views), _CHUNK)]
        return np.concatenate(parts) if parts else np.empty((0, self.game.num_actions))


def _means(stats: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean costs, (k, num_actions); infinite where nothing was tried."""
    means = np.full(stats.shape[:2], np.inf)
    np.divide(stats[:, :, 1], stats[:, :, 0], out=means, where=stats[:, :, 0] > 0)
    return means


def as_views(game: Game, views: Views | Sequence[Any]) -> Views:
    """`views` as a contiguous array of the game's view dtype; `TypeError` if they are something else."""
    dtype = game.view_dtype
    if isinstance(views, np.ndarray) and views.ndim == 1 and views.dtype == dtype:
        return np.ascontiguousarray(views)
    # Each record is looked at: NumPy would make records of plain numbers as well.
    if isinstance(views, Sequence) and all(isinstance(view, np.void) and view.dtype == dtype for view in views):
        return np.frombuffer(bytearray(b"".join(view.tobytes() for view in views)), dtype=dtype)  # padding included
    raise TypeError(f"agents of {game.name} take views, a (k,) array or a list of records of its view dtype, not {_kind(views, dtype)}")


def _kind(value: Any, dtype: np.dtype[np.void]) -> str:
    if isinstance(value, np.void) and value.dtype == dtype:
        return "a single view: put it in a list, act([view])"
    if isinstance(value, np.ndarray):
        kind = ("views" if value.dtype == dtype else "records of another kind") if value.dtype.names else str(value.dtype)
        return f"an array of {kind}, shape {value.shape}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"a {type(value).__name__} with {' and '.join(sorted({_item(item, dtype) for item in value}))}"
    return f"{type(value).__name__}"


def _item(value: Any, dtype: np.dtype[np.void]) -> str:
    if isinstance(value, np.void):
        return "views" if value.dtype == dtype else "records of another kind"
    return type(value).__name__


def name_of(agent: Any) -> str:
    """What to call an agent, which may be anything with `act(views)`."""
    return str(getattr(agent, "name", None) or f"a {type(agent).__name__}")


def decide(
    game: Game,
    states: States,
    index: NDArray[np.int64],
    seating: NDArray[np.int64],
    agents: Sequence[Agent],
    actions: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Ask the agents of the games `index` for the decisions due now, each agent once for all its seats.

    Args:
        game: the game.
        states: (n,) states.
        index: (k,) the games that go on.
        seating: (n, max_seats) which of `agents` sits where; -1 for a seat that somebody else decides for.
        agents: the players.
        actions: (k, max_seats), written where an agent decides.

    Returns:
        (k, max_seats): the agent that was asked, -1 where none was.

    Raises:
        TypeError: an agent's answer is not one whole number a view.
        Exception: whatever an agent raises, with a note of its name.
    """
    bits = np.empty(len(index), dtype=np.uint16)
    game.to_act(states, index, bits)
    due = (bits[:, None] >> np.arange(game.max_seats, dtype=np.uint16)) & 1
    asked = np.where(due, seating[index], -1)
    for number, agent in enumerate(agents):
        rows, seats = np.nonzero(asked == number)
        if len(rows):
            views = np.zeros(len(rows), dtype=game.view_dtype)  # zeros: padding must not hold chance
            game.reveal(states, index[rows], seats, views)
            actions[rows, seats] = _answer(agent, views)
    return asked


def _answer(agent: Agent, views: Views) -> NDArray[np.integer[Any]]:
    try:
        answer = np.asarray(agent.act(views))
    except Exception as error:
        error.add_note(f"raised by agent {name_of(agent)!r}")
        raise
    if answer.shape != (len(views),) or answer.dtype.kind not in "iu":
        raise TypeError(
            f"agent {name_of(agent)!r} answered {len(views)} views with an array of {answer.dtype}, shape {answer.shape}: "
            f"one whole number each is needed, shape ({len(views)},)"
        )
    return answer
