"""Records of matches: `trace.py` what one is and can do, `file.py` how it is written down, `replay.py` how it is played again."""

from .trace import Step, Trace, TraceError, printable

__all__ = ["Step", "Trace", "TraceError", "printable"]
