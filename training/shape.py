"""The size of a network, without torch: configurations and files name it before a network is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from sixnimmt_env.games.sixnimmt import LAYOUT
from sixnimmt_env.games.sixnimmt.features import COMPACT_SIZE

KINDS: Final = {"scorer": ("hidden", "layers", "draft"), "attention": ("hidden", "layers", "draft", "heads")}
"""The kinds of network, and what tells the size of each."""
MOST: Final = {"hidden": 1024, "layers": 8, "heads": 64}
"""The largest sizes; the smallest are 1."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Kind and size of a network.

    Args:
        hidden: units a layer.
        layers: layers of the card scorer, or of attention, 1 or more.
        draft: whether it can draft; it then reads whole observations instead of compact ones.
        kind: one of `KINDS`.
        heads: of attention, which share the units; a scorer has none.

    Raises:
        ValueError: the kind is unknown, or the heads cannot share the units equally.
    """

    hidden: int = 64
    layers: int = 2
    draft: bool = False
    kind: str = "scorer"
    heads: int = 2

    def __post_init__(self) -> None:
        if "heads" in sizes_of(self.kind) and (problem := heads_problem(self.hidden, self.heads)):
            raise ValueError(f"network heads={self.heads} {problem}")

    @property
    def observation_size(self) -> int:
        """Numbers of the observation that the network reads, from the first on."""
        return LAYOUT.size if self.draft else COMPACT_SIZE

    def as_dict(self) -> dict[str, Any]:
        """The shape as plain data."""
        return {"kind": self.kind, **{name: getattr(self, name) for name in sizes_of(self.kind)}}


def sizes_of(kind: object) -> tuple[str, ...]:
    """What tells the size of a network of that kind, as `KINDS` has it; `ValueError` for what is no kind."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"network kind {kind!r} is unknown: this program knows {' and '.join(map(repr, KINDS))}")
    return KINDS[kind]


def heads_problem(hidden: int, heads: int) -> str:
    """Why `heads` heads of attention cannot share `hidden` units; "" if they can."""
    if hidden % heads == 0:
        return ""
    allowed = ", ".join(str(number) for number in range(1, MOST["heads"] + 1) if hidden % number == 0)
    return f"must divide hidden={hidden}: {allowed}"
