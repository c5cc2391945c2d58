"""``numba.cuda.api`` and ``numba.cuda.cudadrv.devices``: the host's functions in one module."""

from __future__ import annotations

from typing import Any

from gridlane.cuda.arrays import creation as arrays
from gridlane.cuda.host import device, streams
from gridlane.cuda.names import missing

get_context = device.current_context
reset = device.close


def __getattr__(name: str) -> Any:
    for module in (arrays, device, streams):
        if not name.startswith("_") and hasattr(module, name):
            return getattr(module, name)
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "cuda.api")
