"""The benchmarks: what they give, that both sides of one do the same work, and what is said when something is missing. Never how fast."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv

from sixnimmt_env import agents, games, sixnimmt_v0
from sixnimmt_env.games.sixnimmt.state import STATE
from training import bench
from training.bench import Bar, Result, Scale
from training.bench.engine import PlainGames, Script, resolver
from training.bench.fresh import fresh, peak
from training.bench.learning import STOCK_GAMES, naive, single
from training.bench.measure import compare, rate
from training.bench.plain import greedy
from training.bench.report import as_json, number, quantity

TINY = Scale(
    seconds=0.001,
    pairs=2,
    batches=(1, 3),
    games=8,
    plain_games=2,
    training={"games": 8, "steps": 4, "minibatch": 16},
    stock={"n_steps": 8, "batch_size": 32, "n_epochs": 1},
    training_pairs=1,
    starts=1,
    empty_cache=False,
)

# benchmark: {result: (unit, has a baseline, has a bar)}
RESULTS: dict[str, dict[str, tuple[str, bool, bool]]] = {
    "engine": {f"engine.{kind}.{batch}": ("cards/s", True, False) for kind in ("step", "observed") for batch in (1, 3)},
    "players": {"players.ten": ("s/turn", True, True)},
    "playouts": {"playouts.random": ("playouts/s", True, True)},
    "memory": {"memory.game": ("bytes", False, True)},
    "aec": {"aec.steps": ("steps/s", True, True)},
    "parallel": {"parallel.steps": ("steps/s", True, True)},
    "single": {"single.steps": ("steps/s", True, True)},
    "vector": {"vector.steps": ("steps/s", True, True), "vector.beside_single": ("steps/s", True, False)},
    "vec_env": {"vec_env.decisions": ("decisions/s", True, False)},
    "arena": {"arena.rounds": ("rounds/s", True, True), "arena.policy": ("rounds/s", True, True)},
    "training": {
        "training.decisions": ("decisions/s", True, False),
        "training.beside_dummy": ("decisions/s", True, True),
        "training.memory": ("MB", False, True),
    },
    "startup": {"startup.import": ("s", True, True)},
}


def run(names: list[str], path: Path | None = None, scale: Scale = TINY) -> str:
    """What `main` prints."""
    output = io.StringIO()
    assert bench.main(names, path, Console(file=output), scale) == 0
    return output.getvalue()


@pytest.fixture
def no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is measured in a process of its own, which takes seconds to start; a slow test starts it."""
    monkeypatch.setattr("training.bench.learning.fresh", lambda *_: 1234.5)


@pytest.mark.usefixtures("no_process")
@pytest.mark.parametrize("name", RESULTS)
def test_results(name: str) -> None:
    if name == "aec":
        pytest.importorskip("pygame")
    results = bench.measure(name, TINY)
    assert {r.name: (r.unit, r.baseline is not None, r.bar is not None) for r in results} == RESULTS[name]
    for r in results:
        assert r.value is not None
        assert r.value > 0
        assert (r.ratio is None) == (r.baseline is None)
        assert (r.met is None) == (r.bar is None)
        if r.ratio is not None and r.low is not None and r.high is not None:
            assert 0 < r.low <= r.ratio <= r.high


def test_every_benchmark_is_tested() -> None:
    assert set(RESULTS) == set(bench.BENCHMARKS)
    assert [line.split()[0] for line in bench.listing().splitlines()] == list(RESULTS)


def test_promised_bars() -> None:
    results = bench.measure("engine", Scale(seconds=0.001, pairs=1, batches=(1024,), plain_games=1))
    assert [r.bar for r in results] == [Bar("ratio", "least", 60), None]
    assert bench.measure("memory", TINY)[0].met


# --- the same work on both sides -------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 4, 10])
def test_engine_and_plain_resolver_play_the_same_games(players: int) -> None:
    script = Script(games.get("sixnimmt"), players, 20)
    plain = PlainGames(resolver(), script, 20)  # type: ignore[arg-type]  # it is there in a checkout
    for play in (script.play, script.watch):
        assert play()[0] == plain.play()[0] == 10 * players * 20
        assert not any(turn.illegal.any() for turn in script.turns)
        assert [game.phase for game in plain.games] == ["over"] * 20
        assert script.game.costs(script.states)[:, :players].tolist() == [game.totals for game in plain.games]


def test_observations_are_made_for_every_seat() -> None:
    script = Script(games.get("sixnimmt"), 4, 5)
    script.watch()
    turn = script.turns[0]
    assert [x.tolist() for x in turn.viewers] == [[game for game in range(5) for _ in range(4)], [0, 1, 2, 3] * 5]
    assert turn.observations.shape == (20, script.game.compact_size)
    assert (turn.observations.any(axis=1)).all()


@pytest.mark.parametrize("players", [2, 4, 10])
def test_the_plain_player_decides_as_the_compiled_one(players: int) -> None:
    env, compiled, rows = sixnimmt_v0.env(num_players=players), agents.make("greedy"), 0
    for seed in range(5):
        env.reset(seed=seed)
        while not env.terminations["player_0"]:
            view = env.view(env.agent_selection)
            action = int(compiled.act([view])[0])
            assert greedy(view) == action
            rows += action >= 104
            env.step(action)
    assert rows


def test_the_naive_training_is_the_stock_library() -> None:
    """On the same game, with the sizes of our network, and nothing else set."""
    env = single()
    observation, _ = env.reset(seed=0)
    assert observation.shape == (sixnimmt_v0.gym_env().observation_space["observation"].shape[0],)  # type: ignore[index]
    made: list[MaskablePPO] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("training.bench.learning._iteration", lambda model: made.append(model))
        naive({})
    [model] = made
    assert (model.n_envs, model.n_steps, model.batch_size, model.n_epochs) == (STOCK_GAMES, 2048, 64, 10)
    assert isinstance(model.env, DummyVecEnv)
    assert [layer.out_features for layer in model.policy.mlp_extractor.policy_net if hasattr(layer, "out_features")] == [64, 64]


# --- what is missing --------------------------------------------------------------------------------------------------


def test_without_the_resolver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("training.bench.engine.RESOLVER", tmp_path / "reference.py")
    for result in bench.measure("engine", TINY):
        assert (result.baseline, result.ratio, result.met) == (None, None, None)
        assert "only in a checkout" in result.beside
        assert result.value


@pytest.mark.parametrize(
    ("missing", "said"), [("pygame", "pip install pygame"), ("pettingzoo.classic.connect_four_v3", "connect_four_v3: import of")]
)
def test_without_pygame(missing: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("pettingzoo.classic")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    [result] = bench.measure("aec", TINY)
    assert (result.baseline, result.ratio, result.met) == (None, None, None)
    assert said in result.beside


@pytest.mark.usefixtures("no_process")
def test_without_a_word_about_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.bench.learning.fresh", lambda *_: None)
    memory = bench.measure("training", TINY)[2]
    assert (memory.value, memory.met) == (None, None)
    assert "does not say" in memory.beside


def test_a_process_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        fresh("1 / 0")


def test_process_of_its_own() -> None:
    code = "import json, os, sys; print('chatter'); print(json.dumps([os.environ['BENCH_WORD'], *sys.argv[1:]]))"
    assert fresh(code, "a", "b c", environment={"BENCH_WORD": "x"}) == ["x", "a", "b c"]


def test_peak_of_a_process_is_its_own() -> None:
    here = peak()
    there = fresh("import json; from training.bench.fresh import peak; print(json.dumps(peak()))")
    assert (here is None) == (there is None)
    if here is not None:
        assert 5 < there < here


# --- the command ------------------------------------------------------------------------------------------------------


def test_table_and_json(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    path.write_text("old")
    text = run(["players", "memory", "players"], path)
    assert [line.split(":")[0] for line in text.splitlines()[:2]] == ["1/2 players", "2/2 memory"]
    assert "players.ten" in text
    assert f"{STATE.itemsize} bytes" in text
    assert "Quote the ratios" in text
    written = json.loads(path.read_text(encoding="utf-8"))
    assert set(written) == {"machine", "results"}
    assert [r["name"] for r in written["results"]] == ["players.ten", "memory.game"]
    for result in written["results"]:
        assert {"name", "value", "unit", "baseline", "ratio"} <= set(result)
        assert isinstance(result["name"], str)
        assert isinstance(result["unit"], str)
        assert isinstance(result["value"], float)
        assert all(isinstance(result[key], float | None) for key in ("baseline", "ratio"))
    assert [p.name for p in tmp_path.iterdir()] == ["bench.json"]


def test_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    output = io.StringIO()
    assert bench.main(["memory"], None, Console(file=output, force_terminal=True, width=80), TINY) == 0
    assert "memory: bytes a game" in output.getvalue()


@pytest.mark.parametrize(
    ("name", "hint"), [("engin", "did you mean 'engine'? there are"), ("vecenv", "did you mean 'vec_env'?"), ("qqq", "unknown: there are")]
)
def test_unknown_names(name: str, hint: str) -> None:
    with pytest.raises(ValueError, match="is unknown") as caught:
        bench.main(["engine", name])
    assert repr(name) in str(caught.value)
    assert hint in str(caught.value)
    assert ", ".join(bench.BENCHMARKS) in str(caught.value)


def test_names() -> None:
    assert bench.choose([]) == list(bench.BENCHMARKS)
    assert bench.choose(["aec", "engine", "aec"]) == ["aec", "engine"]


def test_where_json_cannot_go_is_said_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "measure", lambda *_: pytest.fail("measured all the same"))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        bench.main(["memory"], tmp_path / "nowhere" / "bench.json")
    with pytest.raises(IsADirectoryError):
        bench.main(["memory"], tmp_path)


def test_what_is_measured_is_shown_when_the_rest_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def measure(name: str, scale: Scale) -> list[Result]:
        if name == "aec":
            raise KeyboardInterrupt
        return [Result("memory.game", 448.0, "bytes")]

    monkeypatch.setattr(bench, "measure", measure)
    output = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        bench.main(["memory", "aec"], tmp_path / "bench.json", Console(file=output), TINY)
    assert "448 bytes" in output.getvalue()
    assert not list(tmp_path.iterdir())


# --- numbers ----------------------------------------------------------------------------------------------------------


def test_pairs_alternate_and_medians_are_taken() -> None:
    calls: list[str] = []

    def side(name: str, numbers: list[float]) -> Any:
        def measure() -> float:
            calls.append(name)
            return numbers.pop(0)

        return measure

    result = compare("x", "s", side("a", [2.0, 9.0, 4.0]), "b", side("b", [1.0, 3.0, 1.0]), 3)
    assert "".join(calls) == "abbaab"
    assert (result.value, result.baseline, result.ratio, result.low, result.high) == (4.0, 1.0, 3.0, 2.0, 4.0)
    alone = compare("x", "s", side("a", [2.0, 9.0, 4.0]), "nothing", None, 3)
    assert (alone.value, alone.baseline, alone.ratio, alone.low, alone.high) == (4.0, None, None, None, None)


def test_rate_leaves_out_the_first() -> None:
    pieces = iter([(1000.0, 0.5), (1.0, 0.5), (3.0, 0.5), (1000.0, 0.5)])
    assert rate(lambda: next(pieces), 1.0)() == 4.0


@pytest.mark.parametrize(
    ("bar", "value", "ratio", "met"),
    [
        (None, 5.0, 5.0, None),
        (Bar("ratio", "least", 8), 1.0, 8.0, True),
        (Bar("ratio", "least", 8), 9.0, 7.9, False),
        (Bar("ratio", "least", 8), 9.0, None, None),
        (Bar("ratio", "most", 2.6), 9.0, 2.6, True),
        (Bar("value", "most", 512), 512.0, None, True),
        (Bar("value", "most", 512), 513.0, 1.0, False),
        (Bar("value", "most", 512), None, None, None),
    ],
)
def test_bars(bar: Bar | None, value: float | None, ratio: float | None, met: bool | None) -> None:
    result = Result("x", value, "bytes", "", 1.0, ratio, bar=bar)
    assert result.met is met
    assert as_json([result])["results"][0]["met"] is met


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "bytes", "-"),
        (448.0, "bytes", "448 bytes"),
        (1035.2, "MB", "1,035 MB"),
        (23_710_000.0, "cards/s", "23.7 M cards/s"),
        (999.0, "steps/s", "999 steps/s"),
        (134_000.0, "steps/s", "134 k steps/s"),
        (1.4e-7, "s/turn", "140 ns/turn"),
        (0.289, "s", "289 ms"),
        (9.58, "s", "9.58 s"),
        (0.0, "s", "0.00 s"),
    ],
)
def test_quantities(value: float | None, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.456, "0.46"), (9.994, "9.99"), (9.996, "10.0"), (99.94, "99.9"), (99.96, "100"), (12345.6, "12,346")],
)
def test_numbers(value: float | None, text: str) -> None:
    assert number(value) == text


# --- whole ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_processes_of_their_own() -> None:
    results = {r.name: r for r in [*bench.measure("training", TINY), *bench.measure("startup", Scale(starts=1))]}
    assert list(results) == [*RESULTS["training"], "startup.import", "startup.first_game", "startup.first_game_cpu"]
    memory, first = results["training.memory"], results["startup.first_game"]
    assert memory.value is None or memory.value > 50
    assert first.value is not None
    assert first.baseline is not None  # the second process, which finds what the first has compiled
    assert (first.met is None) == (first.bar is None)
