"""What the learner has paid, by whom he met: for the figures of a training, and for the matchmaking of its league."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def meetings(sat: NDArray[np.bool_], paid: NDArray[np.float64]) -> NDArray[np.float64]:
    """(kinds, 2): in how many matches each kind of opponent sat, and what the learner has paid in them on average over his seats, summed.

    Args:
        sat: (k, kinds), who sat in which match; any number of seats of a match counts once.
        paid: (k,), see `SeatGames.company`.
    """
    there = sat.astype(np.float64)
    return np.stack([there.sum(axis=0), paid @ there], axis=1)


def by_kind(sat: NDArray[np.bool_], named: int) -> NDArray[np.bool_]:
    """(k, named + 2): the first `named` agents of `sat`, (k, agents + 1), each by itself; any of the others; the learner beside himself."""
    return np.concatenate([sat[:, :named], sat[:, named:-1].any(axis=1, keepdims=True), sat[:, -1:]], axis=1)
