"""Learned policies: saved as safetensors plus JSON, loaded without pickle, played by argmax through the agents' interface.

`policy.safetensors` holds the weights and nothing else; `policy.json` beside it says what they are: game, layout version, rules, network,
how they were trained, and the checksum of the weights. Nothing in either file is ever run.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.torch
import torch
from numpy.typing import NDArray

from sixnimmt_env import games
from sixnimmt_env.agents import Agent
from sixnimmt_env.core.game import Game, Rules

from .files import write_atomically
from .network import Scorer, Shape

FORMAT = "sixnimmt_env policy"
VERSION = 1
STEM = "policy"
_MAX_BYTES = 64 * 2**20  # of weights: a hundred times what ours need
_BATCH = 8192  # observations a forward pass: larger ones only cost memory


class PolicyError(ValueError):
    """A policy that cannot be read or does not fit; says which file and why."""


@dataclass(frozen=True)
class Policy:
    """A network and what is known about it.

    Attributes:
        game: the game it plays.
        rules: the variant it was trained on.
        network: the weights, in evaluation mode.
        training: summary of the training, as plain data.
    """

    game: Game
    rules: Rules
    network: Scorer
    training: dict[str, Any]


class LearnedAgent(Agent):
    """A policy as an agent: the legal action with the highest logit; the seed has no say."""

    def __init__(self, policy: Policy, name: str) -> None:
        super().__init__(policy.game, name)
        self.policy = policy

    def _act(self, views: NDArray[np.void]) -> NDArray[np.int64]:
        actions = np.full(len(views), self.game.wait, dtype=np.int64)
        for start in range(0, len(views), _BATCH):
            part = views[start : start + _BATCH]
            masks = np.empty((len(part), self.game.num_actions), dtype=np.int8)
            self.game.legal(part, masks)
            deciding = masks.any(axis=1)
            observations = np.empty((len(part), self.policy.network.shape.observation_size), dtype=np.float32)
            self.game.encode(part, observations)
            with torch.inference_mode():
                logits, _ = self.policy.network(torch.from_numpy(observations))
            best = np.where(masks, logits.numpy(), -np.inf).argmax(axis=1)
            actions[start : start + len(part)][deciding] = best[deciding]
        return actions


def save(folder: Path, network: Scorer, game: Game, rules: Rules, training: dict[str, Any], stem: str = STEM) -> Path:
    """Write `network` to `folder`/`stem`.safetensors and .json, each atomically; returns the path of the weights.

    Raises:
        OSError: a file cannot be written; what was there before is still there.
    """
    weights = safetensors.torch.save({name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()})
    about = {
        "format": FORMAT,
        "version": VERSION,
        "game": game.name,
        "layout": game.layout.version,
        "rules": asdict(rules),  # type: ignore[call-overload]
        "network": network.shape.as_dict(),
        "training": training,
        "weights": {"file": f"{stem}.safetensors", "bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()},
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}.safetensors"
    write_atomically(path, weights)
    write_atomically(folder / f"{stem}.json", json.dumps(about, indent=2) + "\n")
    return path


def load(path: str | Path) -> LearnedAgent:
    """The policy at `path` as an agent.

    Args:
        path: a run folder, a `.safetensors` or `.json` file, or the two files' common stem.

    Raises:
        PolicyError: missing, damaged, of another format, layout or game; says which file and why.
    """
    return LearnedAgent(read(path), f"policy:{path}")


def read(path: str | Path) -> Policy:
    """The policy at `path`, see `load`."""
    about_path, weights_path = _files(Path(path))
    about = _read_about(about_path)
    game = _check_about(about, about_path)
    weights = _read_weights(weights_path, about, about_path)
    try:
        rules = game.rules(**about["rules"])
        shape = Shape(**{key: value for key, value in about["network"].items() if key != "kind"})
        _check_shape(shape)
        network = Scorer(shape)
    except (TypeError, ValueError) as error:
        raise PolicyError(f"{about_path}: {error}") from None
    try:
        network.load_state_dict(safetensors.torch.load(weights))
    except (RuntimeError, safetensors.SafetensorError) as error:
        raise PolicyError(f"{weights_path}: the weights do not fit the network of {about_path.name}: {error}") from None
    if not all(torch.isfinite(tensor).all() for tensor in network.state_dict().values()):
        raise PolicyError(f"{weights_path}: holds weights that are no numbers; the training must have diverged")
    return Policy(game, rules, network.eval(), about["training"])


def _files(path: Path) -> tuple[Path, Path]:
    if path.is_dir():
        path = path / STEM
    stem = path.with_suffix("") if path.suffix in (".safetensors", ".json") else path
    about, weights = stem.with_name(stem.name + ".json"), stem.with_name(stem.name + ".safetensors")
    for file in (about, weights):
        if not file.is_file():
            raise PolicyError(
                f"{file}: no such file; a policy is a .safetensors and a .json file of the same name, as `sixnimmt train` saves"
            )
    return about, weights


def _read_about(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > 2**20:
            raise PolicyError(f"{path}: over 1 MiB, which is no description of a policy")
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, PolicyError):
            raise
        raise PolicyError(f"{path}: cannot be read: {error}") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise PolicyError(f'{path}: is not the description of a policy (its "format" would be "{FORMAT}")')
    return about


def _check_about(about: dict[str, Any], path: Path) -> Game:
    if about.get("version") != VERSION:
        raise PolicyError(f"{path}: is version {about.get('version')!r} of the format, this program reads version {VERSION}")
    kinds = {"game": str, "layout": int, "rules": dict, "network": dict, "training": dict, "weights": dict}
    for key, kind in kinds.items():
        if not isinstance(about.get(key), kind):
            raise PolicyError(f"{path}: {key!r} is missing or no {kind.__name__}")
    try:
        game = games.get(about["game"])
    except ValueError as error:
        raise PolicyError(f"{path}: {error}") from None
    if about["layout"] != game.layout.version:
        raise PolicyError(
            f"{path}: was trained on observation layout {about['layout']} of {game.name}, this program has layout {game.layout.version}: "
            "train it again, or use the version of sixnimmt_env that it was trained with"
        )
    if about["network"].get("kind") != "scorer":
        raise PolicyError(f"{path}: network kind {about['network'].get('kind')!r} is unknown: this program knows 'scorer'")
    return game


def _check_shape(shape: Shape) -> None:
    for name, value, high in (("hidden", shape.hidden, 4096), ("layers", shape.layers, 16)):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= high:
            raise ValueError(f"network {name}={value!r} must be a whole number from 1 to {high}")
    if not isinstance(shape.draft, bool):
        raise ValueError(f"network draft={shape.draft!r} must be true or false")


def _read_weights(path: Path, about: dict[str, Any], about_path: Path) -> bytes:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise PolicyError(f"{path}: over {_MAX_BYTES >> 20} MiB, which is no policy of ours")
        weights = path.read_bytes()
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read: {error}") from None
    if hashlib.sha256(weights).hexdigest() != about["weights"].get("sha256"):
        raise PolicyError(f"{path}: damaged, or not the weights that {about_path.name} describes (its checksum differs)")
    return weights
