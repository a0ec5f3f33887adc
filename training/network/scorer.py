"""One scorer shared over the cards of the hand, the rows, and the cards of the draft.

Every card of the hand goes through the same layers, beside a summary of the table and of the other cards; the result is one
logit a card. Rows have a scorer of their own, and so have the cards of the draft. Only cards that are held, and rows that may be
chosen, are worked on: with hands that shrink from ten cards to none this halves the time.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from sixnimmt_env.games.sixnimmt import LAYOUT
from sixnimmt_env.games.sixnimmt.rules import MAX_CARD
from sixnimmt_env.games.sixnimmt.state import NUM_ACTIONS
from training.shape import Shape

from .base import CARD, CHOICE, PRESENT, TABLE_SIZE, Network, Reader, row_logits


class Look(NamedTuple):
    """What logits and values have in common.

    Attributes:
        games, numbers: for each card that is held, whose it is and its number, (c,) int64.
        scaled: the scaled observations, (k, m).
        table: of each observation, (k, hidden).
        cards: that are held, (c, hidden).
        summary: of table and cards, (k, hidden).
    """

    games: Tensor
    numbers: Tensor
    scaled: Tensor
    table: Tensor
    cards: Tensor
    summary: Tensor


class CardReader(Reader):
    """Reads a table and the cards that are held, and sums them up."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        hidden = shape.hidden
        self.table = nn.Linear(TABLE_SIZE, hidden)
        self.card_in = nn.Linear(LAYOUT["hand"].width, hidden)
        self.card_layers = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(shape.layers - 1))
        self.summary = nn.Linear(2 * hidden, hidden)

    def look(self, observations: Tensor) -> Look:
        """Read `observations`, (k, m), which may hold more than the network reads."""
        observations = observations[:, : self.shape.observation_size]
        hand = LAYOUT.lines(observations, "hand")
        games, slots = torch.nonzero(hand[..., PRESENT], as_tuple=True)
        numbers = torch.round(hand[games, slots, CARD] * MAX_CARD).long()
        scaled, summed = self.scaled(observations)
        table = self.table(summed)
        held = LAYOUT.lines(scaled, "hand")[games, slots]
        cards = self._cards(held, table.index_select(0, games))
        pooled = torch.zeros_like(table).index_add(0, games, cards)
        return Look(games, numbers, scaled, table, cards, self._sum_up(pooled, hand, table))

    def _cards(self, held: Tensor, table: Tensor) -> Tensor:
        cards = torch.relu(self.card_in(held) + table)
        for layer in self.card_layers:
            cards = torch.relu(layer(cards))
        return cards

    def _sum_up(self, pooled: Tensor, hand: Tensor, table: Tensor) -> Tensor:
        """The summary, where `pooled` are the sums of the cards of each `hand`."""
        count = hand[..., PRESENT].sum(1, keepdim=True).clamp(min=1.0)
        return torch.relu(self.summary(torch.cat([pooled / count, torch.relu(table)], 1)))


class Scorer(CardReader, Network):
    """See the module and `Network`."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        hidden = shape.hidden
        self.card_mix = nn.Linear(hidden, hidden)
        self.card_out = nn.Linear(hidden, 1)
        self.row_in = nn.Linear(LAYOUT["rows"].width, hidden)
        self.row_mix = nn.Linear(hidden, hidden)
        self.row_out = nn.Linear(hidden, 2)  # taken or laid at its end, laid at its front
        self._complete(self.card_out, self.row_out)

    def values(self, observations: Tensor) -> Tensor:
        """Values (k,) alone, in two thirds of the time."""
        return self._value(self.look(observations).summary)

    def read(self, observations: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        games, numbers, scaled, table, cards, summary = self.look(observations)
        mixed = torch.relu(self.card_mix(cards) + summary.index_select(0, games))
        logits = table.new_zeros(len(table), NUM_ACTIONS)
        logits[games, numbers - 1] = self.card_out(mixed)[:, 0]
        # Rows may be chosen in few observations.
        choosing = torch.nonzero(observations[:, CHOICE].sum(1), as_tuple=True)[0]
        logits = logits.index_add(0, choosing, self._rows(scaled[choosing], table[choosing], summary[choosing]))
        if self.shape.draft:
            logits = self.drafted(observations, logits)
        return logits, self._value(summary), summary

    def dense(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        hand = LAYOUT.lines(observations, "hand")
        held = hand[..., PRESENT : PRESENT + 1] != 0
        numbers = torch.round(hand[..., CARD] * MAX_CARD).to(torch.int64)
        choosing = observations[:, CHOICE].sum(1, keepdim=True) != 0
        scaled, summed = self.scaled(observations)
        table = self.table(summed)
        cards = self._cards(LAYOUT.lines(scaled, "hand"), table[:, None])
        summary = self._sum_up(torch.where(held, cards, 0.0).sum(1), hand, table)
        scores = self.card_out(torch.relu(self.card_mix(cards) + summary[:, None]))
        actions = torch.arange(NUM_ACTIONS, device=observations.device)
        logits = torch.where(held & (numbers[..., None] - 1 == actions), scores, 0.0).sum(1)
        logits = logits + torch.where(choosing, self._rows(scaled, table, summary), 0.0)
        if self.shape.draft:
            logits = logits + self.draft_scores(observations)
        return logits, self._value(summary)

    def _rows(self, scaled: Tensor, table: Tensor, summary: Tensor) -> Tensor:
        """The logits of rows and fronts, (k, NUM_ACTIONS), 0 elsewhere."""
        hidden = torch.relu(self.row_in(LAYOUT.lines(scaled, "rows")) + table[:, None])
        return row_logits(self.row_out(torch.relu(self.row_mix(hidden) + summary[:, None])))
