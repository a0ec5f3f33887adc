"""RLlib's PPO (the new API stack) on the parallel form: self-play, one network for all seats, masked in a module of a few lines.

A module sees the whole Dict observation, and masks its logits by it; nothing has to be renamed. RLlib's check of environments is off, since
it acts without masks, and an illegal action raises.
"""

from __future__ import annotations

from typing import Any

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
from ray.tune.registry import register_env

from sixnimmt_env import agents, sixnimmt_v0
from sixnimmt_env.arena import against_field
from sixnimmt_env.games.sixnimmt import GAME, Rules
from training.network import Scorer, Shape
from training.policy import LearnedAgent, Policy

MASKED = -1e8


class MaskedModule(TorchRLModule, ValueFunctionAPI):
    def setup(self) -> None:
        self.network = Scorer(Shape())

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        logits, _ = self.network(batch[Columns.OBS]["observation"])
        return {Columns.ACTION_DIST_INPUTS: logits.masked_fill(batch[Columns.OBS]["action_mask"] == 0, MASKED)}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        return self.network(batch[Columns.OBS]["observation"])[1]


def main(total_steps: int = 12_000) -> float:
    """Train, and return the mean bull heads a match against random. An illegal action would raise."""
    torch.set_num_threads(1)
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    register_env("sixnimmt", lambda options: ParallelPettingZooEnv(sixnimmt_v0.parallel_env(**options)))
    config = (
        PPOConfig()
        .environment("sixnimmt", env_config={"num_players": 4}, disable_env_checking=True)
        .env_runners(num_env_runners=0)
        .multi_agent(policies={"seat"}, policy_mapping_fn=lambda agent, *_, **__: "seat")
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={"seat": RLModuleSpec(module_class=MaskedModule)}))
        .training(lr=1e-3, gamma=1.0, train_batch_size=500, minibatch_size=250, num_epochs=4, vf_loss_coeff=0.01, vf_clip_param=1e3)
        .debugging(seed=0, log_level="ERROR")
    )
    learner = config.build_algo()
    for _ in range(max(1, total_steps // 2_000)):  # 500 steps of the table are 2000 decisions
        learner.train()

    network = learner.get_module("seat").network.eval()
    result = against_field(GAME, Rules(), LearnedAgent(Policy(GAME, Rules(), network, {}), "learned"), agents.make("random", seed=0), 2000)
    learner.stop()
    ray.shutdown()
    print(f"{result.mean:.2f} ± {result.se:.2f} bull heads a match against random")
    return result.mean


if __name__ == "__main__":
    assert main() < 10.0, "random itself takes 12.1"
