"""A match before one's eyes: on the terminal while it is played, and as an animated picture. Works on any `Game`."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sixnimmt_env.agents import Agent, decide, name_of
from sixnimmt_env.core.files import write_atomically
from sixnimmt_env.core.game import Event, Game, States
from sixnimmt_env.envs.rendering import Screen, is_live

if TYPE_CHECKING:
    from PIL import Image

MOST_FRAMES: Final = 600  # of an animated picture, all of which are in memory at once, a megabyte each
LAST_STAY: Final = 3.0  # seconds for which the last frame stays at least
_SAMPLES: Final = 12  # frames that the colours of a palette are chosen from


@dataclass(frozen=True, slots=True)
class Moment:
    """What the audience sees, and in words what has just happened; no words where play waits for a decision."""

    view: np.void
    words: str


class UnlawfulError(ValueError):
    """An agent did what the rules do not allow."""


def moments(
    game: Game, states: States, agents: Sequence[Agent], hidden: int | None = None, decisions: list[tuple[int, int]] | None = None
) -> Iterator[Moment]:
    """Play a match, `agents[s]` in seat s, and show every moment at which there is something new to see or to tell.

    Args:
        game: the game.
        states: (1,), not yet dealt; afterwards the match as it ended.
        agents: one a seat; one agent may sit in several.
        hidden: show what this seat sees; None: what spectators do, who see all hands.
        decisions: (seat, action) of every decision is added to it: the record of the match.

    Raises:
        UnlawfulError: an agent's action is illegal.
        Exception: whatever an agent raises, with a note of its name.
    """
    before = ""
    for event in _course(game, states, agents):
        if decisions is not None and event is not None and "action" in event:
            decisions.append((event["seat"], event["action"]))
        view = _shown(game, states, hidden)
        board = game.board(view)
        # A card laid face down is news to nobody.
        if board != before or not (event is None or "action" in event):
            yield Moment(view, "" if event is None else game.tell(event))
        before = board


def follow(shown: Iterable[Moment], game: Game, agents: Sequence[Agent], speed: float, console: Console | None) -> None:
    """Play through `shown` before one's eyes: on a terminal by boards in place, `speed` a second; elsewhere by one line an event, with the
    board at the end; unseen where `console` is None."""
    screen, live, last = Screen(), console is not None and is_live(), None
    caption = seating(agents)
    if console is not None and not live:
        _print(console, caption)
    for last in shown:
        if live:
            screen.show(game, last.view, speed, f"{last.words}\n\n{caption}")
        elif console is not None and last.words:
            _print(console, last.words)
    if console is not None:
        _print(console, "" if live or last is None else f"\n{game.board(last.view)}\n")


def seating(agents: Sequence[Agent]) -> str:
    """Who sits where, in one line."""
    names: dict[str, list[str]] = {}
    for seat, agent in enumerate(agents):
        names.setdefault(name_of(agent), []).append(f"player_{seat}")
    return "; ".join(f"{', '.join(seats)}: {name}" for name, seats in names.items())


def sums(costs: Sequence[int], agents: Sequence[Agent]) -> Iterator[str]:
    """The end of a match in lines: what each seat has lost, and who has won."""
    names = [f"player_{seat} ({name_of(agent)})" for seat, agent in enumerate(agents)]
    width, digits = max(map(len, names)), len(str(max(costs)))
    for name, cost in zip(names, costs, strict=True):
        yield f"{name:<{width}}  {cost:>{digits}}{'  wins' if cost == min(costs) else ''}"


def kept(shown: Iterable[Moment], views: list[Any]) -> Iterator[Moment]:
    """The same moments; the views of the first ones, as many as an animated picture takes, are also added to `views`."""
    for moment in shown:
        if len(views) < MOST_FRAMES:
            views.append(moment.view)
        yield moment


def save(path: Path, game: Game, views: Sequence[Any], speed: float, console: Console) -> None:
    """Write an animated picture of `views` to `path`, atomically, and say so; its ending is one of FORMATS. Raises `OSError`."""
    columns = (TextColumn("{task.description}"), BarColumn(30), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("drawing", total=len(views))
        data = film(path.suffix.lower(), game, views, speed, lambda count: progress.advance(task, count))
        write_atomically(path, data)
    ending = f"; the first {MOST_FRAMES} moments, more do not fit" if len(views) == MOST_FRAMES else ""
    _print(console, f"saved as {path} ({len(data) / 1e6:.1f} MB{ending})")


def film(kind: str, game: Game, views: Sequence[Any], speed: float, advance: Callable[[int], object]) -> bytes:
    """An animated picture of `views`, `speed` a second; equal pictures in a row are one frame that stays longer.

    Args:
        kind: one of FORMATS.
        game: whose views these are.
        views: at most MOST_FRAMES.
        speed: views a second.
        advance: called with 1 whenever a view has been drawn.
    """
    frames, stays = _frames(game, views, advance)
    times = [round(1000 * stay / speed) for stay in stays]
    times[-1] = max(times[-1], round(1000 * LAST_STAY))
    return FORMATS[kind](frames, times)


# --- play ----------------------------------------------------------------------------------------------------------------


def _course(game: Game, states: States, agents: Sequence[Agent]) -> Iterator[Event | None]:
    """The events of a match, with `states` as it lies after each; None where seats are about to decide."""
    yield from game.begin(states, 0)
    index = np.zeros(1, dtype=np.int64)
    chairs = np.full((1, game.max_seats), -1, dtype=np.int64)
    chairs[0, : len(agents)] = np.arange(len(agents))
    while True:
        actions = np.zeros((1, game.max_seats), dtype=np.int64)
        asked = np.flatnonzero(decide(game, states, index, chairs, agents, actions)[0] >= 0)
        if not len(asked):
            return
        yield None
        for seat in asked:
            yield from _carried_out(game, states, int(seat), int(actions[0, seat]), agents[seat])


def _carried_out(game: Game, states: States, seat: int, action: int, agent: Agent) -> Iterator[Event]:
    try:
        events = game.unfold(states, 0, seat, action)
    except ValueError as error:
        raise UnlawfulError(f"agent {name_of(agent)!r}: {error}") from error
    yield from events


def _shown(game: Game, states: States, hidden: int | None) -> np.void:
    """What the audience sees of the game now."""
    views = np.zeros(1, dtype=game.view_dtype)  # zeros: padding must not hold chance
    seats = np.array([hidden or 0], dtype=np.int64)
    if hidden is not None:
        game.reveal(states, np.zeros(1, dtype=np.int64), seats, views)
    else:
        game.reveal_all(states, np.zeros(1, dtype=np.int64), seats, views)
        views["deciding"] = 0  # the seat that spectators' views are written for is none of theirs
    view: np.void = views[0]
    return view


def _print(console: Console, words: str) -> None:
    console.print(words, highlight=False, markup=False, soft_wrap=True)


# --- animated pictures ---------------------------------------------------------------------------------------------------


class _Palette:
    """The 256 most frequent colours of some pictures: all plain areas keep theirs, and each shade of an edge finds the nearest."""

    def __init__(self, pictures: Iterable[NDArray[np.uint8]]) -> None:
        colours, counts = np.unique(np.concatenate([_packed(picture).ravel() for picture in pictures]), return_counts=True)
        often = colours[np.argsort(counts, kind="stable")[::-1][:256]]
        self._colours = _unpacked(often)
        self._places = np.full(1 << 24, 256, dtype=np.uint16)  # by colour; 256 where it has not come up yet

    def image(self, picture: NDArray[np.uint8]) -> Image.Image:
        """The picture in these colours."""
        from PIL import Image

        packed = _packed(picture)
        places = self._places[packed]
        new = np.unique(packed[places == 256])
        if len(new):
            distances = ((_unpacked(new)[:, None] - self._colours[None]) ** 2).sum(axis=2)
            self._places[new] = distances.argmin(axis=1)
            places = self._places[packed]
        image = Image.fromarray(places.astype(np.uint8))
        image.putpalette(self._colours.astype(np.uint8).tobytes())
        return image


def _packed(picture: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Each colour as one number."""
    wide = picture.astype(np.uint32)
    return wide[..., 0] << 16 | wide[..., 1] << 8 | wide[..., 2]


def _unpacked(colours: NDArray[np.uint32]) -> NDArray[np.int64]:
    return np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=-1).astype(np.int64)


def _frames(game: Game, views: Sequence[Any], advance: Callable[[int], object]) -> tuple[list[Image.Image], list[int]]:
    """The different pictures one after the other, and how many views in a row each shows."""
    palette = _Palette(game.picture(view) for view in (*views[:: -(-len(views) // _SAMPLES)], views[-1]))
    frames: list[Image.Image] = []
    stays: list[int] = []
    before = None
    for view in views:
        pixels = game.picture(view)
        if before is not None and np.array_equal(pixels, before):
            stays[-1] += 1
        else:
            frames.append(palette.image(pixels))
            stays.append(1)
        before = pixels
        advance(1)
    return frames, stays


def _gif(frames: list[Image.Image], times: list[int]) -> bytes:
    return _encoded("GIF", frames, duration=times, loop=0, disposal=1)


def _png(frames: list[Image.Image], times: list[int]) -> bytes:
    return _encoded("PNG", frames, duration=times, loop=0)


def _webp(frames: list[Image.Image], times: list[int]) -> bytes:
    return _encoded("WEBP", [frame.convert("RGB") for frame in frames], duration=times, loop=0, lossless=True, quality=40, method=2)


FORMATS: Final[dict[str, Callable[[list[Image.Image], list[int]], bytes]]] = {".gif": _gif, ".png": _png, ".webp": _webp}
"""Encoders of animated pictures by the ending of the file."""


def _encoded(kind: str, frames: list[Image.Image], **options: Any) -> bytes:
    file = io.BytesIO()
    frames[0].save(file, kind, save_all=True, append_images=frames[1:], **options)
    return file.getvalue()
