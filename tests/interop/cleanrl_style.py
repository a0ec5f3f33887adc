"""Masked PPO in one file of plain torch, as CleanRL writes it, on 64 games of `gymnasium.make_vec`.

With Gymnasium's default autoreset, NextStep, the step after the end of a match deals the next one and ignores its action: what it says
of the transition is nothing to learn from, and the loss leaves it out.
"""

from __future__ import annotations

import gymnasium
import numpy as np
import torch
from torch.distributions import Categorical

import sixnimmt_env  # noqa: F401 - registers the id
from training.network import Scorer, Shape

NUM_ENVS, NUM_STEPS, MINIBATCHES, EPOCHS = 64, 32, 4, 2
LAMBDA, CLIP, ENTROPY, VALUE = 0.95, 0.2, 0.01, 0.5  # the reward is not discounted: a match has an end
REWARD_SCALE = 0.1


def masked(logits: torch.Tensor, masks: torch.Tensor) -> Categorical:
    return Categorical(logits=torch.where(masks, logits, -1e8))


def act(network: Scorer, seen: dict[str, np.ndarray], ended: np.ndarray) -> tuple[torch.Tensor, ...]:
    """Observations, masks, actions, their log-probabilities, and values. After the end of a match nothing is legal: any action will do."""
    vectors = torch.from_numpy(seen["observation"])
    masks = torch.from_numpy((seen["action_mask"] == 1) | ended[:, None])
    with torch.no_grad():
        logits, values = network(vectors)
    chosen = masked(logits, masks)
    actions = chosen.sample()
    return vectors, masks, actions, chosen.log_prob(actions), values


def main(total_steps: int = 100_000) -> float:
    """Train, and return the mean bull heads of the last matches of the training. An illegal action would raise."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    games = gymnasium.make_vec("sixnimmt_env/SixNimmt-v0", num_envs=NUM_ENVS, opponents=["random"])
    network = Scorer(Shape())
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3, eps=1e-5)
    seen, _ = games.reset(seed=0)
    ended = np.zeros(NUM_ENVS, dtype=np.bool_)
    running = np.zeros(NUM_ENVS)
    finished: list[float] = []

    for _ in range(total_steps // (NUM_ENVS * NUM_STEPS)):
        steps: list[tuple[torch.Tensor, ...]] = []
        for _ in range(NUM_STEPS):
            was, decision = torch.from_numpy(ended), act(network, seen, ended)
            seen, rewards, terminated, truncated, _ = games.step(decision[2].numpy())
            ended = terminated | truncated
            running += rewards
            finished += (-running[ended]).tolist()
            running[ended] = 0.0
            steps.append((*decision, torch.from_numpy(rewards * REWARD_SCALE).float(), torch.from_numpy(ended), was))
        vectors, masks, actions, logs, values, gains, ends, skipped = (torch.stack(column) for column in zip(*steps, strict=True))

        following, carried, advantages = act(network, seen, ended)[4], torch.zeros(NUM_ENVS), torch.zeros(NUM_STEPS, NUM_ENVS)
        for t in reversed(range(NUM_STEPS)):
            going = (~ends[t]).float()
            carried = gains[t] + following * going - values[t] + LAMBDA * carried * going
            following, advantages[t] = values[t], carried
        returns = advantages + values

        for _ in range(EPOCHS):
            real = torch.nonzero(~skipped.flatten())[:, 0]
            for part in real[torch.randperm(len(real))].chunk(MINIBATCHES):
                logits, estimates = network(vectors.flatten(0, 1)[part])
                chosen = masked(logits, masks.flatten(0, 1)[part])
                ratio = (chosen.log_prob(actions.flatten()[part]) - logs.flatten()[part]).exp()
                gain = advantages.flatten()[part]
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                policy_loss = -torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
                value_loss = (estimates - returns.flatten()[part]).square().mean()
                loss = policy_loss + VALUE * value_loss - ENTROPY * chosen.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(network.parameters(), 0.5)
                optimizer.step()

    heads = float(np.mean(finished[-500:]))
    print(f"{heads:.2f} bull heads a match against random, while it explores")
    return heads


if __name__ == "__main__":
    assert main() < 10.0, "random itself takes 12.1"
