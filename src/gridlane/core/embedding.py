"""Whether Python is a guest in this process: a program in C entered it by a library of gridlane's.

Such a program's signals are its own, so gridlane takes none.
"""

from __future__ import annotations


class _Process:
    """The one process."""

    def __init__(self) -> None:
        self.is_guest = False


_process = _Process()


def enter() -> None:
    """Note that Python is a guest; called before any device opens."""
    _process.is_guest = True


def is_guest() -> bool:
    """Whether Python is a guest in this process.

    >>> is_guest()
    False
    """
    return _process.is_guest
