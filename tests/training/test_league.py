"""Self-play, against the obvious way: every match by itself, seat after seat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sixnimmt_env import agents
from sixnimmt_env.agents import Agent
from sixnimmt_env.envs.seats import SeatGames
from sixnimmt_env.games.sixnimmt import GAME, Rules
from tests.games.sixnimmt.playing import advance, dealt, legal_masks, seats_to_act, views_of
from tests.training.small import PLAIN, network
from training.config import Config
from training.league import LEARNER, Group, League, LeagueGames
from training.network import Shape
from training.ppo import DecisionBuffer
from training.vec_env import MatchVecEnv

MIXED = (Group(2.0, (LEARNER,)), Group(1.0, (0,)), Group(1.0, (1, 2), (3.0, 1.0)))

VARIANTS: dict[str, tuple[list[tuple[Rules, float]], int]] = {
    "standard": ([(Rules(), 1.0)], 50),
    "several": ([(Rules(num_players=2), 1.0), (Rules(num_players=5, professional=True), 2.0), (Rules(num_players=10), 0.5)], 60),
    "logic": ([(Rules(num_players=3, deck="logic"), 1.0)], 70),
    "matches": ([(Rules(num_players=3, hand_size=2, rounds=3), 1.0)], 40),
    "to a target": ([(Rules(num_players=3, hand_size=5, rounds=None, target=15), 1.0)], 60),
}


def field() -> list[Agent]:
    return [agents.make("greedy", seed=1), agents.make("random", seed=2), agents.make("uniform", seed=3)]


def make(variants: Sequence[tuple[Rules, float]], count: int, groups: Sequence[Group] = MIXED, by_table: bool = False) -> MatchVecEnv:
    games = LeagueGames(GAME, variants, field(), groups, count, by_table)
    return MatchVecEnv(games, Shape(draft=variants[0][0].deck == "logic"), 5, "own", 10.0)


class Match:
    """One match of the environment, played the obvious way."""

    def __init__(self, env: MatchVecEnv, game: int) -> None:
        games = env.games
        assert isinstance(games, LeagueGames)
        players = int(games.players[game])
        record = games.states[game]
        rules = next(rules for rules, _ in env.variants if rules.num_players == players)  # type: ignore[attr-defined]
        self.chairs = games._chairs[game, :players].tolist()
        self.states = dealt(rules, 1, int(record["seed"]), int(record["game"]))
        self.slots = np.flatnonzero(games.slot_games == game)
        self.seats = games.outside[self.slots].tolist()
        self.go_on({})

    def due(self) -> list[int]:
        return [int(seat) for seat in np.nonzero(seats_to_act(self.states))[1]]

    def view(self, seat: int) -> NDArray[np.void]:
        return views_of(self.states, np.zeros(1, dtype=np.int64), np.array([seat]))

    def go_on(self, chosen: dict[int, int]) -> None:
        """Carry out what the learner has `chosen`, by seats, and play until he has a choice again."""
        while due := self.due():
            wanted = {seat: legal_masks(self.view(seat))[0] for seat in due if self.chairs[seat] == LEARNER}
            if any(mask.sum() > 1 for mask in wanted.values()) and not chosen:
                return
            actions = np.zeros((1, GAME.max_seats), dtype=np.int64)
            for seat in due:
                if seat in wanted:
                    actions[0, seat] = chosen.get(seat, int(wanted[seat].argmax()))
                else:
                    actions[0, seat] = field()[self.chairs[seat]].act(self.view(seat))[0]
            advance(self.states, actions)
            chosen = {}

    def check(self, env: MatchVecEnv, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> None:
        due = self.due()
        for slot, seat in zip(self.slots, self.seats, strict=True):
            learner = self.chairs[seat] == LEARNER
            assert env.games.playing[slot] == learner
            mask = legal_masks(self.view(seat))[0] if learner and seat in due else np.zeros(GAME.num_actions, dtype=np.int8)
            assert env.games.due[slot] == (mask.sum() > 1)
            if mask.sum() > 1:
                np.testing.assert_array_equal(masks[slot], mask == 1)
            else:
                assert np.flatnonzero(masks[slot]).tolist() == [GAME.wait]
            expected = np.zeros((1, env.shape.observation_size), dtype=np.float32)
            if learner:
                GAME.encode(self.view(seat), expected)
            np.testing.assert_array_equal(observations[slot], expected[0])

    def costs(self) -> NDArray[np.int64]:
        return GAME.costs(self.states)[0].astype(np.int64)


@pytest.mark.parametrize("by_table", [False, True])
@pytest.mark.parametrize(("variants", "steps"), VARIANTS.values(), ids=VARIANTS.keys())
def test_as_one_match_after_the_other(variants: list[tuple[Rules, float]], steps: int, by_table: bool) -> None:
    env = make(variants, 6, by_table=by_table)
    env.variants = variants  # type: ignore[attr-defined]
    rng = np.random.default_rng(1)
    observations = env.reset()
    matches = [Match(env, game) for game in range(6)]
    rewarded = np.zeros(env.num_envs)
    ended = decisions = 0
    for _ in range(steps):
        masks = env.action_masks()
        for match in matches:
            match.check(env, observations, masks)
        actions = (masks * rng.random(masks.shape)).argmax(axis=1)
        due = env.games.due.copy()
        decisions += int(due.sum())
        observations, rewards, dones, infos = env.step(actions)
        rewarded += rewards
        for game, match in enumerate(matches):
            match.go_on({seat: int(actions[slot]) for slot, seat in zip(match.slots, match.seats, strict=True) if due[slot]})
            over = not match.due()
            assert (dones[match.slots] == over).all()
            for slot, seat in zip(match.slots, match.seats, strict=True):
                learner = match.chairs[seat] == LEARNER
                assert rewarded[slot] == pytest.approx(-match.costs()[seat] / 10.0 if learner else 0.0, abs=1e-5)
                assert ("episode" in infos[slot]) == (over and learner)
                if over and learner:
                    assert infos[slot]["episode"]["r"] == -match.costs()[seat]
            if over:
                ended += 1
                rewarded[match.slots] = 0.0
                matches[game] = Match(env, game)
    assert ended > 5
    assert env.decisions == decisions


def test_who_is_seated_is_drawn_as_told() -> None:
    env = make([(Rules(), 1.0)], 20_000)
    env.reset()
    assert isinstance(env.games, LeagueGames)
    chairs = env.games._chairs[:, :4]
    places = (env.games._main[:, None] + np.arange(1, 4)) % 4
    others = np.take_along_axis(chairs, places, axis=1).ravel()
    shares = np.bincount(others + 1, minlength=4) / len(others)
    np.testing.assert_allclose(shares, [0.5, 0.25, 0.25 * 0.75, 0.25 * 0.25], atol=0.01)
    assert (np.take_along_axis(chairs, env.games._main[:, None], axis=1) == LEARNER).all()


def test_tables_are_drawn_as_a_whole() -> None:
    env = make([(Rules(), 1.0)], 4_000, by_table=True)
    env.reset()
    assert isinstance(env.games, LeagueGames)
    chairs = np.sort(env.games._chairs[:, :4], axis=1)
    kinds = {tuple(line) for line in chairs.tolist()}
    assert (-1, -1, -1, -1) in kinds
    assert (-1, 0, 0, 0) in kinds
    assert not any({0, 1} <= set(kind) or kind.count(-1) in (2, 3) for kind in kinds)
    assert any({1, 2} <= set(kind) for kind in kinds), "members of a group are drawn seat by seat"
    assert abs((chairs == -1).all(axis=1).mean() - 0.5) < 0.05


def test_the_games_are_divided_among_the_variants() -> None:
    variants = [(Rules(num_players=2), 1.0), (Rules(num_players=6), 3.0)]
    games = LeagueGames(GAME, variants, field(), MIXED, 400)
    assert (games.players == 2).sum() == 100
    assert len(games.slot_games) == 100 * 2 + 300 * 6


# --- what is learned from -------------------------------------------------------------------------------------------------


def test_advantages_go_from_decision_to_decision() -> None:
    """Against the definition, seat by seat: the rewards between two decisions are one, and waiting is no step."""
    steps, envs, gamma, lam = 30, 5, 0.9, 0.8
    rng = np.random.default_rng(0)
    space = make([(Rules(), 1.0)], 2)
    buffer = DecisionBuffer(steps, space.observation_space, space.action_space, "cpu", lam, gamma, envs)

    due = rng.random((steps, envs)) < 0.6
    rewards, values = rng.normal(size=(2, steps, envs)).astype(np.float32)
    starts = rng.random((steps, envs)) < 0.15
    for step in range(steps):
        masks = np.zeros((envs, GAME.num_actions), dtype=bool)
        masks[:, -1] = True
        masks[due[step], :3] = True
        seen = np.full((envs, 2), step, dtype=np.float32)
        logs = torch.zeros(envs)
        buffer.add(seen, np.ones((envs, 1)), rewards[step], starts[step], torch.tensor(values[step]), logs, action_masks=masks)
    last, dones = rng.normal(size=envs).astype(np.float32), rng.random(envs) < 0.5
    buffer.compute_returns_and_advantage(torch.tensor(last), dones)
    for env in range(envs):
        advantage, following, between = 0.0, float(last[env]), 0.0
        for step in reversed(range(steps)):
            over = dones[env] if step == steps - 1 else starts[step + 1, env]
            if over:
                advantage, following, between = 0.0, 0.0, 0.0
            between += float(rewards[step, env])
            if due[step, env]:
                advantage = between + gamma * following - float(values[step, env]) + gamma * lam * advantage
                following, between = float(values[step, env]), 0.0
                assert buffer.advantages[step, env] == pytest.approx(advantage, abs=1e-4)
    found = [sample.observations.shape[0] for sample in buffer.get(16)]
    assert sum(found) == due.sum()
    assert max(found) - min(found) <= 1


# --- the pool ----------------------------------------------------------------------------------------------------------


def league(**settings: Any) -> League:
    plain = {"opponents": {"self": 1, "pool": 1, "random": {"start": 1, "end": 0}}, "training": {"games": 8, "steps": 2, "minibatch": 4}}
    return League(Config.model_validate({**plain, **settings}), {"random": agents.make("random")}, 8)


def test_the_mixture_follows_the_training() -> None:
    made = league()
    assert [group.agents for group in made.games.groups] == [(0,), (LEARNER,), (LEARNER,)]
    made.update(1.0, 0, network(PLAIN))
    assert [group.agents for group in made.games.groups] == [(LEARNER,), (LEARNER,)], "no copy yet: the learner himself"


def test_copies_are_frozen_and_spread() -> None:
    made = league(pool={"every": 100, "size": 4, "active": 2})
    net = network(PLAIN)
    for decisions in range(0, 5_000, 50):
        made.update(decisions / 5_000, decisions, net)
        with torch.no_grad():
            net.card_out.bias.add_(1.0)
    ages = sorted(age for age, _ in made.copies.values())
    assert len(ages) == 4
    assert ages[-1] >= 4_800
    assert ages[0] <= 2_500
    biases = {float(agent.policy.network.card_out.bias) for _, agent in made.copies.values()}
    assert len(biases) == 4
    assert all(not parameter.requires_grad for _, agent in made.copies.values() for parameter in agent.policy.network.parameters())
    in_play = made.games.groups[-1].agents
    assert len(in_play) == 2
    assert set(in_play) <= set(made.copies)


def test_matchmaking_prefers_whoever_costs_most() -> None:
    made = league(pool={"every": 10, "size": 3, "active": 1})
    for decisions in (10, 20, 30):
        made.update(0.5, decisions, network(PLAIN))
    met = np.zeros((4, 2))
    met[:, 0], met[:, 1] = 100.0, [500.0, 800.0, 1500.0, 800.0]
    counts: dict[int, int] = {}
    for number in range(300):
        made.games.met = met.copy()
        [who] = made._in_play(np.random.default_rng(number))
        counts[who] = counts.get(who, 0) + 1
    assert counts[2] > 200
    assert all(counts[number] > 5 for number in (1, 3)), "others are not forgotten"


# --- whom the learner met ------------------------------------------------------------------------------------------------


def plain_games() -> MatchVecEnv:
    games = SeatGames(GAME, Rules(num_players=4), field(), [1.0, 2.0, 1.0], 6, "random", skip_forced=True)
    return MatchVecEnv(games, Shape(), 5, named=2)


def league_games() -> MatchVecEnv:
    variants = VARIANTS["several"][0]
    return MatchVecEnv(LeagueGames(GAME, variants, field(), MIXED, 6), Shape(), 5, named=2)


@pytest.mark.parametrize("make_env", [plain_games, league_games])
def test_whom_the_learner_met(make_env: Callable[[], MatchVecEnv]) -> None:
    """Two agents by themselves, the third as one of the others, and the learner in a second seat: counted once a match each."""
    env = make_env()
    rng = np.random.default_rng(3)
    env.reset()
    expected = np.zeros((4, 2))
    for _ in range(60):
        games = env.games
        before = [games._chairs[game, : games.players[game]].tolist() for game in range(6)]
        masks = env.action_masks()
        infos = env.step((masks * rng.random(masks.shape)).argmax(axis=1))[3]
        for game, chairs in enumerate(before):
            paid = [-infos[slot]["episode"]["r"] for slot in np.flatnonzero(games.slot_games == game) if infos[slot]]
            if paid:
                assert len(paid) == chairs.count(LEARNER)
                kinds = {chair for chair in chairs if chair != LEARNER} | ({3} if len(paid) > 1 else set())
                for kind in kinds:
                    expected[kind] += 1, np.mean(paid)
    assert (expected[:3, 0] > 0).all()
    assert (expected[3, 0] > 0) == (make_env is league_games)
    np.testing.assert_allclose(env.take_tally().met, expected)
    if isinstance(env.games, LeagueGames):
        np.testing.assert_allclose(env.games.met, expected[:3])
    assert not env.take_tally().met.any()
