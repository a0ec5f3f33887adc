"""`sixnimmt replay`: a match in words, and what is said about files that hold none."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from tests.golden import FOLDER, loaded
from training.cli import main

TRACE = FOLDER / "small.jsonl"


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> tuple[str, str]:
    """What the command writes to standard output and to standard error."""
    assert main(["replay", *arguments]) == status
    return tuple(capsys.readouterr())


def events_in(text: str) -> list[tuple[int, str]]:
    """The lines that tell an event: its number and its words."""
    found = [re.fullmatch(r" *(\d+)  (\S.*)", line) for line in text.splitlines()]
    return [(int(one[1]), one[2]) for one in found if one]


@pytest.mark.parametrize("explain", [False, True])
def test_every_event_is_told(capsys: pytest.CaptureFixture[str], explain: bool) -> None:
    text, _ = said(capsys, str(TRACE), *["--explain"] * explain)
    steps = list(loaded("small").steps())
    assert events_in(text) == [(step.number, step.explain() if explain else step.tell()) for step in steps]
    assert re.findall(r"--- (.*) ---", text) == [step.heading for step in steps if step.heading]
    assert text.startswith("3 players, 4 cards each")
    assert "player_0, player_1, player_2" in text
    assert text.endswith("finished; totals: player_0 20, player_1 18, player_2 15\n")


def test_from_a_place_on_with_boards(capsys: pytest.CaptureFixture[str]) -> None:
    text, _ = said(capsys, str(TRACE), "--board", "--from", "80")
    trace = loaded("small")
    steps = list(trace.steps())[80:]
    assert [number for number, _ in events_in(text)] == [step.number for step in steps]
    boards = [step.board_before() for step in steps if "turn" in step.heading]
    assert boards
    assert all(board in text for board in [*boards, trace.step(-1).board()])


@pytest.mark.parametrize(("typed", "told"), [("", 1), ("\n", 2), ("\n\n", 3), ("q\n", 1), ("\n" * 500, 107)])
def test_step_by_step(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, typed: str, told: int) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    text, _ = said(capsys, str(TRACE), "--step")
    boards = list(loaded("small").boards())
    assert text.count("6 nimmt!") == told
    assert all(board in text for board in boards[:told])
    assert f"event {min(told, 106) - 1} of 106" in text
    assert ("finished" in text) == (told == 107)


def test_check(capsys: pytest.CaptureFixture[str]) -> None:
    text, _ = said(capsys, str(TRACE), "--check")
    assert text == f"{TRACE}: verified, 107 events of sixnimmt, 3 players, finished\n"


@pytest.mark.parametrize(
    ("content", "piece"),
    [
        (b"", ", line 1: the file is empty"),
        (b"steps: 3\n", ", line 1: this is no JSON"),
        (TRACE.read_bytes().replace(b'"heads": 2', b'"heads": 3', 1), '"heads" is 3 and must be 2'),
        (TRACE.read_bytes()[:-5], "the file was cut off here"),
    ],
)
@pytest.mark.parametrize("flags", [(), ("--check",)])
def test_a_bad_file_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes, piece: str, flags: tuple[str]) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    out, err = said(capsys, str(path), *flags, status=2)
    assert out == ""
    assert err.startswith(f"sixnimmt: {path}, line ")
    assert piece in err
    assert err.count("\n") == 1


def test_what_cannot_be_done_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for arguments, piece in [
        ([str(tmp_path / "none.jsonl")], "none.jsonl: No such file"),
        ([str(tmp_path)], "this is a folder; name a file"),
        ([str(TRACE), "--from", "107"], "--from 107 is no event: there are 0 to 106"),
        ([str(TRACE), "--from", "-1"], "--from -1 is no event"),
    ]:
        out, err = said(capsys, *arguments, status=2)
        assert out == ""
        assert piece in err
