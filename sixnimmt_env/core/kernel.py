"""Compilation of the kernels: one decorator, its cache, and the line that says why the first call takes a while.

Numba's own cache looks only at the file a function stands in. A kernel that calls a helper of another module, or reads a
constant of one, would go on using the old machine code after that helper changed. So each kernel here has a digest over
its own file and every file of this package that it imports, transitively, and is cached in a folder of that name.

Where kernels are cached, in this order: `NUMBA_CACHE_DIR` if set, `__pycache__` beside the package if it can be written,
the user's cache folder, and nowhere (compiled anew in each process) if none of these can be written.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import numba
import numpy as np
from numba.core import config as _numba_config
from numba.core import event

F = TypeVar("F", bound=Callable[..., Any])

numba_config: Any = _numba_config  # its settings are made at run time

_CACHE_BYTES: Final = 64 * 2**20  # free space under which nothing is cached: all kernels together take less
_digests: dict[str, str] = {}  # module -> digest of all its kernels can be made of
_kernels: set[int] = set()  # ids of the compiled kernels, which live as long as their modules
_announced = False


def kernel(function: F) -> F:
    """Compile `function` with Numba on its first call, without the GIL, and cache the machine code on disk.

    Single-threaded on purpose: Numba's thread pool spins on shared cores and does not survive a fork.
    """
    compiled = _compile(function, _digest(function.__module__))
    _kernels.add(id(compiled))
    return compiled  # type: ignore[no-any-return]


def _i64(value: Any) -> int:
    return np.int64(value)  # type: ignore[return-value]


def cache_folder() -> Path | None:
    """Folder under which kernels are cached, or None where no folder can be written."""
    return _CACHE


def _compile(function: Callable[..., Any], digest: str) -> Any:
    if _CACHE is None:
        return numba.njit(nogil=True)(function)
    before = numba_config.CACHE_DIR
    numba_config.CACHE_DIR = str(_CACHE / digest)  # read when the function is decorated, so it is ours for this moment only
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except (RuntimeError, OSError):  # the folder turned unwritable since it was chosen
        return numba.njit(nogil=True)(function)
    finally:
        numba_config.CACHE_DIR = before


def _digest(module: str) -> str:
    """Of the sources that a kernel of `module` can be made of: its own and, transitively, those it imports of this package."""
    if module not in _digests:
        digest = hashlib.sha256(f"{numba.__version__} {np.__version__}".encode())
        for name in sorted(_closure(module, set())):
            digest.update(Path(str(sys.modules[name].__file__)).read_bytes())
        _digests[module] = digest.hexdigest()[:20]
    return _digests[module]


def _closure(module: str, found: set[str]) -> set[str]:
    if module in found or module not in sys.modules:
        return found
    found.add(module)
    tree = ast.parse(Path(str(sys.modules[module].__file__)).read_bytes())
    package = sys.modules[module].__package__ or module
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level > 0:
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            for name in (base, *(f"{base}.{alias.name}" for alias in node.names)):
                _closure(name, found)
    return found


def _choose_cache() -> Path | None:
    override = os.environ.get("NUMBA_CACHE_DIR")
    package = Path(__file__).resolve().parent.parent
    candidates = [Path(override)] if override else [package / "__pycache__", _user_cache()]
    for folder in candidates:
        if _usable(folder / "kernels"):
            return folder / "kernels"
    return None


def _user_cache() -> Path:
    root = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(root) / "sixnimmt_env"


def _usable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return shutil.disk_usage(folder).free > _CACHE_BYTES
    except OSError:
        return False


class _Announcement(event.Listener):
    """One line on stderr when a kernel of ours is compiled rather than loaded, once a process."""

    def on_start(self, occurrence: event.Event) -> None:
        global _announced
        if _announced or id(occurrence.data.get("dispatcher")) not in _kernels:
            return
        _announced = True
        kept = "kept for the next start" if _CACHE else "not kept: no cache folder can be written, set NUMBA_CACHE_DIR to one"
        print(f"sixnimmt_env: compiling the game engine for this machine, a few seconds ({kept}) ...", file=sys.stderr, flush=True)

    def on_end(self, occurrence: event.Event) -> None:
        pass


_CACHE: Final = _choose_cache()
event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call]

i64: Final = kernel(_i64)
"""A record's small unsigned number as int64. Left unsigned it would turn sums with an int64 into floats or wrap below zero."""
