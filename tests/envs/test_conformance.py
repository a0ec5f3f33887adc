"""The official checks of PettingZoo, Gymnasium and stable-baselines3 over the whole matrix of players, variants and lengths.

Most of them draw actions without the mask, so those run in a tolerant mode of `illegal_action`; what they look away from is checked in
the files beside this one.
"""

from __future__ import annotations

import functools
import itertools
import types
from typing import Any

import gymnasium
import pytest
from pettingzoo.utils import wrappers
from pettingzoo.utils.conversions import parallel_to_aec, turn_based_aec_to_parallel

from sixnimmt_env import sixnimmt_v0
from sixnimmt_env.envs.table import IllegalAction
from tests.envs.official import (
    all_known_warnings,
    api_test,
    check_env,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    sb3_check_env,
    seed_test,
    state_test,
)
from tests.envs.playing import KINDS, MATCH, ROUND, Options, name_of

MATRIX: list[Options] = [{"num_players": n, **kind, **form} for n, kind, form in itertools.product(range(2, 11), KINDS, (ROUND, MATCH))]
SOME = [options for options in MATRIX if options["num_players"] in (2, 3, 10)]
WHOLE_MATCH = 10_000  # cycles; the checks stop at the end of the match
SHORT = 12  # cycles, where the checks start over at the end of a match


# --- AEC ---------------------------------------------------------------------------------------------------------------


@all_known_warnings
@pytest.mark.parametrize("options", MATRIX, ids=name_of)
def test_api(options: Options) -> None:
    api_test(sixnimmt_v0.env(**options), num_cycles=WHOLE_MATCH)


@all_known_warnings
@pytest.mark.parametrize("illegal_action", ["replace", "terminate"])
@pytest.mark.parametrize("options", [options for options in MATRIX if options["num_players"] == 3], ids=name_of)
def test_api_of_the_tolerant_modes(options: Options, illegal_action: IllegalAction) -> None:
    api_test(sixnimmt_v0.env(**options, illegal_action=illegal_action), num_cycles=WHOLE_MATCH)


@all_known_warnings
def test_api_within_the_stock_wrappers() -> None:
    api_test(wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(sixnimmt_v0.env())), num_cycles=WHOLE_MATCH)


@pytest.mark.parametrize("options", MATRIX, ids=name_of)
def test_seeds(options: Options) -> None:
    seed_test(lambda: sixnimmt_v0.env(**options), num_cycles=WHOLE_MATCH)


@pytest.mark.parametrize("options", MATRIX, ids=name_of)
def test_state(options: Options) -> None:
    state_test(
        sixnimmt_v0.env(**options, illegal_action="replace"),
        sixnimmt_v0.parallel_env(**options, illegal_action="replace"),
        num_cycles=SHORT,
    )


@pytest.mark.parametrize("num_players", range(2, 11))
def test_max_cycles(num_players: int) -> None:
    """In this variant no seat ever has to choose a row, so that all act equally often, which the check takes for granted."""
    options: Any = {"num_players": num_players, "professional": True, "num_rows": 1, "row_capacity": 1, "illegal_action": "replace"}
    doors = {"env": sixnimmt_v0.env, "parallel_env": sixnimmt_v0.parallel_env}
    max_cycles_test(types.SimpleNamespace(**{name: functools.partial(door, **options) for name, door in doors.items()}))


# --- parallel ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", MATRIX, ids=name_of)
def test_parallel_api(options: Options) -> None:
    parallel_api_test(sixnimmt_v0.parallel_env(**options, illegal_action="replace"), num_cycles=SHORT)


@pytest.mark.parametrize("options", MATRIX, ids=name_of)
def test_parallel_seeds(options: Options) -> None:
    parallel_seed_test(lambda: sixnimmt_v0.parallel_env(**options, illegal_action="replace"), num_cycles=SHORT)


@all_known_warnings
@pytest.mark.parametrize("options", SOME, ids=name_of)
def test_parallel_within_the_conversion(options: Options) -> None:
    api_test(parallel_to_aec(sixnimmt_v0.parallel_env(**options, illegal_action="replace")), num_cycles=WHOLE_MATCH)


@pytest.mark.parametrize("options", SOME, ids=name_of)
def test_aec_within_the_conversion(options: Options) -> None:
    parallel_api_test(turn_based_aec_to_parallel(sixnimmt_v0.env(**options, illegal_action="replace")), num_cycles=SHORT)


# --- one seat ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", MATRIX, ids=name_of)
def test_gymnasium(options: Options) -> None:
    check_env(sixnimmt_v0.gym_env(**options, illegal_action="replace"), skip_render_check=True)


@pytest.mark.parametrize("options", MATRIX, ids=name_of)
def test_stable_baselines3(options: Options) -> None:
    sb3_check_env(sixnimmt_v0.gym_env(**options, illegal_action="replace"))


# --- rendering ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", SOME, ids=name_of)
def test_rendering(options: Options) -> None:
    render_test(lambda render_mode: sixnimmt_v0.env(**options, render_mode=render_mode))


@pytest.mark.parametrize("options", SOME, ids=name_of)
def test_rendering_in_gymnasium(options: Options) -> None:
    """With a spec, the check makes the environment anew in every render mode."""
    check_env(gymnasium.make("sixnimmt_env/SixNimmt-v0", **options, illegal_action="replace", render_mode="ansi").unwrapped)
