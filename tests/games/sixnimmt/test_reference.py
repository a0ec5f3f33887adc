"""The reference itself, under random legal play, and where the rules name a limit."""

from __future__ import annotations

import copy
import itertools
import random
from typing import Any

import pytest

from tests.reference import DECKS, FRONT_ACTION, ROW_ACTION, ReferenceGame, RuleError, bull_heads, deck_cards, heads_of

GAMES = 3


def start(game: ReferenceGame, rng: random.Random) -> None:
    """Begin the next round with a random deal, or with the draft."""
    if game.deck == "logic":
        game.start_draft()
        return
    cards = rng.sample(game.cards, game.hand_size * game.num_players + game.num_rows)
    rows = [[cards.pop()] for _ in range(game.num_rows)]
    hands = [cards[seat :: game.num_players] for seat in range(game.num_players)]
    game.start_round(hands, rows)


def step(game: ReferenceGame, rng: random.Random) -> None:
    game.apply({seat: rng.choice(game.legal(seat)) for seat in game.to_act()})
    game.check()


def play_match(game: ReferenceGame, rng: random.Random) -> None:
    game.check()
    while game.phase != "over":
        if game.phase == "round_over":
            start(game, rng)
            game.check()
        step(game, rng)


def some_phase(rng: random.Random, phase: str, **options: Any) -> ReferenceGame:
    """A game that random play has brought to the phase."""
    while True:
        game = ReferenceGame(**options)
        start(game, rng)
        while game.to_act():
            if game.phase == phase:
                return game
            step(game, rng)


@pytest.mark.parametrize("num_players", range(2, 11))
@pytest.mark.parametrize("professional", [False, True])
@pytest.mark.parametrize("deck", DECKS)
def test_random_play_keeps_the_invariants(deck: str, professional: bool, num_players: int) -> None:
    rng = random.Random(f"{deck} {professional} {num_players}")
    for _ in range(GAMES):
        game = ReferenceGame(num_players=num_players, deck=deck, professional=professional, rounds=2)
        play_match(game, rng)
        assert game.rounds_played == 2
        assert not any(game.hands)
        # Everything was dealt, so what was not taken lies on the table.
        if deck != "standard":
            assert sum(game.penalties) + heads_of(itertools.chain(*game.rows)) == heads_of(game.cards)


@pytest.mark.parametrize("professional", [False, True])
def test_random_play_with_small_sizes(professional: bool) -> None:
    rng = random.Random(5)
    for num_rows, row_capacity, hand_size in itertools.product((1, 2, 3), (1, 2, 3), (1, 4)):
        sizes: dict[str, Any] = {
            "num_rows": num_rows,
            "row_capacity": row_capacity,
            "hand_size": hand_size,
            "deck_size": 20,
        }
        play_match(ReferenceGame(num_players=3, professional=professional, rounds=2, **sizes), rng)
        sizes["deck_size"] = None
        play_match(ReferenceGame(num_players=3, professional=professional, deck="logic", rounds=4, **sizes), rng)


@pytest.mark.parametrize("exceed_target", [False, True])
def test_a_match_ends_with_the_first_round_that_gets_there(exceed_target: bool) -> None:
    rng = random.Random(3)
    for _ in range(10):
        game = ReferenceGame(num_players=4, rounds=None, target=66, exceed_target=exceed_target)
        limit = 67 if exceed_target else 66
        while game.phase != "over":
            assert max(game.totals) < limit
            before = list(game.totals)
            start(game, rng)
            while game.to_act():
                step(game, rng)
            assert game.totals == [old + new for old, new in zip(before, game.penalties, strict=True)]
        assert max(game.totals) >= limit
        assert [game.totals[seat] for seat in game.winners()] == [min(game.totals)] * len(game.winners())


def test_the_first_picker_goes_round() -> None:
    rng = random.Random(1)
    game = ReferenceGame(num_players=3, deck="logic", rounds=5)
    first = []
    while game.phase != "over":
        game.start_draft()
        first.append(game.to_act())
        while game.to_act():
            step(game, rng)
    assert first == [[0], [1], [2], [0], [1]]


def test_only_the_lowest_card_takes_a_row_of_choice_in_the_standard_game() -> None:
    rng = random.Random(2)
    for _ in range(100):
        game = some_phase(rng, "row", num_players=4)
        assert game.unplaced[0][0] == min(game.revealed.values())
        assert game.legal(game.to_act()[0]) == [ROW_ACTION + index for index in range(4)]


def test_a_tie_offers_one_end_and_one_front() -> None:
    rng = random.Random(2)
    for _ in range(50):
        game = some_phase(rng, "side", num_players=4, professional=True)
        [seat] = game.to_act()
        end, front = game.legal(seat)
        card, _ = game.unplaced[0]
        assert card - game.rows[end - ROW_ACTION][-1] == game.rows[front - FRONT_ACTION][0] - card > 0


@pytest.mark.parametrize("phase", ["draft", "pick", "row", "side"])
def test_whatever_is_not_legal_is_refused_and_changes_nothing(phase: str) -> None:
    deck = "logic" if phase == "draft" else "standard"
    for seed in range(10):
        game = some_phase(random.Random(seed), phase, num_players=3, professional=phase == "side", deck=deck)
        before = copy.deepcopy(vars(game))
        good = {seat: game.legal(seat)[0] for seat in game.to_act()}
        seat = game.to_act()[0]
        attempts: list[dict[int, int]] = [{**good, seat: a} for a in range(-2, 115) if a not in game.legal(seat)]
        idle = next(s for s in range(4) if s not in good)
        attempts += [{}, {**good, idle: good[seat]}, {s: a for s, a in good.items() if s != seat}]
        for attempt in attempts:
            with pytest.raises(RuleError):
                game.apply(attempt)
            assert vars(game) == before
        assert game.legal(idle) == []


def test_nobody_acts_between_rounds_or_after_the_match() -> None:
    rng = random.Random(0)
    game = ReferenceGame(num_players=2)
    assert game.to_act() == game.legal(0) == []
    play_match(game, rng)
    assert game.to_act() == game.legal(0) == []
    with pytest.raises(RuleError):
        game.apply({})
    with pytest.raises(RuleError):
        start(game, rng)


TWENTY = [list(range(1, 11)), list(range(11, 21))]
FOUR = [[21], [22], [23], [24]]


@pytest.mark.parametrize(
    ("hands", "rows", "options"),
    [
        (TWENTY[:1], FOUR, {}),
        ([TWENTY[0], TWENTY[1][:9]], FOUR, {}),
        (TWENTY, FOUR[:3], {}),
        (TWENTY, [[21, 25], [22], [23], [24]], {}),
        (TWENTY, [[20], [22], [23], [24]], {}),
        ([TWENTY[0], TWENTY[0]], FOUR, {}),
        (TWENTY, [[21], [22], [23], [105]], {}),
        (TWENTY, [[21], [22], [23], [25]], {"deck": "tactical"}),
        (TWENTY, FOUR, {"deck": "logic"}),
    ],
)
def test_a_wrong_deal_is_refused_and_changes_nothing(hands: list[list[int]], rows: list[list[int]], options: dict[str, Any]) -> None:
    game = ReferenceGame(num_players=2, **options)
    before = copy.deepcopy(vars(game))
    with pytest.raises(RuleError):
        game.start_round(hands, rows)
    assert vars(game) == before


@pytest.mark.parametrize(
    "options",
    [
        {"num_players": 1},
        {"num_players": 11},
        {"deck": "tactics"},
        {"rounds": None},
        {"deck_size": 23},
        {"deck_size": 105},
        {"deck": "tactical", "deck_size": 25},
        {"num_rows": 5},
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(RuleError):
        ReferenceGame(**{"num_players": 2, **options})


def test_the_box_holds_the_cards_it_should() -> None:
    heads = [bull_heads(card) for card in deck_cards(2, "standard")]
    assert {kind: heads.count(kind) for kind in set(heads)} == {1: 76, 2: 9, 3: 10, 5: 8, 7: 1}
    assert sum(heads) == 171
