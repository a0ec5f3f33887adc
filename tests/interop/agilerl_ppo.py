"""AgileRL's PPO on the vector form: it takes the masks from the infos, and refuses them in the observation.

With autoreset SameStep there is a mask in every step. (AgileRL's IPPO, for the parallel form, masks when it plays but not when it learns.)
Its plain network learns this game slowly.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import torch
from agilerl.algorithms import PPO
from agilerl.rollouts.on_policy import collect_rollouts
from gymnasium import spaces
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from sixnimmt_env.games.sixnimmt.features import COMPACT_SIZE

NUM_ENVS, NUM_STEPS = 64, 32


class Compact(VectorWrapper[Any, Any, Any, Any]):
    """The compact vector instead of the Dict, and small rewards; Gymnasium's own wrapper does not take autoreset SameStep."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        self.single_observation_space = spaces.Box(0.0, 1.0, (COMPACT_SIZE,))
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        seen, infos = self.env.reset(**options)
        return seen["observation"][:, :COMPACT_SIZE], infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        seen, rewards, *rest = self.env.step(actions)
        return seen["observation"][:, :COMPACT_SIZE], 0.1 * rewards, *rest


def make() -> VectorEnv[Any, Any, Any]:
    return Compact(gymnasium.make_vec("sixnimmt_env/SixNimmt-v0", num_envs=NUM_ENVS, opponents=["random"], autoreset_mode="SameStep"))


def main(total_steps: int = 60_000) -> float:
    """Train, and return the mean bull heads of the last matches. An illegal action would raise."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    games = make()
    agent = PPO(
        games.single_observation_space,
        games.single_action_space,
        net_config={"encoder_config": {"hidden_size": [128, 128]}},
        num_envs=NUM_ENVS,
        learn_step=NUM_ENVS * NUM_STEPS,
        batch_size=512,
        lr=1e-3,
        gamma=1.0,
    )
    going: dict[str, Any] = {}
    for _ in range(total_steps // (NUM_ENVS * NUM_STEPS)):
        scores, *rest = collect_rollouts(agent, games, n_steps=NUM_STEPS, **going)
        going = dict(zip(("last_obs", "last_done", "last_scores", "last_info"), rest, strict=True))
        agent.learn()
    heads = -10.0 * sum(map(float, scores)) / len(scores)
    print(f"{heads:.2f} bull heads a match against random, while it explores")
    return heads


if __name__ == "__main__":
    assert main() < 15.5, "any legal action at random costs 16.2"
