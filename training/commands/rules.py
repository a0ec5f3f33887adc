"""`sixnimmt rules`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final, cast

from sixnimmt_env.games import sixnimmt

from .common import DONE, add_length, add_variant, asked, lasting, print_broken, varied

HELP: Final = "say the rules in force in words"
DESCRIPTION: Final = """\
Say in words which rules are in force: those of CONFIG.yaml, or the default, with what the options change.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("config", nargs="?", metavar="CONFIG.yaml", type=Path)
    add_variant(parser, otherwise="of CONFIG.yaml")
    add_length(parser, otherwise="of CONFIG.yaml, else 1")


def run(options: argparse.Namespace) -> int:
    """Say them."""
    rules = sixnimmt.Rules()
    with asked():
        if options.config is not None:
            from .. import config as configuration

            rules = cast(sixnimmt.Rules, configuration.load(options.config).rules)
        rules = lasting(varied(rules, options), options)
    for fact in (*rules.describe().splitlines(), rules.describe_heads()):
        print_broken(fact)
    return DONE
