"""`sixnimmt train`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from ..plugin import agent_of
from .common import DONE, INTERRUPTED, Refusal, asked

HELP: Final = "train a policy from a YAML file"
DESCRIPTION: Final = """\
Train the policy that CONFIG.yaml describes, then evaluate it. Every key has a default; configs/quickstart.yaml explains them all.
Ctrl-C stops in good order: the policy so far is saved, and the exit status is 130.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("config", metavar="CONFIG.yaml", type=Path)
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY.PATH=VALUE", dest="overrides", help="override one key; repeatable"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="run folder, new or empty (default: runs/NAME, or runs/NAME-2, ...)")
    parser.add_argument("--print-config", action="store_true", help="print the complete configuration and stop")


def run(options: argparse.Namespace) -> int:
    """Train."""
    from .. import config as configuration

    with asked():
        config = configuration.load(options.config, options.overrides, check_agent=agent_of)
    if options.print_config:
        print(configuration.dump(config), end="")
        return DONE
    from ..callbacks import DivergedError
    from ..train import free_folder, train

    try:
        done = train(config, options.out or free_folder(config.name))
    except (configuration.ConfigError, DivergedError) as error:
        raise Refusal(str(error)) from None
    return INTERRUPTED if done.interrupted else DONE
