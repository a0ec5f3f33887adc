"""A tournament as pictures and as one page of HTML that needs nothing beside it."""

from __future__ import annotations

import base64
import html
import io
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import matplotlib

matplotlib.use("Agg")  # files only: no window is ever opened
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sixnimmt_env import __version__
from sixnimmt_env.arena import Results, Standing

_BLUE: Final = "#2a6f97"
_RED: Final = "#b5493b"
_GREY: Final = "#8a8f98"
_MOST_NUMBERS: Final = 14  # agents in a heat map whose cells hold numbers
_LABEL: Final = 34  # characters of a name in a picture


# --- Pictures ------------------------------------------------------------------------------------------------------------


def pictures(results: Results) -> dict[str, bytes]:
    """PNG files by name: ratings, cross_play, penalties."""
    return {"ratings": png(_ratings(results)), "cross_play": png(_cross_play(results)), "penalties": png(_penalties(results))}


def png(figure: Figure) -> bytes:
    """The picture as a file; the figure is closed."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # a sign of a name; a box stands for it
        figure.savefig(buffer, format="png", dpi=120)
    plt.close(figure)
    return buffer.getvalue()


def label(name: str) -> str:
    """A name that fits beside a picture; a dollar sign would begin a formula."""
    short = name if len(name) <= _LABEL else f"{name[: _LABEL // 2 - 1]}…{name[-_LABEL // 2 :]}"
    return short.replace("$", r"\$")


def _rows(results: Results) -> float:
    """Height of a picture with a row for each agent, in inches."""
    return 1.5 + 0.38 * len(results.standings)


def _width(results: Results) -> float:
    """Width of a picture with the names beside it, in inches."""
    return 9.0 + 0.09 * max(len(label(standing.name)) for standing in results.standings)


def _ratings(results: Results) -> Figure:
    """Mean heads and rating of each agent with 95 % intervals, the best on top."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(_width(results), _rows(results)), sharey=True, layout="constrained")
    ratings = results.ratings
    for row, standing in enumerate(results.standings):
        agent, heads = standing.agent, standing.heads
        interval(left, row, heads.mean, heads.low, heads.high, _RED)
        interval(right, row, ratings.points[agent], ratings.low[agent], ratings.high[agent], _BLUE)
    left.set_yticks(range(len(results.standings)), [label(standing.name) for standing in results.standings])
    left.invert_yaxis()
    left.set_xlabel("bull heads a match (fewer is better)")
    right.set_xlabel("rating (400 points: odds of 10 to 1)")
    right.axvline(0, color=_GREY, linewidth=0.8)
    for axes in (left, right):
        plain(axes)
        axes.grid(axis="x", alpha=0.3)
    figure.suptitle("Strength, with 95 % intervals")
    return figure


def interval(axes: Axes, row: int, value: float, low: float, high: float, color: str) -> None:
    """Draw a value with its interval in a row; no interval where that is infinite."""
    if math.isfinite(low) and math.isfinite(high):
        axes.plot([low, high], [row, row], color=color, linewidth=2.5, alpha=0.55, solid_capstyle="round")
    axes.plot([value], [row], "o", color=color, markersize=6)


def plain(axes: Axes) -> None:
    """Take away the frame of rows with names beside them."""
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _cross_play(results: Results) -> Figure:
    """Mean heads of each agent with each other at the table."""
    order = [standing.agent for standing in results.standings]
    table = results.cross[np.ix_(order, order)]
    names = [label(standing.name) for standing in results.standings]
    size = 2.2 + 0.62 * len(order)
    figure, axes = plt.subplots(figsize=(size + 2.2, size + 0.6), layout="constrained")
    colors = plt.get_cmap("RdYlBu_r").with_extremes(bad="#e4e4e4")
    known = table[np.isfinite(table)]
    image = axes.imshow(np.ma.masked_invalid(table), cmap=colors)
    axes.set_xticks(range(len(order)), names, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(order)), names)
    axes.set_xlabel("with at the table")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if len(order) <= _MOST_NUMBERS:
        low, spread = known.min(), max(float(np.ptp(known)), 1e-9)
        for (row, column), value in np.ndenumerate(table):
            if np.isfinite(value):
                edge = abs((value - low) / spread - 0.5) > 0.38  # the dark ends of the colours
                axes.text(column, row, f"{value:.1f}", ha="center", va="center", color="white" if edge else "black", fontsize=9)
    figure.colorbar(image, ax=axes, shrink=0.8, label="bull heads a match")
    axes.set_title("Who loses how much with whom")
    return figure


def _penalties(results: Results) -> Figure:
    """The distribution of the heads of a match, a row for each agent."""
    standings = results.standings
    width = _reach(np.sum([_padded(standing, results) for standing in standings], axis=0))
    step = max(1, width // 60)
    figure, rows = plt.subplots(
        len(standings),
        1,
        figsize=(_width(results), 1.3 + 0.8 * len(standings)),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for axes, standing in zip(rows[:, 0], standings, strict=True):
        counts = _padded(standing, results)[:width]
        counts = np.add.reduceat(counts, np.arange(0, len(counts), step)) / max(1, standing.seats)
        axes.bar(np.arange(len(counts)) * step, counts, width=0.92 * step, align="edge" if step > 1 else "center", color=_BLUE, alpha=0.8)
        axes.axvline(standing.heads.mean, color=_RED, linewidth=1.5)
        axes.set_ylabel(label(standing.name), rotation=0, ha="right", va="center")
        axes.set_yticks([])
        plain(axes)
    rows[-1, 0].set_xlabel("bull heads a match" + (f", {step} to a bar" if step > 1 else ""))
    figure.suptitle("How the matches ended (line: mean)")
    return figure


def _padded(standing: Standing, results: Results) -> NDArray[np.int64]:
    longest = max(len(other.histogram) for other in results.standings)
    return np.pad(standing.histogram, (0, longest - len(standing.histogram)))


def _reach(counts: NDArray[np.int64]) -> int:
    """How far the picture goes: all but one in a thousand."""
    return int(np.searchsorted(counts.cumsum(), 0.999 * counts.sum())) + 2


# --- The page ------------------------------------------------------------------------------------------------------------


def page(results: Results, title: str, what: str, images: Mapping[str, bytes]) -> str:
    """The report: standings, comparisons, pictures and cross play, as one HTML file with tables that are sorted by a click."""
    plan = results.plan
    notes = [*results.notes, *results.forfeits]
    sections = [
        f"<p class=what>{_text(what)}</p>",
        f"<details><summary>The rules</summary><p>{'<br>'.join(map(_text, plan.rules.describe().splitlines()))}</p></details>",
        *([f"<ul class=notes>{''.join(f'<li>{_text(note)}</li>' for note in notes)}</ul>"] if notes else []),
        "<h2>Standings</h2>",
        _table(_STANDINGS, _standings(results)),
        f"<p class=small>Fewer heads are better; a fair share of wins is {100 / plan.schedule.players:.1f} %. Small: the 95 % interval. "
        "The rating (Plackett and Luce) is about this field only: 400 points are odds of 10 to 1 of ending ahead.</p>",
        _picture("ratings", "Mean heads and ratings with 95 % intervals", images),
        "<h2>Comparisons on the same deals</h2>",
        _table(_COMPARISONS, _comparisons(results)),
        f"<p class=small>{_text(_about_comparisons(results))}</p>",
        "<h2>Cross play</h2>",
        _picture("cross_play", "Heat map of mean heads", images),
        _table(["agent", *(f"with {name}" for name in results.names)], _cross(results)),
        "<h2>Penalties</h2>",
        _picture("penalties", "Distributions of the heads of a match", images),
        f"<footer>{_text(plan.game)} · seed {plan.seed} · sixnimmt_env {_text(__version__)}</footer>",
    ]
    return (
        _PAGE.replace("@TITLE@", _text(title))
        .replace("@STYLE@", _STYLE)
        .replace("@SCRIPT@", _SCRIPT)
        .replace("@BODY@", "\n".join(sections))
    )


_STANDINGS: Final = ["agent", "heads a match", "wins %", "rank", "rating", "illegal", "forfeits", "decisions", "µs a decision", "seats"]
_COMPARISONS: Final = ["first", "second", "difference in heads", "for all together", "first better", "rating: first better", "verdict"]

Cell = tuple[str, float | str]
"""What is shown, as HTML, and what it is sorted by."""


def _standings(results: Results) -> Iterator[list[Cell]]:
    ratings = results.ratings
    for standing in results.standings:
        agent, wins = standing.agent, standing.wins
        yield [
            _name(standing.name),
            _with_interval(standing.heads.mean, standing.heads.low, standing.heads.high, 2),
            _with_interval(100 * wins.mean, 100 * wins.low, 100 * wins.high, 1),
            _with_interval(standing.rank.mean, standing.rank.low, standing.rank.high, 2),
            _with_interval(float(ratings.points[agent]), float(ratings.low[agent]), float(ratings.high[agent]), 0, "+"),
            _bad(standing.illegal),
            _bad(standing.forfeits),
            _number(standing.decisions, ",d"),
            _number(1e6 * standing.seconds_per_decision, ",.1f"),
            _number(standing.seats, ",d"),
        ]


def _comparisons(results: Results) -> Iterator[list[Cell]]:
    names = results.names
    for found in results.comparisons:
        rated = float(results.ratings.better[found.first, found.second])
        yield [
            _name(names[found.first]),
            _name(names[found.second]),
            _with_interval(found.heads.mean, found.heads.low, found.heads.high, 2, "+"),
            (_span(found.low, found.high, 2, "+"), found.low),
            _percent(found.better),
            _percent(rated),
            (f"<span class={'told' if found.decided else 'open'}>{_text(results.verdict(found))}</span>", results.verdict(found)),
        ]


def _about_comparisons(results: Results) -> str:
    rule = (
        "hold for all comparisons together and at all times, so that play may stop as soon as all are decided"
        if results.sequential
        else "hold for all comparisons together"
    )
    return (
        f"Negative: the first is better. The intervals in the column “for all together” {rule}; the verdict follows them. "
        "How many rounds would do is reckoned from the spread seen, for a power of 80 %."
    )


def _cross(results: Results) -> Iterator[list[Cell]]:
    for standing in results.standings:
        own = standing.agent
        yield [
            _name(standing.name),
            *(
                _with_error(float(results.cross[own, other]), float(results.cross_errors[own, other]))
                for other in range(len(results.names))
            ),
        ]


def _text(value: object) -> str:
    return html.escape(str(value))


def _name(name: str) -> Cell:
    return f"<b>{_text(name)}</b>", name


def _number(value: float, form: str) -> Cell:
    return format(value, form), value


def _bad(count: int) -> Cell:
    """A number that should be 0."""
    return (f"<b class=bad>{count:,}</b>" if count else "0"), count


def _percent(share: float) -> Cell:
    if not math.isfinite(share):
        return "–", 2.0
    if not 0.001 <= share <= 0.999:  # no more is known from a thousand fits
        return ("&lt; 0.1 %" if share < 0.5 else "&gt; 99.9 %"), share
    return f"{100 * share:.1f} %", share


def _with_interval(value: float, low: float, high: float, digits: int, sign: str = "") -> Cell:
    return f"{_figure(value, digits, sign)} <small>{_span(low, high, digits, sign)}</small>", value


def _span(low: float, high: float, digits: int, sign: str = "") -> str:
    if not (math.isfinite(low) and math.isfinite(high)):
        return "?"
    return f"{_figure(low, digits, sign)} … {_figure(high, digits, sign)}"


def _figure(value: float, digits: int, sign: str) -> str:
    shown = f"{value:{sign}.{digits}f}"
    return ("0" if shown in ("+0", "-0") else shown).replace("-", "−")


def _with_error(value: float, error: float) -> Cell:
    if not math.isfinite(value):
        return "–", math.inf
    return f"{value:.2f}" + (f" <small>± {error:.2f}</small>" if math.isfinite(error) else ""), value


def _table(head: Sequence[str], lines: Iterator[list[Cell]]) -> str:
    table = list(lines)
    kinds = ["" if isinstance(key, str) else " class=number" for _, key in table[0]]
    heads = "".join(f"<th scope=col{kind}><button type=button>{_text(name)}</button></th>" for name, kind in zip(head, kinds, strict=True))
    body = "".join(f"<tr>{''.join(_cell(*cell) for cell in line)}</tr>" for line in table)
    return f"<div class=wide><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"


def _cell(shown: str, key: float | str) -> str:
    if isinstance(key, str):
        return f'<td data-key="{_text(key)}">{shown}</td>'
    number = key if math.isfinite(key) else math.copysign(1e300, key)  # Python's words for infinity are not JavaScript's
    return f'<td class=number data-key="{number}">{shown}</td>'


def _picture(name: str, alt: str, images: Mapping[str, bytes]) -> str:
    return f'<img alt="{_text(alt)}" src="data:image/png;base64,{base64.b64encode(images[name]).decode()}">'


_STYLE: Final = """
:root { color-scheme: light dark; }
:root { --ink: #1d2430; --soft: #5f6673; --paper: #fbfaf7; --band: #f1efe8; --line: #dcd9d0; --good: #2f6f4f; --bad: #a83a2c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e4de; --soft: #9aa1ac; --paper: #17191d; --band: #1f2228; --line: #363a42; --good: #7cc49b; --bad: #ef8b7c; }
}
* { box-sizing: border-box; }
html { background: var(--paper); }
body { margin: 0 auto; padding: 2rem 1.2rem 3rem; max-width: 76rem; color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.9rem; letter-spacing: -0.01em; }
h2 { margin: 2.4rem 0 0.6rem; font-size: 1.25rem; }
.what { margin: 0.2rem 0 0.8rem; color: var(--soft); }
.small, small, footer { color: var(--soft); font-size: 0.82rem; }
.notes { padding: 0.7rem 1rem 0.7rem 2rem; background: var(--band); border-left: 3px solid var(--soft); border-radius: 4px; }
.wide { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.45rem 0.7rem; text-align: left; vertical-align: top; }
td { border-top: 1px solid var(--line); }
td small { display: block; white-space: nowrap; }
.number { text-align: right; white-space: nowrap; }
th { background: var(--band); white-space: nowrap; }
th button { all: unset; cursor: pointer; font-weight: 600; font-size: 0.85rem; }
th button:focus-visible { outline: 2px solid currentColor; outline-offset: 2px; }
th[aria-sort] button::after { content: " \\25B2"; font-size: 0.7em; }
th[aria-sort=descending] button::after { content: " \\25BC"; }
tbody tr:hover { background: var(--band); }
.told, .open { display: block; min-width: 16rem; } .told { color: var(--good); } .open { color: var(--soft); } .bad { color: var(--bad); }
img { display: block; max-width: 100%; height: auto; margin: 1rem 0; background: #fff; border: 1px solid var(--line); border-radius: 8px; }
footer { margin-top: 3rem; }
"""

_SCRIPT: Final = """
for (const button of document.querySelectorAll("th button")) button.addEventListener("click", () => {
  const head = button.closest("th"), row = head.parentNode, body = head.closest("table").tBodies[0];
  const column = [...row.children].indexOf(head), down = head.getAttribute("aria-sort") === "ascending";
  for (const other of row.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = line => { const cell = line.children[column], value = cell.dataset.key; return cell.className ? Number(value) : value; };
  const compare = (a, b) => typeof a === "number" ? a - b : a.localeCompare(b);
  const lines = [...body.rows].sort((a, b) => (down ? -1 : 1) * compare(key(a), key(b)) || 0);
  body.append(...lines);
});
"""

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>@TITLE@: tournament</title>
<style>@STYLE@</style>
</head>
<body>
<h1>@TITLE@</h1>
@BODY@
<script>@SCRIPT@</script>
</body>
</html>
"""
