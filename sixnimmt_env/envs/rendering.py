"""How an environment shows a view: as text, as a picture, or on a screen that follows play."""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..core.game import Game

FRAME_MODES: Final = ("ansi", "rgb_array")
RENDER_MODES: Final = ("human", *FRAME_MODES)
RENDER_FPS: Final = 2
"""Boards a second that a person can follow; `metadata["render_fps"]` of an environment may be changed."""

Frame = str | NDArray[np.uint8]

_HOME, _REST_OF_LINE, _REST = "\x1b[H", "\x1b[K", "\x1b[J"


class Screen:
    """Where boards are shown one after the other: in place on a terminal, in colours unless NO_COLOR is set; below one another elsewhere.

    On a terminal every new board stays for 1/fps seconds at least, and one that is there already is not drawn again.
    """

    def __init__(self) -> None:
        self._shown = ""
        self._since = 0.0

    def show(self, game: Game, view: Any, fps: float, caption: str = "") -> None:
        """Draw the board of `view`, below it `caption`."""
        live = is_live()
        text = game.board(view, colour=live and not os.environ.get("NO_COLOR"))
        text = _writable(f"{text}\n{caption}" if caption else text)
        if not live:
            print(text, end="\n\n", flush=True)
        elif text != self._shown:
            self._wait(1 / fps)
            # Line by line over the old board, which flickers less than to clear the screen first.
            print(_HOME + "".join(f"{line}{_REST_OF_LINE}\n" for line in _fitting(text)) + _REST, end="", flush=True)
            self._shown, self._since = text, time.monotonic()

    def _wait(self, seconds: float) -> None:
        """Let the board that is shown stay for `seconds`."""
        if self._shown:
            # At most as long: the clock of a screen that was pickled on another machine means nothing here.
            time.sleep(min(seconds, max(0.0, self._since + seconds - time.monotonic())))


def _writable(text: str) -> str:
    """With other signs for those that the terminal does not have."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)


def _fitting(text: str) -> list[str]:
    """The lines, as many as there is room for below one another: empty ones are left out first, then the last ones."""
    lines, room = text.splitlines(), shutil.get_terminal_size().lines - 1
    if len(lines) > room:
        lines = [line for line in lines if line]
    if len(lines) <= room:
        return lines
    shown = max(1, room - 1)
    return [*lines[:shown], f"... {len(lines) - shown} lines more: make the window higher"]


def is_live() -> bool:
    """Whether standard output is a terminal that can be written to in place."""
    return sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def show(game: Game, view: Any, render_mode: str | None, screen: Screen, fps: float) -> Frame | None:
    """`view` in one of RENDER_MODES: None for "human", which shows it on `screen`, else as `frame` has it. `ValueError` for no mode."""
    if render_mode != "human":
        return frame(game, view, render_mode, RENDER_MODES)
    screen.show(game, view, fps)
    return None


def frame(game: Game, view: Any, render_mode: str | None, known: tuple[str, ...]) -> Frame:
    """`view` as text for "ansi", as (height, width, 3) uint8 for "rgb_array"; `ValueError` for no mode, with the `known` ones."""
    if render_mode is None:
        raise ValueError(f"render() needs a render mode: make the environment with render_mode= one of {', '.join(known)}")
    return game.picture(view) if render_mode == "rgb_array" else game.board(view)
