"""What a searching agent tells of a position."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sixnimmt_env import agents
from sixnimmt_env.games import sixnimmt

VIEW = sixnimmt.table_view(hand=[3, 17, 55], rows=[[5], [20, 22], [60], [80, 81, 82, 83, 84]], hand_size=3)


def test_prospects_are_means_of_the_playouts_cheapest_first() -> None:
    agent = agents.make("monte_carlo:rollouts=200")
    prospects = agents.analyze(agent, VIEW)
    assert [p.cost for p in prospects] == sorted(p.cost for p in prospects)
    assert prospects[0].action == agent.act([VIEW])[0]
    stats = agent.statistics(np.array([VIEW]))[0]  # type: ignore[attr-defined]
    for p in prospects:
        count, total, squares = stats[p.action, :3]
        assert p.playouts == count == 200
        assert p.cost == pytest.approx(total / count)
        assert p.se == pytest.approx(math.sqrt((squares / count - p.cost**2) / (count - 1)))
        rows = sum(p.chances[f"row {row}"] for row in range(4))
        assert rows == pytest.approx(1.0)
    assert {p.name for p in prospects} == {"card 3", "card 17", "card 55"}


def test_certain_things_are_certain() -> None:
    by_name = {p.name: p for p in agents.analyze(agents.make("monte_carlo:rollouts=100"), VIEW)}
    assert by_name["card 17"].chances["row 0"] == 1.0
    assert by_name["card 17"].chances["takes a row"] == 0.0, "four more cards fit"
    assert by_name["card 3"].chances["takes a row"] > 0.9, "only a 1 or a 2 comes before it, and starts a row below it"


def test_rows_are_prospects_too() -> None:
    revealed = {0: 3, 1: 15, 2: 90, 3: 7}
    view = sixnimmt.table_view(hand=[17, 55], rows=[[5], [20, 22], [60], [80, 81, 82, 83, 84]], hand_size=3, revealed=revealed)
    prospects = agents.analyze(agents.make("monte_carlo:rollouts=50"), view)
    assert {p.name for p in prospects} == {"row 0", "row 1", "row 2", "row 3"}
    for p in prospects:
        assert p.chances["takes a row"] == p.chances[p.name] == 1.0


def test_the_error_of_a_single_playout_is_unknown() -> None:
    assert all(math.isnan(p.se) for p in agents.analyze(agents.make("monte_carlo:rollouts=1"), VIEW))


def test_who_does_not_search_is_refused() -> None:
    with pytest.raises(ValueError, match=r"agent 'greedy' does not search, .* take monte_carlo:rollouts=1000"):
        agents.analyze(agents.make("greedy"), VIEW)
    waiting = VIEW.copy()
    waiting["deciding"] = 0
    with pytest.raises(ValueError, match="nothing to decide"):
        agents.analyze(agents.make("monte_carlo"), waiting)


def test_a_nameless_agent_that_does_not_search() -> None:
    class Nameless:
        def act(self, views: Any) -> Any:
            return np.full(len(views), 2)

    with pytest.raises(ValueError, match="agent 'a Nameless' does not search"):
        agents.analyze(Nameless(), VIEW)  # type: ignore[arg-type]
