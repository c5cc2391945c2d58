"""Tracebacks that end at the user's line: gridlane's own frames do not help users with an error of
their kernel."""

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
