"""The model of what others lay: its numbers on positions made by hand, its weights as plain NumPy finds them, and what they follow from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sixnimmt_env.core.cards import to_list
from sixnimmt_env.games.sixnimmt import GAME, Rules, plausible, table_view
from sixnimmt_env.games.sixnimmt.features import NOTES, take_notes
from sixnimmt_env.games.sixnimmt.plausible_weights import BIAS, HIDDEN, OUT
from sixnimmt_env.games.sixnimmt.state import PICK
from tests.games.sixnimmt.playing import SMALL, VARIANTS, in_phase, name_of, seats_to_act, views_of, walk

LEAST, MOST = -1.0, 4.0  # of what `describe` writes, as it says


def weights_of(view: Any, sharpness: float = 1.0) -> NDArray[np.float64]:
    """(105,)"""
    notes, weights = np.zeros(1, NOTES), np.full(105, np.nan)
    plausible.weigh(view, notes[0], sharpness, weights)
    return weights


def described(view: Any, card: int) -> NDArray[np.float64]:
    """(20,)"""
    notes, numbers = np.zeros(1, NOTES), np.full(plausible.NUM_NUMBERS, np.nan)
    take_notes(view, notes[0])
    plausible.describe(view, notes[0], card, numbers)
    return numbers


def picking(rules: Rules, seed: int) -> list[Any]:
    """What seats see that pick, all through a game."""
    found: list[Any] = []
    for states in walk(rules, 1, seed):
        due = seats_to_act(states) & (states["table"]["phase"] == PICK)[:, None]
        found += list(views_of(states, *np.nonzero(due))[:2])
    return found


def others_may_hold(view: Any) -> set[int]:
    known = {*to_list(view["hand"]), *to_list(view["table"]["seen"])}
    if view["open"]:
        seats = range(int(view["table"]["num_players"]))
        return {card for seat in seats if seat != view["seat"] for card in to_list(view["hands"][seat])}
    return set(range(1, int(view["table"]["highest_card"]) + 1)) - known


@pytest.mark.parametrize("rules", [*VARIANTS, *SMALL], ids=name_of)
def test_weights_are_positive_numbers_for_what_others_may_hold_and_0_for_all_else(rules: Rules) -> None:
    for view in picking(rules, seed=2):
        for sharpness in (0.0, 1.0, 10.0):
            weights = weights_of(view, sharpness)
            assert np.isfinite(weights).all()
            assert set(np.flatnonzero(weights).tolist()) == others_may_hold(view)
            assert (weights >= 0).all()
            if not sharpness:
                assert set(weights.tolist()) <= {0.0, 1.0}


@pytest.mark.parametrize("rules", VARIANTS, ids=name_of)
def test_what_describes_a_card_is_in_the_range_that_the_net_was_made_for(rules: Rules) -> None:
    least, most = 0.0, 0.0
    for view in picking(rules, seed=5):
        for card in others_may_hold(view):
            numbers = described(view, card)
            assert np.isfinite(numbers).all()
            least, most = min(least, numbers.min()), max(most, numbers.max())
    assert LEAST <= least <= most <= MOST


@pytest.mark.parametrize("rules", [*VARIANTS[::3], *SMALL[::2]], ids=name_of)
def test_weights_are_those_of_the_net(rules: Rules) -> None:
    for view in picking(rules, seed=3)[::5]:
        weights = weights_of(view)
        for card in others_may_hold(view):
            hidden = np.maximum(HIDDEN @ described(view, card) + BIAS, 0.0)
            assert weights[card] == pytest.approx(np.exp(OUT @ hidden), rel=1e-9)


def test_sharpness_is_a_power() -> None:
    [view] = picking(Rules(), seed=4)[:1]
    once = weights_of(view)
    possible = once > 0
    for sharpness in (0.3, 2.0):
        assert weights_of(view, sharpness)[possible] == pytest.approx(once[possible] ** sharpness)
    assert once[possible].max() / once[possible].min() > 10  # else this says little


# card, which number, its value; 104 cards less nine in the rows and two in the hand are 93 unseen ones
ROWS = [[3, 12], [37], [55, 57, 58, 60, 61], [98]]
HAND = [50, 99]
NUMBERS: list[tuple[int, int, float]] = [
    (38, plausible.HOMELESS, 0.0),
    (38, plausible.NOBODY_BEFORE, 1.0),
    (38, plausible.GAP, 0.1),
    (38, plausible.ROOM, 4 / 5),
    (38, plausible.COST, 0.0),
    (38, plausible.SIXTH, 0.0),
    (38, plausible.FEWER, 1.0),
    (38, plausible.CARD, 38 / 104),
    (38, plausible.CARD_HEADS, 1 / 7),
    (38, plausible.CARDS_LEFT, 2 / 10),
    (38, plausible.CHEAPEST, 1 / 10),
    (38, plausible.OTHERS, 3 / 9),
    (38, plausible.ROW_HEADS, 1 / 10),
    (38, plausible.RANK, 2 / 4),
    (38, plausible.HAS_ABOVE, 1.0),
    (38, plausible.ROOM_ABOVE, 0.0),
    (38, plausible.HEADS_ABOVE, 13 / 10),
    (62, plausible.FULL, 1.0),
    (62, plausible.ROOM, 0.0),
    (62, plausible.SIXTH, 1.0),
    (62, plausible.FEWER, 0.0),
    (62, plausible.COST, 13 / 5),
    (62, plausible.HEADS_ABOVE, 1 / 10),
    (1, plausible.HOMELESS, 1.0),
    (1, plausible.COST, 1 / 5),
    (1, plausible.ROW_HEADS, 1 / 10),
    (1, plausible.GAP, 0.0),
    (1, plausible.RANK, 0.0),
    (1, plausible.HEADS_ABOVE, 2 / 10),
    (104, plausible.HAS_ABOVE, 0.0),
    (104, plausible.HEADS_ABOVE, 0.0),
    (104, plausible.RANK, 1.0),
    (104, plausible.ARRIVALS, 3 * 4 / 93 / 3),  # 100 to 103 of the 93 cards that are neither in a row nor in the hand
    (13, plausible.ARRIVALS_ABOVE, 3 * 23 / 93 / 3),  # 14 to 36
]


@pytest.mark.parametrize(("card", "number", "value"), NUMBERS)
def test_numbers_on_a_position_made_by_hand(card: int, number: int, value: float) -> None:
    view = table_view(HAND, ROWS, hand_size=2)
    assert described(view, card)[number] == pytest.approx(value)


def test_sensible_cards_are_likelier() -> None:
    """The card nearest to a row with room before one that takes thirteen heads, and before one that leaves a gap of sixty to others."""
    weights = weights_of(table_view(HAND, [[3, 12], [37], [55, 57, 58, 60, 61], [98]], seen=[13]))
    assert weights[38] > 3 * weights[62]
    assert weights[14] > weights[62]
    crowded = weights_of(table_view(HAND, [[1], [2], [3], [20, 21, 22, 23]]))
    assert crowded[24] > crowded[88]


def test_hands_are_described_card_by_card() -> None:
    states = in_phase(PICK, 12, Rules(num_players=3), seed=1)
    index, seats = np.arange(12), np.arange(12) % 3
    views = views_of(states, index, (seats + 1) % 3)
    hands = np.ascontiguousarray(states["hands"][index, seats])
    numbers = np.zeros((12, 10, plausible.NUM_NUMBERS))
    plausible.describe_hands(views, hands, numbers)
    for k in range(12):
        held = to_list(hands[k])
        for slot in range(10):
            expected = described(views[k], held[slot]) if slot < len(held) else np.zeros(plausible.NUM_NUMBERS)
            assert numbers[k, slot].tolist() == expected.tolist()


def test_weights_do_not_depend_on_what_is_hidden() -> None:
    for states in walk(Rules(num_players=3), 1, seed=6):
        if not (states["table"]["phase"] == PICK).all():
            continue
        other = states.copy()
        GAME.disguise(other, np.arange(1), np.zeros(1, dtype=np.int64), np.array([99], dtype=np.uint64))
        first, second = (weights_of(views_of(records, [0], [0])[0]) for records in (states, other))
        assert (first == second).all()
