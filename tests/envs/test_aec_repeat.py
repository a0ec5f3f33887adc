"""The same again in the AEC environment: seeds, the stream of games, other processes, copies in the middle of a turn."""

from __future__ import annotations

import copy
import hashlib
import itertools
import os
import pickle
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sixnimmt_env import sixnimmt_v0
from sixnimmt_env.envs.aec import AECGameEnv
from tests.envs.playing import KINDS, MATCH, ROUND, Options, choose, legal, live, moments, name_of, natural, play, shown, started, walk

REPOSITORY = Path(__file__).parents[2]
TABLES = [{"num_players": n, **kind, **form} for n, kind, form in itertools.product((2, 5), KINDS, (ROUND, MATCH))]


def digest(options: Options, seed: int = 0) -> str:
    """Of all that can be read off a match, moment by moment."""
    content = hashlib.sha256()
    for _, env in moments(seed, **options, render_mode="ansi"):
        content.update(repr(shown(env)).encode())
    return content.hexdigest()


def deal_of(env: AECGameEnv) -> list[Any]:
    """Every hand and the rows."""
    hands = [natural(env, agent)["hand"]["card"].tolist() for agent in env.possible_agents]
    return [hands, natural(env, "player_0")["rows"]["last"].tolist()]


# --- seeds -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", TABLES, ids=name_of)
def test_a_seed_names_a_match(options: Options) -> None:
    assert digest(options) == digest(options)
    assert digest(options) != digest(options, seed=1)


def test_other_processes_play_the_same() -> None:
    code = "from tests.envs.test_aec_repeat import *; print(*[digest(options, 5) for options in TABLES])"
    environment = {**os.environ, "PYTHONHASHSEED": "17"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.split() == [digest(options, 5) for options in TABLES]


def test_every_seed_deals_other_cards() -> None:
    seeds = [*range(50), 2**31, 2**32, 2**62, 2**63 - 1, np.int64(77), np.uint8(78)]
    deals = [repr(deal_of(started(seed))) for seed in seeds]
    assert len(set(deals)) == len(seeds)
    assert deals == [repr(deal_of(started(int(seed)))) for seed in seeds]


def test_the_deal_depends_on_the_seed_alone() -> None:
    """Not on what was played before, and within a match not on how the rounds before went."""
    env = play(started(4, rounds=2), seed=1)
    env.reset(seed=9)
    assert deal_of(env) == deal_of(started(9))
    second = []
    for seed in range(3):
        env = started(6, rounds=2, num_players=3)
        second.append(next(deal_of(env) for _ in walk(env, seed) if natural(env, "player_0")["context"]["round_index"][0] == 1))
    assert second[0] == second[1] == second[2]


BAD_SEEDS: list[Any] = [-1, -(2**40), 2**63, 10**30, 1.0, 0.5, float("nan"), True, False, np.bool_(True), "1", b"1", [1], np.array([1, 2])]


@pytest.mark.parametrize("seed", BAD_SEEDS, ids=repr)
def test_bad_seeds_are_refused_and_nothing_changes(seed: Any) -> None:
    env = started(3)
    env.step(legal(env)[2])
    before = shown(env)
    with pytest.raises(ValueError, match="must be a whole number from 0 to 9223372036854775807"):
        env.reset(seed=seed)
    assert shown(env) == before
    env.reset()
    other = started(3)
    other.reset()
    assert shown(env) == shown(other), "the stream has moved on"


def test_resets_without_a_seed_go_on_with_the_stream_of_the_last_one() -> None:
    env, other = started(5), started(5)
    deals = [deal_of(env)]
    for games in range(6):
        env.reset()
        for _ in range(games):  # however far the game has gone
            env.step(legal(env)[0])
        other.reset()
        deals.append(deal_of(other))
        fresh = started(5)
        for _ in range(games + 1):
            fresh.reset()
        assert deal_of(fresh) == deals[-1]
    assert len(set(map(repr, deals))) == len(deals)
    env.reset(seed=5)
    assert deal_of(env) == deals[0]
    env.reset()
    assert deal_of(env) == deals[1]


def test_a_first_reset_without_a_seed_is_fresh() -> None:
    deals = set()
    for _ in range(20):
        env = sixnimmt_v0.env()
        env.reset()
        deals.add(repr(deal_of(env)))
    assert len(deals) == 20


def test_no_global_random_state_is_read_or_written() -> None:
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = random.getstate(), repr(np.random.get_state())  # noqa: NPY002
    env = sixnimmt_v0.env()
    env.reset()
    env.reset(seed=1)
    deal = deal_of(env)
    while env.agents:
        env.step(legal(env)[0] if live(env) else None)
    assert (random.getstate(), repr(np.random.get_state())) == before  # noqa: NPY002
    random.seed(2)
    np.random.seed(2)  # noqa: NPY002
    assert deal_of(started(1)) == deal


# --- copies ------------------------------------------------------------------------------------------------------------

COPIES: list[Callable[[AECGameEnv], AECGameEnv]] = [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]


@pytest.mark.parametrize("duplicate", COPIES, ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_copies_go_on_exactly_and_apart(kind: Options, duplicate: Callable[[AECGameEnv], AECGameEnv]) -> None:
    """In every kind of moment: the copy plays as the original would have, and the original does not notice."""
    options: Options = {"num_players": 3, **kind, "rounds": 2, "render_mode": "ansi", "hand_size": 6, "num_rows": 3, "row_capacity": 3}
    names = {"pick", "committed", "row", "over", "empty"}
    names |= {"side"} if kind["professional"] else set()
    names |= {"draft"} if kind["deck"] == "logic" else set()
    seed = next(seed for seed in range(100) if {name for name, _ in moments(seed, **options)} == names)
    met: Counter[str] = Counter()
    for name, env in moments(seed, **options):
        met[name] += 1
        if met[name] > 3:
            continue
        before = shown(env)
        twins = duplicate(env), duplicate(env)
        rng = random.Random(0)
        while twins[0].agents:
            action = choose(twins[0], rng) if live(twins[0]) else None
            for twin in twins:
                twin.step(action)
            assert shown(twins[0]) == shown(twins[1])
            assert shown(env) == before
        for twin in twins:
            twin.reset()
        assert shown(twins[0]) == shown(twins[1])
        assert shown(env) == before
    assert set(met) == names


@pytest.mark.parametrize("duplicate", COPIES, ids=["deepcopy", "pickle"])
def test_a_copy_plays_what_the_original_plays(duplicate: Callable[[AECGameEnv], AECGameEnv]) -> None:
    """Action by action with the original, from a turn in which two of four seats have chosen."""
    env = started(2, rounds=2, illegal_action="replace", render_mode="ansi")
    for _ in range(6):
        env.step(legal(env)[0])
    other = duplicate(env)
    rng = random.Random(0)
    while env.agents:
        assert shown(other) == shown(env)
        action = rng.randrange(113) if live(env) else None  # most are illegal: what replaces them is the same as well
        env.step(action)
        other.step(action)
    assert not other.agents


@pytest.mark.parametrize("duplicate", COPIES, ids=["deepcopy", "pickle"])
def test_environments_are_copied_before_reset_as_well(duplicate: Callable[[AECGameEnv], AECGameEnv]) -> None:
    env = duplicate(sixnimmt_v0.env(num_players=3, **MATCH, professional=True))
    env.reset(seed=4)
    other = started(4, num_players=3, **MATCH, professional=True)
    assert shown(play(env)) == shown(play(other))
    assert env.observation_space("player_0") == other.observation_space("player_0")
