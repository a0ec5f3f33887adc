"""Whole training runs, small: what they leave behind, that they learn, repeat, stop in good order, and fail in good order."""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

from sixnimmt_env import agents
from sixnimmt_env.arena import against_field
from sixnimmt_env.core import files
from sixnimmt_env.core.files import TEMP_SUFFIX
from sixnimmt_env.core.seeding import MAX_SEED
from sixnimmt_env.games.sixnimmt import GAME, Rules
from training import config as configuration
from training import metrics, policy
from training.budget import Budget
from training.callbacks import Coach, Display, DivergedError
from training.cli import main
from training.config import Config, ConfigError
from training.network import Scorer
from training.plugin import variant_note
from training.train import Run, _players, free_folder, train

SMOKE = Path(__file__).parents[2] / "configs" / "smoke.yaml"
TINY = [
    "training.frames=256",
    "training.max_minutes=null",
    "training.games=16",
    "training.steps=8",
    "training.minibatch=64",
    "network.hidden=8",
    "evaluation.rounds=8",
    "output.tensorboard=false",
]


def tiny(*overrides: str) -> Config:
    """Two updates of a small network in a few games."""
    return configuration.load(SMOKE, [*TINY, *overrides])


def run(config: Config, folder: Path) -> tuple[Run, str]:
    """Train; returns what came of it and what was said."""
    said = io.StringIO()
    return train(config, folder, Console(file=said, width=80)), said.getvalue()


def weights(folder: Path) -> bytes:
    return (folder / "policy.safetensors").read_bytes()


def contents(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


RUN_FILES = {"config.yaml", "metrics.csv", "policy.safetensors", "policy.json", "evaluation.json", "learning_curve.png"}


def states(*frames: int) -> set[str]:
    """The checkpoints after so many decisions."""
    return {f"checkpoints/state_{count:012d}.checkpoint" for count in frames}


def test_what_a_run_leaves_behind(tmp_path: Path) -> None:
    config = tiny("output.tensorboard=true", "output.checkpoint_minutes=1e-9", "output.keep_checkpoints=2", "training.frames=640")
    done, said = run(config, tmp_path)
    assert (done.folder, done.frames, done.interrupted) == (tmp_path, 640, False)
    found = contents(tmp_path)
    checkpoints = {f"checkpoints/policy_{frames:012d}.{kind}" for frames in (384, 512) for kind in ("json", "safetensors")}
    events = {name for name in found if name.startswith("tensorboard/events.out.tfevents.")}
    assert found == RUN_FILES | checkpoints | states(512, 640) | events
    assert len(events) == 1
    assert (tmp_path / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    assert policy.read(tmp_path).training == {
        "name": "smoke",
        "seed": 0,
        "decisions": 640,
        "seconds": policy.read(tmp_path).training["seconds"],
        "finished": True,
        "opponents": {"greedy": 1.0, "random": 1.0},
        "reward": "own",
        "reward_scale": 10.0,
        "made_with": policy.read(tmp_path).training["made_with"],
    }
    assert policy.read(tmp_path / "checkpoints" / "policy_000000000512").training["finished"] is False
    evaluation = json.loads((tmp_path / "evaluation.json").read_text())
    assert [result["against"] for result in evaluation["results"]] == ["random", "greedy"]
    assert "Training smoke against greedy x1, random x1" in said
    assert f"policy saved as {tmp_path / 'policy.safetensors'}" in said
    assert all(len(line.rstrip()) <= 80 or str(tmp_path) in line for line in said.splitlines()), said


def test_saved_configuration_runs_again_to_the_same_policy(tmp_path: Path) -> None:
    config = tiny("seed=5000000000", "training.epochs=2")  # a seed beyond what NumPy's old generator takes
    run(config, tmp_path / "a")
    again = configuration.load(tmp_path / "a" / "config.yaml")
    assert again == config
    assert set(configuration.dump(again).splitlines()) >= {"# The game: sixnimmt.", "  frames: 256"}
    run(again, tmp_path / "b")
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    results = [json.loads((tmp_path / name / "evaluation.json").read_text())["results"] for name in "ab"]
    for pair in zip(*results, strict=True):
        one, other = ({key: value for key, value in result.items() if key != "seconds_per_decision"} for result in pair)
        assert one == other
    run(tiny("seed=5000000001"), tmp_path / "c")
    assert weights(tmp_path / "a") != weights(tmp_path / "c")


def test_every_agent_has_dice_of_its_own() -> None:
    largest = _players(tiny(f"seed={MAX_SEED}", f"evaluation.seed={MAX_SEED}"))
    assert {agent.seed for agent in largest[0].values()} == {0, 1}
    seeds = [[agent.seed for agent in _players(tiny(f"seed={seed}"))[0].values()] for seed in (5, 6)]
    assert len(set(seeds[0])) == 2
    assert seeds[0] != seeds[1]


@pytest.mark.parametrize("kind", ["scorer", "attention"])
def test_it_begins_with_a_policy(tmp_path: Path, kind: str) -> None:
    run(tiny(f"network.kind={kind}"), tmp_path / "first")
    spec = f"network.pretrained={tmp_path / 'first'}"
    still = [f"network.kind={kind}", "training.learning_rate=1e-9", "training.entropy=0"]
    run(tiny(spec, *still, "rules.deck=tactical", "seed=1"), tmp_path / "second")
    run(tiny(*still, "rules.deck=tactical", "seed=1"), tmp_path / "other")
    one, two, other = (policy.read(tmp_path / name).network.state_dict() for name in ("first", "second", "other"))
    assert all(torch.allclose(tensor, two[name], atol=1e-6) for name, tensor in one.items())
    assert not all(torch.allclose(tensor, other[name], atol=1e-2) for name, tensor in one.items())


def test_the_cards_are_known_to_a_policy_that_is_to_draft_as_well(tmp_path: Path) -> None:
    run(tiny(), tmp_path / "plain")
    run(tiny(f"network.pretrained={tmp_path / 'plain'}", "training.learning_rate=1e-9", "rules.deck=logic"), tmp_path / "drafts")
    run(tiny(f"network.pretrained={tmp_path / 'drafts'}", "training.learning_rate=1e-9", "seed=4"), tmp_path / "again")
    plain, drafts, again = (policy.read(tmp_path / name).network.state_dict() for name in ("plain", "drafts", "again"))
    assert drafts.keys() > plain.keys()
    for name, tensor in plain.items():
        assert torch.allclose(tensor, drafts[name][: len(tensor)], atol=1e-6), name
        assert torch.allclose(tensor, again[name], atol=1e-6), name


def test_a_run_that_goes_on_does_not_need_what_it_began_with(tmp_path: Path) -> None:
    run(tiny(), tmp_path / "first")
    config = tiny(f"network.pretrained={tmp_path / 'first'}", "seed=1")
    run(config, tmp_path / "second")
    shutil.rmtree(tmp_path / "first")
    assert main(["train", "--resume", str(tmp_path / "second"), "--set", "training.frames=512"]) == 0
    assert policy.read(tmp_path / "second").training["decisions"] >= 512
    with pytest.raises(ConfigError, match=r"network.pretrained=.*there is no run folder or policy file of that path"):
        run(config, tmp_path / "third")
    assert not (tmp_path / "third").exists()


def test_what_cannot_be_begun_with_is_refused(tmp_path: Path) -> None:
    run(tiny(), tmp_path / "first")
    refusals = {
        "monte_carlo": "'monte_carlo' is no learned policy: name one such as",
        "greedy": "'greedy' is no learned policy: name one such as champion or runs/first, or null",
        "nobody": "agent 'nobody' is unknown",
        "'lookahead:of=champion'": "'lookahead:of=champion' is no learned policy",
        str(tmp_path / "first"): "has another network than asked for: write kind: scorer, hidden: 8, layers: 2 beside it, or",
    }
    for spec, message in refusals.items():
        with pytest.raises(ConfigError) as caught:
            run(tiny(f"network={{hidden: 16, pretrained: {spec}}}"), tmp_path / "second")
        assert message in str(caught.value)
    with pytest.raises(ConfigError, match="write kind: scorer, hidden: 8, layers: 2 beside it"):
        run(tiny(f"network={{kind: attention, hidden: 8, pretrained: {tmp_path / 'first'}}}"), tmp_path / "second")
    assert not (tmp_path / "second").exists()


def test_a_variant_without_a_game_is_refused(tmp_path: Path) -> None:
    for place, weights in {"variants.two": "0.01", "rules": "1000"}.items():
        with pytest.raises(ConfigError, match=rf"{place}.*: gets none of the 16 games: give it more weight, or raise training.games"):
            run(tiny(f"variants={{two: {{weight: {weights}, num_players: 2}}}}"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_policy_knows_all_variants_it_was_trained_on(tmp_path: Path) -> None:
    run(tiny("variants={two: {num_players: 2}, front: {weight: 0.5, professional: true}}"), tmp_path)
    known = policy.read(tmp_path)
    assert known.rules == Rules()
    assert known.variants == (Rules(num_players=2), Rules(professional=True))
    agent = policy.load(tmp_path)
    assert [variant_note(agent, rules) == "" for rules in (*known.variants, Rules(num_players=3))] == [True, True, False]
    for spec in ("greedy", "monte_carlo", "search", "rows:by=lowest,of=greedy"):
        assert variant_note(agents.make(spec), Rules()) == ""
    for spec in (f"lookahead:of=policy:{tmp_path}", f"epsilon:rate=0.5,of=policy:{tmp_path}", f"rows:by=policy:{tmp_path},of=greedy"):
        assert [variant_note(agents.make(spec), rules) == "" for rules in (Rules(), Rules(num_players=3))] == [True, False]


VARIANTS: dict[str, list[str]] = {
    "2 players": ["rules.num_players=2"],
    "10 players": ["rules.num_players=10"],
    "logic": ["rules.deck=logic", "rules.num_players=3"],
    "tactical, professional": ["rules.deck=tactical", "rules.professional=true"],
    "match to a target": ["rules={rounds: null, target: 20}", "training.frames=1024", "training.steps=32"],
    "small and odd": ["rules={hand_size: 2, num_rows: 1, row_capacity: 1}", "training.games=3", "training.steps=3", "training.minibatch=3"],
    "one game": ["training.games=1", "training.steps=2", "training.minibatch=1", "training.frames=4"],
    "fewer frames than games": ["training.frames=1"],
    "attention": ["network={kind: attention, hidden: 6, heads: 3}", "rules={deck: logic, num_players: 3, professional: true}"],
    "open hands in training": ["training.critic=privileged", "training.auxiliary=0.5", "rules={deck: logic, num_players: 3}"],
    "other networks": ["network={hidden: 3, layers: 1}", "training.epochs=2", "training.device=cpu", "evaluation.against=[lowest]"],
}


@pytest.mark.parametrize("overrides", VARIANTS.values(), ids=VARIANTS.keys())
def test_variants_train(tmp_path: Path, overrides: list[str]) -> None:
    config = tiny(*overrides)
    start = tmp_path / "start"
    run(
        config.model_copy(
            update={"training": config.training.model_copy(update={"learning_rate": configuration.LearningRate(start=1e-30, end=0)})}
        ),
        start,
    )
    done, _ = run(config, tmp_path / "run")
    assert done.frames >= config.training.frames
    assert done.frames % config.training.batch == 0
    found = policy.read(tmp_path / "run")
    assert found.rules == config.rules
    assert found.network.shape.draft == (config.rules.deck == "logic")
    assert [result.illegal for result in done.results] == [0] * len(config.evaluation.against)
    assert all(0 <= result.mean < 200 for result in done.results)
    assert weights(tmp_path / "run") != weights(start), "nothing was learned"
    if found.network.shape.draft:
        assert not torch.equal(found.network.draft_out.weight, policy.read(start).network.draft_out.weight)


def test_it_learns(tmp_path: Path) -> None:
    """Clearly better than random play and than the network it began with."""
    overrides = ["training.games=1024", "training.steps=12", "training.minibatch=2048", "network.hidden=32", "training.max_minutes=null"]
    overrides += ["opponents={random: 1}", "training.learning_rate={start: 3e-3, end: 3e-4}", "evaluation.rounds=4"]
    run(configuration.load(SMOKE, [*overrides, "training.frames=1", "training.learning_rate=1e-30"]), tmp_path / "start")
    run(configuration.load(SMOKE, [*overrides, "training.frames=240000"]), tmp_path / "end")
    field = agents.make("random", seed=1)
    start, end, luck = (
        against_field(GAME, Rules(), agent, field, 2_000, seed=7)
        for agent in (policy.load(tmp_path / "start"), policy.load(tmp_path / "end"), agents.make("random", seed=2))
    )
    # In bull heads a round: random play has 12, the greedy rule 8.
    assert end.mean < luck.mean - 3.5
    assert end.mean < start.mean - 2.5
    assert end.win_share > 0.35


# --- figures -------------------------------------------------------------------------------------------------------------


def test_metrics(tmp_path: Path) -> None:
    run(tiny("training.steps=24", "training.frames=1500"), tmp_path)
    with (tmp_path / "metrics.csv").open() as file:
        header, *rows = csv.reader(file)
    assert header == metrics.columns(["greedy", "random"])
    assert all(metrics.COLUMNS.values()), "every column is explained"
    assert len(rows) == 4
    for number, row in enumerate(rows):
        cells = dict(zip(header, row, strict=True))
        empty = {name for name, cell in cells.items() if not cell}
        assert empty == (
            {name for name in header if name.startswith("train/") and "entropy_coefficient" not in name} if number == 0 else set()
        )
        assert all(math.isfinite(float(cell)) for cell in row if cell)
    columns = metrics.read(tmp_path / "metrics.csv")
    assert columns["time/iterations"] == [1, 2, 3, 4]
    assert columns["time/total_timesteps"] == [384, 768, 1152, 1536]
    assert all(0 <= share <= 1 for name in ("rollout/win_share", "rollout/forced_share") for share in columns[name])
    assert all(0 < heads < 60 for heads in columns["rollout/heads"])
    assert columns["train/learning_rate"][1:] == sorted(columns["train/learning_rate"][1:], reverse=True)
    assert columns["train/entropy_coefficient"] == sorted(columns["train/entropy_coefficient"], reverse=True)
    assert columns["time/minutes"] == sorted(columns["time/minutes"])


@pytest.mark.parametrize(
    ("options", "there"),
    [
        (["training.critic=privileged"], ["train/critic_loss"]),
        (["training.auxiliary=0.1"], ["train/auxiliary_loss"]),
        (["training.critic=privileged", "training.auxiliary=0.1"], ["train/critic_loss", "train/auxiliary_loss"]),
    ],
)
def test_figures_that_not_every_run_has(tmp_path: Path, options: list[str], there: list[str]) -> None:
    run(tiny(*options), tmp_path)
    found = metrics.read(tmp_path / "metrics.csv")
    assert list(found) == metrics.columns(["greedy", "random"], there)
    assert [name for name in found if name not in metrics.columns(["greedy", "random"])] == there
    for name in there:
        assert math.isnan(found[name][0])
        assert 0 < found[name][1] < 5


def test_what_is_paid_against_whom(tmp_path: Path) -> None:
    """A column for each opponent, for the pool and for the learner himself, all of them the same for the whole run."""
    commas = "monte_carlo:rollouts=1,policy=random"
    opponents = f'opponents={{self: 1, "{commas}": 1, pool: {{start: 1, end: 2}}, greedy: 1}}'
    run(tiny(opponents, "pool={every: 300}", "training.frames=1024"), tmp_path)
    columns = metrics.read(tmp_path / "metrics.csv")
    each = {kind: columns[f"rollout/heads/{kind}"] for kind in ("self", commas, "pool", "greedy")}
    assert [name for name in columns if name.startswith("rollout/heads/")] == [f"rollout/heads/{kind}" for kind in each]
    assert all(0 < heads < 60 for kind in ("self", commas, "greedy") for heads in each[kind][1:])
    assert math.isnan(each["pool"][1]), "no copy yet"
    assert each["pool"][-1] > 0
    assert columns["rollout/heads"][-1] > 0


def test_no_match_has_ended_yet(tmp_path: Path) -> None:
    run(tiny("rules={rounds: 9}", "training.steps=4"), tmp_path)
    columns = metrics.read(tmp_path / "metrics.csv")
    assert columns["rollout/matches"] == [0] * 4
    assert np.isnan(columns["rollout/heads"]).all()
    assert not any(word in (tmp_path / "metrics.csv").read_text() for word in ("nan", "inf"))


def test_figures_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    writer = metrics.Metrics(tmp_path / "m.csv", ["greedy"])
    writer.write({"rollout/heads": math.nan, "train/loss": np.float32(0.1), "time/iterations": 3, "unknown/key": 1}, {}, 3)
    writer.close()
    assert "nan" not in (tmp_path / "m.csv").read_text()
    columns = metrics.read(tmp_path / "m.csv")
    assert {key: value[0] for key, value in columns.items() if not math.isnan(value[0])} == {"time/iterations": 3, "train/loss": 0.1}


def test_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("training.budget.time.monotonic", lambda: now)
    budget = Budget(1000, 2.0)
    assert (budget.seconds, budget.progress, budget.seconds_left, budget.out_of_time) == (0.0, 0.0, None, False)
    budget.start()
    now, budget.spent_frames = 130.0, 100
    assert (budget.seconds, budget.progress, budget.seconds_left, budget.out_of_time) == (30.0, 0.25, 90.0, False)
    budget.spent_frames = 600
    assert (budget.progress, budget.seconds_left, budget.out_of_time) == (0.6, pytest.approx(20.0), False)
    now = 220.0
    assert (budget.progress, budget.seconds_left, budget.out_of_time) == (1.0, 0.0, True)
    assert Budget(10).out_of_time is False


class Ticking(Budget):
    """A budget whose clock goes on by one minute whenever it is asked, so that no test has to wait."""

    asked = 0

    @property
    def seconds(self) -> float:
        Ticking.asked += 1
        return 60.0 * Ticking.asked


def test_minutes_end_the_training_between_iterations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.train.Budget", Ticking)
    done, _ = run(tiny("training.frames=1e9", "training.max_minutes=100"), tmp_path)
    assert not done.interrupted
    assert done.frames < 16 * 100
    rows = len(metrics.read(tmp_path / "metrics.csv")["time/minutes"])
    assert done.frames == rows * 16 * 8 + 16, "stopped at the first step of a rollout"
    assert rows > 1


def test_the_first_iteration_is_always_finished(tmp_path: Path) -> None:
    run(tiny("training.frames=1e9", "training.max_minutes=1e-9"), tmp_path)
    assert len(metrics.read(tmp_path / "metrics.csv")["time/minutes"]) == 1
    assert contents(tmp_path) == RUN_FILES | states(128)


# --- what it looks like --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("minutes", [None, 600.0])
def test_the_display_fits_into_80_columns(minutes: float | None) -> None:
    said = io.StringIO()
    console = Console(file=said, force_terminal=True, width=80, height=25, color_system=None)
    display, budget = Display(console), Budget(10**12, minutes)
    budget.start()
    with display.live():
        display.show(budget)
        budget.spent_frames = 123_456_789_012
        display.note(19.34, 123_456.0)
        display.note(None, 123_456.0)
        display.show(budget)
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", said.getvalue()))
    assert max(map(len, lines)) <= 80
    shown = next(line for line in lines if "123.5k/s" in line)
    assert "123456.79M decisions, 123.5k/s, 19.34 heads" in shown
    assert "left" in shown


def test_names_that_look_like_markup(tmp_path: Path) -> None:
    folder = tmp_path / "[red]x[/] y"
    run(tiny(), folder)
    config = tiny(f'opponents={{"policy:{folder}": 1}}', f'evaluation.against=["policy:{folder}"]')
    _, said = run(config, tmp_path / "[b]")
    assert f"against policy:{folder} x1" in said
    assert f"to {tmp_path}/[b]" in said
    assert f"policy:{folder}" in said.replace("\n", "")


# --- stopping ------------------------------------------------------------------------------------------------------------


def after(calls: int, act: Callable[[], object], function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which does `act` as well from the given call on."""
    count = 0

    def call(*arguments: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        if count >= calls:
            act()
        return function(*arguments, **options)

    return call


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_good_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    before = signal.getsignal(number)
    asked: list[int] = []

    def ask() -> None:
        if not asked:
            asked.append(number)
            signal.raise_signal(number)

    monkeypatch.setattr(Display, "show", after(20, ask, Display.show))
    done, said = run(tiny("training.frames=1e9"), tmp_path)
    assert done.interrupted
    assert done.frames == 20 * 16
    assert not done.results
    assert "Stopping: what is learned will be saved. Once more to stop at once." in said.replace("\n", " ")
    assert f"Go on with: sixnimmt train --resume {tmp_path}" in said
    assert contents(tmp_path) == RUN_FILES - {"evaluation.json"} | states(256)
    assert policy.read(tmp_path).training["finished"] is False
    assert signal.getsignal(number) is before


def test_a_second_signal_ends_it_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of an update, which nothing else would leave."""
    stopped = False

    def twice() -> None:
        nonlocal stopped
        assert not stopped, "the update went on"
        if done_rollouts():
            signal.raise_signal(signal.SIGINT)
            stopped = True
            signal.raise_signal(signal.SIGINT)

    def done_rollouts() -> bool:
        return len(metrics.read(tmp_path / "metrics.csv")) > 0

    monkeypatch.setattr("training.ppo.NetworkPolicy.evaluate_actions", after(1, twice, lambda *_, **__: pytest.fail("the update went on")))
    done, _ = run(tiny("training.frames=1e9"), tmp_path)
    assert stopped
    assert done.interrupted
    assert policy.load(tmp_path).policy.training["decisions"] == 128


def test_ctrl_c_on_the_command_line(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    arguments = [str(SMOKE), "--out", str(folder), "--set", "training.frames=1e9", "--set", "training.max_minutes=null"]
    process = subprocess.Popen(
        [sys.executable, "-m", "training", "train", *arguments],
        cwd=SMOKE.parents[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a signal of the terminal that the tests run in is none for it
    )
    try:
        for _ in range(1200):
            if process.poll() is not None or ((folder / "metrics.csv").exists() and metrics.read(folder / "metrics.csv")):
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        said, complaints = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, complaints
    assert "Traceback" not in complaints
    assert "policy saved as" in said
    assert contents(folder) >= RUN_FILES - {"evaluation.json"}
    assert not [name for name in contents(folder) if name.endswith(TEMP_SUFFIX)]
    assert policy.load(folder).policy.training["finished"] is False


# --- what cannot be done -------------------------------------------------------------------------------------------------


def refusal(config: Config, folder: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        run(config, folder)
    return str(caught.value)


def test_a_folder_in_use(tmp_path: Path) -> None:
    run(tiny(), tmp_path / "run")
    before = {name: (tmp_path / "run" / name).read_bytes() for name in contents(tmp_path / "run")}
    assert refusal(tiny("seed=1"), tmp_path / "run") == f"{tmp_path / 'run'}: is in use; name another folder with --out, or delete it"
    assert {name: (tmp_path / "run" / name).read_bytes() for name in contents(tmp_path / "run")} == before
    (tmp_path / "file").write_text("mine")
    assert "is in use" in refusal(tiny(), tmp_path / "file")
    assert "cannot be made: Not a directory; name another folder with --out" in refusal(tiny(), tmp_path / "file" / "run")
    assert (tmp_path / "file").read_text() == "mine"


def test_free_folder(tmp_path: Path) -> None:
    assert free_folder("a", tmp_path) == tmp_path / "a"
    (tmp_path / "a").mkdir()
    assert free_folder("a", tmp_path) == tmp_path / "a", "an empty folder is free"
    (tmp_path / "a" / "x").touch()
    (tmp_path / "a-2").touch()
    assert free_folder("a", tmp_path) == tmp_path / "a-3"
    assert free_folder("a-2", tmp_path) == tmp_path / "a-2-2"


WRONG: dict[str, tuple[str, list[str]]] = {
    "unknown opponent": ("opponents:\n  greedy: 1\n  gredy: 1\n", ["bad.yaml:3: opponents.gredy: ", "did you mean 'greedy'?"]),
    "unknown examiner": (
        "evaluation:\n  against:\n    - random\n    - lowst\n",
        ["bad.yaml:4: evaluation.against.1", "did you mean 'lowest'?"],
    ),
    "both": (
        'opponents: {best: 1}\nevaluation: {against: ["policy:nowhere"]}\n',
        ["bad.yaml:1: opponents.best: ", "bad.yaml:2: evaluation.against.0", "nowhere: there is no run folder or policy file of that path"],
    ),
    "device that is not there": ("training: {device: mps}\n", ["bad.yaml:1: training.device: mps is not there (", "); use cpu"]),
    "a single decision": (
        "training: {games: 1, steps: 1, minibatch: 1}\n",
        ["bad.yaml:1: training.steps", "must be at least 2 with training.games=1"],
    ),
    "nothing to choose": ("rules: {hand_size: 1, num_rows: 1}\n", ["bad.yaml:1: rules", "never had a choice"]),
}


@pytest.mark.parametrize(("text", "pieces"), WRONG.values(), ids=WRONG.keys())
def test_wrong_configuration(
    tmp_path: Path, text: str, pieces: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    if "device" in text and torch.backends.mps.is_available():
        pytest.skip("the device is there")
    monkeypatch.chdir(tmp_path)
    assert main(["train", str(path)]) == 2
    said = capsys.readouterr().err
    for piece in pieces:
        assert piece in said
    assert os.listdir(tmp_path) == ["bad.yaml"], "nothing is begun"


def test_divergence(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Coach, "_on_rollout_end", after(2, lambda: poison.append(1), Coach._on_rollout_end))
    poison: list[int] = []
    evaluated = torch.log_softmax
    monkeypatch.setattr(
        torch, "log_softmax", lambda logits, dim: evaluated(logits, dim) * (math.nan if poison and logits.requires_grad else 1.0)
    )
    arguments = ["train", str(SMOKE), "--out", str(tmp_path / "run")]
    for override in [*TINY, "training.frames=1e6", "output.checkpoint_minutes=1e-9"]:
        arguments += ["--set", override]
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        "sixnimmt: the training diverged before decision 256: the weights are no numbers any more; lower training.learning_rate"
    )
    assert not (tmp_path / "run" / "policy.json").exists()
    policy.load(tmp_path / "run" / "checkpoints" / "policy_000000000128")


def full_disk(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """From now on files with `name` in theirs cannot be written."""
    real = files._write_through

    def write(path: Path, content: bytes) -> None:
        if name in path.name:
            path.write_bytes(content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, content)

    monkeypatch.setattr(files, "_write_through", write)


# name of the file: what is there nevertheless
FULL = {
    "policy.json": {"config.yaml", "metrics.csv"} | states(256),
    "policy.safetensors": {"config.yaml", "metrics.csv"} | states(256),
    "evaluation.json": RUN_FILES - {"evaluation.json"} | states(256),
    "config.yaml": set(),
}


@pytest.mark.parametrize(("name", "there"), FULL.items(), ids=FULL.keys())
def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, there: set[str]) -> None:
    full_disk(monkeypatch, name)
    folder = tmp_path / "run"
    assert main(["train", str(SMOKE), "--out", str(folder), *(part for override in TINY for part in ("--set", override))]) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith(f"sixnimmt: {folder / name}: ")
    assert "No space left on device" in said
    assert contents(folder) == there


def test_full_disk_at_the_learning_curve_is_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full_disk(monkeypatch, "learning_curve.png")
    result, said = run(tiny(), tmp_path)
    assert "The learning curve could not be drawn: " in said
    assert len(result.results) == 2


def test_the_clock_ends_a_training_of_single_steps(tmp_path: Path) -> None:
    single = ("training.steps=1", "training.games=64", "training.minibatch=64")
    result, _ = run(tiny(*single, "training.frames=1e12", "training.max_minutes=0.02"), tmp_path)
    assert 0 < result.seconds < 60


def test_overflowing_outputs_are_a_divergence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that are finite can be so large that what comes out is not."""
    forward = Scorer.forward

    def overflow(self: Scorer, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits, values = forward(self, observations)
        return logits * float("inf"), values

    monkeypatch.setattr(Scorer, "forward", overflow)
    with pytest.raises(DivergedError, match="diverged"):
        run(tiny("training.frames=20000"), tmp_path)


@pytest.mark.parametrize(("name", "there"), [("policy_", states(128, 256)), ("state_", set())])
def test_full_disk_at_a_checkpoint_is_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, there: set[str]) -> None:
    full_disk(monkeypatch, name)
    _, said = run(tiny("output.checkpoint_minutes=1e-9"), tmp_path)
    assert "No checkpoint could be saved, the training goes on: " in said
    assert {path for path in contents(tmp_path) if name in path} == set()
    assert contents(tmp_path) >= RUN_FILES | there


class Full(io.StringIO):
    """A file on a disk that fills up after some rows."""

    def flush(self) -> None:
        if self.getvalue().count("\n") > 2:
            raise OSError(errno.ENOSPC, "No space left on device")


def test_full_disk_at_the_figures_saves_the_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.open
    monkeypatch.setattr(Path, "open", lambda path, *a, **k: Full() if path.name == "metrics.csv" else real(path, *a, **k))
    with pytest.raises(OSError, match="No space left on device") as caught:
        run(tiny(), tmp_path)
    assert caught.value.filename == str(tmp_path / "metrics.csv")
    assert policy.load(tmp_path).policy.training["finished"] is False


def test_diverged_at_the_very_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Coach, "_on_training_end", lambda coach: coach.model.policy.network.card_out.bias.data.fill_(math.nan), raising=False
    )
    with pytest.raises(DivergedError, match="before decision 256"):
        run(tiny(), tmp_path)
    assert not (tmp_path / "policy.json").exists()
