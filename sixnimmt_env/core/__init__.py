"""What every game is played by and knows no game: interface, kernels, seeds, layouts; and the audit of secrecy, `audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .secrecy import AuditError, LeakError, Report, audit

__all__ = ["AuditError", "LeakError", "Report", "audit"]


def __getattr__(name: str) -> Any:
    # On demand: whoever plays does not audit.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import secrecy

    return getattr(secrecy, name)
