"""Attention over the cards of the hand and the rows: a transformer whose tokens are the table, each row and each card.

A token is made of what the observation says of its card or row; the table's is made of the context, the ladder, and the seats without their
order. In every layer each token looks at all others that are there (pre-norm: Xiong et al., 2020). No place is told to any of them, so
that the order of the hand does not matter. Cards and rows get their logits from their own tokens, the value comes from the table's.

Places where neither a card nor a row lies are masked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from sixnimmt_env.games.sixnimmt import LAYOUT
from sixnimmt_env.games.sixnimmt.rules import MAX_CARD, MAX_HAND, MAX_ROWS
from sixnimmt_env.games.sixnimmt.state import NUM_ACTIONS
from training.shape import Shape

from .base import CARD, CHOICE, PRESENT, TABLE_SIZE, Network, row_logits

_RANK: Final = LAYOUT["rows"].indices().rank
_PART: Final = 256  # observations that are worked on at a time


class Layer(nn.Module):
    """Self-attention and two layers applied to each token, each added to what it began with."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_look, self.before_think = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.asked = nn.Linear(hidden, 3 * hidden)  # queries, keys and values
        self.found = nn.Linear(hidden, hidden)
        self.inner = nn.Linear(hidden, hidden)
        self.outer = nn.Linear(hidden, hidden)

    def forward(self, tokens: Tensor, there: Tensor) -> Tensor:
        """Tokens (k, t, hidden) after the layer, where those that are `there`, (k, 1, 1, t) bool, are looked at."""
        asked = self.asked(self.before_look(tokens)).unflatten(2, (3, self.heads, -1))
        queries, keys, values = asked.permute(2, 0, 3, 1, 4)
        found = scaled_dot_product_attention(queries, keys, values, attn_mask=there)
        tokens = tokens + self.found(found.transpose(1, 2).flatten(2))
        return tokens + self.outer(torch.relu(self.inner(self.before_think(tokens))))


class Attention(Network):
    """See the module and `Network`."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        hidden = shape.hidden
        self.table_in = nn.Linear(TABLE_SIZE, hidden)
        self.row_in = nn.Linear(LAYOUT["rows"].width, hidden)
        self.card_in = nn.Linear(LAYOUT["hand"].width, hidden)
        self.layers = nn.ModuleList(Layer(hidden, shape.heads) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(hidden)
        self.card_out = nn.Linear(hidden, 1)
        self.row_out = nn.Linear(hidden, 2)  # taken or laid at its end, laid at its front
        self._complete(self.card_out, self.row_out)
        nn.init.orthogonal_(self.value_out.weight, 0.01)
        for layer in self.layers:
            # Small at first, the more so the more layers there are: what every layer adds must not drown what the tokens are.
            nn.init.orthogonal_(layer.found.weight, (2 * shape.layers) ** -0.5)
            nn.init.orthogonal_(layer.outer.weight, (2 * shape.layers) ** -0.5)

    def values(self, observations: Tensor) -> Tensor:
        (values,) = self._in_parts(observations, lambda part: (self._value(self._look(part, self._slots(part))[:, 0]),))
        return values

    def read(self, observations: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        logits, values, summary = self._in_parts(observations, lambda part: self._read(part, self._slots(part)))
        return self.drafted(observations, logits) if self.shape.draft else logits, values, summary

    def dense(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        logits, values, _ = self._read(observations, torch.arange(MAX_HAND, device=observations.device))
        return logits + self.draft_scores(observations) if self.shape.draft else logits, values

    def _in_parts(self, observations: Tensor, ask: Callable[[Tensor], tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
        """What `ask` answers, (k, ...) tensors, where only parts of the observations are given to it at a time, alike in how many cards are
        held. Small parts stay in the processor's cache, which makes it three times as fast; a graphics card would rather have all at once.
        """
        observations = observations[:, : self.shape.observation_size]
        order = LAYOUT.lines(observations, "hand")[..., PRESENT].sum(1).argsort(stable=True)
        parts = order.split(_PART if observations.device.type == "cpu" else max(1, len(order)))
        answers = zip(*(ask(observations[part]) for part in parts), strict=True)
        back = order.argsort()
        return tuple(torch.cat(answer).index_select(0, back) for answer in answers)

    def _slots(self, observations: Tensor) -> Tensor:
        """The slots of the hand in which any of the observations has a card."""
        return torch.nonzero(LAYOUT.lines(observations, "hand")[..., PRESENT].any(0))[:, 0]

    def _read(self, observations: Tensor, slots: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """As `read`; no observation has a card in another slot of the hand than `slots`."""
        tokens = self._look(observations, slots)
        hand = LAYOUT.lines(observations, "hand")[:, slots]
        actions = torch.round(hand[..., CARD] * MAX_CARD).to(torch.int64).sub(1).clamp(min=0)
        scores = torch.where(hand[..., PRESENT] != 0, self.card_out(tokens[:, 1 + MAX_ROWS :])[..., 0], 0.0)
        logits = torch.zeros_like(observations[:, :NUM_ACTIONS]).scatter_add(1, actions, scores)  # an empty slot adds 0 to the first card
        choosing = observations[:, CHOICE].sum(1, keepdim=True) != 0
        logits = logits + torch.where(choosing, row_logits(self.row_out(tokens[:, 1 : 1 + MAX_ROWS])), 0.0)
        summary = tokens[:, 0]
        return logits, self._value(summary), summary

    def _look(self, observations: Tensor, slots: Tensor) -> Tensor:
        """The tokens after all layers, (k, 1 + MAX_ROWS + slots, hidden): table, rows, cards."""
        scaled, summed = self.scaled(observations)
        rows, hand = self.row_in(LAYOUT.lines(scaled, "rows")), self.card_in(LAYOUT.lines(scaled, "hand")[:, slots])
        tokens = torch.cat([self.table_in(summed)[:, None], rows, hand], 1)
        laid = LAYOUT.lines(observations, "rows")[..., _RANK]  # no row is, before a draft is over
        held = LAYOUT.lines(observations, "hand")[:, slots, PRESENT]
        there = torch.cat([torch.ones_like(laid[:, :1]), laid, held], 1) != 0
        for layer in self.layers:
            tokens = layer(tokens, there[:, None, None])
        return self.norm(tokens)
