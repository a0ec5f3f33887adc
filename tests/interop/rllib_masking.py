"""RLlib's own action-masking module on the single-agent form: it asks for the vector under the key "observations".

Its plain network learns this game slowly; a module around `training.network.Scorer`, as in rllib_ppo.py, needs a tenth of the decisions.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import ray
import torch
from gymnasium import spaces
from gymnasium.wrappers import TransformObservation
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

from sixnimmt_env.games.sixnimmt.features import COMPACT_SIZE


def make(options: dict[str, Any]) -> gymnasium.Env[Any, Any]:
    env = gymnasium.make("sixnimmt_env/SixNimmt-v0", **options)
    compact = spaces.Box(0.0, 1.0, (COMPACT_SIZE,))
    space = spaces.Dict({"observations": compact, "action_mask": env.observation_space["action_mask"]})
    return TransformObservation(
        env, lambda seen: {"observations": seen["observation"][:COMPACT_SIZE], "action_mask": seen["action_mask"]}, space
    )


def main(total_steps: int = 20_000) -> float:
    """Train, and return the mean bull heads a match of the last iteration. An illegal action would raise."""
    torch.set_num_threads(1)
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    register_env("sixnimmt_masking", make)
    batch = min(2_000, total_steps)
    spec = RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config=DefaultModelConfig(fcnet_hiddens=[64, 64]))
    config = (
        PPOConfig()
        .environment("sixnimmt_masking", env_config={"opponents": ["random"]})
        .env_runners(num_env_runners=0)
        .rl_module(rl_module_spec=spec)
        .training(lr=3e-3, gamma=1.0, train_batch_size=batch, minibatch_size=250, num_epochs=4, vf_loss_coeff=0.01, vf_clip_param=1e3)
        .debugging(seed=0, log_level="ERROR")
    )
    learner = config.build_algo()
    for _ in range(total_steps // batch):
        result = learner.train()
    learner.stop()
    ray.shutdown()
    heads = -float(result["env_runners"]["episode_return_mean"])
    print(f"{heads:.2f} bull heads a match against random, while it explores")
    return heads


if __name__ == "__main__":
    assert main() < 15.5, "any legal action at random costs 16.2"
