"""The figures of a training run: what metrics.csv holds, how it is written and read."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any, Final, TextIO

from stable_baselines3.common.logger import KVWriter

COLUMNS: Final = {
    "time/iterations": "updates of the network so far, this row's rollout not yet learned from",
    "time/total_timesteps": "decisions of the learner so far",
    "time/minutes": "minutes since the learning began",
    "time/frames_per_second": "decisions a second since the row before, learning included",
    "rollout/heads": "mean bull heads of the learner in the matches that ended since the row before, while exploring",
    "rollout/win_share": "share of wins in them, ties split",
    "rollout/matches": "how many matches these are",
    "rollout/forced_share": "share of the learner's moves that were no decision, since only one action was legal",
    "train/learning_rate": "size of the gradient steps in the last update",
    "train/entropy_coefficient": "weight of the bonus for undecided play in the coming update",
    "train/entropy_loss": "minus the mean entropy of the decisions (nats): rises to 0 as the play becomes decided",
    "train/policy_gradient_loss": "PPO's clipped policy loss",
    "train/value_loss": "mean squared error of the value network, in units of the scaled reward",
    "train/explained_variance": "share of the returns' variance that the value network explains; 1 is perfect",
    "train/approx_kl": "how far the last minibatch moved the policy (nats)",
    "train/clip_fraction": "share of decisions whose change was clipped",
    "train/clip_range": "how far one update may change the probability of an action",
    "train/loss": "the whole loss of the last minibatch",
    "train/n_updates": "epochs learned so far",
}
"""Columns of metrics.csv, in order. A row is written after each rollout; what `train/` tells is of the update before it. Cells are empty
where there is nothing to tell: `train/` in the first row, the results of matches when none has ended."""


class Metrics(KVWriter):
    """Writes metrics.csv: the columns in their fixed order, whole rows only.

    Raises:
        OSError: the disk is full; names the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO = path.open("w", newline="", encoding="utf-8")
        self._rows = csv.writer(self._file, lineterminator="\n")
        self._write(list(COLUMNS))

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        self._write([_cell(key_values.get(column)) for column in COLUMNS])

    def close(self) -> None:
        self._file.close()

    def _write(self, row: list[str]) -> None:
        try:
            self._rows.writerow(row)
            self._file.flush()
        except OSError as error:
            error.filename = str(self._path)
            raise


def _cell(value: Any) -> str:
    if value is None or not math.isfinite(value):
        return ""
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def read(path: Path) -> dict[str, list[float]]:
    """The columns of a run's metrics.csv; empty cells are nan."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {key: [float(row[key] or "nan") for row in rows] for key in (rows[0] if rows else ())}
