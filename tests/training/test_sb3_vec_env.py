"""The vector form for stable-baselines3, against the vector form itself."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import VecMonitor

from sixnimmt_env.envs.vector import SeatVectorEnv
from sixnimmt_env.games import sixnimmt
from training.sb3_vec_env import SB3VecEnv

COUNT = 5


def games(mode: str = "SameStep", **options: Any) -> SeatVectorEnv:
    return SeatVectorEnv(sixnimmt.GAME, sixnimmt.Rules(num_players=3, hand_size=3), COUNT, ["greedy"], autoreset_mode=mode, **options)


def chosen(masks: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    return (masks * rng.random(masks.shape)).argmax(axis=1)


@pytest.mark.parametrize("illegal_action", ["raise", "terminate"])
def test_it_says_what_the_vector_form_says(illegal_action: Any) -> None:
    ours, theirs = SB3VecEnv(games(illegal_action=illegal_action)), games(illegal_action=illegal_action)
    ours.seed(3)
    rng = np.random.default_rng(0)
    observations, (seen, infos) = ours.reset(), theirs.reset(seed=3)
    assert [info["seat"] for info in ours.reset_infos] == infos["seat"].tolist()
    kept: list[tuple[NDArray[Any], NDArray[Any]]] = []
    ended = forfeited = 0
    for step in range(40):
        np.testing.assert_array_equal(observations, seen["observation"])
        np.testing.assert_array_equal(ours.action_masks(), seen["action_mask"] == 1)
        kept += [(observations, observations.copy()), (ours.action_masks(), ours.action_masks().copy())]
        actions = chosen(ours.action_masks(), rng)
        if illegal_action == "terminate" and step % 7 == 0:
            actions[1] = 112
        observations, rewards, dones, listed = ours.step(actions)
        seen, expected, terminated, _, infos = theirs.step(actions)
        assert rewards.dtype == observations.dtype == np.float32
        np.testing.assert_array_equal(rewards, expected)
        np.testing.assert_array_equal(dones, terminated)
        for i, info in enumerate(listed):
            assert info["seat"] == infos["seat"][i]
            assert ("terminal_observation" in info) == dones[i]
            assert ("final_info" in info) == dones[i]
            assert "illegal_action" not in info  # it ends the match, so that it is said in its last info
            if dones[i]:
                np.testing.assert_array_equal(info["terminal_observation"], infos["final_obs"][i]["observation"])
                assert info["final_info"]["seat"] == infos["final_info"]["seat"][i]
                assert info["TimeLimit.truncated"] is False
                ended += 1
        forfeited += bool(listed[1].get("final_info", {}).get("illegal_action"))
    assert ended > COUNT
    assert forfeited == (6 if illegal_action == "terminate" else 0)
    for given, copy in kept:
        np.testing.assert_array_equal(given, copy)


def test_seeds_hold_for_one_reset() -> None:
    env = SB3VecEnv(games())
    env.seed(3)
    first, going_on = env.reset(), env.reset()
    assert not np.array_equal(first, going_on)
    env.seed(3)
    np.testing.assert_array_equal(env.reset(), first)


def test_what_stable_baselines3_asks_for() -> None:
    env = SB3VecEnv(games())
    with pytest.raises(RuntimeError, match="call reset"):
        env.action_masks()
    env.reset()
    masks = env.action_masks()
    assert is_masking_supported(env)
    np.testing.assert_array_equal(get_action_masks(env), masks)
    np.testing.assert_array_equal(get_action_masks(VecMonitor(env)), masks)
    np.testing.assert_array_equal(next(ask() for ask in env.get_attr("action_masks", 0)), masks)
    np.testing.assert_array_equal(env.env_method("action_masks", indices=[2, 0]), masks[[2, 0]])
    assert env.get_attr("render_mode") == [None] * COUNT
    assert env.get_attr("rules", [1, 2]) == [env.env.rules] * 2  # type: ignore[attr-defined]
    assert not env.has_attr("nonsense")
    assert env.env_is_wrapped(VecMonitor) == [False] * COUNT
    with pytest.raises(AttributeError, match="have no method 'nonsense'"):
        env.env_method("nonsense")
    with pytest.raises(NotImplementedError, match="no attributes of their own"):
        env.set_attr("rules", None)
    env.close()


def test_other_environments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"needs autoreset mode SameStep, not AutoresetMode.NEXT_STEP: .* autoreset_mode=\"SameStep\""):
        SB3VecEnv(games("NextStep"))
    with pytest.raises(ValueError, match="must be a Dict with 'observation' and 'mask', not Dict"):
        SB3VecEnv(games(), action_mask_key="mask")
    cart = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")], autoreset_mode=AutoresetMode.SAME_STEP)
    with pytest.raises(ValueError, match="must be a Dict with 'observation' and 'action_mask', not Box"):
        SB3VecEnv(cart)


class Counter(gymnasium.Env[Any, Any]):
    """Counts to three, in an array of its own; then it is cut short."""

    observation_space = spaces.Dict({"observation": spaces.Box(0, 9, (1,), np.float32), "action_mask": spaces.Box(0, 1, (2,), np.int8)})
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.seen = {"observation": np.zeros(1, np.float32), "action_mask": np.array([0, 1], np.int8)}
        return self.seen, {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.seen["observation"] += 1
        return self.seen, 1.0, False, bool(self.seen["observation"][0] == 3), {}


def test_any_vector_environment_that_is_cut_short() -> None:
    env = SB3VecEnv(SyncVectorEnv([Counter] * 2, autoreset_mode=AutoresetMode.SAME_STEP, copy=False))
    shown = [env.reset()]
    for _ in range(3):
        observations, rewards, dones, infos = env.step(np.ones(2, dtype=np.int64))
        shown.append(observations)
        np.testing.assert_array_equal(rewards, np.ones(2, np.float32))
    assert [one[0, 0] for one in shown] == [0, 1, 2, 0]
    assert dones.all()
    assert infos[0]["TimeLimit.truncated"] is True
    assert infos[1]["terminal_observation"] == 3
    assert env.action_masks().tolist() == [[False, True]] * 2


def test_maskable_ppo_learns_on_it() -> None:
    model = MaskablePPO("MlpPolicy", VecMonitor(SB3VecEnv(games())), n_steps=8, batch_size=20, n_epochs=1, seed=1)
    model.learn(80)  # an illegal action would raise
    assert model.num_timesteps == 80
    assert len(model.ep_info_buffer or []) > 0
