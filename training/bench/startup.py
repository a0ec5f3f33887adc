"""From nothing to the first game: import, and compilation into an empty cache."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Final

from .fresh import fresh
from .measure import Bar, Result, Scale, compare

IMPORT_BAR: Final = Bar("value", "most", 1)
COMPILE_BAR: Final = Bar("value", "most", 15)

_IMPORT = """\
import importlib, json, sys, time
before = time.perf_counter()
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps(time.perf_counter() - before))
"""
_FIRST_GAME = """\
import json, time
from sixnimmt_env import sixnimmt_v0
before = time.perf_counter(), time.process_time()
env = sixnimmt_v0.env()
env.reset(seed=0)
for _ in env.agent_iter():
    observation, _, terminated, truncated, _ = env.last()
    env.step(None if terminated or truncated else int(observation["action_mask"].argmax()))
print(json.dumps([time.perf_counter() - before[0], time.process_time() - before[1]]))
"""


def measure_startup(scale: Scale) -> list[Result]:
    """Seconds to import the environment, and from there to the end of the first game: by the clock, and of processor time."""
    ours, theirs = _importing("sixnimmt_env.sixnimmt_v0"), _importing("numba", "gymnasium", "pettingzoo")
    ours(), theirs()  # the first import writes byte code and fills the system's cache of files
    results = [compare("startup.import", "s", ours, "its dependencies alone", theirs, scale.starts, IMPORT_BAR)]
    if scale.empty_cache:
        with tempfile.TemporaryDirectory() as folder:
            cold, warm = (fresh(_FIRST_GAME, environment={"NUMBA_CACHE_DIR": folder}) for _ in range(2))
        for place, (name, bar) in enumerate((("startup.first_game", COMPILE_BAR), ("startup.first_game_cpu", None))):
            ratio = cold[place] / warm[place]
            results.append(Result(name, cold[place], "s", "compiled before", warm[place], ratio, bar=bar))
    return results


def _importing(*modules: str) -> Callable[[], float]:
    return lambda: float(fresh(_IMPORT, *modules))
