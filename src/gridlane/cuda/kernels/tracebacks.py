"""Tracebacks that end at the user's line: what a launch runs inside of gridlane is of no use to
those who read an error about their kernel."""

from __future__ import annotations

from gridlane.core.config import config
from gridlane.core.errors import GridlaneError
from gridlane.cuda.host import settings


def shortened(error: GridlaneError) -> GridlaneError:
    """The error without the frames so far; as it is with GRIDLANE_FULL_TRACEBACKS=1, or numba's
    ``config.FULL_TRACEBACKS``."""
    if settings.FULL_TRACEBACKS or config().full_tracebacks:
        return error
    return error.with_traceback(None)
