"""The configuration of a tournament: read as strictly as that of a training, from a file or from the command line.

`configs/arena/quick.yaml` explains every key.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast, get_args

from pydantic import BeforeValidator, model_validator

from sixnimmt_env.arena import Schedule, cross_play, gauntlet, head_to_head, one_vs_field, round_robin
from sixnimmt_env.arena.schedule import MOST_GAMES, SEATINGS
from sixnimmt_env.arena.tournament import CHUNK_GAMES, SECONDS_LIMIT
from training.config import AgentCheck, ConfigError, Played, RunName, Section, validated
from training.fields import FaultsError, as_whole, entrants, real, refuse, truth, whole
from training.yaml_reader import Fault, KeyPath, Reader, Tree, guess

Format = Literal["head_to_head", "one_vs_field", "round_robin", "gauntlet", "cross_play"]
FORMATS: Final[tuple[str, ...]] = get_args(Format)
MOST_MATCHES: Final = 20_000_000  # their results are all held at once, some fifty bytes each


def _choice(known: Sequence[str]) -> BeforeValidator:
    """One of some words, or None."""

    def check(value: object) -> object:
        if value is not None and value not in known:
            raise refuse(f"must be one of {', '.join(known)}, or null{guess(str(value), known)}")
        return value

    return BeforeValidator(check)


def _optional_truth(value: object) -> object:
    return None if value is None else truth(value)


def _seat_counts(value: object) -> object:
    """Checks a whole number, or a list of them."""
    given = value if isinstance(value, (list, tuple)) else [value]
    numbers = [as_whole(item) for item in given]
    if not numbers or any(isinstance(number, bool) or not isinstance(number, int) for number in numbers):
        raise refuse("must be whole numbers, such as [1, 2, 3], or one")
    return tuple(numbers)


class ScheduleSection(Section):
    """Who sits where."""

    format: Annotated[Format | None, _choice(FORMATS)] = None
    """Who meets whom: head_to_head (two agents, k seats against the others), one_vs_field (the first agent in one seat, the others in the
    rest), round_robin (all with all), gauntlet (the first agent against every line-up of the others), cross_play (each in one seat against
    each in all others). null: head_to_head for two agents, round_robin for more."""
    seats: Annotated[tuple[int, ...] | None, BeforeValidator(lambda value: None if value is None else _seat_counts(value))] = None
    """Of head_to_head: seats of the first agent, a number or a list of them. null: half of the table."""
    seating: Annotated[Literal["rotate", "all"] | None, _choice(SEATINGS)] = None
    """How a line-up is seated on each deal: rotate (moved round the table) or all (every arrangement). null: all for head_to_head, else
    rotate."""
    repeats: Annotated[bool | None, BeforeValidator(_optional_truth)] = None
    """Whether an agent may have several seats in round_robin and gauntlet. null: only where there are fewer agents than seats."""
    most_games: Annotated[int, whole(1, 100_000)] = MOST_GAMES
    """Games on one deal at most in round_robin and gauntlet; where all line-ups are more, a balanced choice of them is played. (Many agents
    need more games for that, at least one each in each seat.)"""


class Play(Section):
    """How much is played, and by how many processes."""

    deals: Annotated[int, whole(1, MOST_MATCHES)] = 1000
    """Deals, each played with every seating of the schedule."""
    until_significant: Annotated[bool, BeforeValidator(truth)] = False
    """Stop as soon as every comparison is decided, by intervals that hold however often one looks."""
    indifference: Annotated[float, real(0, 1000)] = 0.0
    """With until_significant: differences of fewer heads a match than this do not matter, and need not be told."""
    workers: Annotated[int, whole(1, 256)] = 1
    """Processes that play. The results are the same for any number."""
    chunk_games: Annotated[int, whole(1, 1_000_000)] = CHUNK_GAMES
    """Matches between two saves. Lower it for agents that think for long, so that less is lost when the power goes."""
    seconds_limit: Annotated[float | None, real(0, 86_400, above=True, optional=True)] = SECONDS_LIMIT
    """Seconds for a decision, on average over the batch that an agent is asked for; who takes longer forfeits it: the lowest legal action
    is played. The first answer may take a minute, because agents compile and load then. null: as long as the agents like."""


class Tournament(Played):
    """A complete tournament."""

    name: RunName = "tournament"
    """What it is called; its folder is runs/<name>. Default: the name of the file."""
    agents: Annotated[dict[str, str], BeforeValidator(entrants)]
    """Who takes part: a list of agents, or a mapping of names to agents."""
    schedule: ScheduleSection = ScheduleSection()
    """Who sits where."""
    play: Play = Play()
    """How much is played, and by how many processes."""

    @model_validator(mode="after")
    def _fits(self) -> Tournament:
        try:
            size = self.seatings().games
        except ValueError as error:
            raise FaultsError(Fault(("schedule",), str(error), "key")) from None
        if size * self.play.deals > MOST_MATCHES:
            problem = f"{self.play.deals:,} deals of {size:,} games each are too many: at most {MOST_MATCHES // size:,} deals"
            raise FaultsError(Fault(("play", "deals"), problem, "key"))
        return self

    @property
    def format(self) -> str:
        """The format that is played."""
        return self.schedule.format or ("head_to_head" if len(self.agents) == 2 else "round_robin")

    def seatings(self) -> Schedule:
        """What is played on every deal. `ValueError` for agents or options that do not fit the format."""
        count, players, options = len(self.agents), self.rules.num_players, self.schedule
        if options.seats is not None and self.format != "head_to_head":
            raise ValueError(f"seats is of the format head_to_head, not of {self.format}: leave it out")
        if self.format == "head_to_head":
            if count != 2:
                raise ValueError(f"format head_to_head is for two agents, not for {count}: round_robin would do")
            return head_to_head(players, options.seats or (), options.seating or "all")
        if self.format == "one_vs_field":
            return one_vs_field(count, players, options.seating or "rotate")
        if self.format == "cross_play":
            return cross_play(count, players)
        make = gauntlet if self.format == "gauntlet" else round_robin
        return make(count, players, options.repeats, options.seating or "rotate", options.most_games)

    def agents_named(self) -> Iterator[tuple[KeyPath, str]]:
        """The agents, where they are written."""
        listed = isinstance(self._tree.find(("agents",))[1].value, list)
        for index, (name, spec) in enumerate(self.agents.items()):
            yield ("agents", str(index) if listed else name), spec


def read(
    source: str | os.PathLike[str] | Sequence[str],
    overrides: Iterable[tuple[str, str]] = (),
    check_agent: AgentCheck | None = None,
) -> Tournament:
    """The tournament that is asked for.

    Args:
        source: a file, or the agents.
        overrides: (key.path=value, what the user wrote), applied in order.
        check_agent: called with every agent; a `ValueError` from it is reported at the agent's place.

    Raises:
        ConfigError: with everything that is wrong.
    """
    reader = Reader()
    if isinstance(source, (str, os.PathLike)):
        tree, stem = reader.file(os.fspath(source)), Path(source).stem
    else:
        tree, stem = Tree(), "tournament"
        reader.override(tree, f"agents={json.dumps(_named(source), ensure_ascii=False)}", {}, "AGENT")
    config = None
    if tree is not None:
        for override, written in overrides:
            reader.override(tree, override, {}, written)
        config = validated(Tournament, tree, stem, reader, check_agent)
    problems = reader.problems()
    if config is None or problems:
        raise ConfigError(*problems)
    return config


def _named(agents: Sequence[str]) -> list[str] | dict[str, str]:
    """Agents as they stand on the command line, AGENT or NAME=AGENT; a colon before the first "=" makes it an option of an agent."""
    parts = [cast(re.Match[str], re.fullmatch(r"(?:([^:=/\\]+)=)?(.*)", agent, re.DOTALL)).groups() for agent in agents]
    if not any(name for name, _ in parts):
        return list(agents)
    named: dict[str, str] = {}
    for name, spec in parts:
        if (name or spec) in named:
            raise ConfigError(f"AGENT {name or spec} is given twice: give each a name of its own, NAME=AGENT")
        named[name or spec] = spec
    return named


def flags(options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The overrides that command line options stand for: {"--deals": ("play.deals", 100)}; None where one is not given."""
    for flag, (path, value) in options.items():
        if value is not None:
            written = flag if isinstance(value, bool) else f"{flag} {value}"
            yield f"{path}={json.dumps(value, ensure_ascii=False)}", written
