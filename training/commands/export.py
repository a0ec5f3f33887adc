"""`sixnimmt export`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from .common import DONE, asked, check_writable

HELP: Final = "write a policy as ONNX, for other programs"
DESCRIPTION: Final = """\
Write the network of POLICY as an ONNX file, which onnxruntime and others run without torch: observation and action mask to masked
log-probabilities and value, for any number of positions at a time. The file names the game, the rules and the version of the observation's
layout. Before it is written, its numbers are compared with torch's.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("policy", metavar="POLICY", type=Path, help="a run folder or a policy file")
    parser.add_argument("out", metavar="FILE.onnx", type=Path, help="where to")


def run(options: argparse.Namespace) -> int:
    """Export."""
    with asked():
        if options.out.suffix.lower() != ".onnx":
            raise ValueError(f"{options.out} must end in .onnx")
        check_writable(options.out)
        from .. import export, policy

        difference = export.export(policy.read(options.policy), options.out)
    print(f"{options.out}: {options.out.stat().st_size:,} bytes; differs from torch by {difference:.1e} at most")
    return DONE
