"""PettingZoo's conversions as oracles: what they make of one form is the other form, bit for bit."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from pettingzoo.utils.conversions import aec_to_parallel, parallel_to_aec, turn_based_aec_to_parallel

from sixnimmt_env import sixnimmt_v0
from sixnimmt_env.games.sixnimmt.state import ACTION_WAIT
from tests.envs.playing import KINDS, MATCH, ROUND, Options, name_of, plain

MATRIX: list[Options] = [
    {"num_players": n, **kind, **form} for n, kind, form in itertools.product((2, 3, 6, 10), KINDS, ({**ROUND, "max_cycles": 25}, MATCH))
]
NO_CHOICES: Options = {"professional": True, "num_rows": 1, "row_capacity": 1}
"""A variant in which no seat ever has to choose a row or a side: every cycle is one of all seats."""


def some(mask: Any, rng: random.Random) -> int:
    return int(rng.choice(np.flatnonzero(mask).tolist()))


@pytest.mark.parametrize("options", MATRIX, ids=name_of)
def test_the_parallel_form_in_turns_is_the_aec_form(options: Options) -> None:
    """But for waiting, which the AEC form asks nobody for."""
    theirs, ours, rng = parallel_to_aec(sixnimmt_v0.parallel_env(**options)), sixnimmt_v0.env(**options), random.Random(1)
    theirs.reset(seed=3)
    ours.reset(seed=3)
    gained = dict.fromkeys(ours.agents, 0.0)
    while not any(theirs.terminations.values()) and not any(theirs.truncations.values()):
        agent = theirs.agent_selection
        observation, _, _, _, info = theirs.last()
        action = some(observation["action_mask"], rng)
        if action != ACTION_WAIT:
            assert ours.agent_selection == agent
            assert plain(ours.observe(agent)) == plain(observation)
            assert plain(ours.infos[agent]) == plain(info)
            ours.step(action)
            gained = {name: gained[name] + reward for name, reward in ours.rewards.items()}
        theirs.step(action)
        if agent == ours.possible_agents[-1]:
            assert theirs.rewards == gained
            assert plain(theirs.state()) == plain(ours.state())
            gained = dict.fromkeys(gained, 0.0)
    assert theirs.terminations == ours.terminations
    assert theirs.truncations == ours.truncations


@pytest.mark.parametrize("options", MATRIX, ids=name_of)
def test_the_aec_form_asked_for_all_is_the_parallel_form(options: Options) -> None:
    """`turn_based_aec_to_parallel` lets one agent act in each of its steps; after those of a cycle all is as in the parallel form."""
    theirs, ours, rng = turn_based_aec_to_parallel(sixnimmt_v0.env(**options)), sixnimmt_v0.parallel_env(**options), random.Random(2)
    seen, _ = theirs.reset(seed=4)
    observations, _ = ours.reset(seed=4)
    while ours.agents:
        actions = {agent: some(observation["action_mask"], rng) for agent, observation in observations.items()}
        gained = dict.fromkeys(actions, 0.0)
        for _ in range(sum(action != ACTION_WAIT for action in actions.values())):
            seen, rewards, terminations, truncations, _ = theirs.step(actions)
            gained = {name: gained[name] + reward for name, reward in rewards.items()}
        observations, ours_rewards, ours_terminations, ours_truncations, _ = ours.step(actions)
        assert ours_rewards == gained
        assert (ours_terminations, ours_truncations) == (terminations, truncations)
        for agent in actions:
            assert plain(observations[agent]["observation"]) == plain(seen[agent]["observation"])
    assert theirs.agents == []


@pytest.mark.parametrize("num_players", range(2, 11))
def test_where_all_decide_in_every_cycle_the_plain_conversion_is_the_parallel_form(num_players: int) -> None:
    """`aec_to_parallel` takes cycles of all agents for granted, which row choices are not: our metadata say so, except here."""
    inner = sixnimmt_v0.env(num_players=num_players, **NO_CHOICES)
    with pytest.raises(AssertionError, match="is_parallelizable"):
        aec_to_parallel(inner)
    inner.metadata["is_parallelizable"] = True
    theirs, ours, rng = aec_to_parallel(inner), sixnimmt_v0.parallel_env(num_players=num_players, **NO_CHOICES), random.Random(3)
    assert plain(theirs.reset(seed=5)[0]).keys() == plain(ours.reset(seed=5)[0]).keys()
    observations, _ = ours.reset(seed=5)
    steps = 0
    while ours.agents:
        actions = {agent: some(observation["action_mask"], rng) for agent, observation in observations.items()}
        mine, other = ours.step(actions), theirs.step(actions)
        observations, steps = mine[0], steps + 1
        for agent in actions:
            assert plain(mine[0][agent]["observation"]) == plain(other[0][agent]["observation"])
        assert list(mine[1:4]) == list(other[1:4])
    assert theirs.agents == []
    assert steps == 10
