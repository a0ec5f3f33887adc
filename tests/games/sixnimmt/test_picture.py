"""The picture of the table: everything that the view shows is in it, nothing that it hides, and all in its place."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sixnimmt_env.core import drawing
from sixnimmt_env.core.cards import from_list
from sixnimmt_env.core.drawing import Box
from sixnimmt_env.games.sixnimmt import GAME, Rules, engine, faces, picture, state, story, table_view, text, view
from sixnimmt_env.games.sixnimmt.picture import THEME
from sixnimmt_env.games.sixnimmt.rules import HEADS
from sixnimmt_env.games.sixnimmt.state import ACTION_ROW, DRAFT, OVER, PICK, PLACE, ROW, SIDE
from tests.games.sixnimmt.playing import KINDS, SMALL, content, in_phase, name_of, views_of, walk

TABLES = [
    Rules(num_players=players, deck=deck, professional=professional)
    for (deck, professional), players in zip(KINDS, (2, 3, 4, 6, 8, 10), strict=True)
]
MATCH = Rules(num_players=4, rounds=None, target=66)


def drawn(shown: Any) -> NDArray[np.uint8]:
    return GAME.picture(shown)


def sampled(rules: Rules, every: int, seed: int = 1) -> Iterator[tuple[NDArray[np.void], int]]:
    """(one game, a seat) at every so many moments of a match in random play, and at its end."""
    for moment, states in enumerate(walk(rules, 1, seed)):
        if moment % every == 0 or states["table"]["phase"][0] == OVER:
            yield states, moment % rules.num_players


def has(pixels: NDArray[np.uint8], colour: tuple[int, ...]) -> bool:
    candidates = pixels[pixels[:, :, 0] == colour[0]]
    return bool((candidates == colour).all(axis=1).any())


# --- what is drawn -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [*TABLES, *SMALL[::3]], ids=name_of)
def test_pictures_of_a_variant_are_of_one_size_and_depend_on_the_view_alone(rules: Rules) -> None:
    shapes = set()
    for states, seat in sampled(rules, 25 if rules.deck == "logic" else 9):
        for reveal in (view.reveal, view.reveal_all):
            shown = views_of(states, [0], [seat], reveal)
            before = content(shown)
            pixels = drawn(shown[0])
            assert pixels.dtype == np.uint8
            assert pixels.flags.c_contiguous
            assert pixels.flags.writeable
            assert np.array_equal(pixels, drawn(shown.copy()[0]))
            assert np.array_equal(content(shown), before)
            shapes.add(pixels.shape)
    [(height, width, channels)] = shapes
    assert (width, channels) == (1280, 3)
    assert height % 16 == 0, "as video codecs have it"


def set_to(*path: Any, value: Any) -> Callable[[np.void], None]:
    """Change one field of a view."""

    def change(shown: np.void) -> None:
        place: Any = shown
        for name in path[:-1]:
            place = place[name]
        assert np.any(place[path[-1]] != value), "that is how it was"
        place[path[-1]] = value

    return change


CHANGES: dict[str, Callable[[np.void], None]] = {
    "a card in a row": set_to("table", "rows", (0, 0), value=17),
    "the length of a row": set_to("table", "row_len", 3, value=2),
    "heads of a row": set_to("table", "row_heads", 2, value=20),
    "heads of a seat": set_to("table", "penalties", 1, value=20),
    "a total": set_to("table", "totals", 3, value=55),
    "a last card": set_to("table", "last", 2, value=97),
    "where it went": set_to("table", "landed", 2, value=1),
    "that it is still to be placed": set_to("table", "landed", 2, value=0),
    "what it took": set_to("table", "took", 2, value=9),
    "the turn": set_to("table", "turn", value=8),
    "the round": set_to("table", "round_index", value=3),
    "the target": set_to("table", "target", value=50),
    "the deck": set_to("table", "deck", value=1),
    "the sides": set_to("table", "professional", value=1),
    "how the match ends": set_to("table", "exceed_target", value=1),
    "the phase": set_to("table", "phase", value=PLACE),
    "the end": set_to("table", "phase", value=OVER),
    "who is asked": set_to("table", "actor", value=3),
    "that the seat decides": set_to("deciding", value=0),
    "whose view it is": set_to("seat", value=2),
    "the hand": set_to("hand", value=from_list([1, 2])),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_whatever_the_view_shows_is_in_the_picture(change: Callable[[np.void], None]) -> None:
    [shown] = views_of(after_turns(6), [0], [1])
    changed = shown.copy()
    change(changed)
    assert not np.array_equal(drawn(changed), drawn(shown))


def after_turns(turns: int) -> NDArray[np.void]:
    """A game of four in the match to 66, after so many turns of the first round."""
    return next(states for states in walk(MATCH, 1, 4) if states["table"]["turn"][0] == turns)


def test_open_hands_are_in_the_picture() -> None:
    [shown] = views_of(after_turns(6), [0], [1], view.reveal_all)
    changed = shown.copy()
    changed["hands"][3] = from_list([1, 2])
    assert not np.array_equal(drawn(changed), drawn(shown))


def test_the_pool_of_the_draft_is_in_the_picture() -> None:
    rules = Rules(num_players=2, deck="logic", hand_size=5)
    pictures = [drawn(shown) for states, _ in sampled(rules, 1) for shown in views_of(states, [0], [0]) if shown["table"]["phase"] == DRAFT]
    assert all(not np.array_equal(one, other) for one, other in itertools.pairwise(pictures))


@pytest.mark.parametrize("rules", [table for table in TABLES if table.deck != "logic"], ids=name_of)
def test_what_a_seat_may_not_know_is_not_in_its_picture(rules: Rules) -> None:
    words, hidden = np.array([7], dtype=np.uint64), 0
    for states, seat in sampled(rules, 6):
        other = states.copy()
        GAME.disguise(other, np.array([0]), np.array([seat]), words)
        hidden += int((other["hands"] != states["hands"]).any())
        assert np.array_equal(drawn(views_of(other, [0], [seat])[0]), drawn(views_of(states, [0], [seat])[0]))
    assert hidden > 1


def test_hands_that_are_not_open_are_not_looked_at() -> None:
    [shown] = views_of(after_turns(3), [0], [1])
    changed = shown.copy()
    changed["hands"][:] = from_list([5, 55])
    assert np.array_equal(drawn(changed), drawn(shown))


@pytest.mark.parametrize("rules", [*TABLES, *SMALL[1::4]], ids=name_of)
def test_the_warning_colour_lies_under_full_rows_and_nowhere_else(rules: Rules) -> None:
    for states, seat in sampled(rules, 21 if rules.deck == "logic" else 8):
        table = states["table"][0]
        pixels = drawn(views_of(states, [0], [seat], view.reveal_all)[0])
        if table["phase"] == DRAFT:
            assert not has(pixels, THEME.warning)
            continue
        for row, lane in enumerate(plan_of(rules).lanes):
            full = table["row_len"][row] == table["row_capacity"]
            assert has(pixels[lane.y : lane.y + lane.h, lane.x : lane.x + lane.w], THEME.warning) == full
            pixels[lane.y : lane.y + lane.h, lane.x : lane.x + lane.w] = 0
        assert not has(pixels, THEME.warning)


def test_revealed_cards_lie_before_their_seats_until_they_are_placed() -> None:
    states = state.new_states(Rules(num_players=3), 1, 5)
    list(story.begin(states, 0))
    seen = 0
    for seat in range(3):
        hand = [card for card in range(1, 105) if engine.is_legal(states[0], seat, card - 1)]
        for event in story.unfold(states, 0, seat, hand[-1] - 1):
            if event["event"] not in ("revealed", "placed", "took"):
                continue
            pixels, plan = drawn(views_of(states, [0], [0], view.reveal_all)[0]), plan_of(Rules(num_players=3))
            for other in range(3):
                box = plan.last[other].inset(-3)
                waits = bool(states["table"]["landed"][0, other] == 0)
                assert has(pixels[box.y : box.y + box.h, box.x : box.x + box.w], THEME.seats[other]) == waits
            seen += 1
    assert seen == 4


def test_cards_of_the_last_turn_bear_their_seat_until_the_next_deal() -> None:
    rules = Rules(num_players=3, rounds=2, hand_size=5)
    for states, _ in sampled(rules, 1):
        table, pixels = states["table"][0], drawn(views_of(states, [0], [0], view.reveal_all)[0])
        in_rows = set(table["rows"].ravel().tolist()) - {0}
        fresh = table["turn"] > 0 or table["phase"] not in (PICK, DRAFT)
        for seat in range(3):
            lies = bool(fresh and table["last"][seat] in in_rows)
            area = plan_of(rules).table
            assert has(pixels[area.y : area.y + area.h, area.x : area.x + area.w], THEME.seats[seat]) == lies


@pytest.mark.parametrize("phase", [PICK, ROW, SIDE, DRAFT, OVER])
def test_the_seats_that_act_are_marked(phase: int) -> None:
    rules = Rules(num_players=4, deck="logic", professional=True)
    states = in_phase(phase, 1, rules)
    for seat in range(4):
        [shown] = views_of(states, [0], [seat])
        pixels = drawn(shown)
        marked = [
            has(pixels[box.y : box.y + box.h, box.x - 24 : box.x], THEME.seats[other]) for other, box in enumerate(plan_of(rules).strips)
        ]
        assert marked == [text.is_asked(shown, other) for other in range(4)]


def test_a_position_laid_out_by_hand_can_be_drawn() -> None:
    shown = table_view(hand=[3, 17, 40], rows=[[5], [20, 22], [60], [80, 81, 82, 83, 84]])
    assert has(drawn(shown), THEME.warning)
    shown = table_view(hand=[3], rows=[[9], [20]], revealed={0: 4, 1: 50, 2: 60, 3: 70}, hand_size=2)
    assert drawn(shown).shape == (688, 1280, 3)
    assert ACTION_ROW == 104


def test_cards_differ_by_number_and_heads() -> None:
    sizes = [(78, 112), (45, 65), (40, 27)]
    for w, h in sizes:
        sprites = [np.asarray(faces.face(card, w, h)) for card in range(1, 105)]
        assert {sprite.shape for sprite in sprites} == {(h, w, 4)}
        assert len({sprite.tobytes() for sprite in sprites}) == 104
        papers = {int(HEADS[card]): tuple(sprite[h // 2, 3, :3].tolist()) for card, sprite in enumerate(sprites, 1)}
        assert len(set(papers.values())) == 5
        assert np.asarray(faces.back(w, h)).shape == (h, w, 4)


# --- where it is drawn -------------------------------------------------------------------------------------------------

PLANS = list(itertools.product(range(2, 11), (1, 2, 4), (1, 3, 5), (1, 4, 10)))


def plan_of(rules: Rules) -> Any:
    return picture._plan(rules.num_players, rules.num_rows, rules.row_capacity, rules.hand_size, rules.highest_card)


def within(inner: Box, outer: Box) -> bool:
    return outer.x <= inner.x and outer.y <= inner.y and inner.x + inner.w <= outer.x + outer.w and inner.y + inner.h <= outer.y + outer.h


def apart(boxes: list[Box], gap: int = 0) -> bool:
    """Whether no two boxes come nearer to each other than `gap`."""
    return not any(
        one.x < other.x + other.w + gap
        and other.x < one.x + one.w + gap
        and one.y < other.y + other.h + gap
        and other.y < one.y + one.h + gap
        for one, other in itertools.combinations(boxes, 2)
    )


@pytest.mark.parametrize("players", range(2, 11))
def test_everything_has_its_own_place(players: int) -> None:
    for _, rows, capacity, hand_size in (one for one in PLANS if one[0] == players):
        plan = picture._plan(players, rows, capacity, hand_size, min(104, players * hand_size + rows))
        whole = Box(0, 0, 1280, plan.height)
        assert apart([*plan.strips, *plan.lanes, plan.foot], 4)
        assert all(within(box, whole.inset(12)) for box in (*plan.strips, *plan.lanes, plan.foot))
        assert len(plan.lanes) == len(plan.slots) == rows
        for lane, slots in zip(plan.lanes, plan.slots, strict=True):
            assert len(slots) == capacity + 1
            assert apart(list(slots), 8)
            assert all(within(slot, lane.inset(60, 8)) for slot in slots)
        assert apart(list(plan.pool), 4)
        assert all(within(box, plan.table) for box in plan.pool)
        for strip, hand, last, words in zip(plan.strips, plan.hands, plan.last, plan.words, strict=True):
            assert len(hand) == hand_size
            assert apart([*hand, last], 2)
            assert apart([*hand, words])
            assert apart([last, words], 4)
            assert all(within(box, strip.inset(3)) for box in (*hand, last))
            assert within(words, strip)
            assert min(*(box.w for box in hand), last.w) >= 28
            assert min(*(box.h for box in hand), last.h) >= 24


@pytest.mark.parametrize("rules", [*TABLES, *SMALL[::5]], ids=name_of)
def test_all_words_fit_and_can_be_read(rules: Rules, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[tuple[str, int, int, int, bool]] = []

    def fitting(words: str, size: int, width: int, bold: bool = False) -> int:
        found = drawing_fitting(words, size, width, bold)
        written.append((words, size, found, width, bold))
        return found

    drawing_fitting = drawing.fitting
    monkeypatch.setattr(drawing, "fitting", fitting)
    for states, seat in sampled(rules, 30):
        shown = views_of(states, [0], [seat])
        for rounds, target, totals in ((1, 0, 7), (10_000, 0, 1777), (0, 100_000, 99_999)):
            table = shown["table"]
            table["rounds"], table["target"], table["exceed_target"] = rounds, target, target > 0
            table["round_index"], table["totals"], table["penalties"] = min(rounds, 9_998), totals, 171
            table["took"] = np.where(table["landed"] > 0, 35, 0)
            drawn(shown[0])
    assert len(written) > 100
    for words, wanted, size, width, bold in written:
        assert drawing.text_width(words, size, bold) <= width, words
        assert size >= min(wanted, max(12, 0.6 * wanted)), words
