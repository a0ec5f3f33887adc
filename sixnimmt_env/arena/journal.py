"""What a tournament has played, kept in a folder: one file for each chunk of deals, complete or not there at all."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..core.files import write_atomically

FORMAT: Final = "sixnimmt_env tournament"
VERSION: Final = 1
PLAN: Final = "plan.json"
FOLDER: Final = "played"


@dataclass(frozen=True, eq=False)
class Chunk:
    """The games of some deals that follow each other.

    Attributes:
        first: the first deal.
        costs: (deals, games, players) what each seat lost.
        illegal, decisions: (agents,) of each agent.
        seconds: (agents,) time that each took to decide.
    """

    first: int
    costs: NDArray[np.int64]
    illegal: NDArray[np.int64]
    decisions: NDArray[np.int64]
    seconds: NDArray[np.float64]

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
            (folder / FOLDER).mkdir(parents=True, exist_ok=True)
            write_atomically(path, json.dumps(about) + "\n")
        return cls(folder, tuple(shape), agents)

    def add(self, chunk: Chunk) -> None:
        """Keep `chunk`; when this returns it is on the disk."""
        buffer = io.BytesIO()
        arrays = {name: getattr(chunk, name) for name in ("illegal", "decisions", "seconds")}
        np.savez_compressed(buffer, costs=chunk.costs.astype(np.int32), **arrays)
        write_atomically(self.folder / FOLDER / f"{chunk.first:010d}-{chunk.end:010d}.npz", buffer.getvalue())

    def chunks(self, deals: int) -> list[Chunk]:
        """What there is of the first `deals` deals, in order. `ValueError` for a damaged file."""
        found = [self._read(path) for path in sorted((self.folder / FOLDER).glob("*.npz"))]
        return [_cut(chunk, deals) for chunk in found if chunk.first < deals]

    def _read(self, path: Path) -> Chunk:
        try:
            first, end = map(int, path.stem.split("-"))
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
                chunk = Chunk(first, file["costs"].astype(np.int64), file["illegal"], file["decisions"], file["seconds"])
            if chunk.costs.shape != (end - first, *self.shape) or len(chunk.illegal) != self.agents:
                raise ValueError(f"holds {chunk.costs.shape}")
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path}: is damaged ({error}); delete it to have its deals played again") from error
        return chunk


def _cut(chunk: Chunk, deals: int) -> Chunk:
    """The chunk without deals that are no longer wanted; what was counted by agent is of the whole chunk."""
    return (
        chunk
        if chunk.end <= deals
        else Chunk(chunk.first, chunk.costs[: deals - chunk.first], chunk.illegal, chunk.decisions, chunk.seconds)
    )


def _check_same(path: Path, about: Mapping[str, Any]) -> None:
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: is damaged ({error}); name another folder") from error
    if not isinstance(there, dict) or there.get("format") != FORMAT:
        raise ValueError(f"{path}: is no plan of a tournament; name another folder")
    if differing := [key for key in about if there.get(key) != about[key]]:
        raise ValueError(f"{path.parent}: holds another tournament (other {', '.join(differing)}); name another folder, or delete it")
