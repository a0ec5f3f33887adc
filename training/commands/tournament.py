"""`sixnimmt tournament`."""

from __future__ import annotations

import argparse
import errno
from pathlib import Path
from typing import Any, Final

from ..plugin import agent_of
from .common import DONE, INTERRUPTED, Refusal, add_json, add_variant, asked, check_writable

HELP: Final = "let agents play each other: ratings, report"
DESCRIPTION: Final = """\
Let agents play each other on equal deals: every deal is played with every line-up in every seat. Means, shares of wins, ranks and ratings
come with 95 % intervals, agents are compared on the same deals, and what the rounds do not tell is said, with the number that would. What
is played is kept: after Ctrl-C the same command goes on. configs/arena/quick.yaml explains what a file may hold.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument(
        "agents", nargs="*", metavar="AGENT", help="two or more of `sixnimmt agents`, each AGENT or NAME=AGENT; or one CONFIG.yaml"
    )
    parser.add_argument(
        "--format", help="head_to_head, one_vs_field, round_robin, gauntlet or cross_play (default: head_to_head for two, else round_robin)"
    )
    add_variant(parser, otherwise="")
    parser.add_argument("--target", type=int, metavar="HEADS", help="whole matches: until a total has reached this many bull heads")
    parser.add_argument("--deals", type=int, metavar="N", help="deals, each played with every line-up and seating (default: 1000)")
    parser.add_argument("--seats", metavar="K[,K...]", help="of head_to_head: seats of the first agent (default: half of them)")
    parser.add_argument("--seating", choices=("rotate", "all"), help="move line-ups round the table, or seat them in all ways")
    parser.add_argument("--seed", type=int, metavar="S", help="of the deals and dice (default: 0)")
    parser.add_argument(
        "--until-significant", action="store_true", default=None, help="stop when every comparison is decided, by a sequential rule"
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: 1); the results are the same for any number")
    parser.add_argument(
        "--seconds-limit",
        type=float,
        metavar="S",
        help="for a decision; who takes longer forfeits it: the lowest legal action (default: 10)",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY.PATH=VALUE", dest="overrides", help="set one key of the file; repeatable"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="keeps what is played; run again, it goes on (default: runs/NAME)")
    parser.add_argument("--resume", type=Path, metavar="DIR", help="go on with the tournament that DIR keeps")
    parser.add_argument("--report", type=Path, metavar="DIR", help="where the report goes (default: the folder of --out)")
    add_json(parser)
    parser.add_argument("--print-config", action="store_true", help="print the complete configuration and stop")


def run(options: argparse.Namespace) -> int:
    """Hold the tournament."""
    from sixnimmt_env.arena import WorkerDied

    from .. import tournament
    from ..config import dump
    from ..console import SteadyConsole, say

    notes: list[str] = []
    with asked():
        config = _config(options)
        if options.print_config:
            print(dump(config), end="")
            return DONE
        check_writable(options.json)
        if options.report and options.report.exists() and not options.report.is_dir():
            raise OSError(errno.ENOTDIR, "is no folder; name another for the report", str(options.report))
        plan = tournament.plan_of(config, notes.append)
        folder = options.resume or options.out or tournament.folder_of(config, plan, named=len(options.agents) == 1)
        tournament.prepare(config, plan, folder)
    console = SteadyConsole()
    for note in dict.fromkeys(notes):  # once where a policy takes part twice
        say(console, note)
    try:
        stopped = tournament.run(config, plan, folder, console, options.report, options.json)
    except WorkerDied as error:
        raise Refusal(f"{error}; to go on with fewer: sixnimmt tournament --resume {folder} --workers 1") from error
    return INTERRUPTED if stopped == "interrupted" else DONE


def _config(options: argparse.Namespace) -> Any:
    """The tournament of a file, of a folder that is gone on with, or of the agents named; with what the options say."""
    from .. import tournament, tournament_config

    if bool(options.resume) == bool(options.agents):
        raise ValueError("name agents or a CONFIG.yaml, or a folder with --resume" + (", not both" if options.resume else ""))
    if options.resume and options.out:
        raise ValueError("--resume goes on in its folder: leave --out away")
    files = [agent for agent in options.agents if Path(agent).suffix in (".yaml", ".yml")]
    if files and len(options.agents) > 1:
        raise ValueError(f"{files[0]} is a file: name it alone, or agents only")
    if options.target is not None:
        options.overrides = [*options.overrides, "rules.rounds=null"]
    seats = None if options.seats is None else [int(k) if k.strip().isdigit() else k for k in options.seats.split(",")]
    given = {
        "--format": ("schedule.format", options.format),
        "--players": ("rules.num_players", options.players),
        "--deck": ("rules.deck", options.deck),
        "--professional": ("rules.professional", options.professional),
        "--target": ("rules.target", options.target),
        "--deals": ("play.deals", options.deals),
        "--seats": ("schedule.seats", seats),
        "--seating": ("schedule.seating", options.seating),
        "--seed": ("seed", options.seed),
        "--until-significant": ("play.until_significant", options.until_significant),
        "--workers": ("play.workers", options.workers),
        "--seconds-limit": ("play.seconds_limit", options.seconds_limit),
    }
    overrides = [*((text, "") for text in options.overrides), *tournament_config.flags(given)]
    source = options.resume / tournament.CONFIG if options.resume else files[0] if files else options.agents
    return tournament_config.read(source, overrides, agent_of)
