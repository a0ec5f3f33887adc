"""An environment that shows another world to whoever looks: all that one seat may not know is different, all that it may know is not.

The environment itself goes on playing the true game. Between its calls its states lie disguised in memory, for those who look there;
within a call every view is made from a disguised copy, and while agents are asked, the states are disguised for them. What is known of an
environment here: it or a part of it holds a `Game` and arrays of its states, and `reset` and `step` move it.

Wrappers may play some seats themselves. What the environment is asked to do for a seat for which whoever plays from outside was not asked,
a wrapper has decided. Such a seat is shown the truth at its turn, as agents inside are, so that the wrapper decides as it did.
"""

from __future__ import annotations

import copy
import copyreg
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..game import ILLEGAL, NEXT_SEAT, Game
from ..records import as_bytes, clone, cloned
from ..seeding import mix
from .frozen import Difference, difference, freeze

_THROWS: Final = 4  # dice are thrown again where nothing but the seed has changed
_WORLDS: Final = 24  # of which the best is taken where others' legal actions can be shown
_SHORT_CUTS: Final = ("play_on", "show_all", "play_all")
"""Optional: without them the environment calls the other kernels, and the true copy shows that both are alike."""
_IN_TRUTH: Final = ("deal", "deal_as", "to_act", "abandon", "costs", "reveal_all")
_IN_OTHER_WORLD: Final = ("reveal", "commit", "legal", "step")
_SEEDS: Final = ("seed", "game")  # fields of a state that name the deals to come
_HELD: Final = "_is_audited"
_OTHER_SEED: Final = 0x0051_5EED


class AuditError(RuntimeError):
    """Nothing can be said about the environment: it is not the same twice, holds what cannot be compared, or nothing in it is hidden."""


class Found(NamedTuple):
    """Something that depends on what is hidden, seen from within."""

    seat: int
    output: str
    difference: Difference


class Settings(NamedTuple):
    """How the other world is made.

    Args:
        seat: whom it is disguised for; None: the outside seat of each game.
        dice: a random word.
        shared: others' views are made from the same world, so that they hold other hands. False: each from one that its own seat cannot
            tell from the truth, so that agents inside decide as ever.
        seeds: `reset` is told another seed than the true one.
    """

    seat: int | None
    dice: int
    shared: bool
    seeds: bool = False


def layers(env: Any) -> list[Any]:
    """`env` and everything inside it that can be reset and stepped, from the outside in."""
    found: list[Any] = [env]
    for layer in found:
        for value in list(getattr(layer, "__dict__", {}).values()):
            for item in value if isinstance(value, (list, tuple)) else value.values() if isinstance(value, dict) else (value,):
                if (
                    callable(getattr(item, "step", None))
                    and callable(getattr(item, "reset", None))
                    and not any(item is one for one in found)
                ):
                    found.append(item)
    return found


def holders(base: Any) -> list[Any]:
    """`base` and its parts that hold a game and states of it."""
    parts = [base, *vars(base).values()]
    return [part for part in parts if isinstance(game_of(part), Game) and states_in(part)]


def game_of(layer: Any) -> Game | None:
    game = getattr(layer, "__dict__", {}).get("game")
    return game if isinstance(game, Game) else None


def states_in(holder: Any) -> list[NDArray[np.void]]:
    game = game_of(holder)
    assert game is not None
    return [value for value in vars(holder).values() if isinstance(value, np.ndarray) and value.dtype == game.state_dtype]


def bases(env: Any) -> list[Any]:
    """The environments of the package inside `env`: of layers that hold the same games the innermost."""
    found: list[Any] = []
    claimed: list[Any] = []
    for layer in reversed(layers(env)):
        new = [holder for holder in holders(layer) if not any(holder is one for one in claimed)]
        if new:
            claimed += new
            found.insert(0, layer)
    return found


class Inside:
    """The hold on one environment: counts its calls, keeps what its agents did, and shows the other world where `settings` ask for one.

    Attributes:
        game: as the environment had it.
        calls: what `reset` and `step` were called with: None, or a copy of the action, which the caller may change later.
        seeds: what `reset` was told each time.
        played: of each call, the seats for which a wrapper has decided, in the true world.
        acted: the actions of every step of the games, of environments that ask agents.
        hidden: how often each field of a state was another one at rest.
        masks: how often others' legal actions were.
        asked: how often an agent was asked in another world.
        found: what depended on something hidden.
    """

    def __init__(self, base: Any, settings: Settings | None, before: Inside | None = None) -> None:
        self.base = base
        [self.holder] = holders(base)
        game = game_of(self.holder)
        assert game is not None
        self.game = game
        self.settings = settings
        self.calls: list[Any] = []
        self.seeds: list[Any] = []
        self.played: list[frozenset[int]] = []
        self.acted: list[NDArray[Any]] = []
        self.hidden: dict[str, int] = {}
        self.masks = 0
        self.asked = 0
        self.found: list[Found] = []
        self._before = before  # the same match in the true world
        self._asked_outside: set[int] = set()  # and still to act
        self._within = False
        self._saved: list[tuple[NDArray[np.void], NDArray[np.void]]] = []
        self._saved_seeds: list[tuple[Any, str, Any]] = []
        self._not_seeds = places(game.state_dtype, [name for name in game.state_dtype.names or () if name not in _SEEDS])
        self._world: tuple[tuple[int, bytes], NDArray[np.void]] | None = None
        self._true_views: NDArray[np.void] = np.zeros(0, dtype=game.view_dtype)
        self._take_over()

    # --- what is asked from outside --------------------------------------------------------------------------------------

    @property
    def states(self) -> NDArray[np.void]:
        """As they lie in memory now."""
        [states] = states_in(self.holder)
        return states

    def view(self, seat: int, game: int = 0) -> NDArray[np.void]:
        """(1,) the view of `seat`, from the states as they lie now."""
        views = np.zeros(1, dtype=self.game.view_dtype)  # zeros: padding must not hold chance
        self.game.reveal(self.states, np.array([game]), np.array([seat]), views)
        return views

    def deciding(self, game: int = 0) -> list[int]:
        """The seats that decide now."""
        bits = np.zeros(1, dtype=np.uint16)
        self.game.to_act(self.states, np.array([game]), bits)
        return [seat for seat in range(self.game.max_seats) if int(bits[0]) >> seat & 1]

    def expect(self, seats: Iterable[int]) -> None:
        """What is done next for `seats` was decided outside."""
        self._asked_outside |= set(seats)

    def leave_the_script(self) -> None:
        """From now on other things are done than in the true world before."""
        self._before = None

    @property
    def _parts(self) -> list[Any]:
        return [self.base] if self.base is self.holder else [self.base, self.holder]

    def buffers(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """The arrays that the environment works with."""
        for part in self._parts:
            for name, value in vars(part).items():
                if isinstance(value, np.ndarray):
                    yield f"{type(part).__name__}.{name}", value

    # --- the hold --------------------------------------------------------------------------------------------------------

    def _take_over(self) -> None:
        # A stable-baselines3 VecEnv steps in two halves, and wrappers call these.
        names = ("reset", "step_async", "step_wait") if hasattr(self.base, "step_wait") else ("reset", "step")
        _hold(self.base, {name: self._around(getattr(self.base, name)) for name in names})
        if self.settings is None:
            self.holder.game = dataclasses.replace(self.game, step=self._step)
            return
        kernels: dict[str, Any] = {name: self._in_truth(getattr(self.game, name)) for name in _IN_TRUTH}
        kernels |= {name: getattr(self, f"_{name}") for name in _IN_OTHER_WORLD}
        for each in dataclasses.fields(self.game):
            value = getattr(self.game, each.name)
            if each.name not in kernels and callable(value) and not isinstance(value, type):
                kernels[each.name] = self._unless_of_states(each.name, value)
        self.holder.game = dataclasses.replace(self.game, **kernels | dict.fromkeys(_SHORT_CUTS))

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """`reset` or `step` of the environment, played in the true world."""

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            self._uncover()
            given, played = None, frozenset[int]()
            if original.__name__ == "reset":
                args, kwargs = self._as_reset_before(args, kwargs)
            else:
                given = next(iter([*args, *kwargs.values()]), None)
                given = copy.deepcopy(given) if self.settings is None else given  # who gave it may go on using it
                played = self._played_inside(given)
            self._within = True
            try:
                return original(*args, **kwargs)
            finally:
                self._within = False
                self._uncover()
                if self.settings is not None:
                    self._cover_at_rest()
                self.calls.append(given)
                self.played.append(played)

        return call

    def _as_reset_before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of `reset` with the seed that it was told in the true world, whatever wrappers have made of the other one."""
        self._asked_outside.clear()
        number = len(self.seeds)
        self.seeds.append(copy.deepcopy(args[0] if args else kwargs.get("seed")))
        if self.settings is None or not self.settings.seeds or self._before is None or number >= len(self._before.seeds):
            return args, kwargs
        seed = self._before.seeds[number]
        return ((seed, *args[1:]), kwargs) if args else (args, {**kwargs, "seed": seed})

    def _played_inside(self, given: Any) -> frozenset[int]:
        """The seats for which a wrapper has decided, in the coming call; in another world that must come out as it did in the true one."""
        if self.settings is not None:
            self._check_played(given)
        agents = getattr(self.base, "possible_agents", None)
        if self.settings is not None or agents is None:
            return frozenset()
        acting = {seat for seat in self.deciding() if agents[seat] in given} if isinstance(given, Mapping) else self._selected()
        played = acting - self._asked_outside
        self._asked_outside -= acting
        return frozenset(played)

    def _selected(self) -> set[int]:
        agent = getattr(self.base, "agent_selection", None)
        return {self.base.possible_agents.index(agent)} if agent in self.base.possible_agents else set()

    def _check_played(self, given: Any) -> None:
        number = len(self.calls)
        for seat in sorted(self._truly_shown(number)):
            assert self._before is not None
            pair = [
                each.get(self.base.possible_agents[seat]) if isinstance(each, Mapping) else each
                for each in (self._before.calls[number], given)
            ]
            found = difference(*map(freeze, pair))
            if found is not None:
                one, other = (self.game.action_name(int(each)) if isinstance(each, (int, np.integer)) else repr(each) for each in pair)
                self.found.append(
                    Found(seat, f"the action for seat {seat}, which the environment plays itself", Difference("", one, other))
                )

    def _truly_shown(self, number: int) -> frozenset[int]:
        """The seats for which a wrapper decides in call `number`: it must see what it saw."""
        return self._before.played[number] if self._before is not None and number < len(self._before.played) else frozenset()

    def _in_truth(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel that the environment may call while its states are disguised for an agent that was asked."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._within:
                self._uncover()
            return original(*args, **kwargs)

        return call

    def _unless_of_states(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel that nothing is known of here: it must not be given states while the environment plays."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._within and any(isinstance(each, np.ndarray) and each.dtype == self.game.state_dtype for each in args):
                raise AuditError(f"the environment calls {name}() on states, of which the audit does not know what it shows to whom")
            return original(*args, **kwargs)

        return call

    # --- kernels ---------------------------------------------------------------------------------------------------------

    def _reveal(self, states: Any, index: Any, seats: Any, views: Any) -> None:
        if self._within:
            self._uncover()
        self.game.reveal(states, index, seats, views)
        seats = np.asarray(seats)
        if not self._within:
            self._show_truly_at_rest(states, index, seats, views)
            return
        assert self.settings is not None
        self._true_views = cloned(views)
        whom = self._seats_of(index) if self.settings.shared else seats
        other = self._disguised(cloned(states, index), whom, index)
        self.game.reveal(other, np.arange(len(index)), seats, views)
        for k in np.flatnonzero(seats == whom):
            self._compare(int(seats[k]), "the view", self._true_views[k], views[k])
        shown = np.isin(seats, list(self._truly_shown(len(self.calls) + 1)))
        as_bytes(views)[shown] = as_bytes(self._true_views)[shown]
        if self.settings.seat is None and len(index) and (seats != self._seats_of(index)).all():
            self._cover_for_agents(index, seats)

    def _show_truly_at_rest(self, states: Any, index: Any, seats: Any, views: Any) -> None:
        """Show the truth to seats whose turn it is and for which a wrapper decides."""
        shown = self._truly_shown(len(self.calls))
        if shown and self._saved and states is self._saved[0][0]:
            for k in np.flatnonzero(np.isin(seats, list(shown))):
                self.game.reveal(self._saved[0][1], np.asarray(index)[k : k + 1], seats[k : k + 1], views[k : k + 1])

    def _legal(self, views: Any, masks: Any) -> None:
        """Others' legal actions are those of the other world, unless what they do next would then be illegal."""
        self.game.legal(views, masks)
        if not self._within or len(self._true_views) != len(views):
            return
        assert self.settings is not None
        if not self.settings.shared:
            return
        true = np.zeros_like(masks)
        self.game.legal(self._true_views, true)
        coming = self._coming_actions()
        for k in np.flatnonzero((views["seat"] != self.settings.seat) & (masks != true).any(axis=1)):
            action = coming.get(int(views["seat"][k]))
            if action is None or (true[k, action] and masks[k, action]):
                self.masks += 1
            else:
                masks[k] = true[k]

    def _commit(self, states: Any, game: int, seat: int, action: int, views: Any, masks: Any) -> int:
        """The view that `commit` makes in one go must be what `reveal` makes; then the one of the other world takes its place."""
        if self._within:
            self._uncover()
        code = self.game.commit(states, game, seat, action, views, masks)
        if code == ILLEGAL or not self._within:
            return code
        fused, fused_mask = cloned(views)[0], masks[0].copy()
        asked = code & NEXT_SEAT
        self._reveal(states, np.array([game]), np.array([asked]), views[:1])
        expected = np.zeros((1, self.game.num_actions), dtype=np.int8)
        self.game.legal(self._true_views, expected)
        self._compare(asked, "the view that commit shows", self._true_views[0], fused)
        self._compare(asked, "the mask that commit shows", expected[0], fused_mask)
        self._legal(views[:1], masks[:1])
        return code

    def _step(self, states: Any, index: Any, actions: Any, illegal: Any) -> None:
        if self._within:
            self._uncover()
        if self.asks_agents and self._within:
            self._check_actions(states, index, actions)
        self.game.step(states, index, actions, illegal)

    @property
    def asks_agents(self) -> bool:
        """Whether agents sit inside, around one seat of each game."""
        return hasattr(self.holder, "outside")

    def _check_actions(self, states: Any, index: Any, actions: Any) -> None:
        """Agents must do as they did in the true world."""
        bits = np.zeros(len(index), dtype=np.uint16)
        self.game.to_act(states, index, bits)
        due = (bits[:, None] >> np.arange(self.game.max_seats, dtype=np.uint16)) & 1 == 1
        self.acted.append(np.where(due, actions, -1))
        if self._before is None:
            return
        place = len(self.acted) - 1
        true = self._before.acted[place] if place < len(self._before.acted) else None
        if true is None or true.shape != actions.shape:
            return  # agents that were not asked one by one in the true world: what follows from their actions is compared
        for k, seat in np.argwhere(self.acted[place] != true):
            one, other = (self.game.action_name(int(each[k, seat])) for each in (true, actions))
            self.found.append(Found(int(seat), f"the action of the agent in seat {seat} of game {index[k]}", Difference("", one, other)))
        actions[due] = true[due]

    # --- the other world -------------------------------------------------------------------------------------------------

    def _seats_of(self, index: Any) -> NDArray[np.int64]:
        assert self.settings is not None
        if self.settings.seat is not None:
            return np.full(len(index), self.settings.seat)
        outside: NDArray[np.int64] = self.holder.outside[index]
        return outside

    def _words(self, index: Any, throw: int) -> NDArray[np.uint64]:
        assert self.settings is not None
        word = np.uint64(self.settings.dice)
        for number in (len(self.calls), throw):
            word = np.uint64(mix(word, np.uint64(number)))
        return np.array([mix(word, np.uint64(i)) for i in index], dtype=np.uint64)

    def _disguised(self, true: NDArray[np.void], seats: Any, index: Any) -> NDArray[np.void]:
        """A copy of (k,) states in which all is different that the seats may not know, the same one for the same states in one call."""
        assert self.settings is not None
        if self.settings.shared:
            return cloned(self._best_world(true[:1]), np.zeros(len(true), dtype=np.int64))
        result = cloned(true)
        left = np.arange(len(true))
        for throw in range(_THROWS):
            some = cloned(true, left)
            self.game.disguise(some, np.arange(len(left)), np.ascontiguousarray(seats[left]), self._words(index, throw)[left])
            as_bytes(result)[left] = as_bytes(some)
            left = left[~self._differ(cloned(true, left), some)]
            if not len(left):
                break
        return result

    def _differ(self, one: NDArray[np.void], other: NDArray[np.void]) -> NDArray[np.bool_]:
        """In which of the states more than the seed is another."""
        differ: NDArray[np.bool_] = (as_bytes(one) != as_bytes(other))[:, self._not_seeds].any(axis=1)
        return differ

    def _best_world(self, true: NDArray[np.void]) -> NDArray[np.void]:
        """(1,) of some disguises one that differs and in which many others have other legal actions, but may do what they do next."""
        assert self.settings is not None
        key = len(self.calls), true.tobytes()
        if self._world is not None and self._world[0] == key:
            return self._world[1]
        numbers = np.arange(_WORLDS)
        worlds = cloned(true, np.zeros(_WORLDS, dtype=np.int64))
        self.game.disguise(worlds, numbers, np.full(_WORLDS, self.settings.seat), self._words(numbers, 0))
        score = self._differ(cloned(true, np.zeros(_WORLDS, dtype=np.int64)), worlds).astype(np.int64)
        for seat, action in self._coming_actions().items():
            if seat != self.settings.seat:
                masks, true_masks = self._masks_of(worlds, seat), self._masks_of(true, seat)
                score += 2 * ((masks != true_masks).any(axis=1) & (masks[:, action] == 1) & (true_masks[0, action] == 1))
        self._world = key, cloned(worlds, np.array([score.argmax()]))
        return self._world[1]

    def _masks_of(self, states: NDArray[np.void], seat: int) -> NDArray[np.int8]:
        views = np.zeros(len(states), dtype=self.game.view_dtype)
        masks = np.zeros((len(states), self.game.num_actions), dtype=np.int8)
        self.game.reveal(states, np.arange(len(states)), np.full(len(states), seat), views)
        self.game.legal(views, masks)
        return masks

    def _coming_actions(self) -> dict[int, int]:
        """What the seats do in the next call, as far as it is known and an action at all."""
        following = len(self.calls) + 1
        if self._before is None or following >= len(self._before.calls) or self._before.calls[following] is None:
            return {}
        given = self._before.calls[following]
        if not isinstance(given, Mapping):
            given = {self.base.possible_agents[seat]: given for seat in self._asked_next()}
        seats = {agent: seat for seat, agent in enumerate(self.base.possible_agents)}
        return {
            seats[agent]: int(action)
            for agent, action in given.items()
            if agent in seats and isinstance(action, (int, np.integer)) and 0 <= action < self.game.num_actions
        }

    def _asked_next(self) -> list[int]:
        """The seat that an environment asks which asks one after the other."""
        bits = np.zeros(1, dtype=np.uint16)
        self.game.to_act(self.states, np.zeros(1, dtype=np.int64), bits)
        return [(int(bits[0]) & -int(bits[0])).bit_length() - 1] if bits[0] else []

    def _cover_at_rest(self) -> None:
        """Disguise the states in memory, and the seeds, until the next call."""
        states = self.states
        index = np.arange(len(states))
        seats = self._seats_of(index)
        other = self._disguised(states, seats, index)
        self._check_views(states, other, seats)
        for name in {name for one, two in zip(states, other, strict=True) for name in changed(one, two)}:
            self.hidden[name] = self.hidden.get(name, 0) + 1
        self._cover(states, other)
        assert self.settings is not None
        for part in self._parts if self.settings.seeds else ():
            for name, value in list(vars(part).items()):
                if name.endswith(("seed", "seeds")) and isinstance(value, (int, np.ndarray)) and not isinstance(value, bool):
                    self._saved_seeds.append((part, name, value))
                    setattr(part, name, value ^ np.uint64(_OTHER_SEED) if isinstance(value, np.ndarray) else value ^ _OTHER_SEED)

    def _check_views(self, states: NDArray[np.void], other: NDArray[np.void], seats: NDArray[np.int64]) -> None:
        """The seats' views of both worlds must be the same."""
        pair = [np.zeros(len(seats), dtype=self.game.view_dtype) for _ in range(2)]
        for world, views in zip((states, other), pair, strict=True):
            self.game.reveal(world, np.arange(len(seats)), seats, views)
        for seat, one, two in zip(seats.tolist(), *pair, strict=True):
            self._compare(seat, "the view", one, two)

    def _cover_for_agents(self, index: Any, seats: Any) -> None:
        """Disguise the states in memory while the agents in `seats` are asked: of several in one game, for one drawn by lot."""
        self.asked += len(index)
        order = np.argsort(self._words(np.arange(len(index)), _THROWS))
        games, first = np.unique(np.asarray(index)[order], return_index=True)
        states = self.states
        other = cloned(states)
        as_bytes(other)[games] = as_bytes(self._disguised(cloned(states, games), seats[order][first], games))
        self._cover(states, other)

    def _cover(self, states: NDArray[np.void], other: NDArray[np.void]) -> None:
        self._saved.append((states, cloned(states)))
        as_bytes(states)[:] = as_bytes(other)

    def _uncover(self) -> None:
        while self._saved:
            states, true = self._saved.pop()
            as_bytes(states)[:] = as_bytes(true)
        while self._saved_seeds:
            part, name, value = self._saved_seeds.pop()
            setattr(part, name, value)

    def _compare(self, seat: int, output: str, true: Any, other: Any) -> None:
        found = difference(freeze(_alone(true)), freeze(_alone(other)))
        if found is not None:
            self.found.append(Found(seat, output, found))


def _alone(value: Any) -> Any:
    """A record or an array without what it is a part of."""
    return clone(value) if isinstance(value, np.void) else value.copy()


def _hold(base: Any, methods: dict[str, Callable[..., Any]]) -> None:
    """Let calls of `base`, but not of its copies, go to `methods`.

    By a class of its own, not by attributes: copies would take those along and move the original. A copy is of the original class.
    """
    original = type(base)
    if getattr(original, _HELD, False):
        raise TypeError("make_env must make a new environment at every call, this is the one before")

    def through(name: str) -> Callable[..., Any]:
        @functools.wraps(getattr(original, name))
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            return methods[name](*args, **kwargs) if self is base else getattr(original, name)(self, *args, **kwargs)

        return method

    def reduced(self: Any, protocol: Any) -> Any:
        function, arguments, *rest = getattr(original, "__reduce_ex__")(self, protocol)  # noqa: B009 - typed for plain objects only
        if function is copyreg.__newobj__:  # type: ignore[attr-defined]
            function, arguments = _blank, (original, *arguments[1:])
        return function, arguments, *rest

    names = {_HELD: True, "__module__": original.__module__, "__qualname__": original.__qualname__, "__reduce_ex__": reduced}
    held = type(original.__name__, (original,), {name: through(name) for name in methods} | names)
    base.__class__ = held


def _blank(kind: type, *arguments: Any) -> Any:
    return kind.__new__(kind, *arguments)


def other_seed(seed: int) -> int:
    """What `reset` is told in place of `seed`."""
    return seed + _OTHER_SEED


def places(dtype: np.dtype[np.void], names: Sequence[str]) -> NDArray[np.int64]:
    """Which bytes of a record are those of some fields."""
    fields: Mapping[str, Any] = dtype.fields or {}
    spans = [np.arange(fields[name][1], fields[name][1] + fields[name][0].itemsize) for name in names]
    return np.concatenate(spans)


def changed(one: np.void, other: np.void) -> list[str]:
    """The fields of two records that differ."""
    names = one.dtype.names or ()
    return [name for name in names if one[name].tobytes() != other[name].tobytes()]
