"""Agents that break: they forfeit what they do not decide, are named with the reason, and nobody else notices."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sixnimmt_env import agents, arena
from sixnimmt_env.agents import Agent
from sixnimmt_env.arena import Forfeits, Games, OutOfTime, forfeit, hold, play
from sixnimmt_env.arena.forfeit import Guard, merged, within
from sixnimmt_env.games.sixnimmt import GAME, Rules
from tests.arena.toys import FAULTS, Broken, Mended, Wrong, make_impatient, plan

clocked = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no agent can be broken off here")

SEATING = np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0], [1, 1, 1]] * 5)


def fight(agent: Any, seating: NDArray[np.int64] = SEATING, **options: Any) -> Games:
    """Against the greedy agent."""
    return play(GAME, Rules(3, rounds=2), [agent, agents.make("greedy")], seating, np.arange(len(seating)), 5, **options)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """First answers get no more time than others; everything is compiled before."""
    fight(agents.make("greedy"))
    monkeypatch.setattr(forfeit, "PATIENCE", 0.0)
    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.getsignal(signal.SIGALRM)
    yield
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


class Doing(Agent):
    """Does something with its views, then plays as the greedy agent."""

    def __init__(self, do: Callable[[NDArray[np.void]], Any]) -> None:
        self.do, self.calls = do, 0
        self.good = agents.make("greedy")
        super().__init__(GAME, "doing")

    def _act(self, views: NDArray[np.void]) -> NDArray[np.int64]:
        self.calls += 1
        self.do(views)
        return self.good.act(views)


# --- what has nothing to do with time ----------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [None, 100.0])
@pytest.mark.parametrize("fault", FAULTS)
def test_only_the_decisions_concerned_are_forfeited(fault: str, limit: float | None) -> None:
    games, mended = fight(Broken(fault), on_failure="forfeit", seconds_limit=limit), fight(Mended(fault))
    assert (games.costs == mended.costs).all()
    assert (games.decisions == mended.decisions).all()
    assert not games.illegal.any()
    if fault == "batches":
        assert games.forfeits == {}
        return
    [(agent, found)] = games.forfeits.items()
    assert (agent, found.reason) == (0, FAULTS[fault])
    if fault == "sometimes":
        assert 0.2 < found.decisions / games.decisions[0] < 0.6
    else:
        assert found.decisions == games.decisions[0]


def test_a_good_agent_is_asked_in_whole_batches() -> None:
    agent = Doing(lambda views: None)
    games = fight(agent, on_failure="forfeit", seconds_limit=100.0)
    assert agent.calls <= 60
    assert games.forfeits == {}
    assert (games.costs == fight(agents.make("greedy")).costs).all()


def test_illegal_actions_are_counted_apart() -> None:
    games = fight(Wrong(GAME, "wrong"), on_failure="forfeit", seconds_limit=100.0)
    assert games.illegal[0] == games.decisions[0] > 0
    assert games.forfeits == {}


@pytest.mark.parametrize("fault", FAULTS)
def test_by_itself_play_raises(fault: str) -> None:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - each fault raises something else
        fight(Broken(fault))
    told = " ".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert fault in told or isinstance(caught.value, SystemExit)


@pytest.mark.parametrize("limit", [0, -1.0, float("nan"), float("inf"), True, "1"])
def test_limits_that_are_none(limit: Any) -> None:
    with pytest.raises(ValueError, match=r"seconds_limit=.* must be a number above 0, or None"):
        fight(Broken("raises"), seconds_limit=limit)
    with pytest.raises(ValueError, match="seconds_limit="):
        plan(arena.head_to_head(4), "greedy", "random", seconds_limit=limit)


def test_an_unknown_way_to_fail() -> None:
    with pytest.raises(ValueError, match="on_failure='ignore' must be one of raise, forfeit"):
        fight(Broken("raises"), on_failure="ignore")


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


REASONS = [
    (ValueError("a\n  b\tc"), "ValueError: a b c"),
    (KeyError(), "KeyError"),
    (Unspeakable(), "Unspeakable"),
    (RuntimeError("\x1b[31mred \ud800"), "RuntimeError: ?[31mred ?"),
    (TypeError("<object at 0x7f3a52cd1f70> is none"), "TypeError: <object at 0x...> is none"),
    (ValueError("日本"), "ValueError: 日本"),
]


@pytest.mark.parametrize(("error", "reason"), REASONS, ids=[reason for _, reason in REASONS])
def test_reasons_are_a_line_that_can_be_printed_anywhere(error: Exception, reason: str) -> None:
    def fail(views: Any) -> None:
        raise error

    assert fight(Doing(fail), SEATING[:1], on_failure="forfeit").forfeits[0].reason == reason


def test_long_reasons_are_cut() -> None:
    def fail(views: Any) -> None:
        raise ValueError("x" * 1000)

    reason = fight(Doing(fail), SEATING[:1], on_failure="forfeit").forfeits[0].reason
    assert len(reason) == 200
    assert reason.endswith("x...")


def test_merged() -> None:
    parts = [{1: Forfeits(2, "b")}, {}, {0: Forfeits(1, "a"), 1: Forfeits(3, "later")}]
    assert merged(parts) == {0: Forfeits(1, "a"), 1: Forfeits(5, "b")}
    assert list(merged(parts)) == [0, 1]


# --- time --------------------------------------------------------------------------------------------------------------


@clocked
def test_an_agent_that_hangs(impatient: None) -> None:
    """It is broken off, and not asked for ever."""
    begun = time.monotonic()
    agent = Broken("hangs")
    games = fight(agent, on_failure="forfeit", seconds_limit=0.05)
    assert time.monotonic() - begun < 50
    assert games.forfeits == {0: Forfeits(int(games.decisions[0]), "no answer for a decision within 0.05 s")}
    assert (games.costs == fight(Mended("hangs")).costs).all()
    assert agent.calls == 1 + forfeit.CHANCES
    assert games.seconds[0] > 0.15


@clocked
def test_a_single_decision_that_hangs(impatient: None) -> None:
    times = iter([0.0, 0.0, 0.0, 60.0])
    games = fight(Doing(lambda views: time.sleep(next(times, 0.0))), np.array([[0, 1, 1]]), on_failure="forfeit", seconds_limit=1.0)
    assert games.forfeits == {0: Forfeits(1, "no answer for a decision within 1 s")}
    assert games.decisions[0] >= 20


@clocked
def test_an_agent_that_swallows_everything(impatient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The alarm is no `Exception`; and who catches that as well hears it again."""
    monkeypatch.setattr(forfeit, "_AGAIN", 0.05)
    heard: list[BaseException] = []

    def stubborn(views: Any) -> None:
        try:
            time.sleep(60.0)
        except BaseException as error:
            heard.append(error)
            time.sleep(60.0)

    games = fight(Doing(stubborn), SEATING[:1], on_failure="forfeit", seconds_limit=0.05)
    assert games.forfeits[0].decisions == games.decisions[0]
    assert not any(isinstance(error, Exception) for error in heard)


@clocked
def test_slow_batches_are_asked_in_parts(impatient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that would take its time is not taken for one that hangs: every decision is within the limit."""

    def think(views: NDArray[np.void]) -> None:
        if (views["table"]["turn"] == 0).any():
            time.sleep(0.05 * len(views))

    agent = Doing(think)
    seating = np.zeros((20, 3), dtype=np.int64)
    games = play(GAME, Rules(3), [agent], seating, np.arange(20), 5, on_failure="forfeit", seconds_limit=1.0)
    assert games.forfeits == {}
    assert (games.costs == play(GAME, Rules(3), [agents.make("greedy")], seating, np.arange(20), 5).costs).all()
    assert agent.calls > 10 + 2


@clocked
def test_out_of_time_is_raised_without_forfeits(impatient: None) -> None:
    with pytest.raises(OutOfTime, match=r"no answer for 5 decisions within 0.25 s") as caught:
        fight(Broken("hangs"), np.array([[0, 0, 0], [0, 1, 0]]), seconds_limit=0.05)
    assert caught.value.__notes__ == ["raised by agent 'hangs'"]


def test_where_there_is_no_alarm_it_is_noticed_when_the_agent_returns(impatient: None) -> None:
    found: list[Games] = []
    agent = Doing(lambda views: time.sleep(0.2))
    options: dict[str, Any] = {"on_failure": "forfeit", "seconds_limit": 0.01}
    thread = threading.Thread(target=lambda: found.append(fight(agent, SEATING[:1], **options)))
    thread.start()
    thread.join()
    reason = found[0].forfeits[0].reason
    assert reason.startswith("took 0.")
    assert reason.endswith(" s for a decision, 0.01 s is allowed")
    assert found[0].forfeits[0].decisions == found[0].decisions[0]


def test_a_first_answer_may_take_a_while() -> None:
    """Whoever compiles or loads something is not broken for that."""
    times = iter([0.3])
    agent = Doing(lambda views: time.sleep(next(times, 0.0)))
    assert fight(agent, SEATING[:1], on_failure="forfeit", seconds_limit=0.1).forfeits == {}


@clocked
def test_who_was_given_up_is_asked_again_in_the_next_part(impatient: None) -> None:
    hanging = [True]
    agent = Doing(lambda views: time.sleep(60.0) if hanging[0] else None)
    guard = Guard(GAME, agent, 0.05, forfeiting=True)
    views = np.zeros(30, dtype=GAME.view_dtype)
    for chances in (3, 1):
        guard.begin()
        agent.calls = 0
        guard.act(views)
        guard.act(views)
        assert guard.forfeits == 60
        assert agent.calls == chances + (chances > 1), "a batch once, then single views"
    hanging[0] = False
    guard.begin()
    assert (guard.act(views) == agent.good.act(views)).all()
    assert (guard.forfeits, guard.reason) == (0, "")


@clocked
def test_ctrl_c_ends_it_all(impatient: None) -> None:
    def interrupt(views: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        time.sleep(60.0)

    with pytest.raises(KeyboardInterrupt):
        fight(Doing(interrupt), on_failure="forfeit", seconds_limit=30.0)


# --- the alarm ---------------------------------------------------------------------------------------------------------


class Bell(Exception):
    pass


@pytest.fixture
def bell() -> Iterator[list[float]]:
    """Somebody else's alarm; when it rang."""
    rung: list[float] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(time.monotonic()))
    yield rung
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


@clocked
def test_an_alarm_of_somebody_else_is_there_again(bell: list[float]) -> None:
    mine = signal.getsignal(signal.SIGALRM)
    signal.setitimer(signal.ITIMER_REAL, 500.0, 7.0)
    assert within(100.0, lambda: 5, "") == 5
    with pytest.raises(OutOfTime, match="too long"):
        within(0.02, lambda: time.sleep(60.0), "too long")
    assert signal.getsignal(signal.SIGALRM) is mine
    left, interval = signal.getitimer(signal.ITIMER_REAL)
    assert 300 < left < 500
    assert interval == 7.0
    assert bell == []


@clocked
def test_an_alarm_of_somebody_else_rings_in_time(bell: list[float]) -> None:
    """Within the call, without breaking it off; and what its handler raises goes through."""
    begun = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(OutOfTime):
        within(0.4, lambda: time.sleep(60.0), "")
    assert len(bell) == 1
    assert bell[0] - begun < 0.4

    def ring(number: int, frame: Any) -> None:
        raise Bell

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(Bell):
        within(30.0, lambda: time.sleep(60.0), "")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@clocked
@pytest.mark.parametrize(("outer", "inner", "who"), [(0.05, 30.0, "outer"), (30.0, 0.05, "inner")])
def test_alarms_nest(outer: float, inner: float, who: str) -> None:
    """Each breaks off its own call, whichever is due first."""
    with pytest.raises(OutOfTime, match=who):
        within(outer, lambda: within(inner, lambda: time.sleep(60.0), "inner"), "outer")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@clocked
def test_an_agent_that_plays_games_of_its_own(impatient: None) -> None:
    """With a limit for its own agents; it is broken off all the same."""
    inner = Broken("hangs")
    agent = Doing(lambda views: fight(inner, SEATING[:1], on_failure="forfeit", seconds_limit=30.0))
    games = fight(agent, SEATING[:1], on_failure="forfeit", seconds_limit=0.05)
    assert games.forfeits[0].decisions == games.decisions[0]


@clocked
@pytest.mark.parametrize("workers", [1, 2])
def test_a_tournament_with_an_agent_that_hangs(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forfeit, "PATIENCE", forfeit.PATIENCE)  # puts it back: `make_impatient` changes it, in whichever process plays
    it = plan(arena.head_to_head(3, [1]), "hangs", "greedy", deals=6, chunk_games=6, seconds_limit=0.05)
    played = hold(it, workers=workers, make=make_impatient)
    assert played.forfeits == {0: Forfeits(int(played.decisions[0]), "no answer for a decision within 0.05 s")}
    assert played.stopped == ""
