"""The state of a game as one record, and the number of every action.

A state is what lies on the `table`, which everybody sees, and what does not: the hands, the cards picked but not yet
revealed, and the seed that the next deals follow from. A seat's view (see `view.py`) holds the same table.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...core.game import Actions
from ...core.seeding import check_seed
from .rules import DECKS, MAX_CAPACITY, MAX_CARD, MAX_HAND, MAX_ROWS, MAX_SEATS, Rules

# Phases: what is being decided. In PICK all seats decide at once, in DRAFT, ROW and SIDE one seat, the `actor`. In PLACE the revealed
# cards are being placed and nobody decides: a game that waits for a decision is never in it, only `story.unfold` stops there.
DRAFT, PICK, ROW, SIDE, OVER, PLACE = range(6)
PHASES: Final = ("draft", "pick", "row", "side", "over")  # those that games wait in

ACTION_ROW: Final = MAX_CARD
ACTION_FRONT: Final = ACTION_ROW + MAX_ROWS
ACTION_WAIT: Final = ACTION_FRONT + MAX_ROWS
NUM_ACTIONS: Final = ACTION_WAIT + 1
ACTIONS: Final = (
    Actions(0, MAX_CARD, "card", 1, "pick it from the hand, or take it in the draft of the logic deck"),
    Actions(ACTION_ROW, MAX_ROWS, "row", 0, "take it, or lay the card at its end"),
    Actions(ACTION_FRONT, MAX_ROWS, "front of row", 0, "lay the card at its front (professional only)"),
    Actions(ACTION_WAIT, 1, "wait", None, "nothing to decide (parallel and vector forms only)"),
)

NOBODY: Final = 255

TABLE: Final = np.dtype(
    [
        ("seen", np.uint64, (2,)),  # set of the cards that have lain open this round
        ("salt", np.uint64),  # a random number of the match, known to all: agents' dice start from it, lest equal tables repeat a game
        ("totals", np.uint32, (MAX_SEATS,)),  # bull heads of the match, this round's included
        ("rounds", np.uint32),  # rounds of the match; 0 when it goes to a target
        ("target", np.uint32),  # target of the match; 0 when the rounds are fixed
        ("round_index", np.uint32),  # complete rounds so far
        ("plays", np.uint8, (MAX_HAND, MAX_SEATS)),  # card revealed in turn t by seat s, 0 not yet
        ("penalties", np.uint8, (MAX_SEATS,)),  # bull heads of this round
        ("last", np.uint8, (MAX_SEATS,)),  # card of each seat in the turn last revealed, also after the next deal; 0 none yet
        ("order", np.uint8, (MAX_SEATS,)),  # of that turn: seats by ascending card
        ("landed", np.uint8, (MAX_SEATS,)),  # of that turn: 1 + row the seat's card went to, 0 not yet placed
        ("took", np.uint8, (MAX_SEATS,)),  # of that turn: bull heads taken
        ("rows", np.uint8, (MAX_ROWS, MAX_CAPACITY)),  # cards of each row, front to end, 0 beyond
        ("row_len", np.uint8, (MAX_ROWS,)),
        ("row_heads", np.uint8, (MAX_ROWS,)),
        ("phase", np.uint8),
        ("actor", np.uint8),  # the seat that decides in DRAFT, ROW and SIDE, else NOBODY
        ("turn", np.uint8),  # complete turns of this round
        ("placed", np.uint8),  # cards placed of the turn last revealed
        ("drafted", np.uint8),  # draft picks made this round
        ("num_players", np.uint8),
        ("deck", np.uint8),  # index into DECKS
        ("professional", np.uint8),
        ("exceed_target", np.uint8),
        ("hand_size", np.uint8),
        ("num_rows", np.uint8),
        ("row_capacity", np.uint8),
        ("highest_card", np.uint8),
    ],
    align=True,
)
"""What everybody sees. Unused seats, rows and slots are 0."""

STATE: Final = np.dtype(
    [
        ("table", TABLE),
        ("hands", np.uint64, (MAX_SEATS, 2)),  # sets of cards; a picked card stays in its hand until it is revealed
        ("picks", np.uint8, (MAX_SEATS,)),  # card picked and not yet revealed, 0 none
        ("picked", np.uint8),  # how many these are
        ("seed", np.uint64),  # deals follow from (seed, game, round_index)
        ("game", np.uint64),
    ],
    align=True,
)
"""One game, whole: copying the record clones the game, history included."""


def costs(states: NDArray[np.void]) -> NDArray[np.uint32]:
    """Bull heads of the match so far: (n, 10) uint32, a view into `states`."""
    totals: NDArray[np.uint32] = states["table"]["totals"]
    return totals


def new_states(rules: Rules, count: int, seed: int = 0, first_game: int = 0) -> NDArray[np.void]:
    """`count` undealt games of `rules`, numbered from `first_game`: (count,) STATE. `engine.deal` deals them."""
    states = np.zeros(count, dtype=STATE)
    table = states["table"]
    for name in ("num_players", "professional", "exceed_target", "hand_size", "num_rows", "row_capacity", "highest_card"):
        table[name] = getattr(rules, name)
    table["deck"] = DECKS.index(rules.deck)
    table["rounds"] = rules.rounds or 0
    table["target"] = rules.target or 0
    states["seed"] = check_seed(seed)
    states["game"] = np.arange(first_game, first_game + count, dtype=np.uint64)
    return states
