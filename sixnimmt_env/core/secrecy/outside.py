"""Environments of all forms as those have them who use them: moved by actions, and read seat by seat.

The form is that of the outermost layer: AEC or parallel as in PettingZoo, one environment or a vector of them as in Gymnasium, or a vector
as in stable-baselines3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from gymnasium.vector import AutoresetMode

from .otherworld import Inside, layers

Choose = Callable[[Any, Any, Callable[[], Any]], Any]
"""(observation, info, legal actions of the environment inside) -> action."""
Output = tuple[str, Callable[[], Any]]

_PER_AGENT: Final = ("rewards", "terminations", "truncations", "infos")
_STEP: Final = ("observation", "reward", "terminated", "truncated", "info")
_AFTER: Final = 3  # steps of a vector environment after the last match has ended


class Outside(ABC):
    """One environment in its layers.

    Attributes:
        form: in words.
        shared: what is said to the seats goes through one hand, so that one seat might be told another's.
        reset_takes_seed: so that it can be told another one.
    """

    form = ""
    shared = False
    reset_takes_seed = True

    def __init__(self, env: Any, insides: Sequence[Inside]) -> None:
        self.env = env
        self.insides = insides
        self.layers = layers(env)

    @property
    def inside(self) -> Inside:
        """The first environment inside: the only one in PettingZoo's forms."""
        return self.insides[0]

    @abstractmethod
    def begin(self, seed: int) -> None:
        """Reset with `seed`."""

    @abstractmethod
    def choose(self, choose: Choose) -> Any:
        """The action to be taken now."""

    @abstractmethod
    def act(self, action: Any) -> None:
        """Take it."""

    @property
    @abstractmethod
    def over(self) -> bool:
        """Whether there is nothing left to do."""

    @abstractmethod
    def outputs(self, seat: int | None) -> Iterator[Output]:
        """All that `seat` can read now, by name."""

    def has(self, name: str) -> Any:
        """The attribute of the outermost layer that has it, else None."""
        return next((getattr(layer, name) for layer in self.layers if getattr(layer, name, None) is not None), None)

    def _render(self) -> Iterator[Output]:
        if getattr(self.env, "render_mode", None) not in (None, "human"):
            yield "render()", self.env.render


class _Seats(Outside):
    """What PettingZoo's forms share."""

    shared = True

    def agent(self, seat: int | None) -> Any:
        return self.env.possible_agents[seat]

    def _of_agent(self, seat: int | None) -> Iterator[Output]:
        agent = self.agent(seat)
        yield "agents", lambda: list(self.env.agents)
        view = self.has("view")
        if view is not None:
            yield f'view("{agent}")', lambda: view(agent)
        if self._shown_to() == seat:
            yield from self._render()
        for layer in self.layers:
            if layer is not self.inside.base:
                for name, value in vars(layer).items():
                    if not name.startswith("_") and name not in _PER_AGENT and isinstance(value, Mapping) and agent in value:
                        yield f'{name}["{agent}"]', lambda value=value: value[agent]  # type: ignore[misc]

    def _shown_to(self) -> int:
        """The seat whom the rendering is for: the one that is to act."""
        base = self.inside.base
        selected = getattr(base, "agent_selection", None)
        if selected is not None:
            return int(base.possible_agents.index(selected))
        return min(self.inside.deciding(), default=0)

    def _legal(self, seat: int) -> Any:
        game = self.inside.game
        mask = np.zeros((1, game.num_actions), dtype=np.int8)
        game.legal(self.inside.view(seat), mask)
        return mask[0]


class AECOutside(_Seats):
    """Read at every turn: all the seats, and `last` by the one whose turn it is."""

    form = "AEC"

    def begin(self, seed: int) -> None:
        self.env.reset(seed=seed)
        self._look()

    def _look(self) -> None:
        self._last = self.env.last() if self.env.agents else None

    def choose(self, choose: Choose) -> Any:
        observation, _, terminated, truncated, info = self._last or (None, 0.0, True, True, {})
        if terminated or truncated:
            return None
        return choose(observation, info, lambda: self._legal(self.env.possible_agents.index(self.env.agent_selection)))

    def act(self, action: Any) -> None:
        self.env.step(action)
        self._look()

    @property
    def over(self) -> bool:
        return not self.env.agents

    def outputs(self, seat: int | None) -> Iterator[Output]:
        agent = self.agent(seat)
        yield "agent_selection", lambda: self.env.agent_selection
        yield f'observe("{agent}")', lambda: self.env.observe(agent)
        for name in _PER_AGENT:
            yield f'{name}["{agent}"]', lambda name=name: getattr(self.env, name).get(agent, "nothing")  # type: ignore[misc]
        if self._last is not None and self.env.agent_selection == agent:
            last = dict(zip(_STEP, self._last, strict=True))
            yield "last()", lambda: last
        yield from self._of_agent(seat)


class ParallelOutside(_Seats):
    """Read after every step: what it has returned to each seat."""

    form = "parallel"

    def begin(self, seed: int) -> None:
        observations, infos = self.env.reset(seed=seed)
        self._result: dict[str, Any] = {"observations": observations, "infos": infos}

    def choose(self, choose: Choose) -> Any:
        seen, infos = self._result["observations"], self._result["infos"]
        number = self.env.possible_agents.index
        return {agent: choose(seen[agent], infos.get(agent, {}), partial(self._legal, number(agent))) for agent in self.env.agents}

    def act(self, action: Any) -> None:
        names = ("observations", "rewards", "terminations", "truncations", "infos")
        self._result = dict(zip(names, self.env.step(action), strict=True))

    @property
    def over(self) -> bool:
        return not self.env.agents

    def outputs(self, seat: int | None) -> Iterator[Output]:
        agent = self.agent(seat)
        for name, value in self._result.items():
            yield f'{name}["{agent}"]', lambda value=value: value.get(agent, "nothing")  # type: ignore[misc]
        yield from self._of_agent(seat)

    def _legal(self, seat: int) -> Any:
        mask = super()._legal(seat)
        if not mask.any():
            mask[self.inside.game.wait] = 1
        return mask


class SingleOutside(Outside):
    """One seat against agents."""

    form = "single"
    _names: tuple[str, ...] = _STEP

    def begin(self, seed: int) -> None:
        observation, info = self.env.reset(seed=seed)
        self._result: dict[str, Any] = {self._names[0]: observation, self._names[-1]: info}

    def choose(self, choose: Choose) -> Any:
        return choose(self._result[self._names[0]], self._result[self._names[-1]], self._legal)

    def _legal(self) -> Any:
        masks = self.has("action_masks")
        return None if masks is None else masks()

    def act(self, action: Any) -> None:
        self._result = dict(zip(self._names, self.env.step(action), strict=True))

    @property
    def over(self) -> bool:
        return bool(self._result.get("terminated") or self._result.get("truncated"))

    def outputs(self, seat: int | None) -> Iterator[Output]:
        for name, value in self._result.items():
            yield name, lambda value=value: value  # type: ignore[misc]
        for name in ("action_masks", "view"):
            method = self.has(name)
            if callable(method) and (name != "view" or seat is None):
                yield f"{name}()", method
        yield from self._render()


class VectorOutside(SingleOutside):
    """Many games, one seat each."""

    form = "vector"
    _names: tuple[str, ...] = ("observations", "rewards", "terminations", "truncations", "infos")

    def begin(self, seed: int) -> None:
        super().begin(seed)
        self._ended = np.zeros(self.env.num_envs, dtype=np.bool_)
        self._after = 0

    def act(self, action: Any) -> None:
        done = self._done()
        if self.env.metadata.get("autoreset_mode") == AutoresetMode.DISABLED and done.any():
            observations, infos = self.env.reset(options={"reset_mask": done})
            self._result = {"observations": observations, "infos": infos}
        else:
            super().act(action)
        self._ended |= self._done()
        self._after += int(self._ended.all())

    def _done(self) -> Any:
        none = np.zeros(self.env.num_envs, dtype=np.bool_)
        return self._result.get("terminations", none) | self._result.get("truncations", none)

    @property
    def over(self) -> bool:
        return self._after > _AFTER


class StableOutside(VectorOutside):
    """Many games, one seat each, as stable-baselines3 has them."""

    form = "stable-baselines3 vector"
    reset_takes_seed = False
    _names = ("observations", "rewards", "dones", "infos")

    def begin(self, seed: int) -> None:
        self.env.seed(seed)
        self._result = {"observations": self.env.reset()}
        self._ended = np.zeros(self.env.num_envs, dtype=np.bool_)
        self._after = 0

    def choose(self, choose: Choose) -> Any:
        return choose(self._result["observations"], self._result.get("infos"), self._legal)

    def _legal(self) -> Any:
        masks = super()._legal()
        return np.stack(self.env.env_method("action_masks")) if masks is None or len(masks) != self.env.num_envs else masks

    def act(self, action: Any) -> None:
        SingleOutside.act(self, action)
        self._ended |= self._result["dones"]
        self._after += int(self._ended.all())


def outside(env: Any, insides: Sequence[Inside]) -> Outside:
    """`env` by its form. `TypeError` if it has none that is known."""
    if hasattr(env, "agent_selection") or (hasattr(env, "last") and hasattr(env, "observe")):
        return AECOutside(env, insides)
    if hasattr(env, "possible_agents"):
        return ParallelOutside(env, insides)
    if hasattr(env, "step_wait") and hasattr(env, "env_method"):
        return StableOutside(env, insides)
    if hasattr(env, "num_envs") and hasattr(env, "single_action_space"):
        return VectorOutside(env, insides)
    if hasattr(env, "action_space") and not hasattr(env, "num_envs"):
        return SingleOutside(env, insides)
    raise TypeError(f"{env!r} is of no form that can be audited: AEC, parallel, Gymnasium's Env or VectorEnv, VecEnv")
