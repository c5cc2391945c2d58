"""Report that a command cannot do its task."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from typing import NoReturn

USAGE = 2
"""Exit status for a wrong command line; 1 is for later failures."""
CANNOT_EXECUTE, NOT_FOUND = 126, 127
"""Exit statuses of a shell for a program that it cannot start."""


def fail(message: object, status: int = USAGE) -> NoReturn:
    """Print an error to stderr and exit."""
    print(f"gridlane: {message}", file=sys.stderr)
    raise SystemExit(status)


def one_of(what: str, given: str, known: Iterable[str]) -> str:
    """``given`` if it is known; otherwise fail with the known names and the nearest one."""
    names = list(known)
    if given in names:
        return given
    fail(f"there is no {what} {given!r}{likely(given, names)}; there are: {', '.join(names)}")


def seconds(command: str, given: str) -> str:
    """``given`` if it is a number of seconds."""
    from gridlane.core.config import is_seconds

    if is_seconds(given):
        return given
    fail(f"{command}: --timeout needs a number of seconds, or 0 for any time, not {given!r}")


def likely(given: str, names: Iterable[str]) -> str:
    """ " (did you mean 'x'?)", or nothing."""
    near = difflib.get_close_matches(given, list(names), 1, cutoff=0.7)
    return f" (did you mean {near[0]!r}?)" if near else ""


def check_settings() -> None:
    """Fail for invalid environment variables, before anything depends on them."""
    from gridlane.core.config import config, further_backends

    try:
        settings = config()
    except ValueError as error:
        fail(error)
    if settings.device != "cpu" or further_backends():  # else no record is needed
        from gridlane.backends import NO_BACKENDS, names
        from gridlane.core.errors import TargetError

        try:
            known = names()
        except TargetError as error:
            fail(error)
        kind = settings.device.partition(":")[0]
        if kind in NO_BACKENDS:
            fail(NO_BACKENDS[kind])
        one_of("device", kind, known)
