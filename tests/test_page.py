"""The documentation page is what the code says, and what it shows works."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from tests import page

every_door = pytest.mark.parametrize("door", page.FRONT_DOORS, ids=lambda door: door.__name__)


def test_no_page_is_out_of_date() -> None:
    assert [path.name for path, _ in page.outdated()] == [], "run `python -m tests.page`"


def test_a_change_is_noticed_and_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "_MASKS", "something else")
    [(path, wanted)] = page.outdated()
    assert path.name == "sixnimmt_v0.py"
    assert "something else" in wanted
    assert wanted.partition("from __future__")[2] == path.read_text(encoding="utf-8").partition("from __future__")[2], "only the docstring"


@every_door
def test_the_example_runs(door: Any) -> None:
    [code] = re.findall(r"```python\n(.*?)```", inspect.getdoc(door) or "", re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["env"].agents == []


@every_door
def test_every_option_of_every_form_is_told(door: Any) -> None:
    text = inspect.getdoc(door) or ""
    told = set(re.findall(r"^\| `(\w+)=", text, re.MULTILINE))
    for form in (door.raw_env, door.parallel_env):
        assert set(inspect.signature(form).parameters) - {"sizes"} <= told
    assert {*door.SeatOptions.__annotations__, *door.VectorOptions.__annotations__, *door.Sizes.__annotations__} <= told
    assert not re.search(r"\| *\|$", text.partition("Options")[2], re.MULTILINE), "an option without words"


@every_door
def test_every_action_and_every_number_is_told(door: Any) -> None:
    text = inspect.getdoc(door) or ""
    assert [group.first for group in door.GAME.actions][1:] == [group.first + group.count for group in door.GAME.actions][:-1]
    assert door.GAME.actions[-1].first + door.GAME.actions[-1].count == door.GAME.num_actions
    for group in door.GAME.layout.groups:
        assert all(f"`{column.name}`" in text for column in group.columns)
