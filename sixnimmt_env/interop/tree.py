"""A game as a tree, for those who walk through all of it: the deal card by card, then the decisions.

A node is never changed: what follows from it are other nodes, so that a clone costs nothing. All that happens at one is done by the game's
own kernels on a batch of one.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..core.cards import to_list
from ..core.game import Extent, Game, Rules, States, Views
from ..core.records import cloned
from ..envs.table import complaint

NO_ACTION: Final = -1  # of a seat that has nothing to decide
_FIRST: Final = np.zeros(1, dtype=np.int64)


@dataclass(frozen=True)
class Tree:
    """All courses that a match of `rules` can take.

    Attributes:
        given: cards dealt beforehand, whole parts of the deal; everybody who studies the tree knows them, a seat's view does not show more
            than ever.
    """

    game: Game
    rules: Rules
    extent: Extent
    given: tuple[int, ...] = ()

    @property
    def players(self) -> int:
        """Seats at the table."""
        return self.rules.num_players

    @property
    def cards_to_deal(self) -> int:
        """Nodes of the deal on every path."""
        return sum(self.extent.parts) - len(self.given)

    def root(self) -> Node:
        """Where every match begins."""
        return Node(self, self.given) if self.cards_to_deal else _dealt(self, self.given)


def plant(game: Game, rules: Rules, deal: str = "") -> Tree:
    """The tree of `rules`; `deal` names cards dealt beforehand, hand by hand, for instance "2 5" or "2 5, 1 7".

    Raises:
        ValueError: a variant without bounds (`Game.extent`), or cards that are no beginning of a deal.
    """
    extent = game.extent(rules)
    if not re.fullmatch(r"[\s,]*(?:[a-z]?\d+(?:[\s,]+|$))*", deal):
        raise ValueError(f"deal={deal!r} must be whole numbers, as in '2 5, 1 7'")
    cards = [int(number) for number in re.findall(r"\d+", deal)]
    ends = [0, *itertools.accumulate(extent.parts)]
    if len(cards) not in ends:
        raise ValueError(f"deal={deal!r} holds {len(cards)} cards: whole parts are wanted, that is {', '.join(map(str, ends))} cards")
    if len(set(cards)) < len(cards) or not set(cards) <= set(extent.deck):
        raise ValueError(f"deal={deal!r} must name distinct cards of {extent.deck[0]}..{extent.deck[-1]}")
    parts = [sorted(cards[start:end]) for start, end in itertools.pairwise(ends) if end <= len(cards)]
    return Tree(game, rules, extent, tuple(card for part in parts for card in part))


class Node:
    """A place in a tree: a card to be dealt, a decision of one seat or of several at once, or the end.

    Attributes:
        tree: where it is.
        cards: dealt so far, in the order of `Game.deal_as`; the cards of one part ascend.
        played: what was decided so far; for each time an action a seat, `NO_ACTION` for those who had nothing to decide.
    """

    __slots__ = ("_legal", "_seats", "_states", "_texts", "cards", "played", "tree")

    def __init__(
        self,
        tree: Tree,
        cards: tuple[int, ...],
        states: tuple[States, ...] = (),
        played: tuple[tuple[int, ...], ...] = (),
        texts: dict[tuple[int, bool], tuple[str, ...]] | None = None,
    ) -> None:
        self.tree, self.cards, self.played = tree, cards, played
        self._states = states  # after the deal and after each decision; batches of one that nobody changes any more
        self._texts = {} if texts is None else texts  # lines of `recall` that are known
        self._seats: tuple[int, ...] | None = None
        self._legal: dict[int, list[int]] = {}

    def __deepcopy__(self, memo: Any) -> Node:
        return self

    def __reduce__(self) -> tuple[type[Node], tuple[Any, ...]]:
        return Node, (self.tree, self.cards, self._states, self.played)

    # --- the deal ---

    @property
    def dealing(self) -> bool:
        """Whether a card is to be dealt."""
        return not self._states

    def chances(self) -> list[tuple[int, float]]:
        """The cards that may be dealt next, ascending, and how likely each is.

        A part of the deal is a set, dealt in ascending order, so that there is one path to each. With k cards of the part still to come and
        m cards of the rest of the deck above the last one, all C(m, k) sets of them are equally likely; in those that begin with a card
        which a cards lie above, k - 1 of these a follow: its chance is C(a, k - 1) / C(m, k).
        """
        ends = list(itertools.accumulate(self.tree.extent.parts))
        part = next(i for i, end in enumerate(ends) if len(self.cards) < end)
        wanted = ends[part] - len(self.cards)
        begun = self.tree.extent.parts[part] > wanted
        rest = [card for card in self.tree.extent.deck if card not in self.cards and not (begun and card < self.cards[-1])]
        ways = math.comb(len(rest), wanted)
        likely = [(card, math.comb(len(rest) - i - 1, wanted - 1) / ways) for i, card in enumerate(rest)]
        return [(card, chance) for card, chance in likely if chance]

    def with_card(self, card: int) -> Node:
        """The node after `card`, one of `chances`, was dealt."""
        cards = (*self.cards, card)
        return _dealt(self.tree, cards) if len(cards) == sum(self.tree.extent.parts) else Node(self.tree, cards)

    # --- decisions ---

    @property
    def seats(self) -> tuple[int, ...]:
        """Who decides now, all at once; nobody when the match is over."""
        if self._seats is None:
            bits = np.zeros(1, dtype=np.uint16)
            self.tree.game.to_act(self._states[-1], _FIRST, bits)
            self._seats = tuple(seat for seat in range(self.tree.players) if int(bits[0]) >> seat & 1)
        return self._seats

    @property
    def over(self) -> bool:
        """Whether nobody decides any more."""
        return not self.dealing and not self.seats

    def legal(self, seat: int) -> list[int]:
        """The actions of `seat` now, ascending."""
        if seat not in self._legal:
            self._legal[seat] = np.flatnonzero(self._mask(seat)).tolist()
        return self._legal[seat]

    def after(self, actions: Sequence[int]) -> Node:
        """The node after all seats that decide now have acted; `actions` has an entry for each seat, those of the others are not read.

        Raises:
            ValueError: an illegal action, with what would be legal.
        """
        game = self.tree.game
        states = cloned(self._states[-1])
        everybody, illegal = np.full((1, game.max_seats), game.wait, dtype=np.int64), np.zeros(1, dtype=np.uint16)
        everybody[0, : len(actions)] = actions
        game.step(states, _FIRST, everybody, illegal)
        if illegal[0]:
            seat = next(seat for seat in self.seats if int(illegal[0]) >> seat & 1)
            raise ValueError(complaint(game, f"player_{seat}", int(actions[seat]), self._mask(seat)))
        done = tuple(int(actions[seat]) if seat in self.seats else NO_ACTION for seat in range(self.tree.players))
        return Node(self.tree, self.cards, (*self._states, states), (*self.played, done), dict(self._texts))

    def _mask(self, seat: int) -> NDArray[np.int8]:
        masks = np.zeros((1, self.tree.game.num_actions), dtype=np.int8)
        self.tree.game.legal(self.views(seat), masks)
        mask: NDArray[np.int8] = masks[0]
        return mask

    # --- costs ---

    def costs(self) -> list[int]:
        """What each seat has lost so far."""
        return self._costs(-1) if self._states else [0] * self.tree.players

    def new_costs(self) -> list[int]:
        """What each seat has lost by the decision that led here."""
        if len(self._states) < 2:
            return [0] * self.tree.players
        return [now - then for now, then in zip(self._costs(-1), self._costs(-2), strict=True)]

    def _costs(self, moment: int) -> list[int]:
        costs: list[int] = self.tree.game.costs(self._states[moment])[0, : self.tree.players].tolist()
        return costs

    # --- what a seat knows ---

    def views(self, seat: int, open_hands: bool = False, moment: int = -1) -> Views:
        """What `seat` sees now, or saw after `moment` decisions, as a batch of one; `open_hands`: what a spectator sees from there.

        Not before the deal is complete.
        """
        return _reveal(self.tree.game, self._states[moment], seat, open_hands)

    def recall(self, seat: int, open_hands: bool = False) -> str:
        """All that `seat` has seen and done since the deal: a line for what it saw then, and one for each decision of anybody.

        A line is the seat's own action, if it decided, and what its view changed to, so that two nodes have equal texts if and only if all
        views and actions of the seat have been equal. Empty before the deal.
        """
        lines = list(self._texts.get((seat, open_hands), ()))
        game, players = self.tree.game, self.tree.players
        for moment in range(len(lines), len(self._states)):
            undealt = game.new_states(self.tree.rules, 1) if not moment else self._states[moment - 1]
            before = _reveal(game, undealt, seat, open_hands)[0]
            done = [] if not moment else [self.played[moment - 1][s] for s in range(players) if open_hands or s == seat]
            lines.append(line(game, before, self.views(seat, open_hands, moment)[0], done))
        self._texts[seat, open_hands] = tuple(lines)
        return "\n".join(lines)


def _dealt(tree: Tree, cards: tuple[int, ...]) -> Node:
    states = tree.game.new_states(tree.rules, 1)
    if cards:
        tree.game.deal_as(states, _FIRST, np.array([cards], dtype=np.int64))
    else:
        tree.game.deal(states, _FIRST)
    return Node(tree, cards, (states,))


def _reveal(game: Game, states: States, seat: int, open_hands: bool) -> Views:
    views = np.zeros(1, dtype=game.view_dtype)
    (game.reveal_all if open_hands else game.reveal)(states, _FIRST, np.array([seat], dtype=np.int64), views)
    return views


def line(game: Game, before: Any, after: Any, actions: Iterable[int] = ()) -> str:
    """A line of `Node.recall`: the actions, and how the view `before` changed to `after`."""
    words = [f"{game.action_name(action)}:" for action in actions if action != NO_ACTION]
    return " ".join([*words, *_changes(after.dtype, before.tobytes(), after.tobytes())])


@functools.lru_cache(1 << 16)
def _changes(dtype: np.dtype[np.void], old: bytes, new: bytes) -> tuple[str, ...]:
    """The fields that differ, with their new values: `turn=1`, of an array the entries: `rows[0]=[5,7]`. No zeros at the end."""
    words: list[str] = []
    for name, place, kind in _fields(dtype):
        if old[place] == new[place]:
            continue
        value = np.frombuffer(new[place], kind.base).reshape(kind.shape)
        if kind.shape == () or _is_set(value):
            words.append(f"{name}={_spelled(value)}")
        else:
            was = np.frombuffer(old[place], kind.base).reshape(kind.shape)
            words += [f"{name}[{i}]={_spelled(entry)}" for i, entry in enumerate(value) if (was[i] != entry).any()]
    return tuple(words)


@functools.cache
def _fields(dtype: np.dtype[np.void], start: int = 0) -> tuple[tuple[str, slice, np.dtype[Any]], ...]:
    """The fields of a record, those of records within it included: name, bytes, type."""
    found: list[tuple[str, slice, np.dtype[Any]]] = []
    for name in dtype.names or ():
        kind, offset = dtype.fields[name][:2]  # type: ignore[index]
        begin = start + offset
        found += _fields(kind, begin) if kind.names else [(name, slice(begin, begin + kind.itemsize), kind)]
    return tuple(found)


def _is_set(value: Any) -> bool:
    """Whether it is a set of cards, see `core.cards`."""
    return bool(value.dtype == np.uint64 and value.shape == (2,))


def _spelled(value: Any) -> str:
    if value.shape == ():
        return str(value)
    if _is_set(value):
        return f"{{{_joined(to_list(value))}}}"
    filled = np.flatnonzero(value.reshape(len(value), -1).any(axis=1))
    return f"[{_joined(value[: filled[-1] + 1 if len(filled) else 0].tolist())}]"


def _joined(values: Iterable[Any]) -> str:
    return ",".join(str(value).replace(" ", "") for value in values)
