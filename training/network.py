"""The network: one scorer shared over the cards of the hand, the rows, and the cards of the draft.

It reads observations by the names of their groups and columns, so that one set of weights plays any hand, 2 to 10 players and every
variant. Every card of the hand goes through the same layers, beside a summary of the table and of the other cards; the result is one
logit a card. Rows have a scorer of their own, and so have the cards of the draft. Only cards that are held, and rows that may be
chosen, are worked on: with hands that shrink from ten cards to none this halves the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sixnimmt_env.core.saved import fitting
from sixnimmt_env.games.sixnimmt import LAYOUT
from sixnimmt_env.games.sixnimmt.features import COMPACT_SIZE
from sixnimmt_env.games.sixnimmt.rules import MAX_CARD, MAX_ROWS
from sixnimmt_env.games.sixnimmt.state import ACTION_ROW, NUM_ACTIONS

CARD, PRESENT = LAYOUT["hand"].indices().card, LAYOUT["hand"].indices().present
CHOICE = [LAYOUT["context"].indices().phase_row, LAYOUT["context"].indices().phase_side]
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
        self.register_buffer("middle", torch.zeros(shape.observation_size))
        self.register_buffer("spread", torch.ones(shape.observation_size))
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

    def values(self, observations: Tensor) -> Tensor:
        """Values (k,) alone, in two thirds of the time."""
        return self._value(self._look(observations)[-1])

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (k, NUM_ACTIONS) and values (k,)."""
        games, numbers, choosing, scaled, table, cards, summary = self._look(observations)
        mixed = torch.relu(self.card_mix(cards) + summary.index_select(0, games))
        logits = table.new_zeros(len(table), NUM_ACTIONS)
        logits[games, numbers - 1] = self.card_out(mixed)[:, 0]
        logits = self._rows(scaled, choosing, table, summary, logits)
        if self.shape.draft:
            logits = logits + self.draft_scores(scaled)
        return logits, self._value(summary)

    def _value(self, summary: Tensor) -> Tensor:
        value: Tensor = self.value_out(torch.relu(self.value_hidden(summary)))[:, 0]
        return value

    def _look(self, observations: Tensor) -> tuple[Tensor, ...]:
        """What logits and values have in common.

        For each card that is held: whose it is, and its number. Then, for each observation, whether a row is to be chosen, the scaled
        observation, and the table; the cards; and for each observation the summary of table and cards.
        """
        observations = observations[:, : self.shape.observation_size]  # whole ones may be given to a network that reads less
        hand = LAYOUT.lines(observations, "hand")
        games, slots = torch.nonzero(hand[..., PRESENT], as_tuple=True)
        numbers = torch.round(hand[games, slots, CARD] * MAX_CARD).long()
        present = LAYOUT.lines(observations, "seats")[..., :1]
        choosing = observations[:, CHOICE].sum(1)
        observations = (observations - self.middle) / self.spread
        table = self.table(self.summed_table(observations, present))
        held = LAYOUT.lines(observations, "hand")[games, slots]
        cards = torch.relu(self.card_in(held) + table.index_select(0, games))
        for layer in self.card_layers:
            cards = torch.relu(layer(cards))
        count = hand[..., PRESENT].sum(1, keepdim=True).clamp(min=1.0)
        pooled = torch.zeros_like(table).index_add(0, games, cards) / count
        summary = torch.relu(self.summary(torch.cat([pooled, torch.relu(table)], 1)))
        return games, numbers, choosing, observations, table, cards, summary

    def summed_table(self, observations: Tensor, present: Tensor) -> Tensor:
        """The table without its seats' order: the own seat, and the mean and worst of the others."""
        seats = LAYOUT.lines(observations, "seats")
        there = present[:, 1:]
        others = seats[:, 1:] * there
        count = there.sum(1).clamp(min=1.0)
        context = observations[:, : LAYOUT.end("context")]
        ladder = LAYOUT.lines(observations, "ladder").flatten(1)
        return torch.cat([context, ladder, seats[:, 0], others.sum(1) / count, (seats[:, 1:] + (there - 1.0) * 1e3).amax(1)], 1)

    def _rows(self, observations: Tensor, choosing: Tensor, table: Tensor, summary: Tensor, logits: Tensor) -> Tensor:
        """Add the logits of rows and fronts, in the few observations in which one may be chosen."""
        games = torch.nonzero(choosing, as_tuple=True)[0]
        rows = LAYOUT.lines(observations[games], "rows")
        hidden = torch.relu(self.row_in(rows) + table[games][:, None])
        scores = self.row_out(torch.relu(self.row_mix(hidden) + summary[games][:, None]))
        scores = nn.functional.pad(scores.transpose(1, 2).flatten(1), (ACTION_ROW, NUM_ACTIONS - ACTION_ROW - 2 * MAX_ROWS))
        return logits.index_add(0, games, scores)

    def draft_scores(self, observations: Tensor) -> Tensor:
        """Scores of the cards that lie face up to be drafted, at their actions; 0 elsewhere."""
        cards = LAYOUT.lines(observations, "cards")
        number = torch.arange(MAX_CARD, dtype=cards.dtype, device=cards.device).div(MAX_CARD).expand(cards.shape[0], -1)
        columns = torch.cat([cards, number[..., None]], 2).transpose(1, 2)
        scores = self.draft_out(torch.relu(self.draft_in(columns)))[:, 0]
        return nn.functional.pad(scores * cards[..., LAYOUT["cards"].indices().can_draft], (0, NUM_ACTIONS - MAX_CARD))


def adopt(network: Scorer, other: Scorer) -> None:
    """Give `network` the weights and scales of `other`, whose layers are as large. What only one has, for drafting, is left as it is."""
    own = network.state_dict()
    with torch.no_grad():
        for name, tensor in other.state_dict().items():
            if name in own:
                size = min(len(own[name]), len(tensor))  # scales: who drafts reads longer observations
                own[name][:size] = tensor[:size]


def arrays(network: nn.Module) -> dict[str, NDArray[Any]]:
    """A copy of the weights, by name."""
    return {name: np.array(tensor.detach().cpu().numpy()) for name, tensor in network.state_dict().items()}


def of_arrays(shape: Shape, given: Mapping[str, Any]) -> Scorer:
    """A network with the weights that `arrays` took from another one. Nothing is drawn for it, as a new one's weights are: torch's random
    state is the training's. Errors are those of `load_arrays`."""
    with torch.device("meta"):
        network = Scorer(shape)
    load_arrays(network, given, assign=True)
    return network


def load_arrays(network: nn.Module, given: Mapping[str, Any], assign: bool = False) -> None:
    """Give `network` the weights that `arrays` took from another one; with `assign` it may be on the meta device, and leaves it.

    Raises:
        KeyError: some are missing.
        ValueError: they are those of a network of another shape.
    """
    wanted = network.state_dict()
    if unknown := given.keys() - wanted.keys():
        raise ValueError(f"{min(unknown)!r} is no weight of the network")
    found = {name: fitting(given[name], name, np.float32, tuple(tensor.shape)) for name, tensor in wanted.items()}
    network.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in found.items()}, assign=assign)


def _initialise(module: nn.Module) -> None:
    if isinstance(module, (nn.Linear, nn.Conv1d)):
        nn.init.orthogonal_(module.weight, 2**0.5)
        nn.init.zeros_(module.bias)
