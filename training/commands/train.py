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
Ctrl-C stops in good order: the policy so far is saved, and the exit status is 130. --resume goes on with a run that was stopped, in
whatever way, as if it had not been; with --set training.frames=MORE it extends one, and with --out it goes on in another folder.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("config", metavar="CONFIG.yaml", type=Path, nargs="?", help="with --resume: DIR/config.yaml, if not given")
    parser.add_argument("--resume", type=Path, metavar="DIR", help="go on with the run in this folder, from its newest checkpoint")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY.PATH=VALUE", dest="overrides", help="override one key; repeatable"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="run folder, new or empty (default: runs/NAME, or runs/NAME-2, ...; with --resume: DIR)"
    )
    parser.add_argument("--print-config", action="store_true", help="print the complete configuration and stop")


def run(options: argparse.Namespace) -> int:
    """Train."""
    from .. import config as configuration

    with asked():
        config = configuration.load(_config(options), options.overrides, check_agent=agent_of)
    if options.print_config:
        print(configuration.dump(config), end="")
        return DONE
    from ..callbacks import DivergedError
    from ..checkpoint import CheckpointError
    from ..train import free_folder, train

    try:
        done = train(config, options.out or options.resume or free_folder(config.name), resume=options.resume)
    except (configuration.ConfigError, CheckpointError, DivergedError) as error:
        raise Refusal(str(error)) from None
    return INTERRUPTED if done.interrupted else DONE


def _config(options: argparse.Namespace) -> Path:
    """The configuration that is asked for."""
    if options.config is not None:
        return Path(options.config)
    if options.resume is None:
        raise Refusal("name a CONFIG.yaml to train, or with --resume the folder of a run to go on with")
    config = Path(options.resume) / "config.yaml"
    if not config.is_file():
        raise Refusal(f"{options.resume}: is no run folder: it holds no config.yaml")
    return config
