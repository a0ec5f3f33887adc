"""What all networks have in common: how they read observations, and what they answer.

They read observations by the names of their groups and columns, so that one set of weights plays any hand, 2 to 10 players and every
variant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

import torch
from torch import Tensor, nn

from sixnimmt_env.games.sixnimmt import LAYOUT
from sixnimmt_env.games.sixnimmt.rules import MAX_CARD, MAX_ROWS
from sixnimmt_env.games.sixnimmt.state import ACTION_ROW, NUM_ACTIONS
from training.shape import Shape

CARD, PRESENT = LAYOUT["hand"].indices().card, LAYOUT["hand"].indices().present
CAN_DRAFT: Final = LAYOUT["cards"].indices().can_draft
CHOICE: Final = [LAYOUT["context"].indices().phase_row, LAYOUT["context"].indices().phase_side]
TABLE_SIZE: Final = LAYOUT["context"].size + LAYOUT["ladder"].size + 3 * LAYOUT["seats"].width
"""Numbers of a table as `Reader.summed_table` gives it."""
_DRAFT_REACH: Final = 4  # cards to either side that a draft card's score can see


class Reader(nn.Module):
    """A network that reads observations, (k, m) float32, m being at least `shape.observation_size`.

    Attributes:
        shape: its size.
        middle, spread: (m,) float32, by which the columns are scaled, see `standardise`.
    """

    middle: Tensor
    spread: Tensor

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.register_buffer("middle", torch.zeros(shape.observation_size))
        self.register_buffer("spread", torch.ones(shape.observation_size))

    def standardise(self, observations: Tensor) -> None:
        """Measure the means and deviations of the columns of `observations`, (k, m); from now on the network sees them scaled to 0 and 1.

        All lines of a group are scaled alike, the empty ones left out. Columns that do not vary stay as they are.
        """
        for name in ("context", "seats", "rows", "ladder", "hand"):
            group = LAYOUT[name]
            lines = LAYOUT.lines(observations, name).flatten(0, -2)
            names = [column.name for column in group.columns]
            if "present" in names:
                lines = lines[lines[:, names.index("present")] > 0]
            spread, middle = torch.std_mean(lines, 0)
            constant = spread < 1e-4
            middle, spread = middle.where(~constant, 0.0), spread.clamp(min=0.02).where(~constant, 1.0)
            start = LAYOUT.offset(name)
            part = slice(start, start + group.count * group.width)
            self.middle[part], self.spread[part] = middle.repeat(group.count), spread.repeat(group.count)

    def scaled(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """What is read of `observations`, scaled: (k, shape.observation_size), and the table of it as `summed_table` gives it."""
        present = LAYOUT.lines(observations, "seats")[..., :1]
        observations = (observations - self.middle) / self.spread
        return observations, self.summed_table(observations, present)

    def summed_table(self, observations: Tensor, present: Tensor) -> Tensor:
        """The table without its seats' order, (k, TABLE_SIZE): the own seat, and the mean and worst of the others."""
        seats = LAYOUT.lines(observations, "seats")
        there = present[:, 1:]
        others = seats[:, 1:] * there
        count = there.sum(1).clamp(min=1.0)
        context = observations[:, : LAYOUT.end("context")]
        ladder = LAYOUT.lines(observations, "ladder").flatten(1)
        return torch.cat([context, ladder, seats[:, 0], others.sum(1) / count, (seats[:, 1:] + (there - 1.0) * 1e3).amax(1)], 1)


class Network(Reader, ABC):
    """Observations (k, m) to (logits (k, NUM_ACTIONS), values (k,)); illegal actions have to be masked afterwards."""

    @abstractmethod
    def read(self, observations: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits (k, NUM_ACTIONS), values (k,), and the summary (k, hidden) of the table and the hand that the values come from."""

    @abstractmethod
    def values(self, observations: Tensor) -> Tensor:
        """Values (k,) alone, in less time."""

    @abstractmethod
    def dense(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """As `forward`, for observations of exactly `shape.observation_size` numbers, by operations whose sizes do not depend on what is in
        them: what a graph can be made of."""

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (k, NUM_ACTIONS) and values (k,)."""
        logits, values, _ = self.read(observations)
        return logits, values

    def drafted(self, observations: Tensor, logits: Tensor) -> Tensor:
        """`logits` with the scores of the cards added that lie face up to be drafted: what `draft_scores` has, for those alone.

        A convolution over all cards of all observations would take four times as long as everything else.
        """
        drafting = torch.nonzero(LAYOUT.lines(observations, "cards")[..., CAN_DRAFT].any(1), as_tuple=True)[0]
        if not len(drafting):
            return logits
        columns = nn.functional.pad(self._draft_columns(observations[drafting]), (_DRAFT_REACH, _DRAFT_REACH))
        games, places = torch.nonzero(LAYOUT.lines(observations[drafting], "cards")[..., CAN_DRAFT], as_tuple=True)
        windows = columns.unfold(2, 2 * _DRAFT_REACH + 1, 1)[games, :, places].flatten(1)
        inner, outer = self.draft_in, self.draft_out
        hidden = torch.relu(nn.functional.linear(windows, inner.weight.flatten(1), inner.bias))
        scores = nn.functional.linear(hidden, outer.weight[..., 0], outer.bias)[:, 0]
        return logits.index_put((drafting[games], places), scores, accumulate=True)

    def draft_scores(self, observations: Tensor) -> Tensor:
        """Scores of the cards that lie face up to be drafted, at their actions, (k, NUM_ACTIONS); 0 elsewhere."""
        scores = self.draft_out(torch.relu(self.draft_in(self._draft_columns(observations))))[:, 0]
        can_draft = LAYOUT.lines(observations, "cards")[..., CAN_DRAFT]
        return nn.functional.pad(scores * can_draft, (0, NUM_ACTIONS - MAX_CARD))

    def _draft_columns(self, observations: Tensor) -> Tensor:
        """(k, columns, MAX_CARD): what the observations say of each card, and its number. None of it is scaled."""
        cards = LAYOUT.lines(observations, "cards")
        number = torch.arange(MAX_CARD, dtype=cards.dtype, device=cards.device).div(MAX_CARD).expand(cards.shape[0], -1)
        return torch.cat([cards, number[..., None]], 2).transpose(1, 2)

    def _value(self, summary: Tensor) -> Tensor:
        """(k,) of summaries (k, hidden)."""
        value: Tensor = self.value_out(torch.relu(self.value_hidden(summary)))[:, 0]
        return value

    def _complete(self, *last: nn.Linear) -> None:
        """Add what the value and the cards of a draft take, and draw the weights; those of the `last` layers of scores are small, so that
        play begins undecided."""
        self.value_hidden = nn.Linear(self.shape.hidden, self.shape.hidden)
        self.value_out = nn.Linear(self.shape.hidden, 1)
        if self.shape.draft:
            columns = LAYOUT["cards"].width + 1
            self.draft_in = nn.Conv1d(columns, 32, 2 * _DRAFT_REACH + 1, padding=_DRAFT_REACH)
            self.draft_out = nn.Conv1d(32, 1, 1)
        self.apply(initialise)
        for layer in last:
            nn.init.orthogonal_(layer.weight, 0.01)


def row_logits(scores: Tensor) -> Tensor:
    """Scores (k, MAX_ROWS, 2) of rows, taken or laid at the end, laid at the front, at their actions: (k, NUM_ACTIONS), 0 elsewhere."""
    return nn.functional.pad(scores.transpose(1, 2).flatten(1), (ACTION_ROW, NUM_ACTIONS - ACTION_ROW - 2 * MAX_ROWS))


def initialise(module: nn.Module) -> None:
    """Draw the weights of a layer that is followed by a rectifier."""
    if isinstance(module, (nn.Linear, nn.Conv1d)):
        nn.init.orthogonal_(module.weight, 2**0.5)
        nn.init.zeros_(module.bias)
