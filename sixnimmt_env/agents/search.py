"""Search that takes the others for sensible players; it won against what else was tried.

All played flat Monte Carlo, two against two at a table of four: both sides get every hand of every deal. Each had about the time a
decision of Monte Carlo with 1000 playouts an action, 3.1 ms of one core averaged over a round (the first line 2.9 ms). Bull heads a round,
and by how many they are fewer than Monte Carlo's, with the standard error over the deals:

    playouts an action, and what is different                                       deals   heads   fewer by
    950   the others lay plausible cards in the running turn: this module             100    8.11    2.99 +- 0.33
    850   the same, with sequential halving of the actions                            200    8.34    2.80 +- 0.22
    850   sequential halving, and nothing else                                         60    9.52   -0.21 +- 0.33
    850   sequential halving; the others lay next what costs "greedy" least            60    9.70   -0.54 +- 0.41
     90   "greedy" plays everybody to the end: monte_carlo:policy=greedy               60   10.73   -1.18 +- 0.49
    140   decoupled UCB: in the running turn every seat is a bandit over its cards     60   10.41   -1.22 +- 0.43

`python -m training tournament A monte_carlo:rollouts=1000 --format head_to_head --deals N` prints such a line. Sequential halving
(Karnin, Koren, Somekh: Almost Optimal Exploration in Multi-Armed Bandits, ICML 2013) gains nothing: beside the same model without it, at a
tenth of the time, 0.00 +- 0.14 over 500 deals. All actions share their deals, so that their differences are known well enough; what
errs is who the others are believed to be. To find the others' cards by bandits of their own is dear: such playouts share no deals, and
took seven times as long.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..core.game import Game, Views
from .options import Option, read
from .playouts import PlayoutAgent, options

OPTIONS: Final = (
    *options(1000),
    Option("sharpness", float, 1.0, "how sure it is of what the others play next: 0 random, 1 as its model", 0.0, 10.0),
)


class SearchAgent(PlayoutAgent):
    """As flat Monte Carlo, with likelier opponents: in its playouts they decide next as a model of the game expects sensible players to.

    From then on they decide at random, as everybody does in flat Monte Carlo's.

    Cost: as flat Monte Carlo with as many playouts, 3.0 ms a decision of 6 nimmt! with 1000. Strength: two against two, in less time than
    Monte Carlo with 1000 playouts, 2.99 +- 0.33 bull heads a round fewer; see the module for how it was measured. Alone against three
    greedy players it gets 8.67 +- 0.11; against three random ones, who are not as it believes, 5.55 +- 0.08, more than Monte Carlo
    (`sixnimmt evaluate search --against random,greedy --rounds 4000`).

    Args:
        game: what it plays.
        name: the spec it was made from.
        seed: its dice. Equal seeds and views give equal actions, in whatever batch, unless `seconds` is given.
        rollouts: playouts for each legal action.
        seconds: think as long for each decision instead.
        sharpness: how sure it is of what the others do next: 0 random, 1 as the game's model has it.

    Raises:
        ValueError: a number outside its bounds.
    """

    def __init__(
        self,
        game: Game,
        name: str = "search",
        seed: int = 0,
        rollouts: int = 1000,
        seconds: float | None = None,
        sharpness: float = 1.0,
    ) -> None:
        self.sharpness = sharpness
        super().__init__(game, name, seed, rollouts, seconds, OPTIONS, sharpness=sharpness)

    def _play(self, views: Views, first: int, count: int, stats: NDArray[np.float64]) -> None:
        self.game.playouts(views, first, count, self.game.heuristics["random"].kind, self.sharpness, np.uint64(self.seed), stats)


def search(game: Game, argument: str, seed: int) -> SearchAgent:
    """as monte_carlo, against others who play plausible cards next (rollouts=1000, seconds=, sharpness=1)"""
    name = f"search:{argument}" if argument else "search"
    return SearchAgent(game, name, seed, **read("search", argument, OPTIONS))
