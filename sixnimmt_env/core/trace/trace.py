"""A trace: one match from the deal to the end, every decision and event of it, to save, load, verify, step through and explain.

Seed, number and decisions are the whole record; the events are what the game's story tells when it is played again. So a trace cannot
disagree with the rules: making one, and loading one, plays it. `core/trace/file.py` documents the file.

A trace shows all hands and all picks. It is for people and for tests, not for actors: never hand it to a seat that decides.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, overload

import numpy as np

from ... import __version__
from ..files import write_atomically
from ..game import ILLEGAL, Event, Game, States
from ..records import cloned
from ..seeding import check_seed
from .file import MAX_NAME, Games, TraceError, check_name, header_of, lines_of, read
from .replay import abandon, carry_out, due, shown, truncate

__all__ = ["Step", "Trace", "TraceError", "printable"]


def printable(name: str) -> str:
    """`name` as a trace can hold it: an agent's may be the path of a policy, and a path may hold anything."""
    return "".join(sign if sign.isprintable() else "?" for sign in name)[-MAX_NAME:] or "?"


@dataclass(frozen=True)
class Step:
    """One event of a trace, and the game just before and just after it.

    Attributes:
        game: what is played.
        number: of the event, from 0.
        event: as the story tells it.
        before, after: (1,) states, copies; `before` the first event nothing is dealt.
        heading: "round 1" or "round 1, turn 2" where a new part begins with this event, else "". A turn begins where several seats
            are about to decide together.
    """

    game: Game
    number: int
    event: Event
    before: States
    after: States
    heading: str

    @property
    def is_decision(self) -> bool:
        """Whether a seat decided; everything else followed by itself."""
        return "action" in self.event

    def tell(self) -> str:
        """The event in one line of words."""
        kind = self.event["event"]
        if kind == "abandoned":
            names = " and ".join(f"player_{seat}" for seat in self.event["seats"])
            return f"an illegal action ends the match: {names} {'pays' if len(self.event['seats']) == 1 else 'pay'} {self.event['forfeit']}"
        return "the match is cut short" if kind == "truncated" else self.game.tell(self.event)

    def explain(self) -> str:
        """The event in one line of words, with the reason that the rules give."""
        if self.event["event"] in ("abandoned", "truncated"):
            return self.tell()
        return self.game.explain(self.view_before(), self.event)

    def view(self, seat: int | None = None) -> np.void:
        """What `seat` may know after the event; None: what spectators do, who see all hands."""
        return shown(self.game, self.after, seat)

    def view_before(self, seat: int | None = None) -> np.void:
        """As `view`, just before the event."""
        return shown(self.game, self.before, seat)

    def board(self, seat: int | None = None) -> str:
        """The board after the event, as `seat` or spectators see it."""
        return self.game.board(self.view(seat))

    def board_before(self, seat: int | None = None) -> str:
        """As `board`, just before the event."""
        return self.game.board(self.view_before(seat))


@dataclass(frozen=True, repr=False)
class Trace:
    """One match. A sequence of its events: `len`, indices, slices and iteration work.

    Two traces are equal when they tell the same match: the players' names and the package's version are labels.

    Args:
        game: what was played.
        rules: the variant.
        decisions: (seat, action) in the order of play; seats that decide together in ascending order.
        seed, number: which deal: game `number` of the stream of `seed`.
        players: a name for each seat; by default player_0, player_1, ...
        offenders: the seats whose illegal actions ended the match after these decisions; nobody's: ().
        truncated: whether it was cut short after these decisions.
        package: the version that recorded it.

    Attributes:
        events: the match, event by event. The match may still go on, see `outcome`.
        totals: each seat's costs (bull heads) at the end, forfeits included.

    Raises:
        ValueError: a decision is illegal or out of turn, with its number; a bad seed or name; offenders that fit no match.
    """

    game: Game = field(compare=False)
    rules: Any
    decisions: tuple[tuple[int, int], ...] = ()
    seed: int = 0
    number: int = 0
    players: tuple[str, ...] = field(default=(), compare=False)
    offenders: tuple[int, ...] = ()
    truncated: bool = False
    package: str = field(default=__version__, compare=False)
    events: tuple[Event, ...] = field(init=False, compare=False)
    totals: tuple[int, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        seats = self.rules.num_players
        names = tuple(self.players) or tuple(f"player_{seat}" for seat in range(seats))
        if len(names) != seats:
            raise ValueError(f"{len(names)} names for {seats} players: give one for each seat, or none")
        self._set("players", tuple(check_name("a player", name) for name in names))
        check_name("package", self.package)
        self._set("seed", check_seed(self.seed))
        self._set("number", check_seed(self.number))
        self._set("decisions", tuple((int(seat), int(action)) for seat, action in self.decisions))
        self._set("offenders", tuple(int(seat) for seat in self.offenders))
        if self.truncated and self.offenders:
            raise ValueError(f"truncated=True and offenders={self.offenders} exclude each other: a match ends once")
        states = self._undealt()
        self._set("events", tuple(event for event in self._course(states) if event is not None))
        costs = self.game.costs(states)[0, :seats].tolist()
        self._set("totals", tuple(cost + self.rules.forfeit * (seat in self.offenders) for seat, cost in enumerate(costs)))
        self._set("_goes_on", bool(due(self.game, states)) and not self.truncated)

    # --- files -----------------------------------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | os.PathLike[str], games: Games) -> Self:
        """The trace in the file `path`, verified line by line; `sixnimmt_env.traces.load` knows the games.

        Args:
            path: of the file.
            games: the game that it must be of, or what finds one by name.

        Raises:
            TraceError: the file is damaged, foreign, or tells what the rules do not lead to. The message names the line.
            OSError: it cannot be read.
        """
        if Path(path).is_dir():
            raise TraceError(os.fspath(path), None, "this is a folder; name a file that was saved as a trace")
        with open(path, "rb") as file:
            return cls(**vars(read(file, os.fspath(path), games, __version__)))

    @classmethod
    def from_bytes(cls, data: bytes, games: Games, name: str = "trace") -> Self:
        """As `load`, from the content of a file; `name` is what errors call it."""
        return cls(**vars(read(io.BytesIO(data), name, games, __version__)))

    def to_bytes(self) -> bytes:
        """What `save` writes."""
        return "".join(self.lines()).encode()

    def lines(self) -> Iterator[str]:
        """The lines of the file: the header, one an event, and the end; each with its line feed. Event n is in line n + 2."""
        return lines_of(header_of(self), self.events)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trace to `path`: the whole file, or nothing and an `OSError`."""
        write_atomically(path, self.to_bytes())

    def verify(self) -> None:
        """Play the match again by `game.commit`, the compiled way of the environments, which must end as the story does.

        That the file agrees with the story has been checked by `load`.

        Raises:
            ValueError: the two disagree: an error in the game.
        """
        game, fast, told = self.game, self._undealt(), self._undealt()
        for _ in self._decided(told):
            pass
        index, views, masks = np.zeros(1, dtype=np.int64), np.zeros(1, game.view_dtype), np.zeros((1, game.num_actions), np.int8)
        game.deal(fast, index)
        for number, (seat, action) in enumerate(self.decisions):
            if game.commit(fast, 0, seat, action, views, masks) == ILLEGAL:
                raise ValueError(f"decision {number}, action {action} of seat {seat}, is legal in the story and illegal in play")
        if not (fast == told).all():
            raise ValueError("the match ends otherwise in play than in the story")

    # --- stepping through --------------------------------------------------------------------------------------------------

    def steps(self) -> Iterator[Step]:
        """Event by event, with the game before and after each: for pictures, boards and explanations at any place."""
        states = self._undealt()
        before, headings, number = cloned(states), _Headings(self.game), 0
        for event in self._course(states):
            after = cloned(states)
            if event is not None:
                yield Step(self.game, number, event, before, after, headings.of(event, before))
                number += 1
            before = after

    def step(self, number: int) -> Step:
        """Step `number`, from the end if negative. `IndexError` if there is none."""
        wanted = range(len(self))[number]
        return next(step for step in self.steps() if step.number == wanted)

    def explain(self, number: int | None = None) -> str:
        """Event `number` in words, with the reason that the rules give; None: all events, one a line."""
        return "\n".join(step.explain() for step in self.steps()) if number is None else self.step(number).explain()

    def boards(self, seat: int | None = None) -> Iterator[str]:
        """The board after each event, as `seat` sees it; None: as spectators do."""
        return (step.board(seat) for step in self.steps())

    def __len__(self) -> int:
        return len(self.events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    @overload
    def __getitem__(self, place: int) -> Event: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Event]: ...
    def __getitem__(self, place: int | slice) -> Event | Sequence[Event]:
        return self.events[place]

    # --- results -----------------------------------------------------------------------------------------------------------

    @property
    def outcome(self) -> str:
        """How it ended: "finished", "abandoned" (forfeited) or "truncated"; "unfinished" if it goes on."""
        if self.offenders:
            return "abandoned"
        if self.truncated:
            return "truncated"
        return "unfinished" if vars(self)["_goes_on"] else "finished"

    @property
    def winners(self) -> tuple[int, ...]:
        """The seats with the lowest total, ascending; () unless the match was finished."""
        if self.outcome != "finished":
            return ()
        return tuple(seat for seat, total in enumerate(self.totals) if total == min(self.totals))

    def __hash__(self) -> int:
        return hash((self.game.name, self.seed, self.number, self.decisions))

    def __repr__(self) -> str:
        return f"<trace of {self.game.name}: {len(self.players)} players, seed {self.seed}, {len(self)} events, {self.outcome}>"

    # --- parts -------------------------------------------------------------------------------------------------------------

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # frozen for everybody else

    def _undealt(self) -> States:
        return self.game.new_states(self.rules, 1, self.seed, self.number)

    def _course(self, states: States) -> Iterator[Event | None]:
        """Play the match in `states`, (1,) and not yet dealt, and tell it; None where seats are about to decide.

        A turn may close without an event, so the game before a decision is not the one after the last event.
        """
        yield from self._decided(states)
        if self.offenders:
            yield abandon(self.game, states, self.rules, self.offenders)
        elif self.truncated:
            yield truncate(self.game, states)

    def _decided(self, states: States) -> Iterator[Event | None]:
        """As `_course`, up to the last decision and what follows from it."""
        yield from self.game.begin(states, 0)
        for number, (seat, action) in enumerate(self.decisions):
            try:
                events = carry_out(self.game, states, seat, action)
            except ValueError as error:
                raise ValueError(f"decision {number}: {error}") from None
            yield None
            yield from events
        yield None


class _Headings:
    """Where the parts of a match begin, as far as a game's events tell: rounds by their number, turns by decisions made together."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._round, self._turn, self._deciding = -1, 0, False

    def of(self, event: Event, before: States) -> str:
        """The heading above `event`, if one is due; `before` is the game just before it."""
        begins = not self._deciding
        self._deciding = "action" in event
        if event.get("round", self._round) != self._round:
            self._round, self._turn = event["round"], 0
            return f"round {self._round + 1}"
        if self._deciding and begins and len(due(self._game, before)) > 1:
            self._turn += 1
            return f"round {self._round + 1}, turn {self._turn}"
        return ""
