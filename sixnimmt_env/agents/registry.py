"""Agents by name: `make("greedy")`, `make("name:key=value,key=value")`, `make("policy:PATH")`.

The rule-based players come with the games, the searching ones play any game, and the wrappers are made of another player, whose name
follows "of=". Other packages add theirs as entry points of the group `sixnimmt_env.agents`: a function (game, argument, seed) -> Agent,
`argument` being what follows the colon, whose docstring's first line is the idea in one phrase. A plugin is imported when it is asked for
by name, so that a broken one troubles nobody else; names that are taken stay so.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

from .. import games
from ..core.game import Game
from . import wrappers
from .base import Agent, HeuristicAgent
from .monte_carlo import monte_carlo
from .search import search

Factory = Callable[[Game, str, int], Agent]
GROUP = "sixnimmt_env.agents"
SEARCHERS: dict[str, Factory] = {"monte_carlo": monte_carlo, "search": search}
"""Players of any game that search; made like those of plugins."""
WRAPPERS: dict[str, Callable[[wrappers.Make, Game, str, int], Agent]] = {
    "epsilon": wrappers.epsilon,
    "softmax": wrappers.softmax,
    "rows": wrappers.rows,
}
"""Players made of other players, whom they have made by name."""


def names(game: str = "sixnimmt") -> dict[str, str]:
    """What `make` knows for `game`: name -> idea, one line each; for a plugin that cannot be loaded, why not."""
    known = {name: heuristic.idea for name, heuristic in games.get(game).heuristics.items()}
    known |= {name: _described(factory) for name, factory in SEARCHERS.items()}
    known |= {name: _described(factory) for name, factory in WRAPPERS.items()}
    for name, entry in _plugins().items():
        known.setdefault(name, _idea(entry))
    return known


def make(spec: str, game: str | Game = "sixnimmt", seed: int = 0) -> Agent:
    """The agent that `spec` names.

    Args:
        spec: a name of `names()`, with what it takes after a colon.
        game: the game it is to play, or its name.
        seed: its dice.

    Raises:
        ValueError: unknown name, an argument that the agent does not take, or a plugin that cannot be loaded; says what there is.
        Exception: whatever else a plugin raises.
    """
    played = games.get(game) if isinstance(game, str) else game
    if not isinstance(spec, str):
        raise ValueError(f"agent {spec!r} must be named by a string, as in names()")
    name, _, argument = spec.partition(":")
    if name in played.heuristics:
        if argument:
            raise ValueError(f"agent {spec!r}: {name!r} takes nothing after the colon")
        return HeuristicAgent(played, name, seed)
    if name in SEARCHERS:
        return SEARCHERS[name](played, argument, seed)
    if name in WRAPPERS:
        return WRAPPERS[name](make, played, argument, seed)
    plugins = _plugins()
    if name in plugins:
        agent = _make(plugins[name], played, argument, seed)
        if not getattr(agent, "name", ""):
            agent.name = spec
        return agent
    known = list(dict.fromkeys([*played.heuristics, *SEARCHERS, *WRAPPERS, *plugins]))
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise ValueError(f"agent {spec!r} is unknown: {hint}there are {', '.join(known)}")


def _plugins() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _make(entry: EntryPoint, game: Game, argument: str, seed: int) -> Agent:
    """`ValueError` for whatever goes wrong while the plugin is loaded, so that callers need to know one kind of error."""
    where = f"agent {entry.name!r} cannot be loaded from {entry.value}"
    try:
        factory: Factory = entry.load()
    except Exception as error:
        raise ValueError(f"{where}: {_first_line(error)}; mend or uninstall the package that brings it") from error
    try:
        return factory(game, argument, seed)
    except ImportError as error:  # heavy libraries are imported when an agent is made
        raise ValueError(f"{where}: {_first_line(error)}; install what it needs") from error
    except TypeError as error:
        raise ValueError(f"{where}: {_first_line(error)}; it is called as factory(game, argument, seed)") from error


def _idea(entry: EntryPoint) -> str:
    try:
        factory = entry.load()
    except Exception as error:
        return f"cannot be loaded from {entry.value}: {_first_line(error)}"
    return _described(factory) or f"no description in {entry.value}"


def _described(factory: Callable[..., Agent]) -> str:
    return (factory.__doc__ or "").strip().split("\n")[0]


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".split("\n")[0]
