"""What commands share: exit statuses, refusals, options of the same kind, and the checks made before work begins."""

from __future__ import annotations

import argparse
import dataclasses
import errno
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from sixnimmt_env.agents import Agent
from sixnimmt_env.core.files import write_atomically
from sixnimmt_env.games import sixnimmt

from ..plugin import policies_of, rules_of

DONE, FAULT, REFUSED, INTERRUPTED = 0, 1, 2, 130  # exit statuses
MOST_ROUNDS: Final = 10_000_000  # they are all laid out at once, a hundred bytes each
AGENT: Final = "a name of `sixnimmt agents`, a run folder or a policy file"


class Command(Protocol):
    """A module of this package."""

    HELP: str
    """In the list of commands."""
    DESCRIPTION: str
    """At the head of its own help."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """What it takes."""

    def run(self, options: argparse.Namespace) -> int:
        """Do it; returns the exit status."""


class Refusal(Exception):
    """What the user asked for cannot be done; the message says why and what could be."""


@contextmanager
def asked() -> Iterator[None]:
    """Errors in here are about what the user asked for."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise Refusal(reason(error)) from error


def reason(error: Exception) -> str:
    """What is said about `error`."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


# --- Options -------------------------------------------------------------------------------------------------------------


def add_variant(parser: argparse.ArgumentParser, otherwise: str = "as trained", players: str = "") -> None:
    """Add --players, --deck and --professional; see `varied`.

    Args:
        parser: takes them.
        otherwise: what holds where they are not given; "" if only the rules' own defaults do.
        players: the same of --players alone.
    """
    before = f"{otherwise}, else " if otherwise else ""
    parser.add_argument("--players", type=int, metavar="N", help=f"players at the table (default: {players or f'{before}4'})")
    parser.add_argument("--deck", choices=sixnimmt.DECKS, help=f"deck (default: {before}standard)")
    professional = "cards join either side of a row" + (f" (default: {otherwise})" if otherwise else "")
    parser.add_argument("--professional", action=argparse.BooleanOptionalAction, help=professional)


def add_length(parser: argparse.ArgumentParser, otherwise: str = "1") -> None:
    """Add --rounds and --target, of which one can be given; see `lasting`."""
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--rounds", type=int, metavar="N", help=f"rounds of the match (default: {otherwise})")
    length.add_argument("--target", type=int, metavar="HEADS", help="play until a total has reached this many bull heads instead")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json; see `write_json`."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")


def varied(rules: sixnimmt.Rules, options: argparse.Namespace) -> sixnimmt.Rules:
    """`rules` with what the options of `add_variant` change."""
    given = {"num_players": options.players, "deck": options.deck, "professional": options.professional}
    changes = {key: value for key, value in given.items() if value not in (None, getattr(rules, key))}
    if changes.keys() & {"num_players", "deck"}:
        changes["deck_size"] = None  # that of `rules` may not fit
    try:
        return dataclasses.replace(rules, **changes)
    except ValueError as error:
        raise ValueError(str(error).replace("num_players=", "--players ")) from None


def lasting(rules: sixnimmt.Rules, options: argparse.Namespace) -> sixnimmt.Rules:
    """`rules` with what the options of `add_length` change."""
    if options.rounds is None and options.target is None:
        return rules
    exceed = rules.exceed_target and options.target is not None
    try:
        return dataclasses.replace(rules, rounds=options.rounds, target=options.target, exceed_target=exceed)
    except ValueError as error:
        raise ValueError(re.sub(r"^(rounds|target)=", r"--\1 ", str(error))) from None


def rules_for(agent: Agent, options: argparse.Namespace) -> sixnimmt.Rules:
    """One round of the variant asked for, else of the one that the agent was trained on, else the default."""
    trained = rules_of(agent) or sixnimmt.Rules()
    drafts = all(policy.network.shape.draft for policy in policies_of(agent))
    if (options.deck or trained.deck) == "logic" and not drafts:
        raise ValueError(f"{agent.name} was trained with the {trained.deck} deck and has not learned to draft: --deck logic is not for it")
    return varied(dataclasses.replace(trained, rounds=1, target=None, exceed_target=False), options)


def specs(text: str) -> list[str]:
    """The agents in "greedy,name:key=1,other=2,random": a comma before key= goes on with the options of an agent."""
    return re.split(r",(?!\w+=)", text)


# --- Results -------------------------------------------------------------------------------------------------------------


def check_writable(path: Path | None) -> None:
    """Say before the work begins that its result could not be written, if one is asked for."""
    if path is None:
        return
    path = Path(os.path.realpath(path))  # where a link leads
    if path.is_dir():
        raise OSError(errno.EISDIR, "is a folder; name a file", str(path))
    if not path.parent.is_dir():
        raise OSError(errno.ENOENT, f"there is no folder {path.parent}; make it first", str(path))
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise OSError(errno.EACCES, "may not be written; name another file", str(path))


def write_json(path: Path | None, data: Any) -> None:
    """Write the results where --json asks for them, if it does."""
    if path is not None:
        write_atomically(path, json.dumps(data, indent=2) + "\n")


def print_broken(line: str, indent: int = 0) -> None:
    """Print `line`, broken to the width of a terminal; whole where the output is none, so that other programs find it in one piece."""
    if sys.stdout.isatty():
        width = max(indent + 20, shutil.get_terminal_size().columns)
        line = textwrap.fill(line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    print(line)
