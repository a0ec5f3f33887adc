"""What an observation of 6 nimmt! holds (`LAYOUT`) and the kernels that write it from views.

One shape serves 2 to 10 players and every variant. The groups go from dense to wide: all that the usual player needs stands
before `CARDS`, and observations may be cut at `COMPACT_SIZE`. Chances are those of opponents who play any
of the cards they may hold, each as if alone: that two cannot hold the same card is left out, which matters only when few cards are unseen.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...core.cards import above, between, has, size
from ...core.game import ANY_SCORED, ILLEGAL
from ...core.kernel import i64, kernel
from ...core.layout import Column, Group, Layout, normalise
from .engine import NOWHERE, advance, all_costs, decides, landing
from .rules import HEADS, LOGIC, MAX_CAPACITY, MAX_CARD, MAX_HAND, MAX_ROWS, MAX_SEATS
from .state import ACTION_WAIT, NUM_ACTIONS, PHASES, ROW, SIDE
from .view import reveal_to, revealed, unseen, write_legal

MAX_ROW_HEADS: Final = 27  # 55 and four multiples of eleven
_CARD: Final = float(MAX_CARD)

CONTEXT: Final = Group(
    "context",
    1,
    "the game as a whole",
    (
        *(Column(f"phase_{name}", 1, f"phase: {name}") for name in PHASES),
        Column("deciding", 1, "the seat has a decision to make now"),
        Column("standard", 1, "deck standard"),
        Column("tactical", 1, "deck tactical"),
        Column("logic", 1, "deck logic"),
        Column("professional", 1, "cards join either side of a row"),
        Column("num_players", MAX_SEATS, "players"),
        Column("hand_size", MAX_HAND, "cards dealt to each"),
        Column("num_rows", MAX_ROWS, "rows"),
        Column("row_capacity", MAX_CAPACITY, "cards a row can hold"),
        Column("highest_card", _CARD, "the deck is 1..this"),
        Column("turn", MAX_HAND, "complete turns of the round"),
        Column("cards_left", MAX_HAND, "cards in the own hand"),
        Column("unseen", _CARD, "cards whose place the seat does not know"),
        Column("round_index", 10, "complete rounds", "squashed"),
        Column("rounds", 10, "rounds of the match, 0 when it goes to a target", "squashed"),
        Column("target", 66, "target of the match, 0 when the rounds are fixed", "squashed"),
        Column("exceed_target", 1, "the target must be exceeded"),
        Column("unseen_below", _CARD, "unseen cards below every row's last card"),
        Column("own_below", MAX_HAND, "own cards below every row's last card"),
        Column("cheapest_heads", MAX_ROW_HEADS, "bull heads of the cheapest row"),
    ),
)

SEATS: Final = Group(
    "seats",
    MAX_SEATS,
    "seats, clockwise from the own one",
    (
        Column("present", 1, "somebody sits here"),
        Column("penalty", 171, "bull heads of this round"),
        Column("total", 66, "bull heads of the match", "squashed"),
        Column("revealed", _CARD, "card of this turn, while it lies revealed and the turn is being placed"),
        Column("to_place", 1, "that card is still to be placed"),
        Column("last_card", _CARD, "card of the last complete turn"),
        Column("last_took", MAX_ROW_HEADS, "bull heads taken in the turn last revealed"),
    ),
)

ROWS: Final = Group(
    "rows",
    MAX_ROWS,
    "rows as they lie on the table, in the order of the row actions",
    (
        *(Column(f"card_{slot}", _CARD, f"card in place {slot}, 0 none") for slot in range(MAX_CAPACITY)),
        Column("room", MAX_CAPACITY, "cards that still fit"),
        Column("heads", MAX_ROW_HEADS, "bull heads"),
        Column("last", _CARD, "last card"),
        Column("full", 1, "the next card takes the row"),
        Column("unseen_above", _CARD, "unseen cards between its last card and the next row's"),
        Column("own_above", MAX_HAND, "own cards between its last card and the next row's"),
        Column("rank", MAX_ROWS, "place by last card, 1 the lowest"),
        Column("cheaper_rows", MAX_ROWS, "rows with fewer bull heads"),
        Column("can_end", 1, "may be chosen now: taken, or laid at its end"),
        Column("can_front", 1, "may be chosen now: laid at its front"),
        Column("cost", MAX_ROW_HEADS, "bull heads the choice would cost at once"),
        Column("followers", MAX_SEATS, "revealed cards, still to be placed, that lie above the own card and below the next row's last"),
        Column("unseen_behind", _CARD, "unseen cards between the own revealed card and the next row's last, if the row is taken"),
    ),
)

LADDER: Final = Group(
    "ladder",
    MAX_ROWS,
    "rows by ascending last card",
    (
        Column("last", _CARD, "last card"),
        Column("room", MAX_CAPACITY, "cards that still fit"),
        Column("heads", MAX_ROW_HEADS, "bull heads"),
        Column("full", 1, "the next card takes the row"),
        Column("unseen_above", _CARD, "unseen cards between its last card and the next row's"),
        Column("own_above", MAX_HAND, "own cards between its last card and the next row's"),
        Column("first", _CARD, "first card"),
    ),
)

HAND: Final = Group(
    "hand",
    MAX_HAND,
    "own cards, ascending",
    (
        Column("card", _CARD, "the card, 0 for an empty slot"),
        Column("present", 1, "the slot holds a card"),
        Column("heads", 7, "its bull heads"),
        Column("lower_own", MAX_HAND, "own cards below it"),
        Column("higher_own", MAX_HAND, "own cards above it"),
        Column("unseen_lower", _CARD, "unseen cards below it"),
        Column("unseen_higher", _CARD, "unseen cards above it"),
        Column("own_gap_down", _CARD, "distance to the next own card below, or to 0"),
        Column("own_gap_up", _CARD, "distance to the next own card above, or past the deck"),
        Column("homeless", 1, "no row would have it: its owner takes one"),
        Column("at_front", 1, "it would join a row at the front (professional)"),
        Column("tie", 1, "its owner would choose the side (professional)"),
        Column("row_rank", MAX_ROWS, "the row it would join now, by last card, 1 the lowest; 0 none"),
        Column("gap", _CARD, "distance to the card it would lie beside"),
        Column("unseen_in_gap", _CARD, "unseen cards in that gap"),
        Column("own_in_gap", MAX_HAND, "own cards in that gap"),
        Column("room", MAX_CAPACITY, "cards that still fit into that row"),
        Column("row_heads", MAX_ROW_HEADS, "bull heads of that row"),
        Column("row_full", 1, "that row is full: it would take it now"),
        Column("chance_first", 1, "chance that nobody plays into the gap", "real"),
        Column("chance_fewer", 1, "chance that fewer than the room play into the gap", "real"),
        Column("chance_sixth", 1, "chance that exactly the room is filled before it: it takes the row", "real"),
        Column("chance_more", 1, "chance that somebody else takes the row first", "real"),
        Column("arrivals", MAX_SEATS, "expected cards into the gap", "real"),
        Column("chance_lowest", 1, "chance that nobody plays a lower card", "real"),
        Column("expected_cost", MAX_ROW_HEADS, "expected bull heads of playing it now", "real"),
        Column("below_exists", 1, "there is a next row below the one it would join"),
        Column("below_room", MAX_CAPACITY, "room of the next row below"),
        Column("below_heads", MAX_ROW_HEADS, "bull heads of the next row below"),
        Column("above_exists", 1, "there is a row whose last card is above it"),
        Column("above_gap", _CARD, "distance to that row's last card"),
        Column("above_room", MAX_CAPACITY, "its room"),
        Column("above_heads", MAX_ROW_HEADS, "its bull heads"),
        Column("unseen_to_above", _CARD, "unseen cards between it and that row's last card"),
    ),
)

CARDS: Final = Group(
    "cards",
    MAX_CARD,
    "cards 1..104",
    (
        Column("own", 1, "in the own hand"),
        Column("seen", 1, "has lain open this round"),
        Column("unseen", 1, "its place is not known to the seat"),
        Column("can_draft", 1, "lies face up to be drafted"),
        Column("player", MAX_SEATS, "1 + the seat that played it this round, clockwise from the own one; 0 nobody"),
        Column("turn", MAX_HAND, "1 + the turn in which it was played; 0 not yet"),
        Column("holder", MAX_SEATS, "1 + the seat in whose open hand it is (logic), clockwise from the own one; 0 nobody"),
        Column("row", MAX_ROWS, "1 + the row it lies in; 0 none"),
    ),
    first=1,
)

LAYOUT: Final = Layout(1, (CONTEXT, SEATS, ROWS, LADDER, HAND, CARDS))
"""The observation of 6 nimmt!."""

COMPACT_SIZE: Final = LAYOUT.offset("cards")
"""An observation cut here has everything but the card-by-card tables."""

NOTES: Final = np.dtype(
    [
        ("unknown", np.uint64, (2,)),  # set of the cards whose place the seat does not know
        ("hidden", np.int64),  # how many these are
        ("ladder", np.int64, (MAX_ROWS,)),  # rows by ascending last card
        ("rows", np.int64),  # how many these are: 0 during the draft
        ("chances", np.float64, (MAX_CAPACITY + 1,)),  # of 0, 1, ..., 5 cards before one's own
    ],
    align=True,
)
"""What the features of one view share. A record travels to a helper as one pointer, an array as eight words."""

_C, _S, _R, _L, _H, _K = (group.indices() for group in LAYOUT.groups)
_SEATS_AT, _ROWS_AT, _LADDER_AT, _HAND_AT, _CARDS_AT = (LAYOUT.offset(g.name) for g in LAYOUT.groups[1:])
_SEATS_WIDTH, _ROWS_WIDTH, _LADDER_WIDTH, _HAND_WIDTH, _CARDS_WIDTH = (g.width for g in LAYOUT.groups[1:])
_SIZE: Final = LAYOUT.size
_SCALES, _SQUASHED, _SQUASHED_TOPS = LAYOUT.scales, LAYOUT.squashed, LAYOUT.squashed_tops


@kernel
def encode(views: Any, vectors: Any) -> None:
    """Write the observations of `views`, (k,) VIEW, to `vectors`: (k, LAYOUT.size) or, cut short, (k, COMPACT_SIZE) float32."""
    if vectors.shape[0] != len(views) or (vectors.shape[1] != _CARDS_AT and vectors.shape[1] != _SIZE):
        raise ValueError("vectors must be (k, LAYOUT.size) or (k, COMPACT_SIZE), k being the number of views")
    kept = np.zeros(1, NOTES)
    for k in range(len(views)):
        _encode(views[k], kept[0], vectors[k])


@kernel
def _encode(view: Any, notes: Any, vector: Any) -> None:
    vector[:] = 0.0
    take_notes(view, notes)
    _context(view, notes, vector)
    _seats(view, vector)
    _rows(view, notes, vector)
    _hand(view, notes, vector)
    if len(vector) > _CARDS_AT:
        _cards(view, notes, vector)
    normalise(vector, _SCALES, _SQUASHED, _SQUASHED_TOPS)  # one by one, while it is in the cache


@kernel
def show_all(states: Any, game: int, views: Any, masks: Any, vectors: Any) -> int:
    """What all seats of one game know, may do and observe: `reveal`, `legal` and `encode` in one call.

    Writes views, (n,) VIEW, masks, (n, 113) int8, and vectors, (n, LAYOUT.size) float32, n being the number of players. A seat that has
    nothing to decide may wait, unless nobody decides. Returns who decides: bit s for seat s.
    """
    if not 0 <= game < len(states):
        raise IndexError("game is not in states")
    players = i64(states[game].table.num_players)
    if len(views) != players or masks.shape != (players, NUM_ACTIONS) or vectors.shape != (players, _SIZE):
        raise ValueError("views must be (n,), masks (n, 113) and vectors (n, LAYOUT.size), n being the number of players")
    return _show_all(states[game], views, masks, vectors)


@kernel
def play_all(states: Any, game: int, actions: Any, views: Any, masks: Any, vectors: Any) -> int:
    """Let all seats of one game act at once and show them what came of it: `step` and `show_all` in one call.

    `actions`, (10,) integers, holds a legal action of every seat that decides; the others' must be to wait. If it does not, the answer is
    ILLEGAL and nothing has changed or is written. Else it is that of `show_all`, with the flag ANY_SCORED where a row was taken.
    """
    if not 0 <= game < len(states):
        raise IndexError("game is not in states")
    players = i64(states[game].table.num_players)
    if len(views) != players or masks.shape != (players, NUM_ACTIONS) or vectors.shape != (players, _SIZE) or len(actions) < players:
        raise ValueError("actions must be (10,), views (n,), masks (n, 113) and vectors (n, LAYOUT.size), n being the number of players")
    state = states[game]
    for seat in range(players):
        if actions[seat] != ACTION_WAIT and not decides(state, seat):
            return ILLEGAL
    before = all_costs(state.table)
    if advance(state, actions) != 0:
        return ILLEGAL
    scored = ANY_SCORED if all_costs(state.table) != before else 0
    return scored | _show_all(states[game], views, masks, vectors)


@kernel
def _show_all(state: Any, views: Any, masks: Any, vectors: Any) -> int:
    players = i64(state.table.num_players)
    kept = np.zeros(1, NOTES)
    due = 0
    for seat in range(players):
        reveal_to(state, seat, False, views[seat])
        write_legal(views[seat], masks[seat])
        _encode(views[seat], kept[0], vectors[seat])
        due |= i64(views[seat].deciding) << seat
    for seat in range(players):
        if due != 0 and due >> seat & 1 == 0:
            masks[seat, ACTION_WAIT] = 1
    return due


@kernel
def take_notes(view: Any, notes: Any) -> None:
    """Work out what the features of `view` share and write it to `notes`, a NOTES record."""
    unseen(view, notes.unknown)
    notes.hidden = size(notes.unknown)
    notes.rows = _sort_rows(view.table, notes.ladder)


@kernel
def last_card(table: Any, row: int) -> int:
    """The last card of `row`; 0 while the rows are not started yet (draft)."""
    length = i64(table.row_len[row])
    return i64(table.rows[row, length - 1]) if length > 0 else 0


@kernel
def _sort_rows(table: Any, ladder: Any) -> int:
    """Write the rows by ascending last card to `ladder`, (4,) int64; returns how many there are (0 during the draft)."""
    count = 0
    for row in range(i64(table.num_rows)):
        if table.row_len[row] == 0:
            continue
        slot = count
        while slot > 0 and last_card(table, ladder[slot - 1]) > last_card(table, row):
            ladder[slot] = ladder[slot - 1]
            slot -= 1
        ladder[slot] = row
        count += 1
    return count


@kernel
def cheapest_row(table: Any) -> int:
    """The row with the fewest bull heads, the first of equals."""
    best = 0
    for row in range(1, i64(table.num_rows)):
        if table.row_heads[row] < table.row_heads[best]:
            best = row
    return best


@kernel
def arrivals(view: Any, notes: Any, low: int, high: int) -> float:
    """How many opponents play a card strictly between `low` and `high`, if each plays any card he may hold.

    Writes the chances of exactly 0, 1, ..., 5 to `notes.chances` (Poisson-binomial, by convolution), and returns the mean.
    """
    for count in range(1, MAX_CAPACITY + 1):
        notes.chances[count] = 0.0
    notes.chances[0] = 1.0
    table = view.table
    mean = 0.0
    share = between(notes.unknown, low, high) / notes.hidden if notes.hidden > 0 else 0.0
    for seat in range(i64(table.num_players)):
        if seat == view.seat:
            continue
        if view.open:
            held = size(view.hands[seat])
            share = between(view.hands[seat], low, high) / held if held > 0 else 0.0
        mean += share
        for count in range(MAX_CAPACITY, 0, -1):
            notes.chances[count] = notes.chances[count] * (1.0 - share) + notes.chances[count - 1] * share
        notes.chances[0] *= 1.0 - share
    return mean


@kernel
def heads_at_once(table: Any, row: int) -> int:
    """Bull heads that joining `row` costs now."""
    return i64(table.row_heads[row]) if table.row_len[row] == table.row_capacity else 0


@kernel
def expected_cost(view: Any, notes: Any, card: int) -> tuple[float, float]:
    """(expected bull heads of playing `card` now, expected cards before it), if opponents play any card they may hold.

    For a card that joins a row's end: the chance that exactly the room is filled before it, times what lies there now. For a card without a
    row: the chance that it is the lowest, times the cheapest row. At a row's front nothing comes between: what joining costs at once.
    `notes.chances` is left holding the chances of 0, 1, ... cards before it: into the gap, or below a card without a row.
    """
    table = view.table
    end, front = landing(table, card)
    if front != NOWHERE:
        cost = heads_at_once(table, front)
        if end != NOWHERE:
            mean = arrivals(view, notes, last_card(table, end), card)
            return float(min(cost, heads_at_once(table, end))), mean
        return float(cost), arrivals(view, notes, card, i64(table.rows[front, 0]))
    if end == NOWHERE:
        mean = arrivals(view, notes, 0, card)
        alone = 1.0 if table.professional else notes.chances[0]
        return float(alone * table.row_heads[cheapest_row(table)]), mean
    room = i64(table.row_capacity) - i64(table.row_len[end])
    mean = arrivals(view, notes, last_card(table, end), card)
    return float(notes.chances[room] * table.row_heads[end]), mean


@kernel
def _chance_lowest(view: Any, card: int, share: float) -> float:
    """The chance that no opponent plays below `card`, if `share` of the unseen cards lie below it."""
    table = view.table
    chance = 1.0
    for seat in range(i64(table.num_players)):
        if seat == view.seat:
            continue
        if view.open:
            held = size(view.hands[seat])
            share = between(view.hands[seat], 0, card) / held if held > 0 else 0.0
        chance *= 1.0 - share
    return chance


@kernel
def _context(view: Any, notes: Any, vector: Any) -> None:
    table = view.table
    if table.phase < len(PHASES):  # the first columns are the phases in order; in none of them between two placements
        vector[table.phase] = 1.0
    vector[_C.deciding] = view.deciding
    vector[_C.standard + table.deck] = 1.0
    vector[_C.professional] = table.professional
    vector[_C.num_players] = table.num_players
    vector[_C.hand_size] = table.hand_size
    vector[_C.num_rows] = table.num_rows
    vector[_C.row_capacity] = table.row_capacity
    vector[_C.highest_card] = table.highest_card
    vector[_C.turn] = table.turn
    vector[_C.cards_left] = size(view.hand)
    vector[_C.unseen] = notes.hidden
    vector[_C.round_index] = table.round_index
    vector[_C.rounds] = table.rounds
    vector[_C.target] = table.target
    vector[_C.exceed_target] = table.exceed_target
    if notes.rows > 0:
        lowest = last_card(table, notes.ladder[0])
        vector[_C.unseen_below] = between(notes.unknown, 0, lowest)
        vector[_C.own_below] = between(view.hand, 0, lowest)
        vector[_C.cheapest_heads] = table.row_heads[cheapest_row(table)]


@kernel
def _seats(view: Any, vector: Any) -> None:
    table = view.table
    players = i64(table.num_players)
    for place in range(players):
        seat = (i64(view.seat) + place) % players
        at = _SEATS_AT + place * _SEATS_WIDTH
        card = revealed(table, seat)
        vector[at + _S.present] = 1.0
        vector[at + _S.penalty] = table.penalties[seat]
        vector[at + _S.total] = table.totals[seat]
        vector[at + _S.revealed] = card
        vector[at + _S.to_place] = 1.0 if card > 0 and table.landed[seat] == 0 else 0.0
        if table.turn > 0:
            vector[at + _S.last_card] = table.plays[table.turn - 1, seat]
        elif card == 0:
            vector[at + _S.last_card] = table.last[seat]  # of the round before
        vector[at + _S.last_took] = table.took[seat]


@kernel
def _next_last(table: Any, notes: Any, card: int) -> int:
    """The lowest last card above `card`, or the first number past the deck."""
    for i in range(notes.rows):
        last = last_card(table, notes.ladder[i])
        if last > card:
            return last
    return i64(table.highest_card) + 1


@kernel
def _rows(view: Any, notes: Any, vector: Any) -> None:
    """The groups ROWS and LADDER."""
    table = view.table
    own_card = revealed(table, i64(view.seat))
    end, front = NOWHERE, NOWHERE
    if table.phase == SIDE:
        end, front = landing(table, i64(table.plays[table.turn, table.actor]))
    for rank in range(notes.rows):
        row = notes.ladder[rank]
        last = last_card(table, row)
        limit = _next_last(table, notes, last)
        room = i64(table.row_capacity) - i64(table.row_len[row])
        at = _ROWS_AT + row * _ROWS_WIDTH
        low = _LADDER_AT + rank * _LADDER_WIDTH
        for slot in range(i64(table.row_len[row])):
            vector[at + slot] = table.rows[row, slot]
        vector[at + _R.last] = last
        vector[low + _L.last] = last
        vector[low + _L.first] = table.rows[row, 0]
        vector[at + _R.room] = room
        vector[low + _L.room] = room
        vector[at + _R.heads] = table.row_heads[row]
        vector[low + _L.heads] = table.row_heads[row]
        vector[at + _R.full] = 1.0 if room == 0 else 0.0
        vector[low + _L.full] = 1.0 if room == 0 else 0.0
        vector[at + _R.unseen_above] = between(notes.unknown, last, limit)
        vector[low + _L.unseen_above] = vector[at + _R.unseen_above]
        vector[at + _R.own_above] = between(view.hand, last, limit)
        vector[low + _L.own_above] = vector[at + _R.own_above]
        vector[at + _R.rank] = rank + 1
        cheaper = 0
        for other in range(notes.rows):
            if table.row_heads[other] < table.row_heads[row]:
                cheaper += 1
        vector[at + _R.cheaper_rows] = cheaper
        if view.deciding and table.phase == ROW:
            vector[at + _R.can_end] = 1.0
            vector[at + _R.cost] = table.row_heads[row]
            _behind(view, notes, row, own_card, vector, at)
        elif view.deciding and table.phase == SIDE:
            vector[at + _R.can_end] = 1.0 if row == end else 0.0
            vector[at + _R.can_front] = 1.0 if row == front else 0.0
            if room == 0 and row in (end, front):
                vector[at + _R.cost] = table.row_heads[row]


@kernel
def _behind(view: Any, notes: Any, row: int, own_card: int, vector: Any, at: int) -> None:
    """What may follow onto `row` if the own card starts it: up to the lowest last card above among the other rows."""
    table = view.table
    limit = i64(table.highest_card) + 1
    for i in range(notes.rows):
        last = last_card(table, notes.ladder[i])
        if notes.ladder[i] != row and last > own_card:
            limit = min(limit, last)
    followers = 0
    for seat in range(i64(table.num_players)):
        card = revealed(table, seat)
        if table.landed[seat] == 0 and own_card < card < limit:
            followers += 1
    vector[at + _R.followers] = followers
    vector[at + _R.unseen_behind] = between(notes.unknown, own_card, limit)


@kernel
def _hand(view: Any, notes: Any, vector: Any) -> None:
    held = size(view.hand)
    card = 0
    for slot in range(held):
        below = card
        card = above(view.hand, below)
        at = _HAND_AT + slot * _HAND_WIDTH
        vector[at + _H.card] = card
        vector[at + _H.present] = 1.0
        vector[at + _H.heads] = HEADS[card]
        vector[at + _H.lower_own] = slot
        vector[at + _H.higher_own] = held - 1 - slot
        lower = between(notes.unknown, 0, card)
        vector[at + _H.unseen_lower] = lower
        vector[at + _H.unseen_higher] = notes.hidden - lower
        vector[at + _H.chance_lowest] = _chance_lowest(view, card, lower / notes.hidden if notes.hidden > 0 else 0.0)
        vector[at + _H.own_gap_down] = card - below
        higher = above(view.hand, card)
        vector[at + _H.own_gap_up] = min((higher if higher > 0 else i64(view.table.highest_card) + 1) - card, MAX_CARD)
        if notes.rows > 0:
            _prospects(view, notes, card, vector, at)


@kernel
def _prospects(view: Any, notes: Any, card: int, vector: Any, at: int) -> None:
    """Where `card` would go now and what may happen there: the columns of HAND from `homeless` on."""
    table = view.table
    end, front = landing(table, card)
    cost, mean = expected_cost(view, notes, card)
    vector[at + _H.expected_cost] = cost
    vector[at + _H.homeless] = 1.0 if end == NOWHERE and front == NOWHERE else 0.0
    vector[at + _H.at_front] = 1.0 if front != NOWHERE and end == NOWHERE else 0.0
    vector[at + _H.tie] = 1.0 if front != NOWHERE and end != NOWHERE else 0.0
    row = end if end != NOWHERE else front
    if row != NOWHERE:
        beside = last_card(table, row) if end != NOWHERE else i64(table.rows[row, 0])
        low, high = min(beside, card), max(beside, card)
        room = i64(table.row_capacity) - i64(table.row_len[row])
        vector[at + _H.gap] = high - low
        vector[at + _H.unseen_in_gap] = between(notes.unknown, low, high)
        vector[at + _H.own_in_gap] = between(view.hand, low, high)
        vector[at + _H.room] = room
        vector[at + _H.row_heads] = table.row_heads[row]
        vector[at + _H.row_full] = 1.0 if room == 0 else 0.0
        vector[at + _H.arrivals] = mean
        fewer = 0.0
        for count in range(room):
            fewer += notes.chances[count]
        vector[at + _H.chance_first] = notes.chances[0]
        vector[at + _H.chance_fewer] = min(fewer, 1.0)
        vector[at + _H.chance_sixth] = notes.chances[room]
        vector[at + _H.chance_more] = min(max(1.0 - fewer - notes.chances[room], 0.0), 1.0)
    _neighbours(table, notes, row, card, vector, at)


@kernel
def _neighbours(table: Any, notes: Any, row: int, card: int, vector: Any, at: int) -> None:
    """The rows next below and above the place of `card`."""
    for rank in range(notes.rows):
        other = notes.ladder[rank]
        last = last_card(table, other)
        room = i64(table.row_capacity) - i64(table.row_len[other])
        if other == row:
            vector[at + _H.row_rank] = rank + 1
        elif last < card:
            vector[at + _H.below_exists] = 1.0
            vector[at + _H.below_room] = room
            vector[at + _H.below_heads] = table.row_heads[other]
        else:
            vector[at + _H.above_exists] = 1.0
            vector[at + _H.above_gap] = last - card
            vector[at + _H.above_room] = room
            vector[at + _H.above_heads] = table.row_heads[other]
            vector[at + _H.unseen_to_above] = between(notes.unknown, card, last)
            break
    if row != NOWHERE and vector[at + _H.row_rank] == 0.0:  # at a row's front, above the row that ended the walk
        for rank in range(notes.rows):
            if notes.ladder[rank] == row:
                vector[at + _H.row_rank] = rank + 1


@kernel
def _cards(view: Any, notes: Any, vector: Any) -> None:
    table = view.table
    players = i64(table.num_players)
    drafting = table.deck == LOGIC and table.drafted < players * i64(table.hand_size)
    for card in range(1, i64(table.highest_card) + 1):
        at = _CARDS_AT + (card - 1) * _CARDS_WIDTH
        vector[at + _K.own] = 1.0 if has(view.hand, card) else 0.0
        vector[at + _K.seen] = 1.0 if has(table.seen, card) else 0.0
        vector[at + (_K.can_draft if drafting else _K.unseen)] = 1.0 if has(notes.unknown, card) else 0.0
    if view.open:
        for place in range(players):
            hand = view.hands[(i64(view.seat) + place) % players]
            card = above(hand, 0)
            while card != 0:
                vector[_CARDS_AT + (card - 1) * _CARDS_WIDTH + _K.holder] = place + 1
                card = above(hand, card)
    for place in range(players):
        seat = (i64(view.seat) + place) % players
        for turn in range(i64(table.hand_size)):
            card = i64(table.plays[turn, seat])
            if card > 0:
                at = _CARDS_AT + (card - 1) * _CARDS_WIDTH
                vector[at + _K.player] = place + 1
                vector[at + _K.turn] = turn + 1
    for row in range(i64(table.num_rows)):
        for slot in range(i64(table.row_len[row])):
            vector[_CARDS_AT + (i64(table.rows[row, slot]) - 1) * _CARDS_WIDTH + _K.row] = row + 1
