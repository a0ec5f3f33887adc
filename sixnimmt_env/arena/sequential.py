"""When to stop early: a rule that may look as often as it likes.

Whoever looks at an ordinary interval again and again, and stops as soon as it leaves zero out, finds differences where there are none. The
intervals here hold at all times at once: they are the asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas,
"Time-uniform central limit theory and asymptotic confidence sequences", Annals of Statistics 52(6), 2024 (arXiv 2103.06476),

    mean +- s sqrt( 2 (n r^2 + 1) / (n r)^2 * log( sqrt(n r^2 + 1) / level ) ),

with the mean and the standard deviation s of n blocks, and any r > 0, chosen such that they are narrowest at a number of deals named
beforehand: r^2 = (-2 log level + log(-2 log level) + 1) / n. They are wider than an interval for one look (by half or two thirds, from 500
to 5000 deals), need no last look to be fixed, and stay valid when more deals are added later, which a group-sequential design would not.
They hold for large n, so nothing is decided before MIN_DEALS.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .schedule import Schedule
from .statistics import LEVEL, between, blocks

MIN_DEALS: Final = 64
NARROWEST: Final = 1000  # deals at which the intervals are narrowest, in their own measure


def reach(deals: int, spread: float, level: float = LEVEL, narrowest: int = NARROWEST) -> float:
    """Half the width of the interval after `deals` blocks of standard deviation `spread`; infinite before MIN_DEALS."""
    if deals < MIN_DEALS:
        return math.inf
    log = -2 * math.log(level)
    r2 = (log + math.log(log) + 1) / narrowest
    grown = deals * r2 + 1
    return spread * math.sqrt(2 * grown / (deals * deals * r2) * math.log(math.sqrt(grown) / level))


def interval(differences: NDArray[np.float64], level: float = LEVEL, narrowest: int = NARROWEST) -> tuple[float, float]:
    """The interval for the mean of (deals,) differences, whenever and however often it is looked at."""
    if len(differences) < MIN_DEALS:
        return -math.inf, math.inf
    mean, half = float(differences.mean()), reach(len(differences), float(differences.std(ddof=1)), level, narrowest)
    return mean - half, mean + half


class UntilDecided:
    """Stops when all comparisons are decided: zero lies outside the interval, or the interval shows that no difference matters.

    Args:
        schedule: what is played on every deal.
        agents: how many there are.
        pairs: the comparisons; the level of each is divided by their number.
        indifference: differences of fewer heads than this do not matter; 0: all do, and equals are played to the last deal.
    """

    def __init__(self, schedule: Schedule, agents: int, pairs: Sequence[tuple[int, int]], indifference: float = 0.0) -> None:
        self.schedule, self.agents, self.pairs, self.indifference = schedule, agents, list(pairs), indifference
        self._heads: list[NDArray[np.float64]] = []

    def __call__(self, costs: NDArray[np.int64]) -> bool:
        """Take in the costs of the next deals, (deals, games, players); whether those so far suffice."""
        self._heads.append(blocks(costs, self.schedule, self.agents).heads)
        heads = np.concatenate(self._heads)
        level = LEVEL / len(self.pairs)
        return all(self.settled(*interval(between(heads, first, second), level)) for first, second in self.pairs)

    def settled(self, low: float, high: float) -> bool:
        """Whether an interval decides its comparison."""
        return low > 0 or high < 0 or -self.indifference <= low <= high <= self.indifference
