"""The boards that the AEC environment shows to people: all that the seat to act may know, and no more."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.envs.playing import KINDS, MATCH, ROUND, Options, legal, live, moments, name_of, natural, seat_of, started, walk

TABLES: list[Options] = [
    *({"num_players": n, **kind, **ROUND, "render_mode": "ansi"} for n in (2, 4, 10) for kind in KINDS),
    *({"num_players": 3, **kind, **MATCH, "render_mode": "ansi"} for kind in KINDS),
]


def cards_in(line: str) -> list[int]:
    """The cards of a line of the board; each is followed by its heads in raised digits."""
    return [int(number) for number in re.findall(r"(\d+)[⁰¹²³⁴⁵⁶⁷⁸⁹]", line)]


def told_rows(told: dict[str, dict[str, Any]]) -> list[list[int]]:
    columns = [told["rows"][f"card_{slot}"] for slot in range(5)]
    return [[int(card) for card in cards if card] for cards in zip(*columns, strict=True) if cards[0]]


@pytest.mark.parametrize("options", TABLES, ids=name_of)
def test_the_board_shows_rows_heads_and_the_hand_of_the_seat_to_act(options: Options) -> None:
    env = started(4, **options)
    for agent in walk(env):
        told, lines = natural(env, agent), str(env.render()).splitlines()
        rows = [cards_in(line.split("|")[1]) for line in lines if line.startswith("  row ") and cards_in(line)]
        assert rows == told_rows(told)
        heads = [[int(word) for word in line.split()[1 + (">" in line) :][:2]] for line in lines if re.match(r" [ >] player_", line)]
        around = [(place - seat_of(agent)) % len(heads) for place in range(len(heads))]
        assert heads == [[told["seats"]["penalty"][place], told["seats"]["total"][place]] for place in around]
        hands = {line.split()[2].rstrip(":"): cards_in(line) for line in lines if "hand of" in line}
        assert hands[agent] == [card for card in told["hand"]["card"].tolist() if card]
        assert list(hands) == (env.possible_agents if options["deck"] == "logic" else [agent])


@pytest.mark.parametrize("options", [table for table in TABLES if table["deck"] != "logic"], ids=name_of)
def test_the_board_names_no_card_that_the_seat_does_not_know(options: Options) -> None:
    env = started(4, **options)
    for agent in walk(env):
        told = natural(env, agent)
        known, before = told["cards"], set(told["seats"]["last_card"].tolist())  # the last turn of the round before lies there too
        cards = {card for line in str(env.render()).splitlines() for card in cards_in(line)}
        assert cards <= before | {card for card in range(1, 105) if known["own"][card - 1] or known["seen"][card - 1]}


def test_the_board_is_rendered_up_to_the_end_and_after() -> None:
    boards: dict[str, Any] = {}
    for name, env in moments(num_players=3, render_mode="ansi"):
        boards.setdefault(name, env.render())
    assert boards["over"].splitlines()[-1].startswith("over: ")
    assert boards["empty"] == boards["over"]


def test_human_prints_the_board_after_every_action(capsys: pytest.CaptureFixture[str]) -> None:
    env, other = started(1, render_mode="human"), started(1, render_mode="ansi")
    assert capsys.readouterr().out == f"{other.render()}\n\n"
    assert env.render() is None
    assert capsys.readouterr().out == f"{other.render()}\n\n"
    while live(env):
        action = legal(env)[0]
        env.step(action)
        other.step(action)
        assert capsys.readouterr().out == f"{other.render()}\n\n"
    assert "wins" in str(other.render()) or "share the win" in str(other.render())


def test_nothing_is_rendered_without_a_render_mode(capsys: pytest.CaptureFixture[str]) -> None:
    env = started()
    with pytest.raises(ValueError, match=r"needs a render mode: make the environment with render_mode= one of human, ansi"):
        env.render()
    env.step(legal(env)[0])
    assert capsys.readouterr().out == ""
