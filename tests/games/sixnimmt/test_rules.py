"""What the rules say of themselves in words."""

from __future__ import annotations

import re

import pytest

from sixnimmt_env.games.sixnimmt import Rules, bull_heads

DECKS = [Rules(), Rules(num_players=2, deck="tactical"), Rules(num_players=5, deck="logic"), Rules(num_players=2, hand_size=1, deck_size=6)]


@pytest.mark.parametrize("rules", DECKS, ids=lambda rules: str(rules.highest_card))
def test_what_a_card_costs_in_words(rules: Rules) -> None:
    """Read as it stands, the sentence gives every card what the rules give it, and each of its parts is about some card."""
    sentence = rules.describe_heads()
    cases = re.findall(r"(\d+) on (a multiple of )?(\d+), else ", sentence)
    last = int(sentence.removesuffix(".").rpartition(" ")[2])
    used = set()
    for card in range(1, rules.highest_card + 1):
        fits = (case for case in cases if (card % int(case[2]) == 0 if case[1] else card == int(case[2])))
        case = next(fits, None)
        used.add(case)
        assert bull_heads(card) == (int(case[0]) if case else last), card
    assert used == {*cases, None}


def test_what_a_card_costs_in_the_whole_deck() -> None:
    expected = "7 on 55, else 5 on a multiple of 11, else 3 on a multiple of 10, else 2 on a multiple of 5, else 1."
    assert Rules().describe_heads() == f"Bull heads of a card: {expected}"
