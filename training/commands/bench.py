"""`sixnimmt bench`."""

from __future__ import annotations

import argparse
from typing import Final

from .common import DONE, add_json, asked

HELP: Final = "measure speed beside in-repo baselines"
DESCRIPTION: Final = """\
Measure how fast things are, each beside a baseline in the same run. Quote the ratios: absolute figures depend on the machine and on what
else it does.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run (default: all)")
    parser.add_argument("--list", action="store_true", help="list the benchmarks, one line each, and stop")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Measure."""
    from .. import bench

    if options.list:
        print(bench.listing())
        return DONE
    with asked():
        names = bench.choose(options.names)
    return bench.main(names, options.json)
