"""The command line: help, results, exit statuses, and what is said when something cannot be done."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from sixnimmt_env import agents
from sixnimmt_env.arena import Strength
from sixnimmt_env.core.seeding import MAX_SEED
from sixnimmt_env.games.sixnimmt import GAME, Rules
from tests.training.small import DRAFT, PLAIN, network
from training import cli, evaluate, policy
from training.cli import main
from training.commands import agents as agents_command
from training.commands import common

REPOSITORY = Path(__file__).parents[2]
SMOKE = REPOSITORY / "configs" / "smoke.yaml"

# command: what its help must mention
HELP: dict[str, list[str]] = {
    "": [
        "train",
        "evaluate",
        "tournament",
        "sweep",
        "bench",
        "plot",
        "export",
        "analyze",
        "exploit",
        "watch",
        "replay",
        "agents",
        "rules",
        "--version",
        "first steps:",
        "sixnimmt train configs/quickstart.yaml",
    ],
    "train": ["CONFIG.yaml", "--resume DIR", "--set KEY.PATH=VALUE", "--out DIR", "--print-config", "Ctrl-C"],
    "evaluate": ["AGENT", "--against AGENT", "--players N", "--deck", "--professional", "--rounds N", "--seed S", "--json FILE", "20000"],
    "tournament": [
        *(
            "AGENT",
            "--format",
            "--players N",
            "--deck",
            "--professional",
            "--target HEADS",
            "--deals N",
            "--seats K",
            "--seating",
            "--seed S",
        ),
        *(
            "--seconds-limit",
            "--until-significant",
            "--workers N",
            "--set KEY.PATH=VALUE",
            "--out DIR",
            "--resume DIR",
            "--report DIR",
            "--json FILE",
        ),
        *("--print-config", "NAME=AGENT", "CONFIG.yaml", "Ctrl-C"),
    ],
    "sweep": ["CONFIG.yaml", "--set KEY.PATH=VALUE", "--out DIR", "--dry-run", "Ctrl-C", "configs/sweeps/defaults.yaml"],
    "plot": ["RUN", "--out FILE.png", "--over", "decisions", "minutes", "FILE.svg"],
    "export": ["POLICY", "FILE.onnx", "onnxruntime"],
    "bench": ["--list", "NAME", "--json FILE"],
    "analyze": [
        *(
            "POSITION.json",
            "--hand CARDS",
            "--rows CARDS",
            "--agent AGENT",
            "--players N",
            "--seat SEAT",
            "--seen CARDS",
            "--deck",
            "--seed S",
        ),
        *("--revealed SEAT:CARD", "--professional", "--hand-size N", "--event N", "--plot FILE.png", "--json FILE", "FILE.jsonl"),
    ],
    "exploit": [
        *("AGENT", "--minutes M", "--players N", "--deck", "--professional", "--rounds N", "--games N", "--seed S", "--out DIR"),
        *("--pretrained POLICY", "--exact", "--small GAME", "--json FILE"),
    ],
    "watch": [
        *("AGENT", "--players N", "--deck", "--professional", "--rounds N", "--target HEADS", "--seed S", "--speed X", "--hidden SEAT"),
        *("--save FILE", "--trace FILE", "--quiet", "one a seat", "FILE.webp"),
    ],
    "replay": ["FILE.jsonl", "--explain", "--board", "--step", "--from N", "--check"],
    "agents": ["AGENT"],
    "rules": ["CONFIG.yaml", "--players N", "--deck", "--professional", "--rounds N", "--target HEADS"],
}


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> tuple[str, str]:
    """What the command writes to standard output and to standard error."""
    assert main(arguments) == status
    return tuple(capsys.readouterr())


@pytest.mark.parametrize(("command", "pieces"), HELP.items(), ids=HELP.keys())
def test_help(capsys: pytest.CaptureFixture[str], command: str, pieces: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([*command.split(), "--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    for piece in pieces:
        assert piece in text
    assert max(map(len, text.splitlines())) <= 80


def test_help_knows_every_command() -> None:
    commands = next(action for action in cli._parser()._actions if action.choices)
    assert set(commands.choices) == set(HELP) - {""}
    assert {path.stem for path in Path(common.__file__).parent.glob("*.py")} - {"__init__", "common"} == set(cli.COMMANDS)
    for name, parser in commands.choices.items():
        for action in parser._actions:
            words = action.option_strings[:1] or [action.metavar]
            assert action.dest == "help" or any(words[0] in piece for piece in HELP[name]), (name, words)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert re.fullmatch(r"sixnimmt \d+\.\d+\.\d+\n", capsys.readouterr().out)


# --- agents and rules ----------------------------------------------------------------------------------------------------


def test_agents(capsys: pytest.CaptureFixture[str]) -> None:
    text, _ = said(capsys, "agents")
    lines = text.splitlines()
    assert [line.split()[0] for line in lines[: len(agents.names())]] == list(agents.names())
    assert all(idea in line for idea, line in zip(agents.names().values(), lines, strict=False)), "one line each, whole, for other programs"


@pytest.mark.parametrize("command", ["agents", "rules"])
def test_broken_to_the_width_of_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    whole, _ = said(capsys, command)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    text, _ = said(capsys, command)
    assert max(map(len, whole.splitlines())) > 80 >= max(map(len, text.splitlines()))
    assert text.split() == whole.split()
    if command == "agents":
        width = max(map(len, agents.names())) + 2
        names = [line[:width].strip() for line in text.partition("\n\n")[0].splitlines()]
        assert [name for name in names if name] == list(agents.names()), "the names stand alone in their column"


# a configuration, options: the rules in force
IN_FORCE: list[tuple[dict[str, Any], str, Rules]] = [
    ({}, "", Rules()),
    ({}, "--players 6 --deck tactical --professional --rounds 3", Rules(num_players=6, deck="tactical", professional=True, rounds=3)),
    ({}, "--target 66", Rules(rounds=None, target=66)),
    ({"num_players": 3, "deck": "logic", "rounds": None, "target": 50}, "", Rules(num_players=3, deck="logic", rounds=None, target=50)),
    ({"num_players": 2, "deck_size": 24, "rounds": 2}, "--rounds 4", Rules(num_players=2, deck_size=24, rounds=4)),
    ({"num_players": 2, "deck_size": 24}, "--players 5", Rules(num_players=5)),
    ({"professional": True, "rounds": 2}, "--no-professional --target 9", Rules(rounds=None, target=9)),
    ({"rounds": None, "target": 50, "exceed_target": True}, "--target 9", Rules(rounds=None, target=9, exceed_target=True)),
    ({"rounds": None, "target": 50, "exceed_target": True}, "--rounds 9", Rules(rounds=9)),
]


@pytest.mark.parametrize(("config", "options", "rules"), IN_FORCE)
def test_rules(capsys: pytest.CaptureFixture[str], tmp_path: Path, config: dict[str, Any], options: str, rules: Rules) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(json.dumps({"rules": config}))
    text, _ = said(capsys, "rules", *([str(path)] if config else []), *options.split())
    assert text == f"{rules.describe()}\n{rules.describe_heads()}\n"


def test_print_config(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text, _ = said(capsys, "train", str(SMOKE), "--set", "seed=7", "--print-config")
    assert "seed: 7\n" in text
    assert os.listdir(tmp_path) == []
    (tmp_path / "again.yaml").write_text(text)
    assert said(capsys, "train", "again.yaml", "--print-config")[0] == text


# --- evaluate ------------------------------------------------------------------------------------------------------------


def results(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str) -> dict[str, Any]:
    file = folder / "results.json"
    said(capsys, "evaluate", *arguments, "--json", str(file))
    return json.loads(file.read_text())


def test_evaluate_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = results(capsys, tmp_path, "greedy", "--against", "random,highest", "--rounds", "401", "--players", "3", "--seed", "5")
    assert found.keys() == {"agent", "seed", "results"}
    assert (found["agent"], found["seed"]) == ("greedy", 5)
    assert [result["against"] for result in found["results"]] == ["random", "highest"]
    kinds = {"against": str, "players": int, "rounds": int, "mean_heads": float, "se": float, "win_share": float, "illegal": int}
    for result in found["results"]:
        assert {name: type(result[name]) for name in kinds} == kinds
        assert (result["players"], result["rounds"], result["illegal"]) == (3, 402, 0), "whole deals: every one from every seat"
        assert 0 < result["mean_heads"] < 40
        assert 0 < result["se"] < 2
        assert 0 <= result["win_share"] <= 1
    again = results(capsys, tmp_path, "greedy", "--against", "random,highest", "--rounds", "401", "--players", "3", "--seed", "5")
    other = results(capsys, tmp_path, "greedy", "--against", "random,highest", "--rounds", "401", "--players", "3", "--seed", "6")
    means = [[result["mean_heads"] for result in each["results"]] for each in (found, again, other)]
    assert means[0] == means[1] != means[2]


def test_a_single_deal_has_no_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = results(capsys, tmp_path, "greedy", "--against", "random", "--rounds", "1")["results"][0]
    assert (found["rounds"], found["se"], found["win_share_se"]) == (4, None, None)
    assert "NaN" not in (tmp_path / "results.json").read_text(), "that is no JSON"
    assert "± " in said(capsys, "evaluate", "greedy", "--against", "random", "--rounds", "1")[0]


def test_equals_have_equal_shares(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = results(capsys, tmp_path, "random", "--against", "random", "--rounds", "4000", "--players", "5")["results"][0]
    assert abs(found["win_share"] - 0.2) < 5 * found["win_share_se"]


def test_evaluate_table(capsys: pytest.CaptureFixture[str]) -> None:
    text, _ = said(capsys, "evaluate", "greedy", "--against", "random,uniform,lowest", "--rounds", "40")
    title, header, rule, *rows, caption = text.splitlines()
    assert title == "greedy: 4 players, 40 matches against each, every deal from every seat"
    assert set(rule) == {"─"}
    assert [row.split()[0] for row in rows] == ["random", "uniform", "lowest"]
    assert re.split(r"\s{2,}", header) == ["against", "heads a match", "share of wins", "illegal", "a decision"]
    assert caption == "mean ± standard error; fewer heads are better; a fair share of wins is 25.0 %"
    assert max(map(len, text.splitlines())) <= 80
    for sign in ("±", "%", "µs"):
        assert len({tuple(match.start() for match in re.finditer(sign, row)) for row in rows}) == 1, f"{sign} stands in line"


@pytest.mark.parametrize("heads", [0.0, 9.994, 55.5, 123.45])
def test_numbers_of_any_size_fit(heads: float, capsys: pytest.CaptureFixture[str]) -> None:
    row = Strength("monte_carlo:rollouts=100", 10, 10**9, heads, heads / 9, 1.0, 0.0, 10**6, 0.003)
    other = Strength("x", 10, 10**9, 1.0, float("nan"), 0.0, 0.00004, 0, 1e-7)
    evaluate.show([row, other], "policy:runs/quickstart", Console(width=80))
    text = capsys.readouterr().out
    assert len(text.splitlines()) == 6, f"nothing is wrapped:\n{text}"
    assert max(map(len, text.splitlines()[1:])) <= 80
    assert f"{heads:.2f} ± {heads / 9:.2f}" in text
    if heads < 90:
        assert len({line.index("±") for line in text.splitlines()[3:5]}) == 1, "also beside a single deal, which has no error"
    assert "3,000.0 µs" in text


def test_long_names_are_whole(capsys: pytest.CaptureFixture[str]) -> None:
    name = "policy:" + "/".join(f"folder{i}" for i in range(12)) + "[bold]"
    evaluate.show([Strength(name, 4, 4, 1.0, 1.0, 1.0, 1.0, 0, 0.0)], name, Console(width=80))
    text = capsys.readouterr().out
    assert text.startswith(f"{name}: 4 players")
    assert max(map(len, text.splitlines()[1:])) <= 80
    assert "".join(line.split(" ")[0] for line in text.splitlines()[3:-1]) == name


# trained on, asked for: what is played
EVALUATED: list[tuple[Rules, list[str], Rules]] = [
    (Rules(num_players=3), [], Rules(num_players=3)),
    (Rules(num_players=3), ["--players", "5"], Rules(num_players=5)),
    (Rules(professional=True), [], Rules(professional=True)),
    (Rules(professional=True), ["--no-professional"], Rules()),
    (Rules(rounds=None, target=66, exceed_target=True), [], Rules()),
    (Rules(num_players=2, hand_size=5, num_rows=2, deck_size=40), [], Rules(num_players=2, hand_size=5, num_rows=2, deck_size=40)),
    (Rules(num_players=2, deck_size=24), ["--players", "6"], Rules(num_players=6)),
    (Rules(deck="tactical", deck_size=44), ["--deck", "logic"], Rules(deck="logic")),
]


@pytest.mark.parametrize(("trained", "asked", "played"), EVALUATED)
def test_variant_evaluated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, trained: Rules, asked: list[str], played: Rules
) -> None:
    policy.save(tmp_path, network(DRAFT), GAME, trained, {})
    rules: list[Rules] = []
    real = evaluate.evaluate
    monkeypatch.setattr(evaluate, "evaluate", lambda agent, variant, *rest: rules.append(variant) or real(agent, variant, *rest))
    text, _ = said(capsys, "evaluate", str(tmp_path), "--against", "greedy", "--rounds", "1", *asked)
    assert rules == [played]
    assert f"{played.num_players} players" in text


VARIANT = "was trained on another variant or number of players, which it plays better than this."
LONGER = "was trained on longer matches; single rounds are evaluated here."


def test_who_plays_another_variant(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    same, three = Rules(deck_size=104), Rules(num_players=3, rounds=2)  # the same: a size that goes without saying
    for name, rules in (("same", same), ("three", three), ("professional", Rules(professional=True)), ("long", Rules(rounds=2))):
        policy.save(tmp_path / name, network(PLAIN), GAME, rules, {})

    def notes(agent: str, against: str, *options: str) -> list[str]:
        text, _ = said(capsys, "evaluate", agent, "--against", against, "--rounds", "1", *options)
        return [line for line in text.splitlines() if line.startswith("Note: ")]

    assert notes("greedy", "policy:same,random,policy:long") == []
    assert notes("policy:same", "policy:three,greedy,policy:professional") == [
        f"Note: policy:three {VARIANT}",
        f"Note: policy:professional {VARIANT}",
    ]
    assert notes("policy:long", "policy:long") == [f"Note: policy:long {LONGER}"]
    assert notes("policy:three", "policy:three") == [f"Note: policy:three {LONGER}"]
    assert notes("policy:three", "policy:three,policy:same", "--deck", "tactical") == [
        f"Note: policy:three {VARIANT}",
        f"Note: policy:same {VARIANT}",
    ]


def test_agents_with_options_and_paths(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert common.specs("random,a:b=1,c=2,greedy,policy:runs/x") == ["random", "a:b=1,c=2", "greedy", "policy:runs/x"]
    policy.save(tmp_path / "random", network(PLAIN), GAME, Rules(), {})
    monkeypatch.chdir(tmp_path)
    found = results(capsys, tmp_path, "random/policy.safetensors", "--against", "random,policy:random", "--rounds", "8")
    assert found["agent"] == "policy:random/policy.safetensors"
    assert [result["against"] for result in found["results"]] == ["random", "policy:random"], (
        "a name stays a name beside a folder of that name"
    )


# --- what cannot be done -------------------------------------------------------------------------------------------------

# the command, with {tmp} for a folder that holds a file, a folder and a damaged policy: pieces of the message
REFUSED: dict[str, list[str]] = {
    "evaluate gredy --against random": ["agent 'gredy' is unknown: did you mean 'greedy'? there are random"],
    "evaluate greedy --against random,lowset": ["agent 'lowset' is unknown: did you mean 'lowest'?"],
    "evaluate greedy --against random,": ["agent '' is unknown: there are random"],
    "evaluate greedy:x=1 --against random": ["'greedy' takes nothing after the colon"],
    "evaluate policy --against random": ["needs a path: policy:runs/quickstart"],
    "evaluate policy:nowhere --against random": ["sixnimmt: nowhere: there is no run folder or policy file of that path; `sixnimmt train`"],
    "evaluate nowhere.safetensors --against random": ["nowhere.safetensors: there is no run folder or policy file of that path"],
    "evaluate {tmp}/damagd --against random": ["that path; did you mean {tmp}/damaged? `sixnimmt train` makes them"],
    "evaluate {tmp}/damaged/polcy.json --against random": ["that path; did you mean {tmp}/damaged/policy.json? `"],
    "evaluate greedy --against {tmp}/foldr": ["/foldr: there is no run folder or policy file of that path; `sixnimmt train` makes them"],
    "evaluate {tmp}/folder --against random": ["/folder/policy.json: does not exist"],
    "evaluate {tmp}/damaged --against random": ["/damaged/policy.safetensors: damaged"],
    "evaluate greedy --against random --players 11": ["--players 11 must be a whole number from 2 to 10"],
    "evaluate greedy --against random --players 1": ["--players 1 must be"],
    "evaluate greedy --against random --rounds 0": ["--rounds 0 must be from 1 to 10,000,000"],
    "evaluate greedy --against random --rounds -5": ["--rounds -5 must be from 1 to"],
    "evaluate greedy --against random --seed -1": ["--seed -1 must be a whole number from 0 to"],
    f"evaluate greedy --against random --seed {MAX_SEED + 1}": [f"--seed {MAX_SEED + 1} must be"],
    "evaluate greedy --against random --json {tmp}/folder": ["/folder: is a folder; name a file"],
    "evaluate greedy --against random --json {tmp}/no/x.json": ["/no/x.json: there is no folder {tmp}/no; make it first"],
    "evaluate greedy --against random --json {tmp}/file/x.json": ["there is no folder {tmp}/file"],
    "train {tmp}/nowhere.yaml": ["/nowhere.yaml: cannot be read: No such file or directory"],
    "train {tmp}/folder": ["/folder: cannot be read: "],
    "train {tmp}/bad.yaml": ["bad.yaml:1: rules: num_players=11", "bad.yaml:3: training.game"],
    "train {tmp}/bad.yaml --print-config": ["bad.yaml:1: rules: num_players=11"],
    "train {tmp}/good.yaml --set training.frames=x": ["--set training.frames=x: must be a whole number"],
    "train {tmp}/good.yaml --out {tmp}": [": is in use; name another folder with --out, or delete it"],
    "train {tmp}/good.yaml --out {tmp}/file": ["/file: is in use"],
    "train {tmp}/good.yaml --out {tmp}/file/run": ["/file/run: cannot be made: Not a directory"],
    "rules {tmp}/bad.yaml": ["bad.yaml:1: rules: num_players=11"],
    "rules {tmp}/nowhere.yaml": ["/nowhere.yaml: cannot be read"],
    "rules --players 11": ["--players 11 must be a whole number from 2 to 10"],
    "rules {tmp}/good.yaml --rounds 0": ["--rounds 0 must be a whole number from 1 to"],
    "rules --target 0": ["--target 0 must be a whole number from 1 to"],
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "bad.yaml").write_text("rules: {num_players: 11}\ntraining:\n  game: 3\n")
    (tmp_path / "good.yaml").write_text("seed: 1\n")
    policy.save(tmp_path / "damaged", network(PLAIN), GAME, Rules(), {})
    os.truncate(tmp_path / "damaged" / "policy.safetensors", 99)
    return tmp_path


@pytest.mark.parametrize("command", REFUSED)
def test_refused(place: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    before = sorted(place.rglob("*"))
    out, complaint = said(capsys, *(part.format(tmp=place) for part in command.split()), status=2)
    assert out == ""
    assert complaint.startswith("sixnimmt: ")
    for piece in REFUSED[command]:
        assert piece.format(tmp=place) in complaint
    assert "Traceback" not in complaint
    assert sorted(place.rglob("*")) == before


@pytest.mark.parametrize("command", ["", "fly", "evaluate greedy", "evaluate greedy --against random --rounds many", "evaluate --deck x"])
def test_wrong_usage(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(command.split())
    assert left.value.code == 2
    complaint = capsys.readouterr().err
    assert "usage: sixnimmt" in complaint
    assert "did you mean" not in complaint


@pytest.mark.parametrize(
    ("command", "ending"),
    [
        ("evalute greedy", "; did you mean evaluate?"),
        ("eval greedy", "; did you mean evaluate?"),
        ("--verson", "; --verson is unknown, did you mean --version?"),
        ("evaluate greedy --against random --rouds 5", "unrecognized arguments: --rouds 5; did you mean --rounds?"),
        ("evaluate greedy --against random --round 5 --jsn=x", "unrecognized arguments: --jsn=x; did you mean --json?"),
        ("evaluate greedy --aganst random", "required: --against; --aganst is unknown, did you mean --against?"),
        ("watch greedy -seed -5", "unrecognized arguments: -seed -5; did you mean --seed?"),
        ("agents --wings 2", "unrecognized arguments: --wings 2"),
    ],
)
def test_what_was_probably_meant(capsys: pytest.CaptureFixture[str], command: str, ending: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(command.split())
    assert left.value.code == 2
    assert capsys.readouterr().err.endswith(f"{ending}\n")


def test_statuses(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(error: BaseException) -> None:
        def raise_(options: object) -> int:
            raise error

        monkeypatch.setattr(agents_command, "run", raise_)

    fail(KeyboardInterrupt())
    assert said(capsys, "agents", status=130)[1] == "sixnimmt: stopped\n"
    fail(MemoryError("Unable to allocate 1 TiB"))
    assert "not enough memory: Unable to allocate 1 TiB; for a training, lower training.games" in said(capsys, "agents", status=2)[1]
    fail(OSError(28, "No space left on device"))
    assert said(capsys, "agents", status=2)[1] == "sixnimmt: No space left on device\n"
    fail(OSError(28, "No space left on device", "/x"))
    assert said(capsys, "agents", status=2)[1] == "sixnimmt: /x: No space left on device\n"
    for fault in (ZeroDivisionError(), ValueError("ours"), ModuleNotFoundError("ours", name="training.nowhere")):
        fail(fault)
        with pytest.raises(type(fault)):
            main(["agents"])


# --- in a process of its own ---------------------------------------------------------------------------------------------


def python(code: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, encoding="utf-8", timeout=300, check=False, **options)


def test_a_fault_of_ours_has_a_traceback_and_status_1() -> None:
    broken = "from training.commands import rules; rules.run = lambda options: 1 / 0"
    done = python(f"import sys; from training import cli; {broken}; sys.argv[1:] = ['rules']; cli.run()")
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr


def test_a_reader_that_has_seen_enough() -> None:
    close = "r, w = os.pipe(); os.dup2(w, 1); os.close(r); os.close(w)"
    code = f"import os, sys; from training import cli; {close}; sys.argv[1:] = ['agents']; cli.run()"
    done = python(code, env={key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"})
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_without_our_signs() -> None:
    code = "import sys; from training import cli; sys.argv[1:] = 'evaluate greedy --against random --rounds 4'.split(); cli.run()"
    done = python(code, env={**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    assert "fewer heads are better" in done.stdout


WITHOUT_TORCH = [
    ["agents"],
    ["rules"],
    ["rules", "configs/smoke.yaml"],
    ["train", "configs/smoke.yaml", "--print-config"],
    ["train", "nowhere.yaml"],
    ["evaluate", "greedy", "--against", "random", "--rounds", "4"],
    ["evaluate", "gredy", "--against", "random"],
    ["tournament", "greedy", "random", "--print-config"],
]


def test_torch_is_left_alone() -> None:
    """It takes seconds to import."""
    code = (
        "import json, sys; from training.cli import main\nfor command in json.loads(sys.argv[1]): main(command)\nprint(sorted(sys.modules))"
    )
    done = python(code, json.dumps(WITHOUT_TORCH))
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.splitlines()[-1]
    assert "'training.cli'" in loaded
    for name in ("torch", "stable_baselines3", "matplotlib", "tensorboard"):
        assert f"'{name}'" not in loaded


BLOCKED = """
import json, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
from training.cli import main
for command in json.loads(sys.argv[2]):
    print("status", main(command), flush=True)
"""

# what is missing: (command, status, what is named as missing)
OPTIONAL = ["torch", "stable_baselines3", "sb3_contrib", "tensorboard", "matplotlib", "rich", "pydantic", "ruamel", "safetensors"]
MISSING: dict[str, list[tuple[str, int, str]]] = {
    ",".join(OPTIONAL): [
        ("agents", 0, ""),
        ("rules", 0, ""),
        ("rules configs/smoke.yaml", 2, "(pydantic|ruamel.*)"),
        ("train configs/smoke.yaml", 2, "(pydantic|ruamel.*)"),
        ("evaluate greedy --against random", 2, "rich"),
        ("tournament greedy random", 2, "(pydantic|ruamel.*|rich)"),
        ("plot runs/first --out x.png", 2, "matplotlib"),
        ("export runs/first x.onnx", 2, "torch"),
    ],
    "torch": [
        ("evaluate greedy --against random --rounds 4", 0, ""),
        ("evaluate policy:nowhere --against random", 2, "agent 'policy' needs torch, which"),
        ("train configs/smoke.yaml", 2, "torch"),
    ],
}


@pytest.mark.parametrize("missing", MISSING)
def test_optional_packages_are_missing(missing: str, tmp_path: Path) -> None:
    commands = MISSING[missing]
    done = python(BLOCKED, missing, json.dumps([command.split() for command, _, _ in commands]))
    statuses = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("status ")]
    assert statuses == [status for _, status, _ in commands], done.stderr
    complaints = [line for line in done.stderr.splitlines() if line.startswith("sixnimmt: ")]
    named = [name for _, _, name in commands if name]
    assert len(complaints) == len(named)
    for complaint, name in zip(complaints, named, strict=True):
        assert re.fullmatch(rf"sixnimmt: {name} is not installed: python -m pip install torch==2\.13\.0 'sixnimmt-env\[train\]'", complaint)
    assert "Traceback" not in done.stderr
