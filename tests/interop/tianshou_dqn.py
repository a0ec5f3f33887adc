"""Tianshou's DQN on the single-agent form: it masks by itself, once the observation's parts are called "obs" and "mask"."""

from __future__ import annotations

from typing import Any

import gymnasium
import torch
from gymnasium import spaces
from gymnasium.wrappers import TransformObservation
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from torch import Tensor, nn

import sixnimmt_env  # noqa: F401 - registers the id
from sixnimmt_env import agents
from sixnimmt_env.arena import against_field
from sixnimmt_env.games.sixnimmt import GAME, Rules
from training.network import Scorer, Shape
from training.policy import LearnedAgent, Policy


class Values(nn.Module):
    """The network's logits as the values of actions, from and for Tianshou."""

    def __init__(self, network: Scorer) -> None:
        super().__init__()
        self.network = network

    def forward(self, seen: Any, state: Any = None, info: Any = None) -> tuple[Tensor, Any]:
        return self.network(torch.as_tensor(seen))[0], state


def make() -> gymnasium.Env[Any, Any]:
    env = gymnasium.make("sixnimmt_env/SixNimmt-v0", opponents=["random"])
    names = {"obs": "observation", "mask": "action_mask"}
    space = spaces.Dict({name: env.observation_space[old] for name, old in names.items()})
    return TransformObservation(env, lambda seen: {name: seen[old] for name, old in names.items()}, space)


def main(total_steps: int = 5_000) -> float:
    """Train, and return the mean bull heads a match against random. An illegal action would raise."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = Scorer(Shape())
    policy = DiscreteQLearningPolicy(model=Values(network), action_space=make().action_space, eps_training=0.1)
    adam = AdamOptimizerFactory(lr=1e-3)
    learner = DQN(policy=policy, optim=adam, gamma=0.9, n_step_return_horizon=1, target_update_freq=100, huber_loss_delta=3.0)
    games = DummyVectorEnv([make] * 8)
    collector = Collector(learner, games, VectorReplayBuffer(20_000, 8), exploration_noise=True)
    collector.reset()
    collector.collect(n_step=min(1_000, total_steps), random=False)
    learner.run_training(
        OffPolicyTrainerParams(
            training_collector=collector,
            max_epochs=1,
            epoch_num_steps=total_steps,
            collection_step_num_env_steps=64,
            update_step_num_gradient_steps_per_sample=0.2,
            batch_size=256,
            show_progress=False,
        )
    )

    learned = LearnedAgent(Policy(GAME, Rules(), network, {}), "learned")
    result = against_field(GAME, Rules(), learned, agents.make("random", seed=0), games=2000)
    print(f"{result.mean:.2f} ± {result.se:.2f} bull heads a match against random")
    return result.mean


if __name__ == "__main__":
    assert main() < 11.0, "random itself takes 12.1"
