"""Agents by name, what they are asked and what they answer; agents of other packages, the broken ones included."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sixnimmt_env import agents
from sixnimmt_env.agents import Agent, as_views, decide
from sixnimmt_env.games import sixnimmt
from sixnimmt_env.games.sixnimmt import GAME, Rules, table_view
from tests.games.sixnimmt.playing import KINDS, all_views, content, dealt, legal_masks, seats_to_act, walk, walk_all_phases

OWN = list(GAME.heuristics)
DICE = ["random", "uniform"]


def some_views(deciding: bool = True) -> NDArray[np.void]:
    """Views of every deck and phase, 3 players."""
    found = []
    for deck, professional in KINDS:
        for states in walk_all_phases(Rules(num_players=3, deck=deck, professional=professional), 2, seed=1):
            found.append(all_views(states)[seats_to_act(states)[:, :3].ravel() == deciding])
    return np.concatenate(found)


# --- by name -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OWN)
def test_make_gives_the_agent_of_that_name(name: str) -> None:
    agent = agents.make(name, seed=5)
    assert (agent.name, agent.game, agent.seed) == (name, GAME, 5)
    assert repr(agent) == f"<agent {name!r} for sixnimmt>"
    assert agents.make(name, GAME).game is GAME
    assert agents.make(f"{name}:").name == name


def test_names_lists_every_agent_with_its_idea_in_one_line() -> None:
    known = agents.names()
    assert {name: known[name] for name in OWN} == {name: heuristic.idea for name, heuristic in GAME.heuristics.items()}
    assert all(idea and "\n" not in idea for idea in known.values())


UNKNOWN: list[tuple[Any, str]] = [
    ("gredy", "agent 'gredy' is unknown: did you mean 'greedy'? there are random, uniform, lowest, highest, closest, greedy"),
    ("Greedy", "did you mean 'greedy'?"),
    ("randm:3", "agent 'randm:3' is unknown: did you mean 'random'?"),
    ("hihgest", "did you mean 'highest'?"),
    ("zzz", "agent 'zzz' is unknown: there are random, "),
    ("", "agent '' is unknown: there are random, "),
    (":greedy", "agent ':greedy' is unknown: there are random, "),
    (None, "agent None must be named by a string"),
    ("greedy:3", "agent 'greedy:3': 'greedy' takes nothing after the colon"),
    ("random:seed=1", "'random' takes nothing after the colon"),
]


@pytest.mark.parametrize(("spec", "message"), UNKNOWN)
def test_unknown_agents_are_refused_with_what_there_is(spec: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        agents.make(spec)


def test_unknown_games_are_refused() -> None:
    for ask in (lambda: agents.make("greedy", "sixnimt"), lambda: agents.names("sixnimt")):
        with pytest.raises(ValueError, match="game 'sixnimt' is unknown: did you mean 'sixnimmt'"):
            ask()


@pytest.mark.parametrize("seed", [-1, 2**63, 1.0, True, None, "1"])
def test_bad_seeds_are_refused(seed: Any) -> None:
    agent = agents.make("random", seed=7)
    for use in (agent.reset, lambda bad: agents.make("random", seed=bad)):
        with pytest.raises(ValueError, match="must be a whole number from 0 to"):
            use(seed)
    assert agent.seed == 7


# --- what they are asked -----------------------------------------------------------------------------------------------


def test_views_come_as_arrays_or_sequences_of_records() -> None:
    views = some_views()[:20]
    expected = content(views)
    for form in (views, list(views), tuple(views), np.concatenate([views, views])[:20], np.repeat(views, 2)[::2]):
        array = as_views(GAME, form)
        assert (array.dtype, array.shape, array.flags.c_contiguous) == (GAME.view_dtype, (20,), True)
        assert (content(array) == expected).all()
    empty: list[Any] = [[], (), views[:0]]
    for nothing in empty:
        assert as_views(GAME, nothing).shape == (0,)
        assert agents.make("greedy").act(nothing).shape == (0,)


VIEW = table_view(hand=[5, 60], rows=[[1], [20], [40], [90]])
WRONG: list[tuple[Any, str]] = [
    (VIEW, r"not a single view: put it in a list, act\(\[view\]\)"),
    (np.array(VIEW), r"not an array of views, shape \(\)"),
    (np.array([[VIEW]]), r"not an array of views, shape \(1, 1\)"),
    (dealt(Rules(), 2), r"not an array of records of another kind, shape \(2,\)"),
    ([dealt(Rules(), 1)[0]], "not a list with records of another kind"),
    ([VIEW, 3, 4], "not a list with int and views"),
    ([1, 2], "not a list with int"),
    ([(1,), (2,)], "not a list with tuple"),
    ([[VIEW]], "not a list with list"),
    (np.zeros(3), r"not an array of float64, shape \(3,\)"),
    (np.array([VIEW, VIEW], dtype=object), r"not an array of object, shape \(2,\)"),
    ("greedy", "not str"),
    (None, "not NoneType"),
    (3, "not int"),
    ({"view": VIEW}, "not dict"),
]


@pytest.mark.parametrize(("views", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_is_no_view_is_refused(views: Any, message: str) -> None:
    with pytest.raises(TypeError, match="agents of sixnimmt take views, .*" + message + "$"):
        agents.make("greedy").act(views)


# --- what they answer --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OWN)
def test_answers_are_legal_and_wait_where_nothing_is_to_be_decided(name: str) -> None:
    views = some_views()
    actions = agents.make(name).act(views)
    assert actions.dtype == np.int64
    assert actions.shape == (len(views),)
    assert legal_masks(views)[np.arange(len(views)), actions].all()
    assert (agents.make(name).act(some_views(deciding=False)) == GAME.wait).all()


@pytest.mark.parametrize("name", OWN)
def test_answers_follow_from_seed_and_view_alone(name: str) -> None:
    """Not from the batch, from its order, or from what was asked before."""
    views = some_views()
    agent = agents.make(name, seed=3)
    answers = agent.act(views)
    order = np.random.default_rng(0).permutation(len(views))
    assert (agent.act(views) == answers).all()
    assert (agent.act(views[order]) == answers[order]).all()
    assert [int(agent.act([view])[0]) for view in views[:200]] == answers[:200].tolist()
    other = agents.make(name, seed=4).act(views)
    assert (other != answers).any() == (name in DICE)
    agent.reset(4)
    assert (agent.act(views) == other).all()
    agent.reset(3)
    assert (agent.act(views) == answers).all()


@pytest.mark.parametrize("name", OWN)
def test_asking_changes_neither_the_views_nor_former_answers(name: str) -> None:
    views = some_views()[:50]
    before = views.tobytes()
    agent = agents.make(name)
    first = agent.act(views)
    kept = first.copy()
    agent.act(views[25:])
    assert views.tobytes() == before
    assert (first == kept).all()


@pytest.mark.parametrize("name", OWN)
def test_agents_survive_pickling(name: str) -> None:
    views = some_views()[:50]
    agent = agents.make(name, seed=8)
    assert (pickle.loads(pickle.dumps(agent)).act(views) == agent.act(views)).all()


AT_A_TABLE = [
    (table_view(hand=[5, 60, 91], rows=[[1], [20], [40], [90]]), {4, 59, 90}),
    (table_view(hand=[2, 3, 4], rows=[[10, 11], [20], [40], [90]], num_players=10, seat=9, seen=[50, 51], penalties=[1] * 10), {1, 2, 3}),
    (table_view(hand=[7], rows=[[10], [20]], num_players=2, revealed={0: 5, 1: 30}), {104, 105}),
    (table_view(hand=[7], rows=[[10], [20]], num_players=2, revealed={0: 15, 1: 16}, professional=True), {104, 109}),
    (table_view(hand=[6], rows=[[9], [3], [12], [14]], num_players=2, deck="tactical"), {5}),
]


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize(("view", "allowed"), AT_A_TABLE)
def test_every_agent_can_be_asked_about_a_real_table(name: str, view: np.void, allowed: set[int]) -> None:
    assert set(np.flatnonzero(legal_masks(np.array([view]))[0]).tolist()) == allowed
    [action] = agents.make(name).act([view])
    assert action in allowed
    assert GAME.action_name(int(action)) in {GAME.action_name(one) for one in allowed}


# --- asked in batches --------------------------------------------------------------------------------------------------


class Scripted(Agent):
    """Answers what the script makes of the views, and keeps what it was asked."""

    def __init__(self, script: Any, name: str = "scripted") -> None:
        super().__init__(GAME, name)
        self.script = script
        self.asked: list[NDArray[np.void]] = []

    def _act(self, views: NDArray[np.void]) -> Any:
        self.asked.append(views.copy())
        return self.script(views)


def lowest(views: NDArray[np.void]) -> Any:
    return legal_masks(views).argmax(axis=1)


def test_decide_asks_each_agent_once_for_all_its_seats() -> None:
    players = [Scripted(lowest, "one"), Scripted(lowest, "two"), Scripted(lowest, "nobody")]
    rng = np.random.default_rng(0)
    for states in walk(Rules(num_players=3, rounds=2, deck="logic", professional=True), 6, seed=2):
        seating = np.full((len(states), 10), -1)
        seating[:, :3] = rng.integers(-1, 2, size=(len(states), 3))
        index = np.sort(rng.permutation(len(states))[:4])
        actions = np.full((len(index), 10), 77)
        for player in players:
            player.asked.clear()
        asked = decide(GAME, states, index, seating, players, actions)
        due = seats_to_act(states)[index]
        assert (asked == np.where(due, seating[index], -1)).all()
        assert [len(player.asked) for player in players] == [int((asked == number).any()) for number in range(3)]
        assert (actions[asked < 0] == 77).all()
        masks = legal_masks(all_views(states)).reshape(len(states), 3, -1)[index]
        rows, seats = np.nonzero(asked >= 0)
        assert (actions[rows, seats] == masks[rows, seats].argmax(axis=1)).all()


BAD_ANSWERS: list[tuple[Any, str]] = [
    (lambda views: lowest(views)[:-1], r"answered 4 views with an array of int64, shape \(3,\): one whole number each"),
    (lambda views: lowest(views)[:, None], r"answered 4 views with an array of int64, shape \(4, 1\)"),
    (lambda views: lowest(views).astype(float), "answered 4 views with an array of float64"),
    (lambda views: legal_masks(views)[:, 0], "answered 4 views with an array of bool"),
    (lambda views: None, r"answered 4 views with an array of object, shape \(\)"),
    (lambda views: 3, r"answered 4 views with an array of int64, shape \(\)"),
]


@pytest.mark.parametrize(("script", "message"), BAD_ANSWERS, ids=[message for _, message in BAD_ANSWERS])
def test_answers_of_the_wrong_kind_are_refused_with_the_agents_name(script: Any, message: str) -> None:
    with pytest.raises(TypeError, match="agent 'odd' " + message):
        ask_all([Scripted(script, "odd")])


@pytest.mark.parametrize("answer", [list, tuple, lambda a: a.astype(np.int8), lambda a: a.astype(np.uint16)])
def test_whole_numbers_of_every_kind_will_do(answer: Any) -> None:
    assert (ask_all([Scripted(lambda views: answer(lowest(views)))]) == ask_all([Scripted(lowest)])).all()


def ask_all(players: Sequence[Agent]) -> NDArray[np.int64]:
    states = dealt(Rules(), 1)
    actions = np.zeros((1, 10), dtype=np.int64)
    decide(GAME, states, np.arange(1), np.zeros((1, 10), dtype=np.int64), players, actions)
    return actions


def test_what_an_agent_raises_comes_through_with_its_name() -> None:
    class OutOfIdeas(Exception):
        pass

    def give_up(views: NDArray[np.void]) -> None:
        raise OutOfIdeas("no card is any good")

    with pytest.raises(OutOfIdeas, match="no card is any good") as caught:
        ask_all([Scripted(give_up, "the pessimist")])
    assert caught.value.__notes__ == ["raised by agent 'the pessimist'"]


# --- agents of other packages ------------------------------------------------------------------------------------------

PLUGINS = {
    "thoughtful": "sixnimmt_test_good:thoughtful",
    "terse": "sixnimmt_test_good:terse",
    "greedy": "sixnimmt_test_good:thoughtful",
    "importless": "sixnimmt_test_broken:agent",
    "absent": "sixnimmt_test_nowhere:agent",
    "renamed": "sixnimmt_test_good:gone",
    "garbled": "sixnimmt_test_garbled:agent",
    "hungry": "sixnimmt_test_good:hungry",
}
SOURCES = {
    "sixnimmt_test_good": '''
from sixnimmt_env.agents import make

def thoughtful(game, argument, seed):
    """thinks before it plays: thoughtful:HOW_LONG

    And more on that.
    """
    if argument and not argument.isdigit():
        raise ValueError(f"agent 'thoughtful' takes a number, not {argument!r}")
    agent = make("highest", game, seed)
    agent.name = f"thoughtful for {argument}"
    return agent

def terse(game, argument, seed):
    return make("lowest", game, seed)

def hungry(game, argument, seed):
    """needs much"""
    import sixnimmt_test_heavy_library
''',
    "sixnimmt_test_broken": 'raise RuntimeError("the library is missing\\nhere is more on that")',
    "sixnimmt_test_garbled": "def agent(:",
}
BROKEN = {
    "importless": "RuntimeError: the library is missing",
    "absent": "ModuleNotFoundError: No module named 'sixnimmt_test_nowhere'",
    "renamed": "AttributeError: module 'sixnimmt_test_good' has no attribute 'gone'",
    "garbled": "SyntaxError: ",
}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of agents, installed."""
    for module, source in SOURCES.items():
        (tmp_path / f"{module}.py").write_text(source)
        monkeypatch.delitem(sys.modules, module, raising=False)
    told = tmp_path / "sixnimmt_test_agents-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: sixnimmt-test-agents\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in PLUGINS.items()]
    (told / "entry_points.txt").write_text("\n".join(["[sixnimmt_env.agents]", *lines, ""]))
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("installed")
def test_plugins_are_made_by_name() -> None:
    agent = agents.make("thoughtful:30", seed=2)
    assert (agent.name, agent.seed, agent.game) == ("thoughtful for 30", 2, GAME)
    views = some_views()
    assert (agent.act(views) == agents.make("highest").act(views)).all()
    with pytest.raises(ValueError, match="takes a number, not 'long'"):
        agents.make("thoughtful:long")


@pytest.mark.usefixtures("installed")
def test_plugins_are_listed_with_their_idea_or_why_they_cannot_be_loaded() -> None:
    known = agents.names()
    assert known["thoughtful"] == "thinks before it plays: thoughtful:HOW_LONG"
    assert known["terse"] == "no description in sixnimmt_test_good:terse"
    for name, why in BROKEN.items():
        assert known[name].startswith(f"cannot be loaded from {PLUGINS[name]}: {why}")
    assert all(idea and "\n" not in idea for idea in known.values())
    assert list(known)[: len(OWN)] == OWN


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plugin_is_named_when_it_is_asked_for(name: str) -> None:
    message = f"agent {name!r} cannot be loaded from {PLUGINS[name]}: {BROKEN[name]}"
    with pytest.raises(ValueError, match=re.escape(message) + ".*; mend or uninstall the package that brings it$") as caught:
        agents.make(f"{name}:whatever")
    assert type(caught.value.__cause__).__name__ == BROKEN[name].split(":")[0]


@pytest.mark.usefixtures("installed")
def test_a_library_that_a_plugin_lacks_is_named() -> None:
    assert agents.names()["hungry"] == "needs much"
    message = (
        "agent 'hungry' cannot be loaded from sixnimmt_test_good:hungry: ModuleNotFoundError: No module named 'sixnimmt_test_heavy_library'"
    )
    with pytest.raises(ValueError, match=re.escape(message) + "; install what it needs$"):
        agents.make("hungry")


@pytest.mark.usefixtures("installed")
def test_nobody_else_notices_a_broken_plugin() -> None:
    """Nor is any plugin imported that was not asked for."""
    for name in OWN:
        assert type(agents.make(name)) is agents.HeuristicAgent
    with pytest.raises(ValueError, match="agent 'thoughtfull' is unknown: did you mean 'thoughtful'") as caught:
        agents.make("thoughtfull")
    assert all(f" {name}" in str(caught.value) for name in PLUGINS)
    assert not set(SOURCES) & set(sys.modules)
    agents.make("thoughtful")
    assert set(SOURCES) & set(sys.modules) == {"sixnimmt_test_good"}


@pytest.mark.usefixtures("installed")
def test_the_games_own_names_are_taken() -> None:
    assert agents.names()["greedy"] == GAME.heuristics["greedy"].idea
    assert agents.make("greedy").name == "greedy"


def test_the_contract_reads_as_documented() -> None:
    view = sixnimmt.table_view(hand=[5, 60], rows=[[1], [20], [40], [90]], num_players=4, seat=0, seen=[30], penalties=[0, 3, 0, 5])
    for spec in ("random", "lowest", "highest", "closest", "greedy"):
        assert agents.make(spec).act([view]).shape == (1,)
