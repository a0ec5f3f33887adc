"""What a game is to the rest of the package: names, record types, and kernels over batches of records.

Everything outside `games/` works on a `Game` and knows no card. A batch is a NumPy array of state records; one game is a batch of
one. Kernels take the batch and `index`, (k,) int64, the games they are to touch.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from .layout import Layout

States = NDArray[np.void]
Views = NDArray[np.void]
Event = Mapping[str, Any]
"""Something that happens in a game, in plain values that JSON can hold; "event" says what."""

# What the kernel `commit` answers, as one integer: the seat that decides next, and flags.
NEXT_SEAT: Final = 15
SCORED: Final = 16  # somebody's cost has changed
FINISHED: Final = 32  # the match is over; the seat is then 0
ILLEGAL: Final = -1  # nothing has changed

# What the kernel `play_all` answers: bit s for every seat s that decides next, this flag above them, or ILLEGAL.
ANY_SCORED: Final = 1 << 16  # somebody's cost has changed


class Rules(Protocol):
    """A frozen dataclass of options; its constructor raises `ValueError` for impossible ones."""

    @property
    def num_players(self) -> int: ...

    @property
    def forfeit(self) -> int:
        """Cost charged for ending a match by an illegal action: as much as a round could cost at worst."""

    def describe(self) -> str:
        """The rules in force, in words."""


@dataclass(frozen=True, slots=True)
class Actions:
    """`count` actions from `first` on that differ by a number: names and meanings, for messages and the documentation.

    Args:
        name: what they are called.
        numbered_from: the number of the first; None where there is a single one, without a number.
        meaning: one phrase.
    """

    first: int
    count: int
    name: str
    numbered_from: int | None
    meaning: str

    def called(self, action: int) -> str:
        """The name of one of them."""
        return self.name if self.numbered_from is None else f"{self.name} {action - self.first + self.numbered_from}"


def action_name(actions: Sequence[Actions], action: int) -> str:
    """What `action` is called; "no action" for one that is none of `actions`."""
    for group in actions:
        if group.first <= action < group.first + group.count:
            return group.called(action)
    return f"no action ({action})"


@dataclass(frozen=True)
class Heuristic:
    """A rule-based player: the number its kernel knows it by, and its idea in one phrase."""

    kind: int
    idea: str


@dataclass(frozen=True)
class Extent:
    """How large a match of a variant can get: what those must know beforehand who walk through all of it.

    Attributes:
        deck: the cards of the game, ascending.
        parts: how many of them make each part of the deal, in the order of `Game.deal_as`; in which order the cards of one part come means
            nothing. Empty when nothing is dealt.
        decisions: the most often that somebody decides; where several decide at once, that is one time.
        least, most: bounds of what one seat can lose.
        together: a bound of what all seats can lose together.
    """

    deck: tuple[int, ...]
    parts: tuple[int, ...]
    decisions: int
    least: int
    most: int
    together: int


@dataclass(frozen=True)
class Game:
    """A game as data and kernels; the fields are documented where a game fills them in.

    Kernels check shapes and ranges (`ValueError`, `IndexError`) but not what records hold: states and views come from the functions
    here, never from uninitialised memory.

    Costs are what a seat has lost so far (bull heads, points): the lowest total wins, and rewards are minus their changes.

    Args:
        name: also the name under which `games.get` finds it.
        home: the module that holds it as `GAME`.
        rules: the options' class.
        max_seats: width of every array with a seat axis.
        num_actions: size of the action space; the last action is `wait`.
        actions: what the actions mean.
        state_dtype, view_dtype: record types of a state and of what one seat may know.
        layout: what an observation holds; `compact_size` numbers suffice for the usual player.
        heuristics: rule-based players by name.
        new_states: (rules, count, seed, first_game) -> states, not yet dealt.
        deal: (states, index). Start from the first round.
        deal_as: (states, index, cards). As `deal`, with the cards of the deal given, (k, sum of `Extent.parts`).
        extent: rules -> `Extent`; `ValueError` for a variant whose matches have no such bounds or more than one deal.
        to_act: (states, index, seats). Write (k,) uint16, bit s set when seat s decides now, 0 when the match is over.
        step: (states, index, actions, illegal). All seats that decide act at once, (k, max_seats); a game with an illegal action stays
            untouched and has the offenders' bits in `illegal`, (k,) uint16.
        commit: (states, game, seat, action, views, masks) -> code, see NEXT_SEAT, SCORED, FINISHED, ILLEGAL. One seat acts; what the
            next one may know and do is written to `views[0]` and `masks[0]`.
        abandon: (states, index). End the matches as they stand.
        reveal: (states, index, seats, views). Write what seat `seats[k]` of game `index[k]` may know to `views[k]`.
        reveal_all: as `reveal`, with all hands open: for spectators and for critics in training.
        imagine: (view, word, state) -> next random word. Write a game to the record `state` that the view cannot tell from the true one.
        disguise: (states, index, seats, words). Change everything that the seats may not know, and nothing else, by the dice `words`.
        dice: (views, seed, numbers). Write a random number in [0, 1) for each view to (k,) float64; it follows from `seed`, uint64, and
            what the seat sees.
        legal: (views, masks). Write 1 for each legal action to (k, num_actions) int8.
        encode: (views, vectors). Write observations to (k, layout.size or compact_size) float32.
        act: (views, kind, seed, actions). Write the decisions of a heuristic to (k,) int64.
        expect: (views, costs). Write what the heuristic "greedy" expects each action to cost at once to (k, num_actions) float64; infinite
            for illegal actions.
        playouts: (views, first, count, kind, sharpness, seed, stats). Play every legal action of each view out to the end of the round,
            `count` times in equal deals, a heuristic deciding for everybody from then on, and add to `stats`, (k, num_actions,
            len(self.stats)) float64: how often, the seat's costs, their squares, and how often each of what else `stats` names has
            happened. With the heuristic "random" the others' next decisions are likely ones, the more so the greater `sharpness` (1: as
            the game's model has it, 0: random).
        stats: names of what playouts add up for an action, "playouts", "cost" and "squares" first.
        play_on: the same as asking rule-based players view by view until the outside seat of each game decides, in one call; see
            `games/sixnimmt/autoplay.py`. None: they are asked.
        show_all: (states, game, views, masks, vectors) -> bits. `reveal`, `legal` and `encode` for all seats of one game in one call; who
            has nothing to decide may wait. None: the three are called.
        play_all: (states, game, actions, views, masks, vectors) -> code, see ANY_SCORED. `step` and `show_all` in one call; ILLEGAL, with
            nothing changed, unless all seats that decide have a legal action, (max_seats,), and all others wait. None: `step` is called.
        costs: states -> (n, max_seats) integers, a view into the states.
        board: (view, colour=False) -> text for people; with `colour`, ANSI codes mark what a terminal should bring out.
        picture: one view -> (height, width, 3) uint8, of constant size for a number of players and a variant.
        action_name: action -> a phrase for people.
        begin: (states, game) -> events. Deal one game and tell it.
        unfold: (states, game, seat, action) -> events. As `commit`, one event after the other, with the state as it lies between them; an
            event with an "action" is a decision.
        tell: event -> one line for people.
        explain: (view just before, event) -> one line for people, with the reason that the rules give.
    """

    name: str
    home: str
    rules: Callable[..., Any]
    max_seats: int
    num_actions: int
    wait: int
    actions: tuple[Actions, ...]
    state_dtype: np.dtype[np.void]
    view_dtype: np.dtype[np.void]
    layout: Layout
    compact_size: int
    heuristics: Mapping[str, Heuristic]
    new_states: Callable[..., States]
    deal: Callable[..., None]
    deal_as: Callable[..., None]
    extent: Callable[[Any], Extent]
    to_act: Callable[..., None]
    step: Callable[..., None]
    commit: Callable[..., int]
    abandon: Callable[..., None]
    reveal: Callable[..., None]
    reveal_all: Callable[..., None]
    imagine: Callable[..., Any]
    disguise: Callable[..., None]
    dice: Callable[..., None]
    legal: Callable[..., None]
    encode: Callable[..., None]
    act: Callable[..., None]
    expect: Callable[..., None]
    playouts: Callable[..., None]
    stats: tuple[str, ...]
    costs: Callable[[States], NDArray[Any]]
    board: Callable[..., str]
    picture: Callable[[Any], NDArray[np.uint8]]
    action_name: Callable[[int], str]
    begin: Callable[[States, int], Iterator[Event]]
    unfold: Callable[[States, int, int, int], Iterator[Event]]
    tell: Callable[[Event], str]
    explain: Callable[[Any, Event], str]
    play_on: Callable[..., int] | None = None
    show_all: Callable[..., int] | None = None
    play_all: Callable[..., int] | None = None

    def __reduce__(self) -> tuple[Callable[[str], Game], tuple[str]]:
        return _game_of, (self.home,)  # kernels are no data: a game pickles as the place where it is found


def _game_of(home: str) -> Game:
    game = importlib.import_module(home).GAME
    assert isinstance(game, Game)
    return game
