"""The cards of 6 nimmt! as sprites: faces, backs, empty places, and the bull's head that counts."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ...core.drawing import Box, Colour, fitting, layered, panel, polygon, text_width, written
from .rules import HEADS

if TYPE_CHECKING:
    from ...core.drawing import Sprite

# Bull heads of a card: (face, number, heads).
COLOURS: Final[dict[int, tuple[Colour, Colour, Colour]]] = {
    1: ((246, 243, 234), (38, 48, 58), (140, 148, 156)),
    2: (((58, 128, 204)), (255, 255, 255), (205, 226, 250)),
    3: ((240, 166, 50), (52, 34, 8), (122, 74, 6)),
    5: ((206, 58, 56), (255, 255, 255), (255, 208, 196)),
    7: ((112, 58, 160), (255, 222, 110), (255, 222, 110)),
}
_RIM: Final[Colour] = (255, 254, 250)
_SHADOW: Final[Colour] = (0, 0, 0, 70)
_BACK: Final[Colour] = (66, 84, 108)
_BACK_INK: Final[Colour] = (116, 138, 166)

_SKULL: Final = ((0.30, 0.28), (0.70, 0.28), (0.74, 0.52), (0.62, 0.96), (0.38, 0.96), (0.26, 0.52))
_LEFT_HORN: Final = ((0.05, 0.02), (0.02, 0.24), (0.12, 0.44), (0.30, 0.50), (0.34, 0.30), (0.20, 0.26), (0.12, 0.16))
_RIGHT_HORN: Final = tuple((1 - x, y) for x, y in _LEFT_HORN)


@lru_cache(maxsize=64)
def bull(size: int, colour: Colour) -> Sprite:
    """A bull's head, `size` pixels wide and high."""
    return polygon(size, size, [(colour, shape) for shape in (_SKULL, _LEFT_HORN, _RIGHT_HORN)])


@lru_cache(maxsize=2048)
def face(card: int, w: int, h: int) -> Sprite:
    """A card face up: its number, below it its bull heads, its colour by their number. The shadow lies within `w` x `h`."""
    heads = int(HEADS[card])
    paper, ink, colour = COLOURS[heads]
    size = _pip_size(w, h)
    lines = _pip_lines(heads, w, size)
    low = h - 1 - _edge(h) - len(lines) * size  # where the heads begin
    layers = _blank(w, h, paper)
    layers.append(_number(card, Box(0, _edge(h), w - 1, low - _edge(h)), ink))
    for line, count in enumerate(lines):
        left = (w - 1 - count * size) // 2
        layers += [(_pip(size, colour), left + place * size, low + line * size) for place in range(count)]
    return layered(w, h, layers)


@lru_cache(maxsize=64)
def back(w: int, h: int) -> Sprite:
    """A card face down."""
    size = max(6, min(w, h) // 2)
    layers = _blank(w, h, _BACK, _BACK_INK)
    layers.append((bull(size, _BACK_INK), (w - 1 - size) // 2, (h - 1 - size) // 2))
    return layered(w, h, layers)


# --- parts ---------------------------------------------------------------------------------------------------------------


def _blank(w: int, h: int, paper: Colour, rim: Colour = _RIM) -> list[tuple[Sprite, int, int]]:
    """A card with a light rim and a shadow to the lower right."""
    radius = max(3, min(w, h) // 9)
    width = 2 if min(w, h) < 56 else 3
    return [(panel(w - 1, h - 2, radius, _SHADOW), 1, 2), (panel(w - 1, h - 1, radius, paper, rim, width), 0, 0)]


def _edge(h: int) -> int:
    """Between the border and what is printed."""
    return 3 if h < 56 else 6


def _pip_size(w: int, h: int) -> int:
    """Five in a line fit, and they leave most of the height to the number."""
    return max(4, min(w // 6, h // 6))


def _pip_lines(heads: int, w: int, size: int) -> list[int]:
    """How many bull heads stand in each line: one line, two where one is too long."""
    return [heads] if heads * size <= w - 5 else [heads - heads // 2, heads // 2]


def _pip(size: int, colour: Colour) -> Sprite:
    """A bull's head, a dot where that would be a smudge."""
    return bull(size, colour) if size >= 7 else layered(size, size, [(panel(size - 1, size - 1, size // 2, colour), 0, 0)])


def _number(card: int, box: Box, ink: Colour) -> tuple[Sprite, int, int]:
    """The number in the middle of `box`, all of one and two digits in one size."""
    size = fitting(f"{card:02}", round(box.h * 1.06), round(box.w * 0.8), bold=True)
    words = str(card)
    return written(words, size, ink, True), box.x + (box.w - text_width(words, size, True)) // 2, box.y + (box.h - size) // 2
