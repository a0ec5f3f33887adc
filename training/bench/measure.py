"""How things are measured: beside a baseline, in alternating pairs, quoted as medians. And what a measurement is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

Work = Callable[[], tuple[float, float]]
"""Does some work; returns how much, and the seconds that count."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured. The defaults are what `sixnimmt bench` does, about two minutes; tests take less of everything.

    Attributes:
        seconds: each side of a pair is measured for this long at least.
        pairs: pairs of a measurement.
        batches: batch sizes of `engine`.
        games: games side by side in `players` and `vec_env`.
        plain_games: games that the plain resolver plays in one go.
        training: keys of the configuration's section `training` for our side of `training`; the rest are its defaults.
        stock: arguments of MaskablePPO for the other side; the rest are its defaults.
        training_pairs: pairs of `training`, each of two whole iterations.
        starts: fresh processes for each side of the import time.
        empty_cache: whether `startup` compiles the engine anew, which takes much of the time.
    """

    seconds: float = 0.12
    pairs: int = 9
    batches: tuple[int, ...] = (1, 64, 1024, 16384)
    games: int = 1024
    plain_games: int = 20
    training: Mapping[str, Any] = field(default_factory=dict)
    stock: Mapping[str, Any] = field(default_factory=dict)
    training_pairs: int = 2
    starts: int = 5
    empty_cache: bool = True


@dataclass(frozen=True, slots=True)
class Bar:
    """What a result's value or ratio should reach. Printed, never a reason to fail: the machine may be busy."""

    of: Literal["value", "ratio"]
    at: Literal["least", "most"]
    limit: float

    def met(self, number: float | None) -> bool | None:
        """Whether `number` reaches it; None if there is no number."""
        if number is None:
            return None
        return number >= self.limit if self.at == "least" else number <= self.limit


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table.

    Attributes:
        name: benchmark, then what of it, joined by dots.
        value: the median, in `unit`; None if it cannot be measured here.
        unit: one that ends in "/s" is a rate, of which more is better; of all others less is.
        beside: what the baseline is, or why there is none.
        baseline: its median, in the same unit.
        ratio: value / baseline, the median over the pairs; `low` and `high` are the least and the greatest of several.
        bar: what should be reached.
    """

    name: str
    value: float | None
    unit: str
    beside: str = ""
    baseline: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    bar: Bar | None = None

    @property
    def met(self) -> bool | None:
        """Whether the bar is reached; None without a bar, or without a number to hold against it."""
        return self.bar.met(self.value if self.bar.of == "value" else self.ratio) if self.bar else None


def compare(
    name: str, unit: str, ours: Callable[[], float], beside: str, theirs: Callable[[], float] | None, pairs: int, bar: Bar | None = None
) -> Result:
    """Measure `ours` beside `theirs`, each call of which gives one number; without `theirs`, `beside` says why."""
    if theirs is None:
        return Result(name, median(ours() for _ in range(pairs)), unit, beside, bar=bar)
    values: list[float] = []
    baselines: list[float] = []
    for pair in range(pairs):
        # Each goes first in every other pair, so that a machine that slows down favours neither.
        for side, numbers in [(ours, values), (theirs, baselines)][:: 1 if pair % 2 == 0 else -1]:
            numbers.append(side())
    ratios = [value / baseline for value, baseline in zip(values, baselines, strict=True)]
    return Result(name, median(values), unit, beside, median(baselines), median(ratios), min(ratios), max(ratios), bar)


def rate(work: Work, seconds: float) -> Callable[[], float]:
    """A measurement: work a second, over at least so many seconds. The first bit of work is done here and not counted."""
    work()

    def measure() -> float:
        done = spent = 0.0
        while spent < seconds:
            more, taken = work()
            done += more
            spent += taken
        return done / spent

    return measure


def timed(call: Callable[[], Any]) -> float:
    """Seconds that `call` takes."""
    before = time.perf_counter()
    call()
    return time.perf_counter() - before
