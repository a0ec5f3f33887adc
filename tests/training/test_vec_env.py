"""The training games, against the obvious way: each match by itself, one seat after the other, and rewards by subtraction."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported

from sixnimmt_env import agents
from sixnimmt_env.agents import Agent
from sixnimmt_env.envs.seats import NoChoiceError, SeatGames
from sixnimmt_env.games.sixnimmt import GAME, Rules
from tests.games.sixnimmt.playing import advance, dealt, legal_masks, seats_to_act, views_of
from training.network import Shape
from training.vec_env import MatchVecEnv, Tally

SCALE = 10.0

# name: (rules, games, steps of the environment, enough for some matches to end)
VARIANTS: dict[str, tuple[Rules, int, int]] = {
    "standard": (Rules(), 7, 40),
    "2 players": (Rules(num_players=2), 6, 30),
    "10 players": (Rules(num_players=10), 4, 25),
    "tactical": (Rules(num_players=3, deck="tactical"), 5, 30),
    "logic": (Rules(num_players=3, deck="logic"), 4, 45),
    "professional": (Rules(num_players=5, professional=True), 5, 30),
    "professional logic": (Rules(num_players=4, deck="logic", professional=True, hand_size=4), 5, 30),
    "match to a target": (Rules(num_players=3, rounds=None, target=20), 4, 80),
    "rounds of two cards": (Rules(num_players=3, rounds=3, hand_size=2), 5, 30),
    "hardly a choice": (Rules(num_players=3, rounds=4, hand_size=1, num_rows=3, row_capacity=1), 6, 25),
}

Decision = tuple[NDArray[np.float32], NDArray[np.bool_]]
Result = tuple[int, NDArray[np.float32]]


class Match:
    """One match played the obvious way; the learner's decisions come out, his actions go in."""

    def __init__(self, env: MatchVecEnv, game: int, players: list[Agent]) -> None:
        # Which match it is, is the environment's to say; how it goes follows from that.
        number, self.seat = int(env.games.states["game"][game]), int(env.games.outside[game])
        self.chairs = env.games._chairs[game].tolist()
        self.states = dealt(env.games.rules, 1, int(env.games.states["seed"][game]), number)
        self.number, self.players, self.shape = number, players, env.shape
        self.forced = self.length = 0
        self.rewarded = 0.0
        self.paid = 0  # bull heads when the learner last decided
        self.course = self._play()
        self.decision = next(self.course)

    def cost(self) -> int:
        return int(self.states["table"]["totals"][0, self.seat])

    def share_of_win(self) -> float:
        totals = self.states["table"]["totals"][0, : self.states["table"]["num_players"][0]].tolist()
        return (totals[self.seat] == min(totals)) / totals.count(min(totals))

    def seen_by(self, seat: int) -> NDArray[np.void]:
        return views_of(self.states, [0], [seat])

    def observed(self) -> NDArray[np.float32]:
        observation = np.empty((1, self.shape.observation_size), dtype=np.float32)
        GAME.encode(self.seen_by(self.seat), observation)
        return observation[0]

    def _play(self) -> Generator[Decision, int, Result]:
        while (due := np.flatnonzero(seats_to_act(self.states)[0])).size:
            actions = np.full((1, 10), GAME.wait)
            for seat in due:
                view = self.seen_by(seat)
                options = np.flatnonzero(legal_masks(view)[0])
                if seat != self.seat:
                    actions[0, seat] = self.players[self.chairs[seat]].act([view[0]])[0]
                elif len(options) == 1:
                    self.forced += 1
                    actions[0, seat] = options[0]
                else:
                    actions[0, seat] = yield self.observed(), legal_masks(view)[0]
            assert not advance(self.states, actions).any()
        return self.cost(), self.observed()

    def go_on(self, action: int) -> tuple[int, Result | None]:
        """Take `action` and play to the next decision: bull heads since the last one, and the result if the match is over."""
        self.length += 1
        result = None
        try:
            self.decision = self.course.send(action)
        except StopIteration as end:
            result = end.value
        before, self.paid = self.paid, self.cost()
        return self.paid - before, result


def field() -> list[tuple[Agent, float]]:
    return [(agents.make("greedy", seed=1), 2.0), (agents.make("random", seed=2), 1.0), (agents.make("uniform", seed=3), 1.0)]


def make(rules: Rules, count: int, seed: int = 5, opponents: list[tuple[Agent, float]] | None = None) -> MatchVecEnv:
    agents, weights = zip(*(opponents or field()), strict=True)
    games = SeatGames(GAME, rules, agents, weights, count, "random", skip_forced=True)
    return MatchVecEnv(games, Shape(draft=rules.deck == "logic"), seed, "own", SCALE)


def play_beside(env: MatchVecEnv, steps: int, seed: int) -> tuple[list[Match], list[Match]]:
    """Random play in `env` and in the obvious way, compared after every step; returns the matches that ended, and those that go on."""
    rng = np.random.default_rng(seed)
    players = [agent for agent, _ in field()]
    observations = env.reset()
    matches = [Match(env, game, players) for game in range(env.num_envs)]
    ended = []
    kept: list[tuple[NDArray[Any], NDArray[Any]]] = []
    for _ in range(steps):
        masks = env.action_masks()
        for game, match in enumerate(matches):
            seen, mask = match.decision
            np.testing.assert_array_equal(observations[game], seen)
            np.testing.assert_array_equal(masks[game], mask)
            assert mask.sum() > 1
        kept += [(observations, observations.copy()), (masks, masks.copy())]
        actions = (masks * rng.random(masks.shape)).argmax(axis=1)
        observations, rewards, dones, infos = env.step(actions)
        assert rewards.dtype == observations.dtype == np.float32
        for game, match in enumerate(matches):
            heads, result = match.go_on(int(actions[game]))
            assert rewards[game] == np.float32(-heads / SCALE)
            assert dones[game] == (result is not None)
            match.rewarded += float(rewards[game])
            if result is None:
                assert infos[game] == {}
                continue
            assert match.rewarded == pytest.approx(-result[0] / SCALE)
            assert infos[game].keys() == {"episode", "terminal_observation"}
            assert (infos[game]["episode"]["r"], infos[game]["episode"]["l"]) == (-result[0], match.length)
            np.testing.assert_array_equal(infos[game]["terminal_observation"], result[1])
            kept.append((infos[game]["terminal_observation"], result[1]))
            ended.append(match)
            matches[game] = Match(env, game, players)
    # Whoever keeps what he was given must find it as it was.
    for given, copy in kept:
        np.testing.assert_array_equal(given, copy)
    return ended, matches


@pytest.mark.parametrize(("rules", "games", "steps"), VARIANTS.values(), ids=VARIANTS.keys())
def test_as_one_match_after_the_other(rules: Rules, games: int, steps: int) -> None:
    env = make(rules, games)
    assert len(play_beside(env, steps, 1)[0]) >= 3
    play_beside(env, steps // 2, 2)  # after a reset in the middle


def test_every_deal_is_new_and_numbered() -> None:
    env = make(Rules(num_players=3, hand_size=3), 8)
    env.reset()
    numbers = {*env.games.states["game"].tolist()}
    matches = 8
    rng = np.random.default_rng(0)
    for _ in range(20):
        masks = env.action_masks()
        dones = env.step((masks * rng.random(masks.shape)).argmax(axis=1))[2]
        matches += int(dones.sum())
        numbers |= set(env.games.states["game"].tolist())
    assert len(numbers) == matches


def test_seats_and_opponents_are_drawn() -> None:
    env = make(Rules(num_players=5), 20_000)
    env.reset()
    seats = np.bincount(env.games.outside, minlength=5)
    assert (abs(seats - 4_000) < 5 * np.sqrt(20_000 * 0.2 * 0.8)).all()
    drawn = env.games._chairs[:, :5]
    np.testing.assert_array_equal(np.nonzero(drawn == -1)[1], env.games.outside)
    assert (env.games._chairs[:, 5:] == -1).all()
    for seat in range(5):
        others = drawn[env.games.outside != seat, seat]
        shares = np.bincount(others, minlength=3) / len(others)
        assert abs(shares - [0.5, 0.25, 0.25]).max() < 5 * 0.5 / np.sqrt(len(others))


@pytest.mark.parametrize("rules", [Rules(num_players=3, hand_size=4), Rules(num_players=2, hand_size=2, rounds=2)])
def test_tally(rules: Rules) -> None:
    env = make(rules, 6)
    ended, running = play_beside(env, 40, 0)
    tally = env.take_tally()
    assert (tally.matches, tally.decisions) == (len(ended), 240)
    assert tally.cost == sum(match.cost() for match in ended)
    assert tally.wins == pytest.approx(sum(match.share_of_win() for match in ended))
    assert tally.forced == sum(match.forced for match in ended + running) >= len(ended)
    assert any(0 < match.share_of_win() < 1 for match in ended), "no tie among them"
    assert env.take_tally() == Tally()


def record(env: MatchVecEnv, steps: int = 15) -> list[NDArray[Any]]:
    rng = np.random.default_rng(0)
    seen: list[NDArray[Any]] = [env.reset()]
    for _ in range(steps):
        masks = env.action_masks()
        observations, rewards, dones, _ = env.step((masks * rng.random(masks.shape)).argmax(axis=1))
        seen += [masks, observations, rewards, dones]
    return seen


def equal(one: list[NDArray[Any]], other: list[NDArray[Any]]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_equal_seeds_equal_games() -> None:
    first = record(make(Rules(), 5, seed=11))
    assert equal(first, record(make(Rules(), 5, seed=11)))
    assert not equal(first, record(make(Rules(), 5, seed=12)))
    env = make(Rules(), 5, seed=12)
    record(env)
    env.seed(11)
    assert equal(first, record(env))
    assert not equal(first, record(env)), "the next reset goes on with new deals"


WRONG_ACTIONS: dict[str, tuple[Callable[[NDArray[np.bool_]], Any], str]] = {
    "a card he has not": (lambda masks: [*first_legal(masks)[:2], int(np.argmin(masks[2, :104]))], r"the learner chose \d+ in game 2"),
    "wait": (lambda masks: [*first_legal(masks)[:2], 112], "the learner chose 112 in game 2, where its mask .* allows "),
    "below all": (lambda masks: [first_legal(masks)[0] - 113, *first_legal(masks)[1:]], r"the learner chose -\d+ in game 0"),
    "above all": (lambda masks: [113, *first_legal(masks)[1:]], "the learner chose 113 in game 0"),
    "too few": (lambda masks: first_legal(masks)[:2], r"must be \(3,\) integers, one a game, not int64 of shape \(2,\)"),
    "no integers": (lambda masks: [float(action) for action in first_legal(masks)], r"must be \(3,\) integers, one a game, not float64"),
}


def first_legal(masks: NDArray[np.bool_]) -> list[int]:
    return [int(action) for action in masks.argmax(axis=1)]


@pytest.mark.parametrize(("wrong", "message"), WRONG_ACTIONS.values(), ids=WRONG_ACTIONS.keys())
def test_illegal_actions_change_nothing(wrong: Callable[[NDArray[np.bool_]], Any], message: str) -> None:
    env, twin = make(Rules(), 3), make(Rules(), 3)
    np.testing.assert_array_equal(env.reset(), twin.reset())
    masks = env.action_masks()
    with pytest.raises(ValueError, match=message):
        env.step(np.array(wrong(masks)))
    actions = np.array(first_legal(masks))
    np.testing.assert_array_equal(env.step(actions)[0], twin.step(actions)[0])
    assert env.take_tally() == twin.take_tally()


class Cheat(Agent):
    """Plays what it has not."""

    def _act(self, views: NDArray[np.void]) -> NDArray[np.int64]:
        return legal_masks(views).argmin(axis=1)


def test_illegal_opponent_is_named() -> None:
    env = make(Rules(), 3, opponents=[(Cheat(GAME, "cheat"), 1.0)])
    env.reset()
    with pytest.raises(ValueError, match=r"the opponent 'cheat' chose 0 .*which is illegal"):
        env.step(np.array(first_legal(env.action_masks())))


def test_a_variant_without_choices_is_refused() -> None:
    with pytest.raises(NoChoiceError, match="nothing to decide"):
        make(Rules(hand_size=1, num_rows=1), 50).reset()


def test_what_stable_baselines3_asks_for() -> None:
    env = make(Rules(), 4)
    env.reset()
    masks = env.action_masks()
    assert is_masking_supported(env)
    np.testing.assert_array_equal(get_action_masks(env), masks)
    np.testing.assert_array_equal(next(ask() for ask in env.get_attr("action_masks", 0)), masks)
    np.testing.assert_array_equal(env.env_method("action_masks", indices=[2, 0]), masks[[2, 0]])
    assert env.get_attr("render_mode") == [None] * 4
    assert not env.has_attr("nonsense")
    with pytest.raises(AttributeError, match="have no method 'nonsense'"):
        env.env_method("nonsense")
    with pytest.raises(NotImplementedError, match="no attributes"):
        env.set_attr("seed", 1)
    assert env.observation_space.shape == (Shape().observation_size,)
    assert env.observation_space.contains(env.reset()[0])


def test_stock_maskable_ppo_runs_on_it() -> None:
    env = make(Rules(num_players=3), 8)
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=64, n_epochs=1, seed=0, device="cpu")
    model.learn(256)
    mean, _ = evaluate_policy(model, env, n_eval_episodes=20)
    assert -80 < mean < -1, "whole matches in bull heads, not in scaled rewards"
    env.close()


def test_training_deals_are_not_those_of_an_evaluation() -> None:
    """An evaluation with the seed of the training must not examine on what was trained on."""
    env = make(Rules(), 4)
    env.reset()
    assert env.games.states["seed"][0] != env._seed
