"""The games, each a folder with the same rooms: rules, state, engine, view, features, heuristics, text."""

from __future__ import annotations

import difflib

from ..core.game import Game
from . import sixnimmt

_GAMES = {game.name: game for game in (sixnimmt.GAME,)}


def names() -> list[str]:
    """The names `get` knows."""
    return list(_GAMES)


def get(name: str) -> Game:
    """The game of that name; `ValueError` with a suggestion for an unknown one."""
    if name in _GAMES:
        return _GAMES[name]
    close = difflib.get_close_matches(str(name), _GAMES, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise ValueError(f"game {name!r} is unknown: {hint}there {'are' if len(_GAMES) > 1 else 'is'} {', '.join(_GAMES)}")
