"""Trace events: one line for each launch or compilation when GRIDLANE_TRACE=1."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TextIO, cast

from gridlane.core.config import config


def enabled() -> bool:
    """Whether tracing is on."""
    return config().trace


def event(kind: str, **details: object) -> None:
    """Print an event to stderr."""
    text = " ".join(f"{name}={value}" for name, value in details.items())
    write(f"gridlane: {kind} {text}")


def write(line: str) -> None:
    """Print a line to stderr, in one piece, so that lines of threads stay whole. What cannot be
    printed changes nothing."""
    stream = cast(TextIO | None, sys.stderr)
    if stream is not None:  # which the process may have closed
        with suppress(OSError, ValueError):
            stream.write(line + "\n")
            stream.flush()
