"""Trace events: one line for each launch or compilation when GRIDLANE_TRACE=1."""

from __future__ import annotations

import sys

from gridlane.core.config import config


def enabled() -> bool:
    """Whether tracing is on."""
    return config().trace


def event(kind: str, **details: object) -> None:
    """Print an event to stderr."""
    text = " ".join(f"{name}={value}" for name, value in details.items())
    print(f"gridlane: {kind} {text}", file=sys.stderr)
