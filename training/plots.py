"""Pictures of a training run."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # files only: no window is ever opened
import matplotlib.pyplot as plt

from sixnimmt_env.core.files import write_atomically

from . import metrics


def learning_curve(table: Path, picture: Path, title: str) -> None:
    """Draw mean bull heads over minutes, with the share of wins, from a run's metrics.csv to `picture` (PNG).

    Draws nothing before the first row is there.
    """
    columns = metrics.read(table)
    if not columns:
        return
    minutes = columns["time/minutes"]
    figure, axes = plt.subplots(figsize=(8, 4.5), dpi=120)
    axes.plot(minutes, columns["rollout/heads"], color="tab:red", label="bull heads a match (fewer is better)")
    axes.set_xlabel("minutes")
    axes.set_ylabel("bull heads a match, while exploring")
    axes.set_title(f"{title}: learning against its training opponents")
    axes.grid(alpha=0.3)
    wins = axes.twinx()
    wins.plot(minutes, columns["rollout/win_share"], color="tab:blue", alpha=0.6, label="share of wins (ties split)")
    wins.set_ylabel("share of wins")
    wins.set_ylim(0, 1)
    lines = [*axes.get_lines(), *wins.get_lines()]
    axes.legend(lines, [str(line.get_label()) for line in lines], loc="upper right")
    figure.tight_layout()
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    plt.close(figure)
    write_atomically(picture, buffer.getvalue())
