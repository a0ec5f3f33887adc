"""The golden records are what the package makes of the recorded matches today."""

from __future__ import annotations

import difflib
import itertools
from pathlib import Path

import pytest

from sixnimmt_env.games.sixnimmt import Rules
from tests import golden
from tests.games.sixnimmt.playing import KINDS
from tests.golden import FOLDER, MATCHES, loaded, played, text_of
from tests.golden import __main__ as command


@pytest.mark.parametrize("name", MATCHES)
def test_the_record_is_what_is_played_today(name: str) -> None:
    trace = loaded(name)
    trace.verify()
    assert trace.outcome == "finished"
    assert trace.rules == Rules(**MATCHES[name])
    path = FOLDER / f"{name}.txt"
    old, new = path.read_bytes().decode(), text_of(trace)
    if old != new:
        lines = list(itertools.islice(difflib.unified_diff(old.splitlines(), new.splitlines(), path.name, "today", lineterm="", n=1), 16))
        pytest.fail("\n".join([*lines, "...", "If this is meant: python -m tests.golden, and read the difference before it is committed."]))


def test_each_variant_has_a_record() -> None:
    variants = {(rules.deck, rules.professional, rules.rounds == 1) for rules in (Rules(**options) for options in MATCHES.values())}
    assert variants == {(*kind, single) for kind in KINDS for single in (True, False)}
    assert {path.stem for path in FOLDER.glob("*.txt")} == {path.stem for path in FOLDER.glob("*.jsonl")} == set(MATCHES)


def test_they_meet_every_event() -> None:
    met = {event["event"] for name in MATCHES for event in loaded(name)}
    words = "dealt laid_open drafted rows picked revealed asked chose placed took round_ended match_ended"
    assert met == set(words.split())


def test_the_command_compares_and_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for end in ("txt", "jsonl"):
        (tmp_path / f"small.{end}").write_bytes((FOLDER / f"small.{end}").read_bytes())
    monkeypatch.setattr(golden, "FOLDER", tmp_path)
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    assert command.main(["small", "--check"]) == 0
    text = (tmp_path / "small.txt").read_text(encoding="utf-8")
    (tmp_path / "small.txt").write_text(text.replace("player_1 chooses row 0", "player_1 chooses row 1"), encoding="utf-8")
    assert command.main(["small", "--check"]) == 1
    assert command.main(["small"]) == 0
    assert (tmp_path / "small.txt").read_text(encoding="utf-8") == text
    assert command.main(["small", "--check", "--new"]) == 0
    told = ["0 of 1 records differ", "small.txt: differs", "1 of 1 records differ", "small.txt: written", "1 of 1 records changed"]
    assert capsys.readouterr().out.splitlines() == [*told, "0 of 1 records differ"]
    with pytest.raises(SystemExit):
        command.main(["smal"])
    assert "there is no match 'smal'" in capsys.readouterr().err


def test_they_can_be_chosen_anew() -> None:
    assert played("small") == loaded("small")
