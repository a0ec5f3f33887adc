"""Which of the cards that others may hold they are likely to play next: a small model of how sensible players choose.

A card has a score that follows from the table and from what is unseen; a player lays a card of his hand with a chance proportional to
e^score. The score is a net of one hidden layer over the numbers that `describe` writes, its weights in `plausible_weights`. They were
fitted by maximum likelihood (a conditional logit: McFadden, Conditional logit analysis of qualitative choice behavior, 1973) to what flat
Monte Carlo and the search that uses this model played in several variants; `python -m training.plausible` does so anew.

The model sees a holder's card as the searching seat does, which does not know what else its holder has.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ...core.cards import above, between
from ...core.kernel import i64, kernel
from .engine import NOWHERE, landing
from .features import NOTES, cheapest_row, expected_cost, last_card, take_notes
from .plausible_weights import BIAS, HIDDEN, OUT
from .rules import HEADS, MAX_CAPACITY, MAX_HAND, MAX_ROWS, MAX_SEATS

# What `describe` writes, all of it about -1 to 4. Nothing is known of a row where there is none: 0.
HOMELESS, FULL, ROOM, ARRIVALS, NOBODY_BEFORE, FEWER, SIXTH, ROW_HEADS, COST, GAP = range(10)
CARD_HEADS, CARD, CARDS_LEFT, CHEAPEST, HAS_ABOVE, ARRIVALS_ABOVE, ROOM_ABOVE, HEADS_ABOVE, RANK, OTHERS = range(10, 20)
NUM_NUMBERS: Final = 20


@kernel
def describe(view: Any, notes: Any, card: int, numbers: Any) -> None:
    """Write what a player may look at who could lay `card` now, to `numbers`, (20,) float64; `notes` are those of the view."""
    table = view.table
    numbers[:] = 0.0
    end, front = landing(table, card)
    cost, mean = expected_cost(view, notes, card)
    numbers[NOBODY_BEFORE] = notes.chances[0]
    numbers[ARRIVALS] = _few(mean)
    numbers[COST] = cost / 5.0
    numbers[CARD_HEADS] = HEADS[card] / 7.0
    numbers[CARD] = card / float(table.highest_card)
    numbers[CARDS_LEFT] = (i64(table.hand_size) - i64(table.turn)) / float(MAX_HAND)
    numbers[CHEAPEST] = table.row_heads[cheapest_row(table)] / 10.0
    numbers[OTHERS] = (i64(table.num_players) - 1) / (MAX_SEATS - 1.0)
    row = end if end != NOWHERE else front
    if row == NOWHERE:
        numbers[HOMELESS] = 1.0
        numbers[ROW_HEADS] = numbers[CHEAPEST]
    else:
        room = _room(table, row)
        numbers[FULL] = 1.0 if room == 0 else 0.0
        numbers[ROOM] = room / float(MAX_CAPACITY)
        for count in range(room):
            numbers[FEWER] += notes.chances[count]
        numbers[SIXTH] = notes.chances[room]
        numbers[ROW_HEADS] = table.row_heads[row] / 10.0
        gap = card - last_card(table, end) if end != NOWHERE else i64(table.rows[front, 0]) - card
        numbers[GAP] = min(gap / 10.0, 3.0)
    _describe_next_row(view, notes, card, numbers)


@kernel
def _describe_next_row(view: Any, notes: Any, card: int, numbers: Any) -> None:
    """The row with the lowest last card above `card`."""
    table = view.table
    place = 0
    while place < notes.rows and last_card(table, notes.ladder[place]) < card:
        place += 1
    numbers[RANK] = place / float(MAX_ROWS)
    if place < notes.rows:
        row = notes.ladder[place]
        numbers[HAS_ABOVE] = 1.0
        numbers[ROOM_ABOVE] = _room(table, row) / float(MAX_CAPACITY)
        numbers[HEADS_ABOVE] = table.row_heads[row] / 10.0
        if notes.hidden > 0:
            cards = between(notes.unknown, card, last_card(table, row))
            numbers[ARRIVALS_ABOVE] = _few(cards * (i64(table.num_players) - 1) / notes.hidden)


@kernel
def _few(count: float) -> float:
    return min(count, 5.0) / 3.0


@kernel
def _room(table: Any, row: int) -> int:
    return i64(table.row_capacity) - i64(table.row_len[row])


@kernel
def score(numbers: Any) -> float:
    """The score of a card that `describe` has described."""
    total = 0.0
    for unit in range(len(OUT)):
        value = BIAS[unit]
        for i in range(NUM_NUMBERS):
            value += HIDDEN[unit, i] * numbers[i]
        total += OUT[unit] * max(value, 0.0)
    return total


@kernel
def weigh(view: Any, notes: Any, sharpness: float, weights: Any) -> None:
    """Write how likely each card that another seat may hold is to be laid next by its holder, to `weights`, (105,) float64.

    Only the ratios of a hand's weights mean something; other cards get 0. `sharpness` multiplies the scores: 0 makes all equal, 1 is the
    model as fitted. `notes`, a NOTES record, is overwritten.
    """
    take_notes(view, notes)
    weights[:] = 0.0
    _weigh_all(view, notes, notes.unknown, sharpness, weights)
    if view.open:
        for seat in range(i64(view.table.num_players)):
            if seat != view.seat:
                _weigh_all(view, notes, view.hands[seat], sharpness, weights)


@kernel
def _weigh_all(view: Any, notes: Any, cards: Any, sharpness: float, weights: Any) -> None:
    numbers = np.empty(NUM_NUMBERS)
    card = above(cards, 0)
    while card != 0:
        describe(view, notes, card, numbers)
        weights[card] = math.exp(min(max(sharpness * score(numbers), -300.0), 300.0))
        card = above(cards, card)


@kernel
def describe_hands(views: Any, hands: Any, numbers: Any) -> None:
    """Write what `views`, (k,) VIEW, say of the cards of `hands`, (k, 2) uint64, ascending, to `numbers`, (k, 10, 20): to fit the model."""
    kept = np.zeros(1, NOTES)
    for k in range(len(views)):
        take_notes(views[k], kept[0])
        slot, card = 0, above(hands[k], 0)
        while card != 0:
            describe(views[k], kept[0], card, numbers[k, slot])
            slot, card = slot + 1, above(hands[k], card)
