"""`sixnimmt replay`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from sixnimmt_env import traces

from .common import DONE, asked

HELP: Final = "tell a recorded match in words"
DESCRIPTION: Final = """\
Tell the match in a trace, one line an event, under its number. The file is verified first: the match is played again, and every line must
be what the rules lead to. A damaged or foreign file is refused with its line.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("trace", metavar="FILE.jsonl", type=Path)
    parser.add_argument("--explain", action="store_true", help="with the reasons that the rules give")
    parser.add_argument("--board", action="store_true", help="with the board, all hands open, before every turn")
    parser.add_argument("--step", action="store_true", help="stop after every event and show the board; Enter goes on")
    parser.add_argument("--from", type=int, default=0, metavar="N", dest="start", help="begin with event N (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="only verify the file")


def run(options: argparse.Namespace) -> int:
    """Tell it."""
    from .. import replay

    with asked():
        trace = traces.load(options.trace)
        trace.verify()
        if not 0 <= options.start < len(trace):
            raise ValueError(f"--from {options.start} is no event: there are 0 to {len(trace) - 1}")
    if options.check:
        print(replay.summary(trace, str(options.trace)))
        return DONE
    if options.step:
        lines = replay.walk(trace, input, options.explain, options.start)
    else:
        lines = replay.tell(trace, options.explain, options.board, options.start)
    for line in lines:
        print(line)
    return DONE
