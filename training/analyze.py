"""`sixnimmt analyze`: positions from the command line, from JSON or from a recorded match, and what a searching agent thinks of them."""

from __future__ import annotations

import inspect
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from sixnimmt_env import traces
from sixnimmt_env.agents import Prospect
from sixnimmt_env.core.files import write_atomically
from sixnimmt_env.games import sixnimmt

KEYS: Final = tuple(inspect.signature(sixnimmt.table_view).parameters)
"""Of a position in JSON: the arguments of `games.sixnimmt.table_view`."""
_SHOWN: Final = 0.005  # chances below are left blank


def from_json(path: Path) -> np.void:
    """The view of a position in a JSON file: an object with the arguments of `table_view`. `ValueError` for what cannot be a position."""
    try:
        position = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path}: no JSON: {error}") from None
    except RecursionError:
        raise ValueError(f"{path}: too deeply nested") from None
    if not isinstance(position, dict):
        raise ValueError(f"{path}: a position is an object with {', '.join(KEYS)}, of which hand and rows are needed")
    return laid_out(position, str(path))


def laid_out(position: Mapping[str, Any], where: str) -> np.void:
    """The view of a position given as arguments of `table_view`."""
    unknown = [key for key in position if key not in KEYS]
    missing = [key for key in ("hand", "rows") if key not in position]
    if unknown or missing:
        what = f"{unknown[0]!r} is unknown" if unknown else f"{missing[0]} is missing"
        raise ValueError(f"{where}: {what}: a position has {', '.join(KEYS)}, of which hand and rows are needed")
    arguments = dict(position)
    if isinstance(arguments.get("revealed"), Mapping):
        try:
            arguments["revealed"] = {int(seat): card for seat, card in arguments["revealed"].items()}
        except (TypeError, ValueError):
            raise ValueError(f"{where}: revealed={arguments['revealed']!r} must name a card for each seat, by its number") from None
    try:
        return sixnimmt.table_view(**arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from None


def from_trace(path: Path, event: int, seat: int) -> np.void:
    """What `seat` knows just before an event of a recorded match."""
    trace = traces.load(path)
    if not 0 <= event < len(trace):
        raise ValueError(f"--event {event} is none of {path}: there are 0 to {len(trace) - 1}; `sixnimmt replay {path}` lists them")
    if not 0 <= seat < len(trace.players):
        raise ValueError(f"--seat {seat} is none of {path}: there are 0 to {len(trace.players) - 1}")
    view = trace.step(event).view_before(seat)
    if not view["deciding"]:
        raise ValueError(
            f"--event {event}: seat {seat} has nothing to decide just before it: take an event in which {trace.players[seat]} lays a card, "
            f"takes a row or chooses a side, or name another --seat; `sixnimmt replay {path}` lists them"
        )
    return view


def cards(text: str) -> list[int]:
    """The cards in "3,17,40"."""
    return [number(piece) for piece in text.split(",") if piece.strip()]


def number(text: str) -> int:
    """A whole number; `ValueError` that names what was found."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text.strip()!r} is no card: cards are whole numbers, separated by commas, as in 3,17,40") from None


def revealed(text: str) -> dict[int, int]:
    """{seat: card} of "0:14,1:15"."""
    found: dict[int, int] = {}
    for piece in text.split(","):
        seat, colon, card = piece.partition(":")
        if not colon:
            raise ValueError(f"--revealed {piece.strip()!r} must be SEAT:CARD, as in 0:14,1:15,2:3,3:70")
        found[number(seat)] = number(card)
    return found


# --- what is said ------------------------------------------------------------------------------------------------------


def show(prospects: Sequence[Prospect], console: Console) -> None:
    """Print the table: cheapest first."""
    names = [name for name in prospects[0].chances if any(p.chances[name] >= _SHOWN for p in prospects)]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    for name in ("action", "heads", *names):
        table.add_column(name, justify="left" if name == "action" else "right", no_wrap=True)
    for prospect in prospects:
        error = f"{prospect.se:.2f}" if math.isfinite(prospect.se) else "?"
        chances = (f"{100 * prospect.chances[name]:.0f} %" if prospect.chances[name] >= _SHOWN else "" for name in names)
        table.add_row(prospect.name, f"{prospect.cost:.2f} ± {error:>4}", *chances)
    console.print(table)
    playouts = prospects[0].playouts
    console.print(
        f"Mean bull heads to the end of the round ± standard error, over {playouts:,} playouts of each action in the same deals. "
        "The rest is how often this card takes a row, and which row it goes to.",
        style="dim",
        highlight=False,
    )


def as_json(agent: str, prospects: Sequence[Prospect]) -> dict[str, Any]:
    """The prospects as plain data."""
    return {
        "agent": agent,
        "actions": [
            {
                "action": p.action,
                "name": p.name,
                "playouts": p.playouts,
                "mean_heads": p.cost,
                "se": p.se if math.isfinite(p.se) else None,
                "chances": dict(p.chances),
            }
            for p in prospects
        ],
    }


def plot(path: Path, title: str, prospects: Sequence[Prospect]) -> None:
    """Draw the prospects as a PNG: bars of heads with their errors, the part of the games that take a row at once in a warning colour."""
    import matplotlib

    matplotlib.use("Agg")  # files only: no window is ever opened
    import matplotlib.pyplot as plt

    takes = np.array([p.chances.get("takes a row", 0.0) for p in prospects])
    heads, errors = np.array([p.cost for p in prospects]), np.array([p.se for p in prospects])
    places = np.arange(len(prospects))[::-1]
    figure, axes = plt.subplots(figsize=(8, 1.2 + 0.42 * len(prospects)), dpi=120)
    axes.barh(places, heads, xerr=1.96 * np.nan_to_num(errors), color="#3d80cf", error_kw={"ecolor": "#222222", "capsize": 2}, height=0.62)
    for place, p, share in zip(places, prospects, takes, strict=True):
        rows = [(chance, name) for name, chance in p.chances.items() if name.startswith("row")]
        likely = max(rows, default=(0.0, ""))
        words = f"{p.cost:.2f}" + (f"   mostly to {likely[1]}" if likely[0] >= 0.5 else "")
        words += f", takes it {100 * share:.0f} %" if share >= _SHOWN else ""
        axes.annotate(words, (p.cost + 1.96 * np.nan_to_num(p.se), place), (6, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(places, [p.name for p in prospects])
    axes.set_xlim(0, 1.45 * float((heads + 1.96 * np.nan_to_num(errors)).max() or 1))
    axes.set_xlabel("bull heads to the end of the round, with 95 % intervals (fewer is better)")
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    plt.close(figure)
    write_atomically(path, buffer.getvalue())
