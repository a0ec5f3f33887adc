"""What a sweep has found, as a table, a short report in Markdown, plain data and a picture."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sixnimmt_env.arena.statistics import LEVEL
from sixnimmt_env.core.files import write_atomically

from .console import say
from .sweep_config import Sweep
from .sweep_results import ENOUGH_SEEDS, Row
from .tournament_report import interval, label, plain, png

_BETTER, _WORSE, _OPEN = "#2f6f4f", "#b5493b", "#8a8f98"
_COLOURS: Final = {"better": _BETTER, "worse": _WORSE}
_WIDTH: Final = 140  # of the tables where there is no terminal
_BESIDE: Final = 3  # columns about the difference to the baseline, the last ones


# --- The table -----------------------------------------------------------------------------------------------------------


def columns(sweep: Sweep) -> list[str]:
    """The heads of the columns of `cells`."""
    floors = [f"against {opponent}" for opponent in sweep.evaluation.against]
    return ["variant", "seeds", "decisions", "a second", *floors, f"minus {sweep.baseline}", "95 % interval", "verdict"]


def cells(sweep: Sweep, row: Row) -> list[str]:
    """A row of the table."""
    floors = [_with_error(*row.floor(opponent)) for opponent in sweep.evaluation.against]
    found = row.difference
    what = ("–", "–", _verdict(sweep, row)) if found is None else (f"{found.heads:+.2f}", _span(found.low, found.high), found.verdict)
    speed = f"{row.speed:,.0f}" if math.isfinite(row.speed) else "–"
    return [row.variant, str(len(row.learned)), f"{row.decisions:,}", speed, *floors, *what]


def _verdict(sweep: Sweep, row: Row) -> str:
    """What is said where there is no difference to be judged."""
    broken = len(row.outcomes) - len(row.learned)
    if broken:
        return f"{broken} of {len(row.outcomes)} trainings diverged"
    return "the baseline" if row.variant == sweep.baseline else "the baseline diverged"


def _with_error(mean: float, error: float) -> str:
    return "–" if not math.isfinite(mean) else f"{mean:.2f} ± {error:.2f}" if math.isfinite(error) else f"{mean:.2f} ± ?"


def _span(low: float, high: float) -> str:
    return f"{low:+.2f} to {high:+.2f}"


def show(sweep: Sweep, rows: Sequence[Row], console: Console) -> None:
    """Print the results and how they are read, as two tables that fit into 80 columns: each by itself, and beside the baseline."""
    if not console.is_terminal:
        console.width = max(console.width, _WIDTH)  # nobody's window: names stay whole
    lines = [columns(sweep), *(cells(sweep, row) for row in rows)]
    for part in ([line[:-_BESIDE] for line in lines], [[line[0], *line[-_BESIDE:]] for line in lines]):
        head, *body = part
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for name in head:
            words = name in ("variant", "verdict")
            table.add_column(name, justify="left" if words else "right", overflow="fold")
        for line in body:
            table.add_row(*map(Text, line))
        console.print(table)
    for note in notes(sweep, rows):
        say(console, f"- {note}")


def notes(sweep: Sweep, rows: Sequence[Row]) -> list[str]:
    """How the table is read, and what it does not tell."""
    compared = [row for row in rows if row.difference is not None]
    errors = [error for row in rows for one in row.learned for error in one.errors.values() if math.isfinite(error)]
    deals = f" (up to {max(errors):.2f}; the deals are the same for all)" if errors else ""
    found = [
        "Against an opponent: bull heads a match of one seat, with that opponent in all others; fewer are better. "
        f"Mean ± standard error over {len(sweep.seeds)} seeds, that is between trainings that differ in nothing else; the error of the "
        f"{sweep.evaluation.rounds:,} rounds is not in it{deals}.",
        f"Minus {sweep.baseline}: bull heads a seat and match that a variant pays more than the baseline at the same tables, half of the "
        f"seats each, every seed of the one with every seed of the other on {sweep.cross_play.deals:,} equal deals; negative is better.",
        f"The 95 % interval is about other seeds and other deals: the seed is the unit, both sides are paired by it (Student's interval, "
        f"{min(len(sweep.seeds), sweep.cross_play.deals) - 1} degrees of freedom), and the variance over deals is added. Where it covers "
        "0, no difference was found, which does not say that there is none: more seeds make it narrower.",
    ]
    if len(compared) > 1:
        chance = LEVEL * len(compared)
        found.append(
            f"Each of the {len(compared)} intervals holds by itself: without any real difference {chance:.1f} of them would be expected to "
            "leave out 0 by chance. All of them share the baseline's seeds."
        )
    if len(sweep.seeds) < ENOUGH_SEEDS:
        found.append(f"With fewer than {ENOUGH_SEEDS} seeds nothing is claimed: add some to `seeds`, and give the command again.")
    return found


# --- Files ---------------------------------------------------------------------------------------------------------------


def write(sweep: Sweep, rows: Sequence[Row], folder: Path) -> Path:
    """Write report.json, report.png and report.md to `folder`; returns the path of the last."""
    write_atomically(folder / "report.json", json.dumps(as_data(sweep, rows), indent=2, allow_nan=False) + "\n")
    write_atomically(folder / "report.png", png(forest(sweep, rows)))
    write_atomically(folder / "report.md", page(sweep, rows))
    return folder / "report.md"


def page(sweep: Sweep, rows: Sequence[Row]) -> str:
    """The report: what was tried, what came of it, and how that is read."""
    base = f"`{sweep.base}`" if isinstance(sweep.base, str) else "the configuration in the sweep's file"
    common = f" with {changes(sweep.set)}" if sweep.set else ""
    tried = [[variant, changes(given) or "nothing"] for variant, given in sweep.variants.items()]
    broken = [
        f"- {row.variant}, seed {seed}: {one.diverged}"
        for row in rows
        for seed, one in zip(sweep.seeds, row.outcomes, strict=True)
        if one.diverged
    ]
    parts = [
        f"# Sweep {sweep.name}",
        f"{len(sweep.variants)} variants of {base}{common}; seeds {', '.join(map(str, sweep.seeds))}. Everything that was tried is here.",
        _table(["variant", "what is different"], tried),
        "## Results",
        _table(columns(sweep), [cells(sweep, row) for row in rows]),
        *(["Diverged:\n\n" + "\n".join(broken)] if broken else []),
        "![Differences to the baseline with 95 % intervals](report.png)",
        "## How to read this",
        "\n".join(f"- {note}" for note in notes(sweep, rows)),
    ]
    return "\n\n".join(parts) + "\n"


def changes(given: dict[str, Any]) -> str:
    """Overrides as they would be written on the command line."""
    return ", ".join(f"`{key}={json.dumps(value, ensure_ascii=False)}`" for key, value in given.items())


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows)


def as_data(sweep: Sweep, rows: Sequence[Row]) -> dict[str, Any]:
    """The report as plain data for JSON: every trial, every pair of seeds, and what follows from them."""
    return {
        "name": sweep.name,
        "base": sweep.base,
        "set": sweep.set,
        "seeds": list(sweep.seeds),
        "baseline": sweep.baseline,
        "evaluation": sweep.evaluation.model_dump(mode="json"),
        "cross_play": sweep.cross_play.model_dump(mode="json"),
        "level": LEVEL,
        "variants": [_variant(sweep, row) for row in rows],
        "notes": notes(sweep, rows),
    }


def _variant(sweep: Sweep, row: Row) -> dict[str, Any]:
    floors = {opponent: row.floor(opponent) for opponent in sweep.evaluation.against}
    found = row.difference
    return {
        "name": row.variant,
        "changes": sweep.variants[row.variant],
        "decisions": row.decisions,
        "decisions_per_second": _finite(row.speed),
        "floors": {opponent: {"mean_heads": _finite(mean), "se_over_seeds": _finite(se)} for opponent, (mean, se) in floors.items()},
        "trials": [
            {
                "seed": seed,
                "decisions": one.decisions,
                "seconds": one.seconds,
                "mean_heads": dict(one.heads),
                "se_over_deals": {opponent: _finite(error) for opponent, error in one.errors.items()},
                "diverged": one.diverged or None,
            }
            for seed, one in zip(sweep.seeds, row.outcomes, strict=True)
        ],
        "difference": None
        if found is None
        else {
            "heads": found.heads,
            "se": found.se,
            "se_of_seeds": found.seeds_se,
            "se_of_deals": found.deals_se,
            "low": found.low,
            "high": found.high,
            "seeds": found.each.tolist(),
            "pairs": found.pairs.tolist(),
        },
        "verdict": _verdict(sweep, row) if found is None else found.verdict,
    }


def _finite(value: float) -> float | None:
    """JSON has no nan, which the error of a single seed or deal is."""
    return value if math.isfinite(value) else None


# --- The picture ---------------------------------------------------------------------------------------------------------


def forest(sweep: Sweep, rows: Sequence[Row]) -> Figure:
    """The differences to the baseline with their intervals, the best on top."""
    found = sorted(((row.difference, row.variant) for row in rows if row.difference is not None), key=lambda pair: pair[0].heads)
    figure, axes = plt.subplots(figsize=(8.0, 1.6 + 0.38 * max(1, len(found))), layout="constrained")
    for place, (each, _) in enumerate(found):
        interval(axes, place, each.heads, each.low, each.high, _COLOURS.get(each.verdict, _OPEN))
    axes.set_yticks(range(len(found)), [label(variant) for _, variant in found])
    axes.invert_yaxis()
    axes.axvline(0.0, color=_OPEN, linewidth=0.8)
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlabel(f"bull heads a match more than {label(sweep.baseline)} at the same tables (negative is better)")
    plain(axes)
    figure.suptitle(f"{label(sweep.name)}: {len(sweep.seeds)} seeds each, with 95 % intervals; grey: no difference found")
    return figure
