"""The parallel and the single-agent form play the same games as the AEC form, bit for bit."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import random
from typing import Any

import numpy as np
import pytest

from sixnimmt_env import agents, sixnimmt_v0
from sixnimmt_env.envs.parallel import ParallelGameEnv
from sixnimmt_env.envs.seats import NoChoiceError, SeatGames
from sixnimmt_env.envs.single import SeatEnv
from sixnimmt_env.envs.table import IllegalActionError
from sixnimmt_env.games import sixnimmt
from sixnimmt_env.games.sixnimmt.state import ACTION_WAIT
from tests.envs.playing import KINDS, MATCH, ROUND, Options, name_of, started

PLAYERS = range(2, 11)


def parallel(illegal_action: Any = "raise", render_mode: str | None = None, **options: Any) -> ParallelGameEnv:
    return sixnimmt_v0.parallel_env(illegal_action=illegal_action, render_mode=render_mode, **options)


def single(opponents: Any = ("greedy",), seat: Any = "random", illegal_action: Any = "raise", **options: Any) -> SeatEnv:
    return SeatEnv(sixnimmt.GAME, sixnimmt.Rules(**options), opponents, seat, illegal_action)


# --- parallel ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_players", PLAYERS)
@pytest.mark.parametrize("length", [ROUND, MATCH], ids=name_of)
@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_parallel_and_aec_play_the_same_game(kind: Options, length: Options, num_players: int) -> None:
    options = {**kind, **length, "num_players": num_players}
    together, in_turn = parallel(**options), started(seed=5, **options)
    observations, infos = together.reset(seed=5)
    rng = random.Random(5)
    waited = False
    while together.agents:
        masks = {agent: infos[agent]["action_mask"] for agent in together.agents}
        actions = {agent: int(rng.choice(np.flatnonzero(mask))) for agent, mask in masks.items()}
        asked = {agent for agent, action in actions.items() if action != ACTION_WAIT}
        waited |= len(asked) < num_players
        for agent in masks:
            seen = in_turn.observe(agent)["observation"]
            assert np.array_equal(seen, observations[agent]["observation"])
            assert observations[agent]["action_mask"].sum() >= 1
            assert np.array_equal(observations[agent]["action_mask"], masks[agent])
        gained = dict.fromkeys(masks, 0.0)
        while asked:
            agent = in_turn.agent_selection
            assert np.array_equal(in_turn.observe(agent)["action_mask"], masks[agent])
            asked.remove(agent)
            in_turn.step(actions[agent])
            gained = {name: gained[name] + reward for name, reward in in_turn.rewards.items()}
        observations, rewards, terminations, truncations, infos = together.step(actions)
        assert rewards == gained
        assert terminations == in_turn.terminations
        assert not any(truncations.values())
    assert waited or (kind["deck"] != "logic")


@pytest.mark.parametrize("mode", ["raise", "replace", "terminate"])
@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_a_game_without_the_short_cuts_is_played_alike(kind: Options, mode: str) -> None:
    short, long = parallel(mode, **kind, num_players=3), parallel(mode, **kind, num_players=3)
    long.game = dataclasses.replace(long.game, show_all=None, play_all=None)
    rng = random.Random(11)
    for match in range(4):
        answers: Any = [env.reset(seed=match) for env in (short, long)]
        while short.agents:
            same = [freeze(answer) for answer in answers]
            assert same[0] == same[1]
            actions = {agent: int(rng.choice(np.flatnonzero(info["action_mask"]))) for agent, info in answers[0][-1].items()}
            if rng.random() < 0.1:
                actions[rng.choice(short.agents)] = rng.randrange(-1, ACTION_WAIT + 2)
            answers = [attempt(env, actions) for env in (short, long)]
        assert short.trace().decisions == long.trace().decisions


def attempt(env: ParallelGameEnv, actions: dict[str, int]) -> Any:
    """What a step answers; where it is refused, the match goes on with the lowest legal actions."""
    try:
        return env.step(actions)
    except IllegalActionError as error:
        lowest = {agent: int(mask.argmax()) for agent, mask in zip(env.agents, env._masks, strict=True)}
        return (str(error), *env.step(lowest))


def freeze(answer: Any) -> Any:
    """`answer` with arrays as bytes, to be compared."""
    if isinstance(answer, dict):
        return {key: freeze(value) for key, value in answer.items()}
    if isinstance(answer, tuple):
        return [freeze(value) for value in answer]
    return answer.tobytes() if isinstance(answer, np.ndarray) else answer


def test_what_the_parallel_form_returns_is_the_callers() -> None:
    env, twin = parallel(professional=True), parallel(professional=True)
    result, expected = env.reset(seed=3), twin.reset(seed=3)
    while env.agents:
        actions = {agent: int(seen["action_mask"].argmax()) for agent, seen in expected[0].items()}
        for seen in result[0].values():
            seen["observation"][:] = 7
            seen["action_mask"][:] = 7
        for info in result[-1].values():
            info["action_mask"][:] = 7
            info.clear()
        result, expected = env.step(actions), twin.step(actions)
        for agent in expected[0]:
            assert np.array_equal(result[0][agent]["observation"], expected[0][agent]["observation"])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["deepcopy", "pickle"])
def test_a_copy_of_the_parallel_form_goes_on_alike_and_alone(copied: Any) -> None:
    env = parallel(deck="logic", num_players=3)
    observations, _ = env.reset(seed=1)
    for _ in range(12):
        observations, *_ = env.step({agent: int(seen["action_mask"].argmax()) for agent, seen in observations.items()})
    twin, theirs = copied(env), observations
    while twin.agents:
        theirs, *_ = twin.step({agent: int(seen["action_mask"].argmax()) for agent, seen in theirs.items()})
    while env.agents:
        observations, *_ = env.step({agent: int(seen["action_mask"].argmax()) for agent, seen in observations.items()})
    assert all(np.array_equal(observations[agent]["observation"], theirs[agent]["observation"]) for agent in observations)


def test_the_parallel_form_refuses_and_stays_as_it_was() -> None:
    env = parallel()
    with pytest.raises(RuntimeError, match="reset"):
        env.step({})
    observations, _ = env.reset(seed=0)
    good = {agent: int(seen["action_mask"].argmax()) for agent, seen in observations.items()}
    before = env._states.tobytes()
    bad: list[tuple[dict[str, Any], str]] = [
        ({}, "missing: player_0, player_1, player_2, player_3"),
        ({**good, "player_9": 1}, "not at this table: player_9"),
        ({**good, "player_2": ACTION_WAIT}, "action 112 (wait) is illegal for player_2"),
        ({**good, "player_1": 1.5}, "1.5 is no action for player_1"),
        ({**good, "player_1": True}, "True is no action for player_1"),
        ({**good, "player_3": -1}, "-1 is no action for player_3"),
        ({**good, "player_0": 10**30}, f"{10**30} is no action for player_0"),
    ]
    for actions, message in bad:
        with pytest.raises(IllegalActionError) as caught:
            env.step(actions)
        assert message in str(caught.value)
        assert env._states.tobytes() == before


def test_illegal_actions_of_the_parallel_form_end_or_are_replaced_as_documented() -> None:
    for mode, over in (("terminate", True), ("replace", False)):
        env = parallel(mode)
        observations, _ = env.reset(seed=0)
        actions = {agent: int(seen["action_mask"].argmax()) for agent, seen in observations.items()}
        _, rewards, terminations, _, infos = env.step({**actions, "player_1": ACTION_WAIT})
        assert set(terminations.values()) == {over}
        assert [agent for agent, info in infos.items() if info.get("illegal_action")] == ["player_1"]
        assert (rewards["player_1"] == -171.0) == over
        assert env.agents == ([] if over else env.possible_agents)
        twin = parallel()
        twin.reset(seed=0)
        if not over:
            assert rewards == twin.step(actions)[1]


# --- one seat against agents -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_players", PLAYERS)
@pytest.mark.parametrize("length", [ROUND, MATCH], ids=name_of)
@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_single_and_aec_play_the_same_game(kind: Options, length: Options, num_players: int) -> None:
    options = {**kind, **length, "num_players": num_players}
    field = [agents.make("random" if number % 2 else "greedy", seed=number) for number in range(num_players - 1)]
    env, table = single(field, **options), started(seed=9, **options)
    seen, info = env.reset(seed=9)
    own = info["seat"]
    rng = random.Random(9)
    total, terminated = 0.0, False
    while not table.terminations["player_0"]:
        agent = table.agent_selection
        seat = table.possible_agents.index(agent)
        if seat == own:
            assert not terminated
            theirs = table.observe(agent)
            assert np.array_equal(seen["observation"], theirs["observation"])
            assert np.array_equal(seen["action_mask"], theirs["action_mask"])
            assert np.array_equal(env.action_masks(), theirs["action_mask"] == 1)
            action = int(rng.choice(np.flatnonzero(seen["action_mask"])))
            seen, reward, terminated, _, info = env.step(action)
            total += reward
        else:
            action = int(field[(seat - own - 1) % num_players].act([table.view(agent)])[0])
        table.step(action)
    assert terminated
    assert total == -int(table.game.costs(table._states)[0, own])


def test_seats_are_where_they_were_asked_for() -> None:
    fixed, rotating, drawn = single(seat=2), single(seat="rotate"), single(seat="random")
    for env in (fixed, rotating, drawn):
        env.reset(seed=0)
    seats = {env: [env.reset()[1]["seat"] for _ in range(400)] for env in (fixed, rotating, drawn)}
    assert set(seats[fixed]) == {2}
    assert seats[rotating][:5] == [1, 2, 3, 0, 1]
    assert min(np.bincount(seats[drawn], minlength=4)) > 60  # 100 expected, standard deviation 8.7


def test_a_seed_fixes_the_match_and_its_opponents() -> None:
    def episode(seed: int) -> list[bytes]:
        env = single(["random"])
        seen, _ = env.reset(seed=seed)
        trail, over = [], False
        while not over:
            trail.append(seen["observation"].tobytes())
            seen, _, over, _, _ = env.step(int(seen["action_mask"].argmax()))
        return trail

    assert episode(4) == episode(4)
    assert episode(4) != episode(5)


BAD: list[tuple[Options, str]] = [
    ({"opponents": ["greedy", "random"]}, "2 opponents for 4 players: give one for all other seats, or 3, one each"),
    ({"opponents": ["gredy"]}, "did you mean 'greedy'?"),
    ({"seat": 4}, 'seat=4 must be 0..3, "random" or "rotate"'),
    ({"seat": True}, "seat=True must be"),
    ({"illegal_action": "ignore"}, "illegal_action='ignore' is unknown: choose one of 'raise', 'replace', 'terminate'"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=[str(options) for options, _ in BAD])
def test_the_single_form_refuses_what_cannot_be(options: Options, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is looked at below
        single(**options)
    assert message in str(caught.value)


def test_weights_draw_the_opponents_and_forced_actions_can_be_skipped() -> None:
    count = 4000
    field = [agents.make("greedy"), agents.make("random")]
    games = SeatGames(sixnimmt.GAME, sixnimmt.Rules(), field, [3.0, 1.0], count, "random", skip_forced=True)
    games.start(np.full(count, 1, dtype=np.uint64), np.arange(count, dtype=np.uint64))
    shares = np.bincount(games._chairs[games._chairs >= 0]) / (3 * count)
    assert abs(shares[0] - 0.75) < 4 * (0.75 * 0.25 / (3 * count)) ** 0.5
    while not games.over.all():
        going = np.flatnonzero(~games.over)
        assert (games.masks[going].sum(axis=1) > 1).all()
        games.step(games.masks[going].argmax(axis=1), going)
    assert games.forced >= count  # the last card at least


def test_a_variant_without_choices_is_refused() -> None:
    rules = sixnimmt.Rules(num_players=2, hand_size=1, num_rows=1, deck="tactical")
    games = SeatGames(sixnimmt.GAME, rules, [agents.make("random")], None, 1, 0, skip_forced=True)
    with pytest.raises(NoChoiceError, match="nothing to decide"):
        games.start(np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.uint64))


def arrays_in(value: Any) -> list[Any]:
    """All arrays in nested results, and what they are parts of."""
    if isinstance(value, dict):
        return [array for part in value.values() for array in arrays_in(part)]
    if isinstance(value, tuple):
        return [array for part in value for array in arrays_in(part)]
    found = []
    while isinstance(value, np.ndarray):
        found.append(value)
        value = value.base
    return found


def test_no_array_that_is_returned_is_part_of_a_larger_one() -> None:
    """Such a part would lead, by its base, to what others see."""
    together, in_turn, alone = parallel(), started(1), single()
    observations, infos = together.reset(seed=1)
    actions = {agent: int(seen["action_mask"].argmax()) for agent, seen in observations.items()}
    first, _ = alone.reset(seed=1)
    results = (
        *((observations[agent], infos[agent]) for agent in together.agents),
        *together.step(actions)[:1][0].values(),
        in_turn.last(),
        in_turn.infos["player_2"],
        first,
        alone.step(int(first["action_mask"].argmax())),
    )
    sizes = {together.game.layout.size, together.game.num_actions}
    for result in results:
        assert {array.size for array in arrays_in(result)} <= sizes
