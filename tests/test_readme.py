"""What the README shows works."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
LINKS = re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8"))


def needs(block: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.interop] if "pyspiel" in block else []


@pytest.mark.parametrize("block", [pytest.param(block, marks=needs(block), id=str(number)) for number, block in enumerate(BLOCKS)])
def test_every_block_of_python_runs(block: str, tmp_path: Path) -> None:
    if "pyspiel" in block:
        pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: pip install '.[openspiel]'")
    (tmp_path / "runs").mkdir()
    paths = os.pathsep.join(filter(None, [str(README.parent), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("link", sorted({link for link in LINKS if "://" not in link}))
def test_every_link_leads_somewhere(link: str) -> None:
    assert (README.parent / link).exists()
