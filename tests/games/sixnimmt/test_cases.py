"""Every worked case of the rules, through the reference and through the public functions of the package.

The files under data/ hold the cases; `schema.note` in each explains the fields. Kinds nt_* belong to No Thanks!.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests import reference

Case = dict[str, Any]
Choices = Mapping[int, Mapping[str, Any]]
Rows = list[list[int]]

DATA = Path(__file__).parents[2] / "data"
CASES: list[Case] = [case for name in ("cases.json", "more_cases.json") for case in json.loads((DATA / name).read_text())["cases"]]
OWN_CASES = [case for case in CASES if not case["kind"].startswith("nt_")]
ROUNDS = [case for case in OWN_CASES if case["kind"] == "round"]


@dataclass
class TurnResult:
    """A turn in the shape of the cases; options are row numbers or (row, side)."""

    rows: Rows
    penalties: list[int]
    taken: dict[int, list[int]]
    choices_needed: list[tuple[int, list[Any]]]


class Rules(Protocol):
    """What the cases ask, answered by the reference or by the package."""

    illegal: type[ValueError]

    def bull_heads(self, card: int) -> int: ...

    def deck(self, num_players: int, deck: str) -> list[int]: ...

    def play_turn(self, rows: Rows, plays: list[int], hands: Rows | None, choices: Choices, professional: bool) -> TurnResult: ...

    def match_over(self, totals: list[int], rounds_played: int, rounds: int | None, target: int | None, exceed_target: bool) -> bool: ...

    def winners(self, totals: list[int]) -> list[int]: ...

    def draft_order(self, num_players: int, round_index: int) -> list[int]: ...

    def draft(self, num_players: int, round_index: int, pick: Callable[[list[int]], int]) -> tuple[Rows, Rows]: ...


# The reference


def as_option(phase: str, action: int) -> Any:
    """An action number as the cases write it."""
    if phase == "row":
        return action - reference.ROW_ACTION
    if action < reference.FRONT_ACTION:
        return (action - reference.ROW_ACTION, "end")
    return (action - reference.FRONT_ACTION, "front")


def chosen_action(game: reference.ReferenceGame, choices: Choices) -> int:
    """The action number of the choice due now; choices missing or not offered are refused, as nobody may guess."""
    [seat] = game.to_act()
    if seat not in choices:
        raise reference.RuleError(f"seat {seat} must choose")
    choice = choices[seat]
    wanted = choice["row"] if game.phase == "row" else (choice["row"], choice.get("side"))
    for action in game.legal(seat):
        if as_option(game.phase, action) == wanted:
            return action
    raise reference.RuleError(f"{choice} is not offered")


def run_turn(game: reference.ReferenceGame, plays: Sequence[int], choices: Choices) -> list[tuple[int, list[Any]]]:
    """Play one turn; the choices met on the way, in order."""
    needed: list[tuple[int, list[Any]]] = []
    game.apply({seat: card - 1 for seat, card in enumerate(plays)})
    game.check()
    while game.phase in ("row", "side"):
        [seat] = game.to_act()
        needed.append((seat, [as_option(game.phase, action) for action in game.legal(seat)]))
        game.apply({seat: chosen_action(game, choices)})
        game.check()
    return needed


class ReferenceRules:
    illegal: type[ValueError] = reference.RuleError

    def bull_heads(self, card: int) -> int:
        return reference.bull_heads(card)

    def deck(self, num_players: int, deck: str) -> list[int]:
        return reference.deck_cards(num_players, deck)

    def play_turn(self, rows: Rows, plays: list[int], hands: Rows | None, choices: Choices, professional: bool) -> TurnResult:
        hands = [[card] for card in plays] if hands is None else hands
        game = reference.ReferenceGame.at_position(rows, hands, professional=professional)
        needed = run_turn(game, plays, choices)
        taken = {seat: cards for seat, cards in enumerate(game.taken) if cards}
        return TurnResult(game.rows, game.penalties, taken, needed)

    def match_over(self, totals: list[int], rounds_played: int, rounds: int | None, target: int | None, exceed_target: bool) -> bool:
        return reference.match_over(totals, rounds_played, rounds, target, exceed_target)

    def winners(self, totals: list[int]) -> list[int]:
        return reference.lowest_totals(totals)

    def draft_order(self, num_players: int, round_index: int) -> list[int]:
        return self._drafted(num_players, round_index, min)[1]

    def draft(self, num_players: int, round_index: int, pick: Callable[[list[int]], int]) -> tuple[Rows, Rows]:
        game, _ = self._drafted(num_players, round_index, pick)
        return game.hands, game.rows

    def _drafted(self, num_players: int, round_index: int, pick: Callable[[list[int]], int]) -> tuple[reference.ReferenceGame, list[int]]:
        game = reference.ReferenceGame(num_players=num_players, deck="logic", rounds=round_index + 1)
        game.rounds_played = round_index
        game.start_draft()
        order = []
        while game.phase == "draft":
            [seat] = game.to_act()
            order.append(seat)
            game.apply({seat: pick(game.pool) - 1})
            game.check()
        return game, order


# The package


class PublicRules:
    def __init__(self) -> None:
        # Here and not above, so that the reference can be tested alone.
        from sixnimmt_env.games import sixnimmt

        self._game: Any = sixnimmt
        self.illegal: type[ValueError] = self._game.IllegalMove

    def bull_heads(self, card: int) -> int:
        answer: int = self._game.bull_heads(card)
        return answer

    def deck(self, num_players: int, deck: str) -> list[int]:
        answer: list[int] = self._game.deck(num_players=num_players, deck=deck)
        return answer

    def play_turn(self, rows: Rows, plays: list[int], hands: Rows | None, choices: Choices, professional: bool) -> TurnResult:
        result = self._game.play_turn(rows, plays, hands=hands, choices=choices, professional=professional)
        # Plain Python out: numbers of an array library would not pass here.
        json.dumps([result.rows, result.penalties, result.taken, result.choices_needed])
        needed = [
            (seat, [tuple(option) if isinstance(option, (list, tuple)) else option for option in options])
            for seat, options in result.choices_needed
        ]
        # Whether a player who took nothing is listed is not promised.
        taken = {seat: list(cards) for seat, cards in result.taken.items() if cards}
        return TurnResult([list(row) for row in result.rows], list(result.penalties), taken, needed)

    def match_over(self, totals: list[int], rounds_played: int, rounds: int | None, target: int | None, exceed_target: bool) -> bool:
        over: bool = self._game.match_over(totals, rounds_played, rounds=rounds, target=target, exceed_target=exceed_target)
        return over

    def winners(self, totals: list[int]) -> list[int]:
        answer: list[int] = self._game.winners(totals)
        return answer

    def draft_order(self, num_players: int, round_index: int) -> list[int]:
        return list(self._game.draft_order(num_players, round_index))

    def draft(self, num_players: int, round_index: int, pick: Callable[[list[int]], int]) -> tuple[Rows, Rows]:
        # The public functions say who picks, and from what; the picking itself needs an environment.
        pool = self.deck(num_players, "logic")
        hands: Rows = [[] for _ in range(num_players)]
        for seat in self.draft_order(num_players, round_index):
            card = pick(pool)
            pool.remove(card)
            hands[seat].append(card)
        return [sorted(hand) for hand in hands], [[card] for card in sorted(pool)]


SIDES: dict[str, Callable[[], Rules]] = {"reference": ReferenceRules, "public": PublicRules}


# One check for each kind


def choices_of(entry: Case) -> dict[int, dict[str, Any]]:
    return {int(player): choice for player, choice in entry["choices"].items()}


def is_professional(case: Case) -> bool:
    return bool(case["variant"] == "professional")


def check_bullheads(rules: Rules, case: Case) -> None:
    assert [rules.bull_heads(card) for card in case["cards"]] == case["expected"]


def check_deck(rules: Rules, case: Case) -> None:
    cards = rules.deck(case["players"], case["variant"])
    assert cards == list(range(1, case["max_card"] + 1))
    assert len(cards) == case["deck"]
    assert 10 * case["players"] == case["dealt"]
    assert len(cards) - case["dealt"] - case["rows"] == case["leftover"]
    assert sum(rules.bull_heads(card) for card in cards) == case["heads_total"]


def permuted(case: Case, order: Sequence[int]) -> Case:
    """The same turn with the cards dealt to other seats: seat k plays what seat order[k] played."""
    seat_of = {old: new for new, old in enumerate(order)}
    changed = {
        "plays": [case["plays"][old] for old in order],
        "choices": {str(seat_of[int(old)]): choice for old, choice in case["choices"].items()},
        "choice_needed": [[seat_of[old], options] for old, options in case["choice_needed"]],
        "expected_penalties": [case["expected_penalties"][old] for old in order],
    }
    if "expected_taken" in case:
        changed["expected_taken"] = {str(seat_of[int(old)]): cards for old, cards in case["expected_taken"].items()}
    return {**case, **changed}


def check_turn(rules: Rules, case: Case) -> None:
    orders = [tuple(range(len(case["plays"])))]
    if case.get("permute"):
        orders = list(itertools.permutations(orders[0]))
    for order in orders:
        check_one_turn(rules, permuted(case, order))


def check_one_turn(rules: Rules, case: Case) -> None:
    rows, plays, choices = copy.deepcopy((case["rows"], case["plays"], choices_of(case)))
    result = rules.play_turn(rows, plays, None, choices, is_professional(case))
    assert result.rows == case["expected_rows"]
    assert result.penalties == case["expected_penalties"]
    if "expected_taken" in case:
        assert result.taken == {int(player): cards for player, cards in case["expected_taken"].items()}
    heads = [sum(map(rules.bull_heads, result.taken.get(player, []))) for player in range(len(plays))]
    assert heads == result.penalties
    needed = [
        (player, [tuple(option) if isinstance(option, list) else option for option in options]) for player, options in case["choice_needed"]
    ]
    assert result.choices_needed == needed
    assert (rows, plays, choices) == (case["rows"], case["plays"], choices_of(case)), "what was passed in has changed"


def check_round(rules: Rules, case: Case) -> None:
    rows, hands = copy.deepcopy(case["rows"]), copy.deepcopy(case.get("hands"))
    penalties = [0] * len(case["turns"][0]["plays"])
    for index, turn in enumerate(case["turns"]):
        before = copy.deepcopy((rows, hands, turn))
        result = rules.play_turn(rows, turn["plays"], hands, choices_of(turn), is_professional(case))
        assert (rows, hands, turn) == before, "what was passed in has changed"
        rows = result.rows
        penalties = [old + new for old, new in zip(penalties, result.penalties, strict=True)]
        for player, card in enumerate(turn["plays"]):
            if hands is not None:
                hands[player].remove(card)
        check_target_passed(case, index, penalties)
    assert rows == case["expected_rows"]
    assert penalties == case["expected_penalties"]
    assert (len(case["turns"]) == 10) == case["round_over"]
    assert hands is None or (not any(hands)) == case["round_over"]
    check_conservation(rules, case, rows, penalties)
    check_match_of_round(rules, case, penalties)


def check_target_passed(case: Case, turn: int, penalties: Sequence[int]) -> None:
    """The case is only worth something if a total really gets there in the middle of the round."""
    if "target_passed_in_turn" not in case:
        return
    totals = [before + heads for before, heads in zip(case["totals_before"], penalties, strict=True)]
    target = case["match"]["target"] + (case["match"]["reach"] == "gt")
    assert (max(totals) >= target) == (turn >= case["target_passed_in_turn"])


def check_conservation(rules: Rules, case: Case, rows: Rows, penalties: Sequence[int]) -> None:
    if "conservation" not in case:
        return
    cards = rules.deck(len(penalties), round_deck(case))
    on_board = sum(rules.bull_heads(card) for row in rows for card in row)
    found = {"heads_total": sum(map(rules.bull_heads, cards)), "taken": sum(penalties), "on_board": on_board}
    assert found == case["conservation"]


def check_match_of_round(rules: Rules, case: Case, penalties: Sequence[int]) -> None:
    if "match" not in case:
        return
    totals = [before + heads for before, heads in zip(case["totals_before"], penalties, strict=True)]
    assert totals == case["expected_totals"]
    match = case["match"]
    over = rules.match_over(totals, case["rounds_before"] + 1, match["rounds"], match["target"], match["reach"] == "gt")
    assert over == case["ended"]
    if over:
        assert rules.winners(totals) == case["winners"]


def check_illegal(rules: Rules, case: Case) -> None:
    passed = copy.deepcopy((case["rows"], case["plays"], case["hands"], choices_of(case)))
    before = copy.deepcopy(passed)
    rows, plays, hands, choices = passed
    with pytest.raises(rules.illegal) as caught:
        rules.play_turn(rows, plays, hands, choices, is_professional(case))
    assert isinstance(caught.value, ValueError)
    assert str(caught.value), "the error must say what was wrong"
    assert passed == before, "a refused turn has changed what was passed in"


def check_draft(rules: Rules, case: Case) -> None:
    round_index = case["round_index"] if "round_index" in case else case["first"]
    order = rules.draft_order(case["players"], round_index)
    assert len(order) == case["picks_total"]
    assert order[0] == case["first"]
    prefix = case.get("order_prefix", [])
    assert order[: len(prefix)] == prefix
    assert rules.draft_order(case["players"], round_index + case["players"]) == order
    if "picker" in case:
        pick = {"lowest": min, "highest": max}[case["picker"]]
        hands, rows = rules.draft(case["players"], round_index, pick)
        assert hands == case["expected_hands"]
        assert rows == case["expected_rows"]


def check_match(rules: Rules, case: Case) -> None:
    # A fixed number of rounds switches the target off: it is given all the same, to see that.
    rounds, target = (case["rounds"], 66) if case["mode"] == "rounds" else (None, case["target"])
    exceed = case.get("reach") == "gt"
    if "round_heads" in case:
        totals = [0] * len(case["round_heads"][0])
        ended = []
        for number, heads in enumerate(case["round_heads"], start=1):
            totals = [total + more for total, more in zip(totals, heads, strict=True)]
            ended.append(rules.match_over(totals, number, rounds, target, exceed))
        assert ended == case["ended_after"]
    elif not case["round_over"]:
        # Within a round nobody asks; the cases of kind "round" show that nothing ends there.
        assert not case["ended"]
        return
    else:
        totals = case["totals"]
        assert rules.match_over(totals, case.get("round_no", 1), rounds, target, exceed) == case["ended"]
    if case["winners"] is not None:
        assert rules.winners(totals) == case["winners"]


CHECKS: dict[str, Callable[[Rules, Case], None]] = {
    "bullheads": check_bullheads,
    "deck": check_deck,
    "turn": check_turn,
    "round": check_round,
    "illegal": check_illegal,
    "draft": check_draft,
    "match": check_match,
}

# Fields that only describe; every other field must be read by the check of its kind.
DESCRIPTIVE = {"id", "kind", "origin", "source", "stands_for", "reason"}
FIELDS = {
    "bullheads": "variant cards expected",
    "deck": "variant players deck max_card dealt rows leftover heads_total",
    "turn": "variant rows plays choices choice_needed expected_rows expected_penalties expected_taken permute",
    "round": "variant deck rows hands turns expected_rows expected_penalties round_over conservation totals_before"
    " rounds_before match target_passed_in_turn expected_totals ended winners",
    "illegal": "variant rows hands plays choices",
    "draft": "variant players first round_index order_prefix picks_total picker expected_hands expected_rows",
    "match": "mode target reach rounds round_no totals round_over round_heads ended_after ended winners",
}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("case", OWN_CASES, ids=lambda case: case["id"])
def test_case(case: Case, side: str) -> None:
    assert case["kind"] in CHECKS, f"nothing here knows what a {case['kind']!r} case means"
    CHECKS[case["kind"]](SIDES[side](), case)


@pytest.mark.parametrize("case", OWN_CASES, ids=lambda case: case["id"])
def test_no_field_goes_unread(case: Case) -> None:
    assert set(case) <= DESCRIPTIVE | set(FIELDS[case["kind"]].split())


def test_ids_are_unique() -> None:
    ids = [case["id"] for case in CASES]
    assert len(ids) == len(set(ids))


# The same rounds as one running game of the reference


def round_deck(case: Case) -> str:
    usual = "tactical" if case["variant"] == "tactical" else "standard"
    return str(case.get("deck", usual))


def ten_card_hands(case: Case) -> Rows:
    """The hands of the case, or its plays filled up to ten cards with cards it does not name."""
    given: Rows | None = case.get("hands")
    if given is not None:
        return given
    hands = [list(cards) for cards in zip(*(turn["plays"] for turn in case["turns"]), strict=True)]
    used = {card for group in hands + case["rows"] for card in group}
    spare = [card for card in range(1, 105) if card not in used]
    return [hand + [spare.pop() for _ in range(10 - len(hand))] for hand in hands]


def game_of_round(case: Case) -> reference.ReferenceGame:
    hands, rows = ten_card_hands(case), case["rows"]
    match = case.get("match", {"rounds": 1, "target": None, "reach": "ge"})
    options: dict[str, Any] = {"deck": round_deck(case), "professional": is_professional(case)}
    options |= {"rounds": match["rounds"], "target": match["target"], "exceed_target": match["reach"] == "gt"}
    if max(map(len, rows)) > 1:
        return reference.ReferenceGame.at_position(rows, hands, **options)
    game = reference.ReferenceGame(num_players=len(hands), **options)
    game.totals = list(case.get("totals_before", game.totals))
    game.rounds_played = case.get("rounds_before", 0)
    game.start_round(hands, rows)
    return game


@pytest.mark.parametrize("case", ROUNDS, ids=lambda case: case["id"])
def test_round_as_one_reference_game(case: Case) -> None:
    game = game_of_round(case)
    for turn in case["turns"]:
        assert game.phase == "pick", "the round ended too early"
        run_turn(game, turn["plays"], choices_of(turn))
    assert game.rows == case["expected_rows"]
    assert game.penalties == case["expected_penalties"]
    assert (game.phase in ("round_over", "over")) == case["round_over"]
    if "match" in case:
        assert game.totals == case["expected_totals"]
        assert game.phase == ("over" if case["ended"] else "round_over")
        assert not case["ended"] or game.winners() == case["winners"]
