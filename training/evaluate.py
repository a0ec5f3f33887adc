"""How well an agent plays: one seat against a field, on equal deals from every seat, with standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
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
    with Progress(*columns, console=console, transient=True) as progress:
        for opponent in field:
            players = rules.num_players
            task = progress.add_task(f"against {opponent.name}", total=-(-rounds // players) * players)
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


def show(results: Sequence[Strength], title: str, console: Console) -> None:
    """Print the results as a table."""
    table = Table(title=title, caption="mean ± standard error; fewer heads are better; ties share a win", title_justify="left")
    for name in ("against", "players", "matches", "heads a match", "share of wins", "fair share", "illegal", "decision"):
        table.add_column(name, justify="left" if name == "against" else "right")
    for r in results:
        table.add_row(
            r.against,
            str(r.players),
            f"{r.games:,}",
            f"{r.mean:.2f} ± {r.se:.2f}",
            f"{100 * r.win_share:.1f} % ± {100 * r.win_se:.1f}",
            f"{100 / r.players:.1f} %",
            str(r.illegal),
            f"{1e6 * r.seconds_per_decision:.1f} µs",
        )
    console.print(table)


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
                "se": r.se,
                "win_share": r.win_share,
                "win_share_se": r.win_se,
                "illegal": r.illegal,
                "seconds_per_decision": r.seconds_per_decision,
            }
            for r in results
        ],
    }
