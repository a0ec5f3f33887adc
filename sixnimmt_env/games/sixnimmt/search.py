"""Playouts against others who play sensible cards next.

They are those of `playouts` at random but for one thing: when cards are picked, the others lay plausible cards of their imagined hands
in the running turn (`plausible`), not any; from the next turn on everybody plays at random again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.kernel import kernel
from ...core.seeding import mix
from .features import NOTES
from .heuristics import RANDOM
from .plausible import weigh
from .playouts import BOARD, DECK, NUM_STATS, by_players, set_board, set_deck, try_all
from .state import DRAFT, NUM_ACTIONS, PICK, STATE
from .view import VIEW, fingerprint, write_legal


@kernel
def search(views: Any, rollouts: int, sharpness: float, seed: Any, stats: Any) -> None:
    """Search the actions of `views`, (k,) VIEW, and add what came of them to `stats`, (k, 113, NUM_STATS) float64, as `playouts` does.

    Args:
        views: a view whose seat has nothing to decide is left out.
        rollouts: playouts of each legal action, all in the same deals.
        sharpness: of the others' choice, see `plausible.weigh`; 0 lets them play at random, and gives the numbers of `playouts`.
        seed: uint64, the dice.
    """
    if stats.shape != (len(views), NUM_ACTIONS, NUM_STATS):
        raise ValueError("stats must be (k, 113, NUM_STATS), k being the number of views")
    mask = np.zeros(NUM_ACTIONS, dtype=np.int8)
    # Arrays are kept, not their records: a record alone does not keep its memory.
    decks, boards, states, shown, notes = np.zeros(1, DECK), np.zeros(2, BOARD), np.zeros(1, STATE), np.zeros(1, VIEW), np.zeros(1, NOTES)
    for k in range(len(views)):
        view = views[k]
        write_legal(view, mask)
        if view.deciding == 0:
            continue
        word = mix(seed, fingerprint(view))
        if view.table.phase == DRAFT:
            by_players(view, mask, 0, rollouts, RANDOM, word, states[0], shown[0], notes[0], stats[k])
            continue
        set_board(view.table, boards[0])
        set_deck(view, decks[0])
        if view.table.phase == PICK and sharpness > 0.0:
            weigh(view, notes[0], sharpness, decks[0].weights)
            decks[0].weighted = 1
        for number in range(rollouts):
            try_all(view, mask, mix(word, number), decks[0], boards, stats[k])
