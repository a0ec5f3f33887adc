"""The configuration of an experiment: read strictly, checked completely, saved so that it can be run again.

    config = load("configs/quickstart.yaml", overrides=["training.frames=1e6", "opponents.greedy=2"])

Every key has a default, and every problem of a file is reported at once, each with its line. Files are YAML 1.2: `1e6` and
`3e-4` are numbers, `on` and `1:30` are text, `010` is ten. A whole number may be written `1e6` or `1_000_000`; text is never
taken for a number, nor a number for a truth value. Anchors, aliases, tags and further documents are refused.

An override is `key.path=value`: the path ends at the first "=", its parts are separated by dots, and the value is read as in a
file. So an agent whose name holds a dot or "=" (`policy:runs/a/policy.safetensors`), and an item
of a list, cannot be addressed alone; override the whole instead:
`'opponents={greedy: 1, "policy:runs/first": 2}'`, `'evaluation.against=[random, greedy]'`.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar, get_args, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    Strict,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from sixnimmt_env import games
from sixnimmt_env.core.files import write_atomically
from sixnimmt_env.core.game import Rules
from sixnimmt_env.core.seeding import MAX_SEED
from training.fields import (
    FaultsError,
    agents,
    any_agents,
    as_whole,
    is_number,
    mixture,
    number_problem,
    one_agent,
    real,
    refuse,
    text,
    truth,
    whole,
)
from training.shape import KINDS, MOST, heads_problem
from training.yaml_reader import Entry, Fault, KeyPath, Reader, Tree, guess, written, yaml_words


class ConfigError(ValueError):
    """What is wrong with a configuration, one problem a line, each with its place and the fix."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems: Final = problems


# --- The configuration ---------------------------------------------------------------------------------------------------


SELF: Final = "self"
"""Among the opponents: the learner himself."""
POOL: Final = "pool"
"""Among the opponents: frozen copies of the learner."""

Seed: TypeAlias = Annotated[int, whole(0, MAX_SEED)]
RunName: TypeAlias = Annotated[
    str,
    text(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", "1 to 100 letters, digits, dots, underscores, hyphens, beginning with a letter or digit"),
]
Share: TypeAlias = Annotated[float, real(0, 1)]
Positive: TypeAlias = Annotated[float, real(0, 1e6, above=True)]


class Section(BaseModel):
    """The text below a field describes it, here and in saved files."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True, use_attribute_docstrings=True)


class Schedule(Section):
    """A value that moves in a straight line from `start` to `end` while the training runs."""

    start: Annotated[float, real(0, 10)] = 0.0
    """Value at the beginning."""
    end: Annotated[float, real(0, 10)] = 0.0
    """Value at the end; equal to start for a constant."""

    @model_validator(mode="before")
    @classmethod
    def _constant(cls, value: object) -> object:
        """A plain number stands for a constant."""
        if is_number(value):
            return {"start": value, "end": value}
        if not isinstance(value, (Mapping, Schedule)):
            raise refuse(number_problem(value, "must be a number, or a mapping such as {start: 1e-3, end: 1e-4}"))
        return value

    def at(self, progress: float) -> float:
        """The value when the fraction `progress` of the training is done; outside 0..1 it stays at the nearer end."""
        return self.start + (self.end - self.start) * min(max(progress, 0.0), 1.0)


Weight: TypeAlias = Annotated[float, Strict()] | Schedule


class LearningRate(Schedule):
    """The learning rate's schedule and its defaults."""

    start: Annotated[float, real(0, 10, above=True)] = 1e-3
    """Value at the beginning."""
    end: Annotated[float, real(0, 10)] = 2e-5
    """Value at the end; equal to start for a constant."""


class Entropy(Schedule):
    """The entropy bonus's schedule and its defaults."""

    start: Annotated[float, real(0, 10)] = 0.03
    """Value at the beginning."""
    end: Annotated[float, real(0, 10)] = 0.003
    """Value at the end; equal to start for a constant."""


class Training(Section):
    """How the policy learns (PPO)."""

    frames: Annotated[int, whole(1, 10**15)] = 12_000_000
    """Decisions of the learner in all, then the training is done."""
    max_minutes: Annotated[float | None, real(0, 1e6, above=True, optional=True)] = None
    """Stop after this many minutes at the latest, or null. Schedules follow whichever limit comes first; under the clock no two runs are
    alike."""
    games: Annotated[int, whole(1, 1_000_000)] = 2048
    """Games played side by side."""
    steps: Annotated[int, whole(1, 10_000)] = 24
    """Decisions collected from each game before the policy is updated; games x steps is one batch."""
    minibatch: Annotated[int, whole(1, 10**9)] = 4096
    """Decisions in one gradient step, at most games x steps."""
    epochs: Annotated[int, whole(1, 100)] = 1
    """How often each batch is used."""
    learning_rate: LearningRate = LearningRate()
    """Size of the gradient steps: start and end, or one number for a constant."""
    entropy: Entropy = Entropy()
    """Weight of the bonus for undecided play: start and end, or one number for a constant."""
    gamma: Share = 1.0
    """Discount of later rewards; 1 counts them in full."""
    gae_lambda: Share = 0.95
    """Advantage estimation: 0 trusts the value network, 1 the outcome of the game."""
    clip_range: Annotated[float, real(0, 1, above=True)] = 0.2
    """How far one update may change the probability of an action."""
    value_coefficient: Annotated[float, real(0, 100)] = 0.5
    """Weight of the value network's loss."""
    max_grad_norm: Positive = 0.5
    """Longer gradients are cut to this length."""
    reward: Annotated[str, text("own|relative|win", 'one of "own", "relative", "win"')] = "own"
    """own: minus the bull heads taken. relative: how many fewer than the others on average. win: the share of the win, at the end."""
    reward_scale: Positive = 10.0
    """The reward is divided by this."""
    critic: Annotated[str, text("own|privileged", 'one of "own", "privileged"')] = "own"
    """What decisions are measured by. own: the value that the policy has of what its seat sees. privileged: that of a second network, which
    sees all hands; it is used in training only, and is no part of the policy."""
    auxiliary: Annotated[float, real(0, 100)] = 0.0
    """Weight of learning to tell which unseen cards the others hold; 0 for not at all. What is told is no part of the policy."""
    threads: Annotated[int, whole(1, 1024)] = 1
    """Threads of the network's arithmetic. More than one is often slower on a busy machine."""
    device: Annotated[str, text(r"cpu|mps|cuda(:\d{1,3})?", 'one of "cpu", "cuda", "cuda:0" (any number), "mps"')] = "cpu"
    """Where the network runs: cpu, cuda, cuda:0 or mps. Networks this small are fastest on cpu."""

    @property
    def batch(self) -> int:
        """Decisions in one iteration."""
        return self.games * self.steps

    @property
    def open_hands(self) -> bool:
        """Whether anything that learns looks at all hands."""
        return self.critic == "privileged" or self.auxiliary > 0

    @model_validator(mode="after")
    def _minibatch_fits(self) -> Training:
        if self.minibatch > self.batch:
            size = f"games x steps = {self.games} x {self.steps} = {self.batch}"
            problem = f"must be at most {size}, not {self.minibatch}: lower it, or raise games or steps"
            raise FaultsError(Fault(("minibatch",), problem, "key"))
        return self


class Pool(Section):
    """Frozen copies of the learner, to play against: the agent `pool` among the opponents."""

    every: Annotated[int, whole(1, 10**15)] = 2_000_000
    """Decisions of the learner between copies."""
    size: Annotated[int, whole(1, 1000)] = 20
    """Copies kept. When there are more, one is left out such that the rest stay spread over the whole training."""
    active: Annotated[int, whole(1, 1000)] = 4
    """How many of them are in play at a time; others take their turns at every update. More make the play slower."""
    matchmaking: Annotated[str, text("uniform|recent|prioritised", 'one of "uniform", "recent", "prioritised"')] = "prioritised"
    """Who is in play: any, rather younger ones, or rather those that cost the learner most."""
    policies: Annotated[tuple[str, ...], BeforeValidator(any_agents)] = ()
    """Agents, such as policies of other runs, that belong to the pool from the beginning and are never left out."""


class Network(Section):
    """The policy network."""

    kind: Annotated[str, text("scorer|attention", 'one of "scorer", "attention"')] = "scorer"
    """scorer: looks at each card of the hand in turn, beside a summary of all. attention: every card and every row looks at all others,
    which takes longer."""
    hidden: Annotated[int, whole(1, MOST["hidden"])] = 64
    """Units in each hidden layer."""
    layers: Annotated[int, whole(1, MOST["layers"])] = 2
    """Hidden layers, or layers of attention."""
    heads: Annotated[int, whole(1, MOST["heads"])] = 2
    """Of attention, which share the units: hidden must be a multiple of them. A scorer has none."""
    pretrained: Annotated[str | None, BeforeValidator(one_agent)] = None
    """A policy to begin with, such as champion or runs/first, whose network must be of this kind and size; null to begin from nothing."""

    @model_validator(mode="after")
    def _heads_fit(self) -> Network:
        if "heads" in KINDS[self.kind] and (problem := heads_problem(self.hidden, self.heads)):
            raise FaultsError(Fault(("heads",), f"{problem}, not {self.heads}; or change hidden", "key"))
        return self


class Evaluation(Section):
    """What is measured when the training is done, and on the way."""

    against: Annotated[tuple[str, ...], BeforeValidator(agents)] = ("random", "greedy")
    """Agents to be measured against, each on its own: one seat is ours, all others theirs."""
    rounds: Annotated[int, whole(1, 10**7)] = 20_000
    """Rounds played against each of them."""
    seed: Seed = 1000
    """Fixes the deals of the evaluation."""
    every_decisions: Annotated[int | None, whole(1, 10**15, optional=True)] = None
    """Evaluate on the way as well, every so many decisions of the learner and at the end, always on the same deals; or null. The best
    policy of these, by mean bull heads over all of `against`, is kept as best.safetensors."""
    rounds_during: Annotated[int, whole(1, 10**7)] = 1000
    """Rounds against each of them on the way."""
    budget: Annotated[float, real(0, 1, above=True)] = 0.05
    """Share of the training's time that these may take at most; what would take more is left out. 1 leaves nothing out."""
    early_stop: Annotated[int | None, whole(1, 10**6, optional=True)] = None
    """Stop when so many evaluations on the way, one after the other, were not better than the best before; or null."""


class Output(Section):
    """What is written while the training runs."""

    checkpoint_minutes: Positive = 2.0
    """Minutes between checkpoints: what --resume goes on from, and policies as they were on the way."""
    keep_checkpoints: Annotated[int, whole(1, 10_000)] = 3
    """Checkpoints kept; older ones are deleted."""
    tensorboard: Annotated[bool, BeforeValidator(truth)] = True
    """Write TensorBoard events beside metrics.csv."""


class Root(Section):
    """A whole configuration, which knows where it was read from."""

    _tree: Tree = PrivateAttr(default_factory=Tree)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and dict(self) == dict(other)  # wherever they were read from

    def fault(self, path: KeyPath, problem: str) -> ConfigError:
        """An error about the value at `path`, such as ("opponents", "greedy"), with the place where it was written."""
        where, words = self._tree.placed(Fault(path, problem, "key"))
        return ConfigError(f"{where}: {words}" if str(where) else words)

    def agents_named(self) -> Iterator[tuple[KeyPath, str]]:
        """Every agent that is named in it, with its place."""
        return iter(())


class Played(Root):
    """What experiments and tournaments have in common. Unlike the other fields, `rules` is the game's own frozen dataclass."""

    name: RunName = "run"
    """What it is called; its folder is runs/<name>. Default: the name of the file."""
    game: str = Field(default="sixnimmt", description=f"The game: {', '.join(games.names())}.")
    seed: Seed = 0
    """Fixes all randomness, deals and agents' dice: the same seed on the same machine gives the same results."""
    rules: Rules = Field(default_factory=dict, validate_default=True)
    """The variant of the game that is played."""

    @field_validator("game", mode="before")
    @classmethod
    def _known_game(cls, value: object) -> object:
        if value not in games.names():
            raise refuse(f"must be one of {', '.join(games.names())}{guess(str(value), games.names())}")
        return value

    @field_validator("rules", mode="plain")
    @classmethod
    def _known_rules(cls, value: object, info: ValidationInfo) -> object:
        # Without a valid game, which is reported by itself, nothing can be said about its rules.
        return build_rules(rules_class(info.data["game"]), value, cls) if "game" in info.data else None


class Config(Played):
    """A complete experiment."""

    opponents: Annotated[dict[str, Weight], BeforeValidator(mixture)] = Field(default_factory=lambda: {"greedy": 1.0, "random": 1.0})
    """Who sits in the other seats: agents and weights. A weight may move while the training runs: {start: 1, end: 0}. `self` is the learner
    as he is now, who learns in these seats too; `pool` stands for the frozen copies that `pool` below keeps."""
    draw: Annotated[str, text("seat|table", 'one of "seat", "table"')] = "seat"
    """seat: every seat of every game draws its agent by itself. table: one draw for all the other seats of a table, so that some tables
    are all self-play, and others are the learner among agents of one kind."""
    variants: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Variants that are played beside `rules`, so that one policy learns them all: a name each, with the keys of `rules` that are
    different, and its weight, where `rules` itself has 1."""
    pool: Pool = Pool()
    """Frozen copies of the learner to play against."""
    training: Training = Training()
    """How the policy learns."""
    network: Network = Network()
    """The policy network."""
    evaluation: Evaluation = Evaluation()
    """What is measured when the training is done, and on the way."""
    output: Output = Output()
    """What is written while the training runs."""

    @field_validator("variants", mode="before")
    @classmethod
    def _known_variants(cls, value: object, info: ValidationInfo) -> object:
        if not isinstance(value, Mapping):
            raise refuse("must be a mapping of names to variants, such as {two: {weight: 1, num_players: 2}}")
        faults: list[Fault] = []
        for name, given in value.items():
            try:
                if not isinstance(given, Mapping):
                    raise refuse("must be a mapping of what is different, such as {weight: 1, num_players: 2}")
                weight = given.get("weight", 1.0)
                if not is_number(weight) or not 0 < weight <= 1e9:
                    raise FaultsError(Fault(("weight",), number_problem(weight, "must be a number above 0 and at most 1e9")))
                rules = info.data.get("rules")
                if rules is not None:
                    _changed(rules, {key: item for key, item in given.items() if key != "weight"}, cls)
            except FaultsError as error:
                faults += [Fault((str(name), *fault.path), fault.problem, fault.names) for fault in error.faults]
        if faults:
            raise FaultsError(*faults)
        return {str(name): dict(given) for name, given in value.items()}

    @model_validator(mode="after")
    def _somebody_plays(self) -> Config:
        for progress in (0.0, 1.0):
            if not any(weight > 0 for weight in self.mixture_at(progress).values()):
                raise FaultsError(Fault(("opponents",), "all weights are 0 at one end of the training: give one agent more", "key"))
        return self

    def mixture_at(self, progress: float) -> dict[str, float]:
        """The opponents and their weights when the fraction `progress` of the training is done."""
        return {spec: weight.at(progress) if isinstance(weight, Schedule) else weight for spec, weight in self.opponents.items()}

    def all_rules(self) -> list[tuple[Rules, float]]:
        """The variants that are played, with their weights, `rules` first."""
        found = [(self.rules, 1.0)]
        for given in self.variants.values():
            changes = {key: item for key, item in given.items() if key != "weight"}
            found.append((_changed(self.rules, changes, type(self)), float(given.get("weight", 1.0))))
        return found

    def agents_named(self) -> Iterator[tuple[KeyPath, str]]:
        """The opponents, and whom the result is measured against. A policy to begin with is not among them: who goes on needs none."""
        yield from ((("opponents", spec), spec) for spec in self.opponents if spec not in (SELF, POOL))
        yield from ((("pool", "policies", str(index)), spec) for index, spec in enumerate(self.pool.policies))
        yield from ((("evaluation", "against", str(index)), spec) for index, spec in enumerate(self.evaluation.against))


def named_opponents(config: Config) -> list[str]:
    """The opponents that are agents by themselves, in their order."""
    return [spec for spec in config.opponents if spec not in (SELF, POOL)]


def rules_class(game: str) -> Any:
    """The rules dataclass of `game`, a name that `games.get` knows."""
    return games.get(game).rules


def build_rules(rules: Any, given: object, model: type[BaseModel]) -> object:
    """An instance of the dataclass `rules` from a mapping of its fields, part of `model`; the dataclass itself judges their values."""
    if isinstance(given, rules):
        return given
    known = _rule_names(rules)
    if not isinstance(given, Mapping):
        raise refuse(f"must be a mapping with any of the keys {', '.join(known)}")
    if unknown := [Fault((str(key),), _unknown(str(key), known, model), "key") for key in given if key not in known]:
        raise FaultsError(*unknown)
    hints = get_type_hints(rules)
    values = {key: as_whole(value) if int in (hints[key], *get_args(hints[key])) else value for key, value in given.items()}
    try:
        return rules(**values)
    except (TypeError, ValueError) as error:
        named = [word for word in re.findall(r"\w+", str(error)) if word in values]
        raise FaultsError(Fault((named[0],) if named else (), yaml_words(str(error)), "section" if named else "key")) from None


def _changed(rules: Any, changes: Mapping[str, object], model: type[BaseModel]) -> Any:
    """`rules` with `changes`; what follows from what is changed, such as the size of the deck, is worked out anew."""
    kept = {name: getattr(rules, name) for name in _rule_names(type(rules))}
    if {"num_players", "deck"} & changes.keys() and "deck_size" not in changes:
        kept.pop("deck_size", None)
    return build_rules(type(rules), {**kept, **changes}, model)


def _rule_names(rules: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(rules)]


# --- What is said about a fault ---------------------------------------------------------------------------------------


def _unknown(key: str, allowed: list[str], model: type[BaseModel]) -> str:
    """The message about an unknown key, with the likely one: the same key in another section, or a near miss here."""
    elsewhere = [f"{name}.{key}" for name in model.model_fields if key in _keys((name,), model)]
    elsewhere += [f"rules.{key}" for game in games.names() if key in _rule_names(rules_class(game))]
    elsewhere += [key] if key in model.model_fields else []
    meant = f'; did you mean "{elsewhere[0]}"?' if elsewhere else guess(key, allowed)
    return f"unknown key{meant} (allowed: {', '.join(allowed)})"


def _keys(path: KeyPath, model: type[BaseModel]) -> list[str]:
    """The keys of the section of `model` at `path`; none where it is no section."""
    section: Any = model
    for part in path:
        field = section.model_fields.get(part)
        section = field.annotation if field else None
        if not (isinstance(section, type) and issubclass(section, BaseModel)):
            return []
    return list(section.model_fields)


def _faults(error: ValidationError, model: type[BaseModel]) -> Iterator[Fault]:
    """What pydantic found, in our words."""
    for found in error.errors(include_url=False):
        path = tuple(str(part) for part in found["loc"])
        cause = found.get("ctx", {}).get("error")
        if isinstance(cause, FaultsError):
            for fault in cause.faults:
                yield Fault((*path, *fault.path), fault.problem, fault.names)
        elif found["type"] == "extra_forbidden":
            yield Fault(path, _unknown(path[-1], _keys(path[:-1], model), model), "key")
        elif keys := _keys(path, model):
            yield Fault(path, f"must be a mapping with any of the keys {', '.join(keys)}; leave it out for the defaults")
        else:
            yield Fault(path, found["msg"])


def _agent_faults(config: Root, check_agent: AgentCheck) -> Iterator[Fault]:
    for path, spec in config.agents_named():
        try:
            check_agent(spec)
        except ValueError as error:
            yield Fault(path, str(error), "key")


# --- Reading and writing files -------------------------------------------------------------------------------------------


AgentCheck: TypeAlias = Callable[[str], object]
AnyRoot = TypeVar("AnyRoot", bound=Root)


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
            overridden(reader, tree, override)
        config = validated(Config, tree, Path(path).stem, reader, check_agent)
    problems = reader.problems()
    if config is None or problems:
        raise ConfigError(*problems)
    return config


def overridden(reader: Reader, tree: Tree, override: str, source: str = "") -> None:
    """Writes an override into the tree of a training; `source` is what the user wrote, where that is not --set."""
    # The agents' defaults are no fields, so a single weight changed would silently drop the other agents.
    reader.override(tree, override, {("opponents",): Config().opponents}, source)


def validated(model: type[AnyRoot], tree: Tree, stem: str, reader: Reader, check_agent: AgentCheck | None) -> AnyRoot | None:
    """The configuration in `tree`, called `stem` unless it says otherwise; None where it has none. What is wrong is reported."""
    faults: list[Fault] = []
    config = None
    try:
        config = model.model_validate({"name": stem, **tree.plain()})
        config._tree = tree
        if check_agent is not None:
            faults += _agent_faults(config, check_agent)
    except ValidationError as error:
        # By written path: a constant that stands for a schedule is reported once, not for its start and for its end.
        faults += {tree.written_path(fault.path): fault for fault in reversed(list(_faults(error, model)))}.values()
    for fault in faults:
        reader.report(*tree.placed(fault))
    return config


def save(config: Root, path: str | os.PathLike[str]) -> None:
    """Writes the complete configuration to `path`, whole or not at all. Raises `ConfigError` where that is impossible."""
    try:
        write_atomically(path, dump(config))
    except OSError as error:
        raise ConfigError(f"{os.fspath(path)}: cannot be written: {error.strerror or error}") from error


def dump(config: Root) -> str:
    """The complete configuration as YAML, every key with its comment; read back it is equal."""
    return written(_entries(config))


def _entries(section: BaseModel) -> Iterator[Entry]:
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        comment = field.description or ""
        if isinstance(value, BaseModel):
            yield Entry(name, comment, below=tuple(_entries(value)))
        elif isinstance(value, dict) and value:
            yield Entry(name, comment, below=tuple(_entry(key, item) for key, item in value.items()))
        elif dataclasses.is_dataclass(value):
            words = _documented(type(value))
            yield Entry(name, comment, below=tuple(Entry(key, words.get(key, ""), getattr(value, key)) for key in _rule_names(value)))
        else:
            yield Entry(name, comment, value)


def _entry(key: str, item: Any) -> Entry:
    if isinstance(item, BaseModel):
        return Entry(key, below=tuple(Entry(name, value=getattr(item, name)) for name in type(item).model_fields))
    if isinstance(item, Mapping):
        return Entry(key, below=tuple(Entry(name, value=below) for name, below in item.items()))
    return Entry(key, value=item)


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
