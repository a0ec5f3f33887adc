"""Results as a table and as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.table import Table

from sixnimmt_env import __version__

from .measure import Bar, Result

WIDTH: Final = 140  # of the table where the output is no terminal

_PREFIXES: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_NOTE: Final = """\
Medians over alternating pairs; ratio = value / baseline, then the least and the greatest of the pairs. Of rates (.../s) more is better, of
all others less. Quote the ratios: absolute figures depend on the machine and on what else it does, and where the pairs differ widely it was
busy, so run that one again. A bar that is missed does not change the exit status."""


def show(results: Sequence[Result], console: Console) -> None:
    """Print the table."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    for name in ("benchmark", "value", "baseline", "which is", "ratio", "of pairs", "bar", "met"):
        table.add_column(name, justify="left" if name in ("benchmark", "which is") else "right", no_wrap=name in ("benchmark", "ratio"))
    for place, result in enumerate(results):
        table.add_row(*_line(result), end_section=place + 1 < len(results) and _group(result) != _group(results[place + 1]))
    console.print(table)
    console.print(_NOTE.replace("\n", " "), highlight=False)


def _group(result: Result) -> str:
    return result.name.split(".")[0]


def _line(result: Result) -> tuple[str, ...]:
    baseline = "" if result.baseline is None else quantity(result.baseline, result.unit)
    ratio = "" if result.ratio is None else f"{number(result.ratio)}x"
    spread = "" if result.low is None else f"{number(result.low)} to {number(result.high)}"
    met = {True: "[green]yes[/]", False: "[red]no[/]", None: ""}[result.met]
    bar = "" if result.bar is None else _bar(result.bar, result.unit)
    return result.name, quantity(result.value, result.unit), baseline, result.beside, ratio, spread, bar, met


def _bar(bar: Bar, unit: str) -> str:
    limit = f"{bar.limit:g}x" if bar.of == "ratio" else quantity(bar.limit, unit)
    return f"{'>=' if bar.at == 'least' else '<='} {limit}"


def quantity(value: float | None, unit: str) -> str:
    """The value with its unit, rates and seconds with a prefix: "1.23 M steps/s", "140 ns/turn"."""
    if value is None:
        return "-"
    seconds = unit in ("s", "s/turn")
    if not seconds and not unit.endswith("/s"):
        return f"{value:,.0f} {unit}"
    size, prefix = next(((size, prefix) for size, prefix in _PREFIXES if abs(value) >= size), (1.0, ""))
    gap = " " if prefix and not seconds else ""
    return f"{number(value / size)} {prefix}{gap}{unit}"


def number(value: float | None) -> str:
    """Three digits, or all before the point."""
    if value is None:
        return "-"
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.{1 if abs(value) >= 9.995 else 2}f}"


def as_json(results: Sequence[Result]) -> dict[str, Any]:
    """The results as plain data: the shape of `bench --json`."""
    return {
        "machine": {
            "system": platform.platform(),
            "processors": os.cpu_count(),
            "python": platform.python_version(),
            "sixnimmt_env": __version__,
        },
        "results": [
            {
                "name": result.name,
                "value": result.value,
                "unit": result.unit,
                "baseline": result.baseline,
                "ratio": result.ratio,
                "ratio_low": result.low,
                "ratio_high": result.high,
                "beside": result.beside,
                "bar": None if result.bar is None else {"of": result.bar.of, "at": result.bar.at, "limit": result.bar.limit},
                "met": result.met,
            }
            for result in results
        ],
    }
