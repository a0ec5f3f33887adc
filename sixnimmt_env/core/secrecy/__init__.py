"""Is anything shown to a seat that it may not know? `audit` plays another world beside the true one and compares all that can be read."""

from .audit import AuditError, LeakError, Report, audit

__all__ = ["AuditError", "LeakError", "Report", "audit"]
