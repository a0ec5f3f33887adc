"""MaskablePPO with our network and what makes it fast: the one place where sb3-contrib is extended.

What learns from open hands, the privileged critic and the prediction of hidden cards, gets them from the environment by way of the rollout
buffer (`OpenBuffer`). Nothing of them is in what the policy is asked with.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.utils import set_random_seed
from torch import Tensor, nn

from sixnimmt_env.core.saved import fitting, whole

from . import optimiser
from .budget import Budget
from .config import Config
from .critic import Critic, HiddenCards
from .metrics import AUXILIARY_LOSS, CRITIC_LOSS
from .network import Network, Shape, adopt, arrays, load_arrays, make
from .opened import Opened, joined
from .vec_env import MatchVecEnv

_CRITIC_STEPS = 4  # of the critic for one of the policy: what it learns from is plainer, and smaller minibatches do
_MASKED = -1e8  # as sb3-contrib's; its exponential is 0 exactly


class DecisionBuffer(MaskableRolloutBuffer):
    """A rollout buffer that keeps decisions only: a seat that has to wait while another of its game decides has nothing to learn from.

    Who decides is told by the action masks: who waits has one legal action. Returns and advantages go from a seat's decision to its next
    one. Samples are listed step by step instead of game by game: they are shuffled anyway, and nothing is transposed.

    Minibatches differ by one sample at most, and none has a single one: the advantages of a minibatch are divided by their deviation, and
    that of one number is nan, which would end up in the weights.
    """

    def reset(self) -> None:
        shape = self.buffer_size, self.n_envs
        self.actions, self.values, self.log_probs, self.rewards, self.advantages, self.returns, self.episode_starts = (
            np.zeros(shape, dtype=np.float32) for _ in range(7)
        )
        self.due = np.zeros(shape, dtype=np.bool_)
        self.observations = self.action_masks = np.zeros(0, dtype=np.float32)
        self._seen: list[Any] = []
        self._legal: list[Any] = []
        self.pos, self.full, self.generator_ready = 0, False, False

    def add(  # type: ignore[override]
        self,
        obs: Any,
        action: Any,
        reward: Any,
        episode_start: Any,
        value: Tensor,
        log_prob: Tensor,
        action_masks: Any = None,
    ) -> None:
        masks = np.asarray(action_masks, dtype=np.bool_).reshape(self.n_envs, -1)
        due = masks.sum(axis=1, dtype=np.int32) > 1
        at = self.pos
        self.due[at], self.actions[at], self.rewards[at], self.episode_starts[at] = due, action[:, 0], reward, episode_start
        self.values[at], self.log_probs[at] = value.flatten().cpu().numpy(), log_prob.cpu().numpy()
        self._seen.append(obs[due])
        self._legal.append(masks[due])
        self.pos += 1
        self.full = self.pos == self.buffer_size

    def compute_returns_and_advantage(self, last_values: Tensor, dones: Any) -> None:
        """Generalised advantage estimation (Schulman et al., 2016) from each decision of a seat to its next one."""
        following = last_values.clone().cpu().numpy().flatten()  # the value at the seat's next decision
        advantage = np.zeros(self.n_envs, dtype=np.float32)
        reward = np.zeros(self.n_envs, dtype=np.float32)  # since then, going backwards
        ends = np.asarray(dones, dtype=np.bool_)
        for step in reversed(range(self.buffer_size)):
            for kept in (following, advantage, reward):
                kept[ends] = 0.0
            reward += self.rewards[step]
            due = self.due[step]
            value = self.values[step]
            delta = reward + self.gamma * following - value
            advantage = np.where(due, delta + self.gamma * self.gae_lambda * advantage, advantage)
            self.advantages[step] = advantage
            following, reward = np.where(due, value, following), np.where(due, np.float32(0.0), reward)
            ends = self.episode_starts[step] > 0
        self.returns = self.advantages + self.values

    def get(self, batch_size: int | None = None) -> Iterator[MaskableRolloutBufferSamples]:  # type: ignore[override]
        if not self.generator_ready:
            self.observations, self.action_masks = np.concatenate(self._seen), np.concatenate(self._legal)
            self._seen, self._legal = [], []
            for name in ("actions", "values", "log_probs", "advantages", "returns"):
                setattr(self, name, getattr(self, name)[self.due])
            self.generator_ready = True
        for part in self.shuffled(batch_size):
            yield self._get_samples(part)

    def shuffled(self, batch_size: int | None) -> list[NDArray[np.int64]]:
        """The numbers of all decisions in a random order, cut into minibatches."""
        total = len(self.actions)
        parts = max(1, min(-(-total // (batch_size or total)), total // 2))
        return np.array_split(np.random.permutation(total), parts)  # noqa: NPY002 - stable-baselines3 seeds this generator

    def _get_samples(self, batch_inds: Any, env: Any = None) -> MaskableRolloutBufferSamples:  # type: ignore[override]
        columns = self.actions[:, None], self.values, self.log_probs, self.advantages, self.returns
        return MaskableRolloutBufferSamples(
            self.to_torch(self.observations[batch_inds]),
            *(self.to_torch(column[batch_inds]) for column in columns),
            self.to_torch(self.action_masks[batch_inds]),
        )


class OpenBuffer(DecisionBuffer):
    """A rollout buffer that also keeps what its decisions look like with all hands open.

    Args:
        games: where they come from, which must note them.
        tell: append to the observations of samples where the cards are, (k, m + 104): what `NetworkPolicy` predicts.

    Attributes:
        critic: whose values are the baseline of the advantages; without one those that the policy has itself.
        opened: all decisions of a whole rollout, for the critic.
    """

    def __init__(self, *args: Any, games: MatchVecEnv, tell: bool, **kwargs: Any) -> None:
        self.games, self.tell = games, tell
        self.critic: Critic | None = None
        super().__init__(*args, **kwargs)

    def reset(self) -> None:
        super().reset()
        self._opened: list[Opened] = []
        self.opened: Opened | None = None

    def add(self, *args: Any, **kwargs: Any) -> None:
        super().add(*args, **kwargs)
        assert self.games.opened is not None  # the step that has just been taken
        opened = self.games.opened
        self._opened.append(opened if self.critic is not None else opened._replace(observations=opened.observations[:, :0].copy()))

    def compute_returns_and_advantage(self, last_values: Tensor, dones: Any) -> None:
        self.opened, self._opened = joined(self._opened), []
        if self.critic is not None:
            self.values[self.due] = self.critic.values(self.opened)
            going = np.flatnonzero(self.games.games.playing)
            last_values = torch.zeros(self.n_envs)
            last_values[going] = torch.from_numpy(self.critic.values(self.games.with_open_hands(going)))
        super().compute_returns_and_advantage(last_values, dones)

    def _get_samples(self, batch_inds: Any, env: Any = None) -> MaskableRolloutBufferSamples:  # type: ignore[override]
        samples = super()._get_samples(batch_inds, env)
        if not self.tell:
            return samples
        assert self.opened is not None
        cards = self.to_torch(self.opened.cards[batch_inds].astype(np.float32))
        return samples._replace(observations=torch.cat([samples.observations, cards], 1))


class NetworkPolicy(MaskableActorCriticPolicy):
    """The actor-critic policy of sb3-contrib around a `Network`: its logits are the distribution's, its value is the critic's.

    Args:
        shape: of the network.
        auxiliary: weight of predicting hidden cards; with it the observations of `evaluate_actions` have to tell where the cards are, as
            those of an `OpenBuffer` do.
    """

    def __init__(self, *args: Any, shape: Shape, auxiliary: float = 0.0, **kwargs: Any) -> None:
        self.shape, self.auxiliary = shape, auxiliary
        self.overflowed = False  # outputs were no numbers: finite weights can be too large as well
        super().__init__(*args, features_extractor_class=FlattenExtractor, ortho_init=False, **kwargs)

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = _TwoHeads(make(self.shape))

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net, self.value_net = nn.Identity(), nn.Identity()
        self.hidden_cards = HiddenCards(self.shape.hidden, self.auxiliary) if self.auxiliary else None
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    @property
    def network(self) -> Network:
        """The network."""
        network = self.mlp_extractor.network
        assert isinstance(network, Network)
        return network

    @property
    def learned(self) -> dict[str, nn.Parameter]:
        """All that the optimiser moves, by name."""
        found = dict(self.network.named_parameters())
        if self.hidden_cards is not None:
            found |= self.hidden_cards.named_parameters(prefix="hidden_cards")
        return found

    def _log_probabilities(self, observations: Tensor, masks: Any) -> tuple[Tensor, Tensor]:
        """(k, actions) log-probabilities, next to minus infinity where masked, and (k, 1) values."""
        return self._masked(*self.mlp_extractor(observations), masks)

    def _masked(self, logits: Tensor, values: Tensor, masks: Any) -> tuple[Tensor, Tensor]:
        if masks is not None:
            legal = torch.as_tensor(masks, dtype=torch.bool, device=logits.device).reshape(logits.shape)
            logits = logits.masked_fill(~legal, _MASKED)
        if not torch.isfinite(values.sum() + logits.sum()):
            self.overflowed = True
            logits = torch.where(torch.isfinite(logits), logits, 0.0)  # the rollout is finished with any legal play, then the training ends
        return torch.log_softmax(logits, dim=1), values

    def forward(self, obs: Tensor, deterministic: bool = False, action_masks: Any = None) -> tuple[Tensor, Tensor, Tensor]:
        """Actions, values and log-probabilities, as the parent's; sampled by the Gumbel trick instead of a cumulated distribution.

        Who has to wait does so, without the network's being asked: his value and log-probability are 0.
        """
        if action_masks is not None:
            masks = np.asarray(action_masks)
            due = masks.sum(axis=1, dtype=np.int32) > 1
            if not due.all():
                return self._some(obs, masks, due, deterministic)
        logs, values = self._log_probabilities(obs, action_masks)
        # The clamp keeps a draw of exactly 0 from giving a masked action an infinite score.
        scores = logs if deterministic else logs - torch.empty_like(logs).exponential_().clamp_(min=1e-30).log_()
        actions = scores.argmax(dim=1)
        return actions, values, logs.gather(1, actions[:, None])[:, 0]

    def _some(self, obs: Tensor, masks: NDArray[Any], due: NDArray[np.bool_], deterministic: bool) -> tuple[Tensor, Tensor, Tensor]:
        actions, values, logs = torch.from_numpy(masks.argmax(axis=1)), obs.new_zeros(len(obs), 1), obs.new_zeros(len(obs))
        if due.any():
            at = torch.from_numpy(np.flatnonzero(due))
            actions[at], values[at], logs[at] = self.forward(obs[at], deterministic, masks[due])
        return actions, values, logs

    def predict_values(self, obs: Tensor) -> Tensor:
        """Values (k, 1), as the parent's; 0 for an empty observation, which is that of nobody."""
        values = obs.new_zeros(len(obs), 1)
        there = torch.nonzero(obs.any(dim=1), as_tuple=True)[0]
        values[there] = self.mlp_extractor(obs[there])[1]
        return values

    def evaluate_actions(self, obs: Tensor, actions: Tensor, action_masks: Any = None) -> tuple[Tensor, Tensor, Tensor]:
        """Values, log-probabilities of `actions` and entropies, as the parent's without its second normalisation and its checks."""
        if self.hidden_cards is None:
            logs, values = self._log_probabilities(obs, action_masks)
        else:
            seen, cards = obs[:, : self.shape.observation_size], obs[:, self.shape.observation_size :]
            logits, own, summary = self.network.read(seen)
            logs, values = self._masked(logits, own[:, None], action_masks)
            values = self.hidden_cards.beside(values, summary, seen, cards)
        return values, logs.gather(1, actions[:, None])[:, 0], -(logs.exp() * logs).sum(dim=1)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        parameters = super()._get_constructor_parameters()
        for key in ("features_extractor_class", "ortho_init"):
            parameters.pop(key, None)
        return {**parameters, "shape": self.shape, "auxiliary": self.auxiliary}


class _TwoHeads(nn.Module):
    """A `Network` in the shape that sb3-contrib expects of its hidden layers."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        self.latent_dim_pi = self.latent_dim_vf = 1  # of the layers that are replaced by identities

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        logits, values = self.network(observations)
        return logits, values[:, None]

    def forward_actor(self, observations: Tensor) -> Tensor:
        return self(observations)[0]

    def forward_critic(self, observations: Tensor) -> Tensor:
        return self(observations)[1]


class Learner(MaskablePPO):
    """MaskablePPO whose state between two iterations can be taken out and put back: all that the next ones follow from.

    Attributes:
        iterations: rollouts learned from in all; `learn` itself counts those since it was called.
        critic: that sees all hands, if there is one.
    """

    iterations = 0
    critic: Critic | None = None

    def advise(self, critic: Critic) -> None:
        """Measure decisions by the values of `critic` from now on; the rollout buffer must be an `OpenBuffer`."""
        assert isinstance(self.rollout_buffer, OpenBuffer)
        self.critic = self.rollout_buffer.critic = critic

    def train(self) -> None:
        super().train()
        hidden_cards = self._policy.hidden_cards
        if hidden_cards is not None:
            self.logger.record(AUXILIARY_LOSS, hidden_cards.take_loss())
        if self.critic is not None:
            buffer = self.rollout_buffer
            assert isinstance(buffer, OpenBuffer)
            assert buffer.opened is not None
            batches = (batch for _ in range(self.n_epochs) for batch in buffer.shuffled(max(2, self.batch_size // _CRITIC_STEPS)))
            rate = self.policy.optimizer.param_groups[0]["lr"]
            self.logger.record(CRITIC_LOSS, self.critic.learn(buffer.opened, buffer.returns, batches, rate))

    @property
    def sound(self) -> bool:
        """Whether all weights, and what has come out of them, are numbers."""
        parameters = [*self.policy.parameters(), *(() if self.critic is None else self.critic.network.parameters())]
        return not self._policy.overflowed and all(bool(torch.isfinite(parameter).all()) for parameter in parameters)

    def dump_logs(self, iteration: int = 0) -> None:
        self.iterations += 1
        super().dump_logs(self.iterations)

    @property
    def network(self) -> Network:
        """The network."""
        return self._policy.network

    @property
    def _policy(self) -> NetworkPolicy:
        assert isinstance(self.policy, NetworkPolicy)
        return self.policy

    @property
    def games(self) -> MatchVecEnv:
        """The environment."""
        assert isinstance(self.env, MatchVecEnv)
        return self.env

    def state(self) -> dict[str, Any]:
        """Networks, optimisers, random states, games, and what the next row of figures tells of the past; at the start of a rollout."""
        assert self._last_episode_starts is not None
        assert self.ep_info_buffer is not None
        hidden_cards = self._policy.hidden_cards
        return {
            "network": arrays(self.network),
            "optimizer": optimiser.state(self.policy.optimizer, self._policy.learned),
            **({} if self.critic is None else {"critic": self.critic.state()}),
            **({} if hidden_cards is None else {"hidden_cards": arrays(hidden_cards)}),
            "random": _random_state(self.device),
            "games": self.games.state(),
            "starts": np.array(self._last_episode_starts),
            "episodes": [dict(episode) for episode in self.ep_info_buffer],
            "figures": {name: [_plain(value), self.logger.name_to_excluded[name]] for name, value in self.logger.name_to_value.items()},
            "decisions": int(self.num_timesteps),
            "updates": int(self._n_updates),
            "iterations": self.iterations,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state` of a learner that was built alike; `learn` has then to be called with `reset_num_timesteps=False`.

        Raises:
            KeyError, ValueError, TypeError, RuntimeError: it is that of another one.
        """
        load_arrays(self.network, state["network"])
        optimiser.restore(self.policy.optimizer, self._policy.learned, state["optimizer"])
        if self.critic is not None:
            self.critic.restore(state["critic"])
        if self._policy.hidden_cards is not None:
            load_arrays(self._policy.hidden_cards, state["hidden_cards"])
        self.games.restore(state["games"])
        self._last_obs = self.games.observe()
        self._last_episode_starts = np.array(fitting(state["starts"], "starts", np.bool_, (self.n_envs,)))
        episodes = [{key: _number(episode[key], key) for key in ("r", "l", "t")} for episode in state["episodes"]]
        self.ep_info_buffer, self.ep_success_buffer = deque(episodes, maxlen=self._stats_window_size), deque(maxlen=self._stats_window_size)
        self.num_timesteps = whole(state["decisions"], "decisions")
        self._n_updates, self.iterations = whole(state["updates"], "updates"), whole(state["iterations"], "iterations")
        for name, (value, excluded) in state["figures"].items():
            self.logger.record(name, _number(value, name), tuple(map(str, excluded)))
        _restore_random(self.device, state["random"])  # last: what came before may have drawn


def _plain(value: Any) -> int | float:
    """A figure as JSON can hold it."""
    return int(value) if isinstance(value, (int, np.integer)) else float(value)


def _number(given: object, what: str) -> int | float:
    """`given`, which must be a number, nan and infinity among them; `ValueError` otherwise."""
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise ValueError(f"{what!r} is no number")
    return given


def _random_state(device: torch.device) -> dict[str, Any]:
    """The random states that learning draws from: torch's on the CPU and on `device`, and NumPy's old one, as stable-baselines3 has it."""
    _, keys, *rest = np.random.get_state()  # noqa: NPY002
    state = {"torch": torch.get_rng_state().numpy().copy(), "numpy": np.array(keys), "numpy_rest": [_plain(value) for value in rest]}
    if device.type != "cpu":
        state["device"] = torch.get_device_module(device).get_rng_state(*_which(device)).cpu().numpy()
    return state


def _restore_random(device: torch.device, state: Mapping[str, Any]) -> None:
    keys = fitting(state["numpy"], "numpy", np.uint32, (624,))
    position, has_gauss, gauss = state["numpy_rest"]
    if not 0 <= whole(position, "numpy_rest") <= len(keys):
        raise ValueError("'numpy_rest' is no state of NumPy's generator")
    np.random.set_state(("MT19937", keys, position, whole(has_gauss, "numpy_rest"), float(gauss)))  # noqa: NPY002
    torch.set_rng_state(torch.from_numpy(np.array(state["torch"])))
    if device.type != "cpu" and "device" in state:
        torch.get_device_module(device).set_rng_state(torch.from_numpy(np.array(state["device"])), *_which(device))


def _which(device: torch.device) -> tuple[torch.device, ...]:
    return (device,) if device.type == "cuda" else ()  # of others torch knows one alone


def check(config: Config) -> None:
    """Raise `ConfigError` for what only shows when the learner is built."""
    training = config.training
    if training.batch < 2:
        raise config.fault(("training", "steps"), "must be at least 2 with training.games=1: nothing can be learned from a single decision")
    try:
        torch.empty(1, device=training.device)
    except (RuntimeError, AssertionError) as error:
        reason = re.split(r"\.?\s*\n|\.\s", str(error))[0]  # the first sentence; the rest is about torch's insides
        raise config.fault(("training", "device"), f"{training.device} is not there ({reason}); use cpu") from None


Typical = tuple[NDArray[np.float32], Opened | None]
"""Observations of decisions, and the same with all hands open where that is looked at, as `MatchVecEnv.random_decisions` gives them."""


def build(config: Config, env: MatchVecEnv, budget: Budget, typical: Typical | None = None, pretrained: Network | None = None) -> Learner:
    """The learner of `config`. Its learning rate follows `budget`; the entropy coefficient is the callback's to set.

    `typical` observations tell its networks how large the numbers are that they will see. With `pretrained` it begins with that one's
    weights; a critic begins from nothing.
    """
    training = config.training
    torch.set_num_threads(training.threads)
    set_random_seed(config.seed % 2**32)  # NumPy's old generator takes no more; the environment has the whole seed already
    model = Learner(
        NetworkPolicy,
        env,
        learning_rate=lambda _: training.learning_rate.at(budget.progress),
        n_steps=training.steps,
        batch_size=training.minibatch,
        n_epochs=training.epochs,
        gamma=training.gamma,
        gae_lambda=training.gae_lambda,
        clip_range=training.clip_range,
        ent_coef=training.entropy.at(0.0),
        vf_coef=training.value_coefficient,
        max_grad_norm=training.max_grad_norm,
        rollout_buffer_class=OpenBuffer if training.open_hands else DecisionBuffer,
        rollout_buffer_kwargs={"games": env, "tell": training.auxiliary > 0} if training.open_hands else None,
        policy_kwargs={"shape": env.shape, "auxiliary": training.auxiliary},
        device=training.device,
    )
    if training.critic == "privileged":
        model.advise(Critic(env.shape, model.device, training.max_grad_norm))
    if typical is not None:
        model.network.standardise(torch.from_numpy(typical[0]).to(model.device))
        if model.critic is not None and typical[1] is not None:
            model.critic.standardise(typical[1])
    if pretrained is not None:
        adopt(model.network, pretrained)
    return model
