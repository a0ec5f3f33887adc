"""Learned policies: saved as safetensors plus JSON, loaded without pickle, played by argmax through the agents' interface.

`policy.safetensors` holds the weights and nothing else; `policy.json` beside it says what they are: game, layout version, rules, network,
how they were trained, and the checksum of the weights. Nothing in either file is ever run.

Two files cannot be replaced at the same instant. So the new description is written first and carries the old one with it until the new
weights are there: whichever step fails, the checksum tells which of the two the weights belong to, and the pair can be loaded.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.torch
import torch
from numpy.typing import NDArray

from sixnimmt_env import games
from sixnimmt_env.agents import Agent
from sixnimmt_env.core.files import write_atomically
from sixnimmt_env.core.game import Game, Rules

from .network import Network, make
from .shape import MOST, Shape, sizes_of

FORMAT = "sixnimmt_env policy"
VERSION = 1
STEM = "policy"
_MAX_ABOUT, _MAX_WEIGHTS = 2**20, 64 * 2**20  # bytes: a hundred times what ours need
_MAX_VARIANTS = 1000
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
        variants: what else it was trained on.
    """

    game: Game
    rules: Rules
    network: Network
    training: dict[str, Any]
    variants: tuple[Rules, ...] = ()


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
            # Weights that are finite can still overflow: such logits must not tie with the masked ones.
            best = np.where(masks, np.nan_to_num(logits.numpy()), -np.inf).argmax(axis=1)
            actions[start : start + len(part)][deciding] = best[deciding]
        return actions


def save(
    folder: Path,
    network: Network,
    game: Game,
    rules: Rules,
    training: dict[str, Any],
    stem: str = STEM,
    variants: Sequence[Rules] = (),
) -> Path:
    """Write `network` to `folder`/`stem`.safetensors and .json; returns the path of the weights.

    The other arguments are what a `Policy` knows of it.

    Raises:
        PolicyError: the weights are no numbers.
        OSError: a file cannot be written; the policy that was there before can still be loaded, and where there was none, there is none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path, about_path = folder / f"{stem}.safetensors", folder / f"{stem}.json"
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
    _check_finite(tensors, path)
    weights = safetensors.torch.save(tensors)
    about = {
        "format": FORMAT,
        "version": VERSION,
        "game": game.name,
        "layout": game.layout.version,
        "rules": asdict(rules),  # type: ignore[call-overload]
        "variants": [asdict(other) for other in variants],  # type: ignore[call-overload]
        "network": network.shape.as_dict(),
        "training": training,
        "weights": {"bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()},
    }
    old = _present(about_path, path)
    write_atomically(about_path, _json(about if old is None else {**about, "replaces": old}))
    try:
        write_atomically(path, weights)
    except BaseException:
        if old is None and not _holds(path, weights):  # the weights may be there, and what failed was to make sure of it
            about_path.unlink(missing_ok=True)
        raise
    if old is not None:
        with contextlib.suppress(OSError):  # the pair is complete: the old description is only in the way
            write_atomically(about_path, _json(about))
    return path


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False


def _json(about: dict[str, Any]) -> str:
    return json.dumps(about, indent=2) + "\n"


def _present(about_path: Path, weights_path: Path) -> dict[str, Any] | None:
    """The description of the pair that is there now; None if there is none, or a damaged one."""
    try:
        about = _read_about(about_path)
        return _description(about, _read(weights_path, _MAX_WEIGHTS))
    except PolicyError:
        return None


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
    weights = _read(weights_path, _MAX_WEIGHTS)
    found = _description(about, weights)
    if found is None:
        size = about["weights"].get("bytes")
        lengths = f"{len(weights)} of {size} bytes" if len(weights) != size else "its checksum differs"
        raise PolicyError(f"{weights_path}: damaged, or not the weights that {about_path.name} describes ({lengths})")
    game = _check_about(found, about_path)
    try:
        rules, *others = (_rules(given, game) for given in (found["rules"], *found.get("variants", ())))
        shape = _shape(found["network"])
    except ValueError as error:
        raise PolicyError(f"{about_path}: {error}") from None
    return Policy(game, rules, _network(shape, weights, weights_path).eval(), found["training"], tuple(others))


def _files(given: Path) -> tuple[Path, Path]:
    path = given
    try:
        if path.is_dir():
            path = path / STEM
        stem = path.with_suffix("") if path.suffix in (".safetensors", ".json") else path
        about, weights = stem.with_name(stem.name + ".json"), stem.with_name(stem.name + ".safetensors")
        missing = [file for file in (about, weights) if not file.is_file()]
    except (OSError, ValueError) as error:  # a path too long, or one that may not be looked at
        raise PolicyError(f"{path}: cannot be read: {_reason(error)}") from None
    if not any(map(os.path.lexists, (given, about, weights))):
        near = _nearest(given)
        hint = f"did you mean {near}? " if near else ""
        raise PolicyError(f"{given}: there is no run folder or policy file of that path; {hint}`sixnimmt train` makes them")
    for file in missing:
        problem = "is no plain file" if os.path.lexists(file) else "does not exist"
        raise PolicyError(f"{file}: {problem}; a policy is a .safetensors and a .json file of the same name, as `sixnimmt train` saves")
    return about, weights


def _nearest(path: Path) -> Path | None:
    """The run folder or policy file beside `path` whose name is most like its own, if one is."""
    suffix = path.suffix if path.suffix in (".safetensors", ".json") else ""
    try:
        entries = list(path.parent.iterdir())
    except (OSError, ValueError):  # no folder, or no name of one
        return None
    runs = [entry.name for entry in entries if os.path.isfile(entry / f"{STEM}.safetensors")]  # False where one may not look
    stems = [entry.stem + suffix for entry in entries if entry.suffix == ".safetensors"]
    near = difflib.get_close_matches(path.name, filter(str.isprintable, runs + stems), 1)  # a stranger's may hold what a terminal obeys
    return path.with_name(near[0]) if near else None


def _read(path: Path, most: int) -> bytes:
    """The content of `path`, which may be at most `most` bytes."""
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read: {_reason(error)}") from None
    if len(content) > most:
        raise PolicyError(f"{path}: is larger than {most >> 20} MiB, which no policy of ours is")
    return content


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _read_about(path: Path) -> dict[str, Any]:
    """The description in `path`, checked as far as it takes to find the weights it belongs to."""
    try:
        about = json.loads(_read(path, _MAX_ABOUT))
    except PolicyError:
        raise
    except RecursionError:
        raise PolicyError(f"{path}: is nested too deeply to be the description of a policy") from None
    except ValueError as error:
        raise PolicyError(f"{path}: is no JSON: {error}") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise PolicyError(f'{path}: is not the description of a policy (its "format" would be "{FORMAT}")')
    if type(about.get("version")) is not int or about["version"] != VERSION:
        raise PolicyError(f"{path}: is version {about.get('version')!r} of the format, this program reads version {VERSION}")
    if not isinstance(about.get("weights"), dict):
        raise PolicyError(f"{path}: 'weights' is missing or no dict")
    return about


def _description(about: dict[str, Any], weights: bytes) -> dict[str, Any] | None:
    """What is said about `weights`, by `about` or by the description that it replaces; None if neither is theirs."""
    checksum = hashlib.sha256(weights).hexdigest()
    for candidate in (about, about.get("replaces")):
        if isinstance(candidate, dict) and isinstance(candidate.get("weights"), dict) and candidate["weights"].get("sha256") == checksum:
            return {key: value for key, value in candidate.items() if key != "replaces"}
    return None


def _check_about(about: dict[str, Any], path: Path) -> Game:
    for key, kind in {"game": str, "layout": int, "rules": dict, "network": dict, "training": dict}.items():
        if type(about.get(key)) is not kind:
            raise PolicyError(f"{path}: {key!r} is missing or no {kind.__name__}")
    variants = about.get("variants", [])
    if type(variants) is not list or len(variants) > _MAX_VARIANTS or not all(type(rules) is dict for rules in variants):
        raise PolicyError(f"{path}: 'variants' is no list of at most {_MAX_VARIANTS} dicts")
    try:
        game = games.get(about["game"])
    except ValueError as error:
        raise PolicyError(f"{path}: {error}") from None
    if about["layout"] != game.layout.version:
        raise PolicyError(
            f"{path}: was trained on observation layout {about['layout']} of {game.name}, this program has layout {game.layout.version}: "
            "train it again, or use the version of sixnimmt_env that it was trained with"
        )
    return game


def _rules(given: dict[str, Any], game: Game) -> Rules:
    rules: Rules = game.rules(**_known(given, "rules", [field.name for field in fields(game.rules)]))  # type: ignore[arg-type]
    return rules


def _shape(network: dict[str, Any]) -> Shape:
    """The size that a description gives; `ValueError` for what cannot be one."""
    kind = network.get("kind")
    names = sizes_of(kind)
    sizes = {key: value for key, value in _known(network, "network", ["kind", *names]).items() if key != "kind"}
    if missing := [name for name in names if name not in sizes]:
        raise ValueError(f"network {', '.join(missing)}: missing")
    for name, high in MOST.items():
        if name in names and (type(sizes[name]) is not int or not 1 <= sizes[name] <= high):
            raise ValueError(f"network {name}={sizes[name]!r} must be a whole number from 1 to {high}")
    if type(sizes["draft"]) is not bool:
        raise ValueError(f"network draft={sizes['draft']!r} must be true or false")
    return Shape(kind=str(kind), **sizes)


def _known(values: dict[str, Any], what: str, names: list[str]) -> dict[str, Any]:
    """`values`, which may have no key beside `names`. Keys are quoted: a stranger's may hold what a terminal obeys."""
    if unknown := [key for key in values if key not in names]:
        raise ValueError(f"{what} {unknown[0]!r} is unknown: there are {', '.join(names)}")
    return values


def _network(shape: Shape, weights: bytes, path: Path) -> Network:
    """A network of `shape` with the `weights` read from `path`."""
    try:
        tensors = safetensors.torch.load(weights)
    except Exception as error:  # whatever a reader of other people's bytes may raise
        raise PolicyError(f"{path}: is no safetensors file: {error}") from None
    with torch.device("meta"):  # only names and sizes: a network as large as a stranger says is not worth filling with numbers
        network = make(shape)
    wanted, found = _contents(network.state_dict()), _contents(tensors)
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            raise PolicyError(
                f"{path}: {name!r} is {found.get(name, 'missing')}, the network that its description names has {wanted.get(name, 'none')}"
            )
    _check_finite(tensors, path)
    network.load_state_dict(tensors, assign=True)
    return network


def _contents(tensors: dict[str, torch.Tensor]) -> dict[str, str]:
    return {name: f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}" for name, tensor in tensors.items()}


def _check_finite(tensors: dict[str, torch.Tensor], path: Path) -> None:
    if not all(torch.isfinite(tensor).all() for tensor in tensors.values()):
        raise PolicyError(f"{path}: the weights are no numbers: the training has diverged")
