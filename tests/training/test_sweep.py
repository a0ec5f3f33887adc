"""`sixnimmt sweep`: what is asked for, what is trained and not trained again, and what is said about the differences."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from rich.console import Console
from scipy.stats import t as students

from sixnimmt_env.agents import Agent
from training import config as configuration
from training import sweep as sweeping
from training import sweep_report
from training.callbacks import Coach, DivergedError
from training.cli import main
from training.plugin import agent_of
from training.sweep_config import CrossPlay, Floors, Sweep, read
from training.sweep_results import Difference, Outcome, Row, difference

DEFAULTS = Path(__file__).parents[2] / "configs" / "sweeps" / "defaults.yaml"
BASE = """\
base:
  training: {frames: 256, max_minutes: null, games: 16, steps: 8, minibatch: 64}
  network: {hidden: 8}
  output: {tensorboard: false}
"""
TINY = f"""\
{BASE}
seeds: [0, 1]
variants:
  baseline: {{}}
  longer: {{training.epochs: 3}}
evaluation: {{rounds: 8}}
cross_play: {{deals: 6}}
"""
TRIALS = ["baseline-seed0", "longer-seed0", "baseline-seed1", "longer-seed1"]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tiny.yaml and, in out, all that comes of it; not to be changed."""
    folder = tmp_path_factory.mktemp("done")
    (folder / "tiny.yaml").write_text(TINY)
    assert main(["sweep", str(folder / "tiny.yaml"), "--out", str(folder / "out")]) == 0
    return folder


@pytest.fixture
def copy(done: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return Path(shutil.copytree(done, tmp_path / "copy"))


def again(folder: Path, status: int = 0) -> None:
    assert main(["sweep", str(folder / "tiny.yaml"), "--out", str(folder / "out")]) == status


def lasting(folder: Path) -> Any:
    """The report without what differs from run to run."""
    report = json.loads((folder / "out" / "report.json").read_text())
    for variant in report["variants"]:
        del variant["decisions_per_second"]
        for trial in variant["trials"]:
            del trial["seconds"]
    return report


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The trials that are trained from now on, with + for those that go on."""
    names: list[str] = []
    train = sweeping.train

    def noted(config: Any, folder: Path, console: Console, resume: Path | None) -> Any:
        names.append(folder.name + ("+" if resume else ""))
        return train(config, folder, console, resume=resume)

    monkeypatch.setattr(sweeping, "train", noted)
    return names


# --- what is asked for -------------------------------------------------------------------------------------------------


def test_the_example_explains_every_key_and_can_be_trained() -> None:
    sweep, trials = read(DEFAULTS, (), agent_of)
    text = DEFAULTS.read_text()
    for section in (Sweep, Floors, CrossPlay):
        for key in section.model_fields:
            assert re.search(rf"^ *# .*\n *{key}:", text, re.MULTILINE), f"{key} has no comment above it"
    assert len(trials) == len(sweep.variants) * len(sweep.seeds) == 45
    assert len({trial.name for trial in trials}) == 45
    assert [trial.seed for trial in trials] == [0] * 15 + [1] * 15 + [2] * 15
    base = configuration.load(DEFAULTS.parent.parent / "quickstart.yaml")
    first = trials[0].config
    assert (first.training.frames, first.training.max_minutes) == (2_000_000, None)
    assert (first.network, first.opponents, first.rules) == (base.network, base.opponents, base.rules)
    assert all(trial.config.evaluation.rounds == sweep.evaluation.rounds for trial in trials)
    plain = {"name", "seed", "evaluation", "output", "pool"}
    for trial in trials[1:15]:
        assert trial.config.model_dump(exclude=plain) != first.model_dump(exclude=plain), f"{trial.variant} is the baseline"


def test_later_overrides_win_and_the_sweep_has_the_last_word(tmp_path: Path) -> None:
    extra = "set: {training.epochs: 2, evaluation: {every_decisions: 64}}\n"
    (tmp_path / "x.yaml").write_text(TINY + extra)
    sweep, trials = read(tmp_path / "x.yaml", ["seeds=[5,6,7]", "name=other"])
    assert (sweep.name, sweep.seeds) == ("other", (5, 6, 7))
    assert [trial.name for trial in trials[:3]] == ["baseline-seed5", "longer-seed5", "baseline-seed6"]
    assert [trial.config.training.epochs for trial in trials[:2]] == [2, 3]
    assert (trials[0].config.seed, trials[-1].config.seed) == (5, 7)
    evaluation = trials[0].config.evaluation
    assert (evaluation.every_decisions, evaluation.rounds) == (64, 8)


VARIANTS = "variants: {baseline: {}, b: {training.epochs: 2}}\n"
# a file: what must be said about it
WRONG: dict[str, list[str]] = {
    BASE: ["x.yaml:1: variants: Field required"],
    VARIANTS: ["x.yaml:1: base: Field required"],
    f"{VARIANTS}base: 3": ["x.yaml:2: base=3: must be the path of a training's configuration"],
    f"{VARIANTS}base: gone.yaml": ["gone.yaml: cannot be read: No such file"],
    f"{VARIANTS}base: {{training: {{frams: 3}}}}": ['x.yaml:2: training.frams: unknown key; did you mean "frames"?'],
    f"{VARIANTS}{BASE}seedz: [0, 1]": ['x.yaml:6: seedz: unknown key; did you mean "seeds"?'],
    f"{VARIANTS}{BASE}seeds: 3": ["x.yaml:6: seeds=3: must be 2 to 100 different whole numbers"],
    f"{VARIANTS}{BASE}seeds: [0]": ["x.yaml:6: seeds: must be 2 to 100 different whole numbers", "not [0]"],
    f"{VARIANTS}{BASE}seeds: [1, 1]": ["x.yaml:6: seeds: must be 2 to 100 different whole numbers", "not [1, 1]"],
    f"{VARIANTS}{BASE}seeds: [1, true]": ["x.yaml:6: seeds: must be 2 to 100 different whole numbers"],
    f"{VARIANTS}{BASE}seeds: [1, -1]": ["x.yaml:6: seeds: must be 2 to 100 different whole numbers"],
    f"{VARIANTS}{BASE}cross_play: {{deals: 1}}": ["x.yaml:6: cross_play.deals=1: must be a whole number from 2"],
    f"{VARIANTS}{BASE}evaluation: {{against: [gredy]}}": ["x.yaml:6: evaluation.against.0: agent 'gredy' is unknown"],
    f"{VARIANTS}{BASE}set: {{training.gamma: 3}}": ["x.yaml:6: set.training.gamma=3: must be a number from 0 to 1"],
    f"{VARIANTS}{BASE}set: {{evaluation.against.0: greedy}}": ["set.evaluation.against.0: is the same for all trials"],
    f"{VARIANTS}{BASE}set: {{evaluation: {{rounds: 7}}}}": ["set.evaluation: evaluation.rounds is the same for all trials"],
    f"{VARIANTS}{BASE}set: {{' name': x}}": ["every trial has a name of its own"],
    f"{VARIANTS}{BASE}set: {{evaluation.rounds: 3}}": ["set.evaluation.rounds: is the same for all trials: write it under `evaluation`"],
    f"{BASE}variants: {{baseline: {{}}}}": ["x.yaml:5: variants: must be a mapping of at least two names"],
    f"{BASE}variants: {{baselin: {{}}, b: {{}}}}": ['baseline is not among the variants; did you mean "baselin"?', "add it"],
    f"{BASE}variants: {{baseline: {{}}, b: }}": ["x.yaml:5: variants.b=null: must be a mapping of keys to values", "{} for none"],
    f"{BASE}variants: {{baseline: {{}}, b c: {{}}}}": ["x.yaml:5: variants.b c: a variant's name must be 1 to 60 letters"],
    f"{BASE}variants: {{baseline: {{}}, b: {{seed: 3}}}}": ["x.yaml:5: variants.b.seed: is the sweep's: write it among `seeds`"],
    f"{BASE}variants: {{baseline: {{}}, b: {{rules.num_players: 5}}}}": [
        "x.yaml:5: variants.b: is played by other rules than the baseline"
    ],
    f"{BASE}variants: {{baseline: {{}}, b: {{opponents: {{gredy: 1}}}}}}": ["variants.b.opponents: opponents.gredy: agent 'gredy'"],
    f"{BASE}variants:\n  baseline: {{}}\n  b: {{training.epoch: 2}}\n  c: {{training.epochs: 0}}\n  d: {{epochs: 2}}": [
        'x.yaml:7: variants.b.training.epoch=2: unknown key; did you mean "epochs"?',
        "x.yaml:8: variants.c.training.epochs=0: must be a whole number from 1 to 100",
        'x.yaml:9: variants.d.epochs=2: unknown key; did you mean "training.epochs"?',
    ],
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yaml").write_text(text + "\n")
    assert main(["sweep", "x.yaml"]) == 2
    complaint = capsys.readouterr().err
    for piece in WRONG[text]:
        assert piece in complaint
    assert not (tmp_path / "runs").exists()


# --- what is trained ---------------------------------------------------------------------------------------------------


def test_what_a_sweep_leaves_behind(done: Path) -> None:
    out = done / "out"
    assert {path.name for path in out.iterdir()} == {*TRIALS, "cross_play", "report.md", "report.json", "report.png"}
    for name, epochs in zip(TRIALS, (1, 3, 1, 3), strict=True):
        config = configuration.load(out / name / "config.yaml")
        assert (config.name, config.training.epochs, config.seed) == (name, epochs, int(name[-1]))
    report = json.loads((out / "report.json").read_text())
    baseline, longer = report["variants"]
    assert (baseline["name"], baseline["difference"], baseline["verdict"]) == ("baseline", None, "the baseline")
    assert (longer["changes"], longer["decisions"], longer["verdict"]) == ({"training.epochs": 3}, 256, "2 seeds are too few to tell")
    for trial in longer["trials"]:
        kept = json.loads((out / f"longer-seed{trial['seed']}" / "evaluation.json").read_text())["results"]
        assert trial["mean_heads"] == {result["against"]: result["mean_heads"] for result in kept}
    floor = longer["floors"]["greedy"]
    one, other = (trial["mean_heads"]["greedy"] for trial in longer["trials"])
    assert floor["mean_heads"] == pytest.approx((one + other) / 2)
    assert floor["se_over_seeds"] == pytest.approx(abs(one - other) / 2)  # of two: the spread |a - b| / sqrt 2, over sqrt 2
    assert np.mean(longer["difference"]["seeds"]) == pytest.approx(longer["difference"]["heads"])
    assert np.mean(longer["difference"]["pairs"]) == pytest.approx(longer["difference"]["heads"])
    text = (out / "report.md").read_text()
    for piece in ("| longer | `training.epochs=3` |", "seeds 0, 1", "between trainings that differ in nothing else", "negative is better"):
        assert piece in text
    with Image.open(out / "report.png") as picture:
        assert picture.size[0] > 500


def test_what_is_finished_is_not_done_again(copy: Path, trained: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = (copy / "out" / "report.json").read_bytes()
    again(copy)
    assert trained == []
    assert (copy / "out" / "report.json").read_bytes() == before
    said = capsys.readouterr().out
    assert "2 variants x 2 seeds = 4 trainings, 4 of them finished before" in said
    assert "144 of 144 games were played before" in said
    shutil.rmtree(copy / "out" / "longer-seed1")
    assert main(["sweep", str(copy / "tiny.yaml"), "--out", str(copy / "out"), "--dry-run"]) == 0
    assert [line.rpartition(": ")[2] for line in capsys.readouterr().out.splitlines()] == ["finished"] * 3 + ["to be trained"]
    again(copy)
    assert trained == ["longer-seed1"]


def test_stopped_and_killed_it_ends_with_the_same_report(
    done: Path, tmp_path: Path, trained: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(done / "tiny.yaml", tmp_path)
    begin: Callable[[Coach], None] = Coach._on_rollout_start

    def stopped(coach: Coach) -> None:  # Ctrl-C in the second iteration
        if coach.num_timesteps and trained[-1] == "longer-seed0":
            os.kill(os.getpid(), signal.SIGINT)
        begin(coach)

    def killed(*_: object) -> None:  # before the evaluation
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Coach, "_on_rollout_start", stopped)
        again(tmp_path, status=130)
    assert trained == TRIALS[:2]
    assert not sweeping.finished(tmp_path / "out" / "longer-seed0")
    assert not (tmp_path / "out" / "report.md").exists()
    assert "To go on, give the same command again" in capsys.readouterr().out
    with monkeypatch.context() as patch:
        patch.setattr("training.train._evaluate", killed)
        again(tmp_path, status=130)
    again(tmp_path)
    assert trained == [*TRIALS[:2], "longer-seed0+", "longer-seed0+", *TRIALS[2:]]
    assert lasting(tmp_path) == lasting(done)


def test_other_settings_are_refused(copy: Path, trained: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (copy / "tiny.yaml").write_text(TINY.replace("epochs: 3", "epochs: 4") + "set: {training.gamma: 0.5}\n")
    again(copy, status=2)
    complaint = capsys.readouterr().err
    assert "baseline-seed0: was trained with other settings: training.gamma was 1.0, is 0.5" in complaint
    assert "longer-seed1: was trained with other settings: training.epochs was 3, is 4; training.gamma was 1.0, is 0.5" in complaint
    assert "give the sweep another name or --out, delete these folders" in complaint
    assert trained == []


def test_a_variant_that_diverges_is_a_result(copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(copy / "out" / "longer-seed1")

    def diverges(config: Any, folder: Path, console: Console, resume: Path | None) -> None:
        folder.mkdir()
        raise DivergedError("the weights are no numbers any more")

    monkeypatch.setattr(sweeping, "train", diverges)
    again(copy)
    longer = json.loads((copy / "out" / "report.json").read_text())["variants"][1]
    assert (longer["difference"], longer["verdict"]) == (None, "1 of 2 trainings diverged")
    assert longer["floors"]["greedy"]["mean_heads"] == longer["trials"][0]["mean_heads"]["greedy"]
    assert longer["floors"]["greedy"]["se_over_seeds"] is None
    assert "- longer, seed 1: the weights are no numbers any more" in (copy / "out" / "report.md").read_text()
    monkeypatch.setattr(sweeping, "train", None)
    again(copy)  # nor is it tried again


def test_what_could_not_be_trained_is_known_before_anything_is(
    tmp_path: Path, trained: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = {
        "{network.pretrained: greedy}": "variants.longer.network.pretrained=greedy: 'greedy' is no learned policy",
        "{network: {hidden: 5, pretrained: champion}}": "asked for: write kind: scorer, hidden: 64, layers: 2",
        "{training.games: 1, training.steps: 1, training.minibatch: 1}": "must be at least 2 with training.games=1",
        "{variants: {two: {weight: 0.0001, num_players: 2}}}": "gets none of the",
    }
    for number, (given, message) in enumerate(wrong.items()):
        (tmp_path / "tiny.yaml").write_text(TINY.replace("{training.epochs: 3}", given))
        for options in (["--dry-run"], []):
            assert main(["sweep", str(tmp_path / "tiny.yaml"), "--out", str(tmp_path / str(number)), *options]) == 2
            complaint = capsys.readouterr().err
            assert "variants.longer" in complaint
            assert message in complaint
        assert not (tmp_path / str(number)).exists()
    assert trained == []


def test_a_damaged_evaluation_is_named(copy: Path, trained: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    damaged = copy / "out" / "baseline-seed1" / "evaluation.json"
    numbers = (b'{"results": [{"mean_heads": %s, "se": 1}]}' % number for number in (b"NaN", b"1e999"))
    for content in (b"{}", b"[" * 200_000, b"\xff", *numbers):
        damaged.write_bytes(content)
        again(copy, status=2)
        assert f"delete {damaged} and give the command again" in capsys.readouterr().err
    damaged.unlink()
    again(copy)
    assert trained == ["baseline-seed1+"]


def test_time_left_follows_the_variants(done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, trials = read(done / "tiny.yaml")
    seconds = {"baseline-seed0": 10.0, "longer-seed0": 30.0}
    monkeypatch.setattr(sweeping, "outcome", lambda trial, folder: Outcome(seconds=seconds[trial.name]))
    monkeypatch.setattr(sweeping, "finished", lambda folder: folder.name == "baseline-seed0")
    assert sweeping.time_left(trials, tmp_path) == 30.0  # as if all took as long
    monkeypatch.setattr(sweeping, "finished", lambda folder: folder.name in seconds)
    assert sweeping.time_left(trials, tmp_path) == 40.0
    monkeypatch.setattr(sweeping, "finished", lambda folder: False)
    assert sweeping.time_left(trials, tmp_path) is None


# --- what is said about differences ------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 4])
def test_cross_play_is_fair_and_tells_the_better(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, players: int) -> None:
    (tmp_path / "x.yaml").write_text(
        f"{BASE}variants: {{baseline: {{}}, same: {{}}, good: {{}}}}\nseeds: [0, 1]\ncross_play: {{deals: 100}}\n"
        f"set: {{rules.num_players: {players}}}\n"
    )
    sweep, trials = read(tmp_path / "x.yaml")
    cast = {"baseline-seed0": "lowest", "baseline-seed1": "closest", "same-seed0": "lowest", "same-seed1": "closest"}

    def make(spec: str, game: str, seed: int) -> Agent:
        return agent_of(cast.get(Path(spec).name, "greedy"), game, seed)

    monkeypatch.setattr(sweeping, "make", make)
    of = {variant: [trial for trial in trials if trial.variant == variant] for variant in sweep.variants}
    console = Console(file=io.StringIO())
    heads = sweeping.cross_play(sweep, of["same"], of["baseline"], tmp_path, console)
    assert heads is not None
    assert heads.shape == (100, 2, 2)
    assert np.allclose(heads[:, 0, 0], 0)  # the same agent in all arrangements
    assert np.allclose(heads[:, 1, 1], 0)
    assert np.allclose(heads[:, 0, 1], -heads[:, 1, 0])
    assert heads[:, 0, 1].mean() > 0.5  # lowest cards cost more than the closest
    good = sweeping.cross_play(sweep, of["good"], of["baseline"], tmp_path, console)
    assert good is not None
    assert (good.mean(axis=0) < -0.5).all()


def test_the_interval_by_hand() -> None:
    pairs = np.array([[0.0, 2.0, 4.0], [3.0, 8.0, 7.0], [6.0, 8.0, 10.0]])
    found = difference(np.stack([pairs + 1, pairs, pairs - 1]))
    # Means by the variant's seeds 2, 6, 8, by the baseline's 3, 6, 7, of all 16/3: the seeds stand for -1/3, 20/3, 29/3.
    assert found.each == pytest.approx([-1 / 3, 20 / 3, 29 / 3])
    assert found.heads == pytest.approx(16 / 3)
    assert found.seeds_se**2 == pytest.approx((17**2 + 4**2 + 13**2) / 9 / 2 / 3)
    assert found.deals_se**2 == pytest.approx(1 / 3)  # 19/3, 16/3 and 13/3: a variance of 1, over 3 deals
    assert found.se**2 == pytest.approx(82 / 9)
    reach = students.ppf(0.975, 2) * (82 / 9) ** 0.5
    assert (found.low, found.high) == pytest.approx((16 / 3 - reach, 16 / 3 + reach))
    assert found.verdict == "no difference found"
    assert difference(np.stack([pairs + 21, pairs + 20, pairs + 19])).verdict == "worse"
    assert difference(np.stack([pairs - 41, pairs - 40, pairs - 39])).verdict == "better"
    assert difference(np.stack([pairs - 4001, pairs - 4000, pairs - 3999])[:, :2, :2]).verdict == "2 seeds are too few to tell"


def test_seeds_that_agree_leave_the_error_of_the_deals() -> None:
    found = difference(np.array([1.0, 3.0])[:, None, None] + np.zeros((2, 3, 3)))
    assert (found.seeds_se, found.deals_se) == (0.0, pytest.approx(1.0))
    assert found.high == pytest.approx(2 + students.ppf(0.975, 1)), "two deals tell little of their variance, however many seeds there are"


def test_pairing_takes_out_what_a_seed_does_to_both() -> None:
    luck = np.array([0.0, 5.0, -3.0])  # of the seeds, whatever the variant
    found = difference(np.stack([luck[:, None] - luck - 0.5 + deal for deal in (-0.01, 0.01)]))
    assert found.each == pytest.approx([-0.5, -0.5, -0.5])
    assert found.verdict == "better"


@pytest.mark.parametrize(("own", "both", "deal"), [(1.0, 0.0, 0.0), (1.0, 3.0, 0.5), (0.0, 1.0, 1.0)])
def test_the_interval_holds_as_often_as_it_says(own: float, both: float, deal: float) -> None:
    rng = np.random.default_rng(1)
    held, tries, deals = 0, 1000, 20
    for _ in range(tries):
        luck = both * rng.standard_normal(3)
        mine, theirs = (luck + own * rng.standard_normal(3) for _ in range(2))
        pairs = mine[:, None] - theirs + 0.3 * rng.standard_normal((3, 3))  # who is good against whom
        found = difference(pairs + deal * rng.standard_normal((deals, 1, 1)) + 0.1 * rng.standard_normal((deals, 3, 3)))
        held += found.low <= 0 <= found.high
    assert held / tries > 0.93


def row(variant: str, heads: float, reach: float, seeds: int = 3) -> Row:
    found = Difference(np.full((seeds, seeds), heads), np.full(seeds, heads), heads, reach, reach, 0.0, heads - reach, heads + reach)
    outcomes = tuple(Outcome(1000 * (1 + seed), 10.0, {"greedy": 9.0 + seed}, {"greedy": 0.04}) for seed in range(seeds))
    return Row(variant, outcomes, None if variant == "baseline" else found)


def test_what_is_printed(tmp_path: Path) -> None:
    variants = {name: {} for name in ("baseline", "good", "bad", "alike")}
    sweep = Sweep(base="x.yaml", variants=variants, evaluation=Floors(against=["greedy"]))
    rows = [row("baseline", 0, 0), row("good", -0.5, 0.2), row("bad", 0.6, 0.3), row("alike", 0.1, 0.4)]
    said = io.StringIO()
    sweep_report.show(sweep, rows, Console(file=said, width=80, force_terminal=True, color_system=None))
    tables, _, told = said.getvalue().partition("\n- ")
    assert max(map(len, tables.splitlines())) <= 80
    lines = [re.split(r"\s{2,}", line.strip()) for line in tables.splitlines()]
    assert ["baseline", "3", "2,000", "200", "10.00 ± 0.58"] in lines
    assert ["baseline", "–", "–", "the baseline"] in lines
    assert ["good", "-0.50", "-0.70 to -0.30", "better"] in lines
    assert ["bad", "+0.60", "+0.30 to +0.90", "worse"] in lines
    assert ["alike", "+0.10", "-0.30 to +0.50", "no difference found"] in lines
    assert "Each of the 3 intervals holds by itself" in told
    axes = sweep_report.forest(sweep, rows).axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["good", "alike", "bad"]
    path = sweep_report.write(sweep, rows, tmp_path)
    assert "| alike | 3 | 2,000 | 200 | 10.00 ± 0.58 | +0.10 | -0.30 to +0.50 | no difference found |" in path.read_text()
