"""One match, recorded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..agents import Agent, decide, name_of
from ..core.game import Game, Rules
from ..core.trace import Trace, printable


def record(game: Game, rules: Rules, agents: Sequence[Agent], seed: int = 0, number: int = 0) -> Trace:
    """Play a match to its end and return its trace.

    Args:
        game: the game.
        rules: the variant.
        agents: one a seat, or one for all seats.
        seed, number: which deal: game `number` of the stream of `seed`.

    Raises:
        ValueError: a number of agents that does not fit, or an agent's action is illegal.
        Exception: whatever an agent raises, with a note of its name.
    """
    players = rules.num_players
    if len(agents) not in (1, players):
        raise ValueError(f"{len(agents)} agents for {players} players: give one for all seats, or one a seat")
    seated = list(agents) if len(agents) == players else list(agents) * players
    states, index = game.new_states(rules, 1, seed, number), np.zeros(1, dtype=np.int64)
    game.deal(states, index)
    chairs = np.full((1, game.max_seats), -1, dtype=np.int64)
    chairs[0, :players] = np.arange(players)
    decisions: list[tuple[int, int]] = []
    illegal = np.zeros(1, dtype=np.uint16)
    while True:
        actions = np.zeros((1, game.max_seats), dtype=np.int64)
        asked = np.flatnonzero(decide(game, states, index, chairs, seated, actions)[0] >= 0).tolist()
        if not asked:
            break
        game.step(states, index, actions, illegal)
        if illegal[0]:
            seat = int(illegal[0]).bit_length() - 1
            action = int(actions[0, seat])
            raise ValueError(
                f"agent {name_of(seated[seat])!r} chose {action} ({game.action_name(action)}) in seat {seat}, which is illegal"
            )
        decisions += [(seat, int(actions[0, seat])) for seat in asked]
    return Trace(game, rules, tuple(decisions), seed, number, tuple(printable(name_of(agent)) for agent in seated))
