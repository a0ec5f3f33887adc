"""Evaluation while a policy learns: its skill over time on deals that stay the same, the best policy so far, and an early stop.

A point is due every evaluation.every_decisions, between two iterations, and once more when the training ends. It draws nothing from the
random states of the training, which learns the same with and without it. Where the points would take more than the share evaluation.budget
of the training's time, which they are part of, they are left out; the first is always made, since only then is it known what one takes.

The best policy is the one with the fewest mean bull heads over the agents of evaluation.against, each of which counts alike; of equals the
earliest. It is saved as best.safetensors and best.json, and is part of the checkpoints: a run that goes on knows the one it had then.
"""

from __future__ import annotations

import copy
import csv
import io
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from numpy.typing import NDArray
from stable_baselines3.common.logger import KVWriter

from sixnimmt_env import games
from sixnimmt_env.agents import Agent
from sixnimmt_env.arena import Strength, against_field
from sixnimmt_env.core.files import write_atomically
from sixnimmt_env.core.saved import real, whole

from .budget import Budget
from .config import Config
from .network import Network, Shape, arrays, of_arrays
from .policy import LearnedAgent, Policy

TABLE: Final = "evaluations.csv"
STEM: Final = "best"
COLUMNS: Final = {
    "decisions": "of the learner before it",
    "minutes": "of the training before it",
    "agent": "that plays all other seats",
    "heads": "mean bull heads a match of the policy, which plays without exploring",
    "se": "standard error of the mean, the deals being independent; empty for a single deal",
    "win_share": "share of wins, ties split",
}
"""Columns of evaluations.csv: a row for each agent of evaluation.against at each point."""

Weights = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Best:
    """The best policy so far: its mean bull heads over the field, how many decisions came before it, and its weights."""

    mean: float
    decisions: int
    network: Weights


class Examiner:
    """Evaluates the learner as the training goes on.

    Args:
        config: the experiment.
        field: the agents of evaluation.against.
        budget: of the training, whose clock goes on meanwhile.
        shape: of the network.
        save_best: called with a new best policy.
        say: told what came of it.

    Attributes:
        events: TensorBoard's, or nothing.
        best: the best policy so far.
    """

    def __init__(
        self,
        config: Config,
        field: Sequence[Agent],
        budget: Budget,
        shape: Shape,
        save_best: Callable[[Best], None],
        say: Callable[[str], None],
    ) -> None:
        self._config, self._field, self._budget, self._shape = config, field, budget, shape
        self._save_best, self._say = save_best, say
        self.events: KVWriter | None = None
        self.best: Best | None = None
        self._table: Path | None = None
        self._looked = 0  # decisions when a point was last due
        self._rows = 0  # of the table
        self._stale = 0  # points in a row that were not better
        self._spent = self._last = 0.0  # seconds of all points, and of the last one

    @property
    def enough(self) -> bool:
        """Whether the training is to stop early."""
        patience = self._config.evaluation.early_stop
        return self._config.evaluation.every_decisions is not None and patience is not None and self._stale >= patience

    def look(self, decisions: int, network: Network) -> None:
        """Evaluate `network`, which has learned from so many decisions, if that is due and affordable."""
        every = self._config.evaluation.every_decisions
        if every is None or decisions // every <= self._looked // every:
            return
        self._looked = decisions
        if not self._affordable():
            return
        self._examine(decisions, network)
        if self.enough:
            self._say(f"No better for {self._stale} evaluations: the training ends early")

    def last_look(self, decisions: int, network: Network) -> None:
        """Evaluate what the training ends with, unless that has just been done. A run that is extended does not know of it."""
        if self._config.evaluation.every_decisions is not None and decisions != self._looked and self._affordable():
            self._examine(decisions, network)

    def open(self, folder: Path, source: Path | None = None) -> None:
        """Write into `folder` from now on: what is known so far, of the run in `source` if one goes on, and nothing of its lost future."""
        kept = [] if source is None or not self._rows else read_rows(source / TABLE)[: self._rows]
        self._table, self._rows = folder / TABLE, len(kept)
        if kept:
            write_atomically(self._table, _csv([list(COLUMNS), *kept]))
        else:
            self._table.unlink(missing_ok=True)
        for path in (folder / f"{STEM}.safetensors", folder / f"{STEM}.json"):
            path.unlink(missing_ok=True)
        if self.best is not None:
            self._save_best(self.best)

    def state(self) -> dict[str, Any]:
        """What was found so far."""
        best = self.best
        found = {} if best is None else {"mean": best.mean, "decisions": best.decisions, "network": dict(best.network)}
        counts = {"looked": self._looked, "rows": self._rows, "stale": self._stale}
        return {**counts, "seconds": [self._spent, self._last], "best": found}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state` of the same training.

        Raises:
            KeyError, ValueError, TypeError: it is that of another one.
        """
        self._looked, self._rows, self._stale = (whole(state[name], name) for name in ("looked", "rows", "stale"))
        self._spent, self._last = (real(seconds, "seconds") for seconds in state["seconds"])
        found = state["best"]
        self.best = None
        if found:
            weights = arrays(of_arrays(self._shape, found["network"]))  # which refuses those of another network
            self.best = Best(real(found["mean"], "mean"), whole(found["decisions"], "decisions"), weights)

    # --- parts -----------------------------------------------------------------------------------------------------------

    def _affordable(self) -> bool:
        share = self._config.evaluation.budget
        return share >= 1.0 or self._spent == 0.0 or self._spent + self._last <= share * self._budget.seconds

    def _examine(self, decisions: int, network: Network) -> None:
        started = time.monotonic()
        results = self._measure(network)
        self._write(decisions, results)
        if self.events is not None:
            figures = {f"eval/{result.against}": result.mean for result in results}
            self.events.write(figures, dict.fromkeys(figures, ("",)), decisions)
        mean = math.fsum(result.mean for result in results) / len(results)
        self._stale += 1
        if self.best is None or mean < self.best.mean:
            self._stale = 0
            self.best = Best(mean, decisions, arrays(network))
            self._save_best(self.best)
        self._last = time.monotonic() - started
        self._spent += self._last
        found = ", ".join(f"{result.mean:.2f} heads against {result.against}" for result in results)
        self._say(f"After {decisions:,} decisions: {found}" + ("" if self._stale else ", the best so far"))

    def _measure(self, network: Network) -> list[Strength]:
        evaluation, rules = self._config.evaluation, self._config.rules
        game = games.get(self._config.game)
        still = copy.deepcopy(network).cpu().eval()
        agent = LearnedAgent(Policy(game, rules, still, {}), self._config.name)
        return [against_field(game, rules, agent, other, evaluation.rounds_during, evaluation.seed) for other in self._field]

    def _write(self, decisions: int, results: Sequence[Strength]) -> None:
        if self._table is None:
            return
        minutes = f"{self._budget.seconds / 60.0:.6g}"
        rows = [
            [str(decisions), minutes, r.against, f"{r.mean:.6g}", f"{r.se:.6g}" if math.isfinite(r.se) else "", f"{r.win_share:.6g}"]
            for r in results
        ]
        new = not self._rows
        try:
            with self._table.open("w" if new else "a", newline="", encoding="utf-8") as file:
                file.write(_csv([list(COLUMNS), *rows] if new else rows))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            error.filename = str(self._table)
            raise
        self._rows += len(rows)


def _csv(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def read_rows(path: Path) -> list[list[str]]:
    """The whole rows of an evaluations.csv, without the header; none where there is no such file.

    Raises:
        ValueError: it is something else.
        OSError: it cannot be read.
    """
    if not path.exists():
        return []
    wrong = f"{path}: is not the table of evaluations of a training run; move it away to go on without the rows so far"
    if not path.is_file():
        raise ValueError(wrong)
    try:
        text = path.read_text(encoding="utf-8")
        header, *rows = list(csv.reader(io.StringIO(text[: text.rindex("\n") + 1])))
    except (ValueError, csv.Error):
        raise ValueError(wrong) from None
    if header != list(COLUMNS):
        raise ValueError(wrong)
    kept = []
    for row in rows:
        if len(row) != len(COLUMNS) or not row[0].isdecimal():
            break
        kept.append(row)
    return kept


def read(path: Path) -> dict[str, dict[str, list[float]]]:
    """The rows of an evaluations.csv by agents, each with its columns; an empty cell is nan. None where there is no such file.

    Raises:
        ValueError: it is something else.
        OSError: it cannot be read.
    """
    found: dict[str, dict[str, list[float]]] = {}
    place = list(COLUMNS).index("agent")
    for row in read_rows(path):
        columns = found.setdefault(row[place], {name: [] for name in COLUMNS if name != "agent"})
        for name, cell in zip(COLUMNS, row, strict=True):
            if name != "agent":
                columns[name].append(float(cell or "nan"))
    return found


def finished(state: object, config: Config) -> bool:
    """Whether the `state` of an examiner says that the training has ended early, as `config` has it."""
    patience = config.evaluation.early_stop
    if config.evaluation.every_decisions is None or patience is None:
        return False
    return whole(state["stale"], "stale") >= patience  # type: ignore[index]
