"""6 nimmt! in words: the board as one seat sees it, and the names of the actions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...core.cards import to_list
from .rules import DECKS, HEADS
from .state import ACTION_FRONT, ACTION_ROW, ACTION_WAIT, DRAFT, NOBODY, OVER, PICK, ROW, SIDE

_SMALL = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def card_name(card: int) -> str:
    """The card with its bull heads raised: 55 as 55⁷."""
    return f"{card}{str(int(HEADS[card])).translate(_SMALL)}"


def action_name(action: int) -> str:
    """The action in words."""
    if 0 <= action < ACTION_ROW:
        return f"card {action + 1}"
    if ACTION_ROW <= action < ACTION_FRONT:
        return f"row {action - ACTION_ROW}"
    if ACTION_FRONT <= action < ACTION_WAIT:
        return f"front of row {action - ACTION_FRONT}"
    if action == ACTION_WAIT:
        return "wait"
    return f"no action ({action})"


def board(view: Any) -> str:
    """The table and the seat's own hand, as the seat of `view` (a VIEW record) may see them. Raised digits are bull heads."""
    return "\n".join(_lines(view))


def _lines(view: Any) -> Iterator[str]:
    table = view["table"]
    yield _headline(table)
    yield from _rows(table)
    yield ""
    yield from _players(view)
    yield ""
    if view["open"]:
        yield from _open_hands(view)
    else:
        yield f"hand of player_{int(view['seat'])}:  {_cards(to_list(view['hand']))}"
    yield _situation(view)


def _headline(table: Any) -> str:
    length = f" of {table['rounds']}" if table["rounds"] else ""
    goal = f", match {'over' if table['exceed_target'] else 'to'} {table['target']}" if table["target"] else ""
    side = ", professional" if table["professional"] else ""
    if table["phase"] == OVER:
        when = f"after round {table['round_index']}{length}"
    else:
        turn = min(int(table["turn"]) + 1, int(table["hand_size"]))
        moment = "draft" if table["phase"] == DRAFT else f"turn {turn} of {table['hand_size']}"
        when = f"round {int(table['round_index']) + 1}{length}, {moment}"
    return f"6 nimmt!  {when}  ({DECKS[table['deck']]} deck{side}{goal})"


def _rows(table: Any) -> Iterator[str]:
    capacity = int(table["row_capacity"])
    for row in range(int(table["num_rows"])):
        length = int(table["row_len"][row])
        cells = [f"{card_name(int(c)):>6}" for c in table["rows"][row, :length]] + ["     ·"] * (capacity - length)
        full = "  full" if length == capacity else ""
        yield f"  row {row} |{''.join(cells)}  | {_heads(int(table['row_heads'][row])):>8}{full}"


def _players(view: Any) -> Iterator[str]:
    table = view["table"]
    shown = _shown_turn(table)
    yield "                 heads  match  last card"
    for seat in range(int(table["num_players"])):
        asked = table["actor"] == seat or (view["deciding"] and view["seat"] == seat)
        mark = ">" if asked and table["phase"] != OVER else " "
        note = ""
        if shown is not None:
            note = _placement(table, seat, int(table["plays"][shown, seat]))
        yield f" {mark} {f'player_{seat}':<12}{int(table['penalties'][seat]):>7}{int(table['totals'][seat]):>7}  {note}".rstrip()


def _shown_turn(table: Any) -> int | None:
    """The turn last revealed, if any in this round."""
    if table["phase"] in (ROW, SIDE):
        return int(table["turn"])
    return int(table["turn"]) - 1 if table["turn"] > 0 else None


def _placement(table: Any, seat: int, card: int) -> str:
    landed = int(table["landed"][seat])
    if card == 0:  # a view made by hand does not know earlier turns
        return ""
    if landed in (0, NOBODY):
        return f"{card_name(card):>5}"
    took = f", took {_heads(int(table['took'][seat]))}" if table["took"][seat] else ""
    return f"{card_name(card):>5} to row {landed - 1}{took}"


def _open_hands(view: Any) -> Iterator[str]:
    table = view["table"]
    for seat in range(int(table["num_players"])):
        yield f"  hand of player_{seat}:  {_cards(to_list(view['hands'][seat]))}"


def _situation(view: Any) -> str:
    table = view["table"]
    phase, seat = int(table["phase"]), int(table["actor"])
    if phase == OVER:
        totals = [int(t) for t in table["totals"][: int(table["num_players"])]]
        best = [f"player_{s}" for s, t in enumerate(totals) if t == min(totals)]
        return f"over: {' and '.join(best)} {'wins' if len(best) == 1 else 'share the win'} with {_heads(min(totals))}"
    if phase == PICK:
        return "everybody picks a card"
    if phase == DRAFT:
        return f"player_{seat} drafts one of  {_cards(_pool(view))}"
    card = card_name(int(table["plays"][int(table["turn"]), seat])) if seat != NOBODY else ""
    return f"player_{seat} {'takes a row for' if phase == ROW else 'chooses the side for'} {card}"


def _pool(view: Any) -> list[int]:
    held = {card for hand in view["hands"] for card in to_list(hand)}
    return [card for card in range(1, int(view["table"]["highest_card"]) + 1) if card not in held]


def _heads(count: int) -> str:
    return f"{count} head" if count == 1 else f"{count} heads"


def _cards(cards: Iterable[int]) -> str:
    return "  ".join(card_name(card) for card in cards) or "-"
