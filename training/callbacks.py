"""What happens beside the learning: schedules, figures, the progress display, checkpoints, and an orderly stop."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback

from sixnimmt_env.core.saved import real, whole

from .budget import Budget
from .config import POOL, SELF, Config, named_opponents
from .examiner import Examiner
from .league import League
from .metrics import column_of
from .network import Network
from .ppo import Learner
from .vec_env import MatchVecEnv

_PLAIN_SECONDS = 15.0  # between lines where the output is no terminal


_STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Interrupt:
    """Whether the user has asked to stop, with Ctrl-C or a termination signal; asked twice, it stops at once."""

    def __init__(self) -> None:
        self.asked = False

    @contextmanager
    def shield(self) -> Iterator[None]:
        """Take no notice of signals while the block runs: for work of moments that must not be cut in half."""
        before = {}
        with contextlib.suppress(ValueError):  # not the main thread
            for number in _STOPPING:
                before[number] = signal.signal(number, lambda number, frame: None)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def watch(self, console: Console) -> Iterator[None]:
        """Take the signals while the block runs (in the main thread; elsewhere Python delivers none)."""

        def stop(number: int, frame: FrameType | None) -> None:
            if self.asked:
                raise KeyboardInterrupt
            self.asked = True
            console.print("[yellow]Stopping: what is learned will be saved. Once more to stop at once.")

        before = {}
        try:
            for number in _STOPPING:
                if signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it
                    before[number] = signal.signal(number, stop)
        except ValueError:  # not the main thread
            pass
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class DivergedError(ValueError):
    """The training has diverged: the weights are no numbers any more."""


def check_weights(model: BaseAlgorithm) -> None:
    """Raise `DivergedError` if the weights of `model`, a `Learner`, are no numbers."""
    assert isinstance(model, Learner)
    if not model.sound:
        raise DivergedError(
            f"the training diverged before decision {model.num_timesteps:,}: the weights are no numbers any more; "
            "lower training.learning_rate, or raise training.minibatch or training.reward_scale"
        )


class Coach(BaseCallback):
    """Runs the schedules, ends the training when the budget is spent or the user asks, and records the figures of each iteration.

    Its figures are those of `metrics.COLUMNS` that stable-baselines3 does not record by itself.

    Args:
        config: the experiment.
        budget: what may be spent; its clock is started when learning begins.
        interrupt: asked before every step.
        display: shown the state of things after every step.
        remember: called between iterations, at the start of every rollout and after the last update, to note what can be gone on from.
        save_checkpoint: called every output.checkpoint_minutes, to save what was remembered.
        examiner: looks at the learner between iterations, and may end the training.
        league: brought up to date before every rollout.
    """

    def __init__(
        self,
        config: Config,
        budget: Budget,
        interrupt: Interrupt,
        display: Display,
        remember: Callable[[], None],
        save_checkpoint: Callable[[], None],
        examiner: Examiner,
        league: League | None = None,
    ) -> None:
        super().__init__()
        self._training, self._budget, self._interrupt, self._display = config.training, budget, interrupt, display
        self._remember, self._save_checkpoint = remember, save_checkpoint
        self._checkpoint_seconds = 60.0 * config.output.checkpoint_minutes
        self._examiner = examiner
        self._kinds = [*named_opponents(config), POOL, SELF]  # as the tally has them
        self._told = [kind for kind in self._kinds if kind in config.opponents]
        self._learned = 0  # decisions that the network has learned from
        self._next_checkpoint = 0.0
        self._league = league
        self._before = (0, 0.0)  # frames and seconds at the end of the last rollout
        self._at_start = False  # of a rollout
        self._between = True  # two iterations: no rollout has begun that was not learned from

    def state(self) -> dict[str, Any]:
        """What the figures of the next iteration are reckoned from."""
        return {"before": list(self._before)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state`. `KeyError`, `ValueError` or `TypeError` if it is none."""
        frames, seconds = state["before"]
        self._before = whole(frames, "before"), real(seconds, "before")

    @property
    def _env(self) -> MatchVecEnv:
        env = self.training_env
        assert isinstance(env, MatchVecEnv)
        return env

    @property
    def _network(self) -> Network:
        assert isinstance(self.model, Learner)
        return self.model.network

    def _on_training_start(self) -> None:
        self._budget.start()
        self._next_checkpoint = self._budget.seconds + self._checkpoint_seconds

    def _on_training_end(self) -> None:
        if self._between:
            self._remember()
            self._learned = self.num_timesteps
        if not self._interrupt.asked:
            check_weights(self.model)
            self._examiner.last_look(self._learned, self._network)

    def _on_rollout_start(self) -> None:
        check_weights(self.model)
        self._learned = self.num_timesteps
        self._examiner.look(self._learned, self._network)
        self._remember()
        self._between = False
        self._at_start = self.num_timesteps > 0  # the first rollout is always finished
        model: Any = self.model
        if self._league is not None:
            self._league.update(self._budget.progress, self.num_timesteps, self._network)
        model.ent_coef = self._training.entropy.at(self._budget.progress)
        if self._budget.seconds >= self._next_checkpoint:
            self._next_checkpoint = self._budget.seconds + self._checkpoint_seconds
            self._save_checkpoint()

    def _on_step(self) -> bool:
        # stable-baselines3 counts a step of every environment, and here some of them have to wait.
        self.num_timesteps = self.model.num_timesteps = self._env.decisions
        self._budget.spent_frames = self.num_timesteps
        self._display.show(self._budget)
        # The clock ends the training between iterations: half a rollout would only be thrown away.
        at_start, self._at_start = self._at_start, False
        return not self._interrupt.asked and not (at_start and (self._budget.out_of_time or self._examiner.enough))

    def _on_rollout_end(self) -> None:
        tally = self._env.take_tally()
        frames, seconds = self.num_timesteps, self._budget.seconds
        speed = (frames - self._before[0]) / max(1e-9, seconds - self._before[1])
        self._before = (frames, seconds)
        self._between = True
        self.logger.record("rollout/matches", tally.matches)
        if tally.matches:
            self.logger.record("rollout/heads", tally.cost / tally.matches)
            self.logger.record("rollout/win_share", tally.wins / tally.matches)
        for kind, (matches, paid) in zip(self._kinds, tally.met.tolist(), strict=True):
            if matches and kind in self._told:
                self.logger.record(column_of(kind), paid / matches)
        self.logger.record("rollout/forced_share", tally.forced / max(1, tally.forced + tally.decisions))
        self.logger.record("train/entropy_coefficient", self.model.ent_coef)  # type: ignore[attr-defined]
        self.logger.record("time/minutes", seconds / 60.0)
        self.logger.record("time/frames_per_second", speed)
        self._display.note(tally.cost / tally.matches if tally.matches else None, speed)


class Display:
    """The state of a training: a live bar on a terminal, a line every 15 seconds elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._heads: float | None = None
        self._speed: float | None = None
        self._last = 0.0
        self._bar = Progress(BarColumn(12), TextColumn("{task.description}"), console=console, transient=True)
        self._task = self._bar.add_task("getting ready ...", total=1.0)

    @contextmanager
    def live(self) -> Iterator[None]:
        """Show the bar while the block runs."""
        if self._console.is_terminal:
            with self._bar:
                yield
        else:
            yield

    def note(self, heads: float | None, speed: float) -> None:
        """Remember the figures of the last iteration; `heads` is None if no match ended in it."""
        self._heads, self._speed = self._heads if heads is None else heads, speed

    def show(self, budget: Budget) -> None:
        """Bring the display up to date."""
        if self._console.is_terminal:
            self._bar.update(self._task, completed=budget.progress, description=self._line(budget))
        elif self._speed is not None and time.monotonic() - self._last >= _PLAIN_SECONDS:
            self._last = time.monotonic()
            self._console.print(self._line(budget), highlight=False, soft_wrap=True)

    def _line(self, budget: Budget) -> str:
        """At most 66 characters, so that the bar has room beside it on 80 columns."""
        parts = [f"{100 * budget.progress:3.0f} %", f"{budget.spent_frames / 1e6:.2f}M decisions"]
        if self._speed is not None:
            parts.append(f"{self._speed / 1000:.1f}k/s")
        if self._heads is not None:
            parts.append(f"{self._heads:.2f} heads")
        left = budget.seconds_left
        if left is not None:
            parts.append(f"{_clock(left)} left")
        return ", ".join(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"
