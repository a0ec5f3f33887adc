"""What must hold whatever is played: cards, rows, heads, refusals, deals, copies. The engine alone, against itself and the deck."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sixnimmt_env.core.cards import to_list
from sixnimmt_env.core.game import ILLEGAL
from sixnimmt_env.games.sixnimmt import GAME, Rules, engine, state
from sixnimmt_env.games.sixnimmt.rules import HEADS
from sixnimmt_env.games.sixnimmt.state import ACTION_FRONT, ACTION_ROW, ACTION_WAIT, DRAFT, OVER, PICK, ROW, SIDE
from tests.games.sixnimmt.playing import (
    KINDS,
    SMALL,
    VARIANTS,
    advance,
    content,
    dealt,
    in_phase,
    legal_masks,
    members,
    name_of,
    phases_of,
    random_actions,
    seats_to_act,
    views_of,
    walk,
    walk_all_phases,
)

HEADS_OF = np.zeros(128, dtype=np.int64)
HEADS_OF[: len(HEADS)] = HEADS


def sets_of_rows(table: NDArray[np.void]) -> NDArray[np.bool_]:
    """(n, 128): the cards that lie in the rows."""
    found = np.zeros((len(table), 128), dtype=bool)
    for game, row in enumerate(table["rows"].reshape(len(table), -1)):
        found[game, row[row > 0]] = True
    return found


def sets_of_unplaced(table: NDArray[np.void]) -> NDArray[np.bool_]:
    """(n, 128): the revealed cards still to be placed."""
    found = np.zeros((len(table), 128), dtype=bool)
    for game in np.flatnonzero(np.isin(table["phase"], (ROW, SIDE))):
        for seat in table["order"][game, table["placed"][game] : table["num_players"][game]]:
            found[game, table["plays"][game, table["turn"][game], seat]] = True
    return found


def check_cards(rules: Rules, states: NDArray[np.void]) -> None:
    """Every card of the deck in at most one place; what no place has is the stock."""
    table = states["table"]
    hands, seen = members(states["hands"]), members(table["seen"])
    deck = (np.arange(128) >= 1) & (np.arange(128) <= rules.highest_card)
    places = hands.sum(axis=1) + seen
    assert places.max() <= 1, "a card twice"
    assert not (places > 0)[:, ~deck].any(), "a card that is not in the deck"
    played = table["plays"].reshape(len(table), -1)
    for game in range(len(table)):
        cards = played[game][played[game] > 0]
        assert len(set(cards.tolist())) == len(cards), "a card played twice"
        assert seen[game][cards].all(), "a card played and not seen"
    lying = sets_of_rows(table)
    assert not (lying & ~seen).any()
    if rules.highest_card == rules.cards_dealt:
        drafting = table["phase"] == DRAFT
        assert (places.sum(axis=1) == rules.highest_card)[~drafting].all(), "everything is dealt"
        assert (places.sum(axis=1) == table["drafted"])[drafting].all()


def check_hand_sizes(rules: Rules, states: NDArray[np.void]) -> None:
    table = states["table"]
    held = members(states["hands"]).sum(axis=2)
    assert not held[:, rules.num_players :].any()
    in_the_air = np.isin(table["phase"], (ROW, SIDE))
    left = rules.hand_size - table["turn"].astype(int) - in_the_air
    dealt_out = table["phase"] != DRAFT
    assert (held[:, : rules.num_players] == left[:, None])[dealt_out].all()
    drafted = held[~dealt_out, : rules.num_players]
    assert (drafted.sum(axis=1) == table["drafted"][~dealt_out]).all()
    assert (drafted.max(axis=1, initial=0) - drafted.min(axis=1, initial=99) <= 1).all()


def check_rows(rules: Rules, states: NDArray[np.void]) -> None:
    table = states["table"]
    slots = np.arange(table["rows"].shape[2])
    filled = slots < table["row_len"][:, :, None]
    assert (table["rows"] > 0)[filled].all()
    assert not table["rows"][~filled].any()
    assert table["row_len"].max() <= rules.row_capacity
    started = table["phase"] != DRAFT
    assert (table["row_len"][started, : rules.num_rows] >= 1).all()
    assert not table["row_len"][~started].any()
    assert not table["row_len"][:, rules.num_rows :].any()
    rising = np.diff(table["rows"].astype(int), axis=2) > 0
    assert rising[filled[:, :, 1:]].all()
    assert (table["row_heads"] == HEADS_OF[table["rows"]].sum(axis=2)).all()


def check_heads(states: NDArray[np.void]) -> None:
    """What lay open is in the rows, about to be placed, or has been taken and counted."""
    table = states["table"]
    opened = members(table["seen"]) @ HEADS_OF
    unplaced = sets_of_unplaced(table) @ HEADS_OF
    taken = table["penalties"].sum(axis=1, dtype=int)
    assert (taken + table["row_heads"].sum(axis=1, dtype=int) + unplaced == opened).all()


@pytest.mark.parametrize("rules", [*VARIANTS, *SMALL], ids=name_of)
def test_cards_and_heads_are_conserved(rules: Rules) -> None:
    phases: set[int] = set()
    totals, penalties = np.zeros((12, 10), dtype=int), np.zeros((12, 10), dtype=int)
    for states in walk_all_phases(rules, 12, seed=rules.num_players):
        check_cards(rules, states)
        check_hand_sizes(rules, states)
        check_rows(rules, states)
        check_heads(states)
        table = states["table"]
        if not table["round_index"].any() and not table["turn"].any():  # other games begin
            totals, penalties = np.zeros_like(totals), np.zeros_like(penalties)
        taken = table["totals"].astype(int) - totals
        same_round = table["penalties"].astype(int) - penalties
        assert (taken >= 0).all()
        assert ((taken == same_round) | (table["turn"] == 0)[:, None]).all()
        totals, penalties = table["totals"].astype(int), table["penalties"].astype(int)
        phases |= set(table["phase"].tolist())
    assert phases == phases_of(rules)
    assert (states["table"]["round_index"] == rules.rounds).all()


@pytest.mark.parametrize("rules", VARIANTS, ids=name_of)
def test_landed_tells_where_a_card_went(rules: Rules) -> None:
    lying = 0
    for states in walk(rules, 12, seed=1):
        for table in states["table"]:
            turn = int(table["turn"]) - (table["phase"] not in (ROW, SIDE))
            if turn < 0 or table["phase"] == DRAFT:
                continue
            for place, seat in enumerate(table["order"][: rules.num_players]):
                assert (table["landed"][seat] > 0) == (place < table["placed"])
                rows, _ = np.nonzero(table["rows"] == table["plays"][turn, seat])
                if len(rows):
                    assert rows.tolist() == [table["landed"][seat] - 1]
                    lying += 1
    assert lying > 100


def test_a_record_is_small() -> None:
    assert state.STATE.itemsize <= 512


# --- refusals ----------------------------------------------------------------------------------------------------------

STRANGE = [-(2**63), -(2**31), -113, -112, -105, -104, -2, -1, 113, 127, 128, 255, 256, 2**16, 2**31, 2**32 + 1, 2**62, 2**63 - 1]
PHASES_OF_PLAY = [
    *((PICK, Rules(num_players=n, deck=deck, professional=pro)) for deck, pro in KINDS for n in (2, 5)),
    *((ROW, Rules(num_players=4, deck=deck, professional=pro)) for deck, pro in KINDS),
    *((ROW, Rules(num_players=4, num_rows=rows)) for rows in (1, 3)),
    *((SIDE, Rules(num_players=4, deck=deck, professional=True)) for deck in ("standard", "tactical", "logic")),
    (DRAFT, Rules(num_players=3, deck="logic")),
    (DRAFT, Rules(num_players=10, deck="logic", professional=True)),
]


def phase_id(value: Any) -> str:
    return state.PHASES[value] if isinstance(value, int) else name_of(value)


def refused(states: NDArray[np.void], game: int, seat: int, action: int) -> None:
    before = content(states)
    assert engine.commit(states, game, seat, action) == ILLEGAL, (seat, action)
    assert (content(states) == before).all(), (seat, action)


@pytest.mark.parametrize(("phase", "rules"), PHASES_OF_PLAY, ids=phase_id)
def test_actions_that_are_not_legal_are_refused_and_change_nothing(phase: int, rules: Rules) -> None:
    states = in_phase(phase, 3, rules)
    for game, acting in enumerate(seats_to_act(states)):
        for seat in np.flatnonzero(acting):
            [legal] = legal_masks(views_of(states, [game], [seat]))
            wrong = [action for action in range(ACTION_WAIT + 1) if not legal[action]]
            assert ACTION_WAIT in wrong
            for action in [*wrong, *STRANGE]:
                refused(states, game, int(seat), action)


@pytest.mark.parametrize(("phase", "rules"), PHASES_OF_PLAY, ids=phase_id)
def test_other_seats_are_refused_and_change_nothing(phase: int, rules: Rules) -> None:
    states = in_phase(phase, 3, rules)
    for game, acting in enumerate(seats_to_act(states)):
        actions = np.flatnonzero(legal_masks(views_of(states, [game], [np.argmax(acting)]))[0])
        strangers = [*range(rules.num_players, 20), 254, 255, 256, 2**31, 2**62]
        for seat in [*np.flatnonzero(~acting).tolist(), *strangers]:
            for action in [*actions.tolist(), ACTION_WAIT]:
                refused(states, game, seat, action)


@pytest.mark.parametrize(("seat", "num_players"), [(-1, 10), (-10, 2), (-9, 4)])
def test_negative_seats_are_refused(seat: int, num_players: int) -> None:
    states = dealt(Rules(num_players=num_players), 1)
    legal = np.flatnonzero(legal_masks(views_of(states, [0], [seat + 10]))[0])
    refused(states, 0, seat, int(legal[0]))


@pytest.mark.parametrize("action", [0, 50, 103, 104, 107, 108, 111, 112, -1, 2**40])
@pytest.mark.parametrize(("deck", "professional"), KINDS)
def test_nobody_acts_after_the_end(deck: Any, professional: bool, action: int) -> None:
    states = in_phase(OVER, 4, Rules(deck=deck, professional=professional))
    before = content(states)
    assert not seats_to_act(states).any()
    assert not advance(states, np.full((len(states), 10), action)).any()
    for seat in (-1, 0, 3, 4, 9, 255):
        refused(states, 0, seat, action)
    assert (content(states) == before).all()


@pytest.mark.parametrize("num_players", [2, 5, 10])
def test_nobody_picks_twice(num_players: int) -> None:
    states = dealt(Rules(num_players=num_players), 1)
    masks = legal_masks(views_of(states, [0] * num_players, range(num_players)))
    for seat in np.random.default_rng(0).permutation(num_players)[:-1]:
        first, *others = np.flatnonzero(masks[seat]).tolist()
        assert engine.commit(states, 0, int(seat), first) != ILLEGAL
        for action in (first, *others):
            refused(states, 0, int(seat), action)
        assert not seats_to_act(states)[0, seat]
    assert states["table"]["turn"][0] == 0
    assert (states["picks"][0] > 0).sum() == num_players - 1


def test_a_refused_pick_can_be_put_right() -> None:
    states, untroubled = dealt(Rules(), 1), dealt(Rules(), 1)
    actions = random_actions(states, np.random.default_rng(0))
    for seat in range(4):
        refused(states, 0, seat, ACTION_ROW)
        engine.commit(states, 0, seat, actions[0, seat])
    advance(untroubled, actions)
    assert (content(states) == content(untroubled)).all()


def one_wrong(states: NDArray[np.void], actions: NDArray[np.int64], game: int, rng: np.random.Generator) -> int:
    """Put an illegal action in the place of one that decides in the game; returns its seat."""
    seat = int(rng.choice(np.flatnonzero(seats_to_act(states)[game])))
    [legal] = legal_masks(views_of(states, [game], [seat]))
    actions[game, seat] = rng.choice([*np.flatnonzero(~legal), *STRANGE])
    return seat


@pytest.mark.parametrize(("phase", "rules"), PHASES_OF_PLAY, ids=phase_id)
def test_one_illegal_action_stops_its_own_game_only(phase: int, rules: Rules) -> None:
    rng = np.random.default_rng(0)
    states = in_phase(phase, 20, rules)
    untroubled = states.copy()
    before = content(states)
    actions = random_actions(states, rng)
    advance(untroubled, actions)
    expected = np.zeros(20, dtype=int)
    for game in range(0, 20, 2):
        expected[game] = 1 << one_wrong(states, actions, game, rng)
    illegal = advance(states, actions)
    assert illegal.tolist() == expected.tolist()
    assert (content(states)[::2] == before[::2]).all()
    assert (content(states)[1::2] == content(untroubled)[1::2]).all()


def test_every_offender_is_named() -> None:
    rules = Rules(num_players=10)
    states = dealt(rules, 1024)
    before = content(states)
    actions = random_actions(states, np.random.default_rng(0))
    offenders = np.arange(1024)
    wrong = offenders[:, None] >> np.arange(10) & 1 == 1
    actions[wrong] = ACTION_FRONT
    assert (advance(states, actions) == offenders).all()
    changed = (content(states) != before).any(axis=1)
    assert changed.tolist() == [True] + [False] * 1023


# --- deals -------------------------------------------------------------------------------------------------------------


def first_legal(states: NDArray[np.void], last: bool) -> NDArray[np.int64]:
    """Everybody's first (or last) legal action: two ways to play that could hardly differ more."""
    actions = np.full((len(states), 10), ACTION_WAIT)
    games, seats = np.nonzero(seats_to_act(states))
    masks = legal_masks(views_of(states, games, seats))
    actions[games, seats] = ACTION_WAIT - np.argmax(masks[:, ::-1], axis=1) if last else np.argmax(masks, axis=1)
    return actions


def deals_of(states: NDArray[np.void], last: bool = False) -> list[dict[int, bytes]]:
    """Of every game the deal of each round, by round."""
    deals: list[dict[int, bytes]] = [{} for _ in states]
    while not (states["table"]["phase"] == OVER).all():
        table = states["table"]
        for game in np.flatnonzero((table["turn"] == 0) & (table["phase"] == PICK)):
            deals[game][int(table["round_index"][game])] = states["hands"][game].tobytes() + table["rows"][game].tobytes()
        advance(states, first_legal(states, last))
    return deals


ROUNDS = 4


@pytest.mark.parametrize("deck", ["standard", "tactical"])
def test_deals_follow_from_seed_game_and_round(deck: Any) -> None:
    rules = Rules(num_players=3, deck=deck, rounds=ROUNDS)
    deals = deals_of(dealt(rules, 20, seed=5))
    assert deals == deals_of(dealt(rules, 20, seed=5), last=True), "they depend on what is played"
    alone = [deals_of(dealt(rules, 1, seed=5, first_game=game))[0] for game in range(20)]
    assert deals == alone, "they depend on the batch"
    backwards = state.new_states(rules, 20, 5)[::-1].copy()
    engine.deal(backwards, np.random.default_rng(0).permutation(20))
    assert deals == deals_of(backwards)[::-1], "they depend on the order"
    for other in (
        Rules(num_players=3, deck=deck, rounds=ROUNDS, professional=True),
        Rules(num_players=3, deck=deck, rounds=None, target=200),
    ):
        for game, same in zip(deals, deals_of(dealt(other, 20, seed=5)), strict=True):
            assert {number: same[number] for number in range(ROUNDS)} == game, "they depend on the form of the match"


def test_every_deal_is_another() -> None:
    rules = Rules(num_players=3, rounds=ROUNDS)
    seeds = [0, 1, 2, 2**32, 2**62, 2**63 - 1]
    deals = [deal for seed in seeds for game in deals_of(dealt(rules, 50, seed)) for deal in game.values()]
    deals += [deal for game in deals_of(dealt(rules, 50, 0, first_game=10**12)) for deal in game.values()]
    assert len(set(deals)) == len(deals) == (len(seeds) + 1) * 50 * ROUNDS


def test_dealing_again_starts_the_same_match_again() -> None:
    rules = Rules(num_players=4, rounds=3)
    states = dealt(rules, 6, seed=1)
    before = content(states)
    rng = np.random.default_rng(0)
    for _ in range(17):
        advance(states, random_actions(states, rng))
    engine.commit(states, 0, 0, int(random_actions(states, rng)[0, 0]))
    moved = content(states)
    engine.deal(states, np.array([4, 0, 2]))
    assert (content(states)[::2] == before[::2]).all()
    assert (content(states)[1::2] == moved[1::2]).all()


def places_of_cards(rules: Rules, states: NDArray[np.void]) -> NDArray[np.int64]:
    """(cards, places): how often each card lies in each hand, row, and the stock."""
    hands = members(states["hands"])[:, : rules.num_players].sum(axis=0)
    rows = np.stack([np.bincount(states["table"]["rows"][:, row, 0], minlength=128) for row in range(rules.num_rows)])
    stock = len(states) - hands.sum(axis=0) - rows.sum(axis=0)
    return np.concatenate([hands, rows, stock[None]])[:, 1 : rules.highest_card + 1].T


def check_chi_square(statistic: float, freedom: int) -> None:
    """Five standard deviations either way: too even is as suspect as too uneven."""
    assert abs(statistic - freedom) < 5 * np.sqrt(2 * freedom), (statistic, freedom)


@pytest.mark.parametrize("rules", [Rules(num_players=4), Rules(num_players=2), Rules(num_players=5, deck="tactical")], ids=name_of)
def test_every_card_is_equally_often_in_every_place(rules: Rules) -> None:
    games, deck = 20_000, rules.highest_card
    counts = places_of_cards(rules, dealt(rules, games, seed=11))
    sizes = [rules.hand_size] * rules.num_players + [1] * rules.num_rows + [deck - rules.cards_dealt]
    for place, size in enumerate(sizes):
        if size > 0:
            expected = games * size / deck
            # Draws without replacement: the counts of a place that holds many cards are more even than independent ones.
            even = (1 - size / deck) * deck / (deck - 1)
            check_chi_square(((counts[:, place] - expected) ** 2 / expected).sum() / even, deck - 1)
        else:
            assert not counts[:, place].any()


def test_no_two_cards_keep_together() -> None:
    games = 20_000
    hands = members(dealt(Rules(), games, seed=12)["hands"])[:, 2, 1:105].astype(np.float32)
    together = (hands.T @ hands)[np.triu_indices(104, 1)]
    expected = games * 10 * 9 / (104 * 103)
    check_chi_square(((together - expected) ** 2 / expected).sum(), len(together))


def test_the_first_rounds_do_not_tell_the_second() -> None:
    """Cards of a hand are in the same hand of the next round as often as chance has it."""
    deals = deals_of(dealt(Rules(rounds=2), 2_000, seed=13))
    first, second = (
        members(np.array([np.frombuffer(deal[number][:160], np.uint64) for deal in deals]).reshape(-1, 10, 2)) for number in (0, 1)
    )
    kept = (first & second).sum(axis=2)[:, :4]
    # Hypergeometric: 10 of 104 drawn, 10 marked.
    mean, variance = 100 / 104, 10 * (10 / 104) * (94 / 104) * (94 / 103)
    assert abs(kept.mean() - mean) < 5 * np.sqrt(variance / kept.size)


# --- copies ------------------------------------------------------------------------------------------------------------

DUPLICATES: dict[str, Callable[[NDArray[np.void]], NDArray[np.void]]] = {
    "copy": lambda states: states.copy(),
    "pickle": lambda states: pickle.loads(pickle.dumps(states)),
    "bytes": lambda states: np.frombuffer(bytearray(states.tobytes()), dtype=state.STATE),
    "record by record": lambda states: np.array([states[game].copy() for game in range(len(states))]),
}


@pytest.mark.parametrize("duplicate", DUPLICATES)
@pytest.mark.parametrize(("deck", "professional"), KINDS)
def test_copies_go_on_alike(deck: Any, professional: bool, duplicate: str) -> None:
    """From every position on: the copy follows the original move for move, and neither disturbs the other."""
    rng = np.random.default_rng(4)
    states = dealt(Rules(num_players=3, deck=deck, professional=professional, rounds=2), 6, seed=3)
    seat = int(np.argmax(seats_to_act(states)[0]))
    engine.commit(states, 0, seat, int(random_actions(states, rng)[0, seat]))  # a pick that waits for the others is copied as well
    copied = DUPLICATES[duplicate](states)
    before, moved = content(copied), 0
    while not (states["table"]["phase"] == OVER).all():
        actions = random_actions(states, rng)
        assert not advance(states, actions).any()
        assert (content(copied) == before).all(), "the copy moved with the original"
        assert not advance(copied, actions).any()
        assert (content(copied) == content(states)).all()
        copied = DUPLICATES[duplicate](copied)
        before, moved = content(copied), moved + 1
    assert moved >= 20


@pytest.mark.parametrize(("deck", "professional"), KINDS)
def test_the_costs_are_a_window_on_the_totals(deck: Any, professional: bool) -> None:
    states = in_phase(OVER, 3, Rules(deck=deck, professional=professional))
    costs = GAME.costs(states)
    assert (costs == states["table"]["totals"]).all()
    assert costs.any()
    assert np.shares_memory(costs, states)


# --- given deals -------------------------------------------------------------------------------------------------------


def test_a_given_deal_is_dealt_in_its_order() -> None:
    rules = Rules(num_players=3, hand_size=2, num_rows=2, rounds=2)
    states = state.new_states(rules, 2, seed=4)
    cards = np.array([[9, 1, 8, 2, 7, 3, 50, 20], [1, 2, 3, 4, 5, 6, 7, 8]])
    engine.deal_as(states, np.array([1, 0]), cards)
    for game, line in ((1, cards[0]), (0, cards[1])):
        assert [to_list(hand) for hand in states["hands"][game][:3]] == [sorted(line[:2]), sorted(line[2:4]), sorted(line[4:6])]
        assert states["table"]["rows"][game, :2, 0].tolist() == line[6:].tolist()
        assert to_list(states["table"]["seen"][game]) == sorted(line[6:])
    dealt_as_usual = state.new_states(rules, 2, seed=4)
    engine.deal(dealt_as_usual, np.arange(2))
    for name in ("phase", "actor", "turn", "salt", "totals", "round_index"):
        assert (states["table"][name] == dealt_as_usual["table"][name]).all()


@pytest.mark.parametrize(
    ("deck", "cards", "message"),
    [
        ("standard", [1, 2, 3, 4, 5], "a deal takes"),
        ("standard", [1, 2, 3, 4, 5, 105], "not of the deck"),
        ("standard", [0, 2, 3, 4, 5, 6], "not of the deck"),
        ("standard", [1, 2, 3, 4, 5, 1], "dealt twice"),
        ("logic", [1, 2, 3, 4, 5, 6], "logic"),
    ],
)
def test_an_impossible_deal_is_refused_and_changes_nothing(deck: Any, cards: list[int], message: str) -> None:
    states = state.new_states(Rules(num_players=2, hand_size=2, num_rows=2, deck=deck), 1)
    before = states.tobytes()
    with pytest.raises(ValueError, match=message):
        engine.deal_as(states, np.array([0]), np.array([cards]))
    assert states.tobytes() == before
