"""The rules of 6 nimmt! as plain data: what is being played, and the arithmetic that follows from it.

Nothing here moves a card. `Rules` names the variant, and the functions below answer the questions that need
no position: what a card is worth, which cards are in play, who drafts when, when a match is over and who has won.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ...core.game import Extent

MAX_SEATS: Final = 10
MAX_HAND: Final = 10
MAX_ROWS: Final = 4
MAX_CAPACITY: Final = 5
MAX_CARD: Final = 104
_ORDINALS: Final = ("", "first", "second", "third", "fourth", "fifth", "sixth")
MAX_ROUNDS: Final = 10_000  # of any match, one to a target included

Deck = Literal["standard", "tactical", "logic"]
DECKS: Final[tuple[str, ...]] = get_args(Deck)
STANDARD, TACTICAL, LOGIC = range(3)
_HEADS_BY_DIVISOR: Final = ((55, 7), (11, 5), (10, 3), (5, 2), (1, 1))  # bull heads of a card: those of the first that divides it


class IllegalMove(ValueError):
    """An action or a position that the rules do not allow. Says what was wrong; nothing has changed."""


def bull_heads(card: int) -> int:
    """Bull heads of `card` (1..104): 55 has 7, other multiples of 11 five, of 10 three, last digit 5 two, the rest one."""
    if isinstance(card, bool) or not isinstance(card, (int, np.integer)) or not 1 <= card <= MAX_CARD:
        raise IllegalMove(f"card {card!r} does not exist: cards are 1..{MAX_CARD}")
    return next(heads for divisor, heads in _HEADS_BY_DIVISOR if card % divisor == 0)


HEADS: Final[NDArray[np.uint8]] = np.array([0] + [bull_heads(c) for c in range(1, MAX_CARD + 1)], dtype=np.uint8)
"""Bull heads by card, index 0 unused: (105,) uint8. The kernels read this table."""


@dataclass(frozen=True, slots=True)
class Rules:
    """One variant of 6 nimmt!. Impossible combinations raise `ValueError` with what would be possible.

    Args:
        num_players: 2 to 10.
        deck: "standard" (cards 1..104), "tactical" (only as many as are dealt) or "logic" (tactical, and the hands are
            drafted face up).
        professional: cards may be added at either side of a row.
        rounds: number of rounds in a match; None for a match to `target`.
        target: the match ends when, after a complete round, a total has reached this many bull heads, or after 10 000 rounds; None when
            `rounds` is set.
        exceed_target: "reached" means more than `target` instead of `target` or more.
        hand_size: cards dealt to each player, 1 to 10; also the turns of a round.
        num_rows: rows on the table, 1 to 4.
        row_capacity: cards a row can hold, 1 to 5; the next one takes them.
        deck_size: the deck is 1..deck_size; None for the deck's own size (104, or exactly the cards dealt in tactical and logic).
    """

    num_players: int = 4
    deck: Deck = "standard"
    professional: bool = False
    rounds: int | None = 1
    target: int | None = None
    exceed_target: bool = False
    hand_size: int = 10
    num_rows: int = 4
    row_capacity: int = 5
    deck_size: int | None = None

    def __post_init__(self) -> None:
        _whole("num_players", self.num_players, 2, MAX_SEATS)
        if self.deck not in DECKS:
            raise ValueError(f"deck={self.deck!r} is unknown: choose one of {', '.join(map(repr, DECKS))}")
        for name in ("professional", "exceed_target"):
            value = getattr(self, name)
            if not isinstance(value, (bool, np.bool_)):
                raise ValueError(f"{name}={value!r} must be True or False")
        _whole("hand_size", self.hand_size, 1, MAX_HAND)
        _whole("num_rows", self.num_rows, 1, MAX_ROWS)
        _whole("row_capacity", self.row_capacity, 1, MAX_CAPACITY)
        self._check_length()
        self._check_deck()

    def _check_length(self) -> None:
        if self.rounds is None and self.target is None:
            raise ValueError("rounds=None and target=None would never end: give rounds=1, or target=66 for a match")
        if self.rounds is not None and self.target is not None:
            raise ValueError(
                f"rounds={self.rounds} and target={self.target} exclude each other: for a match to {self.target} heads "
                f"pass rounds=None, for a fixed number of rounds target=None"
            )
        if self.rounds is not None:
            _whole("rounds", self.rounds, 1, MAX_ROUNDS)
            if self.exceed_target:
                raise ValueError("exceed_target=True needs a target: pass target=66, rounds=None")
        if self.target is not None:
            _whole("target", self.target, 1, 100_000)

    def _check_deck(self) -> None:
        dealt = self.cards_dealt
        if self.deck_size is None:
            if dealt > MAX_CARD:
                raise ValueError(f"{dealt} cards would be dealt, the deck holds {MAX_CARD}: fewer players, cards or rows")
            return
        if self.deck == "standard":
            _whole("deck_size", self.deck_size, dealt, MAX_CARD, f" ({dealt} are dealt)")
        elif self.deck_size != dealt:
            raise ValueError(
                f"deck_size={self.deck_size} is impossible with deck={self.deck!r}: it is played with exactly the {dealt} cards that are "
                f"dealt ({self.num_players} players x {self.hand_size} + {self.num_rows} rows); leave deck_size out"
            )

    @property
    def cards_dealt(self) -> int:
        """Cards that leave the deck in a round: every hand and the first card of every row."""
        return self.num_players * self.hand_size + self.num_rows

    @property
    def highest_card(self) -> int:
        """The deck in play is 1..highest_card."""
        if self.deck_size is not None:
            return self.deck_size
        return MAX_CARD if self.deck == "standard" else self.cards_dealt

    @property
    def deck_heads(self) -> int:
        """Bull heads in the whole deck in play (171 for the standard deck)."""
        return int(HEADS[: self.highest_card + 1].sum())

    @property
    def forfeit(self) -> int:
        """Bull heads charged for ending a match by an illegal action: all of the deck, so that it never pays."""
        return self.deck_heads

    def describe(self) -> str:
        """The variant in words, one fact a line."""
        return "\n".join(self._facts())

    def describe_heads(self) -> str:
        """What each card of the deck costs, in a line of words."""
        cards = range(1, self.highest_card + 1)
        words = []
        for divisor, heads in _HEADS_BY_DIVISOR[:-1]:
            if found := [card for card in cards if card % divisor == 0]:
                words.append(f"{heads} on {f'a multiple of {divisor}' if len(found) > 1 else found[0]}")
        return "Bull heads of a card: " + ", else ".join([*words, f"{_HEADS_BY_DIVISOR[-1][1]}."])

    def _facts(self) -> Iterable[str]:
        yield f"{self.num_players} players, {self.hand_size} cards each, {self.num_rows} rows of at most {self.row_capacity} cards."
        yield {
            "standard": f"Deck: standard, cards 1..{self.highest_card} ({self.deck_heads} bull heads), "
            f"{self.highest_card - self.cards_dealt} stay undealt.",
            "tactical": f"Deck: tactical, cards 1..{self.highest_card} ({self.deck_heads} bull heads), all of them dealt.",
            "logic": f"Deck: logic, cards 1..{self.highest_card} ({self.deck_heads} bull heads), drafted face up one by one, clockwise; "
            "every hand is public.",
        }[self.deck]
        if self.professional:
            yield "Professional: a card joins the nearest row at its end or its front; on a tie its owner chooses the side."
        else:
            yield "A card joins the row with the highest last card below it."
        yield (
            f"Whoever lays the {_ORDINALS[self.row_capacity + 1]} card of a row takes the {self.row_capacity} before it. "
            "A card that fits nowhere takes a row of its owner's choice."
        )
        if self.rounds is not None:
            yield f"The match is {self.rounds} round{'s' if self.rounds > 1 else ''}; the fewest bull heads win, ties share the win."
        else:
            word = "exceeds" if self.exceed_target else "reaches"
            yield f"The match ends after the round in which a total {word} {self.target} heads; the fewest win, ties share the win."


def _whole(name: str, value: object, low: int, high: int, why: str = "") -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise ValueError(f"{name}={value!r} must be a whole number from {low} to {high}{why}")
    return int(value)


def _totals(totals: Sequence[int]) -> list[int]:
    if not isinstance(totals, (Sequence, np.ndarray)) or isinstance(totals, str) or not len(totals):
        raise ValueError(f"totals={totals!r} must be a sequence of bull heads, one a player")
    return [_whole("a total", total, 0, 2**32 - 1) for total in totals]


def deck(num_players: int, deck: Deck = "standard") -> list[int]:
    """The cards in play, ascending: 1..104, or 1..10n+4 for n players in "tactical" and "logic"."""
    return list(range(1, Rules(num_players=num_players, deck=deck).highest_card + 1))


def extent(rules: Rules) -> Extent:
    """The bounds of a match, see `core.game.Extent`.

    A turn has one choice of a row at most: the card laid there lies below all that follow (rule 4). With professional rules every card may
    tie. All that is taken in a round are cards of the deck, each once.

    Raises:
        ValueError: a match to a target, or one of several deals, of which only the first can be given (`engine.deal_as`).
    """
    if rules.rounds is None:
        raise ValueError("a match to a target has no bounds: give rounds=1, target=None")
    drafted = rules.deck == "logic"
    if rules.rounds > 1 and not drafted:
        raise ValueError(f"rounds={rules.rounds} are as many deals, and only the first can be given: play one round, or deck='logic'")
    choices = rules.num_players if rules.professional else 1
    draft = rules.num_players * rules.hand_size if drafted else 0
    heads = rules.rounds * rules.deck_heads
    return Extent(
        deck=tuple(range(1, rules.highest_card + 1)),
        parts=() if drafted else (rules.hand_size,) * rules.num_players + (1,) * rules.num_rows,
        decisions=rules.rounds * (draft + rules.hand_size * (1 + choices)),
        least=0,
        most=heads,
        together=heads,
    )


def draft_order(num_players: int, round_index: int = 0, hand_size: int = MAX_HAND) -> list[int]:
    """Seats in the order of their picks in the logic draft: round-robin clockwise from seat `round_index mod num_players`.

    Returns `num_players * hand_size` seats, one a pick.
    """
    players = _whole("num_players", num_players, 2, MAX_SEATS)
    first = _whole("round_index", round_index, 0, 2**31)
    return [(first + pick) % players for pick in range(players * _whole("hand_size", hand_size, 1, MAX_HAND))]


def match_over(
    totals: Sequence[int],
    rounds_played: int,
    rounds: int | None = None,
    target: int | None = 66,
    exceed_target: bool = False,
) -> bool:
    """Whether the match is over, asked after a complete round. With `rounds` given the target is off."""
    worst = max(_totals(totals))
    played = _whole("rounds_played", rounds_played, 0, 2**31)
    if rounds is not None:
        return played >= _whole("rounds", rounds, 1, MAX_ROUNDS)
    if target is None:
        raise ValueError("rounds=None and target=None would never end: give one of them")
    return worst >= _whole("target", target, 1, 100_000) + bool(exceed_target) or played >= MAX_ROUNDS


def winners(totals: Sequence[int]) -> list[int]:
    """Seats with the fewest bull heads, ascending; ties share the win."""
    heads = _totals(totals)
    return [seat for seat, total in enumerate(heads) if total == min(heads)]
