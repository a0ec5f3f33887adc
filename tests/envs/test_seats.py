"""Games with one seat played from outside: compiled players and asked ones play alike, and decisions are recorded."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from sixnimmt_env import agents
from sixnimmt_env.envs.seats import OpponentError, SeatGames
from sixnimmt_env.games import sixnimmt
from tests.envs.playing import KINDS, MATCH, ROUND, Options, name_of, started
from tests.games.sixnimmt.playing import content

ASKED = dataclasses.replace(sixnimmt.GAME, play_on=None)
"""The same game without the short cut for rule-based players."""
FIELD = ("greedy", "random", "uniform", "closest", "lowest", "highest")
MATRIX: list[Options] = [{"num_players": n, **kind, **form} for n, kind, form in itertools.product((2, 5, 10), KINDS, (ROUND, MATCH))]


def games_of(game: Any, options: Options, count: int, **more: Any) -> SeatGames:
    field = [agents.make(name, seed=number) for number, name in enumerate(FIELD)]
    return SeatGames(game, sixnimmt.Rules(**options), field, [1.0] * len(field), count, **more)


def start(games: SeatGames, seed: int) -> None:
    games.start(np.full(len(games.views), seed, dtype=np.uint64), np.arange(len(games.views), dtype=np.uint64))


def same(one: SeatGames, other: SeatGames) -> bool:
    """Bit for bit, what lies between the fields of a record left out."""
    records = [(content(getattr(one, name)), content(getattr(other, name))) for name in ("states", "views")]
    arrays = [(getattr(one, name), getattr(other, name)) for name in ("masks", "costs", "over", "outside")]
    return one.forced == other.forced and all(np.array_equal(mine, theirs) for mine, theirs in records + arrays)


@pytest.mark.parametrize("skip_forced", [False, True])
@pytest.mark.parametrize("options", MATRIX, ids=name_of)
def test_compiled_players_play_as_asked_ones(options: Options, skip_forced: bool) -> None:
    compiled, asked = (games_of(game, options, 6, skip_forced=skip_forced) for game in (sixnimmt.GAME, ASKED))
    start(compiled, 3)
    start(asked, 3)
    rng = np.random.default_rng(0)
    assert same(compiled, asked)
    while not compiled.over.all():
        going = np.flatnonzero(~compiled.over)
        some = np.sort(rng.permutation(going)[: rng.integers(1, len(going) + 1)])
        choices = np.argmax(compiled.masks[some] * rng.random((len(some), sixnimmt.GAME.num_actions)), axis=1)
        compiled.step(choices, some)
        asked.step(choices, some)
        assert same(compiled, asked)
    compiled.restart(np.arange(0, 6, 2))
    asked.restart(np.arange(0, 6, 2))
    assert same(compiled, asked)


@pytest.mark.parametrize("game", [sixnimmt.GAME, ASKED], ids=["compiled", "asked"])
@pytest.mark.parametrize("options", MATRIX, ids=name_of)
def test_the_record_is_the_match(options: Options, game: Any) -> None:
    """Its decisions, carried out one by one, lead to the same end."""
    games, rng = games_of(game, options, 1, record=True), np.random.default_rng(1)
    for seed in (4, 5):
        start(games, seed)
        while not games.over.all():
            games.step(np.argmax(games.masks * rng.random(games.masks.shape), axis=1))
        env = started(seed, **options)
        for seat, action in games.decisions:
            assert env.agent_selection == f"player_{seat}"
            env.step(action)
        assert all(env.terminations.values())
        assert np.array_equal(content(env._states), content(games.states))


@pytest.mark.parametrize("game", [sixnimmt.GAME, ASKED], ids=["compiled", "asked"])
def test_an_illegal_choice_is_refused(game: Any) -> None:
    games = games_of(game, {}, 3)
    start(games, 0)
    before = games.states.tobytes()
    with pytest.raises(OpponentError, match=r"the outside seat chose 112 \(wait\), which is illegal"):
        games.step(np.full(3, 112))
    assert game is ASKED or games.states.tobytes() == before
