"""The layout of observations: storing and decoding are inverse, and what it says about itself is true."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sixnimmt_env.core.layout import Column, Group, Layout, normalise

SEATS = Group("seats", 3, "seat, from mine", (Column("cards", 10, "cards left"), Column("heads", 50, "heads so far", "squashed")))
TURN = Group("turn", 1, "the turn", (Column("chance", 1, "chance to take", "real"), Column("open", 1, "hands are open")))
LAYOUT = Layout(7, [SEATS, TURN])
NATURAL = [3, 50, 0, 0, 10, 7, 0.25, 1]


def stored(layout: Layout, natural: Any) -> NDArray[np.float32]:
    """One observation of natural numbers in the order of the vector."""
    vectors = np.array([natural], dtype=np.float32)
    for vector in vectors:
        normalise(vector, layout.scales, layout.squashed, layout.squashed_tops)
    return vectors[0]


def columns_of(layout: Layout) -> list[Column]:
    """The column of each number of the vector."""
    return [column for group in layout.groups for _ in range(group.count) for column in group.columns]


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    names = (f"name{i}" for i in itertools.count())
    tops = st.integers(1, 2**16).map(float)

    def column() -> Column:
        return Column(next(names), draw(tops), "a number", draw(st.sampled_from(["integer", "real", "squashed"])))

    def group() -> Group:
        return Group(next(names), draw(st.integers(1, 4)), "a line", tuple(column() for _ in range(draw(st.integers(1, 4)))))

    return Layout(1, [group() for _ in range(draw(st.integers(1, 4)))])


def natural_numbers(column: Column) -> st.SearchStrategy[float]:
    if column.kind == "real":
        return st.floats(0, column.top, width=32)
    return st.integers(0, int(column.top) if column.kind == "integer" else 8 * int(column.top)).map(float)


@settings(deadline=None)
@given(data=st.data(), layout=layouts())
def test_decode_inverts_storing(data: st.DataObject, layout: Layout) -> None:
    columns = columns_of(layout)
    natural = [data.draw(natural_numbers(column)) for column in columns]
    vector = stored(layout, natural)
    assert layout.space().contains(vector)
    decoded = layout.decode(vector)
    values = [decoded[group.name][c.name][line] for group in layout.groups for line in range(group.count) for c in group.columns]
    for column, value, expected in zip(columns, values, natural, strict=True):
        if column.kind == "real":
            assert value == pytest.approx(expected, rel=1e-6)
        else:
            assert isinstance(value, np.integer)
            assert value == expected


@settings(deadline=None)
@given(layout=layouts())
def test_bounds_are_reached(layout: Layout) -> None:
    tops = [column.top for column in columns_of(layout)]
    ends = [0.5 if column.kind == "squashed" else 1.0 for column in columns_of(layout)]
    assert stored(layout, tops) == pytest.approx(ends, abs=1e-6)
    assert stored(layout, np.zeros(layout.size)).tolist() == [0.0] * layout.size
    for vector in (np.zeros(layout.size), np.ones(layout.size)):  # whatever is in the space can be decoded and explained
        assert layout.explain(vector.astype(np.float32))


@settings(deadline=None)
@given(layout=layouts(), batch=st.lists(st.integers(1, 3), max_size=2))
def test_places(layout: Layout, batch: list[int]) -> None:
    vector = np.arange(layout.size)
    parts = []
    for group in layout.groups:
        assert layout[group.name] is group
        part = layout.lines(vector, group.name)
        assert part.shape == (group.count, group.width)
        assert part.ravel().tolist() == list(range(layout.offset(group.name), layout.end(group.name)))
        parts.append(part.ravel())
    assert np.concatenate(parts).tolist() == vector.tolist()
    observations = np.zeros((*batch, layout.size))
    first = layout.groups[0]
    lines = layout.lines(observations, first.name)
    assert lines.shape == (*batch, first.count, first.width)
    assert np.shares_memory(lines, observations)


def test_part_of_the_vector_is_stored_like_the_whole() -> None:
    whole = stored(LAYOUT, NATURAL)
    for size in range(LAYOUT.size + 1):
        assert stored(LAYOUT, NATURAL[:size]).tolist() == whole[:size].tolist()


def test_space() -> None:
    space = LAYOUT.space()
    assert (space.shape, space.dtype, space.low.min(), space.high.max()) == ((8,), np.float32, 0, 1)
    assert space.contains(stored(LAYOUT, NATURAL))
    assert not space.contains(np.array(NATURAL, dtype=np.float32))
    assert LAYOUT.space() is not space


def test_indices() -> None:
    places = SEATS.indices()
    assert (places.cards, places.heads, len(places)) == (0, 1, 2)


def test_explain() -> None:
    lines = [line.split() for line in LAYOUT.explain(stored(LAYOUT, NATURAL)).splitlines()]
    assert lines == [
        ["seats", "(seat,", "from", "mine)"],
        ["0:", "cards", "3,", "heads", "50"],
        ["2:", "cards", "10,", "heads", "7"],
        ["turn", "(the", "turn)"],
        ["chance", "0.25,", "open", "1"],
    ]


def test_table() -> None:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in LAYOUT.table().splitlines()]
    assert rows == [
        ["place", "group", "column", "natural range", "stored as", "meaning"],
        ["---"] * 6,
        ["0..5", "**seats**", "2 a line", "", "", "3 x seat, from mine"],
        ["+0", "", "`cards`", "0..10", "x / 10", "cards left"],
        ["+1", "", "`heads`", "0..", "x / (x + 50)", "heads so far"],
        ["6..7", "**turn**", "2 a line", "", "", "1 x the turn"],
        ["+0", "", "`chance`", "0..1", "x", "chance to take"],
        ["+1", "", "`open`", "0..1", "x", "hands are open"],
    ]


@pytest.mark.parametrize("shape", [(), (0,), (7,), (9,), (1, 8), (8, 1), (2, 8)])
@pytest.mark.parametrize("act", [LAYOUT.decode, LAYOUT.explain], ids=["decode", "explain"])
def test_wrong_shape(shape: tuple[int, ...], act: Callable[[NDArray[np.float32]], object]) -> None:
    with pytest.raises(ValueError, match=r"observation of layout 7 has shape \(8,\), this one") as caught:
        act(np.zeros(shape, dtype=np.float32))
    assert str(caught.value).endswith(str(shape))


def test_unknown_group() -> None:
    with pytest.raises(KeyError, match="no group 'rows' in the observation: there are seats, turn"):
        LAYOUT["rows"]
    for act in (LAYOUT.offset, LAYOUT.end, lambda name: LAYOUT.lines(np.zeros(8), name)):
        with pytest.raises(KeyError, match="rows"):
            act("rows")
