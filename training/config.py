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

import dataclasses
import difflib
import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args, get_type_hints

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

from sixnimmt_env import games
from sixnimmt_env.core.game import Rules
from sixnimmt_env.core.seeding import MAX_SEED
from training.files import write_atomically
from training.yaml_reader import Entry, KeyPath, Reader, Tree, Where, label, show, written, yaml_words

MAX_SPEC: Final = 500  # as a quoted key it stays below YAML's limit of 1024 characters


class ConfigError(ValueError):
    """What is wrong with a configuration, one problem a line, each with its place and the fix."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems: Final = problems


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
    problems = [_spec_problem(spec) or ("is in the list twice: keep one" if spec in value[:i] else "") for i, spec in enumerate(value)]
    faults = [_Fault((str(index),), problem) for index, problem in enumerate(problems) if problem]
    if faults:
        raise _FaultsError(*faults)
    return tuple(value)


# --- The configuration ---------------------------------------------------------------------------------------------------


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True)


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
    """A complete experiment. Unlike the other fields, `rules` is the game's own frozen dataclass."""

    name: Annotated[
        str,
        _text(
            r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}",
            "1 to 100 letters, digits, dots, underscores, hyphens, beginning with a letter or digit",
        ),
    ] = Field(default="run", description="Name of the experiment; its folder is runs/<name>. Default: the name of the file.")
    game: str = Field(default="sixnimmt", description=f"The game: {', '.join(games.names())}.")
    seed: Annotated[int, _whole(0, MAX_SEED)] = Field(
        default=0, description="Fixes all randomness: the same seed on the same machine repeats the run."
    )
    rules: Rules = Field(default_factory=dict, validate_default=True, description="The variant of the game that is played.")
    opponents: Annotated[dict[str, float], BeforeValidator(_mixture)] = Field(
        default_factory=lambda: {"greedy": 1.0, "random": 1.0},
        description="Who sits in the other seats: agents and weights. Each seat of each game draws anew in their proportion.",
    )
    training: Training = Field(default_factory=Training, description="How the policy learns.")
    network: Network = Field(default_factory=Network, description="The policy network.")
    evaluation: Evaluation = Field(default_factory=Evaluation, description="What is measured when the training is done.")
    output: Output = Field(default_factory=Output, description="What is written while the training runs.")

    _tree: Tree = PrivateAttr(default_factory=Tree)  # where it was read from

    @field_validator("game", mode="before")
    @classmethod
    def _known_game(cls, value: object) -> object:
        if value not in games.names():
            raise _refuse(f"must be one of {', '.join(games.names())}{_guess(value, games.names())}")
        return value

    @field_validator("rules", mode="plain")
    @classmethod
    def _known_rules(cls, value: object, info: ValidationInfo) -> object:
        # Without a valid game, which is reported by itself, nothing can be said about its rules.
        return _build_rules(rules_class(info.data["game"]), value) if "game" in info.data else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and dict(self) == dict(other)  # wherever they were read from

    def fault(self, path: KeyPath, problem: str) -> ConfigError:
        """An error about the value at `path`, such as ("opponents", "greedy"), with the place where it was written."""
        where, text = _placed(self._tree, _Fault(path, problem, "key"))
        return ConfigError(f"{where}: {text}" if str(where) else text)


def rules_class(game: str) -> Any:
    """The rules dataclass of `game`, a name that `games.get` knows."""
    return games.get(game).rules


def _build_rules(rules: Any, given: object) -> object:
    """An instance of the dataclass `rules` from a mapping of its fields; the dataclass itself judges their values."""
    if isinstance(given, rules):
        return given
    known = _rule_names(rules)
    if not isinstance(given, Mapping):
        raise _refuse(f"must be a mapping with any of the keys {', '.join(known)}")
    if unknown := [_Fault((str(key),), _unknown(str(key), known), "key") for key in given if key not in known]:
        raise _FaultsError(*unknown)
    hints = get_type_hints(rules)
    values = {key: _as_whole(value) if int in (hints[key], *get_args(hints[key])) else value for key, value in given.items()}
    try:
        return rules(**values)
    except (TypeError, ValueError) as error:
        named = [word for word in re.findall(r"\w+", str(error)) if word in values]
        raise _FaultsError(_Fault((named[0],) if named else (), yaml_words(str(error)), "section" if named else "key")) from None


def _rule_names(rules: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(rules)]


# --- What is said about a fault ------------------------------------------------------------------------------------------


def _guess(word: object, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(str(word).lower(), list(known), 1)
    return f'; did you mean "{near[0]}"?' if near else ""


def _unknown(key: str, allowed: list[str]) -> str:
    """The message about an unknown key, with the likely one: the same key in another section, or a near miss here."""
    elsewhere = [f"{name}.{key}" for name in Config.model_fields if key in _keys((name,))]
    elsewhere += [f"rules.{key}" for game in games.names() if key in _rule_names(rules_class(game))]
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


def _agent_faults(config: Config, check_agent: AgentCheck) -> Iterator[_Fault]:
    named: list[tuple[KeyPath, str]] = [(("opponents", spec), spec) for spec in config.opponents]
    named += [(("evaluation", "against", str(index)), spec) for index, spec in enumerate(config.evaluation.against)]
    for path, spec in named:
        try:
            check_agent(spec)
        except ValueError as error:
            yield _Fault(path, str(error), "key")


def _written_path(tree: Tree, path: KeyPath) -> KeyPath:
    """`path`, or the part of it that holds a single value for all below: a constant that stands for a schedule."""
    found, node = tree.find(path)
    return found if node.is_single else path


def _placed(tree: Tree, fault: _Fault) -> tuple[Where, str]:
    """The place of a fault and the fault in words."""
    _, node = tree.find(fault.path)
    path = _written_path(tree, fault.path)
    name = label(path[:-1] if fault.names == "section" else path)
    if fault.names == "value" and node.is_single:
        name = f"{name}={show(node.value)}"
    if node.where.path == path and fault.names != "section":
        name = ""  # an override names its own path
    return node.where, f"{name}: {fault.problem}" if name else fault.problem


# --- Reading and writing files -------------------------------------------------------------------------------------------


AgentCheck: TypeAlias = Callable[[str], object]


def load(path: str | os.PathLike[str], overrides: Iterable[str] = (), check_agent: AgentCheck | None = None) -> Config:
    """Reads the configuration in `path`, with `overrides` ("key.path=value") applied in order.

    `check_agent` is called with every agent that is named; a `ValueError` from it is reported at the agent's place.
    Raises `ConfigError` with everything that is wrong.
    """
    reader = Reader()
    config = None
    tree = reader.file(os.fspath(path))
    if tree is not None:
        for override in overrides:
            # The agents' defaults are no fields, so a single weight changed would silently drop the other agents.
            reader.override(tree, override, {("opponents",): Config().opponents})
        config = _validated(tree, Path(path).stem, reader, check_agent)
    problems = reader.problems()
    if config is None or problems:
        raise ConfigError(*problems)
    return config


def _validated(tree: Tree, stem: str, reader: Reader, check_agent: AgentCheck | None) -> Config | None:
    faults: list[_Fault] = []
    config = None
    try:
        config = Config.model_validate({"name": stem, **tree.plain()})
        config._tree = tree
        if check_agent is not None:
            faults += _agent_faults(config, check_agent)
    except ValidationError as error:
        # By written path: a constant that stands for a schedule is reported once, not for its start and for its end.
        faults += {_written_path(tree, fault.path): fault for fault in reversed(list(_faults(error)))}.values()
    for fault in faults:
        reader.report(*_placed(tree, fault))
    return config


def save(config: Config, path: str | os.PathLike[str]) -> None:
    """Writes the complete configuration to `path`, whole or not at all. Raises `ConfigError` where that is impossible."""
    try:
        write_atomically(path, dump(config))
    except OSError as error:
        raise ConfigError(f"{os.fspath(path)}: cannot be written: {error.strerror or error}") from error


def dump(config: Config) -> str:
    """The complete configuration as YAML, every key with its comment; `load` reads it back as an equal `Config`."""
    return written(_entries(config))


def _entries(section: BaseModel) -> Iterator[Entry]:
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        comment = field.description or ""
        if isinstance(value, BaseModel):
            yield Entry(name, comment, below=tuple(_entries(value)))
        elif isinstance(value, dict):
            yield Entry(name, comment, below=tuple(Entry(key, value=item) for key, item in value.items()))
        elif dataclasses.is_dataclass(value):
            words = _documented(type(value))
            yield Entry(name, comment, below=tuple(Entry(key, words.get(key, ""), getattr(value, key)) for key in _rule_names(value)))
        else:
            yield Entry(name, comment, value)


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
    return {name: yaml_words(text) for name, text in words.items()}
