"""The configuration: what is refused and how it is said, what numbers mean, overrides, and that a saved one is the same again."""

from __future__ import annotations

import copy
import errno
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from sixnimmt_env.core import files
from sixnimmt_env.core.files import write_atomically
from sixnimmt_env.games.sixnimmt.rules import Rules
from training.config import Config, ConfigError, LearningRate, Training, dump, load, save

CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("*.yaml"))

# name of the case: (content of the file, pieces of the message, each of which one line of it must hold)
BAD_FILES: dict[str, tuple[str | bytes, list[str]]] = {
    "empty": ("", ["bad.yaml: is empty"]),
    "comments only": ("# nothing\n", ["bad.yaml: is empty"]),
    "top level list": ("- a\n", ["bad.yaml:1: must be a mapping"]),
    "top level text": ("\nframes:100\n", ["bad.yaml:2: must be a mapping", "not frames:100"]),
    "two documents": ("seed: 1\n---\nseed: 2\n", ["bad.yaml:2: a second document"]),
    "not UTF-8": (b"seed: 1\nname: \xff\n", ["bad.yaml:2: is not UTF-8 text (byte 0xFF)"]),
    "UTF-16": ("seed: 1\n".encode("utf-16"), ["is not UTF-8 text"]),
    "binary": (b"\x00\x01\x02", ["bad.yaml:1: the character '\\x00' is not allowed"]),
    "too large": (b"# " + b"x" * 1_000_000, ["bad.yaml: is larger than 1 MB"]),
    "too many values": ("evaluation:\n  against: [" + "a," * 400_000, ["bad.yaml:2: more than 10000 keys and values"]),
    "python tag": ("name: !!python/object/apply:os.system [echo]\n", ["bad.yaml:1: tags are not allowed", "python/object"]),
    "local tag": ("seed: 1\nname: ! x\n", ["bad.yaml:2: tags are not allowed"]),
    "anchor": ("seed: &one 1\n", ["bad.yaml:1: anchors (&) and aliases (*) are not allowed"]),
    "billion laughs": ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", ["bad.yaml:1: anchors"]),
    "alias": ("seed: *one\n", ["bad.yaml:1: anchors"]),
    "merge key": ("training:\n  <<: {games: 2}\n", ["bad.yaml:2: training.<<: unknown key"]),
    "deep": ("seed: " + "[" * 5000, ["bad.yaml:1: is nested more than 12 deep"]),
    "old YAML": ("%YAML 1.1\n---\nseed: 010\n", ["%YAML must be 1.2"]),
    "syntax": ("seed: 1\nrules: [1, 2\n", ["bad.yaml:3: is not valid YAML"]),
    "tab": ("training:\n\tgames: 2\n", ["bad.yaml:2: is not valid YAML", "indent with spaces"]),
    "duplicate": ("seed: 1\n\nseed: 1\n", ["bad.yaml:3: seed: is given twice, first in line 1: keep one"]),
    "nested duplicate": ("network: {hidden: 8, hidden: 9}\n", ["bad.yaml:1: network.hidden: is given twice"]),
    "unknown kind of network": (
        "network: {kind: transformer}\n",
        ['bad.yaml:1: network.kind=transformer: must be one of "scorer", "attention"'],
    ),
    "heads that do not fit": (
        "network:\n  kind: attention\n  hidden: 24\n  heads: 5\n",
        ["bad.yaml:4: network.heads: must divide hidden=24: 1, 2, 3, 4, 6, 8, 12, 24, not 5; or change hidden"],
    ),
    "default heads that do not fit": ("network: {kind: attention, hidden: 9}\n", ["network.heads", "must divide hidden=9: 1, 3, 9, not 2"]),
    "no heads": ("network: {heads: 0}\n", ["bad.yaml:1: network.heads=0: must be a whole number from 1 to 64"]),
    "unknown critic": ("training: {critic: central}\n", ['bad.yaml:1: training.critic=central: must be one of "own", "privileged"']),
    "negative weight": ("training: {auxiliary: -0.1}\n", ["bad.yaml:1: training.auxiliary=-0.1: must be a number from 0 to 100"]),
    "key no text": ("seed: 1\n5: 1\n", ["bad.yaml:2: 5: a key must be text"]),
    "key a list": ("? [a, b]\n: 1\n", ["bad.yaml:1: a list or mapping: a key must be text"]),
    "key infinite": (".inf: 1\n", ["bad.yaml:1: .inf: a key must be text"]),
    "unknown key": (
        "seed: 1\ntraining:\n  games: 4096\n  learning_rat: 3\n",
        ['bad.yaml:4: training.learning_rat: unknown key; did you mean "learning_rate"? (allowed: frames, max_minutes, '],
    ),
    "unknown, alike nothing": ("qqq: 1\n", ["bad.yaml:1: qqq: unknown key (allowed: name, game, seed, "]),
    "key of a section": ("frames: 3\n", ['bad.yaml:1: frames: unknown key; did you mean "training.frames"?']),
    "key of the rules": ("num_players: 3\n", ['bad.yaml:1: num_players: unknown key; did you mean "rules.num_players"?']),
    "unknown rule": ("rules:\n  players: 3\n", ['bad.yaml:2: rules.players: unknown key; did you mean "num_players"?']),
    "bad rule": (
        "rules:\n  deck: standard\n  num_players: 11\n",
        ["bad.yaml:3: rules: num_players=11 must be a whole number from 2 to 10"],
    ),
    "rules that clash": (
        "rules:\n\n  target: 66\n",
        ["bad.yaml:3: rules: rounds=1 and target=66 exclude each other", "rounds=null"],
    ),
    "rule named none": ("rules: {rounds: null}\n", ["bad.yaml:1: rules: rounds=null and target=null would never end"]),
    "rules too few cards": ("rules: {deck: tactical, deck_size: 50}\n", ["bad.yaml:1: rules: deck_size=50 is impossible"]),
    "rule as text": ('rules: {num_players: "4"}\n', ["rules: num_players='4' must be a whole number"]),
    "rule as truth": ("rules: {num_players: true}\n", ["rules: num_players=true must be a whole number"]),
    "rule as number": ("rules: {professional: 1}\n", ["rules: professional=1 must be true or false"]),
    "rules no mapping": ("rules: 4\n", ["bad.yaml:1: rules=4: must be a mapping with any of the keys num_players, deck"]),
    "game": ("game: sixnimt\n", ["bad.yaml:1: game=sixnimt: must be one of sixnimmt", '; did you mean "sixnimmt"?']),
    "section empty": ("training:\nseed: 1\n", ["bad.yaml:1: training=null: must be a mapping", "leave it out for the defaults"]),
    "section a list": (
        "seed: 1\nnetwork: [1]\n",
        ["bad.yaml:2: network: must be a mapping with any of the keys kind, hidden, layers, heads"],
    ),
    "name with a slash": ("name: ../x\n", ["bad.yaml:1: name=../x: must be 1 to 100 letters"]),
    "name a number": ("name: 12\n", ["bad.yaml:1: name=12: ", "put it in quotes"]),
    "text for a number": (
        'training:\n  frames: "3"\n',
        ["bad.yaml:2: training.frames=3: must be a whole number", "remove the quotes"],
    ),
    "truth for a number": (
        "training:\n  gamma: true\n",
        ["bad.yaml:2: training.gamma=true: must be a number from 0 to 1; true and"],
    ),
    "number for a truth": ("output: {tensorboard: 1}\n", ["bad.yaml:1: output.tensorboard=1: must be true or false"]),
    "on for a truth": ("output: {tensorboard: on}\n", ["bad.yaml:1: output.tensorboard=on: must be true or false"]),
    "None for null": ("training: {max_minutes: None}\n", ["training.max_minutes=None: ", "or null", "no value is written null"]),
    "no point on the way": (
        "evaluation: {every_decisions: 0}\n",
        ["evaluation.every_decisions=0: must be a whole number from 1", "or null"],
    ),
    "no budget for points": ("evaluation: {budget: 0}\n", ["bad.yaml:1: evaluation.budget=0: must be a number above 0 and at most 1"]),
    "None for no early stop": ("evaluation: {early_stop: None}\n", ["evaluation.early_stop=None: ", "no value is written null"]),
    "fraction": ("training: {epochs: 1.5}\n", ["training.epochs=1.5: must be a whole number from 1 to 100"]),
    "infinity": ("seed: 0\ntraining: {max_minutes: .inf}\n", ["bad.yaml:2: training.max_minutes: .inf is no finite number"]),
    "not a number": ("training: {gamma: .nan}\n", ["bad.yaml:1: training.gamma: .nan is no finite number"]),
    "overflow": ("training: {reward_scale: 1e400}\n", ["training.reward_scale: 1e400 is no finite number"]),
    "endless digits": (f"seed: {'9' * 5000}\n", ["bad.yaml:1: seed: a number of 5000 characters is too long"]),
    "range": (
        "training:\n  games: 0\n  steps: -1\n",
        ["bad.yaml:2: training.games=0: must be", "bad.yaml:3: training.steps=-1: must be"],
    ),
    "seed": ("seed: -1\n", ["bad.yaml:1: seed=-1: must be a whole number from 0"]),
    "minibatch": (
        "training:\n  games: 8\n  minibatch: 1024\n",
        ["bad.yaml:3: training.minibatch: must be at most games x steps = 8 x 24 = 192, not 1024"],
    ),
    "minibatch left out": ("seed: 0\ntraining:\n  games: 8\n", ["bad.yaml:2: training.minibatch: must be at most", "not 4096"]),
    "schedule": ("training:\n  learning_rate: -1\n", ["bad.yaml:2: training.learning_rate=-1: must be a number above 0"]),
    "schedule's end": (
        "training:\n  entropy:\n    end: -1\n",
        ["bad.yaml:3: training.entropy.end=-1: must be a number from 0 to 10"],
    ),
    "schedule as text": (
        'training: {entropy: "0.1"}\n',
        ["training.entropy=0.1: must be a number, or a mapping", "remove the quotes"],
    ),
    "device": ("training: {device: gpu}\n", ['training.device=gpu: must be one of "cpu", "cuda"']),
    "no opponents": ("opponents: {}\n", ["bad.yaml:1: opponents: must be a mapping of at least one agent"]),
    "opponents a list": ("opponents: [greedy]\n", ["bad.yaml:1: opponents: must be a mapping of at least one agent"]),
    "weights": (
        "opponents:\n  greedy: 0\n  random: x\n",
        ["bad.yaml:2: opponents.greedy=0: ", "bad.yaml:3: opponents.random=x: "],
    ),
    "weight without a space": ("opponents: {greedy:1}\n", ["opponents.greedy:1=null: ", "write a space after the colon"]),
    "agent's name": ('opponents: {"": 1}\n', ["must be an agent such as greedy"]),
    "against a text": ("evaluation: {against: greedy}\n", ["evaluation.against=greedy: must be a list of at least one agent"]),
    "against a number": (
        "evaluation:\n  against:\n    - greedy\n    - 5\n",
        ["bad.yaml:4: evaluation.against.1=5: must be an agent"],
    ),
    "against twice": ("evaluation: {against: [greedy, greedy]}\n", ["evaluation.against.1=greedy: is in the list twice"]),
}


def write(folder: Path, content: str | bytes, name: str = "test.yaml") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises(ConfigError) as caught:
        act()
    return str(caught.value)


@pytest.mark.parametrize(("content", "pieces"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_bad_file(tmp_path: Path, content: str | bytes, pieces: list[str]) -> None:
    path = write(tmp_path, content, "bad.yaml")
    message = refusal(lambda: load(path))
    assert all(piece in message for piece in pieces), message
    assert all(line.startswith(str(path)) for line in message.splitlines()), message
    assert "Input should" not in message, "pydantic's own words name neither the value nor the fix"


def test_every_problem_once_and_in_order(tmp_path: Path) -> None:
    path = write(tmp_path, "sed: 1\nrules: {num_players: 1}\ntraining:\n  epochs: 0\n  epochs: 1\n  learning_rate: -1\n5: 1\n")
    message = refusal(lambda: load(path, ["training.games=x", "nonsense"]))
    places = [line.removeprefix(str(path)).split(" ")[0] for line in message.splitlines()]
    assert places == [":1:", ":2:", ":4:", ":5:", ":6:", ":7:", "--set", "--set"], message


def test_flood_of_problems_is_cut(tmp_path: Path) -> None:
    path = write(tmp_path, "".join(f"key{i}: 1\n" for i in range(100)))
    assert refusal(lambda: load(path)).splitlines()[-1] == "... and 50 more problems"


@pytest.mark.parametrize("case", ["missing", "folder", "null byte"])
def test_unreadable_file(tmp_path: Path, case: str) -> None:
    write(tmp_path, "seed: 1\n", "quickstart.yaml")
    path = {"missing": tmp_path / "quikstart.yaml", "folder": tmp_path, "null byte": tmp_path / "a\0b"}[case]
    message = refusal(lambda: load(path))
    assert message.startswith(f"{path}: cannot be read: ")
    assert (f'did you mean "{tmp_path / "quickstart.yaml"}"?' in message) == (case == "missing")


# What YAML and we make of a value, as a whole number and as a number; None where it is refused.
NUMBERS: list[tuple[str, int | None, float | None]] = [
    ("1", 1, 1.0),
    ("1e6", 1_000_000, 1e6),
    ("1E6", 1_000_000, 1e6),
    ("1e+6", 1_000_000, 1e6),
    ("1_000_000", 1_000_000, 1e6),
    ("12.0", 12, 12.0),
    ("+3", 3, 3.0),
    ("010", 10, 10.0),
    ("0o10", 8, 8.0),
    ("0x1F", 31, 31.0),
    ("3e-4", None, 3e-4),
    (".5", None, 0.5),
    ("1.5", None, 1.5),
    ("1:30", None, None),
    ("on", None, None),
    ("yes", None, None),
    ("true", None, None),
    ("'3'", None, None),
    ("1,5", None, None),
    ("0x_", None, None),
    ("null", None, None),
    ("2024-01-01", None, None),
    ("1e400", None, None),
    (".inf", None, None),
    ("[1]", None, None),
    ("{a: 1}", None, None),
]


@pytest.mark.parametrize(("written", "whole", "real"), NUMBERS, ids=[case[0] for case in NUMBERS])
@pytest.mark.parametrize("overridden", [False, True])
def test_numbers(tmp_path: Path, written: str, whole: int | None, real: float | None, overridden: bool) -> None:
    def value(key: str) -> object:
        try:
            if overridden:
                config = load(write(tmp_path, "seed: 0"), [f"training.{key}={written}"])
            else:
                config = load(write(tmp_path, f"training:\n  {key}: {written}\n"))
        except ConfigError:
            return None
        return getattr(config.training, key)

    assert value("frames") == whole
    assert type(value("frames")) is type(whole)
    assert value("reward_scale") == real
    assert type(value("reward_scale")) is type(real)


def test_defaults_and_the_name_of_the_file(tmp_path: Path) -> None:
    config = load(write(tmp_path, "seed: 3\n", "my-run.yaml"))
    assert config == Config(name="my-run", seed=3)
    assert config.rules == Rules()
    assert config.opponents == {"greedy": 1.0, "random": 1.0}
    assert config.training.batch == 2048 * 24


def test_whole_file(tmp_path: Path) -> None:
    text = """\ufeff
        name: 2024-01-01
        rules: {num_players: 1e1, rounds: null, target: 66}
        opponents: {"monte_carlo:rollouts=100": 2, policy:a.b/c: .5}
        training: {learning_rate: 3e-4, entropy: {end: 0}, max_minutes: 7}
        evaluation: {against: ["monte_carlo:rollouts=100"]}
    """
    config = load(write(tmp_path, text.replace("\n", "\r\n")))
    assert config.name == "2024-01-01"
    assert config.rules == Rules(num_players=10, rounds=None, target=66)
    assert config.opponents == {"monte_carlo:rollouts=100": 2.0, "policy:a.b/c": 0.5}
    assert (config.training.learning_rate.start, config.training.learning_rate.end) == (3e-4, 3e-4)
    assert (config.training.entropy.start, config.training.entropy.end) == (0.03, 0.0)
    assert config.evaluation.against == ("monte_carlo:rollouts=100",)


BASE = "training:\n  learning_rate: 1e-3\nopponents: {lowest: 1}\n"

OVERRIDES: dict[str, tuple[str, Callable[[Config], object], object]] = {
    "number": ("training.frames=1e6", lambda c: c.training.frames, 1_000_000),
    "space": ("training.frames = 5", lambda c: c.training.frames, 5),
    "null": ("training.max_minutes=null", lambda c: c.training.max_minutes, None),
    "rule": ("rules.num_players=6", lambda c: c.rules.num_players, 6),
    "rules": ("rules={rounds: null, target: 66}", lambda c: c.rules.target, 66),
    "list": ("evaluation.against=[greedy]", lambda c: c.evaluation.against, ("greedy",)),
    "one weight": ("opponents.greedy=2", lambda c: c.opponents, {"lowest": 1.0, "greedy": 2.0}),
    "all weights": ("opponents={greedy: 1}", lambda c: c.opponents, {"greedy": 1.0}),
    "name with signs": ('opponents={"mc:rollouts=9": 1}', lambda c: c.opponents, {"mc:rollouts=9": 1.0}),
    "schedule": ("training.learning_rate={start: 1}", lambda c: c.training.learning_rate, LearningRate(start=1.0)),
    "part of a schedule": (
        "training.entropy.start=1",
        lambda c: (c.training.entropy.start, c.training.entropy.end),
        (1.0, 0.003),
    ),
    "top level": ("name=x", lambda c: c.name, "x"),
}


@pytest.mark.parametrize(("override", "get", "expected"), OVERRIDES.values(), ids=OVERRIDES.keys())
def test_override(tmp_path: Path, override: str, get: Callable[[Config], object], expected: object) -> None:
    assert get(load(write(tmp_path, BASE), [override])) == expected


def test_overrides_apply_in_order_and_keep_the_default_opponents(tmp_path: Path) -> None:
    config = load(write(tmp_path, "seed: 1\n"), ["opponents.greedy=2", "seed=2", "seed=3"])
    assert config.opponents == {"greedy": 2.0, "random": 1.0}
    assert config.seed == 3


BAD_OVERRIDES: dict[str, tuple[str, str]] = {
    "no number": ("training.frames=abc", "--set training.frames=abc: must be a whole number from 1 to"),
    "unknown": ("training.frame=1", '--set training.frame=1: unknown key; did you mean "frames"?'),
    "unknown section": ("trainig.frames=1", '--set trainig.frames=1: trainig: unknown key; did you mean "training"?'),
    "no equals sign": ("training.frames", "--set training.frames: must be key.path=value"),
    "no path": ("=5", "--set =5: must be key.path=value"),
    "empty part": ("training..frames=5", "--set training..frames=5: must be key.path=value"),
    "no value": ("training.frames=", "--set training.frames=: has no value: write null for none"),
    "syntax": ("opponents={greedy: 1", "--set opponents={greedy: 1: is not valid YAML"),
    "tag": ("name=!!python/name:os", "--set name=!!python/name:os: tags are not allowed"),
    "infinite": ("training.gamma=.inf", "--set training.gamma=.inf: .inf is no finite number"),
    "inside a mapping": ("training={epochs: 0}", "--set training={epochs: 0}: training.epochs=0: must be a whole number"),
    "twice in a mapping": ("opponents={a: 1, a: 2}", "--set opponents={a: 1, a: 2}: a: is given twice: keep one"),
    "rule": ("rules.num_players=11", "--set rules.num_players=11: rules: num_players=11 must be a whole number from 2 to 10"),
    "below a number": (
        "training.learning_rate.end=1",
        "training.learning_rate is 0.001 (PATH:2), which has no keys: set training.le",
    ),
    "agent with =": ("opponents.mc:rollouts=9=1", "is set with all others: 'opponents={"),
    "agent with a dot": ("opponents.policy:a.b=1", "is set with all others: 'opponents={"),
    "minibatch": ("training.minibatch=1e6", "--set training.minibatch=1e6: must be at most games x steps = 2048 x 24 = 49152"),
}


@pytest.mark.parametrize(("override", "piece"), BAD_OVERRIDES.values(), ids=BAD_OVERRIDES.keys())
def test_bad_override(tmp_path: Path, override: str, piece: str) -> None:
    path = write(tmp_path, BASE)
    message = refusal(lambda: load(path, [override]))
    assert piece.replace("PATH", str(path)) in message
    assert len(message.splitlines()) == 1


def test_agents_are_reported_where_they_stand(tmp_path: Path) -> None:
    def check(spec: str) -> None:
        if spec != "greedy":
            raise ValueError(f"unknown agent {spec!r}")

    path = write(tmp_path, "opponents:\n  greedy: 1\n  gredy: 1\nevaluation:\n  against:\n    - random\n")
    message = refusal(lambda: load(path, ["opponents.x=1"], check_agent=check))
    assert message.splitlines() == [
        f"{path}:3: opponents.gredy: unknown agent 'gredy'",
        f"{path}:6: evaluation.against.0: unknown agent 'random'",
        "--set opponents.x=1: unknown agent 'x'",
    ]


def test_later_faults_find_their_line(tmp_path: Path) -> None:
    path = write(tmp_path, "seed: 1\nopponents:\n  greedy: 1\n")
    config = load(path, ["training.device=cuda"])
    assert str(config.fault(("opponents", "greedy"), "is busy")) == f"{path}:3: opponents.greedy: is busy"
    assert str(config.fault(("training", "device"), "not here")) == "--set training.device=cuda: not here"
    assert str(config.fault(("network", "hidden"), "too few")) == f"{path}:1: network.hidden: too few"
    assert str(Config().fault(("seed",), "is unlucky")) == "seed: is unlucky"


def test_frozen_copied_and_checked_in_python_too(tmp_path: Path) -> None:
    config = load(write(tmp_path, "seed: 1\n"))
    with pytest.raises(ValidationError):
        config.seed = 2
    assert pickle.loads(pickle.dumps(config)) == config == copy.deepcopy(config)
    assert config != config.model_copy(update={"seed": 2})
    with pytest.raises(ValidationError, match="must be at most games x steps"):
        Training(games=1)
    with pytest.raises(ValidationError, match="num_players=1 must be"):
        Config.model_validate({"rules": {"num_players": 1}})


def test_schedule() -> None:
    schedule = LearningRate(start=1.0, end=0.5)
    assert [schedule.at(progress) for progress in (-1, 0, 0.5, 1, 2)] == [1.0, 1.0, 0.75, 0.5, 0.5]


def test_example_configs_exist() -> None:
    assert {path.name for path in CONFIGS} >= {"quickstart.yaml", "smoke.yaml"}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_example_config_round_trip(tmp_path: Path, path: Path) -> None:
    config = load(path)
    assert config.name == path.stem
    save(config, tmp_path / "config.yaml")
    assert load(tmp_path / "config.yaml") == config


def test_every_key_is_explained() -> None:
    lines = dump(Config()).splitlines()
    opponents = {f"  {name}: 1.0" for name in Config().opponents}
    keys = [index for index, line in enumerate(lines) if line and "#" not in line and line not in opponents]
    assert len(keys) > 40
    assert [lines[index] for index in keys if not lines[index - 1].lstrip().startswith("# ")] == []
    assert max(map(len, lines)) <= 110


specs = st.text(min_size=1, max_size=500).filter(lambda text: bool(text.strip()) and text.isprintable())
numbers = st.floats(min_value=1e-300, max_value=1.0) | st.just(1.0)


@st.composite
def configs(draw: st.DrawFn) -> Config:
    games, steps = draw(st.integers(1, 10**6)), draw(st.integers(1, 10**4))
    rounds = draw(st.none() | st.integers(1, 10_000))
    values: dict[str, Any] = {
        "name": draw(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", fullmatch=True)),
        "seed": draw(st.integers(0, 2**63 - 1)),
        "rules": {
            "num_players": draw(st.integers(2, 10)),
            "deck": draw(st.sampled_from(["standard", "tactical", "logic"])),
            "professional": draw(st.booleans()),
            "rounds": rounds,
            "target": draw(st.integers(1, 100_000)) if rounds is None else None,
        },
        "opponents": draw(st.dictionaries(specs, st.floats(min_value=1e-300, max_value=1e9), min_size=1, max_size=4)),
        "training": {
            "frames": draw(st.integers(1, 10**15)),
            "max_minutes": draw(st.none() | st.floats(min_value=1e-300, max_value=1e6)),
            "games": games,
            "steps": steps,
            "minibatch": draw(st.integers(1, min(games * steps, 10**9))),
            "learning_rate": draw(numbers),
            "entropy": {"start": draw(numbers), "end": draw(numbers)},
            "gae_lambda": draw(numbers),
            "device": draw(st.sampled_from(["cpu", "cuda", "cuda:0", "mps"])),
        },
        "evaluation": {
            "against": draw(st.lists(specs, min_size=1, max_size=4, unique=True)),
            "every_decisions": draw(st.none() | st.integers(1, 10**15)),
            "budget": draw(numbers),
            "early_stop": draw(st.none() | st.integers(1, 10**6)),
        },
        "output": {"tensorboard": draw(st.booleans())},
    }
    return Config.model_validate(values)


@settings(max_examples=60, deadline=None)
@given(config=configs())
def test_random_config_round_trip(tmp_path_factory: pytest.TempPathFactory, config: Config) -> None:
    path = tmp_path_factory.mktemp("config") / "config.yaml"
    save(config, path)
    assert load(path) == config
    assert dump(load(path)) == dump(config)


@settings(max_examples=150, deadline=None)
@given(content=st.text(alphabet="a:1 \n\t-[]{}&*!%|>'\"\\#,?.0xe_~\0\r\ufeff\u2028", max_size=40) | st.binary(max_size=40))
def test_nonsense_is_refused_politely(tmp_path_factory: pytest.TempPathFactory, content: str | bytes) -> None:
    path = write(tmp_path_factory.mktemp("config"), content)
    problem = str(path)
    try:
        assert load(path) == Config(name=path.stem), "what is no nonsense can only be the empty mapping"
    except ConfigError as error:
        problem = str(error)
    assert problem.startswith(str(path))


# --- Writing whole or not at all -----------------------------------------------------------------------------------------


def fail(error: BaseException) -> Callable[..., None]:
    def failing(*_: object) -> None:
        raise error

    return failing


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    path = write(tmp_path, "seed: 1\n")
    monkeypatch.setattr(os, step, fail(OSError(errno.ENOSPC, "No space left on device")))
    message = refusal(lambda: save(Config(), path))
    monkeypatch.undo()
    assert message == f"{path}: cannot be written: No space left on device"
    assert path.read_text() == "seed: 1\n"
    assert os.listdir(tmp_path) == [path.name]


def test_write_cut_short_leaves_the_old_file(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = write(tmp_path, "seed: 1\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # the system itself fails the write after 1000 bytes
    try:
        message = refusal(lambda: save(Config(), path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert message.startswith(f"{path}: cannot be written: ")
    assert path.read_text() == "seed: 1\n"
    assert os.listdir(tmp_path) == [path.name]


def test_interrupt_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "old")
    monkeypatch.setattr(os, "fsync", fail(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("case", ["missing folder", "file as folder", "folder as file"])
def test_impossible_target(tmp_path: Path, case: str) -> None:
    write(tmp_path, "x", "file")
    path = {
        "missing folder": tmp_path / "no" / "c.yaml",
        "file as folder": tmp_path / "file" / "c.yaml",
        "folder as file": tmp_path,
    }[case]
    assert refusal(lambda: save(Config(), path)).startswith(f"{path}: cannot be written: ")
    assert os.listdir(tmp_path) == ["file"]
    assert not list(tmp_path.parent.glob(f"*{files.TEMP_SUFFIX}"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="permissions do not bind the superuser")
def test_unwritable_folder(tmp_path: Path) -> None:
    path = write(tmp_path, "seed: 1\n")
    tmp_path.chmod(0o500)
    try:
        assert refusal(lambda: save(Config(), path)) == f"{path}: cannot be written: Permission denied"
    finally:
        tmp_path.chmod(0o700)
    assert path.read_text() == "seed: 1\n"


def test_read_only_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "open", fail(OSError(errno.EROFS, "Read-only file system")))
    assert refusal(lambda: save(Config(), tmp_path / "c.yaml")) == f"{tmp_path / 'c.yaml'}: cannot be written: Read-only file system"


@pytest.mark.parametrize(("data", "content"), [("text é\n", "text é\n".encode()), (b"\x00\r\n\xff", b"\x00\r\n\xff"), ("", b"")])
def test_written_content(tmp_path: Path, data: str | bytes, content: bytes) -> None:
    path = tmp_path / ("n" * 200)
    for _ in range(2):
        write_atomically(path, data)
        assert path.read_bytes() == content
    assert os.listdir(tmp_path) == [path.name]


def test_link_is_followed(tmp_path: Path) -> None:
    target = write(tmp_path, "old", "target")
    (tmp_path / "link").symlink_to(target)
    write_atomically(tmp_path / "link", "new")
    assert target.read_text() == "new"
    assert (tmp_path / "link").is_symlink()


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_files_get_the_usual_mode(tmp_path: Path) -> None:
    write_atomically(tmp_path / "new", "x")
    (tmp_path / "plain").write_text("x")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode
