"""MaskablePPO of sb3-contrib on the single-agent form: it finds the environment's `action_masks()` through Gymnasium's wrappers.

The policy sees the vector of the observation only, since one for Dict observations would feed the mask to its network. It is the project's
own, which reads the hand card by card; "MlpPolicy" runs as well, but learns far more slowly.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import torch
from gymnasium.wrappers import TransformObservation
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

import sixnimmt_env  # noqa: F401 - registers the id
from training.network import Shape
from training.ppo import NetworkPolicy


def make() -> gymnasium.Env[Any, Any]:
    env = gymnasium.make("sixnimmt_env/SixNimmt-v0", opponents=["random"])
    return Monitor(TransformObservation(env, lambda seen: seen["observation"], env.observation_space["observation"]))


def main(total_steps: int = 25_000) -> float:
    """Train, and return the mean bull heads a match. An illegal action would raise."""
    torch.set_num_threads(1)
    settings: dict[str, Any] = {"n_steps": 1024, "batch_size": 256, "n_epochs": 4, "gamma": 1.0, "learning_rate": 1e-3}
    model = MaskablePPO(NetworkPolicy, make(), policy_kwargs={"shape": Shape()}, seed=0, **settings)
    model.learn(total_steps)
    # sb3-contrib's evaluation; that of stable-baselines3 gives no masks.
    mean, _ = evaluate_policy(model, make(), n_eval_episodes=200)
    print(f"{-mean:.2f} bull heads a match against random")
    return -float(mean)


if __name__ == "__main__":
    assert main() < 11.0, "random itself takes 12.1"
