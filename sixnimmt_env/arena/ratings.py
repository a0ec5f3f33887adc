"""Ratings: one number an agent, from who ended ahead of whom at tables of any size.

The model is that of Plackett and Luce: an agent of strength w ends ahead of one of strength v with odds of w to v, whoever else is there.
Strengths are fitted by maximum likelihood with the library choix, to the results of all games at once. Ratings that are updated game by
game (Elo, TrueSkill, OpenSkill) are made for players who change and come and go: they depend on the order of the games and forget old ones,
which here would only add noise, and their uncertainty takes games on one deal for independent.

Each game is broken into its pairs, "ended ahead of", a tie counting half for both. This estimator is consistent for the model (Azari
Soufiani, Chen, Parkes and Xia, Generalized Method-of-Moments for Rank Aggregation, NeurIPS 2013), takes ties, and needs of a million games
no more than a table of agents by agents. An agent's seats against its own seats say nothing and are left out.

The pairs of a game, and the games on a deal, are not independent. So intervals come from a Bayesian bootstrap over the deals (Rubin, Annals
of Statistics 9(1), 1981): the fit is repeated with random weights for the deals. The share of these fits in which A is above B is the
probability that A is better than B.

A rating is about the field it was measured in: play is not transitive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .schedule import Schedule

POINTS: Final = 400 / math.log(10)
"""Points of rating for a factor e of strength: 400 points are odds of ten to one of ending ahead, as in Elo's scale."""
FITS: Final = 1000
_PRIOR: Final = 0.5  # of a pair that every two agents are taken to have won against each other: nobody is infinitely strong
_DEALS: Final = 4096  # at a time: their pairs take memory
_GROUPS: Final = 10_000  # where there are more deals, some are weighted together, which changes nothing but the time it takes


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings in points, their mean over the agents being 0.

    Attributes:
        points: (agents,) the ratings; more is better.
        low, high: (agents,) 95 % intervals; nan for a single deal, as is `better`.
        better: (agents, agents) probability that the first is better than the second; 0.5 on the diagonal.
        ahead: (agents, agents) chance that the first ends ahead of the second at a table, as the ratings have it.
    """

    points: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    better: NDArray[np.float64]
    ahead: NDArray[np.float64]


def pairs(costs: NDArray[np.int64], schedule: Schedule, agents: int) -> NDArray[np.float64]:
    """(deals, agents, agents): on each deal, how often a seat of the first agent ended ahead of one of the second; ties count half."""
    table = np.zeros((len(costs), agents * agents))
    for one in range(schedule.players):
        for other in range(schedule.players):
            if one != other:
                ahead = (costs[:, :, one] < costs[:, :, other]) + 0.5 * (costs[:, :, one] == costs[:, :, other])
                cells = schedule.seating[:, one] * agents + schedule.seating[:, other]
                order = np.argsort(cells, kind="stable")
                starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
                table[:, cells[order][starts]] += np.add.reduceat(ahead[:, order], starts, axis=1)
    found = table.reshape(-1, agents, agents)
    found[:, np.arange(agents), np.arange(agents)] = 0.0
    return found


def _grouped(costs: NDArray[np.int64], schedule: Schedule, agents: int) -> NDArray[np.float64]:
    """(groups, agents x agents) pairs won on groups of deals."""
    count = min(len(costs), _GROUPS)
    group = np.arange(len(costs)) * count // len(costs)
    won = np.zeros((count, agents * agents))
    for start in range(0, len(costs), _DEALS):
        part = slice(start, start + _DEALS)
        np.add.at(won, group[part], pairs(costs[part], schedule, agents).reshape(-1, agents * agents))
    return won


def fit(won: NDArray[np.float64], start: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """(agents,) logarithms of the strengths, mean 0, from (agents, agents) pairs won. Agents that never met are linked by the prior."""
    import choix

    count = len(won)
    prior = _PRIOR * (1.0 - np.eye(count))
    found: NDArray[np.float64] = np.asarray(choix.ilsr_pairwise_dense(won + prior, initial_params=start, max_iter=10_000, tol=1e-6))
    found -= found.mean()
    return found


def rate(costs: NDArray[np.int64], schedule: Schedule, agents: int, seed: int = 0, fits: int = FITS) -> Ratings:
    """Ratings of all agents, with intervals; `costs` is (deals, games, players), `seed` is that of the bootstrap."""
    won = _grouped(costs, schedule, agents)
    best = fit(won.sum(axis=0).reshape(agents, agents))
    rng = np.random.default_rng(seed)
    samples = np.empty((fits, agents))
    for place in range(fits):
        weights = rng.standard_exponential(len(won))
        weights *= len(won) / weights.sum()
        samples[place] = fit((weights @ won).reshape(agents, agents), best)
    if len(won) < 2:  # nothing can be said about the error
        samples *= np.nan
    low, high = np.quantile(samples, [0.025, 0.975], axis=0)
    above = samples[:, :, None] - samples[:, None, :]
    better = np.where(np.isnan(above), np.nan, (above > 0) + 0.5 * (above == 0)).mean(axis=0)
    return Ratings(
        points=POINTS * best,
        low=POINTS * low,
        high=POINTS * high,
        better=better,
        ahead=1.0 / (1.0 + np.exp(best[None, :] - best[:, None])),
    )
