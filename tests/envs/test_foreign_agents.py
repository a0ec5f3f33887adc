"""Agents of others, which have `act(views)` and nothing else: they play everywhere, and their faults are told as theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sixnimmt_env import agents, sixnimmt_v0, traces
from sixnimmt_env.agents import Agent
from sixnimmt_env.arena import against_field
from sixnimmt_env.envs.seats import OpponentError
from sixnimmt_env.games import sixnimmt
from training import watch

GAME, RULES = sixnimmt.GAME, sixnimmt.Rules(num_players=3)


class Mine:
    """Plays the lowest legal action, by looking at views in plain Python."""

    def act(self, views: Any) -> list[int]:
        return [sixnimmt.read_view(view)["legal"][0] for view in views]


class Broken:
    def act(self, views: Any) -> list[int]:
        raise RuntimeError("my own bug")


class Unlawful:
    def act(self, views: Any) -> list[int]:
        return [112] * len(views)


def forms(opponents: Any) -> list[Any]:
    return [
        sixnimmt_v0.gym_env(num_players=3, opponents=opponents, seat=2),
        sixnimmt_v0.gym_vector_env(num_players=3, opponents=opponents, seat=2),
    ]


def lowest(env: Any) -> Any:
    """The lowest legal action; in the vector form an array with that of its only game."""
    masks = env.action_masks()
    return masks.argmax(axis=1) if masks.ndim == 2 else int(masks.argmax())


def play_a_step(env: Any) -> None:
    env.reset(seed=0)
    env.step(lowest(env))


@pytest.mark.parametrize("opponents", [Mine(), [Mine()], (Mine(), "greedy")], ids=["one", "list", "mixed"])
def test_they_play_in_every_form(opponents: Any) -> None:
    for env in forms(opponents):
        env.reset(seed=0)
        for _ in range(8):
            env.step(lowest(env))
    single = forms(opponents)[0]
    single.reset(seed=0)
    assert "a Mine" in single.trace().players


def test_they_are_measured_recorded_and_watched() -> None:
    mine: Any = Mine()
    assert against_field(GAME, RULES, mine, agents.make("greedy"), 30).illegal == 0
    assert against_field(GAME, RULES, agents.make("greedy"), mine, 30).against == "a Mine"
    assert traces.record(GAME, RULES, [mine]).players == ("a Mine",) * 3
    shown = list(watch.moments(GAME, GAME.new_states(RULES, 1, 0), [mine] * 3))
    assert shown[-1].words.startswith("the match is over")
    assert watch.seating([mine] * 3) == "player_0, player_1, player_2: a Mine"


def test_their_own_faults_are_told_as_theirs() -> None:
    for env in forms([Broken()]):
        with pytest.raises(RuntimeError, match="my own bug") as caught:
            play_a_step(env)
        assert caught.value.__notes__ == ["raised by agent 'a Broken'"]
    for env in forms([Unlawful()]):
        with pytest.raises(OpponentError, match=r"the opponent 'a Unlawful' chose 112 \(wait\), which is illegal"):
            play_a_step(env)


@pytest.mark.parametrize("opponents", [None, 3, [3], [None], [Mine], {"greedy": 1}], ids=repr)
def test_what_cannot_be_asked_is_refused_at_once(opponents: Any) -> None:
    for door in (sixnimmt_v0.gym_env, sixnimmt_v0.gym_vector_env):
        with pytest.raises(ValueError, match=r"opponents=.* must be names, or agents with act\(views\)"):
            door(opponents=opponents)


def test_a_class_of_ones_own_is_an_agent_like_any_other() -> None:
    class Lowest(Agent):
        def _act(self, views: Any) -> Any:
            return np.array([sixnimmt.read_view(view)["legal"][0] for view in views])

    mine = Lowest(GAME, "mine")
    assert against_field(GAME, RULES, mine, agents.make("greedy"), 300, seed=1).mean > 15.0
