"""What environments show: text, pictures, and a terminal that follows play; the same in every form."""

from __future__ import annotations

import copy
import io
import pickle
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from sixnimmt_env import sixnimmt_v0
from sixnimmt_env.envs import rendering
from sixnimmt_env.envs.rendering import FRAME_MODES, RENDER_MODES, Screen
from sixnimmt_env.games.sixnimmt import GAME, table_view
from tests.envs.official import render_test
from tests.envs.playing import started, walk

VIEW = table_view(hand=[3, 17, 40], rows=[[5], [20, 22], [60], [80, 81, 82, 83, 84]])
OTHER = table_view(hand=[3, 17], rows=[[5], [20, 22], [60], [80]])
WARNING, BOLD = "\x1b[1;31m", "\x1b[1m"

FORMS: dict[str, Callable[..., Any]] = {
    "aec": sixnimmt_v0.env,
    "parallel": sixnimmt_v0.parallel_env,
    "single": sixnimmt_v0.gym_env,
    "vector": sixnimmt_v0.gym_vector_env,
}


def every_frame(form: str, mode: str) -> list[Any]:
    """What `render` returns before each step of a match and after it."""
    env = FORMS[form](num_players=3, render_mode=mode, hand_size=3, illegal_action="replace")
    env.reset(seed=2)
    frames = [env.render()]
    for _ in range(9):
        if form == "aec":
            env.step(0 if env.agents and not env.terminations[env.agent_selection] else None)
        elif form == "parallel" and env.agents:
            env.step(dict.fromkeys(env.agents, 0))
        elif form == "vector":
            env.step(np.zeros(1, dtype=np.int64))
        elif form == "single" and not env._over:
            env.step(0)
        frames.append(env.render())
    return frames


@pytest.mark.parametrize("form", FORMS)
def test_every_mode_returns_its_kind(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    texts, pictures = every_frame(form, "ansi"), every_frame(form, "rgb_array")
    assert capsys.readouterr().out == ""
    if form == "vector":
        assert all(isinstance(frames, tuple) and len(frames) == 1 for frames in (*texts, *pictures))
        texts, pictures = [one for [one] in texts], [one for [one] in pictures]
    assert all(isinstance(text, str) and text.startswith("6 nimmt!") and "\x1b" not in text for text in texts)
    assert {(type(one), one.dtype.name, one.shape) for one in pictures} == {(np.ndarray, "uint8", (688, 1280, 3))}
    assert len({one.tobytes() for one in pictures}) == len(set(texts)) > 2, "one picture for each text"
    if form != "vector":
        assert every_frame(form, "human") == [None] * len(texts)
        told = capsys.readouterr().out
        assert all(text in told for text in texts)
    else:
        with pytest.raises(ValueError, match="render_mode='human' is unknown: choose one of 'ansi', 'rgb_array', None"):
            sixnimmt_v0.gym_vector_env(render_mode="human")


def test_it_is_the_table_as_the_seat_to_act_sees_it() -> None:
    env = started(3, num_players=3, render_mode="rgb_array", rounds=1, hand_size=4)
    for agent in walk(env):
        assert np.array_equal(env.render(), GAME.picture(env.view(agent)))
    assert np.array_equal(env.render(), GAME.picture(env.view("player_0")))


def test_every_game_of_a_vector_is_shown() -> None:
    env = sixnimmt_v0.gym_vector_env(num_envs=3, render_mode="ansi")
    env.reset(seed=[5, 6, 5])
    texts = env.render()
    assert texts[0] == texts[2] != texts[1]


def test_the_official_checks_of_rendering(capsys: pytest.CaptureFixture[str]) -> None:
    render_test(lambda render_mode: sixnimmt_v0.env(render_mode=render_mode))
    env = gymnasium.make("sixnimmt_env/SixNimmt-v0", illegal_action="replace", render_mode="rgb_array", hand_size=2)
    check_env(env.unwrapped)
    env.reset(seed=0)
    assert env.render().shape == (688, 1280, 3)
    vector = gymnasium.make_vec("sixnimmt_env/SixNimmt-v0", num_envs=2, render_mode="rgb_array")
    vector.reset(seed=0)
    assert [one.shape for one in vector.render()] == [(688, 1280, 3)] * 2


@pytest.mark.parametrize("form", FORMS)
def test_rendering_needs_a_mode_and_a_game(form: str) -> None:
    modes = ", ".join(FRAME_MODES if form == "vector" else RENDER_MODES)
    with pytest.raises(ValueError, match=f"needs a render mode: make the environment with render_mode= one of {modes}$"):
        FORMS[form]().render()
    with pytest.raises(RuntimeError, match=r"nothing to render: call reset\(\) before render\(\)"):
        FORMS[form](render_mode="rgb_array").render()


# --- on a terminal -----------------------------------------------------------------------------------------------------


class Terminal:
    """What has been written to standard output."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys, self._text = capsys, ""

    def getvalue(self) -> str:
        self._text += self._capsys.readouterr().out
        return self._text


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """Standard output as a terminal, and a clock that stands still but for `sleep`."""
    clock = [100.0]
    monkeypatch.setattr(rendering, "sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True)))
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal(capsys)


def test_boards_are_drawn_in_place_and_in_colour(terminal: Terminal) -> None:
    screen = Screen()
    for shown in (VIEW, OTHER):
        screen.show(GAME, shown, 2, "a caption")
    first, second = terminal.getvalue().split("\x1b[H")[1:]
    assert first.endswith("\x1b[J")
    assert second.endswith("\x1b[J")
    lines = [line.removesuffix("\x1b[K") for line in first.removesuffix("\x1b[J").splitlines()]
    assert lines == [*GAME.board(VIEW, colour=True).splitlines(), "a caption"]
    assert [line for line in lines if line.startswith(WARNING)] == [line for line in lines if "full" in line] != []
    assert [line for line in lines if line.startswith(f"{BOLD} > player_0")]
    assert WARNING not in second, "no row is full any more"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_declined(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    Screen().show(GAME, VIEW, 2)
    text = terminal.getvalue()
    assert "\x1b[1" not in text
    assert ("\x1b[H" in text) == (name == "NO_COLOR")


def test_a_board_stays_as_long_as_was_asked_and_is_drawn_once(terminal: Terminal) -> None:
    screen = Screen()
    times = []
    for shown in (VIEW, VIEW, OTHER, VIEW):
        screen.show(GAME, shown, 4)
        times.append(time.monotonic() - 100)
    assert times == [0, 0, 0.25, 0.5]
    assert terminal.getvalue().count("\x1b[H") == 3
    time.sleep(10)
    screen.show(GAME, OTHER, 4)
    assert time.monotonic() == 110.5, "whoever was slow himself need not wait"


def test_a_screen_that_comes_from_another_clock_does_not_wait_for_it(terminal: Terminal) -> None:
    screen = Screen()
    screen.show(GAME, VIEW, 4)
    screen = pickle.loads(pickle.dumps(screen))
    screen._since = 1e9
    screen.show(GAME, OTHER, 4)
    assert time.monotonic() == 100.25


def test_an_environment_follows_play_at_its_own_pace(terminal: Terminal) -> None:
    env = started(1, num_players=2, render_mode="human", hand_size=2)
    env.metadata["render_fps"] = 10
    for _ in walk(env):
        pass
    boards = terminal.getvalue().count("\x1b[H")
    assert boards > 4
    assert time.monotonic() == pytest.approx(100 + (boards - 1) / 10, abs=0.5)


def test_environments_that_show_can_be_copied_and_pickled(capsys: pytest.CaptureFixture[str]) -> None:
    env = started(1, num_players=2, render_mode="human")
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        capsys.readouterr()
        twin.render()
        assert capsys.readouterr().out.startswith("6 nimmt!")


def test_a_board_that_is_too_high_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(["headline", "", *map(str, range(30))])
    monkeypatch.setenv("LINES", "40")
    monkeypatch.setenv("COLUMNS", "80")
    assert rendering._fitting(text) == text.splitlines()
    monkeypatch.setenv("LINES", "32")
    assert rendering._fitting(text) == ["headline", *map(str, range(30))], "empty lines go first"
    monkeypatch.setenv("LINES", "12")
    assert rendering._fitting(text) == ["headline", *map(str, range(9)), "... 21 lines more: make the window higher"]


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_terminal_without_the_signs_shows_others(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    output = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", output)
    env = sixnimmt_v0.env(render_mode="human")
    env.reset(seed=0)
    output.flush()
    assert b"everybody picks a card" in output.buffer.getvalue()  # type: ignore[attr-defined]
