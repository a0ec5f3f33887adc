"""What came of a tournament, computed from its games: standings, comparisons, ratings, and all that in words and as plain data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import sequential, statistics
from .forfeit import Forfeits
from .ratings import Ratings, rate
from .schedule import Schedule
from .statistics import DIGITS, FEW, LEVEL, POWER, Blocks, Comparison, Estimate
from .tournament import Plan, Played


@dataclass(frozen=True, slots=True)
class Standing:
    """What one agent has done.

    Attributes:
        agent: its number.
        name: its name.
        seats: how many seats of games its figures are the mean of.
        heads: cost of a match (bull heads).
        wins: share of the wins, those of a tie split; a fair share is one over the players.
        rank: rank at the table, from 1.
        illegal: illegal actions.
        forfeits: decisions it forfeited: it raised, answered what is no action, or ran out of time.
        reason: of the first of them, in a line; "" where there are none.
        decisions: decisions.
        seconds_per_decision: inside its batches.
        histogram: (k,) how often it lost 0, 1, 2, ... heads.
    """

    agent: int
    name: str
    seats: int
    heads: Estimate
    wins: Estimate
    rank: Estimate
    illegal: int
    forfeits: int
    reason: str
    decisions: int
    seconds_per_decision: float
    histogram: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Results:
    """A tournament's results.

    Attributes:
        plan: what was played, with as many deals as were.
        stopped: see `Played`.
        standings: the agents, fewest heads first.
        comparisons: of the newcomer with all others, or of all with all; the better one of each first, where that can be told.
        ratings: in the order of the agents' numbers.
        cross, cross_errors: (agents, agents) heads of the first where the second is at the table, with standard errors; nan: never.
        sequential: whether play was to stop when all is decided: the intervals that decide then hold at all times.
        notes: what a reader should know, in words.
        forfeits: the agents that forfeited decisions, each with how many and why, in words.
    """

    plan: Plan
    stopped: str
    standings: tuple[Standing, ...]
    comparisons: tuple[Comparison, ...]
    ratings: Ratings
    cross: NDArray[np.float64]
    cross_errors: NDArray[np.float64]
    sequential: bool
    notes: tuple[str, ...]
    forfeits: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The agents by number."""
        return [entrant.name for entrant in self.plan.entrants]

    def verdict(self, comparison: Comparison) -> str:
        """A comparison in one sentence."""
        first, second = self.names[comparison.first], self.names[comparison.second]
        heads = comparison.heads
        error = f" ± {heads.se:.2f}" if math.isfinite(heads.se) else ""
        size = f"{abs(heads.mean):.2f}{error} heads a match"
        if comparison.decided:
            better, worse = (first, second) if comparison.decided < 0 else (second, first)
            return f"{better} is better than {worse} by {size}"
        if self.plan.deals < 2:
            return f"not enough rounds to tell {first} and {second} apart: a single deal has no error; play at least 2 deals"
        if heads.se == 0.0 and heads.mean == 0.0:
            return f"{first} and {second} are equal: no deal made a difference"
        begin = f"not enough rounds to tell {first} and {second} apart ({size})"
        if comparison.further is None:
            return f"{begin}: they are as good as equal, no number of rounds would do"
        deals = f"{_round(comparison.further):,} more deal{'s' if comparison.further > 1 else ''}"
        rounds = comparison.further * self.plan.schedule.games
        return f"{begin}: if the difference is as large as it looks, about {deals} ({_round(rounds):,} matches) would do"


def summarise(played: Played, sequential_rule: bool = False, fits: int | None = None) -> Results:
    """Everything that is computed from the games.

    Args:
        played: the games; at least one deal.
        sequential_rule: whether play was to stop when decided; comparisons are then decided by intervals that hold at all times.
        fits: repetitions of the bootstrap; None for the default.

    Raises:
        ValueError: no deal was played.
    """
    plan, costs = played.plan, played.costs
    if not len(costs):
        raise ValueError("no deal was finished: there is nothing to say yet")
    count = len(plan.entrants)
    values = statistics.blocks(costs, plan.schedule, count)
    standings = sorted((_standing(played, values, agent) for agent in range(count)), key=lambda standing: standing.heads.mean)
    cross, errors = statistics.cross(costs, plan.schedule, count)
    order = [standing.agent for standing in standings]
    return Results(
        plan=plan,
        stopped=played.stopped,
        standings=tuple(standings),
        comparisons=tuple(_comparisons(plan.schedule, values, order, sequential_rule)),
        ratings=rate(costs, plan.schedule, count, plan.seed, **({} if fits is None else {"fits": fits})),
        cross=cross,
        cross_errors=errors,
        sequential=sequential_rule,
        notes=tuple(_notes(played, values, sequential_rule)),
        forfeits=tuple(_forfeits(played)),
    )


def compared(schedule: Schedule, agents: int | Sequence[int]) -> list[tuple[int, int]]:
    """Which agents are compared: the newcomer with all others, else all pairs, in the order of `agents`."""
    order = range(agents) if isinstance(agents, int) else agents
    if schedule.focus is not None:
        return [(schedule.focus, other) for other in order if other != schedule.focus]
    return list(itertools.combinations(order, 2))


def _standing(played: Played, values: Blocks, agent: int) -> Standing:
    plan = played.plan
    mine = (plan.schedule.seating == agent) & plan.schedule.counted
    own = played.costs[:, mine]
    forfeits = played.forfeits.get(agent, Forfeits(0, ""))
    return Standing(
        agent=agent,
        name=plan.entrants[agent].name,
        seats=own.size,
        heads=statistics.estimate(values.heads[:, agent]),
        wins=statistics.estimate(values.wins[:, agent]),
        rank=statistics.estimate(values.ranks[:, agent]),
        illegal=int(played.illegal[agent]),
        forfeits=forfeits.decisions,
        reason=forfeits.reason,
        decisions=int(played.decisions[agent]),
        seconds_per_decision=float(played.seconds[agent] / max(1, played.decisions[agent])),
        histogram=np.bincount(own.ravel(), minlength=1),
    )


def _comparisons(schedule: Schedule, values: Blocks, order: Sequence[int], sequential_rule: bool) -> Iterator[Comparison]:
    pairs = compared(schedule, order)
    for first, second in pairs:
        differences = statistics.between(values.heads, first, second)
        bounds = sequential.interval(differences, LEVEL / len(pairs)) if sequential_rule else None
        yield statistics.compare(values, first, second, len(pairs), bounds)


def _notes(played: Played, values: Blocks, sequential_rule: bool) -> Iterator[str]:
    plan = played.plan
    if played.stopped == "decided":
        yield f"Stopped after {plan.deals:,} deals: every comparison is decided."
    elif played.stopped == "interrupted":
        yield f"Interrupted: these are the results of the first {plan.deals:,} deals."
    if not plan.schedule.complete:
        yield f"There are too many line-ups to play all on each deal: a balanced choice is played, {plan.schedule.games} games a deal."
    if plan.deals > 1 and not np.ptp(values.heads, axis=0).round(DIGITS).any():
        yield "All deals ended alike: nothing was left to chance, so the errors are 0 and more rounds tell no more."
    elif plan.deals < FEW:
        yield f"Only {plan.deals} deal{'s' if plan.deals > 1 else ''}: take the intervals with a grain of salt."
    for entrant, count in zip(plan.entrants, played.illegal.tolist(), strict=True):
        if count:
            yield f"{entrant.name} chose {count:,} illegal actions; each was replaced by the lowest legal one."
    if sequential_rule:
        yield "Comparisons are decided by intervals that hold at all times, which allows to stop as soon as they are."


def _forfeits(played: Played) -> Iterator[str]:
    for agent, found in played.forfeits.items():
        what = f"{found.decisions:,} decision{'s' if found.decisions > 1 else ''}"
        yield f"{played.plan.entrants[agent].name} forfeited {what}: {found.reason}"


def _round(number: int) -> int:
    """The number to two digits, upwards: it is a guess."""
    step: int = 10 ** max(0, len(str(number)) - 2)
    return -(-number // step) * step


def as_data(results: Results) -> dict[str, Any]:
    """The results as plain data for JSON; all of it follows from the plan, so seconds are not in it (see `timing`)."""
    plan = results.plan
    names = results.names
    return {
        "game": plan.game,
        "rules": {name: getattr(plan.rules, name) for name in type(plan.rules).__dataclass_fields__},  # type: ignore[attr-defined]
        "seed": plan.seed,
        "players": plan.schedule.players,
        "deals": plan.deals,
        "games_a_deal": plan.schedule.games,
        "rounds": plan.games,
        "stopped": results.stopped or None,
        "level": LEVEL,
        "power": POWER,
        "notes": [*results.notes, *results.forfeits],
        "agents": [_agent(results, standing) for standing in results.standings],
        "comparisons": [
            {
                "first": names[found.first],
                "second": names[found.second],
                **_estimate("heads", found.heads),
                "low_all": _finite(found.low),
                "high_all": _finite(found.high),
                "first_is_better": _finite(found.better),
                "decided": {-1: names[found.first], 0: None, 1: names[found.second]}[found.decided],
                "further_deals": found.further,
                "further_rounds": None if found.further is None else found.further * plan.schedule.games,
                "verdict": results.verdict(found),
            }
            for found in results.comparisons
        ],
        "order": names,
        "cross_play": {"mean_heads": _table(results.cross), "se": _table(results.cross_errors)},
        "rating": {"better": _table(results.ratings.better), "ends_ahead": _table(results.ratings.ahead)},
    }


def _agent(results: Results, standing: Standing) -> dict[str, Any]:
    entrant, ratings = results.plan.entrants[standing.agent], results.ratings
    return {
        "name": entrant.name,
        "spec": entrant.spec,
        "seats": standing.seats,
        **_estimate("mean_heads", standing.heads),
        **_estimate("win_share", standing.wins),
        **_estimate("mean_rank", standing.rank),
        "rating": _finite(float(ratings.points[standing.agent])),
        "rating_low": _finite(float(ratings.low[standing.agent])),
        "rating_high": _finite(float(ratings.high[standing.agent])),
        "illegal": standing.illegal,
        "forfeits": standing.forfeits,
        "forfeit_reason": standing.reason or None,
        "decisions": standing.decisions,
        "histogram": standing.histogram.tolist(),
    }


def timing(results: Results) -> dict[str, float]:
    """Seconds a decision of each agent: the only figures that differ from run to run."""
    return {standing.name: standing.seconds_per_decision for standing in results.standings}


def _estimate(name: str, found: Estimate) -> dict[str, float | None]:
    ends = {"se": found.se, "low": found.low, "high": found.high}
    return {name: _finite(found.mean)} | {f"{name}_{end}": _finite(value) for end, value in ends.items()}


def _table(values: NDArray[np.float64]) -> list[list[float | None]]:
    return [[_finite(value) for value in line] for line in values.tolist()]


def _finite(value: float) -> float | None:
    """JSON knows neither nan nor infinity."""
    return value if math.isfinite(value) else None
