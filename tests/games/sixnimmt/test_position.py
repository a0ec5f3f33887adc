"""Positions checked by hand: what `play_turn` and `table_view` refuse, leave alone, and agree on with a running game."""

from __future__ import annotations

import copy
import inspect
import json
from typing import Any

import numpy as np
import pytest

from sixnimmt_env.core.cards import to_list
from sixnimmt_env.games.sixnimmt import GAME, IllegalMove, Rules, play_turn, read_view, table_view
from sixnimmt_env.games.sixnimmt.state import ACTION_FRONT, ACTION_ROW, PHASES, PICK, ROW, SIDE
from tests.games.sixnimmt.playing import (
    KINDS,
    SMALL,
    VARIANTS,
    all_views,
    in_phase,
    legal_masks,
    name_of,
    seats_to_act,
    views_of,
    walk_all_phases,
)

ROWS = [[3, 12], [37], [55, 57, 58, 60, 61], [98]]

# --- play_turn ---------------------------------------------------------------------------------------------------------

REFUSED_TURNS: dict[str, tuple[dict[str, Any], str]] = {
    "nobody": ({"plays": []}, "0 cards played"),
    "eleven players": ({"plays": range(62, 73)}, "11 cards played"),
    "a card twice": ({"plays": [40, 40]}, "card 40"),
    "a card of the rows": ({"plays": [12, 40]}, "card 12"),
    "card 0": ({"plays": [0]}, "card 0"),
    "card 105": ({"plays": [105]}, "card 105"),
    "card -1": ({"plays": [-1]}, "card -1"),
    "half a card": ({"plays": [40.5]}, "card 40.5"),
    "a word": ({"plays": ["40"]}, "card '40'"),
    "true": ({"plays": [True]}, "card True"),
    "not in the hand": ({"plays": [40, 41], "hands": [[40], [42]]}, "41"),
    "in the other's hand": ({"plays": [40, 41], "hands": [[41], [40]]}, "40"),
    "a hand too few": ({"plays": [40, 41], "hands": [[40]]}, "1 hands"),
    "a hand too many": ({"plays": [40], "hands": [[40], [41]]}, "2 hands"),
    "two hands with one card": ({"plays": [40, 41], "hands": [[40, 50], [41, 50]]}, "card 50"),
    "a hand with a card of the rows": ({"plays": [40], "hands": [[40, 98]]}, "card 98"),
    "a hand with card 106": ({"plays": [40], "hands": [[40, 106]]}, "card 106"),
    "no rows": ({"plays": [40], "rows": []}, "0 rows"),
    "five rows": ({"plays": [40], "rows": [[1], [2], [3], [4], [5]]}, "5 rows"),
    "an empty row": ({"plays": [40], "rows": [[1], []]}, "row 1"),
    "six cards in a row": ({"plays": [40], "rows": [[1, 2, 3, 4, 5, 6]]}, "row 0"),
    "a falling row": ({"plays": [40], "rows": [[1], [9, 8]]}, "row 1"),
    "a row with a card twice": ({"plays": [40], "rows": [[8, 8]]}, "row 0"),
    "two rows with one card": ({"plays": [40], "rows": [[8], [8, 9]]}, "card 8"),
    "a row with card 0": ({"plays": [40], "rows": [[0, 8]]}, "card 0"),
    "no choice given": ({"plays": [1, 40]}, "player 0 .* row 0, row 1, row 2, row 3"),
    "a choice for the other": ({"plays": [1, 40], "choices": {1: {"row": 0}}}, "player 0"),
    "row 4 chosen": ({"plays": [1], "choices": {0: {"row": 4}}}, "not offered"),
    "row -1 chosen": ({"plays": [1], "choices": {0: {"row": -1}}}, "not offered"),
    "row true chosen": ({"plays": [1], "choices": {0: {"row": True}}}, "not offered"),
    "no row chosen": ({"plays": [1], "choices": {0: {}}}, "not offered"),
    "a side for a row to take": ({"plays": [1], "choices": {0: {"row": 1, "side": "end"}}}, "not offered"),
    "a misspelt choice": ({"plays": [1], "choices": {0: {"row": 1, "rwo": 2}}}, "not offered"),
    "a tie without a choice": ({"plays": [22], "rows": [[20], [24]], "professional": True}, "row 0 end, row 1 front"),
    "a tie without a side": ({"plays": [22], "rows": [[20], [24]], "professional": True, "choices": {0: {"row": 0}}}, "not offered"),
    "a tie, the wrong side": (
        {"plays": [22], "rows": [[20], [24]], "professional": True, "choices": {0: {"row": 0, "side": "front"}}},
        "not offered",
    ),
    "a tie, no such side": (
        {"plays": [22], "rows": [[20], [24]], "professional": True, "choices": {0: {"row": 0, "side": "left"}}},
        "not offered",
    ),
}


@pytest.mark.parametrize("name", REFUSED_TURNS)
def test_a_turn_that_cannot_be_is_refused(name: str) -> None:
    options, message = REFUSED_TURNS[name]
    passed = {"rows": ROWS, **options}
    before = copy.deepcopy(passed)
    with pytest.raises(IllegalMove, match=message):
        play_turn(**passed)
    assert passed == before


def test_a_turn_leaves_what_it_is_given_alone() -> None:
    passed: dict[str, Any] = {"rows": ROWS, "plays": [1, 62, 38], "hands": [[1, 9], [62, 99], [38, 2]], "choices": {0: {"row": 1}}}
    before = copy.deepcopy(passed)
    result = play_turn(**passed)
    assert passed == before
    assert result.rows == [[3, 12, 38], [1], [62], [98]]
    assert result.penalties == [1, 7 + 1 + 1 + 3 + 1, 0]
    assert result.taken == {0: [37], 1: ROWS[2]}
    assert result.choices_needed == [(0, [0, 1, 2, 3])]
    result.rows[0].append(104)
    result.taken[1].clear()
    assert passed == before, "the result shares its lists with what was passed in"


def test_a_choice_not_needed_is_not_looked_at() -> None:
    plain = play_turn(ROWS, [40, 99])
    assert play_turn(ROWS, [40, 99], choices={0: {"row": 17}, 1: {"nonsense": 1}, 9: {"row": 0}}) == plain
    assert plain.choices_needed == []


@pytest.mark.parametrize("kind", [tuple, np.array])
def test_other_sequences_will_do(kind: Any) -> None:
    result = play_turn([kind(row) for row in ROWS], kind([40, 99]))
    assert result == play_turn(ROWS, [40, 99])
    assert all(type(card) is int for row in result.rows for card in row)


# --- table_view: refusals ----------------------------------------------------------------------------------------------

HAND = [5, 40, 70]
TURN = {0: 6, 1: 50, 2: 90, 3: 41}  # seat 0 has the lowest card, below all of HIGH
HIGH = [[10, 12], [37], [55, 57], [98]]
REFUSED_VIEWS: dict[str, tuple[dict[str, Any], str]] = {
    "a card twice in the hand": ({"hand": [5, 5]}, "card 5"),
    "a hand card in the rows": ({"hand": [5, 37]}, "card 37"),
    "a hand card seen": ({"seen": [40]}, "card 40"),
    "a hand card revealed": ({"hand": [50], "rows": HIGH, "revealed": TURN}, "card 50"),
    "hand card 0": ({"hand": [0]}, "card 0"),
    "hand card 105": ({"hand": [105]}, "card 105"),
    "seen card 105": ({"seen": [105]}, "card 105"),
    "a card beyond the tactical deck": ({"hand": [45], "rows": [[1], [2], [3], [4]], "deck": "tactical"}, "card 45"),
    "a row card beyond the tactical deck": ({"hand": [40], "deck": "tactical"}, "card 55"),
    "an empty hand": ({"hand": []}, "0 cards in hand"),
    "eleven cards in the hand": ({"hand": range(70, 81)}, "11 cards in hand"),
    "four cards of a hand of three": ({"hand": [5, 40, 70, 71], "hand_size": 3}, "4 cards in hand"),
    "one player": ({"num_players": 1}, "num_players"),
    "eleven players": ({"num_players": 11}, "num_players"),
    "seat 4 of 4": ({"seat": 4}, "seat 4"),
    "seat -1": ({"seat": -1}, "seat -1"),
    "no rows": ({"rows": []}, "num_rows=0"),
    "five rows": ({"rows": [[1], [2], [3], [4], [6]]}, "num_rows=5"),
    "six cards in a row": ({"rows": [[1, 2, 3, 4, 6, 7]]}, "row 0"),
    "a falling row": ({"rows": [[7, 6]]}, "row 0"),
    "a row card twice": ({"rows": [[6], [6]]}, "card 6"),
    "logic": ({"deck": "logic"}, "logic"),
    "no such deck": ({"deck": "cards"}, "deck='cards'"),
    "penalties of three": ({"penalties": [1, 2, 3]}, "penalties has 3 numbers"),
    "a negative penalty": ({"penalties": [1, 2, 3, -4]}, "penalties"),
    "half a penalty": ({"penalties": [1, 2, 3, 0.5]}, "penalties"),
    "a penalty of 172": ({"penalties": [1, 2, 3, 172]}, "penalties"),
    "totals of five": ({"totals": [1, 2, 3, 4, 5]}, "totals has 5 numbers"),
    "too much seen": ({"hand": list(range(1, 11)), "rows": [[11], [12], [13], [14]], "seen": range(15, 76)}, "unseen cards are too few"),
    "a revealed card missing": ({"rows": HIGH, "revealed": {0: 6, 1: 50, 2: 90}}, "every seat"),
    "a revealed card too many": ({"rows": HIGH, "revealed": {**TURN, 4: 51}}, "every seat"),
    "a revealed card 0": ({"rows": HIGH, "revealed": {**TURN, 2: 0}}, "card 0"),
    "nothing to choose": ({"rows": HIGH, "revealed": {**TURN, 0: 13}}, "nothing to choose"),
}


@pytest.mark.parametrize("name", REFUSED_VIEWS)
def test_a_table_that_cannot_be_is_refused(name: str) -> None:
    options, message = REFUSED_VIEWS[name]
    passed = {"hand": HAND, "rows": ROWS, **options}
    before = copy.deepcopy(passed)
    with pytest.raises(IllegalMove, match=message):
        table_view(**passed)
    assert passed == before


UNNOTICED: dict[str, dict[int, int]] = {
    "one card revealed by two": {**TURN, 2: 50},
    "the own card lies in a row already": {**TURN, 0: 10},
    "a card that comes later lies in a row already": {**TURN, 2: 98},
}


@pytest.mark.parametrize("name", UNNOTICED)
def test_revealed_cards_that_cannot_be_are_refused(name: str) -> None:
    with pytest.raises(IllegalMove):
        table_view(HAND, HIGH, revealed=UNNOTICED[name])


# --- table_view: what it shows -----------------------------------------------------------------------------------------


def legal_of(shown: np.void) -> list[int]:
    [mask] = legal_masks(np.array([shown]))
    return np.flatnonzero(mask).tolist()


def test_a_table_while_cards_are_picked() -> None:
    shown = table_view(HAND, ROWS, num_players=5, seat=3, seen=[1, 2], penalties=[0, 4, 0, 9, 1], totals=[10, 4, 0, 9, 71])
    table = shown["table"]
    assert legal_of(shown) == [card - 1 for card in HAND]
    assert to_list(shown["hand"]) == HAND
    assert to_list(table["seen"]) == sorted([1, 2, *(card for row in ROWS for card in row)])
    assert (int(table["phase"]), int(table["turn"]), int(shown["seat"]), int(shown["deciding"])) == (PICK, 7, 3, 1)
    assert table["penalties"].tolist() == [0, 4, 0, 9, 1, 0, 0, 0, 0, 0]
    assert table["totals"].tolist() == [10, 4, 0, 9, 71, 0, 0, 0, 0, 0]
    assert table["row_heads"].tolist() == [2, 1, 13, 1]


def test_a_table_while_a_row_is_chosen() -> None:
    shown = table_view(HAND, HIGH, revealed=TURN)
    table = shown["table"]
    assert legal_of(shown) == [ACTION_ROW + row for row in range(4)]
    assert (int(table["phase"]), int(table["actor"]), int(table["turn"]), int(table["placed"])) == (ROW, 0, 6, 0)
    assert table["order"][:4].tolist() == [0, 3, 1, 2]
    assert table["plays"][6, :4].tolist() == [6, 50, 90, 41]
    assert not table["landed"].any()
    assert {6, 41, 50, 90} <= set(to_list(table["seen"]))


def test_a_table_while_a_side_is_chosen() -> None:
    """22 is as far from the 20 as from the 24; the 8 of seat 1 has been laid before."""
    rows = [[10, 20], [24, 30], [2, 8], [50]]
    shown = table_view(HAND, rows, num_players=3, revealed={0: 22, 1: 8, 2: 60}, professional=True)
    table = shown["table"]
    assert legal_of(shown) == [ACTION_ROW, ACTION_FRONT + 1]
    assert (int(table["phase"]), int(table["actor"]), int(table["placed"])) == (SIDE, 0, 1)
    assert table["landed"][:3].tolist() == [0, 3, 0]


COMPARABLE = (
    *("seen", "totals", "penalties", "rows", "row_len", "row_heads", "phase", "actor", "turn"),
    *("num_players", "deck", "professional", "hand_size", "num_rows", "highest_card"),
)


def as_seen_at_the_table(shown: np.void) -> np.void:
    """`table_view` of what somebody who sees `shown` would type in."""
    table = shown["table"]
    players = int(table["num_players"])
    lying = [row[:length].tolist() for row, length in zip(table["rows"], table["row_len"], strict=True)]
    revealed = None
    if table["phase"] in (ROW, SIDE):
        revealed = dict(enumerate(table["plays"][int(table["turn"]), :players].tolist()))
    on_table = {card for row in lying for card in row} | set((revealed or {}).values())
    seen = [card for card in to_list(table["seen"]) if card not in on_table]
    options: dict[str, Any] = {name: table[name][:players].tolist() for name in ("penalties", "totals")}
    options |= {"deck": ("standard", "tactical")[int(table["deck"])], "professional": bool(table["professional"])}
    return table_view(to_list(shown["hand"]), lying, players, int(shown["seat"]), seen, revealed=revealed, **options)


@pytest.mark.parametrize(("deck", "professional"), [kind for kind in KINDS if kind[0] != "logic"])
@pytest.mark.parametrize("num_players", [2, 6, 10])
def test_it_agrees_with_a_running_game(deck: Any, professional: bool, num_players: int) -> None:
    phases: set[int] = set()
    for states in walk_all_phases(Rules(num_players=num_players, deck=deck, professional=professional), 6, seed=1):
        games, seats = np.nonzero(seats_to_act(states))
        for shown in views_of(states, games, seats):
            typed = as_seen_at_the_table(shown)
            for name in COMPARABLE:
                assert (typed["table"][name] == shown["table"][name]).all(), name
            assert all((typed[name] == shown[name]).all() for name in ("hand", "hands", "seat", "deciding"))
            assert legal_of(typed) == legal_of(shown)
            phase = int(shown["table"]["phase"])
            if phase in (ROW, SIDE):
                turn = int(shown["table"]["turn"])
                assert (typed["table"]["plays"][turn] == shown["table"]["plays"][turn]).all()
                assert typed["table"]["placed"] == shown["table"]["placed"]
                assert (typed["table"]["order"] == shown["table"]["order"]).all()
            phases.add(phase)
    assert phases == ({PICK, ROW, SIDE} if professional else {PICK, ROW})


@pytest.mark.parametrize("phase", [PICK, ROW, SIDE])
def test_heuristics_answer_legally(phase: int) -> None:
    states = in_phase(phase, 20, Rules(num_players=4, professional=phase == SIDE))
    games, seats = np.nonzero(seats_to_act(states))
    views = np.array([as_seen_at_the_table(shown) for shown in views_of(states, games, seats)])
    masks = legal_masks(views)
    for heuristic in GAME.heuristics.values():
        actions = np.full(len(views), -1)
        GAME.act(views, heuristic.kind, np.uint64(3), actions)
        assert masks[np.arange(len(views)), actions].all()


def test_views_of_the_table_can_be_observed() -> None:
    shown = np.array([table_view(HAND, ROWS, seen=[1]), table_view(HAND, HIGH, revealed=TURN)])
    vectors = np.full((2, GAME.layout.size), -1, dtype=np.float32)
    GAME.encode(shown, vectors)
    first, second = (GAME.layout.decode(vector) for vector in vectors)
    assert first["context"]["phase_pick"] == second["context"]["phase_row"] == 1
    assert first["hand"]["card"][:4].tolist() == [*HAND, 0]
    assert second["rows"]["can_end"].tolist() == [1, 1, 1, 1]


# --- views in plain Python ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [*VARIANTS, *SMALL], ids=name_of)
def test_a_view_is_read_in_plain_python(rules: Rules) -> None:
    keys = list(inspect.signature(table_view).parameters)
    for states in walk_all_phases(rules, 1, seed=3):
        for shown, mask in zip(all_views(states), legal_masks(all_views(states)), strict=True):
            told = read_view(shown)
            assert json.loads(json.dumps(told, default=str)) is not None
            assert told["legal"] == np.flatnonzero(mask).tolist()
            assert told["hand"] == to_list(shown["hand"])
            assert told["phase"] == PHASES[shown["table"]["phase"]]
            assert ("hands" in told) == bool(shown["open"])
            if rules.deck == "logic" or told["phase"] == "over" or not mask.any() or rules.row_capacity < 5:
                continue
            laid = table_view(**{key: told[key] for key in keys if key in told})
            again = read_view(laid)
            assert {key: again[key] for key in (*keys, "legal", "phase", "turn") if key in again} == {
                key: told[key] for key in (*keys, "legal", "phase", "turn") if key in told
            }


def test_plays_may_be_any_iterable() -> None:
    assert play_turn([[1, 2, 3, 4, 5]], iter([6])) == play_turn([[1, 2, 3, 4, 5]], [6])
    with pytest.raises(IllegalMove, match=r"give choices=\{0: \{'row': 0\}\}"):
        play_turn([[12], [20]], iter([3]))
    with pytest.raises(IllegalMove, match="rows=5 must be lists of cards"):
        play_turn(5, [6])  # type: ignore[arg-type]
