"""The AEC environment, where the official checks look away: masks, rewards, the order of seats, the end."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from sixnimmt_env import sixnimmt_v0
from sixnimmt_env.envs.aec import AECGameEnv
from sixnimmt_env.games.sixnimmt import draft_order
from tests.envs.playing import (
    KINDS,
    MATCH,
    ROUND,
    Options,
    arrays,
    choose,
    legal,
    live,
    moments,
    name_of,
    natural,
    plain,
    play,
    seat_of,
    shown,
    started,
    totals,
    walk,
)
from tests.reference import ReferenceGame

EVERYTHING = [{"num_players": n, **kind, **form} for n, kind, form in itertools.product(range(2, 11), KINDS, (ROUND, MATCH))]
SOME = [options for options in EVERYTHING if options["num_players"] in (2, 3, 5, 10)]
FEW = [options for options in SOME if options["num_players"] == 3 and options["rounds"] is None]


# --- spaces ------------------------------------------------------------------------------------------------------------


def test_spaces_are_the_same_whatever_is_played() -> None:
    model = sixnimmt_v0.env()
    for options in EVERYTHING:
        env = sixnimmt_v0.env(**options)
        assert env.possible_agents == [f"player_{seat}" for seat in range(options["num_players"])]
        for agent in env.possible_agents:
            assert env.observation_space(agent) == model.observation_space("player_0")
            assert env.action_space(agent) == model.action_space("player_0")


def test_spaces_stay_the_same_objects() -> None:
    env = sixnimmt_v0.env(num_players=3)
    agents = env.possible_agents
    before = [(env.observation_space(agent), env.action_space(agent)) for agent in agents]
    assert len({id(space) for pair in before for space in pair}) == 6, "agents that share a space share its random numbers"
    for seed in range(2):
        env.reset(seed=seed)
        play(env)
        for agent, (observations, actions) in zip(agents, before, strict=True):
            assert env.observation_space(agent) is observations is env.observation_spaces[agent]
            assert env.action_space(agent) is actions is env.action_spaces[agent]


# --- every moment of a match -------------------------------------------------------------------------------------------


def check_masks(env: AECGameEnv) -> None:
    """The same in observation and info; something for the agent that is asked, nothing for the others."""
    for agent in env.agents:
        observation, info = env.observe(agent), env.infos[agent]
        mask = observation["action_mask"]
        assert plain(mask) == plain(info["action_mask"])
        assert mask.dtype == np.int8
        assert np.isin(mask, (0, 1)).all()
        assert mask.any() == (live(env) and agent == env.agent_selection)


def check_observations(env: AECGameEnv) -> None:
    size = env.game.layout.size
    for agent in env.possible_agents:
        observation = env.observe(agent)
        assert env.observation_space(agent).contains(observation)
        assert list(observation) == ["observation", "action_mask"]
        assert observation["observation"].dtype == np.float32
        assert (observation["observation"].shape, observation["action_mask"].shape) == ((size,), (113,))


def check_keys(env: AECGameEnv) -> None:
    for told in (env.rewards, env.terminations, env.truncations, env.infos, env._cumulative_rewards):
        assert list(told) == env.agents
    assert not any(env.truncations.values())
    assert len(set(env.terminations.values())) <= 1, "all end together"
    if env.agents:
        assert env.agent_selection in env.agents


@pytest.mark.parametrize("options", EVERYTHING, ids=name_of)
def test_every_moment(options: Options) -> None:
    for _, env in moments(seed=1, **options):
        check_masks(env)
        check_keys(env)
        check_observations(env)


# --- the rules ---------------------------------------------------------------------------------------------------------


class Lockstep:
    """The reference beside an environment, on the same cards; these are read off the observations."""

    def __init__(self, env: AECGameEnv, options: Options) -> None:
        self.env = env
        self.game = ReferenceGame(**options)
        self.picked: dict[int, int] = {}
        self._deal()

    def _deal(self) -> None:
        if self.game.deck == "logic":
            self.game.start_draft()
            return
        hands = [self._cards(natural(self.env, agent)["hand"]["card"]) for agent in self.env.possible_agents]
        self.game.start_round(hands, self._rows(natural(self.env, "player_0")["rows"]))

    @staticmethod
    def _cards(numbers: Any) -> list[int]:
        return [int(card) for card in numbers if card > 0]

    def _rows(self, rows: dict[str, Any]) -> list[list[int]]:
        columns = [rows[f"card_{slot}"] for slot in range(5)]
        return [self._cards(cards) for cards in zip(*columns, strict=True) if cards[0] > 0]

    def seat(self) -> int:
        """Who is to be asked next."""
        return next(seat for seat in self.game.to_act() if seat not in self.picked)

    def act(self, action: int) -> None:
        """Let the seat that is asked act; the others' turn comes when all have chosen."""
        self.picked[self.seat()] = action
        if len(self.picked) == len(self.game.to_act()):
            self.game.apply(self.picked)
            self.picked = {}
        if self.game.phase == "round_over":
            self._deal()

    def check(self) -> None:
        """Who is asked, what he may do, and what he is told."""
        seat, game = self.seat(), self.game
        agent = f"player_{seat}"
        assert self.env.agent_selection == agent
        assert legal(self.env) == game.legal(seat)
        told = natural(self.env, agent)
        assert self._cards(told["hand"]["card"]) == game.hands[seat]
        assert self._rows(told["rows"]) == game.rows
        around = [(seat + place) % game.num_players for place in range(game.num_players)]
        assert told["seats"]["penalty"][: game.num_players].tolist() == [game.penalties[other] for other in around]
        assert told["seats"]["total"][: game.num_players].tolist() == [game.totals[other] for other in around]


MATCHES: list[Options] = [{"num_players": n, **kind, **form} for n, kind, form in itertools.product((2, 3, 6, 10), KINDS, (ROUND, MATCH))]
MATCHES += [{"num_players": 4, **kind, "rounds": 3, "hand_size": 5, "num_rows": 2, "row_capacity": 3} for kind in KINDS]
MATCHES += [{"num_players": 5, **kind, "rounds": None, "target": 12, "exceed_target": True} for kind in KINDS]


def play_in_lockstep(options: Options, seeds: range) -> None:
    for seed in seeds:
        env, rng = started(seed, **options), random.Random(seed)
        lock = Lockstep(env, options)
        while live(env):
            lock.check()
            before = list(lock.game.totals)
            action = choose(env, rng)
            env.step(action)
            lock.act(action)
            assert list(env.rewards.values()) == [old - new for old, new in zip(before, lock.game.totals, strict=True)]
        assert lock.game.phase == "over"
        assert totals(env) == lock.game.totals


@pytest.mark.parametrize("options", MATCHES, ids=name_of)
def test_the_game_is_the_reference_game(options: Options) -> None:
    play_in_lockstep(options, range(3))


@pytest.mark.slow
@pytest.mark.parametrize("options", MATCHES, ids=name_of)
def test_many_games_are_the_reference_game(options: Options) -> None:
    play_in_lockstep(options if options["rounds"] else {**options, "target": 66}, range(100, 120))


def test_a_choice_comes_right_after_the_reveal_from_whoever_owns_the_card() -> None:
    """From any seat; from the one that picked last as well, which then acts twice in a row."""
    met: Counter[tuple[str, str]] = Counter()
    for seed, options in itertools.product(range(4), SOME):
        before, last = "", ""
        for name, env in moments(seed, **options):
            if name in ("row", "side"):
                # One turn can hold several ties (sides), but one row at most.
                assert (before, last) == ("committed", env.possible_agents[-1]) or before == name == "side"
                met[name, "twice in a row" if env.agent_selection == last else "another seat"] += 1
            before, last = name, env.agent_selection
    assert set(met) == set(itertools.product(("row", "side"), ("twice in a row", "another seat")))


@pytest.mark.parametrize("players", [2, 3, 7])
def test_the_draft_goes_round_from_another_seat_in_every_round(players: int) -> None:
    env = started(num_players=players, deck="logic", rounds=4)
    drafted: list[int] = []
    for agent in walk(env):
        if natural(env, agent)["context"]["phase_draft"][0]:
            drafted.append(seat_of(agent))
    assert drafted == [seat for index in range(4) for seat in draft_order(players, index)]


# --- rewards -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", SOME, ids=name_of)
def test_rewards_add_up(options: Options) -> None:
    """`last` tells each agent all that arose since its last action, whoever acted then; in all, minus the heads of the match."""
    env = sixnimmt_v0.env(**options)
    for seed in range(3):
        env.reset(seed=seed)
        waiting = dict.fromkeys(env.possible_agents, 0.0)
        received = dict.fromkeys(env.possible_agents, 0.0)
        rng = random.Random(seed)
        while env.agents:
            agent = env.agent_selection
            reward = env.last(observe=False)[1]
            assert reward == waiting[agent]
            received[agent] += reward
            waiting[agent] = 0.0
            env.step(choose(env, rng) if live(env) else None)
            for other, arisen in env.rewards.items():
                waiting[other] += arisen
        heads = totals(env)
        assert list(received.values()) == [-float(total) for total in heads]
        assert sum(heads) > 0


def test_rewards_are_python_numbers() -> None:
    for _, env in moments(num_players=3):
        assert {type(reward) for reward in env.rewards.values()} <= {float, int}
        if env.agents:
            assert [type(value) for value in env.last(observe=False)[1:4]] == [float, bool, bool]


# --- the end -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", SOME, ids=name_of)
def test_all_agents_end_together_and_leave_one_by_one(options: Options) -> None:
    env = started(5, **options)
    everybody = list(env.possible_agents)
    for _ in walk(env):
        assert env.agents == everybody
        assert not any(env.terminations.values())
    assert env.terminations == dict.fromkeys(everybody, True)
    left = []
    for agent in env.agent_iter():
        _, _, terminated, truncated, info = env.last()
        assert (terminated, truncated) == (True, False)
        assert not info["action_mask"].any()
        left.append(agent)
        env.step(None)
    assert left == everybody
    assert env.agents == []
    assert env.possible_agents == everybody


def test_the_documented_loop_ends() -> None:
    env = sixnimmt_v0.env(num_players=4)
    env.reset(seed=0)
    steps = 0
    for agent in env.agent_iter(max_iter=100):
        observation, _, terminated, truncated, _ = env.last()
        env.step(None if terminated or truncated else env.action_space(agent).sample(observation["action_mask"]))  # type: ignore[index]
        steps += 1
    assert not env.agents
    assert 44 <= steps <= 54  # four seats, ten cards and the steps after the end; a turn has one choice of a row at most


def test_an_agent_that_is_done_can_only_leave() -> None:
    env = play(started(num_players=3))
    while env.agents:
        before = shown(env)
        for action in (0, 112, True):
            with pytest.raises(ValueError, match="only valid action is None"):
                env.step(action)
        assert shown(env) == before
        env.step(None)
    with pytest.raises(RuntimeError, match="call reset"):
        env.step(None)
    with pytest.raises(RuntimeError, match="call reset"):
        env.step(0)
    with pytest.raises(RuntimeError, match="call reset"):
        env.last()
    assert list(env.agent_iter()) == []


@pytest.mark.parametrize(
    "use",
    [
        lambda env: env.step(0),
        lambda env: env.step(None),
        lambda env: env.last(),
        lambda env: env.observe("player_0"),
        lambda env: env.render(),
        lambda env: list(env.agent_iter()),
    ],
    ids=["step", "dead step", "last", "observe", "render", "agent_iter"],
)
def test_nothing_goes_before_reset(use: Any) -> None:
    env = sixnimmt_v0.env(render_mode="ansi")
    with pytest.raises(RuntimeError, match=r"call reset\(\)"):
        use(env)
    env.reset(seed=0)
    assert shown(env) == shown(started(0, render_mode="ansi"))


def test_reset_starts_anew_at_any_moment() -> None:
    """After any number of actions, and of agents that have left; up to the end of the new match."""
    options: Options = {"num_players": 3, "deck": "logic", "professional": True, **ROUND}
    fresh = [shown(env) for _, env in moments(3, **options)]
    whole = len(fresh) - 1
    for steps in (*range(0, whole, 9), *range(whole - 4, whole + 4)):
        env, rng = started(1, **options), random.Random(0)
        for _ in range(steps):
            if env.agents:
                env.step(choose(env, rng) if live(env) else None)
        env.reset(seed=3)
        again = [shown(env) for _ in walk(env, seed=3)]
        while env.agents:
            again.append(shown(env))
            env.step(None)
        assert [*again, shown(env)] == fresh


# --- what is handed out is the agent's own -----------------------------------------------------------------------------


def test_arrays_are_fresh_and_never_change() -> None:
    """A learner keeps them: what it was given must stay what it was."""
    for options in FEW:
        env = started(**options)
        kept: list[np.ndarray[Any, Any]] = []
        for agent in walk(env):
            new = [*arrays(env.last()[0] or {}, env.infos[agent]), *arrays(env.observe(agent), {}), *arrays(env.observe("player_1"), {})]
            own = [value for value in vars(env).values() if isinstance(value, np.ndarray)]
            assert not any(np.shares_memory(one, other) for one, other in itertools.combinations(new, 2))
            assert not any(np.shares_memory(one, other) for one, other in itertools.product(new, own))
            kept += new
            if len(kept) > 400:
                break
        before = plain(kept)
        play(env, seed=1)
        env.reset(seed=9)
        play(env, seed=2)
        assert plain(kept) == before


def vandalise(env: AECGameEnv) -> None:
    """What libraries do to what they are handed, and worse."""
    observation: Any
    observation, _, _, _, info = env.last()
    for array in arrays(observation, info):
        array[...] = 77
    del observation["action_mask"]
    observation["observation"] = None
    observation["__all__"] = True
    del info["action_mask"]
    info["__all__"] = True


@pytest.mark.parametrize("options", FEW, ids=name_of)
def test_what_becomes_of_the_arrays_does_not_matter(options: Options) -> None:
    env, other = started(2, **options), started(2, **options)
    rng = random.Random(0)
    while env.agents:
        assert shown(env) == shown(other)
        action = choose(env, rng) if live(env) else None
        vandalise(other)
        env.step(action)
        other.step(action)
        for agent in other.infos:
            assert "__all__" not in other.infos[agent] or other.terminations[agent]
    assert not other.agents
