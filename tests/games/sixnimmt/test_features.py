"""The observation of 6 nimmt!, worked out again from the view in plain Python and held against what the kernels wrote."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sixnimmt_env.core.cards import to_list
from sixnimmt_env.games.sixnimmt import GAME, LAYOUT, Rules, state, table_view, view
from sixnimmt_env.games.sixnimmt.features import COMPACT_SIZE
from sixnimmt_env.games.sixnimmt.state import ACTION_FRONT, ACTION_ROW, DRAFT, PHASES, ROW, SIDE
from tests.games.sixnimmt.playing import (
    SMALL,
    VARIANTS,
    advance,
    all_views,
    dealt,
    legal_masks,
    name_of,
    random_actions,
    views_of,
    walk,
    walk_all_phases,
)
from tests.reference import DECKS, heads_of, professional_spots, standard_spots

Line = dict[str, float]


def encode(views: NDArray[np.void], size: int = LAYOUT.size) -> NDArray[np.float32]:
    # Filled beforehand: an encoder that leaves a place alone would be found out.
    vectors = np.full((len(views), size), -7, dtype=np.float32)
    GAME.encode(views, vectors)
    return vectors


# --- the same in plain Python ------------------------------------------------------------------------------------------


def strictly_between(cards: Iterable[int], low: int, high: int) -> list[int]:
    return [card for card in cards if low < card < high]


class Slow:
    """What a view says, in lists, and the observation made of it the obvious way."""

    def __init__(self, shown: np.void) -> None:
        table = shown["table"]
        self.table = table
        self.players, self.seat = int(table["num_players"]), int(shown["seat"])
        self.phase, self.turn = int(table["phase"]), int(table["turn"])
        self.highest, self.capacity = int(table["highest_card"]), int(table["row_capacity"])
        self.professional, self.open = bool(table["professional"]), bool(shown["open"])
        self.hand = to_list(shown["hand"])
        self.public = [to_list(hand) for hand in shown["hands"]]
        self.seen = to_list(table["seen"])
        known = {*self.hand, *self.seen, *itertools.chain(*self.public)}
        self.unseen = [card for card in range(1, self.highest + 1) if card not in known]
        self.rows = [row[:length].tolist() for row, length in zip(table["rows"], table["row_len"], strict=True) if length]
        self.ladder = sorted(range(len(self.rows)), key=lambda row: self.rows[row][-1])
        self.placing = self.phase in (ROW, SIDE)
        self.shown = table["plays"][self.turn].tolist() if self.placing else [0] * 10
        self.waiting = table["order"][int(table["placed"]) : self.players].tolist() if self.placing else []
        self.legal = np.flatnonzero(legal_masks(np.array([shown]))[0]).tolist()

    def seat_at(self, place: int) -> int:
        return (self.seat + place) % self.players

    def place_of(self, seat: int) -> int:
        return (seat - self.seat) % self.players

    def room(self, row: int) -> int:
        return self.capacity - len(self.rows[row])

    def at_once(self, row: int) -> int:
        return heads_of(self.rows[row]) if self.room(row) == 0 else 0

    def cheapest(self) -> int:
        return min(map(heads_of, self.rows))

    def next_last(self, card: int, without: int = -1) -> int:
        higher = [row[-1] for number, row in enumerate(self.rows) if row[-1] > card and number != without]
        return min(higher, default=self.highest + 1)

    def chances(self, low: int, high: int) -> list[float]:
        """The chance of 0, 1, ... opponents who play between: summed over who does and who does not."""
        shares = []
        for seat in range(self.players):
            cards = self.public[seat] if self.open else self.unseen
            if seat != self.seat:
                shares.append(len(strictly_between(cards, low, high)) / len(cards) if cards else 0.0)
        found = [0.0] * (len(shares) + 6)
        for pattern in itertools.product((0, 1), repeat=len(shares)):
            found[sum(pattern)] += math.prod(share if plays else 1 - share for share, plays in zip(shares, pattern, strict=True))
        return found

    # One method a group, each giving its lines

    def context(self) -> list[Line]:
        names = "num_players hand_size num_rows row_capacity highest_card turn round_index rounds target exceed_target professional"
        line: Line = {name: int(self.table[name]) for name in names.split()}
        line |= {f"phase_{name}": number == self.phase for number, name in enumerate(PHASES)}
        line |= {name: DECKS[self.table["deck"]] == name for name in DECKS}
        line |= {"deciding": bool(self.legal), "cards_left": len(self.hand), "unseen": len(self.unseen)}
        lowest = min((row[-1] for row in self.rows), default=0)
        line["unseen_below"] = len([card for card in self.unseen if card < lowest])
        line["own_below"] = len([card for card in self.hand if card < lowest])
        line["cheapest_heads"] = self.cheapest() if self.rows else 0
        return [line]

    def seats(self) -> list[Line]:
        lines = []
        for place in range(self.players):
            seat = self.seat_at(place)
            line: Line = {"present": 1, "penalty": int(self.table["penalties"][seat]), "total": int(self.table["totals"][seat])}
            line |= {"revealed": self.shown[seat], "to_place": seat in self.waiting, "last_took": int(self.table["took"][seat])}
            earlier = 0 if self.shown[seat] else int(self.table["last"][seat])  # of the round before
            line["last_card"] = int(self.table["plays"][self.turn - 1, seat]) if self.turn else earlier
            lines.append(line)
        return lines

    def row_line(self, row: int) -> Line:
        cards = self.rows[row]
        limit = self.next_last(cards[-1])
        line: Line = {"room": self.room(row), "heads": heads_of(cards), "last": cards[-1], "full": self.room(row) == 0}
        line["unseen_above"] = len(strictly_between(self.unseen, cards[-1], limit))
        line["own_above"] = len(strictly_between(self.hand, cards[-1], limit))
        return line

    def rows_(self) -> list[Line]:
        lines = []
        for row, cards in enumerate(self.rows):
            line = self.row_line(row) | {f"card_{slot}": card for slot, card in enumerate(cards)}
            line["rank"] = 1 + self.ladder.index(row)
            line["cheaper_rows"] = len([other for other in self.rows if heads_of(other) < heads_of(cards)])
            if self.placing:
                line["can_end"], line["can_front"] = ACTION_ROW + row in self.legal, ACTION_FRONT + row in self.legal
            if self.placing and self.legal:
                chosen = line["can_end"] or line["can_front"]
                line["cost"] = heads_of(cards) if self.phase == ROW else self.at_once(row) * chosen
            if self.phase == ROW and self.legal:
                own = self.shown[self.seat]
                limit = self.next_last(own, without=row)
                line["followers"] = len(strictly_between([self.shown[seat] for seat in self.waiting], own, limit))
                line["unseen_behind"] = len(strictly_between(self.unseen, own, limit))
            lines.append(line)
        return lines

    def ladder_(self) -> list[Line]:
        return [self.row_line(row) | {"first": self.rows[row][0]} for row in self.ladder]

    def hand_(self) -> list[Line]:
        lines = []
        for slot, card in enumerate(self.hand):
            below, above = ([0, *self.hand][slot], [*self.hand, self.highest + 1][slot + 1])
            line: Line = {"card": card, "present": 1, "heads": heads_of([card])}
            line |= {"lower_own": slot, "higher_own": len(self.hand) - slot - 1, "own_gap_down": card - below, "own_gap_up": above - card}
            line["unseen_lower"] = len([other for other in self.unseen if other < card])
            line["unseen_higher"] = len([other for other in self.unseen if other > card])
            line["chance_lowest"] = self.chances(0, card)[0]
            lines.append(line | (self.prospects(card) if self.rows else {}))
        return lines

    def prospects(self, card: int) -> Line:
        spots = (professional_spots if self.professional else standard_spots)(self.rows, card)
        sides = [side for _, side in spots]
        line: Line = {"homeless": not spots, "at_front": sides == ["front"], "tie": len(spots) == 2}
        if not spots:
            alone = 1.0 if self.professional else self.chances(0, card)[0]
            return line | {"expected_cost": alone * self.cheapest()} | self.neighbours(card, -1)
        row, side = spots[0]
        beside = self.rows[row][-1] if side == "end" else self.rows[row][0]
        low, high, room = min(beside, card), max(beside, card), self.room(row)
        chances = self.chances(low, high)
        line |= {"gap": high - low, "room": room, "row_heads": heads_of(self.rows[row]), "row_full": room == 0}
        line["unseen_in_gap"] = len(strictly_between(self.unseen, low, high))
        line["own_in_gap"] = len(strictly_between(self.hand, low, high))
        line |= {"chance_first": chances[0], "chance_fewer": sum(chances[:room]), "chance_sixth": chances[room]}
        line |= {"chance_more": sum(chances[room + 1 :]), "arrivals": sum(k * chance for k, chance in enumerate(chances))}
        line["expected_cost"] = chances[room] * heads_of(self.rows[row]) if sides == ["end"] else min(self.at_once(r) for r, _ in spots)
        return line | {"row_rank": 1 + self.ladder.index(row)} | self.neighbours(card, row)

    def neighbours(self, card: int, joined: int) -> Line:
        lower = [row for row in self.ladder if row != joined and self.rows[row][-1] < card]
        higher = [row for row in self.ladder if row != joined and self.rows[row][-1] > card]
        line: Line = {}
        if lower:
            line |= {"below_exists": 1, "below_room": self.room(lower[-1]), "below_heads": heads_of(self.rows[lower[-1]])}
        if higher:
            last = self.rows[higher[0]][-1]
            line |= {"above_exists": 1, "above_gap": last - card, "above_room": self.room(higher[0])}
            line["above_heads"] = heads_of(self.rows[higher[0]])
            line["unseen_to_above"] = len(strictly_between(self.unseen, card, last))
        return line

    def cards(self) -> list[Line]:
        lines: list[Line] = [{"own": card in self.hand, "seen": card in self.seen} for card in range(1, 105)]
        for card in self.unseen:
            lines[card - 1]["can_draft" if self.phase == DRAFT else "unseen"] = 1
        for seat in range(self.players):
            for turn, card in enumerate(self.table["plays"][:, seat].tolist()):
                if card:
                    lines[card - 1] |= {"player": 1 + self.place_of(seat), "turn": turn + 1}
            for card in self.public[seat]:
                lines[card - 1]["holder"] = 1 + self.place_of(seat)
        for number, row in enumerate(self.rows):
            for card in row:
                lines[card - 1]["row"] = number + 1
        return lines

    def observation(self) -> dict[str, list[Line]]:
        groups = {"context": self.context(), "seats": self.seats(), "rows": self.rows_(), "ladder": self.ladder_()}
        return groups | {"hand": self.hand_(), "cards": self.cards()}


def check(shown: np.void, vector: NDArray[np.float32]) -> None:
    """Every column of every line; what the slow way does not name is 0."""
    decoded, expected = LAYOUT.decode(vector), Slow(shown).observation()
    assert set(decoded) == set(expected)
    for group, columns in decoded.items():
        assert all(set(wanted) <= set(columns) for wanted in expected[group])
        for name, values in columns.items():
            for line, value in enumerate(values.tolist()):
                natural = float(expected[group][line].get(name, 0)) if line < len(expected[group]) else 0.0
                if isinstance(value, int):
                    assert value == natural, (group, line, name)
                else:
                    assert value == pytest.approx(natural, abs=2e-6 * LAYOUT[group].columns[list(columns).index(name)].top), (
                        group,
                        line,
                        name,
                    )


@pytest.mark.parametrize("rules", [*VARIANTS, *SMALL], ids=name_of)
def test_every_number_is_what_it_says(rules: Rules) -> None:
    rng = np.random.default_rng(0)
    for states in walk_all_phases(rules, 2, seed=1):
        views = all_views(states)
        deciding = np.flatnonzero(views["deciding"])
        some = {int(rng.integers(len(views))), *rng.permutation(deciding)[:1].tolist()}
        for k, vector in zip(some, encode(views[list(some)]), strict=True):
            check(views[k], vector)


@pytest.mark.parametrize("rules", [rules for rules in VARIANTS if rules.deck != "logic"], ids=name_of)
def test_open_hands_make_certain_numbers(rules: Rules) -> None:
    """Views of spectators and critics: chances are those of the cards that each really holds, and only the stock is unseen."""
    for states in walk(rules, 1, seed=6):
        [shown] = views_of(states, [0], [1], view.reveal_all)
        check(shown, encode(np.array([shown]))[0])


# --- chances -----------------------------------------------------------------------------------------------------------


def by_enumeration(choices: Sequence[Sequence[int]], low: int, high: int) -> list[float]:
    """The chances of 0, 1, ... cards between, counted over all that the opponents can play."""
    plays = list(itertools.product(*choices))
    return [sum(len(strictly_between(play, low, high)) == count for play in plays) / len(plays) for count in range(len(choices) + 6)]


def small_views(deck: Any, professional: bool) -> NDArray[np.void]:
    rules = Rules(num_players=4, deck=deck, professional=professional, hand_size=3, num_rows=2, row_capacity=2)
    found = [all_views(states).copy() for states in itertools.islice(walk(rules, 4, seed=3), 25)]
    views = np.concatenate(found)
    picking: NDArray[np.void] = views[(views["deciding"] == 1) & (views["table"]["phase"] == state.PICK)]
    return picking[::2]


@pytest.mark.parametrize("professional", [False, True])
@pytest.mark.parametrize("deck", ["tactical", "logic"])
def test_chances_are_those_of_all_that_can_be_played(deck: Any, professional: bool) -> None:
    compared = 0
    views = small_views(deck, professional)
    for shown, vector in zip(views, encode(views), strict=True):
        slow, hand = Slow(shown), LAYOUT.decode(vector)["hand"]
        others = [seat for seat in range(slow.players) if seat != slow.seat]
        choices = [slow.public[seat] if deck == "logic" else slow.unseen for seat in others]
        for slot, card in enumerate(slow.hand):
            assert hand["chance_lowest"][slot] == pytest.approx(by_enumeration(choices, 0, card)[0], abs=1e-6)
            if hand["homeless"][slot] or hand["at_front"][slot]:
                continue
            room = int(hand["room"][slot])
            chances = by_enumeration(choices, card - int(hand["gap"][slot]), card)
            wanted = [chances[0], sum(chances[:room]), chances[room], sum(chances[room + 1 :])]
            found = [hand[f"chance_{name}"][slot] for name in ("first", "fewer", "sixth", "more")]
            assert found == pytest.approx(wanted, abs=1e-6)
            compared += 1
    assert compared > 10


# --- by hand -----------------------------------------------------------------------------------------------------------


def test_a_position_by_hand() -> None:
    """One opponent; the third row is full."""
    rows = [[3, 12], [37], [55, 57, 58, 60, 61], [98]]
    shown = table_view([1, 40, 64], rows, num_players=2, seen=[2], penalties=[5, 0])
    decoded = LAYOUT.decode(encode(np.array([shown]))[0])
    context, hand = decoded["context"], decoded["hand"]
    assert (context["unseen"][0], context["turn"][0], context["unseen_below"][0], context["own_below"][0]) == (91, 7, 8, 1)
    assert decoded["ladder"]["last"].tolist() == [12, 37, 61, 98]
    assert decoded["ladder"]["unseen_above"].tolist() == [24, 18, 35, 6]
    assert hand["card"][:4].tolist() == [1, 40, 64, 0]
    assert hand["homeless"][:3].tolist() == [1, 0, 0]
    assert hand["row_rank"][:3].tolist() == [0, 2, 3]
    assert hand["unseen_in_gap"][:3].tolist() == [0, 2, 2]
    assert hand["chance_first"][1:3] == pytest.approx([89 / 91, 89 / 91])
    assert hand["chance_sixth"][1:3] == pytest.approx([0, 89 / 91])
    assert hand["expected_cost"][:3] == pytest.approx([1, 0, 13 * 89 / 91])
    assert hand["above_gap"][:3].tolist() == [11, 21, 34]


# --- the vector --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [*VARIANTS, *SMALL], ids=name_of)
def test_all_numbers_are_from_0_to_1_and_cutting_is_a_prefix(rules: Rules) -> None:
    for states in walk(rules, 4, seed=2):
        views = all_views(states)
        vectors = encode(views)
        assert np.isfinite(vectors).all()
        assert vectors.min() >= 0
        assert vectors.max() <= 1
        assert LAYOUT.space().contains(vectors[0])
        assert (encode(views, COMPACT_SIZE) == vectors[:, :COMPACT_SIZE]).all()


LONG = [Rules(rounds=10_000), Rules(rounds=None, target=100_000), Rules(rounds=None, target=100_000, exceed_target=True)]


@pytest.mark.parametrize("rules", LONG, ids=str)
@pytest.mark.parametrize("total", [0, 1, 65, 66, 1_000, 100_171, 1_710_000])
def test_long_matches_stay_within_bounds(rules: Rules, total: int) -> None:
    states = dealt(rules, 3)
    states["table"]["totals"][:, :4] = [total, total // 2, total // 3, 0]
    states["table"]["round_index"] = min(total, 9_999)
    vectors = encode(all_views(states))
    assert vectors.min() >= 0
    assert vectors.max() <= 1
    decoded = LAYOUT.decode(vectors[0])
    assert decoded["seats"]["total"][:4].tolist() == pytest.approx([total, total // 2, total // 3, 0], rel=1e-2)
    assert decoded["context"]["round_index"][0] == pytest.approx(min(total, 9_999), rel=1e-3)
    # Whoever has more is seen to have more, up to the end.
    assert vectors[0, LAYOUT.offset("seats") + 2] >= vectors[1, LAYOUT.offset("seats") + 2]


def test_a_view_is_written_the_same_in_any_batch() -> None:
    states = dealt(Rules(professional=True), 12)
    rng = np.random.default_rng(0)
    for _ in range(7):
        advance(states, random_actions(states, rng))
    views = all_views(states)
    vectors = encode(views)
    order = rng.permutation(len(views))
    assert (encode(views[order]) == vectors[order]).all()
    assert all((encode(views[k : k + 1])[0] == vectors[k]).all() for k in range(len(views)))


# --- the layout --------------------------------------------------------------------------------------------------------


def test_groups_tile_the_vector() -> None:
    names = [(group.name, line, column.name) for group in LAYOUT.groups for line in range(group.count) for column in group.columns]
    assert len(names) == len(set(names)) == LAYOUT.size
    places = [LAYOUT.offset(group.name) for group in LAYOUT.groups]
    assert places == [0, *itertools.accumulate(group.size for group in LAYOUT.groups)][:-1]
    assert COMPACT_SIZE == LAYOUT.end("hand") == LAYOUT.offset("cards") == GAME.compact_size
    assert all(column.meaning for group in LAYOUT.groups for column in group.columns)


def test_no_column_is_dead() -> None:
    """Some variant fills every column, and its highest value is what the scale says or less: nothing is cut off."""
    used = np.zeros(LAYOUT.size, dtype=bool)
    for rules in [*VARIANTS, Rules(rounds=None, target=20, exceed_target=True)]:
        for states in walk(rules, 6, seed=4):
            used |= (encode(all_views(states)) > 0).any(axis=0)
    for group in LAYOUT.groups:
        lines = LAYOUT.lines(used, group.name)
        assert lines.any(axis=1).all(), f"a line of {group.name} is never used"
        dead = [column.name for column, alive in zip(group.columns, np.any(lines, axis=0).tolist(), strict=True) if not alive]
        assert not dead, (group.name, dead)
