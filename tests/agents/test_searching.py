"""Agents that search, and agents made of others: what they take, and that all follows from seed and view."""

from __future__ import annotations

import math
import re
import time
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from sixnimmt_env import agents
from sixnimmt_env.agents.base import SearchingAgent
from sixnimmt_env.agents.monte_carlo import MonteCarloAgent
from sixnimmt_env.agents.registry import SEARCHERS, WRAPPERS
from sixnimmt_env.agents.search import SearchAgent
from sixnimmt_env.arena.match import play
from sixnimmt_env.games.sixnimmt import GAME, Rules, table_view
from sixnimmt_env.games.sixnimmt.state import PICK
from tests.agents.test_agents import some_views
from tests.games.sixnimmt.playing import SMALL, VARIANTS, legal_masks, name_of, seats_to_act, views_of, walk_all_phases

SEARCHING = [
    "monte_carlo:rollouts=4",
    "monte_carlo:rollouts=2,policy=greedy",
    "monte_carlo:rollouts=2,policy=uniform",
    "search:rollouts=6",
    "search:rollouts=6,sharpness=3",
]
WRAPPED = [
    "epsilon:rate=0.5,of=greedy",
    "epsilon:rate=0.3,of=monte_carlo:rollouts=4,policy=random",
    "softmax:temperature=2,of=greedy",
    "softmax:temperature=0.5,of=search:rollouts=4",
    "rows:by=monte_carlo:rollouts=4,policy=random,of=greedy",
    "rows:by=lowest,of=epsilon:rate=0.2,of=softmax:temperature=1,of=monte_carlo:rollouts=4",
]
SPECS = [*SEARCHING, *WRAPPED]
QUICK = [re.sub(r"rollouts=\d", "rollouts=1", spec) for spec in SPECS]


# --- by name -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["monte_carlo", "search", *SPECS])
def test_they_are_named_as_they_were_asked_for(spec: str) -> None:
    agent = agents.make(spec, seed=3)
    assert (agent.name, agent.seed, agent.game) == (spec, 3, GAME)
    agent.reset(8)
    assert agent.seed == 8


def test_they_are_listed_in_one_line() -> None:
    known = agents.names()
    for name in (*SEARCHERS, *WRAPPERS):
        assert known[name]
        assert "\n" not in known[name]
        assert len(known[name]) <= 140


REFUSED: list[tuple[str, str]] = [
    ("monte_carlo:rollout=3", "agent 'monte_carlo' does not take 'rollout=3': did you mean 'rollouts'? it takes rollouts=100, seconds="),
    ("monte_carlo:100", "does not take '100'"),
    ("monte_carlo:rollouts=", "rollouts= must be a whole number from 1 to"),
    ("monte_carlo:rollouts=0", "rollouts=0 must be a whole number from 1 to"),
    ("monte_carlo:rollouts=1.5", "rollouts=1.5 must be a whole number"),
    ("monte_carlo:rollouts=5,rollouts=6", "is given rollouts twice"),
    ("monte_carlo:seconds=-1", "seconds=-1 must be a number from 0.0001 to 3600"),
    ("monte_carlo:seconds=nan", "seconds=nan must be a number"),
    ("monte_carlo:policy=gredy", "policy='gredy' is unknown: choose one of random, uniform"),
    ("search:rollouts=0", "agent 'search': rollouts=0 must be a whole number from 1 to"),
    ("search:sharpness=-1", "sharpness=-1 must be a number from 0 to 10"),
    ("search:policy=random", "agent 'search' does not take 'policy=random'"),
]


@pytest.mark.parametrize(("spec", "message"), REFUSED)
def test_what_they_do_not_take_is_refused(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        agents.make(spec)


# --- what they answer --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", SPECS)
def test_answers_follow_from_seed_and_view_alone(spec: str) -> None:
    views = some_views()
    agent = agents.make(spec, seed=3)
    answers = agent.act(views)
    order = np.random.default_rng(0).permutation(len(views))
    assert (agent.act(views[order]) == answers[order]).all()
    assert [int(agent.act([view])[0]) for view in views[:60]] == answers[:60].tolist()
    other = agents.make(spec, seed=4).act(views)
    assert (other != answers).any()
    agent.reset(4)
    assert (agent.act(views) == other).all()


@pytest.mark.parametrize("rules", [*VARIANTS, *SMALL], ids=name_of)
def test_answers_are_legal(rules: Rules) -> None:
    """In play against each other."""
    players = [agents.make(spec, seed=1) for spec in QUICK]
    games = -(-len(QUICK) // rules.num_players)
    seating = np.arange(games * rules.num_players).reshape(games, -1) % len(QUICK)
    played = play(GAME, rules, players, seating, np.arange(games), seed=2)
    assert not played.illegal.any()
    assert (played.decisions > 0).all()


@pytest.mark.parametrize("spec", SPECS)
def test_who_has_nothing_to_decide_waits(spec: str) -> None:
    assert (agents.make(spec).act(some_views(deciding=False)[:40]) == GAME.wait).all()
    assert agents.make(spec).act(some_views()[:0]).shape == (0,)


class Counting(SearchingAgent):
    """Keeps how many views it was to search."""

    asked = 0

    def statistics(self, views: NDArray[np.void]) -> NDArray[np.float64]:
        self.asked += len(views)
        return np.ones((len(views), GAME.num_actions, len(GAME.stats)))


def test_what_is_forced_is_not_searched() -> None:
    agent = Counting(GAME, "counting")
    views = np.concatenate([some_views(), some_views(deciding=False)])
    agent.act(views)
    assert agent.asked == (legal_masks(views).sum(axis=1) > 1).sum()
    view = table_view([33], [[1], [20], [40], [90]])
    for spec in SPECS:
        assert agents.make(spec).act([view]).tolist() == [32]


def test_the_least_mean_is_taken_and_of_equals_the_first() -> None:
    class Fixed(SearchingAgent):
        tried: ClassVar[dict[int, tuple[int, int]]] = {}

        def statistics(self, views: NDArray[np.void]) -> NDArray[np.float64]:
            stats = np.zeros((1, GAME.num_actions, len(GAME.stats)))
            for card, (count, total) in self.tried.items():
                stats[0, card - 1, :2] = count, total
            return stats

    view, agent = table_view([5, 17, 60], [[1], [20], [40], [90]]), Fixed(GAME, "fixed")
    for tried, card in (({5: (2, 6), 17: (2, 4), 60: (2, 4)}, 17), ({5: (2, 2), 17: (9, 45), 60: (9, 8)}, 60)):
        Fixed.tried = tried
        assert agent.act([view]).tolist() == [card - 1]


@pytest.mark.parametrize("spec", ["monte_carlo:seconds=0.002", "search:seconds=0.002", "search:seconds=0.05"])
def test_thinking_for_a_time_comes_to_an_end(spec: str) -> None:
    views = some_views()[::100]
    actions = agents.make(spec).act(views)
    assert legal_masks(views)[np.arange(len(views)), actions].all()


def test_more_time_is_more_playouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that goes on by a second for each playout of an action."""
    now = 0.0

    class Clocked(SearchAgent):
        def _play(self, views: NDArray[np.void], first: int, count: int, stats: NDArray[np.float64]) -> None:
            nonlocal now
            now += count
            super()._play(views, first, count, stats)

    monkeypatch.setattr(time, "perf_counter", lambda: now)
    view = np.array([table_view([5, 60], [[1], [20], [40], [90]])])
    for seconds, playouts in ((1.0, 32), (50.0, 64), (128.0, 128)):
        assert Clocked(GAME, seconds=seconds).statistics(view)[0, :, 0].max() == playouts


@pytest.mark.parametrize("deck", ["standard", "tactical", "logic"])
def test_what_is_hidden_changes_nothing(deck: Any) -> None:
    """In games that differ only in what the seat may not know: others' hands and picks, and the cards to come."""
    rng, differing = np.random.default_rng(0), 0
    players = [agents.make(spec, seed=1) for spec in QUICK]
    for states in walk_all_phases(Rules(num_players=3, deck=deck, professional=True), 2, seed=3):
        games, seats = np.nonzero(seats_to_act(states))
        for seat in range(3):
            index = games[seats == seat]
            other = states.copy()
            GAME.disguise(other, index, np.full(len(index), seat), rng.integers(0, 2**63, size=len(index)).astype(np.uint64))
            differing += int((other["hands"][index] != states["hands"][index]).any())
            views, same = (views_of(records, index, np.full(len(index), seat)) for records in (states, other))
            for agent in players:
                assert (agent.act(views) == agent.act(same)).all()
    assert (differing > 0) == (deck != "logic")


def test_statistics_are_sums_by_action() -> None:
    views = np.concatenate([some_views()[::40], some_views(deciding=False)[:3]])
    for spec in ("monte_carlo:rollouts=5", "search:rollouts=5"):
        agent = agents.make(spec)
        assert isinstance(agent, SearchingAgent)
        stats = agent.statistics(views)
        assert (stats.shape, stats.dtype) == ((len(views), GAME.num_actions, len(GAME.stats)), np.float64)
        assert ((stats[:, :, 0] > 0) == legal_masks(views)).all()
        assert not stats[stats[:, :, 0] == 0].any()
        assert agent.statistics(views[:0]).shape == (0, GAME.num_actions, len(GAME.stats))


def test_no_sharpness_is_no_model() -> None:
    views = some_views()
    plain, flat = agents.make("search:rollouts=9,sharpness=0", seed=5), agents.make("monte_carlo:rollouts=9", seed=5)
    assert (plain.act(views) == flat.act(views)).all()
    assert (agents.make("search:rollouts=9", seed=5).act(views) != flat.act(views)).any()


# --- what they find ----------------------------------------------------------------------------------------------------

# hand, rows, further options, card or row: plain cases, in which everybody who looks ahead agrees
FOUND: list[tuple[list[int], list[list[int]], dict[str, Any], int]] = [
    ([62, 38], [[3, 12], [37], [55, 57, 58, 60, 61], [98]], {}, 37),
    ([70], [[20, 30, 40], [44, 55], [8], [60, 61, 62]], {"revealed": {0: 5, 1: 90, 2: 91, 3: 92}}, 106),
    # The cheapest row is 44, but 86 would have to take the full one in the next turn.
    ([86], [[20, 30], [44], [55, 57], [80, 81, 82, 83, 84]], {"revealed": {0: 5, 1: 6, 2: 7, 3: 8}}, 107),
    # Professional: at the end of the row that has room, not in front of the full one.
    ([90], [[50], [60, 61, 62, 63, 64], [30], [20]], {"revealed": {0: 55, 1: 104}, "num_players": 2, "professional": True}, 104),
]


@pytest.mark.parametrize("spec", ["monte_carlo:rollouts=300", "monte_carlo:rollouts=60,policy=greedy", "search:rollouts=300"])
@pytest.mark.parametrize(("hand", "rows", "options", "action"), FOUND)
def test_plain_cases(spec: str, hand: list[int], rows: list[list[int]], options: dict[str, Any], action: int) -> None:
    assert agents.make(spec).act([table_view(hand, rows, **options)]).tolist() == [action]


def test_values_are_mean_costs_of_legal_actions() -> None:
    views = some_views()[::5]
    for spec in ("greedy", "monte_carlo:rollouts=5", "search:rollouts=5", "softmax:of=greedy"):
        values = agents.make(spec, seed=2).values(views)
        assert (np.isfinite(values) == legal_masks(views)).all()
        assert (values[np.isfinite(values)] >= 0).all()
    picking = views[views["table"]["phase"] == PICK]
    least = agents.make("greedy").values(picking)
    chosen = agents.make("greedy").act(picking)
    assert (least[np.arange(len(picking)), chosen] == least.min(axis=1)).all()
    flat = agents.make("monte_carlo:rollouts=5", seed=2)
    due = legal_masks(views).sum(axis=1) > 1
    assert (flat.values(views).argmin(axis=1) == flat.act(views))[due].all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rollouts": 0}, "rollouts=0 must be a whole number from 1 to"),
        ({"rollouts": -5}, "rollouts=-5 must be"),
        ({"rollouts": 2.5}, "rollouts=2.5 must be"),
        ({"rollouts": True}, "rollouts=True must be"),
        ({"seconds": 0}, "seconds=0 must be a number from 0.0001 to"),
        ({"seconds": math.nan}, "seconds=nan must be"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [MonteCarloAgent, SearchAgent])
def test_numbers_given_in_python_are_checked_as_well(kind: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        kind(GAME, **options)


def test_a_sharpness_that_is_none() -> None:
    with pytest.raises(ValueError, match=r"sharpness=-1.0 must be a number from 0 to 10"):
        SearchAgent(GAME, sharpness=-1.0)
    assert SearchAgent(GAME, rollouts=np.int64(3), sharpness=2).act([table_view(hand=[3, 40], rows=[[5]])]) in (2, 39)  # type: ignore[arg-type]
