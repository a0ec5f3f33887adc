"""How far a training run is: by its frames or by the clock, whichever comes first."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from sixnimmt_env.core.saved import real, whole


class Budget:
    """Frames and minutes that may be spent. The clock starts with `start`.

    Args:
        frames: learner decisions.
        minutes: wall-clock minutes, None for no limit.
    """

    def __init__(self, frames: int, minutes: float | None = None) -> None:
        self.frames = frames
        self.minutes = minutes
        self.spent_frames = 0
        self._started: float | None = None
        self._before = 0.0  # seconds spent before the clock was started

    def start(self) -> None:
        """Start the clock."""
        self._started = time.monotonic()

    def state(self) -> dict[str, Any]:
        """What is spent."""
        return {"frames": self.spent_frames, "seconds": self.seconds}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state`; to be called before `start`. `KeyError` or `ValueError` if it is none."""
        self.spent_frames = whole(state["frames"], "frames")
        self._before = real(state["seconds"], "seconds")

    @property
    def seconds(self) -> float:
        """Seconds spent: since the start, and before it in what was restored."""
        return self._before + (0.0 if self._started is None else time.monotonic() - self._started)

    @property
    def _by_clock(self) -> float:
        return self.seconds / (60.0 * self.minutes) if self.minutes else 0.0

    @property
    def progress(self) -> float:
        """Share that is spent, 0 to 1: what the schedules follow."""
        return min(1.0, max(self.spent_frames / self.frames, self._by_clock))

    @property
    def out_of_time(self) -> bool:
        """Whether the minutes are spent."""
        return self._by_clock >= 1.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds to the end at the pace so far; None before anything can be said."""
        if self.progress <= 0.0:
            return None
        return self.seconds * (1.0 - self.progress) / self.progress
