"""6 nimmt! as a picture: the table, and the hands that the audience may see, drawn without a window or a display."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ...core.cards import to_list
from ...core.drawing import Box, Canvas, Colour, polygon
from . import faces, text
from .rules import winners
from .state import DRAFT, OVER, PICK, PLACE, ROW, SIDE
from .view import cards_held

if TYPE_CHECKING:
    from ...core.drawing import Sprite


@dataclass(frozen=True)
class Theme:
    """The colours of the table. `warning` lies under full rows and nowhere else; a seat has one of `seats` wherever it shows."""

    cloth: Colour = (29, 41, 49)
    lane: Colour = (40, 55, 65)
    lane_edge: Colour = (51, 69, 80)
    slot: Colour = (58, 77, 89)
    warning: Colour = (110, 34, 36)
    warning_edge: Colour = (255, 110, 92)
    strip: Colour = (40, 55, 65)
    asked: Colour = (56, 78, 90)
    ink: Colour = (240, 244, 246)
    dim: Colour = (150, 168, 180)
    gold: Colour = (250, 206, 98)
    took: Colour = (255, 150, 128)
    seats: tuple[Colour, ...] = (
        (96, 176, 255),
        (255, 154, 84),
        (108, 208, 126),
        (250, 122, 142),
        (188, 154, 255),
        (246, 214, 88),
        (72, 208, 202),
        (244, 150, 212),
        (176, 220, 84),
        (210, 178, 148),
    )
    badge_ink: Colour = (22, 30, 36)


THEME: Final = Theme()
WIDTH: Final = 1280
_MARGIN: Final = 24
_TOP: Final = 68  # above it stands the headline
_TABLE_W: Final = 692
_SEATS_X: Final = 748
_SEATS_W: Final = WIDTH - _MARGIN - _SEATS_X
_HEADING: Final = 22  # names of the columns, above the seats
_INFO: Final = 34  # of a seat at least: who, how many heads
_LEAST_STRIP: Final = 66
_GAP: Final = 6
_ROOMY: Final = 120  # above the hand, for the last card to lie there
_FOOT: Final = 44  # the situation
_HEADS_X: Final = 146  # columns, from the left edge of a seat's strip
_MATCH_X: Final = 214
_STEP: Final = 16  # heights are multiples of it, as video codecs have it


def picture(view: Any) -> NDArray[np.uint8]:
    """The table and what `view` (a VIEW record) shows of the hands: (height, 1280, 3) uint8.

    Rows with their cards and bull heads, full ones on the warning colour; the cards of the last turn with their seat's colour and number;
    for each seat its bull heads of the round and of the match, its last card and what that did, and its hand, backs up where the view does
    not show it; in the draft the cards that can be taken. Equal views give equal pictures, and the size follows from the number of
    players alone.
    """
    table = view["table"]
    plan = _plan(*(int(table[name]) for name in ("num_players", "num_rows", "row_capacity", "hand_size", "highest_card")))
    canvas = _cloth(plan).copy()
    _draw_headline(canvas, table)
    if table["phase"] == DRAFT:
        _draw_pool(canvas, plan, view)
    else:
        _draw_rows(canvas, plan, table)
    for seat in range(plan.players):
        _draw_seat(canvas, plan, view, seat)
    _draw_situation(canvas, plan, view)
    return canvas.pixels()


# --- where everything lies -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """Boxes for a number of players and a size of the game; a last card lies in `last` of its seat, and what it did beside it."""

    players: int
    height: int
    table: Box
    lanes: tuple[Box, ...]
    slots: tuple[tuple[Box, ...], ...]  # by row; one more than a row can hold
    pool: tuple[Box, ...]  # by card, from 1
    strips: tuple[Box, ...]
    infos: tuple[Box, ...]
    last: tuple[Box, ...]
    words: tuple[Box, ...]
    hands: tuple[tuple[Box, ...], ...]
    foot: Box


@lru_cache(maxsize=64)
def _plan(players: int, rows: int, capacity: int, hand_size: int, highest_card: int) -> _Plan:
    body = max(544, _HEADING + players * (_LEAST_STRIP + _GAP))
    height = -(-(_TOP + body + 12 + _FOOT + 16) // _STEP) * _STEP
    body = height - _TOP - 12 - _FOOT - 16
    table = Box(_MARGIN, _TOP, _TABLE_W, body)
    lanes = tuple(_lanes(table, rows))
    strips = tuple(_strips(Box(_SEATS_X, _TOP + _HEADING, _SEATS_W, body - _HEADING), players))
    hands = tuple(tuple(_hand(strip, hand_size)) for strip in strips)
    infos = tuple(_info(strip, hand[0].y) for strip, hand in zip(strips, hands, strict=True))
    lasts, words = zip(*(_last_card(strip, hand[0].y) for strip, hand in zip(strips, hands, strict=True)), strict=True)
    return _Plan(
        players=players,
        height=height,
        table=table,
        lanes=lanes,
        slots=tuple(tuple(_slots(lane, capacity)) for lane in lanes),
        pool=tuple(_pool(table, highest_card)),
        strips=strips,
        infos=infos,
        last=lasts,
        words=words,
        hands=hands,
        foot=Box(_MARGIN, height - _FOOT - 14, WIDTH - 2 * _MARGIN, _FOOT),
    )


def _lanes(table: Box, rows: int) -> Iterator[Box]:
    """The rows, in the middle of the table where they do not fill it."""
    gap = 10
    h = min(170, (table.h - (rows - 1) * gap) // rows)
    top = table.y + (table.h - rows * h - (rows - 1) * gap) // 2
    for row in range(rows):
        yield Box(table.x, top + row * (h + gap), table.w, h)


def _slots(lane: Box, capacity: int) -> Iterator[Box]:
    """Places for the cards of a row, and for the card that would be one too many."""
    gap, left, right = 10, 66, 92
    w = min(92, (lane.w - left - right) // (capacity + 1) - gap, round((lane.h - 20) * 0.72))
    h = min(lane.h - 20, round(w * 1.45))
    step = w + gap
    for place in range(capacity + 1):
        yield Box(lane.x + left + place * step, lane.y + (lane.h - h) // 2, w, h)


def _pool(table: Box, cards: int) -> Iterator[Box]:
    """A place for each card of the deck, as large as they all fit."""
    gap = 6

    def size(columns: int) -> int:
        lines = -(-cards // columns)
        return min((table.w + gap) // columns - gap, round(((table.h + gap) // lines - gap) / 1.15), 84)

    columns = max(range(1, cards + 1), key=lambda n: (size(n), -n))
    w = size(columns)
    h = round(w * 1.15)
    lines = -(-cards // columns)
    left = table.x + (table.w - columns * (w + gap) + gap) // 2
    top = table.y + (table.h - lines * (h + gap) + gap) // 2
    for place in range(cards):
        yield Box(left + place % columns * (w + gap), top + place // columns * (h + gap), w, h)


def _strips(area: Box, players: int) -> Iterator[Box]:
    """The seats, one below the other."""
    h = min(240, (area.h + _GAP) // players - _GAP)
    for seat in range(players):
        yield Box(area.x, area.y + seat * (h + _GAP), area.w, h)


def _hand(strip: Box, hand_size: int) -> Iterator[Box]:
    """The cards of a hand, along the lower edge of its strip."""
    gap, room = 3, strip.w - 24
    w = min(54, (room + gap) // hand_size - gap)
    h = min(strip.h - _INFO - 5, round(w * 1.45))
    for place in range(hand_size):
        yield Box(strip.x + 16 + place * (w + gap), strip.y + strip.h - h - 5, w, h)


def _info(strip: Box, hand_y: int) -> Box:
    """Who sits there: above the hand, and above the last card where that has room of its own."""
    room = hand_y - strip.y
    return Box(strip.x, strip.y + 4, strip.w, 40) if room >= _ROOMY else Box(strip.x, strip.y + 2, strip.w, room - 2)


def _last_card(strip: Box, hand_y: int) -> tuple[Box, Box]:
    """Where the last card of a seat lies, and the words to it: before the hand if there is room, else beside the name."""
    info = _info(strip, hand_y)
    if info.y + info.h < hand_y - 20:
        room = hand_y - info.y - info.h
        h = min(100, room - 14)
        w, y = round(h / 1.45), info.y + info.h + (room - h) // 2
        return Box(strip.x + 16, y, w, h), Box(strip.x + 30 + w, y, strip.w - w - 46, h)
    h = min(60, info.h - 8)
    w = max(40, round(h / 1.45))
    return Box(strip.x + 274, info.y + (info.h - h) // 2, w, h), Box(strip.x + 284 + w, info.y, strip.w - w - 292, info.h)


# --- drawing -------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def _cloth(plan: _Plan) -> Canvas:
    """What no view changes."""
    canvas = Canvas(WIDTH, plan.height, THEME.cloth)
    heading = Box(_SEATS_X, _TOP, _SEATS_W, _HEADING - 4)
    beside = plan.last[0].y < plan.infos[0].y + plan.infos[0].h
    for x, w, words in ((_HEADS_X, 60, "heads"), (_MATCH_X, 56, "match"), *([(274, 120, "last card")] if beside else [])):
        canvas.text(heading.part(x, w), words, 14, THEME.dim)
    return canvas


def _draw_headline(canvas: Canvas, table: Any) -> None:
    name, when, variant = text.headline(table)
    wide = canvas.text(Box(_MARGIN, 14, 200, 40), name, 32, THEME.gold, bold=True)
    x = _MARGIN + wide + 22
    wide = canvas.text(Box(x, 18, 560, 36), when, 22, THEME.ink)
    x += wide + 22
    canvas.text(Box(x, 18, WIDTH - _MARGIN - x, 36), variant, 18, THEME.dim, "right")


def _draw_rows(canvas: Canvas, plan: _Plan, table: Any) -> None:
    owners = _fresh(table)
    for row, lane in enumerate(plan.lanes):
        length, heads = int(table["row_len"][row]), int(table["row_heads"][row])
        full = length == table["row_capacity"]
        _draw_lane(canvas, lane, row, heads, full)
        for place, box in enumerate(plan.slots[row]):
            if place < length:
                card = int(table["rows"][row, place])
                _draw_card(canvas, box, card, owners.get(card))
            elif place < len(plan.slots[row]) - 1:
                canvas.panel(box, 8, None, THEME.slot, 2)
            elif full:
                canvas.panel(box, 8, None, THEME.warning_edge, 2, dashed=True)
                size = box.w // 2
                canvas.paste(faces.bull(size, THEME.warning_edge), box.x + (box.w - size) // 2, box.y + (box.h - size) // 2)


def _fresh(table: Any) -> dict[int, int]:
    """The cards in the rows that were played in the last turn, and by which seats; none when the rows were dealt since."""
    if table["turn"] == 0 and table["phase"] in (DRAFT, PICK):
        return {}
    return {int(card): seat for seat, card in enumerate(table["last"]) if card}


def _draw_lane(canvas: Canvas, lane: Box, row: int, heads: int, full: bool) -> None:
    if full:
        canvas.panel(lane, 12, THEME.warning, THEME.warning_edge, 2)
    else:
        canvas.panel(lane, 12, THEME.lane, THEME.lane_edge, 1)
    canvas.text(lane.part(14, 50), f"row {row}", 17, THEME.ink if full else THEME.dim)
    size = 24
    middle = lane.y + lane.h // 2 - (12 if full else 0)
    canvas.paste(faces.bull(size, THEME.warning_edge if full else THEME.dim), lane.x + lane.w - 82, middle - size // 2)
    canvas.text(Box(lane.x + lane.w - 52, middle - 20, 44, 40), str(heads), 26, THEME.ink, bold=True)
    if full:
        canvas.text(Box(lane.x + lane.w - 82, middle + 14, 74, 24), "full", 18, THEME.warning_edge, bold=True)


def _draw_card(canvas: Canvas, box: Box, card: int, seat: int | None = None) -> None:
    """A card face up; with the colour and the number of the seat that has just played it."""
    if seat is not None:
        canvas.panel(box.inset(-4), 11, THEME.seats[seat])
    canvas.paste(faces.face(card, box.w, box.h), box.x, box.y)
    if seat is not None:
        _draw_badge(canvas, Box(box.x + box.w - 16, box.y - 8, 24, 24), seat)


def _draw_badge(canvas: Canvas, box: Box, seat: int) -> None:
    canvas.panel(box, box.h // 2, THEME.seats[seat], THEME.badge_ink, 2)
    canvas.text(box, str(seat), round(box.h * 0.62), THEME.badge_ink, "centre", bold=True)


def _draw_pool(canvas: Canvas, plan: _Plan, view: Any) -> None:
    """The cards that can still be drafted, each at its place."""
    left = set(text.pool(view))
    for card, box in enumerate(plan.pool, 1):
        if card in left:
            canvas.paste(faces.face(card, box.w, box.h), box.x, box.y)
        else:
            canvas.panel(box, 5, None, THEME.lane_edge, 1)


def _draw_seat(canvas: Canvas, plan: _Plan, view: Any, seat: int) -> None:
    table, strip, colour = view["table"], plan.strips[seat], THEME.seats[seat]
    if text.is_asked(view, seat):
        canvas.panel(strip, 9, THEME.asked, colour, 2)
        _draw_mark(canvas, strip, colour)
    else:
        won = table["phase"] == OVER and seat in winners(table["totals"][: plan.players].tolist())
        canvas.panel(strip, 9, THEME.strip, THEME.gold if won else THEME.lane_edge, 2 if won else 1)
    canvas.panel(Box(strip.x + 5, strip.y + 6, 4, strip.h - 12), 2, colour)
    line = plan.infos[seat]
    middle = line.y + line.h // 2
    _draw_badge(canvas, Box(strip.x + 16, middle - 12, 24, 24), seat)
    canvas.text(line.part(47, _HEADS_X - 51), text.seat_name(seat), 18, THEME.ink, bold=True)
    canvas.paste(faces.bull(18, THEME.dim), strip.x + _HEADS_X, middle - 9)
    canvas.text(line.part(_HEADS_X + 23, 40), str(int(table["penalties"][seat])), 20, THEME.ink, bold=True)
    canvas.text(line.part(_MATCH_X, 56), str(int(table["totals"][seat])), 19, THEME.dim)
    _draw_last(canvas, plan, table, seat)
    _draw_hand(canvas, plan, view, seat)


def _draw_mark(canvas: Canvas, strip: Box, colour: Colour) -> None:
    """An arrow that points to a seat which is to act."""
    canvas.paste(_arrow(colour), strip.x - 22, strip.y + strip.h // 2 - 10)


@lru_cache(maxsize=16)
def _arrow(colour: Colour) -> Sprite:
    return polygon(16, 20, [(colour, ((0.05, 0.0), (1.0, 0.5), (0.05, 1.0)))])


def _draw_last(canvas: Canvas, plan: _Plan, table: Any, seat: int) -> None:
    """The card played last, and what became of it; one that is still to be placed has the seat's colour around it."""
    card, box = int(table["last"][seat]), plan.last[seat]
    if not card:
        return
    if table["landed"][seat] == 0 and table["phase"] in (PLACE, ROW, SIDE):
        canvas.panel(box.inset(-3), 6, THEME.seats[seat])
    canvas.paste(faces.face(card, box.w, box.h), box.x, box.y)
    colour = THEME.took if table["took"][seat] else THEME.ink
    canvas.text(plan.words[seat], text.outcome(table, seat), 16 if box.h < 61 else 20, colour)


def _draw_hand(canvas: Canvas, plan: _Plan, view: Any, seat: int) -> None:
    cards = to_list(view["hands"][seat]) if view["open"] else to_list(view["hand"]) if seat == view["seat"] else None
    if cards is None:
        for box in plan.hands[seat][: int(cards_held(view["table"], seat))]:
            canvas.paste(faces.back(box.w, box.h), box.x, box.y)
    else:
        for card, box in zip(cards, plan.hands[seat], strict=False):
            canvas.paste(faces.face(card, box.w, box.h), box.x, box.y)


def _draw_situation(canvas: Canvas, plan: _Plan, view: Any) -> None:
    over = view["table"]["phase"] == OVER
    canvas.panel(plan.foot, 10, THEME.lane, THEME.gold if over else THEME.lane_edge, 2 if over else 1)
    canvas.text(plan.foot.inset(20, 0), text.situation(view), 22, THEME.gold if over else THEME.ink, "centre")
