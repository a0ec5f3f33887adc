"""The games in OpenSpiel: its own checks, what players know, and values that its solvers, other solutions and the engine agree on."""

from __future__ import annotations

import copy
import itertools
import pickle
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: pip install '.[openspiel]'")
pytest.importorskip("ecos", reason="the solver of its linear programs is not installed: pip install '.[openspiel]'")

from open_spiel.python import policy as spiel_policy  # noqa: E402
from open_spiel.python.algorithms import cfr, expected_game_score, exploitability, get_all_states, sequence_form_lp  # noqa: E402
from scipy.optimize import linprog  # noqa: E402

from sixnimmt_env import agents  # noqa: E402
from sixnimmt_env.games import sixnimmt  # noqa: E402
from sixnimmt_env.interop import exact  # noqa: E402
from sixnimmt_env.interop import open_spiel as ours  # noqa: E402
from tests.interop.test_tree import SMALL, knowledge, name_of  # noqa: E402
from tests.reference import ROW_ACTION, ReferenceGame  # noqa: E402

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("default")]

VARIANTS = [f"deck={deck},professional={side}" for deck in sixnimmt.DECKS for side in (False, True)]


def load(parameters: str) -> Any:
    return pyspiel.load_game(f"python_sixnimmt({parameters})")


def spelled(rules: sixnimmt.Rules) -> str:
    """The parameters of `rules`."""
    size = rules.deck_size or 0
    return (
        f"players={rules.num_players},deck={rules.deck},professional={rules.professional},hand_size={rules.hand_size},"
        f"num_rows={rules.num_rows},row_capacity={rules.row_capacity},deck_size={size},rounds={rules.rounds}"
    )


# --- OpenSpiel's own checks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reward", ours.REWARDS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("players", range(2, 11))
def test_random_simulations(players: int, variant: str, reward: str) -> None:
    game = load(f"players={players},{variant},reward={reward}")
    pyspiel.random_sim_test(game, num_sims=1, serialize=False, verbose=False)
    pyspiel.random_sim_test(pyspiel.convert_to_turn_based(game), num_sims=1, serialize=False, verbose=False)


@pytest.mark.parametrize("rules", SMALL, ids=name_of)
def test_random_simulations_that_are_saved_and_loaded(rules: sixnimmt.Rules) -> None:
    game = load(spelled(rules))
    for form in (game, pyspiel.convert_to_turn_based(game)):
        pyspiel.random_sim_test(form, num_sims=10, serialize=True, verbose=False)


@pytest.mark.parametrize("rules", SMALL, ids=name_of)
def test_states_can_be_saved_copied_and_played_again(rules: sixnimmt.Rules) -> None:
    rng = np.random.default_rng(0)
    game = load(spelled(rules))
    state = game.new_initial_state()
    while not state.is_terminal():
        serialized = pyspiel.serialize_game_and_state(game, state)
        for other in (pyspiel.deserialize_game_and_state(serialized)[1], pickle.loads(pickle.dumps(state)), copy.deepcopy(state)):
            assert str(other) == str(state)
            assert other.history_str() == state.history_str()
        move(state, rng)
    again = game.new_initial_state()
    for action in replayable(state):
        again.apply_actions(action) if isinstance(action, list) else again.apply_action(action)
    assert str(again) == str(state)
    assert again.returns() == state.returns()


def move(state: Any, rng: np.random.Generator) -> None:
    if state.is_simultaneous_node():
        state.apply_actions([int(rng.choice(state.legal_actions(p))) for p in range(state.get_game().num_players())])
    else:
        state.apply_action(int(rng.choice(state.legal_actions())))


def replayable(state: Any) -> Iterator[Any]:
    """The history of a state as what was applied to it."""
    deck = state.node.tree.extent.deck
    yield from (deck.index(card) for card in state.node.cards)
    for actions in state.node.played:
        acted = [action for action in actions if action >= 0]
        yield list(actions) if len(acted) > 1 else acted[0]


# --- the interface ------------------------------------------------------------------------------------------------------


def test_parameters_are_the_options_of_the_rules() -> None:
    assert load("").tree.rules == sixnimmt.Rules()
    game = load("players=3,hand_size=2,num_rows=2,row_capacity=3,deck_size=20,professional=True")
    assert game.tree.rules == sixnimmt.Rules(3, hand_size=2, num_rows=2, row_capacity=3, deck_size=20, professional=True)
    assert game.num_players() == 3
    assert game.num_distinct_actions() == sixnimmt.GAME.wait
    assert game.max_chance_outcomes() == 20
    assert game.max_chance_nodes_in_history() == 8
    assert load("deck=logic,rounds=3").max_chance_nodes_in_history() == 0
    assert load("deck=logic,rounds=3").get_type().chance_mode == pyspiel.GameType.ChanceMode.DETERMINISTIC


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("players=11", "num_players=11 must be a whole number from 2 to 10"),
        ("rounds=2", "rounds=2 are as many deals"),
        ("rounds=0,target=66", "a match to a target has no bounds"),
        ("reward=wins", "reward='wins' is unknown: choose one of 'relative', 'heads'"),
        ("hand_size=2,deal=1 2 3", "holds 3 cards: whole parts are wanted"),
    ],
)
def test_impossible_parameters_are_refused(parameters: str, message: str) -> None:
    with pytest.raises((ValueError, pyspiel.SpielError), match=message):
        load(parameters)


@pytest.mark.parametrize("players", [2, 3, 7])
def test_utilities(players: int) -> None:
    """Relative: the mean of all minus the own heads, which adds up to nothing; heads: minus the own."""
    rng = np.random.default_rng(players)
    relative, heads = (load(f"players={players},reward={reward}").new_initial_state() for reward in ours.REWARDS)
    assert relative.get_game().utility_sum() == 0.0
    assert heads.get_game().utility_sum() is None
    sums = np.zeros(players)
    while not relative.is_terminal():
        before = copy.deepcopy(relative)
        move(relative, rng)
        history = [item.action for item in relative.full_history()][len(before.full_history()) :]
        heads.apply_actions(history) if len(history) > 1 else heads.apply_action(history[0])
        sums += relative.rewards()
        assert relative.returns() == pytest.approx(sums.tolist())
        assert sum(relative.returns()) == pytest.approx(0.0, abs=1e-9)
        assert relative.returns() == pytest.approx((np.array(heads.returns()) - np.mean(heads.returns())).tolist())
    assert min(heads.returns()) < 0
    assert heads.returns() == [-cost for cost in heads.node.costs()]


def test_words() -> None:
    state = load("players=2,hand_size=1,num_rows=2,deck_size=5,deal=c2").new_initial_state()
    assert [state.action_to_string(action) for action in state.legal_actions()] == ["deal 1", "deal 3", "deal 4", "deal 5"]
    assert str(state) == "dealt: 2"
    for action in (0, 4, 3):  # seat 1 holds 1, the rows are 5 and 4
        state.apply_action(action)
    assert state.is_simultaneous_node()
    assert state.action_to_string(0, 1) == "card 2"
    assert state.observation_string(0) != state.observation_string(1)
    state.apply_actions([1, 0])
    assert state.current_player() == 1  # 1 lies below both rows: its owner takes one
    assert [state.action_to_string(1, action) for action in state.legal_actions()] == ["row 0", "row 1"]
    with pytest.raises(ValueError, match=r"action 5 .card 6. is illegal for player_1 now; legal are 104 .row 0., 105 .row 1."):
        state.apply_action(5)
    state.apply_action(105)
    assert "took 1 head" in str(state)
    lines = state.information_state_string(1).splitlines()
    assert [line.split(":")[0] for line in lines[1:]] == ["card 1", "row 1"]
    assert "hand={1}" in lines[0]
    assert "2" not in lines[0].split("hand=")[1]


def test_the_interpreter_ends_well_with_a_registered_game() -> None:
    code = "import pyspiel, sixnimmt_env.interop.open_spiel as o; g = pyspiel.load_game('python_sixnimmt'); g.new_initial_state()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


# --- what players know --------------------------------------------------------------------------------------------------


def all_states(game: Any) -> Iterator[Any]:
    todo = [game.new_initial_state()]
    while todo:
        state = todo.pop()
        yield state
        if state.is_terminal():
            continue
        if state.is_simultaneous_node():
            for actions in itertools.product(*(state.legal_actions(p) for p in range(game.num_players()))):
                child = state.clone()
                child.apply_actions(list(actions))
                todo.append(child)
        else:
            todo += [state.child(action) for action in state.legal_actions()]


@pytest.mark.parametrize("rules", SMALL, ids=name_of)
def test_information_states_are_what_a_player_knows(rules: sixnimmt.Rules) -> None:
    """Strings and tensors, over all pairs of states: equal exactly where the knowledge is equal."""
    found: dict[tuple[int, Any], set[tuple[str, bytes]]] = defaultdict(set)
    for state in all_states(load(spelled(rules))):
        if state.is_chance_node():
            assert state.information_state_string(0) == ""
            continue
        for seat in range(rules.num_players):
            tensor = np.array(state.information_state_tensor(seat), dtype=np.float32)
            assert tensor.min() >= 0.0
            assert tensor.max() <= 1.0
            found[seat, knowledge(state.node, seat)].add((state.information_state_string(seat), tensor.tobytes()))
    assert all(len(views) == 1 for views in found.values())
    for part in (0, 1):
        told = [(seat, next(iter(views))[part]) for (seat, _), views in found.items()]
        assert len(set(told)) == len(told)


def test_the_turn_based_form_hides_a_pick_until_all_have_picked() -> None:
    game = pyspiel.convert_to_turn_based(load("players=2,hand_size=2,num_rows=1,deck_size=5,deal=1 2 3 4 5"))
    state = game.new_initial_state()
    seen = {state.child(action).information_state_string(1) for action in state.legal_actions()}
    assert len(seen) == 1
    own = {state.child(action).information_state_string(0) for action in state.legal_actions()}
    assert len(own) == 2


@pytest.mark.parametrize("recall", [False, True])
@pytest.mark.parametrize("private", [pyspiel.PrivateInfoType.SINGLE_PLAYER, pyspiel.PrivateInfoType.ALL_PLAYERS])
def test_observers(recall: bool, private: Any) -> None:
    game = load("players=3,hand_size=3")
    observer = game.make_py_observer(pyspiel.IIGObservationType(perfect_recall=recall, private_info=private))
    names = ["player", "observation", *(["dealt", "actions"] if recall else [])]
    assert list(observer.dict) == names
    state, rng = game.new_initial_state(), np.random.default_rng(0)
    while not state.is_terminal():
        move(state, rng)
        observer.set_from(state, 1)
        assert observer.dict["player"].tolist() == [0, 1, 0]
        assert observer.tensor.tolist() == np.concatenate([observer.dict[name].ravel() for name in names]).tolist()
        if state.is_chance_node():
            assert observer.tensor.sum() == 1
            continue
        wanted = np.empty((1, sixnimmt.LAYOUT.size), dtype=np.float32)
        open_hands = private == pyspiel.PrivateInfoType.ALL_PLAYERS
        sixnimmt.GAME.encode(state.node.views(1, open_hands), wanted)
        assert (observer.dict["observation"] == wanted[0]).all()
        assert observer.string_from(state, 1)
        if not open_hands and not recall:
            assert state.observation_tensor(1) == observer.tensor.tolist()
    assert recall == ("actions" in observer.dict)
    if recall:
        assert (observer.dict["actions"][:3].max(axis=1) > 0).all()


@pytest.mark.parametrize("kind", [{"public_info": False}, {"private_info": pyspiel.PrivateInfoType.NONE}], ids=str)
def test_other_observers_are_refused(kind: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="observations of python_sixnimmt hold what is public"):
        load("").make_py_observer(pyspiel.IIGObservationType(perfect_recall=False, **kind))
    with pytest.raises(ValueError, match="take no parameters"):
        load("").make_py_observer(None, {"size": 1})


# --- values -------------------------------------------------------------------------------------------------------------

VALUES = [
    ("hand_size=2,num_rows=1,row_capacity=1,deck_size=5", Fraction(0)),
    ("hand_size=2,num_rows=2,row_capacity=1,deck_size=6,deal=2 5", Fraction(1, 4)),
    ("hand_size=2,num_rows=2,row_capacity=2,deck_size=7,deal=3 5", Fraction(3253, 5040)),
    ("hand_size=3,num_rows=1,row_capacity=2,deck_size=7,deal=1 4 6", Fraction(-7, 16)),
]


@pytest.mark.parametrize(("parameters", "value"), VALUES)
def test_the_engine_reproduces_the_value(parameters: str, value: Fraction) -> None:
    game = load(f"players=2,{parameters}")
    turn_based = pyspiel.convert_to_turn_based(game)
    first, second, *equilibrium = sequence_form_lp.solve_zero_sum_game(turn_based)
    assert first == pytest.approx(float(value), abs=1e-6)
    assert second == pytest.approx(-float(value), abs=1e-6)
    policy = ours.tabular(equilibrium)
    costs = exact.expected(game.tree, policy)
    assert (costs[1] - costs[0]) / 2 == pytest.approx(float(value), abs=1e-6)
    mean, error = exact.sampled(game.tree, policy, 4_000, seed=1)
    assert (np.abs(mean - costs) <= 4 * error + 1e-6).all()
    assert (error > 0).any()


def test_cfr_finds_the_same_value() -> None:
    parameters, value = VALUES[1]
    game = load(f"players=2,{parameters}")
    turn_based = pyspiel.convert_to_turn_based(game)
    solver = cfr.CFRPlusSolver(turn_based)
    for _ in range(100):
        solver.evaluate_and_update_policy()
    average = solver.average_policy()
    assert exploitability.exploitability(turn_based, average) < 1e-4
    costs = exact.expected(game.tree, ours.tabular([average, average]))
    assert (costs[1] - costs[0]) / 2 == pytest.approx(float(value), abs=2e-4)


def matrix_value(payoffs: list[list[float]]) -> float:
    """The value of a matrix game to the player of the rows: the most v that a mixture of rows guarantees in every column."""
    matrix = np.array(payoffs)
    rows, columns = matrix.shape
    solved = linprog(
        [*np.zeros(rows), -1.0],
        A_ub=np.hstack([-matrix.T, np.ones((columns, 1))]),
        b_ub=np.zeros(columns),
        A_eq=[[*np.ones(rows), 0.0]],
        b_eq=[1.0],
        bounds=[*[(0, None)] * rows, (None, None)],
    )
    return float(-solved.fun)


def open_value(game: ReferenceGame) -> float:
    """The value to seat 0 of a game with open hands, by the slow rules, from the end to the beginning."""
    if game.phase == "over":
        return (game.totals[1] - game.totals[0]) / 2

    def following(actions: dict[int, int]) -> float:
        twin = copy.deepcopy(game)
        twin.apply(actions)
        return open_value(twin)

    seats = game.to_act()
    if len(seats) == 1:
        values = [following({seats[0]: action}) for action in game.legal(seats[0])]
        return max(values) if seats[0] == 0 else min(values)
    return matrix_value([[following({0: a, 1: b}) for b in game.legal(1)] for a in game.legal(0)])


@pytest.mark.parametrize(
    "options",
    [
        {"hand_size": 2, "num_rows": 1, "row_capacity": 1},
        {"hand_size": 2, "num_rows": 1, "row_capacity": 2, "professional": True},
        {"hand_size": 1, "num_rows": 3, "row_capacity": 1, "professional": True},
        {"hand_size": 1, "num_rows": 4, "row_capacity": 2},
    ],
    ids=str,
)
def test_the_value_of_an_open_game_is_that_of_backward_induction(options: dict[str, Any]) -> None:
    game = load("players=2,deck=logic," + ",".join(f"{name}={value}" for name, value in options.items()))
    value, _, *equilibrium = sequence_form_lp.solve_zero_sum_game(pyspiel.convert_to_turn_based(game))
    slow = ReferenceGame(num_players=2, deck="logic", **options)
    slow.start_draft()
    assert value == pytest.approx(open_value(slow), abs=1e-6)
    costs = exact.expected(game.tree, ours.tabular(equilibrium))
    assert (costs[1] - costs[0]) / 2 == pytest.approx(value, abs=1e-6)


def first_cards_value(own: tuple[int, int], row: int, deck: int, capacity: int) -> float:
    """The value to seat 0 that holds the cards `own`, both players knowing it, over the hands of seat 1, with one row.

    Then the first card is the only choice, and seat 1 chooses for each of its hands: the most sum of v(hand) such that v(hand) is no more
    than the mixture of seat 0 earns against either card of that hand.
    """
    rest = [card for card in range(1, deck + 1) if card not in (*own, row)]
    hands = list(itertools.combinations(rest, 2))
    bounds, limits = [], []
    for i, hand in enumerate(hands):
        for theirs in hand:
            earned = [-played(own, hand, row, deck, capacity, mine, theirs) for mine in own]
            bounds.append([*earned, *np.eye(len(hands))[i]])
            limits.append(0.0)
    solved = linprog(
        [0.0, 0.0, *[-1.0] * len(hands)],
        A_ub=bounds,
        b_ub=limits,
        A_eq=[[1.0, 1.0, *[0.0] * len(hands)]],
        b_eq=[1.0],
        bounds=[(0, None), (0, None), *[(None, None)] * len(hands)],
    )
    return float(-solved.fun) / len(hands)


def played(own: tuple[int, ...], hand: tuple[int, ...], row: int, deck: int, capacity: int, mine: int, theirs: int) -> float:
    """What seat 0 gains by the slow rules when these first cards are played."""
    game = ReferenceGame(num_players=2, hand_size=2, num_rows=1, row_capacity=capacity, deck_size=deck)
    game.start_round([own, hand], [[row]])
    game.apply({0: mine - 1, 1: theirs - 1})
    while game.phase != "over":
        game.apply({seat: ROW_ACTION if game.phase == "row" else game.legal(seat)[0] for seat in game.to_act()})
    return (game.totals[1] - game.totals[0]) / 2


@pytest.mark.parametrize(("own", "deck", "capacity"), [((2, 4), 6, 1), ((1, 5), 6, 2), ((3, 4), 7, 1), ((2, 6), 7, 2)])
def test_the_value_with_hidden_hands_is_that_of_another_program(own: tuple[int, int], deck: int, capacity: int) -> None:
    game = load(f"players=2,hand_size=2,num_rows=1,row_capacity={capacity},deck_size={deck},deal={own[0]} {own[1]}")
    value, *_ = sequence_form_lp.solve_zero_sum_game(pyspiel.convert_to_turn_based(game))
    rows = [row for row in range(1, deck + 1) if row not in own]
    assert value == pytest.approx(np.mean([first_cards_value(own, row, deck, capacity) for row in rows]), abs=1e-6)


# --- agents -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [SMALL[0], SMALL[2], SMALL[5]], ids=name_of)
def test_agents_score_in_open_spiel_as_on_the_engine(rules: sixnimmt.Rules) -> None:
    game = load(spelled(rules))
    turn_based = pyspiel.convert_to_turn_based(game)
    greedy, lowest = agents.make("greedy"), agents.make("lowest")
    costs = exact.expected(game.tree, exact.by_agents(greedy, lowest))
    policies = [ours.AgentPolicy(turn_based, agent) for agent in (greedy, lowest)]
    score = expected_game_score.policy_value(turn_based.new_initial_state(), policies)
    assert score == pytest.approx([(costs[1] - costs[0]) / 2, (costs[0] - costs[1]) / 2], abs=1e-9)


def test_both_forms_find_the_same_best_response() -> None:
    game = load(f"players=2,{VALUES[1][0]}")
    gains = [
        exploitability.nash_conv(form, ours.AgentPolicy(form, agents.make("greedy")), return_only_nash_conv=False).player_improvements
        for form in (game, pyspiel.convert_to_turn_based(game))
    ]
    assert gains[0] == pytest.approx(gains[1], abs=1e-9)
    assert (gains[0] > 0.01).any()


def test_dice_are_thrown_again_and_again() -> None:
    game = load("players=2,hand_size=2,num_rows=2,row_capacity=1,deck_size=6,deal=2 5")
    policy = ours.AgentPolicy(game, agents.make("uniform"), throws=400)
    states = [state for state in get_all_states.get_all_states(pyspiel.convert_to_turn_based(game)).values() if state.current_player() >= 0]
    uniform = spiel_policy.UniformRandomPolicy(game)
    for state in states[::10]:
        wanted = uniform.action_probabilities(state)
        assert policy.action_probabilities(state) == pytest.approx(wanted, abs=4 * 0.5 / 20)
        assert sum(policy.action_probabilities(state).values()) == pytest.approx(1.0)


def test_an_equilibrium_cannot_be_exploited_and_agents_can() -> None:
    parameters, _ = VALUES[1]
    turn_based = pyspiel.convert_to_turn_based(load(f"players=2,{parameters}"))
    losses = [
        exploitability.exploitability(turn_based, ours.AgentPolicy(turn_based, agents.make(name), 64)) for name in ("random", "greedy")
    ]
    assert min(losses) > 0.01
