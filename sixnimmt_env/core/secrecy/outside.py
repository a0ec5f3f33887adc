"""Environments of all forms as those have them who use them: moved by actions, and read seat by seat.

The form is that of the outermost layer: AEC or parallel as in PettingZoo, one environment or a vector of them as in Gymnasium, or a vector
as in stable-baselines3.
"""

from __future__ import annotations

import copy
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from gymnasium.spaces import Discrete, Space
from gymnasium.vector import AutoresetMode

from .otherworld import Inside, layers

Shape = tuple[int, ...] | None
Choose = Callable[[Any, Any, Callable[[], Any], Shape], Any]
"""(observation, info, legal actions of the environment inside, the shape that a mask has if there can be one) -> action."""

_PER_AGENT: Final = ("rewards", "terminations", "truncations", "infos")
_STEP: Final = ("observation", "reward", "terminated", "truncated", "info")
_FRESH: Final = 2**64  # NumPy makes dice without a seed from 128 random bits
_AFTER: Final = 3  # steps of a vector environment after the last match has ended


class Output(NamedTuple):
    """Something that can be read.

    Args:
        name: as an expression.
        read: reads it.
        returned: it is handed over. False: it lies open, and may change there.
    """

    name: str
    read: Callable[[], Any]
    returned: bool = True


class Begin(NamedTuple):
    """A reset, in place of an action; without a seed the next match of the stream that is running."""

    seed: int | None = None


class Outside(ABC):
    """One environment in its layers.

    Attributes:
        form: in words.
        shared: what is said to the seats goes through one hand, so that one seat might be told another's.
        reset_takes_seed: so that it can be told another one.
        own: of one of Gymnasium's forms around one of PettingZoo's, the seat that is played from outside.
    """

    form = ""
    shared = False
    reset_takes_seed = True

    def __init__(self, env: Any, insides: Sequence[Inside]) -> None:
        self.env = env
        self.insides = insides
        self.layers = layers(env)
        self.own: int | None = None
        spaces = [space for layer in self.layers for space in _parts_of(getattr(layer, "__dict__", {}))]
        self._fresh_dice = {entropy for entropy in map(_entropy, spaces) if entropy is not None and entropy >= _FRESH}

    @property
    def inside(self) -> Inside:
        """The first environment inside: the only one in PettingZoo's forms."""
        return self.insides[0]

    def do(self, action: Any) -> None:
        """Take an action, or begin. What the environment is given is a copy: it may keep it, or change it."""
        if isinstance(action, Begin):
            self.begin(action.seed)
        else:
            self.act(copy.deepcopy(action))

    @property
    def seats(self) -> list[int]:
        """The seats that can be read here, where they are told apart."""
        return []

    @abstractmethod
    def begin(self, seed: int | None) -> None:
        """Reset with `seed`, or without one."""

    def actors(self, action: Any) -> Collection[int]:
        """The seats that `action` decides for."""
        return () if self.own is None else (self.own,)

    @abstractmethod
    def illegal(self, action: Any, seat: int | None, rng: np.random.Generator) -> Any:
        """`action` with an illegal one of `seat` in it; None if it is not known what is illegal."""

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

    def mappings(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Public attributes of the layers around the environment inside that hold things by name, but for layers."""
        for layer in self.layers:
            if any(layer is inside.base for inside in self.insides):
                continue
            for name, value in getattr(layer, "__dict__", {}).items():
                is_read = isinstance(value, Mapping) and not isinstance(value, Space)
                if is_read and not name.startswith("_") and name not in _PER_AGENT:
                    yield name, partial(self._but_for_layers, value)

    def _but_for_layers(self, value: Mapping[Any, Any]) -> dict[Any, Any]:
        return {
            key: self._space(item) if isinstance(item, Space) else item
            for key, item in value.items()
            if not any(item is layer for layer in self.layers)
        }

    def _space(self, space: Any) -> Any:
        """A space in words and in all its parts, and its dice, unless they were thrown anew before anything was dealt."""
        parts = list(_parts_of(space))
        known = [
            {name: value for name, value in vars(part).items() if name != "_np_random" and not any(True for _ in _parts_of(value))}
            for part in parts
        ]
        dice = [None if _entropy(part) in self._fresh_dice else getattr(part, "_np_random", None) for part in parts]
        return {"words": str(space), "all": pickle.dumps(known), "dice": dice}

    def _spaces(self, *names: str) -> Iterator[Output]:
        for name in names:
            yield Output(name, lambda name=name: self._space(getattr(self.env, name)), False)  # type: ignore[misc]

    def has(self, name: str) -> Any:
        """The attribute of the outermost layer that has it, else None."""
        return next((getattr(layer, name) for layer in self.layers if getattr(layer, name, None) is not None), None)

    def _render(self) -> Iterator[Output]:
        if getattr(self.env, "render_mode", None) not in (None, "human"):
            yield Output("render()", self.env.render)


class _Seats(Outside):
    """What PettingZoo's forms share.

    Attributes:
        names: the agents outside by seat; None where a wrapper leaves out a seat.
    """

    shared = True

    def __init__(self, env: Any, insides: Sequence[Inside]) -> None:
        super().__init__(env, insides)
        agents, inside = list(env.possible_agents), list(getattr(self.inside.base, "possible_agents", ()))
        self.names = [agent if agent in agents else None for agent in inside] if set(agents) & set(inside) else agents
        self._agents = {*agents, *inside}

    @property
    def seats(self) -> list[int]:
        return [seat for seat, agent in enumerate(self.names) if agent is not None]

    def agent(self, seat: int | None) -> Any:
        return self.names[seat]  # type: ignore[index]

    def seat_of(self, agent: Any) -> int:
        return self.names.index(agent)

    def _for_agent(self, name: str, agent: Any, read: Callable[[], Any], returned: bool = True) -> Iterator[Output]:
        """What is there by agent: that of `agent`, and what is under names of nobody, which is for all."""
        yield Output(f'{name}["{agent}"]', lambda: _under(read(), agent), returned)
        yield Output(name, lambda: _under_no(read(), self._agents), returned)

    def _of_agent(self, seat: int | None) -> Iterator[Output]:
        agent = self.agent(seat)
        yield Output("agents", lambda: list(self.env.agents))
        view = self.has("view")
        if view is not None:
            yield Output(f'view("{agent}")', lambda: view(agent))
        for name in ("action_space", "observation_space"):
            yield Output(f'{name}("{agent}")', lambda name=name: self._space(getattr(self.env, name)(agent)), False)  # type: ignore[misc]
        if self._shown_to() == seat:
            yield from self._render()
        for name, read in self.mappings():
            yield from self._for_agent(name, agent, read, False)

    def _shape(self, agent: Any) -> Shape:
        return _shape_of(self.env.action_space(agent))

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

    def begin(self, seed: int | None) -> None:
        self._returned = self.env.reset(**_seeded(seed))
        self._look()

    def _look(self) -> None:
        self._last = self.env.last() if self.env.agents else None

    def choose(self, choose: Choose) -> Any:
        observation, _, terminated, truncated, info = self._last or (None, 0.0, True, True, {})
        if terminated or truncated:
            return None
        agent = self.env.agent_selection
        return choose(observation, info, lambda: self._legal(self.seat_of(agent)), self._shape(agent))

    def actors(self, action: Any) -> Collection[int]:
        return (self.seat_of(self.env.agent_selection),)

    def illegal(self, action: Any, seat: int | None, rng: np.random.Generator) -> Any:
        assert seat is not None
        return _illegal(action, self._legal(seat), rng)

    def act(self, action: Any) -> None:
        self._returned = self.env.step(action)
        self._look()

    @property
    def over(self) -> bool:
        return not self.env.agents

    def outputs(self, seat: int | None) -> Iterator[Output]:
        agent = self.agent(seat)
        yield Output("agent_selection", lambda: self.env.agent_selection)
        yield Output("what reset or step returned", lambda returned=self._returned: returned)  # type: ignore[misc]
        yield Output(f'observe("{agent}")', lambda: self.env.observe(agent))
        for name in _PER_AGENT:
            yield from self._for_agent(name, agent, partial(getattr, self.env, name))
        if self._last is not None and self.env.agent_selection == agent:
            last = dict(zip(_STEP, self._last, strict=True))
            yield Output("last()", lambda: last)
        yield from self._of_agent(seat)


class ParallelOutside(_Seats):
    """Read after every step: what it has returned to each seat."""

    form = "parallel"

    def begin(self, seed: int | None) -> None:
        observations, infos = self.env.reset(**_seeded(seed))
        self._result: dict[str, Any] = {"observations": observations, "infos": infos}

    def choose(self, choose: Choose) -> Any:
        seen, infos = self._result["observations"], self._result["infos"]
        return {
            agent: choose(seen[agent], infos.get(agent, {}), partial(self._legal, self.seat_of(agent)), self._shape(agent))
            for agent in self.env.agents
        }

    def actors(self, action: Any) -> Collection[int]:
        return [self.seat_of(agent) for agent in action if agent in self.names]

    def illegal(self, action: Any, seat: int | None, rng: np.random.Generator) -> Any:
        assert seat is not None
        agent = self.agent(seat)
        illegal = _illegal(action.get(agent), self._legal(seat), rng)
        return None if illegal is None else {**action, agent: illegal}

    def act(self, action: Any) -> None:
        names = ("observations", "rewards", "terminations", "truncations", "infos")
        self._result = dict(zip(names, self.env.step(action), strict=True))

    @property
    def over(self) -> bool:
        return not self.env.agents

    def outputs(self, seat: int | None) -> Iterator[Output]:
        agent = self.agent(seat)
        for name, value in self._result.items():
            yield from self._for_agent(name, agent, lambda value=value: value)  # type: ignore[misc]
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

    def begin(self, seed: int | None) -> None:
        observation, info = self.env.reset(**_seeded(seed))
        self._result: dict[str, Any] = {self._names[0]: observation, self._names[-1]: info}

    def choose(self, choose: Choose) -> Any:
        return choose(self._result[self._names[0]], self._result.get(self._names[-1]), self._legal, self._shape())

    def illegal(self, action: Any, seat: int | None, rng: np.random.Generator) -> Any:
        mask = self._legal()
        return None if mask is None or np.shape(mask) != self._shape() else _illegal(action, mask, rng)

    def _shape(self) -> Shape:
        return _shape_of(self.env.action_space)

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
            yield Output(name, lambda value=value: value)  # type: ignore[misc]
        for name in ("action_masks", "view"):
            method = self.has(name)
            if callable(method) and (name != "view" or seat is None):
                yield Output(f"{name}()", method)
        yield from self._render()
        yield from self._spaces("action_space", "observation_space")
        for name, read in self.mappings():
            yield Output(name, read, False)


class VectorOutside(SingleOutside):
    """Many games, one seat each."""

    form = "vector"
    _names: tuple[str, ...] = ("observations", "rewards", "terminations", "truncations", "infos")

    def begin(self, seed: int | None) -> None:
        super().begin(seed)
        self._ended = np.zeros(self.env.num_envs, dtype=np.bool_)
        self._after = 0

    def illegal(self, action: Any, seat: int | None, rng: np.random.Generator) -> Any:
        masks = self._legal()
        if masks is None or np.shape(masks) != self._shape() or self._done().any():
            return None
        place = int(rng.integers(self.env.num_envs))
        illegal = _illegal(action[place], masks[place], rng)
        return None if illegal is None else np.where(np.arange(len(action)) == place, illegal, action)

    def _shape(self) -> Shape:
        one = _shape_of(self.env.single_action_space)
        return None if one is None else (self.env.num_envs, *one)

    def outputs(self, seat: int | None) -> Iterator[Output]:
        yield from super().outputs(seat)
        yield from self._spaces("single_action_space", "single_observation_space")

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

    def begin(self, seed: int | None) -> None:
        if seed is not None:
            self.env.seed(seed)
        self._result = {"observations": self.env.reset()}
        self._ended = np.zeros(self.env.num_envs, dtype=np.bool_)
        self._after = 0

    def outputs(self, seat: int | None) -> Iterator[Output]:
        yield from SingleOutside.outputs(self, seat)
        yield Output("reset_infos", lambda: getattr(self.env, "reset_infos", None), False)

    def _done(self) -> Any:
        return np.zeros(self.env.num_envs, dtype=np.bool_)  # who is over has been reset

    def _shape(self) -> Shape:
        one = _shape_of(self.env.action_space)
        return None if one is None else (self.env.num_envs, *one)

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


def _seeded(seed: int | None) -> dict[str, int]:
    return {} if seed is None else {"seed": seed}


def _under(value: Any, agent: Any) -> Any:
    return value.get(agent, "nothing") if isinstance(value, Mapping) else "nothing"


def _under_no(value: Any, agents: Collection[Any]) -> Any:
    return {key: item for key, item in value.items() if key not in agents} if isinstance(value, Mapping) else value


def _parts_of(value: Any) -> Iterator[Space[Any]]:
    """The spaces in a space or a container, the outer ones first."""
    if isinstance(value, Space):
        yield value
        value = vars(value)
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    for item in items:
        if isinstance(item, (Space, Mapping, list, tuple)):
            yield from _parts_of(item)


def _entropy(space: Space[Any]) -> Any:
    """What the dice of a space were made from; None if it has none, or of a kind of their own."""
    generator = getattr(space, "_np_random", None)
    entropy = getattr(getattr(getattr(generator, "bit_generator", None), "seed_seq", None), "entropy", None)
    return entropy if isinstance(entropy, int) else None


def _shape_of(space: Any) -> Shape:
    """The shape of a mask of the actions; None where these are not numbers from 0 on."""
    return (int(space.n),) if isinstance(space, Discrete) and space.start == 0 else None


def _illegal(action: Any, mask: Any, rng: np.random.Generator) -> int | None:
    """An action that is not legal, in place of one that is; None if that was none, so that actions do not seem to be those of the mask."""
    if not isinstance(action, (int, np.integer)) or not 0 <= action < len(mask) or not mask[action] or np.all(mask):
        return None
    return int(rng.choice(np.flatnonzero(np.asarray(mask) == 0)))
