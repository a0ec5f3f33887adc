"""The vector form plays what as many single environments play, in every autoreset mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from sixnimmt_env.envs.single import SeatEnv
from sixnimmt_env.envs.table import IllegalActionError
from sixnimmt_env.envs.vector import SeatVectorEnv
from sixnimmt_env.games import sixnimmt
from sixnimmt_env.games.sixnimmt.state import ACTION_WAIT
from tests.envs.playing import KINDS, Options, name_of

OPPONENTS = ("greedy", "random", "uniform")
MODES = list(AutoresetMode)


def vector(num_envs: int = 4, illegal_action: Any = "raise", mode: Any = "NextStep", **options: Any) -> SeatVectorEnv:
    rules = sixnimmt.Rules(**{"num_players": 4, **options})
    return SeatVectorEnv(sixnimmt.GAME, rules, num_envs, OPPONENTS, "random", illegal_action, mode)


def singles(num_envs: int, mode: AutoresetMode, illegal_action: Any = "raise", **options: Any) -> SyncVectorEnv:
    rules = sixnimmt.Rules(**{"num_players": 4, **options})
    return SyncVectorEnv([lambda: SeatEnv(sixnimmt.GAME, rules, OPPONENTS, "random", illegal_action)] * num_envs, autoreset_mode=mode)


def same(ours: Any, theirs: Any) -> None:
    """Whether nested results are equal, in values and in kind."""
    if isinstance(ours, dict):
        assert set(ours) == set(theirs)
        for key in ours:
            same(ours[key], theirs[key])
    elif isinstance(ours, np.ndarray) and ours.dtype == object:
        for mine, other in zip(ours, theirs, strict=True):
            assert (mine is None) == (other is None)
            if mine is not None:
                same(mine, other)
    else:
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def lowest_or_highest(masks: Any, step: int) -> Any:
    """A legal action a game, 0 where none is needed; now the lowest, now the highest."""
    highest = masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1)
    return np.where(masks.any(axis=1), masks.argmax(axis=1) if step % 3 else highest, 0)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_many_play_as_one_by_one(kind: Options, mode: AutoresetMode) -> None:
    ours, theirs = vector(3, mode=mode, **kind), singles(3, mode, **kind)
    result = ours.reset(seed=11)
    same(result[0], theirs.reset(seed=11)[0])
    seen = result[0]
    for step in range(45):
        actions = lowest_or_highest(seen["action_mask"], step)
        mine, other = ours.step(actions), theirs.step(actions)
        for a, b in zip(mine, other, strict=True):
            same(a, b)
        seen = mine[0]
        if mode == AutoresetMode.DISABLED and mine[2].any():
            options = {"reset_mask": mine[2].copy()}
            mine_again, other_again = ours.reset(options=dict(options)), theirs.reset(options=dict(options))
            same(mine_again[0], other_again[0])
            same(mine_again[1], other_again[1])
            seen = mine_again[0]


@pytest.mark.parametrize("illegal_action", ["replace", "terminate"])
def test_illegal_actions_are_handled_game_by_game(illegal_action: str) -> None:
    ours = vector(3, illegal_action, AutoresetMode.NEXT_STEP)
    theirs = singles(3, AutoresetMode.NEXT_STEP, illegal_action)
    seen, _ = ours.reset(seed=2)
    theirs.reset(seed=2)
    for step in range(30):
        actions = lowest_or_highest(seen["action_mask"], step)
        if step % 4 == 1:
            actions[step % 3] = ACTION_WAIT
        mine, other = ours.step(actions), theirs.step(actions)
        for a, b in zip(mine, other, strict=True):
            same(a, b)
        seen = mine[0]


def test_a_game_does_not_depend_on_its_neighbours() -> None:
    few, many = vector(2), vector(64)
    seen_few, seen_many = few.reset(seed=100)[0], many.reset(seed=100)[0]
    for step in range(25):
        few_actions, many_actions = lowest_or_highest(seen_few["action_mask"], step), lowest_or_highest(seen_many["action_mask"], step)
        seen_few, seen_many = few.step(few_actions)[0], many.step(many_actions)[0]
        np.testing.assert_array_equal(seen_few["observation"], seen_many["observation"][:2])


def test_an_unseeded_reset_goes_on_with_the_stream() -> None:
    ours, theirs = vector(3), singles(3, AutoresetMode.NEXT_STEP)
    ours.reset(seed=5)
    theirs.reset(seed=5)
    for seed in (None, [7, None, 9], None):
        same(ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0])


def test_spaces_and_freshness() -> None:
    env = vector(5)
    seen, infos = env.reset(seed=0)
    for _ in range(15):
        assert seen in env.observation_space
        kept = {key: value.copy() for key, value in seen.items()}
        masks = env.action_masks()
        np.testing.assert_array_equal(masks, seen["action_mask"] == 1)
        infos["action_mask"][:] = 7
        before = seen
        seen, _, _, _, infos = env.step(lowest_or_highest(masks, 0))
        for key, value in before.items():
            np.testing.assert_array_equal(value, kept[key])


BAD_ACTIONS = [
    (np.zeros(3, dtype=np.int64), "actions must be (4,) integers"),
    (np.zeros(4), "actions must be (4,) integers"),
    (np.full(4, ACTION_WAIT), "action 112 (wait) is illegal for game 0"),
    (np.full(4, -1), "-1 is no action for game 0"),
]


@pytest.mark.parametrize(("actions", "message"), BAD_ACTIONS)
def test_bad_actions_change_nothing(actions: Any, message: str) -> None:
    env = vector(4)
    with pytest.raises(RuntimeError, match="reset"):
        env.step(actions)
    env.reset(seed=0)
    before = env._games.states.tobytes()
    with pytest.raises(IllegalActionError) as caught:
        env.step(actions)
    assert message in str(caught.value)
    assert env._games.states.tobytes() == before


def test_bad_options_are_refused() -> None:
    for num_envs in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="num_envs"):
            vector(num_envs)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Never"):
        vector(2, mode="Never")
    env = vector(2)
    with pytest.raises(ValueError, match="3 seeds for 2 games"):
        env.reset(seed=[1, 2, 3])
    with pytest.raises(ValueError, match="reset_mask"):
        env.reset(options={"reset_mask": [True, False]})


def test_games_are_asked_as_those_of_gymnasium() -> None:
    ours, theirs = vector(3), singles(3, AutoresetMode.NEXT_STEP)
    ours.reset(seed=2)
    theirs.reset(seed=2)
    for mine, other in zip(ours.call("action_masks"), theirs.call("action_masks"), strict=True):
        same(mine, other)
    for name in ("rules", "render_mode", "illegal_action"):
        assert ours.get_attr(name) == theirs.get_attr(name) == ours.call(name)
    with pytest.raises(AttributeError, match="no method 'step' to call one by one"):
        ours.call("step")
    with pytest.raises(AttributeError, match="nonsense"):
        ours.get_attr("nonsense")


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_a_flag_is_that_of_the_match_it_ended(mode: AutoresetMode) -> None:
    """With SameStep it is in the final infos, beside the match that was ended, and not beside the next one."""
    ours, theirs = vector(3, "terminate", mode), singles(3, mode, "terminate")
    seen, _ = ours.reset(seed=2)
    theirs.reset(seed=2)
    for step in range(6):
        actions = lowest_or_highest(seen["action_mask"], step)
        actions[step % 3] = ACTION_WAIT if step % 2 else actions[step % 3]
        mine, other = ours.step(actions), theirs.step(actions)
        for a, b in zip(mine, other, strict=True):
            same(a, b)
        seen = mine[0]
        if mode == AutoresetMode.DISABLED and mine[2].any():
            options = {"reset_mask": mine[2].copy()}
            seen = ours.reset(options=dict(options))[0]
            theirs.reset(options=dict(options))


def test_the_first_reset_deals_all_games() -> None:
    env = vector(3)
    mask = np.array([True, False, False])
    with pytest.raises(ValueError, match="the first reset deals all games"):
        env.reset(options={"reset_mask": mask})
    env.reset(seed=1)
    env.reset(options={"reset_mask": mask})


@pytest.mark.parametrize("illegal_action", ["replace", "terminate"])
@pytest.mark.parametrize("action", [None, 1.5, True, "x", 2**70, -1, 113])
def test_what_is_no_action_is_illegal_like_any_other(illegal_action: str, action: Any) -> None:
    env = vector(2, illegal_action)
    seen, _ = env.reset(seed=0)
    good = int(seen["action_mask"][1].argmax())
    _, _, ended, _, infos = env.step(np.array([action, good], dtype=object))
    assert infos["illegal_action"].tolist() == [True, False]
    assert ended.tolist() == [illegal_action == "terminate", False]


def test_seats_and_seeds_of_every_kind() -> None:
    assert SeatVectorEnv(sixnimmt.GAME, sixnimmt.Rules(), 2, "greedy", np.int64(2)).reset(seed=np.int64(3))[1]["seat"].tolist() == [2, 2]
    with pytest.raises(ValueError, match=r"seed=1\.0 must be a whole number"):
        vector(2).reset(seed=1.0)  # type: ignore[arg-type]
