"""Measurements that need a process of their own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PATIENCE = 600.0  # seconds that a process may take


def fresh(code: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Any:
    """Run `code` in a new interpreter with `arguments` in sys.argv; returns what it printed last, read as JSON.

    Raises:
        RuntimeError: it failed; says what it said.
    """
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env={**os.environ, **(environment or {})}, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"a process that was to be measured failed:\n{done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[-1])


def peak() -> float | None:
    """Most memory, in MB, that this process had resident so far; None where the system does not say."""
    status = Path("/proc/self/status")
    if status.is_file():
        # On Linux getrusage goes on with the peak of the process that started this one.
        found = re.search(r"^VmHWM:\s+(\d+) kB", status.read_text(), re.MULTILINE)
        return int(found[1]) * 1024 / 1e6 if found else None
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
