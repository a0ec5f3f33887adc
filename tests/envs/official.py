"""PettingZoo's own checks, and the warnings they are known to give."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

with warnings.catch_warnings():
    # Its tests make one of its own games the old way.
    warnings.filterwarnings("ignore", "The old environment creation API has been deprecated", DeprecationWarning)
    from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test
    from pettingzoo.test.render_test import render_test

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


__all__ = ["all_known_warnings", "api_test", "parallel_api_test", "parallel_seed_test", "render_test", "seed_test"]
