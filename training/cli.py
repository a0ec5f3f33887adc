"""The command line: `sixnimmt`, and `python -m training`.

Exit status: 0 done, 1 a fault of ours (with a traceback), 2 what was asked for cannot be done (with the reason and the fix), 130 stopped by
Ctrl-C with everything saved.
"""

from __future__ import annotations

import argparse
import difflib
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, NoReturn, cast

from sixnimmt_env import __version__

from .commands.common import DONE, INTERRUPTED, REFUSED, Command, Refusal, reason

# Modules of `training.commands`, in the order of the help.
COMMANDS: Final = (
    "train",
    "evaluate",
    "analyze",
    "exploit",
    "tournament",
    "sweep",
    "plot",
    "export",
    "bench",
    "watch",
    "replay",
    "agents",
    "rules",
)

_EPILOG = """\
first steps:
  sixnimmt train configs/quickstart.yaml               learn for some minutes
  sixnimmt evaluate runs/quickstart --against greedy   how good is it?
  sixnimmt evaluate greedy --against random            a rule-based player
  sixnimmt tournament random greedy highest closest    all with all
  sixnimmt plot runs/quickstart --out curve.png        how it has learned
  sixnimmt watch runs/quickstart greedy random greedy  see them play
  sixnimmt replay game.jsonl --explain                 a saved match in words
  sixnimmt analyze --hand 3,17 --rows 5 22 60 80       what each card is worth
  sixnimmt agents                                      what can be an AGENT
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough, as in `sixnimmt agents | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (Refusal, OSError) as error:
        return _refuse(reason(error))
    except MemoryError as error:
        return _refuse(f"not enough memory: {error}; for a training, lower training.games")
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in ("sixnimmt_env", "training"):
            raise
        return _refuse(f"{error.name} is not installed: python -m pip install torch==2.13.0 'sixnimmt-env[train]'")
    except KeyboardInterrupt:
        print("sixnimmt: stopped", file=sys.stderr)
        return INTERRUPTED
    return status


def _refuse(why: str) -> int:
    print(f"sixnimmt: {why}", file=sys.stderr)
    return REFUSED


class _Parser(argparse.ArgumentParser):
    """Says what was probably meant by a command or an option that there is not. The parsers of the commands are of this class as well."""

    _given: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._given = sys.argv[1:] if args is None else args
        namespace, unknown = super().parse_known_args(args, namespace)
        if unknown:  # said here, for the command, whose options are the ones that are near
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return namespace, unknown

    def error(self, message: str) -> NoReturn:
        super().error(message + self._hint(message))

    def _hint(self, message: str) -> str:
        commands = [name for action in self._actions if isinstance(action, argparse._SubParsersAction) for name in action.choices]
        known = [*commands, *(flag for action in self._actions for flag in action.option_strings)]
        words = self._given[:1] if commands else [word.partition("=")[0] for word in self._given if word.startswith("-")]
        for word in words:
            short = word.startswith("-") and any(name.startswith(word) for name in known)  # argparse knows what it stands for
            if word not in known and not short and (near := difflib.get_close_matches(word, known, 1)):
                what = "" if word in message else f"{word} is unknown, "
                return f"; {what}did you mean {near[0]}?"
        return ""


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="sixnimmt",
        description="Train, evaluate and measure players of 6 nimmt!.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,  # for the epilog; no line is longer than 80 columns
    )
    parser.add_argument("--version", action="version", version=f"sixnimmt {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in COMMANDS:
        command = cast(Command, import_module(f".commands.{name}", __package__))
        sub = commands.add_parser(name, help=command.HELP, description=command.DESCRIPTION)
        command.add_options(sub)
        sub.set_defaults(run=command.run)
    return parser


def run() -> NoReturn:
    """The console script."""
    if sys.stdout is None or sys.stderr is None:  # closed by whoever started us
        nowhere = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without the sign ± shows another one
    sys.exit(main())
