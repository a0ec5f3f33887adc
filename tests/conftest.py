"""What the whole suite shares."""

from __future__ import annotations

import signal

import pytest


def pytest_configure(config: pytest.Config) -> None:
    # Whoever is started in the background of a script is born deaf to Ctrl-C, and so are its children: the tests that press it would wait.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # The usual run leaves out the slow tests and those that need other libraries; whoever chooses by markers has his own way.
    if not config.option.markexpr:
        config.option.markexpr = "not slow and not interop"
