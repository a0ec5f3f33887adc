"""Training: whole iterations of PPO as we set it up beside sb3-contrib's MaskablePPO as it comes, and the memory it takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from sb3_contrib import MaskablePPO

from sixnimmt_env import agents
from training import ppo
from training.budget import Budget
from training.config import Config, Training
from training.train import environment
from training.vec_env import MatchVecEnv

from .fresh import fresh
from .measure import Bar, Result, Scale, compare, timed

MEMORY_BAR: Final = Bar("value", "most", 2000)
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
    speed = compare(
        "training.decisions", "decisions/s", ours(scale.training), "MaskablePPO's defaults", stock(scale.stock), scale.training_pairs
    )
    return [speed, Result("training.memory", memory, "MB", why, bar=MEMORY_BAR)]


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


def _env(config: Config, count: int) -> MatchVecEnv:
    opponents = {spec: agents.make(spec, seed=1 + number) for number, spec in enumerate(config.opponents)}
    return environment(config, opponents, count)[0]


def _iteration(model: MaskablePPO) -> Callable[[], float]:
    """Decisions a second over one iteration, games and gradient steps; the model goes on where it was."""
    decisions = model.n_steps * model.n_envs
    return lambda: decisions / timed(lambda: model.learn(decisions, reset_num_timesteps=False))
