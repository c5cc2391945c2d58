"""Tells the user what the compiler does in another way than written, each thing once a process."""

from __future__ import annotations

import sys

_said: set[str] = set()


def show(kernel: str, notes: tuple[str, ...]) -> None:
    """Write notes on a kernel to stderr, but for those that have been written before."""
    for note in notes:
        if note not in _said:
            _said.add(note)
            print(f"gridlane: note: {kernel}: {note}", file=sys.stderr)
