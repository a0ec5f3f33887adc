"""Evaluation on the way: when it happens, what it costs, which policy is the best, and what is written and drawn."""

from __future__ import annotations

import errno
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from sixnimmt_env import agents
from sixnimmt_env.arena import Strength, against_field
from sixnimmt_env.games.sixnimmt import GAME
from tests.training.small import PLAIN, network
from tests.training.test_train import RUN_FILES, contents, full_disk, run, states, tiny
from training import examiner, metrics, plots, policy
from training.budget import Budget
from training.cli import main
from training.config import Config, Evaluation
from training.examiner import Best, Examiner

ON = ["evaluation.every_decisions=256", "evaluation.rounds_during=12", "evaluation.budget=1", "training.frames=640"]


class Clock(Budget):
    """A budget whose clock a test sets."""

    now = 0.0

    @property
    def seconds(self) -> float:
        return self.now


class Scripted(Examiner):
    """Finds means as a script has them, each in so many seconds."""

    def __init__(self, means: list[float], cost: float = 1.0, **settings: Any) -> None:
        self.bests: list[Best] = []
        self.said: list[str] = []
        self.clock = Clock(10**9)
        self.means, self.cost = iter(means), cost
        config = Config(evaluation=Evaluation(**{"every_decisions": 100, **settings}))
        super().__init__(config, [], self.clock, PLAIN, self.bests.append, self.said.append)

    def _measure(self, network: Any) -> list[Strength]:
        self.clock.now += self.cost
        mean = next(self.means)
        return [Strength(name, 4, 4, mean + more, 0.1, 0.2, 0.01, 0, 0.0) for name, more in (("random", -1.0), ("greedy", 1.0))]


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An examiner whose own clock is that of its training."""

    def make(*arguments: Any, **settings: Any) -> Scripted:
        made = Scripted(*arguments, **settings)
        monkeypatch.setattr("training.examiner.time.monotonic", lambda: made.clock.now)
        return made

    return make


def test_when_a_point_is_due(ticking: Any) -> None:
    made = ticking([5.0] * 10, budget=1.0)
    looked = []
    for decisions in (0, 60, 120, 180, 199, 200, 250, 460, 480, 500):
        before = made.clock.now
        made.look(decisions, network())
        looked += [decisions] if made.clock.now > before else []
    assert looked == [120, 200, 460, 500]
    made.last_look(500, network())
    made.last_look(512, network())
    assert made.clock.now == 5.0
    off = ticking([], every_decisions=None)
    off.look(10**9, network())
    off.last_look(10**9, network())
    assert off.clock.now == 0.0


def test_what_would_cost_too_much_is_left_out(ticking: Any) -> None:
    """A point takes ten seconds, the training between two of them ninety: with a tenth of the time about every one is affordable."""
    for share, least, most in ((0.1, 90, 100), (0.02, 18, 20), (0.001, 1, 1)):
        made = ticking([5.0] * 100, cost=10.0, budget=share)
        points = 0
        for decisions in range(100, 10_100, 100):
            made.clock.now += 90.0
            before = made.clock.now
            made.look(decisions, network())
            points += made.clock.now > before
        assert least <= points <= most
        assert points == 1 or 10.0 * points <= share * made.clock.now * 1.001


def test_the_best_and_the_early_stop(ticking: Any) -> None:
    made = ticking([6.0, 5.0, 5.0, 5.5, 4.0, 7.0, 7.0, 7.0], early_stop=3, budget=1.0)
    stale = []
    for point in range(8):
        made.look(100 * point + 100, network(seed=point))
        stale.append(made.state()["stale"])
    assert [best.decisions for best in made.bests] == [100, 200, 500], "of equals the earliest"
    assert stale == [0, 0, 1, 2, 0, 1, 2, 3]
    assert made.enough
    assert made.said[-1] == "No better for 3 evaluations: the training ends early"
    assert made.said[-2] == "After 800 decisions: 6.00 heads against random, 8.00 heads against greedy"
    np.testing.assert_array_equal(made.bests[-1].network["table.weight"], network(seed=4).table.weight.detach().numpy())
    assert not ticking([], early_stop=None).enough


def test_its_state(ticking: Any) -> None:
    made, other = ticking([6.0, 5.0, 5.5], budget=1.0), ticking([], budget=1.0)
    other.restore(made.state())
    assert other.best is None
    for point in range(3):
        made.look(100 * point + 100, network(seed=point))
    other.restore(made.state())
    assert {key: value for key, value in other.state().items() if key != "best"} == {
        key: value for key, value in made.state().items() if key != "best"
    }
    assert (other.best.mean, other.best.decisions) == (5.0, 200)
    for wrong in ({"stale": -1}, {"seconds": [1.0]}, {"best": {"mean": 1.0, "decisions": 2, "network": {}}}, {"rows": "2"}):
        with pytest.raises((KeyError, ValueError, TypeError)):
            other.restore({**made.state(), **wrong})


def test_what_a_run_leaves_behind(tmp_path: Path) -> None:
    _, said = run(tiny(*ON, "output.tensorboard=true"), tmp_path)
    more = {"evaluations.csv", "best.safetensors", "best.json"}
    assert {name for name in contents(tmp_path) if not name.startswith("tensorboard")} == RUN_FILES | more | states(640)
    found = examiner.read(tmp_path / "evaluations.csv")
    assert list(found) == ["random", "greedy"]
    assert found["random"]["decisions"] == [256, 512, 640]
    assert found["random"]["minutes"] == sorted(found["random"]["minutes"])
    best = policy.load(tmp_path / "best")
    means = [(one + other) / 2 for one, other in zip(found["random"]["heads"], found["greedy"]["heads"], strict=True)]
    assert best.policy.training["decisions"] == found["random"]["decisions"][int(np.argmin(means))]
    assert best.policy.training["heads"] == pytest.approx(min(means), rel=1e-5)
    again = against_field(GAME, best.policy.rules, best, agents.make("greedy", seed=1002), 12, tiny().evaluation.seed)
    assert again.mean == pytest.approx(found["greedy"]["heads"][int(np.argmin(means))], rel=1e-5), "the same deals"
    assert f"Against these it lost least on the way after {best.policy.training['decisions']} decisions" in said
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    shown = events.Scalars("eval/greedy")
    assert [event.step for event in shown] == [256, 512, 640]
    assert [event.value for event in shown] == pytest.approx(found["greedy"]["heads"], rel=1e-5)
    assert {"rollout/heads/greedy", "rollout/heads/random"} <= set(events.Tags()["scalars"])


def test_single_deals_have_no_error(tmp_path: Path) -> None:
    run(tiny(*ON, "evaluation.rounds_during=1"), tmp_path)
    assert all(math.isnan(error) for columns in examiner.read(tmp_path / "evaluations.csv").values() for error in columns["se"])
    assert (tmp_path / "learning_curve.png").stat().st_size > 1000


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full_disk(monkeypatch, "best")
    done, said = run(tiny(*ON), tmp_path / "best")
    assert "The best policy could not be saved, the training goes on: " in said
    assert len(done.results) == 2
    real = Path.open

    def full(path: Path, *arguments: Any, **options: Any) -> Any:
        if path.name == "evaluations.csv":
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(OSError, match="No space left") as caught:
        run(tiny(*ON), tmp_path / "table")
    assert caught.value.filename == str(tmp_path / "table" / "evaluations.csv")
    policy.load(tmp_path / "table")


def test_strangers_tables(tmp_path: Path) -> None:
    table = tmp_path / "evaluations.csv"
    assert examiner.read(table) == {}
    header = ",".join(examiner.COLUMNS)
    table.write_text(f'{header}\n1,0.5,"a,b",3,,0.25\n2,0.6,x,3,0.1,0.5\n3,0.7,y')
    found = examiner.read(table)["a,b"]
    assert math.isnan(found.pop("se")[0])
    assert found == {"decisions": [1], "minutes": [0.5], "heads": [3], "win_share": [0.25]}
    assert list(examiner.read(table)) == ["a,b", "x"], "half a row is none"
    for wrong in (b"", b"something", b"\xff\xfe\n", b"decisions,heads\n1,2\n"):
        table.write_bytes(wrong)
        with pytest.raises(ValueError, match="is not the table of evaluations"):
            examiner.read(table)
    table.unlink()
    table.mkdir()
    with pytest.raises(ValueError, match="is not the table of evaluations"):
        examiner.read(table)


# --- pictures ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One with evaluations and one without."""
    root = tmp_path_factory.mktemp("runs")
    run(tiny(*ON), root / "_$a")
    run(tiny("evaluation.against=[lowest]"), root / "b")
    return [root / "_$a", root / "b"]


@pytest.mark.parametrize("over", plots.AXES)
def test_several_runs_in_one_picture(tmp_path: Path, runs: list[Path], over: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(plots, "_save", lambda figure, path: drawn.append(figure))
    plots.compare([plots.run(folder) for folder in runs], tmp_path / "x.png", over)
    top, random, greedy = drawn[0].axes
    assert [line.get_xdata().tolist() for line in top.get_lines()] == [
        metrics.read(folder / "metrics.csv")[plots.AXES[over]] for folder in runs
    ]
    assert len(top.get_legend().get_texts()) == 2
    found = examiner.read(runs[0] / "evaluations.csv")
    for axes, agent in ((random, "random"), (greedy, "greedy")):
        assert agent in axes.get_title()
        [bars] = axes.containers
        line, _, [intervals] = bars
        assert line.get_xdata().tolist() == found[agent][over]
        assert line.get_ydata().tolist() == found[agent]["heads"]
        low, high = intervals.get_segments()[0][:, 1]
        assert high - low == pytest.approx(2 * 1.96 * found[agent]["se"][0])


@pytest.mark.parametrize(("name", "begins"), [("x.png", b"\x89PNG"), ("x.SVG", b"<?xml"), ("x.pdf", b"%PDF")])
def test_the_command(tmp_path: Path, runs: list[Path], name: str, begins: bytes) -> None:
    assert main(["plot", *map(str, runs), "--out", str(tmp_path / name), "--over", "minutes"]) == 0
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_asked_wrongly(tmp_path: Path, runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "metrics.csv").write_text("a,b\n1,x\n")
    (tmp_path / "new").mkdir()
    metrics.Metrics(tmp_path / "new" / "metrics.csv", ["greedy"]).close()
    for arguments, words in {
        f"{tmp_path}/nowhere --out {tmp_path}/x.png": "nowhere: is no run folder: it holds no metrics.csv",
        f"{tmp_path}/odd --out {tmp_path}/x.png": "metrics.csv: is not the table of figures of a training run",
        f"{tmp_path}/new --out {tmp_path}/x.png": "metrics.csv: has no rows yet",
        f"{runs[1]} --out {tmp_path}/x.gif": "x.gif must end in .png, .svg or .pdf",
        f"{runs[1]} --out {tmp_path}/no/x.png": "there is no folder",
    }.items():
        assert main(["plot", *arguments.split()]) == 2
        assert words in capsys.readouterr().err
    assert not list(tmp_path.glob("x*"))


def test_weights_are_not_touched() -> None:
    """Nor the random states."""
    config = tiny(*ON)
    made = Examiner(config, [agents.make("greedy", seed=1)], Clock(1), PLAIN, lambda best: None, lambda line: None)
    learner = network()
    before, generator = {name: tensor.clone() for name, tensor in learner.state_dict().items()}, torch.get_rng_state()
    old = np.random.get_state()[1].copy()  # type: ignore[index,union-attr]  # noqa: NPY002
    made.look(1000, learner)
    assert made.best is not None
    assert all(torch.equal(tensor, before[name]) for name, tensor in learner.state_dict().items())
    assert learner.training
    assert torch.equal(torch.get_rng_state(), generator)
    np.testing.assert_array_equal(np.random.get_state()[1], old)  # type: ignore[index]  # noqa: NPY002
