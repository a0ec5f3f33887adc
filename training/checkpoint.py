"""Checkpoints: all that a training run goes on from, in one file that holds arrays and JSON and nothing that could be run.

A checkpoint is a tree: dictionaries whose leaves are NumPy arrays, or what JSON can hold. Each class gives its own part (`state`) and takes
it back (`restore`); nothing here knows what is in it. The file is one line of JSON, which has the length and the SHA-256 of all that
follows, and then a safetensors file: the arrays by their paths in the tree, and the rest of the tree as JSON in its metadata.

The checksum tells damage, not malice: whoever writes a file can write its checksum. Reading a stranger's checkpoint runs none of his code,
but what it says of networks and games is believed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from sixnimmt_env.core.files import write_atomically

FORMAT: Final = "sixnimmt_env checkpoint"
VERSION: Final = 1
SUFFIX: Final = ".checkpoint"
_MAX_HEADER: Final = 500  # bytes: twice what ours have
_NAME: Final = re.compile(rf"state_(\d{{12,18}}){re.escape(SUFFIX)}")

Tree: TypeAlias = dict[str, Any]


class CheckpointError(ValueError):
    """A checkpoint that cannot be read or does not fit; says which file and why."""


# --- A tree as bytes -----------------------------------------------------------------------------------------------------


def pack(tree: Tree) -> bytes:
    """The content of a checkpoint file."""
    arrays: dict[str, NDArray[Any]] = {}
    rest = json.dumps(_without_arrays(tree, "", arrays))
    body = safetensors.numpy.save(arrays, {"tree": rest})
    return _line(body) + b"\n" + body


def unpack(content: bytes) -> Tree:
    """The tree that `content` was made of. `CheckpointError`, without a path, if it is damaged or something else."""
    line, _, body = content[:_MAX_HEADER].partition(b"\n")
    body = content[len(line) + 1 :]
    about = _about(line)
    if len(body) != about.get("bytes"):
        raise CheckpointError(f"damaged: {len(body)} of {about.get('bytes')!r} bytes")
    if line != _line(body):
        raise CheckpointError("damaged: its checksum differs")
    try:
        arrays = safetensors.numpy.load(body)
        tree = json.loads(_metadata(body)["tree"])
        if not isinstance(tree, dict):
            raise ValueError("its tree is no dictionary")
        for path, array in arrays.items():
            _insert(tree, path.split("/"), array)
    except Exception as error:  # whatever a reader of other people's bytes may raise
        raise CheckpointError(f"holds no state of a training: {type(error).__name__}: {error}") from None
    return tree


def _line(body: bytes) -> bytes:
    """The first line of a file with this `body`."""
    about = {"format": FORMAT, "version": VERSION, "bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    return json.dumps(about).encode()


def _about(line: bytes) -> dict[str, Any]:
    try:
        about = json.loads(line)
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise CheckpointError("damaged, or no checkpoint")
    if about.get("version") != VERSION:
        raise CheckpointError(f"is version {about.get('version')!r} of the format, this program reads version {VERSION}")
    return about


def _without_arrays(tree: Tree, path: str, arrays: dict[str, NDArray[Any]]) -> Tree:
    """`tree` without its arrays, which are put into `arrays`. Dictionaries stay where they were, empty if they held arrays only."""
    rest: Tree = {}
    for key, value in tree.items():
        if isinstance(value, np.ndarray):
            arrays[path + key] = np.array(value, order="C")
        else:
            rest[key] = _without_arrays(value, f"{path}{key}/", arrays) if isinstance(value, dict) else value
    return rest


def _metadata(body: bytes) -> dict[str, str]:
    """What a safetensors file says beside its arrays: `safetensors` itself tells it of files only."""
    size = int.from_bytes(body[:8], "little")
    metadata: dict[str, str] = json.loads(body[8 : 8 + size])["__metadata__"]
    return metadata


def _insert(tree: Tree, path: list[str], array: NDArray[Any]) -> None:
    for key in path[:-1]:
        tree = tree[key]
    tree[path[-1]] = array


# --- The checkpoints of a folder -----------------------------------------------------------------------------------------


def path_of(folder: Path, decisions: int) -> Path:
    """Where the checkpoint after so many decisions is kept."""
    return folder / f"state_{decisions:012d}{SUFFIX}"


def write(path: Path, tree: Tree) -> None:
    """Write `tree` to `path`, whole or not at all. `OSError` where that is impossible: what was there before is intact."""
    write_atomically(path, pack(tree))


def read(path: Path) -> Tree:
    """The tree in `path`; `CheckpointError` if it is damaged, cannot be read, or is something else."""
    try:
        content = path.read_bytes() if path.is_file() else None  # opening a pipe would wait for ever
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror or error}") from None
    if content is None:
        raise CheckpointError(f"{path}: is no plain file")
    try:
        return unpack(content)
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from None


def found(folder: Path) -> list[Path]:
    """The checkpoints in `folder`, intact or not, the newest first."""
    try:
        names = [path for path in folder.iterdir() if _NAME.fullmatch(path.name)]
    except OSError:
        return []
    return sorted(names, key=decisions_of, reverse=True)


def decisions_of(path: Path) -> int:
    """How many decisions came before the checkpoint, or policy, of that name."""
    return int(path.stem.rpartition("_")[2])


def newest(folder: Path, say: Callable[[str], None]) -> tuple[Path, Tree] | None:
    """The newest intact checkpoint in `folder`; None where there never was one. Damaged ones that are newer are named.

    Raises:
        CheckpointError: there are some, and none is intact.
    """
    problems: list[str] = []
    for path in found(folder):
        try:
            tree = read(path)
        except CheckpointError as error:
            problems.append(str(error))
            continue
        for problem in problems:
            say(f"{problem}; the checkpoint before it is taken")
        return path, tree
    if problems:
        raise CheckpointError("\n".join([*problems, f"{folder}: no checkpoint is intact: train again"]))
    return None
