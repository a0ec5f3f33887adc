"""What a seat may know, as one record; `reveal` is the only code that decides what is hidden.

Observations, agents and a seat's renderings are made from views, which hold no way back to the state. `imagine` is the
counterpart for search: it deals the cards that a view does not show into a state that this view cannot tell from the true one; `disguise`
does so in the game itself, for audits.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...core.cards import above, fill, has, insert, nth, size
from ...core.game import ILLEGAL, NEXT_SEAT
from ...core.kernel import i64, kernel
from ...core.seeding import below, mix, uniform
from .engine import NOWHERE, check_index, decides, landing, undrafted
from .engine import commit as engine_commit
from .rules import LOGIC, MAX_CARD, MAX_SEATS
from .state import ACTION_FRONT, ACTION_ROW, DRAFT, NUM_ACTIONS, OVER, PICK, ROW, TABLE

VIEW: Final = np.dtype(
    [
        ("table", TABLE),
        ("hands", np.uint64, (MAX_SEATS, 2)),  # all hands where they are open (in logic), else empty
        ("hand", np.uint64, (2,)),  # the seat's own hand; a card picked but not yet revealed is still in it
        ("seat", np.uint8),
        ("deciding", np.uint8),  # 1 when the seat has a decision to make now
        ("open", np.uint8),  # 1 when all hands are open
    ],
    align=True,
)


@kernel
def reveal(states: Any, index: Any, seats: Any, views: Any) -> None:
    """Write what the seats `seats`, (k,), of the games `index`, (k,), may know to `views`, (k,) VIEW.

    The table is public. A hand is its owner's, and everybody's in logic. Picks are nobody's until they are revealed, not even
    their owner's: his view is the same before and after he has committed, but for `deciding`.
    """
    _check(states, index, seats, views)
    for k in range(len(index)):
        reveal_to(states[index[k]], i64(seats[k]), False, views[k])


@kernel
def reveal_all(states: Any, index: Any, seats: Any, views: Any) -> None:
    """As `reveal`, with all hands open: for spectators, and for critics in training. Never for a seat that decides.

    Picks and the cards to come stay hidden.
    """
    _check(states, index, seats, views)
    for k in range(len(index)):
        reveal_to(states[index[k]], i64(seats[k]), True, views[k])


@kernel
def _check(states: Any, index: Any, seats: Any, views: Any) -> None:
    check_index(states, index)
    if len(seats) != len(index) or len(views) != len(index):
        raise ValueError("seats and views must be as long as index")
    for seat in seats:
        if not 0 <= seat < MAX_SEATS:
            raise IndexError("a seat is not in 0..9")


@kernel
def reveal_to(state: Any, seat: int, all_open: bool, view: Any) -> None:
    open_hands = all_open or state.table.deck == LOGIC
    view.table = state.table
    view.open = 1 if open_hands else 0
    for other in range(MAX_SEATS):
        for word in range(2):
            view.hands[other, word] = state.hands[other, word] if open_hands else np.uint64(0)
    view.hand[0] = state.hands[seat, 0]
    view.hand[1] = state.hands[seat, 1]
    view.seat = seat
    view.deciding = 1 if decides(state, seat) else 0


@kernel
def legal(views: Any, masks: Any) -> None:
    """Write 1 for each legal action of the seat and 0 elsewhere to `masks`, (k, NUM_ACTIONS) int8; all 0 if it does not decide."""
    if masks.shape != (len(views), NUM_ACTIONS):
        raise ValueError("masks must be (k, 113), k being the number of views")
    for k in range(len(views)):
        write_legal(views[k], masks[k])


@kernel
def write_legal(view: Any, mask: Any) -> None:
    table = view.table
    mask[:] = 0
    if view.deciding == 0:
        return
    if table.phase == PICK:
        card = above(view.hand, 0)
        while card != 0:
            mask[card - 1] = 1
            card = above(view.hand, card)
    elif table.phase == DRAFT:
        for card in range(1, i64(table.highest_card) + 1):
            if undrafted(view, card):
                mask[card - 1] = 1
    elif table.phase == ROW:
        for row in range(i64(table.num_rows)):
            mask[ACTION_ROW + row] = 1
    else:
        end, front = landing(table, revealed(table, i64(view.seat)))
        if end != NOWHERE:
            mask[ACTION_ROW + end] = 1
        if front != NOWHERE:
            mask[ACTION_FRONT + front] = 1


@kernel
def commit(states: Any, game: int, seat: int, action: int, views: Any, masks: Any) -> int:
    """Let one seat of one game act, as `engine.commit` does, and show the table to the seat that decides next.

    Writes its view to `views[0]` and its legal actions to `masks[0]`, unless the action was illegal. Returns the code of `engine.commit`.
    """
    if len(views) < 1 or masks.shape[0] < 1 or masks.shape[1] != NUM_ACTIONS:
        raise ValueError("views must be (1,) and masks (1, 113)")
    code = engine_commit(states, game, seat, action)
    if code != ILLEGAL:
        reveal_to(states[game], code & NEXT_SEAT, False, views[0])
        write_legal(views[0], masks[0])
    return code


@kernel
def revealed(table: Any, seat: int) -> int:
    """The card of `seat` that lies revealed while the turn is being placed; 0 while cards are picked or drafted."""
    if table.phase == PICK or table.phase == DRAFT or table.phase == OVER:
        return 0
    return i64(table.plays[table.turn, seat])


@kernel
def unseen(view: Any, cards: Any) -> None:
    """Write the set of cards of the deck in play whose place the seat does not know to `cards`, (2,) uint64.

    In logic none are left once the draft is over; during the draft they are the cards still to be taken. Where hands are open otherwise,
    they are the cards that stay undealt.
    """
    table = view.table
    fill(cards, i64(table.highest_card))
    for word in range(2):
        cards[word] &= ~(table.seen[word] | view.hand[word])
        for seat in range(MAX_SEATS):
            cards[word] &= ~view.hands[seat, word]


@kernel
def cards_held(table: Any, seat: int) -> int:
    """How many cards `seat` holds: public knowledge in every phase."""
    if table.phase == DRAFT:
        lap = i64(table.drafted) // i64(table.num_players)
        first = i64(table.round_index) % i64(table.num_players)
        place = (seat - first) % i64(table.num_players)
        return lap + (1 if place < i64(table.drafted) % i64(table.num_players) else 0)
    in_the_air = 1 if revealed(table, seat) != 0 else 0
    return i64(table.hand_size) - i64(table.turn) - in_the_air


@kernel
def fingerprint(view: Any) -> Any:
    """A uint64 of what the seat sees in this round: the stream of an agent's dice, the same in whatever batch the view lies."""
    table = view.table
    word = mix(table.salt, view.hand[0])
    word = mix(word, view.hand[1])
    word = mix(word, table.seen[0])
    word = mix(word, table.seen[1])
    small = np.uint64(view.seat) | np.uint64(table.turn) << np.uint64(8) | np.uint64(table.phase) << np.uint64(16)
    small |= np.uint64(table.round_index) << np.uint64(24) | np.uint64(table.placed) << np.uint64(56)
    word = mix(word, small)
    for row in range(i64(table.num_rows)):
        packed = np.uint64(0)
        for slot in range(i64(table.row_len[row])):
            packed = packed << np.uint64(8) | np.uint64(table.rows[row, slot])
        word = mix(word, packed)
    for seat in range(i64(table.num_players)):
        word = mix(word, view.hands[seat, 0])
        word = mix(word, view.hands[seat, 1] ^ np.uint64(table.totals[seat]))
    return word


@kernel
def dice(views: Any, seed: Any, numbers: Any) -> None:
    """Write a number in [0, 1) for each of `views` to `numbers`, (k,) float64: it follows from the uint64 `seed` and what the seat sees."""
    if len(numbers) != len(views):
        raise ValueError("numbers must be as long as views")
    for k in range(len(views)):
        numbers[k] = uniform(mix(seed, fingerprint(views[k])))[1]


@kernel
def imagine(view: Any, word: Any, state: Any) -> Any:
    """Fill `state` (a STATE record) with a game that `view` cannot tell from the true one; returns the next random `word`.

    The unseen cards are dealt at random to the other seats, as many as each holds. Nobody has picked yet. The seed of further
    rounds is drawn from `word`, never the true one.
    """
    table = view.table
    state.table = table
    state.picked = 0
    cards = np.empty(2, dtype=np.uint64)
    unseen(view, cards)
    pool = np.empty(MAX_CARD, dtype=np.uint8)
    left = 0
    for card in range(1, i64(table.highest_card) + 1):
        if has(cards, card):
            pool[left] = card
            left += 1
    for seat in range(MAX_SEATS):
        state.picks[seat] = 0
        state.hands[seat, 0] = view.hand[0] if seat == view.seat else view.hands[seat, 0]
        state.hands[seat, 1] = view.hand[1] if seat == view.seat else view.hands[seat, 1]
        if seat >= table.num_players:
            continue
        # A match that was ended in the middle leaves all with as many cards, or has open hands.
        held = cards_held(table, seat) if table.phase != OVER else 0 if view.open else size(view.hand)
        for _ in range(held - size(state.hands[seat])):
            word, at = below(word, left)
            left -= 1
            insert(state.hands[seat], pool[at])
            pool[at] = pool[left]
    word = mix(word, 1)
    state.seed = word >> np.uint64(1)
    state.game = 0
    return word


@kernel
def disguise(states: Any, index: Any, seats: Any, words: Any) -> None:
    """Make all that the seats `seats`, (k,), of the games `index`, (k,) and distinct, may not know another thing that it could as well be.

    That is the other hands, the cards that are not dealt, the cards others have picked, and the seed of the rounds to come. Who has
    picked stays so, and a seat's own pick is its own. `words`, (k,) uint64, are the dice.
    """
    check_index(states, index)
    if len(seats) != len(index) or len(words) != len(index):
        raise ValueError("seats and words must be as long as index")
    shown = np.zeros(1, VIEW)
    for k in range(len(index)):
        state = states[index[k]]
        own, before = i64(seats[k]), state.picks.copy()
        reveal_to(state, own, False, shown[0])
        word = imagine(shown[0], words[k], state)
        for seat in range(i64(state.table.num_players)):
            if before[seat] == 0:
                continue
            word, at = below(word, size(state.hands[seat]))
            state.picks[seat] = before[seat] if seat == own else nth(state.hands[seat], at)
            state.picked += 1
        state.game = mix(word, 2) >> np.uint64(1)
