"""Who sits where: what a tournament plays on each of its deals.

A schedule is the list of seatings that every deal is played with. It is the same for all deals, so that the results of the deals are
independent and alike: each agent meets the same fields in the same seats on the same cards, and the deal is the block of all statistics.
No seating is in the list twice: agents without dice would play the same game again.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Seating = Literal["rotate", "all"]
SEATINGS: Final[tuple[str, ...]] = get_args(Seating)
MOST_GAMES: Final = 256  # on a deal; where all line-ups would take more, a balanced choice of them is played
_LIMIT: Final = 100_000  # no schedule is longer: one deal is played as a whole
_TRIES: Final = 32  # exchanges that are tried for each agent in a circle

LineUp = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Schedule:
    """What is played on every deal.

    Attributes:
        seating: (games, players) which agent sits where.
        counted: (games, players) bool, the seats that count for an agent's own figures.
        focus: the agent that all others are compared with; None where everybody is compared with everybody.
        complete: whether all line-ups of the format are played; False for a balanced choice of them.
    """

    seating: NDArray[np.int64]
    counted: NDArray[np.bool_]
    focus: int | None = None
    complete: bool = True

    @property
    def games(self) -> int:
        """Games on a deal."""
        return len(self.seating)

    @property
    def players(self) -> int:
        """Seats at the table."""
        return int(self.seating.shape[1])


def head_to_head(players: int, seats: Iterable[int] = (), seating: Seating = "all") -> Schedule:
    """Agent 0 in k seats, agent 1 in the others, for every k of `seats` (default: half of them), in every arrangement."""
    counts = sorted(set(seats)) or [players // 2]
    for k in counts:
        if not 1 <= k < players:
            raise ValueError(f"seats={k} of the first agent must be from 1 to {players - 1}: the second needs one, too")
    return _schedule(((0,) * k + (1,) * (players - k) for k in counts), seating)


def one_vs_field(agents: int, players: int, seating: Seating = "rotate") -> Schedule:
    """Agent 0 in one seat; the others fill the rest, in turn where they are fewer than the seats."""
    _at_least_two(agents)
    if agents > players:
        raise ValueError(f"{agents - 1} agents are no field for {players - 1} seats: leave some out, or play a gauntlet")
    return _schedule([(0, *itertools.islice(itertools.cycle(range(1, agents)), players - 1))], seating, focus=0)


def cross_play(agents: int, players: int) -> Schedule:
    """Every agent in one seat against every agent in all others, itself included; the one seat counts, against itself all."""
    _at_least_two(agents)
    lines, counted = [], []
    for own, rival in itertools.product(range(agents), repeat=2):
        for seat in range(players if own != rival else 1):
            line = [rival] * players
            line[seat] = own
            lines.append(line)
            counted.append([agent == own for agent in line])
    _check_length(len(lines))
    return Schedule(np.array(lines, dtype=np.int64), np.array(counted))


def round_robin(agents: int, players: int, repeats: bool | None = None, seating: Seating = "rotate", most: int = MOST_GAMES) -> Schedule:
    """Everybody with everybody.

    Who sits in one seat only never meets himself: without repeats the stronger agents play against slightly weaker fields.

    All line-ups are played where they make at most `most` games on a deal, else a balanced choice (see `_balanced`).

    Args:
        agents: how many there are.
        players: seats at the table.
        repeats: whether an agent may sit in several seats; by default only where there are fewer agents than seats.
        seating: "rotate", every line-up in the order of the agents and moved round the table, or "all" its arrangements.
        most: games on a deal.
    """
    _at_least_two(agents)
    repeats = _repeats(agents, players, repeats)
    if _count(agents, players, repeats, seating) <= most:
        # One agent alone in all seats tells nothing about any other.
        return _schedule((line for line in _line_ups(range(agents), players, repeats) if len(set(line)) > 1), seating)
    table = _balanced(agents, players, most)
    return Schedule(table, np.ones(table.shape, dtype=bool), complete=False)


def gauntlet(agents: int, players: int, repeats: bool | None = None, seating: Seating = "rotate", most: int = MOST_GAMES) -> Schedule:
    """Agent 0, the newcomer, in one seat against every line-up of the others, or a balanced choice; see `round_robin`."""
    _at_least_two(agents)
    field, others = agents - 1, players - 1
    repeats = _repeats(field, others, repeats)
    size = math.comb(field + others - 1, others) if repeats else math.comb(field, others)
    if size * (players if seating == "rotate" else math.factorial(players)) <= most:
        return _schedule(((0, *line) for line in _line_ups(range(1, agents), others, repeats)), seating, focus=0)
    chosen = 1 + _balanced(field, others, most // players)
    return _schedule(((0, *line) for line in chosen.tolist()), "rotate", focus=0, complete=False)


def _at_least_two(agents: int) -> None:
    if agents < 2:
        raise ValueError(f"{agents} agents are too few: name at least 2")


def _repeats(agents: int, players: int, repeats: bool | None) -> bool:
    if repeats is False and agents < players:
        raise ValueError(f"repeats=False needs an agent for every seat: {agents} for {players} seats are too few")
    return agents < players if repeats is None else repeats


def _line_ups(agents: Iterable[int], players: int, repeats: bool) -> Iterator[LineUp]:
    """All multisets, or all sets, of the agents."""
    return (itertools.combinations_with_replacement if repeats else itertools.combinations)(agents, players)


def _count(agents: int, players: int, repeats: bool, seating: Seating) -> int:
    """An upper bound of the games on a deal."""
    if seating == "all":
        return agents**players if repeats else math.perm(agents, players)
    return players * (math.comb(agents + players - 1, players) if repeats else math.comb(agents, players))


def _schedule(line_ups: Iterable[LineUp], seating: Seating, focus: int | None = None, complete: bool = True) -> Schedule:
    lines: list[LineUp] = []
    for line_up in line_ups:
        if seating == "all":
            _check_length(len(lines) + arrangement_count(line_up))
            lines += arrangements(line_up)
        else:
            lines += rotations(line_up)
    _check_length(len(lines))
    table = np.array(lines, dtype=np.int64)
    return Schedule(table, np.ones(table.shape, dtype=bool), focus, complete)


def _check_length(games: int) -> None:
    if games > _LIMIT:
        raise ValueError(f"{games:,} games on every deal are too many (at most {_LIMIT:,}): fewer agents, or seating 'rotate'")


def rotations(line_up: Sequence[int]) -> list[LineUp]:
    """The line-up, moved round the table seat by seat; each agent sits in every seat equally often. None is in the list twice."""
    line = tuple(line_up)
    return list(dict.fromkeys(line[shift:] + line[:shift] for shift in range(len(line))))


def arrangement_count(line_up: Sequence[int]) -> int:
    """How many different arrangements there are."""
    return math.factorial(len(line_up)) // math.prod(math.factorial(count) for count in Counter(line_up).values())


def arrangements(line_up: Sequence[int]) -> Iterator[LineUp]:
    """All different arrangements, in lexical order."""
    left = Counter(line_up)
    kinds = sorted(left)

    def extend(line: LineUp) -> Iterator[LineUp]:
        if len(line) == len(line_up):
            yield line
            return
        for kind in kinds:
            if left[kind]:
                left[kind] -= 1
                yield from extend((*line, kind))
                left[kind] += 1

    return extend(())


def _balanced(agents: int, players: int, most: int) -> NDArray[np.int64]:
    """(games, players): a choice of line-ups in which each agent sits in every seat equally often, and with each other nearly so.

    The agents are put in a circle, and as many of them as there are seats sit down, beginning with each agent in turn: so everybody sits in
    every seat once. Then they are put in another circle, one that evens out who has met whom, and so on while games are left. The choice
    is a function of the arguments alone.
    """
    rng = np.random.default_rng([agents, players, most])
    places = (np.arange(agents)[:, None] + np.arange(players)) % agents
    near = encounters(places, agents)
    met = np.zeros((agents, agents), dtype=np.int64)
    lines: dict[LineUp, None] = {}
    circles = max(1, most // agents)
    for _ in range(4 * circles):  # one that has been there is of no use
        if len(lines) == circles * agents:
            break
        circle = _evening(met, near, rng)
        found = [tuple(line) for line in circle[places].tolist()]
        if any(line in lines for line in found):
            continue
        met[np.ix_(circle, circle)] += near
        lines |= dict.fromkeys(found)
    return np.array(list(lines), dtype=np.int64)


def _evening(met: NDArray[np.int64], near: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """A circle that puts those near each other who have seldom met, by exchanges of two while they help.

    The sum of the squares of all encounters is least where the sum of met times near is: the squares of each do not change.
    """
    circle = rng.permutation(len(met))
    least = int((met[np.ix_(circle, circle)] * near).sum())
    for one, other in rng.integers(0, len(met), size=(_TRIES * len(met), 2)):
        circle[[one, other]] = circle[[other, one]]
        now = int((met[np.ix_(circle, circle)] * near).sum())
        if now > least:
            circle[[one, other]] = circle[[other, one]]
        else:
            least = now
    return circle


def encounters(seating: NDArray[np.int64], agents: int) -> NDArray[np.int64]:
    """(agents, agents): how often one of the first kind of agent sat at a table with one of the second, in different seats."""
    seats = np.stack([(seating == agent).sum(axis=1) for agent in range(agents)], axis=1)  # (games, agents)
    met: NDArray[np.int64] = seats.T @ seats - np.diag(seats.sum(axis=0))
    return met
