"""The terminal that commands write to."""

from __future__ import annotations

import os

from rich.console import Console


def say(console: Console, line: str) -> None:
    """Print `line` as it is: in one piece, and whatever signs it holds."""
    console.print(line, highlight=False, markup=False, emoji=False, soft_wrap=True)


class SteadyConsole(Console):
    """A console whose reader may leave: work of minutes goes on, unseen, instead of ending with it."""

    def on_broken_pipe(self) -> None:
        """Write to nowhere from now on."""
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
