"""Training: whole iterations of PPO as we set it up beside sb3-contrib's MaskablePPO as it comes, and the memory it takes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import gymnasium
from gymnasium.wrappers import TransformObservation
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv

from sixnimmt_env import agents, sixnimmt_v0
from sixnimmt_env.games import sixnimmt
from training import ppo
from training.budget import Budget
from training.config import Config, Training
from training.train import environment
from training.vec_env import MatchVecEnv

from .fresh import fresh
from .measure import Bar, Result, Scale, compare, timed

MEMORY_BAR: Final = Bar("value", "most", 2000)
NAIVE_BAR: Final = Bar("ratio", "least", 4)
STOCK_GAMES: Final = 8

_PEAK = """\
import json, sys
from training.bench import learning, fresh
learning.ours(json.loads(sys.argv[1]))()
print(json.dumps(fresh.peak()))
"""


def measure_training(scale: Scale) -> list[Result]:
    """Learner decisions a second over whole iterations, and the peak memory of a process that trains."""
    # In a process of its own, since the peak of this one may be another benchmark's. First, while this one is small.
    memory = fresh(_PEAK, json.dumps(dict(scale.training)))
    why = "" if memory is not None else "this system does not say"
    here, unit = ours(scale.training), "decisions/s"
    speed = compare("training.decisions", unit, here, "MaskablePPO's defaults", stock(scale.stock), scale.training_pairs)
    beside = "the same over DummyVecEnv"
    whole = compare("training.beside_dummy", unit, here, beside, naive(scale.stock), scale.training_pairs, NAIVE_BAR)
    return [speed, whole, Result("training.memory", memory, "MB", why, bar=MEMORY_BAR)]


def ours(settings: Mapping[str, Any]) -> Callable[[], float]:
    """A measurement of our training; `settings` are keys of the configuration's section `training`."""
    config = Config(training=Training(**settings))
    env = _env(config, config.training.games)
    return _iteration(ppo.build(config, env, Budget(config.training.frames)))


def stock(arguments: Mapping[str, Any]) -> Callable[[], float]:
    """A measurement of MaskablePPO with the network and settings it comes with, on the same games, network threads and device."""
    config = Config()
    env = _env(config, STOCK_GAMES)
    return _iteration(MaskablePPO("MlpPolicy", env, seed=0, device=config.training.device, **arguments))


def naive(arguments: Mapping[str, Any]) -> Callable[[], float]:
    """A measurement of what one would write first: MaskablePPO, its settings left as they are, over stable-baselines3's DummyVecEnv of
    the Gymnasium form. The sizes of its hidden layers are ours, and so are network threads and device."""
    config = Config()
    layers = {"net_arch": [config.network.hidden] * config.network.layers}
    env = DummyVecEnv([single] * STOCK_GAMES)
    return _iteration(MaskablePPO("MlpPolicy", env, seed=0, device=config.training.device, policy_kwargs=layers, **arguments))


def single() -> gymnasium.Env[Any, Any]:
    """The default game in the Gymnasium form, the default opponents in turn in the other seats, with the vector as its observation: masks
    are asked for apart."""
    seats = itertools.islice(itertools.cycle(Config().opponents), sixnimmt.Rules().num_players - 1)
    env = sixnimmt_v0.gym_env(opponents=list(seats))
    assert isinstance(env.observation_space, gymnasium.spaces.Dict)
    return TransformObservation(env, lambda seen: seen["observation"], env.observation_space["observation"])


def _env(config: Config, count: int) -> MatchVecEnv:
    opponents = {spec: agents.make(spec, seed=1 + number) for number, spec in enumerate(config.opponents)}
    return environment(config, opponents, count)[0]


def _iteration(model: MaskablePPO) -> Callable[[], float]:
    """Decisions a second over one iteration, games and gradient steps; the model goes on where it was."""
    decisions = model.n_steps * model.n_envs
    return lambda: decisions / timed(lambda: model.learn(decisions, reset_num_timesteps=False))
