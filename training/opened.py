"""What only training may know: decisions with all hands open. Nothing here is ever given to a policy that acts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sixnimmt_env.core.game import Game, States
from sixnimmt_env.games.sixnimmt import LAYOUT
from sixnimmt_env.games.sixnimmt.features import COMPACT_SIZE
from sixnimmt_env.games.sixnimmt.rules import MAX_CARD

OWN, OTHERS, LEFT = 1, 2, 3
"""Where a card is: in the own hand, in somebody else's, or dealt to nobody yet. 0: it has lain open, or is not in the deck."""
PLACES: Final = (OWN, OTHERS, LEFT)


class Opened(NamedTuple):
    """Decisions with all hands open.

    The layout tells whose a card is only card by card, in a table too wide for a small network. So what is kept is the compact observation,
    whose chances are those of the hands as they are, and where each card is.

    Attributes:
        observations: (k, COMPACT_SIZE) float32.
        cards: (k, 104) int8, where each card is, see `OWN`, `OTHERS`, `LEFT`. What others have picked and not yet revealed is still in
            their hands.
    """

    observations: NDArray[np.float32]
    cards: NDArray[np.int8]


def opened(game: Game, states: States, games: NDArray[np.int64], seats: NDArray[np.int64]) -> Opened:
    """What the seats `seats`, (k,), of the games `games`, (k,), would see if all hands were open."""
    views = np.zeros(len(games), dtype=game.view_dtype)
    game.reveal_all(states, games, seats, views)
    observations = np.empty((len(games), LAYOUT.size), dtype=np.float32)
    game.encode(views, observations)
    columns, table = LAYOUT["cards"].indices(), LAYOUT.lines(observations, "cards")
    cards = np.zeros((len(games), MAX_CARD), dtype=np.int8)
    cards[table[..., columns.holder] > 0] = OTHERS
    cards[table[..., columns.own] > 0] = OWN
    cards[(table[..., columns.unseen] > 0) | (table[..., columns.can_draft] > 0)] = LEFT
    return Opened(observations[:, :COMPACT_SIZE].copy(), cards)


def joined(parts: Sequence[Opened]) -> Opened:
    """All of them in one."""
    pairs: Any = zip(*parts, strict=True)
    return Opened(*map(np.concatenate, pairs))
