"""What came of the trainings of a sweep: each by itself, a variant beside the baseline, and how sure that is.

A seed is the unit of all statistics: two trainings that differ in nothing but the seed differ in strength, and more deals do not change
that.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sixnimmt_env.arena.statistics import LEVEL, student

ENOUGH_SEEDS: Final = 3
"""With fewer nothing is claimed."""
TICK: Final = 0.1  # seconds of learning are kept rounded to it


@dataclass(frozen=True)
class Outcome:
    """What came of one trial.

    Attributes:
        decisions: of the learner.
        seconds: of learning.
        heads: mean bull heads a match by opponents.
        errors: their standard errors over deals; nan for a single deal.
        diverged: why there is no policy, and nothing above; "" where there is one.
    """

    decisions: int = 0
    seconds: float = 0.0
    heads: Mapping[str, float] = dataclasses.field(default_factory=dict)
    errors: Mapping[str, float] = dataclasses.field(default_factory=dict)
    diverged: str = ""


@dataclass(frozen=True, eq=False)
class Difference:
    """A variant against the baseline, at the same tables.

    Attributes:
        pairs: (seeds, seeds) bull heads a seat and match that the variant's policy of the first seed paid more than the baseline's of the
            second, over all deals; negative: the variant is better.
        each: (seeds,) the difference that each seed stands for, see `difference`.
        heads: the mean of either.
        se: its standard error; `seeds_se` is the part that is due to the seeds, `deals_se` that due to the deals.
        low, high: the 95 % interval, with as many degrees of freedom as the fewer of seeds and deals, but one.
    """

    pairs: NDArray[np.float64]
    each: NDArray[np.float64]
    heads: float
    se: float
    seeds_se: float
    deals_se: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """The difference in words."""
        seeds = len(self.pairs)
        if seeds < ENOUGH_SEEDS:
            return f"{seeds} seeds are too few to tell"
        if self.low <= 0.0 <= self.high:
            return "no difference found"
        return "better" if self.high < 0.0 else "worse"


def difference(heads: NDArray[np.float64]) -> Difference:
    """What a variant paid more than the baseline, with an interval that holds for other seeds and other deals.

    The seed is the unit, and both sides are paired by it: with equal seeds they begin with equal deals and, where their shapes are equal,
    equal weights, and after a short training seeds that are bad for one are bad for the other. Seed k stands for the mean of the variant's
    policy k against all of the baseline, plus that of the baseline's policy k against all of the variant, minus the mean of all: were
    strength a number, that is how much stronger the one is than the other, whoever they have met. These are independent, and Student's
    interval is theirs. All pairs play the same deals, so what these favour is seen in no spread between seeds; its variance is added.

    Args:
        heads: (deals, seeds, seeds) by the seed of the variant, then of the baseline; at least two deals and two seeds.
    """
    deals, seeds, _ = heads.shape
    pairs = heads.mean(axis=0)
    mean = float(pairs.mean())
    each = pairs.mean(axis=1) + pairs.mean(axis=0) - mean  # (seeds,), whose mean is the mean of all
    of_seeds = float(each.std(ddof=1)) / math.sqrt(seeds)
    of_deals = float(heads.mean(axis=(1, 2)).std(ddof=1)) / math.sqrt(deals)
    se = math.hypot(of_seeds, of_deals)
    reach = student(1 - LEVEL / 2, min(seeds, deals) - 1) * se  # a variance is known as well as its few units allow
    return Difference(pairs, each, mean, se, of_seeds, of_deals, mean - reach, mean + reach)


@dataclass(frozen=True)
class Row:
    """What came of a variant.

    Attributes:
        variant: its name.
        outcomes: of its trials, in the order of the seeds.
        difference: to the baseline; None for the baseline itself, and where a trial of either has diverged.
    """

    variant: str
    outcomes: tuple[Outcome, ...]
    difference: Difference | None

    @property
    def learned(self) -> list[Outcome]:
        """The trials that have a policy."""
        return [outcome for outcome in self.outcomes if not outcome.diverged]

    @property
    def decisions(self) -> int:
        """Decisions of a trial (median)."""
        return int(statistics.median(outcome.decisions for outcome in self.learned)) if self.learned else 0

    @property
    def speed(self) -> float:
        """Decisions a second (median over the trials); nan where none has learned."""
        speeds = [outcome.decisions / max(TICK, outcome.seconds) for outcome in self.learned]
        return statistics.median(speeds) if speeds else math.nan

    def floor(self, opponent: str) -> tuple[float, float]:
        """(mean over seeds, standard error over seeds) of the bull heads against `opponent`; nan where there are too few."""
        heads = [outcome.heads[opponent] for outcome in self.learned]
        mean = statistics.fmean(heads) if heads else math.nan
        return mean, statistics.stdev(heads) / math.sqrt(len(heads)) if len(heads) > 1 else math.nan
