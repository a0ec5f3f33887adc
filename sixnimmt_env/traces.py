"""Traces of matches: record one, save it, load it, step through it.

```python
from sixnimmt_env import agents, traces
from sixnimmt_env.games import sixnimmt

trace = traces.record(sixnimmt.GAME, sixnimmt.Rules(num_players=4), [agents.make("greedy")], seed=7)
trace.save("game.jsonl")
for step in traces.load("game.jsonl").steps():
    print(step.number, step.explain())
```

The environments keep one of the match they are in: `env.trace()`. `sixnimmt replay game.jsonl` tells a file in words.
`core/trace/file.py` documents the file, `core/trace/trace.py` what a trace can do.
"""

from __future__ import annotations

import os

from . import games
from .arena import record
from .core.trace import Step, Trace, TraceError, printable

__all__ = ["Step", "Trace", "TraceError", "load", "printable", "record"]


def load(path: str | os.PathLike[str]) -> Trace:
    """The trace in the file `path`, of any game of the package, verified line by line.

    Raises:
        TraceError: the file is damaged, foreign, or tells what the rules do not lead to. The message names the line.
        OSError: it cannot be read.
    """
    return Trace.load(path, games.get)
