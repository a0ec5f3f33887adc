"""Tournaments from the command line: played with progress, kept in a folder, told as tables, files and a report."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from sixnimmt_env import arena
from sixnimmt_env.agents import Agent
from sixnimmt_env.arena import Entrant, Plan, Results, UntilDecided
from sixnimmt_env.arena.journal import Journal
from sixnimmt_env.arena.tournament import identity
from sixnimmt_env.core.files import write_atomically
from sixnimmt_env.core.seeding import MAX_SEED
from training.config import dump
from training.console import say
from training.plugin import agent_of, one_thread, policies_of, variant_note
from training.tournament_config import Tournament

CONFIG: Final = "config.yaml"
_SENTENCES: Final = 12  # comparisons that are printed; files hold all
_LINES_EVERY: Final = 10.0  # seconds between lines of progress where there is no terminal


def plan_of(config: Tournament, told: Callable[[str], object] = lambda note: None) -> Plan:
    """What `config` asks to be played.

    Args:
        config: the tournament.
        told: is called with what should be known about its agents, a line each.

    Raises:
        ConfigError: an agent that cannot play the variant, or is to think for longer than it may.
    """
    entrants = []
    play = config.play
    for number, (path, spec) in enumerate(config.agents_named()):
        seed = (config.seed + 1 + number) % (MAX_SEED + 1)
        agent = make(spec, config.game, seed)
        drafts = all(policy.network.shape.draft for policy in policies_of(agent))
        if getattr(config.rules, "deck", None) == "logic" and not drafts:
            raise config.fault(path, "was trained without the draft of the logic deck and has not learned to draft")
        thinks = getattr(agent, "seconds", None)  # of searching agents that are told how long to think for a decision
        if thinks is not None and play.seconds_limit is not None and thinks >= play.seconds_limit:
            raise config.fault(
                path, f"thinks {thinks:g} s for a decision, and {play.seconds_limit:g} s is allowed: raise play.seconds_limit, or null"
            )
        if note := variant_note(agent, config.rules):
            told(note)
        entrants.append(Entrant(list(config.agents)[number], spec, seed, mark(agent)))
    return Plan(
        config.game, config.rules, tuple(entrants), config.seatings(), play.deals, config.seed, play.chunk_games, play.seconds_limit
    )


def make(spec: str, game: str, seed: int) -> Agent:
    """An agent, in whichever process it is to play."""
    agent = agent_of(spec, game, seed)
    one_thread()
    return agent


def mark(agent: Agent) -> str:
    """The checksum of the weights of all policies that `agent` plays by or asks: a path says nothing about what lies there."""
    policies = policies_of(agent)
    found = hashlib.sha256()
    for policy in policies:
        for name, tensor in sorted(policy.network.state_dict().items()):
            found.update(name.encode() + tensor.detach().cpu().numpy().tobytes())
    return found.hexdigest() if policies else ""


def folder_of(config: Tournament, plan: Plan, named: bool) -> Path:
    """Where it is kept by default: runs/NAME; without a `named` file a name that follows from the plan, so that the same goes on."""
    if named:
        return Path("runs") / config.name
    return Path("runs") / f"{config.name}-{digest(plan)}"


def digest(plan: Plan) -> str:
    """Eight digits that are the same for plans whose results belong together."""
    return hashlib.sha256(json.dumps(identity(plan)).encode()).hexdigest()[:8]


def prepare(config: Tournament, plan: Plan, folder: Path) -> None:
    """Make `folder` ready. `ValueError` where it holds something else or is damaged, `OSError` where it cannot be made."""
    check_kept(plan, folder)
    write_atomically(folder / CONFIG, dump(config))


def check_kept(plan: Plan, folder: Path) -> None:
    """Raise `ValueError` where `folder` keeps something else than `plan`, or is damaged, `OSError` where it cannot be made."""
    Journal.open(folder, identity(plan), plan.schedule.seating.shape, len(plan.entrants)).chunks(plan.deals)


def run(config: Tournament, plan: Plan, folder: Path, console: Console, report: Path | None = None, json_path: Path | None = None) -> str:
    """Play, or go on, and write and print the results.

    Args:
        config, plan: the tournament.
        folder: keeps what is played; see `prepare`.
        console: what is said.
        report: the folder of the report; None: `folder`.
        json_path: a file for the results as JSON, with seconds a decision.

    Returns:
        Why play stopped early, see `Played`.

    Raises:
        WorkerDied: a process has died.
    """
    import choix  # noqa: F401 - what is not installed should be missed before play begins

    from . import tournament_report  # noqa: F401

    decided = None
    if config.play.until_significant:
        pairs = arena.compared(plan.schedule, len(plan.entrants))
        decided = UntilDecided(plan.schedule, len(plan.entrants), pairs, config.play.indifference)
    say(console, f"{config.name}: {described(config, plan)}")
    with follow(console, config.name) as progress:
        played = arena.hold(plan, folder, config.play.workers, make, decided, progress)
    if played.stopped == "interrupted":
        say(console, f"Stopped; what is played is kept. To go on: sixnimmt tournament --resume {folder}")
    if not len(played.costs):
        return played.stopped
    results = arena.summarise(played, config.play.until_significant)
    where = write(results, config, report or folder, json_path)
    show(results, console)
    say(console, f"report: {where}")
    return played.stopped


def described(config: Tournament, plan: Plan) -> str:
    """What is played, in a line."""
    return (
        f"{config.format.replace('_', ' ')}, {len(plan.entrants)} agents, {plan.schedule.players} players, "
        f"{plan.deals:,} deals x {plan.schedule.games:,} games = {plan.games:,}"
    )


@contextmanager
def follow(console: Console, name: str) -> Iterator[arena.Progress]:
    """A bar with the time left; where there is no terminal, a line now and then."""
    if not console.is_terminal:
        yield _Lines(console).told
        return
    columns = (TextColumn("{task.description}"), BarColumn(30), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(escape(name), total=None)
        yield arena.Progress(lambda before, total: bar.reset(task, completed=before, total=total), lambda games: bar.advance(task, games))


class _Lines:
    """Progress as lines of text."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._before = self._done = self._total = 0
        self._start = self._last = time.monotonic()
        self.told = arena.Progress(self._begin, self._advance)

    def _begin(self, before: int, total: int) -> None:
        self._before = self._done = before
        self._total = total
        if before:
            say(self._console, f"{before:,} of {total:,} games were played before")

    def _advance(self, games: int) -> None:
        self._done += games
        now = time.monotonic()
        if now - self._last >= _LINES_EVERY and self._done > self._before:
            left = (now - self._start) / (self._done - self._before) * (self._total - self._done)
            say(self._console, f"{self._done:,} of {self._total:,} games, {duration(left)} left")
            self._last = now


def duration(seconds: float) -> str:
    """Seconds as 0:00 minutes, or 0:00:00 hours."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


_WIDTH = 140


# --- What is printed -----------------------------------------------------------------------------------------------------


def show(results: Results, console: Console) -> None:
    """Print the standings and what the comparisons say."""
    plan = results.plan
    if not console.is_terminal:
        console.width = max(console.width, _WIDTH)  # nobody's window: names stay whole
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("agent", overflow="fold")
    broken = any(standing.forfeits for standing in results.standings)
    for name in ("heads a match", "wins", "rank", "rating", "illegal", *(["forfeits"] if broken else []), "a decision"):
        table.add_column(name, justify="right", no_wrap=True)
    for standing in results.standings:
        points = results.ratings.points[standing.agent]
        half = (results.ratings.high[standing.agent] - results.ratings.low[standing.agent]) / 2
        table.add_row(
            Text(standing.name),
            _with_error(standing.heads.mean, standing.heads.se, 2),
            _with_error(100 * standing.wins.mean, 100 * standing.wins.se, 1) + " %",
            f"{standing.rank.mean:.2f}",
            f"{points:+.0f} ± {half:.0f}" if half == half else f"{points:+.0f} ± ?",
            str(standing.illegal),
            *([str(standing.forfeits)] if broken else []),
            f"{1e6 * standing.seconds_per_decision:,.1f} µs",
        )
    console.print(table)
    fair = f"a fair share of wins is {100 / plan.schedule.players:.1f} %"
    say(console, f"mean ± standard error over {plan.deals:,} deals; fewer heads are better; {fair}; rating ± half its 95 % interval")
    for line in (*results.notes, *(f"- {broken}" for broken in results.forfeits)):
        say(console, line)
    for comparison in results.comparisons[:_SENTENCES]:
        say(console, f"- {results.verdict(comparison)}")
    if len(results.comparisons) > _SENTENCES:
        say(console, f"- and {len(results.comparisons) - _SENTENCES} comparisons more in the report")


def _with_error(value: float, error: float, digits: int) -> str:
    spread = f"{error:.{digits}f}" if error == error else "?"
    return f"{value:.{digits}f} ± {spread}"


# --- What is written -----------------------------------------------------------------------------------------------------


def write(results: Results, config: Tournament, folder: Path, json_path: Path | None = None) -> Path:
    """Write the results to `folder`: JSON, CSV, pictures and the report, whose path is returned.

    All but timing.json and the report is the same bytes for the same games.
    """
    from . import tournament_report as reporting

    folder.mkdir(parents=True, exist_ok=True)
    data = arena.as_data(results)
    timing = arena.timing(results)
    write_atomically(folder / "results.json", _json(data))
    write_atomically(folder / "timing.json", _json({"seconds_per_decision": timing}))
    if json_path is not None:
        write_atomically(json_path, _json({**data, "seconds_per_decision": timing}))
    for name, lines in tables(data).items():
        write_atomically(folder / f"{name}.csv", _csv(lines))
    pictures = reporting.pictures(results)
    for name, picture in pictures.items():
        write_atomically(folder / f"{name}.png", picture)
    write_atomically(folder / "report.html", reporting.page(results, config.name, described(config, results.plan), pictures))
    return folder / "report.html"


def tables(data: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The results as tables, {name: lines}."""
    names, cross, errors = data["order"], data["cross_play"]["mean_heads"], data["cross_play"]["se"]
    rating = data["rating"]
    return {
        "agents": [{key: value for key, value in agent.items() if key != "histogram"} for agent in data["agents"]],
        "comparisons": data["comparisons"],
        "cross_play": [
            {
                "agent": own,
                "with": other,
                "mean_heads": cross[i][j],
                "se": errors[i][j],
                "better": rating["better"][i][j],
                "ends_ahead": rating["ends_ahead"][i][j],
            }
            for i, own in enumerate(names)
            for j, other in enumerate(names)
        ],
        "penalties": [
            {"agent": agent["name"], "heads": heads, "matches": count}
            for agent in data["agents"]
            for heads, count in enumerate(agent["histogram"])
        ],
    }


def _csv(lines: Sequence[dict[str, Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return buffer.getvalue()


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, allow_nan=False) + "\n"
