"""Find libdevice, NVIDIA's library of mathematical functions as LLVM bitcode."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from gridlane.core.config import config

_NAME = "libdevice.10.bc"
_INSIDE = Path("nvvm", "libdevice", _NAME)


@cache
def find_libdevice() -> Path | None:
    """The path of libdevice: GRIDLANE_LIBDEVICE, or in a toolkit or a wheel; None without one."""
    return next((path for path in _candidates() if path.is_file()), None)


def _candidates() -> Iterator[Path]:
    chosen = config().libdevice
    if chosen is not None:
        yield chosen
        return
    for home in config().toolkits:
        yield home / _INSIDE
    yield Path("/usr/local/cuda") / _INSIDE
    yield from sorted(Path("/usr/local").glob(f"cuda-*/{_INSIDE}"), reverse=True)
    for folder in sys.path:
        yield from Path(folder or ".").glob(f"nvidia/*/{_INSIDE}")
