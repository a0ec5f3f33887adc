"""What holds for every form alike: AEC, parallel, one seat, many seats with each way to go on after the end."""

from __future__ import annotations

import copy
import itertools
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from sixnimmt_env import sixnimmt_v0
from tests.envs.playing import KINDS, MATCH, ROUND, Options, name_of, plain

SEAT: Options = {"opponents": ["greedy", "uniform"]}


class Form(ABC):
    """One way to play, made alike: every step answers with all that was returned, and costs are known at the end."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.last: Any = None
        self.returned = 0.0  # rewards since the reset, of all that are paid

    @abstractmethod
    def reset(self, seed: int | None) -> Any: ...

    @abstractmethod
    def step(self, number: int) -> Any:
        """Act legally; which of the legal actions depends on `number`. None when the match is over."""

    @abstractmethod
    def spaces(self) -> list[Any]: ...

    @abstractmethod
    def observations(self) -> list[tuple[Any, Any]]:
        """(space, observation) of everybody now."""

    def totals(self) -> Any:
        """(10,) bull heads of the match, from where the game lies."""
        states = self.env._states if hasattr(self.env, "_states") else self.env._games.states
        return self.env.game.costs(states)[0]


def chosen(mask: Any, number: int) -> int:
    legal = np.flatnonzero(mask)
    return int(legal[number % len(legal)])


class AEC(Form):
    def reset(self, seed: int | None) -> Any:
        self.returned = 0.0
        self.env.reset(seed=seed)
        return self.env.last()

    def step(self, number: int) -> Any:
        env = self.env
        if not env.agents or env.terminations[env.agent_selection]:
            return None
        env.step(chosen(env.infos[env.agent_selection]["action_mask"], number))
        self.returned += sum(env.rewards.values())
        return [env.agent_selection, env.last(), env.rewards, env.terminations, env.truncations, env.infos]

    def spaces(self) -> list[Any]:
        return [space(agent) for agent in self.env.possible_agents for space in (self.env.observation_space, self.env.action_space)]

    def observations(self) -> list[tuple[Any, Any]]:
        return [(self.env.observation_space(agent), self.env.observe(agent)) for agent in self.env.possible_agents]


class Parallel(Form):
    def reset(self, seed: int | None) -> Any:
        self.returned = 0.0
        self.last, infos = self.env.reset(seed=seed)
        return self.last, infos

    def step(self, number: int) -> Any:
        if not self.env.agents:
            return None
        result = self.env.step({agent: chosen(self.last[agent]["action_mask"], number + i) for i, agent in enumerate(self.env.agents)})
        self.last = result[0]
        self.returned += sum(result[1].values())
        return result

    def spaces(self) -> list[Any]:
        return [space(agent) for agent in self.env.possible_agents for space in (self.env.observation_space, self.env.action_space)]

    def observations(self) -> list[tuple[Any, Any]]:
        return [(self.env.observation_space(agent), self.last[agent]) for agent in self.env.possible_agents]


class Single(Form):
    seat: int

    def reset(self, seed: int | None) -> Any:
        self.returned = 0.0
        self.last, info = self.env.reset(seed=seed)
        self.seat = info["seat"]
        return self.last, info

    def step(self, number: int) -> Any:
        if not self.last["action_mask"].any():
            return None
        result = self.env.step(chosen(self.last["action_mask"], number))
        self.last = result[0]
        self.returned += result[1]
        return result

    def spaces(self) -> list[Any]:
        return [self.env.observation_space, self.env.action_space]

    def observations(self) -> list[tuple[Any, Any]]:
        return [(self.env.observation_space, self.last)]


class Vector(Form):
    """With `Disabled` the matches that are over are dealt anew by hand."""

    STEPS = 45

    def reset(self, seed: int | None) -> Any:
        self.steps = 0
        self.last, infos = self.env.reset(seed=seed)
        return self.last, infos

    def step(self, number: int) -> Any:
        self.steps += 1
        if self.steps > self.STEPS:
            return None
        masks = self.last["action_mask"]
        actions = np.array([chosen(mask, number + i) if mask.any() else 0 for i, mask in enumerate(masks)])
        result = self.env.step(actions)
        self.last, ended = result[0], result[2]
        if self.env.autoreset_mode == AutoresetMode.DISABLED and ended.any():
            self.last, infos = self.env.reset(options={"reset_mask": ended.copy()})
            return result, self.last, infos
        return result

    def spaces(self) -> list[Any]:
        env = self.env
        return [env.single_observation_space, env.single_action_space, env.observation_space, env.action_space]

    def observations(self) -> list[tuple[Any, Any]]:
        env = self.env
        return [(env.observation_space, self.last)] + [
            (env.single_observation_space, {name: values[i] for name, values in self.last.items()}) for i in range(env.num_envs)
        ]


def opponents_for(options: Options) -> list[str]:
    return [("greedy", "uniform")[seat % 2] for seat in range(options["num_players"] - 1)]


FORMS: dict[str, Callable[[Options], Form]] = {
    "aec": lambda options: AEC(sixnimmt_v0.env(**options)),
    "parallel": lambda options: Parallel(sixnimmt_v0.parallel_env(**options)),
    "single": lambda options: Single(sixnimmt_v0.gym_env(**options, opponents=opponents_for(options))),
    **{
        f"vector {mode.value}": lambda options, mode=mode: Vector(
            sixnimmt_v0.gym_vector_env(**options, opponents=opponents_for(options), num_envs=3, autoreset_mode=mode)
        )
        for mode in AutoresetMode
    },
}
MATRIX: list[Options] = [{"num_players": n, **kind, **form} for n, kind, form in itertools.product((2, 5, 10), KINDS, (ROUND, MATCH))]
every_form = pytest.mark.parametrize("form", FORMS)
every_variant = pytest.mark.parametrize("options", MATRIX, ids=name_of)


def played(form: Form, seed: int | None, offset: int = 0) -> Iterator[Any]:
    """All that is returned from a reset to the end."""
    yield plain(form.reset(seed))
    for number in itertools.count(offset):
        result = form.step(number * number)
        if result is None:
            return
        yield plain(result)


@every_form
@every_variant
def test_equal_seeds_and_actions_are_answered_equally(form: str, options: Options) -> None:
    one, other = FORMS[form](options), FORMS[form](options)
    assert list(played(one, 7)) == list(played(other, 7))
    assert list(played(one, None)) == list(played(other, None)), "without a seed the stream goes on"
    assert list(played(one, 7, offset=1)) == list(played(other, 7, offset=1)), "whatever was played before"
    assert next(played(one, 7)) != next(played(one, 8)) or options["deck"] == "logic"


@every_form
@every_variant
def test_spaces_are_the_same_objects_and_hold_what_is_observed(form: str, options: Options) -> None:
    one = FORMS[form](options)
    before = one.spaces()
    for _ in played(one, 3):
        for space, observation in one.observations():
            assert observation in space
            assert observation["observation"].dtype == np.float32
            assert observation["action_mask"].dtype == np.int8
    assert all(space is first for space, first in zip(one.spaces(), before, strict=True))


@pytest.mark.parametrize("form", ["aec", "parallel", "single"])
@every_variant
def test_the_rewards_of_a_match_are_minus_its_penalties(form: str, options: Options) -> None:
    one = FORMS[form](options)
    for _ in played(one, 5):
        pass
    totals = one.totals()
    owed = totals.sum() if form != "single" else totals[one.seat]
    assert one.returned == -int(owed)


COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
}


@pytest.mark.parametrize("copied", COPIES)
@every_form
@pytest.mark.parametrize(
    "options", [options for options in MATRIX if options["num_players"] == 5 and options["rounds"] is None], ids=name_of
)
def test_copies_in_the_middle_go_on_alike_and_apart(form: str, options: Options, copied: str) -> None:
    for stop in (0, 1, 7, 30):  # 7: some seats of the AEC form have picked
        one = FORMS[form](options)
        one.reset(6)
        for number in range(stop):
            one.step(number)
        twin = copy.copy(one)
        twin.env = COPIES[copied](one.env)
        ahead = [plain(one.step(number)) for number in range(20)]
        assert [plain(twin.step(number)) for number in range(20)] == ahead
        assert plain(one.reset(None)) == plain(twin.reset(None))


@every_form
def test_copies_made_before_the_first_reset_play_alike(form: str) -> None:
    one = FORMS[form](MATRIX[0])
    twin = copy.copy(one)
    twin.env = pickle.loads(pickle.dumps(one.env))
    assert list(played(one, 1)) == list(played(twin, 1))
