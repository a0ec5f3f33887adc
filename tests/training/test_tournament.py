"""`sixnimmt tournament`: what is asked for, what is printed and written, and that it can be stopped and gone on with."""

from __future__ import annotations

import base64
import csv
import html.parser
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from rich.console import Console

from sixnimmt_env import arena
from sixnimmt_env.arena import Progress
from sixnimmt_env.core.seeding import MAX_SEED
from sixnimmt_env.games.sixnimmt import GAME, Rules
from tests.arena.toys import Broken
from tests.training.small import DRAFT, PLAIN, network
from training import policy, tournament, tournament_report
from training.cli import main
from training.config import ConfigError, dump
from training.plugin import agent_of
from training.tournament_config import Tournament, read

REPOSITORY = Path(__file__).parents[2]
QUICK = REPOSITORY / "configs" / "arena" / "quick.yaml"
FILES = {
    *("agents.csv", "comparisons.csv", "config.yaml", "cross_play.csv", "cross_play.png", "penalties.csv", "penalties.png", "plan.json"),
    *("played", "ratings.png", "report.html", "results.json", "timing.json"),
}
SAME = FILES - {"config.yaml", "report.html", "timing.json", "played"}  # whoever plays, and however often he is interrupted


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, where runs/ will be."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.fixture(autouse=True)
def few_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    summarise = arena.summarise
    monkeypatch.setattr(arena, "summarise", lambda played, rule=False: summarise(played, rule, fits=20))


def said(capsys: pytest.CaptureFixture[str], command: str, status: int = 0) -> str:
    """What `sixnimmt tournament` says, on standard output or, where it refuses, on standard error."""
    assert main(["tournament", *command.split()]) == status
    out, err = capsys.readouterr()
    return err if status else out


# --- what is asked for -------------------------------------------------------------------------------------------------


def test_agents_named_on_the_line() -> None:
    config = read(["greedy", "mine=random", "monte_carlo:rollouts=5"], [("play.deals=7", "--deals 7")], agent_of)
    assert config.agents == {"greedy": "greedy", "mine": "random", "monte_carlo:rollouts=5": "monte_carlo:rollouts=5"}
    assert (config.play.deals, config.format) == (7, "round_robin")
    assert read(["greedy", "random"]).format == "head_to_head"


def test_the_example_explains_every_key_and_has_the_defaults() -> None:
    config = read(QUICK, (), agent_of)
    text = QUICK.read_text()
    for section in (Tournament, type(config.schedule), type(config.play)):
        for key in section.model_fields:
            assert re.search(rf"^ *# .*\n *{key}:", text, re.MULTILINE), f"{key} has no comment above it"
    bare = Tournament(agents=["a", "b"])
    assert config.play == bare.play
    assert config.schedule.model_copy(update={"format": None, "seating": None}) == bare.schedule


def test_a_configuration_reads_back(place: Path) -> None:
    config = read(["greedy", "mine=random"], [("rules.rounds=null", ""), ("rules.target=66", "--target 66"), ("schedule.seats=[1,2]", "")])
    (place / "again.yaml").write_text(dump(config))
    assert read(place / "again.yaml") == config
    assert config.seatings().games == 4 + 6


WRONG: dict[str, list[str]] = {
    "agents: [greedy]": ["x.yaml:1: agents: must be at least two agents"],
    "agents: greedy": ["x.yaml:1: agents=greedy: must be a list of agents"],
    "agents: [greedy, gredy]": ["x.yaml:1: agents.1: agent 'gredy' is unknown: did you mean 'greedy'?"],
    "agents: [greedy, greedy]": ["x.yaml:1: agents.1=greedy: is in the list twice: keep one, or give each a name"],
    "agents: {a: greedy, b: gredy}": ["x.yaml:1: agents.b: agent 'gredy' is unknown"],
    "agents: {a: greedy, b: 3}": ["x.yaml:1: agents.b=3: must be an agent"],
    "seed: 1": ["x.yaml:1: agents: Field required"],
    "agents: [greedy, random]\nplays: {}": ['x.yaml:2: plays: unknown key; did you mean "play"?'],
    "agents: [greedy, random]\ndeals: 5": ['x.yaml:2: deals: unknown key; did you mean "play.deals"?'],
    "agents: [greedy, random]\nschedule:\n  format: robin": [
        "x.yaml:3: schedule.format=robin: must be one of",
        'did you mean "round_robin"?',
    ],
    "agents: [greedy, random]\nschedule: {seats: 4}": ["x.yaml:2: schedule: seats=4 of the first agent must be from 1 to 3"],
    "agents: [greedy, random]\nschedule: {seats: [a]}": ["x.yaml:2: schedule.seats", "must be whole numbers, such as [1, 2, 3]"],
    "agents: [greedy, random, lowest]\nschedule: {seats: 2}": ["x.yaml:2: schedule: seats is of the format head_to_head"],
    "agents: [greedy, random, lowest]\nschedule: {format: head_to_head}": ["schedule: format head_to_head is for two agents, not for 3"],
    "agents: [greedy, random, lowest]\nschedule: {repeats: false}": ["schedule: repeats=False needs an agent for every seat"],
    "agents: [greedy, random]\nplay: {deals: 9000000}": [
        "x.yaml:2: play.deals: 9,000,000 deals of 6 games each are too many: at most 3,333,333"
    ],
    "agents: [greedy, random]\nplay: {deals: 0}": ["x.yaml:2: play.deals=0: must be a whole number from 1"],
    "agents: [greedy, random]\nrules: {num_players: 11}": ["x.yaml:2: rules: num_players=11"],
    "agents: [greedy, random]\nrules: {frames: 11}": ["x.yaml:2: rules.frames: unknown key"],
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_files(place: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (place / "x.yaml").write_text(text + "\n")
    complaint = said(capsys, "x.yaml", status=2)
    for piece in WRONG[text]:
        assert piece in complaint
    assert not (place / "runs").exists()


REFUSED = {
    "": "name agents or a CONFIG.yaml, or a folder with --resume",
    "greedy": "AGENT: must be at least two agents",
    "greedy gredy": "agent 'gredy' is unknown: did you mean 'greedy'?",
    "greedy greedy": "is in the list twice: keep one, or give each a name",
    "a=greedy a=random": "AGENT a is given twice: give each a name of its own, NAME=AGENT",
    "greedy random --players 11": "--players 11: rules: num_players=11 must be a whole number from 2 to 10",
    "greedy random --format robin": "--format robin: must be one of",
    "greedy random --seats 2,x": "--seats [2, 'x']: must be whole numbers",
    "greedy random --deals 0": "--deals 0: must be a whole number from 1",
    "greedy random --seed -1": "--seed -1: must be a whole number from 0 to",
    "greedy random --workers 0": "--workers 0: must be a whole number from 1 to 256",
    "greedy random --seconds-limit 0": "--seconds-limit 0.0: must be a number above 0 and at most 86400, or null",
    "greedy random --seconds-limit nan": "--seconds-limit nan: must be a number above 0",
    "greedy search:seconds=2 --seconds-limit 1": "thinks 2 s for a decision, and 1 s is allowed: raise play.seconds_limit, or null",
    "greedy x.yaml": "x.yaml is a file: name it alone, or agents only",
    "nowhere.yaml": "nowhere.yaml: cannot be read: No such file or directory",
    "greedy random --resume x": "or a folder with --resume, not both",
    "--resume nowhere": "config.yaml: cannot be read",
    "--resume x --out y": "--resume goes on in its folder: leave --out away",
    "greedy random --json nowhere/x.json": "nowhere; make it first",
    "greedy random --report mine.txt": "mine.txt: is no folder; name another for the report",
    "greedy random --out .": "is in use, but not by a tournament; name another folder",
    "greedy random --set play.deals": "must be key.path=value",
}


@pytest.mark.parametrize("command", REFUSED)
def test_refused(place: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    (place / "mine.txt").write_text("mine")
    complaint = said(capsys, command, status=2)
    assert complaint.startswith("sixnimmt: ")
    assert REFUSED[command] in complaint
    assert sorted(place.iterdir()) == [place / "mine.txt"]


def test_print_config(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "greedy random highest --deck tactical --target 30 --print-config")
    (place / "x.yaml").write_text(text)
    assert said(capsys, "x.yaml --print-config") == text
    assert read(place / "x.yaml").rules == Rules(4, "tactical", rounds=None, target=30)
    assert not (place / "runs").exists()


# --- what is printed and written ---------------------------------------------------------------------------------------


def test_a_tournament(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, f"{QUICK} --deals 60 --json all.json")
    assert "quick: round robin, 5 agents, 4 players, 60 deals x 20 games = 1,200" in text
    assert "greedy is better than lowest by" in text
    folder = place / "runs" / "quick"
    assert {path.name for path in folder.iterdir()} == FILES
    assert f"report: {Path('runs/quick/report.html')}" in text
    data = json.loads((folder / "results.json").read_text())
    assert data["agents"][0]["name"] == "greedy"
    timing = json.loads((folder / "timing.json").read_text())["seconds_per_decision"]
    assert json.loads((place / "all.json").read_text()) == {**data, "seconds_per_decision": timing}
    assert all(seconds > 0 for seconds in timing.values())
    again = said(capsys, f"{QUICK} --deals 60")
    assert "1,200 of 1,200 games were played before" in again


def test_names_are_shown_as_they_are(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "names.yaml").write_text('agents: {":cow:": greedy, "[red]x": random, "back\\\\": highest, "日本": lowest}', encoding="utf-8")
    out = said(capsys, "names.yaml --deals 2")
    for name in (":cow:", "[red]x", "back\\", "日本"):
        assert len(re.findall(rf"^{re.escape(name)} +\d", out, re.MULTILINE)) == 1
        assert f" {name} apart" in out or f" {name} and " in out or f"{name} is better" in out or f"better than {name} by" in out
    assert "back\\\\" not in out


def test_the_largest_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "greedy" in said(capsys, f"greedy random --deals 2 --seed {MAX_SEED}")


def test_agents_that_break(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """They are named with the reason below the table, in the files and in the report."""
    monkeypatch.setattr(tournament, "make", lambda spec, game, seed: Broken("raises") if spec == "lowest" else agent_of(spec, game, seed))
    text = said(capsys, "greedy [b]=lowest random --deals 20 --out runs/x --seconds-limit 60")
    data = json.loads((place / "runs" / "x" / "results.json").read_text())
    count = next(agent["forfeits"] for agent in data["agents"] if agent["name"] == "[b]")
    assert count > 0
    line = f"[b] forfeited {count:,} decisions: ValueError: no idea at all"
    assert re.findall(r"^- .* forfeited .*$", text, re.MULTILINE) == [f"- {line}"]
    assert re.search(rf"^\[b\] .* 0 +{count} +[\d,.]+ µs", text, re.MULTILINE)
    assert "forfeits" in text
    assert line in data["notes"]
    lines = {line["name"]: line for line in csv.DictReader(io.StringIO((place / "runs" / "x" / "agents.csv").read_text()))}
    assert (lines["[b]"]["forfeits"], lines["[b]"]["forfeit_reason"]) == (str(count), "ValueError: no idea at all")
    assert (lines["greedy"]["forfeits"], lines["greedy"]["forfeit_reason"]) == ("0", "")
    page = (place / "runs" / "x" / "report.html").read_text(encoding="utf-8")
    assert line in page
    assert f"<b class=bad>{count:,}</b>" in page
    assert json.loads((place / "runs" / "x" / "plan.json").read_text())["seconds_limit"] == 60.0
    assert "forfeit" not in said(capsys, "greedy random --deals 2")


def test_tables(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "greedy random highest --deals 20 --out runs/x --report out")
    data = json.loads((place / "out" / "results.json").read_text())
    assert not (place / "runs" / "x" / "results.json").exists()
    lines = {
        name: list(csv.DictReader(io.StringIO((place / "out" / f"{name}.csv").read_text())))
        for name in ("agents", "comparisons", "cross_play", "penalties")
    }
    assert [line["name"] for line in lines["agents"]] == [agent["name"] for agent in data["agents"]]
    assert float(lines["agents"][0]["mean_heads"]) == data["agents"][0]["mean_heads"]
    assert len(lines["comparisons"]) == 3
    assert len(lines["cross_play"]) == 9
    heads = {agent["name"]: 0 for agent in data["agents"]}
    for line in lines["penalties"]:
        heads[line["agent"]] += int(line["matches"])
    assert heads == {agent["name"]: agent["seats"] for agent in data["agents"]}


def test_a_damaged_folder(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "greedy random --deals 5 --out runs/x")
    [chunk] = (place / "runs" / "x" / "played").iterdir()
    os.truncate(chunk, 100)
    assert "is damaged" in said(capsys, "--resume runs/x", status=2)
    chunk.unlink()
    assert "30" in said(capsys, "--resume runs/x")


class Page(html.parser.HTMLParser):
    """The tables of a page, and whatever it would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[list[str]] = []
        self.tables = 0
        self.fetched: list[str] = []
        self.images: list[str] = []
        self._open = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tables += tag == "table"
        if tag == "tr":
            self.cells.append([])
        if tag == "td":
            assert "data-key" in given
            assert given.get("class") != "number" or float(given["data-key"] or "") == float(given["data-key"] or "")
        self._open = tag in ("td", "th") or (self._open and tag != "tr")
        if tag in ("td", "th"):
            self.cells[-1].append("")
        if tag == "img":
            self.images.append(given["src"] or "")
        self.fetched += [given[key] or "" for key in ("src", "href") if key in given and not (given[key] or "").startswith("data:")]

    def handle_endtag(self, tag: str) -> None:
        self._open = self._open and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._open:
            self.cells[-1][-1] += data


def test_the_report_needs_nothing_beside_it(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["tournament", "<b>&=greedy", "random", "highest", "closest", "--deals", "30", "--out", "runs/x", "--format", "cross_play"])
        == 0
    )
    text = (place / "runs" / "x" / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.fetched == []
    assert "http" not in text.replace("http-equiv", "")
    assert page.tables == 3
    assert len(page.images) == 3
    for image in page.images:
        picture = Image.open(io.BytesIO(base64.b64decode(image.partition(",")[2])))
        assert picture.format == "PNG"
        assert min(picture.size) > 200
    assert page.cells[1][0] == "<b>&", "names are text, whatever they hold"
    assert len(page.cells) == (1 + 4) + (1 + 6) + (1 + 4)
    assert "prefers-color-scheme: dark" in text
    capsys.readouterr()


@pytest.mark.parametrize("costs", ["zeros", "long matches"])
def test_pictures_of_unusual_results(costs: str) -> None:
    """All equal, a single deal, names that are long or would be formulas, matches of many heads."""
    rules = Rules(rounds=None, target=200) if costs == "long matches" else Rules()
    entrants = tuple(arena.Entrant(name, "greedy", number) for number, name in enumerate(["a$b$", "x" * 100]))
    plan = arena.Plan("sixnimmt", rules, entrants, arena.head_to_head(4), 1)
    results = arena.summarise(arena.hold(plan))
    for picture in tournament_report.pictures(results).values():
        assert Image.open(io.BytesIO(picture)).format == "PNG"
    assert "nan" not in re.sub(r"base64,[^\"]*", "", tournament_report.page(results, "t", "w", tournament_report.pictures(results)))


def test_until_significant(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "greedy random --deals 5000 --until-significant")
    found = re.search(r"Stopped after (\d+) deals: every comparison is decided\.", text)
    assert found is not None
    assert 64 <= int(found[1]) < 1000


def test_progress_in_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.StringIO()
    clock = iter(range(0, 1000, 30))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with tournament.follow(Console(file=output, width=200), "mine") as progress:
        progress.begin(100, 1000)
        progress.advance(100)
        progress.advance(400)
    assert output.getvalue().splitlines() == [
        "100 of 1,000 games were played before",
        "200 of 1,000 games, 4:00 left",
        "600 of 1,000 games, 0:48 left",
    ]
    assert isinstance(progress, Progress)


def test_a_bar_on_a_terminal() -> None:
    output = io.StringIO()
    with tournament.follow(Console(file=output, force_terminal=True, width=100), "mine") as progress:
        progress.begin(0, 10)
        progress.advance(10)
    assert "10/10" in output.getvalue()


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0:00"), (59.6, "1:00"), (125, "2:05"), (3725, "1:02:05")])
def test_durations(seconds: float, words: str) -> None:
    assert tournament.duration(seconds) == words


# --- learned policies --------------------------------------------------------------------------------------------------


def test_policies_take_part(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy.save(place / "mine", network(PLAIN), GAME, Rules(), {})
    text = said(capsys, "mine=mine greedy random --deals 20 --out runs/x")
    assert re.search(r"^mine +\d", text, re.MULTILINE)
    plan = json.loads((place / "runs" / "x" / "plan.json").read_text())
    assert [len(mark) for _, _, _, mark in plan["agents"]] == [64, 0, 0]
    policy.save(place / "mine", network(PLAIN, seed=1), GAME, Rules(), {})
    assert "holds another tournament (other agents)" in said(capsys, "mine=mine greedy random --deals 20 --out runs/x", status=2)


def test_policies_are_known_by_their_weights_within_other_players_too(place: Path) -> None:
    specs = [
        "policy:mine",
        "epsilon:rate=0.1,of=policy:mine",
        "rows:by=policy:mine,of=greedy",
        "rows:by=greedy,of=epsilon:rate=0.1,of=policy:mine",
        "lookahead:worlds=2,of=policy:mine",
        "lookahead:worlds=2,models=policy:mine,of=champion",
    ]
    marks = []
    for seed in (0, 1):
        policy.save(place / "mine", network(PLAIN, seed=seed), GAME, Rules(), {})
        marks.append([tournament.mark(agent_of(spec)) for spec in specs])
    assert all(len(one) == 64 and one != other for one, other in zip(*marks, strict=True))


def test_a_policy_that_has_not_learned_to_draft(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, shape in (("plain", PLAIN), ("draft", DRAFT)):
        policy.save(place / name, network(shape), GAME, Rules(), {})
    said(capsys, "rows:by=greedy,of=policy:plain greedy --deck logic --deals 2", status=2)
    complaint = said(capsys, "policy:plain greedy --deck logic --deals 2", status=2)
    assert "agents.0: was trained without the draft of the logic deck" in complaint
    said(capsys, "policy:draft greedy --deck logic --deals 2")
    with pytest.raises(ConfigError, match="has not learned to draft"):
        tournament.plan_of(read(["greedy", "policy:plain"], [("rules.deck=logic", "")]))


def test_policies_that_learned_another_variant(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, rules in (("same", Rules(rounds=2)), ("three", Rules(num_players=3)), ("drafted", Rules(deck="tactical"))):
        policy.save(place / name, network(PLAIN), GAME, rules, {})
    text = said(capsys, "a=same policy:three again=policy:three policy:drafted greedy --deals 2 --target 5")
    told = "was trained on another variant or number of players, which it plays better than this."
    assert re.findall(r"Note: .*", text) == [f"Note: policy:three {told}", f"Note: policy:drafted {told}"]


# --- stopped, killed, gone on with, by several processes ------------------------------------------------------------------


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "training", "tournament", *arguments]
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "encoding": "utf-8"}
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, **options)


def wait_for_chunks(process: subprocess.Popen[str], folder: Path, count: int) -> None:
    begun = time.monotonic()
    while len(list(folder.glob("played/*.npz"))) < count:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() - begun < 120
        time.sleep(0.01)


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in SAME}


SLOW = ["greedy", "monte_carlo:rollouts=60", "--deals", "20", "--set", "play.chunk_games=12"]


def test_stopped_and_gone_on_with(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C: a status of its own, results so far, and how to go on; the end is that of an uninterrupted tournament."""
    process = start(*SLOW, "--out", "stopped")
    wait_for_chunks(process, place / "stopped", 2)
    process.send_signal(signal.SIGINT)
    out = process.communicate(timeout=120)[0]
    assert process.returncode == 130, out
    assert "To go on: sixnimmt tournament --resume stopped" in out
    assert "Interrupted: these are the results of the first" in out
    assert "Traceback" not in out
    kept = len(list((place / "stopped" / "played").iterdir()))
    assert 2 <= kept < 10
    text = said(capsys, "--resume stopped")
    assert f"{12 * kept} of 120 games were played before" in text
    assert main(["tournament", *SLOW, "--out", "whole"]) == 0
    assert bytes_of(place / "stopped") == bytes_of(place / "whole")


@pytest.mark.slow
def test_killed_and_gone_on_with(place: Path) -> None:
    """By two processes, without a chance to say anything: none of them stays behind."""
    process = start(*SLOW, "--out", "killed", "--workers", "2")
    wait_for_chunks(process, place / "killed", 3)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    pids = [int(pid) for pid in children.read_text().split()] if children.exists() else []
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=120)
    assert main(["tournament", "--resume", "killed", "--workers", "2"]) == 0
    assert main(["tournament", *SLOW, "--out", "whole"]) == 0
    assert bytes_of(place / "killed") == bytes_of(place / "whole")
    begun = time.monotonic()
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() - begun < 30
        time.sleep(0.1)
