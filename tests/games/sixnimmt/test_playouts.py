"""Playouts and the search of 6 nimmt!: exact values of tiny games, the plain engine, and the two ways of playing out against each other."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sixnimmt_env.core.cards import to_list
from sixnimmt_env.games.sixnimmt import GAME, Rules, table_view
from sixnimmt_env.games.sixnimmt.features import NOTES
from sixnimmt_env.games.sixnimmt.plausible import weigh
from sixnimmt_env.games.sixnimmt.playouts import COUNT, DECK, HEADS_SUM, SQUARES, TO_ROW, TOOK, by_players, draw, set_deck
from sixnimmt_env.games.sixnimmt.state import ACTION_ROW, DRAFT, NUM_ACTIONS, PICK, ROW, SIDE, STATE
from sixnimmt_env.games.sixnimmt.view import VIEW, reveal, reveal_all
from tests import reference
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
    walk,
    walk_all_phases,
)

RANDOM, GREEDY = GAME.heuristics["random"].kind, GAME.heuristics["greedy"].kind
SIZE = len(GAME.stats)


def playouts(views: NDArray[np.void], count: int, kind: int = RANDOM, seed: int = 0, first: int = 0) -> NDArray[np.float64]:
    stats = np.zeros((len(views), NUM_ACTIONS, SIZE))
    GAME.playouts(views, first, count, kind, 0.0, np.uint64(seed), stats)
    return stats


def searched(views: NDArray[np.void], rollouts: int, sharpness: float = 1.0, seed: int = 0) -> NDArray[np.float64]:
    stats = np.zeros((len(views), NUM_ACTIONS, SIZE))
    GAME.playouts(views, 0, rollouts, RANDOM, sharpness, np.uint64(seed), stats)
    return stats


def deciding(states: NDArray[np.void], show: Any = reveal) -> NDArray[np.void]:
    """What the seats that decide may know; with `reveal_all` and all hands open, as a spectator sees it."""
    return views_of(states, *np.nonzero(seats_to_act(states)), reveal=show)


def some_views(count: int = 2) -> NDArray[np.void]:
    """Of every variant and phase, with hidden and with open hands."""
    found = []
    for deck, professional in KINDS:
        rules = Rules(num_players=3, deck=deck, professional=professional)
        for phase in (PICK, ROW, SIDE, DRAFT):
            if (phase != SIDE or professional) and (phase != DRAFT or deck == "logic"):
                states = in_phase(phase, count, rules, seed=1)
                found += [deciding(states)[:count], deciding(states, reveal_all)[:count]]
    return np.concatenate(found)


# --- against exact values ----------------------------------------------------------------------------------------------


def play_out(rows: list[list[int]], orders: list[list[int]]) -> int:
    """Heads of player 0 when player p lays the cards `orders[p]` in that order and takes the cheapest row where he has to choose."""
    rows, paid = [list(row) for row in rows], 0
    for cards in zip(*orders, strict=True):
        for card in sorted(cards):
            spots = reference.standard_spots(rows, card)
            row = spots[0][0] if spots else min(range(len(rows)), key=lambda r: reference.heads_of(rows[r]))
            if spots and len(rows[row]) < 5:
                rows[row].append(card)
                continue
            paid += reference.heads_of(rows[row]) if card == cards[0] else 0
            rows[row] = [card]
    return paid


# hand, rows, cards seen that lie nowhere any more; two players, everything else is unseen
TINY: list[tuple[list[int], list[list[int]], list[int]]] = [
    ([5, 60], [[10, 11, 12, 13, 14], [55, 56, 57, 58, 59]], [card for card in range(1, 105) if card not in (5, 60, 1, 15, 61, 62)]),
    ([15, 22], [[14], [20, 21]], [card for card in range(1, 105) if card not in (15, 22, 2, 16, 23)]),
    ([3, 30, 70], [[4, 5, 6, 7, 8], [28, 29], [66, 67, 68, 69]], [card for card in range(1, 105) if card not in (3, 30, 70, 1, 9, 31, 71)]),
]


@pytest.mark.parametrize(("hand", "rows", "gone"), TINY)
def test_means_are_those_of_all_deals_and_orders(hand: list[int], rows: list[list[int]], gone: list[int]) -> None:
    lying = [card for row in rows for card in row]
    view = np.array([table_view(hand, rows, num_players=2, seen=[card for card in gone if card not in lying])])
    unseen = [card for card in range(1, 105) if card not in (*hand, *gone)]
    stats = playouts(view, 4000)[0]
    for card in hand:
        own = [[card, *rest] for rest in itertools.permutations([other for other in hand if other != card])]
        costs = [play_out(rows, [mine, list(theirs)]) for mine in own for theirs in itertools.permutations(unseen, len(hand))]
        count, total, squares = stats[card - 1, [COUNT, HEADS_SUM, SQUARES]]
        assert count == 4000
        assert abs(total / count - np.mean(costs)) <= 4.5 * np.std(costs) / np.sqrt(count)
        if not np.std(costs):
            assert squares * count == total**2


# --- against the players, one by one -----------------------------------------------------------------------------------


def by_each(view: NDArray[np.void], count: int, seed: int) -> NDArray[np.float64]:
    """`playouts` at random as the players do it, who look at what each seat may know."""
    stats = np.zeros((NUM_ACTIONS, SIZE))
    mask = legal_masks(view)[0].astype(np.int8)
    state, shown, notes = np.zeros(1, STATE), np.zeros(1, VIEW), np.zeros(1, NOTES)
    by_players(view[0], mask, 0, count, RANDOM, np.uint64(seed), state[0], shown[0], notes[0], stats)
    return stats


def means(stats: NDArray[np.float64], column: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean of each action and its variance; all columns but the costs are chances."""
    count = stats[..., COUNT]
    mean = stats[..., column] / count
    squares = stats[..., SQUARES] / count if column == HEADS_SUM else mean
    return mean, (squares - mean**2) / (count - 1)


def test_both_ways_of_playing_out_at_random_agree() -> None:
    views = some_views(3)
    views = views[views["table"]["phase"] != DRAFT]
    deviations = []
    for k in range(len(views)):
        legal = legal_masks(views[k : k + 1])[0]
        quick, slow = playouts(views[k : k + 1], 600, seed=1)[0][legal], by_each(views[k : k + 1], 600, seed=2)[legal]
        assert (quick[:, COUNT] == 600).all()
        assert (slow[:, COUNT] == 600).all()
        for column in (HEADS_SUM, TOOK, TO_ROW, TO_ROW + 1):
            (a, va), (b, vb) = means(quick, column), means(slow, column)
            spread = np.sqrt(va + vb)
            assert (np.abs(a - b)[spread == 0] <= 1e-9).all()
            deviations += ((a - b)[spread > 0] / spread[spread > 0]).tolist()
    assert np.abs(deviations).max() < 5.0
    assert abs(float(np.mean(deviations))) < 0.2


# --- what is drawn -----------------------------------------------------------------------------------------------------


def drawn(view: NDArray[np.void], word: int, sharpness: float | None = None) -> NDArray[np.int64]:
    """(turns, players - 1): what the others lay, turn by turn, by seat."""
    decks, notes = np.zeros(1, DECK), np.zeros(1, NOTES)
    set_deck(view[0], decks[0])
    if sharpness is not None:
        weigh(view[0], notes[0], sharpness, decks[0]["weights"])
        decks[0]["weighted"] = 1
    draw(view[0], decks[0], np.uint64(word))
    others = int(view["table"]["num_players"][0]) - 1
    keys = decks[0]["keys"][: decks[0]["turns"], :others]
    assert (np.diff(keys, axis=1) > 0).all()
    cards: NDArray[np.int64] = np.take_along_axis(keys >> 4, np.argsort(keys & 15, axis=1), axis=1)
    return cards


@pytest.mark.parametrize("rules", VARIANTS, ids=name_of)
def test_the_others_lay_cards_that_they_may_hold(rules: Rules) -> None:
    for states in walk(rules, 1, seed=4):
        views = deciding(states)
        views = views[views["table"]["phase"] != DRAFT][:1]
        for word, sharpness in ((1, None), (2, 1.0)):
            if not len(views):
                continue
            seats = [seat for seat in range(rules.num_players) if seat != views["seat"][0]]
            cards = drawn(views, word, sharpness)
            known = {*to_list(views["hand"][0]), *to_list(views["table"]["seen"][0])}
            assert len(set(cards.ravel().tolist())) == cards.size
            assert not known & set(cards.ravel().tolist())
            assert cards.max(initial=0) <= rules.highest_card
            if views["open"][0]:
                assert [sorted(column) for column in cards.T.tolist()] == [to_list(views["hands"][0, seat]) for seat in seats]


def test_every_unseen_card_comes_equally_often() -> None:
    view = all_views(next(walk(Rules(), 1, seed=0)))[:1]
    counts = np.zeros((10, 105))
    for word in range(2000):
        for turn, cards in enumerate(drawn(view, word * 7919)):
            counts[turn, cards] += 1
    possible = counts.sum(axis=0) > 0
    assert possible.sum() == 104 - 10 - 4
    expected = counts.sum(axis=1, keepdims=True) / possible.sum()
    statistic = ((counts[:, possible] - expected) ** 2 / expected).sum()
    freedom = 10 * (possible.sum() - 1)
    assert abs(statistic - freedom) < 5 * np.sqrt(2 * freedom)


def test_plausible_cards_come_first_as_often_as_their_weights_say() -> None:
    """In logic, where the hands are known."""
    view = deciding(in_phase(PICK, 1, Rules(num_players=2, deck="logic"), seed=3))[:1]
    notes, weights = np.zeros(1, NOTES), np.zeros(105)
    weigh(view[0], notes[0], 1.0, weights)
    theirs = to_list(view["hands"][0, 1 - view["seat"][0]])
    chances = weights[theirs] / weights[theirs].sum()
    first = np.array([drawn(view, word, 1.0)[0, 0] for word in range(4000)])
    observed = np.array([(first == card).mean() for card in theirs])
    assert (np.abs(observed - chances) <= 5 * np.sqrt(chances * (1 - chances) / 4000) + 1e-9).all()
    assert chances.max() > 0.2  # else this says little


# --- both -------------------------------------------------------------------------------------------------------------

TRIED: list[tuple[str, Callable[[NDArray[np.void]], NDArray[np.float64]]]] = [
    ("random", lambda views: playouts(views, 7, seed=3)),
    ("greedy", lambda views: playouts(views, 3, GREEDY, seed=3)),
    ("search", lambda views: searched(views, 7, seed=3)),
]


@pytest.mark.parametrize(("name", "tried"), TRIED, ids=[name for name, _ in TRIED])
def test_statistics_follow_from_seed_and_view_alone(name: str, tried: Any) -> None:
    views = some_views()
    before = views.tobytes()
    stats = tried(views)
    order = np.random.default_rng(0).permutation(len(views))
    assert (tried(np.ascontiguousarray(views[order])) == stats[order]).all()
    assert (np.concatenate([tried(views[k : k + 1]) for k in range(len(views))]) == stats).all()
    assert views.tobytes() == before


@pytest.mark.parametrize("kind", [RANDOM, GREEDY])
def test_many_calls_give_what_one_gives(kind: int) -> None:
    views = some_views()
    whole = playouts(views, 7, kind)
    assert (whole == playouts(views, 2, kind) + playouts(views, 4, kind, first=2) + playouts(views, 1, kind, first=6)).all()
    assert (whole != playouts(views, 7, kind, seed=1)).any()


@pytest.mark.parametrize("rules", [*VARIANTS, *SMALL], ids=name_of)
def test_every_legal_action_is_tried_and_no_other(rules: Rules) -> None:
    for states in walk_all_phases(rules, 1, seed=5):
        views = all_views(states)
        legal = legal_masks(views)
        flat, best = playouts(views, 2), searched(views, 4)
        assert (flat[:, :, COUNT] == 2 * legal).all()
        assert (best[:, :, COUNT] == 4 * legal).all()
        drafting = (views["table"]["phase"] == DRAFT)[:, None]
        for stats in (flat, best):
            went = stats[:, :, TO_ROW:].sum(axis=2)
            assert (went == np.where(drafting, 0, stats[:, :, COUNT])).all()
            assert (stats[:, :, TOOK] <= went).all()
            assert (stats[:, :, SQUARES] >= stats[:, :, HEADS_SUM]).all()


def test_a_row_that_is_taken_costs_its_heads_at_least() -> None:
    view = table_view([70], [[20, 21], [55], [44], [60, 61, 62]], num_players=2, revealed={0: 5, 1: 90})
    for stats in (playouts(np.array([view]), 50)[0], searched(np.array([view]), 50)[0]):
        for row, heads in enumerate([4, 7, 5, 5]):
            count, total = stats[ACTION_ROW + row, [COUNT, HEADS_SUM]]
            assert total >= heads * count
            assert stats[ACTION_ROW + row, TOOK] == stats[ACTION_ROW + row, TO_ROW + row] == count


# --- the search's own -------------------------------------------------------------------------------------------------


def test_without_sharpness_it_is_flat() -> None:
    views = some_views()
    flat, plain, sharp = playouts(views, 9, seed=4), searched(views, 9, 0.0, seed=4), searched(views, 9, 1.0, seed=4)
    assert (plain == flat).all()
    same = (sharp == flat).all(axis=(1, 2))
    picking = views["table"]["phase"] == PICK
    assert same[~picking].all()  # nothing is left for the others to decide in this turn
    assert not same[picking].all()


def test_the_sharper_it_is_the_oftener_likely_cards_come() -> None:
    """64 and 65, likelier than most as they are near to a row with room, come before 66, which then takes that row."""
    view = np.array([table_view([66, 2], [[10], [30], [50], [60, 61, 62, 63]], num_players=5, hand_size=2)])
    took = [searched(view, 3000, sharpness)[0, 65, TOOK] for sharpness in (0.0, 1.0, 3.0)]
    assert took[0] + 60 < took[1]
    assert took[1] + 30 < took[2]


def test_shapes_are_checked() -> None:
    views = some_views()[:2]
    with pytest.raises(ValueError, match="stats must be"):
        GAME.playouts(views, 0, 1, RANDOM, 0.0, np.uint64(0), np.zeros((1, NUM_ACTIONS, SIZE)))
