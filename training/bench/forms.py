"""The forms of the environment beside what one would put together without them: conversions, loops, opponents in plain Python."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any, Final

from pettingzoo.utils.conversions import aec_to_parallel

from sixnimmt_env import sixnimmt_v0
from sixnimmt_env.envs.parallel import ParallelGameEnv
from sixnimmt_env.envs.single import SeatEnv

from .envs import PIECE
from .measure import Bar, Result, Scale, Work, compare, rate
from .plain import greedy

PARALLEL_BAR: Final = Bar("ratio", "least", 3)
SINGLE_BAR: Final = Bar("ratio", "least", 20)
VECTOR_BAR: Final = Bar("ratio", "least", 100)


def measure_parallel(scale: Scale) -> list[Result]:
    """Joint steps a second, observations included."""
    ours, theirs = sixnimmt_v0.parallel_env(professional=True), sixnimmt_v0.env(professional=True)
    theirs.metadata["is_parallelizable"] = True  # in the matches that are played here, see below
    script = list(itertools.islice(_without_choices(ours), 8))
    one, other = (rate(_joint(env, script, scale.seconds), scale.seconds) for env in (ours, aec_to_parallel(theirs)))
    return [compare("parallel.steps", "steps/s", one, "aec_to_parallel of ours", other, scale.pairs, PARALLEL_BAR)]


def _without_choices(env: ParallelGameEnv) -> Iterator[tuple[int, list[dict[str, int]]]]:
    """(seed, actions) of matches in which nobody has to choose a row or a side: the conversion takes cycles of all agents for granted."""
    for seed in itertools.count():
        observations, _ = env.reset(seed=seed)
        script = []
        while env.agents and not any(seen["action_mask"][env.game.wait] for seen in observations.values()):
            script.append({agent: int(seen["action_mask"].argmax()) for agent, seen in observations.items()})
            observations, *_ = env.step(script[-1])
        if not env.agents:
            yield seed, script


def _joint(env: Any, matches: list[tuple[int, list[dict[str, int]]]], seconds: float) -> Work:
    """Matches whose actions were chosen before, as the conversion shows no masks. Dealing is not counted."""

    def work() -> tuple[float, float]:
        steps, spent = 0, 0.0
        for seed, script in itertools.cycle(matches):
            env.reset(seed=seed)
            before = time.perf_counter()
            for actions in script:
                env.step(actions)
            spent += time.perf_counter() - before
            steps += len(script)
            if spent >= min(seconds, PIECE):
                break
        return steps, spent

    return work


def measure_single(scale: Scale) -> list[Result]:
    """Steps a second of one seat against greedy opponents, dealing included."""
    ours = rate(_episodes(sixnimmt_v0.gym_env(opponents=["greedy"], seat=0), scale.seconds), scale.seconds)
    beside = "PettingZoo AEC, opponents in plain Python"
    return [compare("single.steps", "steps/s", ours, beside, rate(_assembled(scale.seconds), scale.seconds), scale.pairs, SINGLE_BAR)]


def _episodes(env: SeatEnv, seconds: float) -> Work:
    """Matches in which the own seat takes the first legal action."""

    def work() -> tuple[float, float]:
        steps, seed = 0, 0
        before = time.perf_counter()
        while time.perf_counter() - before < min(seconds, PIECE):
            observation, _ = env.reset(seed=seed)
            over, seed = False, seed + 1
            while not over:
                observation, _, over, _, _ = env.step(int(observation["action_mask"].argmax()))
                steps += 1
        return steps, time.perf_counter() - before

    return work


def _assembled(seconds: float) -> Work:
    """The same matches, put together from the AEC form and opponents that are asked one by one."""
    env = sixnimmt_v0.env()
    learner = env.possible_agents[0]

    def work() -> tuple[float, float]:
        steps, seed = 0, 0
        before = time.perf_counter()
        while time.perf_counter() - before < min(seconds, PIECE):
            env.reset(seed=seed)
            seed += 1
            while not env.terminations[learner]:
                agent = env.agent_selection
                if agent == learner:
                    env.step(int(env.last()[0]["action_mask"].argmax()))  # type: ignore[index]  # last() observes here
                    steps += 1
                else:
                    env.step(greedy(env.view(agent)))
        return steps, time.perf_counter() - before

    return work


def measure_vector(scale: Scale) -> list[Result]:
    """Steps a second of many games side by side, beside a loop over as many environments of one game."""
    ours = rate(_many(scale.games), scale.seconds)
    loop = rate(_episodes(sixnimmt_v0.gym_env(opponents=["greedy"], seat=0), scale.seconds), scale.seconds)
    assembled = rate(_assembled(scale.seconds), scale.seconds)
    return [
        compare("vector.steps", "steps/s", ours, "a loop over AEC, plain opponents", assembled, scale.pairs, VECTOR_BAR),
        compare("vector.beside_single", "steps/s", ours, "a loop over the single form", loop, scale.pairs),
    ]


def _many(count: int) -> Work:
    env = sixnimmt_v0.gym_vector_env(opponents=["greedy"], seat=0, num_envs=count)
    state = [env.reset(seed=0)[0]]

    def work() -> tuple[float, float]:
        actions = state[0]["action_mask"].argmax(axis=1)
        before = time.perf_counter()
        state[0] = env.step(actions)[0]
        return count, time.perf_counter() - before

    return work
