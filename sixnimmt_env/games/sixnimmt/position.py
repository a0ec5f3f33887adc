"""Checking a position by hand: plain lists in, plain lists out, over the same engine as everything else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...core.cards import from_list, to_list
from .engine import NOWHERE, is_legal, landing, reveal_picks
from .rules import DECKS, HEADS, MAX_CAPACITY, MAX_CARD, MAX_HAND, MAX_ROWS, MAX_SEATS, Deck, IllegalMove, Rules
from .state import ACTION_FRONT, ACTION_ROW, NOBODY, NUM_ACTIONS, PHASES, PICK, PLACE, ROW, SIDE, STATE, new_states
from .story import place, place_as_chosen, rows_of
from .view import VIEW, legal

SIDES = ("end", "front")
_WHOLE = (int, *(np.dtype(code).type for code in "bhilqBHILQ"))
Option = int | tuple[int, str]


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What a turn led to.

    Attributes:
        rows: the rows after the turn.
        penalties: bull heads of this turn, one a player.
        taken: {player: cards taken}, only players who took some.
        choices_needed: (player, options) in the order in which the choices arose; options are row numbers, or (row, side) pairs.
    """

    rows: list[list[int]]
    penalties: list[int]
    taken: dict[int, list[int]]
    choices_needed: list[tuple[int, list[Option]]]


def play_turn(
    rows: Sequence[Sequence[int]],
    plays: Sequence[int],
    hands: Sequence[Sequence[int]] | None = None,
    choices: Mapping[int, Mapping[str, Any]] | None = None,
    professional: bool = False,
) -> TurnResult:
    """Place the cards of one turn.

    Args:
        rows: 1 to 4 rows of 1 to 5 ascending cards.
        plays: the card of each player, 1 to 10 of them.
        hands: the hands the cards come from, if that is to be checked.
        choices: {player: {"row": r} or {"row": r, "side": "end" | "front"}}, used only if that player's card needs a choice.
        professional: cards may join either side of a row.

    Raises:
        IllegalMove: anything impossible: a card twice, out of range or not in the hand, a choice missing or not offered. Nothing has
            changed.
    """
    if choices is not None and not (isinstance(choices, Mapping) and all(isinstance(choice, Mapping) for choice in choices.values())):
        raise IllegalMove(f"choices={choices!r} must map players to {{'row': r}} or {{'row': r, 'side': 'end' or 'front'}}")
    plays = list(plays)  # iterators are used up once
    states = _lay_out(_lists("rows", rows), plays, None if hands is None else _lists("hands", hands), professional)
    state = states[0]
    reveal_picks(state)
    taken: dict[int, list[int]] = {}
    needed: list[tuple[int, list[Option]]] = []
    waiting = True
    while waiting:
        waiting = False
        for event in place(state):
            if event["event"] == "asked":
                waiting, seat = True, event["seat"]
                options = _options(state)
                needed.append((seat, list(options)))
                event = place_as_chosen(state, _chosen(seat, plays[seat], options, choices))
            if event["event"] == "took":
                taken[event["seat"]] = event["cards"]
    penalties = [int(p) for p in state["table"]["penalties"][: len(plays)]]
    return TurnResult(rows_of(state), penalties, taken, needed)


def table_view(
    hand: Iterable[int],
    rows: Sequence[Sequence[int]],
    num_players: int = 4,
    seat: int = 0,
    seen: Iterable[int] = (),
    penalties: Sequence[int] = (),
    professional: bool = False,
    *,
    totals: Sequence[int] | None = None,
    revealed: Mapping[int, int] | None = None,
    deck: Deck = "standard",
    hand_size: int = MAX_HAND,
) -> np.void:
    """What a person at a real table sees, as a view that every agent can be asked about: `agent.act([view])`.

    Args:
        hand: own cards.
        rows: the rows as they lie.
        num_players: 2 to 10.
        seat: own seat, counted from 0.
        seen: cards that have lain open this round and do so no more; those in the rows count anyway.
        penalties: bull heads of this round, one a seat; none given means 0.
        professional: cards may join either side of a row.
        totals: bull heads of the match, this round's included; the penalties if not given.
        revealed: {seat: card} of the turn being placed, when the own seat has to choose a row or a side. Its card is then no longer in
            `hand`, and the cards below it have been placed already.
        deck: "standard" or "tactical" (in logic all hands are public: take views from an environment).
        hand_size: cards dealt at the start of the round.

    Raises:
        IllegalMove: a position that cannot arise.
    """
    if deck == "logic":
        raise IllegalMove('deck="logic" has public hands, which a table view does not take: use "standard" or "tactical"')
    rows = _lists("rows", rows)
    rules = _rules(num_players=num_players, deck=deck, professional=professional, hand_size=hand_size, num_rows=len(rows))
    seats = range(rules.num_players)
    if isinstance(seat, bool) or not isinstance(seat, (int, np.integer)) or seat not in seats:
        raise IllegalMove(f"seat {seat!r} does not exist: seats are 0..{num_players - 1}")
    own, open_cards, shown = list(hand), list(seen), dict(revealed or {})
    _check_rows(rows)
    table_cards = [card for row in rows for card in row]
    still_open = _still_open(own, table_cards, open_cards, shown, seat, rules.highest_card)
    view = np.zeros(1, dtype=VIEW)
    view["table"] = new_states(rules, 1)["table"]
    view["seat"], view["deciding"] = seat, 1
    view["hand"] = from_list(own)
    table = view["table"][0]
    _put_rows(table, rows)
    table["seen"] = from_list([*table_cards, *still_open])
    _put_heads(table, rules, penalties, totals)
    table["phase"], table["actor"] = PICK, NOBODY
    _set_turn(table, own, seat, shown, rules)
    hidden = rules.highest_card - len({*own, *table_cards, *still_open})
    if hidden < (num_players - 1) * len(own):
        raise IllegalMove(f"{hidden} unseen cards are too few for {num_players - 1} other hands of {len(own)}: too many cards in `seen`")
    return cast(np.void, view[0])


def read_view(view: Any) -> dict[str, Any]:
    """What a view holds, in plain Python: how an agent of your own can look at it.

    Returns:
        The arguments of `table_view` that would lay it out (hand, rows, num_players, seat, seen, penalties, totals, professional, deck,
        hand_size, and revealed while cards are being placed), and besides phase ("draft", "pick", "row", "side", "over"), turn and round
        (complete ones), last ({seat: card} of the turn last revealed), hands ({seat: cards} where all are open), and legal: the actions
        that the seat may choose now.
    """
    table = view["table"]
    players = int(table["num_players"])
    mask = np.zeros((1, NUM_ACTIONS), dtype=np.int8)
    legal(np.array([view]), mask)
    by_seat = {name: [int(number) for number in table[name][:players]] for name in ("penalties", "totals", "last")}
    last = {seat: card for seat, card in enumerate(by_seat["last"]) if card}
    found = {
        "hand": to_list(view["hand"]),
        "rows": rows_of(view),
        "num_players": players,
        "seat": int(view["seat"]),
        "seen": to_list(table["seen"]),
        "penalties": by_seat["penalties"],
        "totals": by_seat["totals"],
        "professional": bool(table["professional"]),
        "deck": DECKS[table["deck"]],
        "hand_size": int(table["hand_size"]),
        "phase": "place" if table["phase"] == PLACE else PHASES[table["phase"]],
        "turn": int(table["turn"]),
        "round": int(table["round_index"]),
        "last": last,
        "legal": [int(action) for action in np.flatnonzero(mask[0])],
    }
    if table["phase"] in (ROW, SIDE):
        found["revealed"] = last
    if view["open"]:
        found["hands"] = {seat: to_list(view["hands"][seat]) for seat in range(players)}
    return found


def _still_open(own: list[int], table_cards: list[int], open_cards: list[int], shown: dict[int, int], seat: int, highest: int) -> list[int]:
    """The cards that have lain open and lie in no row, after checking that no card is in two places."""
    _check_cards(list(shown.values()), "revealed", highest)
    waiting = [card for card in shown.values() if seat in shown and card >= shown[seat]]  # not yet placed
    _check_cards([*own, *table_cards, *waiting], "in the position", highest)
    still_open = [card for card in dict.fromkeys([*open_cards, *shown.values()]) if card not in table_cards]
    _check_cards([*own, *table_cards, *still_open], "in the position", highest)
    return still_open


def _set_turn(table: np.void, own: list[int], seat: int, shown: dict[int, int], rules: Rules) -> None:
    """The turn that a hand of this size is in, and the revealed cards of it."""
    turn = rules.hand_size - len(own) - (1 if shown else 0)
    if turn < 0 or (not own and not shown):
        raise IllegalMove(f"{len(own)} cards in hand{' and one revealed' if shown else ''} are impossible: 1..{rules.hand_size}")
    table["turn"] = turn
    if not shown:
        return
    if any(type(player) is not int for player in shown) or sorted(shown) != list(range(rules.num_players)):
        raise IllegalMove(f"revealed={shown} must name a card for every seat 0..{rules.num_players - 1}")
    order = sorted(shown, key=lambda player: shown[player])
    table["placed"] = order.index(seat)
    for rank, player in enumerate(order):
        table["plays"][turn, player] = table["last"][player] = shown[player]
        table["order"][rank] = player
        if rank < table["placed"]:
            lies = (table["rows"] == shown[player]).any(axis=1)
            table["landed"][player] = 1 + int(lies.argmax()) if lies.any() else NOBODY  # placed, and taken since
    if order[0] != seat and not rules.professional:
        raise IllegalMove(f"only the lowest card can be without a row, which is player {order[0]}'s {shown[order[0]]}")
    end, front = landing(table, shown[seat])
    if (end == NOWHERE) != (front == NOWHERE):
        raise IllegalMove(f"seat {seat} has nothing to choose: its {shown[seat]} goes to row {max(end, front)}")
    table["phase"], table["actor"] = (ROW if end == NOWHERE else SIDE), seat


def _lay_out(
    rows: Sequence[Sequence[int]], plays: Sequence[int], hands: Sequence[Sequence[int]] | None, professional: bool
) -> NDArray[np.void]:
    """One game in which every player has picked his card of `plays`."""
    if not isinstance(professional, (bool, np.bool_)):
        raise IllegalMove(f"professional={professional!r} must be True or False")
    if not 1 <= len(plays) <= MAX_SEATS:
        raise IllegalMove(f"{len(plays)} cards played: it takes 1 to {MAX_SEATS} players")
    if hands is None:
        hands = [[card] for card in plays]
    if len(hands) != len(plays):
        raise IllegalMove(f"{len(hands)} hands for {len(plays)} played cards: there must be one each")
    _check_rows(rows)
    _check_cards(plays, "played")
    for player, (card, hand) in enumerate(zip(plays, hands, strict=True)):
        if card not in hand:
            raise IllegalMove(f"player {player} plays {card}, which is not in his hand {sorted(hand)}")
    _check_cards([card for group in (*rows, *hands) for card in group], "in the rows and hands")
    states = np.zeros(1, dtype=STATE)
    table = states["table"][0]
    table["num_players"], table["professional"], table["highest_card"] = len(plays), bool(professional), MAX_CARD
    table["hand_size"], table["num_rows"], table["row_capacity"] = MAX_HAND, len(rows), MAX_CAPACITY
    _put_rows(table, rows)
    table["phase"], table["actor"] = PICK, NOBODY
    for player, hand in enumerate(hands):
        states["hands"][0, player] = from_list(hand)
    states["picks"][0, : len(plays)] = plays
    return states


def _rules(**options: Any) -> Rules:
    try:
        return Rules(**options)
    except ValueError as error:
        raise IllegalMove(str(error)) from None


def _check_cards(cards: Sequence[int], where: str, highest: int = MAX_CARD) -> None:
    seen: set[int] = set()
    for card in cards:
        if isinstance(card, bool) or not isinstance(card, (int, np.integer)) or not 1 <= card <= highest:
            raise IllegalMove(f"card {card!r} {where} does not exist: cards are 1..{highest}")
        if card in seen:
            raise IllegalMove(f"card {card} {where} twice: every card exists once")
        seen.add(int(card))


def _check_rows(rows: Sequence[Sequence[int]]) -> None:
    if not 1 <= len(rows) <= MAX_ROWS:
        raise IllegalMove(f"{len(rows)} rows: there are 1 to {MAX_ROWS}")
    for number, row in enumerate(rows):
        if not 1 <= len(row) <= MAX_CAPACITY:
            raise IllegalMove(f"row {number} has {len(row)} cards: 1 to {MAX_CAPACITY} lie in a row")
        if any(a >= b for a, b in pairwise(row)):
            raise IllegalMove(f"row {number} {list(row)} is not ascending")
    _check_cards([card for row in rows for card in row], "in the rows")


def _lists(name: str, groups: Any) -> list[list[int]]:
    """Copies of lists of cards; iterators are used up once, here."""
    if isinstance(groups, (str, Mapping)) or not isinstance(groups, Iterable):
        raise IllegalMove(f"{name}={groups!r} must be lists of cards")
    groups = list(groups)
    if not all(isinstance(group, Iterable) for group in groups):
        raise IllegalMove(f"{name}={groups!r} must be lists of cards")
    return [list(group) for group in groups]


def _put_heads(table: np.void, rules: Rules, penalties: Sequence[int], totals: Sequence[int] | None) -> None:
    heads = _heads(penalties, rules.num_players, "penalties")
    sums = _heads(totals, rules.num_players, "totals") if totals is not None else heads
    if sum(heads) > rules.deck_heads or any(total < penalty for total, penalty in zip(sums, heads, strict=True)):
        raise IllegalMove(
            f"penalties {heads} and totals {sums} cannot be: the deck has {rules.deck_heads} bull heads, and totals hold the penalties"
        )
    table["penalties"][: rules.num_players] = heads
    table["totals"][: rules.num_players] = sums


def _heads(values: Sequence[int], num_players: int, name: str) -> list[int]:
    if len(values) not in (0, num_players):
        raise IllegalMove(f"{name} has {len(values)} numbers: one for each of the {num_players} players, or none")
    limit = 171 if name == "penalties" else 2**32 - 1
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value <= limit:
            raise IllegalMove(f"{name}={list(values)} must be whole numbers from 0 to {limit}")
    return list(values) or [0] * num_players


def _put_rows(table: np.void, rows: Sequence[Sequence[int]]) -> None:
    for number, row in enumerate(rows):
        table["rows"][number, : len(row)] = row
        table["row_len"][number] = len(row)
        table["row_heads"][number] = int(HEADS[list(row)].sum())


def _options(state: np.void) -> dict[Option, int]:
    """What the actor may choose now, with the number of the action."""
    seat = int(state["table"]["actor"])
    side = state["table"]["phase"] == SIDE
    options: dict[Option, int] = {}
    for row in range(int(state["table"]["num_rows"])):
        for name, action in zip(SIDES, (ACTION_ROW + row, ACTION_FRONT + row), strict=True):
            if is_legal(state, seat, action):
                options[(row, name) if side else row] = action
    return options


def _example(options: dict[Option, int]) -> dict[str, Any]:
    """How the first of the options is written as a choice."""
    first = next(iter(options))
    return {"row": first} if isinstance(first, int) else {"row": first[0], "side": first[1]}


def _chosen(seat: int, card: int, options: dict[Option, int], choices: Mapping[int, Mapping[str, Any]] | None) -> int:
    """The action of the choice that was given for `seat`."""
    offered = ", ".join(f"row {o}" if isinstance(o, int) else f"row {o[0]} {o[1]}" for o in options)
    choice = (choices or {}).get(seat)
    if choice is None:
        raise IllegalMove(f"player {seat} has to choose for his {card}: {offered}; give choices={{{seat}: {_example(options)}}}")
    unknown = set(choice) - {"row", "side"}
    picked: Any = (choice.get("row"), choice["side"]) if "side" in choice else choice.get("row")
    if unknown or type(choice.get("row")) not in _WHOLE or picked not in options:
        raise IllegalMove(f"the choice {dict(choice)} of player {seat} for his {card} is not offered: {offered}")
    return options[picked]
