"""Agents and games made up for the tests of tournaments; agents are made by functions of this module, which spawned processes find."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixnimmt_env import agents
from sixnimmt_env.agents import Agent
from sixnimmt_env.arena import Entrant, Plan, Played, Schedule, forfeit
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


class Broken(Agent):
    """Plays as the greedy agent but where its fault shows.

    The faults: "raises" always, "sometimes" (every third turn), "batches" (whenever it is asked for several views), "short" (an answer too
    few), "floats", "leaves" (asks its process to end), "hangs" (for a minute).
    """

    def __init__(self, fault: str) -> None:
        self.fault, self.calls = fault, 0
        self.good = agents.make("greedy")
        super().__init__(GAME, fault)

    def _act(self, views: NDArray[np.void]) -> Any:
        self.calls += 1
        actions = self.good.act(views)
        views["hand"] = 0  # what it scribbles into its views is nobody else's business
        if self.fault == "raises" or (self.fault == "batches" and len(views) > 1):
            raise ValueError("no idea\nat all")
        if self.fault == "sometimes" and (views["table"]["turn"] % 3 == 0).any():
            raise KeyError("every third turn")
        if self.fault == "leaves":
            raise SystemExit(3)
        if self.fault == "hangs":
            time.sleep(60.0)
        return {"short": actions[1:], "floats": actions * 1.0}.get(self.fault, actions)


class Mended(Agent):
    """What `Broken` comes to: the lowest legal action where its fault shows, the greedy one elsewhere."""

    def __init__(self, fault: str) -> None:
        self.fault, self.good, self.lowest = fault, agents.make("greedy"), Lowest(GAME, "lowest legal")
        super().__init__(GAME, fault)

    def _act(self, views: NDArray[np.void]) -> NDArray[np.int64]:
        if self.fault == "batches":
            return self.good.act(views)
        shows = views["table"]["turn"] % 3 == 0 if self.fault == "sometimes" else True
        return np.where(shows, self.lowest.act(views), self.good.act(views))


class Lowest(Agent):
    """Plays the lowest legal action."""

    def _act(self, views: NDArray[np.void]) -> NDArray[np.int64]:
        masks = np.empty((len(views), self.game.num_actions), dtype=np.int8)
        self.game.legal(views, masks)
        return masks.argmax(axis=1)


FAULTS = {
    "raises": "ValueError: no idea at all",
    "sometimes": "KeyError: 'every third turn'",
    "batches": "",
    "short": "TypeError: answered with an array of int64, shape (0,): one whole number a view is needed",
    "floats": "TypeError: answered with an array of float64, shape (1,): one whole number a view is needed",
    "leaves": "SystemExit: 3",
}
"""The faults that have nothing to do with time, with the reason that is given."""


def make_broken(spec: str, game: str, seed: int) -> Agent:
    """As `agents.make`, and the faults."""
    return Broken(spec) if spec in (*FAULTS, "hangs") else agents.make(spec, game, seed)


def make_impatient(spec: str, game: str, seed: int) -> Agent:
    """As `make_broken`, in a process where first answers, of agents that are compiled before, get no more time than others."""
    agents.make("greedy").act(np.zeros(1, dtype=GAME.view_dtype))
    forfeit.PATIENCE = 0.0  # type: ignore[misc]
    return make_broken(spec, game, seed)


def make_mended(spec: str, game: str, seed: int) -> Agent:
    """As `make_broken`, with what the broken agents come to."""
    return Mended(spec) if spec in FAULTS else agents.make(spec, game, seed)


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
