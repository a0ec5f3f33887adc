"""What the AEC environment does with what it must not accept: illegal actions in the three modes, and impossible options."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sixnimmt_env import sixnimmt_v0
from sixnimmt_env.envs.aec import AECGameEnv
from sixnimmt_env.envs.table import IllegalActionError
from sixnimmt_env.games import sixnimmt
from sixnimmt_env.games.sixnimmt.state import OVER
from tests.envs.playing import KINDS, MATCH, Options, legal, live, moment, name_of, shown, started, totals, walk

NO_ACTIONS: list[Any] = [
    *(-1, -105, 113, 114, 2**31, 2**63, 10**30, np.int64(-1), np.int64(113)),
    *(1.0, 0.5, np.float32(3.0), float("nan"), Fraction(3), 1 + 0j),
    *(None, "3", b"3", "", [3], (3,), {}, {"row": 1}, np.array([3]), np.array([1.0]), np.array(3.0), np.zeros(113, dtype=np.int8)),
    # Bools are refused, though Python counts with them: True is more likely a piece of a mask than the action 1, the card 2.
    *(True, False, np.bool_(True), np.bool_(False), np.array(True)),
]


def illegal_actions(env: AECGameEnv) -> list[int]:
    allowed = legal(env)
    return [action for action in range(113) if action not in allowed]


# --- raise -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", NO_ACTIONS, ids=repr)
def test_what_is_no_action_is_refused(action: Any) -> None:
    env = started(3)
    env.step(legal(env)[0])
    before = shown(env)
    with pytest.raises(IllegalActionError) as caught:
        env.step(action)
    assert str(caught.value).startswith(f"{action!r} is no action for player_1 now; legal are {legal(env)[0]} (card {legal(env)[0] + 1}), ")
    assert shown(env) == before


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_every_illegal_action_is_refused_and_nothing_changes(kind: Options) -> None:
    """In every phase; the environment goes on as if nothing had been tried."""
    options: Options = {"num_players": 3, **kind, "render_mode": "ansi", "hand_size": 6}
    tried: dict[str, int] = {}
    env, untroubled = started(4, **options), started(4, **options)
    for _ in walk(env, seed=2):
        name = moment(env)
        tried[name] = tried.get(name, 0) + 1
        if tried[name] <= 3:
            before = shown(env)
            states = env._states.tobytes()
            for action in illegal_actions(env):
                with pytest.raises(IllegalActionError):
                    env.step(action)
            assert shown(env) == before
            assert env._states.tobytes() == states
    assert {"pick", "committed"} <= set(tried)
    assert shown(env) == shown([untroubled for _ in walk(untroubled, seed=2)][-1])


MESSAGES: list[tuple[Options, str, str, str]] = [
    ({}, "pick", r"action 104 (row 0) is illegal for player_0 now", r"\d+ (card \d+), \d+ (card \d+)"),
    ({}, "row", r"action 112 (wait) is illegal for player_\d now", "104 (row 0), 105 (row 1), 106 (row 2), 107 (row 3)"),
    ({"professional": True}, "side", r"action 112 (wait) is illegal for player_\d now", r"10\d (row \d), 1\d\d (front of row \d)"),
    ({"deck": "logic"}, "draft", r"action 107 (row 3) is illegal for player_0 now", r"0 (card 1), 1 (card 2), .*, 11 (card 12), ..."),
]


@pytest.mark.parametrize(("options", "name", "what", "allowed"), MESSAGES, ids=lambda value: value if isinstance(value, str) else "")
def test_the_message_names_the_action_the_agent_what_is_legal_and_the_fix(options: Options, name: str, what: str, allowed: str) -> None:
    env = next(env for env in at(name, **options))
    action = int(re.findall(r"action (\d+)", what)[0])
    pattern = re.sub(r"(?<!\\)([()])", r"\\\1", f"^{what}; legal are {allowed}") + ".*" + re.escape("Draw actions with the mask")
    with pytest.raises(IllegalActionError, match=pattern):
        env.step(action)


def at(name: str, **options: Any) -> Any:
    """Environments in the moment of that name, with as few seeds as it takes."""
    for seed in range(200):
        env = started(seed, **options)
        yield from (env for _ in walk(env, seed) if moment(env) == name)


@pytest.mark.parametrize("cast", [int, np.int64, np.int8, np.uint8, np.int32, np.array, lambda a: np.array(a, dtype=np.uint16)])
def test_whole_numbers_of_every_type_are_actions(cast: Any) -> None:
    env, other = started(6), started(6)
    while live(env):
        action = legal(env)[-1]
        env.step(cast(action))
        other.step(action)
        assert shown(env) == shown(other)
    assert sum(totals(env)) > 0


def test_illegal_actions_are_value_errors() -> None:
    with pytest.raises(ValueError, match="is no action for player_0 now"):
        started().step(-1)


# --- replace -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_replace_plays_the_lowest_legal_action(kind: Options) -> None:
    options: Options = {"num_players": 3, **kind, **MATCH}
    env, lowest = started(2, **options, illegal_action="replace"), started(2, **options)
    troubles = 0
    while live(lowest):
        agent = env.agent_selection
        bad = [*NO_ACTIONS[:12], *illegal_actions(env)]
        wrong = troubles % 2 == 0
        env.step(bad[troubles % len(bad)] if wrong else legal(env)[0])
        lowest.step(legal(lowest)[0])
        assert env.infos[agent].pop("illegal_action", False) == wrong
        assert shown(env) == shown(lowest)
        troubles += 1
    assert not live(env)
    assert troubles > 30


def test_an_illegal_action_is_remembered_until_the_seat_acts_again() -> None:
    env = started(2, illegal_action="replace")
    env.step(112)
    for _ in range(3):
        assert env.infos["player_0"]["illegal_action"] is True
        assert "illegal_action" not in env.infos[env.agent_selection]
        env.step(legal(env)[0])
    while env.agent_selection != "player_0":  # somebody may have to take a row
        env.step(legal(env)[0])
    assert env.last()[4]["illegal_action"] is True
    env.step(legal(env)[0])
    assert "illegal_action" not in env.infos["player_0"]


# --- terminate ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", [112, -1, None, 1.5, True])
@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_terminate_ends_the_match_for_all_at_the_offenders_cost(kind: Options, action: Any) -> None:
    options: Options = {"num_players": 3, **kind, **MATCH}
    env = started(2, **options, illegal_action="terminate")
    for agent in walk(env):
        if moment(env) == "committed" and any(reward for other, reward in env._cumulative_rewards.items() if other != agent):
            break
    offender, before = env.agent_selection, dict(env._cumulative_rewards)
    forfeit = sum(sixnimmt.bull_heads(card) for card in sixnimmt.deck(3, kind["deck"]))
    assert any(before[other] for other in before if other != offender)
    states = env._states.copy()
    env.step(action)
    assert env.view(offender)["table"]["phase"] == OVER
    for agent in env.possible_agents:  # nobody is asked any more, and nothing but that has changed
        assert not env.view(agent)["deciding"]
    for part in ("phase", "actor"):
        states["table"][part] = env._states["table"][part]
    assert env._states.tobytes() == states.tobytes()
    assert env.terminations == dict.fromkeys(env.possible_agents, True)
    assert env.truncations == dict.fromkeys(env.possible_agents, False)
    assert env.rewards == {agent: -float(forfeit) if agent == offender else 0.0 for agent in env.possible_agents}
    received = {}
    for agent in env.agent_iter():
        _, received[agent], terminated, _, info = env.last()
        assert terminated
        assert not info["action_mask"].any()
        assert info.get("illegal_action", False) == (agent == offender)
        env.step(None)
    # What had arisen for the others since their last action is still theirs.
    assert received == {**before, offender: -float(forfeit)}


def test_nobody_wins_a_match_that_was_ended() -> None:
    env = sixnimmt_v0.env(num_players=2, illegal_action="terminate", render_mode="ansi")
    env.reset(seed=2)
    env.step(112)
    board = str(env.render()).splitlines()
    assert "round 1 of 1, turn 1 of 10" in board[0]
    assert board[-1] == "the match was ended before its end: nobody wins"


def test_terminate_leaves_legal_play_alone() -> None:
    env, other = started(2, illegal_action="terminate"), started(2)
    while other.agents:
        action = legal(other)[0] if live(other) else None
        env.step(action)
        other.step(action)
        assert shown(env) == shown(other)
    assert not env.agents


# --- options -----------------------------------------------------------------------------------------------------------

IMPOSSIBLE: list[tuple[Options, str]] = [
    ({"num_players": 1}, "num_players=1 must be a whole number from 2 to 10"),
    ({"num_players": 11}, "num_players=11 must be a whole number from 2 to 10"),
    ({"num_players": 0}, "num_players=0 must be"),
    ({"num_players": -4}, "num_players=-4 must be"),
    ({"num_players": 4.0}, "num_players=4.0 must be a whole number"),
    ({"num_players": True}, "num_players=True must be a whole number"),
    ({"num_players": "4"}, "num_players='4' must be a whole number"),
    ({"num_players": None}, "num_players=None must be a whole number"),
    ({"deck": "tactic"}, "deck='tactic' is unknown: choose one of 'standard', 'tactical', 'logic'"),
    ({"deck": None}, "deck=None is unknown: choose one of"),
    ({"deck": 1}, "deck=1 is unknown: choose one of"),
    ({"deck": ["logic"]}, "is unknown: choose one of"),
    ({"professional": "yes"}, "professional='yes' must be True or False"),
    ({"professional": 1}, "professional=1 must be True or False"),
    ({"rounds": None}, "would never end: give rounds=1, or target=66"),
    ({"target": 66}, "rounds=1 and target=66 exclude each other: for a match to 66 heads pass rounds=None"),
    ({"rounds": 0}, "rounds=0 must be a whole number from 1"),
    ({"rounds": 1.5}, "rounds=1.5 must be a whole number"),
    ({"rounds": None, "target": 0}, "target=0 must be a whole number from 1"),
    ({"rounds": None, "target": 66.5}, "target=66.5 must be a whole number"),
    ({"exceed_target": True}, "exceed_target=True needs a target: pass target=66, rounds=None"),
    ({"hand_size": 11}, "hand_size=11 must be a whole number from 1 to 10"),
    ({"num_rows": 5}, "num_rows=5 must be a whole number from 1 to 4"),
    ({"row_capacity": 0}, "row_capacity=0 must be a whole number from 1 to 5"),
    ({"deck_size": 43}, "deck_size=43 must be a whole number from 44 to 104"),
    ({"deck_size": 105}, "deck_size=105 must be a whole number from 44 to 104"),
    ({"deck": "logic", "deck_size": 50}, "deck_size=50 is impossible with deck='logic'"),
    ({"illegal_action": "ignore"}, "illegal_action='ignore' is unknown: choose one of 'raise', 'replace', 'terminate'"),
    ({"illegal_action": None}, "illegal_action=None is unknown: choose one of"),
    ({"render_mode": "depth"}, "render_mode='depth' is unknown: choose one of 'human', 'ansi', 'rgb_array', None"),
    ({"render_mode": True}, "render_mode=True is unknown: choose one of"),
    ({"render_mode": ""}, "render_mode='' is unknown: choose one of"),
]


@pytest.mark.parametrize(("options", "message"), IMPOSSIBLE, ids=[str(options) for options, _ in IMPOSSIBLE])
def test_impossible_options_are_refused_with_what_would_be_possible(options: Options, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        sixnimmt_v0.env(**options)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(TypeError, match="players"):
        sixnimmt_v0.env(players=4)  # type: ignore[call-arg]


def test_metadata_is_what_the_environment_offers() -> None:
    env = sixnimmt_v0.env()
    assert str(env) == env.metadata["name"] == "sixnimmt_v0"
    modes: Any = env.metadata["render_modes"]
    assert [sixnimmt_v0.env(render_mode=mode).render_mode for mode in modes] == ["human", "ansi", "rgb_array"]
    assert env.unwrapped is env
    assert env.max_num_agents == 4
    env.close()
