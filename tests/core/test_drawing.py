"""Drawing without a display: what shapes cover, how wide words are, and that they fit."""

from __future__ import annotations

import numpy as np
import pytest

from sixnimmt_env.core.drawing import Box, Canvas, fitting, layered, panel, polygon, text_width, written

CLOTH, INK, LINE = (10, 20, 30), (240, 230, 220), (200, 40, 60)


def drawn(canvas: Canvas) -> tuple[int, int, int, int]:
    """(left, top, right, bottom) of what is no longer cloth; right and bottom are beyond it."""
    ys, xs = np.nonzero((canvas.pixels() != CLOTH).any(axis=2))
    return int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1


@pytest.mark.parametrize("dashed", [False, True])
@pytest.mark.parametrize(("radius", "width"), [(0, 1), (5, 2), (12, 3)])
def test_a_panel_fills_its_box_and_no_more(radius: int, width: int, dashed: bool) -> None:
    canvas, box = Canvas(80, 60, CLOTH), Box(10, 8, 51, 37)
    canvas.panel(box, radius, INK, LINE, width, dashed)
    assert drawn(canvas) == (10, 8, 61, 45)
    assert canvas.pixels()[26, 35].tolist() == [*INK]
    border = (canvas.pixels()[8 + width // 2, 22:50] == LINE).all(axis=1)
    assert border.any()
    assert border.all() != dashed


def test_corners_are_round_and_smooth() -> None:
    alpha = np.asarray(panel(40, 40, 12, INK))[:, :, 3]
    assert alpha[0, 0] == 0
    assert alpha[20, 20] == 255
    assert len(np.unique(alpha)) > 5


def test_a_polygon_keeps_its_colours() -> None:
    pixels = np.asarray(polygon(20, 20, [(INK, [(0, 0), (1, 0), (1, 1), (0, 1)]), (LINE, [(0, 0), (0.5, 0), (0.5, 1), (0, 1)])]))
    assert pixels[10, 4].tolist() == [*LINE, 255]
    assert pixels[10, 16].tolist() == [*INK, 255]


def test_layers_lie_over_each_other() -> None:
    pixels = np.asarray(layered(30, 20, [(panel(20, 20, 0, INK), 0, 0), (panel(10, 10, 0, LINE), 5, 5)]))
    assert [pixels[y, x].tolist() for y, x in ((1, 1), (7, 7), (1, 29))] == [[*INK, 255], [*LINE, 255], [0, 0, 0, 0]]


@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize("size", [10, 18, 40])
@pytest.mark.parametrize("words", ["1", "104", "player_9", "took 13 heads", "55⁷ and 10³", "(standard deck, professional)"])
def test_words_are_as_wide_as_is_said(words: str, size: int, bold: bool) -> None:
    for align in ("left", "centre", "right"):
        canvas, box = Canvas(1000, 80, CLOTH), Box(20, 10, 960, 60)
        wide = canvas.text(box, words, size, INK, align, bold)
        assert wide == text_width(words, size, bold) <= box.w
        left = {"left": 20, "centre": 20 + (960 - wide) // 2, "right": 980 - wide}[align]
        begin, top, end, bottom = drawn(canvas)
        assert left - 1 <= begin < end <= left + wide + 1, "a hairline may stand out"
        assert wide - size * 0.3 <= end - begin
        assert 40 - size <= top < bottom <= 40 + size


@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize("width", [30, 60, 120, 240])
def test_words_become_smaller_until_they_fit(width: int, bold: bool) -> None:
    size = fitting("player_3", 40, width, bold)
    assert text_width("player_3", size, bold) <= width or size == 7
    assert size == 40 or text_width("player_3", size + 1, bold) > width


def test_raised_digits_are_smaller_and_other_words_are_not() -> None:
    assert text_width("55⁷", 30) < text_width("557", 30)
    assert np.array_equal(np.asarray(written("55", 30, INK)), np.asarray(written("55", 30, INK)))


def test_a_copy_is_another_picture() -> None:
    canvas = Canvas(20, 20, CLOTH)
    twin = canvas.copy()
    twin.panel(Box(0, 0, 20, 20), 0, INK)
    assert (canvas.pixels() == CLOTH).all()
    assert canvas.pixels().flags.writeable
    assert canvas.pixels().dtype == np.uint8


def test_boxes() -> None:
    assert Box(10, 20, 100, 50).inset(5) == Box(15, 25, 90, 40)
    assert Box(10, 20, 100, 50).inset(5, 0) == Box(15, 20, 90, 50)
    assert Box(10, 20, 100, 50).part(30, 40) == Box(40, 20, 40, 50)
