"""Errors of tuning."""

from __future__ import annotations

from gridlane.core.errors import GridlaneError


class TuningError(GridlaneError, ValueError):
    """A kernel cannot be tuned as asked: no candidates, no time, or no schedule that runs."""


class Overran(GridlaneError, TimeoutError):
    """A candidate was stopped, because it took longer than it was given."""


class Stuck(TuningError):
    """A candidate does not end, on a device that cannot stop it: the process has to end. It is kept
    as one that was stopped, so the next tuning passes it over."""
