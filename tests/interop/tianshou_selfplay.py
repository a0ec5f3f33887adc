"""Tianshou on the AEC form: DQN by self-play, one learner for all seats; Tianshou's `PettingZooEnv` passes the masks on.

Tianshou counts the steps of the table, not those of a seat: what a pick brings is known when the last seat has picked, so the horizon of
returns must be the number of players. Where somebody has to choose a row, which is one step more, the target is another seat's; it learns
all the same.
"""

from __future__ import annotations

from typing import Any

import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from torch import Tensor, nn

from sixnimmt_env import agents, sixnimmt_v0
from sixnimmt_env.arena import against_field
from sixnimmt_env.games.sixnimmt import GAME, Rules
from training.network import Scorer, Shape
from training.policy import LearnedAgent, Policy

PLAYERS = 4


class Values(nn.Module):
    """The network's logits as the values of actions, from and for Tianshou."""

    def __init__(self, network: Scorer) -> None:
        super().__init__()
        self.network = network

    def forward(self, seen: Any, state: Any = None, info: Any = None) -> tuple[Tensor, Any]:
        return self.network(torch.as_tensor(seen))[0], state


def make() -> PettingZooEnv:
    return PettingZooEnv(sixnimmt_v0.env(num_players=PLAYERS))


def main(total_steps: int = 8_000) -> float:
    """Train, and return the mean bull heads a match against random. An illegal action would raise."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = Scorer(Shape())
    policy = DiscreteQLearningPolicy(model=Values(network), action_space=make().action_space, eps_training=0.1)
    adam = AdamOptimizerFactory(lr=1e-3)
    seat = DQN(policy=policy, optim=adam, gamma=1.0, n_step_return_horizon=PLAYERS, target_update_freq=200, huber_loss_delta=3.0)
    table = MultiAgentOffPolicyAlgorithm(algorithms=[seat] * PLAYERS, env=make())
    collector = Collector(table, DummyVectorEnv([make] * 8), VectorReplayBuffer(20_000, 8), exploration_noise=True)
    collector.reset()
    collector.collect(n_step=min(1_000, total_steps))
    table.run_training(
        OffPolicyTrainerParams(
            training_collector=collector,
            max_epochs=1,
            epoch_num_steps=total_steps,
            collection_step_num_env_steps=128,
            update_step_num_gradient_steps_per_sample=0.05,
            batch_size=512,
            multi_agent_return_reduction=lambda returns: returns.mean(axis=1),
            show_progress=False,
        )
    )

    learned = LearnedAgent(Policy(GAME, Rules(num_players=PLAYERS), network, {}), "learned")
    result = against_field(GAME, Rules(num_players=PLAYERS), learned, agents.make("random", seed=0), games=2000)
    print(f"{result.mean:.2f} ± {result.se:.2f} bull heads a match against random")
    return result.mean


if __name__ == "__main__":
    assert main() < 11.0, "random itself takes 12.1"
