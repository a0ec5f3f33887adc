"""`sixnimmt agents`."""

from __future__ import annotations

import argparse
from typing import Final

from sixnimmt_env import agents

from .common import DONE, print_broken

HELP: Final = "list what can be named as AGENT"
DESCRIPTION: Final = "List what can be named as AGENT, one line each."


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command takes nothing."""


def run(options: argparse.Namespace) -> int:
    """List them."""
    known = agents.names()
    width = max(map(len, known))
    for name, idea in known.items():
        print_broken(f"{name:<{width}}  {idea}", indent=width + 2)
    print()
    print_broken("Where an AGENT is asked for, the path of a run folder or of a policy file will do as well.")
    return DONE
