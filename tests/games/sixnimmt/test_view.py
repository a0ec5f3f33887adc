"""What a seat is shown: all of the table and its own hand, nothing hidden; and what it can imagine behind that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sixnimmt_env.core import seeding
from sixnimmt_env.core.game import FINISHED, ILLEGAL, NEXT_SEAT
from sixnimmt_env.games.sixnimmt import GAME, Rules, engine, state, view
from sixnimmt_env.games.sixnimmt.state import DRAFT, NUM_ACTIONS, OVER, PICK, ROW, SIDE
from tests.games.sixnimmt.playing import (
    KINDS,
    SMALL,
    VARIANTS,
    advance,
    all_views,
    as_set,
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
from tests.games.sixnimmt.test_engine import check_cards, check_hand_sizes, check_heads, check_rows


def half_committed(states: NDArray[np.void], rng: np.random.Generator) -> NDArray[np.void]:
    """The same games, in which some seats have already picked."""
    states = states.copy()
    for game, actions in enumerate(random_actions(states, rng)):
        acting = np.flatnonzero(seats_to_act(states)[game])
        for seat in rng.permutation(acting)[: rng.integers(0, max(len(acting), 1))]:
            engine.commit(states, game, int(seat), int(actions[seat]))
    return states


def seats_of(states: NDArray[np.void]) -> list[tuple[int, int]]:
    """(game, seat) in the order of `all_views`."""
    return [(game, seat) for game in range(len(states)) for seat in range(int(states["table"]["num_players"][0]))]


def same(one: NDArray[np.void], other: NDArray[np.void]) -> bool:
    """Bit for bit, in all fields."""
    return np.array_equal(content(one), content(other))


# --- reveal ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [*VARIANTS, *SMALL], ids=name_of)
def test_a_view_holds_the_table_and_the_own_hand(rules: Rules) -> None:
    rng = np.random.default_rng(0)
    for states in walk(rules, 3, seed=2):
        states = half_committed(states, rng)
        views = all_views(states)
        games, seats = np.array(seats_of(states)).T
        assert (content(views["table"]) == content(states["table"])[games]).all()
        assert (views["hand"] == states["hands"][games, seats]).all()
        assert (views["seat"] == seats).all()
        assert (views["deciding"] == seats_to_act(states)[games, seats]).all()
        public = states["hands"][games] if rules.deck == "logic" else 0
        assert (views["hands"] == public).all()
        assert (views["open"] == (rules.deck == "logic")).all()


@pytest.mark.parametrize("rules", VARIANTS, ids=name_of)
def test_a_spectator_sees_the_hands_and_no_more(rules: Rules) -> None:
    """Beside the hands all is as in the seat's own view; picks, stock and seed may be any."""
    rng = np.random.default_rng(0)
    for states in walk(rules, 2, seed=5):
        states = half_committed(states, rng)
        games, seats = np.array(seats_of(states)).T
        shown = views_of(states, games, seats, view.reveal_all)
        assert (shown["hands"] == states["hands"][games]).all()
        assert (shown["open"] == 1).all()
        changed = states.copy()
        changed["seed"], changed["game"] = rng.integers(0, 2**63, size=(2, len(states)))
        held = members(states["hands"])
        for game, seat in np.argwhere(states["picks"] > 0):
            changed["picks"][game, seat] = rng.choice(np.flatnonzero(held[game, seat]))
        assert same(views_of(changed, games, seats, view.reveal_all), shown)
        usual = views_of(states, games, seats)
        usual["hands"], usual["open"] = states["hands"][games], 1
        assert same(shown, usual)


def other_truth(state_record: np.void, seat: int, rng: np.random.Generator) -> NDArray[np.void]:
    """The same game but for all that the seat must not know: the others' cards, the stock, all picks, the seed."""
    changed = np.array([state_record])
    table, players = changed["table"][0], int(changed["table"]["num_players"][0])
    others = [other for other in range(players) if other != seat]
    hands = members(changed["hands"][0])
    if table["deck"] != 2:
        known = members(table["seen"]) | hands[seat]
        hidden = rng.permutation([card for card in range(1, int(table["highest_card"]) + 1) if not known[card]]).tolist()
        for other in others:
            held = int(hands[other].sum())
            hands[other] = False
            hands[other, [hidden.pop() for _ in range(held)]] = True
        changed["hands"][0] = as_set(hands)
    if table["phase"] == PICK:
        for other in others:
            changed["picks"][0, other] = rng.choice([0, *np.flatnonzero(hands[other])])
        if changed["picks"][0, seat] > 0:  # what he has picked is not to be seen either, only that he has
            changed["picks"][0, seat] = rng.choice(np.flatnonzero(hands[seat]))
    changed["seed"], changed["game"] = rng.integers(0, 2**63, size=2)
    return changed


@pytest.mark.parametrize("rules", [*VARIANTS, *SMALL], ids=name_of)
def test_a_view_does_not_depend_on_anything_hidden(rules: Rules) -> None:
    rng = np.random.default_rng(0)
    phases: set[int] = set()
    differing = 0
    for states in walk_all_phases(rules, 3, seed=3):
        states = half_committed(states, rng)
        phases |= set(states["table"]["phase"].tolist())
        for (game, seat), shown in zip(seats_of(states), all_views(states), strict=True):
            changed = other_truth(states[game], seat, rng)
            differing += bool((changed["hands"][0] != states["hands"][game]).any() or (changed["picks"][0] != states["picks"][game]).any())
            assert same(views_of(changed, [0], [seat]), np.array([shown]))
    assert phases == phases_of(rules)
    assert differing > 20, "nothing was hidden"


def test_the_others_cannot_tell_that_a_seat_has_picked() -> None:
    for deck, professional in KINDS:
        states = in_phase(PICK, 5, Rules(deck=deck, professional=professional))
        before = all_views(states)
        for game, actions in enumerate(random_actions(states, np.random.default_rng(0))):
            engine.commit(states, game, 2, int(actions[2]))
        after = all_views(states)
        own = after["seat"] == 2
        assert (before["deciding"][own] == 1).all()
        assert (after["deciding"][own] == 0).all()
        after["deciding"][own] = 1
        assert same(after, before)


# --- legal -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [*VARIANTS, *SMALL], ids=name_of)
def test_legal_is_what_the_engine_accepts(rules: Rules) -> None:
    """The mask made from a view and the check made on the state are two pieces of code: every action of every seat."""
    rng = np.random.default_rng(0)
    for number, states in enumerate(walk_all_phases(rules, 2, seed=6)):
        if number % 4 and not np.isin(states["table"]["phase"], (ROW, SIDE)).any():
            continue
        states = half_committed(states, rng)
        masks = legal_masks(all_views(states))
        for (game, seat), mask in zip(seats_of(states), masks, strict=True):
            accepted = [engine.is_legal(states[game], seat, action) for action in range(-5, NUM_ACTIONS + 5)]
            assert accepted == [False] * 5 + mask.tolist() + [False] * 5


@pytest.mark.parametrize("rules", VARIANTS, ids=name_of)
def test_commit_shows_the_table_to_the_next_seat(rules: Rules) -> None:
    states, plain = dealt(rules, 1, seed=8), dealt(rules, 1, seed=8)
    shown, mask = np.zeros(1, dtype=view.VIEW), np.zeros((1, NUM_ACTIONS), dtype=np.int8)
    rng, seat, code = np.random.default_rng(0), int(np.argmax(seats_to_act(states)[0])), 0
    while not code & FINISHED:
        action = int(random_actions(states, rng)[0, seat])
        before = shown.tobytes(), mask.tobytes()
        assert GAME.commit(states, 0, seat, GAME.wait, shown, mask) == ILLEGAL
        assert (shown.tobytes(), mask.tobytes()) == before
        code = GAME.commit(states, 0, seat, action, shown, mask)
        assert code == engine.commit(plain, 0, seat, action)
        assert (content(states) == content(plain)).all()
        seat = code & NEXT_SEAT
        assert same(shown, views_of(states, [0], [seat]))
        assert (mask == legal_masks(shown)).all()


# --- imagine -----------------------------------------------------------------------------------------------------------


def imagined(views: NDArray[np.void], word: int) -> NDArray[np.void]:
    """A state for each view."""
    states = np.zeros(len(views), dtype=state.STATE)
    stream = np.uint64(word)
    for record, target in zip(views, states, strict=True):
        stream = np.uint64(view.imagine(record, stream, target))  # comes back as an int, which would be taken for signed
    return states


@pytest.mark.parametrize("rules", [*VARIANTS, *SMALL], ids=name_of)
def test_an_imagined_game_looks_the_same_and_can_be_played(rules: Rules) -> None:
    rng = np.random.default_rng(0)
    phases: set[int] = set()
    for word, states in enumerate(walk_all_phases(rules, 3, seed=4)):
        views = all_views(half_committed(states, rng))
        views = views[(views["deciding"] == 1) | (views["table"]["phase"] == OVER)]
        phases |= set(views["table"]["phase"].tolist())
        fancied = imagined(views, word)
        assert same(views_of(fancied, np.arange(len(views)), views["seat"]), views)
        check_cards(rules, fancied)
        check_hand_sizes(rules, fancied)
        check_rows(rules, fancied)
        check_heads(fancied)
        assert not fancied["picks"].any()
        assert not advance(fancied, random_actions(fancied, rng)).any()
    assert phases == phases_of(rules)


@pytest.mark.parametrize(("deck", "professional"), KINDS)
def test_seats_that_only_watch_can_imagine_as_well(deck: Any, professional: bool) -> None:
    for phase in (ROW, DRAFT):
        if phase == ROW or deck == "logic":
            states = in_phase(phase, 5, Rules(deck=deck, professional=professional))
            views = all_views(states)
            assert (views["deciding"] == 0).any()
            assert same(views_of(imagined(views, 1), np.arange(len(views)), views["seat"]), views)


WHERE = [(PICK, Rules()), (PICK, Rules(deck="tactical", num_players=3)), (ROW, Rules(num_players=6)), (SIDE, Rules(professional=True))]


@pytest.mark.parametrize(("phase", "rules"), WHERE, ids=lambda value: state.PHASES[value] if isinstance(value, int) else name_of(value))
def test_unseen_cards_are_equally_likely_everywhere(phase: int, rules: Rules) -> None:
    """Also in the hand that really holds them: chi-square of each card's places over many imagined games."""
    deals = 3_000
    truth = in_phase(phase, 6, rules, seed=5)[-1:]
    seat = int(np.argmax(seats_to_act(truth)[0]))
    [shown] = views_of(truth, [0], [seat])
    hands = members(imagined(np.repeat(np.array([shown]), deals), 77)["hands"])
    unseen = ~members(shown["hand"]) & ~members(shown["table"]["seen"])
    unseen[[0, *range(rules.highest_card + 1, 128)]] = False
    cards = int(unseen.sum())
    for other in set(range(rules.num_players)) - {seat}:
        held = int(members(truth["hands"][0, other]).sum())
        assert held > 0
        counts = hands[:, other].sum(axis=0)
        assert not counts[~unseen].any()
        expected = deals * held / cards
        even = (1 - held / cards) * cards / (cards - 1)
        statistic = ((counts[unseen] - expected) ** 2 / expected).sum() / even
        assert abs(statistic - (cards - 1)) < 5 * np.sqrt(2 * (cards - 1))


def test_imagining_follows_from_the_word() -> None:
    states = in_phase(PICK, 4, Rules())
    views = all_views(states)
    assert (content(imagined(views, 1)) == content(imagined(views, 1))).all()
    assert (content(imagined(views, 1)) != content(imagined(views, 2))).any(axis=1).all()
    same = imagined(np.repeat(views[:1], 50), 3)
    assert len({line.tobytes() for line in content(same)}) == 50, "the word does not move on"


def test_an_imagined_game_has_other_rounds_to_come() -> None:
    """The true seed would tell the next deals."""
    states = in_phase(PICK, 4, Rules(rounds=2))
    fancied = imagined(np.repeat(all_views(states), 20), 9)
    assert not np.isin(fancied["seed"], states["seed"]).any()
    assert len(set(fancied["seed"].tolist())) == len(fancied)
    assert fancied["seed"].max() < 2**63


# --- the rest ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", VARIANTS, ids=name_of)
def test_how_many_cards_a_seat_holds_is_public(rules: Rules) -> None:
    for states in walk(rules, 2, seed=7):
        for game, seat in seats_of(states):
            held = view.cards_held(states["table"][game], seat)
            assert held == members(states["hands"][game, seat]).sum()


def test_fingerprints_tell_views_apart() -> None:
    """Over one match: the stream of an agent's dice is another in every position and for every seat."""
    for deck, professional in KINDS:
        found: dict[bytes, int] = {}
        for states in walk(Rules(num_players=3, deck=deck, professional=professional, rounds=2), 2, seed=9):
            for record in all_views(states)[seats_to_act(states)[:, :3].ravel()]:
                found[content(np.array([record])).tobytes()] = int(view.fingerprint(record))
        assert len(found) > 100
        assert len(set(found.values())) == len(found)


# --- salt --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("deck", "professional"), KINDS)
def test_a_match_keeps_its_salt_and_no_other_has_it(deck: Any, professional: bool) -> None:
    rules = Rules(num_players=3, deck=deck, professional=professional, rounds=2)
    salts = dealt(rules, 50, seed=1)["table"]["salt"]
    assert len(set(salts.tolist())) == 50
    assert not np.isin(dealt(rules, 50, seed=2)["table"]["salt"], salts).any()
    for states in walk(rules, 50, seed=1):
        assert (states["table"]["salt"] == salts).all()
        assert (all_views(states)["table"]["salt"] == np.repeat(salts, 3)).all()


def test_the_salt_is_in_the_fingerprint() -> None:
    [shown] = views_of(dealt(Rules(), 1), [0], [2])
    before = int(view.fingerprint(shown))
    shown["table"]["salt"] += np.uint64(1)
    assert int(view.fingerprint(shown)) != before


def unmixed(mixed: int, value: int) -> int:
    """The word that `mix` made `mixed` of with `value`: `mix` hides nothing by itself."""
    for shift, factor in ((31, seeding._M2), (27, seeding._M1), (30, np.uint64(1))):
        shifted = mixed
        for _ in range(3):
            shifted = mixed ^ (shifted >> shift)
        mixed = shifted * pow(int(factor), -1, 2**64) % 2**64
    return (mixed - value - int(seeding._GOLDEN)) * pow(int(seeding._M3), -1, 2**64) % 2**64


def test_mixing_can_be_undone() -> None:
    for word, value in ((0, 0), (1, 2**64 - 1), (2**63 + 5, 17)):
        assert unmixed(int(seeding.mix(np.uint64(word), np.uint64(value))), value) == word


def test_the_salt_does_not_give_the_seed_away() -> None:
    """Not to somebody who knows how it is made and the number of the game, and turns the steps round."""
    for seed in (7, 123_456_789_012_345_678):
        for game, salt in enumerate(dealt(Rules(), 3, seed)["table"]["salt"].tolist()):
            once = int(seeding.mix(seeding.mix(seeding._HIDDEN, np.uint64(seed)), np.uint64(game)))
            inner = int(seeding.mix(np.uint64(once), np.uint64(game)))
            for turned in (salt, unmixed(salt, game), unmixed(salt, seed), unmixed(unmixed(salt, game), game)):
                assert turned not in (once, inner, int(seeding.mix(seeding._HIDDEN, np.uint64(seed))), seed)


@pytest.mark.parametrize("rules", [*VARIANTS, *SMALL], ids=name_of)
def test_a_disguised_game_is_another_that_the_seat_cannot_tell_from_it(rules: Rules) -> None:
    rng, differing = np.random.default_rng(0), np.zeros(3, dtype=int)
    for states in walk_all_phases(rules, 3, seed=9):
        states = half_committed(states, rng)
        for seat in range(rules.num_players):
            index, seats = np.arange(len(states)), np.full(len(states), seat)
            changed = states.copy()
            view.disguise(changed, index, seats, rng.integers(0, 2**63, size=len(states)).astype(np.uint64))
            assert same(views_of(changed, index, seats), views_of(states, index, seats))
            assert ((changed["picks"] > 0) == (states["picks"] > 0)).all()
            assert (changed["picks"][:, seat] == states["picks"][:, seat]).all()
            assert (changed["picked"] == states["picked"]).all()
            held = members(changed["hands"])
            for game, other in np.argwhere(changed["picks"] > 0):
                assert held[game, other, changed["picks"][game, other]]
            check_cards(rules, changed)
            check_hand_sizes(rules, changed)
            differing += [(changed[name] != states[name]).any() for name in ("hands", "picks", "seed")]
    hidden = rules.deck == "standard" or (rules.deck == "tactical" and rules.num_players > 2)
    assert (differing > 0).tolist() == [hidden, rules.hand_size > 1, True]


@pytest.mark.parametrize("rules", [*VARIANTS, *SMALL], ids=name_of)
def test_a_game_that_was_ended_in_the_middle_is_disguised_as_one_with_as_many_cards(rules: Rules) -> None:
    """In whatever phase it ends; with every card dealt, one more would be written beyond the hands."""
    rng = np.random.default_rng(1)
    for states in walk_all_phases(rules, 2, seed=8):
        index = np.arange(len(states))
        GAME.abandon(states := states.copy(), index)
        for seat in range(rules.num_players):
            changed, seats = states.copy(), np.full(len(states), seat)
            view.disguise(changed, index, seats, rng.integers(0, 2**63, size=len(states)).astype(np.uint64))
            assert (members(changed["hands"]).sum(axis=2) == members(states["hands"]).sum(axis=2)).all()
            assert same(views_of(changed, index, seats), views_of(states, index, seats))
