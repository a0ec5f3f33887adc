"""Writing files so that a reader sees the old content or the new one, never a half of either."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path
from typing import Final

TEMP_SUFFIX: Final = ".partial"
"""Ending of the temporary files. One that is left behind (a machine that lost power) can be deleted."""


def write_atomically(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Replaces the content of `path` by `data` (text as UTF-8), or raises and leaves what was there.

    The folder must exist. Raises the `OSError` of the step that failed; nothing temporary stays behind, whatever the failure.
    """
    # A link is followed, as a plain write would: replacing the link itself would leave its target stale.
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        _write_into(target, data)
        return
    # In the same folder, because only a rename within one file system is atomic; the name is cut for long file names.
    temp = target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}{TEMP_SUFFIX}")
    content = data.encode("utf-8") if isinstance(data, str) else data
    try:
        mode = _mode_of(target)
        _write_through(temp, content)
        if mode is not None:
            os.chmod(temp, mode)
        os.replace(temp, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temp.unlink()
        if isinstance(error, OSError):
            error.filename = os.fspath(path)  # not the temporary file, nor nothing, as a full disk has it
        raise
    _flush_folder(target.parent)


def _mode_of(target: Path) -> int | None:
    """Who may read and write the file that is to be replaced, None for a new one; the error of a plain write where it is protected."""
    if not target.exists():
        return None
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    return stat.S_IMODE(target.stat().st_mode)


def _write_into(device: Path, data: bytes | str) -> None:
    """Writes to a pipe or a device, which must not be replaced by a file; a folder is refused by the system."""
    with open(device, "wb") as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)


def _write_through(path: Path, content: bytes) -> None:
    """Creates `path` with `content` and waits until the disk has it, since a full disk may show only then."""
    # Not tempfile: its files are private to their owner, and this one becomes the user's.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Makes the rename itself durable where the system can; the new content is already safe, so a refusal is no failure."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
