"""What the environments of one game share: options, spaces, seeds, what a seat sees, and what is said about illegal actions."""

from __future__ import annotations

import copy
import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, Self, get_args

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..core.game import Game, Rules
from ..core.records import clone
from ..core.seeding import check_seed, fresh_seed
from ..core.trace import Trace
from .rendering import RENDER_FPS, RENDER_MODES, Frame, Screen, show

IllegalAction = Literal["raise", "replace", "terminate"]
Observation = dict[str, NDArray[Any]]


class IllegalActionError(ValueError):
    """An action that is no action of the game, or that the rules do not allow now. The game is as it was before."""


class Table(ABC):
    """One game of `rules`, and the seats around it as agents `player_0`, `player_1`, ...: what the PettingZoo forms share.

    Args:
        game: what is played.
        rules: the variant.
        name: for `metadata["name"]`.
        illegal_action: "raise" `IllegalActionError`; "replace" it by the lowest legal action; "terminate" the match for all, offenders
            pay `rules.forfeit`, the others nothing.
        render_mode: "ansi" returns the board as text, "rgb_array" as a picture, (height, width, 3) uint8 of constant size, drawn without a
            display; "human" follows play on the terminal. All as a seat sees it that is to act.
        max_cycles: truncate the match for all after this many cycles; None: never. In a cycle everybody decides once who has to
            decide now: all of them for the cards, one for a row.

    Attributes:
        state_space: of what `state` returns, (layout.size,) float32 in [0, 1].

    Raises:
        ValueError: unknown `illegal_action` or `render_mode`, or a bad `max_cycles`.
    """

    def __init__(
        self,
        game: Game,
        rules: Rules,
        name: str,
        illegal_action: IllegalAction = "raise",
        render_mode: str | None = None,
        max_cycles: int | None = None,
    ) -> None:
        one_of("illegal_action", illegal_action, get_args(IllegalAction))
        if render_mode is not None:
            one_of("render_mode", render_mode, (*RENDER_MODES, None))
        if max_cycles is not None and (isinstance(max_cycles, bool) or not isinstance(max_cycles, (int, np.integer)) or max_cycles < 1):
            raise ValueError(f"max_cycles={max_cycles!r} must be a whole number of at least 1, or None for no limit")
        self.metadata: dict[str, Any] = {
            "name": name,
            "render_modes": list(RENDER_MODES),
            "render_fps": RENDER_FPS,
            "is_parallelizable": False,
        }
        self.game = game
        self.rules = rules
        self.illegal_action = illegal_action
        self.render_mode = render_mode
        self._screen = Screen()
        self.max_cycles = max_cycles
        self.possible_agents = [f"player_{seat}" for seat in range(rules.num_players)]
        self.agents: list[str] = []
        self.observation_spaces = {agent: observation_space(game) for agent in self.possible_agents}
        self.action_spaces = {agent: spaces.Discrete(game.num_actions) for agent in self.possible_agents}
        self.state_space = game.layout.space()
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._seed: int | None = None
        self._game_number = 0
        self._states = game.new_states(rules, 1, 0)
        self._index = np.zeros(1, dtype=np.int64)
        self._costs = [0] * rules.num_players
        self._decisions: list[Any] = []  # of the match, as a form notes them, see `_decided`
        self._offenders: tuple[int, ...] = ()  # whose illegal actions have ended the match
        self._truncated = False
        self._cycles = 0
        self._set_up()

    @abstractmethod
    def _set_up(self) -> None:
        """Make what a form needs besides."""

    @abstractmethod
    def _decided(self) -> tuple[tuple[int, int], ...]:
        """(seat, action) of every decision of the match: with the seed, the whole of its record."""

    @abstractmethod
    def _view_of(self, seat: int | None) -> np.void:
        """The view of `seat`, of one that is to act for None. It may be changed later: copy what is handed out."""

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The same object at every call; equal for all agents, player counts and variants."""
        return self.observation_spaces[self.possible_agents[self._seat_of(agent)]]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The same object at every call."""
        return self.action_spaces[self.possible_agents[self._seat_of(agent)]]

    def view(self, agent: str) -> np.void:
        """What `agent` may know now as a view, which the package's agents take: `agents.make("greedy").act([env.view(agent)])`.

        Raises:
            RuntimeError: the environment was not reset.
        """
        if self._seed is None:
            raise RuntimeError("there is nothing to view: call reset() before view()")
        return clone(self._view_of(self._seat_of(agent)))

    def state(self) -> NDArray[np.float32]:
        """All hands, for critics in centralised training: never for a seat that decides.

        The first seat's observation, with the other hands open and the chances that follow from them: (layout.size,) float32 in
        `state_space`, fresh at every call. What has been picked and not yet revealed, and what is still to be dealt, is not in it.

        Raises:
            RuntimeError: the environment was not reset.
        """
        if self._seed is None:
            raise RuntimeError("there is no state: call reset() before state()")
        views = np.zeros(1, dtype=self.game.view_dtype)
        self.game.reveal_all(self._states, self._index, np.zeros(1, dtype=np.int64), views)
        vector = np.empty((1, self.game.layout.size), dtype=np.float32)
        self.game.encode(views, vector)
        state: NDArray[np.float32] = vector[0].copy()
        return state

    def trace(self, players: Sequence[str] = ()) -> Trace:
        """The match so far, every decision and event of it: to save, step through and explain.

        It shows all hands and picks, for people and for tests: never for a seat that decides.

        Args:
            players: a name for each seat; by default those of the agents.

        Raises:
            RuntimeError: the environment was not reset.
            ValueError: names that do not fit.
        """
        if self._seed is None:
            raise RuntimeError("there is no match to trace: call reset() before trace()")
        names = tuple(players or self.possible_agents)
        return Trace(self.game, self.rules, self._decided(), self._seed, self._game_number, names, self._offenders, self._truncated)

    def render(self) -> Frame | None:
        """The board as a seat sees it that is to act, after the end as the first seat does: text, a picture, or None when it is shown.

        Raises:
            ValueError: the environment was made without a render mode.
            RuntimeError: it was not reset.
        """
        if self._seed is None and self.render_mode is not None:
            raise RuntimeError("there is nothing to render: call reset() before render()")
        view = self._view_of(None) if self._seed is not None else None
        return show(self.game, view, self.render_mode, self._screen, self.metadata["render_fps"])

    def close(self) -> None:  # noqa: B027 - not to be overridden
        """Nothing is held open."""

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # two environments that share a game would move each other

    def _watch(self) -> None:
        """Show what has happened to whoever watches."""
        if self.render_mode == "human":
            self.render()

    def _seat_of(self, agent: str) -> int:
        if agent not in self._seats:
            raise KeyError(f"no agent {agent!r} at this table: there are {', '.join(self.possible_agents)}")
        return self._seats[agent]

    def _deal(self, seed: int | None) -> None:
        """The first game of the stream of `seed`, or the next of the stream that is running. `ValueError` for a bad seed."""
        if seed is not None:
            self._seed, self._game_number = check_seed(seed), 0
        elif self._seed is None:
            self._seed, self._game_number = fresh_seed(), 0
        else:
            self._game_number += 1
        self._states = self.game.new_states(self.rules, 1, self._seed, self._game_number)
        self.game.deal(self._states, self._index)
        self._costs = [0] * self.rules.num_players
        self._decisions, self._offenders, self._truncated = [], (), False
        self._cycles = 0
        self.agents = self.possible_agents[:]

    def _cycle_ends_match(self) -> bool:
        """Count a complete cycle; whether it was the last that is allowed."""
        self._cycles += 1
        return self._cycles == self.max_cycles

    def _new_costs(self) -> list[int]:
        """What each seat has lost since this was last asked."""
        costs: list[int] = self.game.costs(self._states)[0, : len(self._costs)].tolist()
        new = [after - before for before, after in zip(self._costs, costs, strict=True)]
        self._costs = costs
        return new


def observation_space(game: Game) -> spaces.Dict:
    """A fresh space of what a seat of `game` observes."""
    mask = spaces.Box(0, 1, (game.num_actions,), np.int8)
    return spaces.Dict({"observation": game.layout.space(), "action_mask": mask})


def as_action(game: Game, action: Any) -> int | None:
    """The action as an int, None if it is none of the game's. A bool is none: it is more likely a piece of a mask."""
    if type(action) is int:
        number = action
    else:
        try:
            number = -1 if isinstance(action, (bool, np.bool_)) else operator.index(action)
        except TypeError:
            return None
    return number if 0 <= number < game.num_actions else None


def one_of(name: str, value: Any, known: tuple[Any, ...]) -> None:
    """`ValueError` with the choice there is, unless `value` is one of `known`."""
    if not any(value is one or (type(value) is type(one) and value == one) for one in known):
        raise ValueError(f"{name}={value!r} is unknown: choose one of {', '.join(map(repr, known))}")


def complaint(game: Game, who: str, action: Any, mask: NDArray[np.int8]) -> str:
    """What is wrong with an illegal `action` of `who`, and what would be legal."""
    allowed = [int(a) for a in np.flatnonzero(mask)]
    words = ", ".join(f"{a} ({game.action_name(a)})" for a in allowed[:12]) + (", ..." if len(allowed) > 12 else "")
    number = as_action(game, action)
    what = f"{action!r} is no action" if number is None else f"action {number} ({game.action_name(number)}) is illegal"
    return f"{what} for {who} now; legal are {words}. Draw actions with the mask in the observation or in infos."
