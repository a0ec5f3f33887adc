"""The environments by their ids, and the options of the front doors."""

from __future__ import annotations

from typing import Any

import gymnasium
import pettingzoo
import pytest

import sixnimmt_env
from sixnimmt_env import sixnimmt_v0
from sixnimmt_env.envs.aec import AECGameEnv
from sixnimmt_env.envs.parallel import ParallelGameEnv
from sixnimmt_env.envs.single import SeatEnv
from sixnimmt_env.envs.vector import SeatVectorEnv
from sixnimmt_env.games.sixnimmt import Rules

OPTIONS: dict[str, Any] = {"num_players": 3, "deck": "tactical", "professional": True, "rounds": None, "target": 50, "exceed_target": True}


def test_gymnasium_makes_one_and_many() -> None:
    assert sixnimmt_env.__version__
    one = gymnasium.make("sixnimmt_env/SixNimmt-v0", opponents=["greedy"], **OPTIONS)
    assert isinstance(one.unwrapped, SeatEnv)
    assert one.unwrapped.rules == Rules(**OPTIONS)
    many = gymnasium.make_vec("sixnimmt_env/SixNimmt-v0", num_envs=5, opponents=["greedy"], **OPTIONS)
    assert isinstance(many, SeatVectorEnv)
    assert many.num_envs == 5
    assert many.rules == Rules(**OPTIONS)
    assert many.reset(seed=1)[0] in many.observation_space


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="this PettingZoo has no registry")
def test_pettingzoo_makes_both_forms() -> None:
    for kind, form in (("aec", AECGameEnv), ("parallel", ParallelGameEnv)):
        env = pettingzoo.make(kind, "sixnimmt_env/sixnimmt-v0", **OPTIONS)
        assert isinstance(env, form)
        assert env.rules == Rules(**OPTIONS)


DOORS = [sixnimmt_v0.env, sixnimmt_v0.raw_env, sixnimmt_v0.parallel_env, sixnimmt_v0.gym_env, sixnimmt_v0.gym_vector_env]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_every_form_takes_the_same_variants(door: Any) -> None:
    assert door(**OPTIONS).rules == Rules(**OPTIONS)
    assert door().rules == Rules()
    with pytest.raises(TypeError, match="unexpected keyword argument 'num_player': did you mean 'num_players'"):
        door(num_player=3)
    with pytest.raises(ValueError, match="num_players=11 must be a whole number from 2 to 10"):
        door(num_players=11)
