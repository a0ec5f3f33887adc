"""TorchRL on the parallel form: masked PPO by self-play, one network for all seats.

`PettingZooWrapper` gathers the seats in the group "player" and the masks in ("player", "action_mask"). A seat that waits has one legal
action, so its decision has no gradient.
"""

from __future__ import annotations

import torch
from tensordict.nn import TensorDictModule
from torch import Tensor, nn
from torchrl.collectors import Collector
from torchrl.envs import PettingZooWrapper
from torchrl.modules import MaskedCategorical, ProbabilisticActor
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from sixnimmt_env import agents, sixnimmt_v0
from sixnimmt_env.arena import against_field
from sixnimmt_env.games.sixnimmt import GAME, Rules
from training.network import Scorer, Shape
from training.policy import LearnedAgent, Policy

BATCH, MINIBATCH, EPOCHS = 512, 128, 3  # steps of the environment: four decisions each


class Seats(nn.Module):
    """A network over observations of any batch shape, (..., seats, numbers)."""

    def __init__(self, network: Scorer) -> None:
        super().__init__()
        self.network = network

    def forward(self, seen: Tensor) -> tuple[Tensor, Tensor]:
        logits, values = self.network(seen.flatten(0, -2))
        return logits.unflatten(0, seen.shape[:-1]), values.unflatten(0, seen.shape[:-1])[..., None]


def main(total_steps: int = 20_000) -> float:
    """Train, and return the mean bull heads a match against random. An illegal action would raise."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    env = PettingZooWrapper(sixnimmt_v0.parallel_env(), seed=0)
    seen, logits, value = ("player", "observation", "observation"), ("player", "logits"), ("player", "state_value")
    network = Scorer(Shape())
    actor = ProbabilisticActor(
        TensorDictModule(Seats(network), in_keys=[seen], out_keys=[logits, "_"]),
        in_keys={"logits": logits, "mask": ("player", "action_mask")},
        out_keys=[env.action_key],
        spec=env.full_action_spec,
        distribution_class=MaskedCategorical,
        return_log_prob=True,
        log_prob_key=("player", "log_prob"),
    )
    critic = TensorDictModule(Seats(Scorer(Shape())), in_keys=[seen], out_keys=["_", value])
    keys = {name: ("player", name) for name in ("advantage", "value_target", "reward", "done", "terminated")} | {"value": value}
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.002)
    loss.set_keys(action=env.action_key, sample_log_prob=("player", "log_prob"), **keys)
    advantage = GAE(gamma=1.0, lmbda=0.95, value_network=critic, deactivate_vmap=True)  # vmap has no rule for what the network does
    advantage.set_keys(**keys)
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)

    steps = max(1, total_steps // (4 * BATCH)) * BATCH
    for batch in Collector(env, actor, frames_per_batch=BATCH, total_frames=steps):
        batch["next", "player", "reward"] *= 0.1
        with torch.no_grad():
            advantage(batch)
        for _ in range(EPOCHS):
            for part in batch[torch.randperm(BATCH)].split(MINIBATCH):
                losses = loss(part)
                optimizer.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimizer.step()

    learned = LearnedAgent(Policy(GAME, Rules(), network, {}), "learned")
    result = against_field(GAME, Rules(), learned, agents.make("random", seed=0), games=2000)
    print(f"{result.mean:.2f} ± {result.se:.2f} bull heads a match against random")
    return result.mean


if __name__ == "__main__":
    assert main() < 10.0, "random itself takes 12.1"
