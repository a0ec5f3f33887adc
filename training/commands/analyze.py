"""`sixnimmt analyze`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

from sixnimmt_env import agents
from sixnimmt_env.games import sixnimmt

from ..plugin import agent_of
from .common import DONE, add_json, asked, check_writable, write_json

HELP: Final = "what each card of a position is worth"
DESCRIPTION: Final = """\
Tell for each card (or row, or side) of a position what it costs on average to the end of the round, how often it takes a row at once, and
which row it goes to. The position is given by --hand and --rows, as JSON (the arguments of games.sixnimmt.table_view), or as a moment of a
recorded match. Everything else that is not in the position is dealt at random.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument(
        "position", nargs="?", type=Path, metavar="POSITION.json", help="a position, or a recorded match (FILE.jsonl, with --event)"
    )
    parser.add_argument("--hand", metavar="CARDS", help="own cards, as in 3,17,40")
    parser.add_argument("--rows", nargs="+", metavar="CARDS", help="a row each, front to end: --rows 5 20,22 60 80,81,82")
    parser.add_argument(
        "--agent",
        default="monte_carlo:rollouts=1000",
        metavar="AGENT",
        help="who thinks about it, of those who search: monte_carlo or search (default: %(default)s)",
    )
    parser.add_argument("--players", type=int, default=4, metavar="N", help="players at the table (default: %(default)s)")
    parser.add_argument("--seat", type=int, default=0, metavar="SEAT", help="own seat, from 0 (default: %(default)s)")
    parser.add_argument("--seen", default="", metavar="CARDS", help="cards that have lain open this round and do so no more")
    parser.add_argument("--revealed", metavar="SEAT:CARD,...", help="the cards of this turn, when a row or a side is to be chosen")
    parser.add_argument("--deck", choices=("standard", "tactical"), default="standard", help="deck (default: %(default)s)")
    parser.add_argument("--professional", action=argparse.BooleanOptionalAction, default=False, help="cards join either side of a row")
    parser.add_argument("--hand-size", type=int, default=10, metavar="N", help="cards dealt to each (default: %(default)s)")
    parser.add_argument("--event", type=int, metavar="N", help="of a recorded match: the moment just before event N")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the dice (default: %(default)s)")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw it as well")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Analyze."""
    from .. import analyze
    from ..console import SteadyConsole, say

    with asked():
        check_writable(options.plot)
        check_writable(options.json)
        view = _position(options)
        agent = agent_of(options.agent, seed=options.seed)
        prospects = agents.analyze(agent, view)
    board = sixnimmt.GAME.board(view)
    console = SteadyConsole()
    say(console, board)
    analyze.show(prospects, console)
    if options.plot:
        analyze.plot(options.plot, f"{agent.name} on {board.splitlines()[0]}", prospects)
    write_json(options.json, analyze.as_json(agent.name, prospects))
    return DONE


def _position(options: argparse.Namespace) -> Any:
    """The view that is asked about; `ValueError` unless exactly one is given."""
    from .. import analyze

    if (options.position is None) == (options.hand is None and options.rows is None):
        raise ValueError("give a position: POSITION.json, or --hand 3,17,40 --rows 5 20,22 60 80,81,82 (not both)")
    if options.event is not None and (options.position is None or options.position.suffix != ".jsonl"):
        raise ValueError("--event is a moment of a recorded match: name its file, as in game.jsonl")
    if options.position is None:
        if options.hand is None or options.rows is None:
            raise ValueError("a position needs both --hand and --rows: --hand 3,17,40 --rows 5 20,22 60 80,81,82")
        position = {
            "hand": analyze.cards(options.hand),
            "rows": [analyze.cards(row) for row in options.rows],
            "num_players": options.players,
            "seat": options.seat,
            "seen": analyze.cards(options.seen),
            "professional": options.professional,
            "deck": options.deck,
            "hand_size": options.hand_size,
        }
        if options.revealed is not None:
            position["revealed"] = analyze.revealed(options.revealed)
        return analyze.laid_out(position, "this position")
    if options.position.suffix == ".jsonl":
        if options.event is None:
            raise ValueError(f"--event N is needed: which moment of {options.position}; `sixnimmt replay {options.position}` lists them")
        return analyze.from_trace(options.position, options.event, options.seat)
    return analyze.from_json(options.position)
