"""The begin and the end of what a profiler records."""

from __future__ import annotations

import sys

from gridlane.core import trace


def profiling(what: str) -> None:
    """Write that a program starts or stops a profiler, if there is a trace."""
    if trace.enabled():
        print(f"gridlane: profiling {what}: no profiler of CUDA's is attached", file=sys.stderr)
