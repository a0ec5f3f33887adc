"""The scripts, shortened, where their libraries are installed; and the command that runs them in full."""

from __future__ import annotations

import importlib
import importlib.util
import math
import re
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.interop import SCRIPTS, Script, __main__

HERE = Path(__file__).parent


def marked(script: Script) -> Any:
    # Warnings of other libraries are theirs; of those that the usual run has, none is let through.
    marks = () if script.usual else (pytest.mark.interop, pytest.mark.filterwarnings("default"))
    return pytest.param(script, id=script.name, marks=marks)


@pytest.mark.parametrize("script", [marked(script) for script in SCRIPTS])
def test_it_trains_and_plays_without_an_illegal_action(script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    for module in script.modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install '.[{script.extra}]', or python -m tests.interop {script.name}")
    heads = importlib.import_module(f"tests.interop.{script.name}").main(total_steps=script.short)
    assert 0 < heads < 40
    assert math.isfinite(heads)
    assert f"{heads:.2f}" in capsys.readouterr().out.splitlines()[-1]


def test_the_table_has_every_script() -> None:
    scripts = {path.stem for path in HERE.glob("*.py") if not path.stem.startswith(("__", "test_"))}
    assert [script.name for script in SCRIPTS if script.name not in scripts] == []
    assert scripts - {script.name for script in SCRIPTS} == set()
    assert len({script.name for script in SCRIPTS}) == len(SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_every_script_can_be_copied_and_run(script: Script) -> None:
    text = (HERE / f"{script.name}.py").read_text(encoding="utf-8")
    assert not re.search(r"^(from|import) tests", text, re.M), "an example stands on its own"
    assert re.search(r"^def main\(total_steps: int = [\d_]+\) -> float:$", text, re.M)
    assert re.search(r'^if __name__ == "__main__":\n    assert main\(\) < ', text, re.M)


def test_requirements_are_those_of_the_extra_and_of_what_it_includes() -> None:
    found = __main__.requirements("rllib")
    for wanted in ("torch==2.13.0", "gymnasium", "sb3-contrib", "ray"):
        assert any(line.startswith(wanted) for line in found), wanted
    assert not any(line.startswith(("sixnimmt-env", "torchrl")) for line in found)
    for script in SCRIPTS:
        assert __main__.requirements(script.extra)
        assert script.extra.isalnum(), "an extra with an underscore is not found by pip before 23.3, which only warns"


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    status = __main__.main(arguments)
    return status, capsys.readouterr().out


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    status, output = said(["--list"], capsys)
    assert status == 0
    assert [line.split()[0] for line in output.splitlines()[2:]] == [script.name for script in SCRIPTS]


@pytest.mark.parametrize("argument", ["--help", "nonsense"])
def test_help_and_misuse(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        __main__.main([argument])
    captured = capsys.readouterr()
    assert ended.value.code == (0 if argument == "--help" else 2)
    if argument == "--help":
        assert "python -m tests.interop rllib_ppo --venvs" in captured.out
    else:
        assert "script 'nonsense' is unknown: there are sb3_ppo, maskable_ppo" in captured.err


Run = Callable[..., "subprocess.CompletedProcess[str]"]


def acting(monkeypatch: pytest.MonkeyPatch, script: Run) -> None:
    """Nothing is installed, and `script` runs instead of the scripts."""
    monkeypatch.setattr(__main__, "python_for", lambda extra, folder: Path(sys.executable))
    monkeypatch.setattr(__main__, "versions", lambda wanted, python: "library 1.0")
    monkeypatch.setattr(subprocess, "run", script)


def test_success_and_failure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    commands: list[list[str]] = []

    def script(command: list[Any], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        failed = str(command[-1]).endswith("sb3_ppo")
        return subprocess.CompletedProcess(
            command, int(failed), "learning\n7.10 bull heads\n", "AssertionError: too many\n" if failed else ""
        )

    acting(monkeypatch, script)
    status, output = said(["maskable_ppo", "--venvs", str(tmp_path / "kept")], capsys)
    assert status == 0
    assert re.search(r"^maskable_ppo +library 1\.0 +gymnasium\.make +ok +0 +7\.10 bull heads$", output, re.M)
    assert f"the environments are in {tmp_path / 'kept'}" in output
    status, output = said(["sb3_ppo", "maskable_ppo"], capsys)
    assert status == 1
    assert re.search(r"^sb3_ppo +library 1\.0 +gymnasium\.make +FAILED +0 +AssertionError: too many$", output, re.M)
    assert re.search(r"^maskable_ppo .* ok ", output, re.M)
    assert [command[1:] for command in commands] == [
        ["-m", f"tests.interop.{name}"] for name in ("maskable_ppo", "sb3_ppo", "maskable_ppo")
    ]


def test_a_library_that_cannot_be_installed_fails_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    acting(monkeypatch, lambda command, **_: subprocess.CompletedProcess(command, 0, "6.00 bull heads", ""))

    def python_for(extra: str, folder: Path) -> Path:
        if extra == "rllib":
            raise subprocess.CalledProcessError(1, ["pip"], "", "ERROR: no such release\n")
        return Path(sys.executable)

    monkeypatch.setattr(__main__, "python_for", python_for)
    status, output = said(["rllib_ppo", "sb3_ppo"], capsys)
    assert status == 1
    assert re.search(r"^rllib_ppo +ray, pettingzoo .* FAILED .* not installed: ERROR: no such release$", output, re.M)
    assert re.search(r"^sb3_ppo .* ok ", output, re.M)


def test_a_temporary_folder_is_removed_unless_it_is_to_be_kept(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    folders: list[Path] = []
    acting(monkeypatch, lambda command, **_: subprocess.CompletedProcess(command, 0, "6.00", ""))
    monkeypatch.setattr(__main__, "python_for", lambda extra, folder: (folders.append(folder), Path(sys.executable))[1])
    said(["sb3_ppo"], capsys)
    assert not folders[0].exists()
    _, output = said(["sb3_ppo", "--keep"], capsys)
    assert f"the environments are in {folders[1]}" in output
    folders[1].rmdir()


def test_an_environment_is_made_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed: list[list[str]] = []
    monkeypatch.setattr(venv, "create", lambda home, **_: home.mkdir(parents=True, exist_ok=True))
    monkeypatch.setattr(subprocess, "run", lambda command, **_: installed.append([str(part) for part in command[5:]]))
    python = __main__.python_for("rllib", tmp_path)
    assert python.is_relative_to(tmp_path / "rllib")
    assert installed == [["torch==2.13.0"], ["-e", f"{__main__.REPOSITORY}[rllib]"]]
    assert __main__.python_for("rllib", tmp_path) == python
    assert len(installed) == 2
    monkeypatch.setattr(__main__, "requirements", lambda extra: ["something else"])
    __main__.python_for("rllib", tmp_path)
    assert len(installed) == 4
