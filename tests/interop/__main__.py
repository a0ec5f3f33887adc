"""Runs the scripts of this folder, each with the library that it needs, and prints what worked with which version."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import SCRIPTS, Script

REPOSITORY = Path(__file__).parents[2]
TORCH = "torch==2.13.0"  # first, and this one: a bare torch may fetch gigabytes
LIMIT = 600  # seconds a script
STAMP = "installed.txt"

HELP = """\
Train for a short moment with every library that is known to work with this environment, and print the versions and the results.

Each script runs in a virtual environment with the extra of the project that it needs; scripts of the same extra
share one. Making one takes some minutes and 1.5 to 2.5 GB; with --venvs they are kept, and made anew only when the
extra has changed.
"""

EXAMPLES = """\
examples:
  python -m tests.interop --list                       what there is
  python -m tests.interop                              everything, in temporary environments
  python -m tests.interop rllib_ppo --venvs ~/interop  one script, in an environment that is kept for the next time
  python tests/interop/maskable_ppo.py                 a script by itself, where its library is installed

The exit status is 1 if a script failed. Tests run the same scripts shortened: python -m pytest -m interop
"""


@dataclass(frozen=True)
class Result:
    """How a script did."""

    script: Script
    versions: str
    passed: bool
    said: str  # its last line, or what went wrong
    seconds: float


def requirements(extra: str) -> list[str]:
    """What the environment of `extra` is made of; the same list, the same environment."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    found, todo = list(project["dependencies"]), [extra]
    while todo:
        for line in extras[todo.pop()]:
            if line.startswith(f"{project['name']}["):
                todo += line.removeprefix(f"{project['name']}[").rstrip("]").split(",")
            else:
                found.append(line)
    return [f"python {sys.version.split()[0]}", TORCH, *found]


def python_for(extra: str, folder: Path) -> Path:
    """The interpreter of the environment of `extra` in `folder`, which is made unless it is there already.

    Raises:
        subprocess.CalledProcessError: it could not be installed.
    """
    home = folder / extra
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = "\n".join([str(REPOSITORY), *requirements(extra)])
    if (home / STAMP).exists() and (home / STAMP).read_text(encoding="utf-8") == wanted:
        return python
    print(f"making the environment {extra} ...", flush=True)
    venv.create(home, with_pip=True, clear=True)
    for target in ([TORCH], ["-e", f"{REPOSITORY}[{extra}]"]):
        subprocess.run([python, "-m", "pip", "install", "--quiet", *target], check=True, capture_output=True, text=True)
    (home / STAMP).write_text(wanted, encoding="utf-8")
    return python


def versions(script: Script, python: Path) -> str:
    """The distributions of the script's library and their versions."""
    code = "import sys; from importlib.metadata import version; print(', '.join(f'{name} {version(name)}' for name in sys.argv[1:]))"
    return subprocess.run([python, "-c", code, *script.libraries], check=True, capture_output=True, text=True).stdout.strip()


def run(script: Script, folder: Path) -> Result:
    """Run `script` in full, in its environment."""
    begun = time.monotonic()
    try:
        python = python_for(script.extra, folder)
        found = versions(script, python)
    except subprocess.CalledProcessError as error:
        return Result(script, ", ".join(script.libraries), False, f"not installed: {last(error.stderr)}", time.monotonic() - begun)
    print(f"running {script.name} with {found} ...", flush=True)
    begun = time.monotonic()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [str(python), "-m", f"tests.interop.{script.name}"]
    try:
        done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return Result(script, found, False, f"not done in {LIMIT} s", time.monotonic() - begun)
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-6000:], sep="\n")
    return Result(script, found, not done.returncode, last(done.stderr if done.returncode else done.stdout), time.monotonic() - begun)


def last(text: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def table(rows: Sequence[Sequence[str]]) -> str:
    """`rows` with their columns in line; the first is the head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "─" * len(lines[0]), *lines[1:]])


def listing() -> str:
    """What there is."""
    return table([("script", "library", "form", "extra"), *((s.name, ", ".join(s.libraries), s.form, s.extra) for s in SCRIPTS)])


def report(results: Iterable[Result]) -> str:
    """The results as a table."""
    head = ("script", "version tested", "form", "result", "seconds", "its last line")
    return table(
        [head, *((r.script.name, r.versions, r.script.form, "ok" if r.passed else "FAILED", f"{r.seconds:.0f}", r.said) for r in results)]
    )


def chosen(names: Sequence[str]) -> list[Script]:
    """The scripts of these names, all of them for none, in the order of their environments.

    Raises:
        ValueError: an unknown name.
    """
    known = {script.name: script for script in SCRIPTS}
    for name in names:
        if name not in known:
            raise ValueError(f"script {name!r} is unknown: there are {', '.join(known)}")
    return [script for script in SCRIPTS if not names or script.name in names]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit status."""
    parser = argparse.ArgumentParser("python -m tests.interop", None, HELP, EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="scripts, all by default")
    parser.add_argument("--list", action="store_true", help="say what there is, and stop")
    parser.add_argument(
        "--venvs", type=Path, metavar="DIR", help="folder of the virtual environments, made and kept; a temporary one by default"
    )
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder, and say where it is")
    options = parser.parse_args(arguments)
    if options.list:
        print(listing())
        return 0
    try:
        scripts = chosen(options.names)
    except ValueError as error:
        parser.error(str(error))
    folder = (options.venvs or Path(tempfile.mkdtemp(prefix="interop-"))).expanduser().resolve()
    try:
        results = [run(script, folder) for script in scripts]
    finally:
        if options.venvs or options.keep:
            print(f"the environments are in {folder}")
        else:
            shutil.rmtree(folder)
    print(report(results))
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
