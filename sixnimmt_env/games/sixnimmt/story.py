"""A game as a story: what happens, event by event, when a decision is carried out.

The same rules as `engine.step` and `engine.commit`, whose parts are called one by one here. Between two events the state is as it
lies then, so that it can be looked at: `view.reveal_all` shows it to spectators.

An event is a dictionary of plain values (whole numbers, words, lists) that JSON can hold. Seats, rows, rounds and turns count from 0.

| event | means | besides |
|---|---|---|
| `dealt` | a round begins | `round`; `hands`, a list of cards a seat; `rows` |
| `laid_open` | a round of the logic deck begins with its draft | `round`; `cards`; `seat` that drafts first |
| `drafted` | *decision*: a seat takes a card in the draft | `seat`, `action`, `card` |
| `rows` | the cards left over by the draft start the rows | `rows` |
| `picked` | *decision*: a seat lays a card face down | `seat`, `action`, `card` |
| `revealed` | all picked cards are turned over | `turn`; `cards`, one a seat |
| `asked` | a card cannot be placed before its owner has chosen | `seat`, `card`; `choice`, "row" or "side"; `options`, actions |
| `chose` | *decision*: the owner chooses | `seat`, `action`, `card` |
| `placed` | a card joins a row | `seat`, `card`, `row`; `side`, "end" or "front" |
| `took` | a card takes a row, and starts it anew | `seat`, `card`, `row`; `cards` and `heads` taken; `why`, "full" or "chosen" |
| `round_ended` | all cards are played | `round`; `penalties` and `totals`, one a seat |
| `match_ended` | nobody decides any more | `totals`; `winners`, seats |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.cards import to_list
from .engine import deal, draft, end_turn, is_legal, pick, place_chosen, place_next, reveal_picks
from .rules import IllegalMove, winners
from .state import DRAFT, NUM_ACTIONS, OVER, PICK, ROW
from .text import action_name

Event = dict[str, Any]


def begin(states: NDArray[np.void], game: int) -> Iterator[Event]:
    """Start the game `game` of `states`, (n,) STATE, as `engine.deal` does, and tell it."""
    deal(states, np.array([game], dtype=np.int64))
    yield from _round_begun(states[game])


def unfold(states: NDArray[np.void], game: int, seat: int, action: int) -> Iterator[Event]:
    """Carry out the decision of `seat` in the game `game` of `states`, as `engine.commit` does, and tell what happens.

    The decision is checked at once and carried out while the events are asked for: whoever stops before the last one leaves the
    game in between.

    Raises:
        IllegalMove: the action is not legal for the seat now; nothing has changed.
    """
    if not is_legal(states[game], seat, action):
        raise IllegalMove(f"action {action} ({action_name(action)}) is not legal for seat {seat} now")
    return _unfold(states[game], seat, action)


def _unfold(state: Any, seat: int, action: int) -> Iterator[Event]:
    phase = state["table"]["phase"]
    if phase == DRAFT:
        draft(state, seat, action + 1)
        yield {"event": "drafted", "seat": seat, "action": action, "card": action + 1}
        if state["table"]["phase"] == PICK:
            yield {"event": "rows", "rows": rows_of(state)}
        return
    if phase == PICK:
        pick(state, seat, action + 1)
        yield {"event": "picked", "seat": seat, "action": action, "card": action + 1}
        if state["picked"] < state["table"]["num_players"]:
            return
        reveal_picks(state)
        yield {"event": "revealed", "turn": int(state["table"]["turn"]), "cards": _by_seat(state, "last")}
    else:
        yield {"event": "chose", "seat": seat, "action": action, "card": int(state["table"]["last"][seat])}
        yield place_as_chosen(state, action)
    for event in place(state):
        yield event
        if event["event"] == "asked":
            return
    yield from _turn_ended(state)


def place(state: Any) -> Iterator[Event]:
    """Place the revealed cards in ascending order, until all lie or an owner is asked for his choice; tell each."""
    table = state["table"]
    while table["placed"] < table["num_players"]:
        before, seat = rows_of(state), int(table["order"][table["placed"]])
        if not place_next(state):
            options = [action for action in range(NUM_ACTIONS) if is_legal(state, seat, action)]
            choice = "row" if table["phase"] == ROW else "side"
            yield {"event": "asked", "seat": seat, "card": int(table["last"][seat]), "choice": choice, "options": options}
            return
        yield _placement(state, seat, before, "full")


def place_as_chosen(state: Any, action: int) -> Event:
    """Place the actor's card as he chose: a legal row or side action. Tells it."""
    before, seat = rows_of(state), int(state["table"]["actor"])
    why = "chosen" if state["table"]["phase"] == ROW else "full"
    place_chosen(state, action)
    return _placement(state, seat, before, why)


def _placement(state: Any, seat: int, before: list[list[int]], why: str) -> Event:
    """What has just become of the card of `seat`."""
    table = state["table"]
    card, row = int(table["last"][seat]), int(table["landed"][seat]) - 1
    event: Event = {"seat": seat, "card": card, "row": row}
    after = rows_of(state)[row]
    if len(after) > len(before[row]):
        return {"event": "placed", **event, "side": "end" if after[-1] == card else "front"}
    return {"event": "took", **event, "cards": before[row], "heads": int(table["took"][seat]), "why": why}


def _turn_ended(state: Any) -> Iterator[Event]:
    table = state["table"]
    if table["turn"] + 1 < table["hand_size"]:
        end_turn(state)
        return
    sums = {name: _by_seat(state, name) for name in ("penalties", "totals")}
    yield {"event": "round_ended", "round": int(table["round_index"]), **sums}
    end_turn(state)
    if table["phase"] == OVER:
        yield {"event": "match_ended", "totals": sums["totals"], "winners": winners(sums["totals"])}
    else:
        yield from _round_begun(state)


def _round_begun(state: Any) -> Iterator[Event]:
    table = state["table"]
    number = int(table["round_index"])
    if table["phase"] == DRAFT:
        cards = list(range(1, int(table["highest_card"]) + 1))
        yield {"event": "laid_open", "round": number, "cards": cards, "seat": int(table["actor"])}
    else:
        hands = [to_list(hand) for hand in state["hands"][: int(table["num_players"])]]
        yield {"event": "dealt", "round": number, "hands": hands, "rows": rows_of(state)}


def rows_of(state: Any) -> list[list[int]]:
    """The rows of a state or view, as lists of cards, front to end."""
    table = state["table"]
    return [[int(card) for card in table["rows"][row, : table["row_len"][row]]] for row in range(int(table["num_rows"]))]


def _by_seat(state: Any, name: str) -> list[int]:
    return [int(number) for number in state["table"][name][: int(state["table"]["num_players"])]]
