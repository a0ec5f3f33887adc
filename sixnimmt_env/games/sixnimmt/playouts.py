"""Playouts: what an action costs on average, when the rest of the round is played out many times.

A playout deals the cards that a view does not show to the other seats and plays on to the end of the round. All legal actions of a view
are tried in the same deals, so that their differences are less noisy than their values. The dice follow from (seed, what the seat sees,
number of the playout): many calls, or other views beside it, give the same numbers as one.

Where all seats play at random, at least from the next turn on, a round is known as soon as it is drawn in which order each lays its cards.
It is then played on a BOARD, which holds the rows and nothing else, with the engine's own placing: about a microsecond a playout.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...core.cards import above
from ...core.kernel import i64, kernel
from ...core.seeding import below, mix, uniform
from .autoplay import one_step
from .engine import NOWHERE, landing, lay, take
from .features import NOTES, cheapest_row
from .heuristics import RANDOM
from .plausible import weigh
from .rules import MAX_CAPACITY, MAX_CARD, MAX_HAND, MAX_ROWS, MAX_SEATS
from .state import ACTION_FRONT, ACTION_ROW, DRAFT, NUM_ACTIONS, OVER, PICK, ROW, STATE
from .view import VIEW, fingerprint, imagine, unseen, write_legal

# What is added up for each action: playouts, bull heads and their squares, how often the card took a row, and which row it went to.
COUNT, HEADS_SUM, SQUARES, TOOK, TO_ROW = range(5)
STATS: Final = ("playouts", "cost", "squares", "takes a row", *(f"row {row}" for row in range(MAX_ROWS)))
NUM_STATS: Final = len(STATS)

BOARD: Final = np.dtype(
    [
        ("word", np.uint64),  # dice for ties
        ("totals", np.uint32, (MAX_SEATS,)),
        ("rows", np.uint8, (MAX_ROWS, MAX_CAPACITY)),
        ("row_len", np.uint8, (MAX_ROWS,)),
        ("row_heads", np.uint8, (MAX_ROWS,)),
        ("penalties", np.uint8, (MAX_SEATS,)),
        ("took", np.uint8, (MAX_SEATS,)),
        ("num_rows", np.uint8),
        ("row_capacity", np.uint8),
        ("professional", np.uint8),
    ],
    align=True,
)
"""The fields of a table that placing a card reads and writes, and dice."""

DECK: Final = np.dtype(
    [
        ("pool", np.uint8, (MAX_SEATS, MAX_CARD)),  # cards that a seat may hold; those of seat 0 are all seats' where hands are hidden
        ("pool_size", np.int64, (MAX_SEATS,)),
        ("drawn", np.uint8, (MAX_SEATS, MAX_CARD)),  # the same, in the order in which they are dealt and played
        ("weights", np.float64, (MAX_CARD + 1,)),  # how likely a card is the next that its holder plays, beside the others of his hand
        ("weighted", np.uint8),  # 0: all equally likely
        ("hand", np.uint8, (MAX_HAND,)),  # own cards, ascending
        ("mine", np.uint8, (MAX_HAND,)),  # own cards in the order they are played
        ("keys", np.int64, (MAX_HAND, MAX_SEATS)),  # turn by turn the others' cards, ascending, as 16 * card + seat
        ("turns", np.int64),  # whole turns still to be played
    ],
    align=True,
)
"""What a playout draws."""


@kernel
def playouts(views: Any, first: int, count: int, kind: int, sharpness: float, seed: Any, stats: Any) -> None:
    """Play out every legal action of `views`, (k,) VIEW, and add what came of it to `stats`, (k, 113, NUM_STATS) float64.

    Args:
        views: a view whose seat has nothing to decide is left out.
        first, count: the playouts first, ..., first + count - 1 of each action.
        kind: the player of `heuristics` who plays everybody from then on, the own seat included. RANDOM is quickest.
        sharpness: with RANDOM, when cards are picked: the others lay plausible cards of their imagined hands in the running turn, see
            `plausible.weigh`, and any from the next turn on. 0: any at once.
        seed: uint64, the dice.
        stats: bull heads are the seat's own, from this decision to the end of the round.
    """
    if stats.shape != (len(views), NUM_ACTIONS, NUM_STATS):
        raise ValueError("stats must be (k, 113, NUM_STATS), k being the number of views")
    mask = np.zeros(NUM_ACTIONS, dtype=np.int8)
    # Arrays are kept, not their records: a record alone does not keep its memory (see `core.kernel`).
    decks, boards, states, shown, notes = np.zeros(1, DECK), np.zeros(2, BOARD), np.zeros(1, STATE), np.zeros(1, VIEW), np.zeros(1, NOTES)
    for k in range(len(views)):
        view = views[k]
        write_legal(view, mask)
        word = mix(seed, fingerprint(view))
        if view.deciding == 0:
            continue
        if kind != RANDOM or view.table.phase == DRAFT:
            by_players(view, mask, first, count, kind, word, states[0], shown[0], notes[0], stats[k])
            continue
        _set_board(view.table, boards[0])
        set_deck(view, decks[0])
        if view.table.phase == PICK and sharpness > 0.0:
            weigh(view, notes[0], sharpness, decks[0].weights)
            decks[0].weighted = 1
        for number in range(first, first + count):
            _try_all(view, mask, mix(word, number), decks[0], boards, stats[k])


@kernel
def _add(stats: Any, action: int, heads: int, row: int, took: bool) -> None:
    stats[action, COUNT] += 1.0
    stats[action, HEADS_SUM] += heads
    stats[action, SQUARES] += heads * heads
    if row >= 0:
        stats[action, TO_ROW + row] += 1.0
        stats[action, TOOK] += 1.0 if took else 0.0


# --- at random ---------------------------------------------------------------------------------------------------------


@kernel
def _try_all(view: Any, actions: Any, word: Any, deck: Any, boards: Any, stats: Any) -> None:
    """One playout of each of `actions`, a mask, in the same deal; `boards[0]` and `deck` are set, `boards[1]` is overwritten."""
    draw(view, deck, word)
    for action in range(NUM_ACTIONS):
        if actions[action]:
            _start(boards[0], ~word, boards[1])
            _play(view, deck, boards[1], action, stats)


@kernel
def _set_board(table: Any, board: Any) -> None:
    """Copy what placing a card reads from `table`, a TABLE or BOARD record."""
    board.num_rows = table.num_rows
    board.row_capacity = table.row_capacity
    board.professional = table.professional
    for row in range(MAX_ROWS):
        board.row_len[row] = table.row_len[row]
        board.row_heads[row] = table.row_heads[row]
        for slot in range(MAX_CAPACITY):
            board.rows[row, slot] = table.rows[row, slot]


@kernel
def _start(source: Any, word: Any, board: Any) -> None:
    _set_board(source, board)
    board.word = word
    for seat in range(MAX_SEATS):
        board.totals[seat] = 0


@kernel
def set_deck(view: Any, deck: Any) -> None:
    """Which cards each seat may hold, and the own hand; all cards are equally likely to be played next."""
    deck.weighted = 0
    cards = np.empty(2, dtype=np.uint64)
    unseen(view, cards)
    deck.turns = _list(view.hand, deck.hand)
    for seat in range(i64(view.table.num_players)):
        deck.pool_size[seat] = _list(view.hands[seat] if view.open else cards, deck.pool[seat])


@kernel
def _list(cards: Any, numbers: Any) -> int:
    """Write the set `cards` to `numbers` in ascending order; returns how many there are."""
    count, card = 0, above(cards, 0)
    while card != 0:
        numbers[count] = card
        count += 1
        card = above(cards, card)
    return count


@kernel
def draw(view: Any, deck: Any, word: Any) -> None:
    """Draw the order in which everybody lays his cards: it follows from `word`, whatever was drawn before."""
    own, turns = i64(view.seat), i64(deck.turns)
    others = 0
    for seat in range(i64(view.table.num_players)):
        if seat == own:
            continue
        holder = seat if view.open else 0
        taken = 0 if view.open else others * turns
        if taken == 0:
            for place in range(deck.pool_size[holder]):
                deck.drawn[holder, place] = deck.pool[holder, place]
        hand = deck.drawn[holder, taken : deck.pool_size[holder]]
        for turn in range(turns):
            word, ahead = below(word, len(hand) - turn)
            hand[turn], hand[turn + ahead] = hand[turn + ahead], hand[turn]
        if deck.weighted:
            word = _pick_by_weight(hand, turns, deck.weights, word)
        for turn in range(turns):
            key = 16 * i64(hand[turn]) + seat
            slot = others
            while slot > 0 and deck.keys[turn, slot - 1] > key:
                deck.keys[turn, slot] = deck.keys[turn, slot - 1]
                slot -= 1
            deck.keys[turn, slot] = key
        others += 1
    for turn in range(turns):
        deck.mine[turn] = deck.hand[turn]
    for turn in range(turns - 1):
        word, ahead = below(word, turns - turn)
        deck.mine[turn], deck.mine[turn + ahead] = deck.mine[turn + ahead], deck.mine[turn]


@kernel
def _pick_by_weight(hand: Any, held: int, weights: Any, word: Any) -> Any:
    """Put one of the first `held` cards of `hand`, drawn by the cards' `weights`, in front; returns the next random word."""
    left = 0.0
    for at in range(held):
        left += weights[hand[at]]
    word, share = uniform(word)
    left *= share
    at = 0
    while at < held - 1 and left >= weights[hand[at]]:
        left -= weights[hand[at]]
        at += 1
    hand[0], hand[at] = hand[at], hand[0]
    return word


@kernel
def _play(view: Any, deck: Any, board: Any, action: int, stats: Any) -> None:
    """One playout of one action."""
    table, own = view.table, i64(view.seat)
    picking = table.phase == PICK
    row, took = -1, False
    if not picking:
        row, took = _choose(board, own, i64(table.last[own]), action, table.phase == ROW)
        for place in range(i64(table.placed) + 1, i64(table.num_players)):
            seat = i64(table.order[place])
            _place(board, seat, i64(table.last[seat]))
    mine = 0
    for turn in range(i64(deck.turns)):
        if picking and turn == 0:
            card = action + 1
        else:
            if picking and deck.mine[mine] == action + 1:
                mine += 1
            card = i64(deck.mine[mine])
            mine += 1
        landed, paid = _turn(board, deck.keys[turn], i64(table.num_players) - 1, own, card)
        if picking and turn == 0:
            row, took = landed, paid
    _add(stats, action, i64(board.totals[own]), row, took)


@kernel
def _turn(board: Any, keys: Any, others: int, own: int, card: int) -> tuple[int, bool]:
    """Place the others' cards and the own one in ascending order; returns the row of the own one, and whether it took it."""
    place = 0
    while place < others and keys[place] < 16 * card:
        _place(board, keys[place] & 15, keys[place] >> 4)
        place += 1
    row, took = _place(board, own, card)
    while place < others:
        _place(board, keys[place] & 15, keys[place] >> 4)
        place += 1
    return row, took


@kernel
def _place(board: Any, seat: int, card: int) -> tuple[int, bool]:
    """Place a card; its owner takes the cheapest row, and any side. Returns the row, and whether it was taken."""
    end, front = landing(board, card)
    if end == NOWHERE and front == NOWHERE:
        row = cheapest_row(board)
        take(board, seat, row, card)
        return row, True
    at_front = end == NOWHERE
    if end != NOWHERE and front != NOWHERE:
        board.word, coin = below(board.word, 2)
        at_front = coin == 1
    row = front if at_front else end
    before = board.totals[seat]
    lay(board, seat, row, at_front, card)
    return row, bool(board.totals[seat] != before)


@kernel
def _choose(board: Any, seat: int, card: int, action: int, takes: bool) -> tuple[int, bool]:
    """Place the revealed card as `action` says."""
    at_front = action >= ACTION_FRONT
    row = action - (ACTION_FRONT if at_front else ACTION_ROW)
    before = board.totals[seat]
    if takes:
        take(board, seat, row, card)
    else:
        lay(board, seat, row, at_front, card)
    return row, bool(board.totals[seat] != before)


# --- by players --------------------------------------------------------------------------------------------------------


@kernel
def by_players(view: Any, mask: Any, first: int, count: int, kind: int, word: Any, state: Any, shown: Any, notes: Any, stats: Any) -> None:
    """Playouts in which the player `kind` decides for everybody, looking at what each seat may know."""
    chairs, kinds, seeds = np.zeros(MAX_SEATS, dtype=np.int64), np.array([kind]), np.zeros(1, dtype=np.uint64)
    log, logged = np.zeros((0, 2), dtype=np.int64), np.zeros(1, dtype=np.int64)
    own, table = i64(view.seat), view.table
    for number in range(first, first + count):
        for action in range(NUM_ACTIONS):
            if mask[action] == 0:
                continue
            seeds[0] = mix(word, number)
            imagine(view, seeds[0], state)
            card = i64(table.last[own]) if action >= ACTION_ROW else action + 1
            row, took = -1, False
            one_step(state, own, action, chairs, kinds, seeds, shown, notes, log, logged)
            while True:
                # What a card led to is seen until the next one is revealed, also when the round is over by then.
                if row < 0 and state.table.last[own] == card and state.table.landed[own] > 0:
                    row, took = i64(state.table.landed[own]) - 1, bool(state.table.took[own] > 0)
                if state.table.phase == OVER or state.table.round_index != table.round_index:
                    break
                one_step(state, -1, 0, chairs, kinds, seeds, shown, notes, log, logged)
            heads = i64(state.table.totals[own]) - i64(table.totals[own])
            _add(stats, action, heads, row if table.phase != DRAFT else -1, took)
