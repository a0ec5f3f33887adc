"""The exact distance from equilibrium in small games."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: pip install '.[openspiel]'")

from training import exploit

pytestmark = pytest.mark.interop


def test_what_agents_lose_in_a_small_game() -> None:
    game = exploit.SMALL_GAMES[1]
    greedy, search = (exploit.distance(spec, game) for spec in ("greedy", "monte_carlo:rollouts=100"))
    assert greedy.value == search.value == pytest.approx(3253 / 5040, abs=1e-6)
    assert 0 < search.loss < greedy.loss


def test_games_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="for two players"):
        exploit.distance("greedy", "players=3,hand_size=1,num_rows=1,row_capacity=1,deck_size=5")
    with pytest.raises(ValueError, match="--small nonsense"):
        exploit.distance("greedy", "nonsense")
