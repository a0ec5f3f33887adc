"""The rules of 6 nimmt!, written out slowly and plainly, to hold the fast engine against.

Independent on purpose: it shares no code with the package, uses no arrays, and follows the wording of the rules
(section 1: cards, deal, turn rules 1 to 4, round end, match end, decks, professional). Where a clever form exists,
the obvious one stands here instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

CARDS_IN_THE_BOX = 104
DECKS = ("standard", "tactical", "logic")

# Action numbers: card c is c - 1, row r (taken, or laid at its end) is 104 + r, the front of row r is 108 + r.
ROW_ACTION = 104
FRONT_ACTION = 108
MOST_ROWS = FRONT_ACTION - ROW_ACTION

Spot = tuple[int, str]  # (row, "end" | "front")


class RuleError(ValueError):
    """Something the rules do not allow."""


def bull_heads(card: int) -> int:
    """Heads on one card ("Cards"): the first of the conditions that holds decides."""
    if card == 55:
        return 7
    if card % 11 == 0:
        return 5
    if card % 10 == 0:
        return 3
    if card % 10 == 5:
        return 2
    return 1


def heads_of(cards: Iterable[int]) -> int:
    """Heads on several cards together."""
    total = 0
    for card in cards:
        total += bull_heads(card)
    return total


def deck_cards(num_players: int, deck: str, hand_size: int = 10, num_rows: int = 4, deck_size: int | None = None) -> list[int]:
    """All cards in use, ascending ("Decks").

    `deck_size` shortens the standard deck to 1..deck_size; in tactical and logic everything is dealt, so there a size
    other than hand_size * num_players + num_rows is refused.
    """
    if deck not in DECKS:
        raise RuleError(f"unknown deck {deck!r}")
    dealt = hand_size * num_players + num_rows
    size = dealt
    if deck == "standard":
        size = CARDS_IN_THE_BOX if deck_size is None else deck_size
    elif deck_size not in (None, dealt):
        raise RuleError(f"the {deck} deck has {dealt} cards, not {deck_size}")
    if not dealt <= size <= CARDS_IN_THE_BOX:
        raise RuleError(f"{dealt} cards must be dealt from a deck of {size}, and the box holds {CARDS_IN_THE_BOX}")
    return list(range(1, size + 1))


def first_picker(num_players: int, round_index: int) -> int:
    """The seat that drafts first in logic: seat round_index mod n ("Decks", a decision)."""
    return round_index % num_players


def standard_spots(rows: Sequence[Sequence[int]], card: int) -> list[Spot]:
    """Where the card must go: one end, or nothing when it is below every last card."""
    # Rule 1: the candidates are the rows whose last card is below c ...
    candidates = []
    for index, row in enumerate(rows):
        if row[-1] < card:
            candidates.append((row[-1], index))
    # Rule 4: no candidate.
    if not candidates:
        return []
    # Rule 1: ... and the card goes to the one with the highest last card.
    _, index = max(candidates)
    return [(index, "end")]


def professional_spots(rows: Sequence[Sequence[int]], card: int) -> list[Spot]:
    """Where the card may go on either side: one spot, two at a tie (the end first), none if every row spans it."""
    candidates = []
    for index, row in enumerate(rows):
        # Professional, candidates: the end of every row whose last card is below c,
        if row[-1] < card:
            candidates.append((card - row[-1], index, "end"))
        # and the front of every row whose first card is above c.
        if row[0] > card:
            candidates.append((row[0] - card, index, "front"))
    if not candidates:
        return []
    # Professional: the smallest difference; full rows count like any other (tie with one full row, a decision).
    smallest = min(difference for difference, _, _ in candidates)
    nearest = [(index, side) for difference, index, side in candidates if difference == smallest]
    # "Two options at most, always one end and one front."
    return sorted(nearest, key=lambda spot: ["end", "front"].index(spot[1]))


def match_over(
    totals: Sequence[int],
    rounds_played: int,
    rounds: int | None = None,
    target: int | None = None,
    exceed_target: bool = False,
) -> bool:
    """Whether the match is over ("Match end"); only to be asked after a complete round."""
    # A fixed number of rounds: the target is then off.
    if rounds is not None:
        return rounds_played >= rounds
    if target is None:
        raise RuleError("a match needs a number of rounds or a target")
    for total in totals:
        if exceed_target and total > target:
            return True
        if not exceed_target and total >= target:
            return True
    return False


def lowest_totals(totals: Sequence[int]) -> list[int]:
    """Fewest heads wins; ties share the win ("Match end")."""
    return [seat for seat, total in enumerate(totals) if total == min(totals)]


class ReferenceGame:
    """One match. The caller deals: a new game, and every game between two rounds, is in phase "round_over".

    `start_round` (or `start_draft` in logic) begins a round; then, until no seat is left `to_act`, call `apply`.

    `turn` counts the complete turns of the round. `penalties` and `taken` are those of the round, and stay until the
    next one starts; `totals` are the heads of the whole match, the running round included. `revealed` maps seats to
    the cards of the latest turn, `unplaced` lists its (card, seat) still to be laid, lowest first, and
    `choices_needed` its (seat, legal actions) for every choice met, in the order met. `pool` is what lies face up in
    a draft, `stock` what was not dealt.
    """

    def __init__(
        self,
        *,
        num_players: int,
        deck: str = "standard",
        professional: bool = False,
        rounds: int | None = 1,
        target: int | None = None,
        exceed_target: bool = False,
        hand_size: int = 10,
        num_rows: int = 4,
        row_capacity: int = 5,
        deck_size: int | None = None,
    ) -> None:
        if not 2 <= num_players <= 10:
            raise RuleError("2 to 10 players")
        if not 1 <= num_rows <= MOST_ROWS or hand_size < 1 or row_capacity < 1:
            raise RuleError("impossible sizes")
        if rounds is None and target is None:
            raise RuleError("a match needs a number of rounds or a target")
        self.num_players = num_players
        self.deck = deck
        self.professional = professional
        self.rounds = rounds
        self.target = target
        self.exceed_target = exceed_target
        self.hand_size = hand_size
        self.num_rows = num_rows
        self.row_capacity = row_capacity
        self.cards = deck_cards(num_players, deck, hand_size, num_rows, deck_size)
        self.pool: list[int] = []
        self.stock: list[int] = []
        self.totals = [0] * num_players
        self.rounds_played = 0
        # What the last turn led to is still known when the next round is dealt.
        self.revealed: dict[int, int] = {}
        self.took = [0] * num_players
        self.phase = "round_over"
        self._clear_table()

    @classmethod
    def at_position(cls, rows: Sequence[Sequence[int]], hands: Sequence[Iterable[int]], **options: Any) -> ReferenceGame:
        """A game in the pick phase of some turn, with rows of any legal length and hands of one equal length.

        `options` are those of the class without num_players. One single hand is allowed here, though a game needs two
        players: a position may be checked with a single card. Cards not named count as `stock`.
        """
        # The deck is that of two players then; a lone card is only ever looked at in the standard deck.
        game = cls(num_players=max(2, len(hands)), **options)
        game.num_players = len(hands)
        game.totals = [0] * len(hands)
        game.took = [0] * len(hands)
        game._clear_table()
        game._lay_out(hands, rows)
        lengths = {len(hand) for hand in game.hands}
        if len(lengths) != 1 or not 1 <= max(lengths) <= game.hand_size:
            raise RuleError("every hand must have the same number of cards, and at least one")
        game.turn = game.hand_size - max(lengths)
        game.phase = "pick"
        return game

    # Starting a round

    def start_round(self, hands: Sequence[Iterable[int]], rows: Sequence[Sequence[int]]) -> None:
        """Deal `hands`, and rows of one card each, for the next round (standard and tactical)."""
        if self.phase != "round_over":
            raise RuleError("no round can start now")
        if self.deck == "logic":
            raise RuleError("logic is drafted, not dealt")
        dealt_hands = [sorted(hand) for hand in hands]
        # "Players and deal": 10 cards each, four rows that start with one card each.
        if [len(hand) for hand in dealt_hands] != [self.hand_size] * self.num_players:
            raise RuleError(f"{self.num_players} hands of {self.hand_size} cards are needed")
        if [len(row) for row in rows] != [1] * self.num_rows:
            raise RuleError(f"{self.num_rows} rows of one card are needed")
        dealt = [card for hand in dealt_hands for card in hand] + [card for row in rows for card in row]
        # "Decks", tactical: all dealt. The counts above imply it; said again because it is a rule of its own.
        if self.deck == "tactical" and sorted(dealt) != self.cards:
            raise RuleError("in tactical every card of the deck is dealt")
        self._refuse_impossible_layout(dealt_hands, rows)
        self._clear_table()
        self._lay_out(dealt_hands, rows)
        self.phase = "pick"

    def start_draft(self) -> None:
        """Lay the whole deck face up for the next round (logic)."""
        if self.phase != "round_over":
            raise RuleError("no round can start now")
        if self.deck != "logic":
            raise RuleError("only logic is drafted")
        self._clear_table()
        self.pool = list(self.cards)
        self.stock = []
        self.phase = "draft"

    def _clear_table(self) -> None:
        """All cards back into the deck: they are reshuffled for every round."""
        self.rows: list[list[int]] = []
        self.hands: list[list[int]] = [[] for _ in range(self.num_players)]
        self.taken: list[list[int]] = [[] for _ in range(self.num_players)]
        self.penalties = [0] * self.num_players
        self.pool = []
        self.stock = list(self.cards)
        self.turn = 0
        self.unplaced: list[tuple[int, int]] = []
        self.choices_needed: list[tuple[int, list[int]]] = []

    def _lay_out(self, hands: Sequence[Iterable[int]], rows: Sequence[Sequence[int]]) -> None:
        sorted_hands = [sorted(hand) for hand in hands]
        self._refuse_impossible_layout(sorted_hands, rows)
        self.hands = sorted_hands
        self.rows = [list(row) for row in rows]
        seen = [card for group in self.hands + self.rows for card in group]
        self.stock = [card for card in self.cards if card not in seen]

    def _refuse_impossible_layout(self, hands: Sequence[Sequence[int]], rows: Sequence[Sequence[int]]) -> None:
        seen: list[int] = []
        for group in [*hands, *rows]:
            for card in group:
                if card not in self.cards:
                    raise RuleError(f"there is no card {card}")
                if card in seen:
                    raise RuleError(f"there is only one card {card}")
                seen.append(card)
        if len(rows) != self.num_rows:
            raise RuleError(f"there are {self.num_rows} rows")
        for row in rows:
            if not 1 <= len(row) <= self.row_capacity or list(row) != sorted(row):
                raise RuleError(f"{list(row)} cannot be a row")

    # Deciding

    def to_act(self) -> list[int]:
        """Seats that must decide now: everybody in the pick phase, one in draft, row and side, else nobody."""
        if self.phase == "draft":
            # "Decks", logic: one card at a time, clockwise, plain round-robin (no snake).
            picks_made = sum(len(hand) for hand in self.hands)
            return [(first_picker(self.num_players, self.rounds_played) + picks_made) % self.num_players]
        if self.phase == "pick":
            return list(range(self.num_players))
        if self.phase in ("row", "side"):
            _, seat = self.unplaced[0]
            return [seat]
        return []

    def legal(self, seat: int) -> list[int]:
        """Action numbers open to the seat, ascending; empty if it need not act."""
        if seat not in self.to_act():
            return []
        if self.phase == "draft":
            return [card - 1 for card in self.pool]
        if self.phase == "pick":
            return [card - 1 for card in self.hands[seat]]
        if self.phase == "row":
            # Rule 4: a row of his choice, whatever it costs.
            return [ROW_ACTION + index for index in range(self.num_rows)]
        card, _ = self.unplaced[0]
        return sorted((ROW_ACTION if side == "end" else FRONT_ACTION) + index for index, side in self.spots(card))

    def spots(self, card: int) -> list[Spot]:
        """Where the card would go if it were placed now; no spot means: take a row, two: choose a side."""
        if self.professional:
            return professional_spots(self.rows, card)
        return standard_spots(self.rows, card)

    def apply(self, actions: Mapping[int, int]) -> None:
        """Let exactly the seats in `to_act()` act, then go on until the next decision or the end of the round.

        Raises RuleError (a ValueError) for anything else, and has changed nothing then.
        """
        if not self.to_act():
            raise RuleError("nobody has to act")
        if sorted(actions) != self.to_act():
            raise RuleError(f"seats {self.to_act()} have to act, not {sorted(actions)}")
        for seat, action in actions.items():
            if action not in self.legal(seat):
                raise RuleError(f"action {action} is not open to seat {seat} in phase {self.phase}")
        if self.phase == "draft":
            [(seat, action)] = actions.items()
            self._draft(seat, action + 1)
        elif self.phase == "pick":
            self._reveal({seat: action + 1 for seat, action in actions.items()})
        else:
            [action] = actions.values()
            self._decide(action)

    def _draft(self, seat: int, card: int) -> None:
        self.pool.remove(card)
        self.hands[seat] = sorted([*self.hands[seat], card])
        # "Decks", logic: until each has 10; the four left over start the rows, in ascending order (a decision).
        if all(len(hand) == self.hand_size for hand in self.hands):
            self.rows = [[left_over] for left_over in sorted(self.pool)]
            self.pool = []
            self.phase = "pick"

    def _reveal(self, plays: dict[int, int]) -> None:
        """All cards are revealed together, then placed in ascending order, whoever owns them ("Turn")."""
        for seat, card in plays.items():
            self.hands[seat].remove(card)
        self.revealed = dict(plays)
        self.took = [0] * self.num_players
        self.unplaced = sorted((card, seat) for seat, card in plays.items())
        self.choices_needed = []
        self._place_cards()

    def _decide(self, action: int) -> None:
        card, seat = self.unplaced[0]
        del self.unplaced[0]
        if self.phase == "row":
            # Rule 4, and professional without a candidate: the owner takes the row, c starts it.
            self._take_row(action - ROW_ACTION, card, seat)
        elif action >= FRONT_ACTION:
            self._lay(card, seat, action - FRONT_ACTION, "front")
        else:
            self._lay(card, seat, action - ROW_ACTION, "end")
        self._place_cards()

    # Placing

    def _place_cards(self) -> None:
        """Place what is unplaced until somebody must choose or the turn is over."""
        while self.unplaced:
            card, seat = self.unplaced[0]
            spots = self.spots(card)
            if len(spots) != 1:
                # He chooses when his card is placed, after all lower cards (rule 4, professional).
                self.phase = "side" if spots else "row"
                self.choices_needed.append((seat, self.legal(seat)))
                return
            del self.unplaced[0]
            [(index, side)] = spots
            self._lay(card, seat, index, side)
        self._end_turn()

    def _lay(self, card: int, seat: int, index: int, side: str) -> None:
        row = self.rows[index]
        if len(row) == self.row_capacity:
            # Rule 3, and professional on either side: the five are taken, c alone starts the row.
            self._take_row(index, card, seat)
        elif side == "end":
            # Rule 2: fewer than 5 cards.
            row.append(card)
        else:
            # Professional: a card may be added at the front as well.
            row.insert(0, card)

    def _take_row(self, index: int, card: int, seat: int) -> None:
        """The seat takes the row, and its card, which is not counted, starts it anew."""
        heads = heads_of(self.rows[index])
        self.taken[seat].extend(self.rows[index])
        self.penalties[seat] += heads
        self.totals[seat] += heads
        self.took[seat] += heads
        self.rows[index] = [card]

    def _end_turn(self) -> None:
        self.turn += 1
        self.phase = "pick"
        # "Round end" after ten turns, which is when the hands are empty.
        if self.turn == self.hand_size:
            self.rounds_played += 1
            # "Match end" is tested only after a complete round.
            over = match_over(self.totals, self.rounds_played, self.rounds, self.target, self.exceed_target)
            self.phase = "over" if over else "round_over"

    def winners(self) -> list[int]:
        """Seats with the fewest heads so far; the winners once the phase is "over"."""
        return lowest_totals(self.totals)

    # Invariants

    def check(self) -> None:
        """Assert what must hold between any two actions."""
        groups = [self.pool, self.stock, [card for card, _ in self.unplaced], *self.rows, *self.hands, *self.taken]
        assert sorted(card for group in groups for card in group) == self.cards, "a card is lost or doubled"
        assert sum(heads_of(group) for group in groups) == heads_of(self.cards), "the heads do not add up"
        for row in self.rows:
            assert 1 <= len(row) <= self.row_capacity, f"row of {len(row)} cards"
            assert row == sorted(set(row)), f"row {row} does not ascend"
        for seat in range(self.num_players):
            assert self.penalties[seat] == heads_of(self.taken[seat])
            assert self.totals[seat] >= self.penalties[seat]
            assert self.hands[seat] == sorted(self.hands[seat])
        self._check_phase()

    def _check_phase(self) -> None:
        in_hand = [len(hand) for hand in self.hands]
        if self.phase == "draft":
            assert max(in_hand) - min(in_hand) <= 1, "somebody drafted out of turn"
        elif self.phase in ("row", "side"):
            # The cards of a turn leave all hands at the reveal.
            assert in_hand == [self.hand_size - self.turn - 1] * self.num_players
            assert self.unplaced
        elif self.rows:
            assert in_hand == [self.hand_size - self.turn] * self.num_players
            assert not self.unplaced
        for seat in self.to_act():
            assert self.legal(seat), f"seat {seat} must act and cannot"
        ties = [options for _, options in self.choices_needed if max(options) >= FRONT_ACTION]
        rows_chosen = len(self.choices_needed) - len(ties)
        # "At most one such choice can arise in a turn"; in professional "it happens at most once a turn".
        assert rows_chosen <= 1
        # Never together with a tie: a row that ends below one card, laid there or not, ends below all later ones.
        assert not (ties and rows_chosen)
        assert self.professional or not ties
