"""Pictures of training runs: one run as it comes to its end, and several side by side."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import matplotlib

matplotlib.use("Agg")  # files only: no window is ever opened
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sixnimmt_env.core.files import write_atomically

from . import examiner, metrics

AXES: Final = {"minutes": "time/minutes", "decisions": "time/total_timesteps"}
"""What can be on the x axis, by the column that tells it."""
FORMATS: Final = (".png", ".svg", ".pdf")
_SURE: Final = 1.96  # standard errors of a 95 % interval
_LABEL: Final = 40  # characters of a name in a picture

Columns = dict[str, list[float]]


@dataclass(frozen=True)
class Drawn:
    """A run as it is drawn: what it is called, its figures, and its evaluations by agents."""

    name: str
    figures: Columns
    skill: dict[str, Columns]


def learning_curve(folder: Path, picture: Path, title: str) -> None:
    """Draw mean bull heads over minutes, with the share of wins and the evaluations on the way, of the run in `folder` to `picture` (PNG).

    Draws nothing before the first row is there.
    """
    columns = metrics.read(folder / "metrics.csv")
    if not columns:
        return
    minutes = columns["time/minutes"]
    figure, axes = plt.subplots(figsize=(8, 4.5), dpi=120)
    axes.plot(minutes, columns["rollout/heads"], color="tab:red", label="bull heads while exploring (fewer are better)")
    for number, (agent, found) in enumerate(examiner.read(folder / examiner.TABLE).items()):
        _skill(axes, found, "minutes", f"evaluated against {_label(agent)}, with 95 % intervals", f"C{number + 4}")
    axes.set_xlabel("minutes")
    axes.set_ylabel("bull heads a match")
    axes.set_title(f"{title}: learning against its training opponents")
    axes.grid(alpha=0.3)
    wins = axes.twinx()
    wins.plot(minutes, columns["rollout/win_share"], color="tab:blue", alpha=0.6, label="share of wins (ties split)")
    wins.set_ylabel("share of wins")
    wins.set_ylim(0, 1)
    handles, labels = (one + other for one, other in zip(axes.get_legend_handles_labels(), wins.get_legend_handles_labels(), strict=True))
    axes.legend(handles, labels, loc="upper right", fontsize="small")
    figure.tight_layout()
    _save(figure, picture)


def run(folder: Path) -> Drawn:
    """What is drawn of the run in `folder`.

    Raises:
        ValueError: it is no run folder, or holds no figures yet.
        OSError: a file cannot be read.
    """
    table = folder / "metrics.csv"
    if not table.is_file():
        raise ValueError(f"{folder}: is no run folder: it holds no metrics.csv")
    try:
        figures = metrics.read(table)
        wanted = [*AXES.values(), "rollout/heads"]
        if figures and not set(wanted) <= figures.keys():
            raise ValueError(f"it has no column {next(name for name in wanted if name not in figures)}")
    except (ValueError, TypeError) as error:  # of another file by that name
        raise ValueError(f"{table}: is not the table of figures of a training run: {error}") from None
    if not figures:
        raise ValueError(f"{table}: has no rows yet; the first is written after the first update")
    return Drawn(str(folder), figures, examiner.read(folder / examiner.TABLE))


def compare(runs: Sequence[Drawn], picture: Path, over: str) -> None:
    """Draw the learning curves of `runs`, and below them their skill against each agent they were evaluated against.

    Args:
        runs: what is drawn.
        picture: where to; its ending, one of `FORMATS`, says as what.
        over: the x axis, one of `AXES`.
    """
    agents = list(dict.fromkeys(agent for one in runs for agent in one.skill))
    figure, panels = plt.subplots(1 + len(agents), 1, figsize=(8, 1.0 + 3.2 * (1 + len(agents))), dpi=120, sharex=True, squeeze=False)
    top, *others = panels[:, 0]
    for number, one in enumerate(runs):
        top.plot(one.figures[AXES[over]], one.figures["rollout/heads"], color=f"C{number}", label=_label(one.name))
        for agent, axes in zip(agents, others, strict=True):
            if agent in one.skill:
                _skill(axes, one.skill[agent], over, _label(one.name), f"C{number}")
    top.set_title("against the training opponents, while exploring")
    for agent, axes in zip(agents, others, strict=True):
        axes.set_title(f"against {_label(agent)}, on the same deals each time, with 95 % intervals")
    for axes in panels[:, 0]:
        axes.set_ylabel("bull heads a match")
        axes.grid(alpha=0.3)
        axes.legend(loc="upper right", fontsize="small")
    panels[-1, 0].set_xlabel(over)
    figure.tight_layout()
    _save(figure, picture)


def _skill(axes: Axes, found: Columns, over: str, label: str, colour: str) -> None:
    """Evaluations with their intervals; one of a single deal has none."""
    errors = _SURE * np.nan_to_num(np.array(found["se"]))
    axes.errorbar(found[over], found["heads"], errors, color=colour, marker="o", markersize=3, capsize=2, linewidth=1, label=label)


def _label(name: str) -> str:
    """A name that fits; a dollar sign would begin a formula, and what begins with an underscore is left out of legends."""
    short = name if len(name) <= _LABEL else f"{name[: _LABEL // 2 - 1]}…{name[-_LABEL // 2 :]}"
    return ("\u200b" if short.startswith("_") else "") + short.replace("$", r"\$")


def _save(figure: Figure, picture: Path) -> None:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=picture.suffix.lower()[1:])
    plt.close(figure)
    write_atomically(picture, buffer.getvalue())
