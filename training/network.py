"""The network: one scorer shared over the cards of the hand, the rows, and the cards of the draft.

It reads observations by the names of their groups and columns, so that one set of weights plays any hand, 2 to 10 players and every
variant. Every card of the hand goes through the same layers, beside a summary of the table and of the other cards; the result is one
logit a card. Rows have a scorer of their own, and so have the cards of the draft. Only cards that are held, and rows that may be
chosen, are worked on: with hands that shrink from ten cards to none this halves the time.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from sixnimmt_env.games.sixnimmt import LAYOUT
from sixnimmt_env.games.sixnimmt.features import COMPACT_SIZE
from sixnimmt_env.games.sixnimmt.rules import MAX_CARD, MAX_ROWS
from sixnimmt_env.games.sixnimmt.state import ACTION_ROW, NUM_ACTIONS

_CARD, _PRESENT = LAYOUT["hand"].indices().card, LAYOUT["hand"].indices().present
_CHOICE = [LAYOUT["context"].indices().phase_row, LAYOUT["context"].indices().phase_side]
_DRAFT_REACH = 4  # cards to either side that a draft card's score can see


@dataclass(frozen=True, slots=True)
class Shape:
    """Size of a network.

    Args:
        hidden: units a layer.
        layers: layers of the card scorer, 1 or more.
        draft: whether it can draft; it then reads whole observations instead of compact ones.
    """

    hidden: int = 64
    layers: int = 2
    draft: bool = False

    @property
    def observation_size(self) -> int:
        """Numbers of the observation that the network reads, from the first on."""
        return LAYOUT.size if self.draft else COMPACT_SIZE

    def as_dict(self) -> dict[str, Any]:
        """The shape as plain data."""
        return {"kind": "scorer", **asdict(self)}


class Scorer(nn.Module):
    """Observations (k, m) to (logits (k, NUM_ACTIONS), values (k,)); illegal actions have to be masked afterwards."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        hidden = shape.hidden
        hand, rows, seats = LAYOUT["hand"], LAYOUT["rows"], LAYOUT["seats"]
        table = LAYOUT["context"].size + LAYOUT["ladder"].size + 3 * seats.width
        self.table = nn.Linear(table, hidden)
        self.card_in = nn.Linear(hand.width, hidden)
        self.card_layers = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(shape.layers - 1))
        self.summary = nn.Linear(2 * hidden, hidden)
        self.card_mix = nn.Linear(hidden, hidden)
        self.card_out = nn.Linear(hidden, 1)
        self.row_in = nn.Linear(rows.width, hidden)
        self.row_mix = nn.Linear(hidden, hidden)
        self.row_out = nn.Linear(hidden, 2)  # taken or laid at its end, laid at its front
        self.value_hidden = nn.Linear(hidden, hidden)
        self.value_out = nn.Linear(hidden, 1)
        if shape.draft:
            columns = LAYOUT["cards"].width + 1
            self.draft_in = nn.Conv1d(columns, 32, 2 * _DRAFT_REACH + 1, padding=_DRAFT_REACH)
            self.draft_out = nn.Conv1d(32, 1, 1)
        self.apply(_initialise)
        for last in (self.card_out, self.row_out):
            nn.init.orthogonal_(last.weight, 0.01)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (k, NUM_ACTIONS) and values (k,)."""
        table = self.table(self._table(observations))
        hand = LAYOUT.lines(observations, "hand")
        games, slots = torch.nonzero(hand[..., _PRESENT], as_tuple=True)
        held = hand[games, slots]
        cards = torch.relu(self.card_in(held) + table.index_select(0, games))
        for layer in self.card_layers:
            cards = torch.relu(layer(cards))
        count = hand[..., _PRESENT].sum(1, keepdim=True).clamp(min=1.0)
        pooled = torch.zeros_like(table).index_add(0, games, cards) / count
        summary = torch.relu(self.summary(torch.cat([pooled, torch.relu(table)], 1)))
        mixed = torch.relu(self.card_mix(cards) + summary.index_select(0, games))
        logits = table.new_zeros(len(table), NUM_ACTIONS)
        logits[games, torch.round(held[:, _CARD] * MAX_CARD).long() - 1] = self.card_out(mixed)[:, 0]
        logits = self._rows(observations, table, summary, logits)
        if self.shape.draft:
            logits = logits + self._draft(observations)
        return logits, self.value_out(torch.relu(self.value_hidden(summary)))[:, 0]

    def _table(self, observations: Tensor) -> Tensor:
        """The table without its seats' order: the own seat, and the mean and worst of the others."""
        seats = LAYOUT.lines(observations, "seats")
        others = seats[:, 1:]
        count = others[..., :1].sum(1).clamp(min=1.0)
        context = observations[:, : LAYOUT.end("context")]
        ladder = LAYOUT.lines(observations, "ladder").flatten(1)
        return torch.cat([context, ladder, seats[:, 0], others.sum(1) / count, others.amax(1)], 1)

    def _rows(self, observations: Tensor, table: Tensor, summary: Tensor, logits: Tensor) -> Tensor:
        """Add the logits of rows and fronts, in the few observations in which one may be chosen."""
        games = torch.nonzero(observations[:, _CHOICE].sum(1), as_tuple=True)[0]
        rows = LAYOUT.lines(observations[games], "rows")
        hidden = torch.relu(self.row_in(rows) + table[games][:, None])
        scores = self.row_out(torch.relu(self.row_mix(hidden) + summary[games][:, None]))
        scores = nn.functional.pad(scores.transpose(1, 2).flatten(1), (ACTION_ROW, NUM_ACTIONS - ACTION_ROW - 2 * MAX_ROWS))
        return logits.index_add(0, games, scores)

    def _draft(self, observations: Tensor) -> Tensor:
        """Scores of the cards that lie face up to be drafted, at their actions; 0 elsewhere."""
        cards = LAYOUT.lines(observations, "cards")
        number = torch.arange(MAX_CARD, dtype=cards.dtype, device=cards.device).div(MAX_CARD).expand(len(cards), -1)
        columns = torch.cat([cards, number[..., None]], 2).transpose(1, 2)
        scores = self.draft_out(torch.relu(self.draft_in(columns)))[:, 0]
        return nn.functional.pad(scores * cards[..., LAYOUT["cards"].indices().can_draft], (0, NUM_ACTIONS - MAX_CARD))


def _initialise(module: nn.Module) -> None:
    if isinstance(module, (nn.Linear, nn.Conv1d)):
        nn.init.orthogonal_(module.weight, 2**0.5)
        nn.init.zeros_(module.bias)
