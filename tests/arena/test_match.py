"""Matches: equal deals, every seat, honest errors; what agents do wrong is counted, named, and does not stop the match."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sixnimmt_env import agents, sixnimmt_v0
from sixnimmt_env.agents import Agent
from sixnimmt_env.arena import Games, Strength, against_field, block_mean, match, play
from sixnimmt_env.games.sixnimmt import GAME, Rules, match_over
from tests.games.sixnimmt.playing import legal_masks
from tests.reference import DECKS

Script = Callable[[NDArray[np.void]], Any]

MIXED = ["random", "greedy", "lowest", "highest", "closest", "uniform"]


class Scripted(Agent):
    """Answers what the script makes of the views."""

    def __init__(self, script: Script, name: str = "scripted") -> None:
        super().__init__(GAME, name)
        self.script = script
        self.asked = 0

    def _act(self, views: NDArray[np.void]) -> Any:
        self.asked += len(views)
        return self.script(views)


def lowest_legal(views: NDArray[np.void]) -> Any:
    return legal_masks(views).argmax(axis=1)


def team(*specs: str) -> list[Agent]:
    """Agents with different dice."""
    return [agents.make(spec, seed=number) for number, spec in enumerate(specs)]


def fight(rules: Rules, agent: str, field: str, games: int, seed: int = 0) -> Strength:
    """One against a field of another, with different dice."""
    return against_field(GAME, rules, *_pair(agent, field), games, seed)


def _pair(one: str, other: str) -> tuple[Agent, Agent]:
    return agents.make(one, seed=0), agents.make(other, seed=1)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[NDArray[np.int64], NDArray[np.int64], Games]]:
    """(seating, deals, result) of every call of `play`."""
    calls = []

    def remember(game: Any, rules: Any, agents: Any, seating: Any, deals: Any, *others: Any) -> Games:
        games = play(game, rules, agents, seating, deals, *others)
        calls.append((seating, deals, games))
        return games

    monkeypatch.setattr(match, "play", remember)
    return calls


def same(one: Games, other: Games) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("costs", "illegal", "decisions"))


# --- play --------------------------------------------------------------------------------------------------------------

VARIANTS = [
    Rules(players, deck, professional, **length)  # type: ignore[arg-type]
    for players, (deck, professional, length) in zip(
        itertools.cycle(range(2, 11)),
        itertools.product(DECKS, (False, True), ({"rounds": 1}, {"rounds": 3}, {"rounds": None, "target": 30})),
        strict=False,
    )
]


def one_by_one(rules: Rules, players: Sequence[Agent], seating: NDArray[np.int64], deal: int, seed: int) -> list[int]:
    """The match played in the AEC environment: the heads of each seat."""
    env = sixnimmt_v0.env(
        rules.num_players, rules.deck, rules.professional, rules.rounds, rules.target, rules.exceed_target, hand_size=rules.hand_size
    )
    env.reset(seed=seed)
    for _ in range(deal):
        env.reset()
    heads = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        heads[agent] -= env.last(observe=False)[1]
        if env.terminations[agent]:
            env.step(None)
        else:
            view = np.zeros(1, dtype=GAME.view_dtype)
            seat = env.possible_agents.index(agent)
            GAME.reveal(env._states, np.zeros(1, dtype=np.int64), np.array([seat]), view)
            env.step(int(players[seating[seat]].act(view)[0]))
    return [int(total) for total in heads.values()]


@pytest.mark.parametrize("rules", VARIANTS, ids=lambda rules: f"{rules.num_players} {rules.deck} {rules.professional} {rules.rounds}")
def test_a_match_is_what_the_environment_plays(rules: Rules) -> None:
    """Any agents in any seats, any variant, matches of several rounds; on the deals that the environment gives for the same numbers."""
    players = team(*MIXED)
    rng = np.random.default_rng(rules.num_players)
    seating = rng.integers(0, len(players), size=(6, rules.num_players))
    deals = np.array([0, 1, 2, 1, 5, 0])
    games = play(GAME, rules, players, seating, deals, seed=11)
    assert games.costs.shape == seating.shape
    assert games.costs.tolist() == [one_by_one(rules, players, line, int(deal), 11) for line, deal in zip(seating, deals, strict=True)]
    assert not games.illegal.any()
    for costs in games.costs.tolist():
        assert rules.rounds is not None or match_over(costs, 1, target=rules.target)


@pytest.mark.parametrize("rules", [Rules(4, rounds=2), Rules(5, "logic", True, None, 20)], ids=["standard", "logic"])
def test_results_do_not_depend_on_the_batch_or_on_who_watches(rules: Rules, monkeypatch: pytest.MonkeyPatch) -> None:
    players = team("random", "greedy", "random")
    rng = np.random.default_rng(0)
    seating, deals = rng.integers(0, 3, size=(40, rules.num_players)), rng.integers(0, 9, size=40)
    expected = play(GAME, rules, players, seating, deals, 3)
    for batch in (1, 7, 39, 40, 41):
        monkeypatch.setattr(match, "BATCH", batch)
        told: list[int] = []
        assert same(play(GAME, rules, players, seating, deals, 3, told.append), expected)
        assert sum(told) == 40
        assert min(told) > 0
    order = rng.permutation(40)
    shuffled = play(GAME, rules, players, seating[order], deals[order], 3)
    assert (shuffled.costs == expected.costs[order]).all()


def test_the_deals_follow_from_the_seed() -> None:
    players, seating, deals = team("lowest"), np.zeros((50, 4), dtype=np.int64), np.arange(50)
    games = play(GAME, Rules(), players, seating, deals, 3)
    assert same(play(GAME, Rules(), players, seating, deals, 3), games)
    assert (play(GAME, Rules(), players, seating, deals, 4).costs != games.costs).any(axis=1).mean() > 0.9
    assert len(np.unique(games.costs, axis=0)) > 40, "other numbers are other deals"
    with pytest.raises(ValueError, match="seed=-1 must be"):
        play(GAME, Rules(), players, seating, deals, -1)


def test_decisions_are_counted() -> None:
    players = [Scripted(lowest_legal), Scripted(lowest_legal), Scripted(lowest_legal)]
    seating = np.array([[0, 1, 1], [1, 1, 1], [1, 0, 1]])
    games = play(GAME, Rules(3), players, seating, np.arange(3), 0)
    assert games.decisions.tolist() == [player.asked for player in players]
    assert games.decisions.sum() >= 90
    assert games.decisions[2] == 0
    assert games.seconds[2] == 0.0


def test_no_match_at_all() -> None:
    games = play(GAME, Rules(), team("random"), np.zeros((0, 4), dtype=np.int64), np.zeros(0, dtype=np.int64), 0)
    assert (games.costs.shape, games.decisions.tolist()) == ((0, 4), [0])


MISFITS = [
    ([[0, 0, 0]], [0], r"seating of shape \(1, 3\) does not fit: .* for each of 4 seats"),
    ([[0, 0, 0, 0, 0]], [0], r"seating of shape \(1, 5\) does not fit"),
    ([0, 0, 0, 0], [0], r"seating of shape \(4,\) does not fit"),
    ([[0, 0, 0, 0]], [0, 1], r"deals of shape \(2,\) do not fit: one number for each of 1 matches"),
    ([[0, 0, 0, 2]], [0], "seating names agents 0 to 2: there are 0 to 1"),
    ([[0, -1, 0, 0]], [0], "seating names agents -1 to 0: there are 0 to 1"),
]


@pytest.mark.parametrize(("seating", "deals", "message"), MISFITS)
def test_what_does_not_fit_together_is_refused(seating: Any, deals: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        play(GAME, Rules(), team("random", "greedy"), np.array(seating), np.array(deals), 0)


# --- agents that go wrong ----------------------------------------------------------------------------------------------


def spoilt(script: Script, bad: int, every: int) -> Script:
    """Plays as `script`, but `bad` on all views whose turn is a multiple of `every`."""
    return lambda views: np.where(views["table"]["turn"] % every == 0, bad, script(views))


@pytest.mark.parametrize("bad", [-1, 112, 113, 10**12, -(2**62)])
@pytest.mark.parametrize(("deck", "professional"), list(itertools.product(DECKS, (False, True))))
def test_illegal_actions_are_counted_and_replaced_by_the_lowest_legal_one(deck: Any, professional: bool, bad: int) -> None:
    rules = Rules(3, deck, professional, rounds=2)
    seating, deals = np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0], [1, 1, 1]] * 5), np.arange(20)
    greedy = agents.make("greedy")
    good = play(GAME, rules, [Scripted(lowest_legal), greedy], seating, deals, 5)
    for every in (1, 3):
        games = play(GAME, rules, [Scripted(spoilt(lowest_legal, bad, every)), greedy], seating, deals, 5)
        assert (games.costs == good.costs).all()
        assert (games.decisions == good.decisions).all()
        assert games.illegal[1] == 0
        assert (games.illegal[0] == games.decisions[0]) == (every == 1)
        assert games.illegal[0] >= games.decisions[0] // 4


def test_illegal_actions_are_those_of_the_agent() -> None:
    bad = Scripted(lambda views: np.full(len(views), GAME.wait), "bad")
    for agent, field, illegal in ((bad, agents.make("greedy"), True), (agents.make("greedy"), bad, False)):
        strength = against_field(GAME, Rules(3), agent, field, games=30)
        assert (strength.illegal > 0) == illegal
        assert strength.illegal in (0, *range(300, 360))
        assert np.isfinite(strength.mean)


def test_what_an_agent_raises_comes_through_with_its_name() -> None:
    def fail_late(views: NDArray[np.void]) -> Any:
        if views["table"]["turn"][0] == 6:
            raise KeyError("turn 6")
        return lowest_legal(views)

    with pytest.raises(KeyError, match="turn 6") as caught:
        against_field(GAME, Rules(), agents.make("greedy"), Scripted(fail_late, "the late one"), games=8)
    assert caught.value.__notes__ == ["raised by agent 'the late one'"]


def test_answers_of_the_wrong_kind_are_refused_with_the_agents_name() -> None:
    with pytest.raises(TypeError, match=r"agent 'half' answered \d+ views with an array of int64, shape"):
        against_field(GAME, Rules(), Scripted(lambda views: lowest_legal(views)[1:], "half"), agents.make("greedy"), games=8)


# --- against a field ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("players", "games", "blocks"), [(2, 1, 1), (2, 3, 2), (4, 8, 2), (4, 9, 3), (7, 100, 15), (10, 10, 1), (10, 1, 1)]
)
def test_every_deal_is_played_from_every_seat(played: list[Any], players: int, games: int, blocks: int) -> None:
    strength = fight(Rules(players), "greedy", "random", games=games)
    [(seating, deals, _)] = played
    assert (strength.games, strength.players, strength.against) == (blocks * players, players, "random")
    lines = [(int(deal), *line) for deal, line in zip(deals, seating.tolist(), strict=True)]
    assert sorted(lines) == sorted(
        (deal, *(int(seat != own) for seat in range(players))) for deal in range(blocks) for own in range(players)
    )


def test_the_games_of_a_block_are_dealt_alike(played: list[Any]) -> None:
    """An agent against itself: whichever seat is called the agent's, the same is played."""
    strength = fight(Rules(5, rounds=2), "greedy", "greedy", games=100)
    [(_, _, games)] = played
    blocks = games.costs.reshape(20, 5, 5)
    assert (blocks == blocks[:, :1]).all()
    assert len(np.unique(blocks[:, 0], axis=0)) == 20
    assert strength.mean == pytest.approx(games.costs.mean())
    assert (strength.win_share, strength.win_se) == pytest.approx((0.2, 0.0))


def test_results_follow_from_the_numbers_played(played: list[Any]) -> None:
    strength = fight(Rules(3, rounds=2), "greedy", "random", games=300, seed=6)
    [(seating, deals, games)] = played
    own: dict[int, list[float]] = {deal: [] for deal in range(100)}
    wins: dict[int, list[float]] = {deal: [] for deal in range(100)}
    for deal, line, costs in zip(deals.tolist(), seating.tolist(), games.costs.tolist(), strict=True):
        seat = line.index(0)
        own[deal].append(costs[seat])
        wins[deal].append(1 / costs.count(min(costs)) if costs[seat] == min(costs) else 0.0)
    for told, values in (((strength.mean, strength.se), own), ((strength.win_share, strength.win_se), wins)):
        means = [float(np.mean(block)) for block in values.values()]
        assert told == pytest.approx((np.mean(means), np.std(means, ddof=1) / 10))
    assert strength.win_share > 0.4


TIES = [
    # costs of the three games of a deal, in which the agent sits in seat 0, 1 and 2; its share of the wins
    ([[3, 5, 7], [5, 3, 7], [7, 5, 3]], 1.0),
    ([[5, 3, 7], [3, 5, 7], [7, 3, 5]], 0.0),
    ([[3, 3, 7], [7, 3, 3], [3, 7, 3]], 1 / 2),
    ([[3, 3, 3], [0, 0, 0], [9, 9, 9]], 1 / 3),
    ([[3, 3, 7], [3, 5, 3], [1, 1, 1]], (1 / 2 + 0 + 1 / 3) / 3),
]


@pytest.mark.parametrize(("costs", "share"), TIES)
def test_ties_split_the_win(costs: list[list[int]], share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = np.zeros(2, dtype=np.int64)
    monkeypatch.setattr(match, "play", lambda *_: Games(np.array(costs), nothing, nothing, nothing.astype(float)))
    strength = fight(Rules(3), "greedy", "random", games=3)
    assert strength.win_share == pytest.approx(share)
    assert strength.mean == pytest.approx(np.mean([line[seat] for seat, line in enumerate(costs)]))


@pytest.mark.parametrize("rules", [Rules(2), Rules(4, "tactical"), Rules(6, professional=True)], ids=["2", "4 tactical", "6 professional"])
def test_equal_players_are_equally_strong(rules: Rules, played: list[Any]) -> None:
    """Random against random with other dice: a share of 1 / n, and as many heads as the others, within four standard errors."""
    strength = fight(rules, "random", "random", games=6_000, seed=1)
    [(seating, _, games)] = played
    assert abs(strength.win_share - 1 / rules.num_players) < 4 * strength.win_se
    own = games.costs[seating == 0]
    others = (games.costs.sum(axis=1) - own) / (rules.num_players - 1)
    difference, error = block_mean((own - others).reshape(-1, rules.num_players))
    assert abs(difference) < 4 * error
    assert 0 < error < 0.3


def test_better_players_are_told_from_worse_ones() -> None:
    for better, worse in (("greedy", "random"), ("highest", "random"), ("greedy", "lowest")):
        up = fight(Rules(), better, worse, games=2_000)
        down = fight(Rules(), worse, better, games=2_000)
        assert up.win_share - 4 * up.win_se > 0.25 > down.win_share + 4 * down.win_se
        assert up.mean + 4 * up.se < down.mean - 4 * down.se


def test_the_standard_error_is_that_of_a_bootstrap_over_deals(played: list[Any]) -> None:
    strength = fight(Rules(), "greedy", "random", games=1_200, seed=2)
    [(seating, deals, games)] = played
    own = games.costs[seating == 0]
    assert (deals.reshape(-1, 4) == np.arange(300)[:, None]).all()
    blocks = own.reshape(-1, 4).mean(axis=1)
    drawn = np.random.default_rng(0).integers(0, len(blocks), size=(4_000, len(blocks)))
    assert strength.se == pytest.approx(blocks[drawn].mean(axis=1).std(), rel=0.1)
    # Half as many deals, and the error is larger by the root of two.
    half = fight(Rules(), "greedy", "random", games=600, seed=2)
    assert half.se / strength.se == pytest.approx(2**0.5, rel=0.2)


MEANS = [
    ([[1, 3], [5, 7]], 4.0, 2.0),
    ([[1.0], [2.0], [3.0]], 2.0, 1 / 3**0.5),
    ([[2, 2, 2], [2, 2, 2]], 2.0, 0.0),
]


@pytest.mark.parametrize(("values", "mean", "error"), MEANS)
def test_block_mean(values: Any, mean: float, error: float) -> None:
    assert block_mean(np.array(values)) == pytest.approx((mean, error))


def test_a_single_block_has_no_standard_error() -> None:
    mean, error = block_mean(np.array([[1, 2, 6]]))
    assert mean == 3.0
    assert np.isnan(error)
    strength = fight(Rules(), "greedy", "random", games=1)
    assert np.isnan([strength.se, strength.win_se]).all()
