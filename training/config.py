"""The configuration of an experiment: read strictly, checked completely, saved so that it can be run again.

    config = load("configs/quickstart.yaml", overrides=["training.frames=1e6", "opponents.greedy=2"])

Every key has a default, and every problem of a file is reported at once, each with its line. Files are YAML 1.2: `1e6` and
`3e-4` are numbers, `on` and `1:30` are text, `010` is ten. A whole number may be written `1e6` or `1_000_000`; text is never
taken for a number, nor a number for a truth value. Anchors, aliases, tags and further documents are refused.

An override is `key.path=value`: the path ends at the first "=", its parts are separated by dots, and the value is read as in a
file. So an agent whose name holds a dot or "=" (`monte_carlo:rollouts=100`, `policy:runs/a/policy.safetensors`), and an item
of a list, cannot be addressed alone; override the whole instead:
`'opponents={greedy: 1, "monte_carlo:rollouts=100": 2}'`, `'evaluation.against=[random, greedy]'`.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import json
import math
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, get_args, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from training.files import write_atomically

if TYPE_CHECKING:
    from sixnimmt_env.games.sixnimmt.rules import Rules as GameRules
else:
    GameRules = Any  # the class follows from `game` and is imported only when needed

KeyPath: TypeAlias = tuple[str, ...]
Scalar: TypeAlias = str | int | float | bool | None

GAMES: Final[dict[str, str]] = {"sixnimmt": "sixnimmt_env.games.sixnimmt.rules:Rules"}
"""The games that can be trained: name -> "module:dataclass" of their rules. A further game is a further entry."""

_YAML_WORDS: Final = frozenset({"true", "false", "null", "on", "off", "yes", "no", "y", "n"})
MAX_BYTES: Final = 1_000_000
MAX_DEPTH: Final = 12
MAX_PIECES: Final = 10_000  # of YAML: a complete configuration has some 200, and the reader takes a minute for a full megabyte
MAX_PROBLEMS: Final = 50
MAX_SPEC: Final = 500  # as a quoted key it stays below YAML's limit of 1024 characters
MAX_SEED: Final = 2**63 - 1


class ConfigError(ValueError):
    """What is wrong with a configuration, one problem a line, each with its place and the fix."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems: Final = tuple(str(problem) for problem in problems)


# --- What a field may hold -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Fault:
    """One problem below the field that a validator looks at.

    `names` says how the message begins: with the key and its value, with the key alone, or with the key's section (for a
    text that names the key itself).
    """

    path: KeyPath
    problem: str
    names: Literal["value", "key", "section"] = "value"


class _FaultsError(ValueError):
    """Raised by validators: the problems of one field, with where they are below it."""

    def __init__(self, *faults: _Fault) -> None:
        super().__init__("; ".join(".".join((*fault.path, fault.problem)) if fault.path else fault.problem for fault in faults))
        self.faults: Final = faults


def _refuse(problem: str) -> _FaultsError:
    return _FaultsError(_Fault((), problem))


def _number_problem(value: object, wanted: str) -> str:
    """`wanted`, and why `value` is no number where that is not plain to see."""
    if isinstance(value, bool):
        return f"{wanted}; true and false are no numbers"
    if isinstance(value, str):
        if value.lower() in ("none", "~"):
            return f"{wanted}; {value!r} is text (no value is written null)"
        quoted = re.fullmatch(r"[-+]?\.?\d[\d_.]*(e[-+]?\d+)?", value, re.IGNORECASE) is not None
        return f"{wanted}; {value!r} is text" + (": remove the quotes" if quoted else "")
    return wanted


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _as_whole(value: object) -> object:
    """An integral float such as 1e6 as the integer it means, anything else unchanged (beyond 2**53 a float has lost digits)."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53 else value


def _whole(low: int, high: int) -> BeforeValidator:
    """A whole number in [low, high]."""

    def check(value: object) -> object:
        number = _as_whole(value)
        if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
            raise _refuse(_number_problem(value, f"must be a whole number from {low:_} to {high:_}"))
        return number

    return BeforeValidator(check)


def _real(low: float, high: float, *, above: bool = False, optional: bool = False) -> BeforeValidator:
    """A finite number in [low, high], or in (low, high] with `above`; or None with `optional`."""
    span = f"above {low:g} and at most {high:g}" if above else f"from {low:g} to {high:g}"

    def check(value: object) -> object:
        if value is None and optional:
            return None
        # NaN fails the comparison, infinity exceeds every bound.
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high or (above and value == low):
            raise _refuse(_number_problem(value, f"must be a number {span}" + (", or null" if optional else "")))
        return float(value)

    return BeforeValidator(check)


def _truth(value: object) -> object:
    if not isinstance(value, bool):
        raise _refuse("must be true or false, without quotes (YAML 1.2 knows no on, off, yes, no)")
    return value


def _text(pattern: str, wanted: str) -> BeforeValidator:
    """Text that matches `pattern` completely."""

    def check(value: object) -> object:
        if not isinstance(value, str):
            raise _refuse(f"must be {wanted}; this is not text: put it in quotes" if _is_number(value) else f"must be {wanted}")
        if re.fullmatch(pattern, value) is None:
            raise _refuse(f"must be {wanted}")
        return value

    return BeforeValidator(check)


def _spec_problem(spec: object) -> str:
    """What is wrong with `spec` as the text of an agent specification, "" if nothing; whether the agent exists is asked later."""
    if not isinstance(spec, str):
        return 'must be an agent such as greedy or "monte_carlo:rollouts=100"'
    if not spec.strip() or not spec.isprintable() or len(spec) > MAX_SPEC:
        return f"must be an agent such as greedy: 1 to {MAX_SPEC} printable characters"
    return ""


def _mixture(value: object) -> object:
    """Checks {agent: weight}."""
    if not isinstance(value, Mapping) or not value:
        raise _refuse("must be a mapping of at least one agent to its weight, such as {greedy: 1, random: 1}")
    faults = []
    for spec, weight in value.items():
        if problem := _spec_problem(spec):
            faults.append(_Fault((str(spec),), problem, "key"))
        elif isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight <= 1e9:
            faults.append(_Fault((spec,), _weight_problem(spec, weight)))
    if faults:
        raise _FaultsError(*faults)
    return {spec: float(weight) for spec, weight in value.items()}


def _weight_problem(spec: str, weight: object) -> str:
    wanted = _number_problem(weight, "must be a number above 0 and at most 1e9")
    if weight is None and ":" in spec:
        return f"{wanted}: write a space after the colon that separates agent and weight"
    if weight == 0:
        return f"{wanted}: leave the agent out to play without it"
    if isinstance(weight, Mapping) or (isinstance(weight, str) and "=" in weight):
        return f"""{wanted}; an agent with "." or "=" in its name is set with all others: 'opponents={{"agent:key=1": 2}}'"""
    return wanted


def _agents(value: object) -> object:
    """Checks a list of agents."""
    if not isinstance(value, (list, tuple)) or not value:
        raise _refuse("must be a list of at least one agent, such as [random, greedy]")
    faults = [_Fault((str(index),), problem) for index, spec in enumerate(value) if (problem := _spec_problem(spec))]
    faults += [
        _Fault((str(index),), "is in the list twice: keep one")
        for index, spec in enumerate(value)
        if not _spec_problem(spec) and spec in value[:index]
    ]
    if faults:
        raise _FaultsError(*faults)
    return tuple(value)


# --- The configuration ---------------------------------------------------------------------------------------------------


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Schedule(_Section):
    """A value that moves in a straight line from `start` to `end` while the training runs."""

    start: Annotated[float, _real(0, 10)] = Field(default=0.0, description="Value at the beginning.")
    end: Annotated[float, _real(0, 10)] = Field(default=0.0, description="Value at the end; equal to start for a constant.")

    @model_validator(mode="before")
    @classmethod
    def _constant(cls, value: object) -> object:
        """A plain number stands for a constant."""
        if _is_number(value):
            return {"start": value, "end": value}
        if not isinstance(value, (Mapping, Schedule)):
            raise _refuse(_number_problem(value, "must be a number, or a mapping such as {start: 1e-3, end: 1e-4}"))
        return value

    def at(self, progress: float) -> float:
        """The value when the fraction `progress` of the training is done; outside 0..1 it stays at the nearer end."""
        return self.start + (self.end - self.start) * min(max(progress, 0.0), 1.0)


class LearningRate(Schedule):
    """The learning rate's schedule and its defaults."""

    start: Annotated[float, _real(0, 10, above=True)] = Field(default=1e-3, description="Value at the beginning.")
    end: Annotated[float, _real(0, 10)] = Field(default=2e-5, description="Value at the end; equal to start for a constant.")


class Entropy(Schedule):
    """The entropy bonus's schedule and its defaults."""

    start: Annotated[float, _real(0, 10)] = Field(default=0.03, description="Value at the beginning.")
    end: Annotated[float, _real(0, 10)] = Field(default=0.003, description="Value at the end; equal to start for a constant.")


class Training(_Section):
    """How the policy learns (PPO)."""

    frames: Annotated[int, _whole(1, 10**15)] = Field(
        default=12_000_000, description="Decisions of the learner in all, then the training is done."
    )
    max_minutes: Annotated[float | None, _real(0, 1e6, above=True, optional=True)] = Field(
        default=None,
        description="Stop after this many minutes at the latest, or null. Schedules follow whichever limit comes first.",
    )
    games: Annotated[int, _whole(1, 1_000_000)] = Field(default=4096, description="Games played side by side.")
    steps: Annotated[int, _whole(1, 10_000)] = Field(
        default=24, description="Decisions collected from each game before the policy is updated; games x steps is one batch."
    )
    minibatch: Annotated[int, _whole(1, 10**9)] = Field(default=8192, description="Decisions in one gradient step, at most games x steps.")
    epochs: Annotated[int, _whole(1, 100)] = Field(default=1, description="How often each batch is used.")
    learning_rate: LearningRate = Field(
        default_factory=LearningRate, description="Size of the gradient steps: start and end, or one number for a constant."
    )
    entropy: Entropy = Field(
        default_factory=Entropy,
        description="Weight of the bonus for undecided play: start and end, or one number for a constant.",
    )
    gamma: Annotated[float, _real(0, 1)] = Field(default=1.0, description="Discount of later rewards; 1 counts them in full.")
    gae_lambda: Annotated[float, _real(0, 1)] = Field(
        default=0.95, description="Advantage estimation: 0 trusts the value network, 1 the outcome of the game."
    )
    clip_range: Annotated[float, _real(0, 1, above=True)] = Field(
        default=0.2, description="How far one update may change the probability of an action."
    )
    value_coefficient: Annotated[float, _real(0, 100)] = Field(default=0.5, description="Weight of the value network's loss.")
    max_grad_norm: Annotated[float, _real(0, 1e6, above=True)] = Field(default=0.5, description="Longer gradients are cut to this length.")
    reward_scale: Annotated[float, _real(0, 1e6, above=True)] = Field(
        default=10.0, description="The reward is minus the bull heads taken, divided by this."
    )
    threads: Annotated[int, _whole(1, 1024)] = Field(
        default=1, description="Threads of the network's arithmetic. More than one is often slower on a busy machine."
    )
    device: Annotated[str, _text(r"cpu|mps|cuda(:\d{1,3})?", 'one of "cpu", "cuda", "cuda:0" (any number), "mps"')] = Field(
        default="cpu", description="Where the network runs: cpu, cuda, cuda:0 or mps. Networks this small are fastest on cpu."
    )

    @property
    def batch(self) -> int:
        """Decisions in one iteration."""
        return self.games * self.steps

    @model_validator(mode="after")
    def _minibatch_fits(self) -> Training:
        if self.minibatch > self.batch:
            raise _FaultsError(
                _Fault(
                    ("minibatch",),
                    f"must be at most games x steps = {self.games} x {self.steps} = {self.batch}, not {self.minibatch}: "
                    "lower it, or raise games or steps",
                    "key",
                )
            )
        return self


class Network(_Section):
    """The policy network."""

    hidden: Annotated[int, _whole(1, 4096)] = Field(default=64, description="Units in each hidden layer.")
    layers: Annotated[int, _whole(1, 16)] = Field(default=2, description="Hidden layers.")


class Evaluation(_Section):
    """What is measured when the training is done."""

    against: Annotated[tuple[str, ...], BeforeValidator(_agents)] = Field(
        default=("random", "greedy"),
        description="Agents to be measured against, each on its own: one seat is ours, all others theirs.",
    )
    rounds: Annotated[int, _whole(1, 10**9)] = Field(default=20_000, description="Rounds played against each of them.")
    seed: Annotated[int, _whole(0, MAX_SEED)] = Field(default=1000, description="Fixes the deals of the evaluation.")


class Output(_Section):
    """What is written while the training runs."""

    checkpoint_minutes: Annotated[float, _real(0, 1e6, above=True)] = Field(
        default=2.0, description="Minutes between checkpoints, from which an interrupted training resumes."
    )
    keep_checkpoints: Annotated[int, _whole(1, 10_000)] = Field(default=3, description="Checkpoints kept; older ones are deleted.")
    tensorboard: Annotated[bool, BeforeValidator(_truth)] = Field(default=True, description="Write TensorBoard events beside metrics.csv.")


class Config(_Section):
    """A complete experiment. Unlike plain attributes, `rules` is the game's own frozen dataclass."""

    name: Annotated[
        str,
        _text(
            r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}",
            "1 to 100 letters, digits, dots, underscores, hyphens, beginning with a letter or digit",
        ),
    ] = Field(default="run", description="Name of the experiment; its folder is runs/<name>. Default: the name of the file.")
    game: str = Field(default="sixnimmt", description=f"The game: {', '.join(GAMES)}.")
    seed: Annotated[int, _whole(0, MAX_SEED)] = Field(
        default=0, description="Fixes all randomness: the same seed on the same machine repeats the run."
    )
    rules: GameRules = Field(
        default_factory=lambda: _as_given({}), validate_default=True, description="The variant of the game that is played."
    )
    opponents: Annotated[dict[str, float], BeforeValidator(_mixture)] = Field(
        default_factory=lambda: {"greedy": 1.0, "random": 1.0},
        description="Who sits in the other seats: agents and weights. Each seat of each game draws anew in their proportion.",
    )
    training: Training = Field(default_factory=Training, description="How the policy learns.")
    network: Network = Field(default_factory=Network, description="The policy network.")
    evaluation: Evaluation = Field(default_factory=Evaluation, description="What is measured when the training is done.")
    output: Output = Field(default_factory=Output, description="What is written while the training runs.")

    _source: _Source = PrivateAttr(default_factory=lambda: _Source())

    @field_validator("game", mode="before")
    @classmethod
    def _known_game(cls, value: object) -> object:
        if not isinstance(value, str) or value not in GAMES:
            raise _refuse(f"must be one of {', '.join(GAMES)}{_guess(value, GAMES)}")
        return value

    @field_validator("rules", mode="plain")
    @classmethod
    def _known_rules(cls, value: object, info: ValidationInfo) -> object:
        # Without a valid game, which is reported by itself, nothing can be said about its rules.
        return _build_rules(rules_class(info.data["game"]), value) if "game" in info.data else None

    def fault(self, path: KeyPath, problem: str) -> ConfigError:
        """An error about the value at `path`, such as ("opponents", "greedy"), with the place where it was written."""
        return ConfigError(self._source.line(_Fault(path, problem, "key"))[1])


def _as_given(value: object) -> Any:
    """A default that is yet to be validated, hence of another type than its field."""
    return value


def rules_class(game: str) -> type[GameRules]:
    """The rules dataclass of `game`, a key of `GAMES`."""
    module, _, name = GAMES[game].partition(":")
    found: type[GameRules] = getattr(importlib.import_module(module), name)
    return found


def _build_rules(rules: type[Any], given: object) -> object:
    """An instance of the dataclass `rules` from a mapping of its fields; the dataclass itself judges their values."""
    if isinstance(given, rules):
        return given
    known = [field.name for field in fields(rules)]
    if not isinstance(given, Mapping):
        raise _refuse(f"must be a mapping with any of the keys {', '.join(known)}")
    unknown = [_Fault((str(key),), _unknown(str(key), known), "key") for key in given if key not in known]
    if unknown:
        raise _FaultsError(*unknown)
    hints = get_type_hints(rules)
    values = {key: _as_whole(value) if int in (hints[key], *get_args(hints[key])) else value for key, value in given.items()}
    try:
        return rules(**values)
    except (TypeError, ValueError) as error:
        named = [word for word in re.findall(r"\w+", str(error)) if word in values]
        raise _FaultsError(_Fault((named[0],) if named else (), _yaml_words(str(error)), "section" if named else "key")) from None


def _yaml_words(text: str) -> str:
    """Python's words for values as YAML spells them."""
    return re.sub(r"\b(None|True|False)\b", lambda match: {"None": "null"}.get(match[0], match[0].lower()), text)


def _guess(word: object, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(str(word).lower(), list(known), 1)
    return f'; did you mean "{near[0]}"?' if near else ""


def _unknown(key: str, allowed: Iterable[str]) -> str:
    """The message about an unknown key, with the likely one: the same key in another section, or a near miss here."""
    allowed = list(allowed)
    elsewhere = [f"{name}.{key}" for name in Config.model_fields if key in _keys((name,))]
    elsewhere += [f"rules.{key}" for game in GAMES if any(field.name == key for field in fields(rules_class(game)))]
    elsewhere += [key] if key in Config.model_fields else []
    guess = f'; did you mean "{elsewhere[0]}"?' if elsewhere else _guess(key, allowed)
    return f"unknown key{guess} (allowed: {', '.join(allowed)})"


def _keys(path: KeyPath) -> list[str]:
    """The keys of the section at `path`; none where it is no section."""
    section: Any = Config
    for part in path:
        field = section.model_fields.get(part)
        section = field.annotation if field else None
        if not (isinstance(section, type) and issubclass(section, BaseModel)):
            return []
    return list(section.model_fields)


# --- From text to a tree that knows its lines ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Where:
    """A place: a line of a file, or an override, which has set `path`."""

    source: str
    line: int = 0
    path: KeyPath | None = None

    def __str__(self) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source

    @property
    def order(self) -> tuple[bool, int]:
        return self.path is not None, self.line

    def at(self, node: Node | Event) -> _Where:
        """The place of `node` in this source; an override is one place."""
        return self if self.path is not None else _Where(self.source, node.start_mark.line + 1)


@dataclass(frozen=True)
class _Tree:
    """A value with where it was written (for a mapping's entry: where its key is)."""

    where: _Where
    value: Scalar | dict[str, _Tree] | list[_Tree]

    def plain(self) -> Any:
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        return self.value

    def child(self, key: str) -> _Tree | None:
        if isinstance(self.value, dict):
            return self.value.get(key)
        if isinstance(self.value, list):
            return self.value[int(key)] if key.isdecimal() and int(key) < len(self.value) else None
        return None


@dataclass(frozen=True, eq=False)
class _Source:
    """Where a configuration was read from. No part of what it says: two that differ only in this are equal."""

    tree: _Tree | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Source)

    def __hash__(self) -> int:
        return 0

    def line(self, fault: _Fault) -> tuple[tuple[bool, int], str]:
        """The fault as a line of text with its place, and its order among the others."""
        _, node = self._find(fault.path)
        path = self.written(fault.path)
        label = _label(path[:-1] if fault.names == "section" else path)
        if node is not None and fault.names == "value" and not isinstance(node.value, (dict, list)):
            label = f"{label}={_show(node.value)}"
        where = node.where if node else _Where("")
        if where.path == path and fault.names != "section":
            label = ""  # an override names its own path
        return where.order, ": ".join(part for part in (str(where), label, fault.problem) if part)

    def written(self, path: KeyPath) -> KeyPath:
        """`path`, or the part of it that holds a single value for all below: a constant that stands for a schedule."""
        found, node = self._find(path)
        return path if node is None or isinstance(node.value, (dict, list)) else found

    def _find(self, path: KeyPath) -> tuple[KeyPath, _Tree | None]:
        """The part of `path` that was written, and what is there."""
        node = self.tree
        for depth, key in enumerate(path):
            below = node.child(key) if node else None
            if below is None:
                return path[:depth], node
            node = below
        return path, node


def _label(path: KeyPath) -> str:
    return ".".join(_cut(part if part.isprintable() else repr(part), 200) for part in path)


def _show(value: object) -> str:
    """A value as it is named in a message."""
    if isinstance(value, str):
        return _cut(value if value.isprintable() and value else repr(value))
    return _yaml_words(_cut(str(value)))


def _cut(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."


class _Reader:
    """Turns YAML text into trees and collects what is wrong, so that all of it can be reported at once."""

    def __init__(self) -> None:
        self.problems: list[tuple[tuple[bool, int], str]] = []

    def report(self, where: _Where, problem: str) -> None:
        self.problems.append((where.order, f"{where}: {problem}"))

    def finish(self) -> None:
        """Raises what has been collected, in the order of the lines and each once."""
        if self.problems:
            texts = list(dict.fromkeys(text for _, text in sorted(self.problems, key=lambda problem: problem[0])))
            more = [f"... and {len(texts) - MAX_PROBLEMS} more problems"] if len(texts) > MAX_PROBLEMS else []
            raise ConfigError(*texts[:MAX_PROBLEMS], *more)

    def read(self, text: str, where: _Where) -> _Tree | None:
        """The tree of `text`, or None where it has none and the reason was reported. `where` is the whole source."""
        # typ="safe": plain values; pure: the same reader on every machine, whether or not the C one is installed.
        yaml = YAML(typ="safe", pure=True)
        try:
            for event in _counted(yaml.parse(text)):
                if problem := _forbidden(*event):
                    self.report(where.at(event[0]), problem)
                    return None
            node = YAML(typ="safe", pure=True).compose(text)
        except YAMLError as error:
            self._report_syntax(error, text, where)
            return None
        if node is None:
            empty = "is empty: write at least one key, such as seed: 0"
            self.report(where, empty if where.path is None else "has no value: write null for none")
            return None
        return self._tree(node, where.at(node), where, ())

    def _report_syntax(self, error: YAMLError, text: str, where: _Where) -> None:
        if isinstance(error, ReaderError):
            line = text.count("\n", 0, error.position)
            problem = f"the character {text[error.position]!r} is not allowed: is this a text file?"
        else:
            mark = error.problem_mark if isinstance(error, MarkedYAMLError) else None
            line = mark.line if mark else -1
            problem = f"is not valid YAML: {getattr(error, 'problem', None) or error}"
            if "'\\t'" in problem:
                problem += "; indent with spaces, not tabs"
        self.report(where if where.path is not None else _Where(where.source, line + 1), problem)

    def _tree(self, node: Node, place: _Where, source: _Where, path: KeyPath) -> _Tree | None:
        """The tree of `node`; without what is unusable, which is reported."""
        if isinstance(node, MappingNode):
            return _Tree(place, self._mapping(node, source, path))
        if isinstance(node, SequenceNode):
            items = (self._tree(item, source.at(item), source, (*path, str(index))) for index, item in enumerate(node.value))
            return _Tree(place, [item for item in items if item is not None])
        try:
            return _Tree(place, _scalar(node.value, _kind(node)))
        except ValueError as error:
            self.report(place, f"{_label(path)}: {error}" if path else str(error))
            return None

    def _mapping(self, node: MappingNode, source: _Where, path: KeyPath) -> dict[str, _Tree]:
        entries: dict[str, _Tree] = {}
        for key_node, value_node in node.value:
            place = source.at(key_node)
            key = key_node.value
            if not isinstance(key_node, ScalarNode) or _kind(key_node) in ("null", "bool", "int", "float"):
                shown = _cut(key) if isinstance(key_node, ScalarNode) else "a list or mapping"
                self.report(place, f"{_label((*path, shown))}: a key must be text: put it in quotes")
            elif key in entries:
                line = entries[key].where.line
                first = f", first in line {line}" if line else ""
                self.report(place, f"{_label((*path, key))}: is given twice{first}: keep one")
            elif (tree := self._tree(value_node, place, source, (*path, key))) is not None:
                entries[key] = tree
        return entries

    def override(self, root: _Tree, text: str) -> None:
        """Writes the override `text`, "key.path=value", into the tree."""
        name, equals, value = text.partition("=")
        path = tuple(name.strip().split("."))
        where = _Where(f"--set {_cut(text) if text.isprintable() else _cut(repr(text))}", path=path)
        if not equals or not all(path):
            self.report(where, "must be key.path=value, such as training.frames=1e6")
        elif (tree := self.read(value, where)) is not None:
            entries = self._section(root, path, where)
            if entries is not None:
                entries[path[-1]] = tree

    def _section(self, root: _Tree, path: KeyPath, where: _Where) -> dict[str, _Tree] | None:
        """The mapping that holds the last key of `path`, made where there is none yet."""
        node = root
        for depth, key in enumerate(path):
            if not isinstance(node.value, dict):
                at = _label(path[:depth])
                self.report(where, f"{at} is {_show(node.plain())} ({node.where}), which has no keys: set {at} as a whole")
                return None
            if depth == len(path) - 1:
                return node.value
            if key not in node.value:
                # The agents' defaults are no fields, so a single weight changed would silently drop the other agents.
                default = Config().opponents if path[: depth + 1] == ("opponents",) else {}
                node.value[key] = _Tree(where, {spec: _Tree(where, weight) for spec, weight in default.items()})
            node = node.value[key]
        return None


def _counted(events: Iterable[Event]) -> Iterator[tuple[Event, int, int, int]]:
    """Each event with its number, the documents begun and the nesting so far."""
    documents = depth = 0
    for number, event in enumerate(events):
        if isinstance(event, DocumentStartEvent):
            documents += 1
        elif isinstance(event, (MappingStartEvent, SequenceStartEvent)):
            depth += 1
        elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
            depth -= 1
        yield event, number, documents, depth


def _forbidden(event: Event, number: int, documents: int, depth: int) -> str:
    """Why this piece of YAML is refused: what an experiment does not need, and what can harm who loads a stranger's file."""
    if number > MAX_PIECES:
        return f"more than {MAX_PIECES} keys and values: is this a configuration?"
    if documents > 1:
        return "a second document begins here: keep one, without ---"
    if depth > MAX_DEPTH:
        return f"is nested more than {MAX_DEPTH} deep"
    if isinstance(event, DocumentStartEvent) and event.version not in (None, (1, 2)):
        return "%YAML must be 1.2, or left out (older versions read on as true and 010 as 8)"
    if isinstance(event, AliasEvent) or (isinstance(event, NodeEvent) and event.anchor is not None):
        return "anchors (&) and aliases (*) are not allowed: write the value out, or put text with such a character in quotes"
    tag = getattr(event, "tag", None)  # scalars and the starts of collections have one
    if tag is not None:
        return f"tags are not allowed ({_cut(str(tag))}): write the plain value, or put text that begins with ! in quotes"
    return ""


def _kind(node: Node) -> str:
    """What YAML takes the node for: "str", "int", "float", "bool", "null", or others such as "timestamp"."""
    return str(node.tag).rpartition(":")[2]


def _scalar(text: str, kind: str) -> Scalar:
    """The value of a scalar; a kind that no field knows, such as a date, is text. Raises `ValueError` for an unusable number."""
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind not in ("int", "float"):
        return text
    if len(text) > 100:
        raise ValueError(f"a number of {len(text)} characters is too long")
    digits = text.replace("_", "").lower()
    if kind == "int":
        # Base 0 knows 0x, 0o and 0b, but refuses the leading zeros that YAML 1.2 allows.
        return int(digits, 0) if re.match(r"[-+]?0[xob]", digits) else int(digits)
    number = float({".inf": "inf", ".nan": "nan"}.get(digits.lstrip("+-"), digits))
    if not math.isfinite(number):
        raise ValueError(f"{text} is no finite number: write the number itself, or null for no limit where that is allowed")
    return number


# --- Reading and writing files -------------------------------------------------------------------------------------------


AgentCheck: TypeAlias = Callable[[str], object]


def load(path: str | os.PathLike[str], overrides: Iterable[str] = (), check_agent: AgentCheck | None = None) -> Config:
    """Reads the configuration in `path`, with `overrides` ("key.path=value") applied in order.

    `check_agent` is called with every agent that is named; a `ValueError` from it is reported at the agent's place.
    Raises `ConfigError` with everything that is wrong.
    """
    source = os.fspath(path)
    reader = _Reader()
    tree = reader.read(_read_text(source), _Where(source))
    if tree is not None and not isinstance(tree.value, dict):
        reader.report(tree.where, f"must be a mapping of keys to values, such as seed: 0, not {_show(tree.plain())}")
        tree = None
    if tree is None:
        reader.finish()
        raise AssertionError("a file without a tree has a problem")
    for override in overrides:
        reader.override(tree, override)
    return _validated(tree, Path(source).stem, reader, check_agent)


def _read_text(source: str) -> str:
    try:
        with open(source, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ConfigError(f"{source}: cannot be read: {reason}{_similar_file(source)}") from None
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{source}: is larger than 1 MB ({MAX_BYTES} bytes): is this a configuration?")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{source}:{line}: is not UTF-8 text (byte 0x{content[error.start]:02X}): save it as UTF-8") from None


def _similar_file(source: str) -> str:
    folder = Path(source).parent
    try:
        names = [entry.name for entry in folder.iterdir() if entry.suffix in (".yaml", ".yml")]
    except (OSError, ValueError):
        return ""
    near = difflib.get_close_matches(Path(source).name, names, 1)
    return f'; did you mean "{folder / near[0]}"?' if near and near[0] != Path(source).name else ""


def _validated(tree: _Tree, stem: str, reader: _Reader, check_agent: AgentCheck | None) -> Config:
    source = _Source(tree)
    config = None
    try:
        config = Config.model_validate({"name": stem, **tree.plain()})
    except ValidationError as error:
        # By written path: a constant that stands for a schedule is reported once, not for its start and for its end.
        faults: dict[KeyPath, _Fault] = {}
        for fault in _faults(error):
            faults.setdefault(source.written(fault.path), fault)
        reader.problems += [source.line(fault) for fault in faults.values()]
    if config is not None and check_agent is not None:
        reader.problems += [source.line(fault) for fault in _agent_faults(config, check_agent)]
    reader.finish()
    if config is None:
        raise AssertionError("a failed validation has a problem")
    config._source = source
    return config


def _agent_faults(config: Config, check_agent: AgentCheck) -> Iterator[_Fault]:
    named: list[tuple[KeyPath, str]] = [(("opponents", spec), spec) for spec in config.opponents]
    named += [(("evaluation", "against", str(index)), spec) for index, spec in enumerate(config.evaluation.against)]
    for path, spec in named:
        try:
            check_agent(spec)
        except ValueError as error:
            yield _Fault(path, str(error), "key")


def _faults(error: ValidationError) -> Iterator[_Fault]:
    """What pydantic found, in our words."""
    for found in error.errors(include_url=False):
        path = tuple(str(part) for part in found["loc"])
        cause = found.get("ctx", {}).get("error")
        if isinstance(cause, _FaultsError):
            for fault in cause.faults:
                yield _Fault((*path, *fault.path), fault.problem, fault.names)
        elif found["type"] == "extra_forbidden":
            yield _Fault(path, _unknown(path[-1], _keys(path[:-1])), "key")
        elif keys := _keys(path):
            yield _Fault(path, f"must be a mapping with any of the keys {', '.join(keys)}; leave it out for the defaults")
        else:
            yield _Fault(path, found["msg"])


def save(config: Config, path: str | os.PathLike[str]) -> None:
    """Writes the complete configuration to `path`, whole or not at all. Raises `ConfigError` where that is impossible."""
    try:
        write_atomically(path, dump(config))
    except OSError as error:
        raise ConfigError(f"{os.fspath(path)}: cannot be written: {error.strerror or error}") from error


def dump(config: Config) -> str:
    """The complete configuration as YAML, every key with its comment; `load` reads it back as an equal `Config`."""
    return "\n".join(_lines(config, "")) + "\n"


def _lines(section: BaseModel, indent: str) -> Iterator[str]:
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if name == "rules" or (isinstance(section, Config) and isinstance(value, (BaseModel, dict))):
            yield ""
        yield from _comment(field.description or "", indent)
        if isinstance(value, BaseModel):
            yield f"{indent}{name}:"
            yield from _lines(value, indent + "  ")
        elif name == "rules":
            yield f"{indent}{name}:"
            yield from _rules_lines(value, indent + "  ")
        elif isinstance(value, dict):
            yield f"{indent}{name}:"
            yield from (f"{indent}  {_written(key)}: {_written(item)}" for key, item in value.items())
        else:
            yield f"{indent}{name}: {_written(value)}"


def _rules_lines(rules: Any, indent: str) -> Iterator[str]:
    words = _documented(type(rules))
    for field in fields(rules):
        yield from _comment(words.get(field.name, ""), indent)
        yield f"{indent}{field.name}: {_written(getattr(rules, field.name))}"


def _documented(owner: type) -> dict[str, str]:
    """The fields of a dataclass as its docstring explains them under "Args:"; empty where Python dropped the docstrings."""
    words: dict[str, str] = {}
    name = ""
    for line in (inspect.getdoc(owner) or "").partition("Args:\n")[2].splitlines():
        if entry := re.match(r" {4}(\w+): (.*)", line):
            name = entry[1]
            words[name] = entry[2]
        elif name and line.strip():
            words[name] += " " + line.strip()
    return {name: _yaml_words(text) for name, text in words.items()}


def _comment(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text[:1].upper() + text[1:], 110, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ", break_long_words=False
    )


def _written(value: object) -> str:
    """A scalar or a list of scalars as YAML that reads back as the same."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_written(item) for item in value)}]"
    if value is None or isinstance(value, bool):
        return _yaml_words(str(value))
    if not isinstance(value, str):
        return str(value)
    # Words that older YAML readers take for truth values are quoted, so that other tools read the file alike.
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]*", value) and value.lower() not in _YAML_WORDS
    return value if plain else json.dumps(value, ensure_ascii=False)
