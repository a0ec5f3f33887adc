"""Agents that break: what they do not decide is decided for them, is counted, and the others play on.

An agent that raises an exception, answers with something that is not one whole number a view, or thinks longer than allowed, forfeits the
decision: the lowest legal action is played for it, as for an illegal one. A batch that fails is asked again in parts, from single views on,
so that nothing is forfeited but the decisions concerned.

Where the clock is not involved all that follows from the views, so that it does not depend on batches, chunks or processes. An agent that
has run out of time for single decisions `CHANCES` times is not asked any more until the end of the part (in a tournament: of the chunk of
deals), for a part with an agent that hangs should end some time. If that happens, it has only one chance in the next part.
"""

from __future__ import annotations

import math
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..agents import Agent, name_of
from ..core.game import Game, Views

OnFailure = Literal["raise", "forfeit"]

PATIENCE: Final = 60.0  # seconds for a batch before it is asked in parts, and for a first answer: agents compile and load then
CHANCES: Final = 3  # decisions out of time, before an agent is not asked any more
_AGAIN: Final = 1.0  # seconds after which an agent that swallowed the alarm hears it again
_LONGEST: Final = 200  # characters of a reason
_WHOLE: Final = 2**62  # more views than any batch has

T = TypeVar("T")


class OutOfTime(TimeoutError):
    """An agent has thought longer than it may."""


@dataclass(frozen=True, slots=True)
class Forfeits:
    """Decisions that an agent forfeited.

    Attributes:
        decisions: how many.
        reason: of the first, in a line.
    """

    decisions: int
    reason: str


def merged(parts: Iterable[Mapping[int, Forfeits]]) -> dict[int, Forfeits]:
    """The forfeits of all parts by agent, with the first reason of each."""
    found: dict[int, Forfeits] = {}
    for part in parts:
        for agent, new in part.items():
            old = found.get(agent)
            found[agent] = new if old is None else Forfeits(old.decisions + new.decisions, old.reason)
    return dict(sorted(found.items()))


def check_limit(seconds: float | None) -> None:
    """`ValueError` if `seconds` is no limit: a number above 0, or None."""
    real = isinstance(seconds, (int, float, np.integer, np.floating)) and not isinstance(seconds, bool)
    if seconds is not None and not (real and 0 < seconds < math.inf):
        raise ValueError(f"seconds_limit={seconds!r} must be a number above 0, or None for no limit")


class Guard(Agent):
    """An agent whose thinking time is taken and, with `forfeiting`, who always answers: a failure costs it the decision.

    It lives as long as its agent, over many parts, each of which is begun with `begin`.

    Args:
        game: what is played.
        agent: anything with `act(views)`.
        limit: seconds for a decision, on average over a batch; None: as long as it likes.
        forfeiting: failures are forfeits; otherwise they are raised.

    Attributes:
        seconds: time the agent took since `begin`.
        forfeits: decisions it forfeited since then.
        reason: of the first of them.
    """

    def __init__(self, game: Game, agent: Agent, limit: float | None = None, forfeiting: bool = False) -> None:
        check_limit(limit)
        self._agent, self._limit, self._forfeiting = agent, limit, forfeiting
        self._first = True  # nothing was asked yet
        self._size = self._most = _WHOLE  # views that are asked at a time, now and at most
        self._chances = CHANCES
        self._kept = np.empty(0, dtype=np.uint8)
        self.begin()
        super().__init__(game, name_of(agent))

    def begin(self) -> None:
        """Begin a part: the counters at 0, and who was not asked any more is asked again, though carefully."""
        self.seconds, self.forfeits, self.reason = 0.0, 0, ""
        gone = self._chances == 0
        self._chances = 1 if gone else CHANCES
        if gone:
            self._size = 1  # a whole batch would be waited for once more

    def reset(self, seed: int) -> None:
        self.seed = seed

    def _act(self, views: Views) -> Any:
        return self._in_parts(views) if self._forfeiting else self._ask(views)

    def _in_parts(self, views: Views) -> NDArray[np.int64]:
        """The agent's actions, the lowest legal ones where it forfeits; as few calls as its failures allow."""
        actions = np.empty(len(views), dtype=np.int64)
        bytes_, kept = views.view(np.uint8), self._keep(views)
        start = 0
        while start < len(views) and self._chances:
            part = views[start : start + self._size]
            try:
                answer = _checked(self._ask(part), len(part))
            except (Exception, SystemExit) as error:
                bytes_[:] = kept  # whatever the agent has done to its views, they are asked again
                late = isinstance(error, OutOfTime)
                if len(part) > 1:
                    self._size = 1
                    self._most = max(1, len(part) // 2) if late else self._most
                    continue
                self._chances -= late
                answer = self._lowest(part)
                self._forfeit(1, _in_words(error))
            else:
                self._size = min(2 * self._size, self._most)
            actions[start : start + len(part)] = answer
            start += len(part)
        if start < len(views):
            actions[start:] = self._lowest(views[start:])
            self._forfeit(len(views) - start, self.reason or "out of time")
        return actions

    def _keep(self, views: Views) -> NDArray[np.uint8]:
        """The bytes of the views, padding included; always in the same place, for new memory costs more than what is written there."""
        if views.nbytes > len(self._kept):
            self._kept = np.empty(views.nbytes, dtype=np.uint8)
        kept = self._kept[: views.nbytes]
        kept[:] = views.view(np.uint8)
        return kept

    def _ask(self, views: Views) -> Any:
        """The agent's answer, whatever it is. Raises what the agent raises, and `OutOfTime`."""
        count, limit = len(views), self._limit
        before = time.perf_counter()
        try:
            if limit is None:
                return np.asarray(self._agent.act(views))
            allowed = fair = count * limit
            if self._forfeiting:  # a batch is not waited for as long as all its decisions might take: perhaps the first one hangs
                allowed = min(allowed, max(limit, PATIENCE))
            if self._first:
                allowed, fair = max(allowed, PATIENCE), max(fair, PATIENCE)
            what = "a decision" if count == 1 else f"{count} decisions"
            answer = within(allowed, lambda: np.asarray(self._agent.act(views)), f"no answer for {what} within {allowed:g} s")
            if (took := time.perf_counter() - before) > fair:
                raise OutOfTime(f"took {took:.2f} s for {what}, {fair:g} s is allowed")
            return answer
        finally:
            self._first = False
            self.seconds += time.perf_counter() - before

    def _lowest(self, views: Views) -> NDArray[np.int64]:
        masks = np.empty((len(views), self.game.num_actions), dtype=np.int8)
        self.game.legal(views, masks)
        lowest: NDArray[np.int64] = masks.argmax(axis=1)
        return lowest

    def _forfeit(self, count: int, reason: str) -> None:
        self.forfeits += count
        self.reason = self.reason or reason


def _checked(answer: NDArray[Any], count: int) -> NDArray[Any]:
    if answer.shape != (count,) or answer.dtype.kind not in "iu":
        raise TypeError(f"answered with an array of {answer.dtype}, shape {answer.shape}: one whole number a view is needed")
    return answer


def _in_words(error: BaseException) -> str:
    """What was raised, in a line that can be printed anywhere and is the same in every process."""
    try:
        said = str(error)
    except Exception:  # an agent's exceptions are its own code too
        said = ""
    said = re.sub(r"\b0x[0-9a-fA-F]{6,}", "0x...", " ".join(said.split()))  # addresses of objects
    said = "".join(sign if sign.isprintable() else "?" for sign in said)
    line = said if isinstance(error, OutOfTime) else f"{type(error).__name__}: {said}" if said else type(error).__name__
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


# --- The alarm -----------------------------------------------------------------------------------------------------------


class _Rung(BaseException):
    """Raised inside the agent; no `Exception`, for agents that catch those. Holds the alarm it is of, because alarms nest."""


def within(seconds: float, call: Callable[[], T], complaint: str) -> T:
    """`call()`, broken off after `seconds` where that is possible.

    It is possible in the main thread of a process that has interval timers (not on Windows), by the signal SIGALRM. Compiled code is broken
    off when it returns to Python. Elsewhere the call takes as long as it takes. The timer and the handler of before are there again
    afterwards, and are kept waiting for no longer than `call` keeps to compiled code.

    Raises:
        OutOfTime: with `complaint`, when it was broken off.
        BaseException: what `call` raises.
    """
    if not _can_ring():
        return call()
    alarm = _Alarm(seconds)
    try:
        try:
            alarm.set()
            return call()
        finally:
            alarm.armed = False
    except _Rung as rung:
        if rung.args != (alarm,):
            raise  # of somebody further out
        raise OutOfTime(complaint) from None
    finally:
        alarm.restore()


def _can_ring() -> bool:
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return False
    return signal.getsignal(signal.SIGALRM) is not None  # None: a handler that Python could not put back


class _Alarm:
    """The interval timer for one call, shared with whoever had set it before."""

    def __init__(self, seconds: float) -> None:
        self.armed = True
        self._due = time.monotonic() + seconds
        self._handler: Any = signal.getsignal(signal.SIGALRM)
        left, self._interval = signal.setitimer(signal.ITIMER_REAL, 0.0)
        self._others = time.monotonic() + left if left else math.inf  # when that of before is due

    def set(self) -> None:
        """Let it ring, at the first of the two times; again and again, for agents that catch everything."""
        signal.signal(signal.SIGALRM, self._ring)
        first = min(self._due, self._others if callable(self._handler) else math.inf)
        signal.setitimer(signal.ITIMER_REAL, max(1e-6, first - time.monotonic()), _AGAIN)

    def restore(self) -> None:
        """Everything as it was; what has become due meanwhile rings at once."""
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, self._handler)
        if self._others < math.inf:
            signal.setitimer(signal.ITIMER_REAL, max(1e-6, self._others - time.monotonic()), self._interval)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now >= self._others and callable(self._handler):
            self._others = now + self._interval if self._interval else math.inf
            if self.armed:
                self.set()
            self._handler(number, frame)
        elif self.armed and now >= self._due - 1e-3:
            raise _Rung(self)
        elif self.armed:
            self.set()
