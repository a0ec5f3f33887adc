"""The kernels' cache: never stale, never in the way. Most tests play a new start of Python by importing a small package afresh."""

from __future__ import annotations

import errno
import importlib
import multiprocessing
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest

from sixnimmt_env.core import kernel

REPOSITORY = Path(__file__).parents[2]

HELPER = "from sixnimmt_env.core.kernel import kernel\n@kernel\ndef helper(x):\n    return x + 1\n"
CALLER = "from sixnimmt_env.core.kernel import kernel\n{}\n@kernel\ndef caller(x):\n    return helper(x) * 10\n"
COMPILING = "sixnimmt_env: compiling the game engine"
UNKEPT = "sixnimmt_env: the compiled engine could not be kept"


class Package:
    """A package `tiny` of kernels in its own folder, with its own cache."""

    def __init__(self, folder: Path) -> None:
        self.site = folder / "site"
        self.cache = folder / "cache"
        self.write("__init__", "")
        self.write("helper", HELPER)
        self.write("caller", CALLER.format("from .helper import helper"))

    def write(self, module: str, text: str) -> None:
        path = self.site / "tiny" / f"{module}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def start(self, module: str = "caller") -> ModuleType:
        """The module as a new process would import it."""
        for name in [name for name in sys.modules if name.partition(".")[0] == "tiny"]:
            del sys.modules[name]
        importlib.invalidate_caches()
        kernel._digest.cache_clear()
        kernel._imports.cache_clear()
        kernel._said.clear()
        return importlib.import_module(f"tiny.{module}")

    def files(self) -> list[Path]:
        return sorted(path for path in self.cache.rglob("*") if path.is_file())


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    package = Package(tmp_path)
    monkeypatch.syspath_prepend(str(package.site))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a source changed within a second would be taken for its bytecode
    monkeypatch.setattr(kernel, "_CACHE", package.cache)
    monkeypatch.setattr(kernel, "_said", set())
    yield package
    for name in [name for name in sys.modules if name.partition(".")[0] == "tiny"]:
        del sys.modules[name]


def said(capfd: pytest.CaptureFixture[str]) -> list[str]:
    """The lines on stderr since the last call; there is never one on stdout."""
    out, err = capfd.readouterr()
    assert out == ""
    return err.splitlines()


# --- Never stale ---------------------------------------------------------------------------------------------------------

IMPORTS = {
    "name": "from .helper import helper",
    "renamed": "from .helper import helper as h\nhelper = h",
    "module": "from . import helper as h\nhelper = h.helper",
    "absolute": "from tiny.helper import helper",
    "absolute module": "import tiny.helper\nhelper = tiny.helper.helper",
    "renamed module": "import tiny.helper as h\nhelper = h.helper",
    "through a third": "from .third import helper",
    "through a package": "from .inner import helper",
    "through the top": "import tiny\nhelper = tiny.third.helper",
}


@pytest.mark.parametrize("line", IMPORTS.values(), ids=IMPORTS.keys())
def test_digest_follows_imports(tiny: Package, line: str) -> None:
    tiny.write("third", "from .helper import helper\n")
    tiny.write("inner/__init__", "from ..third import helper\n")
    tiny.write("unrelated", "")
    if "tiny.third" in line:
        tiny.write("__init__", "from . import third\n")
    tiny.write("caller", CALLER.format(line))

    def digest() -> str:
        return kernel._digest(tiny.start().__name__)

    before = digest()
    assert digest() == before
    tiny.write("unrelated", "x = 1\n")
    importlib.import_module("tiny.unrelated")
    assert digest() == before
    tiny.write("helper", HELPER + "# changed\n")
    assert digest() != before


def test_digest_covers_the_compiler(tiny: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = {kernel._digest(tiny.start().__name__)}
    monkeypatch.setattr(kernel.numba_config, "BOUNDSCHECK", 1)
    digests.add(kernel._digest(tiny.start().__name__))
    monkeypatch.setattr(np, "__version__", "0")
    digests.add(kernel._digest(tiny.start().__name__))
    assert len(digests) == 3


def test_package_digest_leaves_out_what_is_not_imported() -> None:
    found = kernel._closure("sixnimmt_env.core.cards")
    assert found == {"sixnimmt_env.core.cards", "sixnimmt_env.core.kernel"}


def test_a_changed_helper_is_used_and_an_unchanged_one_loaded(tiny: Package, capfd: pytest.CaptureFixture[str]) -> None:
    for change, value, lines in [(HELPER, 20, 1), (HELPER, 20, 0), (HELPER.replace("+ 1", "+ 2"), 30, 1), (HELPER, 20, 0)]:
        tiny.write("helper", change)
        assert tiny.start().caller(1) == value
        assert len(said(capfd)) == lines


def test_old_versions_are_deleted(tiny: Package) -> None:
    others = [tiny.cache / name for name in ("notes", "tiny.caller-notes", f"other-{'0' * 20}")]
    for folder in others:
        folder.mkdir(parents=True)
    for version in range(kernel._VERSIONS + 3):
        tiny.write("helper", HELPER + f"# {version}\n")
        folder = Path(tiny.start().caller._cache.cache_path)
        os.utime(folder, (version, version))  # the clock may be too coarse to tell which is older
    assert all(other.is_dir() for other in others)
    for module in ("tiny.caller", "tiny.helper"):
        left = list(tiny.cache.glob(f"{module}-{'[0-9a-f]' * 20}"))
        assert len(left) == kernel._VERSIONS
    assert folder.is_dir()


# --- Never in the way ----------------------------------------------------------------------------------------------------


def one_less(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def other_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "cut": one_less,
    "flipped bit": other_byte,
    "text": lambda path: path.write_text("nonsense" * 10),
    "gone": Path.unlink,
    "folder gone": lambda path: shutil.rmtree(path.parent, ignore_errors=True),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_files_are_written_anew(tiny: Package, capfd: pytest.CaptureFixture[str], damage: Callable[[Path], object]) -> None:
    assert tiny.start().caller(1) == 20
    before = tiny.files()
    assert len(before) == 2
    said(capfd)
    module = tiny.start()
    for path in before:
        damage(path)
    assert module.caller(1) == 20
    assert [line.startswith(COMPILING) for line in said(capfd)] == [True]
    assert tiny.files() == before
    assert tiny.start().caller(1) == 20
    assert said(capfd) == []


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def cut_short(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data[: len(data) // 2])
    full()


# what fails: (object, attribute, its replacement, words of the reason)
FAILURES: dict[str, tuple[Any, str, Any, str]] = {
    "nearly full": (shutil, "disk_usage", lambda _: SimpleNamespace(free=2**20), "the disk is nearly full"),
    "full at once": (Path, "write_bytes", full, "No space left"),
    "full half way": (Path, "write_bytes", cut_short, "No space left"),
    "no rename": (os, "replace", full, "No space left"),
    "no folder": (Path, "mkdir", full, "No space left"),
    "another Numba": (kernel, "serialize", None, "attribute"),
}


@pytest.mark.parametrize(("owner", "name", "replacement", "reason"), FAILURES.values(), ids=FAILURES.keys())
def test_a_failed_save_is_no_failure(
    tiny: Package,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    replacement: Any,
    reason: str,
) -> None:
    module = tiny.start()
    with monkeypatch.context() as broken:
        broken.setattr(owner, name, replacement)
        assert module.caller(1) == 20
    compiling, unkept = said(capfd)
    assert compiling.startswith(COMPILING)
    assert unkept.startswith(UNKEPT)
    assert reason in unkept
    assert tiny.files() == []


def test_a_warm_cache_serves_on_a_full_disk(tiny: Package, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.start().caller(1)
    said(capfd)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    assert tiny.start().caller(1) == 20
    assert said(capfd) == []


def test_a_limit_of_the_system(tiny: Package, capfd: pytest.CaptureFixture[str]) -> None:
    resource = pytest.importorskip("resource")
    module = tiny.start()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # the system itself fails the write after 1000 bytes
    try:
        assert module.caller(1) == 20
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert tiny.files() == []


# What cannot be cached, and the value of `caller(1)`; where a function is known by its address, nothing must be found under it.
UNCACHED: dict[str, tuple[str, int]] = {
    "variable of a function": ("def make(y):\n    def caller(x):\n        return x + y\n    return kernel(caller)\ncaller = make(4)\n", 5),
    "function as argument": ("@kernel\ndef apply(f, x):\n    return f(x)\ndef caller(x):\n    return apply(helper, x)\n", 2),
}


@pytest.mark.parametrize(("text", "value"), UNCACHED.values(), ids=UNCACHED.keys())
def test_what_cannot_be_cached_runs(tiny: Package, text: str, value: int) -> None:
    tiny.write("caller", f"from sixnimmt_env.core.kernel import kernel\nfrom .helper import helper\n{text}")
    for _ in range(2):
        assert tiny.start().caller(1) == value
        assert {path.name.partition("-")[0] for path in tiny.files()} <= {"helper"}


def test_without_a_source_file(tiny: Package, capfd: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, Any] = {"__name__": "tiny.nowhere"}
    exec(compile(HELPER, "<typed>", "exec"), namespace)
    assert namespace["helper"](1) == 2
    assert "not kept: " in said(capfd)[0]


def test_without_compilation(tiny: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    module = tiny.start()
    assert module.caller(1) == 20
    assert type(module.caller) is type(test_without_compilation)


# --- Which folder --------------------------------------------------------------------------------------------------------

# case: (environment, what cannot be written, what is on a full disk, the folder chosen); all below one temporary folder
PLACES: dict[str, tuple[dict[str, str], list[str], list[str], str | None]] = {
    "named": ({"NUMBA_CACHE_DIR": "named", "HOME": "home"}, [], [], "named/sixnimmt_env/kernels"),
    "named, not writable": ({"NUMBA_CACHE_DIR": "named", "HOME": "home"}, ["named"], [], None),
    "package": ({"HOME": "home"}, [], [], "package/__pycache__/kernels"),
    "home": ({"HOME": "home"}, ["package/__pycache__"], [], "home/.cache/sixnimmt_env/kernels"),
    "user's cache": ({"HOME": "home", "XDG_CACHE_HOME": "xdg"}, ["package/__pycache__"], [], "xdg/sixnimmt_env/kernels"),
    "Windows": ({"LOCALAPPDATA": "local"}, ["package/__pycache__"], [], "local/sixnimmt_env/kernels"),
    "no home": ({"HOME": "home"}, ["package/__pycache__", "home"], [], None),
    "unknown home": ({"XDG_CACHE_HOME": "~"}, ["package/__pycache__"], [], None),
    "full disk": ({"HOME": "home"}, [], ["package"], "home/.cache/sixnimmt_env/kernels"),
    "full disks": ({"HOME": "home"}, [], ["package", "home"], "package/__pycache__/kernels"),
}


@pytest.mark.parametrize(("environment", "blocked", "filled", "chosen"), PLACES.values(), ids=PLACES.keys())
def test_place(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    blocked: list[str],
    filled: list[str],
    chosen: str | None,
) -> None:
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value if value == "~" else str(tmp_path / value))
    (tmp_path / "package").mkdir()
    for name in blocked:
        (tmp_path / name).write_text("a file where a folder should be: permissions would not bind the superuser")

    def disk_usage(path: Path) -> SimpleNamespace:
        return SimpleNamespace(free=0 if path.relative_to(tmp_path).parts[0] in filled else 2**40)

    monkeypatch.setattr(shutil, "disk_usage", disk_usage)
    monkeypatch.setattr(kernel, "__file__", str(tmp_path / "package" / "core" / "kernel.py"))
    monkeypatch.chdir(tmp_path)
    assert kernel._choose_cache() == (tmp_path / chosen if chosen else None)
    assert not (tmp_path / "~").exists()


# --- In processes of their own -------------------------------------------------------------------------------------------


def python(tiny: Package, *arguments: str, site: Path = REPOSITORY, **environment: str) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA")}
    path = os.pathsep.join((str(tiny.site), str(site)))
    return subprocess.Popen(
        [sys.executable, *arguments],
        env={**kept, "PYTHONPATH": path, **environment},
        cwd=tiny.site,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[str, list[str]]:
    """What it wrote on stdout, and the lines on stderr."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out, err.splitlines()


CALL = "from tiny.caller import caller; print(caller(1))"


def test_first_and_second_start(tiny: Package) -> None:
    environment = {"NUMBA_CACHE_DIR": str(tiny.cache)}
    out, err = finish(python(tiny, "-c", CALL, **environment))
    assert out == "20\n"
    assert err == [f"{COMPILING} for this machine, a few seconds (kept for the next start) ..."]
    assert {path.relative_to(tiny.cache).parts[:2] for path in tiny.files()} == {("sixnimmt_env", "kernels")}
    assert finish(python(tiny, "-c", CALL, **environment)) == ("20\n", [])


def test_nothing_can_be_written(tiny: Package, tmp_path: Path) -> None:
    site = tmp_path / "installed"
    for name in ("sixnimmt_env", "sixnimmt_env/core"):
        (site / name).mkdir(parents=True)
        (site / name / "__init__.py").touch()
    shutil.copy(str(kernel.__file__), site / "sixnimmt_env" / "core")
    (site / "sixnimmt_env" / "__pycache__").touch()
    (tmp_path / "home").touch()
    out, err = finish(python(tiny, "-c", CALL, site=site, HOME=str(tmp_path / "home")))
    assert out == "20\n"
    assert err == [
        f"{COMPILING} for this machine, a few seconds (not kept: no cache folder can be written, set NUMBA_CACHE_DIR to one) ..."
    ]


EACH_SIGNATURE = """
import sys, numpy as np
from tiny.caller import caller
kinds = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.float32, np.float64]
start = int(sys.argv[1])
print([int(caller(kind(1))) for kind in kinds[start:] + kinds[:start]])
"""


def test_processes_that_compile_at_once(tiny: Package) -> None:
    environment = {"NUMBA_CACHE_DIR": str(tiny.cache)}
    together = [python(tiny, "-c", EACH_SIGNATURE, str(start), **environment) for start in (0, 0, 5)]
    for process in together:
        assert finish(process)[0] == f"{[20] * 8}\n"
    assert finish(python(tiny, "-c", EACH_SIGNATURE, "2", **environment)) == (f"{[20] * 8}\n", [])


CHILDREN = """
import multiprocessing, sys
from tiny.caller import caller
from tiny.helper import helper

def call(function):
    return (caller if function == "caller" else helper)(1)

if __name__ == "__main__":
    caller(1)  # the children are made when the parent has compiled one of the two
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(call, ["caller", "helper"] * 2), helper(1))
"""


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_in_child_processes(tiny: Package, method: str) -> None:
    (tiny.site / "children.py").write_text(CHILDREN)
    out, err = finish(python(tiny, "children.py", method, NUMBA_CACHE_DIR=str(tiny.cache)))
    assert out == "[20, 2, 20, 2] 2\n"
    assert all(line.startswith(COMPILING) for line in err)
