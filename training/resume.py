"""Going on with a training run: what it goes on from, what may have changed since, and the folder that it goes on in."""

from __future__ import annotations

import contextlib
import json
import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from sixnimmt_env.core.files import TEMP_SUFFIX, write_atomically
from sixnimmt_env.core.saved import real, whole

from . import checkpoint, examiner, metrics
from . import config as configuration
from .checkpoint import CheckpointError
from .config import Config, ConfigError, Schedule
from .metrics import Metrics
from .yaml_reader import KeyPath

_CHANGEABLE: Final = {"frames", "max_minutes", "steps", "minibatch", "epochs", "learning_rate", "entropy", "gamma", "gae_lambda"} | {
    "clip_range", "value_coefficient", "max_grad_norm", "threads", "device"
}  # fmt: skip
"""Keys of `training` that may change when a run goes on: how it learns from then on. Others decide what its games and rewards are."""


@dataclass(frozen=True)
class Start:
    """What a run goes on from.

    Attributes:
        source: its folder.
        path: the checkpoint; None for the beginning.
        decisions: how many came before.
    """

    source: Path
    path: Path | None = None
    decisions: int = 0


def find(config: Config, source: Path, say: Callable[[str], None]) -> Start:
    """What the run in `source` goes on from under `config`: its newest intact checkpoint. Nothing is changed yet.

    A run that was stopped before its first checkpoint goes on from the beginning, which is the same run.

    Raises:
        ConfigError: there is no run, it is finished, or `config` asks for something that cannot change.
        CheckpointError: it has checkpoints, and none is intact.
    """
    newest = checkpoint.newest(source / "checkpoints", say)
    if newest is None:
        if not (source / "config.yaml").is_file() or (source / "policy.json").exists():
            raise ConfigError(f"{source}: holds no checkpoint to go on from; train anew from {source / 'config.yaml'} with another --out")
        return Start(source)
    path, tree = newest
    try:
        decisions, seconds = whole(tree["decisions"], "decisions"), real(tree["seconds"], "seconds")
        problems = list(_changes(config, tree["fixed"]))
        early = examiner.finished(tree["state"]["examiner"], config)
        before = {str(name): str(value) for name, value in tree["made_with"].items()}
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(f"{path}: holds no state of a training: {error}") from None
    if problems:
        raise ConfigError(*problems)
    _check_unfinished(config, source, decisions, seconds, early)
    here = made_with(config)
    if other := [f"{name} {before[name]}, now {here[name]}" for name in here if name in before and before[name] != here[name]]:
        say(f"{path} was made with {'; '.join(other)}: the training goes on, but it may not come to the same, bit by bit")
    return Start(source, path, decisions)


def fixed(config: Config) -> dict[str, Any]:
    """What cannot change while a run lasts, by keys, as JSON gives it back."""
    weights = {spec: [weight.start, weight.end] if isinstance(weight, Schedule) else weight for spec, weight in config.opponents.items()}
    found = {
        "game": config.game,
        "seed": config.seed,
        "rules": asdict(config.rules),  # type: ignore[call-overload]
        "opponents": list(weights.items()),  # a list: the games know them by their places
        "draw": config.draw,
        "variants": list(config.variants.items()),
        "pool": config.pool.model_dump(mode="json"),
        "training": {key: value for key, value in config.training.model_dump(mode="json").items() if key not in _CHANGEABLE},
        "network": config.network.model_dump(mode="json", exclude={"pretrained"}),  # whoever goes on has weights
    }
    plain: dict[str, Any] = json.loads(json.dumps(found))
    return plain


def made_with(config: Config) -> dict[str, str]:
    """What the same training may come to other bits without."""
    libraries = {name: version(name) for name in ("sixnimmt-env", "torch", "numpy", "stable-baselines3", "sb3-contrib")}
    processor = f"{platform.system()} {platform.machine()}"
    return {**libraries, "threads": str(config.training.threads), "device": config.training.device, "system": processor}


def _changes(config: Config, before: dict[str, Any]) -> Iterator[str]:
    """What `config` would have to leave as it was. A run from before a key existed has its default."""
    now, usual = fixed(config), fixed(Config())
    for key in sorted(now.keys() | before.keys()):
        was, asked = before.get(key), now.get(key)
        if isinstance(was, dict) and isinstance(asked, dict):
            pairs: list[tuple[KeyPath, Any, Any]] = [
                ((key, name), was.get(name, usual[key].get(name)), asked.get(name)) for name in sorted(was.keys() | asked.keys())
            ]
        else:
            pairs = [((key,), was, asked)]
        for path, one, other in pairs:
            if one != other:
                problem = f"cannot change while a run lasts: it was {json.dumps(one)}; leave it so, or train anew"
                yield str(config.fault(path, problem))


def _check_unfinished(config: Config, source: Path, decisions: int, seconds: float, early: bool) -> None:
    """Refuse to go on where nothing is left to do; a run that was stopped before its evaluation was written has that left."""
    training = config.training
    if (source / "evaluation.json").exists():
        again = f"sixnimmt train --resume {source} --set training"
        if decisions >= training.frames:
            more = f"{again}.frames={2 * decisions}"
            raise ConfigError(f"{source}: is finished, with {decisions:,} of {training.frames:,} decisions; to train on, set more: {more}")
        if training.max_minutes and seconds >= 60.0 * training.max_minutes:
            more = f"{again}.max_minutes={2 * training.max_minutes:g}"
            raise ConfigError(f"{source}: is finished, after {training.max_minutes:g} minutes; to train on, set more: {more}")
        if early:
            more = f"sixnimmt train --resume {source} --set evaluation.early_stop=null"
            raise ConfigError(f"{source}: is finished, since its evaluations became no better; to train on: {more}")


# --- The folder ----------------------------------------------------------------------------------------------------------


def open_new(folder: Path, config: Config, start: Start | None, iterations: int) -> Metrics:
    """Make `folder`, which must be new or empty, and begin its figures, with those of the run that goes on in it, if one does.

    Raises:
        ConfigError: it is in use or cannot be made, or the figures that it begins with are none.
    """
    table = _rows(start.source / "metrics.csv", config, iterations) if start is not None else ""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ConfigError(f"{folder}: is in use; name another folder with --out, or delete it")
        folder.mkdir(parents=True, exist_ok=True)
        configuration.save(config, folder / "config.yaml")  # first: a folder without it is nobody's run
        (folder / "checkpoints").mkdir()
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be made: {error.strerror or error}; name another folder with --out") from None
    if table:
        write_atomically(folder / "metrics.csv", table)
    return Metrics(folder / "metrics.csv", list(config.opponents), iterations if table else None, _optional(config))


def open_again(folder: Path, config: Config, iterations: int) -> Metrics:
    """Take possession of the folder of a run that goes on in it: cut its figures back, and clear away what is no longer true.

    Raises:
        ConfigError: another process trains into it, or its figures are none.
        OSError: it cannot be written.
    """
    try:
        table = Metrics(folder / "metrics.csv", list(config.opponents), iterations, _optional(config))
    except ValueError as error:
        raise ConfigError(str(error)) from None
    try:
        (folder / "checkpoints").mkdir(exist_ok=True)
        for left in [*folder.glob(f".*{TEMP_SUFFIX}"), *(folder / "checkpoints").glob(f".*{TEMP_SUFFIX}")]:
            left.unlink(missing_ok=True)  # half a file, of a run that was killed while it wrote
        (folder / "evaluation.json").unlink(missing_ok=True)  # of the policy that will be replaced
        if not _holds(folder / "config.yaml", config):
            configuration.save(config, folder / "config.yaml")
    except BaseException:
        table.close()
        raise
    return table


def _rows(path: Path, config: Config, iterations: int) -> str:
    """The rows so far of a run that goes on elsewhere; none where its figures are gone."""
    if not path.exists():
        return ""
    try:
        return metrics.known(path, list(config.opponents), iterations, _optional(config))
    except (OSError, ValueError) as error:
        raise ConfigError(str(error)) from None


def _optional(config: Config) -> list[str]:
    """Figures of `config` that not every run has."""
    training = config.training
    return [metrics.CRITIC_LOSS] * (training.critic == "privileged") + [metrics.AUXILIARY_LOSS] * (training.auxiliary > 0)


def _holds(path: Path, config: Config) -> bool:
    """Whether `path` says the same as `config`: then it is left as it was written, comments and all."""
    with contextlib.suppress(ConfigError):
        return configuration.load(path) == config
    return False
