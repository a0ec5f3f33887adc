"""Agents made of others: how often they differ from these, and by which chances. What holds for all agents by name is in test_searching."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.typing import NDArray

from sixnimmt_env import agents
from sixnimmt_env.agents import Agent
from sixnimmt_env.agents.wrappers import EpsilonAgent, RowsAgent, SoftmaxAgent
from sixnimmt_env.games.sixnimmt import GAME, table_view
from sixnimmt_env.games.sixnimmt.state import PICK
from tests.agents.test_agents import some_views
from tests.games.sixnimmt.playing import legal_masks

REFUSED: list[tuple[str, str]] = [
    ("epsilon", "agent 'epsilon:' must end in the agent that it is made of: epsilon:...,of=greedy"),
    ("epsilon:rate=0.1", "must end in the agent that it is made of"),
    ("epsilon:rate=0.1,of=", "must end in the agent that it is made of"),
    ("epsilon:rate=2,of=greedy", "agent 'epsilon': rate=2 must be a number from 0 to 1"),
    ("epsilon:of=gredy", "agent 'gredy' is unknown: did you mean 'greedy'?"),
    ("softmax:temperature=0,of=greedy", "temperature=0 must be a number from 0.001 to"),
    ("softmax:of=random", "agent 'random' does not say what an action costs: greedy, monte_carlo and search do"),
    ("softmax:of=epsilon:of=greedy", "agent 'epsilon:of=greedy' does not say what an action costs"),
    ("rows:of=greedy", "must say who chooses the rows: rows:by=search,of=greedy"),
    ("rows:by=,of=greedy", "must say who chooses the rows"),
    ("rows:by=nobody,of=greedy", "agent 'nobody' is unknown"),
    ("rows:chooser=greedy,of=greedy", "must say who chooses the rows"),
    ("rows:by=epsilon:rate=0.5,of=lowest,of=greedy", "agent 'lowest,of=greedy' is unknown"),
    (
        "epsilon:rate=0.1,of=rows:by=lowest,of=monte_carlo:rollout=5",
        "agent 'monte_carlo' does not take 'rollout=5': did you mean 'rollouts'?",
    ),
    ("epsilon:rate=0.1,rat=0.2,of=greedy", "agent 'epsilon' does not take 'rat=0.2': did you mean 'rate'?"),
    ("softmax:temperature=warm,of=greedy", "agent 'softmax': temperature=warm must be a number from 0.001 to"),
]


@pytest.mark.parametrize(("spec", "message"), REFUSED)
def test_what_they_do_not_take_is_refused(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        agents.make(spec)


def share_alike(one: Agent, other: Agent, views: NDArray[np.void]) -> float:
    return float((one.act(views) == other.act(views)).mean())


def answers_by_seed(spec: str, views: NDArray[np.void], seeds: int) -> NDArray[np.int64]:
    """(seeds, k)"""
    agent, answers = agents.make(spec), []
    for seed in range(seeds):
        agent.reset(seed)
        answers.append(agent.act(views))
    return np.array(answers)


def test_the_rate_is_that_of_other_decisions() -> None:
    views = some_views()
    views = np.concatenate([views, some_views(deciding=False)])
    masks = legal_masks(views)
    greedy = agents.make("greedy")
    assert share_alike(agents.make("epsilon:rate=0,of=greedy"), greedy, views) == 1.0
    for rate in (0.2, 0.7, 1.0):
        agent = agents.make(f"epsilon:rate={rate},of=greedy")
        options = masks.sum(axis=1)
        expected = np.where(options > 0, 1 - rate + rate / np.maximum(options, 1), 1.0)
        observed = (answers_by_seed(agent.name, views, 20) == greedy.act(views)).mean(axis=0)
        spread = np.sqrt((expected * (1 - expected)).sum() / 20)
        assert abs(observed.sum() - expected.sum()) < 5 * spread + 1e-9


def test_noise_around_noise_falls_on_other_decisions() -> None:
    """Were the dice of both the same, the outer one would change nothing that the inner one leaves."""
    views = some_views()
    views = views[legal_masks(views).sum(axis=1) > 2]
    options = legal_masks(views).sum(axis=1)
    greedy = agents.make("greedy").act(views)
    once, twice = (
        answers_by_seed(spec, views, 20) == greedy for spec in ("epsilon:rate=0.5,of=greedy", "epsilon:rate=0.5,of=" * 2 + "greedy")
    )
    for same, rate in ((once, 0.5), (twice, 0.75)):
        expected = 1 - rate + rate / options
        spread = np.sqrt((expected * (1 - expected)).sum() / 20)
        assert abs(same.mean(axis=0).sum() - expected.sum()) < 5 * spread


def test_noise_is_not_that_of_the_player_within() -> None:
    """A share of random decisions of a random player leaves it random: all cards equally likely."""
    view = np.array([table_view([5, 17, 62, 99], [[3, 12], [37], [55, 57, 58, 60, 61], [98]])])
    for spec in (
        "epsilon:rate=0.5,of=random",
        "softmax:temperature=1000000,of=greedy",
        "softmax:temperature=1000000,of=monte_carlo:rollouts=2",
    ):
        counts = np.unique(answers_by_seed(spec, view, 4000)[:, 0], return_counts=True)[1]
        assert len(counts) == 4
        assert (np.abs(counts - 1000) < 5 * np.sqrt(4000 * 0.25 * 0.75)).all()


def test_temperature_makes_odds_of_costs() -> None:
    view = np.array([table_view([5, 62, 63, 99], [[3, 12], [37], [55, 57, 58, 60, 61], [98]])])
    costs = agents.make("greedy").values(view)[0]
    chances = np.exp(-costs / 3.0) / np.exp(-costs / 3.0).sum()
    picked = np.bincount(answers_by_seed("softmax:temperature=3,of=greedy", view, 3000)[:, 0], minlength=GAME.num_actions)
    assert (np.abs(picked / 3000 - chances) <= 5 * np.sqrt(chances * (1 - chances) / 3000)).all()
    views = some_views()
    cold, flat = agents.make("softmax:temperature=0.001,of=monte_carlo:rollouts=20"), agents.make("monte_carlo:rollouts=20")
    assert share_alike(cold, flat, views) > 0.9  # else it is one of equals


def test_rows_are_chosen_by_another() -> None:
    views = some_views()
    cards = views["table"]["phase"] <= PICK
    agent = agents.make("rows:by=uniform,of=highest", seed=5)
    expected = np.where(cards, agents.make("highest").act(views), agents.make("uniform", seed=5).act(views))
    assert (agent.act(views) == expected).all()
    assert share_alike(agents.make("rows:by=lowest,of=greedy"), agents.make("greedy"), views[cards]) == 1.0


def test_those_made_by_hand_do_as_those_made_by_name() -> None:
    views = some_views()
    greedy, lowest = agents.make("greedy", seed=6), agents.make("lowest", seed=6)
    made = {
        "epsilon:rate=0.4,of=greedy": EpsilonAgent(greedy, 0.4, seed=6),
        "softmax:temperature=2,of=greedy": SoftmaxAgent(greedy, 2.0, seed=6),
        "rows:by=lowest,of=greedy": RowsAgent(greedy, lowest, seed=6),
    }
    for spec, agent in made.items():
        assert (agent.act(views) == agents.make(spec, seed=6).act(views)).all()
        assert agent.game is GAME


def test_a_seed_reaches_the_agents_within() -> None:
    views = some_views()
    agent = agents.make("epsilon:rate=0,of=rows:by=uniform,of=random", seed=1)
    assert share_alike(agent, agents.make("rows:by=uniform,of=random", seed=1), views) == 1.0
    agent.reset(9)
    assert share_alike(agent, agents.make("rows:by=uniform,of=random", seed=9), views) == 1.0
    assert share_alike(agent, agents.make("rows:by=uniform,of=random", seed=1), views) < 1.0


def test_an_agent_within_is_asked_only_for_what_it_decides() -> None:
    class Asked(Agent):
        seen: int = 0

        def _act(self, views: NDArray[np.void]) -> NDArray[np.int64]:
            self.seen += len(views)
            return legal_masks(views).argmax(axis=1)

    views = some_views()
    cards = int((views["table"]["phase"] <= PICK).sum())
    one, two = Asked(GAME, "one"), Asked(GAME, "two")
    RowsAgent(one, two).act(views)
    assert (one.seen, two.seen) == (cards, len(views) - cards)
    EpsilonAgent(one, 1.0).act(views)
    assert one.seen == cards


def test_no_costs_no_odds() -> None:
    with pytest.raises(ValueError, match="agent 'lowest' does not say what an action costs: greedy, monte_carlo and search do"):
        SoftmaxAgent(agents.make("lowest"), 1.0)
    with pytest.raises(ValueError, match="agent 'epsilon' does not say what an action costs"):
        EpsilonAgent(agents.make("greedy"), 0.5).values(some_views()[:1])
    assert (agents.make("softmax:of=greedy").values(some_views()[:9]) == agents.make("greedy").values(some_views()[:9])).all()


def test_numbers_given_in_python_are_checked_as_well() -> None:
    for rate in (-0.1, 5.0, float("nan")):
        with pytest.raises(ValueError, match=r"rate=.* must be a number from 0 to 1"):
            EpsilonAgent(agents.make("greedy"), rate)
    for temperature in (0.0, -1.0):
        with pytest.raises(ValueError, match=r"temperature=.* must be a number from 0.001 to"):
            SoftmaxAgent(agents.make("greedy"), temperature)
