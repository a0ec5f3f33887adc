"""An audit of secrecy: nothing that a seat can read of an environment depends on what it may not know.

```python
from sixnimmt_env.core import audit

print(audit(lambda: MyWrapper(sixnimmt_v0.env())))
```

Two copies are played with the same actions, match after match. For whoever looks, one of them lies in another world, in which all is
different that one seat may not know: other hands, undealt cards, cards picked and not yet revealed, the deals to come (see `otherworld`).
All that the seat can read must be identical, bit for bit: what `reset`, `step`, `last` and `observe` return, infos, masks, rewards, views,
renderings, spaces, what lies under keys of nobody, and what is said of an illegal action. Agents inside an environment must be told and do
the same. Then cards are played that others cannot see yet, and nobody may see another thing before he may know. Besides, nothing that was
returned is changed later, or is a part of what the environment works with. Of attributes, public mappings of the layers are read; a name
that begins with an underscore is the layer's own.

Limits. What is for spectators, `state()` and `trace()`, shows more on purpose and is not compared; a seat that is told of it by a wrapper
is found. How long something takes is not measured. A wrapper may play seats itself (`Report.played`): such a seat is shown the truth at its
turn, so that the wrapper decides as ever; what is kept from that moment and told to another seat later is not found. With
`vary_seed=False`, a second game of the same seed that a wrapper plays aside is noticed if it is held in an attribute of a layer, in a list
or a dictionary there, and not otherwise.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ..game import Game
from ..layout import Layout
from .frozen import CannotFreeze, Difference, arrays_in, difference, freeze, key_of
from .otherworld import AuditError, Inside, Settings, bases, holders, layers, other_seed, states_in
from .outside import Begin, Output, Outside, Shape, outside

__all__ = ["AuditError", "LeakError", "Report", "audit"]

Policy = Callable[[Any, Any], Any]

_LOW: Final = 0.25  # share of the lowest legal action: of other play rare phases come too seldom
_LAST: Final = 3  # moments that are looked at after a last reset with a seed
_ILLEGAL: Final = 4  # illegal actions of all seats, at least one of each


class LeakError(AssertionError):
    """A seat can read what it may not know, or what it was given is not its own.

    Attributes:
        seat: who; None for all at once.
        moment: when, in words.
        output: what it read, as an expression.
        values: what that was in the true world and in another one.
    """

    def __init__(self, message: str, seat: int | None, moment: str, output: str, values: tuple[str, str]) -> None:
        super().__init__(message)
        self.seat, self.moment, self.output, self.values = seat, moment, output, values


class _HandedOut(LeakError):
    """Something was returned that must not be, or was changed later: to see that, no other world is needed."""


@dataclass
class Report:
    """What an audit has covered; `str` says it to people.

    Attributes:
        form: "AEC", "parallel", "single", "vector" or "stable-baselines3 vector".
        layers: the environment's types, from the outside in.
        matches: how many were begun by `reset`; those of a vector that reset themselves are not counted.
        moments: moments of the matches that were played.
        phases: how many of them were in each phase.
        seats: how many moments were compared for each seat; None stands for the own seat of each game.
        outputs: how often each output was compared.
        hidden: how often each part of the state was another one at rest: what was hidden, and not the same by chance.
        agents: how often an agent inside was asked in another world.
        masks: how often others' legal actions were.
        alternatives: how many moments were compared after a seat had chosen otherwise and the others could not know.
        tried: how often a seat chose otherwise.
        illegal: how many illegal actions were compared.
        played: for which seats a wrapper has decided itself, and how often.
    """

    form: str
    layers: tuple[str, ...]
    matches: int = 0
    moments: int = 0
    phases: Counter[str] = field(default_factory=Counter)
    seats: Counter[int | None] = field(default_factory=Counter)
    outputs: Counter[str] = field(default_factory=Counter)
    hidden: Counter[str] = field(default_factory=Counter)
    agents: int = 0
    masks: int = 0
    alternatives: int = 0
    tried: int = 0
    illegal: int = 0
    played: Counter[int] = field(default_factory=Counter)

    @property
    def comparisons(self) -> int:
        """Outputs compared."""
        return self.outputs.total()

    def __str__(self) -> str:
        seats = "the own seat" if None in self.seats else f"{len(self.seats)} seats"
        lines = [
            f"{' of '.join(self.layers)} ({self.form}): nothing leaks",
            f"{self.moments} moments ({_counts(self.phases)}) of {self.matches} matches, {seats}, {self.comparisons} outputs compared",
            f"another world in memory: {_counts(self.hidden)}" + (f"; others' legal actions {self.masks}" if self.masks else ""),
        ]
        lines += [f"agents inside: asked {self.agents} times in another world"] if self.agents else []
        lines += [f"illegal actions: what is said of {self.illegal}"] if self.illegal else []
        if self.form == "AEC":
            lines.append(f"cards played otherwise that could not be seen yet: {self.alternatives} moments" if self.tried else _NOT_TRIED)
        if self.played:
            counts = _counts(Counter({f"seat {seat}": count for seat, count in sorted(self.played.items())}))
            lines.append(
                f"decisions that the environment takes itself: {counts}; what it reads of these seats at their turn is true in all worlds"
            )
        return "\n  ".join(lines)


_NOT_TRIED: Final = (
    "cards played otherwise that could not be seen yet: NONE was tried, so what depends on picks of others is audited in part only"
)


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counter.items())


def audit(
    make_env: Callable[[], Any],
    *,
    seeds: Collection[int] = (0,),
    seats: Collection[int] | None = None,
    moments: int | None = None,
    alternatives: int = 20,
    policy: Policy | None = None,
    vary_seed: bool = True,
    ignore: Collection[str] = (),
    matches: int = 2,
) -> Report:
    """Show that nothing leaks to the seats of an environment, or raise.

    Args:
        make_env: makes the environment, in whatever wrappers and conversions, anew at every call and always the same.
        seeds: matches are played for each.
        seats: whom to audit; by default all. An environment of Gymnasium's forms that is made of one of PettingZoo's has one seat to name;
            one that asks agents plays its own seat, which cannot be named.
        moments: how much of each match is played at most; by default all of it.
        alternatives: how many times, in the AEC form, a seat picks another card, which the others cannot know yet; drawn by lot. 0: never,
            and the report says so.
        policy: (observation, info) -> action, for environments whose actions are not those of the game; by default legal ones are drawn.
        vary_seed: also tell `reset` another seed, which names all deals. What wrappers make of it for the environment inside does not
            matter, that is told the true one. Turn it off for wrappers that throw dice of their own with the seed; for the price see
            above.
        ignore: outputs that contain one of these are not compared, such as '["t"]' for the clock of `RecordEpisodeStatistics`.
        matches: how many are played for each seed, one after the other: the second is begun by `reset()`, the third by `reset` with another
            seed, and so on in turn. After more than one, `reset` is told another seed once more and a few moments are played.

    Raises:
        LeakError: something leaks; the message says to whom, when and where.
        AuditError: an output is not the same twice in the same world, cannot be compared, or nothing was hidden.
        TypeError: an argument is of the wrong kind, there is no environment of this package inside, the form is unknown, or the actions
            are not those of the mask and a policy is needed.
        ValueError: a number that is out of range, or a seat that is not there.
    """
    _check_arguments(make_env, seeds, seats, ignore, policy)
    _check_numbers(moments=(moments, 1), alternatives=(alternatives, 0), matches=(matches, 1))
    return _Audit(make_env, seats, moments, alternatives, policy, vary_seed, tuple(ignore), matches).run(list(seeds))


def _check_numbers(**numbers: tuple[Any, int]) -> None:
    """`ValueError` unless each is a whole number, or None, and at least what it is given with."""
    for name, (value, least) in numbers.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least):
            raise ValueError(f"{name}={value!r} must be a whole number of at least {least}")


def _check_arguments(make_env: Any, seeds: Any, seats: Any, ignore: Any, policy: Any) -> None:
    """`TypeError` or `ValueError` for arguments that would otherwise be misunderstood, or audit nothing."""
    if not callable(make_env):
        raise TypeError(f"make_env must make the environment when it is called: audit(lambda: ...), not {type(make_env).__name__}")
    if policy is not None and not callable(policy):
        raise TypeError(f"policy must be called with (observation, info), a {type(policy).__name__} cannot")
    for name, value, kind in (("seeds", seeds, (int, np.integer)), ("seats", seats, (int, np.integer)), ("ignore", ignore, str)):
        if value is None and name == "seats":
            continue
        if isinstance(value, (str, bytes)) or not isinstance(value, Collection):
            raise TypeError(f"{name}={value!r} must be a collection, as in {name}=[{value!r}]")
        for each in value:
            if isinstance(each, bool) or not isinstance(each, kind):
                raise TypeError(f"{name} has {each!r} in it, which is {'no text' if name == 'ignore' else 'no whole number'}")
        if not len(value) and name != "ignore":
            raise ValueError(f"{name} is empty: nothing would be audited")
    if any(seed < 0 for seed in seeds):
        raise ValueError("seeds must not be negative")
    if "" in ignore:
        raise ValueError('ignore has "" in it, which is in every output: nothing would be audited')


@dataclass
class _Moment:
    """A moment of the match as it is in the true world."""

    words: str
    match: int
    phases: list[str]
    deciding: list[int]
    views: list[bytes]  # of all seats
    actors: Collection[int] = ()  # whom the action is for
    action: Any = None  # what is done next; a Begin after the last moment of a match
    legal: Any = None  # in the AEC form, for the seat that is asked

    @property
    def others(self) -> list[int]:
        """In the AEC form: what the seat could have chosen otherwise. Nothing if its actions are not those of the mask."""
        mask, action = self.legal, self.action
        known = mask is not None and isinstance(action, (int, np.integer)) and 0 <= action < len(mask) and mask[action]
        return [each for each in np.flatnonzero(mask).tolist() if each != action] if known else []


class _Audit:
    """One call of `audit`: its arguments, and the report so far."""

    def __init__(
        self,
        make_env: Callable[[], Any],
        seats: Collection[int] | None,
        moments: int | None,
        alternatives: int,
        policy: Policy | None,
        vary_seed: bool,
        ignore: tuple[str, ...],
        matches: int,
    ) -> None:
        self._make_env, self._limit, self._alternatives = make_env, moments, alternatives
        self._policy, self._vary_seed, self._ignore = policy, vary_seed, ignore
        self._seats, self._matches = seats, matches
        self._report = Report("", ())
        self._seed = 0
        self._script: list[_Moment] = []
        self._recorded: Sequence[Inside] = ()

    def run(self, seeds: Sequence[int]) -> Report:
        first = self._start(None)
        self._report = Report(first.form, tuple(dict.fromkeys(type(layer).__name__ for layer in layers(first.env))))
        audited = self._audited(first)
        for seed in seeds:
            self._seed = int(seed)
            self._script = self._record()
            self._report.moments += len(self._script)
            self._report.phases.update(phase for moment in self._script for phase in moment.phases)
            for seat in audited:
                self._same_in_another_world(seat)
                self._same_after_illegal_actions(seat, max(1, _ILLEGAL // len(audited)))
            if first.form == "AEC":
                self._same_after_another_card(audited)
        if not self._report.hidden:
            raise AuditError("nothing was hidden from anybody at any moment: nothing was audited")
        return self._report

    def _audited(self, env: Outside) -> list[int | None]:
        if any(inside.asks_agents for inside in env.insides):
            if self._seats is not None:
                raise ValueError(
                    f"seats={list(self._seats)}: agents inside play all seats but the own one, which alone is audited; leave seats out"
                )
            return [None]
        if env.shared:
            there = env.seats
        elif env.form == "single" and self._seats is not None and len(self._seats) == 1:
            there = list(range(len(env.inside.base.possible_agents)))
        else:
            raise TypeError("an environment of Gymnasium's form around one of PettingZoo's: say which seat it plays, seats=[0]")
        seats = there if self._seats is None else [int(seat) for seat in dict.fromkeys(self._seats)]
        unknown = [seat for seat in seats if seat not in there]
        if unknown:
            raise ValueError(f"seats={unknown}: there are {', '.join(map(str, there))}")
        return list(seats)

    def _start(self, settings: Settings | None) -> Outside:
        env = self._make_env()
        if not hasattr(env, "reset") or not hasattr(env, "step"):
            raise TypeError(f"make_env made {env!r}, which is no environment: it has no reset and step")
        found = bases(env)
        if not found:
            raise TypeError(f"no environment of this package is inside {env!r}, at least not in this process")
        insides = [Inside(base, settings, self._recorded[i] if settings is not None else None) for i, base in enumerate(found)]
        handle = outside(env, insides)
        if handle.shared and len(insides) > 1:
            raise TypeError(f"{len(insides)} environments are inside {env!r}: audit them one by one")
        if handle.form == "single" and self._seats is not None:
            handle.own = int(next(iter(self._seats)))
        return handle

    # --- the match that is played in all worlds --------------------------------------------------------------------------

    def _record(self) -> list[_Moment]:
        """Play in the true world; what is decided there is done in all others."""
        env = self._start(None)
        rng = np.random.default_rng([self._seed, 1])
        script: list[_Moment] = []
        for match, (begin, limit) in enumerate(self._beginnings(), 1):
            if script:
                script[-1].action = begin
            env.do(begin)
            self._report.matches += 1
            script.append(_describe(env, 0, match))
            number = 1
            while not env.over and (limit is None or number < limit):
                self._decide(env, script[-1], rng)
                script.append(_describe(env, number, match))
                number += 1
        self._recorded = env.insides
        self._report.played.update(seat for inside in env.insides for seats in inside.played for seat in seats)
        if not self._vary_seed:
            _refuse_games_aside(env)
        return script

    def _beginnings(self) -> Iterator[tuple[Begin, int | None]]:
        """How the matches begin, and how many moments of each are played at most."""
        yield Begin(self._seed), self._limit
        for match in range(1, self._matches):
            yield Begin(None if match % 2 else self._seed + match), self._limit
        if self._matches > 1:
            yield Begin(self._seed + self._matches), min(_LAST, self._limit or _LAST)

    def _decide(self, env: Outside, moment: _Moment, rng: np.random.Generator) -> None:
        """Choose what is done next, note it, and do it."""

        def choose(observation: Any, info: Any, legal: Callable[[], Any], shape: Shape) -> Any:
            moment.legal = _mask(observation, info, legal, shape)
            return _draw(moment.legal, rng) if self._policy is None else self._policy(observation, info)

        moment.action = copy.deepcopy(env.choose(choose))
        moment.actors = list(env.actors(moment.action))
        for inside in env.insides:
            inside.expect(moment.actors)
        try:
            env.do(moment.action)
        except ValueError as error:
            if self._policy is not None:
                raise
            raise TypeError(
                f"an action that was drawn by the mask was refused at {moment.words}: {error} If the actions are not those of the mask in "
                "the observation or the info, give a policy"
            ) from error

    def _cause(self, number: int) -> Any:
        """What led to a moment."""
        return self._script[number - 1].action if number else Begin(self._seed)

    # --- the audits ------------------------------------------------------------------------------------------------------

    def _same_in_another_world(self, seat: int | None) -> None:
        """The whole match, disguised for `seat` from its first moment on."""
        leak = self._leak_in_worlds(seat, self._vary_seed)
        if leak is None:
            return
        if isinstance(leak, _HandedOut):
            raise leak
        self._check_steady(seat)
        if self._vary_seed:
            plain = self._leak_in_worlds(seat, False)
            if plain is None:
                leak.add_note(
                    "It leaks only when reset is told another seed, which names all deals. If it is dice that a wrapper throws with "
                    "the seed, pass vary_seed=False."
                )
            leak = plain or leak
        raise leak

    def _leak_in_worlds(self, seat: int | None, vary_seed: bool) -> LeakError | None:
        try:
            self._compare_worlds(seat, vary_seed)
        except LeakError as leak:
            return leak
        return None

    def _compare_worlds(self, seat: int | None, vary_seed: bool) -> None:
        true = self._start(None)
        vary_seed = vary_seed and true.reset_takes_seed
        other = self._start(self._settings(true, seat, vary_seed))
        handed: list[tuple[str, str, Any, Any]] = []
        for number, moment in enumerate(self._script):
            cause = self._cause(number)
            true.do(cause)
            self._move(other, seat, number, cause, vary_seed)
            for output, value, frozen in self._compare(true, other, seat, moment.words):
                if output.returned:
                    handed.append((moment.words, output.name, value, frozen))
        self._check_kept(seat, handed)
        for inside in other.insides:
            self._report.hidden.update(inside.hidden)
            self._report.masks += inside.masks
            self._report.agents += inside.asked

    def _check_steady(self, seat: int | None) -> None:
        """`AuditError` for an output that is another one in the same world."""
        twins = self._start(None), self._start(None)
        for number, moment in enumerate(self._script):
            for env in twins:
                env.do(self._cause(number))
            try:
                list(self._compare(*twins, seat, moment.words))
            except LeakError as error:
                fresh = "; if dice are made anew by a reset without a seed, pass matches=1" if moment.match > 1 else ""
                raise AuditError(
                    f"{error.output} is not the same twice in the same world, {error.values[0]} and {error.values[1]} at {moment.words}: "
                    "nothing can be said about it; make all chance follow from the seed, or leave it out by ignore=" + fresh
                ) from None

    def _settings(self, env: Outside, seat: int | None, seeds: bool) -> Settings:
        dice = np.random.default_rng([self._seed, 2, 0 if seat is None else seat]).integers(2**62)
        return Settings(seat, int(dice), env.shared, seeds)

    def _replay(self, env: Outside, number: int) -> None:
        """Play to a moment of the script."""
        for before in range(number + 1):
            env.do(self._cause(before))

    def _same_after_another_card(self, seats: Sequence[int | None]) -> None:
        """One seat has chosen otherwise; whoever may know the same as before must read the same."""
        rng = np.random.default_rng([self._seed, 4])
        open_to = [
            number
            for number, moment in enumerate(self._script[:-1])
            if len(moment.deciding) > 1 and moment.others and not set(seats) <= set(moment.actors)
        ]
        for place in _spread(len(open_to), self._alternatives, rng):
            self._report.tried += 1
            self._play_otherwise(open_to[place], seats, rng)

    def _play_otherwise(self, number: int, seats: Sequence[int | None], rng: np.random.Generator) -> None:
        true, other = self._start(None), self._start(None)
        for env in (true, other):
            self._replay(env, number)
        moment = self._script[number]
        [who] = moment.actors
        ignorant = {seat for seat in seats if seat is not None} - {who}
        true.do(moment.action)
        other.do(int(rng.choice(moment.others)))
        for following in range(number + 1, len(self._script)):
            now = self._script[following]
            ignorant = {seat for seat in ignorant if other.inside.view(seat).tobytes() == now.views[seat]}
            for seat in sorted(ignorant):
                list(self._compare(true, other, seat, f"{now.words}, after seat {who} has chosen otherwise"))
                self._report.alternatives += 1
            if not ignorant or isinstance(now.action, Begin) or following == len(self._script) - 1:
                return
            true.do(now.action)
            self._move(other, min(ignorant), number, now.action)

    def _same_after_illegal_actions(self, seat: int | None, count: int) -> None:
        """What is said of an illegal action, and what can be read then."""
        rng = np.random.default_rng([self._seed, 5, 0 if seat is None else seat])
        open_to = [
            number
            for number, moment in enumerate(self._script[:-1])
            if moment.action is not None
            and not isinstance(moment.action, Begin)
            and (not moment.views or (seat in moment.actors and seat in moment.deciding))
        ]
        for place in _spread(len(open_to), count, rng):
            self._act_illegally(open_to[place], seat, rng)

    def _act_illegally(self, number: int, seat: int | None, rng: np.random.Generator) -> None:
        true = self._start(None)
        other = self._start(self._settings(true, seat, False))
        for env in (true, other):
            self._replay(env, number)
        moment = self._script[number]
        action = true.illegal(moment.action, seat, rng)
        if action is None:
            return
        for inside in other.insides:
            inside.leave_the_script()
        said = [_value(lambda env=env: env.do(action)) for env in (true, other)]  # type: ignore[misc]
        if said[0] is None and self._report.played:
            return  # a wrapper may now be asked for other seats than before, whom it must see truly
        words = f"{moment.words}, after the illegal action {action!r}"
        found = difference(freeze(said[0]), freeze(said[1]), "what was raised")
        if found is not None:
            self._check_steady_complaint(number, action, said[0])
            raise self._leak(seat, words, "", found)
        list(self._compare(true, other, seat, words))
        self._report.illegal += 1

    def _check_steady_complaint(self, number: int, action: Any, said: Any) -> None:
        """`AuditError` for a message that is another one in the same world."""
        again = self._start(None)
        self._replay(again, number)
        if difference(freeze(_value(lambda: again.do(action))), freeze(said)) is not None:
            raise AuditError("what is raised after an illegal action is not the same twice in the same world: nothing can be said about it")

    # --- comparing -------------------------------------------------------------------------------------------------------

    def _move(self, env: Outside, seat: int | None, number: int, action: Any, vary_seed: bool = False) -> None:
        """Move the copy that lies in another world; it must not find anything amiss."""
        words = self._script[number].words
        if vary_seed and isinstance(action, Begin) and action.seed is not None:
            action = Begin(other_seed(action.seed))
        try:
            env.do(action)
        except AuditError:
            raise
        except Exception as error:
            self._raise_found(env, words)
            leak = self._leak(seat, words, "an exception", Difference("", "none", f"{type(error).__name__}: {error}"))
            leak.add_note(_IF_PLAYED)
            raise leak from error
        self._raise_found(env, words)

    def _raise_found(self, env: Outside, words: str) -> None:
        for inside in env.insides:
            for found in inside.found:
                leak = self._leak(found.seat, words, found.output, found.difference)
                if found.seat in self._report.played:
                    leak.add_note(_IF_PLAYED)
                raise leak

    def _compare(self, true: Outside, other: Outside, seat: int | None, words: str) -> Iterator[tuple[Output, Any, Any]]:
        """All outputs for `seat`, one after the other, which must not differ: (output, value, frozen value)."""
        outputs, others_outputs = list(true.outputs(seat)), list(other.outputs(seat))
        names = [freeze([output.name for output in each]) for each in (outputs, others_outputs)]
        named = difference(names[0], names[1], "what can be read")
        if named is not None:
            raise self._leak(seat, words, "", named)
        for output, others_output in zip(outputs, others_outputs, strict=True):
            name = output.name
            if self._ignored(name):
                continue
            value, others_value = _value(output.read), _value(others_output.read)
            if output.returned:
                self._check_own(true, seat, words, name, value)
            try:
                frozen, others = freeze(value), freeze(others_value)
            except CannotFreeze as error:
                if output.returned:
                    raise AuditError(f"{name}: {error}; leave it out by ignore=") from error
                frozen, others = (freeze(_data_in(each)) for each in (value, others_value))
            found = difference(frozen, others, name)
            if found is not None and not self._ignored(found.place):
                leak = self._leak(seat, words, "", found, true.inside.game)
                if not output.returned:
                    leak.add_note(f'It lies open there. If no seat reads it, begin its name with an underscore, or pass ignore=["{name}"].')
                raise leak
            if found is not None:
                self._compare_rest(value, others_value, seat, words, name, true.inside.game)
            self._report.outputs[name.split("[")[0].split("(")[0]] += 1
            yield output, value, frozen
        self._report.seats[seat] += 1

    def _ignored(self, place: str) -> bool:
        return any(part in place for part in self._ignore)

    def _compare_rest(self, value: Any, other: Any, seat: int | None, words: str, name: str, game: Game) -> None:
        """Compare what is left when something in `value` is ignored."""
        found = difference(freeze(self._without(value, name)), freeze(self._without(other, name)), name)
        if found is not None:
            raise self._leak(seat, words, "", found, game)

    def _without(self, value: Any, name: str) -> Any:
        if isinstance(value, Mapping):
            return {key: self._without(item, name + key_of(key)) for key, item in value.items() if not self._ignored(name + key_of(key))}
        if isinstance(value, (list, tuple)):
            return [self._without(item, f"{name}[{i}]") for i, item in enumerate(value)]
        return value

    def _check_own(self, env: Outside, seat: int | None, words: str, name: str, value: Any) -> None:
        """What was returned is neither a part of the environment nor of what it works with."""
        for place, item in arrays_in(value, name):
            for inside in env.insides:
                what = _internal(inside, item)
                if what is not None:
                    message = f"{place}, returned at {words}, is {what}"
                    raise _HandedOut(message, seat, words, place, (what, "a copy of what the seat may know"))

    def _check_kept(self, seat: int | None, handed: list[tuple[str, str, Any, Any]]) -> None:
        for words, name, value, frozen in handed:
            found = difference(frozen, freeze(value), name)
            if found is not None and not self._ignored(found.place):
                message = f"{found.place}, returned at {words}, was changed later: {found.one} then, {found.other} at the end"
                raise _HandedOut(message, seat, words, found.place, (found.one, found.other))

    def _leak(self, seat: int | None, words: str, output: str, found: Difference, game: Game | None = None) -> LeakError:
        place = output + found.place + (_meaning(game, found) if game is not None else "")
        who = "the own seat" if seat is None else f"seat {seat}"
        message = (
            f"{who} can tell what it may not know, at {words}:\n  {place}\n  is {found.one}\n"
            f"  and {found.other} in another world that differs only in what is hidden from it"
        )
        return LeakError(message, seat, words, place, (found.one, found.other))


# --- parts -------------------------------------------------------------------------------------------------------------------


_IF_PLAYED: Final = (
    "If the environment plays a seat itself, as a wrapper with agents of its own may do, it must decide from nothing but what that seat "
    "reads (view, observe, last) at its turn: then the audit shows it the truth."
)


def _refuse_games_aside(env: Outside) -> None:
    """`AuditError` where a second game of the same seed is played: what is told of it is the same in all worlds and would not be found."""
    held = [inside.base for inside in env.insides]
    seeds = {int(seed) for inside in env.insides for seed in inside.states["seed"]}
    for base in bases(env.env):
        if not any(base is one for one in held) and seeds & {int(seed) for seed in _states_of(base)["seed"]}:
            raise AuditError(
                "beside the audited environment another one plays the same seed, whose cards are those of the audited one. With "
                "vary_seed=False nothing can be said about what is told of it: leave vary_seed on, and do not take the wrapper's dice from "
                "the seed"
            )


def _states_of(base: Any) -> Any:
    [holder] = holders(base)
    return states_in(holder)[0]


def _describe(env: Outside, number: int, match: int) -> _Moment:
    """The moment as it is now."""
    inside, phases, words = env.inside, [], ""
    for one in env.insides:
        own = one.holder.outside.tolist() if one.asks_agents else [min(one.deciding(), default=0)]
        views = [one.view(seat, game) for game, seat in enumerate(own)]
        words = words or str(one.game.board(views[0][0])).splitlines()[0]
        phases += [_phase(one.game, view) for view in views]
    words = (
        f"moment {number}" + (f" of match {match}" if match > 1 else "") + (f" ({words.strip()}; {phases[0]})" if len(phases) == 1 else "")
    )
    players = [inside.view(seat) for seat in range(len(inside.base.possible_agents))] if env.shared else []
    deciding = inside.deciding()
    return _Moment(words, match, phases, deciding, [view.tobytes() for view in players])


def _phase(game: Game, view: Any) -> str:
    """What is decided, from the layout's columns `phase_...`."""
    vector = np.zeros((1, game.layout.size), dtype=np.float32)
    game.encode(view, vector)
    for group in game.layout.groups:
        for place, column in enumerate(group.columns, game.layout.offset(group.name)):
            if column.name.startswith("phase_") and vector[0, place] == 1.0:
                return column.name.removeprefix("phase_")
    return "play"


def _mask(observation: Any, info: Any, legal: Callable[[], Any], shape: Shape) -> Any:
    """The legal actions: of the observation, of the info, or of the environment inside; None if none of these fits the actions."""
    if shape is None:
        return None
    masks = [holder.get("action_mask") for holder in (observation, info) if isinstance(holder, Mapping)]
    fitting = [np.array(mask) for mask in (*masks, legal()) if mask is not None and np.shape(mask) == shape]
    return next((mask for mask in fitting if mask.any()), fitting[-1] if fitting else None)


def _draw(mask: Any, rng: np.random.Generator) -> Any:
    """A legal action, of each line of the mask."""
    if mask is None:
        raise TypeError("there is no mask of the actions in the observation or the info, of the shape that they have: give a policy")
    if mask.ndim == 2:
        return np.array([_draw(line, rng) for line in mask], dtype=np.int64)
    actions = np.flatnonzero(mask)
    if not len(actions):
        return 0  # a match that is over, whose action is not read
    return int(actions[0] if rng.random() < _LOW else rng.choice(actions))


def _spread(total: int, count: int, rng: np.random.Generator) -> list[int]:
    """Up to `count` of the numbers below `total`, ascending."""
    chosen: list[int] = np.sort(rng.permutation(total)[:count]).tolist()
    return chosen


def _value(read: Callable[[], Any]) -> Any:
    """What is read; an exception is something that can be read as well, with all that was added to it."""
    try:
        return read()
    except AuditError:
        raise
    except Exception as error:
        return {"raises": f"{type(error).__name__}: {error}", **vars(error)}


def _data_in(value: Any) -> Any:
    """What lies in an attribute without what cannot be compared, such as functions."""
    if not isinstance(value, Mapping):
        return None
    return {key: item for key, item in value.items() if _is_data(item)}


def _is_data(value: Any) -> bool:
    try:
        freeze(value)
    except CannotFreeze:
        return False
    return True


def _internal(inside: Inside, item: Any) -> str | None:
    """What `item` is, if it must not be handed out."""
    if isinstance(item, (np.ndarray, np.void)):
        if item.dtype == inside.game.state_dtype:
            return "a state of the game, hidden cards and all"
        memory = item if isinstance(item, np.ndarray) else item.base  # a record is a part of the array that it was taken from
        for name, buffer in inside.buffers():
            if isinstance(memory, np.ndarray) and np.may_share_memory(memory, buffer):
                return f"the memory that the environment works in, {name}"
    if isinstance(item, Game) or item is inside.holder or item is inside.base:
        return f"a part of the environment, {type(item).__name__}"
    return None


def _meaning(game: Game, found: Difference) -> str:
    """What the number means at which an observation or a mask differs."""
    if found.at and found.shape[-1] in (game.layout.size, game.compact_size):
        return f" = {_name_of(game.layout, found.at[-1])}"
    if found.at and found.shape[-1] == game.num_actions:
        return f" = {game.action_name(found.at[-1])}"
    return ""


def _name_of(layout: Layout, place: int) -> str:
    for group in layout.groups:
        line, column = divmod(place - layout.offset(group.name), group.width)
        if line < group.count:
            return f"{group.name}.{group.columns[column].name}" + (f"[{group.first + line}]" if group.count > 1 else "")
    raise AssertionError("the layout ends before its size")
