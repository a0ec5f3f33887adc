"""Agents made of agents: with noise, with a temperature, or with another's choice of rows. They make a ladder of even steps.

What is after `of=` is the whole name of the agent within, its options included: "epsilon:rate=0.1,of=monte_carlo:rollouts=50". So `of`
comes last, and wrappers may lie around wrappers: "rows:by=search,of=epsilon:rate=0.2,of=greedy". What chooses the rows by name is no
wrapper itself; `RowsAgent` takes any two agents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..core.game import Game, Views
from .base import Agent
from .options import Option, check, read

Make = Callable[[str, Game, int], Agent]
"""How an agent within is made: (spec, game, seed) -> Agent."""

RATE: Final = Option("rate", float, 0.1, "share of random decisions", 0.0, 1.0)
TEMPERATURE: Final = Option("temperature", float, 1.0, "in the units of costs", 1e-3, 1e6)
_CHOICE, _COIN = 0x6A09E667F3BCC908, 0x3C6EF372FE94F82B  # so that their dice are not those of the agents within


class _Wrapper(Agent):
    """An agent that asks others; they have its seed."""

    def __init__(self, name: str, inner: Sequence[Agent], seed: int) -> None:
        self.inner = tuple(inner)
        self._depth: int = 1 + max(agent._depth if isinstance(agent, _Wrapper) else 0 for agent in inner)
        super().__init__(inner[0].game, name, seed)

    def reset(self, seed: int) -> None:
        super().reset(seed)
        for agent in self.inner:
            agent.reset(seed)

    def _dice(self, views: Views, salt: int) -> NDArray[np.float64]:
        """A number in [0, 1) a view; those of wrappers within are others, or noise around noise would fall on the same decisions."""
        numbers = np.empty(len(views))
        self.game.dice(views, np.uint64(self.seed ^ salt * (2 * self._depth + 1) % 2**64), numbers)
        return numbers

    def _masks(self, views: Views) -> NDArray[np.bool_]:
        masks = np.empty((len(views), self.game.num_actions), dtype=np.int8)
        self.game.legal(views, masks)
        return masks.astype(bool)


class EpsilonAgent(_Wrapper):
    """Plays any legal action, all equally likely, in a share `rate` of its decisions, and as `agent` otherwise. Costs what `agent` does.

    In 6 nimmt! three greedy players leave "greedy" 12.91 +- 0.06 bull heads a round, and noise of 0.1, 0.3 and 0.6 around it 13.98, 16.11
    and 18.80, each +- 0.15 at most ("random", which takes the cheapest row: 19.14), by
    `sixnimmt evaluate epsilon:rate=0.1,of=greedy --against greedy --rounds 4000`.
    """

    def __init__(self, agent: Agent, rate: float, name: str = "epsilon", seed: int = 0) -> None:
        check(name, [RATE], rate=rate)
        self.rate = rate
        super().__init__(name, [agent], seed)

    def _act(self, views: Views) -> NDArray[np.int64]:
        actions = np.empty(len(views), dtype=np.int64)
        odd = self._dice(views, _COIN) < self.rate
        if odd.any():
            masks = self._masks(views[odd])
            chosen = _drawn(masks.astype(np.float64), self._dice(np.ascontiguousarray(views[odd]), _CHOICE))
            actions[odd] = np.where(masks.any(axis=1), chosen, self.game.wait)
        if not odd.all():
            actions[~odd] = self.inner[0].act(np.ascontiguousarray(views[~odd]))
        return actions


class SoftmaxAgent(_Wrapper):
    """Plays an action with a chance proportional to e^(-cost / temperature), the costs being what `agent` expects; costs what `agent` does.

    Measured as `EpsilonAgent`, around "greedy": temperature 0.5 leaves it 13.04 bull heads a round, 2 does 16.54, and 8 does 21.34, each
    +- 0.15. A high one takes any row as well, which "random" does not.

    Raises:
        ValueError: `agent` does not say what it expects, or a temperature that is none.
    """

    def __init__(self, agent: Agent, temperature: float, name: str = "softmax", seed: int = 0) -> None:
        agent.values(np.zeros(0, dtype=agent.game.view_dtype))
        check(name, [TEMPERATURE], temperature=temperature)
        self.temperature = temperature
        super().__init__(name, [agent], seed)

    def _act(self, views: Views) -> NDArray[np.int64]:
        actions = np.full(len(views), self.game.wait, dtype=np.int64)
        masks = self._masks(views)
        due = masks.any(axis=1)
        if due.any():
            views = np.ascontiguousarray(views[due])
            costs = np.where(masks[due], self.inner[0].values(views), np.inf)
            chances = np.exp((costs.min(axis=1, keepdims=True) - costs) / self.temperature)
            actions[due] = _drawn(chances, self._dice(views, _CHOICE))
        return actions

    def _values(self, views: Views) -> NDArray[np.float64]:
        return self.inner[0].values(views)


class RowsAgent(_Wrapper):
    """Plays cards as `agent`, and chooses rows and sides as `chooser`: whatever is not of the first kind of the game's actions.

    The rule-based players of 6 nimmt! but "uniform" take the cheapest row; monte_carlo and search look for the best. "greedy" with the rows
    of monte_carlo gets 12.69 +- 0.08 bull heads a round where three greedy players leave "greedy" 12.91 +- 0.06 (4000 rounds).
    """

    def __init__(self, agent: Agent, chooser: Agent, name: str = "rows", seed: int = 0) -> None:
        super().__init__(name, [agent, chooser], seed)

    def _act(self, views: Views) -> NDArray[np.int64]:
        actions = np.full(len(views), self.game.wait, dtype=np.int64)
        masks = self._masks(views)
        first = self.game.actions[0]
        cards = masks[:, first.first : first.first + first.count].any(axis=1)
        for agent, part in zip(self.inner, (cards, masks.any(axis=1) & ~cards), strict=True):
            if part.any():
                actions[part] = agent.act(np.ascontiguousarray(views[part]))
        return actions


def _drawn(weights: NDArray[np.float64], dice: NDArray[np.float64]) -> NDArray[np.int64]:
    """The index that each of `dice`, (k,) in [0, 1), draws by the line of `weights`, (k, n), one of positive weight if there is any."""
    sums = weights.cumsum(axis=1)
    # A product can be rounded up to the sum, past the last index of positive weight.
    below = np.minimum(dice * sums[:, -1], np.nextafter(sums[:, -1], 0.0))
    drawn: NDArray[np.int64] = (sums <= below[:, None]).sum(axis=1)
    return drawn


# --- by name -----------------------------------------------------------------------------------------------------------


def epsilon(make: Make, game: Game, argument: str, seed: int) -> Agent:
    """any legal action in a share of the decisions, else as another agent: epsilon:rate=0.1,of=AGENT"""
    options, inner = _split("epsilon", argument)
    return EpsilonAgent(make(inner, game, seed), **read("epsilon", options, [RATE]), name=f"epsilon:{argument}", seed=seed)


def softmax(make: Make, game: Game, argument: str, seed: int) -> Agent:
    """the dearer an action, the rarer, by e^(-cost / temperature); of greedy, monte_carlo or search: softmax:temperature=1,of=AGENT"""
    options, inner = _split("softmax", argument)
    return SoftmaxAgent(make(inner, game, seed), **read("softmax", options, [TEMPERATURE]), name=f"softmax:{argument}", seed=seed)


def rows(make: Make, game: Game, argument: str, seed: int) -> Agent:
    """cards as one agent, rows and sides as another (lowest: the cheapest; search: the best found): rows:by=AGENT,of=AGENT"""
    options, inner = _split("rows", argument)
    key, sign, chooser = options.partition("=")
    if (key.strip(), sign) != ("by", "=") or not chooser:
        raise ValueError(f"agent 'rows:{argument}' must say who chooses the rows: rows:by=search,of=greedy")
    return RowsAgent(make(inner, game, seed), make(chooser, game, seed), name=f"rows:{argument}", seed=seed)


def _split(name: str, argument: str) -> tuple[str, str]:
    """The options before "of=", and the name of the agent after it."""
    options, sign, inner = f",{argument}".partition(",of=")
    if not sign or not inner:
        raise ValueError(f"agent '{name}:{argument}' must end in the agent that it is made of: {name}:...,of=greedy")
    return options[1:], inner
