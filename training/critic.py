"""The privileged critic and the prediction of hidden cards: what learns from open hands while a policy is trained, and is no part of it.

A value that knows the hands explains more of what happened, so that less of the cards' luck is blamed on the choices (asymmetric
actor-critic: Pinto et al., 2017). The policy never sees it; the only thing it gets from there is how good its choices were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sixnimmt_env.games.sixnimmt import LAYOUT
from sixnimmt_env.games.sixnimmt.rules import MAX_CARD

from . import optimiser
from .network import arrays, load_arrays
from .network.base import initialise
from .network.scorer import CardReader
from .opened import LEFT, OTHERS, PLACES, Opened
from .shape import Shape

_BATCH: Final = 8192  # decisions that are looked at at a time
_LOGIC = LAYOUT["context"].indices().logic


class OpenCritic(CardReader):
    """Values of decisions with all hands open: compact observations (k, m) and where the cards are, (k, 104), to (k,).

    It reads the own cards as a scorer does, and beside that, card by card, which are in the other hands and which in none. That is the
    whole state but for what others have picked and not yet revealed.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__(Shape(shape.hidden, shape.layers))
        hidden = shape.hidden
        self.places = nn.Linear(len(PLACES) * MAX_CARD, hidden)
        self.places_mix = nn.Linear(hidden, hidden)
        self.places_out = nn.Linear(hidden, hidden)
        self.value_hidden = nn.Linear(hidden, hidden)
        self.value_out = nn.Linear(hidden, 1)
        self.apply(initialise)
        nn.init.orthogonal_(self.value_out.weight, 0.01)  # as good as nothing, until something is known

    def forward(self, observations: Tensor, cards: Tensor) -> Tensor:
        """Values (k,)."""
        summary = self.look(observations).summary
        sets = torch.cat([cards == place for place in PLACES], 1).to(observations.dtype)
        placed = torch.relu(self.places_out(torch.relu(self.places(sets) + self.places_mix(summary))))
        value: Tensor = self.value_out(torch.relu(self.value_hidden(summary)) + placed)[:, 0]
        return value


class Critic:
    """An `OpenCritic` and its optimiser.

    Args:
        shape: of the policy's network, with which it shares the number of units and layers.
        device: where it runs.
        max_grad_norm: longer gradients are cut to this length.
    """

    def __init__(self, shape: Shape, device: torch.device, max_grad_norm: float) -> None:
        self.network = OpenCritic(shape).to(device)
        self._device, self._max_grad_norm = device, max_grad_norm
        self._optimizer = torch.optim.Adam(self.network.parameters(), eps=1e-5)  # as stable-baselines3's

    def standardise(self, typical: Opened) -> None:
        """Scale the columns of observations by those of `typical` ones."""
        self.network.standardise(self._tensor(typical.observations))

    def values(self, opened: Opened) -> NDArray[np.float32]:
        """(k,) what is expected of each decision."""
        values = np.zeros(len(opened.cards), dtype=np.float32)
        with torch.no_grad():
            for start in range(0, len(values), _BATCH):
                part = slice(start, start + _BATCH)
                values[part] = self._ask(opened, part).cpu().numpy()
        return values

    def learn(self, opened: Opened, returns: NDArray[np.float32], batches: Iterable[NDArray[np.int64]], rate: float) -> float:
        """One gradient step for each of `batches`, (b,) numbers of decisions, towards the `returns`, (k,); the mean of their squared errors
        before each step."""
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        losses = []
        for batch in batches:
            loss = nn.functional.mse_loss(self._ask(opened, batch), self._tensor(returns[batch]))
            self._optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.network.parameters(), self._max_grad_norm)
            self._optimizer.step()
            losses.append(loss.item())
        return float(np.mean(losses))

    def state(self) -> dict[str, Any]:
        """Weights, and what the optimiser remembers."""
        parameters = dict(self.network.named_parameters())
        return {"network": arrays(self.network), "optimizer": optimiser.state(self._optimizer, parameters)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state` of a critic of the same shape; `KeyError`, `ValueError` if it is none."""
        load_arrays(self.network, state["network"])
        optimiser.restore(self._optimizer, dict(self.network.named_parameters()), state["optimizer"])

    def _ask(self, opened: Opened, part: slice | NDArray[np.int64]) -> Tensor:
        values: Tensor = self.network(self._tensor(opened.observations[part]), self._tensor(opened.cards[part]))
        return values

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self._device)


class HiddenCards(nn.Module):
    """Predicts from a network's summary which cards are in other hands, so that the summary learns to tell.

    Its loss is added to the policy's. Nothing that plays asks it. It tells one chance a card, whoever of the others has it: the summary
    does not know their order.

    Args:
        hidden: units of the summary.
        weight: of its loss, beside the policy's.
    """

    def __init__(self, hidden: int, weight: float) -> None:
        super().__init__()
        self.weight = weight
        self.guess = nn.Linear(hidden, MAX_CARD)
        self.losses: list[float] = []  # since they were last taken

    def forward(self, summary: Tensor) -> Tensor:
        """Logits (k, 104) of each card's being in another hand."""
        logits: Tensor = self.guess(summary)
        return logits

    def loss(self, summary: Tensor, observations: Tensor, cards: Tensor) -> Tensor:
        """The mean cross-entropy (nats) over the cards that the seat does not see, 0 where there is none.

        Args:
            summary: (k, hidden).
            observations: (k, m), as the seat sees them, which tells whether hands are open to all.
            cards: (k, 104), where they are, see `opened`.
        """
        hidden = ((cards == OTHERS) | (cards == LEFT)) & (observations[:, _LOGIC, None] == 0)
        each = nn.functional.binary_cross_entropy_with_logits(self(summary), (cards == OTHERS).to(summary.dtype), reduction="none")
        return torch.where(hidden, each, 0.0).sum() / hidden.sum().clamp(min=1)

    def beside(self, values: Tensor, summary: Tensor, observations: Tensor, cards: Tensor) -> Tensor:
        """`values`, unchanged; whoever takes the gradient of anything made of them takes that of the weighted loss as well."""
        loss = self.loss(summary, observations, cards)
        self.losses.append(loss.item())
        beside: Tensor = _Beside.apply(values, self.weight * loss)
        return beside

    def take_loss(self) -> float:
        """The mean of the losses since this was last called."""
        losses, self.losses = self.losses, []
        return float(np.mean(losses))


class _Beside(torch.autograd.Function):
    """Hands a tensor on, and gives the gradient 1 to a loss beside it: stable-baselines3 puts the whole loss together by itself, and has no
    place for a term more."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, loss: Tensor) -> Tensor:
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        return gradients[0], gradients[0].new_ones(())
