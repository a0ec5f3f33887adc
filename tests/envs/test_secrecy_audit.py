"""Nothing leaks out of the environments, in whatever form and wrapper; and leaks that were planted are found and named."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers import FlattenObservation, FrameStackObservation, RecordEpisodeStatistics, TimeLimit
from gymnasium.wrappers import vector as vector_wrappers
from numpy.typing import NDArray
from pettingzoo.utils import conversions, wrappers

from sixnimmt_env import agents, sixnimmt_v0
from sixnimmt_env.agents import Agent
from sixnimmt_env.core import AuditError, LeakError, audit
from sixnimmt_env.core.game import NEXT_SEAT
from sixnimmt_env.envs.aec import AECGameEnv
from sixnimmt_env.games import sixnimmt
from sixnimmt_env.games.sixnimmt.state import DRAFT, PICK, ROW, SIDE
from tests.envs.playing import KINDS, ROUND, Options, name_of

Make = Callable[..., Any]
BOTH: list[Make] = [sixnimmt_v0.env, sixnimmt_v0.parallel_env]
SHORT_MATCH: Options = {"rounds": None, "target": 8, "hand_size": 3}
SPREAD = [(kind, players) for first, kind in enumerate(KINDS, 2) for players in (first, 12 - first)]  # every number of players in few
MODES = ("NextStep", "SameStep", "Disabled")
CLOCK = ('["t"]', '["_t"]')  # how long an episode took, of `RecordEpisodeStatistics`


def phases_of(kind: Options) -> set[str]:
    return {"pick", "row"} | ({"draft"} if kind["deck"] == "logic" else set()) | ({"side"} if kind["professional"] else set())


def hidden_in(options: Options, form: Make) -> set[str]:
    """What may be another at some moment: no hands where all are open, and where the only other hand is all that is left."""
    open_hands = options["deck"] == "logic" or (options["deck"] == "tactical" and options["num_players"] == 2)
    return {"seed", "game"} | (set() if open_hands else {"hands"}) | ({"picks"} if form is sixnimmt_v0.env else set())


# --- nothing leaks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", BOTH)
@pytest.mark.parametrize(("kind", "num_players"), SPREAD, ids=str)
def test_nothing_leaks_from_pettingzoos_forms(kind: Options, form: Make, num_players: int) -> None:
    options = {"num_players": num_players, "hand_size": 4 if num_players < 6 else 3, **kind}
    matches = 2 if num_players < 5 else 1
    report = audit(lambda: form(render_mode="ansi", **options), alternatives=4, matches=matches)
    assert set(report.hidden) == hidden_in(options, form)
    assert {"pick", "over"} <= set(report.phases) <= phases_of(kind) | {"over"}
    assert set(report.seats) == set(range(num_players))
    assert report.masks > 0 or "hands" not in report.hidden
    assert (report.alternatives > 0) == (form is sixnimmt_v0.env)
    assert report.outputs["view"] >= report.moments * num_players


@pytest.mark.slow
@pytest.mark.parametrize("num_players", range(2, 11))
@pytest.mark.parametrize("form", BOTH)
@pytest.mark.parametrize("length", [ROUND, SHORT_MATCH], ids=name_of)
@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_nothing_leaks_in_whole_matches(kind: Options, length: Options, form: Make, num_players: int) -> None:
    options = {"num_players": num_players, **kind, **length}
    report = audit(lambda: form(render_mode="ansi", **options))
    assert set(report.hidden) == hidden_in(options, form)
    assert phases_of(kind) - {"side", "row"} <= set(report.phases)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_nothing_leaks_from_gymnasiums_forms(kind: Options, mode: str) -> None:
    options: dict[str, Any] = {"num_players": 3, "hand_size": 5, "opponents": ["greedy", Counting()], "render_mode": "ansi", **kind}
    single = audit(lambda: sixnimmt_v0.gym_env(**options))
    vector = audit(lambda: sixnimmt_v0.gym_vector_env(num_envs=3, autoreset_mode=mode, **options), matches=1 + (mode == "NextStep"))
    for report in (single, vector):
        assert {"pick"} <= set(report.phases) <= phases_of(kind) | {"over"}
        assert set(report.seats) == {None}
        assert report.agents >= 10
        assert "seed" in report.hidden
        assert ("hands" in report.hidden) == (kind["deck"] != "logic")
        assert report.outputs["view" if report is single else "render"] >= report.moments


@pytest.mark.slow
@pytest.mark.parametrize("num_players", range(2, 11))
@pytest.mark.parametrize("length", [ROUND, SHORT_MATCH], ids=name_of)
@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_nothing_leaks_in_whole_matches_against_agents(kind: Options, length: Options, num_players: int) -> None:
    options: dict[str, Any] = {"num_players": num_players, "opponents": ["greedy"], **kind, **length}
    audit(lambda: sixnimmt_v0.gym_env(render_mode="ansi", **options), seeds=range(4))
    for mode in MODES:
        audit(lambda mode=mode: sixnimmt_v0.gym_vector_env(num_envs=4, autoreset_mode=mode, **options))


@pytest.mark.parametrize("max_cycles", [None, 3])
@pytest.mark.parametrize("illegal_action", ["replace", "terminate"])
@pytest.mark.parametrize("form", [*BOTH, sixnimmt_v0.gym_env])
@pytest.mark.parametrize("deck", ["tactical", "logic"])
def test_nothing_leaks_of_illegal_actions_and_early_ends(form: Make, illegal_action: str, max_cycles: int | None, deck: str) -> None:
    rng = np.random.default_rng(5)

    def policy(observation: Any, info: Any) -> int:
        return int(rng.integers(113) if rng.random() < 0.1 else rng.choice(np.flatnonzero(observation["action_mask"])))

    limit = {} if form is sixnimmt_v0.gym_env else {"max_cycles": max_cycles}
    options: Options = {"num_players": 3, "hand_size": 4, "deck": deck, "illegal_action": illegal_action, **limit}
    audit(lambda: form(**options), policy=policy, seeds=range(4), alternatives=2, matches=1)


class Counting(Agent):
    """An agent that is no rule-based one, so that it is asked view by view."""

    def __init__(self) -> None:
        super().__init__(sixnimmt.GAME, "counting")

    def _act(self, views: NDArray[np.void]) -> NDArray[np.int64]:
        masks = np.zeros((len(views), self.game.num_actions), dtype=np.int8)
        self.game.legal(views, masks)
        return masks.argmax(axis=1)


def test_the_pictures_tell_nothing() -> None:
    report = audit(lambda: sixnimmt_v0.env(num_players=2, hand_size=2, render_mode="rgb_array"), alternatives=2)
    assert report.outputs["render"] >= 5


def as_parallel() -> Any:
    """PettingZoo's conversion asks for games in which all seats always act: this one of one turn is over before anybody has to choose."""
    env = sixnimmt_v0.env(num_players=3, hand_size=1)
    env.metadata["is_parallelizable"] = True
    return conversions.aec_to_parallel(wrappers.TerminateIllegalWrapper(env, illegal_reward=-1))


SHORT: Options = {"num_players": 3, "hand_size": 4}
WRAPPED: dict[str, Callable[[], Any]] = {
    "order": lambda: wrappers.OrderEnforcingWrapper(sixnimmt_v0.env(**SHORT)),
    "illegal": lambda: wrappers.TerminateIllegalWrapper(sixnimmt_v0.env(**SHORT), illegal_reward=-1),
    "bounds": lambda: wrappers.AssertOutOfBoundsWrapper(sixnimmt_v0.env(**SHORT)),
    "three": lambda: wrappers.OrderEnforcingWrapper(
        wrappers.AssertOutOfBoundsWrapper(wrappers.TerminateIllegalWrapper(sixnimmt_v0.env(**SHORT, render_mode="ansi"), illegal_reward=-1))
    ),
    "to AEC of open hands": lambda: conversions.parallel_to_aec(sixnimmt_v0.parallel_env(**SHORT, deck="logic")),
    "to AEC": lambda: conversions.parallel_to_aec(sixnimmt_v0.parallel_env(**SHORT)),
    "base parallel": lambda: wrappers.BaseParallelWrapper(sixnimmt_v0.parallel_env(**SHORT)),
    "flat": lambda: FlattenObservation(sixnimmt_v0.gym_env(**SHORT)),
    "stacked": lambda: FrameStackObservation(sixnimmt_v0.gym_env(**SHORT), 3),
    "stacked flat": lambda: FrameStackObservation(FlattenObservation(sixnimmt_v0.gym_env(**SHORT)), 3),
    "limited": lambda: TimeLimit(sixnimmt_v0.gym_env(**SHORT), 3),
    "statistics": lambda: RecordEpisodeStatistics(sixnimmt_v0.gym_env(**SHORT)),
    "made": lambda: gymnasium.make("sixnimmt_env/SixNimmt-v0", **SHORT),
    "made vector": lambda: gymnasium.make_vec("sixnimmt_env/SixNimmt-v0", num_envs=2, **SHORT),
    "vector statistics": lambda: vector_wrappers.RecordEpisodeStatistics(sixnimmt_v0.gym_vector_env(num_envs=2, **SHORT)),
    "vector flat": lambda: vector_wrappers.FlattenObservation(sixnimmt_v0.gym_vector_env(num_envs=2, **SHORT)),
    "sync": lambda: SyncVectorEnv([lambda: sixnimmt_v0.gym_env(**SHORT)] * 2),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_nothing_leaks_through_common_wrappers(name: str) -> None:
    report = audit(WRAPPED[name], alternatives=4, ignore=CLOCK)
    assert report.comparisons > 20
    assert report.matches == 3
    assert not report.played


def test_nothing_leaks_through_a_conversion_of_one_match() -> None:
    assert audit(as_parallel, matches=1).matches == 1


# --- planted leaks -----------------------------------------------------------------------------------------------------


class Leaky(wrappers.BaseWrapper):
    """An AEC wrapper; those below show too much."""

    def next_to(self, agent: str) -> str:
        """The agent on the left."""
        seats = self.possible_agents
        return str(seats[(seats.index(agent) + 1) % len(seats)])

    @property
    def truth(self) -> np.void:
        """What nobody may look at."""
        state: np.void = self.unwrapped._states[0]
        return state


class HandInObservation(Leaky):
    def observe(self, agent: str) -> Any:
        seen, others = super().observe(agent), super().observe(self.next_to(agent))
        start = sixnimmt.LAYOUT.offset("hand")
        seen["observation"][start] = others["observation"][start]
        return seen


class ViewInInfos(Leaky):
    @property
    def infos(self) -> Any:
        return {agent: {**info, "left": self.env.view(self.next_to(agent))["hand"].tolist()} for agent, info in self.env.infos.items()}


class OthersMaskInInfos(Leaky):
    """Of the seat that is asked, for the one beside it."""

    @property
    def infos(self) -> Any:
        infos = self.env.infos
        return {agent: {"left": infos.get(self.next_to(agent), info)["action_mask"].copy(), **info} for agent, info in infos.items()}


class MaskOfTheSeatBefore(Leaky):
    """Keeps what a seat may do and tells the next one."""

    _mask = ()

    def step(self, action: Any) -> None:
        self._mask = () if action is None else self.env.observe(self.agent_selection)["action_mask"].tolist()
        super().step(action)

    def observe(self, agent: str) -> Any:
        return {**super().observe(agent), "before": self._mask}


class HandInMask(Leaky):
    def observe(self, agent: str) -> Any:
        seen = super().observe(agent)
        allowed = np.flatnonzero(seen["action_mask"])
        if len(allowed) > 1 and self.truth["hands"].sum() % 7 > 3:
            seen["action_mask"][allowed[0]] = 0
        return seen


class HandsOnTheBoard(Leaky):
    def render(self) -> Any:
        return "\n".join(sixnimmt.GAME.board(self.env.view(agent)) for agent in self.possible_agents)


class RememberedHands(Leaky):
    """Seen at the deal, told in the third turn."""

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        super().reset(seed, options)
        self._dealt = {agent: self.env.observe(agent)["observation"].tobytes() for agent in self.possible_agents}

    def observe(self, agent: str) -> Any:
        turn = int(self.env.view(agent)["table"]["turn"])
        return {**super().observe(agent), "dealt": self._dealt[self.next_to(agent)] if turn == 2 else b""}


class LastAction(Leaky):
    """The action of the seat before, committed or not."""

    _action = -1

    def step(self, action: Any) -> None:
        self._action = -1 if action is None else action
        super().step(action)

    def observe(self, agent: str) -> Any:
        return {**super().observe(agent), "before": self._action}


class Record(Leaky):
    """The environment's own record, which has the uncommitted decisions too."""

    def observe(self, agent: str) -> Any:
        return {**super().observe(agent), "record": list(self.unwrapped._decisions)}


class RewardForTheHands(Leaky):
    @property
    def rewards(self) -> Any:
        return {agent: reward + float(self.truth["hands"].sum() % 7) for agent, reward in self.env.rewards.items()}


class StepSeesTheTruth(Leaky):
    """Looks at the hands while it steps."""

    _sum = 0

    def step(self, action: Any) -> None:
        super().step(action)
        self._sum = int(self.truth["hands"].sum() % 1000)

    def observe(self, agent: str) -> Any:
        return {**super().observe(agent), "sum": self._sum}


class Searching(Leaky):
    """Plays a copy on to the end and tells what comes out."""

    def observe(self, agent: str) -> Any:
        ahead = copy.deepcopy(self.unwrapped)
        while ahead.agents and not ahead.terminations[ahead.agent_selection]:
            ahead.step(int(ahead.infos[ahead.agent_selection]["action_mask"].argmax()))
        return {**super().observe(agent), "result": [int(cost) for cost in ahead._costs]}


class Critic(Leaky):
    """The spectators' observation for a player."""

    def observe(self, agent: str) -> Any:
        return {**super().observe(agent), "all": self.env.state()}


class SeedInInfos(Leaky):
    def reset(self, seed: int | None = None, options: Any = None) -> None:
        super().reset(seed, options)
        self._told = seed

    @property
    def infos(self) -> Any:
        return {agent: {**info, "seed": self._told} for agent, info in self.env.infos.items()}


class OwnSeed(Leaky):
    def observe(self, agent: str) -> Any:
        return {**super().observe(agent), "seed": self.unwrapped._seed}


class StateInInfos(Leaky):
    @property
    def infos(self) -> Any:
        return {agent: {**info, "state": self.unwrapped._states} for agent, info in self.env.infos.items()}


class InternalMask(Leaky):
    @property
    def infos(self) -> Any:
        return {agent: {**info, "mask": self.unwrapped._no_mask[:5]} for agent, info in self.env.infos.items()}


class EnvironmentInInfos(Leaky):
    @property
    def infos(self) -> Any:
        return {agent: {**info, "env": self.unwrapped} for agent, info in self.env.infos.items()}


class CommonArray(Leaky):
    """Observations are lines of one array: their base leads to the other hands."""

    def observe(self, agent: str) -> Any:
        together = np.array([super(CommonArray, self).observe(one)["observation"] for one in self.possible_agents])
        return {**super().observe(agent), "observation": together[self.possible_agents.index(agent)]}


class OneBuffer(Leaky):
    _buffer = None

    def observe(self, agent: str) -> Any:
        seen = super().observe(agent)
        if self._buffer is None:
            self._buffer = seen["observation"].copy()
        self._buffer[:] = seen["observation"]
        return {**seen, "observation": self._buffer}


class TurnTable(Leaky):
    """A public attribute by agent."""

    @property
    def unwrapped(self) -> Any:
        return self.env.unwrapped

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        super().reset(seed, options)
        self.notes = {agent: int(self.truth["hands"].sum() % 1000) for agent in self.possible_agents}


PLANTED: list[tuple[type[Leaky], str]] = [
    (HandInObservation, r'^(last\(\)\["observation"\]|observe\("player_0"\))\["observation"\]\[\d+\] = hand\.card\[0\]$'),
    (ViewInInfos, r'\["left"\]\[\d\]$'),
    (OthersMaskInInfos, r'\["left"\]\[\d+\] = card \d+$'),
    (MaskOfTheSeatBefore, r'\["before"\]\[\d+\]$'),
    (HandInMask, r'\["action_mask"\]\[\d+\] = card \d+$'),
    (HandsOnTheBoard, r"^render\(\)$"),
    (RememberedHands, r'\["dealt"\]$'),
    (LastAction, r'\["before"\]$'),
    (Record, r'\["record"\]\[\d+\]\[1\]$'),
    (RewardForTheHands, r'^rewards\["player_0"\]$'),
    (StepSeesTheTruth, r'\["sum"\]$'),
    (Searching, r'\["result"\]\[\d\]$'),
    (Critic, r'\["all"\]\[\d+\] = context\.unseen_below$'),
    (SeedInInfos, r'^infos\["player_0"\]\["seed"\]$'),
    (OwnSeed, r'\["seed"\]$'),
    (StateInInfos, r'^infos\["player_0"\]\["state"\]'),
    (InternalMask, r'^infos\["player_0"\]\["mask"\]$'),
    (EnvironmentInInfos, r'^infos\["player_0"\]\["env"\]$'),
    (CommonArray, r'\["observation"\]\.base\[1, \d+\] = context\.unseen_below$'),
    (OneBuffer, r'\["observation"\]\[\d+\]$'),
    (TurnTable, r'^notes\["player_0"\]$'),
]


@pytest.mark.parametrize(("leaky", "output"), PLANTED, ids=[leaky.__name__ for leaky, _ in PLANTED])
def test_planted_leaks_are_found_and_named(leaky: type[Leaky], output: str) -> None:
    with pytest.raises(LeakError) as caught:
        audit(lambda: leaky(sixnimmt_v0.env(num_players=3, hand_size=4, render_mode="ansi")))
    assert re.search(output, caught.value.output), caught.value.output
    assert caught.value.output in str(caught.value)
    assert caught.value.moment in str(caught.value)
    assert caught.value.values[0] != caught.value.values[1]


def rigged(env: Any, **kernels: Any) -> Any:
    """`env` with some of the game's kernels replaced; `commit` shows what `reveal` does."""
    if "reveal" in kernels:
        kernels["commit"] = partial(commit_and_reveal, kernels["reveal"])
    for part in (env, getattr(env, "_games", env)):
        part.game = dataclasses.replace(part.game, play_on=None, **kernels)
    return env


def commit_and_reveal(reveal: Any, states: Any, game: int, seat: int, action: int, views: Any, masks: Any) -> int:
    code: int = sixnimmt.GAME.commit(states, game, seat, action, views, masks)
    reveal(states, np.array([game]), np.array([code & NEXT_SEAT]), views)
    return code


def opening(change: Callable[[Any, Any], None], when: Callable[[Any], bool] = lambda view: True) -> Any:
    """A `reveal` that changes views by what only the state knows."""

    def reveal(states: Any, index: Any, seats: Any, views: Any) -> None:
        sixnimmt.GAME.reveal(states, index, seats, views)
        for k in range(len(index)):
            if when(views[k]):
                change(views[k], states[index[k]])

    return reveal


def open_left_hand(view: Any, state: Any) -> None:
    left = (int(view["seat"]) + 1) % int(view["table"]["num_players"])
    view["hands"][left] = state["hands"][left]


def open_seed(view: Any, state: Any) -> None:
    view["table"]["salt"] = state["seed"]


def open_picks(view: Any, state: Any) -> None:
    view["table"]["took"] = np.where(np.arange(10) == view["seat"], 0, state["picks"])


def in_phase(*phases: int) -> Callable[[Any], bool]:
    return lambda view: int(view["table"]["phase"]) in phases


RIGGED: list[tuple[str, Options, Any, int, str, str]] = [
    ("one hand", {}, opening(open_left_hand), 0, r'^the view\["hands"\]\[1, \d\]$', "pick"),
    ("seed", {"deck": "logic"}, opening(open_seed), 0, r'^the view\["table"\]\["salt"\]$', "draft"),
    ("seed in the draft", {"deck": "logic"}, opening(open_seed, in_phase(DRAFT)), 0, r'\["salt"\]$', "draft"),
    ("seed in a choice", {"deck": "logic"}, opening(open_seed, in_phase(ROW)), 0, r'\["salt"\]$', "row"),
    ("hand in a choice of sides", {"professional": True}, opening(open_left_hand, in_phase(SIDE)), 0, r'\["hands"\]', "side"),
    ("to seat 7 of 10", {"num_players": 10}, opening(open_left_hand, lambda view: view["seat"] == 7), 7, r'\["hands"\]\[8, \d\]$', "pick"),
]


@pytest.mark.parametrize(("options", "reveal", "seat", "output", "phase"), [row[1:] for row in RIGGED], ids=[row[0] for row in RIGGED])
@pytest.mark.parametrize("form", BOTH)
def test_a_game_that_reveals_too_much_is_found(form: Make, options: Options, reveal: Any, seat: int, output: str, phase: str) -> None:
    options = {"num_players": 3, **options}
    with pytest.raises(LeakError) as caught:
        audit(lambda: rigged(form(**options), reveal=reveal), seeds=range(5), alternatives=0, matches=1)
    assert caught.value.seat == seat
    assert re.search(output, caught.value.output), caught.value.output
    assert caught.value.moment.endswith(f"; {phase})")


def test_picks_that_are_revealed_too_early_are_found() -> None:
    with pytest.raises(LeakError) as caught:
        audit(lambda: rigged(sixnimmt_v0.env(), reveal=opening(open_picks, in_phase(PICK))))
    assert re.search(r'^the view\["table"\]\["took"\]\[\d\]$', caught.value.output)


def leaky_commit(states: Any, game: int, seat: int, action: int, views: Any, masks: Any) -> int:
    """Shows the next seat what this one has picked."""
    code: int = sixnimmt.GAME.commit(states, game, seat, action, views, masks)
    views["table"]["took"][0] = states["picks"][game]
    return code


def leaky_mask(states: Any, game: int, seat: int, action: int, views: Any, masks: Any) -> int:
    """Lets the next seat's mask tell whether this one has picked an odd card."""
    code: int = sixnimmt.GAME.commit(states, game, seat, action, views, masks)
    if action % 2 == 0 and masks.sum() > 1:
        masks[0, masks.argmax()] = 0
    return code


@pytest.mark.parametrize(
    ("commit", "output"),
    [(leaky_commit, r'^the view that commit shows\["table"\]\["took"\]\[\d\]$'), (leaky_mask, r"^the mask that commit shows\[\d+\]$")],
)
def test_a_commit_that_shows_more_than_reveal_is_found(commit: Any, output: str) -> None:
    with pytest.raises(LeakError) as caught:
        audit(lambda: rigged(sixnimmt_v0.env(num_players=3), commit=commit))
    assert re.search(output, caught.value.output), caught.value.output


class Peeking(Counting):
    """Plays the card that fits what the others hold: it was handed the environment."""

    env: Any = None

    def _act(self, views: NDArray[np.void]) -> NDArray[np.int64]:
        masks = np.zeros((len(views), self.game.num_actions), dtype=np.int8)
        self.game.legal(views, masks)
        odd = int(self.env._games.states["hands"].sum() % 7)
        return np.array([np.flatnonzero(mask)[odd % mask.sum()] for mask in masks])


@pytest.mark.parametrize("opponents", [1, 3])
@pytest.mark.parametrize("form", [sixnimmt_v0.gym_env, sixnimmt_v0.gym_vector_env])
def test_an_opponent_that_peeks_is_found(form: Make, opponents: int) -> None:
    def make_env() -> Any:
        peeking = Peeking()
        peeking.env = form(opponents=[peeking] * opponents)
        return peeking.env

    with pytest.raises(LeakError, match=r"the action of the agent in seat \d of game 0\n  is card \d+\n  and card \d+") as caught:
        audit(make_env)
    assert caught.value.output == f"the action of the agent in seat {caught.value.seat} of game 0"


def test_views_of_opponents_are_audited() -> None:
    with pytest.raises(LeakError) as caught:
        audit(lambda: rigged(sixnimmt_v0.gym_env(seat=0), reveal=opening(open_left_hand, lambda view: view["seat"] == 2)))
    assert (caught.value.seat, caught.value.output[:22]) == (2, 'the view["hands"][3, 0'[:22])


def showing(states: Any, games: Any, *rest: Any) -> int:
    """Compiled play that shows the outside seat all hands."""
    done: int = sixnimmt.GAME.play_on(states, games, *rest)  # type: ignore[misc]
    [views] = [each for each in rest if isinstance(each, np.ndarray) and each.dtype == sixnimmt.GAME.view_dtype]
    views["hands"][games] = states["hands"][games]
    return done


def peeking(states: Any, games: Any, choices: Any, outside: Any, chairs: Any, kinds: Any, seeds: Any, *rest: Any) -> int:
    """Compiled play whose agents' dice depend on all hands."""
    seeds = seeds + states["hands"].sum() % np.uint64(5)
    done: int = sixnimmt.GAME.play_on(states, games, choices, outside, chairs, kinds, seeds, *rest)  # type: ignore[misc]
    return done


@pytest.mark.parametrize("play_on", [showing, peeking])
@pytest.mark.parametrize("form", [sixnimmt_v0.gym_env, sixnimmt_v0.gym_vector_env])
def test_compiled_play_is_audited_against_asking_agents(form: Make, play_on: Any) -> None:
    def make_env() -> Any:
        env = form(opponents=["random"])
        env._games.game = dataclasses.replace(sixnimmt.GAME, play_on=play_on)
        return env

    with pytest.raises(LeakError, match="the own seat can tell what it may not know"):
        audit(make_env)


class LeakyReward(gymnasium.Wrapper[Any, Any, Any, Any]):
    def step(self, action: Any) -> Any:
        seen, reward, *rest = self.env.step(action)
        return seen, float(reward) - float(self.unwrapped._games.states["hands"][0].sum() % 3), *rest  # type: ignore[attr-defined]


class LeakyInfo(gymnasium.Wrapper[Any, Any, Any, Any]):
    def reset(self, **options: Any) -> Any:
        seen, info = self.env.reset(**options)
        return seen, {**info, "deal": options.get("seed")}


class LeakyVector(gymnasium.vector.VectorWrapper):
    """Shows the hands of game 1 in its last observation."""

    def step(self, actions: Any) -> Any:
        seen, rewards, terminations, *rest = self.env.step(actions)
        seen["observation"][1, -1] = self.unwrapped._games.states["hands"][1].sum() % 100 / 100  # type: ignore[attr-defined]
        return seen, rewards, terminations, *rest


@pytest.mark.parametrize(
    ("leaky", "form", "output"),
    [
        (LeakyReward, sixnimmt_v0.gym_env, r"^reward$"),
        (LeakyInfo, sixnimmt_v0.gym_env, r'^info\["deal"\]$'),
        (LeakyVector, partial(sixnimmt_v0.gym_vector_env, num_envs=3), r'^observations\["observation"\]\[1, 1366\] = cards.row\[104\]$'),
    ],
)
def test_planted_leaks_of_gymnasiums_forms_are_found(leaky: Any, form: Make, output: str) -> None:
    with pytest.raises(LeakError) as caught:
        audit(lambda: leaky(form()))
    assert re.search(output, caught.value.output), caught.value.output
    assert caught.value.seat is None


class LeakyParallel(wrappers.BaseParallelWrapper):
    """Tells each seat what its neighbour may play."""

    def step(self, actions: Any) -> Any:
        *rest, infos = self.env.step(actions)
        names = list(infos)
        return *rest, {name: {**infos[name], "left": infos[names[i - 1]]["action_mask"]} for i, name in enumerate(names)}


class OldMasks(wrappers.BaseParallelWrapper):
    """Tells each seat what its neighbour could have played a step before."""

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        seen, infos = self.env.reset(seed, options)
        self._masks = [info["action_mask"] for info in infos.values()]
        return seen, infos

    def step(self, actions: Any) -> Any:
        *rest, infos = self.env.step(actions)
        before, self._masks = self._masks, [info["action_mask"] for info in infos.values()]
        return *rest, {name: {**info, "left": before[i - 1]} for i, (name, info) in enumerate(infos.items())}


@pytest.mark.parametrize("leaky", [LeakyParallel, OldMasks])
def test_other_masks_in_the_parallel_form_are_found(leaky: type[Any]) -> None:
    with pytest.raises(LeakError) as caught:
        audit(lambda: leaky(sixnimmt_v0.parallel_env()))
    assert re.search(r'^infos\["player_\d"\]\["left"\]\[\d+\] = card \d+$', caught.value.output)


# --- where leaks may lie -----------------------------------------------------------------------------------------------


class ExtraKey(Leaky):
    """Something under a name of nobody, in one of the dictionaries by agent."""

    where = "infos"

    def __getattribute__(self, name: str) -> Any:
        if name != type(self).where:
            return super().__getattribute__(name)
        return {**getattr(self.env, name), "__common__": {"hands": int(self.truth["hands"].sum() % 1000)}}


@pytest.mark.parametrize("where", ["infos", "rewards", "terminations", "truncations"])
def test_what_lies_under_a_name_of_nobody_is_for_all(where: str) -> None:
    leaky = type("Extra", (ExtraKey,), {"where": where})
    with pytest.raises(LeakError) as caught:
        audit(lambda: leaky(sixnimmt_v0.env(num_players=3, hand_size=4)))
    assert caught.value.output == f'{where}["__common__"]["hands"]'


class ExtraResult(wrappers.BaseParallelWrapper):
    """The same in what the parallel form returns."""

    place = 0

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        return self.env.reset(seed, options)

    def step(self, actions: Any) -> Any:
        result = list(self.env.step(actions))
        result[self.place] = {**result[self.place], "__all__": int(self.unwrapped._states["hands"].sum() % 1000)}
        return tuple(result)


@pytest.mark.parametrize("place", range(5))
def test_what_is_returned_under_a_name_of_nobody_is_for_all(place: int) -> None:
    leaky = type("Extra", (ExtraResult,), {"place": place})
    with pytest.raises(LeakError) as caught:
        audit(lambda: leaky(sixnimmt_v0.parallel_env(num_players=3, hand_size=4)))
    assert caught.value.output.endswith('["__all__"]')


class Returning(Leaky):
    """A step of the AEC form returns nothing."""

    def step(self, action: Any) -> Any:
        super().step(action)
        return self.env.observe("player_0")


class ListOfRewards(wrappers.BaseParallelWrapper):
    """No dictionary at all."""

    def step(self, actions: Any) -> Any:
        seen, rewards, *rest = self.env.step(actions)
        return seen, [*rewards.values(), int(self.unwrapped._states["hands"].sum() % 1000)], *rest


class SpaceOfTheHand(Leaky):
    """A seat's space of actions is as large as what its neighbour holds."""

    def action_space(self, agent: str) -> Any:
        return gymnasium.spaces.Discrete(100 + int(self.env.view(self.next_to(agent))["hand"].sum() % 7))


class DiceOfTheHand(Leaky):
    """Draws from a seat's space tell what its neighbour holds."""

    def observe(self, agent: str) -> Any:
        self.action_space(agent).seed(int(self.env.view(self.next_to(agent))["hand"].sum() % 1000))
        return super().observe(agent)


class Complaining(Leaky):
    """Says more about an illegal action than the environment."""

    def step(self, action: Any) -> None:
        if action is not None and not self.env.infos[self.agent_selection]["action_mask"][action]:
            raise ValueError(f"{action} does not go, the others hold {self.truth['hands'].sum() % 1000}")
        super().step(action)


class OneView(wrappers.BaseParallelWrapper):
    """A record that is a part of what the environment works with, all views."""

    def step(self, actions: Any) -> Any:
        *rest, infos = self.env.step(actions)
        return *rest, {name: {**info, "view": self.unwrapped._views[i]} for i, (name, info) in enumerate(infos.items())}


class Placed(wrappers.BaseParallelWrapper):
    """A public attribute that is for nobody in particular."""

    def step(self, actions: Any) -> Any:
        self.notes = {"hands": int(self.unwrapped._states["hands"].sum() % 1000)}
        return self.env.step(actions)


class GymNotes(gymnasium.Wrapper[Any, Any, Any, Any]):
    def step(self, action: Any) -> Any:
        self.notes = {"call": len, "hands": int(self.unwrapped._games.states["hands"].sum() % 1000)}  # type: ignore[attr-defined]
        return self.env.step(action)


class GymSpace(gymnasium.Wrapper[Any, Any, Any, Any]):
    def step(self, action: Any) -> Any:
        self.action_space = gymnasium.spaces.Discrete(100 + int(self.unwrapped._games.states["hands"].sum() % 7))  # type: ignore[attr-defined]
        return self.env.step(action)


ELSEWHERE: list[tuple[Any, Make, str]] = [
    (Returning, sixnimmt_v0.env, r'^what reset or step returned\["observation"\]'),
    (ListOfRewards, sixnimmt_v0.parallel_env, r"^rewards\[3\]$"),
    (SpaceOfTheHand, sixnimmt_v0.env, r'^action_space\("player_0"\)\["words"\]$'),
    (DiceOfTheHand, sixnimmt_v0.env, r'^action_space\("player_\d"\)\["dice"\]\[0\]$'),
    (Complaining, sixnimmt_v0.env, r'^what was raised\["raises"\]$'),
    (OneView, sixnimmt_v0.parallel_env, r'^infos\["player_0"\]\["view"\]$'),
    (Placed, sixnimmt_v0.parallel_env, r'^notes\["hands"\]$'),
    (GymNotes, sixnimmt_v0.gym_env, r'^notes\["hands"\]$'),
    (GymSpace, sixnimmt_v0.gym_env, r'^action_space\["words"\]$'),
]


@pytest.mark.parametrize(("leaky", "form", "output"), ELSEWHERE, ids=[row[0].__name__ for row in ELSEWHERE])
def test_leaks_are_found_wherever_they_lie(leaky: Any, form: Make, output: str) -> None:
    def policy(observation: Any, info: Any) -> int:
        return int(observation["action_mask"].argmax())

    with pytest.raises(LeakError) as caught:
        audit(lambda: leaky(form(num_players=3, hand_size=4)), policy=policy, alternatives=0)
    assert re.search(output, caught.value.output), caught.value.output


# --- match after match -------------------------------------------------------------------------------------------------


class Later(Leaky):
    """Honest in the first match."""

    sort = "any"

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        super().reset(seed, options)
        self._resets = getattr(self, "_resets", 0) + 1
        self._tells = self._resets > 1 and (self.sort == "any" or (self.sort == "seeded") == (seed is not None))

    def observe(self, agent: str) -> Any:
        return {**super().observe(agent), "sum": int(self.truth["hands"].sum() % 1000) if self._tells else 0}


class LaterParallel(wrappers.BaseParallelWrapper):
    """Tells the next deal, from the second match on."""

    sort = "any"
    _resets = 0

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        seen, infos = self.env.reset(seed, options)
        self._resets += 1
        if self._resets > 1 and (self.sort == "any" or (self.sort == "seeded") == (seed is not None)):
            ahead = copy.deepcopy(self.unwrapped)
            ahead.reset()
            infos = {name: {**info, "next": int(ahead._states["hands"].sum() % 1000)} for name, info in infos.items()}
        return seen, infos


class LaterGym(gymnasium.Wrapper[Any, Any, Any, Any]):
    sort = "any"
    _resets = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        seen, info = self.env.reset(seed=seed, options=options)
        self._resets += 1
        tells = self._resets > 1 and (self.sort == "any" or (self.sort == "seeded") == (seed is not None))
        return seen, {**info, "sum": int(self.unwrapped._games.states["hands"].sum() % 1000) if tells else 0}  # type: ignore[attr-defined]


@pytest.mark.parametrize("sort", ["any", "seeded", "unseeded"])
@pytest.mark.parametrize(
    ("leaky", "form"), [(Later, sixnimmt_v0.env), (LaterParallel, sixnimmt_v0.parallel_env), (LaterGym, sixnimmt_v0.gym_env)]
)
def test_leaks_that_begin_with_a_later_match_are_found(leaky: Any, form: Make, sort: str) -> None:
    later = type("Later", (leaky,), {"sort": sort})
    with pytest.raises(LeakError) as caught:
        audit(lambda: later(form(num_players=3, hand_size=2)))
    assert re.search(r"^moment 0 of match [23]", caught.value.moment)
    assert audit(lambda: later(form(num_players=3, hand_size=2)), matches=1).matches == 1


def test_matches_are_played_as_many_as_are_asked_for() -> None:
    report = audit(lambda: sixnimmt_v0.parallel_env(num_players=2, hand_size=2), seeds=(3, 4), matches=3, moments=2)
    assert (report.matches, report.moments) == (8, 16)


# --- wrappers that play seats ------------------------------------------------------------------------------------------


class Playing(Leaky):
    """Plays all seats but the first, from what those see at their turn, and writes down what lies on the table."""

    _agent = agents.make("greedy")

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        super().reset(seed, options)
        self._played: list[int] = []
        self._table: list[int] = []
        self._go_on()

    def step(self, action: Any) -> None:
        super().step(action)
        self._go_on()

    def _go_on(self) -> None:
        while self.agents and self.agent_selection != "player_0":
            agent = self.agent_selection
            super().step(None if self.terminations[agent] else self.choose(agent))
        self._table = self._played[:]

    def choose(self, agent: str) -> int:
        action = int(self._agent.act([self.env.view(agent)])[0])
        self._played.append(action)
        return action

    def observe(self, agent: str) -> Any:
        return {**super().observe(agent), "played": self._table}


class PlayingByMask(Playing):
    def choose(self, agent: str) -> int:
        action = int(self.env.observe(agent)["action_mask"].argmax())
        self._played.append(action)
        return action


class PlayingAndTelling(Playing):
    def observe(self, agent: str) -> Any:
        return {**super().observe(agent), "left": int(self.env.view(self.next_to(agent))["hand"].sum() % 1000)}


class PlayingAndPeeking(Playing):
    """Chooses for a seat by what the others hold."""

    def choose(self, agent: str) -> int:
        allowed = np.flatnonzero(self.env.observe(agent)["action_mask"])
        return int(allowed[int(self.truth["hands"].sum() % len(allowed))])


class PlayingForAll(wrappers.BaseParallelWrapper):
    """The same for the parallel form, in which one agent is left."""

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.possible_agents = ["player_1"]
        return self._own(self.env.reset(seed, options))

    def step(self, actions: Any) -> Any:
        others = [agent for agent in self.env.agents if agent not in actions]
        chosen = agents.make("greedy").act([self.env.view(agent) for agent in others])
        return self._own(self.env.step({**actions, **dict(zip(others, chosen.tolist(), strict=True))}))

    def _own(self, result: Any) -> Any:
        return tuple({name: value for name, value in each.items() if name == "player_1"} for each in result)

    @property
    def agents(self) -> list[str]:
        return [agent for agent in self.env.agents if agent == "player_1"]


@pytest.mark.parametrize("seats", [None, [0], [1, 2]])
@pytest.mark.parametrize("wrapper", [Playing, PlayingByMask])
@pytest.mark.parametrize("deck", ["standard", "logic"])
def test_wrappers_that_play_seats_can_be_audited(wrapper: type[Playing], seats: Any, deck: str) -> None:
    report = audit(lambda: wrapper(sixnimmt_v0.env(num_players=3, hand_size=4, deck=deck)), seats=seats, alternatives=2)
    assert set(report.played) == {1, 2}
    assert set(report.seats) == set(seats or range(3))
    assert "decisions that the environment takes itself: seat 1 " in str(report)
    assert ("hands" in report.hidden) == (deck == "standard")


def test_a_wrapper_that_leaves_one_seat_can_be_audited() -> None:
    class Short(PlayingForAll):
        def __init__(self, env: Any) -> None:
            super().__init__(env)
            self.possible_agents = ["player_1"]

    report = audit(lambda: Short(sixnimmt_v0.parallel_env(num_players=3, hand_size=4)))
    assert set(report.seats) == {1}
    assert set(report.played) == {0, 2}
    assert report.hidden["hands"] > 3
    with pytest.raises(ValueError, match=r"seats=\[0\]: there are 1$"):
        audit(lambda: Short(sixnimmt_v0.parallel_env(num_players=3)), seats=[0])


@pytest.mark.parametrize(
    ("wrapper", "output"),
    [(PlayingAndTelling, r'\["left"\]$'), (PlayingAndPeeking, r"^the action for seat \d, which the environment plays")],
)
def test_leaks_of_wrappers_that_play_seats_are_found(wrapper: type[Playing], output: str) -> None:
    with pytest.raises(LeakError) as caught:
        audit(lambda: wrapper(sixnimmt_v0.env(num_players=3, hand_size=4)), seats=[0])
    assert re.search(output, caught.value.output), caught.value.output


# --- what is no leak, and what cannot be audited -----------------------------------------------------------------------


class History(Leaky):
    """Tells all actions, but only when everybody can see them on the table."""

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        super().reset(seed, options)
        self._done: list[Any] = []
        self._told: list[Any] = []

    def step(self, action: Any) -> None:
        before = self.env.view("player_0")["table"].tobytes()
        super().step(action)
        self._done.append(action)
        if self.env.view("player_0")["table"].tobytes() != before:
            self._told = self._done[:]

    def observe(self, agent: str) -> Any:
        return {**super().observe(agent), "history": list(self._told)}


class SeedByPosition(Leaky):
    """As some wrappers call it."""

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.env.reset(seed, options)


class OwnChoice(Leaky):
    """Reminds a seat of its own card, and rewards it for its own hand."""

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        super().reset(seed, options)
        self._mine: dict[str, Any] = {}

    def step(self, action: Any) -> None:
        self._mine[self.agent_selection] = action
        super().step(action)

    def observe(self, agent: str) -> Any:
        return {**super().observe(agent), "mine": self._mine.get(agent), "hand": int(self.env.view(agent)["hand"].sum() % 100)}


@pytest.mark.parametrize("wrapper", [History, SeedByPosition, OwnChoice])
def test_what_a_seat_may_know_is_no_leak(wrapper: type[Leaky]) -> None:
    report = audit(lambda: wrapper(sixnimmt_v0.env(num_players=3, deck="logic", rounds=1, hand_size=3)))
    assert report.alternatives > 10


class LastActions(wrappers.BaseParallelWrapper):
    """Tells what all have played, once it lies on the table."""

    def step(self, actions: Any) -> Any:
        *rest, infos = self.env.step(actions)
        return *rest, {name: {**info, "played": list(actions.values())} for name, info in infos.items()}


def test_what_has_been_played_is_no_leak() -> None:
    assert audit(lambda: LastActions(sixnimmt_v0.parallel_env(professional=True))).masks > 10


class Alone(gymnasium.Env[Any, Any]):
    """One seat of the AEC environment for Gymnasium; the others play by what they observe."""

    def __init__(self) -> None:
        self.table = sixnimmt_v0.env(num_players=3, hand_size=4)
        self.observation_space = self.table.observation_space("player_1")
        self.action_space = self.table.action_space("player_1")

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.table.reset(seed=seed)
        return self._to_own_turn()[::4]

    def step(self, action: Any) -> Any:
        self.table.step(action)
        return self._to_own_turn()

    def _to_own_turn(self) -> Any:
        while self.table.agent_selection != "player_1" and not self.table.terminations["player_1"]:
            seen: Any = self.table.observe(self.table.agent_selection)
            self.table.step(int(seen["action_mask"].argmax()))
        return (
            self.table.observe("player_1"),
            *(self.table._cumulative_rewards["player_1"], self.table.terminations["player_1"], False, {}),
        )


def test_a_seat_of_an_own_environment_around_the_table_can_be_audited() -> None:
    report = audit(Alone, seats=[1])
    assert report.hidden["hands"] > 3
    with pytest.raises(TypeError, match="say which seat it plays"):
        audit(Alone)


class Noisy(Leaky):
    def observe(self, agent: str) -> Any:
        return {**super().observe(agent), "noise": np.random.default_rng().random()}


def test_chance_that_does_not_follow_from_the_seed_cannot_be_audited() -> None:
    with pytest.raises(AuditError, match=r'observe\("player_0"\)\["noise"\] is not the same twice in the same world'):
        audit(lambda: Noisy(sixnimmt_v0.env(num_players=2)))
    assert audit(lambda: Noisy(sixnimmt_v0.env(num_players=2)), ignore=['["noise"]'], alternatives=2).comparisons > 100


class SeededDice(Leaky):
    _dice = np.random.default_rng()

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        super().reset(seed, options)
        self._dice = self._dice if seed is None else np.random.default_rng(seed)
        self._roll = int(self._dice.integers(1000))

    def observe(self, agent: str) -> Any:
        return {**super().observe(agent), "roll": self._roll}


def test_dice_that_are_thrown_with_the_seed_are_told_apart() -> None:
    with pytest.raises(LeakError) as caught:
        audit(lambda: SeededDice(sixnimmt_v0.env(num_players=2)))
    assert "vary_seed=False" in "".join(caught.value.__notes__)
    assert audit(lambda: SeededDice(sixnimmt_v0.env(num_players=2)), vary_seed=False, alternatives=2).comparisons > 100


class OwnSeeds(Leaky):
    """Makes a seed of its own from the one that it is told."""

    change: Callable[[Any], Any]

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        super().reset(seed if seed is None else type(self).change(seed), options)


SEEDS: dict[str, Callable[[int], int]] = {
    "fixed": lambda seed: 42,
    "rest": lambda seed: seed % 1000,
    "hashed": lambda seed: int(np.random.SeedSequence(seed).generate_state(1)[0]),
    "counted on": lambda seed: seed + 1,
}


@pytest.mark.parametrize("name", SEEDS)
def test_what_a_wrapper_makes_of_the_seed_for_the_environment_is_no_leak(name: str) -> None:
    wrapper = type("OwnSeeds", (OwnSeeds,), {"change": staticmethod(SEEDS[name])})
    assert audit(lambda: wrapper(sixnimmt_v0.env(num_players=3, hand_size=3)), alternatives=2).hidden["seed"] > 10


class Shadow(Leaky):
    """Plays a game of the same seed aside and tells of it."""

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        super().reset(seed, options)
        self._aside: Any = {"same": sixnimmt_v0.env(num_players=3, hand_size=4)}
        self._aside["same"].reset(seed=5 if seed is None else seed)

    def observe(self, agent: str) -> Any:
        return {**super().observe(agent), "left": self._aside["same"].observe(self.next_to(agent))["observation"]}


def test_a_game_of_the_same_seed_aside_is_found_or_refused() -> None:
    with pytest.raises(LeakError) as caught:
        audit(lambda: Shadow(sixnimmt_v0.env(num_players=3, hand_size=4)), matches=1)
    assert '["left"]' in caught.value.output
    with pytest.raises(AuditError, match=r"another one plays the same seed.*leave vary_seed on"):
        audit(lambda: Shadow(sixnimmt_v0.env(num_players=3, hand_size=4)), vary_seed=False, matches=1)


class Function(Leaky):
    def observe(self, agent: str) -> Any:
        return {**super().observe(agent), "call": lambda: 0}


def test_what_cannot_be_compared_is_said() -> None:
    with pytest.raises(AuditError, match=r'observe\("player_0"\): a function cannot be compared'):
        audit(lambda: Function(sixnimmt_v0.env()))


class Telling(AECGameEnv):
    """Runs a kernel on its states that is for spectators."""

    def step(self, action: Any) -> None:
        super().step(action)
        list(self.game.begin(self._states, 0))


def test_an_environment_with_kernels_that_are_not_known_cannot_be_audited() -> None:
    with pytest.raises(AuditError, match=r"calls begin\(\) on states"):
        audit(lambda: Telling(sixnimmt.GAME, sixnimmt.Rules(num_players=2), "telling"), moments=2)


class Shifted(gymnasium.ActionWrapper[Any, Any, Any]):
    """Its actions are none of the mask's."""

    def action(self, action: Any) -> Any:
        return (action + 50) % 113


BAD: list[tuple[type[Exception], str, Options]] = [
    (ValueError, r"seats=\[7\]: there are 0, 1, 2$", {"seats": [7]}),
    (ValueError, r"seats=\[-1\]: there are 0, 1, 2$", {"seats": [0, -1]}),
    (ValueError, "seats is empty: nothing would be audited", {"seats": []}),
    (TypeError, "seats has True in it, which is no whole number", {"seats": [True]}),
    (TypeError, "seats=1 must be a collection, as in seats", {"seats": 1}),
    (ValueError, "moments=0 must be a whole number of at least 1", {"moments": 0}),
    (ValueError, "moments=2.5 must be a whole number", {"moments": 2.5}),
    (ValueError, "alternatives=-1 must be a whole number of at least 0", {"alternatives": -1}),
    (ValueError, "matches=0 must be a whole number of at least 1", {"matches": 0}),
    (ValueError, "seeds is empty", {"seeds": ()}),
    (ValueError, "seeds must not be negative", {"seeds": [-1]}),
    (TypeError, "seeds=5 must be a collection", {"seeds": 5}),
    (TypeError, "ignore='t' must be a collection", {"ignore": "t"}),
    (ValueError, 'ignore has "" in it', {"ignore": [""]}),
    (TypeError, "policy must be called", {"policy": 3}),
    (TypeError, "made 3, which is no environment", {"make_env": lambda: 3}),
    (TypeError, "make_env must make the environment when it is called", {"make_env": 3}),
    (ValueError, "agents inside play all seats but the own one", {"make_env": sixnimmt_v0.gym_env, "seats": [0]}),
    (TypeError, "give a policy", {"make_env": lambda: Shifted(sixnimmt_v0.gym_env())}),
    (
        TypeError,
        "give a policy",
        {"make_env": lambda: gymnasium.wrappers.TransformAction(sixnimmt_v0.gym_env(), int, gymnasium.spaces.Discrete(3))},
    ),
]


@pytest.mark.parametrize(("error", "message", "arguments"), BAD, ids=[row[1] for row in BAD])
def test_arguments_that_audit_nothing_are_refused(error: type[Exception], message: str, arguments: Options) -> None:
    with pytest.raises(error, match=message):
        audit(**{"make_env": lambda: sixnimmt_v0.env(num_players=3), **arguments})


@pytest.mark.parametrize("alternatives", [0, 1, 5])
def test_the_report_says_whether_cards_were_played_otherwise(alternatives: int) -> None:
    report = audit(lambda: sixnimmt_v0.env(num_players=3, hand_size=4), alternatives=alternatives)
    assert report.tried == alternatives
    assert (report.alternatives > 0) == (alternatives > 0)
    assert ("NONE was tried" in str(report)) == (alternatives == 0)


def test_an_audit_of_nothing_is_none() -> None:
    env = sixnimmt_v0.env()
    with pytest.raises(TypeError, match="make_env must make a new environment at every call"):
        audit(lambda: env)
    with pytest.raises(TypeError, match="no environment of this package is inside"):
        audit(lambda: gymnasium.make("CartPole-v1"))
    with pytest.raises(AuditError, match="nothing was hidden"):
        audit(lambda: rigged(sixnimmt_v0.env(), disguise=lambda states, index, seats, words: None), alternatives=0)


def test_the_report_says_what_was_covered() -> None:
    report = audit(lambda: wrappers.OrderEnforcingWrapper(sixnimmt_v0.env(num_players=2, hand_size=3)), alternatives=3)
    assert report.layers == ("OrderEnforcingWrapper", "AECGameEnv")
    told = str(report)
    assert told.startswith("OrderEnforcingWrapper of AECGameEnv (AEC): nothing leaks\n")
    for words in (
        f"{report.moments} moments (pick 14",
        f"of {report.matches} matches",
        f"illegal actions: what is said of {report.illegal}",
        f"2 seats, {report.comparisons} outputs compared",
        f"hands {report.hidden['hands']}",
    ):
        assert words in told


def test_an_audited_environment_can_be_copied_and_pickled() -> None:
    """As wrappers may do: a copy goes its own way."""

    class Copying(Leaky):
        def observe(self, agent: str) -> Any:
            for copied in (copy.deepcopy(self.unwrapped), pickle.loads(pickle.dumps(self.unwrapped))):
                assert type(copied) is AECGameEnv
                copied.reset(seed=1)
            return super().observe(agent)

    audit(lambda: Copying(sixnimmt_v0.env(num_players=2, hand_size=2)), alternatives=2)
