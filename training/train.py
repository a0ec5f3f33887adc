"""A training run, from a configuration to a folder with a policy in it.

A run folder holds config.yaml (complete, can be run again), metrics.csv, tensorboard/, checkpoints/, policy.safetensors and policy.json,
learning_curve.png and evaluation.json; with evaluations on the way evaluations.csv, and the best policy of these as best.safetensors and
best.json (see `examiner`). In checkpoints/, `policy_DECISIONS` are policies as they were on the way, which play like any other,
and `state_DECISIONS.checkpoint` is what the run goes on from (see `checkpoint`): everything that the iterations after it follow from. They
are saved between iterations, every output.checkpoint_minutes and at the end, and the newest output.keep_checkpoints of each are kept.

A run that goes on continues as if it had never been stopped: on the same machine, with the same versions and number of threads, it ends
with the same policy, bit by bit. With training.max_minutes, whose clock goes on from where it was, the schedules follow the clock, and no
two runs are alike. A run that was stopped before its first checkpoint begins again, which comes to the same.
"""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from rich.console import Console
from stable_baselines3.common.logger import KVWriter, Logger, TensorBoardOutputFormat
from torch.utils.tensorboard import SummaryWriter

from sixnimmt_env import games
from sixnimmt_env.agents import Agent
from sixnimmt_env.arena import Strength
from sixnimmt_env.core.files import write_atomically
from sixnimmt_env.core.seeding import MAX_SEED
from sixnimmt_env.envs.seats import NoChoiceError, SeatGames

from . import policy, ppo
from . import resume as resuming
from .budget import Budget
from .callbacks import Coach, Display, DivergedError, Interrupt
from .config import POOL, SELF, Config, ConfigError, Schedule, named_opponents
from .console import SteadyConsole, say
from .evaluate import as_json, evaluate, show
from .examiner import STEM as BEST
from .examiner import Examiner
from .league import League, shared_out
from .network import Network
from .plots import learning_curve
from .plugin import agent_of, policy_of
from .ppo import Typical
from .resume import Start
from .saving import Saver
from .shape import Shape, sizes_of
from .vec_env import MatchVecEnv
from .yaml_reader import KeyPath


@dataclass(frozen=True)
class Run:
    """What a training run came to.

    Attributes:
        folder: where everything is.
        frames: learner decisions.
        seconds: of learning, with evaluations on the way; the last one is not counted.
        interrupted: the user stopped it.
        results: the evaluation; empty when interrupted.
    """

    folder: Path
    frames: int
    seconds: float
    interrupted: bool
    results: Sequence[Strength]


def train(config: Config, folder: Path, console: Console | None = None, resume: Path | None = None) -> Run:
    """Train what `config` describes, into `folder`, which must be new or empty.

    Args:
        config: the experiment.
        folder: everything goes there.
        console: told how it goes.
        resume: the folder of a run to go on with, which may be `folder` itself; any other is left as it is.

    Raises:
        ConfigError: an agent is unknown, the variant leaves nothing to learn, the folder is in use or cannot be written, or there is
            nothing to go on with.
        CheckpointError: no checkpoint of `resume` is intact, or it does not fit.
        DivergedError: the weights are no numbers any more; the checkpoints are those from before.
        OSError: the disk fills up or fails. What was saved before is intact.
    """
    console = console or SteadyConsole()
    start = None if resume is None else resuming.find(config, resume, partial(say, console))
    players, known = _prepared(config, start is None or start.path is None)
    interrupt, display = Interrupt(), Display(console)
    saver, coach, examiner = _assemble(config, folder, players, known, interrupt, display, partial(say, console))
    if start is not None and start.path is not None:
        saver.restore(start.path)
    writers = _open(folder, config, start, saver, examiner, console)
    _announce(config, folder, start, console)
    with interrupt.watch(console):
        _learn(coach, saver, writers, interrupt, display)
        seconds = saver.budget.seconds
        with interrupt.shield():
            path = saver.final(interrupt.asked)
    try:
        learning_curve(folder, folder / "learning_curve.png", config.name)
    except OSError as error:
        say(console, f"The learning curve could not be drawn: {error.filename}: {error.strerror}")
    if examiner.best is not None:
        kept = folder / f"{BEST}.safetensors"
        say(console, f"Against these it lost least on the way after {examiner.best.decisions:,} decisions; that policy is kept as {kept}")
    decisions = int(saver.model.num_timesteps)
    say(console, f"{decisions:,} decisions in {seconds / 60:.1f} minutes; policy saved as {path}")
    if interrupt.asked:
        say(console, f"Go on with: sixnimmt train --resume {shlex.quote(str(folder))}")
    results = [] if interrupt.asked else _evaluate(config, folder, players[1], console)
    return Run(folder, decisions, seconds, interrupt.asked, results)


def check(config: Config) -> None:
    """Raise `ConfigError` for whatever else than its file is wrong with a training that is to begin: agents that are unknown or do not fit,
    a device that is not there, a variant that leaves nothing to learn."""
    _prepared(config, True)


_Players: TypeAlias = tuple[Mapping[str, Agent], Sequence[Agent]]
_Known: TypeAlias = tuple[Typical, Network | None]


def _prepared(config: Config, begins: bool) -> tuple[_Players, _Known]:
    """The players, see `_players`, and what is known to the learner, see `_assemble`; a training that goes on `begins` with no policy.
    Nothing is written yet. Errors are those of `check`."""
    players = _players(config)
    ppo.check(config)
    _check_variants(config)
    pretrained = _pretrained(config) if begins else None
    return players, (_try_out(config, players[0]), pretrained)


def _assemble(
    config: Config,
    folder: Path,
    players: _Players,
    known: _Known,
    interrupt: Interrupt,
    display: Display,
    tell: Callable[[str], None],
) -> tuple[Saver, Coach, Examiner]:
    """Everything that a run is made of, at its beginning; nothing is written yet.

    `players` are as `_players` gives them; `known` to the learner are typical observations and a network to begin with, see `ppo.build`.
    """
    opponents, field = players
    env, league = environment(config, opponents, config.training.games)
    budget = Budget(config.training.frames, config.training.max_minutes)
    model = ppo.build(config, env, budget, *known)
    model.set_logger(Logger(str(folder), []))
    saver = Saver(config, folder, model, budget, tell)
    examiner = Examiner(config, field, budget, env.shape, saver.best, tell)
    coach = Coach(config, budget, interrupt, display, saver.remember, saver.checkpoint, examiner, league)
    if league is not None:
        saver.parts["league"] = league
    saver.parts |= {"learner": model, "budget": budget, "coach": coach, "examiner": examiner}
    return saver, coach, examiner


def _open(folder: Path, config: Config, start: Start | None, saver: Saver, examiner: Examiner, console: Console) -> list[KVWriter]:
    """Make the folder ready, and begin or go on with what is written of each iteration."""
    again = start is not None and folder.exists() and folder.samefile(start.source)
    known = saver.model.iterations
    table = resuming.open_again(folder, config, known) if again else resuming.open_new(folder, config, start, known)
    saver.metrics = table
    if table.kept < known:
        say(console, f"{folder / 'metrics.csv'}: has {table.kept} of {known} rows; the others are lost, and the training goes on")
    try:
        examiner.open(folder, None if start is None else start.source)
    except ValueError as error:
        table.close()
        raise ConfigError(str(error)) from None
    writers: list[KVWriter] = [table]
    if config.output.tensorboard:
        examiner.events = _Events(folder / "tensorboard", saver.model.num_timesteps + 1 if again else None)
        writers.append(examiner.events)
    return writers


def _announce(config: Config, folder: Path, start: Start | None, console: Console) -> None:
    what = f"Training {config.name}"
    if start is not None:
        what = f"Going on with {config.name} after {start.decisions:,} decisions" if start.path else f"Beginning {config.name} again"
    say(console, f"{what} against {_mixture(config)}; everything goes to {folder}")


def _learn(coach: Coach, saver: Saver, writers: list[KVWriter], interrupt: Interrupt, display: Display) -> None:
    """Learn until the budget is spent or the user asks to stop."""
    model = saver.model
    model.logger.output_formats.extend(writers)
    try:
        with display.live():
            # What has been decided before is part of the budget: stable-baselines3 is told what is left.
            model.learn(saver.budget.frames - model.num_timesteps, callback=coach, reset_num_timesteps=False)
    except KeyboardInterrupt:
        interrupt.asked = True
    except OSError:
        with contextlib.suppress(OSError, DivergedError):  # the figures cannot be written; the policy perhaps can
            saver.final(interrupted=True)
        raise
    finally:
        model.logger.close()


class _Events(TensorBoardOutputFormat):
    """TensorBoard's events. `first` is the first step that is yet to come: what is there of later ones was of a run that was stopped."""

    def __init__(self, folder: Path, first: int | None) -> None:
        self.writer = SummaryWriter(log_dir=str(folder), purge_step=first)
        self._is_closed = False


def environment(config: Config, opponents: Mapping[str, Agent], count: int) -> tuple[MatchVecEnv, League | None]:
    """The games of `config`, `count` of them, and who looks after the opponents if these change.

    Opponents that are always the same, each beside one learner, are played by the quicker `SeatGames`.
    """
    shape = shape_of(config)
    named = list(config.opponents.items())
    league = None
    if config.variants or any(spec in (SELF, POOL) or isinstance(weight, Schedule) for spec, weight in named):
        league = League(config, opponents, count, shape)
        played: SeatGames = league.games
    else:
        weights = list(config.mixture_at(0.0).values())
        seated = [opponents[spec] for spec in config.opponents]
        played = SeatGames(games.get(config.game), config.rules, seated, weights, count, "random", skip_forced=True)
    training = config.training
    named_count = len(named_opponents(config))
    env = MatchVecEnv(played, shape, config.seed, training.reward, training.reward_scale, named_count, training.open_hands)
    return env, league


def shape_of(config: Config) -> Shape:
    """The network that `config` asks for; it drafts if any variant does."""
    drafts = any(rules.deck == "logic" for rules, _ in config.all_rules())
    network = config.network
    sizes = {name: getattr(network, name) for name in sizes_of(network.kind) if name != "draft"}
    return Shape(kind=network.kind, draft=drafts, **sizes)


def _check_variants(config: Config) -> None:
    """Raise `ConfigError` for a variant whose weight is too small for a single game: the policy would be said to know it."""
    played = shared_out([weight for _, weight in config.all_rules()], config.training.games)
    for number, place in enumerate((("rules",), *(("variants", name) for name in config.variants))):
        if number not in played:
            raise config.fault(place, f"gets none of the {config.training.games} games: give it more weight, or raise training.games")


def _pretrained(config: Config) -> Network | None:
    """The network that the training begins with, if there is one."""
    spec, place = config.network.pretrained, ("network", "pretrained")
    if spec is None:
        return None
    try:
        known = policy_of(agent_of(spec, config.game))
    except ValueError as error:
        raise config.fault(place, str(error)) from None
    if known is None:
        raise config.fault(place, f"{spec!r} is no learned policy: name one such as champion or runs/first, or null")
    network: Network = known.network
    shape, wanted = network.shape, shape_of(config)
    if replace(shape, draft=wanted.draft) != wanted:
        sizes = ", ".join(f"{name}: {size}" for name, size in shape.as_dict().items() if name != "draft")
        raise config.fault(place, f"{spec!r} has another network than asked for: write {sizes} beside it, or begin from nothing with null")
    return network


def _try_out(config: Config, opponents: Mapping[str, Agent]) -> Typical:
    """Typical observations. Where there is nothing to decide, that is found out before anything is written."""
    try:
        return environment(config, opponents, 64)[0].random_decisions(60, config.seed)
    except NoChoiceError as error:
        raise config.fault(("rules",), str(error)) from None


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


def _evaluate(config: Config, folder: Path, field: Sequence[Agent], console: Console) -> list[Strength]:
    learned = policy.load(folder)
    results = evaluate(learned, config.rules, field, config.evaluation.rounds, config.evaluation.seed, console)
    write_atomically(folder / "evaluation.json", json.dumps(as_json(learned.name, config.evaluation.seed, results), indent=2) + "\n")
    show(results, config.name, console)
    return results
