"""`sixnimmt watch`: what is shown of a match, to whom, and the pictures that are kept of it."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageSequence

from sixnimmt_env import agents, traces
from sixnimmt_env.agents import Agent
from sixnimmt_env.games.sixnimmt import GAME, Rules
from training import watch
from training.cli import main
from training.commands.common import REFUSED
from training.watch import Moment, film, kept, moments, seating, sums

SHORT = Rules(num_players=3, hand_size=3)


def played(rules: Rules = SHORT, seed: int = 4, hidden: int | None = None, who: str = "random") -> list[Moment]:
    players = [agents.make(who, seed=seat) for seat in range(rules.num_players)]
    return list(moments(GAME, GAME.new_states(rules, 1, seed), players, hidden))


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> tuple[str, str]:
    assert main(["watch", *arguments]) == status
    return tuple(capsys.readouterr())


# --- moments -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deck", ["standard", "logic"])
def test_every_moment_is_new_or_has_something_to_tell(deck: Any) -> None:
    shown = played(Rules(num_players=3, deck=deck, hand_size=3, rounds=2))
    boards = [GAME.board(moment.view) for moment in shown]
    assert all(board != before or moment.words for moment, board, before in zip(shown, boards[1:], boards, strict=False))
    told = "\n".join(moment.words for moment in shown)
    assert told.count("turn ") == 6
    assert len(re.findall(r"goes to|starts it anew", told)) == 18
    assert told.count("is over") == 3
    assert "face down" not in told
    assert told.count("drafts") == (20 if deck == "logic" else 0), "nine cards a round, and who is first"


def test_spectators_see_all_hands_and_a_seat_its_own() -> None:
    for moment in played():
        assert moment.view["open"] == 1
        assert moment.view["deciding"] == 0
    own = played(hidden=1)
    assert {(int(moment.view["open"]), int(moment.view["seat"])) for moment in own} == {(0, 1)}
    assert not any(moment.view["hands"].any() for moment in own)
    told = [moment.words for moment in own if "face down" in moment.words]
    assert len(told) == 3
    assert all(words.startswith("player_1 ") for words in told), "its own picks and nobody else's"


def test_the_same_seed_is_the_same_match() -> None:
    one, other, third = played(), played(), played(seed=5)
    assert [moment.words for moment in one] == [moment.words for moment in other] != [moment.words for moment in third]


class Wrong(Agent):
    """Plays what it must not."""

    def _act(self, views: Any) -> Any:
        return np.full(len(views), 110)


def test_an_illegal_action_is_said_to_be_the_agents() -> None:
    states = GAME.new_states(SHORT, 1, 0)
    with pytest.raises(watch.UnlawfulError, match=r"^agent 'mine': action 110 .* is not legal for seat 0"):
        list(moments(GAME, states, [Wrong(GAME, "mine")] * 3))


def test_who_sits_where_and_who_wins() -> None:
    players = [agents.make(name) for name in ("greedy", "random", "greedy")]
    assert seating(players) == "player_0, player_2: greedy; player_1: random"
    assert list(sums([7, 12, 7], players)) == ["player_0 (greedy)   7  wins", "player_1 (random)  12", "player_2 (greedy)   7  wins"]


# --- animated pictures -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", watch.FORMATS)
def test_a_film_has_a_frame_for_every_new_picture(kind: str) -> None:
    views = [moment.view for moment in played(Rules(num_players=2, hand_size=2))]
    views = [*views[:2], views[1], *views[2:], views[-1]]
    drawn: list[int] = []
    image = Image.open(io.BytesIO(film(kind, GAME, views, 5, drawn.append)))
    pictures = [GAME.picture(view) for view in views]
    new = [pictures[0], *(now for now, before in zip(pictures[1:], pictures, strict=False) if not np.array_equal(now, before))]
    assert sum(drawn) == len(views)
    assert len(new) < len(views)
    assert (image.format, image.n_frames, image.size) == (kind[1:].upper(), len(new), (1280, 688))
    times = []
    for frame, expected in zip(ImageSequence.Iterator(image), new, strict=True):
        shown = np.asarray(frame.convert("RGB")).astype(int)
        assert np.abs(shown - expected).mean() < 1.0
        times.append(frame.info.get("duration"))
    assert times[0] == 200
    if kind != ".webp":  # whose frames say when they end
        assert 400 in times
        assert times[-1] == 3000


def test_only_so_many_moments_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = played()
    views: list[Any] = []
    monkeypatch.setattr(watch, "MOST_FRAMES", 5)
    assert list(kept(shown, views)) == shown
    assert [GAME.board(view) for view in views] == [GAME.board(moment.view) for moment in shown[:5]]


# --- the command -------------------------------------------------------------------------------------------------------


def test_without_a_terminal_every_event_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, "greedy", "random", "lowest", "--seed", "8")
    lines = out.splitlines()
    assert err == ""
    assert "\x1b" not in out
    assert lines[0] == "player_0: greedy; player_1: random; player_2: lowest"
    assert lines[1].startswith("round 1 is dealt")
    assert sum(line.startswith("turn ") for line in lines) == 10
    assert sum(line.startswith("6 nimmt!") for line in lines) == 1, "the board at the end"
    totals = dict(re.findall(r"^(player_\d) \(\w+\) +(\d+)(?:  wins)?$", out, re.MULTILINE))
    board = dict(re.findall(r"^   (player_\d) +\d+ +(\d+) ", out, re.MULTILINE))
    assert totals == board
    assert len(totals) == 3


def test_on_a_terminal_the_board_is_drawn_in_place(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setenv("TERM", "xterm")
    out, _ = said(capsys, "greedy", "--players", "2")
    boards = out.split("\x1b[H")
    assert len(boards) > 40
    assert all("player_0, player_1: greedy" in board for board in boards[1:])


@pytest.mark.parametrize(
    ("options", "pieces"),
    [
        (["--rounds", "2"], ["after round 2 of 2", "(standard deck)"]),
        (["--target", "5", "--deck", "tactical"], ["(tactical deck, match to 5)"]),
        (["--professional", "--players", "5"], ["(standard deck, professional)", "player_4 (random)"]),
        (["--deck", "logic", "--hidden", "3"], ["(logic deck)", "drafts"]),
        (["--hidden", "2"], ["hand of player_2:  -", "player_2 lays"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_options(capsys: pytest.CaptureFixture[str], options: list[str], pieces: list[str]) -> None:
    out, _ = said(capsys, "random", *options)
    for piece in pieces:
        assert piece in out


def test_a_picture_is_saved_and_said_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "round.GIF"
    out, _ = said(capsys, "greedy", "random", "--quiet", "--save", str(file))
    assert re.fullmatch(rf"player_0 .*\nplayer_1 .*\nsaved as {re.escape(str(file))} \(\d\.\d MB\)\n", out)
    assert os.listdir(tmp_path) == ["round.GIF"]
    with Image.open(file) as image:
        assert image.format == "GIF"
        assert 40 < image.n_frames < 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody"], "agent 'nobody' is unknown"),
        (["greedy", "greedy", "--players", "4"], "2 agents for --players 4: give one for all seats, or one a seat"),
        (["greedy", "--players", "11"], "--players 11 must be a whole number from 2 to 10"),
        (["greedy"] * 11, "--players 11 must be a whole number from 2 to 10"),
        (["greedy", "--rounds", "0"], "--rounds 0 must be a whole number from 1"),
        (["greedy", "--target", "0"], "--target 0 must be a whole number from 1"),
        (["greedy", "--hidden", "4"], "--hidden 4 is no seat: there are 0 to 3"),
        (["greedy", "--hidden", "-1"], "--hidden -1 is no seat: there are 0 to 3"),
        (["greedy", "--speed", "0"], "--speed 0 must be more than 0 and at most 100"),
        (["greedy", "--speed", "nan"], "--speed nan must be more than 0 and at most 100"),
        (["greedy", "--seed", "-1"], "--seed -1 must be a whole number from 0 to"),
        (["greedy", "--save", "x.mp4"], "--save x.mp4 must end in .gif, .png or .webp"),
        (["greedy", "--save", "nowhere/x.gif"], "there is no folder"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_refused(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    out, err = said(capsys, *arguments, status=REFUSED)
    assert out == ""
    assert err.startswith("sixnimmt: ")
    assert message in err
    assert err.count("\n") == 1


def test_rounds_and_a_target_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["watch", "greedy", "--rounds", "1", "--target", "66"])
    assert left.value.code == 2
    assert "not allowed with" in capsys.readouterr().err


def test_a_match_that_was_watched_can_be_replayed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    out, _ = said(capsys, "greedy", "random", "uniform", "--quiet", "--seed", "3", "--deck", "logic", "--trace", str(path))
    assert f"recorded in {path}" in out
    trace = traces.load(path)
    assert trace.outcome == "finished"
    assert trace.players == ("greedy", "random", "uniform")
    for seat, total in enumerate(trace.totals):
        assert re.search(rf"player_{seat} \(\w+\) +{total}\b", out)
    assert main(["replay", str(path), "--check"]) == 0
