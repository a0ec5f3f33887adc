"""Tournaments: rounds of rule-based players beside the same one at a time, and what a learned policy adds to its inference."""

from __future__ import annotations

import time
from typing import Final

import numpy as np
import torch

from sixnimmt_env import agents, arena, games
from sixnimmt_env.agents import Agent
from sixnimmt_env.arena import Entrant, Plan
from training.network import Shape, make
from training.policy import LearnedAgent, Policy

from .measure import Bar, Result, Scale, Work, compare, rate

ROUNDS_BAR: Final = Bar("value", "least", 10_000)  # 100 000 rounds in ten seconds
POLICY_BAR: Final = Bar("ratio", "least", 0.7)
PLAYERS: Final = ("random", "greedy", "highest", "closest")


def measure_arena(scale: Scale) -> list[Result]:
    """Four-player rounds a second of whole tournaments, statistics and ratings left out."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as a tournament has it
    try:
        rules_alone = rate(_tournament(_plan(scale.games, PLAYERS)), scale.seconds)
        with_policy = rate(_tournament(_plan(scale.games, ("policy", *PLAYERS[1:]))), scale.seconds)
        inference = rate(_inference(scale.games, *PLAYERS), scale.seconds)
        return [
            compare("arena.rounds", "rounds/s", rules_alone, "one at a time", rate(_one_by_one, scale.seconds), scale.pairs, ROUNDS_BAR),
            compare("arena.policy", "rounds/s", with_policy, "its inference and the others", inference, scale.pairs, POLICY_BAR),
        ]
    finally:
        torch.set_num_threads(threads)


def _plan(rounds: int, specs: tuple[str, ...]) -> Plan:
    entrants = tuple(Entrant(spec, spec, number + 1) for number, spec in enumerate(specs))
    return Plan("sixnimmt", games.get("sixnimmt").rules(), entrants, arena.round_robin(len(specs), 4), max(1, rounds // 4))


def _make(spec: str, game: str, seed: int) -> Agent:
    """An agent; "policy" is a network as large as the usual one, untrained, which is no quicker."""
    if spec != "policy":
        return agents.make(spec, game, seed)
    played = games.get(game)
    return LearnedAgent(Policy(played, played.rules(), make(Shape()).eval(), {}), "policy")


def _tournament(plan: Plan) -> Work:
    team = {entrant.spec: _make(entrant.spec, plan.game, entrant.seed) for entrant in plan.entrants}

    def work() -> tuple[float, float]:
        before = time.perf_counter()
        arena.hold(plan, make=lambda spec, game, seed: team[spec])
        return plan.games, time.perf_counter() - before

    return work


def _inference(rounds: int, *others: str) -> Work:
    """What the same rounds must cost: the other players' tournament, and the policy asked for its ten cards a round."""
    game, play = games.get("sixnimmt"), _tournament(_plan(rounds, others))
    states = game.new_states(game.rules(), rounds)
    game.deal(states, np.arange(rounds))
    views = np.zeros(rounds, dtype=game.view_dtype)
    game.reveal(states, np.arange(rounds), np.zeros(rounds, dtype=np.int64), views)
    policy = _make("policy", "sixnimmt", 0)

    def work() -> tuple[float, float]:
        done, spent = play()
        before = time.perf_counter()
        for _ in range(10):
            policy.act(views)
        return done, spent + (time.perf_counter() - before) * done / rounds

    return work


def _one_by_one() -> tuple[float, float]:
    """A round as one would first play it: a single game, view by view."""
    game = games.get("sixnimmt")
    team = [agents.make(spec, game, number + 1) for number, spec in enumerate(PLAYERS)]
    before = time.perf_counter()
    for deal in range(5):
        arena.record(game, game.rules(), team, 0, deal)
    return 5, time.perf_counter() - before
