"""The rule-based players: what each says it does, on positions made by hand, and that all of them always answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sixnimmt_env.games.sixnimmt import GAME, Rules, table_view
from sixnimmt_env.games.sixnimmt.state import ACTION_FRONT, ACTION_ROW, ACTION_WAIT, DRAFT, PICK, ROW, SIDE
from tests.games.sixnimmt.playing import KINDS, SMALL, VARIANTS, all_views, in_phase, legal_masks, name_of, seats_to_act, views_of, walk

NAMES = list(GAME.heuristics)
DICE = ["random", "uniform"]
FIXED = [name for name in NAMES if name not in DICE]


def decide(name: str, views: NDArray[np.void], seed: int = 0) -> NDArray[np.int64]:
    actions = np.full(len(views), -1, dtype=np.int64)
    GAME.act(views, GAME.heuristics[name].kind, np.uint64(seed), actions)
    return actions


# --- what each says it does --------------------------------------------------------------------------------------------

# Heads of the rows: 2, 1, 13 (full), 1.
ROWS = [[3, 12], [37], [55, 57, 58, 60, 61], [98]]
FULL_20 = [12, 13, 14, 16, 20]  # 1 1 1 1 3 heads
FULL_24 = [24, 25, 26, 27, 28]  # 1 2 1 1 1 heads

PICKS: list[tuple[str, list[int], dict[str, Any], int]] = [
    ("lowest", [62, 40, 99], {}, 40),
    ("highest", [62, 40, 99], {}, 99),
    ("lowest", [1, 62], {}, 1),
    ("highest", [1, 2], {}, 2),
    # The nearest, whatever it costs; a card without a row last; of equals the lowest.
    ("closest", [15, 40, 62], {}, 62),
    ("closest", [1, 97], {}, 97),
    ("closest", [1, 2], {}, 1),
    ("closest", [14, 39], {}, 14),
    ("closest", [16, 39], {}, 39),
    # With professional also below the front of a row.
    ("closest", [36, 40], {"professional": True}, 36),
    ("closest", [35, 38], {"professional": True}, 38),
    ("closest", [95, 65], {"professional": True}, 95),
    # 62 surely takes 13 heads; 38 surely nothing, as nothing fits between; 103 may.
    ("greedy", [38, 62], {}, 38),
    ("greedy", [62, 103], {}, 103),
    # Without a card in between both are safe: the closest, then the lowest.
    ("greedy", [14, 38], {"seen": [13]}, 38),
    ("greedy", [13, 38], {}, 13),
    # A card without a row costs one head here, or less if another may have a lower one.
    ("greedy", [1, 62], {}, 1),
    ("greedy", [1, 2, 62], {}, 1),
    ("greedy", [1, 11, 62], {}, 11),
    # One sure head against thirteen if nobody has the one card between.
    ("greedy", [2, 63], {"seen": [1]}, 2),
    # Professional: into the front of a full row costs at once, into one with room nothing.
    ("greedy", [54, 36], {"professional": True}, 36),
    ("greedy", [54, 104], {"professional": True, "rows": [[55, 57, 58, 60, 61], [62], [63], [66]]}, 104),
]


@pytest.mark.parametrize(("name", "hand", "options", "card"), PICKS)
def test_the_card_it_picks(name: str, hand: list[int], options: dict[str, Any], card: int) -> None:
    view = table_view(hand, options.get("rows", ROWS), **{key: value for key, value in options.items() if key != "rows"})
    for seed in range(5):
        assert decide(name, np.array([view]), seed).tolist() == [card - 1]


ROW_CHOICES = [
    ([[12], [37], [55], [98]], 0),
    ([[20], [37], [55], [98]], 1),
    ([[20], [35], [55], [98]], 3),
    ([[20, 21], [55], [44], [60, 61, 62]], 0),
    ([[30, 31, 32], [44], [50, 53], [59]], 3),
    ([[10], [55, 56], [33]], 0),
]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "uniform"])
@pytest.mark.parametrize(("rows", "row"), ROW_CHOICES)
def test_it_takes_the_cheapest_row(name: str, rows: list[list[int]], row: int) -> None:
    view = table_view([70], rows, revealed={0: 5, 1: 90, 2: 91, 3: 92})
    for seed in range(5):
        assert decide(name, np.array([view]), seed).tolist() == [ACTION_ROW + row]


SIDE_CHOICES = [
    ([[20], [24]], ACTION_ROW),
    ([[24], [20]], ACTION_ROW + 1),
    ([FULL_20, [24]], ACTION_FRONT + 1),
    ([[20], FULL_24], ACTION_ROW),
    ([[24], FULL_20], ACTION_FRONT),
    ([FULL_20, FULL_24], ACTION_FRONT + 1),  # 7 heads against 6
    ([[16, 17, 18, 19, 20], [24, 25, 26, 27, 29]], ACTION_FRONT + 1),  # 7 against 6
    ([[15, 17, 18, 19, 20], [24, 25, 26, 27, 30]], ACTION_ROW),  # 8 against 8
]


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize(("rows", "action"), SIDE_CHOICES)
def test_it_lays_at_the_cheaper_side(name: str, rows: list[list[int]], action: int) -> None:
    view = table_view([70], [*rows, [1]], num_players=2, professional=True, revealed={0: 22, 1: 90})
    assert decide(name, np.array([view])).tolist() == [action]


@pytest.mark.parametrize("name", FIXED)
def test_it_drafts_an_extreme_card(name: str) -> None:
    for states in walk(Rules(num_players=3, deck="logic"), 4, seed=0):
        drafting = states[states["table"]["phase"] == DRAFT]
        if not len(drafting):
            return
        views = all_views(drafting)
        views = views[views["deciding"] == 1]
        masks = legal_masks(views)
        extreme = masks.argmax(axis=1) if name == "lowest" else masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1)
        assert (decide(name, views) == extreme).all()


# --- all of them -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [*VARIANTS, *SMALL], ids=name_of)
def test_answers_are_legal(rules: Rules) -> None:
    for states in walk(rules, 3, seed=1):
        views = all_views(states)
        masks = legal_masks(views)
        masks[:, ACTION_WAIT] = views["deciding"] == 0
        for name in NAMES:
            actions = decide(name, views, seed=7)
            assert masks[np.arange(len(views)), actions].all(), name


@pytest.mark.parametrize("name", NAMES)
def test_the_same_view_gets_the_same_answer(name: str) -> None:
    """In any batch, at any place of it, beside whatever else."""
    for deck, professional in KINDS:
        states = np.concatenate([in_phase(phase, 6, Rules(deck=deck, professional=professional)) for phase in (PICK, ROW)])
        views = all_views(states)
        answers = decide(name, views, seed=3)
        order = np.random.default_rng(0).permutation(len(views))
        assert (decide(name, views[order], seed=3) == answers[order]).all()
        assert [int(decide(name, views[k : k + 1], seed=3)[0]) for k in range(len(views))] == answers.tolist()
        assert (decide(name, np.repeat(views, 3), seed=3) == np.repeat(answers, 3)).all()


@pytest.mark.parametrize("name", NAMES)
def test_only_players_with_dice_heed_the_seed(name: str) -> None:
    views = all_views(in_phase(PICK, 30, Rules()))
    answers = {decide(name, views, seed).tobytes() for seed in range(20)}
    assert len(answers) == (20 if name in DICE else 1)


# --- what "greedy" expects ---------------------------------------------------------------------------------------------


def expected(views: NDArray[np.void]) -> NDArray[np.float64]:
    costs = np.full((len(views), GAME.num_actions), np.nan)
    GAME.expect(views, costs)
    return costs


# Heads of ROWS: 2, 1, 13 (full), 1. Beside their nine cards and an own one there are 94.
EXPECTED: list[tuple[dict[str, Any], dict[int, float]]] = [
    ({"hand": [62]}, {62: 13.0}),
    ({"hand": [38]}, {38: 0.0}),
    ({"hand": [1]}, {1: 1.0}),
    ({"hand": [2]}, {2: (93 / 94) ** 3}),  # 1 may come before it
    ({"hand": [63, 38]}, {63: 13 * (92 / 93) ** 3, 38: 0.0}),  # 62 may
    ({"hand": [], "revealed": {0: 2, 1: 99, 2: 100, 3: 101}}, {105: 2.0, 106: 1.0, 107: 13.0, 108: 1.0}),
    ({"hand": [], "rows": [[50], [60, 61, 62, 63, 64], [30], [20]], "revealed": {0: 55, 1: 104}, "num_players": 2, "professional": True},
     {105: 0.0, 110: 3 + 4.0}),
]  # fmt: skip


@pytest.mark.parametrize(("table", "costs"), EXPECTED)
def test_what_greedy_expects(table: dict[str, Any], costs: dict[int, float]) -> None:
    """By card or, from 105 on, action + 1."""
    views = np.array([table_view(**{"rows": ROWS, **table})])
    found = expected(views)[0]
    assert np.flatnonzero(np.isfinite(found)).tolist() == sorted(number - 1 for number in costs)
    for number, cost in costs.items():
        assert found[number - 1] == pytest.approx(cost)


@pytest.mark.parametrize("rules", [*VARIANTS, *SMALL], ids=name_of)
def test_greedy_takes_what_it_expects_least_of(rules: Rules) -> None:
    for states in walk(rules, 1, seed=8):
        views = all_views(states)
        due = views["deciding"] == 1
        costs, actions = expected(views), decide("greedy", views)
        assert (np.isfinite(costs) == legal_masks(views)).all()
        rows = np.flatnonzero(due)
        assert (costs[rows, actions[rows]] <= costs[rows].min(axis=1) + 1e-9).all()
        drafting = views["table"]["phase"] == DRAFT
        assert not costs[drafting][np.isfinite(costs[drafting])].any()


def test_costs_are_written_where_there_is_room() -> None:
    views = all_views(in_phase(PICK, 1, Rules()))
    for shape in ((len(views), GAME.num_actions - 1), (len(views) + 1, GAME.num_actions)):
        with pytest.raises(ValueError, match=r"costs must be \(k, 113\), k being the number of views"):
            GAME.expect(views, np.zeros(shape))


# --- dice --------------------------------------------------------------------------------------------------------------


def check_even(counts: NDArray[np.int64]) -> None:
    """Chi-square, five standard deviations."""
    expected = counts.sum() / len(counts)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    assert statistic < len(counts) - 1 + 5 * np.sqrt(2 * (len(counts) - 1)), counts


DICE_ROLLED = [(name, phase) for name in DICE for phase in (DRAFT, PICK, ROW, SIDE) if (name, phase) != ("random", ROW)]


@pytest.mark.parametrize(("name", "phase"), DICE_ROLLED)
def test_every_option_comes_equally_often_over_seeds(name: str, phase: int) -> None:
    rules = Rules(deck="logic" if phase == DRAFT else "standard", professional=phase == SIDE)
    states = in_phase(phase, 3, rules)
    for game, acting in enumerate(seats_to_act(states)):
        view = views_of(states, [game], [np.argmax(acting)])
        options = np.flatnonzero(legal_masks(view)[0])
        answers = [int(decide(name, view, seed)[0]) for seed in range(100 * len(options))]
        counts = np.bincount(answers, minlength=options[-1] + 1)[options]
        assert counts.sum() == len(answers)
        assert counts.min() > 0
        check_even(counts)


@pytest.mark.parametrize("name", DICE)
def test_every_option_comes_equally_often_over_views(name: str) -> None:
    """With one seed: the place of the card in the hand, for every seat of many games at once."""
    rules = Rules(num_players=5)
    views = all_views(next(walk(rules, 1_000, seed=2)))
    places = legal_masks(views).cumsum(axis=1)[np.arange(len(views)), decide(name, views, seed=1)]
    check_even(np.bincount(places, minlength=11)[1:])
    # Two neighbours at the table do not roll alike.
    pairs = places.reshape(-1, 5)[:, :2] - 1
    check_even(np.bincount(pairs[:, 0] * 10 + pairs[:, 1], minlength=100))


def test_dice_of_views_are_even_and_follow_from_seed_and_view() -> None:
    views = all_views(next(walk(Rules(num_players=5), 1_000, seed=2)))
    numbers, again, other = (np.full(len(views), np.nan) for _ in range(3))
    order = np.random.default_rng(0).permutation(len(views))
    GAME.dice(views, np.uint64(7), numbers)
    GAME.dice(views[order], np.uint64(7), again)
    GAME.dice(views, np.uint64(8), other)
    assert (again == numbers[order]).all()
    assert (numbers >= 0).all()
    assert (numbers < 1).all()
    for dice in (numbers, (numbers + other) % 1, (numbers - other) % 1):  # and those of two seeds are independent
        check_even(np.bincount((dice * 20).astype(np.int64), minlength=20))
    with pytest.raises(ValueError, match="numbers must be as long as views"):
        GAME.dice(views, np.uint64(7), numbers[1:])
