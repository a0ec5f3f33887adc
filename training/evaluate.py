"""How well an agent plays: one seat against a field, on equal deals from every seat, with standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from sixnimmt_env.agents import Agent
from sixnimmt_env.arena import Strength, against_field
from sixnimmt_env.core.game import Rules


def evaluate(agent: Agent, rules: Rules, field: Sequence[Agent], rounds: int, seed: int, console: Console) -> list[Strength]:
    """`agent` against each agent of `field` in all other seats.

    Args:
        agent: who is evaluated.
        rules: the variant.
        field: the opponents, one after the other.
        rounds: matches against each, rounded up so that every deal is played from every seat.
        seed: of the deals, the same for every opponent.
        console: shows the progress.
    """
    columns = (TextColumn("{task.description}"), BarColumn(30), MofNCompleteColumn(), TimeRemainingColumn())
    results = []
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        for opponent in field:
            players = rules.num_players
            task = progress.add_task(escape(f"against {opponent.name}"), total=-(-rounds // players) * players)
            results.append(
                against_field(
                    agent.game,
                    rules,
                    agent,
                    opponent,
                    rounds,
                    seed,
                    progress=lambda count, task=task: progress.advance(task, count),  # type: ignore[misc]
                )
            )
            progress.remove_task(task)
    return results


def show(results: Sequence[Strength], who: str, console: Console) -> None:
    """Print the results of `who` as a table that fits into 80 columns."""
    first = results[0]
    what = f"{who}: {first.players} players, {first.games:,} matches against each, every deal from every seat"
    console.print(what, highlight=False, markup=False, soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("against", overflow="fold")
    for name in ("heads a match", "share of wins", "illegal", "a decision"):
        table.add_column(name, justify="right", no_wrap=True)
    for r in results:
        table.add_row(
            escape(r.against),
            _with_error(r.mean, r.se, 2),
            _with_error(100 * r.win_share, 100 * r.win_se, 1) + " %",
            str(r.illegal),
            f"{1e6 * r.seconds_per_decision:,.1f} µs",
        )
    console.print(table)
    fair = f"a fair share of wins is {100 / first.players:.1f} %"
    console.print(f"mean ± standard error; fewer heads are better; {fair}", style="dim", highlight=False)


def _with_error(value: float, error: float, digits: int) -> str:
    """The error is as wide in every line, so that the columns stand in line; a single deal has none."""
    spread = f"{error:.{digits}f}" if math.isfinite(error) else "?"
    return f"{value:.{digits}f} ± {spread:>{digits + 2}}"


def as_json(agent: str, seed: int, results: Sequence[Strength]) -> dict[str, Any]:
    """The results as plain data: the shape of `evaluate --json` and of a run's evaluation.json."""
    return {
        "agent": agent,
        "seed": seed,
        "results": [
            {
                "against": r.against,
                "players": r.players,
                "rounds": r.games,
                "mean_heads": r.mean,
                "se": _finite(r.se),
                "win_share": r.win_share,
                "win_share_se": _finite(r.win_se),
                "illegal": r.illegal,
                "seconds_per_decision": r.seconds_per_decision,
            }
            for r in results
        ],
    }


def _finite(value: float) -> float | None:
    """JSON has no nan, which the error of a single deal is."""
    return value if math.isfinite(value) else None
