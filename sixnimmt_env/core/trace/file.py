"""The file of a trace: JSON lines, one object a line, UTF-8, read back without a doubt left.

First the header:

| field | holds |
|---|---|
| `trace` | the version of this format, 1 |
| `game` | the name of the game |
| `rules` | every option of the variant |
| `seed`, `number` | which deal: game `number` of the stream of `seed` |
| `players` | a name for each seat |
| `package` | the version of the package that wrote the file |

Then one line an event, as the game's story tells it (for 6 nimmt! see `games/sixnimmt/story.py`). A match that did not run its course has
one more: `{"event": "abandoned", "seats": [...], "forfeit": n}`, illegal actions of these seats have ended it and each pays n, or
`{"event": "truncated"}`, it was cut short. A match that still goes on is a trace like any other.

Last `{"event": "end", "events": n, "digest": "..."}`: how many events there are, and the SHA-256 of all bytes before this line, in hex.

Seed, number and decisions (the events with an `action`) are the whole record: everything else follows from them, and reading checks that
it does, line by line, by playing the match again. Seats that decide together are written in ascending order.

A match has one file only. Every line must be, byte for byte, the one that is written for its event (keys in this order, a space after each
comma and colon, no escapes but the necessary ones, a line feed at the end): what differs was not written here. The digest covers what no
replay can check, the players' names and the package's version; a wrong one is refused like any other damage.

Nothing in a file is executed. What is read before it is checked is bounded: a line by MAX_LINE bytes.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final, NoReturn, cast

import numpy as np

from ..game import Event, Game, States
from ..seeding import MAX_SEED
from .replay import abandon, carry_out, due, truncate

VERSION: Final = 1
MAX_LINE: Final = 65_536
MAX_NAME: Final = 200
_SHOWN: Final = 160  # characters of a line that an error shows
_FIELDS: Final = ("trace", "game", "rules", "seed", "number", "players", "package")
_END: Final = '{"event": "end", ...}'

Games = Game | Callable[[str], Game]
"""A game, or what finds one by name and raises `ValueError` for an unknown name."""


class TraceError(ValueError):
    """A file is not the trace of a match that the rules can lead to. Says where, what is there, what should be, and what to do.

    Attributes:
        file: the file's name.
        line: counted from 1; None where the file as a whole is meant.
        why: the message without these two.
    """

    def __init__(self, file: str, line: int | None, why: str) -> None:
        super().__init__(file, line, why)
        self.file, self.line, self.why = file, line, why

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.why}" if self.line else f"{self.file}: {self.why}"


@dataclass(frozen=True)
class Record:
    """What a file holds: all that a match follows from."""

    game: Game
    rules: Any
    seed: int
    number: int
    players: tuple[str, ...]
    package: str
    decisions: tuple[tuple[int, int], ...] = ()
    offenders: tuple[int, ...] = ()
    truncated: bool = False


def header_of(record: Any) -> dict[str, Any]:
    """The first line of the file of `record`, a `Record` or a trace."""
    return {
        "trace": VERSION,
        "game": record.game.name,
        "rules": options_of(record.rules),
        "seed": record.seed,
        "number": record.number,
        "players": list(record.players),
        "package": record.package,
    }


def options_of(rules: Any) -> dict[str, Any]:
    """Every option of `rules` as a plain value."""
    values = {field.name: getattr(rules, field.name) for field in dataclasses.fields(rules)}
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}


def lines_of(header: Mapping[str, Any], events: Sequence[Event]) -> Iterator[str]:
    """The lines of a file, line feeds included."""
    digest = hashlib.sha256()
    for line in (f"{_dump(entry)}\n" for entry in (header, *events)):
        digest.update(line.encode())
        yield line
    yield f"{_dump(_end(len(events), digest.hexdigest()))}\n"


def check_name(what: str, name: object) -> str:
    """`name`; `ValueError` unless it is a text that stands on one line and does nothing to a terminal."""
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        raise ValueError(f"{what}={_show(name)} must be a text of 1 to {MAX_NAME} characters, printable and on one line")
    return name


def read(file: IO[bytes], name: str, games: Games, here: str) -> Record:
    """Read and verify the trace in `file`.

    Args:
        file: open for reading bytes.
        name: of the file, for errors.
        games: the game, or what finds it by name.
        here: the package's version, which an error mentions if another one wrote the file.

    Raises:
        TraceError: the file is damaged, foreign, or tells what the rules do not lead to.
    """
    reader = _Reader(file, name, here)
    record = _read_header(reader, games)
    states = record.game.new_states(record.rules, 1, record.seed, record.number)
    for event in record.game.begin(states, 0):
        reader.expect(event)
    decisions: list[tuple[int, int]] = []
    ending: dict[str, Any] = {}
    while (entry := reader.next_object()).get("event") != "end":
        if ending or not due(record.game, states):
            reader.refuse(f"nothing can happen any more, so the end line {_END} must stand here, not {_show(entry)}: remove the line")
        if entry.get("event") in ("abandoned", "truncated"):
            ending = _read_ending(reader, record, states, entry)
        else:
            decisions.append(_read_decision(reader, record.game, states, entry))
    reader.finish(entry)
    return dataclasses.replace(record, decisions=tuple(decisions), **ending)


# --- parts ---------------------------------------------------------------------------------------------------------------


def _read_header(reader: _Reader, games: Games) -> Record:
    entry = reader.next_object()
    if "trace" not in entry:
        reader.refuse('this is no header of a trace, which begins with {"trace": 1, "game": ...}: name a file that was saved as a trace')
    version = entry["trace"]
    if type(version) is not int or version != VERSION:
        newer = type(version) is int and version > VERSION
        fix = "update sixnimmt-env to read it" if newer else "it must be a whole number, the version of the format"
        reader.refuse(f"the format is trace={_show(version)}, and version {VERSION} is read here: {fix}")
    reader.check_fields(entry, _FIELDS, "the header")
    try:
        game = _find(games, entry["game"])
        rules = _rules(game, entry["rules"])
        seed, number = (_whole(name, entry[name]) for name in ("seed", "number"))
        if type(entry["players"]) is not list or len(entry["players"]) != rules.num_players:
            raise ValueError(f"players={_show(entry['players'])} must be a list of {rules.num_players} names, one a seat")
        players = tuple(check_name("a player", name) for name in entry["players"])
        record = Record(game, rules, seed, number, players, check_name("package", entry["package"]))
    except (ValueError, TypeError, OverflowError) as error:
        reader.refuse(f"the header is wrong: {error}")
    reader.package = record.package
    reader.match(header_of(record))
    return record


def _find(games: Games, name: object) -> Game:
    if type(name) is not str:
        raise ValueError(f"game={_show(name)} must be the name of a game")
    if not isinstance(games, Game):
        return games(name)
    if name != games.name:
        raise ValueError(f"game={_show(name)} is another game than {games.name!r}, whose trace is asked for")
    return games


def _rules(game: Game, options: object) -> Any:
    if type(options) is not dict:
        raise ValueError(f"rules={_show(options)} must be an object with the options of the variant")
    known = [field.name for field in dataclasses.fields(cast(Any, game.rules))]
    fault = _fault_of_fields(options, known)
    if fault:
        raise ValueError(f"rules: {fault}")
    return game.rules(**options)


def _whole(name: str, value: object) -> int:
    if type(value) is not int or not 0 <= value <= MAX_SEED:
        raise ValueError(f"{name}={_show(value)} must be a whole number from 0 to {MAX_SEED}")
    return value


def _read_decision(reader: _Reader, game: Game, states: States, entry: dict[str, Any]) -> tuple[int, int]:
    """Carry out the decision in the line just read, and check the lines of all that follows from it."""
    if "seat" not in entry or "action" not in entry:
        seat = due(game, states)[0]
        reader.refuse(f'a decision of seat {seat} must stand here, with "seat" and "action", not {_show(entry)}: restore the line')
    seat, action = entry["seat"], entry["action"]
    try:
        events = carry_out(game, states, seat, action)
    except ValueError as error:
        reader.refuse(f"{error}: this is not the match that was played; restore the line")
    for place, event in enumerate(events):
        if place:
            reader.expect(event)
        else:
            reader.match(event)
    return seat, action


def _read_ending(reader: _Reader, record: Record, states: States, entry: dict[str, Any]) -> dict[str, Any]:
    """Carry out the line just read, that ends a match before its time; what it means for the record."""
    try:
        if entry["event"] == "truncated":
            reader.match(truncate(record.game, states))
            return {"truncated": True}
        seats = entry.get("seats")
        if type(seats) is not list:
            raise ValueError(f'"seats" is {_show(seats)}: a list of seats is needed')
        reader.match(abandon(record.game, states, record.rules, seats))
    except TraceError:
        raise
    except ValueError as error:
        reader.refuse(f"{error}; restore the line")
    return {"offenders": tuple(seats)}


class _Reader:
    """The lines of a file, one after the other."""

    def __init__(self, file: IO[bytes], name: str, here: str) -> None:
        self._file, self._name, self._here = file, name, here
        self._raw, self._text = b"", ""
        self._digest = hashlib.sha256()
        self._line = 0
        self.package = here

    def refuse(self, why: str) -> NoReturn:
        """Say what is wrong with the current line."""
        raise TraceError(self._name, self._line, why) from None

    def next_object(self) -> dict[str, Any]:
        """The object in the next line."""
        self._advance()
        return self._parsed()

    def expect(self, event: Event) -> None:
        """The next line must be that of `event`."""
        self._advance()
        self.match(event)

    def match(self, entry: Event) -> None:
        """The current line must be that of `entry`."""
        if self._text != _dump(entry):
            other = f" (written by version {self.package}, this is {self._here})" if self.package != self._here else ""
            self.refuse(f"{_difference(self._parsed(), entry)}{other}: restore the line, or save the trace anew")

    def check_fields(self, entry: dict[str, Any], known: Iterable[str], where: str) -> None:
        """`entry` must have the fields `known` and no other."""
        fault = _fault_of_fields(entry, list(known))
        if fault:
            self.refuse(f"{where}: {fault}")

    def finish(self, entry: dict[str, Any]) -> None:
        """The current line, which holds `entry`, must be the right end line and the last one."""
        wanted = _end(self._line - 2, self._digest.hexdigest())
        self.check_fields(entry, wanted, "the end line")
        if not _same(entry["events"], wanted["events"]):
            self.refuse(
                f'"events" is {_show(entry["events"])}, and there are {wanted["events"]} above: lines were removed or added, '
                "or this one was changed; restore them"
            )
        if not _same(entry["digest"], wanted["digest"]):
            self.refuse(
                f"the digest is {_show(entry['digest'])}, that of the lines above is {wanted['digest']}: the names of the players or the "
                "version in the header were changed, or this line was; restore them"
            )
        self.match(wanted)
        if self._file.read(1):
            self._line += 1
            self.refuse("nothing may follow the end line: remove what does")

    def _advance(self) -> None:
        self._digest.update(self._raw)
        self._raw = self._file.readline(MAX_LINE + 1)
        self._line += 1
        if not self._raw:
            self.refuse(
                "the file is empty: name a file that was saved as a trace"
                if self._line == 1
                else f"the file ends here, before the end line {_END}: it was cut off; save it again or restore it"
            )
        if len(self._raw) > MAX_LINE:
            self.refuse(f"the line is longer than {MAX_LINE:,} bytes, as none of a trace is: name a file that was saved as a trace")
        try:
            self._text = self._raw.decode().removesuffix("\n")
        except UnicodeDecodeError as error:
            byte = self._raw[error.start]
            self.refuse(f"byte {error.start + 1} (0x{byte:02x}) is not UTF-8: this is no trace, or it was saved in another encoding")
        if self._line == 1 and self._text.startswith("\ufeff"):
            self.refuse("the file starts with a byte-order mark: save it as UTF-8 without one")
        if self._text.endswith("\r"):
            self.refuse("the line ends with a carriage return: save the file with line feeds alone")
        if not self._raw.endswith(b"\n"):
            if self._line == 1:
                self._parsed()  # a foreign file, rather than a damaged one
            self.refuse("the line has no line feed at its end: the file was cut off here; save it again or restore it")

    def _parsed(self) -> dict[str, Any]:
        try:
            value = json.loads(self._text, object_pairs_hook=_unique, parse_float=_no_fraction, parse_constant=_no_fraction)
        except RecursionError:
            self.refuse("the line is nested too deeply, as none of a trace is")
        except json.JSONDecodeError as error:
            self.refuse(f"this is no JSON, at column {error.colno}: {error.msg}; the line is {_show(self._text)}")
        except ValueError as error:
            self.refuse(f"{error}; none of a trace is so" if "digits" not in str(error) else "a number has thousands of digits")
        if type(value) is not dict:
            self.refuse(f"an object, {{...}}, must stand here, not {_show(value)}")
        return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry = dict(pairs)
    if len(entry) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {_show(twice)} stands twice in one object")
    return entry


def _no_fraction(text: str) -> NoReturn:
    raise ValueError(f"the number {text[:40]} is not a whole one")


def _fault_of_fields(entry: Mapping[str, Any], known: list[str]) -> str:
    """What is wrong with the names of the fields; nothing if they are all of `known`."""
    missing = [name for name in known if name not in entry]
    unknown = [name for name in entry if name not in known]
    if unknown:
        close = difflib.get_close_matches(unknown[0][:100], known, n=1)
        hint = f"did you mean {_show(close[0])}? " if close else ""
        return f"the field {_show(unknown[0])} is unknown: {hint}there are {', '.join(known)}"
    return f"the field {_show(missing[0])} is missing: there must be {', '.join(known)}" if missing else ""


def _difference(found: dict[str, Any], wanted: Event) -> str:
    """In words, how a line differs from what must stand there."""
    if found.get("event") == wanted.get("event") and found.keys() == wanted.keys():
        wrong = [name for name in wanted if not _same(found[name], wanted[name])]
        if not wrong:
            return f"this is not written as here, with the same fields in the same order and spacing; it must be {_show(wanted)}"
        return "; ".join(f"{_show(name)} is {_show(found[name])} and must be {_show(wanted[name])}" for name in wrong[:3])
    return f"here stands {_show(found)} and must stand {_show(wanted)}"


def _same(one: Any, other: Any) -> bool:
    try:
        return json.dumps(one) == json.dumps(other)  # as text: Python takes true for 1
    except RecursionError:
        return False


def _show(value: Any) -> str:
    """A value as JSON, cut to a readable length; in ASCII, so that it does nothing to a terminal."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = ascii(type(value))
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _dump(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False)


def _end(events: int, digest: str) -> dict[str, Any]:
    return {"event": "end", "events": events, "digest": digest}
