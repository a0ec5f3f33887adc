"""A game as a tree, and exact play on the engine: the deal, what a seat recalls, and the rules by the slow reference."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sixnimmt_env import agents
from sixnimmt_env.games import sixnimmt
from sixnimmt_env.interop import exact
from sixnimmt_env.interop.tree import NO_ACTION, Node, Tree, plant
from tests.reference import ReferenceGame

Rules = sixnimmt.Rules
SMALL = [
    Rules(2, hand_size=2, num_rows=2, row_capacity=1, deck_size=6),
    Rules(2, hand_size=2, num_rows=1, row_capacity=2, deck_size=6),
    Rules(2, hand_size=2, num_rows=2, row_capacity=2, professional=True, deck_size=6),
    Rules(3, hand_size=1, num_rows=2, row_capacity=1, professional=True, deck_size=6),
    Rules(3, hand_size=1, num_rows=2, row_capacity=2, deck="tactical"),
    Rules(2, hand_size=2, num_rows=1, row_capacity=1, deck="logic"),
    Rules(2, hand_size=1, num_rows=2, row_capacity=1, deck="logic", professional=True, rounds=2),
]


def name_of(rules: Rules) -> str:
    sizes = f"{rules.hand_size}x{rules.num_rows}x{rules.row_capacity} of {rules.highest_card}"
    return f"{rules.deck} {rules.num_players} {sizes}{' professional' if rules.professional else ''}"


def tree_of(rules: Rules, deal: str = "") -> Tree:
    return plant(sixnimmt.GAME, rules, deal)


def followers(node: Node) -> Iterator[Node]:
    """Every node that can follow."""
    if node.dealing:
        yield from (node.with_card(card) for card, _ in node.chances())
        return
    options = [node.legal(seat) if seat in node.seats else [NO_ACTION] for seat in range(node.tree.players)]
    if not node.over:
        yield from (node.after(actions) for actions in itertools.product(*options))


def nodes(tree: Tree) -> Iterator[Node]:
    """All nodes."""
    todo = [tree.root()]
    while todo:
        node = todo.pop()
        yield node
        todo += followers(node)


def deals_of(tree: Tree) -> dict[tuple[int, ...], float]:
    """Every deal of the tree and how likely it is."""
    found: Counter[tuple[int, ...]] = Counter()
    todo = [(tree.root(), 1.0)]
    while todo:
        node, chance = todo.pop()
        if node.dealing:
            todo += [(node.with_card(card), chance * p) for card, p in node.chances()]
        else:
            found[node.cards] += chance
    return dict(found)


DEALT = [
    (Rules(2, hand_size=2, num_rows=2, row_capacity=1, deck_size=7), "", 7 * 6 // 2 * (5 * 4 // 2) * 3 * 2),
    (Rules(3, hand_size=2, num_rows=1, row_capacity=1, deck_size=7), "", 21 * 10 * 3),
    (Rules(2, hand_size=3, num_rows=1, row_capacity=1, deck_size=8), "", 56 * 10 * 2),
    (Rules(2, hand_size=2, num_rows=2, row_capacity=1, deck_size=7), "5 2", 10 * 3 * 2),
    (Rules(2, hand_size=2, num_rows=2, row_capacity=1, deck_size=7), "2 5, 7 1, 4", 2),
    (Rules(2, hand_size=2, num_rows=2, row_capacity=1, deck_size=7), "2 5, 7 1, 4, 3", 1),
    (Rules(2, hand_size=2, num_rows=2, row_capacity=1, deck="logic"), "", 1),
]


@pytest.mark.parametrize(("rules", "deal", "count"), DEALT)
def test_every_deal_has_one_path_and_all_are_equally_likely(rules: Rules, deal: str, count: int) -> None:
    tree = tree_of(rules, deal)
    found = deals_of(tree)
    assert len(found) == count
    assert all(math.isclose(chance, 1 / count, rel_tol=1e-12) for chance in found.values())
    assert sorted(found) == sorted(map(tuple, exact.all_deals(tree).tolist()))
    for cards in found:
        assert len(set(cards)) == len(cards)
        assert tuple(sorted(cards[: rules.hand_size])) == cards[: rules.hand_size]


def test_chances_of_the_whole_deck() -> None:
    """A hand is as often without the card 1 as C(103, 10) / C(104, 10) says, and chances add up to 1 all the way."""
    node = tree_of(Rules(10)).root()
    assert node.chances()[0] == (1, pytest.approx(10 / 104, rel=1e-12))
    rng = np.random.default_rng(0)
    while node.dealing:
        cards, chances = zip(*node.chances(), strict=True)
        assert sum(chances) == pytest.approx(1.0, abs=1e-12)
        node = node.with_card(int(rng.choice(cards, p=np.array(chances) / sum(chances))))
    assert node.seats == tuple(range(10))


def knowledge(node: Node, seat: int) -> tuple[Any, ...]:
    """What a seat knows by the rules: its hand as it was dealt, the rows dealt, and every decision after it was carried out."""
    rules = node.tree.rules
    start, end = seat * rules.hand_size, rules.num_players * rules.hand_size
    return node.cards[start : start + rules.hand_size], node.cards[end:], node.played


@pytest.mark.parametrize("rules", SMALL, ids=name_of)
def test_a_seat_recalls_what_it_knows_and_nothing_else(rules: Rules) -> None:
    """Over all pairs of nodes: equal texts exactly where the knowledge is equal; and no choice betrays more."""
    tree = tree_of(rules)
    for seat in range(rules.num_players):
        texts: dict[tuple[Any, ...], set[str]] = defaultdict(set)
        knowers: dict[str, set[tuple[Any, ...]]] = defaultdict(set)
        choices: dict[str, set[tuple[int, ...]]] = defaultdict(set)
        for node in nodes(tree):
            if node.dealing:
                assert node.recall(seat) == ""
                continue
            text, known = node.recall(seat), knowledge(node, seat)
            texts[known].add(text)
            knowers[text].add(known)
            choices[text].add(tuple(node.legal(seat)))
        assert all(len(found) == 1 for found in texts.values()), "one knowledge, two texts: something leaks"
        assert all(len(found) == 1 for found in knowers.values()), "two knowledges, one text: something is forgotten"
        assert all(len(found) == 1 for found in choices.values())


@pytest.mark.parametrize("rules", SMALL, ids=name_of)
def test_bounds_hold_and_parts_of_costs_add_up(rules: Rules) -> None:
    tree = tree_of(rules)
    longest = 0
    todo = [(tree.root(), [0] * rules.num_players)]
    while todo:
        node, before = todo.pop()
        costs = [old + new for old, new in zip(before, node.new_costs(), strict=True)]
        assert costs == node.costs()
        assert node.over == (not node.dealing and not list(followers(node)))
        if node.over:
            longest = max(longest, len(node.played))
            assert all(tree.extent.least <= cost <= tree.extent.most for cost in costs)
            assert sum(costs) <= tree.extent.together
        todo += [(follower, costs) for follower in followers(node)]
    assert rules.hand_size * rules.rounds <= longest <= tree.extent.decisions
    assert longest == tree.extent.decisions or rules.professional or rules.num_players * rules.hand_size * rules.rounds < 5


def test_nodes_stay_as_they_are() -> None:
    tree = tree_of(SMALL[0])
    for node in itertools.islice(nodes(tree), 0, 3000, 37):
        before = None if node.dealing else (node.recall(0), node.costs(), node.legal(0))
        list(followers(node))
        again = pickle.loads(pickle.dumps(node))
        for other in (node, copy.deepcopy(node), again):
            assert other.cards == node.cards
            assert other.played == node.played
            if before is not None:
                assert (other.recall(0), other.costs(), other.legal(0)) == before


def test_a_spectator_recalls_everything() -> None:
    seen = defaultdict(set)
    for node in nodes(tree_of(SMALL[0])):
        if not node.dealing:
            seen[node.recall(0, open_hands=True)].add((node.cards, node.played))
    assert all(len(places) == 1 for places in seen.values())


@pytest.mark.parametrize(
    ("options", "deal", "message"),
    [
        ({"rounds": None, "target": 66}, "", "a match to a target has no bounds"),
        ({"rounds": 2}, "", "rounds=2 are as many deals"),
        ({"hand_size": 2}, "1 2 3", "holds 3 cards: whole parts are wanted"),
        ({"hand_size": 2}, "1 1", "must name distinct cards"),
        ({"hand_size": 2}, "1 105", "must name distinct cards of 1..104"),
        ({"deck": "logic"}, "1 2", "whole parts are wanted, that is 0 cards"),
    ],
)
def test_what_is_no_tree_is_refused(options: dict[str, Any], deal: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tree_of(Rules(**options), deal)


def test_illegal_actions_are_refused() -> None:
    node = tree_of(Rules(2, hand_size=2, num_rows=1, deck_size=5), "1 2, 3 4, 5").root()
    with pytest.raises(ValueError, match=r"action 2 .card 3. is illegal for player_0 now; legal are 0"):
        node.after([2, 2])


def uniform(seat: int, recall: str, view: np.void) -> dict[int, float]:
    """Any legal action."""
    masks = np.zeros((1, sixnimmt.GAME.num_actions), dtype=np.int8)
    sixnimmt.GAME.legal(np.array([view]), masks)
    legal = np.flatnonzero(masks[0]).tolist()
    return dict.fromkeys(legal, 1 / len(legal))


def reference_games(rules: Rules) -> Iterator[ReferenceGame]:
    """Every deal of the cards of `rules`, dealt by the slow rules, hands in every order."""
    options = {f: getattr(rules, f) for f in ("num_players", "deck", "professional", "hand_size", "num_rows", "row_capacity", "rounds")}
    size = None if rules.deck == "logic" else rules.highest_card
    if rules.deck == "logic":
        game = ReferenceGame(**options)
        game.start_draft()
        yield game
        return
    for cards in itertools.permutations(range(1, rules.highest_card + 1), rules.cards_dealt):
        hands = [cards[seat * rules.hand_size : (seat + 1) * rules.hand_size] for seat in range(rules.num_players)]
        game = ReferenceGame(**options, deck_size=size)
        game.start_round(hands, [[card] for card in cards[rules.num_players * rules.hand_size :]])
        yield game


def reference_mean(game: ReferenceGame) -> list[Fraction]:
    """What each seat loses on average when all play anything legal."""
    if game.phase == "round_over":
        game.start_draft()
    if game.phase == "over":
        return [Fraction(total) for total in game.totals]
    seats = game.to_act()
    courses = list(itertools.product(*(game.legal(seat) for seat in seats)))
    sums = [Fraction(0)] * game.num_players
    for actions in courses:
        twin = copy.deepcopy(game)
        twin.apply(dict(zip(seats, actions, strict=True)))
        sums = [total + part for total, part in zip(sums, reference_mean(twin), strict=True)]
    return [total / len(courses) for total in sums]


@pytest.mark.parametrize("rules", [SMALL[i] for i in (3, 4, 5, 6)], ids=name_of)
def test_exact_play_is_that_of_the_slow_rules(rules: Rules) -> None:
    games = list(reference_games(rules))
    means = [reference_mean(game) for game in games]
    expected = [float(sum(column) / len(games)) for column in zip(*means, strict=True)]
    assert exact.expected(tree_of(rules), uniform) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("rules", SMALL, ids=name_of)
def test_samples_agree_with_the_exact_mean(rules: Rules) -> None:
    tree = tree_of(rules)
    mean, error = exact.sampled(tree, uniform, 3000, seed=1)
    assert (np.abs(mean - exact.expected(tree, uniform)) <= 4 * error + 1e-12).all()


def test_all_seats_of_a_dealt_game_are_alike() -> None:
    greedy = agents.make("greedy")
    costs = exact.expected(tree_of(SMALL[0]), exact.by_agents(greedy, greedy))
    assert costs[0] == pytest.approx(costs[1], abs=1e-12)


def test_a_policy_with_illegal_actions_is_refused() -> None:
    with pytest.raises(ValueError, match="the policy wants illegal actions"):
        exact.expected(tree_of(SMALL[0]), lambda seat, recall, view: {0: 1.0})
