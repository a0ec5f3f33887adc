"""TorchRL on the vector form: masked PPO on 64 games, through `GymWrapper` with autoreset Disabled (TorchRL resets by itself).

`ActionMask` keeps the action's spec to what is legal, so that TorchRL's own random policy and its checks see the mask, too. The lines for
the single-agent form are the same, with `gymnasium.make`.
"""

from __future__ import annotations

import gymnasium
import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import ActionMask, DTypeCastTransform, GymWrapper, TransformedEnv, check_env_specs
from torchrl.envs.transforms import Compose
from torchrl.modules import MaskedCategorical, ProbabilisticActor
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import sixnimmt_env  # noqa: F401 - registers the id
from sixnimmt_env import agents
from sixnimmt_env.arena import against_field
from sixnimmt_env.games.sixnimmt import GAME, Rules
from training.network import Scorer, Shape
from training.policy import LearnedAgent, Policy

NUM_ENVS, NUM_STEPS, MINIBATCH, EPOCHS = 64, 32, 512, 2


class Heads(nn.Module):
    """A network over observations of any batch shape."""

    def __init__(self, network: Scorer) -> None:
        super().__init__()
        self.network = network

    def forward(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits, values = self.network(seen.reshape(-1, seen.shape[-1]))
        return logits.reshape(*seen.shape[:-1], -1), values.reshape(*seen.shape[:-1], 1)


def main(total_steps: int = 60_000) -> float:
    """Train, and return the mean bull heads a match against random. An illegal action would raise."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    games = gymnasium.make_vec("sixnimmt_env/SixNimmt-v0", num_envs=NUM_ENVS, opponents=["random"], autoreset_mode="Disabled")
    as_bool = DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"])
    env = TransformedEnv(GymWrapper(games, categorical_action_encoding=True), Compose(as_bool, ActionMask()))
    check_env_specs(env)
    network = Scorer(Shape())
    actor = ProbabilisticActor(
        TensorDictModule(Heads(network), in_keys=["observation"], out_keys=["logits", "_"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical,
        spec=env.action_spec,
        return_log_prob=True,
    )
    critic = TensorDictModule(Heads(Scorer(Shape())), in_keys=["observation"], out_keys=["_", "state_value"])
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.002)
    advantage = GAE(gamma=1.0, lmbda=0.95, value_network=critic, deactivate_vmap=True)  # vmap has no rule for what the network does
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)

    batch_size = NUM_ENVS * NUM_STEPS
    for batch in Collector(env, actor, frames_per_batch=batch_size, total_frames=max(1, total_steps // batch_size) * batch_size):
        batch["next", "reward"] *= 0.1
        with torch.no_grad():
            advantage(batch)
        flat = batch.reshape(-1)
        for _ in range(EPOCHS):
            for part in flat[torch.randperm(batch_size)].split(MINIBATCH):
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
