"""An audit of secrecy: nothing that a seat can read of an environment depends on what it may not know.

```python
from sixnimmt_env.core import audit

print(audit(lambda: MyWrapper(sixnimmt_v0.env())))
```

Two copies are played with the same actions. For whoever looks, one of them lies in another world, in which all is different that one seat
may not know: other hands, undealt cards, cards picked and not yet revealed, the deals to come (see `otherworld`). All that the seat can
read must be identical, bit for bit: what `reset`, `step`, `last` and `observe` return, infos, masks, rewards, views, renderings. Agents
inside an environment must be told and do the same. Then cards are played that others cannot see yet, and nobody may see another thing
before he may know. Besides, nothing that was returned is changed later, or is a part of what the environment works with.

What is for spectators, `state()` and `trace()`, shows more on purpose and is not compared; a seat that is told of it by a wrapper is found.
How long something takes is not measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ..game import Game
from ..layout import Layout
from .frozen import CannotFreeze, Difference, arrays_in, difference, freeze
from .otherworld import AuditError, Inside, Settings, bases, layers, other_seed
from .outside import Outside, outside

__all__ = ["AuditError", "LeakError", "Report", "audit"]

Policy = Callable[[Any, Any], Any]

_LOW: Final = 0.25  # share of the lowest legal action: of other play rare phases come too seldom


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
        moments: moments of the matches that were played.
        phases: how many of them were in each phase.
        seats: how many moments were compared for each seat; None stands for the own seat of each game.
        outputs: how often each output was compared.
        hidden: how often each part of the state was another one at rest: what was hidden, and not the same by chance.
        agents: how often an agent inside was asked in another world.
        masks: how often others' legal actions were.
        alternatives: how many moments were compared after a seat had chosen otherwise and the others could not know.
    """

    form: str
    layers: tuple[str, ...]
    moments: int = 0
    phases: Counter[str] = field(default_factory=Counter)
    seats: Counter[int | None] = field(default_factory=Counter)
    outputs: Counter[str] = field(default_factory=Counter)
    hidden: Counter[str] = field(default_factory=Counter)
    agents: int = 0
    masks: int = 0
    alternatives: int = 0

    @property
    def comparisons(self) -> int:
        """Outputs compared."""
        return self.outputs.total()

    def __str__(self) -> str:
        seats = "the own seat" if None in self.seats else f"{len(self.seats)} seats"
        lines = [
            f"{' of '.join(self.layers)} ({self.form}): nothing leaks",
            f"{self.moments} moments ({_counts(self.phases)}), {seats}, {self.comparisons} outputs compared",
            f"another world in memory: {_counts(self.hidden)}" + (f"; others' legal actions {self.masks}" if self.masks else ""),
        ]
        lines += [f"agents inside: asked {self.agents} times in another world"] if self.agents else []
        lines += [f"cards played otherwise that could not be seen yet: {self.alternatives} moments"] if self.alternatives else []
        return "\n  ".join(lines)


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
) -> Report:
    """Show that nothing leaks to the seats of an environment, or raise.

    Args:
        make_env: makes the environment, in whatever wrappers and conversions, anew at every call and always the same.
        seeds: a match is played for each.
        seats: whom to audit; by default all. An environment of Gymnasium's forms that is made of one of PettingZoo's has one seat to name.
        moments: how much of each match is played at most; by default all of it.
        alternatives: how many times, in the AEC form, a seat picks another card, which the others cannot know yet; drawn by lot.
        policy: (observation, info) -> action, for environments whose actions are not those of the game; by default legal ones are drawn.
        vary_seed: also tell `reset` another seed, which names all deals. Turn it off for wrappers that throw dice of their own with it.
        ignore: outputs that contain one of these are not compared, such as '["t"]' for the clock of `RecordEpisodeStatistics`.

    Raises:
        LeakError: something leaks; the message says to whom, when and where.
        AuditError: an output is not the same twice in the same world, cannot be compared, or nothing was hidden.
        TypeError: there is no environment of this package inside, or the form is unknown.
    """
    return _Audit(make_env, seats, moments, alternatives, policy, vary_seed, tuple(ignore)).run(list(seeds))


@dataclass
class _Moment:
    """A moment of the match as it is in the true world."""

    words: str
    phases: list[str]
    deciding: list[int]
    views: list[bytes]  # of all seats
    action: Any = None
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
    ) -> None:
        self._make_env, self._limit, self._alternatives = make_env, moments, alternatives
        self._policy, self._vary_seed, self._ignore = policy, vary_seed, ignore
        self._seats = seats
        self._report = Report("", ())
        self._seed = 0
        self._script: list[_Moment] = []
        self._recorded: Sequence[Inside] = ()

    def run(self, seeds: Sequence[int]) -> Report:
        first = self._start(None)
        self._report = Report(first.form, tuple(dict.fromkeys(type(layer).__name__ for layer in layers(first.env))))
        for seed in seeds:
            self._seed = seed
            self._script = self._record()
            self._report.moments += len(self._script)
            self._report.phases.update(phase for moment in self._script for phase in moment.phases)
            for seat in self._audited(first):
                self._same_in_another_world(seat)
            if first.form == "AEC":
                self._same_after_another_card(self._audited(first))
        if not self._report.hidden:
            raise AuditError("nothing was hidden from anybody at any moment: nothing was audited")
        return self._report

    def _audited(self, env: Outside) -> list[int | None]:
        if any(inside.asks_agents for inside in env.insides):
            return [None]
        if env.shared:
            return list(range(len(env.env.possible_agents))) if self._seats is None else list(self._seats)
        if env.form != "single" or self._seats is None or len(self._seats) != 1:
            raise TypeError("an environment of Gymnasium's form around one of PettingZoo's: say which seat it plays, seats=[0]")
        return list(self._seats)

    def _start(self, settings: Settings | None) -> Outside:
        env = self._make_env()
        found = bases(env)
        if not found:
            raise TypeError(f"no environment of this package is inside {env!r}, at least not in this process")
        insides = [Inside(base, settings, self._recorded[i] if settings is not None else None) for i, base in enumerate(found)]
        handle = outside(env, insides)
        if handle.shared and len(insides) > 1:
            raise TypeError(f"{len(insides)} environments are inside {env!r}: audit them one by one")
        return handle

    # --- the match that is played in all worlds --------------------------------------------------------------------------

    def _record(self) -> list[_Moment]:
        """Play in the true world; what is decided there is done in all others."""
        env = self._start(None)
        rng = np.random.default_rng([self._seed, 1])
        env.begin(self._seed)
        script = [_describe(env, 0)]
        while not env.over and (self._limit is None or len(script) < self._limit):
            moment = script[-1]

            def choose(observation: Any, info: Any, legal: Callable[[], Any], moment: _Moment = moment) -> Any:
                moment.legal = _mask(observation, info, legal)
                return _draw(moment.legal, rng) if self._policy is None else self._policy(observation, info)

            moment.action = env.choose(choose)
            env.act(moment.action)
            script.append(_describe(env, len(script)))
        self._recorded = env.insides
        return script

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
        true.begin(self._seed)
        self._move(other, seat, 0, lambda: other.begin(other_seed(self._seed) if vary_seed else self._seed))
        for number, moment in enumerate(self._script):
            if number:
                before = self._script[number - 1]
                true.act(before.action)
                self._move(other, seat, number, lambda before=before: other.act(before.action))  # type: ignore[misc]
            for name, value, frozen in self._compare(true, other, seat, moment.words):
                handed.append((moment.words, name, value, frozen))
        self._check_kept(seat, handed)
        for inside in other.insides:
            self._report.hidden.update(inside.hidden)
            self._report.masks += inside.masks
            self._report.agents += inside.asked

    def _check_steady(self, seat: int | None) -> None:
        """`AuditError` for an output that is another one in the same world."""
        twins = self._start(None), self._start(None)
        for env in twins:
            env.begin(self._seed)
        for number, moment in enumerate(self._script):
            if number:
                for env in twins:
                    env.act(self._script[number - 1].action)
            try:
                list(self._compare(*twins, seat, moment.words))
            except LeakError as error:
                raise AuditError(
                    f"{error.output} is not the same twice in the same world, {error.values[0]} and {error.values[1]} at {moment.words}: "
                    "nothing can be said about it; make all chance follow from the seed, or leave it out by ignore="
                ) from None

    def _settings(self, env: Outside, seat: int | None, seeds: bool) -> Settings:
        dice = np.random.default_rng([self._seed, 2, 0 if seat is None else seat]).integers(2**62)
        return Settings(seat, int(dice), env.shared, seeds)

    def _replay(self, env: Outside, number: int) -> None:
        """Play to a moment of the match."""
        env.begin(self._seed)
        for before in self._script[:number]:
            env.act(before.action)

    def _same_after_another_card(self, seats: Sequence[int | None]) -> None:
        """One seat has chosen otherwise; whoever may know the same as before must read the same."""
        rng = np.random.default_rng([self._seed, 4])
        open_to = [number for number, moment in enumerate(self._script[:-1]) if len(moment.deciding) > 1 and moment.others]
        for place in _spread(len(open_to), self._alternatives, rng):
            self._play_otherwise(open_to[place], seats, rng)

    def _play_otherwise(self, number: int, seats: Sequence[int | None], rng: np.random.Generator) -> None:
        true, other = self._start(None), self._start(None)
        for env in (true, other):
            self._replay(env, number)
        moment = self._script[number]
        who = int(true.env.possible_agents.index(true.env.agent_selection))
        ignorant = {seat for seat in seats if seat is not None} - {who}
        true.act(moment.action)
        other.act(int(rng.choice(moment.others)))
        for now in self._script[number + 1 :]:
            ignorant = {seat for seat in ignorant if other.inside.view(seat).tobytes() == now.views[seat]}
            for seat in sorted(ignorant):
                list(self._compare(true, other, seat, f"{now.words}, after seat {who} has chosen otherwise"))
                self._report.alternatives += 1
            if not ignorant or now is self._script[-1]:
                return
            true.act(now.action)
            self._move(other, min(ignorant), number, lambda now=now: other.act(now.action))  # type: ignore[misc]

    # --- comparing -------------------------------------------------------------------------------------------------------

    def _move(self, env: Outside, seat: int | None, number: int, call: Callable[[], None]) -> None:
        """Move the copy that lies in another world; it must not find anything amiss."""
        words = self._script[number].words
        try:
            call()
        except AuditError:
            raise
        except Exception as error:
            self._raise_found(env, words)
            raise self._leak(seat, words, "an exception", Difference("", "none", f"{type(error).__name__}: {error}")) from error
        self._raise_found(env, words)

    def _raise_found(self, env: Outside, words: str) -> None:
        for inside in env.insides:
            for found in inside.found:
                raise self._leak(found.seat, words, found.output, found.difference)

    def _compare(self, true: Outside, other: Outside, seat: int | None, words: str) -> Iterator[tuple[str, Any, Any]]:
        """All outputs for `seat`, one after the other, which must not differ: (name, value, frozen value)."""
        pairs = zip(true.outputs(seat), other.outputs(seat), strict=True)
        for (name, read), (_, read_other) in pairs:
            if self._ignored(name):
                continue
            value, others_value = _value(read), _value(read_other)
            self._check_own(true, seat, words, name, value)
            try:
                frozen, others = freeze(value), freeze(others_value)
            except CannotFreeze as error:
                raise AuditError(f"{name}: {error}; leave it out by ignore=") from error
            found = difference(frozen, others, name)
            if found is not None and not self._ignored(found.place):
                raise self._leak(seat, words, "", found, true.inside.game)
            if found is not None:
                self._compare_rest(value, others_value, seat, words, name, true.inside.game)
            self._report.outputs[name.split("[")[0].split("(")[0]] += 1
            yield name, value, frozen
        self._report.seats[seat] += 1

    def _ignored(self, place: str) -> bool:
        return any(part in place for part in self._ignore)

    def _compare_rest(self, value: Any, other: Any, seat: int | None, words: str, name: str, game: Game) -> None:
        """Compare what is left when something in `value` is ignored."""
        found = difference(freeze(self._without(value, name)), freeze(self._without(other, name)), name)
        if found is not None:
            raise self._leak(seat, words, "", found, game)

    def _without(self, value: Any, name: str) -> Any:
        if isinstance(value, dict):
            return {key: self._without(item, f'{name}["{key}"]') for key, item in value.items() if not self._ignored(f'{name}["{key}"]')}
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


def _describe(env: Outside, number: int) -> _Moment:
    """The moment as it is now."""
    inside, phases, words = env.inside, [], ""
    for one in env.insides:
        own = one.holder.outside.tolist() if one.asks_agents else [min(one.deciding(), default=0)]
        views = [one.view(seat, game) for game, seat in enumerate(own)]
        words = words or str(one.game.board(views[0][0])).splitlines()[0]
        phases += [_phase(one.game, view) for view in views]
    words = f"moment {number}" + (f" ({words.strip()}; {phases[0]})" if len(phases) == 1 else "")
    players = [inside.view(seat) for seat in range(len(env.env.possible_agents))] if env.shared else []
    deciding = inside.deciding()
    return _Moment(words, phases, deciding, [view.tobytes() for view in players])


def _phase(game: Game, view: Any) -> str:
    """What is decided, from the layout's columns `phase_...`."""
    vector = np.zeros((1, game.layout.size), dtype=np.float32)
    game.encode(view, vector)
    for group in game.layout.groups:
        for place, column in enumerate(group.columns, game.layout.offset(group.name)):
            if column.name.startswith("phase_") and vector[0, place] == 1.0:
                return column.name.removeprefix("phase_")
    return "play"


def _mask(observation: Any, info: Any, legal: Callable[[], Any]) -> Any:
    """The legal actions: of the observation, of the info, or of the environment inside."""
    for holder in (observation, info):
        if isinstance(holder, dict) and np.any(holder.get("action_mask", 0)):
            return np.array(holder["action_mask"])
    mask = legal()
    return None if mask is None else np.array(mask)


def _draw(mask: Any, rng: np.random.Generator) -> Any:
    """A legal action, of each line of the mask."""
    if mask is None:
        raise TypeError("there is no action mask in observation or info: give a policy")
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
    """What is read; an exception is something that can be read as well."""
    try:
        return read()
    except Exception as error:
        return {"raises": f"{type(error).__name__}: {error}"}


def _internal(inside: Inside, item: Any) -> str | None:
    """What `item` is, if it must not be handed out."""
    if isinstance(item, (np.ndarray, np.void)):
        if item.dtype == inside.game.state_dtype:
            return "a state of the game, hidden cards and all"
        for name, buffer in inside.buffers():
            if isinstance(item, np.ndarray) and np.may_share_memory(item, buffer):
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
