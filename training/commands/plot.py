"""`sixnimmt plot`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from .common import DONE, asked, check_writable

HELP: Final = "draw learning curves of training runs"
DESCRIPTION: Final = """\
Draw the learning curves of one or more training runs into one picture, and below them the skill over time against each agent that they were
evaluated against on the way (evaluation.every_decisions). Runs that still go on can be drawn as well.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("runs", nargs="+", metavar="RUN", type=Path, help="run folders, as `sixnimmt train` makes them")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE.png", help="the picture; FILE.svg and FILE.pdf work as well")
    parser.add_argument("--over", choices=("decisions", "minutes"), default="decisions", help="the x axis (default: %(default)s)")


def run(options: argparse.Namespace) -> int:
    """Draw."""
    with asked():
        from .. import plots

        if options.out.suffix.lower() not in plots.FORMATS:
            raise ValueError(f"--out {options.out} must end in {', '.join(plots.FORMATS[:-1])} or {plots.FORMATS[-1]}")
        check_writable(options.out)
        runs = [plots.run(folder) for folder in dict.fromkeys(options.runs)]
    plots.compare(runs, options.out, options.over)
    return DONE
