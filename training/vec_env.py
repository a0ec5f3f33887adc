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
from stable_baselines3.common.vec_env import VecEnv

from sixnimmt_env.agents import Agent, decide
from sixnimmt_env.core.game import Game, Rules

from .network import Shape


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
        reward_scale: rewards are minus the cost (bull heads) since the learner's last decision, divided by this.

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
        self.game, self.rules, self.shape = game, rules, shape
        self.agents = [agent for agent, _ in opponents]
        weights = np.array([weight for _, weight in opponents], dtype=np.float64)
        self._weights = weights / weights.sum()
        self._random = np.random.default_rng(seed)
        self._scale = reward_scale
        self._states = game.new_states(rules, num_envs, seed)
        self._next_game = 0
        self._all = np.arange(num_envs)
        self._learner = np.zeros(num_envs, dtype=np.int64)
        self._chairs = np.full((num_envs, game.max_seats), -1, dtype=np.int64)
        self._views = np.zeros(num_envs, dtype=game.view_dtype)
        self._masks = np.zeros((num_envs, game.num_actions), dtype=np.int8)
        self._costs = np.zeros(num_envs, dtype=np.int64)
        self._actions = np.zeros(num_envs, dtype=np.int64)
        self._started = time.time()
        self._length = np.zeros(num_envs, dtype=np.int64)
        self.tally = Tally()
        self.render_mode = None
        observation = spaces.Box(0.0, 1.0, (shape.observation_size,), np.float32)
        super().__init__(num_envs, observation, spaces.Discrete(game.num_actions))

    # --- VecEnv ----------------------------------------------------------------------------------------------------------

    def reset(self) -> NDArray[np.float32]:
        """Deal all games anew, and play to the learner's first decision in each."""
        self._deal(self._all)
        self._advance(self._all, None)
        return self._observe(self._views)

    def step_async(self, actions: NDArray[np.int64]) -> None:
        self._actions = np.asarray(actions).reshape(self.num_envs)

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        before = self._costs.copy()
        self._length += 1
        self.tally.decisions += self.num_envs
        self._move(self._all, self._all, self._actions)
        ended: dict[int, tuple[int, np.void]] = {}
        self._advance(self._all, ended)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        dones = np.zeros(self.num_envs, dtype=np.bool_)
        after = self._own_costs(self._all)
        self._costs = after.copy()
        if ended:
            games = np.fromiter(ended, dtype=np.int64, count=len(ended))
            finals = self._observe(np.array([view for _, view in ended.values()], dtype=self.game.view_dtype))
            for game, final in zip(games.tolist(), finals, strict=True):
                cost = ended[game][0]
                after[game] = cost
                episode = {"r": -float(cost), "l": int(self._length[game]), "t": round(time.time() - self._started, 3)}
                infos[game] = {"episode": episode, "terminal_observation": final}
            dones[games] = True
            self._length[games] = 0
        rewards = ((before - after) / self._scale).astype(np.float32)
        return self._observe(self._views), rewards, dones, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """(num_envs, num_actions) bool: legal actions of the decision that each game waits for."""
        return self._masks.astype(np.bool_)

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
        return [False] * len(self._chosen(indices))

    def take_tally(self) -> Tally:
        """What happened since this was last called."""
        tally, self.tally = self.tally, Tally()
        return tally

    # --- parts -----------------------------------------------------------------------------------------------------------

    def _chosen(self, indices: Any) -> NDArray[np.int64]:
        return self._all if indices is None else np.atleast_1d(np.asarray(indices, dtype=np.int64))

    def _deal(self, games: NDArray[np.int64]) -> None:
        """New matches: the learner in a random seat, opponents drawn for the others."""
        self._states["game"][games] = self._next_game + np.arange(len(games))
        self._next_game += len(games)
        self.game.deal(self._states, games)
        players = self.rules.num_players
        self._learner[games] = self._random.integers(players, size=len(games))
        self._chairs[games, :players] = self._random.choice(len(self.agents), size=(len(games), players), p=self._weights)
        self._chairs[games, self._learner[games]] = -1
        self._costs[games] = 0

    def _own_costs(self, games: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.game.costs(self._states)[games, self._learner[games]].astype(np.int64)

    def _move(self, games: NDArray[np.int64], learners: NDArray[np.int64], choices: NDArray[np.int64]) -> None:
        """One step of `games`: opponents decide for themselves, `choices` are the learner's in the games `learners`, a subset."""
        actions = np.zeros((len(games), self.game.max_seats), dtype=np.int64)
        places = np.searchsorted(games, learners)
        actions[places, self._learner[learners]] = choices
        decide(self.game, self._states, games, self._chairs, self.agents, actions)
        illegal = np.zeros(len(games), dtype=np.uint16)
        self.game.step(self._states, games, actions, illegal)
        if illegal.any():
            place = int(np.flatnonzero(illegal)[0])
            seat = int(illegal[place]).bit_length() - 1
            who = "the learner" if seat == self._learner[games[place]] else self.agents[self._chairs[games[place], seat]].name
            raise ValueError(f"{who} chose {actions[place, seat]}, which is illegal: actions must come from the masks")

    def _advance(self, games: NDArray[np.int64], ended: dict[int, tuple[int, np.void]] | None) -> None:
        """Play `games` on until each waits for the learner with a real choice. Matches that end are noted in `ended` and dealt anew."""
        while len(games):
            due = np.zeros(len(games), dtype=np.uint16)
            self.game.to_act(self._states, games, due)
            over = games[due == 0]
            if len(over):
                self._finish(over, ended)
                continue
            mine = games[(due >> self._learner[games].astype(np.uint16)) & 1 == 1]
            forced = self._look(mine)
            self.tally.forced += len(forced)
            games = np.setdiff1d(games, np.setdiff1d(mine, forced, assume_unique=True), assume_unique=True)
            if len(games):
                self._move(games, forced, self._masks[forced].argmax(axis=1))

    def _look(self, games: NDArray[np.int64]) -> NDArray[np.int64]:
        """Note what the learner sees and may do in `games`; returns those in which he has only one legal action."""
        views = np.empty(len(games), dtype=self.game.view_dtype)
        self.game.reveal(self._states, games, self._learner[games], views)
        masks = np.empty((len(games), self.game.num_actions), dtype=np.int8)
        self.game.legal(views, masks)
        self._views[games] = views
        self._masks[games] = masks
        return games[masks.sum(axis=1) == 1]

    def _finish(self, games: NDArray[np.int64], ended: dict[int, tuple[int, np.void]] | None) -> None:
        players = self.rules.num_players
        costs = self.game.costs(self._states)[games, :players].astype(np.int64)
        own = costs[np.arange(len(games)), self._learner[games]]
        best = costs.min(axis=1)
        self.tally.matches += len(games)
        self.tally.cost += float(own.sum())
        self.tally.wins += float((1.0 / (costs == best[:, None]).sum(axis=1))[own == best].sum())
        if ended is not None:
            views = np.empty(len(games), dtype=self.game.view_dtype)
            self.game.reveal(self._states, games, self._learner[games], views)
            for game, cost, view in zip(games.tolist(), own.tolist(), views, strict=True):
                ended.setdefault(game, (cost, view))
        self._deal(games)

    def _observe(self, views: NDArray[np.void]) -> NDArray[np.float32]:
        """Fresh observations of `views`: stable-baselines3 keeps references to what it is given."""
        observations = np.empty((len(views), self.shape.observation_size), dtype=np.float32)
        self.game.encode(views, observations)
        return observations
