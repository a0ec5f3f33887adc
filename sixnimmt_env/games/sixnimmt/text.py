"""6 nimmt! in words: the board as one seat sees it, the names of the actions, and what happens, with reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from ...core import game
from ...core.cards import to_list
from .engine import NOWHERE, landing
from .rules import DECKS, HEADS
from .state import ACTIONS, DRAFT, NOBODY, OVER, PICK, PLACE, ROW

_SMALL = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

# What a terminal is told before words that stand out, and after them.
_WARNING, _BOLD, _PLAIN = "\x1b[1;31m", "\x1b[1m", "\x1b[0m"


def card_name(card: int) -> str:
    """The card with its bull heads raised: 55 as 55⁷."""
    return f"{card}{str(int(HEADS[card])).translate(_SMALL)}"


def action_name(action: int) -> str:
    """The action in words."""
    return game.action_name(ACTIONS, action)


def seat_name(seat: int) -> str:
    """What a seat is called, here and as an agent of the PettingZoo forms."""
    return f"player_{seat}"


def board(view: Any, colour: bool = False) -> str:
    """The table and the seat's own hand, as the seat of `view` (a VIEW record) may see them. Raised digits are bull heads.

    With `colour` full rows are in a warning colour and seats that are asked in bold, by ANSI codes for a terminal.
    """
    return "\n".join(_lines(view, colour))


def _lines(view: Any, colour: bool) -> Iterator[str]:
    table = view["table"]
    yield _marked("  ".join(headline(table)), _BOLD, colour)
    yield from _rows(table, colour)
    yield ""
    yield from _players(view, colour)
    yield ""
    if view["open"]:
        yield from _open_hands(view)
    else:
        yield f"hand of player_{int(view['seat'])}:  {_cards(to_list(view['hand']))}"
    yield situation(view) + (f":  {_cards(pool(view))}" if table["phase"] == DRAFT else "")


def _marked(words: str, code: str, colour: bool) -> str:
    return f"{code}{words}{_PLAIN}" if colour else words


def headline(table: Any) -> tuple[str, str, str]:
    """The game, how far it is, and the variant."""
    length = f" of {table['rounds']}" if table["rounds"] else ""
    goal = f", match {'over' if table['exceed_target'] else 'to'} {table['target']}" if table["target"] else ""
    side = ", professional" if table["professional"] else ""
    if table["phase"] == OVER and not _cut_short(table):
        when = f"after round {table['round_index']}{length}"
    else:
        turn = min(int(table["turn"]) + 1, int(table["hand_size"]))
        moment = "draft" if table["phase"] == DRAFT else f"turn {turn} of {table['hand_size']}"
        when = f"round {int(table['round_index']) + 1}{length}, {moment}"
    return "6 nimmt!", when, f"({DECKS[table['deck']]} deck{side}{goal})"


def _rows(table: Any, colour: bool) -> Iterator[str]:
    capacity = int(table["row_capacity"])
    for row in range(int(table["num_rows"])):
        length = int(table["row_len"][row])
        cells = [f"{card_name(int(c)):>6}" for c in table["rows"][row, :length]] + ["     ·"] * (capacity - length)
        full = length == capacity
        line = f"  row {row} |{''.join(cells)}  | {_heads(int(table['row_heads'][row])):>8}{'  full' if full else ''}"
        yield _marked(line, _WARNING, colour and full)


def _players(view: Any, colour: bool) -> Iterator[str]:
    table = view["table"]
    yield "                 heads  match  last card"
    for seat in range(int(table["num_players"])):
        asked, card = is_asked(view, seat), int(table["last"][seat])
        # Nothing may have been revealed yet, and a view made by hand does not know earlier turns.
        note = f"{card_name(card):>5} {outcome(table, seat)}" if card else ""
        line = f" {'>' if asked else ' '} {seat_name(seat):<12}{int(table['penalties'][seat]):>7}{int(table['totals'][seat]):>7}  {note}"
        yield _marked(line.rstrip(), _BOLD, colour and asked)


def is_asked(view: Any, seat: int) -> bool:
    """Whether the view shows that `seat` has a decision to make: picks being secret, it shows only the own seat's."""
    table = view["table"]
    return bool(table["phase"] != OVER and (table["actor"] == seat or (view["deciding"] and view["seat"] == seat)))


def outcome(table: Any, seat: int) -> str:
    """What became of the card that the seat last revealed; nothing while it lies there."""
    landed = int(table["landed"][seat])
    if landed in (0, NOBODY):
        return ""
    took = f", took {_heads(int(table['took'][seat]))}" if table["took"][seat] else ""
    return f"to row {landed - 1}{took}"


def _open_hands(view: Any) -> Iterator[str]:
    table = view["table"]
    for seat in range(int(table["num_players"])):
        yield f"  hand of player_{seat}:  {_cards(to_list(view['hands'][seat]))}"


def _cut_short(table: Any) -> bool:
    """Whether a match that is over was ended by an illegal action: in the middle of a round, which the rules never do."""
    return bool(table["turn"] < table["hand_size"])


def situation(view: Any) -> str:
    """What is being decided now, and by whom; at the end, who has won."""
    table = view["table"]
    phase, seat = int(table["phase"]), int(table["actor"])
    if phase == OVER and _cut_short(table):
        return "the match was ended before its end: nobody wins"
    if phase == OVER:
        totals = [int(t) for t in table["totals"][: int(table["num_players"])]]
        best = [f"player_{s}" for s, t in enumerate(totals) if t == min(totals)]
        return f"over: {' and '.join(best)} {'wins' if len(best) == 1 else 'share the win'} with {_heads(min(totals))}"
    if phase == PICK:
        return "everybody picks a card"
    if phase == PLACE:
        return "the cards are placed, the lowest first"
    if phase == DRAFT:
        return f"player_{seat} drafts a card"
    card = card_name(int(table["plays"][int(table["turn"]), seat])) if seat != NOBODY else ""
    return f"player_{seat} {'takes a row for' if phase == ROW else 'chooses the side for'} {card}"


def pool(view: Any) -> list[int]:
    """In the draft: the cards that can still be taken, ascending."""
    held = {card for hand in view["hands"] for card in to_list(hand)}
    return [card for card in range(1, int(view["table"]["highest_card"]) + 1) if card not in held]


def _heads(count: int) -> str:
    return _count(count, "head")


def _count(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _cards(cards: Iterable[int]) -> str:
    return "  ".join(card_name(card) for card in cards) or "-"


# --- events (see story.py) ---------------------------------------------------------------------------------------------


def tell(event: Mapping[str, Any]) -> str:
    """An event in one line of words."""
    return _TELL[event["event"]](event)


def explain(view: Any, event: Mapping[str, Any]) -> str:
    """An event in words, with the reason that the rules give for it. `view` shows the table just before it."""
    kind = event["event"]
    if kind not in ("asked", "placed", "took"):
        return tell(event)
    return f"{tell(event)}: {_reason(view['table'], event)}"


def _reason(table: Any, event: Mapping[str, Any]) -> str:
    """Where the rules want the card of the event, and why."""
    card, asked = int(event["card"]), event["event"] == "asked"
    end, front = landing(table, card)
    rows = [table["rows"][row, : table["row_len"][row]] for row in range(int(table["num_rows"]))]
    if end == front == NOWHERE:
        edges = f"the rows end with {_list(int(row[-1]) for row in rows)}"
        if table["professional"]:
            return f"{card} lies between the first and the last card of every row, so it fits nowhere and its owner takes a row"
        return f"{edges}, all above {card}, so it fits nowhere and its owner takes a row"
    if NOWHERE not in (end, front):
        last, first = int(rows[end][-1]), int(rows[front][0])
        return f"{last} at the end of row {end} and {first} at the front of row {front} are equally near to {card}"
    row = max(end, front)
    beside = int(rows[row][-1 if front == NOWHERE else 0])
    place = "last" if front == NOWHERE else "first"
    which = "nearest to" if table["professional"] else "highest below"
    full = "" if asked or len(rows[row]) < table["row_capacity"] else f", and that row is full with {_count(len(rows[row]), 'card')}"
    return f"of the cards it may join, {beside}, the {place} of row {row}, is the {which} {card}{full}"


def _name(event: Mapping[str, Any]) -> str:
    return f"player_{event['seat']}"


def _names(seats: Iterable[int]) -> str:
    return " and ".join(f"player_{seat}" for seat in seats)


def _list(cards: Iterable[int]) -> str:
    return " ".join(map(str, cards))


def _by_player(values: Iterable[Any]) -> str:
    return ", ".join(f"player_{seat} {value}" for seat, value in enumerate(values))


def _placed(event: Mapping[str, Any]) -> str:
    return f"{_name(event)}'s {card_name(event['card'])} goes to the {event['side']} of row {event['row']}"


def _took(event: Mapping[str, Any]) -> str:
    what = f"row {event['row']} ({_list(event['cards'])}), {_heads(event['heads'])}"
    return f"{_name(event)} takes {what}; {card_name(event['card'])} starts it anew"


_TELL: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "dealt": lambda e: f"round {e['round'] + 1} is dealt; the rows start with {_list(row[0] for row in e['rows'])}",
    "laid_open": lambda e: f"round {e['round'] + 1}: cards 1 to {e['cards'][-1]} lie open; {_name(e)} drafts first",
    "drafted": lambda e: f"{_name(e)} drafts {card_name(e['card'])}",
    "rows": lambda e: f"the rows start with {_list(row[0] for row in e['rows'])}",
    "picked": lambda e: f"{_name(e)} lays {card_name(e['card'])} face down",
    "revealed": lambda e: f"turn {e['turn'] + 1}: {_by_player(map(card_name, e['cards']))}",
    "asked": lambda e: f"{_name(e)} has to choose for {card_name(e['card'])}: {', '.join(map(action_name, e['options']))}",
    "chose": lambda e: f"{_name(e)} chooses {action_name(e['action'])}",
    "placed": _placed,
    "took": _took,
    "round_ended": lambda e: f"round {e['round'] + 1} is over; heads {_by_player(e['penalties'])}; match {_by_player(e['totals'])}",
    "match_ended": lambda e: f"the match is over: {_names(e['winners'])} {'wins' if len(e['winners']) == 1 else 'share the win'}",
}
