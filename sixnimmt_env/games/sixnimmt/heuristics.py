"""Rule-based players of 6 nimmt!: functions of a view, and of dice for those that roll them.

Each answers every decision: a card, a row to take, a side, a draft pick. Of equal choices the first counts: the lowest card, the
first row, the end before the front.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...core.cards import above, nth, size
from ...core.kernel import i64, kernel
from ...core.seeding import below, mix
from .engine import NOWHERE, landing
from .features import NOTES, cheapest_row, expected_cost, heads_at_once, last_card, take_notes
from .state import ACTION_FRONT, ACTION_ROW, ACTION_WAIT, DRAFT, NUM_ACTIONS, PICK, ROW
from .view import fingerprint, revealed, write_legal

UNIFORM, RANDOM, LOWEST, HIGHEST, CLOSEST, GREEDY = range(6)

DESCRIPTIONS: Final = {
    "random": (RANDOM, "any card, draft pick or side, all equally likely; takes the cheapest row"),
    "uniform": (UNIFORM, "any legal action, all equally likely, the row to take as well"),
    "lowest": (LOWEST, "the lowest card; takes the cheapest row, lays at the cheaper side, drafts the lowest card"),
    "highest": (HIGHEST, "the highest card; takes the cheapest row, lays at the cheaper side, drafts the highest card"),
    "closest": (CLOSEST, "the card nearest above (or below) the card it joins; a card without a row last; else as highest"),
    "greedy": (
        GREEDY,
        "the card with the least expected penalty: how likely the row fills before it, times what lies there; of equals the closest; "
        "else as highest",
    ),
}


@kernel
def act(views: Any, kind: int, seed: Any, actions: Any) -> None:
    """Write the action of the player `kind` for each of `views`, (k,) VIEW, to `actions`, (k,) int64.

    A seat that has nothing to decide waits. `seed` is a uint64; equal views get equal dice in whatever batch they lie.
    """
    if len(actions) != len(views):
        raise ValueError("actions must be as long as views")
    kept = np.zeros(1, NOTES)
    for k in range(len(views)):
        actions[k] = decide(views[k], kind, seed, kept[0])


@kernel
def expect(views: Any, costs: Any) -> None:
    """Write the bull heads that "greedy" expects of each action at once to `costs`, (k, 113) float64; infinite for illegal actions.

    Of a draft pick it expects nothing: all are 0.
    """
    if costs.shape != (len(views), NUM_ACTIONS):
        raise ValueError("costs must be (k, 113), k being the number of views")
    kept, mask = np.zeros(1, NOTES), np.zeros(NUM_ACTIONS, dtype=np.int8)
    for k in range(len(views)):
        view = views[k]
        take_notes(view, kept[0])
        write_legal(view, mask)
        for action in range(NUM_ACTIONS):
            costs[k, action] = _expected(view, kept[0], action) if mask[action] else np.inf


@kernel
def _expected(view: Any, notes: Any, action: int) -> float:
    """The bull heads that a legal action is expected to cost at once."""
    phase = view.table.phase
    if phase == PICK:
        return expected_cost(view, notes, action + 1)[0]
    if phase == DRAFT:
        return 0.0
    if phase == ROW:
        return float(view.table.row_heads[action - ACTION_ROW])
    return float(heads_at_once(view.table, action - (ACTION_FRONT if action >= ACTION_FRONT else ACTION_ROW)))


@kernel
def decide(view: Any, kind: int, seed: Any, notes: Any) -> int:
    """The action of the player `kind` for one view; `notes`, a NOTES record, is overwritten."""
    phase = view.table.phase
    word = mix(seed, fingerprint(view)) if kind <= RANDOM else seed
    take_notes(view, notes)
    if view.deciding == 0:
        return ACTION_WAIT
    if phase == PICK:
        return _pick(view, kind, word, notes) - 1
    if phase == DRAFT:
        return _choose_extreme(notes.unknown, kind, word) - 1
    if phase == ROW:
        return ACTION_ROW + _choose_row(view.table, kind, word)
    return _choose_side(view, kind, word)


@kernel
def _choose_extreme(cards: Any, kind: int, word: Any) -> int:
    """A card of the set: any, the lowest, or for all other kinds the highest."""
    if kind <= RANDOM:
        word, at = below(word, size(cards))
        return nth(cards, at)
    if kind == LOWEST:
        return above(cards, 0)
    return nth(cards, size(cards) - 1)


@kernel
def _pick(view: Any, kind: int, word: Any, notes: Any) -> int:
    if kind < CLOSEST:
        return _choose_extreme(view.hand, kind, word)
    best, least, nearest = 0, np.inf, np.inf
    card = above(view.hand, 0)
    while card != 0:
        cost = expected_cost(view, notes, card)[0] if kind == GREEDY else 0.0
        gap = _gap(view.table, card)
        if cost < least or (cost == least and gap < nearest):
            best, least, nearest = card, cost, gap
        card = above(view.hand, card)
    return best


@kernel
def _gap(table: Any, card: int) -> float:
    """Distance to the card that `card` would lie beside; more than any distance if no row would have it."""
    end, front = landing(table, card)
    if end != NOWHERE:
        return float(card - last_card(table, end))
    if front != NOWHERE:
        return float(i64(table.rows[front, 0]) - card)
    return 1000.0


@kernel
def _choose_row(table: Any, kind: int, word: Any) -> int:
    if kind == UNIFORM:
        word, row = below(word, i64(table.num_rows))
        return row
    return cheapest_row(table)


@kernel
def _choose_side(view: Any, kind: int, word: Any) -> int:
    table = view.table
    end, front = landing(table, revealed(table, i64(view.seat)))
    at_front = heads_at_once(table, front) < heads_at_once(table, end)
    if kind <= RANDOM:
        word, coin = below(word, 2)
        at_front = coin == 1
    return ACTION_FRONT + front if at_front else ACTION_ROW + end
