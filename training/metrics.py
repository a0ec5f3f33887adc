"""The figures of a training run: what metrics.csv holds, how it is written and read."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import math
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from stable_baselines3.common.logger import KVWriter

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

COLUMNS: Final = {
    "time/iterations": "updates of the network so far, this row's rollout not yet learned from",
    "time/total_timesteps": "decisions of the learner so far",
    "time/minutes": "minutes since the learning began",
    "time/frames_per_second": "decisions a second since the row before, learning and evaluation included",
    "rollout/heads": "mean bull heads of the learner in the matches that ended since the row before, while exploring",
    "rollout/heads/OPPONENT": "the same in those of them in which this opponent sat: one column for each that the configuration names, "
    "`pool` for any of the pool, `self` for another seat of the learner",
    "rollout/win_share": "share of wins in them, ties split",
    "rollout/matches": "how many matches these are",
    "rollout/forced_share": "share of the learner's moves that were no decision, since only one action was legal",
    "train/learning_rate": "size of the gradient steps in the last update",
    "train/entropy_coefficient": "weight of the bonus for undecided play in the coming update",
    "train/entropy_loss": "minus the mean entropy of the decisions (nats): rises to 0 as the play becomes decided",
    "train/policy_gradient_loss": "PPO's clipped policy loss",
    "train/value_loss": "mean squared error of the policy's own value, in units of the scaled reward",
    "train/explained_variance": "share of the returns' variance that the values explain by which decisions are measured; 1 is perfect",
    "train/critic_loss": "with training.critic=privileged: mean squared error of the critic, in units of the scaled reward",
    "train/auxiliary_loss": "with training.auxiliary: mean cross-entropy of telling who holds the unseen cards (nats a card)",
    "train/approx_kl": "how far the last minibatch moved the policy (nats)",
    "train/clip_fraction": "share of decisions whose change was clipped",
    "train/clip_range": "how far one update may change the probability of an action",
    "train/loss": "the whole loss of the last minibatch",
    "train/n_updates": "epochs learned so far",
}
"""Columns of metrics.csv, in order, see `columns`. A row is written after each rollout; what `train/` tells is of the update before it.
Cells are empty where there is nothing to tell: `train/` in the first row, the results of matches when none has ended."""
_EACH: Final = "rollout/heads/OPPONENT"
CRITIC_LOSS: Final = "train/critic_loss"
AUXILIARY_LOSS: Final = "train/auxiliary_loss"
_OPTIONAL: Final = (CRITIC_LOSS, AUXILIARY_LOSS)


def column_of(opponent: str) -> str:
    """The column that tells what was paid in matches with `opponent`."""
    return _EACH.replace("OPPONENT", opponent)


def columns(opponents: Iterable[str], optional: Collection[str] = ()) -> list[str]:
    """The columns of a run with these `opponents`, which stay the same while it lasts; of those that not every run has, the `optional`."""
    each = [column_of(opponent) for opponent in opponents]
    there = [column for column in COLUMNS if column not in _OPTIONAL or column in optional]
    return [name for column in there for name in (each if column == _EACH else [column])]


class Metrics(KVWriter):
    """Writes metrics.csv: the columns in their fixed order, whole rows only.

    Args:
        path: of the file.
        opponents, optional: those of the run, see `columns`.
        iterations: None for a new file. Otherwise the rows up to this iteration are kept and continued; `kept` says how many there were.

    Raises:
        BusyError: another process writes this file.
        ValueError: what is to be continued is no such file.
        OSError: the disk is full; names the file.
    """

    def __init__(self, path: Path, opponents: Sequence[str], iterations: int | None = None, optional: Collection[str] = ()) -> None:
        self._path, self._columns = path, columns(opponents, optional)
        old = iterations is not None and os.path.lexists(path)
        self._file: TextIO = _opened(path, self._columns) if old else path.open("w", newline="", encoding="utf-8")
        self._rows = csv.writer(self._file, lineterminator="\n")
        self.kept = 0
        try:
            _claim(self._file, path)
            if old:
                text = _head(path, iterations or 0, self._columns)
                self._file.truncate(len(text.encode("utf-8")))
                self._file.seek(0, os.SEEK_END)
                self.kept = text.count("\n") - 1
            else:
                self._write(self._columns)
        except BaseException:
            self._file.close()
            raise

    def sync(self) -> None:
        """Wait until the disk has all rows."""
        if not self._file.closed:
            with contextlib.suppress(io.UnsupportedOperation):
                os.fsync(self._file.fileno())

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        self._write([_cell(key_values.get(column)) for column in self._columns])

    def close(self) -> None:
        with contextlib.suppress(OSError):  # the rows are written; should they be lost with the machine, a run that goes on says so
            self.sync()
        self._file.close()

    def _write(self, row: list[str]) -> None:
        try:
            self._rows.writerow(row)
            self._file.flush()
        except OSError as error:
            error.filename = str(self._path)
            raise


class BusyError(ValueError):
    """Another process is training into the folder."""


def known(path: Path, opponents: Sequence[str], iterations: int, optional: Collection[str] = ()) -> str:
    """The head of the metrics.csv of a run with these `opponents` and `optional` columns: its whole rows up to iteration `iterations`.

    Raises:
        ValueError: it is no such file.
        OSError: it cannot be read.
    """
    return _head(path, iterations, columns(opponents, optional))


def _head(path: Path, iterations: int, names: Sequence[str]) -> str:
    wrong = f"{path}: is not the table of figures of a training run; move it away to go on without the rows so far"
    if not path.is_file():
        raise ValueError(wrong)
    header, *rows = path.read_bytes().split(b"\n")
    if header.decode("utf-8", "replace") != _line(names):
        raise ValueError(wrong)
    kept = [header]
    for row in rows[:-1]:  # what follows the last end of a line is no whole row
        number = row.partition(b",")[0]
        if row.count(b",") != len(names) - 1 or not number.isdigit() or int(number[:20]) > iterations:
            break
        kept.append(row)
    return b"\n".join([*kept, b""]).decode("utf-8", "replace")


def _line(names: Sequence[str]) -> str:
    """The first line of a table; the name of an agent may hold commas."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def _opened(path: Path, names: Sequence[str]) -> TextIO:
    if not path.is_file():
        _head(path, 0, names)
    return path.open("r+", newline="", encoding="utf-8")


def _claim(file: TextIO, path: Path) -> None:
    """Keep other processes from writing `file` as long as it is open, where the system can."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except io.UnsupportedOperation:
        pass
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise BusyError(f"{path.parent}: another process is training into this folder; stop that one first") from None


def _cell(value: Any) -> str:
    if value is None or not math.isfinite(value):
        return ""
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def read(path: Path) -> dict[str, list[float]]:
    """The columns of a run's metrics.csv; empty cells are nan."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {key: [float(row[key] or "nan") for row in rows] for key in (rows[0] if rows else ())}
