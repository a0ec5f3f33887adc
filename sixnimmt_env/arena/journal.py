"""What a tournament has played, kept in a folder: one file for each chunk of deals, complete or not there at all."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..core.files import write_atomically
from .forfeit import Forfeits

FORMAT: Final = "sixnimmt_env tournament"
VERSION: Final = 1
PLAN: Final = "plan.json"
FOLDER: Final = "played"
ARRAYS: Final = ("costs", "illegal", "decisions", "seconds")
LATER: Final = ("forfeits", "reasons")  # arrays of a chunk with forfeits, and of no other: so it was before there were any
LATER_KEYS: Final = ("seconds_limit",)  # of a plan; plans kept before there were such keys fit any value
_DAMAGE: Final = (ValueError, TypeError, KeyError, EOFError, RuntimeError, OverflowError, zipfile.BadZipFile, zlib.error)
"""What NumPy and its zip files raise for a file with wrong bytes; RuntimeError for signs of methods that they do not know."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """The games of some deals that follow each other.

    Attributes:
        first: the first deal.
        costs: (deals, games, players) what each seat lost.
        illegal, decisions: (agents,) of each agent.
        seconds: (agents,) time that each took to decide.
        forfeits: of the agents that forfeited decisions, by number.
    """

    first: int
    costs: NDArray[np.int64]
    illegal: NDArray[np.int64]
    decisions: NDArray[np.int64]
    seconds: NDArray[np.float64]
    forfeits: Mapping[int, Forfeits] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """One more than the last deal."""
        return self.first + len(self.costs)


@dataclass(frozen=True, eq=False)
class Journal:
    """The chunks in a folder.

    Attributes:
        folder: where the files are.
        shape: (games, players) of a deal.
        agents: how many there are.
    """

    folder: Path
    shape: tuple[int, ...]
    agents: int

    @classmethod
    def open(cls, folder: Path, identity: Mapping[str, Any], shape: Sequence[int], agents: int) -> Journal:
        """The journal in `folder`, which is made where it is not there.

        Raises:
            ValueError: it is of another tournament, or the folder holds something else.
            OSError: it cannot be made or read.
        """
        about = {"format": FORMAT, "version": VERSION, **json.loads(json.dumps(identity))}
        path = folder / PLAN
        if path.exists():
            _check_same(path, about)
        elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ValueError(f"{folder}: is in use, but not by a tournament; name another folder")
        else:
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, json.dumps(about) + "\n")  # first: a folder with anything else in it is none of ours
        (folder / FOLDER).mkdir(exist_ok=True)
        return cls(folder, tuple(shape), agents)

    def add(self, chunk: Chunk) -> None:
        """Keep `chunk`; when this returns it is on the disk."""
        buffer = io.BytesIO()
        arrays: dict[str, NDArray[Any]] = {name: getattr(chunk, name) for name in ARRAYS[1:]}
        if chunk.forfeits:
            counts, reasons = np.zeros(self.agents, dtype=np.int64), [""] * self.agents
            for agent, found in chunk.forfeits.items():
                counts[agent], reasons[agent] = found.decisions, found.reason
            arrays |= {"forfeits": counts, "reasons": np.array(reasons)}
        np.savez_compressed(buffer, costs=chunk.costs.astype(np.int32), **arrays)  # type: ignore[arg-type]
        write_atomically(self.folder / FOLDER / f"{chunk.first:010d}-{chunk.end:010d}.npz", buffer.getvalue())

    def chunks(self, deals: int) -> list[Chunk]:
        """What there is of the first `deals` deals, in order. `ValueError` for a damaged file."""
        found = [self._read(path) for path in sorted((self.folder / FOLDER).glob("*.npz"))]
        return [_cut(chunk, deals) for chunk in found if chunk.first < deals]

    def _read(self, path: Path) -> Chunk:
        try:
            first, end = map(int, path.stem.split("-"))
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
                costs = _array(file, "costs", "i", (end - first, *self.shape)).astype(np.int64)
                illegal, decisions = (_array(file, name, "i", (self.agents,)) for name in ("illegal", "decisions"))
                seconds = _array(file, "seconds", "f", (self.agents,))
                chunk = Chunk(first, costs, illegal, decisions, seconds, self._forfeits(file))
        except _DAMAGE as error:
            raise ValueError(f"{path}: is damaged ({error}); delete it to have its deals played again") from error
        return chunk

    def _forfeits(self, file: Mapping[str, NDArray[Any]]) -> dict[int, Forfeits]:
        names = set(file)
        if names == set(ARRAYS):
            return {}
        if names != {*ARRAYS, *LATER}:
            raise ValueError(f"holds {', '.join(sorted(names))}")
        counts, reasons = _array(file, "forfeits", "i", (self.agents,)), file["reasons"]
        if reasons.dtype.kind != "U" or reasons.shape != counts.shape:
            raise ValueError(f"reasons holds {reasons.dtype}, shape {reasons.shape}")
        return {agent: Forfeits(int(counts[agent]), str(reasons[agent])) for agent in np.flatnonzero(counts).tolist()}


def _array(file: Mapping[str, NDArray[Any]], name: str, kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array of a file, which must be of this kind and shape and hold nothing below zero."""
    array = file[name]
    if array.dtype.kind != kind or array.shape != shape or not (array >= 0).all():
        raise ValueError(f"{name} holds {array.dtype}, shape {array.shape}" + (", or less than 0" if array.shape == shape else ""))
    return array


def _cut(chunk: Chunk, deals: int) -> Chunk:
    """The chunk without deals that are no longer wanted; what was counted by agent is of the whole chunk."""
    return chunk if chunk.end <= deals else replace(chunk, costs=chunk.costs[: deals - chunk.first])


def _check_same(path: Path, about: Mapping[str, Any]) -> None:
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: is damaged ({error}); name another folder") from error
    if not isinstance(there, dict) or there.get("format") != FORMAT:
        raise ValueError(f"{path}: is no plan of a tournament; name another folder")
    if differing := [key for key in about if there.get(key, about[key] if key in LATER_KEYS else None) != about[key]]:
        raise ValueError(f"{path.parent}: holds another tournament (other {', '.join(differing)}); name another folder, or delete it")
