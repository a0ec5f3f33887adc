"""`sixnimmt analyze`: positions from everywhere, one answer; and what cannot be a position."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from sixnimmt_env import agents, traces
from sixnimmt_env.games import sixnimmt
from training.cli import main

FEW = ("--agent", "monte_carlo:rollouts=50")
HAND = ("--hand", "3,17,40", "--rows", "5", "20,22", "60", "80,81,82,83,84")
POSITION: dict[str, Any] = {"hand": [3, 17, 40], "rows": [[5], [20, 22], [60], [80, 81, 82, 83, 84]]}


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main(["analyze", *FEW, *arguments]) == status
    out, err = capsys.readouterr()
    return err if status else out


def test_the_same_position_is_the_same_answer(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "position.json"
    path.write_text(json.dumps(POSITION))
    by_options = said(capsys, *HAND)
    assert said(capsys, str(path)) == by_options
    assert by_options != said(capsys, *HAND, "--seed", "1")
    prospects = agents.analyze(agents.make(FEW[1]), sixnimmt.table_view(**POSITION))
    lines = [line for line in by_options.splitlines() if line.strip().startswith("card ")]
    assert [line.split()[1] for line in lines] == [p.name.split()[1] for p in prospects]
    assert [line.split()[2] for line in lines] == [f"{p.cost:.2f}" for p in prospects]
    assert sixnimmt.GAME.board(sixnimmt.table_view(**POSITION)) in by_options


def test_a_choice_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "--hand", "17,40", *HAND[2:], "--revealed", "0:3,1:15,2:90,3:7")
    assert "player_0 takes a row for 3" in out
    assert all(f"  row {row} " in out for row in range(4))


def test_a_moment_of_a_match(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    trace = traces.record(sixnimmt.GAME, sixnimmt.Rules(num_players=3), [agents.make("random")], seed=2)
    trace.save(path)
    number = next(step.number for step in trace.steps() if step.event["event"] == "picked" and step.event["seat"] == 1)
    out = said(capsys, str(path), "--event", str(number), "--seat", "1")
    assert sixnimmt.GAME.board(trace.step(number).view_before(1)) in out


def test_json_and_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table, picture = tmp_path / "a.json", tmp_path / "a.png"
    said(capsys, *HAND, "--json", str(table), "--plot", str(picture))
    told = json.loads(table.read_text())
    assert told["agent"] == FEW[1]
    assert [set(action) for action in told["actions"]] == [{"action", "name", "playouts", "mean_heads", "se", "chances"}] * 3
    with Image.open(picture) as image:
        assert image.format == "PNG"


def test_a_moment_without_a_decision(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    traces.record(sixnimmt.GAME, sixnimmt.Rules(num_players=2), [agents.make("greedy")]).save(path)
    assert "--event 0: seat 1 has nothing to decide" in said(capsys, str(path), "--event", "0", "--seat", "1", status=2)


BAD: list[tuple[tuple[str, ...], str]] = [
    ((), "give a position"),
    (("x.json", *HAND), "not both"),
    (("--hand", "3"), "needs both --hand and --rows"),
    (("--hand", "3,x", *HAND[2:]), "'x' is no card"),
    (("--hand", "3", "--rows", "5,4", "6"), "[5, 4] is not ascending"),
    (("--hand", "3", "--rows", "5", "--revealed", "3"), "'3' must be SEAT:CARD"),
    (("nothing.json",), "nothing.json: No such file"),
    ((*HAND, "--agent", "greedy"), "does not search"),
    ((*HAND, "--agent", "monte_carlo:rollouts=0"), "rollouts=0 must be a whole number from 1"),
    ((*HAND, "--event", "3"), "--event is a moment of a recorded match"),
    ((*HAND, "--plot", "/nowhere/a.png"), "there is no folder"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(arguments[:3]) for arguments, _ in BAD])
def test_what_cannot_be_done_is_refused(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    assert message in said(capsys, *arguments, status=2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", "a position is an object"),
        ("{", "no JSON"),
        ("[" * 100_000, "too deeply nested"),
        ('{"hand": [3]}', "rows is missing"),
        ('{"hand": [3], "rows": [[5]], "cards": 1}', "'cards' is unknown"),
        ('{"hand": [3], "rows": 5}', "rows=5 must be lists of cards"),
        ('{"hand": [3], "rows": [[5]], "revealed": {"a": 1}}', "must name a card for each seat"),
        ('{"hand": [3], "rows": [[5]], "num_players": "x"}', "num_players"),
    ],
)
def test_what_is_no_position_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "position.json"
    path.write_text(content)
    said_so = said(capsys, str(path), status=2)
    assert message in said_so
    assert str(path) in said_so
