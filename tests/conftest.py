"""What the whole suite shares."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    # The usual run leaves out the slow tests and those that need other libraries; whoever chooses by markers has his own way.
    if not config.option.markexpr:
        config.option.markexpr = "not slow and not interop"
