"""PPO of stable-baselines3, which knows no masks: actions are numbered by their rank among the legal ones, so that all are legal.

Action k plays the k-th card of the hand, lowest first, which is how the observation lists them: this suits a plain network, and so does
the compact part of the observation. Where fewer actions are legal, the last of them is meant. (`illegal_action="replace"` needs no wrapper,
but nearly every choice of an untrained policy is then replaced.)
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.wrappers import TransformAction, TransformObservation
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

from sixnimmt_env.games.sixnimmt.features import COMPACT_SIZE
from sixnimmt_env.games.sixnimmt.rules import MAX_HAND


def make() -> gymnasium.Env[Any, Any]:
    env: gymnasium.Env[Any, Any] = gymnasium.make("sixnimmt_env/SixNimmt-v0", opponents=["random"])
    masks = env.get_wrapper_attr("action_masks")

    def ranked(rank: int) -> int:
        legal = np.flatnonzero(masks())
        return int(legal[min(rank, len(legal) - 1)])

    env = TransformObservation(env, lambda seen: seen["observation"][:COMPACT_SIZE], spaces.Box(0.0, 1.0, (COMPACT_SIZE,)))
    return TransformAction(env, ranked, spaces.Discrete(MAX_HAND))


def main(total_steps: int = 60_000) -> float:
    """Train, and return the mean bull heads a match. An illegal action would raise."""
    torch.set_num_threads(1)
    settings: dict[str, Any] = {
        "n_steps": 256,
        "batch_size": 512,
        "n_epochs": 4,
        "gamma": 1.0,
        "learning_rate": 3e-3,
        "vf_coef": 0.01,
        "max_grad_norm": 5.0,
    }
    model = PPO("MlpPolicy", make_vec_env(make, n_envs=8), seed=0, device="cpu", **settings)
    model.learn(total_steps)
    mean, _ = evaluate_policy(model, make_vec_env(make, n_envs=8), n_eval_episodes=200)
    print(f"{-mean:.2f} bull heads a match against random")
    return -float(mean)


if __name__ == "__main__":
    assert main() < 10.5, "random itself takes 12.1"
