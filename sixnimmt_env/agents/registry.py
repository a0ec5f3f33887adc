"""Agents by name: `make("greedy")`, `make("name:key=value,key=value")`, `make("policy:PATH")`.

The rule-based players come with the games. Other packages add theirs as entry points of the group `sixnimmt_env.agents`: a function
(game, argument, seed) -> Agent, `argument` being what follows the colon, whose docstring's first line is the idea in one phrase.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from importlib.metadata import entry_points

from .. import games
from ..core.game import Game
from .base import Agent, HeuristicAgent

Factory = Callable[[Game, str, int], Agent]
GROUP = "sixnimmt_env.agents"


def names(game: str = "sixnimmt") -> dict[str, str]:
    """What `make` knows for `game`: name -> idea, one line each."""
    known = {name: heuristic.idea for name, heuristic in games.get(game).heuristics.items()}
    for name, factory in _plugins().items():
        known[name] = (factory.__doc__ or "").strip().split("\n")[0]
    return known


def make(spec: str, game: str | Game = "sixnimmt", seed: int = 0) -> Agent:
    """The agent that `spec` names.

    Args:
        spec: a name of `names()`, with what it takes after a colon.
        game: the game it is to play, or its name.
        seed: its dice.

    Raises:
        ValueError: unknown name, or an argument that the agent does not take; says what there is.
    """
    played = games.get(game) if isinstance(game, str) else game
    name, _, argument = str(spec).partition(":")
    if name in played.heuristics:
        if argument:
            raise ValueError(f"agent {spec!r}: {name!r} takes nothing after the colon")
        return HeuristicAgent(played, name, seed)
    plugins = _plugins()
    if name in plugins:
        return plugins[name](played, argument, seed)
    known = names(played.name)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise ValueError(f"agent {spec!r} is unknown: {hint}there are {', '.join(known)}")


def _plugins() -> dict[str, Factory]:
    return {entry.name: entry.load() for entry in entry_points(group=GROUP)}
