"""What policies with perfect recall lose in a small game, exactly: all deals and all courses of play side by side on the batched engine."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..agents import Agent
from ..core.game import States, Views
from .tree import NO_ACTION, Tree, line

Policy = Callable[[int, str, np.void], Mapping[int, float]]
"""(seat, what it recalls as `tree.Node.recall` words it, its view) -> how likely it takes each action, which adds up to 1."""

_ROUNDING = 1e-6  # of chances that a solver found


def all_deals(tree: Tree) -> NDArray[np.int64]:
    """Every deal of `tree`, all equally likely: (k, cards of a deal) for `Game.deal_as`. One empty line where nothing is dealt."""
    ends = [0, *itertools.accumulate(tree.extent.parts)]
    parts = [size for size, end in zip(tree.extent.parts, ends[1:], strict=True) if end > len(tree.given)]
    rest = [card for card in tree.extent.deck if card not in tree.given]
    return np.array([(*tree.given, *cards) for cards in _deals(rest, parts)], dtype=np.int64)


def _deals(deck: list[int], parts: list[int]) -> Iterator[tuple[int, ...]]:
    if not parts:
        yield ()
        return
    for first in itertools.combinations(deck, parts[0]):
        for others in _deals([card for card in deck if card not in first], parts[1:]):
            yield (*first, *others)


def expected(tree: Tree, policy: Policy) -> NDArray[np.float64]:
    """What each seat loses on average, (players,), when all play `policy`."""
    deals = all_deals(tree)
    chances, costs = play_out(tree, policy, deals)
    mean: NDArray[np.float64] = chances @ costs / len(deals)
    return mean


def sampled(tree: Tree, policy: Policy, matches: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same estimated from random matches: the mean, (players,), and its standard error."""
    dice = np.random.default_rng(seed)
    deals = all_deals(tree)
    _, costs = play_out(tree, policy, deals[dice.integers(len(deals), size=matches)], dice)
    return costs.mean(axis=0), costs.std(axis=0, ddof=1) / math.sqrt(matches)


def by_agents(*agents: Agent) -> Policy:
    """Agents as a policy, one a seat. The dice of those that have some are what `reset` made them: what they do then is one policy."""
    return lambda seat, recall, view: {int(agents[seat].act([view])[0]): 1.0}


@dataclass(frozen=True)
class _Courses:
    """Matches that go on, one a line: their states, how likely each course is, and what each seat recalls."""

    states: States
    chances: NDArray[np.float64]
    recall: list[tuple[str, ...]]

    def __getitem__(self, lines: NDArray[Any]) -> _Courses:
        return _Courses(self.states[lines], self.chances[lines], [self.recall[i] for i in np.arange(len(self.recall))[lines]])


def play_out(
    tree: Tree, policy: Policy, deals: NDArray[np.int64], dice: np.random.Generator | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """All courses of play of `deals`, (k, cards of a deal): how likely each is after its deal, (n,), and its costs, (n, players).

    With `dice` one course of each deal is drawn, and n is k.

    Raises:
        ValueError: the policy gives a chance to an illegal action, or chances that do not add up to 1.
    """
    going = _dealt(tree, deals)
    chances, costs = [], []
    while True:
        bits = np.zeros(len(going.states), dtype=np.uint16)
        tree.game.to_act(going.states, np.arange(len(bits)), bits)
        over = bits == 0
        chances.append(going.chances[over])
        costs.append(tree.game.costs(going.states[over])[:, : tree.players].astype(np.int64))
        if over.all():
            return np.concatenate(chances), np.concatenate(costs)
        going = _decided(tree, policy, going[~over], bits[~over], dice)


def _dealt(tree: Tree, deals: NDArray[np.int64]) -> _Courses:
    states = tree.game.new_states(tree.rules, 1).repeat(len(deals))  # of one number, since views may show what follows from it
    before = _views(tree, states)
    if tree.extent.parts:
        tree.game.deal_as(states, np.arange(len(deals)), deals)
    else:
        tree.game.deal(states, np.arange(len(deals)))
    after = _views(tree, states)
    recall = [
        tuple(line(tree.game, old, new) for old, new in zip(olds, news, strict=True)) for olds, news in zip(before, after, strict=True)
    ]
    return _Courses(states, np.ones(len(deals)), recall)


def _views(tree: Tree, states: States) -> Views:
    """What every seat sees: (n, players)."""
    n, players = len(states), tree.players
    views = np.zeros(n * players, dtype=tree.game.view_dtype)
    tree.game.reveal(states, np.repeat(np.arange(n), players), np.tile(np.arange(players), n), views)
    return views.reshape(n, players)


def _answer(policy: Policy, seat: int, recall: str, view: Any) -> Mapping[int, float]:
    """What the policy answers, if its chances are some."""
    chances = policy(seat, recall, view)
    if not chances or min(chances.values()) < -_ROUNDING or abs(sum(chances.values()) - 1) > _ROUNDING:
        raise ValueError(f"the policy of seat {seat} answers {dict(chances)}: chances from 0 to 1 that add up to 1 are wanted")
    return chances


def _decided(tree: Tree, policy: Policy, going: _Courses, bits: NDArray[np.uint16], dice: np.random.Generator | None) -> _Courses:
    """Every course goes on as `policy` may decide, or as `dice` choose."""
    game, before = tree.game, _views(tree, going.states)
    origin: list[int] = []
    chosen: list[tuple[int, ...]] = []
    chances: list[float] = []
    for i, recall in enumerate(going.recall):
        seats = [seat for seat in range(tree.players) if int(bits[i]) >> seat & 1]
        options = [
            _answer(policy, seat, recall[seat], before[i, seat]) if seat in seats else {NO_ACTION: 1.0} for seat in range(tree.players)
        ]
        joint = [(actions, math.prod(map(operator.getitem, options, actions))) for actions in itertools.product(*options)]
        if dice is not None:
            weights = np.array([chance for _, chance in joint])
            joint = [(joint[dice.choice(len(joint), p=weights / weights.sum())][0], 1.0)]
        origin += [i] * len(joint)
        chosen += [actions for actions, _ in joint]
        chances += [chance for _, chance in joint]
    states = going.states[origin]
    actions = np.full((len(origin), game.max_seats), game.wait, dtype=np.int64)
    actions[:, : tree.players] = chosen
    illegal = np.zeros(len(origin), dtype=np.uint16)
    game.step(states, np.arange(len(origin)), actions, illegal)
    if illegal.any():
        raise ValueError(f"the policy wants illegal actions: {chosen[int(np.argmax(illegal))]}")
    after = _views(tree, states)
    told = [
        tuple(f"{going.recall[i][s]}\n{line(game, before[i, s], after[k, s], [chosen[k][s]])}" for s in range(tree.players))
        for k, i in enumerate(origin)
    ]
    return _Courses(states, going.chances[origin] * chances, told)
