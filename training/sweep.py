"""A sweep: one training in several variants, each with several seeds, and what the variants are worth.

The folder of a sweep holds a run folder for each trial (VARIANT-seedK), the games of the cross-play, and report.md, report.json and
report.png (see `sweep_report`). Whatever is finished is not done again: a sweep that was stopped or killed goes on by the same command, its
unfinished trial as `train` has it.
"""

from __future__ import annotations

import dataclasses
import gc
import itertools
import json
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from sixnimmt_env import arena
from sixnimmt_env.agents import Agent
from sixnimmt_env.arena import Entrant, Plan, Schedule, head_to_head
from sixnimmt_env.core.files import write_atomically

from . import config as configuration
from . import policy, sweep_report
from .callbacks import DivergedError
from .config import Config, ConfigError
from .console import say
from .sweep_config import Sweep, Trial
from .sweep_results import Outcome, Row, difference
from .tournament import check_kept, digest, duration, follow, make, mark
from .train import check as check_training
from .train import train

_DIVERGED: Final = "diverged.txt"  # in the folder of a trial: why it has no policy
_CHUNK_GAMES: Final = 8192  # of the cross-play, between two saves: policies are quick, and quicker in large batches


class TrialError(ValueError):
    """What a sweep has kept of a trial or of its games is damaged; says which file and the fix."""


# --- Trials --------------------------------------------------------------------------------------------------------------


def finished(folder: Path) -> bool:
    """Whether the trial in `folder` is done, with a policy or without."""
    return (folder / _DIVERGED).is_file() or ((folder / "evaluation.json").is_file() and (folder / f"{policy.STEM}.json").is_file())


def check(trials: Sequence[Trial], folder: Path) -> None:
    """Raise `ConfigError` where a trial was trained, or begun, with other settings than it would be now, or could not be begun."""
    problems = []
    for trial in trials:
        kept = folder / trial.name / "config.yaml"
        if kept.exists() and (changes := list(_changes(configuration.load(kept), trial.config))):
            problems.append(f"{kept.parent}: was trained with other settings: {'; '.join(changes)}")
    if problems:
        fix = "give the sweep another name or --out, delete these folders to train them anew, or set the sweep back"
        raise ConfigError(*problems, fix)
    # Before hours are spent on others: one of each variant, and not those that are under way, who may do without what they began with.
    for trial in {trial.variant: trial for trial in trials if not (folder / trial.name / "config.yaml").exists()}.values():
        check_training(trial.config)


def _changes(before: Config, now: Config) -> Iterator[str]:
    """The keys that differ, each with both values."""
    was, asked = dict(_flat(_plain(before))), dict(_flat(_plain(now)))
    for key in sorted(was.keys() | asked.keys()):
        if was.get(key) != asked.get(key):
            one, other = (json.dumps(values[key]) if key in values else "nothing" for values in (was, asked))
            yield f"{key} was {one}, is {other}"


def _plain(config: Config) -> dict[str, Any]:
    return {**config.model_dump(mode="json", exclude={"rules"}), "rules": dataclasses.asdict(config.rules)}  # type: ignore[call-overload]


def _flat(tree: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield before + key, value


def outcome(trial: Trial, folder: Path) -> Outcome:
    """What came of a finished `trial` of the sweep in `folder`. `TrialError` where its files are damaged, `OSError` where they are
    gone."""
    place = folder / trial.name
    try:
        if (place / _DIVERGED).is_file():
            return Outcome(diverged=(place / _DIVERGED).read_text(encoding="utf-8").strip())
        summary = policy.read(place).training
        results = json.loads((place / "evaluation.json").read_text(encoding="utf-8"))["results"]
        found = list(zip(trial.config.evaluation.against, results, strict=True))
        return Outcome(
            decisions=int(summary["decisions"]),
            seconds=_finite(summary["seconds"]),
            heads={against: _finite(result["mean_heads"]) for against, result in found},
            errors={against: math.nan if result["se"] is None else _finite(result["se"]) for against, result in found},
        )
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        fix = f"delete {place / 'evaluation.json'} and give the command again, or the folder to train it anew"
        raise TrialError(f"{place}: what it came to cannot be read ({type(error).__name__}: {error}): {fix}") from None


def _finite(given: Any) -> float:
    """`given` as a number; `ValueError` for nan and infinity, `TypeError` or `ValueError` for what is none."""
    number = float(given)
    if not math.isfinite(number):
        raise ValueError(f"{number} is no figure")
    return number


def train_all(trials: Sequence[Trial], folder: Path, console: Console) -> bool:
    """Train the trials that are not finished, and go on with the one that was begun. False when the user stopped it.

    Raises:
        ConfigError, CheckpointError, OSError: as `train`.
    """
    for number, trial in enumerate(trials, 1):
        place = folder / trial.name
        if finished(place):
            continue
        left = time_left(trials, folder)
        ahead = "" if left is None else f"; about {duration(left)} of training left"
        say(console, f"Trial {number} of {len(trials)}: {trial.name}{ahead}")
        try:
            run = train(trial.config, place, console, resume=place if (place / "config.yaml").exists() else None)
        except DivergedError as error:
            # A setting that cannot be trained with is a result of the sweep, not its end.
            say(console, f"{trial.name}: {error}")
            write_atomically(place / _DIVERGED, f"{error}\n")
            continue
        if run.interrupted:
            return False
        gc.collect()  # a training is full of circles; a dozen of them would fill the memory before Python looks
    return True


def time_left(trials: Sequence[Trial], folder: Path) -> float | None:
    """Seconds of training that are left, as the finished trials tell: of the same variant, where there are any. None before the first."""
    known: dict[str, list[float]] = {}
    missing = []
    for trial in trials:
        if finished(folder / trial.name):
            found = outcome(trial, folder)
            if not found.diverged:
                known.setdefault(trial.variant, []).append(found.seconds)
        else:
            missing.append(trial.variant)
    if not known:
        return None
    usual = statistics.fmean(itertools.chain(*known.values()))
    return sum(statistics.fmean(known.get(variant, [usual])) for variant in missing)


# --- Cross-play ----------------------------------------------------------------------------------------------------------


def cross_play(sweep: Sweep, own: Sequence[Trial], rivals: Sequence[Trial], folder: Path, console: Console) -> NDArray[np.float64] | None:
    """(deals, seeds, seeds) what a policy of `own` paid a seat more than one of `rivals`; None when the user stopped it.

    Every policy of the one plays every policy of the other on the same deals, in all arrangements, half of the seats each; where they are
    odd, both have the larger half equally often. What is played is kept in `folder`/cross_play.
    """

    def trained(spec: str, game: str, seed: int) -> Agent:
        return make(str(folder / spec), game, seed)

    plan = _plan(sweep, own, rivals, trained)
    variant = own[0].variant
    place = folder / "cross_play" / f"{variant}-{digest(plan)}"
    try:
        check_kept(plan, place)
    except ValueError as error:
        raise TrialError(str(error)) from None
    with follow(console, f"{variant} against {rivals[0].variant}") as progress:
        played = arena.hold(plan, place, make=trained, progress=progress)
    if played.stopped:
        return None
    mine = plan.schedule.seating < len(own)
    costs = played.costs
    extra = (costs * mine).sum(axis=2) / mine.sum(axis=1) - (costs * ~mine).sum(axis=2) / (~mine).sum(axis=1)  # (deals, games)
    pairs: NDArray[np.float64] = extra.reshape(len(costs), len(own), len(rivals), -1).mean(axis=3)
    return pairs


def _plan(sweep: Sweep, own: Sequence[Trial], rivals: Sequence[Trial], trained: Callable[[str, str, int], Agent]) -> Plan:
    """What is played: the games of each pair, one pair after the other, on every deal."""
    config, trials = own[0].config, [*own, *rivals]
    players = config.rules.num_players
    table = head_to_head(players, {players // 2, players - players // 2}).seating
    pairs = itertools.product(range(len(own)), range(len(own), len(trials)))
    seating = np.concatenate([np.where(table == 0, one, other) for one, other in pairs])
    # By names, not paths: the folder of a sweep may move. The checksums of their weights tell policies apart.
    marks = [mark(trained(trial.name, config.game, 0)) for trial in trials]
    entrants = tuple(Entrant(trial.name, trial.name, 0, found) for trial, found in zip(trials, marks, strict=True))
    schedule = Schedule(seating, np.ones(seating.shape, dtype=bool))
    return Plan(config.game, config.rules, entrants, schedule, sweep.cross_play.deals, sweep.cross_play.seed, _CHUNK_GAMES, None)


def compare(sweep: Sweep, trials: Sequence[Trial], folder: Path, console: Console) -> list[Row] | None:
    """What came of every variant, all trials being finished; None when the user stopped it."""
    rows = []
    of = {variant: [trial for trial in trials if trial.variant == variant] for variant in sweep.variants}
    outcomes = {variant: tuple(outcome(trial, folder) for trial in own) for variant, own in of.items()}
    broken = {variant for variant, found in outcomes.items() if any(one.diverged for one in found)}
    for variant, found in outcomes.items():
        seen = None
        if variant != sweep.baseline and not broken & {variant, sweep.baseline}:
            heads = cross_play(sweep, of[variant], of[sweep.baseline], folder, console)
            if heads is None:
                return None
            seen = difference(heads)
        rows.append(Row(variant, found, seen))
    return rows


def run(sweep: Sweep, trials: Sequence[Trial], folder: Path, console: Console) -> list[Row] | None:
    """Train what is missing, let the policies play, and write and print the report.

    Args:
        sweep, trials: as `sweep_config.read` gives them.
        folder: everything goes there.
        console: what is said.

    Returns:
        What came of the variants, in their order; None when the user stopped it: what is done is kept.

    Raises:
        ConfigError: a trial was trained with other settings, or as `train`.
        CheckpointError, OSError: as `train`.
        TrialError: the files of a finished trial are damaged.
    """
    check(trials, folder)
    done = sum(finished(folder / trial.name) for trial in trials)
    what = f"{len(sweep.variants)} variants x {len(sweep.seeds)} seeds = {len(trials)} trainings"
    say(console, f"{sweep.name}: {what}" + (f", {done} of them finished before" if done else "") + f"; everything goes to {folder}")
    rows = compare(sweep, trials, folder, console) if train_all(trials, folder, console) else None
    if rows is None:
        say(console, "Stopped; what is done is kept. To go on, give the same command again")
        return None
    sweep_report.show(sweep, rows, console)
    say(console, f"report: {sweep_report.write(sweep, rows, folder)}")
    return rows
