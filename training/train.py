"""A training run, from a configuration to a folder with a policy in it.

A run folder holds config.yaml (complete, can be run again), metrics.csv, tensorboard/, checkpoints/, policy.safetensors and policy.json,
learning_curve.png and evaluation.json.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from stable_baselines3.common.logger import CSVOutputFormat, KVWriter, Logger, TensorBoardOutputFormat

from sixnimmt_env import agents, games
from sixnimmt_env.agents import Agent
from sixnimmt_env.arena import Strength

from . import config as configuration
from . import policy, ppo
from .budget import Budget
from .callbacks import Coach, Display, Interrupt
from .config import Config, ConfigError
from .evaluate import as_json, evaluate, show
from .files import write_atomically
from .network import Shape
from .plots import learning_curve
from .vec_env import MatchVecEnv


@dataclass(frozen=True)
class Run:
    """What a training run came to.

    Attributes:
        folder: where everything is.
        frames: learner decisions.
        seconds: of learning, evaluation not counted.
        interrupted: the user stopped it.
        results: the evaluation; empty when interrupted.
    """

    folder: Path
    frames: int
    seconds: float
    interrupted: bool
    results: Sequence[Strength]


def train(config: Config, folder: Path, console: Console | None = None) -> Run:
    """Train what `config` describes, into `folder`, which must be new or empty.

    Raises:
        ConfigError: an agent is unknown, or the folder is in use or cannot be written.
        OSError: the disk fills up or fails. What was saved before is intact.
    """
    console = console or Console()
    opponents = _opponents(config)
    field = [_agent(config, spec, ("evaluation", "against"), config.evaluation.seed + 2) for spec in config.evaluation.against]
    _prepare(folder, config)
    game = games.get(config.game)
    shape = Shape(config.network.hidden, config.network.layers, draft=config.rules.deck == "logic")
    env = MatchVecEnv(game, config.rules, opponents, config.training.games, shape, config.seed, config.training.reward_scale)
    budget = Budget(config.training.frames, config.training.max_minutes)
    model = ppo.build(config, env, budget)
    logger = Logger(str(folder), _writers(folder, config))
    model.set_logger(logger)
    run = _Saver(config, folder, model, budget)
    interrupt, display = Interrupt(), Display(console)
    coach = Coach(config.training, budget, interrupt, display, run.checkpoint, config.output.checkpoint_minutes)
    names = ", ".join(f"{agent.name} x{weight:g}" for agent, weight in opponents)
    console.print(f"Training [bold]{config.name}[/] against {names}; everything goes to {folder}", highlight=False, soft_wrap=True)
    try:
        with interrupt.watch(console), display.live():
            model.learn(config.training.frames, callback=coach)
    except KeyboardInterrupt:
        interrupt.asked = True
    finally:
        logger.close()
        seconds = budget.seconds
    path = run.final(interrupt.asked)
    learning_curve(folder / "metrics.csv", folder / "learning_curve.png", config.name)
    console.print(
        f"{model.num_timesteps:,} decisions in {seconds / 60:.1f} minutes; policy saved as {path}", highlight=False, soft_wrap=True
    )
    results: list[Strength] = []
    if not interrupt.asked:
        results = _evaluate(config, folder, field, console)
    return Run(folder, model.num_timesteps, seconds, interrupt.asked, results)


class _Saver:
    """Saves the policy of a run as it goes."""

    def __init__(self, config: Config, folder: Path, model: Any, budget: Budget) -> None:
        self._config, self._folder, self._model, self._budget = config, folder, model, budget

    def checkpoint(self, frames: int) -> None:
        """Save the policy as it is now, and drop the oldest checkpoints."""
        place = self._folder / "checkpoints"
        self._save(place, f"policy_{frames:012d}", finished=False)
        for old in sorted(place.glob("policy_*.json"))[: -self._config.output.keep_checkpoints]:
            old.unlink(missing_ok=True)
            old.with_suffix(".safetensors").unlink(missing_ok=True)

    def final(self, interrupted: bool) -> Path:
        """Save the policy that the run ends with."""
        return self._save(self._folder, policy.STEM, finished=not interrupted)

    def _save(self, folder: Path, stem: str, finished: bool) -> Path:
        summary = {
            "name": self._config.name,
            "seed": self._config.seed,
            "decisions": int(self._model.num_timesteps),
            "seconds": round(self._budget.seconds, 1),
            "finished": finished,
            "opponents": dict(self._config.opponents),
            "made_with": f"sixnimmt-env {version('sixnimmt-env')}",
        }
        scorer = self._model.policy.scorer
        return policy.save(folder, scorer, games.get(self._config.game), self._config.rules, summary, stem)


def free_folder(name: str, root: Path = Path("runs")) -> Path:
    """`root`/`name`, or the first of name-2, name-3, ... that is not in use."""
    folder, number = root / name, 1
    while folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        number += 1
        folder = root / f"{name}-{number}"
    return folder


def _agent(config: Config, spec: str, place: tuple[str, ...], seed: int) -> Agent:
    try:
        return agents.make(spec, config.game, seed=seed)
    except ValueError as error:
        raise config.fault(place, str(error)) from None


def _opponents(config: Config) -> list[tuple[Agent, float]]:
    return [
        (_agent(config, spec, ("opponents", spec), config.seed + 1 + number), weight)
        for number, (spec, weight) in enumerate(config.opponents.items())
    ]


def _prepare(folder: Path, config: Config) -> None:
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ConfigError(f"{folder}: is in use; name another folder with --out, or delete it")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "checkpoints").mkdir()
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be made: {error.strerror or error}; name another folder with --out") from None
    configuration.save(config, folder / "config.yaml")


def _writers(folder: Path, config: Config) -> list[KVWriter]:
    writers: list[KVWriter] = [CSVOutputFormat(str(folder / "metrics.csv"))]
    if config.output.tensorboard:
        writers.append(TensorBoardOutputFormat(str(folder / "tensorboard")))
    return writers


def _evaluate(config: Config, folder: Path, field: Sequence[Agent], console: Console) -> list[Strength]:
    learned = policy.load(folder)
    results = evaluate(learned, config.rules, field, config.evaluation.rounds, config.evaluation.seed, console)
    write_atomically(folder / "evaluation.json", json.dumps(as_json(learned.name, config.evaluation.seed, results), indent=2) + "\n")
    show(results, f"{config.name}: equal deals, every seat", console)
    return results
