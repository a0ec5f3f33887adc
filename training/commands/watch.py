"""`sixnimmt watch`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from sixnimmt_env import traces
from sixnimmt_env.agents import Agent
from sixnimmt_env.core.seeding import MAX_SEED
from sixnimmt_env.games import sixnimmt

from ..plugin import agent_of, one_thread, rules_of
from .common import DONE, Refusal, add_length, add_variant, asked, check_writable, lasting, rules_for

HELP: Final = "watch a match, or save it as a picture"
DESCRIPTION: Final = """\
Play a match and follow it: on a terminal the board is drawn in place, card by card; elsewhere every event is one line. Spectators see all
hands. With --save the same moments are kept as an animated picture of the table.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("agents", nargs="+", metavar="AGENT", help="one for all seats, or one a seat")
    add_variant(parser, players="one an AGENT; for one AGENT 4")
    add_length(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the deals and dice (default: %(default)s)")
    parser.add_argument("--speed", type=float, default=2.0, metavar="X", help="moments a second (default: %(default)s)")
    parser.add_argument("--hidden", type=int, metavar="SEAT", help="show what this seat sees (default: all hands)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="save an animated picture: FILE.gif, FILE.png or FILE.webp")
    parser.add_argument("--trace", type=Path, metavar="FILE.jsonl", help="save a record of the match, for `sixnimmt replay`")
    parser.add_argument("--quiet", action="store_true", help="do not follow play here; for --save and --trace")


def run(options: argparse.Namespace) -> int:
    """Play and show."""
    from .. import watch
    from ..console import SteadyConsole, say

    with asked():
        if not 0 < options.speed <= 100:
            raise ValueError(f"--speed {options.speed:g} must be more than 0 and at most 100 moments a second")
        if not 0 <= options.seed <= MAX_SEED - len(options.agents):  # as many more are the players' dice
            raise ValueError(f"--seed {options.seed} must be a whole number from 0 to {MAX_SEED - len(options.agents)}")
        if options.save:
            _check_savable(options.save, list(watch.FORMATS))
        check_writable(options.trace)
        if options.trace and options.save and os.path.realpath(options.trace) == os.path.realpath(options.save):
            raise ValueError(f"--save and --trace are both {options.save}: name two files")
        players = [agent_of(spec, seed=options.seed + 1 + place) for place, spec in enumerate(options.agents)]
        rules = _rules(players, options)
        if options.hidden is not None and not 0 <= options.hidden < rules.num_players:
            raise ValueError(f"--hidden {options.hidden} is no seat: there are 0 to {rules.num_players - 1}")
    one_thread()
    seats = players if len(players) > 1 else players * rules.num_players
    states = sixnimmt.GAME.new_states(rules, 1, options.seed)
    console = SteadyConsole()
    views: list[Any] = []
    decisions: list[tuple[int, int]] = []
    following = watch.kept(watch.moments(sixnimmt.GAME, states, seats, options.hidden, decisions), views)
    try:
        watch.follow(following, sixnimmt.GAME, seats, options.speed, None if options.quiet else console)
    except watch.UnlawfulError as error:
        raise Refusal(str(error)) from error
    for line in watch.sums(sixnimmt.GAME.costs(states)[0, : len(seats)].tolist(), seats):
        say(console, line)
    if options.save:
        watch.save(options.save, sixnimmt.GAME, views, options.speed, console)
    if options.trace:
        names = tuple(traces.printable(seat.name) for seat in seats)
        traces.Trace(sixnimmt.GAME, rules, tuple(decisions), options.seed, 0, names).save(options.trace)
        say(console, f"recorded in {options.trace}")
    return DONE


def _check_savable(path: Path, kinds: Sequence[str]) -> None:
    """Say before play begins that its picture could not be saved."""
    if path.suffix.lower() not in kinds:
        raise ValueError(f"--save {path} must end in {', '.join(kinds[:-1])} or {kinds[-1]}, which says what kind of picture it is to be")
    check_writable(path)


def _rules(players: Sequence[Agent], options: argparse.Namespace) -> sixnimmt.Rules:
    """The variant asked for, else that of the first agent that was trained on one, for as many players as there are agents."""
    if len(players) > 1:
        if options.players not in (None, len(players)):
            raise ValueError(f"{len(players)} agents for --players {options.players}: give one for all seats, or one a seat")
        options.players = len(players)
    trained = [player for player in players if rules_of(player) is not None]
    rules = rules_for((*trained, players[0])[0], options)
    options.deck = rules.deck
    for player in trained:
        rules_for(player, options)  # refuses a deck that this one has not learned
    return lasting(rules, options)
