"""Tournaments: a schedule played on many deals, by one process or several, kept in a folder so that nothing is played twice.

What is played follows from the plan alone. Deals are played in chunks of a fixed size, each chunk in the same batches whoever plays it, so
that the results are the same for any number of processes and for any interruption; only the seconds differ. (But for agents that think by
the clock, which never play the same game twice, and those that run out of time.)

An agent that breaks does not end a tournament: it forfeits decisions, see `forfeit`.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import agents as registry
from .. import games
from ..agents import Agent
from ..core.game import Rules
from .forfeit import Forfeits, Guard, check_limit, merged
from .journal import Chunk, Journal
from .match import play_guarded
from .schedule import Schedule

CHUNK_GAMES: Final = 1024  # large enough to keep a learned policy busy, small enough that little is lost when a process is killed
SECONDS_LIMIT: Final = 10.0  # for a decision: who takes longer than that has most likely hung


class WorkerDied(RuntimeError):
    """A process that played has died; what was finished before is kept."""


Make = Callable[[str, str, int], Agent]
"""(spec, name of the game, seed) -> agent. For several processes it must be something that pickles, such as a function of a module."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """Who takes part.

    Attributes:
        name: what the agent is called in the results.
        spec: what it is made from, see `agents.make`.
        seed: its dice.
        mark: changes with what the spec stands for, such as a checksum of a policy's weights; "" where the spec says it all.
    """

    name: str
    spec: str
    seed: int
    mark: str = ""


@dataclass(frozen=True, eq=False)
class Plan:
    """A tournament.

    Attributes:
        game: name of the game.
        rules: the variant.
        entrants: the agents, in the order of the numbers in the schedule.
        schedule: what is played on every deal.
        deals: how many deals.
        seed: of the deals.
        chunk_games: games between two saves, rounded to whole deals.
        seconds_limit: time for a decision, on average over a batch, see `arena.play`; None: as long as the agents like.
    """

    game: str
    rules: Rules
    entrants: tuple[Entrant, ...]
    schedule: Schedule
    deals: int
    seed: int = 0
    chunk_games: int = CHUNK_GAMES
    seconds_limit: float | None = SECONDS_LIMIT

    def __post_init__(self) -> None:
        if isinstance(self.deals, bool) or not isinstance(self.deals, (int, np.integer)) or self.deals < 1:
            raise ValueError(f"deals={self.deals!r} must be a whole number of at least 1")
        if self.schedule.players != self.rules.num_players:
            raise ValueError(f"the schedule is for {self.schedule.players} players, the rules for {self.rules.num_players}")
        if len(self.entrants) <= self.schedule.seating.max():
            raise ValueError(f"the schedule seats agent {self.schedule.seating.max()}: there are 0 to {len(self.entrants) - 1}")
        names = [entrant.name for entrant in self.entrants]
        if twice := [name for place, name in enumerate(names) if name in names[:place]]:
            raise ValueError(f"two agents are called {twice[0]!r}: give each a name of its own")
        check_limit(self.seconds_limit)

    @property
    def chunk_deals(self) -> int:
        """Deals between two saves."""
        return max(1, self.chunk_games // self.schedule.games)

    @property
    def games(self) -> int:
        """Games in all."""
        return self.deals * self.schedule.games


@dataclass(frozen=True, eq=False)
class Played:
    """What was played of a plan, from the first deal on.

    Attributes:
        plan: the plan; its `deals` are those that were played.
        costs: (deals, games, players) what each seat lost (bull heads).
        illegal, decisions: (agents,) of each agent.
        seconds: (agents,) time that each took to decide.
        stopped: why there are fewer deals than planned: "decided", "interrupted", or "" where there are not.
        forfeits: of the agents that forfeited decisions, by number.
    """

    plan: Plan
    costs: NDArray[np.int64]
    illegal: NDArray[np.int64]
    decisions: NDArray[np.int64]
    seconds: NDArray[np.float64]
    stopped: str = ""
    forfeits: Mapping[int, Forfeits] = field(default_factory=dict)


@dataclass
class Progress:
    """Who is told how far play is. By default nobody.

    Attributes:
        begin: called once with (games played before, games in all).
        advance: called with the number of games finished since the last call.
    """

    begin: Callable[[int, int], None] = lambda before, total: None
    advance: Callable[[int], None] = lambda games: None


Decided = Callable[[NDArray[np.int64]], bool]
"""Told the costs of the next deals, (deals, games, players), it says whether what it has been told so far suffices."""


@dataclass
class _State:
    """What is there so far, and the rule by which it may suffice."""

    plan: Plan
    decided: Decided | None
    waiting: dict[int, Chunk] = field(default_factory=dict)  # by their first deals; some before them are missing
    prefix: list[Chunk] = field(default_factory=list)  # from the first deal on, in order
    untold: list[Chunk] = field(default_factory=list)  # the end of it that the rule does not know yet
    enough: bool = False

    def add(self, *chunks: Chunk) -> None:
        """Extend the prefix as far as that goes, and ask the rule after every whole chunk: always at the same places."""
        self.waiting |= {chunk.first: chunk for chunk in chunks}
        while not self.enough and (chunk := self.waiting.pop(self.reached, None)) is not None:
            self.prefix.append(chunk)
            self.untold.append(chunk)
            whole = self.reached % self.plan.chunk_deals == 0 or self.reached >= self.plan.deals
            if self.decided is not None and whole:
                self.enough = self.decided(np.concatenate([chunk.costs for chunk in self.untold]))
                self.untold = []

    @property
    def reached(self) -> int:
        """Deals from the first on that are there."""
        return self.prefix[-1].end if self.prefix else 0


def hold(
    plan: Plan,
    folder: Path | None = None,
    workers: int = 1,
    make: Make | None = None,
    decided: Decided | None = None,
    progress: Progress | None = None,
) -> Played:
    """Play the plan. Agents that raise, answer what is no action, or run out of time forfeit the decision, and it goes on.

    Args:
        plan: what is played.
        folder: where results are kept while they come; what is there is not played again. More `deals` than before go on with it.
        workers: processes; 1 plays in this one. They are spawned: a script that asks for more needs `if __name__ == "__main__"`.
        make: makes the agents; `agents.make` by default.
        decided: asked after every chunk of deals whether to stop.
        progress: is told how far play is.

    Returns:
        The results; when interrupted (Ctrl-C), those of the deals up to the first that is missing.

    Raises:
        ValueError: `folder` holds another tournament; workers that are none.
        WorkerDied: a process has died.
        Exception: what `make` raises.
    """
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise ValueError(f"workers={workers!r} must be a whole number of at least 1")
    journal = None if folder is None else Journal.open(folder, identity(plan), plan.schedule.seating.shape, len(plan.entrants))
    kept = [] if journal is None else journal.chunks(plan.deals)
    state = _State(plan, decided)
    state.add(*kept)
    progress = progress or Progress()
    progress.begin(sum(len(chunk.costs) for chunk in kept) * plan.schedule.games, plan.games)
    interrupted = False
    missing = list(_missing(kept, plan))
    if missing and not state.enough:
        players = _here if workers == 1 else _spread
        try:
            for chunk in players(plan, missing, make or _made, workers, progress, state):
                if journal is not None:
                    journal.add(chunk)
                state.add(chunk)
        except KeyboardInterrupt:
            interrupted = True
    return _played(state, interrupted)


def identity(plan: Plan) -> dict[str, Any]:
    """What must be equal for results to belong together, as plain data: all of the plan but for how many deals are wanted."""
    return {
        "game": plan.game,
        "rules": {name: getattr(plan.rules, name) for name in type(plan.rules).__dataclass_fields__},  # type: ignore[attr-defined]
        "agents": [[entrant.name, entrant.spec, entrant.seed, entrant.mark] for entrant in plan.entrants],
        "seating": plan.schedule.seating.tolist(),
        "counted": plan.schedule.counted.astype(int).tolist(),
        "seed": plan.seed,
        "chunk_deals": plan.chunk_deals,
        "seconds_limit": plan.seconds_limit,
    }


def _made(spec: str, game: str, seed: int) -> Agent:
    return registry.make(spec, game, seed)


def _missing(chunks: Iterable[Chunk], plan: Plan) -> Iterator[tuple[int, int]]:
    """The deals that are yet to be played, [first, end), cut where chunks end."""
    there = np.zeros(plan.deals, dtype=bool)
    for chunk in chunks:
        there[chunk.first : chunk.end] = True
    for first in range(0, plan.deals, plan.chunk_deals):
        gaps = first + np.flatnonzero(~there[first : first + plan.chunk_deals])
        # A chunk that ended with an earlier, shorter plan is there in part; a run of gaps is one piece.
        for run in np.split(gaps, np.flatnonzero(np.diff(gaps) > 1) + 1):
            if len(run):
                yield int(run[0]), int(run[-1]) + 1


def _play(plan: Plan, agents: Sequence[Guard], first: int, end: int, progress: Callable[[int], None] | None = None) -> Chunk:
    schedule = plan.schedule
    seating = np.tile(schedule.seating, (end - first, 1))
    deals = np.repeat(np.arange(first, end), schedule.games)
    games_ = play_guarded(games.get(plan.game), plan.rules, agents, seating, deals, plan.seed, progress)
    costs = games_.costs.reshape(end - first, schedule.games, schedule.players)
    return Chunk(first, costs, games_.illegal, games_.decisions, games_.seconds, games_.forfeits)


def _agents(plan: Plan, make: Make) -> list[Guard]:
    agents = [make(entrant.spec, plan.game, entrant.seed) for entrant in plan.entrants]
    return [Guard(games.get(plan.game), agent, plan.seconds_limit, forfeiting=True) for agent in agents]


Pieces = Sequence[tuple[int, int]]


def _here(plan: Plan, missing: Pieces, make: Make, workers: int, progress: Progress, state: _State) -> Iterator[Chunk]:
    """Play in this process."""
    agents = _agents(plan, make)
    for first, end in missing:
        yield _play(plan, agents, first, end, progress.advance)
        if state.enough:
            return


def _spread(plan: Plan, missing: Pieces, make: Make, workers: int, progress: Progress, state: _State) -> Iterator[Chunk]:
    """Play in other processes; chunks come as they are finished. What has begun is finished also when it is no longer asked for."""
    pieces = iter(missing)
    running: set[Future[Chunk]] = set()
    with _pool(plan, make, min(workers, len(missing))) as pool:
        try:
            while True:
                # No more ahead than keeps everybody busy: a rule may say that it is enough.
                while len(running) < workers + 1 and not state.enough and (piece := next(pieces, None)) is not None:
                    running.add(pool.submit(_work, *piece))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from _finished(done, progress)
        except KeyboardInterrupt:
            begun = {future for future in running if not future.cancel()}
            yield from _finished(wait(begun).done, progress)
            raise


def _finished(done: Iterable[Future[Chunk]], progress: Progress) -> Iterator[Chunk]:
    for chunk in sorted((future.result() for future in done), key=lambda chunk: chunk.first):
        progress.advance(chunk.costs.shape[0] * chunk.costs.shape[1])
        yield chunk


@contextmanager
def _pool(plan: Plan, make: Make, workers: int) -> Iterator[ProcessPoolExecutor]:
    """Spawned, because a fork copies the threads of others half-way."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, _start, (plan, make))
    try:
        yield pool
    except BrokenExecutor as error:
        raise WorkerDied("a process that played has died, perhaps for want of memory; what was finished before is kept") from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


_mine: tuple[Plan, list[Guard]] | None = None  # of a process that plays for another


def _start(plan: Plan, make: Make) -> None:
    """Get ready to play for another process, and to end with it, were it killed."""
    global _mine
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; whoever began says what is finished yet
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    _mine = plan, _agents(plan, make)


def _work(first: int, end: int) -> Chunk:
    assert _mine is not None
    plan, agents = _mine
    return _play(plan, agents, first, end)


def _played(state: _State, interrupted: bool) -> Played:
    plan, chunks = state.plan, state.prefix
    count = len(plan.entrants)
    shape = (0, *plan.schedule.seating.shape)
    none = np.zeros(count, dtype=np.int64)
    stopped = "" if state.reached >= plan.deals else "decided" if state.enough else "interrupted" if interrupted else ""
    return Played(
        plan=replace(plan, deals=max(1, state.reached)),
        costs=np.concatenate([np.zeros(shape, dtype=np.int64), *(chunk.costs for chunk in chunks)]),
        illegal=sum((chunk.illegal for chunk in chunks), none),
        decisions=sum((chunk.decisions for chunk in chunks), none),
        seconds=sum((chunk.seconds for chunk in chunks), np.zeros(count)),
        stopped=stopped,
        forfeits=merged(chunk.forfeits for chunk in chunks),
    )
