"""The Gymnasium vector environment of any `Game`: one seat each of many games against agents, over the batched engine."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ..core.game import Game, Rules
from ..core.seeding import check_seed, fresh_seed
from .rendering import FRAME_MODES, RENDER_FPS, Frame, frame
from .seats import Seat, SeatGames
from .single import Opponents, seated
from .table import IllegalAction, IllegalActionError, Observation, as_action, complaint, observation_space, one_of


class SeatVectorEnv(VectorEnv[Any, Any, Any]):
    """`num_envs` games side by side, each as `SeatEnv` plays it: the same seeds give the same games, whatever `num_envs`.

    Observations are {"observation": (n, layout.size) float32, "action_mask": (n, num_actions) int8}; masks are also in
    `infos["action_mask"]`, and as bool from `action_masks()`. All arrays are fresh and never change later.

    Args:
        game, rules, opponents, seat: as for `SeatEnv`; opponents are asked in batches over all games.
        num_envs: games.
        illegal_action: "raise" | "replace" | "terminate", as for `SeatEnv`, for each game by itself; "raise" changes no game.
        autoreset_mode: "NextStep" (default, as in Gymnasium), "SameStep" or "Disabled", or the enum's member.
        render_mode: "rgb_array" or "ansi": `render()` returns a tuple with the picture or the text of each game, as `SeatEnv` has it.

    Raises:
        ValueError: as `SeatEnv`, or a bad number of games or mode.
    """

    def __init__(
        self,
        game: Game,
        rules: Rules,
        num_envs: int = 1,
        opponents: Opponents = ("random",),
        seat: Seat = "random",
        illegal_action: IllegalAction = "raise",
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        one_of("illegal_action", illegal_action, ("raise", "replace", "terminate"))
        if isinstance(num_envs, bool) or not isinstance(num_envs, (int, np.integer)) or num_envs < 1:
            raise ValueError(f"num_envs={num_envs!r} must be a whole number of at least 1")
        one_of("render_mode", render_mode, (*FRAME_MODES, None))
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": list(FRAME_MODES), "render_fps": RENDER_FPS, "autoreset_mode": self.autoreset_mode}
        self.game, self.rules, self.illegal_action, self.render_mode = game, rules, illegal_action, render_mode
        self.num_envs = int(num_envs)
        self.single_observation_space = observation_space(game)
        self.single_action_space = spaces.Discrete(game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._games = SeatGames(game, rules, seated(game, opponents), None, self.num_envs, seat)
        self._all = np.arange(self.num_envs)
        self._seeds: NDArray[np.uint64] | None = None
        self._rewarded = np.zeros(self.num_envs, dtype=np.int64)
        self._done = np.ones(self.num_envs, dtype=np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Deal new matches.

        Args:
            seed: s for the seeds s, s + 1, ... of the games, or one a game. None, for all or for one, goes on with the next match of
                its stream (a fresh one at first).
            options: {"reset_mask": (n,) bool} resets only these games; not before all have been dealt.

        Raises:
            ValueError: bad seeds or a bad mask. Nothing has changed.
        """
        seeds = self._spread(seed)
        which = self._all[_mask_of(options, self.num_envs)]
        if self._seeds is None and len(which) < self.num_envs:
            raise ValueError("the first reset deals all games: reset without options['reset_mask'] first")
        if self._seeds is None:
            self._seeds = np.array([fresh_seed() for _ in self._all], dtype=np.uint64)
            seeds = [int(self._seeds[i]) if one is None else one for i, one in enumerate(seeds)]
        fresh = np.array([i for i in which if seeds[i] is not None], dtype=np.int64)
        self._seeds[fresh] = np.array([seeds[i] for i in fresh], dtype=np.uint64)
        if len(fresh):
            self._games.start(self._seeds[fresh], np.zeros(len(fresh), dtype=np.uint64), fresh)
        going_on = np.setdiff1d(which, fresh)
        if len(going_on):
            self._games.restart(going_on)
        self._rewarded[which], self._done[which] = 0, False
        return self._observe(), self._infos(which)

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Carry out `actions`, (n,), and play on to the next decision in every game.

        With autoreset mode NextStep a game that was over is dealt anew instead, its action ignored, its reward 0.

        Raises:
            RuntimeError: the environment was not reset, or, with mode Disabled, a match is over.
            IllegalActionError: an action is illegal and `illegal_action="raise"`. No game has changed.
        """
        was_over = self._done.copy()
        if self._seeds is None or (was_over.any() and self.autoreset_mode != AutoresetMode.NEXT_STEP):
            raise RuntimeError("a match is over, or none has begun: call reset() before step()")
        going = self._all[~was_over]
        chosen, illegal = self._checked(actions, going)
        over = illegal & (self.illegal_action == "terminate")
        if was_over.any():
            self._games.restart(self._all[was_over])
            self._rewarded[was_over] = 0
        playing = going[~over[going]]
        if len(playing):
            self._games.step(chosen[playing], playing)
        rewards = (self._rewarded - self._games.costs).astype(np.float64)
        rewards[over] = -float(self.rules.forfeit)
        self._games.abandon(self._all[over])
        self._rewarded = self._games.costs.copy()
        self._done = self._games.over | over
        terminations = self._done.copy()
        infos = self._close(terminations, illegal)
        return self._observe(), rewards, terminations, np.zeros(self.num_envs, dtype=np.bool_), infos

    def render(self) -> tuple[Frame, ...]:
        """Every game as its own seat sees it.

        Raises:
            ValueError: the environment was made without a render mode.
            RuntimeError: it was not reset.
        """
        if self._seeds is None and self.render_mode is not None:
            raise RuntimeError("there is nothing to render: call reset() before render()")
        return tuple(frame(self.game, view, self.render_mode, FRAME_MODES) for view in self._games.views)

    def action_masks(self) -> NDArray[np.bool_]:
        """(n, num_actions) bool: what is legal now."""
        masks: NDArray[np.bool_] = self._games.masks == 1
        return masks

    def call(self, name: str) -> tuple[Any, ...]:
        """What each game answers to "action_masks" or "render", as Gymnasium's `SyncVectorEnv.call` has it; other attributes repeated."""
        value = getattr(self, name)
        if callable(value) and name not in ("action_masks", "render"):
            raise AttributeError(f"the games of a vector environment have no method {name!r} to call one by one")
        return tuple(value()) if callable(value) else (value,) * self.num_envs

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """As `call`."""
        return self.call(name)

    # --- parts -----------------------------------------------------------------------------------------------------------

    def _close(self, ended: NDArray[np.bool_], illegal: NDArray[np.bool_]) -> dict[str, Any]:
        """The infos of a step; with mode SameStep the matches that `ended` are followed by the next, and kept in the infos."""
        if self.autoreset_mode != AutoresetMode.SAME_STEP or not ended.any():
            return self._infos(self._all) | _flags(illegal)
        final, info = self._observe(), self._infos(self._all[ended]) | _flags(illegal & ended)
        finals = np.full(self.num_envs, None, dtype=object)
        for i in self._all[ended]:
            finals[i] = {key: value[i] for key, value in final.items()}
        self._games.restart(self._all[ended])
        self._rewarded[ended], self._done[ended] = 0, False
        return {
            "final_obs": finals,
            "_final_obs": ended.copy(),
            "final_info": info,
            "_final_info": ended.copy(),
            **self._infos(self._all),
            **_flags(illegal & ~ended),
        }

    def _checked(self, actions: Any, going: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Legal actions, the lowest in place of an illegal one, and whose were illegal, of the games that are `going` on."""
        array = np.asarray(actions)
        if array.shape == (self.num_envs,) and array.dtype.kind not in "iu" and self.illegal_action != "raise":
            numbers = [as_action(self.game, each) for each in array.tolist()]  # what is no action is illegal like any other
            array = np.array([-1 if each is None else each for each in numbers])
        if array.shape != (self.num_envs,) or array.dtype.kind not in "iu":
            raise IllegalActionError(f"actions must be ({self.num_envs},) integers, one a game, not {array.dtype} of shape {array.shape}")
        known = (array >= 0) & (array < self.game.num_actions)
        chosen = np.where(known, array, 0).astype(np.int64)
        illegal = np.zeros(self.num_envs, dtype=np.bool_)
        illegal[going] = ~(known[going] & (self._games.masks[going, chosen[going]] == 1))
        if illegal.any() and self.illegal_action == "raise":
            first = int(np.flatnonzero(illegal)[0])
            raise IllegalActionError(complaint(self.game, f"game {first}", array[first].item(), self._games.masks[first]))
        return np.where(illegal, self._games.masks.argmax(axis=1), chosen), illegal

    def _spread(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, (int, np.integer)):
            return [check_seed(check_seed(seed) + i) for i in range(self.num_envs)]
        if not isinstance(seed, (Sequence, np.ndarray)):
            check_seed(seed)  # which says what a seed is
        if len(seed) != self.num_envs:
            raise ValueError(f"{len(seed)} seeds for {self.num_envs} games: give one for all, or one each")
        return [None if one is None else check_seed(one) for one in seed]

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # two environments that share games would move each other

    def _observe(self) -> Observation:
        vectors = np.empty((self.num_envs, self.game.layout.size), dtype=np.float32)
        self.game.encode(self._games.views, vectors)
        return {"observation": vectors, "action_mask": self._games.masks.copy()}

    def _infos(self, which: NDArray[np.int64]) -> dict[str, Any]:
        there = np.zeros(self.num_envs, dtype=np.bool_)
        there[which] = True
        masks, seats = np.zeros_like(self._games.masks), np.zeros(self.num_envs, dtype=np.int64)
        masks[which], seats[which] = self._games.masks[which], self._games.outside[which]
        return {"action_mask": masks, "_action_mask": there, "seat": seats, "_seat": there.copy()}


def _flags(illegal: NDArray[np.bool_]) -> dict[str, Any]:
    """The infos of illegal actions that were not raised, if there were any."""
    return {"illegal_action": illegal, "_illegal_action": illegal.copy()} if illegal.any() else {}


def _mask_of(options: dict[str, Any] | None, count: int) -> NDArray[np.bool_]:
    mask = (options or {}).get("reset_mask")
    if mask is None:
        return np.ones(count, dtype=np.bool_)
    if not isinstance(mask, np.ndarray) or mask.shape != (count,) or mask.dtype != np.bool_ or not mask.any():
        raise ValueError(f"options['reset_mask'] must be a ({count},) array of bool with at least one True, not {mask!r}")
    return mask
