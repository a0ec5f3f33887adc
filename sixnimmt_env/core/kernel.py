"""Compilation of the kernels: one decorator, its cache, and the line that says why the first call takes a while.

Numba's own cache looks only at the file a function stands in: a kernel that calls a helper of another module, or reads a constant of
one, would go on using the old machine code after that helper changed. And it keeps an index a function, in which two processes that
compile at once overwrite each other's entries and can find the other's code under their own signature. So the cache here has a folder
for each version of a module, named by a digest of all sources its kernels can be made of, and in it a file for each signature.

Where kernels are cached, in this order: `NUMBA_CACHE_DIR` if set, `__pycache__` of the package if it can be written, the user's cache
folder, and nowhere (compiled anew in each process) if none of these can be written. A cache is a convenience: whatever goes wrong with
it, a full disk or a damaged file, the kernel is compiled and play goes on.
"""

from __future__ import annotations

import ast
import contextlib
import errno
import functools
import hashlib
import importlib.util
import os
import pickle
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import numba
import numpy as np
from numba.core import config as _numba_config
from numba.core import serialize
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult

F = TypeVar("F", bound=Callable[..., Any])

numba_config: Any = _numba_config  # its settings are made at run time

_RESERVE: Final = 64 * 2**20  # bytes: with less free space nothing is cached; all kernels together take less
_VERSIONS: Final = 8  # of each module that are kept: other branches and installations may use the same folder
_DIGEST_LENGTH: Final = 20
_said: set[str] = set()


def kernel(function: F) -> F:
    """Compile `function`, one at the top level of a module, with Numba on its first call, without the GIL; cache the machine code on disk.

    Single-threaded on purpose: Numba's thread pool spins on shared cores and does not survive a fork.

    A record does not keep the array alive that it lies in: after `record = np.zeros(1, DTYPE)[0]` its memory is free for others to
    write to. A kernel names the array, and takes the record from it where it is used: `kept = np.zeros(1, DTYPE)`, `helper(kept[0])`
    in the loop; what is used in a loop is kept to the end of it.
    """
    compiled: Any = numba.njit(nogil=True)(function)
    if compiled is not function:  # as it is with NUMBA_DISABLE_JIT=1
        compiled._cache = _Cache(function)  # what `enable_caching` does with Numba's own
    return compiled  # type: ignore[no-any-return]


def _i64(value: Any) -> int:
    return np.int64(value)  # type: ignore[return-value]


def cache_folder() -> Path | None:
    """Folder under which kernels are cached, or None where no folder can be written."""
    return _CACHE


class _Cache(NullCache):
    """The machine code of one kernel, a file for each signature; Numba asks it before it compiles and tells it after."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = f"{function.__name__}-{function.__code__.co_firstlineno}"
        self._folder: Path | None = None
        self._fate = "kept for the next start"
        try:
            self._folder = _folder(function)
        except Exception as error:  # without a cache it runs all the same
            self._fate = f"not kept: {error}"

    @property
    def cache_path(self) -> str | None:
        return str(self._folder) if self._folder else None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        file = self._file(sig, target_context.codegen())
        if file is not None:
            # Not there, or damaged when the power failed, or of a foreign make: it is compiled, and then written anew.
            with contextlib.suppress(Exception):
                content = file.read_bytes()
                if hashlib.sha256(content[32:]).digest() == content[:32]:
                    return CompileResult._rebuild(target_context, *pickle.loads(content[32:]))  # type: ignore[no-untyped-call]
        _say_once("compiling", f"compiling the game engine for this machine, a few seconds ({self._fate}) ...")
        return None

    def save_overload(self, sig: Any, result: Any) -> None:
        file = self._file(sig, result.library.codegen)
        if file is None or result.lifted or result.library.has_dynamic_globals:  # the latter two are tied to this process
            return
        try:
            file.parent.mkdir(parents=True, exist_ok=True)  # another process may have removed it as outdated
            if shutil.disk_usage(file.parent).free < _RESERVE:
                raise OSError(errno.ENOSPC, "the disk is nearly full")
            data = serialize.dumps(result._reduce())  # type: ignore[no-untyped-call]
            _write(file, hashlib.sha256(data).digest() + data)
        except Exception as error:
            if not os.path.exists(file):  # else another process has just written the same
                _say_once("unkept", f"the compiled engine could not be kept for the next start: {error}")

    def _file(self, sig: Any, codegen: Any) -> Path | None:
        """None without a cache, and for functions as arguments, which are known by an address that means another one tomorrow."""
        key = repr((sig, codegen.magic_tuple()))
        if self._folder is None or " at 0x" in key:
            return None
        return self._folder / f"{self._name}-{hashlib.sha256(key.encode()).hexdigest()[:_DIGEST_LENGTH]}"


def _write(file: Path, data: bytes) -> None:
    """Make `file` whole or not at all."""
    temp = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    try:
        temp.write_bytes(data)
        os.replace(temp, file)
    except BaseException:
        with contextlib.suppress(OSError):
            temp.unlink()
        raise


def _say_once(topic: str, line: str) -> None:
    """A line on stderr, once a process."""
    if topic not in _said:
        _said.add(topic)
        print(f"sixnimmt_env: {line}", file=sys.stderr, flush=True)


# --- Which folder --------------------------------------------------------------------------------------------------------


def _folder(function: Callable[..., Any]) -> Path:
    """The folder of the function's module as it is now, made if need be. Raises where the function cannot be cached."""
    if _CACHE is None:
        raise OSError("no cache folder can be written, set NUMBA_CACHE_DIR to one")
    if function.__closure__:
        raise ValueError(f"{function.__qualname__} uses variables of the function around it")
    module = function.__module__
    folder = _CACHE / f"{module}-{_digest(module)}"
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        _prune(_CACHE, module)
    return folder


def _prune(cache: Path, module: str) -> None:
    """Delete outdated versions of a module. A process that still runs one has its code in memory, or compiles it again."""
    with contextlib.suppress(OSError):  # another process prunes at the same time
        versions = sorted(cache.glob(f"{module}-{'[0-9a-f]' * _DIGEST_LENGTH}"), key=lambda folder: folder.stat().st_mtime)
        for old in versions[:-_VERSIONS]:
            shutil.rmtree(old, ignore_errors=True)


@functools.cache
def _digest(module: str) -> str:
    """Of the sources that a kernel of `module` can be made of, and of what turns them into machine code."""
    compiler = (numba.__version__, np.__version__, sys.implementation.cache_tag, numba_config.BOUNDSCHECK)
    digest = hashlib.sha256(repr(compiler).encode())
    for name in sorted(_closure(module)):
        digest.update(_source(name))
    return digest.hexdigest()[:_DIGEST_LENGTH]


def _closure(module: str) -> set[str]:
    """`module` and what it imports, transitively, of its own package and of this one."""
    found, todo = {module}, [module]
    while todo:
        new = {name for name in _imports(todo.pop()) if getattr(sys.modules.get(name), "__file__", None)} - found
        found |= new
        todo += new
    return found


@functools.cache
def _imports(module: str) -> tuple[str, ...]:
    """Names that may be modules which `module` imports of its own package or of this one."""
    package = sys.modules[module].__package__ or ""
    names: list[str] = []
    for node in ast.walk(ast.parse(_source(module))):
        if isinstance(node, ast.Import):
            # The code may go on from the top package to anything in it.
            names += [name for alias in node.names for name in (alias.name, alias.name.partition(".")[0])]
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    ours = {package.partition(".")[0], __name__.partition(".")[0]}
    return tuple(name for name in names if name.partition(".")[0] in ours)


def _source(module: str) -> bytes:
    return Path(str(sys.modules[module].__file__)).read_bytes()


# --- Where the folders are -----------------------------------------------------------------------------------------------


def _choose_cache() -> Path | None:
    """The first place that can be written and has room; else the first that can be written, for what it may hold already."""
    override = os.environ.get("NUMBA_CACHE_DIR")
    package = Path(__file__).resolve().parent.parent
    candidates = [Path(override).absolute() / "sixnimmt_env"] if override else [package / "__pycache__", _user_cache()]
    writable = [folder / "kernels" for folder in candidates if _writable(folder / "kernels")]
    return next((folder for folder in writable if shutil.disk_usage(folder).free >= _RESERVE), next(iter(writable), None))


def _user_cache() -> Path:
    root = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(root) / "sixnimmt_env"


def _writable(folder: Path) -> bool:
    if not folder.is_absolute():  # a home that is not known stays "~"
        return False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


_CACHE: Final = _choose_cache()

i64: Final = kernel(_i64)
"""A record's small unsigned number as int64. Left unsigned it would turn sums with an int64 into floats or wrap below zero."""
