"""The checks that PettingZoo, Gymnasium and stable-baselines3 bring, and the warnings they are known to give."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as sb3_check_env

with warnings.catch_warnings():
    # PettingZoo's tests make one of its own games the old way.
    warnings.filterwarnings("ignore", "The old environment creation API has been deprecated", DeprecationWarning)
    from pettingzoo.test import api_test, max_cycles_test, parallel_api_test, parallel_seed_test, render_test, seed_test
    from pettingzoo.test.state_test import state_test

KNOWN = (
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
)
"""What `api_test` says of every Dict observation. Anything else fails the test."""


def all_known_warnings(test: Any) -> Any:
    """Decorate a test that calls `api_test`."""
    for message in KNOWN:
        test = pytest.mark.filterwarnings(f"ignore:{message.replace('.', '[.]')}$:UserWarning:pettingzoo.test.api_test")(test)
    return test


__all__ = [
    "all_known_warnings",
    "api_test",
    "check_env",
    "max_cycles_test",
    "parallel_api_test",
    "parallel_seed_test",
    "render_test",
    "sb3_check_env",
    "seed_test",
    "state_test",
]
