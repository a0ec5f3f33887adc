"""A training run, from a configuration to a folder with a policy in it.

A run folder holds config.yaml (complete, can be run again), metrics.csv, tensorboard/, checkpoints/, policy.safetensors and policy.json,
learning_curve.png and evaluation.json.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import KVWriter, Logger, TensorBoardOutputFormat

from sixnimmt_env import games
from sixnimmt_env.agents import Agent
from sixnimmt_env.arena import Strength
from sixnimmt_env.core.files import write_atomically
from sixnimmt_env.core.seeding import MAX_SEED
from sixnimmt_env.envs.seats import NoChoiceError, SeatGames

from . import config as configuration
from . import policy, ppo
from .budget import Budget
from .callbacks import Coach, Display, DivergedError, Interrupt, check_weights
from .config import POOL, SELF, Config, ConfigError, Schedule
from .console import SteadyConsole
from .evaluate import as_json, evaluate, show
from .league import League
from .metrics import Metrics
from .network import Shape
from .plots import learning_curve
from .plugin import agent_of
from .vec_env import MatchVecEnv
from .yaml_reader import KeyPath


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
        ConfigError: an agent is unknown, the variant leaves nothing to learn, or the folder is in use or cannot be written.
        DivergedError: the weights are no numbers any more; the checkpoints are those from before.
        OSError: the disk fills up or fails. What was saved before is intact.
    """
    console = console or SteadyConsole()
    opponents, field = _players(config)
    ppo.check(config)
    _try_out(config, opponents)
    _prepare(folder, config)
    env, league = environment(config, opponents, config.training.games)
    budget = Budget(config.training.frames, config.training.max_minutes)
    saver = _Saver(config, folder, ppo.build(config, env, budget), budget, console)
    _say(console, f"Training {config.name} against {_mixture(config)}; everything goes to {folder}")
    interrupt = Interrupt()
    with interrupt.watch(console):
        _learn(config, saver, league, interrupt, console)
        seconds = budget.seconds
        with interrupt.shield():
            path = saver.final(interrupt.asked)
    try:
        learning_curve(folder / "metrics.csv", folder / "learning_curve.png", config.name)
    except OSError as error:
        _say(console, f"The learning curve could not be drawn: {error.filename}: {error.strerror}")
    decisions = int(saver.model.num_timesteps)
    _say(console, f"{decisions:,} decisions in {seconds / 60:.1f} minutes; policy saved as {path}")
    results = [] if interrupt.asked else _evaluate(config, folder, field, console)
    return Run(folder, decisions, seconds, interrupt.asked, results)


def _learn(config: Config, saver: _Saver, league: League | None, interrupt: Interrupt, console: Console) -> None:
    """Learn until the budget is spent or the user asks to stop."""
    display = Display(console)
    coach = Coach(config.training, saver.budget, interrupt, display, saver.checkpoint, config.output.checkpoint_minutes, league)
    logger = Logger(str(saver.folder), _writers(saver.folder, config))
    saver.model.set_logger(logger)
    try:
        with display.live():
            saver.model.learn(config.training.frames, callback=coach)
    except KeyboardInterrupt:
        interrupt.asked = True
    except OSError:
        with contextlib.suppress(OSError, DivergedError):  # the figures cannot be written; the policy perhaps can
            saver.final(interrupted=True)
        raise
    finally:
        logger.close()


def environment(config: Config, opponents: Mapping[str, Agent], count: int) -> tuple[MatchVecEnv, League | None]:
    """The games of `config`, `count` of them, and who looks after the opponents if these change.

    Opponents that are always the same, each beside one learner, are played by the quicker `SeatGames`.
    """
    shape = shape_of(config)
    named = list(config.opponents.items())
    league = None
    if config.variants or any(spec in (SELF, POOL) or isinstance(weight, Schedule) for spec, weight in named):
        league = League(config, opponents, count)
        played: SeatGames = league.games
    else:
        weights = list(config.mixture_at(0.0).values())
        seated = [opponents[spec] for spec in config.opponents]
        played = SeatGames(games.get(config.game), config.rules, seated, weights, count, "random", skip_forced=True)
    training = config.training
    return MatchVecEnv(played, shape, config.seed, training.reward, training.reward_scale), league


def shape_of(config: Config) -> Shape:
    """The network that `config` asks for; it drafts if any variant does."""
    drafts = any(rules.deck == "logic" for rules, _ in config.all_rules())
    return Shape(config.network.hidden, config.network.layers, draft=drafts)


def _try_out(config: Config, opponents: Mapping[str, Agent]) -> None:
    """Play a little, to find out before anything is written whether there is something to learn."""
    try:
        environment(config, opponents, 16)[0].reset()
    except NoChoiceError as error:
        raise config.fault(("rules",), str(error)) from None


class _Saver:
    """Saves the policy of a run as it goes."""

    def __init__(self, config: Config, folder: Path, model: MaskablePPO, budget: Budget, console: Console) -> None:
        self.folder, self.model, self.budget = folder, model, budget
        self._config, self._console = config, console

    def checkpoint(self, frames: int) -> None:
        """Save the policy as it is now, and drop the oldest checkpoints. Where that fails the training goes on: the next may succeed."""
        place = self.folder / "checkpoints"
        try:
            self._save(place, f"policy_{frames:012d}", finished=False)
            for old in sorted(place.glob("policy_*.json"))[: -self._config.output.keep_checkpoints]:
                old.unlink(missing_ok=True)
                old.with_suffix(".safetensors").unlink(missing_ok=True)
        except OSError as error:
            _say(self._console, f"No checkpoint could be saved, the training goes on: {error.filename}: {error.strerror}")

    def final(self, interrupted: bool) -> Path:
        """Save the policy that the run ends with. `DivergedError` if it has none."""
        check_weights(self.model)
        return self._save(self.folder, policy.STEM, finished=not interrupted)

    def _save(self, folder: Path, stem: str, finished: bool) -> Path:
        summary = {
            "name": self._config.name,
            "seed": self._config.seed,
            "decisions": int(self.model.num_timesteps),
            "seconds": round(self.budget.seconds, 1),
            "finished": finished,
            "opponents": self._config.mixture_at(1.0),
            "made_with": f"sixnimmt-env {version('sixnimmt-env')}",
        }
        learner = self.model.policy
        assert isinstance(learner, ppo.ScorerPolicy)
        return policy.save(folder, learner.scorer, games.get(self._config.game), self._config.rules, summary, stem)


def free_folder(name: str, root: Path = Path("runs")) -> Path:
    """`root`/`name`, or the first of name-2, name-3, ... that is not in use."""
    folder, number = root / name, 1
    while folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        number += 1
        folder = root / f"{name}-{number}"
    return folder


def _players(config: Config) -> tuple[dict[str, Agent], list[Agent]]:
    """The opponents, and the field of the evaluation. Everyone who is unknown is reported, at his line."""
    problems: list[str] = []

    def make(spec: str, place: KeyPath, seed: int) -> Agent | None:
        try:
            return agent_of(spec, config.game, seed % (MAX_SEED + 1))
        except ValueError as error:
            problems.append(str(config.fault(place, str(error))))
            return None

    places = [(("opponents", spec), spec) for spec in config.opponents if spec not in (SELF, POOL)]
    places += [(("pool", "policies", str(number)), spec) for number, spec in enumerate(config.pool.policies)]
    drawn = {spec: make(spec, place, config.seed + 1 + number) for number, (place, spec) in enumerate(places)}
    examiners = [
        make(spec, ("evaluation", "against", str(number)), config.evaluation.seed + 2)
        for number, spec in enumerate(config.evaluation.against)
    ]
    if problems:
        raise ConfigError(*problems)
    return {spec: agent for spec, agent in drawn.items() if agent}, [agent for agent in examiners if agent]


def _mixture(config: Config) -> str:
    start, end = config.mixture_at(0.0), config.mixture_at(1.0)
    return ", ".join(f"{spec} x{start[spec]:g}" + (f" to {end[spec]:g}" if end[spec] != start[spec] else "") for spec in start)


def _say(console: Console, words: str) -> None:
    """One line, as it is: names and paths may hold what looks like markup."""
    console.print(words, markup=False, highlight=False, soft_wrap=True)


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
    writers: list[KVWriter] = [Metrics(folder / "metrics.csv")]
    if config.output.tensorboard:
        writers.append(TensorBoardOutputFormat(str(folder / "tensorboard")))
    return writers


def _evaluate(config: Config, folder: Path, field: Sequence[Agent], console: Console) -> list[Strength]:
    learned = policy.load(folder)
    results = evaluate(learned, config.rules, field, config.evaluation.rounds, config.evaluation.seed, console)
    write_atomically(folder / "evaluation.json", json.dumps(as_json(learned.name, config.evaluation.seed, results), indent=2) + "\n")
    show(results, config.name, console)
    return results
