"""What the games of a tournament say: means, intervals, comparisons, and how many rounds would tell more.

The deal, with all the games played on it, is the block: an agent's figures on it are averaged first, and deals are independent. Agents are
compared by the differences of these averages on the same deals, which takes out what the deal did to both. Intervals are Student's, for
the mean of the blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .schedule import Schedule

LEVEL: Final = 0.05  # how often an interval may miss, and a verdict be wrong
POWER: Final = 0.8  # how surely as many rounds as are advised tell a difference that is as large as it looks
FEW: Final = 30  # deals: with fewer, intervals rest on the shape of the distribution
DIGITS: Final = 9  # of averages of whole numbers; what is left below is rounding
_BLOCKS: Final = 512  # deals at a time: whatever is computed from each seat takes memory
_NEVER: Final = 1e9  # more deals than anybody plays


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over deals.

    Attributes:
        mean: the estimate.
        se: its standard error; nan for a single deal.
        low, high: the 95 % interval; infinite for a single deal.
    """

    mean: float
    se: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Blocks:
    """Figures of each agent on each deal, averaged over its games.

    Attributes:
        heads: (deals, agents) cost of a match (bull heads).
        wins: (deals, agents) share of the wins, those of a tie split.
        ranks: (deals, agents) rank at the table from 1, the mean of the ranks that a tie covers.
    """

    heads: NDArray[np.float64]
    wins: NDArray[np.float64]
    ranks: NDArray[np.float64]


def blocks(costs: NDArray[np.int64], schedule: Schedule, agents: int) -> Blocks:
    """The figures on each deal; `costs` is (deals, games, players). nan for an agent that no seat counts for."""
    weights = _weights([(schedule.seating == agent) & schedule.counted for agent in range(agents)])
    parts = []
    for part in _slices(costs):
        shares, ranks = places(part)
        parts.append([_averaged(values, weights) for values in (part, shares, ranks)])
    heads, wins, ranks_ = (np.concatenate(values) for values in zip(*parts, strict=True))
    return Blocks(heads, wins, ranks_)


def places(costs: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(share of the win, rank) of each seat, from costs (..., players). Ties share the win, and the mean of their ranks."""
    less = np.zeros(costs.shape, dtype=np.int64)
    equal = np.zeros(costs.shape, dtype=np.int64)
    for seat in range(costs.shape[-1]):
        other = costs[..., seat : seat + 1]
        less += other < costs
        equal += other == costs
    return np.where(less == 0, 1.0 / equal, 0.0), 1.0 + less + (equal - 1) / 2.0


def cross(costs: NDArray[np.int64], schedule: Schedule, agents: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(means, standard errors), each (agents, agents): heads of the first agent where the second sits at the table, in another seat.

    nan where the two never meet.
    """
    masks = []
    for own in range(agents):
        mine = (schedule.seating == own) & schedule.counted
        for other in range(agents):
            others = (schedule.seating == other).sum(axis=1, keepdims=True) - (own == other)
            masks.append(mine & (others > 0))
    weights = _weights(masks)
    cells = np.concatenate([_averaged(part, weights) for part in _slices(costs)])
    means = cells.mean(axis=0)
    errors = cells.std(axis=0, ddof=1) / math.sqrt(len(cells)) if len(cells) > 1 else np.full(len(masks), np.nan)
    return means.reshape(agents, agents), errors.reshape(agents, agents)


def _slices(costs: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    return (costs[start : start + _BLOCKS] for start in range(0, len(costs), _BLOCKS))


def _weights(masks: list[NDArray[np.bool_]]) -> NDArray[np.float64]:
    """(games x players, masks): what averages the seats that each mask, (games, players), names; nan where it names none."""
    table = np.stack([mask.ravel() for mask in masks], axis=1).astype(np.float64)
    with np.errstate(invalid="ignore"):
        table /= table.sum(axis=0)
    return table


def _averaged(values: NDArray[np.float64] | NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """(deals, masks) from values (deals, games, players)."""
    averages: NDArray[np.float64] = values.reshape(len(values), -1).astype(np.float64) @ weights
    return averages


def between(heads: NDArray[np.float64], first: int, second: int) -> NDArray[np.float64]:
    """(deals,) what the first agent lost more than the second. Equals differ by 0: averages of whole numbers do so up to rounding."""
    differences: NDArray[np.float64] = np.round(heads[:, first] - heads[:, second], DIGITS)
    return differences


def estimate(values: NDArray[np.float64], level: float = LEVEL) -> Estimate:
    """The mean of (deals,) independent values with Student's interval."""
    n, mean = len(values), float(values.mean())
    if n < 2:
        return Estimate(mean, math.nan, -math.inf, math.inf)
    se = float(values.std(ddof=1)) / math.sqrt(n)
    reach = student(1 - level / 2, n - 1) * se
    return Estimate(mean, se, mean - reach, mean + reach)


def student(probability: float, freedom: int) -> float:
    """The quantile of Student's distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


def normal(probability: float) -> float:
    """The quantile of the normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(probability))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two agents on the same deals.

    Attributes:
        first, second: their numbers.
        heads: mean of the first minus mean of the second (bull heads a match); negative: the first is better. The interval alone is 95 %.
        low, high: interval that holds for all comparisons together (with 95 %).
        better: probability that the first has the lower mean, from the differences seen (Student's, without prior opinion).
        decided: which of them is better, as far as can be told: the first (-1), the second (1), or nobody (0).
        further: deals that are missing to tell; 0 where it is told, None where no number would do.
    """

    first: int
    second: int
    heads: Estimate
    low: float
    high: float
    better: float
    decided: int
    further: int | None


def compare(values: Blocks, first: int, second: int, comparisons: int = 1, bounds: tuple[float, float] | None = None) -> Comparison:
    """Compare two agents by their heads.

    Args:
        values: figures of the deals.
        first, second: numbers of the agents.
        comparisons: how many are made at once; the level of each is divided by their number (Bonferroni), so that with 95 % none is wrong.
        bounds: an interval that counts instead, such as that of a sequential rule.
    """
    differences = between(values.heads, first, second)
    single = estimate(differences)
    together = estimate(differences, LEVEL / comparisons)
    low, high = bounds or (together.low, together.high)
    further = further_deals(differences, LEVEL / comparisons)
    if single.se == 0.0 and single.mean != 0.0 and len(differences) < FEW and np.ptp(values.heads[:, [first, second]], axis=0).any():
        low, high, further = -math.inf, math.inf, FEW - len(differences)  # a few deals that differ, by chance all by as much
    decided = -1 if high < 0 else 1 if low > 0 else 0
    further = 0 if decided else further
    return Comparison(first, second, single, low, high, _probability_below(single, len(differences)), decided, further)


def _probability_below(found: Estimate, n: int) -> float:
    """The probability that a mean is below zero."""
    from scipy.special import stdtr

    if n < 2 or found.se == 0.0:
        return 0.5 if n < 2 or found.mean == 0 else float(found.mean < 0)
    return float(stdtr(n - 1, -found.mean / found.se))


def further_deals(differences: NDArray[np.float64], level: float = LEVEL) -> int | None:
    """Deals that are missing to tell a mean difference as large as that seen from zero, with the power POWER; None: no number would do.

    The usual formula for a paired comparison, n = ((z(1 - level/2) + z(power)) s / d)^2 (Chow, Shao and Wang, Sample Size Calculations in
    Clinical Research, ch. 3), with the spread s and the difference d of the deals seen.
    """
    n, difference = len(differences), abs(float(differences.mean()))
    spread = float(differences.std(ddof=1)) if n > 1 else math.nan
    if n < 2 or difference == 0.0 or spread == 0.0:
        return None
    wanted = ((normal(1 - level / 2) + normal(POWER)) * spread / difference) ** 2
    return max(1, math.ceil(wanted) - n) if wanted < _NEVER else None
