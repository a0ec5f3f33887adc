"""A learned policy that looks ahead: it tries its best actions in imagined worlds, against opponents who play as policies do.

For a decision, worlds are drawn that the view cannot tell from the true one. In each of them the others decide as the opponents' model
expects, every candidate action is carried out beside the same choices of theirs, and play goes on, by the policy, until the seat has to
decide again. What this has cost and what the network's value expects from there on is averaged over the worlds. The action is the one with
the least of that, less a bonus for what the policy itself would play, which keeps the noise of few worlds from deciding.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from sixnimmt_env.agents import Agent
from sixnimmt_env.core.game import States, Views

from .policy import Policy

_TRIAL: Final = 4  # worlds that tell how many fit into the time
_MOST: Final = 4096  # worlds, however much time there is
_STATES: Final = 8192  # imagined games side by side
_BATCH: Final = 8192  # observations a forward pass


class LookaheadAgent(Agent):
    """See the module.

    Args:
        policy: whose candidates and values are used.
        name: the spec it was made from.
        seed: its dice. Equal seeds and views give equal actions, in whatever batch.
        worlds: imagined worlds for a decision.
        seconds: think as long for each decision instead.
        width: candidate actions, those that the policy likes best.
        models: whom the others are taken for, policies or other agents; every seat of every world draws one. By default the policy itself.
        temperature: of the choices of those that are policies; 0 takes the likeliest.
        trust: bull heads that a factor e in the policy's own probabilities is worth.

    Raises:
        ValueError: the policy's values are not of the costs.
    """

    def __init__(
        self,
        policy: Policy,
        name: str,
        seed: int = 0,
        worlds: int = 32,
        seconds: float | None = None,
        width: int = 6,
        models: Sequence[Policy | Agent] = (),
        temperature: float = 0.5,
        trust: float = 0.2,
    ) -> None:
        super().__init__(policy.game, name, seed)
        self.policy, self.models = policy, tuple(models) or (policy,)  # `models` alone tells it from a policy that plays by argmax
        self.worlds, self.seconds, self.width, self.temperature, self.trust = worlds, seconds, width, temperature, trust
        if policy.training.get("reward", "own") != "own":
            raise ValueError(
                f"agent {name!r}: the policy was trained for the reward {policy.training['reward']!r}: its values are no bull heads; "
                'look ahead with one trained for "own"'
            )
        self._scale = float(policy.training.get("reward_scale", 10.0))

    def _act(self, views: Views) -> NDArray[np.int64]:
        if self.seconds is not None:
            found = [self._in_time(views[k : k + 1], self.seconds) for k in range(len(views))]
            return np.concatenate(found or [np.zeros(0, dtype=np.int64)])
        return self._act_in(views, self.worlds)

    def _in_time(self, view: Views, seconds: float) -> NDArray[np.int64]:
        """The action for one view, with as many worlds as the time allows, by what a few of them take."""
        start = time.perf_counter()
        action = self._act_in(view, _TRIAL)
        spent = time.perf_counter() - start
        worlds = min(int(_TRIAL * (seconds - spent) / spent), _MOST)
        return self._act_in(view, worlds) if worlds > _TRIAL else action

    def _act_in(self, views: Views, worlds: int) -> NDArray[np.int64]:
        actions = np.empty(len(views), dtype=np.int64)
        chunk = max(1, _STATES // (worlds * self.width))
        for start in range(0, len(views), chunk):
            actions[start : start + chunk] = self._decide(np.ascontiguousarray(views[start : start + chunk]), worlds)
        return actions

    def _decide(self, views: Views, worlds: int) -> NDArray[np.int64]:
        masks = self._masks(views)
        logs = _log_softmax(self._logits(self.policy, views), masks)
        best: NDArray[np.int64] = np.where(masks.any(axis=1), logs.argmax(axis=1), self.game.wait)
        open_ = np.flatnonzero(masks.sum(axis=1) > 1)
        if len(open_):
            best[open_] = self._search(np.ascontiguousarray(views[open_]), logs[open_], worlds)
        return best

    def _search(self, views: Views, logs: NDArray[np.float32], worlds: int) -> NDArray[np.int64]:
        count, width = len(views), self.width
        candidates = np.argsort(-logs, axis=1, kind="stable")[:, :width]
        there = np.isfinite(np.take_along_axis(logs, candidates, axis=1))
        states, rngs = self._imagine(views, worlds)
        seats = np.repeat(views["seat"].astype(np.int64), worlds)
        actions = np.zeros((count * worlds, self.game.max_seats), dtype=np.int64)
        self._others(states, seats, actions, rngs, worlds)
        # Every candidate in every world: (views, worlds, candidates), without those that are none.
        kept = np.broadcast_to(there[:, None, :], (count, worlds, width)).reshape(-1)
        branch = np.repeat(np.arange(count * worlds), width)[kept]
        own = np.broadcast_to(candidates[:, None, :], (count, worlds, width)).reshape(-1)[kept]
        costs = self._follow(states[branch], seats[branch], actions[branch], own)
        sums = np.full(count * worlds * width, np.inf)
        sums[kept] = costs
        means = sums.reshape(count, worlds, width).mean(axis=1)
        scores = means - self.trust * np.where(there, np.take_along_axis(logs, candidates, axis=1), 0.0)
        chosen: NDArray[np.int64] = candidates[np.arange(count), np.where(there, scores, np.inf).argmin(axis=1)]
        return chosen

    def _imagine(self, views: Views, worlds: int) -> tuple[States, list[np.random.Generator]]:
        """`worlds` games for each view, and dice for each view."""
        states = np.zeros(len(views) * worlds, dtype=self.game.state_dtype)
        rngs, drawn = [], np.empty(len(views))
        self.game.dice(views, np.uint64(self.seed), drawn)
        for k, view in enumerate(views):
            rng = np.random.default_rng(int(drawn[k] * 2**53))
            words = rng.integers(0, 2**64, worlds, dtype=np.uint64)
            for world in range(worlds):
                self.game.imagine(view, words[world], states[k * worlds + world])
            rngs.append(rng)
        return states, rngs

    def _others(
        self, states: States, seats: NDArray[np.int64], actions: NDArray[np.int64], rngs: list[np.random.Generator], worlds: int
    ) -> None:
        """Let the other seats that decide now, if any, choose as the models do."""
        rows, deciding = self._due(states, seats)
        if not len(rows):
            return
        views = self._reveal(states, rows, deciding)
        masks = self._masks(views)
        shape = worlds, self.game.max_seats
        drawn = np.concatenate([rng.integers(0, len(self.models), shape) for rng in rngs])[rows, deciding]
        shares = np.concatenate([rng.random(shape) for rng in rngs])[rows, deciding]
        for number, model in enumerate(self.models):
            chosen = np.flatnonzero(drawn == number)
            if len(chosen):
                seen = np.ascontiguousarray(views[chosen])
                actions[rows[chosen], deciding[chosen]] = self._choose(model, seen, masks[chosen], shares[chosen])

    def _choose(self, model: Policy | Agent, views: Views, masks: NDArray[np.bool_], shares: NDArray[np.float64]) -> NDArray[np.int64]:
        """What `model` does, the dice being `shares`, (k,) in [0, 1)."""
        if isinstance(model, Agent):
            return model.act(views)
        logs = _log_softmax(self._logits(model, views) / np.float32(max(self.temperature, 1e-3)), masks)
        sums = np.exp(logs.astype(np.float64)).cumsum(axis=1)
        # A share can be rounded up to the sum, past the last legal action.
        below = np.minimum(shares * sums[:, -1], np.nextafter(sums[:, -1], 0.0))
        drawn: NDArray[np.int64] = (sums <= below[:, None]).sum(axis=1)
        return drawn

    def _follow(self, states: States, seats: NDArray[np.int64], actions: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n,) what it costs to play `own` beside `actions` in each of `states`, and what is expected from then on."""
        everything = np.arange(len(states))
        actions[everything, seats] = own
        before = self.game.costs(states)[everything, seats].astype(np.float64)
        going = everything
        while len(going):
            self.game.step(states, going, actions[going], np.zeros(len(going), dtype=np.uint16))
            going = self._play_on(states, going, seats, actions)
        costs = self.game.costs(states)[everything, seats] - before
        bits = np.empty(len(states), dtype=np.uint16)
        self.game.to_act(states, everything, bits)
        open_ = np.flatnonzero(bits)
        if len(open_):
            costs[open_] -= self._scale * self._values_of(self._reveal(states, open_, seats[open_]))
        return costs

    def _play_on(self, states: States, going: NDArray[np.int64], seats: NDArray[np.int64], actions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which of the games `going` go on by themselves: the own seat has no choice in them. Their actions are written."""
        bits = np.empty(len(going), dtype=np.uint16)
        self.game.to_act(states, going, bits)
        rows, deciding = np.nonzero((bits[:, None] >> np.arange(self.game.max_seats, dtype=np.uint16)) & 1)
        if not len(rows):
            return going[:0]
        views = self._reveal(states, going[rows], deciding)
        masks = self._masks(views)
        choice = masks.sum(axis=1) > 1
        stops = np.zeros(len(going), dtype=np.bool_)
        stops[rows[choice & (deciding == seats[going[rows]])]] = True
        moving = ~stops[rows]
        chosen = masks.argmax(axis=1)
        asked = np.flatnonzero(moving & choice)
        if len(asked):
            logits = self._logits(self.policy, np.ascontiguousarray(views[asked]))
            chosen[asked] = np.where(masks[asked], logits, -np.inf).argmax(axis=1)
        actions[going[rows[moving]], deciding[moving]] = chosen[moving]
        return going[~stops & (bits != 0)]

    # --- parts -----------------------------------------------------------------------------------------------------------

    def _due(self, states: States, seats: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        bits = np.empty(len(states), dtype=np.uint16)
        self.game.to_act(states, np.arange(len(states)), bits)
        due = (bits[:, None] >> np.arange(self.game.max_seats, dtype=np.uint16)) & 1 == 1
        due[np.arange(len(states)), seats] = False
        rows, deciding = np.nonzero(due)
        return rows, deciding

    def _reveal(self, states: States, rows: NDArray[np.int64], seats: NDArray[np.int64]) -> Views:
        views = np.zeros(len(rows), dtype=self.game.view_dtype)
        self.game.reveal(states, rows, seats, views)
        return views

    def _masks(self, views: Views) -> NDArray[np.bool_]:
        masks = np.empty((len(views), self.game.num_actions), dtype=np.int8)
        self.game.legal(views, masks)
        return masks == 1

    def _logits(self, policy: Policy, views: Views) -> NDArray[np.float32]:
        return self._asked(views, policy, lambda observations: policy.network(observations)[0])

    def _values_of(self, views: Views) -> NDArray[np.float64]:
        return self._asked(views, self.policy, self.policy.network.values).astype(np.float64)

    def _asked(self, views: Views, policy: Policy, ask: Callable[[torch.Tensor], torch.Tensor]) -> NDArray[np.float32]:
        found = []
        for start in range(0, len(views), _BATCH):
            part = views[start : start + _BATCH]
            observations = np.empty((len(part), policy.network.shape.observation_size), dtype=np.float32)
            self.game.encode(part, observations)
            with torch.inference_mode():
                found.append(ask(torch.from_numpy(observations)).numpy())
        return np.concatenate(found)


def _log_softmax(logits: NDArray[np.float32], masks: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Log-probabilities, -inf where masked."""
    scores = np.where(masks, logits, np.float32(-np.inf))
    scores -= np.where(masks.any(axis=1), scores.max(axis=1), np.float32(0.0))[:, None]
    sums = np.exp(scores).sum(axis=1, keepdims=True)
    logs: NDArray[np.float32] = scores - np.log(np.where(sums > 0, sums, np.float32(1.0)))
    return logs
