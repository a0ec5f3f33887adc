"""Drawing without a window or a display: panels, polygons, text and cached sprites on a canvas, over Pillow.

Pillow is imported when the first canvas is made, so that importing a game costs nothing for it. All edges are smooth: shapes are
drawn larger than they are shown. Drawing is deterministic; the font is the one built into Pillow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import Image, ImageFont

    Sprite = Image.Image

Colour = tuple[int, ...]
"""Red, green, blue and, for sprites, opacity: 0..255 each."""
Align = Literal["left", "centre", "right"]

SMOOTH: Final = 4  # shapes are drawn this many times as large
_SMALLEST: Final = 7  # type size in pixels below which nothing is legible
_BASE: Final = 0.86  # where the line stands on which letters are written, in type sizes from the top
_RAISED: Final = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_PLAIN: Final = str.maketrans(_RAISED, "0123456789")


class Box(NamedTuple):
    """A rectangle in pixels: left and top edge, width and height."""

    x: int
    y: int
    w: int
    h: int

    def inset(self, dx: int, dy: int | None = None) -> Box:
        """The box without a margin of `dx` at the sides and `dy` (default: `dx`) above and below."""
        dy = dx if dy is None else dy
        return Box(self.x + dx, self.y + dy, self.w - 2 * dx, self.h - 2 * dy)

    def part(self, x: int, w: int) -> Box:
        """The column `w` wide that starts `x` from the left edge."""
        return Box(self.x + x, self.y, w, self.h)


class Canvas:
    """A picture in the making, (height, width) pixels of `colour`."""

    def __init__(self, width: int, height: int, colour: Colour) -> None:
        from PIL import Image

        self.image = Image.new("RGB", (width, height), colour)

    def copy(self) -> Canvas:
        """Another canvas with the same picture."""
        twin = object.__new__(Canvas)
        twin.image = self.image.copy()
        return twin

    def pixels(self) -> NDArray[np.uint8]:
        """The picture, (height, width, 3) uint8, as an array of its own."""
        return np.array(self.image, dtype=np.uint8)

    def paste(self, sprite: Sprite, x: int, y: int) -> None:
        """Lay a sprite on the picture, its upper left corner at (x, y)."""
        self.image.paste(sprite, (x, y), sprite)

    def panel(self, box: Box, radius: int, fill: Colour | None, line: Colour | None = None, width: int = 0, dashed: bool = False) -> None:
        """A rectangle with round corners, with a border of `width` pixels inside it."""
        self.paste(panel(box.w, box.h, radius, fill, line, width, dashed), box.x, box.y)

    def text(self, box: Box, words: str, size: int, colour: Colour, align: Align = "left", bold: bool = False) -> int:
        """Write one line into the middle of `box`, smaller than `size` if it is too long; returns its width. Raised digits are small."""
        size = fitting(words, size, box.w, bold)
        wide = text_width(words, size, bold)
        x = box.x + {"left": 0, "centre": (box.w - wide) // 2, "right": box.w - wide}[align]
        y = box.y + (box.h - size) // 2
        for part, raised in _runs(words):
            type_size = _raised_size(size) if raised else size
            self.paste(written(part, type_size, colour, bold), x, y)
            x += _advance(part, type_size, bold)
        return wide


def text_width(words: str, size: int, bold: bool = False) -> int:
    """Width in pixels of `words` in type of `size` pixels."""
    return sum(_advance(part, _raised_size(size) if raised else size, bold) for part, raised in _runs(words))


def fitting(words: str, size: int, width: int, bold: bool = False) -> int:
    """The largest type size, at most `size`, in which `words` are at most `width` pixels wide; never too small to read."""
    while size > _SMALLEST and text_width(words, size, bold) > width:
        size -= 1
    return size


@lru_cache(maxsize=1024)
def panel(w: int, h: int, radius: int, fill: Colour | None, line: Colour | None = None, width: int = 0, dashed: bool = False) -> Sprite:
    """The sprite of `Canvas.panel`."""
    from PIL import Image, ImageDraw

    image = Image.new("RGBA", (w * SMOOTH, h * SMOOTH))
    edge = (w * SMOOTH - 1, h * SMOOTH - 1)
    solid = None if dashed else line
    ImageDraw.Draw(image).rounded_rectangle((0, 0, *edge), radius * SMOOTH, fill, solid, width * SMOOTH if solid else 0)
    if dashed and line is not None:
        _dash(image, radius * SMOOTH, line, width * SMOOTH)
    return image.reduce(SMOOTH)


def polygon(w: int, h: int, shapes: Sequence[tuple[Colour, Sequence[tuple[float, float]]]]) -> Sprite:
    """A sprite of filled polygons; the corners are fractions of width and height."""
    from PIL import Image, ImageDraw

    image = Image.new("RGBA", (w * SMOOTH, h * SMOOTH))
    draw = ImageDraw.Draw(image)
    for colour, corners in shapes:
        draw.polygon([(x * w * SMOOTH, y * h * SMOOTH) for x, y in corners], fill=colour)
    return image.reduce(SMOOTH)


def layered(w: int, h: int, layers: Sequence[tuple[Sprite, int, int]]) -> Sprite:
    """One sprite of several, each at its place (x, y)."""
    from PIL import Image

    image = Image.new("RGBA", (w, h))
    for sprite, x, y in layers:
        image.alpha_composite(sprite, (x, y))
    return image


@lru_cache(maxsize=4096)
def written(words: str, size: int, colour: Colour, bold: bool = False) -> Sprite:
    """A line of plain words as a sprite: capitals in the middle of the upper `size` pixels, below that what hangs under the line."""
    from PIL import Image, ImageDraw

    # Bold letters are plain ones with a line around them, since the font has one weight; that takes parts of a pixel.
    scale = SMOOTH if bold else 1
    line = _line(size) if bold else 0
    image = Image.new("RGBA", (scale * (_advance(words, size, bold) + 1), scale * (size + size // 2)), (*colour[:3], 0))
    place = (line, scale * size * _BASE)
    ImageDraw.Draw(image).text(place, words, colour, _font(size * scale), anchor="ls", stroke_width=line)
    return image.reduce(scale) if bold else image


# --- parts ---------------------------------------------------------------------------------------------------------------


def _dash(image: Sprite, radius: int, line: Colour, width: int) -> None:
    """Draw a broken border into `image`."""
    from PIL import Image, ImageDraw

    border = Image.new("L", image.size)
    ImageDraw.Draw(border).rounded_rectangle((0, 0, image.width - 1, image.height - 1), radius, None, 255, width)
    # A pattern of slanted bars, which cuts the border into pieces of the same length on all four sides.
    x, y = np.meshgrid(np.arange(image.width), np.arange(image.height))
    period = 5 * width
    bars = ((x + y) % period < 3 * width).astype(np.uint8)
    image.paste(line, (0, 0), Image.fromarray(np.asarray(border) * bars))


def _runs(words: str) -> list[tuple[str, bool]]:
    """The pieces of `words`, and whether each is of raised digits, given as plain ones."""
    return [("".join(run).translate(_PLAIN), raised) for raised, run in groupby(words, _RAISED.__contains__)]


def _raised_size(size: int) -> int:
    return max(_SMALLEST, round(size * 0.62))


@lru_cache(maxsize=64)
def _font(size: int) -> ImageFont.FreeTypeFont:
    from PIL import ImageFont

    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont), "Pillow was built without FreeType, which every wheel of it has"
    return font


def _line(size: int) -> int:
    """Width of the line around bold letters, in parts of a pixel."""
    return max(1, round(size * SMOOTH / 45))


@lru_cache(maxsize=4096)
def _advance(words: str, size: int, bold: bool) -> int:
    if bold:
        return math.ceil((_font(size * SMOOTH).getlength(words) + 2 * _line(size)) / SMOOTH)
    return math.ceil(_font(size).getlength(words))
