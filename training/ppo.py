"""MaskablePPO with our network, and nothing else: the one place where sb3-contrib is extended."""

from __future__ import annotations

from typing import Any

import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import Tensor, nn

from .budget import Budget
from .config import Config
from .network import Scorer, Shape
from .vec_env import MatchVecEnv


class ScorerPolicy(MaskableActorCriticPolicy):
    """The actor-critic policy of sb3-contrib around a `Scorer`: its logits are the distribution's, its value is the critic's."""

    def __init__(self, *args: Any, shape: Shape, **kwargs: Any) -> None:
        self.shape = shape
        super().__init__(*args, features_extractor_class=FlattenExtractor, ortho_init=False, **kwargs)

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = _TwoHeads(Scorer(self.shape))

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net, self.value_net = nn.Identity(), nn.Identity()
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    @property
    def scorer(self) -> Scorer:
        """The network."""
        scorer = self.mlp_extractor.scorer
        assert isinstance(scorer, Scorer)
        return scorer

    def _get_constructor_parameters(self) -> dict[str, Any]:
        parameters = super()._get_constructor_parameters()
        for key in ("features_extractor_class", "ortho_init"):
            parameters.pop(key, None)
        return {**parameters, "shape": self.shape}


class _TwoHeads(nn.Module):
    """A `Scorer` in the shape that sb3-contrib expects of its hidden layers."""

    def __init__(self, scorer: Scorer) -> None:
        super().__init__()
        self.scorer = scorer
        self.latent_dim_pi = self.latent_dim_vf = 1  # of the layers that are replaced by identities

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        logits, values = self.scorer(observations)
        return logits, values[:, None]

    def forward_actor(self, observations: Tensor) -> Tensor:
        return self(observations)[0]

    def forward_critic(self, observations: Tensor) -> Tensor:
        return self(observations)[1]


def build(config: Config, env: MatchVecEnv, budget: Budget) -> MaskablePPO:
    """The learner of `config`. Its learning rate follows `budget`; the entropy coefficient is the callback's to set."""
    training = config.training
    torch.set_num_threads(training.threads)
    return MaskablePPO(
        ScorerPolicy,
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
        policy_kwargs={"shape": env.shape},
        seed=config.seed,
        device=training.device,
    )
