"""Print where compiled code differs from the source, each note once per process."""

from __future__ import annotations

import sys

_said: set[str] = set()


def show(kernel: str, notes: tuple[str, ...]) -> None:
    """Write notes on a kernel to stderr, except those written before."""
    for note in notes:
        if note not in _said:
            _said.add(note)
            print(f"gridlane: note: {kernel}: {note}", file=sys.stderr)
