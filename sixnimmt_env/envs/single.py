"""The Gymnasium environment of any `Game`: one seat against opponents."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..agents import Agent, make, name_of
from ..core.game import Game, Rules
from ..core.records import clone
from ..core.seeding import check_seed, fresh_seed
from ..core.trace import Trace, printable
from .rendering import RENDER_FPS, RENDER_MODES, Frame, Screen, show
from .seats import Seat, SeatGames
from .table import IllegalAction, IllegalActionError, Observation, as_action, complaint, observation_space, one_of

Opponents = str | Agent | Sequence[str | Agent]


class SeatEnv(gymnasium.Env[Any, Any]):
    """One seat of one game against agents; a step goes from one of its decisions to the next.

    Observation: {"observation": (layout.size,) float32 in [0, 1], "action_mask": (num_actions,) int8}; the mask is also in
    `info["action_mask"]`, and as bool from `action_masks()`. All arrays are fresh and never change later.
    Action: int in 0..num_actions-1. Reward: minus the seat's cost (bull heads, points) since its last decision; the rewards of a match add
    up to minus its cost. Termination: the match is over; there is no truncation. `info["seat"]` is the seat of this match.

    Args:
        game: what is played.
        rules: the variant.
        opponents: specs ("greedy", "policy:PATH") or agents: one for all other seats, or one each, clockwise from the own seat.
        seat: the own seat, "random" (drawn for each match) or "rotate".
        illegal_action: "raise" `IllegalActionError`; "replace" it by the lowest legal action; "terminate" the match at the price of
            `rules.forfeit`. With the last two `info["illegal_action"]` is True after such a step.
        render_mode: "ansi" returns the board as text, "rgb_array" as a picture, (height, width, 3) uint8 of constant size; "human" follows
            play on the terminal. All as the own seat sees it.

    Raises:
        ValueError: an unknown option or agent, or a number of opponents or a seat that does not fit.
    """

    def __init__(
        self,
        game: Game,
        rules: Rules,
        opponents: Opponents = ("random",),
        seat: Seat = "random",
        illegal_action: IllegalAction = "raise",
        render_mode: str | None = None,
    ) -> None:
        one_of("illegal_action", illegal_action, ("raise", "replace", "terminate"))
        one_of("render_mode", render_mode, (*RENDER_MODES, None))
        self.metadata = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}
        self.game, self.rules, self.illegal_action, self.render_mode = game, rules, illegal_action, render_mode
        self._screen = Screen()
        self.observation_space = observation_space(game)
        self.action_space = spaces.Discrete(game.num_actions)
        self._games = SeatGames(game, rules, seated(game, opponents), None, 1, seat, record=True)
        self._seed: int | None = None
        self._started = False
        self._over = True
        self._forfeited = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Deal a new match and play to the seat's first decision.

        Args:
            seed: whole number, 0 to 2**63 - 1: the same seed deals the same cards, seats and opponents' dice. None goes on with the stream
                of the last seed (a fresh one at first): the next match of it.
            options: accepted for the convention's sake; none are known.
        """
        super().reset(seed=seed)
        if seed is not None or self._seed is None:
            self._seed = fresh_seed() if seed is None else check_seed(seed)
            self._games.start(np.array([self._seed], dtype=np.uint64), np.zeros(1, dtype=np.uint64))
        else:
            self._games.restart(np.zeros(1, dtype=np.int64))
        self._over = self._forfeited = False
        self._rewarded = 0
        if self.render_mode == "human":
            self.render()
        return self._observe(), self._info()

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Carry out `action` and play on to the seat's next decision.

        Raises:
            RuntimeError: the environment was not reset, or the match is over.
            IllegalActionError: the action is illegal and `illegal_action="raise"`. Nothing has changed.
        """
        if self._over:
            raise RuntimeError("the match is over, or none has begun: call reset() before step()")
        mask = self._games.masks[0]
        number = as_action(self.game, action)
        illegal = number is None or not mask[number]
        if illegal and self.illegal_action == "raise":
            raise IllegalActionError(complaint(self.game, f"seat {self._games.outside[0]}", action, mask))
        if illegal and self.illegal_action == "terminate":
            self._games.abandon(np.zeros(1, dtype=np.int64))
            self._over = self._forfeited = True
            reward = -float(self.rules.forfeit)
        else:
            self._games.step(np.array([mask.argmax() if illegal else number], dtype=np.int64))
            self._over = bool(self._games.over[0])
            cost = int(self._games.costs[0])
            reward, self._rewarded = float(self._rewarded - cost), cost
        info = self._info()
        if illegal:
            info["illegal_action"] = True
        if self.render_mode == "human":
            self.render()
        return self._observe(), reward, self._over, False, info

    def action_masks(self) -> NDArray[np.bool_]:
        """(num_actions,) bool: what is legal now; how sb3-contrib asks for masks."""
        mask: NDArray[np.bool_] = self._games.masks[0] == 1
        return mask

    def view(self) -> np.void:
        """What the seat may know now, as a view that agents take."""
        return clone(self._games.views[0])

    def trace(self, players: Sequence[str] = ()) -> Trace:
        """The match so far, every decision and event of it, the opponents' included: to save, step through and explain.

        It shows all hands and picks, for people and for tests: never for a seat that decides.

        Args:
            players: a name for each seat; by default "own" and the names of the opponents.

        Raises:
            RuntimeError: the environment was not reset.
            ValueError: names that do not fit.
        """
        if self._seed is None:
            raise RuntimeError("there is no match to trace: call reset() before trace()")
        games, own = self._games, int(self._games.outside[0])
        offenders = (own,) if self._forfeited else ()
        names = tuple(players) or tuple(self._name_of(seat, own) for seat in range(self.rules.num_players))
        return Trace(self.game, self.rules, tuple(games.decisions), self._seed, int(games.states["game"][0]), names, offenders)

    def _name_of(self, seat: int, own: int) -> str:
        agents = self._games.agents
        return "own" if seat == own else printable(name_of(agents[((seat - own) % self.rules.num_players - 1) % len(agents)]))

    def render(self) -> Frame | None:
        """The board as the own seat sees it: text, a picture, or None when it is shown."""
        if self._seed is None and self.render_mode is not None:
            raise RuntimeError("there is nothing to render: call reset() before render()")
        return show(self.game, self._games.views[0], self.render_mode, self._screen, self.metadata["render_fps"])

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # two environments that share games would move each other

    def _observe(self) -> Observation:
        vector = np.empty((1, self.game.layout.size), dtype=np.float32)
        self.game.encode(self._games.views, vector)
        return {"observation": vector[0], "action_mask": self._games.masks[0].copy()}

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._games.masks[0].copy(), "seat": int(self._games.outside[0])}


def seated(game: Game, opponents: Opponents) -> list[Agent]:
    """The agents of `opponents`; specs are made into agents with dice of their own. `ValueError` for what is neither."""
    listed: Any = [opponents] if isinstance(opponents, str) or _acts(opponents) else opponents
    if not isinstance(listed, Sequence) or any(not (isinstance(one, str) or _acts(one)) for one in listed):
        wanted = "names, or agents with act(views): one for all other seats, or a list with one each"
        raise ValueError(f"opponents={opponents!r} must be {wanted}")
    return [make(one, game, seed=number) if isinstance(one, str) else one for number, one in enumerate(listed)]


def _acts(agent: Any) -> bool:
    """Whether it can be asked; a class cannot, only what is made of it."""
    return not isinstance(agent, type) and callable(getattr(agent, "act", None))
