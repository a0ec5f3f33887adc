"""Runs that were stopped, killed, damaged or tampered with, and go on: as if nothing had happened, or with a clear error."""

from __future__ import annotations

import contextlib
import csv
import errno
import hashlib
import io
import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from sixnimmt_env.core import files
from sixnimmt_env.core.files import TEMP_SUFFIX
from sixnimmt_env.games.sixnimmt import GAME, Rules
from tests.training.small import network
from tests.training.test_train import SMOKE, TINY, after, contents, weights
from training import checkpoint, metrics, policy
from training import config as configuration
from training.callbacks import Coach, Display, Interrupt
from training.checkpoint import CheckpointError
from training.cli import main
from training.config import POOL, SELF, Config, ConfigError
from training.league import League
from training.policy import PolicyError
from training.ppo import NetworkPolicy
from training.saving import Saver
from training.train import Run, _assemble, _players, _try_out, train

LENGTH = ["training.frames=1024", "output.checkpoint_minutes=1e-9"]
EVALUATED = ["evaluation={against: [random, greedy], rounds: 8, rounds_during: 12, every_decisions: 200, budget: 1}"]
CONFIGS: dict[str, list[str]] = {
    "two opponents": [],
    "agents that are asked": ["opponents={greedy: 2, uniform: 1, random: 1}", "training.epochs=2"],
    "self-play, a pool and variants": [
        "opponents={self: 1, pool: 1, greedy: {start: 1, end: 0.2}}",
        "pool={every: 200, size: 3, active: 2}",
        "variants={two: {num_players: 2}, professional: {professional: true, weight: 2}}",
        "training.games=12",
    ],
    "tables of a match": ["opponents={self: 2, random: 1}", "draw=table", "rules={rounds: 2, num_players: 3, deck: logic}"],
    "evaluations on the way": EVALUATED,
    "attention, and open hands in training": [
        "network={kind: attention, hidden: 8, layers: 1, heads: 2}",
        "training.critic=privileged",
        "training.auxiliary=0.2",
        "training.epochs=2",
        "opponents={self: 1, pool: 1, greedy: 1}",
        "pool={every: 200, size: 3, active: 2}",
        "training.games=12",
    ],
}
STOPS = [3, 20, 1, 30]
"""Steps after which each life of a run ends; eight steps are an iteration."""
TIMES = ("time/minutes", "time/frames_per_second")


def settings(*overrides: str) -> Config:
    return configuration.load(SMOKE, [*TINY, *LENGTH, *overrides])


def run(config: Config, folder: Path, resume: Path | None = None) -> tuple[Run, str]:
    """Train; returns what came of it and what was said."""
    said = io.StringIO()
    return train(config, folder, Console(file=said, width=80), resume), said.getvalue()


def go_on(folder: Path, *overrides: str) -> tuple[Run, str]:
    """Go on with the run in `folder`, in it."""
    return run(configuration.load(folder / "config.yaml", overrides), folder, folder)


def stopped(config: Config, folder: Path, steps: int, resume: Path | None = None) -> str:
    """Train until the user asks to stop, after so many steps."""
    with pytest.MonkeyPatch.context() as patch:
        asked: list[int] = []

        def ask() -> None:
            if not asked:
                asked.append(1)
                signal.raise_signal(signal.SIGINT)

        patch.setattr(Display, "show", after(steps, ask, Display.show))
        done, said = run(config, folder, resume)
    assert done.interrupted
    return said


def rows(folder: Path) -> list[dict[str, str]]:
    """The figures, without those that are measured."""
    with (folder / "metrics.csv").open() as file:
        return [{key: cell for key, cell in row.items() if key not in TIMES} for row in csv.DictReader(file)]


def newest(folder: Path) -> Path:
    return checkpoint.found(folder / "checkpoints")[0]


def flat(tree: dict[str, Any], path: str = "") -> Iterator[tuple[str, object]]:
    """Every leaf of a tree, as something to be compared bit for bit."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from flat(value, f"{path}{key}/")
        elif isinstance(value, np.ndarray):
            yield path + key, (value.dtype, value.shape, value.tobytes())
        else:
            yield path + key, json.dumps(value)


def final(folder: Path) -> dict[str, object]:
    """All that the last checkpoint of a run knows, except what was measured in time."""
    tree = checkpoint.read(newest(folder))
    for episode in tree["state"]["learner"]["episodes"]:
        del episode["t"]
    del tree["seconds"], tree["state"]["budget"]["seconds"], tree["state"]["coach"]["before"][1]
    del tree["state"]["examiner"]["seconds"]
    return dict(flat(tree))


def points(folder: Path) -> list[dict[str, str]]:
    """The evaluations on the way, if there are any, without when they were."""
    if not (folder / "evaluations.csv").exists():
        return []
    with (folder / "evaluations.csv").open() as file:
        return [{key: cell for key, cell in row.items() if key != "minutes"} for row in csv.DictReader(file)]


def same(folder: Path, other: Path) -> None:
    """Two runs have come to the same, bit for bit."""
    assert weights(folder) == weights(other)
    assert rows(folder) == rows(other)
    assert final(folder) == final(other)
    assert points(folder) == points(other)
    if points(other):
        assert (folder / "best.safetensors").read_bytes() == (other / "best.safetensors").read_bytes()
        assert policy.read(folder / "best").training["decisions"] == policy.read(other / "best").training["decisions"]


def everything(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in contents(folder)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Uninterrupted runs, by the names of their configurations."""
    made: dict[str, Path] = {}

    def get(name: str) -> Path:
        if name not in made:
            made[name] = tmp_path_factory.mktemp("whole") / "run"
            run(settings(*CONFIGS[name]), made[name])
        return made[name]

    return get


# --- As if nothing had happened ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONFIGS)
def test_stopped_and_gone_on(tmp_path: Path, whole: Any, name: str) -> None:
    config, folder = settings(*CONFIGS[name]), tmp_path / "run"
    stopped(config, folder, STOPS[0])
    for steps in STOPS[1:]:
        stopped(config, folder, steps, folder)
        np.random.seed(steps)  # noqa: NPY002 - nothing of this process may matter
        torch.manual_seed(steps)
    done, said = go_on(folder)
    if SELF not in config.opponents:  # there not everybody always decides
        assert "Going on with smoke after 640 decisions" in said
    assert not done.interrupted
    same(folder, whole(name))
    if POOL in config.opponents:
        copies = checkpoint.read(newest(folder))["state"]["league"]["copies"]
        assert len(copies) == 3


def test_a_second_signal_in_an_update(tmp_path: Path, whole: Any) -> None:
    """A row of figures is there already that the run, going back to before its rollout, writes again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NetworkPolicy, "evaluate_actions", after(7, stop_now, NetworkPolicy.evaluate_actions))
        assert run(settings(), tmp_path / "run")[0].interrupted
    assert len(rows(tmp_path / "run")) == 4
    go_on(tmp_path / "run")
    same(tmp_path / "run", whole("two opponents"))


def stop_now() -> None:
    raise KeyboardInterrupt


def test_stopped_before_the_first_checkpoint(tmp_path: Path, whole: Any) -> None:
    """As a run that is killed in its first minutes: it begins again."""
    folder = tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Coach, "_on_step", after(30, stop_hard, Coach._on_step))
        with pytest.raises(ZeroDivisionError):
            run(settings("output.checkpoint_minutes=100"), folder)
    assert len(rows(folder)) == 3
    assert not checkpoint.found(folder / "checkpoints")
    assert "Beginning smoke again" in go_on(folder, "output.checkpoint_minutes=1e-9")[1]
    same(folder, whole("two opponents"))


def stop_hard() -> None:
    raise ZeroDivisionError


def test_killed_before_its_evaluation(tmp_path: Path, whole: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr("training.train._evaluate", after(1, stop_hard, lambda *_: []))
        with pytest.raises(ZeroDivisionError):
            run(settings(), folder)
    assert not (folder / "evaluation.json").exists()
    done, _ = go_on(folder)
    assert len(done.results) == 2
    same(folder, whole("two opponents"))


@pytest.mark.parametrize(
    ("name", "kills"),
    [
        ("two opponents", 2),
        pytest.param("self-play, a pool and variants", 25, marks=pytest.mark.slow),
        pytest.param("evaluations on the way", 10, marks=pytest.mark.slow),
    ],
)
def test_killed_at_random_moments(tmp_path: Path, name: str, kills: int) -> None:
    """Without a word of warning, wherever it is: starting, playing, learning, writing."""
    dice = random.Random(kills)
    overrides = [*CONFIGS[name], f"training.frames={8000 + 4000 * kills}"]
    run(settings(*overrides), tmp_path / "whole")
    folder = tmp_path / "run"
    options = [part for override in [*TINY, *LENGTH, *overrides] for part in ("--set", override)]
    command = ["train", str(SMOKE), "--out", str(folder), *options]
    killed = 0
    for number in range(kills):
        there = len(rows(folder)) if (folder / "metrics.csv").exists() else 0
        killed += life(command, folder, there + dice.randint(1, 8) if number % 4 != 3 else 0, dice)
        if (folder / "config.yaml").exists():
            command = ["train", "--resume", str(folder)]
    assert killed > kills // 2
    command = ["train", "--resume", str(folder)]
    done = subprocess.run([sys.executable, "-m", "training", *command], cwd=SMOKE.parents[1], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    same(folder, tmp_path / "whole")
    assert not [path for path in contents(folder) if path.endswith(TEMP_SUFFIX)]


def life(command: list[str], folder: Path, wanted: int, dice: random.Random) -> bool:
    """One process that trains, and is killed once so many rows of figures are there; with 0 at any time. Whether it was still going on."""
    process = subprocess.Popen(
        [sys.executable, "-m", "training", *command], cwd=SMOKE.parents[1], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + (60.0 if wanted else dice.uniform(0.5, 8.0))
        table = folder / "metrics.csv"
        while process.poll() is None and time.monotonic() < deadline:
            if wanted and table.exists() and table.read_bytes().count(b"\n") > wanted:
                time.sleep(dice.uniform(0.0, 0.05))
                break
            time.sleep(0.002)
    finally:
        process.kill()
    return process.wait(timeout=60) == -signal.SIGKILL


# --- Evaluations on the way ----------------------------------------------------------------------------------------------


def test_evaluations_leave_the_training_alone(whole: Any) -> None:
    evaluated = whole("evaluations on the way")
    assert weights(evaluated) == weights(whole("two opponents"))
    assert rows(evaluated) == rows(whole("two opponents"))
    assert [int(row["decisions"]) for row in points(evaluated)[::2]] == [256, 512, 640, 896, 1024]
    assert [row["agent"] for row in points(evaluated)[:2]] == ["random", "greedy"]


def test_evaluations_after_the_last_checkpoint_are_made_again(tmp_path: Path, whole: Any) -> None:
    """Killed after a point, and a best policy, of which no checkpoint knows; half a row is left."""
    folder = tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        real = Saver.checkpoint
        patch.setattr(Saver, "checkpoint", lambda saver: real(saver) if saver.model.num_timesteps <= 256 else None)
        patch.setattr(Coach, "_on_step", after(55, stop_hard, Coach._on_step))
        with pytest.raises(ZeroDivisionError):
            run(settings(*EVALUATED), folder)
    assert checkpoint.decisions_of(newest(folder)) == 256
    assert [int(row["decisions"]) for row in points(folder)[::2]] == [256, 512, 640]
    with (folder / "evaluations.csv").open("a") as file:
        file.write("768,0.")
    shutil.copytree(folder, tmp_path / "copy")
    stopped(settings(*EVALUATED), folder, 3, folder)
    assert [int(row["decisions"]) for row in points(folder)[::2]] == [256]
    assert policy.read(folder / "best").training["decisions"] == 256
    go_on(folder)
    same(folder, whole("evaluations on the way"))
    run(configuration.load(folder / "config.yaml"), tmp_path / "fork", tmp_path / "copy")
    same(tmp_path / "fork", whole("evaluations on the way"))


def test_an_evaluated_run_is_extended(tmp_path: Path) -> None:
    """What it ended with before is evaluated, and forgotten."""
    run(settings(*EVALUATED, *CONSTANT), tmp_path / "whole")
    folder = tmp_path / "run"
    run(settings(*EVALUATED, *CONSTANT, "training.frames=384"), folder)
    assert [int(row["decisions"]) for row in points(folder)[::2]] == [256, 384]
    go_on(folder, "training.frames=1024")
    same(folder, tmp_path / "whole")


def test_an_early_stop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At the same point, however often it was stopped before; then it is finished until it is asked for more."""
    config = settings(*EVALUATED, "evaluation.early_stop=1", "training.learning_rate=1e-30", "training.frames=1e6")
    done, said = run(config, tmp_path / "whole")
    assert "No better for 1 evaluations: the training ends early" in said
    assert not done.interrupted
    assert len(done.results) == 2
    assert [int(row["decisions"]) for row in points(tmp_path / "whole")[::2]] == [256, 512], "weights that stay are no better"
    assert policy.read(tmp_path / "whole" / "best").training["decisions"] == 256
    folder = tmp_path / "run"
    for number, steps in enumerate(STOPS[:2]):
        stopped(config, folder, steps, folder if number else None)
    go_on(folder)
    same(folder, tmp_path / "whole")
    assert main(["train", "--resume", str(folder)]) == 2
    assert "is finished, since its evaluations became no better; to train on: " in capsys.readouterr().err
    stopped(configuration.load(folder / "config.yaml", ["evaluation.early_stop=null"]), folder, 20, folder)
    assert len(points(folder)) > 4


def test_a_table_of_evaluations_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    stopped(settings(*EVALUATED), folder, 30)
    (folder / "evaluations.csv").write_bytes(b"\xff\x00 something else")
    assert main(["train", "--resume", str(folder)]) == 2
    assert "evaluations.csv: is not the table of evaluations of a training run; move it away to go on" in capsys.readouterr().err
    (folder / "evaluations.csv").unlink()
    go_on(folder)
    assert [int(row["decisions"]) for row in points(folder)[::2]] == [512, 640, 896, 1024]


# --- Damage --------------------------------------------------------------------------------------------------------------

DAMAGE = {
    "cut": lambda content: content[: len(content) // 2],
    "cut in the first line": lambda content: content[:40],
    "a flipped bit": lambda content: content[:-1000] + bytes([content[-1000] ^ 4]) + content[-999:],
    "empty": lambda content: b"",
    "zeros": lambda content: bytes(len(content)),
    "without metadata": lambda content: sealed(b"\x02\x00\x00\x00\x00\x00\x00\x00{}"),
    "another version": lambda content: content.replace(b'"version": 1', b'"version": 2', 1),
    "more": lambda content: content + b"\n",
}


def sealed(body: bytes) -> bytes:
    """`body` with a first line that fits it."""
    line = checkpoint.pack({}).partition(b"\n")[0]
    about = json.loads(line)
    return json.dumps({**about, "bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}).encode() + b"\n" + body


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_checkpoint(tmp_path: Path, whole: Any, kind: str) -> None:
    folder = tmp_path / "run"
    stopped(settings(), folder, 30)
    path = newest(folder)
    path.write_bytes(DAMAGE[kind](path.read_bytes()))
    _, said = go_on(folder)
    assert f"{path}: " in said
    assert "; the checkpoint before it is taken" in said
    assert "after 256 decisions" in said
    same(folder, whole("two opponents"))


def test_no_checkpoint_is_intact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    stopped(settings(), folder, 30)
    for path in checkpoint.found(folder / "checkpoints"):
        path.write_bytes(b"")
    before = everything(folder)
    assert main(["train", "--resume", str(folder)]) == 2
    said = capsys.readouterr().err
    assert said.count(": damaged, or no checkpoint") == 2
    assert f"{folder / 'checkpoints'}: no checkpoint is intact: train again" in said
    assert everything(folder) == before


@pytest.mark.skipif(sys.platform == "win32", reason="has no such pipes")
def test_checkpoints_that_cannot_be_files(tmp_path: Path) -> None:
    """A folder and a pipe, which is not waited for."""
    folder = tmp_path / "run"
    stopped(settings(), folder, 30)
    (folder / "checkpoints" / "state_000000009998.checkpoint").mkdir()
    os.mkfifo(folder / "checkpoints" / "state_000000009999.checkpoint")
    (folder / "checkpoints" / "state_x.checkpoint").write_text("of somebody else")
    said = stopped(settings(), folder, 3, folder)
    assert said.count("is no plain file; the checkpoint before it is taken") == 2
    assert "Going on with smoke after 384 decisions" in said


def test_a_relic_of_a_future_is_not_kept(tmp_path: Path) -> None:
    """Or damaged checkpoints would push the new ones out."""
    folder = tmp_path / "run"
    stopped(settings("output.keep_checkpoints=4"), folder, 60)
    late, *others = checkpoint.found(folder / "checkpoints")
    for path in [late, *others[:2]]:
        path.write_bytes(b"")
    stopped(settings("output.keep_checkpoints=4"), folder, 1, folder)
    left = checkpoint.found(folder / "checkpoints")
    assert [checkpoint.decisions_of(path) for path in left] == [512]
    checkpoint.read(left[0])


def test_full_disk(tmp_path: Path, whole: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    real = files._write_through
    states = 0

    def write(path: Path, content: bytes) -> None:
        nonlocal states
        states += ".state_" in path.name
        if ".state_" in path.name and states > 3:
            path.write_bytes(content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(files, "_write_through", write)
        _, said = run(settings(), folder)
    assert "No checkpoint could be saved, the training goes on: " in said
    assert weights(folder) == weights(whole("two opponents"))
    assert checkpoint.decisions_of(newest(folder)) == 256
    go_on(folder)
    same(folder, whole("two opponents"))


def test_full_disk_at_the_figures(tmp_path: Path, whole: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends; half a row is left."""
    folder = tmp_path / "run"

    def half(self: metrics.Metrics, row: list[str]) -> None:
        self._file.write(",".join(row)[:20])
        self._file.flush()
        raise OSError(errno.ENOSPC, "No space left on device", str(folder / "metrics.csv"))

    with monkeypatch.context() as patch:
        patch.setattr(Coach, "_on_rollout_end", after(4, lambda: patch.setattr(metrics.Metrics, "_write", half), Coach._on_rollout_end))
        with pytest.raises(OSError, match="No space left on device"):
            run(settings(), folder)
    assert (folder / "policy.json").exists()
    go_on(folder)
    same(folder, whole("two opponents"))


def test_figures_that_are_gone(tmp_path: Path, whole: Any) -> None:
    folder = tmp_path / "run"
    stopped(settings(), folder, 30)
    table = folder / "metrics.csv"
    table.write_text("\n".join(table.read_text().splitlines()[:3]) + "\n4,5")
    assert f"{table}: has 2 of 3 rows; the others are lost, and the training goes on" in stopped(settings(), folder, 1, folder)
    table.unlink()
    _, said = go_on(folder)
    assert f"{table}: has 0 of 3 rows" in said
    assert rows(folder) == rows(whole("two opponents"))[3:]
    assert weights(folder) == weights(whole("two opponents"))


def test_tensorboard_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    config = settings("output.tensorboard=true")
    stopped(config, folder, 20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NetworkPolicy, "evaluate_actions", after(3, stop_now, NetworkPolicy.evaluate_actions))
        run(config, folder, folder)
    go_on(folder)
    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    assert [event.step for event in events.Scalars("train/entropy_coefficient")] == list(range(128, 1025, 128))


# --- Strangers' files ----------------------------------------------------------------------------------------------------


class Bomb:
    """Unpickled, it leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


def bombs(mark: Path) -> dict[str, bytes]:
    zipped = io.BytesIO()
    torch.save({"state": Bomb(mark)}, zipped)
    array = io.BytesIO()
    np.save(array, np.array([Bomb(mark)], dtype=object), allow_pickle=True)
    plain = pickle.dumps(Bomb(mark))
    return {"pickle": plain, "torch.save": zipped.getvalue(), "numpy.save": array.getvalue(), "sealed": sealed(plain)}


@pytest.mark.parametrize("kind", ["pickle", "torch.save", "numpy.save", "sealed"])
def test_no_pickle_is_ever_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    """In the place of each file of the folder, and of all of them."""
    folder, mark = tmp_path / "run", tmp_path / "mark"
    pickle.loads(bombs(mark)["pickle"])
    assert mark.exists(), "it would have been seen"
    mark.unlink()
    content = bombs(mark)[kind]
    stopped(settings("output.tensorboard=true"), folder, 30)
    before = everything(folder)
    stages = [[name] for name in sorted(before)] + [[name for name in before if "config" not in name], list(before)]
    for planted in stages:
        for name, right in before.items():
            (folder / name).write_bytes(content if name in planted else right)
        status = main(
            ["train", "--resume", str(folder), "--set", "training.frames=768", "--out", str(tmp_path / f"to-{len(planted)}-{planted[0]}")]
        )
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        fatal = {"config.yaml", "metrics.csv"} & set(planted) or len(planted) > 5
        assert status == (2 if fatal else 0), said.err
        if fatal:
            assert str(folder) in said.err
        for path in (folder, *checkpoint.found(folder / "checkpoints")):
            with_policy = path if path.is_dir() else path.with_name(path.name.replace("state", "policy")).with_suffix("")
            try:
                policy.read(with_policy)
            except PolicyError:
                assert planted
        assert not mark.exists(), planted


def mutants(content: bytes, count: int, seed: int) -> Iterator[bytes]:
    """What may become of a file: bits flipped, parts cut out, put in, overwritten, exchanged."""
    dice = random.Random(seed)
    for _ in range(count):
        found = bytearray(content)
        for _ in range(dice.choice([1, 1, 1, 2, 8])):
            # Beginnings are where the structure is.
            at = dice.randrange(dice.choice([len(found), min(300, len(found))]) or 1) if found else 0
            length = dice.choice([1, 2, 8, 100, 10_000])
            kind = dice.randrange(6)
            if kind == 0 and found:
                found[at] ^= 1 << dice.randrange(8)
            elif kind == 1:
                del found[at : at + length]
            elif kind == 2:
                found[at:at] = dice.randbytes(length)
            elif kind == 3:
                found[at : at + length] = dice.choice([b"\0", b"\xff", b"[", b'"', b"9"]) * length
            elif kind == 4:
                del found[at:]
            else:
                found[at : at + length] = found[-length:]
        if bytes(found) != content:
            yield bytes(found)


MANY = [300, pytest.param(10_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", MANY)
def test_mutated_checkpoints(tmp_path: Path, whole: Any, count: int) -> None:
    content = newest(whole("self-play, a pool and variants")).read_bytes()
    path = tmp_path / "state_000000000001.checkpoint"
    for mutant in mutants(content, count, 1):
        path.write_bytes(mutant)
        with pytest.raises(CheckpointError, match=r"checkpoint: ") as caught:
            checkpoint.read(path)
        assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("count", MANY)
def test_mutated_bodies_with_the_right_checksum(whole: Any, count: int) -> None:
    """What a stranger could have made."""
    body = newest(whole("two opponents")).read_bytes().partition(b"\n")[2]
    head = 8 + int.from_bytes(body[:8], "little")
    for mutant in mutants(body[:head], count, 2):
        with contextlib.suppress(CheckpointError):
            assert isinstance(checkpoint.unpack(sealed(mutant + body[head:])), dict)


@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize("suffix", [".json", ".safetensors"])
def test_mutated_policies(tmp_path: Path, count: int, suffix: str) -> None:
    """Of a network so small that the file is read ten thousand times in no time."""
    policy.save(tmp_path, network(), GAME, Rules(), {"name": "x"})
    path = tmp_path / f"policy{suffix}"
    right = weights(tmp_path)
    for mutant in mutants(path.read_bytes(), count // 2, 3):
        path.write_bytes(mutant)
        with contextlib.suppress(PolicyError):
            found = policy.read(tmp_path)
            assert suffix == ".json"  # spaces, or words that nothing depends on
            assert weights(tmp_path) == right
            assert found.game.name == "sixnimmt"


JUNK: list[Any] = [None, -1, 10**30, 0.5, float("nan"), "x", True, [], {}, [1, 2], {"a": 1}, np.zeros(3), np.zeros((2, 2), np.int64), b""]


def put_back(saver: Saver, path: Path, tree: dict[str, Any]) -> None:
    """Go on from `tree`, as if `path` held it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "read", lambda _: tree)
        saver.restore(path)


def assembled(config: Config, folder: Path) -> Saver:
    players = _players(config)
    display = Display(Console(file=io.StringIO()))
    return _assemble(config, folder, players, (_try_out(config, players[0]), None), Interrupt(), display, lambda line: None)[0]


@pytest.mark.parametrize("count", [150, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["two opponents", "self-play, a pool and variants", "attention, and open hands in training"])
def test_states_that_do_not_fit(whole: Any, name: str, count: int) -> None:
    """A checkpoint in which one thing is another: refused, or it makes no difference to what kind of thing everything is."""
    config = settings(*CONFIGS[name])
    saver = assembled(config, whole(name))
    path = newest(whole(name))
    dice = random.Random(4)
    refused = 0
    for _ in range(count):
        tree = checkpoint.read(path)
        node, key = tree, "state"
        while isinstance(node[key], dict) and node[key] and dice.random() < 0.9:
            node = node[key]
            key = dice.choice(sorted(node))
        if dice.random() < 0.2:
            del node[key]
        elif isinstance(node[key], np.ndarray) and node[key].dtype.kind == "i" and dice.random() < 0.5:
            node[key] = node[key] + 1_000_000
        else:
            node[key] = dice.choice(JUNK)
        refused += 1
        with contextlib.suppress(CheckpointError):
            put_back(saver, path, tree)
            refused -= 1
    assert refused > count // 2


def test_what_is_indexed_with_is_checked(whole: Any) -> None:
    """Compiled code believes it."""
    name = "self-play, a pool and variants"
    config = settings(*CONFIGS[name])
    saver = assembled(config, whole(name))
    path = newest(whole(name))
    for key in ("outside", "chairs", "main", "actions", "slot_at"):
        for bad in (-2, 1000):
            tree = checkpoint.read(path)
            tree["state"]["learner"]["games"]["games"][key].flat[5] = bad
            with pytest.raises(CheckpointError, match=f"'{key}' holds numbers that there cannot be"):
                put_back(saver, path, tree)
    saver.restore(path)
    assert isinstance(saver.parts["league"], League)


UNFIT: dict[str, tuple[tuple[str, ...], object, str]] = {
    "a critic of another size": (
        ("critic", "network", "places.weight"),
        np.zeros((8, 7), np.float32),
        r"'places\.weight' is float32\[8, 7\]",
    ),
    "a critic's weights of another type": (("critic", "network", "value_out.bias"), np.zeros(1), r"'value_out\.bias' is float64\[1\]"),
    "a critic's weights that are none": (("critic", "network", "value_out.bias"), "x", r"'value_out\.bias' is str"),
    "a critic's memory of another": (("critic", "optimizer"), {"x": {}}, "the optimiser's are other parameters than the network's"),
    "no critic": (("critic",), None, "'critic' is missing"),
    "no prediction": (("hidden_cards",), None, "'hidden_cards' is missing"),
    "a prediction of other cards": (("hidden_cards", "guess.bias"), np.zeros(66, np.float32), r"'guess\.bias' is float32\[66\]"),
    "a scorer": (("network", "table.bias"), np.zeros(8, np.float32), r"'table\.bias' is no weight of the network"),
}


@pytest.mark.parametrize(("where", "value", "words"), UNFIT.values(), ids=UNFIT.keys())
def test_what_learns_from_open_hands_must_fit(whole: Any, where: tuple[str, ...], value: object, words: str) -> None:
    name = "attention, and open hands in training"
    saver, path = assembled(settings(*CONFIGS[name]), whole(name)), newest(whole(name))
    tree = checkpoint.read(path)
    node = tree["state"]["learner"]
    for key in where[:-1]:
        node = node[key]
    if value is None:
        del node[where[-1]]
    else:
        node[where[-1]] = value
    with pytest.raises(CheckpointError, match=words):
        put_back(saver, path, tree)
    saver.restore(path)


# --- Extending, forking, refusing ----------------------------------------------------------------------------------------

CONSTANT = ["training.learning_rate=1e-3", "training.entropy=0.01"]
"""Schedules that do not depend on how long the training is."""


def test_a_run_is_extended(tmp_path: Path) -> None:
    run(settings(*CONSTANT), tmp_path / "whole")
    folder = tmp_path / "run"
    run(settings(*CONSTANT, "training.frames=512"), folder)
    short = everything(folder)
    with pytest.raises(ConfigError) as caught:
        go_on(folder)
    more = f"sixnimmt train --resume {folder} --set training.frames=1024"
    assert str(caught.value) == f"{folder}: is finished, with 512 of 512 decisions; to train on, set more: {more}"
    assert everything(folder) == short
    done, _ = go_on(folder, "training.frames=1024")
    assert len(done.results) == 2
    same(folder, tmp_path / "whole")
    assert configuration.load(folder / "config.yaml").training.frames == 1024


def test_what_is_said_of_the_old_policy_goes(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run(settings("training.frames=256"), folder)
    stopped(settings(), folder, 3, folder)
    assert not (folder / "evaluation.json").exists()


def test_the_clock_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run(settings("training.frames=1e9", "training.max_minutes=0.005"), folder)
    first = metrics.read(folder / "metrics.csv")["time/minutes"]
    with pytest.raises(ConfigError, match=r"is finished, after 0\.005 minutes; to train on, set more: .* training\.max_minutes=0\.01$"):
        go_on(folder)
    go_on(folder, "training.max_minutes=0.01")
    minutes = metrics.read(folder / "metrics.csv")["time/minutes"]
    assert minutes == sorted(minutes)
    assert minutes[: len(first)] == first
    assert minutes[-1] > 0.005


def test_a_run_is_forked(tmp_path: Path, whole: Any) -> None:
    folder = tmp_path / "run"
    stopped(settings(), folder, 30)
    before = everything(folder)
    _, said = run(configuration.load(folder / "config.yaml"), tmp_path / "fork", folder)
    assert f"everything goes to {tmp_path / 'fork'}" in said
    assert everything(folder) == before
    same(tmp_path / "fork", whole("two opponents"))
    with pytest.raises(ConfigError, match=r"fork: is in use; name another folder with --out"):
        run(settings(), tmp_path / "fork", folder)
    run(configuration.load(tmp_path / "fork" / "config.yaml"), tmp_path / "again")
    same(tmp_path / "again", whole("two opponents"))


REFUSED = {
    "training.games=8": "training.games: cannot change while a run lasts: it was 16; leave it so, or train anew",
    "seed=1": "seed: cannot change while a run lasts: it was 0",
    "training.critic=privileged": 'training.critic: cannot change while a run lasts: it was "own"',
    "training.auxiliary=1": "training.auxiliary: cannot change while a run lasts: it was 0.0",
    "network.kind=attention": 'network.kind: cannot change while a run lasts: it was "scorer"',
    "network.hidden=16": "network.hidden: cannot change while a run lasts: it was 8",
    "rules.professional=true": "rules.professional: cannot change while a run lasts: it was false",
    "opponents.greedy=2": "opponents: cannot change while a run lasts: it was ",
    "pool.size=3": "pool.size: cannot change",
    "draw=table": "draw: cannot change",
    "training.reward=win": 'training.reward: cannot change while a run lasts: it was "own"',
    "variants={two: {num_players: 2}}": "variants: cannot change",
}


def test_what_cannot_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    stopped(settings(), folder, 30)
    before = everything(folder)
    for override, words in REFUSED.items():
        assert main(["train", "--resume", str(folder), "--set", override]) == 2
        said = capsys.readouterr().err
        assert words.partition(": ")[2] in said, said
        assert words.partition(": ")[0] in said
    options = [part for override in REFUSED for part in ("--set", override)]
    assert main(["train", "--resume", str(folder), *options]) == 2
    assert capsys.readouterr().err.count("cannot change while a run lasts") == len(REFUSED)
    assert everything(folder) == before


def test_other_surroundings_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    stopped(settings(), folder, 30)
    tree = checkpoint.read(newest(folder))
    tree["made_with"]["torch"] = "0.1"
    checkpoint.write(newest(folder), tree)
    _, said = go_on(folder, "training.threads=2")
    assert f"{newest(folder).with_name('state_000000000384.checkpoint')} was made with torch 0.1, now " in said
    assert "; threads 1, now 2: the training goes on, but it may not come to the same, bit by bit" in said
    torch.set_num_threads(1)


def test_a_run_from_before_there_were_such_keys(tmp_path: Path, whole: Any) -> None:
    """It had what is now their default."""
    folder = tmp_path / "run"
    stopped(settings(), folder, 30)
    tree = checkpoint.read(newest(folder))
    for section, keys in {"network": ("kind", "heads"), "training": ("critic", "auxiliary")}.items():
        for key in keys:
            del tree["fixed"][section][key]
    checkpoint.write(newest(folder), tree)
    with pytest.raises(ConfigError, match=r'training\.critic.*: cannot change while a run lasts: it was "own"'):
        go_on(folder, "training.critic=privileged")
    go_on(folder)
    assert weights(folder) == weights(whole("two opponents"))


def test_a_configuration_edited_in_between(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    stopped(settings(), folder, 30)
    path = folder / "config.yaml"
    text = path.read_text()
    path.write_text(text.replace("hidden: 8", "hidden: 9"))
    line = next(number for number, words in enumerate(text.splitlines(), 1) if "hidden: 8" in words)
    with pytest.raises(ConfigError, match=rf"config\.yaml:{line}: network\.hidden: cannot change while a run lasts: it was 8"):
        go_on(folder)
    edited = "# mine\n" + text.replace("frames: 1024", "frames: 768").replace("clip_range: 0.2", "clip_range: 0.1")
    assert edited != "# mine\n" + text
    path.write_text(edited)
    done, _ = go_on(folder)
    assert done.frames == 768
    assert path.read_text() == edited, "left as it was written"
    assert metrics.read(folder / "metrics.csv")["train/clip_range"][-1] == 0.1


@pytest.mark.skipif(sys.platform == "win32", reason="files are not locked there")
def test_two_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    stopped(settings(), folder, 30)
    before = everything(folder)
    held = metrics.Metrics(folder / "metrics.csv", ["greedy", "random"], 100)
    try:
        with pytest.raises(ConfigError, match=r"run: another process is training into this folder; stop that one first"):
            go_on(folder)
    finally:
        held.close()
    assert everything(folder) == before


def test_asked_wrongly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    old = tmp_path / "old"  # of a version that kept no checkpoints to go on from
    run(settings(), old)
    for path in checkpoint.found(old / "checkpoints"):
        path.unlink()
    for arguments, words in {
        "": "name a CONFIG.yaml to train, or with --resume the folder of a run to go on with",
        f"--resume {tmp_path}/nowhere": "nowhere: is no run folder: it holds no config.yaml",
        f"--resume {tmp_path}/empty": "empty: is no run folder: it holds no config.yaml",
        f"{SMOKE} --resume {tmp_path}/empty": "empty: holds no checkpoint to go on from",
        f"--resume {old}": "old: holds no checkpoint to go on from; train anew from ",
    }.items():
        assert main(["train", *arguments.split()]) == 2
        assert words in capsys.readouterr().err
