"""`sixnimmt sweep`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from ..plugin import agent_of
from .common import DONE, INTERRUPTED, Refusal, asked

HELP: Final = "train variants with several seeds, compare them"
DESCRIPTION: Final = """\
Train every variant that CONFIG.yaml names with every seed, let the policies of each play those of the baseline on equal deals, and report
what was tried and what came of it, with intervals that treat the seed as the unit. Trials that are finished are not trained again: after
Ctrl-C or a crash, and after adding variants, seeds or deals, the same command does what is missing. configs/sweeps/defaults.yaml explains
every key.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("config", metavar="CONFIG.yaml", type=Path, help="what is varied, the variants and the seeds")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY.PATH=VALUE",
        dest="overrides",
        help="set one key of the file, such as seeds=[0,1,2,3]; repeatable",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="keeps the trials and the report; run again, it goes on (default: runs/NAME)"
    )
    parser.add_argument("--dry-run", action="store_true", help="list the trials, which of them are finished, and stop")


def run(options: argparse.Namespace) -> int:
    """Sweep."""
    from .. import sweep_config

    with asked():
        sweep, trials = sweep_config.read(options.config, options.overrides, agent_of)
    folder = options.out or Path("runs") / sweep.name
    from .. import sweep as sweeping
    from ..checkpoint import CheckpointError
    from ..config import ConfigError
    from ..console import SteadyConsole, say

    console = SteadyConsole()
    if options.dry_run:
        with asked():
            sweeping.check(trials, folder)
        for trial in trials:
            say(console, f"{folder / trial.name}: {'finished' if sweeping.finished(folder / trial.name) else 'to be trained'}")
        return DONE
    try:
        rows = sweeping.run(sweep, trials, folder, console)
    except (CheckpointError, ConfigError, sweeping.TrialError) as error:
        raise Refusal(str(error)) from None
    return INTERRUPTED if rows is None else DONE
