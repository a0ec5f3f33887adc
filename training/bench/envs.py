"""The environments: AEC steps beside PettingZoo's Connect Four, the batched training environment beside a plain loop."""

from __future__ import annotations

import importlib
import os
import time
import warnings
from collections.abc import Callable
from typing import Any, Final

from sixnimmt_env import agents, games, sixnimmt_v0
from sixnimmt_env.agents import Agent
from sixnimmt_env.envs.seats import SeatGames
from training.network import Shape
from training.vec_env import MatchVecEnv

from .measure import Bar, Result, Scale, Work, compare, rate

AEC_BAR: Final = Bar("ratio", "least", 8)
PIECE: Final = 0.05
"""Seconds that one piece of work lasts at most: games are played to their end, so it may be longer by one."""


def measure_aec(scale: Scale) -> list[Result]:
    """AEC steps a second, in the loop of PettingZoo's documentation."""
    other, beside = _connect_four()
    theirs = rate(_loop(other, scale.seconds), scale.seconds) if other is not None else None
    ours = rate(_loop(sixnimmt_v0.env(), scale.seconds), scale.seconds)
    return [compare("aec.steps", "steps/s", ours, beside, theirs, scale.pairs, AEC_BAR)]


def _connect_four() -> tuple[Any, str]:
    """The environment, or None, and what to say of it."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pygame, about its own dependencies
            return importlib.import_module("pettingzoo.classic.connect_four_v3").env(), "connect_four_v3"
    except ImportError as error:
        return None, "pip install pygame" if "pygame" in str(error) else f"connect_four_v3: {error}"


def _loop(env: Any, seconds: float) -> Work:
    """Games in which everybody takes the first legal action. Dealing a game is not counted, steps of agents that are done are."""

    def work() -> tuple[float, float]:
        steps, spent = 0, 0.0
        while spent < min(seconds, PIECE):
            env.reset(seed=0)
            before = time.perf_counter()
            for _ in env.agent_iter():
                observation, _, terminated, truncated, _ = env.last()
                env.step(None if terminated or truncated else int(observation["action_mask"].argmax()))
                steps += 1
            spent += time.perf_counter() - before
        return steps, spent

    return work


def measure_vec_env(scale: Scale) -> list[Result]:
    """Learner decisions a second against greedy opponents. The learner takes the first legal action."""
    ours = rate(_batched(scale.games), scale.seconds)
    theirs = rate(_one_by_one(sixnimmt_v0.env(), agents.make("greedy"), scale.seconds), scale.seconds)
    return [compare("vec_env.decisions", "decisions/s", ours, "one AEC env, view by view", theirs, scale.pairs)]


def _batched(count: int) -> Work:
    game = games.get("sixnimmt")
    env = MatchVecEnv(SeatGames(game, game.rules(), [agents.make("greedy")], [1.0], count, "random", skip_forced=True), Shape())
    env.reset()

    def work() -> tuple[float, float]:
        before = time.perf_counter()
        env.step(env.action_masks().argmax(axis=1))
        return count, time.perf_counter() - before

    return work


def _one_by_one(env: Any, opponent: Agent, seconds: float) -> Work:
    """The loop that one would write first. Decisions without a choice are made, and not counted, as in the batched environment."""
    learner = env.possible_agents[0]
    view = _viewer(env)

    def work() -> tuple[float, float]:
        decisions = 0
        before = time.perf_counter()
        while time.perf_counter() - before < min(seconds, PIECE):
            env.reset(seed=decisions)
            for agent in env.agent_iter():
                if agent == learner:
                    observation, _, terminated, truncated, _ = env.last()
                    mask = observation["action_mask"]
                    decisions += int(mask.sum() > 1)
                    env.step(None if terminated or truncated else int(mask.argmax()))
                else:
                    env.step(None if env.terminations[agent] else int(opponent.act(view())[0]))
        return decisions, time.perf_counter() - before

    return work


def _viewer(env: Any) -> Callable[[], Any]:
    """What shows the view, a batch of one, of the agent that is asked."""
    # The environment has it at hand and shows it to nobody; a view of our own making would cost the baseline time.
    return lambda: env._view
