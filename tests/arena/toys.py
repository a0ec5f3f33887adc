"""Agents and games made up for the tests of tournaments; agents are made by functions of this module, which spawned processes find."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixnimmt_env import agents
from sixnimmt_env.agents import Agent
from sixnimmt_env.arena import Entrant, Plan, Played, Schedule
from sixnimmt_env.games.sixnimmt import GAME, Rules


class Slow(Agent):
    """Plays as another agent, and takes its time for each batch."""

    def __init__(self, agent: Agent, seconds: float) -> None:
        self.agent, self.pause = agent, seconds
        super().__init__(agent.game, agent.name, agent.seed)

    def _act(self, views: NDArray[np.void]) -> NDArray[np.int64]:
        time.sleep(self.pause)
        return self.agent.act(views)


class Wrong(Agent):
    """Always waits, which is illegal for who has to decide."""

    def _act(self, views: NDArray[np.void]) -> NDArray[np.int64]:
        return np.full(len(views), self.game.wait)


def make(spec: str, game: str, seed: int) -> Agent:
    """As `agents.make`, and "slow", "wrong", and "deadly", which ends its process."""
    if spec == "slow":
        return Slow(agents.make("greedy", game, seed), 0.01)
    if spec == "wrong":
        return Wrong(GAME, "wrong", seed)
    if spec == "deadly":
        os._exit(7)
    return agents.make(spec, game, seed)


def plan(schedule: Schedule, *specs: str, deals: int = 10, rules: Rules | None = None, **options: Any) -> Plan:
    """A plan for agents of these specs."""
    entrants = tuple(Entrant(f"{spec}.{number}", spec, number + 1) for number, spec in enumerate(specs))
    return Plan("sixnimmt", rules or Rules(schedule.players), entrants, schedule, deals, **options)


def played(schedule: Schedule, costs: NDArray[np.int64], agents: int, **options: Any) -> Played:
    """Games as they might have ended: costs (deals, games, players)."""
    none = np.zeros(agents, dtype=np.int64)
    return Played(plan(schedule, *["random"] * agents, deals=len(costs)), costs, none, none + 1, np.zeros(agents), **options)
