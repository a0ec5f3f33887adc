"""The terminal that commands write to."""

from __future__ import annotations

import os

from rich.console import Console


class SteadyConsole(Console):
    """A console whose reader may leave: work of minutes goes on, unseen, instead of ending with it."""

    def on_broken_pipe(self) -> None:
        """Write to nowhere from now on."""
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
