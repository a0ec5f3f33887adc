"""The rules of 6 nimmt! in motion: the one implementation that every API, agent and trainer runs.

The path of a card: `step` or `commit` checks an action and writes it down; when every seat that had to decide has done
so, `reveal_picks` turns the cards over, `_settle` places them in ascending order (`place_next`) and stops where an owner has to
choose (`place_chosen`); after the last card `end_turn` goes on to the next turn, round, or the end of the match.

The rules of placing, as the comments below number them. For a card, in ascending order of the cards revealed:
1. it goes to the row whose last card is the highest below it (professional: to the nearest card, a row's last below or first above it);
2. a row with room takes it in; 3. a full row is taken by its owner, and the card alone starts it anew;
4. a card that fits nowhere makes its owner take a row of his choice, whatever it costs, and starts it anew.

All functions take records of `state.STATE` (or its `table`) and change them in place. An illegal action changes nothing.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...core.cards import discard, has, insert
from ...core.game import FINISHED, ILLEGAL, SCORED
from ...core.kernel import i64, kernel
from ...core.seeding import below, hide, mix
from .rules import HEADS, LOGIC, MAX_CARD, MAX_HAND, MAX_ROUNDS, MAX_SEATS
from .state import ACTION_FRONT, ACTION_ROW, DRAFT, NOBODY, OVER, PICK, PLACE, ROW, SIDE

NOWHERE: Final = -1  # landing: no row on this side
_FAR: Final = 255  # more than any difference of two cards

# --- where a card goes -------------------------------------------------------------------------------------------------


@kernel
def landing(table: Any, card: int) -> tuple[int, int]:
    """(row whose end, row whose front) `card` may join now, NOWHERE for none.

    Both NOWHERE: the owner takes a row of his choice (rule 4). Both given, professional only: a tie, the owner
    chooses. Otherwise exactly one is given, the nearest candidate (rule 1).
    """
    end, end_gap = NOWHERE, _FAR
    front, front_gap = NOWHERE, _FAR
    for row in range(i64(table.num_rows)):
        last = i64(table.rows[row, table.row_len[row] - 1])
        if last < card and card - last < end_gap:
            end, end_gap = row, card - last
        if table.professional:
            first = i64(table.rows[row, 0])
            if first > card and first - card < front_gap:
                front, front_gap = row, first - card
    if end_gap < front_gap:
        front = NOWHERE
    elif front_gap < end_gap:
        end = NOWHERE
    return end, front


@kernel
def take(table: Any, seat: int, row: int, card: int) -> None:
    """`seat` takes all of `row`; `card` alone starts it and is not counted (rules 3 and 4)."""
    heads = table.row_heads[row]
    table.penalties[seat] += heads
    table.totals[seat] += heads
    table.took[seat] += heads
    for slot in range(i64(table.row_len[row])):
        table.rows[row, slot] = 0
    table.rows[row, 0] = card
    table.row_len[row] = 1
    table.row_heads[row] = HEADS[card]


@kernel
def lay(table: Any, seat: int, row: int, at_front: bool, card: int) -> None:
    """Add `card` to `row` at its end or front; into a full row it takes the cards that lie there (rules 2 and 3)."""
    length = i64(table.row_len[row])
    if length == table.row_capacity:
        take(table, seat, row, card)
        return
    if at_front:
        for slot in range(length, 0, -1):
            table.rows[row, slot] = table.rows[row, slot - 1]
        table.rows[row, 0] = card
    else:
        table.rows[row, length] = card
    table.row_len[row] = length + 1
    table.row_heads[row] += HEADS[card]


# --- the course of a round ---------------------------------------------------------------------------------------------


@kernel
def _start_round(state: Any) -> None:
    """Clear the table and deal, or open the draft. The deal depends on (seed, game, round_index) and nothing else."""
    _clear_table(state)
    table = state.table
    if table.deck == LOGIC:
        table.phase = DRAFT
        table.actor = table.round_index % table.num_players
        return
    cards = np.empty(MAX_CARD, dtype=np.uint8)
    _shuffle(state, cards)
    _lay_out(state, cards)


@kernel
def _clear_table(state: Any) -> None:
    """Nothing of the round is left but what the turn last revealed led to."""
    table = state.table
    for seat in range(MAX_SEATS):
        table.penalties[seat] = 0
        state.picks[seat] = 0
        state.hands[seat, 0] = 0
        state.hands[seat, 1] = 0
        for turn in range(MAX_HAND):
            table.plays[turn, seat] = 0
    for row in range(i64(table.num_rows)):
        _clear_row(table, row)
    state.picked = 0
    table.seen[0] = 0
    table.seen[1] = 0
    table.turn = 0
    table.drafted = 0


@kernel
def _clear_row(table: Any, row: int) -> None:
    for slot in range(i64(table.row_len[row])):
        table.rows[row, slot] = 0
    table.row_len[row] = 0
    table.row_heads[row] = 0


@kernel
def _start_row(table: Any, row: int, card: int) -> None:
    _clear_row(table, row)
    table.rows[row, 0] = card
    table.row_len[row] = 1
    table.row_heads[row] = HEADS[card]
    insert(table.seen, card)


@kernel
def deal_size(table: Any) -> int:
    """How many cards a deal takes from the deck."""
    return i64(table.num_players) * i64(table.hand_size) + i64(table.num_rows)


@kernel
def _shuffle(state: Any, cards: Any) -> None:
    """Draw the cards of this round's deal without replacement (Fisher-Yates, stopped after the last one) to the front of `cards`."""
    table = state.table
    word = mix(mix(mix(np.uint64(0), state.seed), state.game), table.round_index)
    deck = np.empty(MAX_CARD, dtype=np.uint8)
    remaining = i64(table.highest_card)
    for card in range(remaining):
        deck[card] = card + 1
    for place in range(deal_size(table)):
        word, at = below(word, remaining)
        remaining -= 1
        cards[place] = deck[at]
        deck[at] = deck[remaining]


@kernel
def _lay_out(state: Any, cards: Any) -> None:
    """Deal `cards` in their order: the hands, seat by seat, then the rows."""
    table = state.table
    place = 0
    for seat in range(i64(table.num_players)):
        for _ in range(i64(table.hand_size)):
            insert(state.hands[seat], cards[place])
            place += 1
    for row in range(i64(table.num_rows)):
        _start_row(table, row, cards[place])
        place += 1
    table.phase = PICK
    table.actor = NOBODY


@kernel
def draft(state: Any, seat: int, card: int) -> None:
    """`seat` takes `card` face up; after the last pick the leftover cards start the rows in ascending order."""
    table = state.table
    insert(state.hands[seat], card)
    table.drafted += 1
    if table.drafted < table.num_players * table.hand_size:
        table.actor = (table.round_index + table.drafted) % table.num_players
        return
    row = 0
    for leftover in range(1, i64(table.highest_card) + 1):
        if undrafted(state, leftover):
            _start_row(table, row, leftover)
            row += 1
    table.phase = PICK
    table.actor = NOBODY


@kernel
def undrafted(state: Any, card: int) -> bool:
    """Whether `card` of the deck in play lies in no hand. Takes anything with `table` and `hands`: a state or a logic view."""
    for seat in range(i64(state.table.num_players)):
        if has(state.hands[seat], card):
            return False
    return True


@kernel
def pick(state: Any, seat: int, card: int) -> None:
    """`seat` lays `card` face down; it stays in the hand until all have picked and the cards are turned over."""
    state.picks[seat] = card
    state.picked += 1


@kernel
def reveal_picks(state: Any) -> None:
    """Turn the picked cards over: out of the hands, onto the table, sorted by value whoever owns them."""
    table = state.table
    state.picked = 0
    turn = i64(table.turn)
    for seat in range(i64(table.num_players)):
        card = i64(state.picks[seat])
        state.picks[seat] = 0
        discard(state.hands[seat], card)
        insert(table.seen, card)
        table.plays[turn, seat] = card
        table.last[seat] = card
        table.landed[seat] = 0
        table.took[seat] = 0
        slot = seat
        while slot > 0 and table.plays[turn, table.order[slot - 1]] > card:
            table.order[slot] = table.order[slot - 1]
            slot -= 1
        table.order[slot] = seat
    table.placed = 0
    table.phase = PLACE


@kernel
def place_next(state: Any) -> bool:
    """Place the lowest revealed card that is still to be placed; False, with nothing placed, if its owner has to choose."""
    table = state.table
    seat = i64(table.order[table.placed])
    card = i64(table.plays[table.turn, seat])
    end, front = landing(table, card)
    if (end == NOWHERE) == (front == NOWHERE):
        table.phase = ROW if end == NOWHERE else SIDE
        table.actor = seat
        return False
    row = max(end, front)
    lay(table, seat, row, end == NOWHERE, card)
    table.landed[seat] = row + 1
    table.placed += 1
    return True


@kernel
def place_chosen(state: Any, action: int) -> None:
    """Place the actor's card as he chose: a legal row or side action."""
    table = state.table
    seat = i64(table.actor)
    card = i64(table.plays[table.turn, seat])
    at_front = action >= ACTION_FRONT
    row = action - (ACTION_FRONT if at_front else ACTION_ROW)
    if table.phase == ROW:
        take(table, seat, row, card)
    else:
        lay(table, seat, row, at_front, card)
    table.landed[seat] = row + 1
    table.placed += 1
    table.phase = PLACE
    table.actor = NOBODY


@kernel
def _settle(state: Any) -> None:
    """Place the revealed cards in ascending order, until an owner has to choose or the turn is over."""
    table = state.table
    while table.placed < table.num_players:
        if not place_next(state):
            return
    end_turn(state)


@kernel
def end_turn(state: Any) -> None:
    """All cards lie: on to the next turn, the next round, or the end of the match."""
    table = state.table
    table.phase = PICK
    table.turn += 1
    if table.turn < table.hand_size:
        return
    table.round_index += 1
    if _match_over(table):
        table.phase = OVER
    else:
        _start_round(state)


@kernel
def _match_over(table: Any) -> bool:
    """Asked after complete rounds only. MAX_ROUNDS end a match to a target in which nobody ever takes a row."""
    if table.rounds > 0:
        return bool(table.round_index >= table.rounds)
    if table.round_index >= MAX_ROUNDS:
        return True
    worst = i64(0)
    for seat in range(i64(table.num_players)):
        worst = max(worst, i64(table.totals[seat]))
    return worst >= i64(table.target) + i64(table.exceed_target)


# --- decisions ---------------------------------------------------------------------------------------------------------


@kernel
def decides(state: Any, seat: int) -> bool:
    """Whether `seat` has a decision to make now."""
    table = state.table
    if table.phase == PICK:
        return bool(0 <= seat < table.num_players and state.picks[seat] == 0)
    return bool(table.actor == seat and table.phase != OVER)


@kernel
def is_legal(state: Any, seat: int, action: int) -> bool:
    """Whether the rules allow `seat` this action now."""
    return decides(state, seat) and _allows(state, seat, action)


@kernel
def _allows(state: Any, seat: int, action: int) -> bool:
    """Whether the rules allow this action to `seat`, which decides now."""
    table = state.table
    if table.phase == PICK:
        return 0 <= action < MAX_CARD and has(state.hands[seat], action + 1)
    if table.phase == DRAFT:
        return 0 <= action < table.highest_card and undrafted(state, action + 1)
    if table.phase == ROW:
        return bool(0 <= action - ACTION_ROW < table.num_rows)
    end, front = landing(table, i64(table.plays[table.turn, seat]))
    return action == ACTION_ROW + end or action == ACTION_FRONT + front


@kernel
def apply(state: Any, seat: int, action: int) -> None:
    """Carry out a legal action; once nobody is left to decide, the game moves on by itself."""
    table = state.table
    if table.phase == DRAFT:
        draft(state, seat, action + 1)
        return
    if table.phase == PICK:
        pick(state, seat, action + 1)
        if state.picked < table.num_players:
            return
        reveal_picks(state)
    else:
        place_chosen(state, action)
    _settle(state)


# --- the batch ---------------------------------------------------------------------------------------------------------


@kernel
def deal(states: Any, index: Any) -> None:
    """Start the games `index`, (k,) int64, of `states`, (n,) STATE, from their first round."""
    check_index(states, index)
    for i in index:
        state = states[i]
        _start_match(state)
        _start_round(state)


@kernel
def _start_match(state: Any) -> None:
    """Nothing of an earlier match is left."""
    table = state.table
    for seat in range(MAX_SEATS):
        table.totals[seat] = 0
        table.last[seat] = 0
        table.order[seat] = 0
        table.landed[seat] = 0
        table.took[seat] = 0
    table.placed = 0
    table.round_index = 0
    table.salt = hide(state.seed, state.game)


@kernel
def deal_as(states: Any, index: Any, cards: Any) -> None:
    """Start the games `index` with a given deal: `cards`, (k, m), go to the hands, seat by seat, then to the rows; m is `deal_size`.

    For exact study, where the deal is the algorithm's to choose; later rounds are dealt as ever. `ValueError`, with no game changed, for
    cards that are not of the deck or that are given twice, and for the logic deck, where nothing is dealt.
    """
    check_index(states, index)
    if len(cards) != len(index):
        raise ValueError("cards must have a line for each game of index")
    for k in range(len(index)):
        _check_deal(states[index[k]].table, cards[k])
    for k in range(len(index)):
        state = states[index[k]]
        _start_match(state)
        _clear_table(state)
        _lay_out(state, cards[k])


@kernel
def _check_deal(table: Any, cards: Any) -> None:
    if table.deck == LOGIC:
        raise ValueError("nothing is dealt with the logic deck")
    if len(cards) != deal_size(table):
        raise ValueError("a deal takes num_players * hand_size + num_rows cards")
    dealt = np.zeros(2, dtype=np.uint64)
    for card in cards:
        if not 1 <= card <= i64(table.highest_card):
            raise ValueError("a card is not of the deck")
        if has(dealt, i64(card)):
            raise ValueError("a card is dealt twice")
        insert(dealt, i64(card))


@kernel
def check_index(states: Any, index: Any) -> None:
    """`IndexError` unless `index` names games of `states`: compiled code would read and write beyond them."""
    for i in index:
        if not 0 <= i < len(states):
            raise IndexError("index names a game that is not in states")


@kernel
def abandon(states: Any, index: Any) -> None:
    """End the matches of the games `index` as they stand."""
    check_index(states, index)
    for i in index:
        states[i].table.phase = OVER
        states[i].table.actor = NOBODY


@kernel
def to_act(states: Any, index: Any, seats: Any) -> None:
    """Write to `seats`, (k,) uint16, which seats of the games `index` decide now: bit s for seat s, 0 when the match is over."""
    check_index(states, index)
    if len(seats) != len(index):
        raise ValueError("seats must be as long as index")
    for k in range(len(index)):
        state = states[index[k]]
        bits = 0
        for seat in range(i64(state.table.num_players)):
            if decides(state, seat):
                bits |= 1 << seat
        seats[k] = bits


@kernel
def step(states: Any, index: Any, actions: Any, illegal: Any) -> None:
    """Let all seats that decide now act at once, in the games `index`.

    Args:
        states: (n,) STATE.
        index: (k,) int64, distinct.
        actions: (k, 10) integers; only the entries of seats that decide are read.
        illegal: (k,) uint16, written: bit s set when the action of seat s is illegal. Such a game stays untouched.
    """
    check_index(states, index)
    if actions.shape != (len(index), MAX_SEATS) or len(illegal) != len(index):
        raise ValueError("actions must be (k, 10) and illegal (k,), k being the length of index")
    for k in range(len(index)):
        illegal[k] = advance(states[index[k]], actions[k])


@kernel
def advance(state: Any, actions: Any) -> int:
    """Let all seats that decide now act at once.

    Returns whose of `actions`, (10,) integers, are illegal: bit s for seat s; nothing has changed unless it is 0.
    """
    bits = 0
    wrong = 0
    for seat in range(i64(state.table.num_players)):
        if decides(state, seat):
            bits |= 1 << seat
            if not _allows(state, seat, i64(actions[seat])):
                wrong |= 1 << seat
    if wrong == 0:
        for seat in range(i64(state.table.num_players)):
            if bits >> seat & 1:
                apply(state, seat, i64(actions[seat]))
    return wrong


@kernel
def all_costs(table: Any) -> int:
    """What all seats together have lost in the match (bull heads): it never falls."""
    together = i64(0)
    for seat in range(i64(table.num_players)):
        together += table.totals[seat]
    return together


@kernel
def commit(states: Any, game: int, seat: int, action: int) -> int:
    """Let one seat of one game act; the others' uncommitted picks wait for the reveal.

    Returns ILLEGAL, with the state untouched, or the next seat that decides (lowest first) with the flags SCORED, FINISHED.
    """
    if not 0 <= game < len(states):
        raise IndexError("game is not in states")
    state = states[game]
    if not is_legal(state, seat, action):
        return ILLEGAL
    table = state.table
    before = all_costs(table)
    apply(state, seat, action)
    flags = SCORED if all_costs(table) != before else 0
    if table.phase == OVER:
        return flags | FINISHED
    for other in range(i64(table.num_players)):
        if decides(state, other):
            return flags | other
    return flags | FINISHED
