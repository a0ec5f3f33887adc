"""The suite against engines with a wrong rule in them: it has to fail for each, or it would not notice that bug in ours.

A mutant is a copy of the package in which the text of a source file has been replaced. The tests run against it in a process of their
own. A few mutants belong to the usual run, the others to `-m slow`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
GAME = Path("sixnimmt_env/games/sixnimmt")
RULES_SUITE = ("test_differential.py", "test_cases.py")
WHOLE_SUITE = (*RULES_SUITE, "test_engine.py", "test_view.py")


@dataclass(frozen=True)
class Mutant:
    """A wrong rule: in `file`, each text of `changes` becomes the one beside it. `suite` has to notice."""

    name: str
    file: str
    changes: tuple[tuple[str, str], ...]
    suite: tuple[str, ...] = RULES_SUITE
    usual: bool = False


def engine(name: str, *changes: tuple[str, str], **options: Any) -> Mutant:
    return Mutant(name, "engine.py", changes, **options)


def rules(name: str, *changes: tuple[str, str], **options: Any) -> Mutant:
    return Mutant(name, "rules.py", changes, **options)


ENGINE_ONLY: dict[str, Any] = {"suite": ("test_engine.py",)}
VIEW_ONLY: dict[str, Any] = {"suite": ("test_view.py",)}
SNAKE = """lap = i64(table.drafted) // i64(table.num_players)
        place = i64(table.drafted) % i64(table.num_players)
        if lap % 2 == 1:
            place = i64(table.num_players) - 1 - place
        table.actor = (table.round_index + place) % table.num_players"""
CHEAPEST = """for other in range(i64(table.num_rows)):
            if table.row_heads[other] < table.row_heads[row]:
                row = other
        take(table, seat, row, card)"""

MUTANTS = [
    # Where a card goes
    engine(
        "the lowest candidate row instead of the highest",
        ("if last < card and card - last < end_gap:", "if last < card and (end == NOWHERE or card - last > end_gap):"),
        usual=True,
    ),
    engine("a card may lie on an equal or higher one", ("if last < card and card - last < end_gap:", "if abs(card - last) < end_gap:")),
    engine("a tie is not offered: the end", ("if end_gap < front_gap:", "if end_gap <= front_gap:"), usual=True),
    engine("a tie is not offered: the front", ("elif front_gap < end_gap:", "elif front_gap <= end_gap:")),
    engine("the end before a nearer front", ("elif front_gap < end_gap:", "elif end == NOWHERE:")),
    engine(
        "front and end swapped when a side is chosen",
        ("lay(table, seat, row, at_front, card)", "lay(table, seat, row, not at_front, card)"),
    ),
    engine(
        "front and end swapped when there is no choice",
        ("lay(table, seat, row, end == NOWHERE, card)", "lay(table, seat, row, end != NOWHERE, card)"),
    ),
    engine("fronts in the usual game", ("        if table.professional:\n", "        if table.num_rows > 0:\n")),
    # Taking rows
    engine("the sixth card counts", ("heads = table.row_heads[row]\n", "heads = table.row_heads[row] + HEADS[card]\n")),
    engine("the cheapest row is forced", ("take(table, seat, row, card)\n    else:", CHEAPEST + "\n    else:"), usual=True),
    engine("a row holds one card less", ("if length == table.row_capacity:", "if length + 1 == table.row_capacity:")),
    rules(
        "a row holds six cards", ("MAX_CAPACITY: Final = 5", "MAX_CAPACITY: Final = 6"), ("row_capacity: int = 5", "row_capacity: int = 6")
    ),
    engine(
        "the taken row stays",
        ("    table.row_len[row] = 1\n    table.row_heads[row] = HEADS[card]\n\n\n@kernel\ndef lay", "\n\n@kernel\ndef lay"),
    ),
    # The turn and the round
    engine(
        "cards are placed in the order of seats",
        ("while slot > 0 and table.plays[turn, table.order[slot - 1]] > card:", "while slot < 0:"),
        usual=True,
    ),
    engine("the played card stays in the hand", ("        discard(state.hands[seat], card)\n", "")),
    engine(
        "totals are not carried over",
        ("        table.penalties[seat] = 0\n", "        table.penalties[seat] = 0\n        table.totals[seat] = 0\n"),
    ),
    engine("penalties are carried over", ("        table.penalties[seat] = 0\n", "")),
    engine(
        "the end is tested in the middle of a round",
        ("if table.turn < table.hand_size:\n", "if table.turn < table.hand_size and (table.rounds > 0 or not _match_over(table)):\n"),
    ),
    engine("the target must always be exceeded", ("return worst >= i64(table.target)", "return worst > i64(table.target)")),
    engine("the target need never be exceeded", (" + i64(table.exceed_target)", "")),
    engine("one round too many", ("table.round_index >= table.rounds", "table.round_index > table.rounds")),
    rules("match_over takes reached for exceeded", ("100_000) + bool(exceed_target)", "100_000) + 1")),
    rules("the most heads win", ("if total == min(heads)", "if total == max(heads)")),
    # Cards and decks
    rules("55 has five heads", ("(55, 7), ", "")),
    rules("a five anywhere counts two", ("if card % divisor == 0)", "if card % divisor == 0 or (divisor == 5 and 50 < card < 60))")),
    rules("multiples of five count as of ten", ("(10, 3)", "(5, 3)")),
    rules("one card too many in tactical", ("else self.cards_dealt\n", "else self.cards_dealt + 1\n")),
    # The draft
    engine("a snake draft", ("table.actor = (table.round_index + table.drafted) % table.num_players", SNAKE)),
    engine(
        "the leftover cards descend",
        ("for leftover in range(1, i64(table.highest_card) + 1):", "for leftover in range(i64(table.highest_card), 0, -1):"),
    ),
    engine(
        "the first picker is always the same",
        ("table.actor = table.round_index % table.num_players", "table.actor = 0"),
        ("table.actor = (table.round_index + table.drafted) % table.num_players", "table.actor = table.drafted % table.num_players"),
    ),
    # Refusals
    engine(
        "any card may be picked",
        ("return 0 <= action < MAX_CARD and has(state.hands[seat], action + 1)", "return 0 <= action < MAX_CARD"),
        **ENGINE_ONLY,
    ),
    engine(
        "fronts may be taken", ("0 <= action - ACTION_ROW < table.num_rows", "0 <= action - ACTION_ROW < table.num_rows + 4"), **ENGINE_ONLY
    ),
    engine(
        "who has picked may pick again", ("seat < table.num_players and state.picks[seat] == 0", "seat < table.num_players"), **ENGINE_ONLY
    ),
    engine(
        "a refused action leaves a trace",
        ("        return ILLEGAL\n", "        state.table.placed += 1\n        return ILLEGAL\n"),
        **ENGINE_ONLY,
    ),
    engine(
        "the others act when one is refused",
        ("    if wrong == 0:\n", "    if wrong != bits:\n"),
        ("if bits >> seat & 1:", "if (bits & ~wrong) >> seat & 1:"),
        **ENGINE_ONLY,
    ),
    # Deals and secrets
    engine("every round has the same deal", ("state.game), table.round_index)", "state.game), 0)"), **ENGINE_ONLY),
    engine("every game has the same deal", ("state.game), table.round_index)", "0), table.round_index)"), **ENGINE_ONLY),
    engine("the deal depends on the play", ("state.game), table.round_index)", "state.game), table.totals[0])"), **ENGINE_ONLY),
    engine(
        "low cards to the first seat",
        ("word, at = below(word, remaining)\n        remaining", "at = remaining - 1\n        remaining"),
        **ENGINE_ONLY,
    ),
    Mutant(
        "all hands are shown",
        "view.py",
        (("open_hands = all_open or state.table.deck == LOGIC", "open_hands = all_open or state.table.deck <= LOGIC"),),
        **VIEW_ONLY,
    ),
    Mutant(
        "the hands of logic are hidden",
        "view.py",
        (("open_hands = all_open or state.table.deck == LOGIC", "open_hands = state.table.deck > LOGIC"),),
        **VIEW_ONLY,
    ),
    Mutant(
        "a row of choice is not shown",
        "view.py",
        (("for row in range(i64(table.num_rows)):\n            mask", "for row in range(1, i64(table.num_rows)):\n            mask"),),
    ),
    Mutant("the imagined hands are not shuffled", "view.py", (("word, at = below(word, left)", "word, at = below(word, 1)"),), **VIEW_ONLY),
]


def replaced(mutant: Mutant) -> str:
    """The text of the changed file; every change must fit in exactly one place."""
    text = (ROOT / GAME / mutant.file).read_text()
    for old, new in mutant.changes:
        assert text.count(old) == 1, f"{text.count(old)} places in {mutant.file} for {old!r}: bring the mutant up to date"
        text = text.replace(old, new)
    return text


def copy_of_project(folder: Path) -> Path:
    leave_out = shutil.ignore_patterns("__pycache__")
    for name in ("sixnimmt_env", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=leave_out)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def run_suite(project: Path, suite: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """pytest in the copy, up to the first failure. Quick compilation, not kept, is what costs least."""
    no_folder = project / "no_cache"
    no_folder.touch()
    settings = {"PYTHONPATH": str(project), "NUMBA_OPT": "0", "NUMBA_CACHE_DIR": str(no_folder), "PYTHONDONTWRITEBYTECODE": "1"}
    files = [f"tests/games/sixnimmt/{name}" for name in suite]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=short", "-p", "no:cacheprovider", *files]
    return subprocess.run(command, cwd=project, env={**os.environ, **settings}, capture_output=True, text=True, timeout=600, check=False)


def parameters() -> list[Any]:
    return [pytest.param(mutant, id=mutant.name, marks=() if mutant.usual else pytest.mark.slow) for mutant in MUTANTS]


def test_mutants_are_different() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(mutant.file, replaced(mutant)) for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("suite", [RULES_SUITE, pytest.param(WHOLE_SUITE, marks=pytest.mark.slow)], ids=["rules", "whole"])
def test_the_suite_passes_on_a_true_copy(suite: tuple[str, ...], tmp_path: Path) -> None:
    done = run_suite(copy_of_project(tmp_path), suite)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("mutant", parameters())
def test_the_suite_notices(mutant: Mutant, tmp_path: Path) -> None:
    project = copy_of_project(tmp_path)
    (project / GAME / mutant.file).write_text(replaced(mutant))
    done = run_suite(project, mutant.suite)
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    # It has to be the wrong rule that fails, not the changed text.
    assert "numba.core.errors" not in said, said
    assert "SyntaxError" not in said, said
