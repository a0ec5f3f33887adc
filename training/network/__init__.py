"""Networks: made from a `Shape`, and their weights as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sixnimmt_env.core.saved import fitting
from training.shape import Shape

from .attention import Attention
from .base import Network
from .scorer import Scorer

__all__ = ["Attention", "Network", "Scorer", "Shape", "adopt", "arrays", "load_arrays", "make", "of_arrays"]

_OF_KIND: Final[dict[str, type[Network]]] = {"scorer": Scorer, "attention": Attention}


def make(shape: Shape) -> Network:
    """A new network; its weights are drawn from torch's random state."""
    return _OF_KIND[shape.kind](shape)


def adopt(network: Network, other: Network) -> None:
    """Give `network` the weights and scales of `other`, of the same kind and size. What only one has, for drafting, is left as it is."""
    own = network.state_dict()
    with torch.no_grad():
        for name, tensor in other.state_dict().items():
            if name in own:
                size = min(len(own[name]), len(tensor))  # scales: who drafts reads longer observations
                own[name][:size] = tensor[:size]


def arrays(network: nn.Module) -> dict[str, NDArray[Any]]:
    """A copy of the weights, by name."""
    return {name: np.array(tensor.detach().cpu().numpy()) for name, tensor in network.state_dict().items()}


def of_arrays(shape: Shape, given: Mapping[str, Any]) -> Network:
    """A network with the weights that `arrays` took from another one. Nothing is drawn for it, as a new one's weights are: torch's random
    state is the training's. Errors are those of `load_arrays`."""
    with torch.device("meta"):
        network = make(shape)
    load_arrays(network, given, assign=True)
    return network


def load_arrays(network: nn.Module, given: Mapping[str, Any], assign: bool = False) -> None:
    """Give `network` the weights that `arrays` took from another one; with `assign` it may be on the meta device, and leaves it.

    Raises:
        KeyError: some are missing.
        ValueError: they are those of a network of another shape.
    """
    wanted = network.state_dict()
    if unknown := given.keys() - wanted.keys():
        raise ValueError(f"{min(unknown)!r} is no weight of the network")
    found = {name: fitting(given[name], name, np.float32, tuple(tensor.shape)) for name, tensor in wanted.items()}
    network.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in found.items()}, assign=assign)
