"""A policy as an ONNX file, which other programs run without torch and without this package.

Inputs: `observation` (batch, m) float32, the first m numbers of an observation of the layout that the metadata names, and `action_mask`
(batch, 113) int8 as the environments give it. Outputs: `log_probabilities` (batch, 113), that of an illegal action being so low that its
probability is 0, and `value` (batch,), the return that the critic expects, in units of the scaled reward. The policy plays the action with
the highest log-probability. The batch may have any size; a line without a legal action gives equal numbers that mean nothing.

A scorer works on cards and rows that are there, and looks for them; a graph of fixed operations works on all of them and leaves out what
is not there. `Dense` does that with the same weights.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sixnimmt_env import agents
from sixnimmt_env.core.files import write_atomically
from sixnimmt_env.envs.seats import SeatGames
from sixnimmt_env.games.sixnimmt.state import NUM_ACTIONS

from .network import Network
from .policy import Policy
from .vec_env import MatchVecEnv

INPUTS: Final = ("observation", "action_mask")
OUTPUTS: Final = ("log_probabilities", "value")
TOLERANCE: Final = 1e-5
"""How far the file's numbers may be from torch's; those of illegal actions are not compared."""
PACKAGES: Final = ("onnx", "onnxruntime", "onnxscript")
_MASKED: Final = -1e8  # as in training; its exponential is 0 exactly
_OPSET: Final = 18


class ExportError(ValueError):
    """A policy that cannot be exported; says why."""


class Dense(nn.Module):
    """What a network computes, without looking for what is there: observations (k, m) and masks (k, actions) to what the file gives."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, observations: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities (k, actions) and values (k,)."""
        logits, values = self.network.dense(observations)
        return torch.log_softmax(torch.where(masks != 0, logits, _MASKED), dim=1), values


def export(policy: Policy, path: Path) -> float:
    """Write `policy` to `path` as ONNX, and return how far the file's numbers are from torch's, in decisions of random play.

    Raises:
        ExportError: what it takes is not installed, or the numbers differ by more than `TOLERANCE`.
        OSError: the file cannot be written.
    """
    content = pack(policy)
    difference = deviation(policy, content, *positions(policy))
    if not difference <= TOLERANCE:
        raise ExportError(f"the ONNX graph differs from the policy by {difference:.2g}, more than {TOLERANCE:g}: nothing was written")
    write_atomically(path, content)
    return difference


def pack(policy: Policy) -> bytes:
    """The content of the ONNX file of `policy`. `ExportError` where what it takes is not installed."""
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        raise ExportError(f"{', '.join(missing)} not installed, which the export needs: python -m pip install 'sixnimmt-env[onnx]'")
    import onnx

    size = policy.network.shape.observation_size
    example = torch.zeros(2, size), torch.ones(2, NUM_ACTIONS, dtype=torch.int8)
    batch = torch.export.Dim("batch")
    with _quietly():
        program = torch.onnx.export(
            Dense(policy.network).eval(),
            example,
            input_names=INPUTS,
            output_names=OUTPUTS,
            dynamic_shapes=({0: batch}, {0: batch}),
            opset_version=_OPSET,
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    model = program.model_proto
    onnx.helper.set_model_props(model, about(policy))
    for item in [*model.graph.node, *model.graph.value_info, *model.graph.initializer]:
        del item.metadata_props[:]  # where in our sources it comes from, with the paths of this machine
    model.producer_name, model.producer_version = "sixnimmt-env", version("sixnimmt-env")
    model.doc_string = __doc__.split("\n\n")[1].replace("\n", " ")
    onnx.checker.check_model(model, full_check=True)
    content: bytes = model.SerializeToString()
    return content


def about(policy: Policy) -> dict[str, str]:
    """What the file says of itself, beside its inputs and outputs."""
    return {
        "format": "sixnimmt_env policy",
        "game": policy.game.name,
        "layout": str(policy.game.layout.version),
        "observation_size": str(policy.network.shape.observation_size),
        "actions": str(policy.game.num_actions),
        "rules": json.dumps(asdict(policy.rules)),  # type: ignore[call-overload]
        "network": json.dumps(policy.network.shape.as_dict()),
        "training": json.dumps(policy.training),
    }


def deviation(policy: Policy, content: bytes, observations: NDArray[np.float32], masks: NDArray[np.int8]) -> float:
    """How far the ONNX file `content` is from what torch computes for `policy`, at most; of numbers above 1, relative to them."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    found = session.run(list(OUTPUTS), dict(zip(INPUTS, (observations, masks), strict=True)))
    with torch.inference_mode():
        logits, values = policy.network(torch.from_numpy(observations))
        wanted = torch.log_softmax(logits.masked_fill(torch.from_numpy(masks) == 0, _MASKED), dim=1).numpy()
    legal = masks != 0
    pairs = (found[0][legal], wanted[legal]), (found[1], values.numpy())
    return float(max((np.abs(there - here) / np.maximum(1.0, np.abs(here))).max() for there, here in pairs))


def positions(policy: Policy, steps: int = 25) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Decisions of random play under the rules of `policy`: what it reads, and what is legal."""
    opponent = agents.make("random", policy.game.name)
    env = MatchVecEnv(SeatGames(policy.game, policy.rules, [opponent], None, 16, skip_forced=True), policy.network.shape)
    rng = np.random.default_rng(0)
    seen, legal, observations = [], [], env.reset()
    for _ in range(steps):
        masks = env.action_masks()
        seen.append(observations)
        legal.append(masks.astype(np.int8))
        observations = env.step((masks * rng.random(masks.shape)).argmax(axis=1))[0]
    return np.concatenate(seen), np.concatenate(legal)


@contextmanager
def _quietly() -> Iterator[None]:
    """Without what the exporter says of itself to developers of torch."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
