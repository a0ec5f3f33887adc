"""Regenerates the golden records, or compares them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from sixnimmt_env.core.files import write_atomically

from . import FOLDER, MATCHES, loaded, played, text_of

HELP = """\
Play the recorded matches again and write what they look like now; says what has changed. See tests/golden/__init__.py.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 everything is as recorded or was written, 1 something differs from the record (with --check)."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=HELP)
    parser.add_argument("names", nargs="*", metavar="NAME", help="matches (default: all)")
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    parser.add_argument("--new", action="store_true", help="choose the decisions anew, where rules have changed what is legal")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in MATCHES]
    if unknown:
        parser.error(f"there is no match {unknown[0]!r}: choose from {', '.join(MATCHES)}")
    changed = [name for name in options.names or MATCHES if _renew(name, options.new, options.check)]
    print(f"{len(changed)} of {len(options.names or MATCHES)} records {'differ' if options.check else 'changed'}")
    return 1 if changed and options.check else 0


def _renew(name: str, new: bool, check: bool) -> bool:
    """Bring the files of a match up to date; whether they were not."""
    trace = played(name) if new or not (FOLDER / f"{name}.jsonl").exists() else loaded(name)
    files = {FOLDER / f"{name}.jsonl": trace.to_bytes(), FOLDER / f"{name}.txt": text_of(trace).encode()}
    stale = {path: data for path, data in files.items() if not path.exists() or path.read_bytes() != data}
    for path, data in stale.items():
        print(f"{path.name}: {'differs' if check else 'written'}")
        if not check:
            write_atomically(path, data)
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
