"""The policies that come with the package are there under their names, small, and worth their place."""

from __future__ import annotations

import numpy as np
import pytest

from sixnimmt_env import agents, sixnimmt_v0
from sixnimmt_env.arena import against_field
from sixnimmt_env.games.sixnimmt import GAME, Rules
from training.plugin import SHIPPED, variant_note

MOST = 5 * 2**20  # bytes, of all together


def shipped() -> list[str]:
    names = sorted(path.stem for path in SHIPPED.glob("sixnimmt/*.safetensors"))
    return ["champion", *(f"champion:{name}" for name in names if name != "champion")]


def test_it_is_there_and_small() -> None:
    assert "champion" in agents.names()
    assert (SHIPPED / "sixnimmt" / "champion.safetensors").is_file()
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*.*")) < MOST


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_policy_plays_its_variants_and_says_so(name: str) -> None:
    agent = agents.make(name)
    assert agent.name == name
    policy = agent.policy
    assert policy.training["finished"]
    for rules in (policy.rules, *policy.variants):
        assert variant_note(agent, rules) == ""
        env = sixnimmt_v0.raw_env(**options(rules))
        env.reset(seed=1)
        for seat in env.agent_iter():
            over = env.terminations[seat]
            env.step(None if over else int(agent.act(np.array([env.view(seat)]))[0]))


def options(rules: Rules) -> dict[str, object]:
    return {name: getattr(rules, name) for name in ("num_players", "deck", "professional", "rounds", "target")}


@pytest.mark.parametrize("players", [2, 3, 4, 6, 10])
def test_the_champion_takes_less_than_greedy_does_among_its_like(players: int) -> None:
    """Over 2000 rounds the standard error of a mean is below 0.25 heads; the difference is one to five."""
    field, rules = agents.make("greedy"), Rules(num_players=players)
    mine, theirs = (against_field(GAME, rules, agents.make(name), field, 2000, 5).mean for name in ("champion", "greedy"))
    assert mine < theirs


def test_an_unknown_one_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"agent 'champion:nobody': there are champion.* for sixnimmt"):
        agents.make("champion:nobody")
    with pytest.raises(ValueError, match=r"agent 'champion:\.\./champion': there are champion"):
        agents.make("champion:../champion")
