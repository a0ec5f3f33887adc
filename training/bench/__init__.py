"""Benchmarks: how fast everything is, each beside a baseline in the same run."""

from __future__ import annotations

import difflib
import errno
import importlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sixnimmt_env.core.files import write_atomically

from .measure import Bar, Result, Scale

if TYPE_CHECKING:  # the list of benchmarks is wanted quickly
    from rich.console import Console

__all__ = ["BENCHMARKS", "Bar", "Benchmark", "Result", "Scale", "choose", "listing", "main", "measure"]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark.

    Attributes:
        module: where its function `measure_NAME` is; imported when it is run.
        idea: one line.
    """

    module: str
    idea: str


BENCHMARKS: Final = {
    "engine": Benchmark("engine", "card plays in batches of games of four, beside plain Python; observed: shown to every seat each turn"),
    "players": Benchmark("engine", "time of a turn with ten players, beside four"),
    "playouts": Benchmark("playouts", "playouts of a searching player, four players from ten cards left, beside plain Python"),
    "memory": Benchmark("engine", "bytes a game"),
    "aec": Benchmark("envs", "steps of the PettingZoo AEC environment, beside PettingZoo's Connect Four"),
    "parallel": Benchmark("forms", "joint steps of the PettingZoo parallel environment, beside the conversion of the AEC form"),
    "single": Benchmark("forms", "steps of one seat against greedy opponents, beside AEC and opponents in plain Python"),
    "vector": Benchmark("forms", "steps of the Gymnasium vector environment, beside loops over one game at a time"),
    "vec_env": Benchmark("envs", "learner decisions of the batched training environment, beside one game at a time"),
    "arena": Benchmark(
        "arena", "rounds of a tournament of four rule-based players, beside one at a time; with a policy, beside its inference"
    ),
    "training": Benchmark(
        "learning",
        "learner decisions of whole PPO iterations, beside MaskablePPO's defaults (8 games, 10 epochs), also over DummyVecEnv; peak memory",
    ),
    "startup": Benchmark("startup", "import, and the first game with nothing compiled, each in a fresh process"),
}


def main(names: Sequence[str], json_path: Path | None = None, console: Console | None = None, scale: Scale | None = None) -> int:
    """Run the benchmarks `names`, all if there are none, print the table and write it to `json_path`.

    Returns:
        0: a bar that is missed is no failure.

    Raises:
        ValueError: an unknown name.
        OSError: `json_path` cannot be written; as far as that can be told, before anything is measured.
    """
    from rich.console import Console

    from .report import WIDTH, as_json, show

    chosen = choose(names)
    _check_place(json_path)
    console = console or Console()
    if not console.is_terminal:
        console.width = max(console.width, WIDTH)
    results: list[Result] = []
    try:
        for place, name in enumerate(chosen, 1):
            with _saying(f"{place}/{len(chosen)} {name}: {BENCHMARKS[name].idea} ...", console):
                results += measure(name, scale or Scale())
    finally:
        if results:  # whatever stopped the rest
            show(results, console)
    if json_path is not None:
        write_atomically(json_path, json.dumps(as_json(results), indent=2) + "\n")
    return 0


def _check_place(path: Path | None) -> None:
    """Two minutes are too long to learn then that a folder was misspelt."""
    if path is None:
        return
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))


@contextmanager
def _saying(line: str, console: Console) -> Iterator[None]:
    """Say what is being measured: while it is on a terminal, as a line elsewhere."""
    if console.is_terminal:
        with console.status(line):
            yield
    else:
        console.print(line, highlight=False, soft_wrap=True)
        yield


def choose(names: Sequence[str]) -> list[str]:
    """`names` without repetitions, all benchmarks if there are none; `ValueError` for an unknown one."""
    for name in names:
        if name not in BENCHMARKS:
            close = difflib.get_close_matches(name, BENCHMARKS, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise ValueError(f"benchmark {name!r} is unknown: {hint}there are {', '.join(BENCHMARKS)}")
    return list(dict.fromkeys(names)) or list(BENCHMARKS)


def listing() -> str:
    """The benchmarks, one line each."""
    width = max(map(len, BENCHMARKS))
    return "\n".join(f"{name:<{width}}  {benchmark.idea}" for name, benchmark in BENCHMARKS.items())


def measure(name: str, scale: Scale) -> list[Result]:
    """The results of one benchmark."""
    module = importlib.import_module(f"{__name__}.{BENCHMARKS[name].module}")
    results: list[Result] = getattr(module, f"measure_{name}")(scale)
    return results
