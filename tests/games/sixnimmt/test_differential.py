"""Engine and reference in lockstep, the short form; `python -m tests.differential` goes on as long as one likes."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

from tests import differential
from tests.differential import FORMS, Lockstep, Mismatch, Options, endless_variants
from tests.reference import DECKS

GAMES = 2  # of each form


def forms_of(rng: random.Random, **options: Any) -> list[Options]:
    """Games of every form of match; half of those to a target have a low one, which is met exactly more often."""
    games = []
    for number in range(GAMES):
        for form in FORMS.values():
            game = {**options, **form}
            if form["rounds"] is None and number % 2:
                game["target"] = rng.randint(1, 30)
            games.append(game)
    return games


@pytest.mark.parametrize("num_players", range(2, 11))
@pytest.mark.parametrize("professional", [False, True], ids=["usual", "professional"])
@pytest.mark.parametrize("deck", DECKS)
def test_engine_and_reference_agree(deck: str, professional: bool, num_players: int) -> None:
    rng = random.Random(f"{deck} {professional} {num_players}")
    games = forms_of(rng, deck=deck, professional=professional, num_players=num_players)
    tally = Lockstep(iter(games), rng, slots=5).run()
    assert tally.games == len(games)
    assert set(tally.variants) == {differential.variant_key(game) for game in games}
    assert tally.rows_chosen.total() > 0
    assert (tally.sides_chosen.total() > 0) == professional


def test_they_agree_in_a_batch_of_all_rules() -> None:
    rng = random.Random(0)
    tally = Lockstep(endless_variants(rng), rng, slots=64).run(turns=6_000)
    assert tally.small_turns > 500
    assert min(tally.rows_chosen[row] for row in range(4)) > 100
    assert min(tally.sides_chosen[side] for side in ("end", "front")) > 100


def some_turns(seed: int) -> differential.Tally:
    rng = random.Random(seed)
    return Lockstep(endless_variants(rng), rng, slots=8).run(turns=200)


def test_a_batch_can_be_played_again() -> None:
    assert some_turns(3) == some_turns(3) != some_turns(4)


# That a difference does not go unseen


def tampered(field: str) -> Lockstep:
    """A game in a side choice, which has every field filled, with one number of the engine's state changed."""
    rng = random.Random(1)
    games = iter([{"deck": "standard", "num_players": 5, "professional": True, "rounds": 2}] * 200)
    lockstep = Lockstep(games, rng, slots=1, place="seed 1, batch 0")
    while lockstep.games[0].phase != "side" or lockstep.games[0].turn < 2:
        lockstep.advance()
    state = lockstep.states[0]
    values = state["hands"] if field == "hands" else state["table"][field]
    if np.ndim(values):
        values.flat[0] ^= np.array(2, dtype=values.dtype)
    else:
        state["table"][field] = values + 1
    return lockstep


SAME_NAME = ["phase", "turn", "totals", "penalties", "rows", "row_len", "row_heads", "hands", "seen", "order", "placed", "took"]
TAMPERED = {**dict(zip(SAME_NAME, SAME_NAME, strict=True)), "actor": "to_act", "round_index": "round"}


@pytest.mark.parametrize("field", TAMPERED)
def test_a_difference_is_found_and_shown(field: str) -> None:
    with pytest.raises(Mismatch) as caught:
        tampered(field)._compare([0])
    message = str(caught.value)
    assert re.match(r"seed 1, batch 0, game \d+, round \d, turn \d: the positions differ", message)
    assert re.search(rf"^! {TAMPERED[field]} +engine ", message, re.MULTILINE)
    assert re.search(rf"^! {TAMPERED[field]} +reference ", message, re.MULTILINE)


def test_an_illegal_deal_is_found() -> None:
    rng = random.Random(1)
    lockstep = Lockstep(iter([{"deck": "standard", "num_players": 2, "professional": False, "rounds": 1}]), rng, slots=1)
    lockstep.states["hands"][0, 0] = lockstep.states["hands"][0, 1]
    lockstep.games[0].phase = "round_over"
    with pytest.raises(Mismatch, match="no legal deal"):
        lockstep._take_over_deal(0)


# The command


def test_the_command_reports(capsys: pytest.CaptureFixture[str]) -> None:
    assert differential.main(["--turns", "300", "--seed", "5"]) == 0
    assert re.match(r"3\d\d turns compared .*\nno difference\n$", capsys.readouterr().out)


def test_the_command_fails_on_a_mismatch(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differential, "heads_of", lambda cards: 0)
    assert differential.main(["--turns", "300", "--seed", "5"]) == 1
    out = capsys.readouterr().out
    assert "! row_heads" in out
    assert "again: python -m tests.differential --seed 5 --batch 0 --turns 300 --legal-every 8" in out
    assert "no difference" not in out


@pytest.mark.parametrize("arguments", [["--turns", "0"], ["--workers", "0"], ["--legal-every", "0"], ["--seeds", "1"]])
def test_the_command_refuses_what_cannot_be(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        differential.main(arguments)
    assert caught.value.code == 2
    assert arguments[0] in capsys.readouterr().err
