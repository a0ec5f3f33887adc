"""MaskablePPO of sb3-contrib on the vector form: 64 games in one batched engine, through `training.sb3_vec_env.SB3VecEnv`.

Training goes as with the single-agent form, several times as fast.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

import sixnimmt_env  # noqa: F401 - registers the id
from training.network import Shape
from training.ppo import NetworkPolicy
from training.sb3_vec_env import SB3VecEnv


def make(num_envs: int = 64) -> VecEnv:
    games = gymnasium.make_vec("sixnimmt_env/SixNimmt-v0", num_envs=num_envs, opponents=["random"], autoreset_mode="SameStep")
    return VecMonitor(SB3VecEnv(games))


def main(total_steps: int = 100_000) -> float:
    """Train, and return the mean bull heads a match. An illegal action would raise."""
    torch.set_num_threads(1)
    settings: dict[str, Any] = {"n_steps": 32, "batch_size": 512, "n_epochs": 2, "gamma": 1.0, "learning_rate": 1e-3}
    model = MaskablePPO(NetworkPolicy, make(), policy_kwargs={"shape": Shape()}, seed=0, **settings)
    model.learn(total_steps)
    mean, _ = evaluate_policy(model, make(), n_eval_episodes=640)
    print(f"{-mean:.2f} bull heads a match against random")
    return -float(mean)


if __name__ == "__main__":
    assert main() < 8.5, "random itself takes 12.1"
