"""Playing the AEC environment from outside, and all that can be read off it as plain values."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixnimmt_env import sixnimmt_v0
from sixnimmt_env.envs.aec import AECGameEnv
from sixnimmt_env.envs.table import Observation
from tests.reference import DECKS

Options = dict[str, Any]

KINDS: list[Options] = [{"deck": deck, "professional": professional} for deck, professional in itertools.product(DECKS, (False, True))]
ROUND: Options = {"rounds": 1}
MATCH: Options = {"rounds": None, "target": 25}


def name_of(options: Options) -> str:
    """An id for a test."""
    return " ".join(str(value) if key not in ("professional", "rounds") else f"{key}={value}" for key, value in options.items())


def started(seed: int = 0, **options: Any) -> AECGameEnv:
    """A new environment, dealt."""
    env = sixnimmt_v0.env(**options)
    env.reset(seed=seed)
    return env


def legal(env: AECGameEnv) -> list[int]:
    """What the agent that is asked may do."""
    actions: list[int] = np.flatnonzero(env.infos[env.agent_selection]["action_mask"]).tolist()
    return actions


def live(env: AECGameEnv) -> bool:
    """Whether somebody is asked for a decision."""
    return bool(env.agents) and not env.terminations[env.agent_selection]


def choose(env: AECGameEnv, rng: random.Random) -> int:
    """Any legal action; now and then the lowest, so that rows have to be chosen often."""
    actions = legal(env)
    return actions[0] if rng.random() < 0.2 else rng.choice(actions)


def walk(env: AECGameEnv, seed: int = 0) -> Iterator[str]:
    """Legal play up to the end of the match: the agent that is asked, before it acts."""
    rng = random.Random(seed)
    while live(env):
        yield env.agent_selection
        env.step(choose(env, rng))


def play(env: AECGameEnv, seed: int = 0) -> AECGameEnv:
    """Play up to the end of the match, but for the agents' steps after the end."""
    for _ in walk(env, seed):
        pass
    return env


def moments(seed: int = 0, **options: Any) -> Iterator[tuple[str, AECGameEnv]]:
    """(name, environment) at every moment of a match, the steps after the end and the time after these included."""
    env = started(seed, **options)
    for _ in walk(env, seed):
        yield moment(env), env
    while env.agents:
        yield "over", env
        env.step(None)
    yield "empty", env


def moment(env: AECGameEnv) -> str:
    """What is being decided: "pick", "row", "side" or "draft"; "committed" when some seats have picked."""
    context = natural(env, env.agent_selection)["context"]
    [phase] = [name.removeprefix("phase_") for name, value in context.items() if name.startswith("phase_") and value[0]]
    return "committed" if phase == "pick" and env.agent_selection != env.agents[0] else phase


def seat_of(agent: str) -> int:
    return int(agent.removeprefix("player_"))


def natural(env: AECGameEnv, agent: str) -> dict[str, dict[str, NDArray[Any]]]:
    """The agent's observation in natural units."""
    return env.game.layout.decode(env.observe(agent)["observation"])


def totals(env: AECGameEnv) -> list[int]:
    """Bull heads of the match, as the first seat sees them."""
    heads: list[int] = natural(env, "player_0")["seats"]["total"].tolist()
    return heads[: len(env.possible_agents)]


def plain(value: Any) -> Any:
    """Equal for equal content; arrays by type, shape and bytes."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def shown(env: AECGameEnv, agents: Sequence[str] | None = None) -> list[Any]:
    """All that `agents`, by default all of them, can read off the environment now."""
    watching = env.possible_agents if agents is None else agents
    common = [env.agents, env.agent_selection, env.rewards, env.terminations, env.truncations]
    seen = [[env.observe(agent), env.infos.get(agent), env._cumulative_rewards.get(agent)] for agent in watching]
    asked = env.last() if env.agents and env.agent_selection in watching else None
    board = env.render() if env.render_mode == "ansi" and env.agent_selection in watching else None
    result: list[Any] = plain([common, seen, asked, board])
    return result


def arrays(observation: Observation, info: dict[str, Any]) -> list[NDArray[Any]]:
    """The arrays that an agent has been handed."""
    return [*observation.values(), *(value for value in info.values() if isinstance(value, np.ndarray))]
