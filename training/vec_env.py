"""Training games as a stable-baselines3 VecEnv: one learner seat a game, opponents in the others, only real decisions.

One environment step takes every game to the learner's next decision. What happens in between never enters the learner's batch: the
opponents' decisions (asked in batches over all games), and his own where only one action is legal, such as the last card.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from sixnimmt_env.core.saved import fitting, put_back, real, taken, whole
from sixnimmt_env.core.seeding import check_seed
from sixnimmt_env.envs.seats import SeatGames

from .meetings import by_kind, meetings
from .opened import Opened, joined, opened
from .shape import Shape

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
    met: NDArray[np.float64] = field(default_factory=lambda: np.zeros((2, 2)), compare=False)  # see `meetings`, of each kind of opponent


class MatchVecEnv(VecEnv):
    """Games side by side; one environment is a seat of the learner.

    Args:
        games: what is played, by whom.
        shape: of the learner's network, which says how much of an observation it reads.
        seed: of deals, seats and opponents.
        reward: what is rewarded, see `REWARDS`.
        reward_scale: rewards are divided by this. What a match costs before the first decision is in the first reward, so that the rewards
            of a match add up.
        named: how many of the agents, from the first on, are counted by themselves in `Tally.met`; after them come all others together,
            and the learner in a second seat.
        open_hands: note before each step what its decisions look like with all hands open, for `opened`.

    Attributes:
        opened: with `open_hands`, the decisions that the last step has carried out, in the order of their seats. Only what learns may look.

    A seat that has nothing to decide while others of its game do may only wait; one that is not the learner's in this match sees zeros.
    Same-step autoreset: the observation after a finished match is the next one's first; the final one is in
    `infos[i]["terminal_observation"]`. `infos[i]["episode"]["r"]` is minus the cost of the match, unscaled.
    """

    _SAVED = ("_rewarded", "_length")

    def __init__(
        self,
        games: SeatGames,
        shape: Shape,
        seed: int = 0,
        reward: str = "own",
        reward_scale: float = 10.0,
        named: int = 0,
        open_hands: bool = False,
    ) -> None:
        self.games, self.shape, self.reward, self._scale = games, shape, REWARDS[reward], reward_scale
        self.decisions = 0  # of the learner in all, where he had a choice
        self._seed = check_seed(seed)
        slots, count = len(games.slot_games), len(games.states)
        self._all = np.arange(slots)
        self._numbers: NDArray[np.uint64] | None = None  # of the matches that the games began with
        self._rewarded = np.zeros((count, games.game.max_seats))  # of every seat, in the rewards so far
        self._length = np.zeros(slots, dtype=np.int64)
        self._actions = np.zeros(slots, dtype=np.int64)
        self._started = time.time()
        self._named = named
        self._tally = self._new_tally()
        self._open_hands = open_hands
        self.opened: Opened | None = None
        self.render_mode = None
        observation = spaces.Box(0.0, 1.0, (shape.observation_size,), np.float32)
        super().__init__(slots, observation, spaces.Discrete(games.game.num_actions))

    # --- VecEnv ----------------------------------------------------------------------------------------------------------

    def reset(self) -> NDArray[np.float32]:
        """Deal all games anew, and play to the learner's first decision in each. After `seed` all chance starts again."""
        if self._seeds[0] is not None:
            self._seed = check_seed(self._seeds[0])
            self._reset_seeds()
            self._numbers = None
        # A reset in the middle goes on with the next match of each game.
        count = len(self.games.states)
        seeds = np.full(count, _stream(self._seed), dtype=np.uint64)
        first = np.arange(count, dtype=np.uint64) << _STREAM_BITS
        self._numbers = first if self._numbers is None else self.games.states["game"] + np.uint64(1)
        self.games.start(seeds, self._numbers)
        self._rewarded[:] = 0
        self._length[:] = 0
        return self._observe(self._all)

    def step_async(self, actions: NDArray[np.int64]) -> None:
        self._actions = self._legal(np.asarray(actions))
        if self._open_hands:
            self.opened = self.with_open_hands(np.flatnonzero(self.games.due))

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        games = self.games
        self._length += games.due
        decisions = int(games.due.sum())
        self._tally.decisions += decisions
        self.decisions += decisions
        games.step(self._actions)
        ended = games.ended()
        worth = self.reward(games.game.costs(games.states), games.players, ended)
        change = (worth - self._rewarded) / self._scale
        self._rewarded = worth
        rewards = np.where(games.playing, change[games.slot_games, games.outside], 0.0).astype(np.float32)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        dones = games.over.copy()
        if len(ended):
            self._report(np.flatnonzero(dones & games.playing), infos)
            sat, paid = games.company(ended)
            self._tally.met += meetings(by_kind(sat, self._named), paid)
            self._length[dones] = 0
            self._rewarded[ended] = 0
            games.restart(ended)
        return self._observe(self._all), rewards, dones, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """(num_envs, num_actions) bool: legal actions of the decision that each game waits for."""
        masks: NDArray[np.bool_] = self.games.masks == 1
        return masks

    def observe(self) -> NDArray[np.float32]:
        """What the last `reset` or step has returned as observations."""
        return self._observe(self._all)

    def with_open_hands(self, slots: NDArray[np.int64]) -> Opened:
        """What `slots`, whose seats must be the learner's, would see now if all hands were open."""
        return opened(self.games.game, self.games.states, self.games.slot_games[slots], self.games.outside[slots])

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

    def random_decisions(self, steps: int, seed: int = 0) -> tuple[NDArray[np.float32], Opened | None]:
        """(k, m) observations of decisions of the learner, who plays at random for `steps` from a reset on; and with `open_hands` the same
        decisions with all hands open."""
        rng = np.random.default_rng(seed)
        observations, found, shown = self.reset(), [], []
        for _ in range(steps):
            found.append(observations[self.games.due])
            masks = self.action_masks()
            observations = self.step((masks * rng.random(masks.shape)).argmax(axis=1))[0]
            if self.opened is not None:
                shown.append(self.opened)
        return np.concatenate(found), joined(shown) if shown else None

    def take_tally(self) -> Tally:
        """What happened since this was last called."""
        tally, self._tally = self._tally, self._new_tally()
        tally.forced, self.games.forced = self.games.forced, 0
        return tally

    def state(self) -> dict[str, Any]:
        """Copies of everything that decides how the games go on, and of what is counted."""
        counted = {"decisions": self.decisions, "tally": asdict(self._tally)}
        return {**taken(self, self._SAVED), **counted, "games": self.games.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on, without a `reset`, from a `state` of an environment that was made alike.

        Raises:
            KeyError, ValueError: it is that of another one.
        """
        self.games.restore(state["games"])
        put_back(self, self._SAVED, state)
        self._numbers = self.games.states["game"].copy()
        self.decisions = whole(state["decisions"], "decisions")
        tally = state["tally"]
        counts = {name: whole(tally[name], name) for name in ("matches", "decisions", "forced")}
        met = fitting(tally["met"], "met", np.float64, self._tally.met.shape).copy()
        self._tally = Tally(**counts, cost=real(tally["cost"], "cost"), wins=real(tally["wins"], "wins"), met=met)

    # --- parts -----------------------------------------------------------------------------------------------------------

    def _new_tally(self) -> Tally:
        return Tally(met=np.zeros((self._named + 2, 2)))

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
        """Count the matches that have ended for the learner's seats `ended`, and say in their infos what they came to."""
        games = self.games
        shares = win_shares(games.game.costs(games.states), games.players)[games.slot_games[ended], games.outside[ended]]
        own = games.costs[ended]
        self._tally.matches += len(ended)
        self._tally.cost += float(own.sum())
        self._tally.wins += float(shares.sum())
        now = round(time.time() - self._started, 3)
        for slot, cost, final in zip(ended.tolist(), own.tolist(), self._observe(ended), strict=True):
            infos[slot] = {"episode": {"r": -float(cost), "l": int(self._length[slot]), "t": now}, "terminal_observation": final}

    def _observe(self, slots: NDArray[np.int64]) -> NDArray[np.float32]:
        """Fresh observations of `slots`: stable-baselines3 keeps references to what it is given."""
        observations = np.zeros((len(slots), self.shape.observation_size), dtype=np.float32)
        playing = self.games.playing[slots]
        if playing.all():
            self.games.game.encode(self.games.views[slots], observations)
        else:
            seen = np.empty((int(playing.sum()), self.shape.observation_size), dtype=np.float32)
            self.games.game.encode(self.games.views[slots[playing]], seen)
            observations[playing] = seen
        return observations


# --- what is rewarded ------------------------------------------------------------------------------------------------------

Reward = Callable[[NDArray[Any], NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]]


def _own(costs: NDArray[Any], players: NDArray[np.int64], ended: NDArray[np.int64]) -> NDArray[np.float64]:
    return -costs.astype(np.float64)


def _relative(costs: NDArray[Any], players: NDArray[np.int64], ended: NDArray[np.int64]) -> NDArray[np.float64]:
    own = costs.astype(np.float64)
    others: NDArray[np.float64] = (own.sum(axis=1, keepdims=True) - own) / (players[:, None] - 1)
    return others - own


def _win(costs: NDArray[Any], players: NDArray[np.int64], ended: NDArray[np.int64]) -> NDArray[np.float64]:
    shares = np.zeros(costs.shape)
    shares[ended] = win_shares(costs[ended], players[ended])
    return shares


def win_shares(costs: NDArray[Any], players: NDArray[np.int64]) -> NDArray[np.float64]:
    """(k, seats): 1 for the seat that has lost least, divided among equals; 0 for all others."""
    there = np.arange(costs.shape[1]) < players[:, None]
    best = np.where(there, costs, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
    won = there & (costs == best)
    shares: NDArray[np.float64] = won / won.sum(axis=1, keepdims=True)
    return shares


REWARDS: Final[dict[str, Reward]] = {"own": _own, "relative": _relative, "win": _win}
"""What a seat's match is worth so far, (costs (n, seats), players (n,), games that have ended) -> (n, seats); the rewards are its changes.

own: minus its cost (bull heads). relative: how much less that is than the mean of the others. win: its share of the win, at the end.
"""
