"""The begin and the end of what a profiler records."""

from __future__ import annotations

import sys

from gridlane.abi.calls.registry import implements
from gridlane.core import trace


def _told(what: str) -> None:
    if trace.enabled():
        print(f"gridlane: profiling {what}: no profiler of CUDA's is attached", file=sys.stderr)


@implements("cuProfilerStart", "cudaProfilerStart")
def start() -> None:
    """Do nothing, as without a profiler of CUDA's; a trace has a line for it."""
    _told("starts")


@implements("cuProfilerStop", "cudaProfilerStop")
def stop() -> None:
    """Do nothing, as without a profiler of CUDA's; a trace has a line for it."""
    _told("stops")
