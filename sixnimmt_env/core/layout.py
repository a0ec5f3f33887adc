"""The layout of an observation as data: it gives the space, the encoder's offsets, the decoder and the documentation.

An observation is one float32 vector, made of groups; a group is a small table of `count` lines (seats, rows, hand slots, ...)
and named columns, line by line. An encoder writes natural numbers (cards, heads, chances) and `normalise` maps all of them to
[0, 1] by the columns' scales; `Layout.decode` goes the other way.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from .kernel import kernel

Kind = Literal["integer", "real", "squashed"]


@dataclass(frozen=True, slots=True)
class Column:
    """One named number of every line of a group.

    Args:
        name: an identifier, unique in the group.
        top: the natural value that is stored as 1; for kind "squashed" the one stored as 1/2.
        meaning: one phrase for the documentation.
        kind: "integer" and "real" are stored as value / top; "squashed" (integers without an upper bound) as value / (value + top), in
            float32 exact for values up to some hundred times `top`.
    """

    name: str
    top: float
    meaning: str
    kind: Kind = "integer"


@dataclass(frozen=True, slots=True)
class Group:
    """A table in the observation: `count` lines of the same columns. `line` says what a line is."""

    name: str
    count: int
    line: str
    columns: tuple[Column, ...]
    first: int = 0  # number of the first line, for people

    @property
    def width(self) -> int:
        """Numbers a line."""
        return len(self.columns)

    @property
    def size(self) -> int:
        """Numbers in all."""
        return self.count * self.width

    def indices(self) -> Any:
        """A named tuple that maps each column's name to its place in a line; kernels read it as constants."""
        kind = namedtuple(self.name.capitalize(), [c.name for c in self.columns])  # type: ignore[misc]
        return kind(*range(self.width))


class Layout:
    """Groups one after the other in a vector.

    Args:
        version: goes up with every change of what an observation holds; saved policies name the one they were trained on.
        groups: in the order of the vector.
    """

    def __init__(self, version: int, groups: Sequence[Group]) -> None:
        self.version = version
        self.groups = tuple(groups)
        self._offsets: dict[str, int] = {}
        offset = 0
        for group in self.groups:
            self._offsets[group.name] = offset
            offset += group.size
        self.size = offset
        columns = [c for group in self.groups for _ in range(group.count) for c in group.columns]
        tops = np.array([c.top for c in columns], dtype=np.float32)
        squashed = np.array([c.kind == "squashed" for c in columns])
        self._tops, self._squashed = tops, squashed
        self.scales: NDArray[np.float32] = np.where(squashed, np.float32(1), np.float32(1) / tops)
        self.squashed: NDArray[np.int64] = np.flatnonzero(squashed)
        self.squashed_tops: NDArray[np.float32] = tops[squashed]

    def offset(self, group: str) -> int:
        """Place of the first number of `group` in the vector."""
        return self._offsets[self[group].name]

    def end(self, group: str) -> int:
        """Place after the last number of `group`: observations cut there hold it and all groups before it."""
        return self.offset(group) + self[group].size

    def __getitem__(self, name: str) -> Group:
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(f"no group {name!r} in the observation: there are {', '.join(self._offsets)}")

    def space(self) -> spaces.Box:
        """A fresh Box(0, 1, (size,), float32)."""
        return spaces.Box(0.0, 1.0, (self.size,), np.float32)

    def lines(self, observation: NDArray[Any], group: str) -> NDArray[Any]:
        """The stored numbers of `group`: (..., size) to a view (..., count, width)."""
        start = self.offset(group)
        table = self[group]
        return observation[..., start : start + table.size].reshape(*observation.shape[:-1], table.count, table.width)

    def decode(self, observation: NDArray[np.float32]) -> dict[str, dict[str, NDArray[Any]]]:
        """One observation, (size,), in natural units: {group: {column: (count,) int64 or float64}}."""
        vector = self._checked(observation)
        natural = vector * self._tops
        natural[self.squashed] /= np.maximum(1.0 - vector[self.squashed], 1e-12)
        result: dict[str, dict[str, NDArray[Any]]] = {}
        for group in self.groups:
            table = self.lines(natural, group.name)
            result[group.name] = {
                c.name: table[:, i] if c.kind == "real" else np.rint(table[:, i]).astype(np.int64) for i, c in enumerate(group.columns)
            }
        return result

    def explain(self, observation: NDArray[np.float32]) -> str:
        """One observation, (size,), as text: every group, every line that is not all zero, its columns in natural units."""
        parts = []
        for name, columns in self.decode(observation).items():
            group = self[name]
            parts.append(f"{name} ({group.line})")
            for i in range(group.count):
                shown = [f"{key} {_number(values[i])}" for key, values in columns.items() if values[i]]
                if shown:
                    label = f"{group.first + i}: " if group.count > 1 else ""
                    parts.append(f"  {label}{', '.join(shown)}")
        return "\n".join(parts)

    def table(self) -> str:
        """The layout as a Markdown table: where, what, range in natural units, how it is stored."""
        lines = ["| place | group | column | natural range | stored as | meaning |", "|---|---|---|---|---|---|"]
        for group in self.groups:
            start = self._offsets[group.name]
            where = f"{start}..{start + group.size - 1}"
            lines.append(f"| {where} | **{group.name}** | {group.width} a line | | | {group.count} x {group.line} |")
            for i, c in enumerate(group.columns):
                lines.append(f"| +{i} | | `{c.name}` | {_range(c)} | {_stored(c)} | {c.meaning} |")
        return "\n".join(lines)

    def _checked(self, observation: NDArray[np.float32]) -> NDArray[np.float64]:
        if isinstance(observation, dict):
            raise ValueError('the vector is wanted, not the whole observation: pass observation["observation"]')
        vector = np.asarray(observation, dtype=np.float64)
        if vector.shape != (self.size,):
            raise ValueError(f"an observation of layout {self.version} has shape ({self.size},), this one {vector.shape}")
        if not ((vector >= 0.0) & (vector <= 1.0)).all():
            raise ValueError("an observation holds numbers from 0 to 1, this one others")
        return vector


def _number(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, np.floating) else str(value)


def _range(column: Column) -> str:
    return "0.." if column.kind == "squashed" else f"0..{column.top:g}"


def _stored(column: Column) -> str:
    if column.kind == "squashed":
        return f"x / (x + {column.top:g})"
    return "x" if column.top == 1 else f"x / {column.top:g}"


@kernel
def normalise(vector: Any, scales: Any, squashed: Any, tops: Any) -> None:
    """Map natural numbers to [0, 1] in place: `vector` (m,) float32, m up to the layout's size.

    A number is multiplied by its column's entry of `scales` (rounding to nearest keeps top * (1 / top) at or below 1). Those at the
    places `squashed`, whose scale is 1, become x / (x + top), with `tops` the tops of these places.
    """
    for j in range(len(vector)):
        vector[j] *= scales[j]
    for i in range(len(squashed)):
        j = squashed[i]
        if j < len(vector):
            vector[j] = vector[j] / (vector[j] + tops[i])
