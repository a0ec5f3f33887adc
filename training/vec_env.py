"""Training games as a stable-baselines3 VecEnv: one learner seat a game, opponents in the others, only real decisions.

One environment step takes every game to the learner's next decision. What happens in between never enters the learner's batch: the
opponents' decisions (asked in batches over all games), and his own where only one action is legal, such as the last card.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from sixnimmt_env.agents import Agent
from sixnimmt_env.core.game import Game, Rules
from sixnimmt_env.core.seeding import check_seed
from sixnimmt_env.envs.seats import SeatGames

from .network import Shape

_STREAM_BITS = np.uint64(32)  # game g plays the matches g * 2**32, g * 2**32 + 1, ... of the seed: no deal comes twice


def _stream(seed: int) -> int:
    """The seed of the training's deals: apart from those that an evaluation with the same seed deals."""
    return int(np.random.SeedSequence([seed, 0x7EA1]).generate_state(1, np.uint64)[0] >> np.uint64(1))


@dataclass
class Tally:
    """What happened since it was last taken."""

    matches: int = 0
    cost: float = 0.0  # sum over matches of the learner's cost (bull heads)
    wins: float = 0.0  # ties split
    decisions: int = 0  # of the learner, with a choice
    forced: int = 0  # of the learner, without


class MatchVecEnv(VecEnv):
    """`num_envs` games side by side.

    Args:
        game: what is played.
        rules: the variant.
        opponents: agents and their weights; every opponent seat of every game is drawn anew from them.
        num_envs: games.
        shape: of the learner's network, which says how much of an observation it reads.
        seed: of deals, seats and opponents.
        reward_scale: rewards are minus the cost (bull heads) since the learner's last decision, divided by this; what a match costs before
            the first decision is in the first reward, so that the rewards of a match add up to its cost.

    Same-step autoreset: the observation after a finished match is the next one's first; the final one is in
    `infos[i]["terminal_observation"]`. `infos[i]["episode"]["r"]` is minus the cost of the match, unscaled.
    """

    def __init__(
        self,
        game: Game,
        rules: Rules,
        opponents: Sequence[tuple[Agent, float]],
        num_envs: int,
        shape: Shape,
        seed: int = 0,
        reward_scale: float = 10.0,
    ) -> None:
        self.shape, self._scale = shape, reward_scale
        agents, weights = zip(*opponents, strict=True)
        self.games = SeatGames(game, rules, agents, weights, num_envs, "random", skip_forced=True)
        self._seed = check_seed(seed)
        self._all = np.arange(num_envs)
        self._numbers: NDArray[np.uint64] | None = None  # of the matches that the games began with
        self._rewarded = np.zeros(num_envs, dtype=np.int64)  # cost of the match that is in the rewards so far
        self._length = np.zeros(num_envs, dtype=np.int64)
        self._actions = np.zeros(num_envs, dtype=np.int64)
        self._started = time.time()
        self._tally = Tally()
        self.render_mode = None
        observation = spaces.Box(0.0, 1.0, (shape.observation_size,), np.float32)
        super().__init__(num_envs, observation, spaces.Discrete(game.num_actions))

    # --- VecEnv ----------------------------------------------------------------------------------------------------------

    def reset(self) -> NDArray[np.float32]:
        """Deal all games anew, and play to the learner's first decision in each. After `seed` all chance starts again."""
        if self._seeds[0] is not None:
            self._seed = check_seed(self._seeds[0])
            self._reset_seeds()
            self._numbers = None
        # A reset in the middle goes on with the next match of each game.
        seeds = np.full(self.num_envs, _stream(self._seed), dtype=np.uint64)
        first = self._all.astype(np.uint64) << _STREAM_BITS
        self._numbers = first if self._numbers is None else self.games.states["game"] + np.uint64(1)
        self.games.start(seeds, self._numbers)
        self._rewarded[:] = 0
        self._length[:] = 0
        return self._observe(self.games.views)

    def step_async(self, actions: NDArray[np.int64]) -> None:
        self._actions = self._legal(np.asarray(actions))

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        games = self.games
        self._length += 1
        self._tally.decisions += self.num_envs
        games.step(self._actions)
        rewards = ((self._rewarded - games.costs) / self._scale).astype(np.float32)
        self._rewarded = games.costs.copy()
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        dones = games.over.copy()
        ended = np.flatnonzero(dones)
        if len(ended):
            self._report(ended, infos)
            games.restart(ended)
            self._rewarded[ended] = 0
            self._length[ended] = 0
        return self._observe(games.views), rewards, dones, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """(num_envs, num_actions) bool: legal actions of the decision that each game waits for."""
        masks: NDArray[np.bool_] = self.games.masks == 1
        return masks

    def close(self) -> None:
        """Nothing is held open."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        if attr_name == "action_masks":  # how sb3-contrib asks whether masks are there
            return [self.action_masks] * len(self._chosen(indices))
        return [getattr(self, attr_name)] * len(self._chosen(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError("the games of a MatchVecEnv have no attributes of their own to set")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        if method_name != "action_masks":
            raise AttributeError(f"the games of a MatchVecEnv have no method {method_name!r}")
        return list(self.action_masks()[self._chosen(indices)])

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        # Whole matches are reported as a Monitor does, so evaluations need not count rewards by themselves.
        return [wrapper_class is Monitor] * len(self._chosen(indices))

    def take_tally(self) -> Tally:
        """What happened since this was last called."""
        tally, self._tally = self._tally, Tally()
        tally.forced, self.games.forced = self.games.forced, 0
        return tally

    # --- parts -----------------------------------------------------------------------------------------------------------

    def _chosen(self, indices: Any) -> NDArray[np.int64]:
        return self._all if indices is None else np.atleast_1d(np.asarray(indices, dtype=np.int64))

    def _legal(self, actions: NDArray[Any]) -> NDArray[np.int64]:
        """`actions` as (num_envs,) integers; `ValueError`, with nothing changed, unless all of them are legal."""
        if actions.size != self.num_envs or actions.dtype.kind not in "iu":
            wanted = f"({self.num_envs},) integers, one a game"
            raise ValueError(f"actions must be {wanted}, not {actions.dtype} of shape {actions.shape}")
        chosen = actions.reshape(self.num_envs).astype(np.int64)
        known = (chosen >= 0) & (chosen < self.games.game.num_actions)
        legal = known & (self.games.masks[self._all, np.where(known, chosen, 0)] == 1)
        if not legal.all():
            game = int(np.flatnonzero(~legal)[0])
            allowed = ", ".join(map(str, np.flatnonzero(self.games.masks[game])))
            raise ValueError(f"the learner chose {chosen[game]} in game {game}, where its mask (action_masks) allows {allowed}")
        return chosen

    def _report(self, ended: NDArray[np.int64], infos: list[dict[str, Any]]) -> None:
        """Count the matches that have ended, and say in their infos what they came to."""
        games = self.games
        totals = games.game.costs(games.states)[ended, : games.rules.num_players]
        own, best = games.costs[ended], totals.min(axis=1)
        self._tally.matches += len(ended)
        self._tally.cost += float(own.sum())
        self._tally.wins += float((1.0 / (totals == best[:, None]).sum(axis=1))[own == best].sum())
        now = round(time.time() - self._started, 3)
        for game, cost, final in zip(ended.tolist(), own.tolist(), self._observe(games.views[ended]), strict=True):
            infos[game] = {"episode": {"r": -float(cost), "l": int(self._length[game]), "t": now}, "terminal_observation": final}

    def _observe(self, views: NDArray[np.void]) -> NDArray[np.float32]:
        """Fresh observations of `views`: stable-baselines3 keeps references to what it is given."""
        observations = np.empty((len(views), self.shape.observation_size), dtype=np.float32)
        self.games.game.encode(views, observations)
        return observations
