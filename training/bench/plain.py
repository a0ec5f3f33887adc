"""The greedy player in plain Python, as one would write it for an environment that has none: the measure for compiled ones."""

from __future__ import annotations

from math import comb
from typing import Any

from sixnimmt_env.core.cards import to_list
from sixnimmt_env.games.sixnimmt import bull_heads
from sixnimmt_env.games.sixnimmt.state import ACTION_ROW, ROW


def greedy(view: Any) -> int:
    """The action that the agent "greedy" takes in the standard game; a test holds them against each other."""
    table = view["table"]
    rows = [[int(card) for card in row[:length]] for row, length in zip(table["rows"], table["row_len"], strict=True) if length]
    heads = [sum(map(bull_heads, row)) for row in rows]
    if table["phase"] == ROW:
        return ACTION_ROW + heads.index(min(heads))
    hand, seen = to_list(view["hand"]), to_list(table["seen"])
    unseen = set(range(1, int(table["highest_card"]) + 1)) - set(hand) - set(seen)
    others = int(table["num_players"]) - 1
    return min((*_prospect(card, rows, heads, unseen, others, int(table["row_capacity"])), card) for card in hand)[-1] - 1


def _prospect(card: int, rows: list[list[int]], heads: list[int], unseen: set[int], others: int, capacity: int) -> tuple[float, float]:
    """Expected bull heads of playing `card`, and the distance to the card that it would lie beside."""
    below = [number for number, row in enumerate(rows) if row[-1] < card]
    if not below:
        lower = sum(other < card for other in unseen) / len(unseen) if unseen else 0.0
        return (1 - lower) ** others * min(heads), 1000.0
    row = max(below, key=lambda number: rows[number][-1])
    last, room = rows[row][-1], capacity - len(rows[row])
    share = sum(last < other < card for other in unseen) / len(unseen) if unseen else 0.0
    sixth = comb(others, room) * share**room * (1 - share) ** (others - room) if room <= others else 0.0
    return sixth * heads[row], float(card - last)
