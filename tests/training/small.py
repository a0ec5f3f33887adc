"""Small networks and real positions: what several tests of the training need."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sixnimmt_env.games.sixnimmt import GAME, Rules
from tests.games.sixnimmt.playing import legal_masks, seats_to_act, views_of, walk
from training.network import Network, Shape, make

PLAIN = Shape(hidden=8, layers=2)
DRAFT = Shape(hidden=8, layers=3, draft=True)
ATTENTION = Shape(hidden=8, layers=1, kind="attention", heads=2)
DRAFTING_ATTENTION = Shape(hidden=6, layers=2, draft=True, kind="attention", heads=3)


def network(shape: Shape = PLAIN, seed: int = 0, spread: float = 0.3) -> Network:
    """A network whose weights are all random: the usual beginning has many zeros, which would hide what they multiply."""
    torch.manual_seed(seed)
    made = make(shape)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(0.0, spread)
    return made


def decisions(rules: Rules, matches: int = 3, seed: int = 0) -> NDArray[np.void]:
    """The views of all decisions in some matches of random play."""
    found = []
    for states in walk(rules, matches, seed):
        games, seats = np.nonzero(seats_to_act(states))
        found.append(views_of(states, games, seats))
    return np.concatenate(found)


def mixture(shape: Shape) -> NDArray[np.void]:
    """Decisions of every kind: picks with any number of cards, rows, sides, and the draft for a network that drafts."""
    variants = [Rules(num_players=2), Rules(num_players=10), Rules(num_players=4, professional=True), Rules(num_players=5, deck="tactical")]
    if shape.draft:
        variants.append(Rules(num_players=3, deck="logic"))
    return np.concatenate([decisions(rules, seed=seed) for seed, rules in enumerate(variants)])


def encoded(views: NDArray[np.void], shape: Shape) -> Tensor:
    """What a network of `shape` reads of `views`."""
    observations = np.empty((len(views), shape.observation_size), dtype=np.float32)
    GAME.encode(views, observations)
    return torch.from_numpy(observations)


def legal(views: NDArray[np.void]) -> Tensor:
    """(k, actions) bool."""
    return torch.from_numpy(legal_masks(views))
