"""What Adam remembers, as arrays, to be stored and put back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sixnimmt_env.core.saved import fitting

Memory = dict[str, dict[str, NDArray[Any]]]


def state(optimizer: torch.optim.Optimizer, parameters: Mapping[str, nn.Parameter]) -> Memory:
    """What `optimizer` remembers of each of `parameters`; nothing before the first update."""
    kept = optimizer.state
    return {
        name: {key: np.array(value.cpu().numpy()) for key, value in kept[parameter].items()}
        for name, parameter in parameters.items()
        if parameter in kept
    }


def restore(optimizer: torch.optim.Optimizer, parameters: Mapping[str, nn.Parameter], given: Mapping[str, Any]) -> None:
    """Let `optimizer` go on from what `state` gave of the same `parameters`.

    Raises:
        KeyError, ValueError: it is that of others.
    """
    kept = optimizer.state
    if given and given.keys() != parameters.keys():
        raise ValueError("the optimiser's are other parameters than the network's")
    kept.clear()
    for name, values in given.items():
        parameter = parameters[name]
        shapes = {"step": (), "exp_avg": tuple(parameter.shape), "exp_avg_sq": tuple(parameter.shape)}
        found = {key: torch.from_numpy(np.array(fitting(values[key], key, np.float32, shape))) for key, shape in shapes.items()}
        # Adam keeps the number of its steps on the CPU, wherever the rest is.
        kept[parameter] = {key: tensor if key == "step" else tensor.to(parameter.device) for key, tensor in found.items()}
