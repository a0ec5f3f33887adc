"""What the learner is given tells nothing that its seat may not know, in the project's own VecEnv and in others around its environments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnvWrapper, VecMonitor, VecNormalize

from sixnimmt_env import agents, sixnimmt_v0
from sixnimmt_env.core import LeakError, audit
from sixnimmt_env.envs.seats import SeatGames
from sixnimmt_env.games.sixnimmt import GAME, Rules
from tests.training.small import PLAIN
from training.sb3_vec_env import SB3VecEnv
from training.vec_env import MatchVecEnv

RULES = Rules(num_players=3, hand_size=5, professional=True)


def match_vec_env(*names: str) -> MatchVecEnv:
    seated = [agents.make(name) for name in names or ("greedy", "random")]
    return MatchVecEnv(SeatGames(GAME, RULES, seated, [1.0] * len(seated), 4, "random", skip_forced=True), PLAIN)


def sb3_vec_env() -> SB3VecEnv:
    return SB3VecEnv(sixnimmt_v0.gym_vector_env(num_envs=3, hand_size=4, autoreset_mode="SameStep", opponents=["greedy"]))


def dummy_vec_env() -> DummyVecEnv:
    return DummyVecEnv([lambda: sixnimmt_v0.gym_env(hand_size=4)] * 2)


MAKERS: list[Callable[[], Any]] = [
    match_vec_env,
    sb3_vec_env,
    dummy_vec_env,
    lambda: VecMonitor(sb3_vec_env()),
    lambda: VecNormalize(match_vec_env()),
]


@pytest.mark.parametrize("make_env", MAKERS)
def test_nothing_leaks_to_the_learner(make_env: Callable[[], Any]) -> None:
    report = audit(make_env, ignore=['["t"]'])
    assert report.form == "stable-baselines3 vector"
    assert report.hidden["hands"] > 3
    assert report.agents > 20
    assert report.outputs["observations"] == report.moments + report.illegal
    assert report.illegal > 0


class Leaky(VecEnvWrapper):
    def reset(self) -> Any:
        return self.venv.reset()

    def step_wait(self) -> Any:
        seen, rewards, dones, infos = self.venv.step_wait()
        return seen, rewards + self.venv.games.states["hands"].sum() % 7, dones, infos


class LeakyLater(VecEnvWrapper):
    """From the second reset on the infos of a reset hold more."""

    resets = 0

    def reset(self) -> Any:
        seen = self.venv.reset()
        self.resets += 1
        self.reset_infos = [{"sum": int(self.venv.games.states["hands"].sum() % 1000) if self.resets > 1 else 0}] * self.num_envs
        return seen

    def step_wait(self) -> Any:
        return self.venv.step_wait()


def test_a_leak_in_the_infos_of_a_second_reset_is_found() -> None:
    with pytest.raises(LeakError) as caught:
        audit(lambda: LeakyLater(match_vec_env()), ignore=['["t"]'])
    assert caught.value.output == 'reset_infos[0]["sum"]'


def test_a_policy_may_use_one_array_for_all_its_actions() -> None:
    actions = np.zeros(2, dtype=np.int64)

    def policy(observations: Any, infos: Any) -> Any:
        actions[:] = observations["action_mask"].argmax(axis=1)
        return actions

    assert audit(dummy_vec_env, policy=policy, ignore=['["t"]']).comparisons > 50


def test_a_leak_to_the_learner_is_found() -> None:
    with pytest.raises(LeakError) as caught:
        audit(lambda: Leaky(match_vec_env()), ignore=['["t"]'])
    assert caught.value.output == "rewards[0]"
