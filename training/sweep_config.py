"""The configuration of a sweep: which trainings are compared, and how; read as strictly as that of a training.

`configs/sweeps/defaults.yaml` explains every key.
"""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, model_validator

from sixnimmt_env.core.seeding import MAX_SEED
from training.config import AgentCheck, Config, ConfigError, Evaluation, Root, RunName, Section, Seed, overridden, validated
from training.fields import FaultsError, agents, as_whole, refuse, whole
from training.yaml_reader import Fault, KeyPath, Reader, Tree, guess, label, show

_MOST_SEEDS: Final = 100
_RESERVED: Final = {
    "name": "every trial has a name of its own: leave it out",
    "seed": "is the sweep's: write it among `seeds`",
    "evaluation.against": "is the same for all trials: write it under `evaluation`",
    "evaluation.rounds": "is the same for all trials: write it under `evaluation`",
    "evaluation.seed": "is the same for all trials: write it under `evaluation`",
}
"""Keys of a training that no override may have."""


def _base(value: object) -> object:
    if isinstance(value, Mapping) or (isinstance(value, str) and value.strip()):
        return value
    raise refuse("must be the path of a training's configuration, such as ../quickstart.yaml, or a mapping of its keys")


def _overrides(value: object) -> object:
    """Checks {key.path: value}; whether a training has such keys is found when they are applied."""
    if not isinstance(value, Mapping):
        raise refuse("must be a mapping of keys to values, such as {training.epochs: 3}, or {} for none")
    if faults := list(_reserved(value)):
        raise FaultsError(*faults)
    return dict(value)


def _reserved(given: Mapping[Any, Any]) -> Iterator[Fault]:
    """The keys of `given` that set what is the sweep's, by themselves, by a part of it, or with the whole section."""
    for key, value in given.items():
        path = ".".join(part.strip() for part in str(key).split("."))
        sections = [f"{path}.{name}" for name in value] if isinstance(value, Mapping) else []
        for reserved, problem in _RESERVED.items():
            if any(f"{each}.".startswith(f"{reserved}.") for each in (path, *sections)):
                yield Fault((str(key),), problem if path.startswith(reserved) else f"{reserved} {problem}", "key")
                break


def _variants(value: object) -> object:
    """Checks {name: {key.path: value}}."""
    if not isinstance(value, Mapping) or len(value) < 2:
        raise refuse("must be a mapping of at least two names to overrides, such as {baseline: {}, epochs_3: {training.epochs: 3}}")
    faults: list[Fault] = []
    for name, given in value.items():
        if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}", str(name)) is None:
            faults.append(Fault((str(name),), "a variant's name must be 1 to 60 letters, digits, dots, underscores, hyphens", "key"))
            continue
        try:
            _overrides(given)
        except FaultsError as error:
            faults += [Fault((str(name), *fault.path), fault.problem, fault.names) for fault in error.faults]
    if faults:
        raise FaultsError(*faults)
    return {str(name): dict(given) for name, given in value.items()}


def _seeds(value: object) -> object:
    found = [as_whole(item) for item in value] if isinstance(value, (list, tuple)) else []
    fine = all(isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed <= MAX_SEED for seed in found)
    if not fine or len(set(found)) != len(found) or not 2 <= len(found) <= _MOST_SEEDS:
        named = f", not {show(value)}" if isinstance(value, (list, tuple)) else ""
        raise refuse(f"must be 2 to {_MOST_SEEDS} different whole numbers from 0 to {MAX_SEED}, such as [0, 1, 2]{named}")
    return tuple(found)


class Floors(Section):
    """What every trained policy is measured against, each opponent in all other seats."""

    against: Annotated[tuple[str, ...], BeforeValidator(agents)] = Evaluation().against
    """Agents to be measured against, each on its own."""
    rounds: Annotated[int, whole(1, 10**7)] = Evaluation().rounds
    """Rounds played against each of them."""
    seed: Seed = Evaluation().seed
    """Fixes the deals, which are the same for all trials."""


class CrossPlay(Section):
    """How the policies of every variant play those of the baseline, half of the table each."""

    deals: Annotated[int, whole(2, 1_000_000)] = 1000
    """Deals, each played by every policy of the variant with every policy of the baseline in every arrangement."""
    seed: Seed = 2000
    """Fixes the deals."""


class Sweep(Root):
    """A complete sweep."""

    name: RunName = "sweep"
    """What it is called; its folder is runs/<name>. Default: the name of the file."""
    base: Annotated[str | dict[str, Any], BeforeValidator(_base)]
    """The training that is varied: the path of its file, relative to this one, or its keys."""
    set: Annotated[dict[str, Any], BeforeValidator(_overrides)] = Field(default_factory=dict)
    """What is different from it in all trials: keys as in `sixnimmt train --set`, with their values."""
    seeds: Annotated[tuple[int, ...], BeforeValidator(_seeds)] = (0, 1, 2)
    """Every variant is trained once with each of them. With fewer than three nothing is claimed."""
    variants: Annotated[dict[str, dict[str, Any]], BeforeValidator(_variants)]
    """What is tried: a name each, with what is different from the base."""
    baseline: str = "baseline"
    """The variant that the others are compared with."""
    evaluation: Floors = Floors()
    """What every trained policy is measured against."""
    cross_play: CrossPlay = CrossPlay()
    """How the policies of every variant play those of the baseline."""

    @model_validator(mode="after")
    def _has_its_baseline(self) -> Sweep:
        if self.baseline not in self.variants:
            known = f"is not among the variants{guess(self.baseline, self.variants)} (there are: {', '.join(self.variants)})"
            raise FaultsError(Fault(("baseline",), f"{self.baseline} {known}; add it, such as {self.baseline}: {{}}", "key"))
        return self

    def agents_named(self) -> Iterator[tuple[KeyPath, str]]:
        """Whom the policies are measured against."""
        yield from ((("evaluation", "against", str(index)), spec) for index, spec in enumerate(self.evaluation.against))


@dataclass(frozen=True)
class Trial:
    """One training of a sweep.

    Attributes:
        variant: its name.
        seed: of the training.
        config: all of it.
    """

    variant: str
    seed: int
    config: Config

    @property
    def name(self) -> str:
        """What it is called; its folder in that of the sweep."""
        return self.config.name


def read(
    path: str | os.PathLike[str], overrides: Iterable[str] = (), check_agent: AgentCheck | None = None
) -> tuple[Sweep, tuple[Trial, ...]]:
    """The sweep in `path`, and its trials: all variants with the first seed, then all with the next.

    Args:
        path: the file.
        overrides: key.path=value, applied to the sweep in order.
        check_agent: called with every agent; a `ValueError` from it is reported at the agent's place.

    Raises:
        ConfigError: with everything that is wrong, in the sweep or in the trainings that follow from it.
    """
    reader = Reader()
    sweep, configs = None, None
    tree = reader.file(os.fspath(path))
    if tree is not None:
        for override in overrides:
            reader.override(tree, override, {})
        sweep = validated(Sweep, tree, Path(path).stem, reader, check_agent)
        if sweep is not None and not reader.problems():
            configs = _configs(sweep, tree, Path(path).parent, reader, check_agent)
    problems = reader.problems()
    if sweep is None or configs is None or problems:
        raise ConfigError(*problems)
    return sweep, tuple(
        Trial(variant, seed, config.model_copy(update={"name": f"{variant}-seed{seed}", "seed": seed}))
        for seed in sweep.seeds
        for variant, config in configs.items()
    )


def _configs(sweep: Sweep, tree: Tree, folder: Path, reader: Reader, check_agent: AgentCheck | None) -> dict[str, Config] | None:
    """The training of every variant, whatever the seed; None where there is none. What is wrong is reported."""
    base = reader.file(os.fspath(folder / sweep.base)) if isinstance(sweep.base, str) else tree.find(("base",))[1]
    if base is None:
        return None
    found: dict[str, Config] = {}
    for variant in sweep.variants:
        own = copy.deepcopy(base)
        for path in (("set",), ("variants", variant)):
            _apply(tree, path, own, reader)
        # Last, so that it holds for a variant, too, that sets the whole section.
        for key, value in sweep.evaluation.model_dump(mode="json").items():
            overridden(reader, own, f"evaluation.{key}={json.dumps(value, ensure_ascii=False)}", f"evaluation.{key}")
        config = validated(Config, own, variant, reader, check_agent)
        if config is not None:
            found[variant] = config
    if len(found) == len(sweep.variants):
        _check_same_game(sweep, tree, found, reader)
    return found


def _apply(tree: Tree, path: KeyPath, training: Tree, reader: Reader) -> None:
    """Apply the overrides at `path` of a sweep to the tree of a training; they are named by where they are written."""
    written, section = tree.find(path)
    if written != path or not isinstance(section.value, dict):  # a default, which is empty
        return
    for key, given in section.value.items():
        where = f"{given.where}: {label((*path, key))}"
        if not isinstance(given.value, (dict, list)):
            where += f"={show(given.value)}"
        overridden(reader, training, f"{key}={json.dumps(given.plain(), ensure_ascii=False)}", where)


def _check_same_game(sweep: Sweep, tree: Tree, found: Mapping[str, Config], reader: Reader) -> None:
    """Report variants that could not sit at one table with the baseline."""
    base = found[sweep.baseline]
    for variant, config in found.items():
        if (config.game, config.rules) != (base.game, base.rules):
            problem = "is played by other rules than the baseline, whom it could not be compared with: write rules under `set`"
            reader.report(*tree.placed(Fault(("variants", variant), problem, "key")))
